"""The input of TVM's Unified Static Memory Planner: BufferInfo and PoolInfo objects, by their own names.

Constants are in memory from the start, so each is apart from every other; they go to constant pools and
variables to workspace pools, so the two never meet. Fields that TVM's planners do not use are ignored.
"""

from collections.abc import Iterator, Set
from typing import Annotated, Any, Final, Literal

from memstow.planner.formats.format import Refusals
from memstow.planner.model.model_class import Field, model_class
from memstow.planner.model.problem import (
    ALWAYS,
    LIMIT,
    Alignment,
    Buffer,
    Bytes,
    Id,
    Kind,
    Pair,
    Pool,
    Problem,
    Term,
    allowed_pools,
    peak_of,
)
from memstow.planner.reading.issues import Findings
from memstow.planner.reading.parse import check_made
from memstow.planner.reading.paths import Path
from memstow.planner.reading.sections import read_section

UNRESTRICTED: Final = -1


@model_class
class PoolInfo:
    """A WorkspacePoolInfo or a ConstantPoolInfo. Speeds, bursts and targets are notes."""

    pool_name: Id
    kind: Literal["workspace", "constant"] = "workspace"
    size_hint_bytes: Annotated[int, Field(strict=True, ge=UNRESTRICTED, le=LIMIT)] = UNRESTRICTED
    targets: Any = None
    clock_frequency_hz: Any = None
    read_bandwidth_bytes_per_cycle: Any = None
    write_bandwidth_bytes_per_cycle: Any = None
    read_latency_cycles: Any = None
    write_latency_cycles: Any = None
    target_burst_bytes: Any = None
    is_internal: Any = None


@model_class
class BufferInfo:
    """One buffer. Inputs and outputs are planned like intermediates, so `kind` is a note."""

    name_hint: Id
    size_bytes: Bytes
    pool_candidates: Annotated[tuple[Id, ...], Field(min_length=1)]
    alignment: Alignment = 1
    conflicts: tuple[Id, ...] = ()
    kind: Literal["intermediate", "input", "output"] = "intermediate"
    constant: Annotated[bool, Field(strict=True)] = False


@model_class
class Infos:
    """All of them."""

    buffer_infos: tuple[BufferInfo, ...]
    pool_infos: Annotated[tuple[PoolInfo, ...], Field(min_length=1)]
    memory_pressure: Any = None


def read_infos(raw: Any, findings: Findings) -> Problem | None:
    """The problem; None where the findings say why there is none."""
    section = read_section(Infos, raw, findings)
    if not section.sound:
        return None
    infos = Infos(**section.values)
    _check_kinds(infos, findings)
    listed = list(_conflicts(infos))
    names = tuple(pool.pool_name for pool in infos.pool_infos)
    pools = tuple(map(_pool, infos.pool_infos))
    problem = Problem(
        version=1,
        pools=pools,
        objective=objective_of(pools),
        buffers=tuple(_buffer(info, names) for info in infos.buffer_infos),
        conflicts=tuple(pair for _, pair in listed),
    )
    check_made(problem, findings, lambda path: _place(path, [place for place, _ in listed]))
    return problem


def objective_of(pools: tuple[Pool, ...]) -> tuple[str, ...] | None:
    """Pools come in the order of preference: the later ones are to be small, and the earlier ones used."""
    if len(pools) == 1:
        return None
    later = [peak_of(pool.id) for pool in reversed(pools[1:])]
    # Duplicate names are reported elsewhere.
    return tuple(dict.fromkeys(map(str, (*later, Term(Kind.PREFERENCE), peak_of(pools[0].id)))))


def infos_of(problem: Problem, refusals: Refusals) -> dict[str, object]:
    """The problem as JSON of these objects; fields that they cannot express are added to the refusals."""
    constants = [buffer for buffer in problem.buffers if buffer.lifetime == ALWAYS]
    constant_pools = {name for buffer in constants for name in allowed_pools(problem, buffer)}
    conflicts: dict[str, list[str]] = {}
    for one, other in problem.conflicts:
        conflicts.setdefault(one, []).append(other)
    _refuse_lives(problem, constant_pools, refusals)
    return {
        "buffer_infos": [
            {
                "name_hint": buffer.id,
                "size_bytes": buffer.size,
                "alignment": buffer.alignment,
                "pool_candidates": list(allowed_pools(problem, buffer)),
                "conflicts": conflicts.get(buffer.id, []),
                **({"constant": True} if buffer.lifetime == ALWAYS else {}),
            }
            for buffer in problem.buffers
        ],
        "pool_infos": [
            {
                "pool_name": pool.id,
                "kind": "constant" if pool.id in constant_pools else "workspace",
                "size_hint_bytes": UNRESTRICTED if pool.capacity is None else pool.capacity,
            }
            for pool in problem.pools
        ],
    }


def _refuse_lives(problem: Problem, constant_pools: Set[str], refusals: Refusals) -> None:
    for index, buffer in enumerate(problem.buffers):
        path = f"$.buffers[{index}]"
        if buffer.lifetime != ALWAYS:
            if buffer.lifetime is not None or buffer.lifetimes:
                refusals.add(f"{path}.lifetime", "conflicts are given by name, not by times")
            if constant_pools & set(allowed_pools(problem, buffer)):
                refusals.add(
                    f"{path}.pools", "a pool is for what is always live or for the rest, not for both"
                )
        if buffer.accesses is not None:
            refusals.add(f"{path}.accesses")


def _pool(info: PoolInfo) -> Pool:
    unrestricted = info.size_hint_bytes == UNRESTRICTED
    return Pool(id=info.pool_name, capacity=None if unrestricted else info.size_hint_bytes)


def _buffer(info: BufferInfo, pools: tuple[str, ...]) -> Buffer:
    return Buffer(
        id=info.name_hint,
        size=info.size_bytes,
        lifetime=ALWAYS if info.constant else None,
        alignment=info.alignment,
        pools=None if info.pool_candidates == pools else info.pool_candidates,
    )


def _conflicts(infos: Infos) -> Iterator[tuple[Path, Pair]]:
    """Each conflict once, with the place where it first comes."""
    seen: set[frozenset[str]] = set()
    for index, info in enumerate(infos.buffer_infos):
        for at, other in enumerate(info.conflicts):
            pair = frozenset((info.name_hint, other))
            if pair not in seen:
                seen.add(pair)
                yield ("buffer_infos", index, "conflicts", at), (info.name_hint, other)


def _check_kinds(infos: Infos, findings: Findings) -> None:
    kind_of = {pool.pool_name: pool.kind for pool in infos.pool_infos}
    for index, info in enumerate(infos.buffer_infos):
        wanted = "constant" if info.constant else "workspace"
        for at, name in enumerate(info.pool_candidates):
            kind = kind_of.get(name, wanted)
            if kind != wanted:
                what = "a constant" if info.constant else "a variable"
                place = ("buffer_infos", index, "pool_candidates", at)
                message = f"{what} cannot go to {name!r}, which is a {kind} pool; name {wanted} pools"
                findings.add("wrong_pool_kind", place, message)


_NAMES: Final = {"id": "name_hint", "pools": "pool_candidates"}


def _place(path: Path, conflicts: list[Path]) -> Path:
    match path:
        case ("buffers", int(index), str(field), *rest):
            return ("buffer_infos", index, _NAMES.get(field, field), *rest)
        case ("pools", int(index), *_):
            return ("pool_infos", index, "pool_name")
        case ("conflicts", int(index), *_):
            return conflicts[index]
        case _:
            return path
