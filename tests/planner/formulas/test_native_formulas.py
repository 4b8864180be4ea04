"""Formulas in native code, of the planner and of the judge: the same as in Python."""

from array import array
from random import Random
from typing import Final

import pytest

from memstow.planner.formulas.formula import FormulaError, Formulas, parse_formula
from memstow.planner.formulas.sizes import all_values
from memstow.planner.judge._judge import Goal, frame
from memstow.planner.model.problem import LIMIT
from memstow.planner.model.symbolic import Symbol, SymbolicBuffer, SymbolicProblem
from memstow.planner.shapes.point_plans import live_bytes_of
from memstow.planner.verify import formula_trees as judged
from memstow.planner.verify import symbolic_sizes
from memstow.planner.verify.formula_trees import FormulaError as JudgedError
from memstow.planner.verify.formula_trees import Space
from memstow.planner.verify.verdict import Findings
from memstow.solvers.shapes import LiveEvents
from tests.planner.formulas.formulas import NAMES, NoValueError, by_python, random_text

_LARGE: Final = "9" * 30
_BROKEN: Final = (
    "",
    "1s",
    "s s",
    "(s",
    "s)",
    "align(s)",
    "t",
    "s/2",
    _LARGE,
    "mín(s)",
    "s+",
    "min()",
    "2 s",
)


def _symbols(random: Random) -> tuple[Symbol, ...]:
    result = []
    for name in NAMES:
        low, step = random.choice((0, 1, 1, random.randint(-5, 40))), random.choice((1, 1, 3, 16))
        result.append(Symbol(id=name, min=low, max=low + step * random.randint(0, 6), step=step))
    return tuple(result)


def _texts(random: Random, count: int) -> list[str]:
    some = [random_text(random, random.randint(0, 4)) for _ in range(count)]
    return [*dict.fromkeys(entry for entry in some if len(entry) <= 2000), *_BROKEN]


def _formula(text: str) -> bool:
    try:
        parse_formula(text, NAMES)
    except FormulaError:
        return False
    return True


def _by_python(text: str, at: dict[str, int]) -> int | None:
    try:
        return by_python(text, at)
    except NoValueError:
        return None


@pytest.mark.parametrize("seed", range(6))
def test_sizes_and_extremes_are_those_of_python(seed: int) -> None:
    random = Random(seed)
    symbols = _symbols(random)
    simple = 0
    for text in _texts(random, 150):
        among = Formulas((), symbols)
        if not _formula(text):
            with pytest.raises(FormulaError):
                among.read(text)
            continue
        formula = among.read(text)
        at = {symbol.id: random.randrange(symbol.min, symbol.max + 1, symbol.step) for symbol in symbols}
        value = _by_python(text, at)
        assert among.sizes_at(at) == (None if value is None or value < 0 else [value]), text
        rows = ({**at, **row} for row in all_values(formula.symbols))
        values = [_by_python(text, row) for row in rows]
        known = [value for value in values if value is not None]
        extremes = (min(known), max(known)) if len(known) == len(values) else None
        assert formula.of_all_values() == extremes, text
        assert formula.if_monotone() in (None, extremes), text
        simple += formula.if_monotone() is not None
    assert simple > 20


@pytest.mark.parametrize("seed", range(6))
def test_the_judge_finds_the_same_by_both_ways(seed: int) -> None:
    random = Random(seed)
    problem = SymbolicProblem(symbols=_symbols(random), buffers=())
    space = Space(problem, Findings())
    result = 0
    for text in _texts(random, 250):
        try:
            native, tree = symbolic_sizes.Formulas(space), symbolic_sizes.Formulas(space)
            tree._native = None  # The trees alone, as for very wide ranges.
            one, other = native.read(text), tree.read(text)
        except JudgedError:
            assert not _formula(text) or text == _LARGE, text
            continue
        assert one._native is not None, text
        at = tuple(random.randrange(axis.first, axis.last + 1, axis.step) for axis in space.axes)
        for ask in (
            lambda entry, at=at: entry.value(at),
            lambda entry: entry.used,
            lambda entry: entry.is_never_below_0(),
            lambda entry: entry.largest(judged.Boxes()),
            lambda entry: entry.largest_below_0(judged.Boxes()),
            lambda entry: entry.largest(judged.Boxes(left=4)),
        ):
            answers = [_answer(ask, entry) for entry in (one, other)]
            assert answers[0] == answers[1], text
            result += not isinstance(answers[0], str)
        boxes = [judged.Boxes(left=100), judged.Boxes(left=100)]
        for sample, left in zip((one, other), boxes, strict=True):
            _answer(lambda formula, left=left: formula.largest(left), sample)
        if _answer(lambda formula: formula.largest(judged.Boxes()), one) != "NoValue":
            assert boxes[0] == boxes[1], text
    assert result > 300


def _answer(ask: object, formula: symbolic_sizes.Formula) -> object:
    try:
        return ask(formula)  # type: ignore[operator]
    except (JudgedError, judged.NoValue, judged.NotShown) as error:
        return type(error).__name__


def test_very_wide_ranges_are_left_to_the_trees() -> None:
    wide = SymbolicProblem(symbols=[Symbol(id="s", min=-LIMIT, max=LIMIT)], buffers=())
    read = symbolic_sizes.Formulas(Space(wide, Findings()))
    assert read.read("max(0, s)").largest(judged.Boxes()).value == LIMIT
    planned = Formulas((), wide.symbols)
    assert planned.read("max(0, s)").if_monotone() == (0, LIMIT)
    assert planned.read("s*s").if_monotone() is None


def test_a_value_beyond_the_limit_is_none() -> None:
    among = Formulas((), [Symbol(id="s", min=0, max=1)])
    among.read("s")
    assert among.sizes_at({"s": 1}) == [1]
    assert among.sizes_at({"s": 1 << 70}) is None
    assert among.sizes_at({}) is None


@pytest.mark.parametrize("seed", range(40))
def test_the_most_live_bytes_are_counted_at_each_time(seed: int) -> None:
    random = Random(seed)
    lives = [(b, random.randint(b, b + 6)) for b in (random.randint(-9, 9) for _ in range(9))]
    sizes = [random.choice((0, random.randint(0, 50))) for _ in lives]
    events = LiveEvents(
        array("q", range(len(lives))), array("q", (b for b, _ in lives)), array("q", (e for _, e in lives))
    )
    most = max(
        sum(size for size, (b, e) in zip(sizes, lives, strict=True) if b <= t < e) for t in range(-9, 20)
    )
    assert events.most(array("q", sizes)) == most
    sound = [i for i, (b, e) in enumerate(lives) if b < e]
    had, begins, ends = (
        array("q", (column[i] for i in sound)) for column in (sizes, *zip(*lives, strict=True))
    )
    ones, none = array("q", [1] * len(sound)), array("q")
    free = (none, none)
    native = frame(
        (begins, ends, ones, none), ones, array("q", [LIMIT]), free, free, free, (none, none, none)
    )
    assert native is not None
    assert native.least(had, Goal.SUM, 0) == most


def test_live_bytes_beyond_the_limit_are_told() -> None:
    two = (array("q", [0, 1]), array("q", [0, 0]), array("q", [1, 1]))
    assert LiveEvents(*two).most(array("q", [LIMIT, 0])) == LIMIT
    assert LiveEvents(*two).most(array("q", [LIMIT, LIMIT])) is None


@pytest.mark.parametrize(
    "buffers",
    [
        [
            SymbolicBuffer(id="a", size="s", lifetime=(0, 10**30)),
            SymbolicBuffer(id="b", size=3, lifetime=(5, 6)),
        ],
        [
            SymbolicBuffer(id="a", size="s", lifetime=(0, 2)),
            SymbolicBuffer(id="b", size=3, lifetime="always"),
        ],
    ],
)
def test_any_times_can_be_counted(buffers: list[SymbolicBuffer]) -> None:
    problem = SymbolicProblem(symbols=[Symbol(id="s", min=0, max=9)], buffers=buffers)
    assert live_bytes_of(problem).at(array("q", [7, 3])) == 10
