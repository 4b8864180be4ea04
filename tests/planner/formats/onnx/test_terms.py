"""Formulas of shapes, built by random steps: their texts, bounds and names have the right values."""

from itertools import product
from random import Random

from memstow.planner.formats.onnx.terms import (
    TermArithmetic,
    Terms,
    TooLongError,
    a_number,
    formula_of_name,
)
from memstow.planner.formulas.formula import parse_formula
from memstow.planner.model.symbolic import Symbol

_VALUES = tuple[int, ...]


def _step(
    formulas: TermArithmetic, random: Random, made: list[tuple[Terms, _VALUES]]
) -> tuple[Terms, _VALUES]:
    (one, left), (other, right) = random.choice(made), random.choice(made)
    by = random.choice((2, 2, 3, 4, 8))
    pairs = list(zip(left, right, strict=True))
    match random.randrange(7):
        case 0:
            return one + other, tuple(a + b for a, b in pairs)
        case 1:
            return one - other, tuple(a - b for a, b in pairs)
        case 2:
            return one * random.choice((other, a_number(by))), ()
        case 3:
            return formulas.floor_div(one, by), tuple(a // by for a in left)
        case 4:
            return one - formulas.floor_div(one, by) * by, tuple(a % by for a in left)
        case 5:
            return formulas.least(one, other), tuple(min(pair) for pair in pairs)
        case _:
            return formulas.most(one + by, other), tuple(max(a + by, b) for a, b in pairs)


def test_random_formulas_have_the_values_of_what_they_were_built_from() -> None:
    compared = 0
    for seed in range(300):
        random = Random(seed)
        first = random.randint(0, 4)
        symbols = [
            Symbol(id="N", min=first, max=first + random.randint(1, 19)),
            Symbol(id="M", min=4, max=4 + 2 * random.randint(1, 6), step=2),
        ]
        formulas = TermArithmetic(symbols)
        points = [
            {"N": n, "M": m}
            for n, m in product(*(range(symbol.min, symbol.max + 1, symbol.step) for symbol in symbols))
        ]
        made: list[tuple[Terms, _VALUES]] = [
            (formulas.symbol("N"), tuple(at["N"] for at in points)),
            (formulas.symbol("M"), tuple(at["M"] for at in points)),
            (a_number(8), (8,) * len(points)),
        ]
        for _ in range(random.randint(1, 9)):
            try:
                extent, values = _step(formulas, random, made)
                node = parse_formula(formulas.text(extent), ["N", "M"])
            except TooLongError:
                continue
            result = tuple(node.value(at) for at in points)
            if values:
                assert result == values, (seed, formulas.text(extent))
            low, high = formulas.bounds(extent)
            assert low <= min(result) <= max(result) <= high, (seed, formulas.text(extent))
            made.append((extent, result))
            compared += 1
    assert compared > 1000


def test_what_is_filled_up_to_a_multiple_is_never_below_0_and_one_formula() -> None:
    formulas = TermArithmetic([Symbol(id="N", min=1, max=1000)])
    n = formulas.symbol("N")
    rest = n - formulas.floor_div(n, 8) * 8
    more = a_number(8) - rest
    assert formulas.bounds(more) == (1, 8)
    more = more - formulas.floor_div(more, 8) * 8
    assert formulas.bounds(more) == (0, 7)
    assert formulas.text(n + more) == "8*((N + 7)//8)"
    assert n + more == formulas.ceil_div(n, 8) * 8
    assert formulas.bounds(formulas.floor_div(n, 2) - formulas.floor_div(n, 4) * 2) == (0, 1)
    assert formulas.text(formulas.floor_div(n * 3, 4)) == "(3*N)//4"
    assert formulas.text(n - formulas.floor_div(n, 2)) == "(N + 1)//2"


def test_names_are_read_as_formulas_of_what_was_given_and_of_nothing_else() -> None:
    formulas = TermArithmetic([Symbol(id="past", min=0, max=8), Symbol(id="N_1", min=1, max=8)])
    names = {"past": formulas.symbol("past"), "N.1": formulas.symbol("N_1"), "batch": a_number(4)}
    for text, formula in (
        ("past + batch", "past + 4"),
        ("N.1", "N_1"),
        ("max(past, batch)*2", "2*max(4, past)"),
    ):
        extent = formula_of_name(text, names, formulas)
        assert extent is not None
        assert formulas.text(extent) == formula
    for text in ("N_1", "N_1 + 1", "4", "", "past +", "past // past", "past + other"):
        assert formula_of_name(text, names, formulas) is None
