"""Whether a formula is a size everywhere, and its extremes, against all values."""

from random import Random

import pytest

from memstow.planner.formulas import sizes as examining
from memstow.planner.formulas.formula import Formula, Formulas, FormulaValueError
from memstow.planner.formulas.sizes import Effort, all_values, examine, extremes
from memstow.planner.model.problem import LIMIT
from memstow.planner.model.symbolic import Symbol
from tests.planner.formulas.formulas import NAMES, random_text


def _symbols(random: Random) -> dict[str, Symbol]:
    made = {}
    for name in NAMES:
        least, step = random.randint(-3, 6), random.randint(1, 3)
        made[name] = Symbol(id=name, min=least, max=least + step * random.randint(0, 5), step=step)
    return made


def _read(text: str, symbols: dict[str, Symbol]) -> Formula:
    return Formulas((), symbols.values()).read(text)


def _bad(formula: Formula, at: dict[str, int]) -> bool:
    try:
        return formula.value(at) < 0
    except FormulaValueError:
        return True


@pytest.mark.parametrize("evaluations", [1_000_000, 0])
def test_what_is_found_is_so_at_all_values(evaluations: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(evaluations)
    output = {"sound": 0, "bad": 0, "unshown": 0}
    for _ in range(1500):
        text, symbols = random_text(random, random.randint(0, 4)), _symbols(random)
        if len(text) > 2000:
            continue
        formula = _read(text, symbols)
        rows = list(all_values(formula.symbols))
        with monkeypatch.context() as patched:
            if not evaluations:
                # All values are too many, so that boxes have to do.
                patched.setattr(examining, "MOST_VALUES", 0)
            judged = examine(formula, Effort())
        if judged is None:
            output["sound"] += 1
            assert not any(_bad(formula, at) for at in rows), text
            known = extremes(formula, Effort())
            values = [formula.value(at) for at in rows]
            assert (known.low, known.high) == (min(values), max(values)), text
            bound = extremes(formula, Effort(0))
            assert bound.low <= min(values) <= max(values) <= bound.high, text
            assert bound.how == "interval" or bound == known, text
        elif judged.at is None:
            output["unshown"] += 1
        else:
            output["bad"] += 1
            assert judged.at in rows, text
            assert _bad(formula, judged.at), text
    assert min(output["sound"], output["bad"]) > 100
    assert output["unshown"] == 0


def test_large_ranges_are_decided_by_boxes() -> None:
    symbols = {
        "s": Symbol(id="s", min=0, max=1 << 30),
        "b": Symbol(id="b", min=1, max=(1 << 20) + 1, step=4),
    }
    for text in ("s*s - s", "(s - 77)*(s - 77)", "s*(b - 1)", "s % b + b - 1", "max(b - s, s, 1)"):
        assert examine(_read(text, symbols), Effort()) is None, text
    for text, code in (
        ("s*s - s - 1", "formula_negative"),
        ("100 - s % 1000", "formula_negative"),
        ("s*s*b", "formula_overflow"),
        ("10 // (s - 5000)", "formula_divisor"),
    ):
        judged = examine(_read(text, symbols), Effort())
        assert judged is not None, text
        assert judged.code == code, text
        assert judged.at is not None, text
        assert _bad(_read(text, symbols), judged.at)


def test_what_cannot_be_shown_within_the_effort_is_said_so() -> None:
    symbols = {name: Symbol(id=name, min=0, max=LIMIT >> 40) for name in NAMES}
    text = "(s - b)*(s - k_1) + (b - s)*(b - k_1) + (k_1 - s)*(k_1 - b)"
    judged = examine(_read(text, symbols), Effort())
    assert judged is not None
    assert (judged.code, judged.at) == ("formula_not_shown", None)
    judged = examine(_read("s*s - s", symbols), Effort(0))
    assert judged is not None
    assert judged.at is None
