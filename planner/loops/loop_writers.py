"""The table of loops as a text for people, as an SVG picture, and as constants in a C header.

In the text, steps that repeat are phrases, each of which is said once and runs some times. The picture has
for each operator of a strip the rows that are made, read and kept. The header is C11 and later, C++11 and
later, and nothing but arrays of numbers.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from memstow.planner.exports.c_text import (
    array,
    enumeration,
    filled,
    guard_begin,
    guard_end,
    heading,
    unsigned,
)
from memstow.planner.exports.naming import Naming, check_words, identifiers
from memstow.planner.model.errors import InputError
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
from memstow.planner.show.drawing import FRAME, INK, QUIET, RAMP, ink_on
from memstow.planner.show.formatting import plain, table
from memstow.planner.show.svg import page, text

Step = tuple[int, ...]
_Block = Sequence[Step]

# Blocks of one repetition, at most: strides and sizes make short periods.
_LONGEST: Final = 16


@dataclass(frozen=True, slots=True)
class Phrase:
    """Steps that run some times; in each further time the numbers of a step grow by its own growth."""

    steps: tuple[Step, ...]
    times: int = 1
    growth: tuple[Step, ...] = ()


def phrases_of(steps: Sequence[Step], last: int) -> Iterator[Phrase]:
    """The steps of a strip as phrases; each step of the operator `last` ends a block of steps."""
    blocks: list[list[Step]] = [[]]
    for step in steps:
        blocks[-1].append(step)
        if step[0] == last:
            blocks.append([])
    yield from _phrases([block for block in blocks if block])


def _phrases(blocks: Sequence[_Block]) -> Iterator[Phrase]:
    waiting = [(0, len(blocks))] if blocks else []
    while waiting:
        begin, end = waiting.pop()
        run = _longest_run(blocks, begin, end)
        if run is None:
            yield Phrase(tuple(step for block in blocks[begin:end] for step in block))
            continue
        first, size, times, growth = run
        if begin < first:
            yield Phrase(tuple(step for block in blocks[begin:first] for step in block))
        steps = tuple(step for block in blocks[first : first + size] for step in block)
        yield Phrase(steps, times, growth)
        if first + size * times < end:
            waiting.append((first + size * times, end))


def _longest_run(
    blocks: Sequence[_Block], begin: int, end: int
) -> tuple[int, int, int, tuple[Step, ...]] | None:
    """(first block, blocks of a period, times, growth) of the repetition that covers most."""
    best: tuple[int, int, int, int, tuple[Step, ...]] | None = None
    for size in range(1, min(_LONGEST, (end - begin) // 2) + 1):
        for first, until in _runs(blocks, begin, end, size):
            times = (until - first) // size + 1
            covers = size * (times - 1)
            if times > 1 and (best is None or covers > best[0]):
                growth = tuple(
                    entry for at in range(first, first + size) for entry in _growth(blocks, at, size) or ()
                )
                best = covers, first, size, times, growth
    return None if best is None else best[1:]


def _runs(blocks: Sequence[_Block], begin: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    """Ranges of blocks where each is like the one a period later, and grows alike."""
    first = begin
    known: list[tuple[Step, ...] | None] = []
    for at in range(begin, end - size):
        known.append(_growth(blocks, at, size))
        if known[-1] is None:
            yield first, at
            first = at + 1
        elif at - first >= size and known[-1] != known[at - size - begin]:
            yield first, at
            first = at - size + 1
    yield first, end - size


def _growth(blocks: Sequence[_Block], at: int, size: int) -> tuple[Step, ...] | None:
    """By how much each number of a block is larger a period later; None where other operators run."""
    one, two = blocks[at], blocks[at + size]
    if [(entry[0], len(entry)) for entry in one] != [(entry[0], len(entry)) for entry in two]:
        return None
    return tuple(tuple(b - a for a, b in zip(x, y, strict=True)) for x, y in zip(one, two, strict=True))


# What is alike is cut short: the JSON has all of it.
_MOST_STRIPS: Final = 16
_MOST_STEPS_LISTED: Final = 200


def loops_text(loops: Loops) -> bytes:
    """Write the table as a text for people."""
    return ("\n".join(_lines(loops)) + "\n").encode()


def _lines(loops: Loops) -> Iterator[str]:
    yield f"Loops of {plain(loops.name or 'a graph')}, problem {loops.digest[:16]}"
    for pool in loops.pools:
        yield f"{plain(pool.id)}: {pool.size:,} bytes"
    yield ""
    heading = ("tensor as a whole", "pool", "offset", "bytes", "shape", "made", "last read")
    yield from table(heading, [_whole(tensor, len(loops.segments)) for tensor in loops.tensors], left=2)
    for number, segment in enumerate(loops.segments):
        yield ""
        match segment:
            case WholeOperator():
                tensors = f"{_listed(segment.inputs)} -> {_listed(segment.outputs)}"
                yield f"{number}. {_name(segment.id, segment.runs)}: {tensors}"
                yield from (f"   {line}" for line in _scratches(segment.temporaries))
            case Copy():
                yield f"{number}. copy {plain(segment.source)} to {plain(segment.target)}"
            case StripeLoops():
                yield from _stripe(number, segment)


def _whole(tensor: WholeTensor, end: int) -> list[str]:
    shape = "x".join(map(str, tensor.shape or ()))
    maker = "given" if tensor.first < 0 else str(tensor.first)
    last = "kept" if tensor.last >= end else "never" if tensor.last <= tensor.first else str(tensor.last)
    return [
        plain(tensor.id),
        plain(tensor.pool),
        f"{tensor.offset:,}",
        f"{tensor.size:,}",
        shape,
        maker,
        last,
    ]


def _name(named: str, runs: str | None) -> str:
    return plain(named) if runs is None else f"{plain(named)} ({plain(runs)} again)"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(plain, names)) or "nothing"


def _scratches(scratches: Sequence[Scratch]) -> Iterator[str]:
    for entry in scratches:
        yield f"temporary {plain(entry.id)}: {entry.size:,} bytes at {entry.offset:,} of {plain(entry.pool)}"


def _stripe(number: int, loops: StripeLoops) -> Iterator[str]:
    names = _listed([member.id for member in loops.operators])
    columns = "1 column" if loops.columns == 1 else f"{loops.columns:,} columns"
    strips = f"{len(loops.strips):,} strips of {columns}" if len(loops.strips) > 1 else "one strip"
    yield f"{number}. stripe of {names} in {strips}"
    yield from (f"   {_ring(ring)}" for ring in loops.rings)
    for member in loops.operators:
        yield from (f"   {line}" for line in _member(member))
    yield ""
    yield from (f"   {line}" for line in strip_lines(loops))
    yield ""
    yield "   in each strip:"
    yield from (f"   {line}" for line in step_lines(loops))


def _ring(ring: RowRing) -> str:
    rows = "1 row" if ring.rows == 1 else f"{ring.rows:,} rows, row r at r mod {ring.rows:,}"
    where = f"{ring.rows * ring.pitch:,} bytes at {ring.offset:,} of {plain(ring.pool)}"
    return f"ring {plain(ring.tensor)}: {where}, {ring.pitch:,} bytes a row, {ring.pixel:,} a column; {rows}"


def _member(member: StripeMember) -> Iterator[str]:
    if member.runs is not None:
        yield _name(member.id, member.runs)
    if member.sums is not None:
        where = f"{member.sums.size:,} bytes at {member.sums.offset:,} of {plain(member.sums.pool)}"
        name = plain(member.makes)
        yield f"sums of {name}: {where}; they become {name} after the last strip"
    yield from _scratches(member.temporaries)
    if member.again:
        columns = f"{member.again:,} of {member.columns + member.again:,} columns"
        yield f"{plain(member.makes)}: {columns} are made once more"


def strip_lines(loops: StripeLoops) -> Iterator[str]:
    """Which columns each operator makes in each strip."""
    shown = loops.strips[:_MOST_STRIPS]
    heading = ("columns by strip", *(plain(member.makes) for member in loops.operators))
    rows = [
        [str(number), *(_range(columns[0], columns[1]) for columns in strip)]
        for number, strip in enumerate(shown)
    ]
    yield from table(heading, rows)
    if len(loops.strips) > len(shown):
        yield f"and {len(loops.strips) - len(shown):,} more"


def _range(first: int, end: int) -> str:
    return "-" if first >= end else str(first) if end == first + 1 else f"{first}..{end - 1}"


def step_lines(loops: StripeLoops) -> Iterator[str]:
    """The steps of a strip; what repeats is said once."""
    written = 0
    for phrase in phrases_of(loops.steps, len(loops.operators) - 1):
        if written + len(phrase.steps) > _MOST_STEPS_LISTED:
            yield "and more steps: the table in JSON has them"
            return
        written += len(phrase.steps)
        margin = "  "
        if phrase.times > 1:
            yield f"  {phrase.times:,} times, i = 0..{phrase.times - 1}:"
            margin = "    "
        for step, growth in zip(
            phrase.steps, phrase.growth or [(0,) * len(step) for step in phrase.steps], strict=True
        ):
            yield margin + _step(loops.operators[step[0]], step, growth)


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


_CELL, _HIGH, _GAP = 22, 16, 8
_LEFT, _TOP, _HEAD, _FOOT = 150, 16, 26, 22
_LEAST_WIDTH: Final = 640
MOST_STEPS_DRAWN: Final = 160
MOST_ROWS_DRAWN: Final = 40
_COLOURS: Final = {"made": RAMP[9], "read": RAMP[5], "kept": RAMP[0]}


def loops_picture(table: Loops) -> bytes:
    """A panel for each stripe; an InputError where there is none."""
    stripes = [segment for segment in table.segments if isinstance(segment, StripeLoops)]
    if not stripes:
        message = "the plan has no stripes to draw; `memstow front` finds plans with stripes"
        raise InputError.single("no_stripes", "format", message)
    panels, top = [], _TOP
    for stripe in stripes:
        panels += list(_Panel(stripe, top).parts())
        top += _height(stripe)
    shown = max(min(len(stripe.steps), MOST_STEPS_DRAWN) for stripe in stripes)
    width = max(_LEFT + shown * _CELL + 20, _LEAST_WIDTH)
    title = f"{plain(table.name or 'loops', most=200)}: steps of a strip"
    return page(width, top, title, None, panels).encode()


def _height(stripe: StripeLoops) -> int:
    return (
        _HEAD
        + sum(drawn_rows(stripe, place) * _HIGH + _GAP for place in range(len(stripe.operators)))
        + _FOOT
    )


class _Panel:
    """One stripe: which row each line of each operator has, step by step."""

    def __init__(self, stripe: StripeLoops, top: int) -> None:
        self._stripe = stripe
        self._top = top
        self._tops: list[int] = []
        at = top + _HEAD
        for place in range(len(stripe.operators)):
            self._tops.append(at)
            at += drawn_rows(stripe, place) * _HIGH + _GAP
        self._ring_of = {ring.tensor: number for number, ring in enumerate(stripe.rings)}

    def parts(self) -> Iterator[str]:
        """The elements of the picture."""
        stripe = self._stripe
        names = ", ".join(plain(operator.id, most=24) for operator in stripe.operators[:6])
        columns = "1 column" if stripe.columns == 1 else f"{stripe.columns:,} columns"
        strips = f"{len(stripe.strips):,} strips of {columns}"
        what = "one strip" if len(stripe.strips) == 1 else strips
        yield text(12, self._top + 8, f"{names}: {what}", fill=INK, font_weight="bold")
        for place, (member, top) in enumerate(zip(stripe.operators, self._tops, strict=True)):
            rows = drawn_rows(stripe, place)
            word = "adds up" if member.sums else f"{rows} rows" if rows > 1 else "1 row"
            if member.makes not in self._ring_of and not member.sums:
                word = "whole"
            label = f"{plain(member.makes, most=14)} ({word})"
            yield text(_LEFT - 8, top + _HIGH - 4, label, fill=INK, text_anchor="end")
            shown = min(len(stripe.steps), MOST_STEPS_DRAWN)
            yield (
                f'<rect x="{_LEFT}" y="{top}" width="{shown * _CELL}" height="{rows * _HIGH}" '
                f'fill="none" stroke="{FRAME}"/>'
            )
        yield from self._steps()
        words = "dark: made in this step; green: read; light: kept for later"
        if len(stripe.steps) > MOST_STEPS_DRAWN:
            words += f"; the first {MOST_STEPS_DRAWN} of {len(stripe.steps):,} steps"
        yield text(_LEFT, self._top + _height(stripe) - _FOOT + 6, words, fill=QUIET)

    def _steps(self) -> Iterator[str]:
        for number, step in enumerate(drawn_steps(self._stripe)):
            for cell in step.cells:
                yield self._cell(number, cell)

    def _cell(self, step: int, cell: "DrawnCell") -> str:
        colour = _COLOURS[cell.state]
        x, y = _LEFT + step * _CELL, self._tops[cell.place] + cell.line * _HIGH
        box = f'<rect x="{x + 1}" y="{y + 1}" width="{_CELL - 2}" height="{_HIGH - 2}" fill="{colour}"/>'
        middle, below = x + _CELL // 2, y + _HIGH - 5
        return box + text(
            middle, below, str(cell.row), fill=ink_on(colour), text_anchor="middle", font_size=9
        )


class DrawnCell(NamedTuple):
    """A row that an operator makes, or that its ring has, in a step: in which line of the operator it is."""

    place: int
    line: int
    row: int
    state: Literal["made", "read", "kept"]


class DrawnStep(NamedTuple):
    """What a step does with rows, and which are there after it has made its own."""

    cells: Sequence[DrawnCell]
    held: Sequence[tuple[str, int, int]]
    """Of rings that have any: the tensor, the first row and the last."""


def drawn_steps(stripe: StripeLoops) -> Iterator[DrawnStep]:
    """The first steps of a strip, as many as are drawn."""
    place_of = {operator.makes: place for place, operator in enumerate(stripe.operators)}
    lines_of = {ring.tensor: ring.rows for ring in stripe.rings}
    rows_of: dict[str, list[int]] = {ring.tensor: [] for ring in stripe.rings}
    for step, frees in zip(stripe.steps[:MOST_STEPS_DRAWN], stripe.frees, strict=False):
        place, row, *rows = step
        member = stripe.operators[place]
        read = {
            (name, number)
            for at, name in enumerate(member.reads)
            for number in range(rows[2 * at], rows[2 * at + 1])
        }
        cells = [DrawnCell(place, row % lines_of.get(member.makes, 1), row, "made")]
        for tensor, entries in rows_of.items():
            cells += (
                DrawnCell(
                    place_of[tensor],
                    entry % lines_of[tensor],
                    entry,
                    "read" if (tensor, entry) in read else "kept",
                )
                for entry in entries
            )
        if member.makes in rows_of:
            rows_of[member.makes].append(row)
        held = [(tensor, entries[0], entries[-1]) for tensor, entries in rows_of.items() if entries]
        yield DrawnStep([cell for cell in cells if cell.line < MOST_ROWS_DRAWN], held)
        for ring, first in zip(frees[::2], frees[1::2], strict=True):
            tensor = stripe.rings[ring].tensor
            rows_of[tensor] = [entry for entry in rows_of[tensor] if entry >= first]


def drawn_rows(stripe: StripeLoops, place: int) -> int:
    """The lines of an operator: the rows of its ring."""
    makes = stripe.operators[place].makes
    return min(next((ring.rows for ring in stripe.rings if ring.tensor == makes), 1), MOST_ROWS_DRAWN)


_NONE: Final = -(1 << 31)


def loops_header(loops: Loops, prefix: str) -> bytes:
    """The header; its names begin with the prefix."""
    naming = Naming(prefix)
    check_words(naming)
    return "\n".join(_Header(loops, naming).parts()).encode("ascii")


class _Header:
    """The numbers that things have in the arrays, and the parts of the text."""

    def __init__(self, loops: Loops, naming: Naming) -> None:
        self.loops = loops
        self.macro, self.symbol = f"{naming.macro}_LOOPS", f"{naming.symbol}_loops"
        self.pools = {pool.id: number for number, pool in enumerate(loops.pools)}
        self.tensors = {tensor.id: number for number, tensor in enumerate(loops.tensors)}
        ran = dict.fromkeys(self._ran())
        self.operators = {name: number for number, name in enumerate(ran)}
        self.stripes = [segment for segment in loops.segments if isinstance(segment, StripeLoops)]
        self.arguments: list[int] = []
        self.scratch: list[Scratch] = []

    def parts(self) -> Iterator[str]:
        """The text, part by part."""
        m, s = self.macro, self.symbol
        yield heading("The loops", self.loops.name, self.loops.digest, pronoun="them")
        yield guard_begin(f"{m}_H", "stdint.h")
        yield filled(_TYPES, m, s)
        yield self._names("POOL", self.pools)
        yield self._names("OPERATOR", self.operators)
        yield self._names("TENSOR", self.tensors)
        yield _table(f"uint64_t {s}_pool_sizes", [[pool.size] for pool in self.loops.pools], bare=True)
        yield _table(
            f"{s}_tensor {s}_tensors",
            (
                [self.pools[tensor.pool], tensor.offset, tensor.size, tensor.first, tensor.last]
                for tensor in self.loops.tensors
            ),
        )
        for number, stripe in enumerate(self.stripes):
            yield from self._stripe(number, stripe)
        segments = [list(self._segment(segment)) for segment in self.loops.segments]
        yield _table(
            f"{s}_stripe {s}_stripes", [list(self._numbers(*entry)) for entry in enumerate(self.stripes)]
        )
        yield _table(f"{s}_segment {s}_segments", segments)
        yield _table(f"int32_t {s}_arguments", [[argument] for argument in self.arguments], bare=True)
        yield _table(
            f"{s}_scratch {s}_scratches",
            (
                [self.pools[entry.pool], entry.offset, entry.size, *(entry.phases or (0, 0))]
                for entry in self.scratch
            ),
        )
        yield f"enum {{ {m}_SEGMENT_COUNT = {len(segments)} }};\n"
        yield guard_end(f"{m}_H")

    def _ran(self) -> Iterator[str]:
        for segment in self.loops.segments:
            if isinstance(segment, WholeOperator):
                yield segment.runs or segment.id
            elif isinstance(segment, StripeLoops):
                yield from (operator.runs or operator.id for operator in segment.operators)

    def _names(self, what: str, numbers: dict[str, int]) -> str:
        """Constants with the numbers of pools, operators or tensors."""
        names = identifiers(numbers)
        named = {f"{self.macro}_{what}_{names[one]}": number for one, number in numbers.items()}
        return enumeration(named) if named else ""

    def _some(self, numbers: Iterable[int]) -> tuple[int, int]:
        """Numbers among the arguments: the first, and how many."""
        first = len(self.arguments)
        self.arguments += numbers
        return first, len(self.arguments) - first

    def _scratches(self, scratches: Iterable[Scratch]) -> tuple[int, int]:
        first = len(self.scratch)
        self.scratch += scratches
        return first, len(self.scratch) - first

    def _segment(self, operator: WholeOperator | Copy | StripeLoops) -> Iterator[int]:
        match operator:
            case WholeOperator():
                yield from (0, self.operators[operator.runs or operator.id])
                yield from self._some(self.tensors.get(name, _NONE) for name in operator.inputs)
                yield from self._some(self.tensors.get(name, _NONE) for name in operator.outputs)
                yield from self._scratches(operator.temporaries)
            case Copy():
                yield from (1, -1)
                yield from self._some([self.tensors[operator.source]])
                yield from self._some([self.tensors[operator.target]])
                yield from (0, 0)
            case StripeLoops():
                number = next(at for at, stripe in enumerate(self.stripes) if stripe is operator)
                yield from (2, number, 0, 0, 0, 0, 0, 0)

    def _stripe(self, number: int, loops: StripeLoops) -> Iterator[str]:
        s = self.symbol
        rings = {ring.tensor: -1 - at for at, ring in enumerate(loops.rings)}
        places = {**self.tensors, **rings}
        yield _table(
            f"{s}_ring {s}_{number}_rings",
            ([self.pools[r.pool], r.offset, r.rows, r.pitch, r.pixel] for r in loops.rings),
        )
        members = []
        for member in loops.operators:
            inputs = self._some(places.get(name, _NONE) for name in member.inputs)
            reads = self._some(member.inputs.index(name) for name in member.reads)
            sums = -1 if member.sums is None else self._scratches([member.sums])[0]
            scratches = self._scratches(member.temporaries)
            operator = self.operators[member.runs or member.id]
            makes = places.get(member.makes, _NONE)
            members.append([operator, *inputs, *reads, makes, sums, *scratches])
        yield _table(f"{s}_member {s}_{number}_members", members)
        width = max(map(len, loops.steps), default=2)
        columns = [(*numbers, *(0,) * (width - len(numbers))) for strip in loops.strips for numbers in strip]
        yield _table(f"uint32_t {s}_{number}_columns", columns, bare=True)
        steps = [(*step, *(0,) * (width - len(step))) for step in loops.steps]
        yield _table(f"uint32_t {s}_{number}_steps", steps, bare=True)

    def _numbers(self, number: int, loops: StripeLoops) -> Iterator[str]:
        width = max(map(len, loops.steps), default=2)
        yield from map(
            str, (len(loops.operators), len(loops.rings), len(loops.strips), len(loops.steps), width)
        )
        for what in ("members", "rings", "columns", "steps"):
            empty = what == "rings" and not loops.rings
            yield "0" if empty else f"{self.symbol}_{number}_{what}"


def _table(declared: str, rows: Iterable[Sequence[object]], *, bare: bool = False) -> str:
    """An array of constants, each row in braces unless the elements are numbers; nothing without rows."""
    cells = [", ".join(map(_number, row)) for row in rows]
    return array(f"const {declared}[]", cells if bare else [f"{{{cell}}}" for cell in cells]) if cells else ""


def _number(value: object) -> str:
    if value == _NONE:
        return "INT32_MIN"
    return unsigned(value) if isinstance(value, int) and value >= 1 << 31 else str(value)


_TYPES: Final = """\
/* A tensor that is there as a whole: made by segment `first` (-1: given), needed until segment `last`. */
typedef struct { int32_t pool; uint64_t offset, size; int32_t first, last; } @n_tensor;
/* What a kernel needs while it runs, in phases [first, end) or, if both are 0, in all. */
typedef struct { int32_t pool; uint64_t offset, size; uint32_t first, end; } @n_scratch;
/* Row r of a ring is at offset + r % rows * pitch; a column has `pixel` bytes. */
typedef struct { int32_t pool; uint64_t offset; uint32_t rows; uint64_t pitch, pixel; } @n_ring;
/* Lists are ranges of @n_arguments: the first, and how many. A tensor is its number if it is there as a
 * whole, -1 - number if it is a ring of the stripe, @N_NONE if it lies elsewhere, as weights do. */
typedef struct {
  int32_t op;
  int32_t inputs, input_count;
  int32_t reads, read_count; /* which of the inputs are images, as places among the inputs */
  int32_t makes;
  int32_t sums; /* in @n_scratches; -1: it does not add up */
  int32_t scratch, scratch_count;
} @n_member;
/* columns: by strip and member a row of `width` numbers: first and end of what it makes, then of what it
 * reads of each image. steps: rows of `width` numbers: member, row, then first and end of the rows that it
 * reads of each image. */
typedef struct {
  uint32_t member_count, ring_count, strip_count, step_count, width;
  const @n_member *members;
  const @n_ring *rings;
  const uint32_t *columns, *steps;
} @n_stripe;
/* kind 0: the operator `what` makes its outputs; 1: copy its input to its output; 2: the stripe `what`. */
typedef struct {
  int32_t kind, what;
  int32_t inputs, input_count, outputs, output_count;
  int32_t scratch, scratch_count;
} @n_segment;
#define @N_NONE INT32_MIN
"""
