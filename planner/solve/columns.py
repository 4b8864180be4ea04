"""From columns to a plan, for callers that have no objects; the engine is loaded where it is needed."""

import threading
from typing import TYPE_CHECKING

from memstow.planner.model.options import Listener, Options
from memstow.planner.model.plan import Explanation, Plan
from memstow.planner.plain._columns import Columns
from memstow.planner.plain.plan import PlainPlan
from memstow.planner.solve.plain import Failure, PlainRun, budget_of, ground_of, takes
from memstow.planner.solve.turns import Progress

if TYPE_CHECKING:
    from memstow.planner.model.problem import Problem


def plan_columns(
    columns: Columns,
    options: Options,
    on_event: Listener | None = None,
    cancel: threading.Event | None = None,
) -> PlainPlan | Plan:
    """The plan of a plain problem, as of `engine.plan`; where there is none, the answer of the models."""
    found = _search(columns, options, on_event, cancel)
    if isinstance(found, PlainPlan):
        return found
    if found is not None:
        return _in_words(columns, options, found)
    from memstow.planner.plain.models import problem_of
    from memstow.planner.solve import engine

    return engine.plan(problem_of(columns), options, on_event, cancel)


def found_in_columns(
    columns: Columns, options: Options, on_event: Listener | None = None
) -> PlainPlan | None:
    """The same for who has another way to the models: None where that has to be gone."""
    found = _search(columns, options, on_event, None)
    return found if isinstance(found, PlainPlan) else None


def _search(
    columns: Columns, options: Options, on_event: Listener | None, cancel: threading.Event | None
) -> PlainPlan | Failure | None:
    """What a search in columns finds; None where there can be none."""
    progress = Progress(on_event)
    ground = ground_of(columns, options) if takes(options) else None
    if ground is None:
        return None
    budget = budget_of(options, ground, progress.seconds(), places=False)
    run = PlainRun(ground, options, progress, budget, cancel)
    # The run lets go of the instance before the judge has its turn.
    del ground
    return run.plan(None) if run.suits else None


def _in_words(columns: Columns, options: Options, failure: Failure) -> Plan:
    from memstow.planner.plain.models import problem_of

    return answer_of_failure(problem_of(columns), options, failure)


def answer_of_failure(problem: "Problem", options: Options, failure: Failure) -> Plan:
    """The answer where the search in columns has found no plan."""
    from memstow.planner.reduce import reduce
    from memstow.planner.solve.answer import Answers
    from memstow.planner.solve.no_layout import no_layout
    from memstow.planner.verify import recount

    reduction = reduce(problem)
    if isinstance(reduction, Explanation):
        raise AssertionError("a buffer without a place was searched one")
    answers = Answers(problem, options, recount, lambda: failure.stamp)
    if failure.misfit is not None:
        return answers.infeasible(no_layout(reduction, failure.misfit.items), failure.misfit.solver)
    return answers.unknown(reduction, failure.attempt)
