"""The turns of a run: solvers work one after another, each from the best layout and bounds so far."""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, TypeVar

from memstow.planner.backends import is_model
from memstow.planner.model.options import Bound, Incumbent, Listener, Phase, solver_gave_up, solver_missing
from memstow.planner.model.plan import gap_of
from memstow.planner.model.records import record
from memstow.planner.solve.portfolio import CHECK_SECONDS, Stage
from memstow.planner.solve.run_state import RunState
from memstow.solvers.core import Budget
from memstow.solvers.instance import Layout
from memstow.solvers.solver import Listeners, Outcome, Solver, Task


class Progress:
    """The clock and the listener of a run."""

    def __init__(self, listener: Listener | None) -> None:
        self._begin = time.monotonic()
        self._listener = listener
        self._bound: int | None = None

    def seconds(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._begin

    def phase(self, name: str) -> None:
        """A phase begins."""
        if self._listener is not None:
            self._listener(Phase(name, self.seconds()))

    def incumbent(self, value: int, solver: str) -> None:
        """A better plan was found."""
        if self._listener is not None:
            self._listener(Incumbent(value, solver, self.seconds()))

    def bound(self, value: int | None, prover: str | None) -> None:
        """Send this bound on the first term if it is the highest so far."""
        if value is not None and (self._bound is None or value > self._bound):
            self._bound = value
            if self._listener is not None:
                # Nobody has to prove that nothing is below zero.
                self._listener(Bound(value, prover or "bounds", self.seconds()))

    def gave_up(self, solver: str, reason: str) -> None:
        """A solver ended its turn early."""
        if self._listener is not None:
            self._listener(solver_gave_up(solver, reason, self.seconds()))

    def solver_missing(self, solver: str, needs: str) -> None:
        """A solver that is not installed could do more."""
        if self._listener is not None:
            self._listener(solver_missing(solver, needs, self.seconds()))


T = TypeVar("T")

# A turn of so little work is over before anyone misses Ctrl-C; a thread takes half as long as a small solve.
_AT_ONCE: Final = 50_000

OnLayout = Callable[[Layout, str], None]
"""Called with each better layout that fits, and with the solver that found it."""


class GapStop:
    """Ends a turn as soon as the first and only term is within the gap: native code does not check that."""

    def __init__(self, gap: float, end: Callable[[], None], value: int | None, bound: int) -> None:
        self._gap = gap
        self._end = end
        self._value = value
        self._bound = bound

    def new_value(self, value: int) -> None:
        """A better plan was found."""
        self._value = value
        self._check()

    def new_bound(self, bound: int) -> None:
        """A better bound was proven."""
        self._bound = bound
        self._check()

    def _check(self) -> None:
        if self._value is not None and gap_of(self._value, self._bound) <= self._gap:
            self._end()


@record
class Misfit:
    """A proof that nothing fits: items that are too many for their pools, and the solver that found them."""

    items: tuple[int, ...]
    solver: str


@record
class Turns:
    """Gives solvers their turns within the budget and the gap of a run."""

    state: RunState
    progress: Progress
    budget: Budget
    gap: float
    cancel: threading.Event | None
    on_layout: OnLayout | None

    def take(self, stages: Iterable[Stage], task: Task) -> Misfit | None:
        """Let each stage have its turn; a proof that nothing fits ends them."""
        failed = False
        for stage in stages:
            if self._is_done():
                break
            if (stage.stands_in and not failed) or stage.solver.declines(task) is not None:
                continue
            name = stage.solver.name
            self.progress.phase(name)
            share = stage.share_of(self.budget)
            outcome = self._solve(stage, task, share)
            self.budget.count(share.work)
            if outcome.misfit is not None and not self.state.has_plan:
                return Misfit(outcome.misfit, name)
            self.state.learn(name, outcome)
            if outcome.failure is not None and not self.budget.spent:
                self.progress.gave_up(name, outcome.failure)
            self.progress.bound(self.state.first_bound, self.state.prover)
            failed = outcome.failure is not None
            if self._is_done():
                # Most small problems end here: the next stage is not even looked for.
                break
            best = self.state.best
            task = replace(task, start=best.layout if best else None, lower_bounds=self.state.lower_bounds())
        return None

    def _is_done(self) -> bool:
        """Whether the plan is good enough, or the budget is spent."""
        return self.state.best is not None and (self.budget.spent or self.state.within(self.gap))

    def _solve(self, stage: Stage, task: Task, budget: Budget) -> Outcome:
        """Run the solver; the values and bounds that it reports are turned into bytes."""
        solver = stage.solver
        scale = self.state.scales[0] if self.state.scales else 1
        stop = self._gap_stop(solver, task, budget)

        def incumbent(by: str, value: int, layout: Layout) -> None:
            self.progress.incumbent(value * scale, by)
            if self.on_layout is not None:
                self.on_layout(layout, by)
            if stop is not None:
                stop.new_value(value * scale)

        def bound(by: str, value: int) -> None:
            self.progress.bound(value * scale, by)
            if stop is not None:
                stop.new_bound(value * scale)

        listeners = Listeners(incumbent, bound, layouts=self.on_layout is not None)
        work = None if is_model(solver.name) else budget.work_left
        if self.cancel is None and work is not None and work <= _AT_ONCE:
            return solver.solve(task, budget, listeners)
        return _run_cancellable(
            lambda: solver.solve(task, budget, listeners),
            self.budget.cancel,
            self.cancel,
            f"memstow {solver.name}",
        )

    def _gap_stop(self, solver: Solver, task: Task, budget: Budget) -> GapStop | None:
        """None for models, which stop at the gap themselves, and with several terms."""
        if not self.gap or len(task.terms) != 1 or is_model(solver.name):
            return None
        bound = task.lower_bounds[0] * self.state.scales[0]
        return GapStop(self.gap, budget.cancel, self.state.first_value(), bound)


def _run_cancellable(
    work: Callable[[], T], stop: Callable[[], None], cancel: threading.Event | None, name: str
) -> T:
    """Run `work` and return what it returns; call `stop` when `cancel` is set or Ctrl-C is pressed.

    The work gets a thread of its own: only the main thread hears Ctrl-C, and not while it runs native code.
    KeyboardInterrupt is raised again once the work has ended.
    """
    if cancel is None and threading.current_thread() is not threading.main_thread():
        return work()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            if cancel is not None and cancel.is_set():
                stop()
            thread.join(CHECK_SECONDS)
    except BaseException:
        stop()
        thread.join()
        raise
    if errors:
        raise errors[0]
    return results[0]
