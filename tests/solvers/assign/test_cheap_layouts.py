"""Layouts of beam search and packing: valid, better than those of greedy, and the same for the same work."""

from random import Random

import pytest

pytest.importorskip("ortools", reason="the [cpsat] extra is not installed")

from memstow.solvers import _native
from memstow.solvers.assign.cheap_layouts import CheapLayouts, CostBounds, Rows
from memstow.solvers.assign.master import Master
from memstow.solvers.assign.packing import Dead
from memstow.solvers.assign.proposals import Proposals
from memstow.solvers.constraints import Relations
from memstow.solvers.instance import Layout
from memstow.solvers.lexicographic import Best
from tests.solvers.assign.make import endless
from tests.solvers.assign.test_neighbourhoods import filled, started

WORK = 10_000_000


def improved(seed: int, work: int) -> tuple[Best, int, int]:
    """The best layout after this work; what it cost at first, and the least that the master allows."""
    result = started(filled(Random(seed), 40))
    assert result is not None
    task, _, best = result
    relations = Relations(task.instance)
    master = Master(task, relations, None)
    master.ask(0, ())
    assert best.values is not None
    first = best.values[0]
    dead: list[Dead] = []
    CheapLayouts(task, master, best).run(1000, _native.Budget(-1.0, work), dead.append)
    for one in dead:
        assert len(one.crowd.items) > 1
        assert one.height > master.horizon[one.crowd.pool]
    proposals = Proposals(task, relations, master, 0, best, endless())
    proposals.ask(1.0, proves=True)
    assert proposals.bound is not None
    return best, first, proposals.bound


def test_layouts_are_valid_and_nearly_as_cheap_as_the_master_allows() -> None:
    nearly = 0
    for seed in range(4):
        # Whatever is offered is checked, so it is valid.
        best, first, least = improved(seed, WORK)
        assert best.values is not None
        assert least <= best.values[0] <= first
        nearly += best.values[0] <= 1.02 * least
    assert nearly >= 3


def test_the_same_work_gives_the_same_layout() -> None:
    def layout_of(work: int) -> Layout | None:
        return improved(1, work)[0].layout

    assert layout_of(WORK // 10) == layout_of(WORK // 10)


def test_the_bound_is_the_least_that_the_master_allows_and_none_is_wrong_that_is_stopped() -> None:
    for seed in range(3):
        result = started(filled(Random(seed), 40))
        assert result is not None
        task, _, best = result
        relations = Relations(task.instance)
        master = Master(task, relations, None)
        master.ask(0, ())
        proposals = Proposals(task, relations, master, 0, best, endless())
        proposals.ask(1.0, proves=True)
        assert not proposals.open
        assert proposals.bound is not None
        bounds = CostBounds(Rows(master), best, -1.0, endless())
        bounds.wait()
        assert bounds.done
        assert bounds.bound == proposals.bound
        stopped = CostBounds(Rows(master), best, -1.0, endless())
        stopped.stop()
        assert stopped.bound is None or stopped.bound <= proposals.bound
