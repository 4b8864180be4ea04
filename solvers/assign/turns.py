"""Turns of master and packing in one level, until both agree or the budget is spent."""

from collections.abc import Sequence
from enum import Enum, auto
from functools import cached_property, partial

from memstow.solvers import _native
from memstow.solvers.assign.cheap_layouts import CheapLayouts, CostBounds
from memstow.solvers.assign.master import Master, Proposal
from memstow.solvers.assign.neighbourhoods import LayoutSearch, can_improve
from memstow.solvers.assign.packing import Answer as PackingAnswer
from memstow.solvers.assign.packing import Dead, Lifter, Packer, join, narrow
from memstow.solvers.assign.proposals import MOST, Proposals, Relaxing, suits
from memstow.solvers.constraints import Relations
from memstow.solvers.greedy import layout_from
from memstow.solvers.lexicographic import Answer, Best, Level, LevelEnd, near
from memstow.solvers.solver import Task

# Steps of a packing; four times as many whenever they decide nothing.
_FIRST_EFFORT = 10_000_000
_MORE = 4
# Shares of the time left for the master after its first solution: to prove, and for a better layout.
_SHARE = 0.3
_SEEK_SHARE = 0.1
# The share of the time left for the integer program, where CP-SAT makes no progress and there is one thread.
_RELAXED_SHARE = 0.25
# Shares of the time left for a proposal that leaves space empty: for the first, for better ones, and for
# the layout that comes of it; and the most seconds for either.
_START_SHARE = 0.05
_REFINE_SHARE = 0.15
_REWORK_SHARE = 0.4
_ROUND_SECONDS = 3.0
# The same for layouts of a beam search, and the most rounds of that, where the master is open and where it is
# not; before these the master has less.
_CHEAP_SHARE = 0.6
_CHEAP_ROUNDS = 100, 2
_CHEAP_FIRST_SHARE = 0.03
# How often such a proposal is made in one turn, each with more space left empty.
_ROOMY_TRIES = 4
# Proving turns before turns for better layouts, and the least share of a pool that these leave empty.
_PATIENCE = 3
_LEAST = 64
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
        self._margins = [0] * task.instance.pool_count
        self._proposals = Proposals(task, relations, master, level.term, best, budget)
        self._layouts = LayoutSearch(task, relations, level, best) if can_improve(task, level.term) else None
        self._proving: Relaxing | None = None
        self._followed = False
        self._bounding: CostBounds | None = None
        self._is_cheap_first = level.term == 0 and self._layouts is not None

    @cached_property
    def _cheap(self) -> CheapLayouts:
        return CheapLayouts(self._task, self._master, self._best)

    def run(self) -> Answer:
        """Take proving turns, and turns for a better layout where those make no progress."""
        try:
            ended = self._turns()
        finally:
            if self._bounding is not None:
                self._bounding.stop()
            if self._proving is not None:
                self._proving.stop()
        if self._bounding is not None:
            self._proposals.raise_bound(self._bounding.bound)
        if self._proving is not None:
            self._proposals.raise_bound(self._proving.result().bound)
        return Answer(ended, self._proposals.bound)

    def _turns(self) -> LevelEnd:
        turns, relaxes = 0, suits(self._task, self._level.term)
        share = _CHEAP_FIRST_SHARE if self._is_cheap_first else _SEEK_SHARE if relaxes else _SHARE
        while not self._budget.spent:
            proposal, infeasible = self._proposals.ask(share, proves=True)
            if infeasible:
                return LevelEnd.INFEASIBLE
            if self._good_enough():
                break
            is_open = self._proposals.open
            outcome = _Outcome.PACKED if proposal is None else self._pack(proposal)
            if self._good_enough():
                break
            if outcome is _Outcome.OPEN:
                self._effort *= _MORE
            if outcome is _Outcome.PACKED and (self._followed or not relaxes):
                # The master needs more time.
                share = min(2 * share, 1.0)
            turns += 1
            self._turn_without_proof(outcome, is_open=is_open, patient=turns <= _PATIENCE)
            if self._good_enough():
                break
        return LevelEnd.DONE

    def _turn_without_proof(self, outcome: _Outcome, *, is_open: bool, patient: bool) -> None:
        """What can be done for the bound and for a better layout, after a proposal that did not settle it."""
        if is_open and self._proving is None:
            self._relax()
        if self._bounding is not None:
            self._proposals.raise_bound(self._bounding.bound)
        self._follow()
        fails = any(self._margins) and (not patient or outcome is _Outcome.OPEN)
        if fails or self._proving is not None or self._bounding is not None:
            self._seek(is_open=is_open)
        if is_open or outcome is _Outcome.OPEN:
            self._rework()

    def _relax(self) -> None:
        """Begin what is there for its bound alone; turns go on if there are threads for both.

        Of a first term that is beams, and when these have ended the integer program, which knows cuts.
        """
        seconds = self._budget.seconds_left
        if seconds is None or not suits(self._task, self._level.term):
            return
        alone = self._task.workers == 1
        if self._is_cheap_first and self._bounding is None:
            share = seconds * (_RELAXED_SHARE if alone else MOST)
            self._bounding = CostBounds(self._cheap.rows, self._best, share, self._budget)
            if alone:
                self._bounding.wait()
            return
        if self._bounding is not None and not self._bounding.done:
            return
        self._proving = Relaxing(self._master.cp, seconds * (_RELAXED_SHARE if alone else MOST))
        if alone:
            self._proving.result()

    def _follow(self) -> None:
        """Once the integer program is solved, take its bound and pack its solution."""
        if self._proving is None or self._followed or not self._proving.done:
            return
        self._followed = True
        relaxation = self._proving.result()
        self._proposals.raise_bound(relaxation.bound)
        if relaxation.values is None or self._good_enough():
            return
        self._master.follow(relaxation.values)
        proposal, _ = self._proposals.ask(_SEEK_SHARE, proves=True, has_hint=True)
        if proposal is not None:
            self._pack(proposal)

    def _left(self, share: float) -> tuple[float, int]:
        """This share of the seconds and the steps that are left; -1: no limit."""
        seconds, work = self._budget.seconds_left, self._budget.work_left
        return -1.0 if seconds is None else seconds * share, -1 if work is None else int(work * share)

    def _part_of_budget(self, share: float) -> _native.Budget:
        seconds, work = self._left(share)
        return _native.Budget(min(seconds, _ROUND_SECONDS), work, self._budget)

    def _rework(self) -> None:
        """Place neighbourhoods of the best layout anew."""
        if self._layouts is not None:
            budget = self._part_of_budget(_REWORK_SHARE)
            self._layouts.run(budget)
            self._budget.count(budget.work)

    def _seek(self, *, is_open: bool) -> None:
        """Look for a better layout that leaves some space empty in pools where packing failed."""
        if self._layouts is None:
            self._seek_better()
            return
        if self._is_cheap_first:
            budget = _native.Budget(*self._left(_CHEAP_SHARE), self._budget)
            self._cheap.run(_CHEAP_ROUNDS[not is_open], budget, self._add)
            self._budget.count(budget.work)
            return
        if not any(self._margins):
            self._margins = [max(self._master.cells(pool) // _LEAST, 1) for pool in range(len(self._margins))]
        for _ in range(_ROOMY_TRIES):
            if self._seek_roomy() or self._budget.spent:
                break

    def _seek_better(self) -> None:
        """Of the proposals that are better than the best layout, one."""
        self._master.leave(self._margins)
        values, term = self._best.values, self._level.term
        condition = None if values is None or term is None else self._master.below(term, values[term])
        proposal, infeasible = self._proposals.ask(_SEEK_SHARE, proves=False)
        if proposal is not None:
            self._pack(proposal)
        elif infeasible:
            self._leave_less()
        self._master.leave([0] * len(self._margins))
        if condition is not None:
            self._master.drop(condition)

    def _seek_roomy(self) -> bool:
        """A proposal that leaves the space, as good as neighbourhoods make it; whether it can be packed."""
        self._master.leave(self._margins)
        proposal, infeasible = self._proposals.ask(_START_SHARE, proves=False)
        if proposal is not None:
            budget = self._part_of_budget(_REFINE_SHARE)
            proposal = self._proposals.refine(proposal, budget)
            self._budget.count(budget.work)
        elif infeasible:
            self._leave_less()
        self._master.leave([0] * len(self._margins))
        return proposal is None or self._pack(proposal) is _Outcome.PACKED

    def _leave_less(self) -> None:
        self._margins = [margin // 2 for margin in self._margins]

    def _good_enough(self) -> bool:
        """Whether the best layout is within the gap."""
        values, term = self._best.values, self._level.term
        if values is None:
            return False
        if term is None:
            return True
        bound = self._proposals.bound
        if bound is None:
            return False
        return near(values[term], bound, self._level.gap)

    def _add(self, dead: Dead) -> None:
        """Add the cut of a set that does not fit."""
        self._master.add(self._lifter.cut(dead))

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
                self._add(dead)
                outcome = _Outcome.CUT
            if not fits and outcome is _Outcome.PACKED:
                outcome = _Outcome.OPEN
        packings = [
            (crowd, answer.packing)
            for crowd, answer in zip(proposal.crowds, answers, strict=True)
            if answer.packing is not None
        ]
        if len(packings) == len(answers):
            self._best.offer(join(packings, self._task.instance.item_count))
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


class Search:
    """The master and the packer of a task."""

    def __init__(self, task: Task, relations: Relations, first: int | None) -> None:
        self._task = task
        self._relations = relations
        self._master: Master | None = None
        self._make = partial(Master, task, relations, first)
        self._packer = Packer(task, relations.item_of)

    def solve(self, level: Level, best: Best) -> Answer:
        """Minimise one term."""
        budget = _native.Budget(
            -1.0 if level.seconds is None else level.seconds, -1 if level.work is None else level.work
        )
        if self._master is None:
            self._master = self._make()
        self._master.ask(level.term, level.locks)
        turns = Turns(self._task, self._relations, self._master, self._packer, level, best, budget)
        answer = turns.run()
        return Answer(answer.ended, answer.bound, budget.work, answer.failure)
