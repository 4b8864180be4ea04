"""A symbolic plan as C: one header that computes offsets and peaks from the values of the symbols.

C11 and later, C++11 and later; no memory from the heap, no compiler's own functions, no undefined
behaviour whatever the values are. The rule is that of `planner.shapes.symbolic_layout`, which tests
compare it with.

Names of symbols become members of a struct, orders tables of small numbers. In formulas every operation
is checked, and they need no more variables than a formula is deep.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from memstow.planner.exports.c_text import (
    array,
    enumeration,
    filled,
    guard_begin,
    guard_end,
    heading,
    signed,
    unsigned,
)
from memstow.planner.exports.naming import (
    DEFAULT_PREFIX,
    Naming,
    check_words,
    identifiers,
    in_comment,
    member_names,
)
from memstow.planner.formulas.formula import (
    Call,
    Chain,
    Formula,
    FormulaValueError,
    Name,
    Negation,
    Node,
    Number,
    text_of,
)
from memstow.planner.formulas.sizes import sizes_of
from memstow.planner.graph.symbolic_graph import symbolic_problem_of
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.problem import LIMIT, Kind, end_of, parse_term
from memstow.planner.model.symbolic import Symbol, SymbolicGraph, SymbolicPlan, SymbolicProblem
from memstow.planner.shapes.symbolic_layout import (
    ConstantOffsets,
    StackedOffsets,
    Unit,
    placers_of,
    reserved_above,
)
from memstow.planner.verify.symbolic_verdict import judge_symbolic

UnitKind = tuple[int, int, int, int | None, int]
"""Of a unit: the lowest place of its first member, modulus, residue, pin, pool."""

_LARGEST_MODULUS = 1 << 63


class OrderTables:
    """Orders as rows of numbers, with the kinds of units and the distances that they refer to."""

    def __init__(self, orders: Sequence[Sequence[Unit]]) -> None:
        self._kinds: dict[UnitKind, int] = {}
        self._distances: dict[int, int] = {}
        self.units = [len(units) for units in orders]
        """By order: how many units it has."""
        self.rows = [[number for unit in units for number in self._numbers(unit)] for units in orders]
        """By order: the units, as the function that reads them says."""

    @property
    def kinds(self) -> Sequence[UnitKind]:
        """The kinds of units by number."""
        return list(self._kinds)

    @property
    def distances(self) -> Sequence[int]:
        """The distances by number."""
        return list(self._distances)

    def _numbers(self, unit: Unit) -> Iterator[int]:
        modulus, residue = unit.grid.modulus, unit.grid.residue
        if modulus > _LARGEST_MODULUS:
            # Only one offset is within 2^62, if any.
            modulus, residue = _LARGEST_MODULUS, min(residue, LIMIT + 1)
        kind = (unit.floor, modulus, residue, unit.pin, unit.pool)
        yield self._kinds.setdefault(kind, len(self._kinds))
        yield len(unit.members)
        for member in unit.members:
            if abs(member.distance) > LIMIT:
                message = "two buffers are more than 2^62 bytes apart, and so the plan never fits"
                raise InputError.single("does_not_fit", "relative", message)
            yield member.buffer
            yield self._distances.setdefault(member.distance, len(self._distances))
            yield len(member.above)
            yield from member.above


_OPERATIONS: Final = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "//": "divide",
    "%": "remain",
    "ceil_div": "divide_up",
    "align": "align",
}


def function_body(node: Node, fields: Mapping[str, str]) -> str:
    """The statements that put the value into `*to`, or return that there is none.

    `fields` has, by symbol, the member of `*at` with its value. Names begin with `@n`, for a prefix.
    """
    writer = _FormulaWriter(fields)
    value = writer.value(node, 0)
    variables = ", ".join(f"v{number}" for number in range(writer.variables))
    declared = f"  int64_t {variables};\n" if variables else ""
    return f"{declared}{''.join(writer.lines)}  *to = {value};\n  return 0;\n"


class _FormulaWriter:
    """The statements so far. What is computed is kept in v0, v1, ..., as on a stack."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        self._fields = fields
        self.lines: list[str] = []
        self.variables = 0

    def value(self, node: Node, free: int) -> str:
        """Write what computes the value, and return what it is in C; `free` is the first free variable."""
        match node:
            case Number(value):
                return constant(value)
            case Name(name):
                return f"at->{self._fields[name]}"
            case Negation(operand):
                text = self.value(operand, free)
                return self._assigned(free, f"-{text}")
            case Chain(first, rest):
                text = self.value(first, free)
                for sign, operand in rest:
                    text = self._operation(_OPERATIONS[sign], text, operand, free)
                return text
            case Call("min" | "max" as function, (first, *others)):
                text = self._assigned(free, self.value(first, free))
                for other in others:
                    of = self.value(other, free + 1)
                    compared = "<" if function == "min" else ">"
                    text = self._assigned(free, f"{of} {compared} {text} ? {of} : {text}")
                return text
            case Call(function, (one, other)):
                return self._operation(_OPERATIONS[function], self.value(one, free), other, free)
        raise AssertionError(f"{node} is no node of a formula")

    def _operation(self, name: str, left: str, right: Node, free: int) -> str:
        operand = self.value(right, free + 1)
        into = self._variable(free)
        self.lines.append(f"  if (@n_{name}({left}, {operand}, &{into}) != 0) return 1;\n")
        return into

    def _assigned(self, number: int, text: str) -> str:
        into = self._variable(number)
        if text != into:
            self.lines.append(f"  {into} = {text};\n")
        return into

    def _variable(self, number: int) -> str:
        self.variables = max(self.variables, number + 1)
        return f"v{number}"


def constant(value: int) -> str:
    """A whole number as C; an InputError where it is too large to be a value of a formula."""
    if abs(value) > LIMIT:
        message = "a number in a formula is above 2^62, so the formula never has a value"
        raise InputError.single("bad_size", "buffers", message)
    return signed(value)


_A_LINE: Final = 100
_MOST_REPORTED: Final = 20
_NO_PIN: Final = "UINT64_MAX"


def write_symbolic_c(
    document: SymbolicProblem | SymbolicGraph, plan: SymbolicPlan, prefix: str = DEFAULT_PREFIX
) -> bytes:
    """The header; its names begin with the prefix. An InputError if the plan is not valid at every value."""
    check_words(Naming(prefix))
    problem = symbolic_problem_of(document, plan)
    if not problem.buffers:
        raise InputError.single("no_buffers", "buffers", "the problem has no buffers, so there is no layout")
    if plan.status in PLANNED:
        # What else it claims, of bounds for example, makes no difference to a program.
        bare = SymbolicPlan(
            status=Status.FEASIBLE, shapes=plan.shapes, placements=plan.placements, orders=plan.orders
        )
        violations = judge_symbolic(problem, bare).violations
        if violations:
            raise InputError(
                Issue(str(entry.code), "plan", entry.message) for entry in violations[:_MOST_REPORTED]
            )
    return header_of(problem, plan, prefix)


def header_of(problem: SymbolicProblem, plan: SymbolicPlan, prefix: str) -> bytes:
    """The header of a plan that nobody has judged: where it does not fit, it says so at run time."""
    naming = Naming(prefix)
    text = "\n".join(_Header(problem, plan).parts())
    return filled(text, naming.macro, naming.symbol).encode("ascii")


class _Header:
    """The parts of the text, with `@N` and `@n` for the prefix."""

    def __init__(self, problem: SymbolicProblem, plan: SymbolicPlan) -> None:
        self._problem = problem
        self._plan = plan
        self._placers = placers_of(problem, plan)
        self._sizes = _DifferentSizes(problem)
        self._fields = member_names(symbol.id for symbol in problem.symbols)

    def parts(self) -> Iterator[str]:
        """The text, part by part."""
        yield _inert(heading("The layout", self._problem.name, self._plan.digest))
        yield guard_begin("@N_LAYOUT_H", "stdint.h")
        yield self._symbols()
        yield _numbered("Indices of buffers.", "BUFFER", [buffer.id for buffer in self._problem.buffers])
        yield _numbered("Indices of pools.", "POOL", [pool.id for pool in self._problem.pools])
        yield self._counts()
        yield self._out_of_range()
        yield from self._functions()
        yield from self._tables()
        yield self._offsets()
        yield guard_end("@N_LAYOUT_H")

    def _symbols(self) -> str:
        lines = [
            f"  int64_t {self._fields[symbol.id]}; "
            f"/* {_inert(in_comment(symbol.id))}: {_range_text(symbol)} */"
            for symbol in self._problem.symbols
        ]
        return "\n".join(["/* A value of each symbol. */", "typedef struct {", *lines, "} @n_symbols;\n"])

    def _counts(self) -> str:
        counts = {
            "BUFFERS": len(self._problem.buffers),
            "POOLS": len(self._problem.pools),
            "ORDERS": len(self._placers),
            "FORMULAS": len(self._sizes.formulas),
            "DIFFERENT_SIZES": len(self._sizes.formulas) + len(self._sizes.constants),
        }
        named = {f"@N_{name}": count for name, count in counts.items()}
        return f"{enumeration(named)}\n{_ERRORS}"

    def _out_of_range(self) -> str:
        lines = []
        for symbol in self._problem.symbols:
            value, least, most = f"at->{self._fields[symbol.id]}", signed(symbol.min), signed(symbol.max)
            lines.append(f"  if ({value} < {least} || {value} > {most}) return 1;")
            if symbol.step > 1:
                above = f"((uint64_t){value} - (uint64_t){least})"
                lines.append(f"  if ({above} % {unsigned(symbol.step)} != 0) return 1;")
        head = "static inline int @n_out_of_range(const @n_symbols *at) {"
        return "\n".join([head, *lines, "  return 0;\n}\n"])

    def _functions(self) -> Iterator[str]:
        """What computes the sizes."""
        sizes = self._sizes
        # No number in the tables is larger than that of the buffers.
        bits = 16 if len(self._problem.buffers) < 1 << 16 else 32
        yield f"typedef uint{bits}_t @n_word;\n"
        loops = ""
        if sizes.formulas:
            yield _CHECKED
            for number, formula in enumerate(sizes.formulas):
                head = f"static inline int @n_size_{number}(const @n_symbols *at, int64_t *to) {{"
                body = function_body(formula.tree, self._fields)
                yield f"/* {_formula_text(formula)} */\n{head}\n{body}}}\n"
            names = (f"@n_size_{number}" for number in range(len(sizes.formulas)))
            yield array("int (*const @n_formulas[])(const @n_symbols *at, int64_t *to)", names)
            loops += _OF_FORMULAS
        if sizes.constants:
            yield array("const uint64_t @n_constants[]", map(unsigned, sizes.constants))
            loops += _OF_CONSTANTS
        yield array("const @n_word @n_size_of[]", map(str, sizes.of_buffer))
        yield _SIZES.replace("@LOOPS", loops)

    def _tables(self) -> Iterator[str]:
        """What computes the offsets from the sizes: `@n_place`."""
        first = self._placers[0]
        pools = self._problem.pools
        yield array("const uint64_t @n_ends[]", (unsigned(end_of(pool)) for pool in pools))
        ranges = [(pool, *entry) for pool, one in enumerate(pools) for entry in reserved_above(one)]
        if ranges:
            yield _RANGES
            cells = (f"{{{unsigned(begin)}, {unsigned(end)}, {pool}}}" for pool, begin, end in ranges)
            yield array("const @n_range @n_reserved[]", cells)
            yield _ON_RESERVED.replace("@COUNT", str(len(ranges)))
        refuses = _IF_ON_RESERVED if ranges else ""
        if isinstance(first, ConstantOffsets):
            yield array("const uint64_t @n_fixed[]", map(unsigned, first.offsets))
            yield array("const @n_word @n_pool_of[]", map(str, first.pool_of))
            yield _FIXED.replace("@RESERVED", refuses.replace("@POOL", "@n_pool_of[i]"))
            return
        tables = OrderTables([placer.units for placer in self._placers if isinstance(placer, StackedOffsets)])
        kinds = (
            f"{{{floor}u, {modulus}u, {residue}u, {_NO_PIN if pin is None else f'{pin}u'}, {pool}}}"
            for floor, modulus, residue, pin, pool in tables.kinds
        )
        yield _KINDS
        yield array("const @n_kind @n_kinds[]", kinds)
        distances = (f"{{{max(distance, 0)}u, {max(-distance, 0)}u}}" for distance in tables.distances)
        yield array("const @n_distance @n_distances[]", distances)
        for number, row in enumerate(tables.rows):
            yield array(f"const @n_word @n_order_{number}[]", map(str, row))
        orders = (f"@n_order_{number}" for number in range(len(tables.rows)))
        yield array("const @n_word *const @n_orders[]", orders)
        yield array("const @n_word @n_units[]", map(str, tables.units))
        yield _STACKED.replace("@RESERVED", refuses.replace("@POOL", "kind->pool"))

    def _offsets(self) -> str:
        if len(self._placers) == 1:
            return _OFFSETS_OF_ONE
        term = parse_term(self._problem.objective[0])
        pools = [pool.id for pool in self._problem.pools]
        if term is not None and term.pool is not None:
            objective = _PEAK_OF_ONE.replace("@POOL", str(pools.index(term.pool)))
        else:
            is_largest = term is not None and term.kind is Kind.MAX_PEAK
            objective = _LARGEST_PEAK if is_largest else _SUM_OF_PEAKS
        return f"{objective}\n{_OFFSETS_OF_SEVERAL}"


class _DifferentSizes:
    """The sizes that differ: first the formulas with symbols, then constants."""

    def __init__(self, problem: SymbolicProblem) -> None:
        sizes = sizes_of(problem)
        self.formulas = [formula for formula in sizes.formulas if formula.names]
        place = {formula: i for i, formula in enumerate(self.formulas)}
        constants: dict[int, int] = {}
        self.of_buffer: list[int] = []
        """By buffer: the number of its size."""
        for size in sizes.of_buffers:
            if isinstance(size, Formula) and size in place:
                self.of_buffer.append(place[size])
                continue
            value = _value(size) if isinstance(size, Formula) else size
            self.of_buffer.append(len(place) + constants.setdefault(value, len(constants)))
        self.constants = list(constants)


def _value(formula: Formula) -> int:
    """The value of a formula without symbols; an InputError where it is no size."""
    try:
        value = formula.value({})
    except FormulaValueError as error:
        raise _bad_size(formula, str(error)) from None
    if not 0 <= value <= LIMIT:
        raise _bad_size(formula, f"it is {value:,}")
    return value


def _bad_size(formula: Formula, reason: str) -> InputError:
    return InputError.single("bad_size", "buffers", f"{_formula_text(formula)} is no size: {reason}")


def _numbered(says: str, what: str, ids: list[str]) -> str:
    """An enumeration of the indices of ids."""
    names = identifiers(ids)
    return enumeration({f"@N_{what}_{names[one]}": number for number, one in enumerate(ids)}, says)


def _range_text(symbol: Symbol) -> str:
    steps = "" if symbol.step == 1 else f" in steps of {symbol.step}"
    return f"{symbol.min} to {symbol.max}{steps}"


def _inert(text: str) -> str:
    # What stands for the prefix must not come from outside.
    return text.replace("@", "\\u{40}")


def _formula_text(formula: Formula) -> str:
    """The formula, or its beginning. Nothing in a formula begins or ends a comment."""
    text = text_of(formula.tree)
    return text if len(text) <= _A_LINE else f"{text[:_A_LINE]}..."


# The parts that are the same for every plan. `@N` and `@n` stand for the prefix.

_ERRORS: Final = """\
/* What the functions return. */
enum {
  @N_OK = 0,
  @N_OUT_OF_RANGE = 1, /* a symbol is outside of its range, or between its steps */
  @N_BAD_SIZE = 2, /* a size is negative, or a value of its formula above 2^62 or divided by 0 or less */
  @N_DOES_NOT_FIT = 3, /* an end is behind its pool, or above a pinned buffer */
};
"""

_CHECKED: Final = """\
/* Arithmetic on values within +-2^62, as every value of a formula must be: not 0 where the result is not. */
#define @N_MOST INT64_C(4611686018427387904)

static inline int @n_add(int64_t a, int64_t b, int64_t *to) {
  if (b > 0 ? a > @N_MOST - b : a < -@N_MOST - b) return 1;
  *to = a + b;
  return 0;
}

static inline int @n_subtract(int64_t a, int64_t b, int64_t *to) {
  return @n_add(a, -b, to);
}

static inline int @n_multiply(int64_t a, int64_t b, int64_t *to) {
  const int64_t c = a < 0 ? -a : a, d = b < 0 ? -b : b;
  if (d != 0 && c > @N_MOST / d) return 1;
  *to = a * b;
  return 0;
}

/* Rounded down; what divides must be positive. */
static inline int @n_divide(int64_t a, int64_t b, int64_t *to) {
  if (b <= 0) return 1;
  *to = a / b - (a % b < 0 ? 1 : 0);
  return 0;
}

static inline int @n_remain(int64_t a, int64_t b, int64_t *to) {
  if (b <= 0) return 1;
  *to = a % b + (a % b < 0 ? b : 0);
  return 0;
}

/* Rounded up. */
static inline int @n_divide_up(int64_t a, int64_t b, int64_t *to) {
  if (b <= 0) return 1;
  *to = a / b + (a % b > 0 ? 1 : 0);
  return 0;
}

/* The least multiple of b at or above a. */
static inline int @n_align(int64_t a, int64_t b, int64_t *to) {
  int64_t times;
  return @n_divide_up(a, b, &times) != 0 || @n_multiply(times, b, to) != 0;
}
"""

_SIZES: Final = """\
/* The sizes that differ, in a row. */
static inline int @n_different_sizes(const @n_symbols *at, uint64_t *sizes) {
  unsigned i;
  if (@n_out_of_range(at)) return @N_OUT_OF_RANGE;
@LOOPS  return @N_OK;
}

/* The size of each buffer: `sizes` has room for @N_BUFFERS. */
static inline int @n_sizes(const @n_symbols *at, uint64_t *sizes) {
  uint64_t different[@N_DIFFERENT_SIZES];
  unsigned i;
  const int error = @n_different_sizes(at, different);
  if (error != @N_OK) return error;
  for (i = 0; i < @N_BUFFERS; i++) sizes[i] = different[@n_size_of[i]];
  return @N_OK;
}
"""

_OF_FORMULAS: Final = """\
  for (i = 0; i < @N_FORMULAS; i++) {
    int64_t size;
    if (@n_formulas[i](at, &size) != 0 || size < 0) return @N_BAD_SIZE;
    sizes[i] = (uint64_t)size;
  }
"""

_OF_CONSTANTS: Final = """\
  for (i = @N_FORMULAS; i < @N_DIFFERENT_SIZES; i++) sizes[i] = @n_constants[i - @N_FORMULAS];
"""

_RANGES: Final = """\
/* What is reserved above the bottom of a pool. */
typedef struct { uint64_t begin, end; unsigned pool; } @n_range;
"""

_ON_RESERVED: Final = """\
static inline int @n_on_reserved(unsigned pool, uint64_t offset, uint64_t size) {
  unsigned i;
  for (i = 0; i < @COUNT; i++) {
    const @n_range *const it = &@n_reserved[i];
    if (it->pool == pool && size != 0 && offset < it->end && it->begin < offset + size) return 1;
  }
  return 0;
}
"""

_IF_ON_RESERVED: Final = """\
    if (@n_on_reserved(@POOL, offset, size)) return 0;
"""

_FIXED: Final = """\
/* Offsets and peaks; 0 where they do not fit. */
static inline int @n_place(unsigned order, const uint64_t *sizes, uint64_t *offsets, uint64_t *peaks) {
  unsigned i;
  (void)order;
  for (i = 0; i < @N_POOLS; i++) peaks[i] = 0;
  for (i = 0; i < @N_BUFFERS; i++) {
    const uint64_t size = sizes[@n_size_of[i]];
    uint64_t *const peak = &peaks[@n_pool_of[i]];
    const uint64_t offset = offsets[i] = @n_fixed[i];
@RESERVED    /* Neither is above 2^62. */
    if (size != 0 && offset + size > *peak) *peak = offset + size;
  }
  for (i = 0; i < @N_POOLS; i++) {
    if (peaks[i] > @n_ends[i]) return 0;
  }
  return 1;
}
"""

_KINDS: Final = """\
/* What units have in common: where they begin at the lowest, and that the beginning less `residue` is a
 * multiple of `modulus`. A unit that is not pinned has a `pin` of UINT64_MAX. */
typedef struct { uint64_t floor, modulus, residue, pin; unsigned pool; } @n_kind;
/* The distance of a buffer from the first one of its unit. */
typedef struct { uint64_t up, down; } @n_distance;
"""

_STACKED: Final = """\
/* One pass over the units of an order; 0 where they do not fit. */
static inline int @n_place(unsigned order, const uint64_t *sizes, uint64_t *offsets, uint64_t *peaks) {
  const uint64_t most = UINT64_C(4611686018427387904);
  const @n_word *at = @n_orders[order];
  unsigned i, unit, above;
  for (i = 0; i < @N_POOLS; i++) peaks[i] = 0;
  /* A compiler cannot see that units are in an order in which nothing is read before it is written. */
  for (i = 0; i < @N_BUFFERS; i++) offsets[i] = 0;
  for (unit = 0; unit < @n_units[order]; unit++) {
    /* The kind, how many buffers, then of each: its number, its distance, how many it is above, and those. */
    const @n_kind *const kind = &@n_kinds[at[0]];
    const unsigned members = at[1];
    const @n_word *const first = at += 2;
    uint64_t begin = kind->floor;
    for (i = 0; i < members; i++) {
      const @n_distance *const distance = &@n_distances[at[1]];
      above = at[2];
      for (at += 3; above > 0; above--, at++) {
        const uint64_t need = offsets[*at] + sizes[@n_size_of[*at]] + distance->down;
        if (need > distance->up && need - distance->up > begin) begin = need - distance->up;
      }
    }
    if (begin > most) return 0;
    if (kind->pin != UINT64_MAX) {
      if (begin > kind->pin) return 0;
      begin = kind->pin;
    } else if (kind->modulus > 1) {
      const uint64_t rest = begin % kind->modulus;
      begin += rest <= kind->residue ? kind->residue - rest : kind->modulus - (rest - kind->residue);
      if (begin > most) return 0;
    }
    at = first;
    for (i = 0; i < members; i++) {
      const uint64_t size = sizes[@n_size_of[at[0]]];
      const uint64_t offset = begin + @n_distances[at[1]].up - @n_distances[at[1]].down;
      if (offset > most || size > most - offset) return 0;
@RESERVED      offsets[at[0]] = offset;
      if (size != 0 && offset + size > peaks[kind->pool]) peaks[kind->pool] = offset + size;
      at += 3 + at[2];
    }
  }
  for (i = 0; i < @N_POOLS; i++) {
    if (peaks[i] > @n_ends[i]) return 0;
  }
  return 1;
}
"""

_OFFSETS_OF_ONE: Final = """\
/* The offset of each buffer in its pool, and the peak of each pool: `offsets` has room for @N_BUFFERS,
 * `peaks` for @N_POOLS. Where it does not return @N_OK, what they hold means nothing. */
static inline int @n_offsets(const @n_symbols *at, uint64_t *offsets, uint64_t *peaks) {
  uint64_t sizes[@N_DIFFERENT_SIZES];
  const int error = @n_different_sizes(at, sizes);
  if (error != @N_OK) return error;
  return @n_place(0, sizes, offsets, peaks) ? @N_OK : @N_DOES_NOT_FIT;
}
"""

_OFFSETS_OF_SEVERAL: Final = """\
/* The offset of each buffer in its pool, and the peak of each pool: `offsets` has room for @N_BUFFERS,
 * `peaks` for @N_POOLS. Where it does not return @N_OK, what they hold means nothing. The order with the
 * least objective counts, the first of equals. */
static inline int @n_offsets(const @n_symbols *at, uint64_t *offsets, uint64_t *peaks) {
  uint64_t sizes[@N_DIFFERENT_SIZES];
  uint64_t low, high, best_low = 0, best_high = 0;
  unsigned order, best = @N_ORDERS;
  const int error = @n_different_sizes(at, sizes);
  if (error != @N_OK) return error;
  for (order = 0; order < @N_ORDERS; order++) {
    if (!@n_place(order, sizes, offsets, peaks)) continue;
    @n_objective(peaks, &low, &high);
    if (best == @N_ORDERS || high < best_high || (high == best_high && low < best_low)) {
      best = order;
      best_low = low;
      best_high = high;
    }
  }
  if (best == @N_ORDERS) return @N_DOES_NOT_FIT;
  if (best != @N_ORDERS - 1) (void)@n_place(best, sizes, offsets, peaks);
  return @N_OK;
}
"""

_SUM_OF_PEAKS: Final = """\
/* The sum of the peaks, in two words. */
static inline void @n_objective(const uint64_t *peaks, uint64_t *low, uint64_t *high) {
  unsigned i;
  *low = *high = 0;
  for (i = 0; i < @N_POOLS; i++) {
    *low += peaks[i];
    *high += *low < peaks[i] ? 1 : 0;
  }
}
"""

_LARGEST_PEAK: Final = """\
/* The largest peak. */
static inline void @n_objective(const uint64_t *peaks, uint64_t *low, uint64_t *high) {
  unsigned i;
  *low = *high = 0;
  for (i = 0; i < @N_POOLS; i++) {
    if (peaks[i] > *low) *low = peaks[i];
  }
}
"""

_PEAK_OF_ONE: Final = """\
/* The peak of one pool. */
static inline void @n_objective(const uint64_t *peaks, uint64_t *low, uint64_t *high) {
  *low = peaks[@POOL];
  *high = 0;
}
"""
