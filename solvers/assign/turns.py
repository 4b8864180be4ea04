"""Turns of master and packing in one level, until both agree or the budget is spent."""

import time
from collections.abc import Sequence
from enum import Enum, auto
from functools import partial
from typing import Any

from ortools.sat.python import cp_model

from memstow.solvers import _native
from memstow.solvers.assign.clock import Clock
from memstow.solvers.assign.crowd import narrow
from memstow.solvers.assign.cuts import Lifter
from memstow.solvers.assign.master import Master, Proposal
from memstow.solvers.assign.packing import Answer as PackingAnswer
from memstow.solvers.assign.packing import Packer
from memstow.solvers.assign.relaxation import relax, suits
from memstow.solvers.cpsat.search import STEPS_PER_SECOND, exact_bound, make_solver, proven_bound, run_solver
from memstow.solvers.greedy import layout_from
from memstow.solvers.instance import Layout
from memstow.solvers.models.levels import Answer, Best, Level, LevelEnd, near
from memstow.solvers.models.relations import Relations
from memstow.solvers.solver import Task

# Steps of a packing; four times as many whenever they decide nothing.
_FIRST_EFFORT = 10_000_000
_MORE = 4
# Shares of the time left for a solve of the master: in all, and after its first solution, which takes seconds
# with thousands of items.
_MOST = 0.85
_SHARE = 0.3
_SEEK_SHARE = 0.1
# The share of the time left for the integer program, where CP-SAT makes no progress.
_RELAXED_SHARE = 0.4
# Proving turns before turns for better layouts, and the least share of a pool that these leave empty.
_PATIENCE = 3
_LEAST = 64
# With this many workers CP-SAT has some for the linear relaxation.
_MANY_WORKERS = 8
# Steps of greedy for each item, when it places items that did not fit.
_REPAIR_PASSES = 60


class _Outcome(Enum):
    """The result of packing a proposal."""

    PACKED = auto()
    CUT = auto()  # some items are proven not to fit
    OPEN = auto()  # neither, within the effort


class Turns:
    """Minimises one term under the locks of the terms before."""

    def __init__(
        self,
        task: Task,
        relations: Relations,
        master: Master,
        packer: Packer,
        level: Level,
        best: Best,
        budget: _native.Budget,
    ) -> None:
        self._task = task
        self._master = master
        self._packer = packer
        self._level = level
        self._best = best
        self._budget = budget
        self._lifter = Lifter(relations, master.choices)
        self._effort = _FIRST_EFFORT
        self._bound: int | None = None
        self._margins = [0] * task.instance.pool_count
        self._open = False  # whether the master's last answer could have been better

    def run(self) -> Answer:
        """Take proving turns, and turns for a better layout where those make no progress."""
        turns, share, relaxes = 0, _SHARE, suits(self._task, self._level.term)
        while not self._budget.spent:
            proposal, infeasible = self._propose(share, proves=True)
            if infeasible:
                return Answer(LevelEnd.INFEASIBLE)
            if self._good_enough():
                break
            outcome = _Outcome.PACKED if proposal is None else self._pack(proposal)
            if self._good_enough():
                break
            if outcome is _Outcome.OPEN:
                self._effort *= _MORE
            if outcome is _Outcome.PACKED:
                # The master needs more time.
                share = min(2 * share, 1.0)
            if self._open and relaxes:
                relaxes = False
                self._relax()
                if self._good_enough():
                    break
            turns += 1
            if any(self._margins) and (turns > _PATIENCE or outcome is _Outcome.OPEN):
                self._seek()
        return Answer(LevelEnd.DONE, self._bound)

    def _relax(self) -> None:
        """Solve the integer program; again with some space left empty if its solution cannot be packed."""
        outcome = self._follow(proves=True)
        if outcome is _Outcome.OPEN:
            self._master.leave(self._margins)
            self._follow(proves=False)
            self._master.leave([0] * len(self._margins))

    def _follow(self, *, proves: bool) -> _Outcome | None:
        """Pack the integer program's solution."""
        term, seconds = self._level.term, self._budget.seconds_left
        if term is None or seconds is None:
            return None
        result = relax(self._master.cp, seconds * _RELAXED_SHARE)
        if proves:
            self._raise(term, result.bound)
        if result.values is None:
            return None
        self._master.follow(result.values)
        proposal, _ = self._propose(_SEEK_SHARE, proves=proves, has_hint=True)
        return None if proposal is None else self._pack(proposal)

    def _seek(self) -> None:
        """Look for a better layout that leaves some space empty in pools where packing failed."""
        self._master.leave(self._margins)
        values, term = self._best.values, self._level.term
        condition = None if values is None or term is None else self._master.below(term, values[term])
        proposal, infeasible = self._propose(_SEEK_SHARE, proves=False)
        if proposal is not None:
            self._pack(proposal)
        elif infeasible:
            self._margins = [margin // 2 for margin in self._margins]
        self._master.leave([0] * len(self._margins))
        if condition is not None:
            self._master.drop(condition)

    def _good_enough(self) -> bool:
        """Whether the best layout is within the gap."""
        values, term = self._best.values, self._level.term
        if values is None:
            return False
        if term is None:
            return True
        if self._bound is None:
            return False
        return near(values[term], self._bound, self._level.gap)

    def _propose(self, share: float, *, proves: bool, has_hint: bool = False) -> tuple[Proposal | None, bool]:
        """A solution of the master if it finds one, and whether it is proven that there is none.

        `has_hint`: the master has a hint already.
        """
        begin = time.monotonic()
        seconds, work = self._budget.seconds_left, self._budget.work_left
        solver = make_solver(
            self._task,
            None if seconds is None else seconds * _MOST,
            None if work is None else int(work * share),
            begin,
        )
        _prefer_relaxations(solver)
        if not has_hint and self._best.layout is not None:
            self._master.hint(self._best.layout)
        term = self._level.term
        if proves and term is not None:
            solver.best_bound_callback = partial(self._on_bound, term)
        clock = None if seconds is None else Clock(solver, seconds * share)
        status = run_solver(solver, self._master.cp, clock)
        if clock is not None:
            clock.stop()
        self._open = status != cp_model.OPTIMAL
        self._budget.count(max(int(solver.deterministic_time * STEPS_PER_SECOND), 1))
        if status == cp_model.MODEL_INVALID:
            raise ValueError(f"CP-SAT refuses the master: {self._master.cp.validate()}"[:300])
        if status == cp_model.INFEASIBLE:
            return None, True
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return None, False
        if proves and term is not None:
            self._raise(term, proven_bound(solver, self._master.cp))

        def read(expression: Any) -> int:
            return int(solver.value(expression))

        return self._master.read(read), False

    def _on_bound(self, term: int, bound: float) -> None:
        self._raise(term, exact_bound(bound))

    def _raise(self, term: int, bound: int | None) -> None:
        if bound is not None and (self._bound is None or bound > self._bound):
            self._bound = bound
            self._best.bound(term, bound)

    def _pack(self, proposal: Proposal) -> _Outcome:
        """Pack each pool. Proven misfits become cuts; items that do not fit are placed elsewhere."""
        outcome = _Outcome.PACKED
        answers: list[PackingAnswer] = []
        for crowd, height in zip(proposal.crowds, proposal.heights, strict=True):
            answer = self._packer.pack(crowd, height, self._effort, self._budget)
            answers.append(answer)
            fits = answer.fits(height)
            self._adapt(crowd.pool, packed=fits)
            for dead in answer.dead:
                self._master.add(self._lifter.cut(dead))
                outcome = _Outcome.CUT
            if not fits and outcome is _Outcome.PACKED:
                outcome = _Outcome.OPEN
        if all(answer.packing is not None for answer in answers):
            self._best.offer(_join(proposal, answers, self._task.instance.item_count))
        if outcome is not _Outcome.PACKED and not self._budget.spent:
            self._repair(proposal, answers)
        return outcome

    def _adapt(self, pool: int, *, packed: bool) -> None:
        """Leave more space empty where packing fails, less where it succeeds."""
        margin = self._margins[pool]
        self._margins[pool] = (
            margin // 2 if packed else max(2 * margin, self._master.cells(pool) // _LEAST, 1)
        )

    def _repair(self, proposal: Proposal, answers: Sequence[PackingAnswer]) -> None:
        """Place all items by greedy: those that did not fit may change pools, and then all of them may."""
        pools = [-1] * self._task.instance.item_count
        loose: set[int] = set()
        for crowd, answer, height in zip(proposal.crowds, answers, proposal.heights, strict=True):
            for item in crowd.items:
                pools[item] = crowd.pool
            for dead in answer.dead:
                loose.update(dead.crowd.items)
            if not answer.dead and not answer.fits(height):
                loose.update(crowd.items)
        pools = [-1 if item in loose else pool for item, pool in enumerate(pools)]
        if not self._place(pools) and not self._budget.spent:
            self._place([-1] * len(pools))

    def _place(self, pools: Sequence[int]) -> bool:
        """Offer a greedy layout with items in these pools (-1: any); whether it is valid."""
        instance = narrow(self._task.instance, pools)
        share = _native.Budget(-1.0, _REPAIR_PASSES * instance.item_count, self._budget)
        result = _native.greedy(
            instance.native,
            self._task.terms,
            _native.Hint(instance.native, None, self._task.hint_places, self._task.hint_buffers),
            _native.GreedyOptions(lower_bounds=[], seed=self._task.seed),
            share,
            None,
        )
        self._budget.count(share.work)
        return result.values is not None and self._best.offer(layout_from(result.placed))


def _prefer_relaxations(solver: cp_model.CpSolver) -> None:
    """Use the linear relaxation also with few workers: nothing else bounds loads, which are knapsacks."""
    if solver.parameters.num_workers == 1:
        solver.parameters.linearization_level = 2
    elif solver.parameters.num_workers < _MANY_WORKERS:
        solver.parameters.subsolvers.extend(("max_lp", "reduced_costs", "pseudo_costs", "default_lp"))


def _join(proposal: Proposal, answers: Sequence[PackingAnswer], items: int) -> Layout:
    layout = Layout()
    layout.pool.extend([-1] * items)
    layout.offset.extend([-1] * items)
    for crowd, answer in zip(proposal.crowds, answers, strict=True):
        offsets = () if answer.packing is None else answer.packing.offsets
        for item, offset in zip(crowd.items, offsets, strict=True):
            layout.pool[item], layout.offset[item] = crowd.pool, offset
    return layout
