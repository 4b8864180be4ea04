"""Cases of TVM's Unified Static Memory Planner: sizes, which buffers conflict, and pools, preferred first.

Also its own objects (`planner.formats.usmp.buffer_info`), and the interval lists of its tests and of its
neighbours: [first, last, size], both ends live.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from memstow.planner.formats.format import Format, Refusals
from memstow.planner.formats.native import encode_document
from memstow.planner.formats.plain_problem import against_moments, refuse_pins
from memstow.planner.formats.usmp.allocations import read_plan, write_plan
from memstow.planner.formats.usmp.buffer_info import infos_of, objective_of, read_infos
from memstow.planner.model.model_class import model_class
from memstow.planner.model.problem import DEFAULT_POOL, PEAK, Buffer, Bytes, Id, Pair, Pool, Problem, Time
from memstow.planner.model.records import collector_at_rest
from memstow.planner.reading.issues import Findings, Renamed
from memstow.planner.reading.messages import wrong_type
from memstow.planner.reading.parse import check_made
from memstow.planner.reading.paths import Path
from memstow.planner.reading.sections import index_before, read_elements, read_section

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
    refusals = Refusals("usmp")
    for field in ("exclusive", "relative", "in_place", "reuse_costs"):
        if getattr(problem, field):
            refusals.add(f"$.{field}")
    if problem.terms() != (objective_of(problem.pools) or (str(PEAK),)):
        refusals.add("$.objective")
    for index, pool in enumerate(problem.pools):
        for field, default in (("alignment", 1), ("reserved", ()), ("base", None), ("cost", 0)):
            if getattr(pool, field) != default:
                refusals.add(f"$.pools[{index}].{field}")
    refuse_pins(problem, refusals)
    document = _case_of(problem) if _is_case(problem) else infos_of(problem, refusals)
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


def _case_of(problem: Problem) -> dict[str, object]:
    return {
        "sizes": {buffer.id: buffer.size for buffer in problem.buffers},
        "edges": [list(pair) for pair in problem.conflicts],
        "pools": [{"name": pool.id, "size": pool.capacity} for pool in problem.pools],
    }


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
    check_made(problem, findings, lambda path: _place(path, names, conflicts, places))
    return problem


def _buffers_of(sizes: Mapping[Any, Any], findings: Findings) -> Iterator[Buffer]:
    names = list(sizes)
    entries = [{"id": name, "size": size} for name, size in sizes.items()]
    found, _ = read_elements(
        SizeEntry, entries, Renamed(findings, lambda path: ("sizes", names[int(path[0])])), ()
    )
    return (Buffer(id=one.id, size=one.size) for one in found)


def _adjacent(neighbours: Mapping[Any, Any], findings: Findings) -> Iterator[Pair]:
    for name, others in neighbours.items():
        place = ("conflicts", str(name))
        if not isinstance(others, list):
            findings.add("not_a_list", place, wrong_type("a list of the names it conflicts with", others))
            continue
        found, _ = read_elements(Id, others, findings, place)
        yield from ((str(name), other) for other in found)


def _each_once(pairs: list[Pair]) -> Iterator[Pair]:
    """The pairs without duplicates: an edge has no direction."""
    seen: set[frozenset[str]] = set()
    for pair in pairs:
        ends = frozenset(pair)
        if ends not in seen:
            seen.add(ends)
            yield pair


def _place(
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
