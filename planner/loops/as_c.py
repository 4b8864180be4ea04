"""The table as constants in a C header: C11 and later, C++11 and later, nothing but arrays of numbers."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from memstow.planner.exports.naming import Naming, check_words, identifiers, in_comment
from memstow.planner.model.loops import Copy, Loops, Scratch, StripeLoops, WholeOperator

_NONE: Final = -(1 << 31)
_A_LINE: Final = 100


def write(loops: Loops, prefix: str) -> bytes:
    """The header; its names begin with the prefix."""
    naming = Naming(prefix)
    check_words(naming)
    return "\n".join(_Header(loops, naming).parts()).encode("ascii")


class _Header:
    """The numbers that things have in the arrays, and the parts of the text."""

    def __init__(self, loops: Loops, naming: Naming) -> None:
        self.loops = loops
        self.macro, self.symbol = f"{naming.macro}_LOOPS", f"{naming.symbol}_loops"
        self.pools = {it.id: number for number, it in enumerate(loops.pools)}
        self.tensors = {it.id: number for number, it in enumerate(loops.tensors)}
        ran = dict.fromkeys(self._ran())
        self.operators = {name: number for number, name in enumerate(ran)}
        self.stripes = [it for it in loops.segments if isinstance(it, StripeLoops)]
        self.arguments: list[int] = []
        self.scratch: list[Scratch] = []

    def parts(self) -> Iterator[str]:
        """The text, part by part."""
        m, s = self.macro, self.symbol
        of = "" if self.loops.name is None else f" of {in_comment(self.loops.name)}"
        yield (
            f"/* The loops{of}, as memstow wrote them: not to be edited.\n * Problem {self.loops.digest}\n */"
        )
        yield f"#ifndef {m}_H\n#define {m}_H\n\n#include <stdint.h>\n"
        yield _TYPES.replace("NAME", s).replace("NONE", f"{m}_NONE")
        yield self._names("POOL", self.pools)
        yield self._names("OPERATOR", self.operators)
        yield self._names("TENSOR", self.tensors)
        yield _array(f"uint64_t {s}_pool_sizes", [[it.size] for it in self.loops.pools], bare=True)
        yield _array(
            f"{s}_tensor {s}_tensors",
            ([self.pools[it.pool], it.offset, it.size, it.first, it.last] for it in self.loops.tensors),
        )
        for number, stripe in enumerate(self.stripes):
            yield from self._stripe(number, stripe)
        segments = [list(self._segment(it)) for it in self.loops.segments]
        yield _array(f"{s}_stripe {s}_stripes", [list(self._numbers(*it)) for it in enumerate(self.stripes)])
        yield _array(f"{s}_segment {s}_segments", segments)
        yield _array(f"int32_t {s}_arguments", [[it] for it in self.arguments], bare=True)
        yield _array(
            f"{s}_scratch {s}_scratches",
            ([self.pools[it.pool], it.offset, it.size, *_phases(it)] for it in self.scratch),
        )
        yield f"enum {{ {m}_SEGMENT_COUNT = {len(segments)} }};\n\n#endif /* {m}_H */\n"

    def _ran(self) -> Iterator[str]:
        for segment in self.loops.segments:
            if isinstance(segment, WholeOperator):
                yield segment.runs or segment.id
            elif isinstance(segment, StripeLoops):
                yield from (it.runs or it.id for it in segment.operators)

    def _names(self, what: str, numbers: dict[str, int]) -> str:
        """Numbers by name."""
        names = identifiers(numbers)
        lines = [f"  {self.macro}_{what}_{names[it]} = {number}," for it, number in numbers.items()]
        return "\n".join(["enum {", *lines, "};\n"]) if lines else ""

    def _some(self, numbers: Iterable[int]) -> tuple[int, int]:
        """Numbers among the arguments: the first, and how many."""
        first = len(self.arguments)
        self.arguments += numbers
        return first, len(self.arguments) - first

    def _scratches(self, them: Iterable[Scratch]) -> tuple[int, int]:
        first = len(self.scratch)
        self.scratch += them
        return first, len(self.scratch) - first

    def _segment(self, it: WholeOperator | Copy | StripeLoops) -> Iterator[int]:
        match it:
            case WholeOperator():
                yield from (0, self.operators[it.runs or it.id])
                yield from self._some(self.tensors.get(name, _NONE) for name in it.inputs)
                yield from self._some(self.tensors.get(name, _NONE) for name in it.outputs)
                yield from self._scratches(it.temporaries)
            case Copy():
                yield from (1, -1)
                yield from self._some([self.tensors[it.source]])
                yield from self._some([self.tensors[it.target]])
                yield from (0, 0)
            case StripeLoops():
                number = next(at for at, stripe in enumerate(self.stripes) if stripe is it)
                yield from (2, number, 0, 0, 0, 0, 0, 0)

    def _stripe(self, number: int, it: StripeLoops) -> Iterator[str]:
        s = self.symbol
        rings = {ring.tensor: -1 - at for at, ring in enumerate(it.rings)}
        places = {**self.tensors, **rings}
        yield _array(
            f"{s}_ring {s}_{number}_rings",
            ([self.pools[r.pool], r.offset, r.rows, r.pitch, r.pixel] for r in it.rings),
        )
        members = []
        for member in it.operators:
            inputs = self._some(places.get(name, _NONE) for name in member.inputs)
            reads = self._some(member.inputs.index(name) for name in member.reads)
            sums = -1 if member.sums is None else self._scratches([member.sums])[0]
            scratches = self._scratches(member.temporaries)
            operator = self.operators[member.runs or member.id]
            makes = places.get(member.makes, _NONE)
            members.append([operator, *inputs, *reads, makes, sums, *scratches])
        yield _array(f"{s}_member {s}_{number}_members", members)
        width = max(map(len, it.steps), default=2)
        columns = [(*them, *(0,) * (width - len(them))) for strip in it.strips for them in strip]
        yield _array(f"uint32_t {s}_{number}_columns", columns, bare=True)
        steps = [(*step, *(0,) * (width - len(step))) for step in it.steps]
        yield _array(f"uint32_t {s}_{number}_steps", steps, bare=True)

    def _numbers(self, number: int, it: StripeLoops) -> Iterator[str]:
        width = max(map(len, it.steps), default=2)
        yield from map(str, (len(it.operators), len(it.rings), len(it.strips), len(it.steps), width))
        for what in ("members", "rings", "columns", "steps"):
            empty = what == "rings" and not it.rings
            yield "0" if empty else f"{self.symbol}_{number}_{what}"


def _phases(it: Scratch) -> tuple[int, int]:
    return it.phases or (0, 0)


def _array(declared: str, rows: Iterable[Sequence[object]], *, bare: bool = False) -> str:
    """An array, each row in braces unless the elements are numbers."""
    cells = [
        ", ".join(map(_number, row)) if bare else "{" + ", ".join(map(_number, row)) + "}" for row in rows
    ]
    if not cells:
        return ""
    lines, line = [], " "
    for cell in cells:
        if len(line) + len(cell) > _A_LINE and line.strip():
            lines.append(line)
            line = " "
        line += f" {cell},"
    return "\n".join([f"static const {declared}[] = {{", *lines, line, "};\n"])


def _number(value: object) -> str:
    if value == _NONE:
        return "INT32_MIN"
    return f"{value}u" if isinstance(value, int) and value >= 1 << 31 else str(value)


_TYPES: Final = """\
/* A tensor that is there as a whole: made by segment `first` (-1: given), needed until segment `last`. */
typedef struct { int32_t pool; uint64_t offset, size; int32_t first, last; } NAME_tensor;
/* What a kernel needs while it runs, in phases [first, end) or, if both are 0, in all. */
typedef struct { int32_t pool; uint64_t offset, size; uint32_t first, end; } NAME_scratch;
/* Row r of a ring is at offset + r % rows * pitch; a column has `pixel` bytes. */
typedef struct { int32_t pool; uint64_t offset; uint32_t rows; uint64_t pitch, pixel; } NAME_ring;
/* Lists are ranges of NAME_arguments: the first, and how many. A tensor is its number if it is there as a
 * whole, -1 - number if it is a ring of the stripe, NONE if it lies elsewhere, as weights do. */
typedef struct {
  int32_t op;
  int32_t inputs, input_count;
  int32_t reads, read_count; /* which of the inputs are images, as places among the inputs */
  int32_t makes;
  int32_t sums; /* in NAME_scratches; -1: it does not add up */
  int32_t scratch, scratch_count;
} NAME_member;
/* columns: by strip and member a row of `width` numbers: first and end of what it makes, then of what it
 * reads of each image. steps: rows of `width` numbers: member, row, then first and end of the rows that it
 * reads of each image. */
typedef struct {
  uint32_t member_count, ring_count, strip_count, step_count, width;
  const NAME_member *members;
  const NAME_ring *rings;
  const uint32_t *columns, *steps;
} NAME_stripe;
/* kind 0: the operator `what` makes its outputs; 1: copy its input to its output; 2: the stripe `what`. */
typedef struct {
  int32_t kind, what;
  int32_t inputs, input_count, outputs, output_count;
  int32_t scratch, scratch_count;
} NAME_segment;
#define NONE INT32_MIN
"""
