"""Formats of TVM's Unified Static Memory Planner: cases, its input and its answer.

A case has sizes, which buffers conflict, and pools, preferred first. The input has BufferInfo and PoolInfo
objects, by their own names; the answer has a PoolAllocation for every buffer.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from memstow.planner.formats.format import Format, Refusals, against_moments, plan_of_placements, refuse_pins
from memstow.planner.formats.native import encode_document
from memstow.planner.model.model_class import Field, model_class
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import (
    ALWAYS,
    DEFAULT_POOL,
    LIMIT,
    PEAK,
    Alignment,
    Buffer,
    Bytes,
    Id,
    Kind,
    Pair,
    Pool,
    Problem,
    Term,
    Time,
    allowed_pools,
    peak_of,
)
from memstow.planner.reading.json_text import Path
from memstow.planner.reading.parse import check_made
from memstow.planner.reading.sections import (
    Findings,
    Renamed,
    index_before,
    read_elements,
    read_section,
    read_whole,
    wrong_type,
)
from memstow.records import collector_at_rest

ALLOCATIONS: Final = "pool_allocations"


@model_class
class PoolAllocation:
    """The pool and the offset of a buffer."""

    name_hint: Id
    pool_name: Id
    byte_offset: Bytes


@model_class
class PoolAllocations:
    """The answer of TVM: the place of every buffer."""

    pool_allocations: tuple[PoolAllocation, ...]


def write_plan(_problem: Problem, plan: Plan) -> bytes:
    """The placements of a plan as pool allocations."""
    listed = [
        {"name_hint": one.buffer, "pool_name": one.pool, "byte_offset": one.offset} for one in plan.placements
    ]
    return encode_document({ALLOCATIONS: listed})


def read_plan(raw: Any, _problem: Problem) -> Plan:
    """The plan of pool allocations."""
    findings = Findings(raw)
    with collector_at_rest():
        document = read_whole(PoolAllocations, raw, findings)
    if document is None:
        raise findings.error()
    placements = tuple(
        Placement(buffer=one.name_hint, pool=one.pool_name, offset=one.byte_offset)
        for one in document.pool_allocations
    )
    return plan_of_placements(placements, findings, ALLOCATIONS)


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
    """The input of TVM: every buffer and every pool."""

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
        buffers=tuple(
            Buffer(
                id=info.name_hint,
                size=info.size_bytes,
                lifetime=ALWAYS if info.constant else None,
                alignment=info.alignment,
                pools=None if info.pool_candidates == names else info.pool_candidates,
            )
            for info in infos.buffer_infos
        ),
        conflicts=tuple(pair for _, pair in listed),
    )
    check_made(problem, findings, lambda path: _place_of_infos(path, [place for place, _ in listed]))
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


def _pool(info: PoolInfo) -> Pool:
    unrestricted = info.size_hint_bytes == UNRESTRICTED
    return Pool(id=info.pool_name, capacity=None if unrestricted else info.size_hint_bytes)


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


def _place_of_infos(path: Path, conflicts: list[Path]) -> Path:
    match path:
        case ("buffers", int(index), str(field), *rest):
            return ("buffer_infos", index, _NAMES.get(field, field), *rest)
        case ("pools", int(index), *_):
            return ("pool_infos", index, "pool_name")
        case ("conflicts", int(index), *_):
            return conflicts[index]
        case _:
            return path


_Row = tuple[Time, Time, Bytes]


@model_class
class Memory:
    """A pool; the first that has room is preferred."""

    name: Id
    size: Bytes | None = None


@model_class
class Case:
    """A problem; source, memory_pressure and expected are notes."""

    sizes: dict[Any, Any]
    edges: tuple[Pair, ...] = ()
    conflicts: dict[Any, Any] | None = None
    pools: tuple[Memory, ...] = ()
    source: Any = None
    memory_pressure: Any = None
    expected: Any = None


@model_class
class SizeEntry:
    """One entry of `sizes`."""

    id: Id
    size: Bytes


def read_problem(raw: Any) -> Problem:
    """The problem of a case, of TVM's objects or of a list of intervals."""
    findings = Findings(raw)
    with collector_at_rest():
        if isinstance(raw, list):
            problem: Problem | None = _read_rows(raw, findings)
        elif isinstance(raw, dict) and "buffer_infos" in raw:
            problem = read_infos(raw, findings)
        else:
            problem = _read_case(raw, findings)
    if findings or problem is None:
        raise findings.error()
    return problem


def write_problem(problem: Problem) -> bytes:
    """The problem as a case."""
    refusals = Refusals("usmp", problem)
    refusals.add_fields("$", problem, exclusive=(), relative=(), in_place=(), reuse_costs=())
    if problem.terms() != (objective_of(problem.pools) or (str(PEAK),)):
        refusals.add("$.objective")
    for index, pool in enumerate(problem.pools):
        refusals.add_fields(f"$.pools[{index}]", pool, alignment=1, reserved=(), base=None, cost=0)
    refuse_pins(problem, refusals)
    document = (
        {
            "sizes": {buffer.id: buffer.size for buffer in problem.buffers},
            "edges": [list(pair) for pair in problem.conflicts],
            "pools": [{"name": pool.id, "size": pool.capacity} for pool in problem.pools],
        }
        if _is_case(problem)
        else infos_of(problem, refusals)
    )
    refusals.raise_any()
    return encode_document(document)


def _is_case(problem: Problem) -> bool:
    """Whether sizes, edges and pools say it all; TVM's own objects say more."""
    names = tuple(pool.id for pool in problem.pools)
    plain = (Buffer(id=b.id, size=b.size, pools=b.pools, pool=b.pool, group=b.group) for b in problem.buffers)
    return all(
        buffer == bare and buffer.pools in (None, names)
        for buffer, bare in zip(problem.buffers, plain, strict=True)
    )


def _read_case(raw: Any, findings: Findings) -> Problem | None:
    section = read_section(Case, raw, findings)
    if not section.sound or findings:
        return None
    case = section.values
    buffers = list(_buffers_of(case["sizes"], findings))
    pairs = list(case.get("edges", ()))
    if case.get("conflicts") is not None:
        pairs.extend(_adjacent(case["conflicts"], findings))
    if findings:
        return None
    memories = case.get("pools", ())
    pools = tuple(Pool(id=memory.name, capacity=memory.size) for memory in memories) or (
        Pool(id=DEFAULT_POOL),
    )
    conflicts = tuple(_each_once(pairs))
    problem = Problem(
        version=1,
        buffers=tuple(buffers),
        conflicts=conflicts,
        pools=pools,
        objective=objective_of(pools),
    )
    names = list(case["sizes"])
    places = {frozenset(pair): ("edges", i) for i, pair in enumerate(case.get("edges", ()))}
    check_made(problem, findings, lambda path: _place_of_case(path, names, conflicts, places))
    return problem


def _buffers_of(sizes: Mapping[Any, Any], findings: Findings) -> Iterator[Buffer]:
    names = list(sizes)
    entries = [{"id": name, "size": size} for name, size in sizes.items()]
    read, _ = read_elements(
        SizeEntry, entries, Renamed(findings, lambda path: ("sizes", names[int(path[0])])), ()
    )
    return (Buffer(id=one.id, size=one.size) for one in read)


def _adjacent(neighbours: Mapping[Any, Any], findings: Findings) -> Iterator[Pair]:
    for name, others in neighbours.items():
        place = ("conflicts", str(name))
        if not isinstance(others, list):
            findings.add("not_a_list", place, wrong_type("a list of the names it conflicts with", others))
            continue
        read, _ = read_elements(Id, others, findings, place)
        yield from ((str(name), other) for other in read)


def _each_once(pairs: list[Pair]) -> Iterator[Pair]:
    """The pairs without duplicates: an edge has no direction."""
    seen: set[frozenset[str]] = set()
    for pair in pairs:
        ends = frozenset(pair)
        if ends not in seen:
            seen.add(ends)
            yield pair


def _place_of_case(
    path: Path, names: list[Any], conflicts: tuple[Pair, ...], places: Mapping[frozenset[str], Path]
) -> Path:
    match path[:2]:
        case ("buffers", int(index)):
            return ("sizes", names[index])
        case ("pools", int(index)):
            return ("pools", index, "name")
        case ("conflicts", int(index)):
            pair = conflicts[index]
            return places.get(frozenset(pair), ("conflicts", pair[0]))
        case _:
            return path


def _read_rows(raw: list[Any], findings: Findings) -> Problem:
    rows, lost = read_elements(_Row, raw, findings, ())
    buffers = []
    for i, (first, last, size) in enumerate(rows):
        index = index_before(lost, i)
        reason = against_moments(first, last)
        if reason is not None:
            findings.add("reversed_lifetime", (index,), reason)
        buffers.append(Buffer(id=str(index), size=size, lifetime=(first, max(first, last) + 1)))
    problem = Problem(version=1, buffers=tuple(buffers))
    check_made(problem, findings, lambda path: (index_before(lost, int(path[1])),))
    return problem


FORMAT: Final = Format(
    name="usmp",
    is_json=True,
    read_problem=read_problem,
    write_problem=write_problem,
    read_plan=read_plan,
    write_plan=write_plan,
)
