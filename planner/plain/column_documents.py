"""Documents to columns and back: the same as the ordinary readers and writers, without objects.

Also from columns to the models and back, for whoever asks for more than offsets.
"""

import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from io import BytesIO
from operator import mul
from typing import TYPE_CHECKING, Final, TypeVar

from memstow.planner.model.digest import (
    FIRST_LINE,
    LINE,
    Sides,
    counted_list,
    hasher,
    line_of_pool,
    objective_line,
    pool_line,
    relation_lines,
)
from memstow.planner.model.errors import InputError
from memstow.planner.model.model_class import instances_of
from memstow.planner.model.plan import (
    Certificate,
    Exhausted,
    ExhaustedWindow,
    Least,
    LiveBytes,
    Model,
    Placement,
    Plan,
    PoolUse,
    Sum,
    TermValue,
)
from memstow.planner.model.problem import (
    LIMIT,
    Buffer,
    Distances,
    InPlace,
    Pool,
    Problem,
    Relative,
    usual_terms,
)
from memstow.planner.model.problem import end_of as end_of_pool
from memstow.planner.plain import _columns
from memstow.planner.plain._columns import Columns
from memstow.records import collector_at_rest, field, fields, record, replace

if TYPE_CHECKING:
    from memstow.solvers.column_instance import Memory


@record
class PlainPlan:
    """Where every buffer is, and what that is worth."""

    frame: Plan
    """The plan without its placements; the certificate of its term, or of its pool, names no buffers.

    With several pools there are several, and they name theirs.
    """
    offsets: "array[int]"
    """By buffer."""
    members: "array[int]"
    """The buffers that the only certificate should name, where it is one of live bytes."""
    homes: "array[int]" = field(default_factory=partial(array, "q"))
    """By buffer, the number of its pool, where there are several."""


LINES_AT_ONCE: Final = 1 << 16
"""So many buffers are written at a time, because the whole would be there twice."""


def digest(columns: Columns) -> str:
    """SHA-256 of the canonical form, in hex."""
    identity = hasher(len(columns) * LINE)
    for part in canonical(columns):
        identity.update(part)
    return identity.hexdigest()


def canonical(columns: Columns) -> Iterator[bytes]:
    """The canonical form, in parts; sizes that are formulas count as 0."""
    if columns.pools_text:
        pools = "".join(map(line_of_pool, pools_of(columns)))
    else:
        pools = pool_line(columns.pool, columns.capacity)
    yield (FIRST_LINE + pools).encode()
    for first in range(0, len(columns), LINES_AT_ONCE):
        yield columns.canonical(first, first + LINES_AT_ONCE)
    if columns.related:
        pairs, ties = (_sides(columns, listed) for listed in pairs_of(columns)), _ties(columns)
        conflicts, exclusive, in_place = pairs
        yield from relation_lines(conflicts, exclusive, ties, in_place)
    yield objective_line(terms_of(columns)).encode()


def _sides(columns: Columns, pairs: memoryview) -> Sides:
    return list(map(columns.name, pairs[::2])), list(map(columns.name, pairs[1::2]))


def _ties(columns: Columns) -> Iterator[tuple[str, str, int]]:
    numbers = columns.ties.tolist()
    for buffer, base, distance in zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True):
        yield columns.name(buffer), columns.name(base), distance


# Whatever else a problem or a buffer may have, such as a new constraint, makes it another than a plain one.
_OF_PROBLEMS: Final = ("version", "name", "buffers", "pools", "objective")
_OF_BUFFERS: Final = ("id", "size", "lifetime", "alignment", "group")
_BEYOND: Final = tuple(field.name for field in fields(Problem) if field.name not in _OF_PROBLEMS)
_BEYOND_OF_BUFFERS: Final = [field.name for field in fields(Buffer) if field.name not in _OF_BUFFERS]

_Proven = TypeVar("_Proven", PoolUse, TermValue)


def columns_of(problem: Problem) -> Columns | None:
    """The columns of a problem that is valid and plain; None for any other."""
    if len(problem.pools) != 1 or problem.terms() not in (("peak",), ()):
        return None
    pool = problem.pools[0]
    if any(getattr(problem, name) for name in _BEYOND) or pool != Pool(id=pool.id, capacity=pool.capacity):
        return None
    columns = _columns.of_buffers(problem.buffers, _BEYOND_OF_BUFFERS)
    if columns is not None:
        columns.set_memory(pool.id, pool.capacity)
        columns.fit_only = not problem.terms()
    return columns


def ints_of(columns: Columns) -> tuple[memoryview, memoryview, memoryview, memoryview]:
    """Sizes, begins, ends and alignments, as native code takes them."""
    return columns.sizes, columns.begins, columns.ends, columns.alignments


def pairs_of(columns: Columns) -> tuple[memoryview, memoryview, memoryview]:
    """Pairs that conflict, that are exclusive, and that may be in place."""
    return columns.conflicts, columns.exclusive, columns.in_place


def end_of(columns: Columns) -> int:
    """The end of the only memory: its capacity, or the largest address if it has none."""
    return LIMIT if columns.capacity is None else columns.capacity


def pools_of(columns: Columns) -> tuple[Pool, ...]:
    """The pools."""
    if not columns.pools_text:
        return (Pool(id=columns.pool, capacity=columns.capacity),)
    return _pools_in(columns.pools_text)


# A run looks at those of one problem, several times for each plan.
@lru_cache(1)
def _pools_in(text: bytes) -> tuple[Pool, ...]:
    return _read_pools(text, ())


def _read_pools(text: bytes, lists: Sequence[Sequence[str]]) -> tuple[Pool, ...]:
    """The pools as they are written; InputError where they, or these lists of their names, are not right."""
    # Most problems that are plain do not wait for this import.
    from memstow.planner.reading.json_text import parse_json
    from memstow.planner.reading.parse import parse_problem

    buffers = [
        {"id": str(number), "size": 0, "lifetime": [0, 1], "pools": list(names)}
        for number, names in enumerate(lists)
    ]
    return parse_problem({"version": 1, "buffers": buffers, "pools": parse_json(text)}).pools


def are_pools_sound(columns: Columns) -> bool:
    """Whether the ordinary checks find nothing wrong with the pools; then the columns know their names."""
    lists = columns.lists
    try:
        pools = _read_pools(columns.pools_text, lists)
    except InputError:
        return False
    cost_of = {pool.id: pool.cost for pool in pools}
    everywhere = list(cost_of)
    dearest = [max(map(cost_of.__getitem__, names)) for names in (everywhere, *lists)]
    columns.set_pools(everywhere, ["*" if names == everywhere else counted_list(names) for names in lists])
    has_banks = any(pool.banks for pool in pools)
    return not has_banks and sum(map(mul, dearest, columns.accesses_of_lists())) <= LIMIT


def terms_of(columns: Columns) -> tuple[str, ...]:
    """The objective in force."""
    if columns.fit_only:
        return ()
    # Where sizes are formulas, it is a peak.
    return usual_terms(len(pools_of(columns)) if columns.pools_text and not columns.symbols_text else 1)


def memory_of(columns: Columns) -> "Memory":
    """The pools, and the lists of them, as native code takes them."""
    pools = pools_of(columns)
    number_of = {pool.id: number for number, pool in enumerate(pools)}
    return (
        [(end_of_pool(pool), pool.alignment, pool.base or 0, pool.cost) for pool in pools],
        [
            (number, entry.offset, entry.offset + entry.size)
            for number, pool in enumerate(pools)
            for entry in pool.reserved
        ],
        [[number_of[name] for name in names] for names in columns.lists],
    )


def choices_of(columns: Columns) -> tuple[memoryview, memoryview]:
    """By buffer the list of pools that it may go to, and its accesses."""
    return columns.list_of, columns.accesses


def problem_of(columns: Columns, members: Sequence[int] | None = None) -> Problem:
    """The same problem with an object for each buffer; of these members alone, where they are named."""
    # Each of them is made anew at every look.
    sizes, begins, ends, alignments = ints_of(columns)
    pool, pins = columns.pool, columns.pins
    own = len(alignments) > 1
    list_of, accesses = choices_of(columns)
    lists = {-1: None, **dict(enumerate(map(tuple, columns.lists)))}
    with collector_at_rest():
        buffers = tuple(
            Buffer(
                id=columns.name(number),
                size=sizes[number],
                lifetime=(begins[number], ends[number]),
                alignment=alignments[number if own else 0],
                pools=lists[list_of[number]] if list_of else None,
                accesses=accesses[number] if accesses and accesses[number] >= 0 else None,
                pool=pool if pins and pins[number] >= 0 else None,
                offset=pins[number] if pins and pins[number] >= 0 else None,
            )
            for number in (range(len(columns)) if members is None else members)
        )
        named = None if members is None else {buffer.id for buffer in buffers}
        conflicts, exclusive, in_place = (
            [
                pair
                for pair in zip(*_sides(columns, pairs), strict=True)
                if named is None or named.issuperset(pair)
            ]
            for pairs in pairs_of(columns)
        )
        return Problem(
            buffers=buffers,
            pools=pools_of(columns),
            conflicts=tuple(conflicts),
            exclusive=tuple(exclusive),
            relative=tuple(
                Relative(buffer=buffer, base=base, offset=distance)
                for buffer, base, distance in _ties(columns)
                if named is None or named.issuperset((buffer, base))
            ),
            in_place=tuple(InPlace(input=one, output=other) for one, other in in_place),
            objective=terms_of(columns) if columns.fit_only or columns.symbols_text else None,
        )


def with_tied(columns: Columns, members: Sequence[int]) -> Sequence[int]:
    """These buffers, and all that ties hold to some of them, in their order."""
    numbers = columns.ties.tolist()
    if not numbers:
        return members
    distances = Distances()
    for buffer, base, distance in zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True):
        distances.tie(buffer, base, distance)
    groups = {distances.find(member)[0] for member in members}
    tied = (number for number in (*numbers[::3], *numbers[1::3]) if distances.find(number)[0] in groups)
    return sorted({*members, *tied})


def plan_of(columns: Columns, plan: PlainPlan, problem: Problem | None = None) -> Plan:
    """The same plan with an object for each placement; of this problem, if it is there already."""
    with collector_at_rest():
        names = None if problem is None else [buffer.id for buffer in problem.buffers]
        placements = placements_of(columns, plan.offsets, plan.homes, names)
        names = [placement.buffer for placement in placements]
        return replace(
            plan.frame,
            placements=placements,
            pools=tuple(_named(use, names, plan) for use in plan.frame.pools),
            objective=tuple(_named(term, names, plan) for term in plan.frame.objective),
        )


def placements_of(
    columns: Columns, offsets: "array[int]", homes: "array[int]", names: list[str] | None = None
) -> tuple[Placement, ...]:
    """An object for each placement; `names`: of the buffers, where they are there already."""
    with collector_at_rest():
        if names is None:
            names = list(map(columns.name, range(len(columns))))
        pools: str | list[str] = columns.pool
        if homes:
            called = [pool.id for pool in pools_of(columns)]
            pools = list(map(called.__getitem__, homes))
        return instances_of(Placement, len(names), buffer=names, pool=pools, offset=list(offsets))


def _named(proven: _Proven, names: list[str], plan: PlainPlan) -> _Proven:
    certificate = proven.certificate
    if not isinstance(certificate, LiveBytes) or not plan.members:
        return proven
    buffers = tuple(names[member] for member in plan.members)
    return replace(proven, certificate=replace(certificate, buffers=buffers))


_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_NO_NAMES: Final = b'"buffers": []}}'
_JSON_BEGINS: Final = (b"{", b"[")


def columns_in(data: bytes, form: str | None = None, *, related: bool = False) -> Columns | None:
    """The plain problem in the bytes, in JSON or CSV; None where the ordinary readers should read it.

    `related`: or one that is plain but for pins and relations between buffers, or for its pools.
    """
    if form not in (None, "json", "csv"):
        return None
    is_json = looks_like_json(data)
    if form is not None and is_json != (form == "json"):
        return None
    columns = _columns.read_json(data, related) if is_json else _columns.read_csv(data)
    if columns is not None and columns.pools_text and not are_pools_sound(columns):
        return None
    return columns


def columns_and_options_in(data: bytes) -> tuple[Columns, bytes] | None:
    """The plain problem and the text of the options of a JSON envelope with nothing else in it; or None."""
    return _columns.read_request(data)


def looks_like_json(data: bytes) -> bool:
    """Whether the ordinary readers would take it for JSON."""
    return data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in _JSON_BEGINS


def write_plan(columns: Columns, plan: PlainPlan, form: str) -> bytes:
    """The plan in JSON or CSV."""
    if form == "json":
        return plan_as_json(columns, plan)
    text = columns.as_csv(plan.offsets)
    if text is None:
        # An id that needs quotes: the ordinary writer knows them.
        from memstow.planner.formats import csv_table

        problem = problem_of(columns)
        return csv_table.write_plan(problem, plan_of(columns, plan, problem))
    return text


def plan_as_json(columns: Columns, plan: PlainPlan) -> bytes:
    """The plan as native JSON."""
    # Handed out without a copy: the text of a million placements need not be there twice.
    document = BytesIO()
    status = _encode(plan.frame.status.value)
    document.write(f'{{\n  "status": {status},\n  "placements": [\n    '.encode())
    document.writelines(_placements(columns, plan))
    document.write(b"\n  ]")
    for name, value in _fields(plan.frame):
        line = f',\n  "{name}": {value}'.encode()
        proves = name == ("objective" if plan.frame.objective else "pools")
        document.writelines(_with_names(line, columns, plan) if proves else [line])
    document.write(b"\n}\n")
    return document.getvalue()


def is_in_order(columns: Columns, plan: bytes) -> bool:
    """Whether this is a plan of the problem, in native JSON, that places the buffers in their order."""
    read = _columns.read_plan(columns, plan, True)
    if read is None:
        return False
    return columns.placements(array("q", read.offsets), 0, len(columns), array("q")) in plan


def _placements(columns: Columns, plan: PlainPlan) -> Iterator[bytes]:
    """In parts, because the whole is a copy of what native code has made."""
    for first in range(0, len(columns), LINES_AT_ONCE):
        yield columns.placements(plan.offsets, first, first + LINES_AT_ONCE, plan.homes)


def _fields(plan: Plan) -> Iterator[tuple[str, str]]:
    """The fields of a plan behind its placements, those at their defaults left out.

    The text of small plans is put together here, which takes a third of the time of an encoder.
    """
    yield "pools", _lines(map(_pool, plan.pools))
    if plan.objective:
        yield "objective", _lines(map(_term, plan.objective))
    for name, value in (("solver", plan.solver), ("prover", plan.prover)):
        if value is not None:
            yield name, _encode(value)
    for name, number in (("seconds", plan.seconds), ("work", plan.work)):
        if number:
            yield name, repr(number)
    for name, value in (("digest", plan.digest), ("version", plan.version)):
        if value is not None:
            yield name, _encode(value)


def _lines(elements: Iterable[str]) -> str:
    """A list with a line for each element."""
    listed = ",\n    ".join(elements)
    return f"[\n    {listed}\n  ]"


def _pool(use: PoolUse) -> str:
    capacity = _number(use.capacity)
    time = "" if use.live.time is None else f', "time": {use.live.time}'
    fields = (
        f'"pool": {_encode(use.pool)}, "capacity": {capacity}, "peak": {use.peak}, "bound": {use.bound}, '
        f'"live": {{"bytes": {use.live.bytes}{time}}}'
    )
    return _proven(fields, use.certificate)


def _term(term: TermValue) -> str:
    fields = (
        f'"term": {_encode(term.term)}, "value": {term.value}, "bound": {term.bound}, "gap": {term.gap!r}'
    )
    return _proven(fields, term.certificate)


def _proven(fields: str, certificate: Certificate | None) -> str:
    if certificate is None:
        return f"{{{fields}}}"
    return f'{{{fields}, "certificate": {_certificate(certificate)}}}'


def _number(value: int | None) -> str:
    return "null" if value is None else repr(value)


def _certificate(certificate: Certificate) -> str:
    if isinstance(certificate, LiveBytes):
        pool = "null" if certificate.pool is None else _encode(certificate.pool)
        time, buffers = _number(certificate.time), _encode(certificate.buffers)
        return f'{{"kind": "live_bytes", "pool": {pool}, "time": {time}, "buffers": {buffers}}}'
    if isinstance(certificate, Sum):
        parts = ", ".join(map(_certificate, certificate.parts))
        return f'{{"kind": "sum", "parts": [{parts}]}}'
    fields: dict[str, object] = {}
    if isinstance(certificate, Exhausted):
        steps = [{"height": step.height, "nodes": step.nodes} for step in certificate.refuted]
        fields = {"solver": certificate.solver, "refuted": steps}
    elif isinstance(certificate, ExhaustedWindow):
        fields = {
            "solver": certificate.solver,
            "pool": certificate.pool,
            "begin": certificate.begin,
            "end": certificate.end,
            "buffers": list(certificate.buffers),
        }
    elif isinstance(certificate, Model):
        fields = {"solver": certificate.solver}
    elif not isinstance(certificate, Least):
        raise TypeError(f"no plan in columns is proven by {certificate.kind}")
    return _encode({"kind": certificate.kind, **fields})


def _with_names(line: bytes, columns: Columns, plan: PlainPlan) -> list[bytes]:
    """The only term, or the pool, its certificate with the names of its buffers."""
    if not plan.members:
        return [line]
    before, empty, after = line.rpartition(_NO_NAMES)
    if not empty:
        raise AssertionError("no certificate to name buffers in")
    return [before, b'"buffers": [', columns.names(plan.members), b"]}}", after]
