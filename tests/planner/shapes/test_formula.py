"""Formulas against Python's own arithmetic: values, errors, bounds, directions, texts."""

from itertools import product
from random import Random

import pytest

from memstow.planner.shapes.formula import (
    Direction,
    FormulaError,
    FormulaValueError,
    Node,
    bounds,
    compile_formula,
    direction,
    evaluate,
    facts_of,
    names_in,
    parse_formula,
    text_of,
)
from tests.planner.shapes.formulas import NAMES, NoValueError, by_python, random_text

Values = dict[tuple[int, ...], int | None]


def _random_formulas(seed: int, count: int) -> list[tuple[str, Node, Random]]:
    random = Random(seed)
    texts = [random_text(random, random.randint(0, 4)) for _ in range(count)]
    return [(text, parse_formula(text, NAMES), random) for text in texts if len(text) <= 2000]


def _value(node: Node, at: dict[str, int]) -> int | None:
    try:
        return evaluate(node, at)
    except FormulaValueError:
        return None


@pytest.mark.parametrize("seed", range(4))
def test_values_are_those_of_python(seed: int) -> None:
    for text, node, random in _random_formulas(seed, 1500):
        compiled = compile_formula(node)
        for _ in range(4):
            at = {name: random.choice([random.randint(-4, 9), random.randint(0, 1 << 33)]) for name in NAMES}
            try:
                expected = by_python(text, at)
            except NoValueError:
                with pytest.raises(FormulaValueError) as walked:
                    evaluate(node, at)
                with pytest.raises(FormulaValueError) as run:
                    compiled(at)
                assert (walked.value.code, str(walked.value)) == (run.value.code, str(run.value)), text
            else:
                assert evaluate(node, at) == expected, (text, at)
                assert compiled(at) == expected, (text, at)


def test_a_formula_as_text_is_read_as_the_same_formula() -> None:
    for text, node, _ in _random_formulas(11, 2000):
        assert parse_formula(text_of(node), NAMES) == node, text


@pytest.mark.parametrize("seed", range(4))
def test_bounds_and_directions_hold_at_every_value(seed: int) -> None:
    proven = 0
    for text, node, random in _random_formulas(100 + seed, 800):
        ranges = {name: (low := random.randint(-3, 5), low + random.randint(0, 4)) for name in NAMES}
        rows = product(*(range(low, high + 1) for low, high in ranges.values()))
        values: Values = {row: _value(node, dict(zip(NAMES, row, strict=True))) for row in rows}
        facts = facts_of(node, ranges)
        low, high = bounds(node, ranges)
        assert (low, high) == (facts.low, facts.high)
        for row, value in values.items():
            assert value is not None or not facts.sure, (text, row)
            assert value is None or low <= value <= high, (text, ranges, row)
        for name, found in direction(node, ranges).items():
            proven += found is not Direction.UNKNOWN
            _holds(found, NAMES.index(name), values, text)
    assert proven > 800


def _holds(found: Direction, which: int, values: Values, text: str) -> None:
    if found is Direction.UNKNOWN:
        return
    lines: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for row, value in values.items():
        if value is not None:
            lines.setdefault((*row[:which], *row[which + 1 :]), []).append((row[which], value))
    for line in lines.values():
        along = [value for _, value in sorted(line)]
        assert along == sorted(along, reverse=found is Direction.NONINCREASING), (text, which)


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
    assert evaluate(parse_formula("+".join(["s"] * 1000), NAMES), {"s": 3}) == 3000
    assert evaluate(parse_formula("-" * 64 + "s", NAMES), {"s": 3}) == 3
    deepest = parse_formula("(-" * 32 + "s" + ")" * 32, NAMES)
    assert evaluate(deepest, {"s": 3}) == 3
    assert compile_formula(parse_formula("9" * 1998 + "%7", NAMES)) is not None


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
    node = parse_formula(text, NAMES)
    for run in (lambda at: evaluate(node, at), compile_formula(node)):
        with pytest.raises(FormulaValueError) as raised:
            run({"s": 3})
        assert raised.value.code == code
    assert not facts_of(node, {"s": (3, 3)}).sure


def test_usual_sizes_go_in_one_direction() -> None:
    ranges = {"s": (1, 1024), "b": (1, 64)}
    for text in ("16*b*s*s", "align(4*s*b, 64)", "ceil_div(s, 16)*4096", "(7*s*256)//4", "s*(s - 1)"):
        node = parse_formula(text, ranges)
        assert set(direction(node, ranges).values()) == {Direction.NONDECREASING}, text
    node = parse_formula("1024 - s", ranges)
    assert direction(node, ranges)["s"] is Direction.NONINCREASING
    assert direction(parse_formula("s % 7", ranges), ranges)["s"] is Direction.UNKNOWN
    assert names_in(parse_formula("b + s*b", ranges)) == ("b", "s")
