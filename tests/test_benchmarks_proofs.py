"""The figures of proofs are of what was solved, written and checked."""

from random import Random

import pytest

from benchmarks.problems import three_pools
from benchmarks.proofs import Named, chosen, measured
from benchmarks.versions import FailedError
from memstow.planner.generate.graph import graph
from memstow.planner.generate.random_problems import mixed
from memstow.planner.model.problem import Buffer, Pool, Problem


def test_answers_are_counted_whose_proof_both_checkers_accept() -> None:
    too_many = Problem(
        pools=(Pool(id="small", capacity=8),),
        buffers=(Buffer(id="a", size=6, lifetime=(0, 2)), Buffer(id="b", size=6, lifetime=(1, 3))),
    )
    problems = [
        Named("some", mixed(12, 1, features=("alignments", "in_place"))),
        Named("nothing fits", too_many),
        Named("an order", graph(12, 1)),
    ]
    figures = measured("three", problems)
    assert (figures.problems, figures.proven, figures.shown, figures.agreed) == (3, 3, 3, 3)
    assert all(steps > 0 and size > steps for steps, size in zip(figures.steps, figures.sizes, strict=True))
    assert len(figures.steps) == len(figures.times) == len(figures.alone) == 3


def test_a_term_that_no_proof_shows_is_counted_as_such() -> None:
    buffers = [Buffer(id=name, size=4, lifetime=(0, 2)) for name in "ab"]
    problem = Problem(
        pools=(Pool(id="one", capacity=4), Pool(id="other")), buffers=buffers, objective=("bank_cost",)
    )
    figures = measured("banks", [Named("no proof is of banks", problem)])
    assert (figures.problems, figures.proven, figures.shown, figures.sizes) == (1, 1, 0, [])


def test_a_search_without_end_has_a_bound_instead_of_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.proofs.SECONDS", 1.0)
    figures = measured("pools", [Named("many buffers", three_pools(Random(0), 400))])
    assert (figures.problems, figures.proven, figures.times) == (1, 0, [])
    assert len(figures.bounds) == len(figures.alone) == 1
    assert figures.bounds[0] > 0


def test_rows_are_chosen_by_their_names() -> None:
    assert list(chosen(["networks"])) == ["networks"]
    assert all("," not in name for name in chosen(()))
    with pytest.raises(FailedError, match="no row is called 'fast'; there are: MiniMalloc's"):
        chosen(["fast"])
