"""The judge's own reading of formulas, against Python's."""

from random import Random

import pytest

from memstow.planner.model.problem import LIMIT
from memstow.planner.verify.formula_trees import (
    DEEPEST,
    Axis,
    Boxes,
    FormulaError,
    How,
    NotShown,
    NoValue,
    Unsure,
    largest,
    parsed,
)
from tests.planner.verify.shapes.made import value_of

S = {"s": 0, "t": 1}
BOTH = (0, 1)


def some_formula(random: Random, depth: int = 4) -> str:
    if depth == 0 or random.random() < 0.2:
        return random.choice(("s", "t", str(random.randint(0, 9))))

    def part() -> str:
        return some_formula(random, depth - 1)

    some = [part() for _ in range(random.randint(1, 3))]
    kind = random.choice(("sum", "product", "divided", "minus", "of two", "of some", "alone", "three"))
    if kind == "of two":
        return f"{random.choice(('ceil_div', 'align'))}({part()}, {part()})"
    if kind == "of some":
        return f"{random.choice(('min', 'max'))}({', '.join(some)})"
    if kind == "three":
        return f"({part()}) {random.choice('+-*')} {part()} {random.choice('+-*')} ({part()})"
    return {
        "sum": f"{some[0]} {random.choice('+-')} {part()}",
        "product": f"{some[0]}*({part()})",
        "divided": f"({some[0]}){random.choice(('//', '%'))}({part()})",
        "minus": f"-({some[0]})",
        "alone": f"({some[0]})",
    }[kind]


@pytest.mark.parametrize("seed", range(10))
def test_values_are_those_of_python(seed: int) -> None:
    random = Random(seed)
    values = 0
    for _ in range(200):
        text = some_formula(random)
        node = parsed(text, S)
        for s, t in ((1, 0), (3, 4), (7, 2)):
            try:
                value = node.value((s, t))
            except FormulaError:
                continue
            assert value == value_of(text, {"s": s, "t": t}), text
            values += 1
    assert values > 200


@pytest.mark.parametrize("seed", range(10))
def test_the_largest_value_is_that_of_all_values(seed: int) -> None:
    random = Random(seed)
    result = 0
    for _ in range(150):
        text = some_formula(random)
        node = parsed(text, S)
        axes = [Axis("s", 1, 13, 3), Axis("t", -2, random.choice((-2, 0, 3)), 1)]
        points = [(s, t) for s in range(1, 14, 3) for t in range(-2, axes[1].last + 1)]
        try:
            values = [node.value(at) for at in points]
        except FormulaError:
            with pytest.raises(NoValue) as raised:
                largest(node, axes, BOTH, Boxes())
            with pytest.raises(FormulaError):
                node.value(raised.value.at)
            continue
        best = largest(node, axes, BOTH, Boxes())
        assert (best.value, best.seen) == (max(values), max(values)), text
        assert node.value(best.at) == best.value
        assert best.how is not How.BOUND
        try:
            low, high = node.bounds((1, -2), (13, axes[1].last))
            assert low <= min(values), text
            assert max(values) <= high, text
        except Unsure:
            pass
        result += 1
    assert result > 20


def test_a_search_that_has_no_effort_left_says_what_it_knows() -> None:
    axes = [Axis("s", 0, 10**6, 1), Axis("t", 0, 10**6, 1)]
    node = parsed("s*1000003 % 999983 + t", S)
    most = largest(node, axes, BOTH, Boxes(20))
    assert most.how is How.BOUND
    assert most.value >= 999982 + 10**6 > most.seen == node.value(most.at)
    with pytest.raises(NotShown):
        largest(parsed("5 // (1 + (s*1000003 - t) % 999983 - s % 2)", S), axes, BOTH, Boxes(20))


def test_it_is_enough_to_know_whether_there_is_a_value_above() -> None:
    axes = [Axis("s", 1, 10**9, 1), Axis("t", 1, 10**9, 1)]
    most = largest(parsed("-(s*s - s + t)", S), axes, BOTH, Boxes(2_000), above=0)
    assert most.value <= 0


def test_large_ranges_are_no_harder_where_intervals_say_enough() -> None:
    axes = [Axis("s", 1, 2**30, 1), Axis("t", 1, 2**20, 1)]
    most = largest(parsed("align(4*s, 64) + ceil_div(s, 7)*t", S), axes, BOTH, Boxes())
    assert most.how is How.CORNER
    assert most.value == 2**32 + (2**30 // 7 + 1) * 2**20


@pytest.mark.parametrize(
    "text",
    ["s", " s\t*\n2 ", "--s", "-s//2", "2-(-3)*s", "max(1)", "min(s,2,3)", "007", f"{'(' * 64}1{')' * 64}"],
)
def test_formulas(text: str) -> None:
    python = f"({text})".replace("007", "7")
    assert parsed(text, S).value((5, 1)) == value_of(python, {"s": 5, "t": 1})


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "the end"),
        ("1 +", "the end"),
        ("2s", "without an operator"),
        ("2 s", "'s' comes where"),
        ("s ** 2", "'*' comes where"),
        ("s / 2", "'/ 2'"),
        ("(s", "')' is expected"),
        ("s)", "')' comes where"),
        ("u + 1", "no symbol 'u'"),
        ("min()", "')' comes where"),
        ("min", "'(' is expected"),
        ("align(1)", "takes 2 arguments"),
        ("ceil_div(1, 2, 3)", "takes 2 arguments"),
        ("1.5", "'.5'"),
        ("٣", "is not part"),
        ("s" + "9" * 1000 + "x", "no symbol"),
        ("9" * 1999, "beyond 2^62"),
        ("(" * 1000 + "1" + ")" * 1000, "nested more than"),
        ("-" * 65 + "1", "nested more than"),
        ("+1", "'+' comes where"),
    ],
)
def test_what_is_no_formula(text: str, part: str) -> None:
    with pytest.raises(FormulaError) as raised:
        parsed(text, S)
    assert part in str(raised.value)


def test_depth_is_that_of_nesting_and_not_of_length() -> None:
    assert parsed("+".join(["1"] * 900), S).value((0, 0)) == 900
    assert parsed("*".join(["-1"] * 500), S).value((0, 0)) == 1
    assert DEEPEST == 64


@pytest.mark.parametrize(
    ("text", "at"),
    [(f"s*{LIMIT}", 2), ("s*s*s", 2**21), ("5 // (s - 4)", 4), ("5 % -s", 1), ("align(3, -s)", 1)],
)
def test_what_has_no_value(text: str, at: int) -> None:
    with pytest.raises(FormulaError):
        parsed(text, S).value((at, 0))
