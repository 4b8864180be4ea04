"""The judge reads formulas by code of its own: both agree on what is a formula, and on its values."""

from random import Random

import pytest

from memstow.planner.formulas.formula import FormulaError, FormulaValueError, parse_formula
from memstow.planner.formulas.sizes import all_values, largest_problem, sizes_at
from memstow.planner.verify import formula_trees
from memstow.planner.verify.formula_trees import Space
from memstow.planner.verify.symbolic_sizes import Sizes
from memstow.planner.verify.verdict import Findings
from tests.planner.formulas.formulas import NAMES, random_text
from tests.planner.formulas.test_at_point import random_problem

_POSITIONS = {name: i for i, name in enumerate(NAMES)}
_PIECES = ["s", "b", "7", "(", ")", "+", "-", "*", "//", "%", ",", " ", "min", "align(", "t", "/", "1s", "."]


def _judged(text: str, values: tuple[int, ...]) -> int | str | None:
    try:
        node = formula_trees.parsed(text, _POSITIONS)
    except formula_trees.FormulaError:
        return "no formula"
    try:
        return node.value(values)
    except formula_trees.FormulaError:
        return None


def _ours(text: str, values: tuple[int, ...]) -> int | str | None:
    try:
        node = parse_formula(text, NAMES)
    except FormulaError:
        return "no formula"
    try:
        return node.value(dict(zip(NAMES, values, strict=True)))
    except FormulaValueError:
        return None


@pytest.mark.parametrize("seed", range(3))
def test_both_readings_agree(seed: int) -> None:
    random = Random(seed)
    for _ in range(1500):
        text = random_text(random, random.randint(0, 4))
        if random.random() < 0.3:
            place = random.randint(0, len(text))
            text = text[:place] + random.choice(_PIECES) + text[place + random.randint(0, 2) :]
        elif random.random() < 0.2:
            text = "".join(random.choice(_PIECES) for _ in range(random.randint(0, 9)))
        values = tuple(random.choice([random.randint(-4, 9), random.randint(0, 1 << 33)]) for _ in NAMES)
        if len(text) <= 2000:
            assert _judged(text, values) == _ours(text, values), text


def test_both_limit_the_depth_in_the_same_way() -> None:
    for depth in (63, 64, 65):
        for opened, closed in (("(", ")"), ("-", ""), ("max(", ")"), ("-(", ")")):
            text = opened * depth + "s" + closed * depth
            assert (_judged(text, (1, 2, 3)) == "no formula") == (_ours(text, (1, 2, 3)) == "no formula"), (
                text
            )


@pytest.mark.parametrize("seed", range(30))
def test_both_find_the_same_sizes_and_largest_sizes(seed: int) -> None:
    problem = random_problem(seed)
    findings = Findings()
    sizes = Sizes(problem, Space(problem, findings), findings)
    assert not findings.total
    largest, _ = largest_problem(problem)
    assert sizes.largest() == [buffer.size for buffer in largest.buffers]
    for at in list(all_values({symbol.id: symbol for symbol in problem.symbols}))[:50]:
        assert tuple(sizes.at(tuple(at.values()))) == sizes_at(problem, at)
