"""The table as a text for people: what repeats is said once."""

from collections.abc import Iterator, Sequence
from typing import Final

from memstow.planner.loops.periods import Phrase, Step, phrases_of
from memstow.planner.model.loops import (
    Copy,
    Loops,
    RowRing,
    Scratch,
    StripeLoops,
    StripeMember,
    WholeOperator,
    WholeTensor,
)
from memstow.planner.show.formatting import plain, table

# What is alike is cut short: the JSON has all of it.
_MOST_STRIPS: Final = 16
_MOST_STEPS: Final = 200


def write(loops: Loops, _prefix: str) -> bytes:
    """The text."""
    return ("\n".join(_lines(loops)) + "\n").encode()


def _lines(loops: Loops) -> Iterator[str]:
    yield f"Loops of {plain(loops.name or 'a graph')}, problem {loops.digest[:16]}"
    for pool in loops.pools:
        yield f"{plain(pool.id)}: {pool.size:,} bytes"
    yield ""
    heading = ("tensor as a whole", "pool", "offset", "bytes", "shape", "made", "last read")
    yield from table(heading, [_whole(it, len(loops.segments)) for it in loops.tensors], left=2)
    for number, segment in enumerate(loops.segments):
        yield ""
        match segment:
            case WholeOperator():
                yield from _alone(number, segment)
            case Copy():
                yield f"{number}. copy {plain(segment.source)} to {plain(segment.target)}"
            case StripeLoops():
                yield from _stripe(number, segment)


def _whole(it: WholeTensor, end: int) -> list[str]:
    shape = "x".join(map(str, it.shape or ()))
    made = "given" if it.first < 0 else str(it.first)
    last = "kept" if it.last >= end else "never" if it.last <= it.first else str(it.last)
    return [plain(it.id), plain(it.pool), f"{it.offset:,}", f"{it.size:,}", shape, made, last]


def _name(named: str, runs: str | None) -> str:
    return plain(named) if runs is None else f"{plain(named)} ({plain(runs)} again)"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(plain, names)) or "nothing"


def _alone(number: int, it: WholeOperator) -> Iterator[str]:
    yield f"{number}. {_name(it.id, it.runs)}: {_listed(it.inputs)} -> {_listed(it.outputs)}"
    yield from (f"   {line}" for line in _scratches(it.temporaries))


def _scratches(them: Sequence[Scratch]) -> Iterator[str]:
    for it in them:
        yield f"temporary {plain(it.id)}: {it.size:,} bytes at {it.offset:,} of {plain(it.pool)}"


def _stripe(number: int, it: StripeLoops) -> Iterator[str]:
    names = _listed([member.id for member in it.operators])
    columns = "1 column" if it.columns == 1 else f"{it.columns:,} columns"
    strips = f"{len(it.strips):,} strips of {columns}" if len(it.strips) > 1 else "one strip"
    yield f"{number}. stripe of {names} in {strips}"
    yield from (f"   {_ring(ring)}" for ring in it.rings)
    for member in it.operators:
        yield from (f"   {line}" for line in _member(member))
    yield ""
    yield from (f"   {line}" for line in _strips(it))
    yield ""
    yield "   in each strip:"
    yield from (f"   {line}" for line in _steps(it))


def _ring(it: RowRing) -> str:
    rows = "1 row" if it.rows == 1 else f"{it.rows:,} rows, row r at r mod {it.rows:,}"
    where = f"{it.rows * it.pitch:,} bytes at {it.offset:,} of {plain(it.pool)}"
    return f"ring {plain(it.tensor)}: {where}, {it.pitch:,} bytes a row, {it.pixel:,} a column; {rows}"


def _member(it: StripeMember) -> Iterator[str]:
    if it.runs is not None:
        yield _name(it.id, it.runs)
    if it.sums is not None:
        where = f"{it.sums.size:,} bytes at {it.sums.offset:,} of {plain(it.sums.pool)}"
        yield f"sums of {plain(it.makes)}: {where}; they become {plain(it.makes)} after the last strip"
    yield from _scratches(it.temporaries)
    if it.again:
        yield f"{plain(it.makes)}: {it.again:,} of {it.columns + it.again:,} columns are made once more"


def _strips(it: StripeLoops) -> Iterator[str]:
    shown = it.strips[:_MOST_STRIPS]
    heading = ("columns by strip", *(plain(member.makes) for member in it.operators))
    rows = [
        [str(number), *(_range(columns[0], columns[1]) for columns in strip)]
        for number, strip in enumerate(shown)
    ]
    yield from table(heading, rows)
    if len(it.strips) > len(shown):
        yield f"and {len(it.strips) - len(shown):,} more"


def _range(first: int, end: int) -> str:
    return "-" if first >= end else str(first) if end == first + 1 else f"{first}..{end - 1}"


def _steps(it: StripeLoops) -> Iterator[str]:
    said = 0
    for phrase in phrases_of(it.steps, len(it.operators) - 1):
        if said + len(phrase.steps) > _MOST_STEPS:
            yield "and more steps: the table in JSON has them"
            return
        said += len(phrase.steps)
        margin = "  "
        if phrase.times > 1:
            yield f"  {phrase.times:,} times, i = 0..{phrase.times - 1}:"
            margin = "    "
        for step, growth in zip(phrase.steps, _growth(phrase), strict=True):
            yield margin + _step(it.operators[step[0]], step, growth)


def _growth(phrase: Phrase) -> Sequence[Step]:
    return phrase.growth or [(0,) * len(step) for step in phrase.steps]


def _step(member: StripeMember, step: Step, growth: Step) -> str:
    reads = []
    for at, name in enumerate(member.reads):
        first, end = step[2 + 2 * at], step[3 + 2 * at]
        if first < end or growth[2 + 2 * at] != growth[3 + 2 * at]:
            one = end == first + 1 and growth[2 + 2 * at] == growth[3 + 2 * at]
            rows = _grown(first, growth[2 + 2 * at])
            rows += "" if one else ".." + _grown(end - 1, growth[3 + 2 * at])
            reads.append(f"{plain(name)}[{rows}]")
    read = ", ".join(reads) or "nothing"
    row = _grown(step[1], growth[1])
    makes = plain(member.makes)
    if member.sums is not None:
        return f"{plain(member.id)}: add {read} to {makes}"
    return f"{plain(member.id)}: {makes}[{row}] from {read}"


def _grown(number: int, growth: int) -> str:
    """The number in the i-th time."""
    if not growth:
        return str(number)
    times = "i" if growth == 1 else f"{growth}i"
    return f"{times}+{number}" if number else times
