"""Formulas against Python's own arithmetic: values, errors, bounds, directions, texts."""

from itertools import product
from random import Random

import pytest

from memstow.planner.formulas.formula import (
    Direction,
    Formula,
    FormulaError,
    FormulaValueError,
    parse_formula,
    text_of,
)
from tests.planner.formulas.formulas import NAMES, NoValueError, by_python, random_text

Values = dict[tuple[int, ...], int | None]


def _random_formulas(seed: int, count: int) -> list[tuple[str, Formula, Random]]:
    random = Random(seed)
    texts = [random_text(random, random.randint(0, 4)) for _ in range(count)]
    return [(text, parse_formula(text, NAMES), random) for text in texts if len(text) <= 2000]


def _value(formula: Formula, at: dict[str, int]) -> int | None:
    try:
        return formula.value(at)
    except FormulaValueError:
        return None


@pytest.mark.parametrize("seed", range(4))
def test_values_are_those_of_python(seed: int) -> None:
    for text, formula, random in _random_formulas(seed, 1500):
        for _ in range(4):
            at = {name: random.choice([random.randint(-4, 9), random.randint(0, 1 << 33)]) for name in NAMES}
            try:
                expected = by_python(text, at)
            except NoValueError:
                with pytest.raises(FormulaValueError):
                    formula.value(at)
            else:
                assert formula.value(at) == expected, (text, at)


def test_a_formula_as_text_is_read_as_the_same_formula() -> None:
    for text, formula, _ in _random_formulas(11, 2000):
        assert parse_formula(text_of(formula.tree), NAMES).tree == formula.tree, text


@pytest.mark.parametrize("seed", range(4))
def test_bounds_and_directions_hold_at_every_value(seed: int) -> None:
    proven = 0
    for text, formula, random in _random_formulas(100 + seed, 800):
        ranges = {name: (low := random.randint(-3, 5), low + random.randint(0, 4)) for name in NAMES}
        rows = product(*(range(low, high + 1) for low, high in ranges.values()))
        values: Values = {row: _value(formula, dict(zip(NAMES, row, strict=True))) for row in rows}
        facts = formula.facts(ranges)
        for row, value in values.items():
            assert value is not None or not facts.sure, (text, row)
            assert value is None or facts.low <= value <= facts.high, (text, ranges, row)
        for name, direction in facts.directions.items():
            proven += direction is not Direction.UNKNOWN
            _holds(direction, NAMES.index(name), values, text)
    assert proven > 500


def _holds(direction: Direction, which: int, values: Values, text: str) -> None:
    if direction is Direction.UNKNOWN:
        return
    lines: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for row, value in values.items():
        if value is not None:
            lines.setdefault((*row[:which], *row[which + 1 :]), []).append((row[which], value))
    for line in lines.values():
        along = [value for _, value in sorted(line)]
        assert along == sorted(along, reverse=direction is Direction.NONINCREASING), (text, which)


@pytest.mark.parametrize(
    ("text", "code", "position"),
    [
        ("", "formula_syntax", 0),
        ("  ", "formula_syntax", 2),
        ("s +", "formula_syntax", 3),
        ("(s", "formula_syntax", 2),
        ("s)", "formula_syntax", 1),
        ("s s", "formula_syntax", 2),
        ("+s", "formula_syntax", 0),
        ("s**2", "formula_syntax", 2),
        ("s/2", "formula_syntax", 1),
        ("1.5", "formula_syntax", 1),
        ("1_000", "formula_syntax", 1),
        ("s,b", "formula_syntax", 1),
        ("min()", "formula_syntax", 4),
        ("min", "formula_syntax", 3),
        ("4*align(s)", "formula_syntax", 2),
        ("ceil_div(1, 2, 3)", "formula_syntax", 0),
        ("2*t", "unknown_symbol", 2),
        ("s if b else 1", "formula_syntax", 2),
        ("\u00b2", "formula_syntax", 0),
        ("s\u00a0+ 1", "formula_syntax", 1),
        ("-" * 65 + "s", "formula_too_deep", 64),
        ("(" * 65 + "s" + ")" * 65, "formula_too_deep", 64),
        ("min(" * 65 + "s" + ")" * 65, "formula_too_deep", 256),
        ("s" * 2001, "formula_too_long", 2000),
    ],
)
def test_what_is_no_formula_is_told_with_its_place(text: str, code: str, position: int) -> None:
    with pytest.raises(FormulaError) as raised:
        parse_formula(text, NAMES)
    assert (raised.value.code, raised.value.position) == (code, position)
    assert code == "formula_too_long" or f"character {position + 1}" in str(raised.value)


def test_long_and_deep_formulas_within_the_limits_are_read() -> None:
    assert parse_formula("+".join(["s"] * 1000), NAMES).value({"s": 3}) == 3000
    assert parse_formula("-" * 64 + "s", NAMES).value({"s": 3}) == 3
    deepest = parse_formula("(-" * 32 + "s" + ")" * 32, NAMES)
    assert deepest.value({"s": 3}) == 3
    assert parse_formula("9" * 1998 + "%7", NAMES).tree is not None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("9" * 2000, "formula_overflow"),
        ("4611686018427387904 + 1", "formula_overflow"),
        ("3037000500 * 3037000500 - s", "formula_overflow"),
        ("1 // (s - 3)", "formula_divisor"),
        ("1 % (0 - s)", "formula_divisor"),
        ("ceil_div(s, s - s)", "formula_divisor"),
        ("align(s, 0)", "formula_divisor"),
        ("align(4611686018427387904, 3)", "formula_overflow"),
    ],
)
def test_a_formula_without_a_value_says_why(text: str, code: str) -> None:
    formula = parse_formula(text, NAMES)
    with pytest.raises(FormulaValueError) as raised:
        formula.value({"s": 3})
    assert raised.value.code == code
    assert not formula.facts({"s": (3, 3)}).sure


def test_usual_sizes_go_in_one_direction() -> None:
    ranges = {"s": (1, 1024), "b": (1, 64)}
    for text in ("16*b*s*s", "align(4*s*b, 64)", "ceil_div(s, 16)*4096", "(7*s*256)//4", "s*(s - 1)"):
        facts = parse_formula(text, ranges).facts(ranges)
        assert set(facts.directions.values()) == {Direction.NONDECREASING}, text
    falling = parse_formula("1024 - s", ranges).facts(ranges)
    assert falling.directions == {"s": Direction.NONINCREASING}
    assert parse_formula("s % 7", ranges).facts(ranges).directions == {"s": Direction.UNKNOWN}
    assert parse_formula("b + s*b", ranges).names == ("b", "s")


def test_what_is_too_large_is_told_as_it_was_written() -> None:
    """Values beyond 64 bits come out of native code whole, and so do numbers and symbols that go in."""
    for text, at, said in (
        (f"s*{1 << 62}*2", {"s": 1}, f"{1 << 63}"),
        (f"s*{1 << 62}", {"s": -(1 << 62)}, f"{-(1 << 124)}"),
        (f"s - {10**25}", {"s": 1}, f"{10**25}"),
        ("1 + s", {"s": 1 << 100}, f"{1 << 100}"),
        ("1 // 0 + s", {"s": 1 << 100}, "a divisor of 0"),
    ):
        with pytest.raises(FormulaValueError, match=said):
            parse_formula(text, NAMES).value({**at, "b": 1, "k_1": 1})
