"""What is best known comes from judged plans alone, and measures every run."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from memstow.planner.bench.analysis import from_json, ratio, to_json, with_results
from memstow.planner.bench.record import Ending
from memstow.planner.model.errors import InputError
from tests.planner.bench.make import made, results


def test_only_plans_that_the_judge_accepts_are_known(tmp_path: Path) -> None:
    unjudged = replace(made("a", "w", 1), judged=None)
    outcomes = results(
        tmp_path,
        made("a", "x", 9),
        made("a", "y", 3, status=Ending.INVALID, violations=("overlap",)),
        made("a", "z", 4, violations=("overlap",)),
        unjudged,
        made("b", "x"),
    )
    known = with_results({}, outcomes.runs)
    assert {best.name: (best.value, best.solver) for best in known.values()} == {"a": ((9,), "x")}


def test_a_better_value_or_a_proof_replaces_what_was_known(tmp_path: Path) -> None:
    known = with_results({}, results(tmp_path / "1", made("a", "x", (5, 7))).runs)
    for worse in ((6, 0), (5, 8), (5, 7)):
        assert with_results(known, results(tmp_path / "2", made("a", "y", worse)).runs) == known
    better = with_results(known, results(tmp_path / "3", made("a", "y", (5, 6))).runs)
    assert next(iter(better.values())).value == (5, 6)
    proof = made("a", "y", (5, 7), status=Ending.OPTIMAL)
    proven = next(iter(with_results(known, results(tmp_path / "4", proof).runs).values()))
    assert (proven.proven, proven.solver) == (True, "y")
    assert with_results({"digest of a": proven}, results(tmp_path / "5", made("a", "x", (5, 7))).runs) == {
        "digest of a": proven
    }


@pytest.mark.parametrize(
    ("value", "best", "expected"),
    [((5,), (5,), 1.0), ((6,), (5,), 1.2), ((5, 9), (5, 3), 3.0), ((4, 0), (0, 0), 5.0), ((), (), 1.0)],
)
def test_the_ratio_is_that_of_the_first_term_that_differs(
    value: tuple[int, ...], best: tuple[int, ...], expected: float
) -> None:
    assert ratio(value, best) == pytest.approx(expected)


def test_the_file_comes_back_as_it_went(tmp_path: Path) -> None:
    known = with_results({}, results(tmp_path, made("ü", "x", (5, 7)), made("a", "x", ())).runs)
    assert len(known) == 2
    assert from_json(to_json(known), "best") == known
    assert to_json(dict(reversed(known.items()))) == to_json(known)


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"[]",
        b'{"version": 2, "best": []}',
        b'{"version": 1, "best": [{"digest": "d"}]}',
        json.dumps(
            {
                "version": 1,
                "best": [
                    {
                        "digest": "d",
                        "name": "a",
                        "terms": ["peak"],
                        "value": ["1"],
                        "proven": True,
                        "solver": "x",
                        "version": "1",
                    }
                ],
            }
        ).encode(),
    ],
)
def test_another_file_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(InputError) as refused:
        from_json(data, "here.json")
    assert refused.value.issues[0].path == "here.json"


def test_a_ratio_with_nothing_on_one_side_counts_one_more_on_both() -> None:
    assert ratio((0,), (5,)) == pytest.approx(1 / 6)
    assert ratio((5,), (0,)) == 6.0
    assert ratio((0,), (0,)) == 1.0
