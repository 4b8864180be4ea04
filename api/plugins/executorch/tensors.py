"""From tensors with lives to a problem, and from its plan to the place of each tensor."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memstow.api.plugins.executorch.interface import Spec
from memstow.api.plugins.executorch.timeline import Timeline
from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import Buffer, Interval, Pool, Problem


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tensor is."""

    memory: int
    offset: int


@dataclass(frozen=True, slots=True)
class Group:
    """Tensors with one place: a buffer of the problem."""

    name: str
    memory: int | None
    size: int
    alignment: int
    lives: tuple[Interval, ...]
    memories: tuple[int, ...] | None = None
    """Those that it may be in, where it has no memory yet."""
    offset: int | None = None


def root_of(spec: Spec) -> tuple[Spec, int]:
    """The tensor whose bytes it uses, its own as a rule, and where in them it begins."""
    offset, seen = 0, {spec}
    inner = spec
    while spec.storage_base is not None:
        offset += spec.storage_base_offset
        spec = spec.storage_base
        if spec in seen:
            raise InputError.single("circular", "storage_base", "a tensor lies in its own bytes")
        seen.add(spec)
    if offset % inner.alignment or offset < 0 or offset + inner.allocated_memory > spec.allocated_memory:
        message = f"{inner.allocated_memory:,} bytes at {offset:,} of a tensor of {spec.allocated_memory:,}"
        raise InputError.single("outside_of_base", "storage_base", message)
    return spec, offset


def groups_of(timeline: Timeline) -> dict[Spec, Group]:
    """The buffers, by the tensor that stands for each."""
    members: dict[Spec, list[Spec]] = {}
    for spec in timeline.lives:
        base, _ = root_of(spec)
        if base not in timeline.lives:
            raise InputError.single(
                "unknown_base", "storage_base", "a tensor lies in one that is not planned"
            )
        members.setdefault(timeline.place_of(base), []).append(spec)
    return {
        head: Group(
            name=f"{number}:{timeline.names[head]}",
            memory=timeline.memory_of(head),
            size=max(spec.allocated_memory for spec in specs),
            alignment=head.alignment,
            lives=tuple(life for spec in specs for life in timeline.lives[spec]),
        )
        for number, (head, specs) in enumerate(members.items())
    }


def problem_of(groups: Iterable[Group], pools: Mapping[int, Pool], objective: Sequence[str]) -> Problem:
    """The problem of these groups in memories with these numbers."""
    return Problem(
        name="executorch",
        pools=list(pools.values()),
        buffers=[
            Buffer(
                id=group.name,
                size=group.size,
                lifetimes=group.lives,
                alignment=group.alignment,
                pool=None if group.memory is None else pools[group.memory].id,
                pools=_allowed(group, pools),
                offset=group.offset,
            )
            for group in groups
        ],
        objective=list(objective),
    )


def _allowed(group: Group, pools: Mapping[int, Pool]) -> list[str] | None:
    if group.memories is None or group.memory is not None:
        return None
    return [pools[number].id for number in group.memories if number in pools]


def places_of(
    timeline: Timeline, groups: Mapping[Spec, Group], found: Mapping[str, Place]
) -> dict[Spec, Place]:
    """The place of each tensor."""
    places: dict[Spec, Place] = {}
    for spec in timeline.lives:
        base, offset = root_of(spec)
        place = found[groups[timeline.place_of(base)].name]
        places[spec] = Place(place.memory, place.offset + offset)
    return places


def objects_of(places: Mapping[Spec, Place]) -> dict[Spec, int]:
    """Numbers that are equal for any two tensors of a memory that share a byte."""
    objects: dict[Spec, int] = {}
    number, memory, end = -1, 0, 0
    for spec, place in sorted(places.items(), key=lambda it: (it[1].memory, it[1].offset)):
        if place.memory != memory or place.offset >= end:
            number, memory, end = number + 1, place.memory, place.offset
        end = max(end, place.offset + spec.allocated_memory)
        objects[spec] = number
    return objects
