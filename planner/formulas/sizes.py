"""Sizes that are formulas: whether they are sizes at every value, their extremes, and the sizes of a
problem.

The least and the largest value of a formula are proven by its directions or by intervals, or found at all
values where they are few. Whether it is a size everywhere is shown in the same ways, else the range is
split into boxes: those that are proven are dropped, the corners of the others are tried.

`problem_at` is a symbolic problem as an ordinary one at a point, `largest_problem` the one with each size
at its largest; `sample` has values at which formulas are compared.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from random import Random
from typing import Final, Literal

from memstow.planner.formulas.formula import Direction, Extent, Facts, Formula, Formulas, FormulaValueError
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.printable import as_integer, shown
from memstow.planner.model.problem import LIMIT, Problem
from memstow.planner.model.symbolic import Symbol, SymbolicProblem, count_of, takes, with_sizes
from memstow.planner.model.symbolic import points_of as points_of
from memstow.records import Remembered, picker

MOST_VALUES: Final = 65_536
"""A formula is evaluated at all values of its symbols if there are no more than this."""
_MOST_STEPS: Final = 10_000_000

How = Literal["monotone", "every value", "interval"]


@dataclass(slots=True)
class Effort:
    """How many nodes may still be evaluated, over all formulas of a problem."""

    left: int = _MOST_STEPS

    def affords(self, formula: Formula, times: int) -> bool:
        """Whether the formula may be evaluated so many times, which then is counted."""
        steps = times * formula.node_count
        if steps > self.left:
            return False
        self.left -= steps
        return True

    def affords_all(self, formula: Formula, symbols: Mapping[str, Symbol]) -> bool:
        """The same of all values of these symbols, if they are few."""
        count = value_count(symbols)
        return count <= MOST_VALUES and self.affords(formula, count)


@dataclass(frozen=True, slots=True)
class Extremes:
    """The least and the largest value, exact unless they are bounds by intervals."""

    low: int
    high: int
    how: How


def extremes(formula: Formula, effort: Effort) -> Extremes:
    """The extremes of a formula that has a value everywhere."""
    simple = formula.if_monotone()
    if simple is not None:
        return Extremes(*simple, "monotone")
    symbols = formula.symbols
    facts = formula.facts(_whole_ranges(symbols))
    if Direction.UNKNOWN not in facts.directions.values():
        return Extremes(
            formula.value(_corner(facts, symbols, top=False)),
            formula.value(_corner(facts, symbols, top=True)),
            "monotone",
        )
    if effort.affords_all(formula, symbols) and (exact := formula.of_all_values()) is not None:
        return Extremes(*exact, "every value")
    return Extremes(facts.low, facts.high, "interval")


def _whole_ranges(symbols: Mapping[str, Symbol]) -> dict[str, Extent]:
    return {name: (symbol.min, symbol.max) for name, symbol in symbols.items()}


def _corner(facts: Facts, symbols: Mapping[str, Symbol], *, top: bool) -> dict[str, int]:
    """The values at which a monotone formula is largest, or least."""
    return {
        name: symbol.max if (facts.directions[name] is Direction.NONDECREASING) == top else symbol.min
        for name, symbol in symbols.items()
    }


def value_count(symbols: Mapping[str, Symbol]) -> int:
    """How many combinations of values these symbols have."""
    return prod(count_of(symbol) for symbol in symbols.values())


def all_values(symbols: Mapping[str, Symbol]) -> Iterator[dict[str, int]]:
    """All combinations of the values of these symbols."""
    rows = product(*(range(symbol.min, symbol.max + 1, symbol.step) for symbol in symbols.values()))
    return (dict(zip(symbols, row, strict=True)) for row in rows)


_MOST_BOXES: Final = 2_000
_BOX_EFFORT: Final = 40
"""What a box costs, in evaluations."""


@dataclass(frozen=True, slots=True)
class NoSize:
    """A formula that is no size: where and why; `at` is None where it only could not be shown to be one."""

    code: str
    at: dict[str, int] | None
    message: str


def examine(formula: Formula, effort: Effort) -> NoSize | None:
    """None if the formula is within 0 and 2^62 at every value, with nothing beyond +-2^62 on the way."""
    symbols = formula.symbols
    if _is_sound(formula, symbols):
        return None
    wrong = _tried_ends(formula, symbols)
    if wrong is not None:
        return wrong
    if effort.affords_all(formula, symbols):
        exact = formula.of_all_values()
        if exact is not None and exact[0] >= 0:
            return None
        return next(wrong for at in all_values(symbols) if (wrong := _tried(formula, at)))
    return _split(formula, symbols, effort)


def _is_sound(formula: Formula, box: Mapping[str, Symbol]) -> bool:
    """Whether the formula is proven to be a size in the whole box."""
    facts = formula.facts(_whole_ranges(box))
    if not facts.sure:
        return False
    if facts.low >= 0:
        return True
    # Along symbols in which it goes in one direction the least value is at an end, which is a smaller box.
    lowest = _corner(facts, box, top=False)
    ranges = {
        name: (symbol.min, symbol.max)
        if facts.directions[name] is Direction.UNKNOWN
        else (lowest[name], lowest[name])
        for name, symbol in box.items()
    }
    return formula.facts(ranges).low >= 0


def _tried_ends(formula: Formula, box: Mapping[str, Symbol]) -> NoSize | None:
    least = {name: symbol.min for name, symbol in box.items()}
    most = {name: symbol.max for name, symbol in box.items()}
    return _tried(formula, least) or _tried(formula, most)


def _tried(formula: Formula, at: dict[str, int]) -> NoSize | None:
    try:
        value = formula.value(at)
    except FormulaValueError as error:
        return NoSize(error.code, at, str(error))
    if value < 0:
        return NoSize("formula_negative", at, f"the size is {value:,}, below 0")
    return None


def _split(formula: Formula, whole: dict[str, Symbol], effort: Effort) -> NoSize | None:
    boxes = deque([whole])
    for _ in range(_MOST_BOXES):
        if not boxes:
            return None
        if not effort.affords(formula, _BOX_EFFORT):
            break
        box = boxes.popleft()
        if _is_sound(formula, box):
            continue
        wrong = _tried_ends(formula, box)
        if wrong is not None:
            return wrong
        boxes.extend(_halves(box))
    return (
        NoSize("formula_not_shown", None, "the size cannot be shown to stay within 0 and 2^62")
        if boxes
        else None
    )


def _halves(box: dict[str, Symbol]) -> tuple[dict[str, Symbol], ...]:
    """The box cut in the middle of the symbol that takes most values; nothing of a box of one value."""
    widest = max(box.values(), key=count_of, default=None)
    if widest is None or count_of(widest) < 2:
        return ()
    middle = widest.min + (count_of(widest) // 2) * widest.step
    ranges = ((widest.min, middle - widest.step), (middle, widest.max))
    return tuple(
        {**box, widest.id: Symbol(id=widest.id, min=low, max=high, step=widest.step)} for low, high in ranges
    )


class Sizes:
    """The size of each buffer: a number of bytes, or the index of a distinct formula."""

    def __init__(
        self, problem: SymbolicProblem, read: tuple[Formulas, Sequence[Formula]] | None = None
    ) -> None:
        """FormulaError if the text of a size is no formula.

        `read`: the formulas of the sizes in their order, each once, where they were read already.
        """
        sizes = [buffer.size for buffer in problem.buffers]
        once = dict.fromkeys(sizes)
        if read is None:
            among = Formulas((), problem.symbols)
            read = among, [among.read(size) for size in once if isinstance(size, str)]
        self._among = read[0]
        self.formulas: Final = tuple(read[1])
        """The formulas, each once."""
        self._plain = tuple([size for size in once if not isinstance(size, str)])
        distinct: tuple[int | str, ...] = (*(formula.text for formula in self.formulas), *self._plain)
        where = {entry: place for place, entry in enumerate(distinct)}
        self._of_distinct = picker(list(map(where.__getitem__, sizes)))

    @property
    def of_buffers(self) -> Iterator[int | Formula]:
        """Of each buffer: its size, or the formula of it."""
        distinct: tuple[int | Formula, ...] = (*self.formulas, *self._plain)
        return map(distinct.__getitem__, self._of_distinct(range(len(distinct))))

    def at(self, values: Mapping[str, int]) -> tuple[int, ...]:
        """The size of each buffer; FormulaValueError where a formula has none."""
        sizes = self._among.sizes_at(values)
        if sizes is None:
            sizes = [_checked_size(formula.value(values)) for formula in self.formulas]
        return self.put(sizes)

    def put(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """The size of each buffer, given that of each formula."""
        return self._of_distinct((*sizes, *self._plain))


@Remembered
def sizes_of(problem: SymbolicProblem) -> Sizes:
    """The sizes of a problem, whose formulas have to be valid."""
    return Sizes(problem)


def _checked_size(value: int) -> int:
    if 0 <= value <= LIMIT:
        return value
    raise FormulaValueError("formula_negative", f"a size of {value:,} is negative")


def problem_at(problem: SymbolicProblem, at: Mapping[str, int]) -> Problem:
    """The problem where each symbol has this value; InputError unless each has one, within its range."""
    return with_sizes(problem, sizes_at(problem, at))


def sizes_at(problem: SymbolicProblem, at: Mapping[str, int]) -> tuple[int, ...]:
    """The size of each buffer where each symbol has this value."""
    require_values(problem, at)
    try:
        return sizes_of(problem).at(at)
    except FormulaValueError as error:
        # Only of a problem that was not checked.
        raise InputError.single(error.code, "$.buffers", f"{error} at {values_text(at)}") from error


@Remembered
def _extremes_of(problem: SymbolicProblem) -> list[Extremes]:
    effort = Effort()
    return [extremes(formula, effort) for formula in sizes_of(problem).formulas]


@Remembered
def with_largest_sizes(problem: SymbolicProblem) -> Problem:
    """The problem with each size at its largest; it has to be valid."""
    return with_sizes(problem, sizes_of(problem).put([max(0, entry.high) for entry in _extremes_of(problem)]))


def largest_are_reached(problem: SymbolicProblem) -> bool:
    """Whether each of the largest sizes is the size at some value, and no bound by intervals."""
    return all(entry.how != "interval" for entry in _extremes_of(problem))


def largest_problem(problem: SymbolicProblem) -> tuple[Problem, dict[str, How]]:
    """The problem with each size at its largest, and by buffer how that is known; it has to be valid."""
    sizes = sizes_of(problem)
    how = dict(zip(sizes.formulas, (entry.how for entry in _extremes_of(problem)), strict=True))
    return with_largest_sizes(problem), {
        buffer.id: how[size] if isinstance(size, Formula) else "monotone"
        for buffer, size in zip(problem.buffers, sizes.of_buffers, strict=True)
    }


def require_values(problem: SymbolicProblem, at: Mapping[str, int]) -> None:
    """Raise InputError unless there is a value for every symbol, one that it takes."""
    issues = [Issue(code, f"$.{name}", message) for code, name, message in value_issues(problem, at)]
    if issues:
        raise InputError(issues)


def value_issues(problem: SymbolicProblem, at: Mapping[str, int]) -> list[tuple[str, str, str]]:
    """What is wrong with the values of symbols: a code, the symbol, a message."""
    symbols = {symbol.id: symbol for symbol in problem.symbols}
    names = ", ".join(sorted(symbols))
    issues = [
        ("unknown_symbol", name, f"{name!r} is no symbol; there are: {names}")
        for name in at
        if name not in symbols
    ]
    for name, symbol in symbols.items():
        if name not in at:
            issues.append(("missing_symbol", name, f"{name!r} has no value; give one for each of: {names}"))
        elif as_integer(at[name]) is None:
            message = f"{shown(at[name])} is no whole number, as {name!r} is"
            issues.append(("not_an_integer", name, message))
        elif not takes(symbol, at[name]):
            steps = f" in steps of {symbol.step:,}" if symbol.step > 1 else ""
            message = (
                f"{at[name]:,} is no value of {name!r}, which goes from {symbol.min:,} to {symbol.max:,}"
            )
            issues.append(("value_out_of_range", name, f"{message}{steps}"))
    return issues


def values_text(at: Mapping[str, int]) -> str:
    """Values for a message: `s=128, b=4`."""
    return ", ".join(f"{name}={value}" for name, value in at.items())


_ALL: Final = 64
_MIXED: Final = 40
_PRIMES: Final = (3, 5, 7, 11, 13, 17, 31, 61, 127, 509, 1021, 4093)


def sample(symbols: Sequence[Symbol], fewest: int = _MIXED) -> list[dict[str, int]]:
    """The largest of all first, then the least, then combinations; the same each time."""
    if prod(map(count_of, symbols)) <= max(_ALL, fewest):
        every = list(product(*(range(symbol.max, symbol.min - 1, -symbol.step) for symbol in symbols)))
        rows = [every[0], every[-1], *every[1:-1]]
    else:
        rows = [tuple(symbol.max for symbol in symbols), tuple(symbol.min for symbol in symbols)]
        random = Random(len(symbols))  # noqa: S311 - values to try
        columns = []
        for symbol in symbols:
            candidates = _candidates(symbol, random)
            column = [*candidates]
            while len(column) < fewest:
                column.append(symbol.min + symbol.step * random.randrange(count_of(symbol)))
            if len(symbols) > 1:
                random.shuffle(column)
            columns.append(column[:fewest])
        rows += zip(*columns, strict=True)
    named = [{symbol.id: value for symbol, value in zip(symbols, row, strict=True)} for row in rows]
    return list({tuple(entry.values()): entry for entry in named}.values())


def _candidates(symbol: Symbol, random: Random) -> list[int]:
    """Both ends and their neighbours, steps at primes, and values next to each other within."""
    last = count_of(symbol) - 1
    steps = [0, 1, 2, 3, last, last - 1, last - 2, last - 3]
    steps += [entry for entry in _PRIMES if entry <= last]
    middle = random.randrange(last + 1)
    steps += [middle, middle + 1, middle + 2, middle + 3]
    kept = dict.fromkeys(step for step in steps if 0 <= step <= last)
    return [symbol.min + symbol.step * entry for entry in kept]
