"""One run of a solver of memstow: repeated, measured, judged, and returned as a message."""

from collections.abc import Callable, Sequence
from importlib.metadata import version

import memstow
from memstow.planner.bench.judgement import Judge, Judgement, judged, judgement_of
from memstow.planner.bench.task import SolverRequest, Task
from memstow.planner.bench.usage import ResourceUsage, Stopwatch, repeat_short_run
from memstow.planner.model.errors import DeclinedError, MemstowError
from memstow.planner.model.graph import FREE, Graph
from memstow.planner.model.options import Bound, Callbacks, Event, Incumbent, Listener, Options, Phase
from memstow.planner.model.plan import Exhausted, Plan
from memstow.planner.model.problem import Problem
from memstow.planner.processes.frames import Message
from memstow.planner.solve.graphs import LEAST_PEAK, plan_by
from memstow.planner.solve.problem_plans import plan_for_judge
from memstow.planner.verify import verify
from memstow.solvers.registry import BACK_ENDS

_DIGITS = 6


Tell = Callable[[Message], None]

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
    judge = Judge(problem, digest)
    # With a judge of its own: this one remembers the plan of the first run.
    other = Judge(problem, digest)
    options = _options(task.solver, task.seed, memory)
    return _measured(
        lambda hear: plan_for_judge(problem, options, Callbacks(hear), judge.judge),
        lambda hear: plan_for_judge(problem, options, Callbacks(hear), other.judge),
        lambda plan: judgement_of(problem, plan, judge),
        task,
        tell,
    )


def attempt_graph(graph: Graph, problem: Problem, task: Task, memory: int, tell: Tell) -> Message:
    """The same for a graph, in the order of the solver of orders; `problem`: that of its listed order."""
    options = _options(task.solver, task.seed, memory)
    order = task.solver.options["order"]
    solver = LEAST_PEAK if order == FREE else order

    def run(hear: Listener) -> Plan:
        return plan_by(graph, solver, options, Callbacks(on_event=hear))

    return _measured(run, run, lambda plan: judged(verify(graph, plan), problem, plan), task, tell)


Run = Callable[[Listener], Plan]


def _measured(
    run: Run, repeat: Run, judgement: Callable[[Plan], Judgement], task: Task, tell: Tell
) -> Message:
    sender = EventSender(tell)
    stopwatch = Stopwatch()
    try:
        plan = run(sender.hear)
    except DeclinedError as error:
        return {"status": "declined", "error": str(error), **stopwatch.usage().values()}
    except MemstowError as error:
        return {"status": "error", "error": str(error)[:1000], **stopwatch.usage().values()}
    used = repeat_short_run(stopwatch.usage(), lambda: _repeat(repeat), task.solver.repeat_seconds)
    tell({"kind": "judging"})
    return {**outcome(judgement(plan), plan), **used.values(), "error": sender.failure}


def _repeat(run: Run) -> ResourceUsage | None:
    """Do the run again for its times alone; None if it fails."""
    stopwatch = Stopwatch()
    try:
        run(lambda _event: None)
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


def version_of(back_ends: Sequence[str]) -> str:
    """The versions of memstow and of the packages that these back ends need."""
    needed = dict.fromkeys(package for name in back_ends for package in BACK_ENDS[name].needs)
    return " ".join((memstow.__version__, *(f"{package} {version(package)}" for package in needed)))


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
