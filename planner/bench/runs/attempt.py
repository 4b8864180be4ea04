"""One run of a solver of memstow: measured, judged, and returned as a message."""

from collections.abc import Callable
from importlib.metadata import version

import memstow
from memstow.planner.bench.records.judgement import Judge, Judgement, judgement_of
from memstow.planner.bench.runs.repetition import repeat_short_run
from memstow.planner.bench.runs.resource_usage import ResourceUsage, Stopwatch
from memstow.planner.bench.runs.task import SolverRequest, Task
from memstow.planner.model.errors import DeclinedError, MemstowError
from memstow.planner.model.events import Bound, Event, Incumbent, Phase
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Exhausted, Plan
from memstow.planner.model.problem import Problem
from memstow.planner.processes.frames import Message
from memstow.planner.solve import engine
from memstow.solvers.models.register import BACK_ENDS

Tell = Callable[[Message], None]

_DIGITS = 6
# The share of the memory of a run that the process of a model may use: the rest is for its parent.
_MODEL_SHARE = 0.8


class EventSender:
    """Sends each better value and bound once; keeps why a solver gave up."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._incumbent: int | None = None
        self._bound: int | None = None
        self.failure: str | None = None

    def hear(self, event: Event) -> None:
        """Take note of an event of the run."""
        match event:
            case Phase() if event.gives_up:
                self.failure = event.name
            case Incumbent() if self._incumbent is None or event.value < self._incumbent:
                self._incumbent = event.value
                self._send(event.seconds, incumbent=event.value)
            case Bound() if self._bound is None or event.value > self._bound:
                self._bound = event.value
                self._send(event.seconds, bound=event.value)

    def _send(self, seconds: float, **value: int) -> None:
        self._tell({"kind": "event", "seconds": round(seconds, _DIGITS), **value})


def attempt(problem: Problem, digest: str, task: Task, memory: int, tell: Tell) -> Message:
    """Solve and judge; return the fields of the record."""
    sender = EventSender(tell)
    judge = Judge(problem, digest)
    options = _options(task.solver, task.seed, memory)
    stopwatch = Stopwatch()
    try:
        plan = engine.plan_for_judge(problem, options, sender.hear, judge.judge)
    except DeclinedError as error:
        return {"status": "declined", "error": str(error), **stopwatch.usage().values()}
    except MemstowError as error:
        return {"status": "error", "error": str(error)[:1000], **stopwatch.usage().values()}
    # With a judge of its own: this one remembers the plan of the first run.
    other = Judge(problem, digest)
    used = repeat_short_run(
        stopwatch.usage(), lambda: _repeat(problem, options, other), task.solver.repeat_seconds
    )
    tell({"kind": "judging"})
    return {**outcome(judgement_of(problem, plan, judge), plan), **used.values(), "error": sender.failure}


def _repeat(problem: Problem, options: Options, judge: Judge) -> ResourceUsage | None:
    """Do the run again for its times alone; None if it fails."""
    sender = EventSender(lambda _message: None)
    stopwatch = Stopwatch()
    try:
        engine.plan_for_judge(problem, options, sender.hear, judge.judge)
    except MemstowError:
        return None
    return stopwatch.usage()


def outcome(judgement: Judgement, plan: Plan) -> Message:
    """The fields of a record that follow from a judged plan."""
    first = judgement.objective[0] if judgement.objective else None
    return {
        "status": plan.status.value if judgement.valid else "invalid",
        "judged": {"valid": judgement.valid, "violations": list(judgement.codes)},
        "objective": [list(term) for term in judgement.objective],
        "peak": judgement.peak,
        "bound": None if first is None else first.bound,
        "plan": judgement.layout,
        "work": _work(plan),
    }


def version_of(solver: str) -> str:
    """The versions of memstow and of the packages that the solver needs."""
    back_end = BACK_ENDS.get(solver)
    needed = [] if back_end is None else [f"{name} {version(name)}" for name in back_end.needs]
    return " ".join((memstow.__version__, *needed))


def _options(solver: SolverRequest, seed: int, memory: int) -> Options:
    options = solver.options
    return Options(
        solver=solver.name,
        time_limit=float(options["time_limit"]),
        gap=float(options["gap"]),
        deterministic=options["deterministic"],
        work_limit=options["work_limit"],
        workers=options["workers"],
        memory_limit=int(memory * _MODEL_SHARE),
        seed=seed,
    )


def _work(plan: Plan) -> dict[str, int]:
    """Counts of work, which are the same on every machine if the run is deterministic."""
    proofs = [term.certificate for term in plan.objective if isinstance(term.certificate, Exhausted)]
    nodes = sum(refuted.nodes for proof in proofs for refuted in proof.refuted)
    return {"steps": plan.work, **({"nodes": nodes} if proofs else {})}
