"""Sizes that are formulas: whether they are sizes at every value, their extremes, and the sizes of a
problem.

The least and the largest value of a formula are proven by its directions or by intervals, or found at all
values where they are few. Whether it is a size everywhere is shown in the same ways, else the range is
split into boxes: those that are proven are dropped, the corners of the others are tried. Native code
reads many formulas and shows them to be sizes in the time that one takes in Python; what it cannot say of
a formula (it is none, is no size somewhere, does not go in one direction) is left to those who have words
for it.

`problem_at` is a symbolic problem as an ordinary one at a point, `largest_problem` the one with each size
at its largest; `sample` has values at which formulas are compared.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from math import prod
from random import Random
from typing import Final, Literal

from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.problem import LIMIT, Problem
from memstow.planner.model.records import Memo
from memstow.planner.model.symbolic import MOST_SYMBOLS, Symbol, SymbolicProblem, count_of, takes, with_sizes
from memstow.planner.model.symbolic import points_of as points_of
from memstow.planner.shapes.formula import (
    Direction,
    Facts,
    Formula,
    FormulaValueError,
    Node,
    compile_formula,
    evaluate,
    facts_of,
    names_in,
    node_count,
    parse_formula,
)
from memstow.solvers.shapes import Formulas

MOST_VALUES: Final = 65_536
"""A formula is evaluated at all values of its symbols if there are no more than this."""
_MOST_STEPS: Final = 10_000_000

How = Literal["monotone", "every value", "interval"]


@dataclass(slots=True)
class Effort:
    """How many nodes may still be evaluated, over all formulas of a problem."""

    left: int = _MOST_STEPS

    def affords(self, node: Node, times: int) -> bool:
        """Whether the formula may be evaluated so many times, which then is counted."""
        steps = times * node_count(node)
        if steps > self.left:
            return False
        self.left -= steps
        return True


@dataclass(frozen=True, slots=True)
class Extremes:
    """The least and the largest value, exact unless they are bounds by intervals."""

    low: int
    high: int
    how: How


ByAll = Callable[[], tuple[int, int] | None]
"""The least and the largest of all values of a formula, None where that is not known."""


def no_extremes() -> None:
    """Nothing is known of all values."""


def extremes(
    node: Node, symbols: Mapping[str, Symbol], effort: Effort, by_all: ByAll = no_extremes
) -> Extremes:
    """The extremes of a formula that has a value everywhere.

    `by_all` looks at all of its values faster, where it can.
    """
    used = used_symbols(node, symbols)
    facts = facts_of(node, whole_ranges(used))
    if is_monotone(facts, used):
        low, high = (evaluate(node, corner(facts, used, top)) for top in (False, True))
        return Extremes(low, high, "monotone")
    count = value_count(used)
    if count <= MOST_VALUES and effort.affords(node, count):
        known = by_all()
        if known is not None:
            return Extremes(*known, "every value")
        function = compile_formula(node)
        values = [function(at) for at in all_values(used)]
        return Extremes(min(values), max(values), "every value")
    return Extremes(facts.low, facts.high, "interval")


def used_symbols(node: Node, symbols: Mapping[str, Symbol]) -> dict[str, Symbol]:
    """The symbols of the formula."""
    return {name: symbols[name] for name in names_in(node)}


def whole_ranges(symbols: Mapping[str, Symbol]) -> dict[str, tuple[int, int]]:
    """The range of each symbol."""
    return {name: (symbol.min, symbol.max) for name, symbol in symbols.items()}


def is_monotone(facts: Facts, symbols: Mapping[str, Symbol]) -> bool:
    """Whether the formula goes in one direction as each symbol grows."""
    return all(facts.direction(name) is not Direction.UNKNOWN for name in symbols)


def corner(facts: Facts, symbols: Mapping[str, Symbol], top: bool) -> dict[str, int]:
    """The values at which a monotone formula is largest, or least."""
    return {
        name: symbol.max if (facts.direction(name) is Direction.NONDECREASING) == top else symbol.min
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


def examine(
    node: Node, symbols: Mapping[str, Symbol], effort: Effort, by_all: ByAll = no_extremes
) -> NoSize | None:
    """None if the formula is within 0 and 2^62 at every value, with nothing beyond +-2^62 on the way.

    `by_all` looks at all of its values faster, where it can.
    """
    used = used_symbols(node, symbols)
    if _is_sound(node, used):
        return None
    function = compile_formula(node)
    for ends in (
        {name: entry.min for name, entry in used.items()},
        {name: entry.max for name, entry in used.items()},
    ):
        if found := _tried(function, ends):
            return found
    count = value_count(used)
    if count <= MOST_VALUES and effort.affords(node, count):
        if by_all() is not None:
            return None
        return next((found for at in all_values(used) if (found := _tried(function, at))), None)
    return _split(node, function, used, effort)


def _is_sound(node: Node, box: Mapping[str, Symbol]) -> bool:
    """Whether the formula is proven to be a size in the whole box."""
    facts = facts_of(node, whole_ranges(box))
    if not facts.sure:
        return False
    if facts.low >= 0:
        return True
    # One direction in each symbol: the least value is at a corner, which is a smaller box.
    lowest = corner(facts, box, top=False)
    if is_monotone(facts, box):
        return facts_of(node, {name: (value, value) for name, value in lowest.items()}).low >= 0
    ranges = {
        name: (lowest[name], lowest[name])
        if facts.direction(name) is not Direction.UNKNOWN
        else (symbol.min, symbol.max)
        for name, symbol in box.items()
    }
    return facts_of(node, ranges).low >= 0


def _tried(function: Formula, at: dict[str, int]) -> NoSize | None:
    try:
        value = function(at)
    except FormulaValueError as error:
        return NoSize(error.code, at, str(error))
    if value < 0:
        return NoSize("formula_negative", at, f"the size is {value:,}, below 0")
    return None


def _split(node: Node, function: Formula, whole: dict[str, Symbol], effort: Effort) -> NoSize | None:
    boxes = deque([whole])
    for _ in range(_MOST_BOXES):
        if not boxes:
            return None
        if not effort.affords(node, _BOX_EFFORT):
            break
        box = boxes.popleft()
        if _is_sound(node, box):
            continue
        for ends in (
            {name: entry.min for name, entry in box.items()},
            {name: entry.max for name, entry in box.items()},
        ):
            if found := _tried(function, ends):
                return found
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


class QuickFormulas:
    """Those of the texts that native code can read."""

    def __init__(self, texts: Iterable[str], symbols: Iterable[Symbol]) -> None:
        symbols = tuple(symbols)
        self._names = [symbol.id for symbol in symbols]
        self._number: dict[str, int] = {}
        self._of_all = False
        sound = len(symbols) <= MOST_SYMBOLS and len(set(self._names)) == len(symbols)
        if not sound or not all(takes(symbol, symbol.max) for symbol in symbols):
            return
        self._native = Formulas(self._names, [(symbol.min, symbol.max, symbol.step) for symbol in symbols])
        texts = list(dict.fromkeys(texts))
        for text in texts:
            if text.isascii() and self._native.read(text):
                self._number[text] = len(self._number)
        self._of_all = len(self._number) == len(texts)

    def monotone(self, text: str) -> tuple[int, int] | None:
        """The least and the largest value of a formula that goes in one direction as each symbol grows.

        None where that is not shown, or not that it has a value everywhere, and none below 0.
        """
        number = self._number.get(text)
        return None if number is None else self._native.if_monotone(number)

    def of_all_values(self, text: str) -> tuple[int, int] | None:
        """The same by all values of its symbols; there have to be few."""
        number = self._number.get(text)
        return None if number is None else self._native.of_all_values(number)

    def sizes_at(self, values: Mapping[str, int]) -> list[int] | None:
        """The size of each of the texts; None where one has none, or cannot be read here."""
        if not self._of_all:
            return None
        at = [values.get(name) for name in self._names]
        known = [entry for entry in at if type(entry) is int and -LIMIT <= entry <= LIMIT]
        return self._native.sizes_at(known) if len(known) == len(at) else None


class Sizes:
    """The size of each buffer: a number of bytes, or the index of a distinct formula."""

    def __init__(self, problem: SymbolicProblem) -> None:
        self._symbols = frozenset(symbol.id for symbol in problem.symbols)
        sizes = [buffer.size for buffer in problem.buffers]
        self.texts: Final = tuple(dict.fromkeys(size for size in sizes if isinstance(size, str)))
        """The formulas, each once."""
        self._plain = tuple({size for size in sizes if not isinstance(size, str)})
        distinct: tuple[int | str, ...] = (*self.texts, *self._plain)
        where = {entry: place for place, entry in enumerate(distinct)}
        self._place = tuple(map(where.__getitem__, sizes))
        self.quick: Final = QuickFormulas(self.texts, problem.symbols)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Of each buffer: its size, where it is a number."""
        return self.put([0] * len(self.texts))

    @property
    def formulas(self) -> tuple[int | None, ...]:
        """Of each buffer: the index of its formula, where it has one."""
        count = len(self.texts)
        return tuple(place if place < count else None for place in self._place)

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """The formulas, read; FormulaError if one is none."""
        return tuple(parse_formula(text, self._symbols) for text in self.texts)

    @cached_property
    def _functions(self) -> tuple[Formula, ...]:
        return tuple(map(compile_formula, self.nodes))

    def node(self, index: int) -> Node:
        """One of the formulas, read."""
        return parse_formula(self.texts[index], self._symbols)

    def at(self, values: Mapping[str, int]) -> tuple[int, ...]:
        """The size of each buffer; FormulaValueError where a formula has none."""
        found = self.quick.sizes_at(values)
        if found is None:
            found = [_checked_size(function(values)) for function in self._functions]
        return self.put(found)

    def put(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """The size of each buffer, given that of each formula."""
        table = (*sizes, *self._plain)
        return tuple(map(table.__getitem__, self._place))


_known_sizes: Final = Memo[SymbolicProblem, Sizes]()


def sizes_of(problem: SymbolicProblem) -> Sizes:
    """The sizes of a problem, whose formulas have to be valid."""
    known = _known_sizes.get(problem)
    if known is None:
        known = Sizes(problem)
        _known_sizes.note(problem, known)
    return known


def note_same_sizes(problem: SymbolicProblem, other: SymbolicProblem) -> None:
    """The problem has the same symbols and buffers as another, whose formulas are read already."""
    _known_sizes.note(problem, sizes_of(other))


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


def largest_problem(problem: SymbolicProblem) -> tuple[Problem, dict[str, How]]:
    """The problem with each size at its largest, and by buffer how that is known; it has to be valid."""
    sizes = sizes_of(problem)
    found = _extremes_of(problem)
    large = sizes.put([max(0, entry.high) for entry in found])
    how: dict[str, How] = {
        buffer.id: "monotone" if index is None else found[index].how
        for buffer, index in zip(problem.buffers, sizes.formulas, strict=True)
    }
    return with_sizes(problem, large), how


_known_extremes: Final = Memo[SymbolicProblem, list[Extremes]]()


def _extremes_of(problem: SymbolicProblem) -> list[Extremes]:
    """Those of each distinct formula."""
    found = _known_extremes.get(problem)
    if found is None:
        effort = Effort()
        symbols = {symbol.id: symbol for symbol in problem.symbols}
        sizes = sizes_of(problem)
        found = [_extremes(sizes, index, symbols, effort) for index in range(len(sizes.texts))]
        _known_extremes.note(problem, found)
    return found


def _extremes(sizes: Sizes, index: int, symbols: Mapping[str, Symbol], effort: Effort) -> Extremes:
    text = sizes.texts[index]
    simple = sizes.quick.monotone(text)
    if simple is not None:
        return Extremes(*simple, "monotone")
    return extremes(sizes.node(index), symbols, effort, partial(sizes.quick.of_all_values, text))


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
