"""One run of one of our own solvers: measured, judged, and told in values that a record is made of."""

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import memstow
from memstow.planner.bench.records.judgement import Judge, Judgement, judgement_of
from memstow.planner.bench.runs.repetition import repeated
from memstow.planner.bench.runs.resource_usage import Spent
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
# Of the memory a run may use, what the process of a model may: the rest is for who started it.
_MODEL_SHARE = 0.8


class Hearing:
    """Tells each better value and bound once, and keeps what a solver ended early by."""

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


def attempt(problem: Problem, digest: str, request: Message, memory: int, tell: Tell) -> Message:
    """Solve and judge; what came of it."""
    asked = request["asked"]
    hearing = Hearing(tell)
    judge = Judge(problem, digest)
    options = _options(asked, request["seed"], memory)
    spent = Spent()
    try:
        plan = engine.plan(problem, options, hearing.hear, judge=judge.judge)
    except DeclinedError as error:
        return {"status": "declined", "error": str(error), **spent.values()}
    except MemstowError as error:
        return {"status": "error", "error": str(error)[:1000], **spent.values()}
    # With a judge of its own: this one remembers the plan of the first run.
    other = Judge(problem, digest)
    used = repeated(spent.values(), lambda: _once_more(problem, options, other), request["repeat_seconds"])
    tell({"kind": "judging"})
    return {**outcome(judgement_of(problem, plan, judge), plan), **used, "error": hearing.failure}


def _once_more(problem: Problem, options: Options, judge: Judge) -> dict[str, Any] | None:
    """What the same run takes now; its plan is of no more interest."""
    hearing = Hearing(lambda _message: None)
    spent = Spent()
    try:
        engine.plan(problem, options, hearing.hear, judge=judge.judge)
    except MemstowError:
        return None
    return spent.values()


def outcome(judgement: Judgement, plan: Plan) -> Message:
    """What a judged plan adds to a record."""
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
    """The version of memstow, and of what else solves."""
    back_end = BACK_ENDS.get(solver)
    needed = [] if back_end is None else [f"{name} {version(name)}" for name in back_end.needs]
    return " ".join((memstow.__version__, *needed))


def _options(asked: dict[str, Any], seed: int, memory: int) -> Options:
    options = asked["options"]
    return Options(
        solver=asked["name"],
        time_limit=float(options["time_limit"]),
        gap=float(options["gap"]),
        deterministic=options["deterministic"],
        work_limit=options["work_limit"],
        workers=options["workers"],
        memory_limit=int(memory * _MODEL_SHARE),
        seed=seed,
    )


def _work(plan: Plan) -> dict[str, int]:
    """What a run took in counts, the same on every machine where the run is deterministic."""
    proofs = [term.certificate for term in plan.objective if isinstance(term.certificate, Exhausted)]
    nodes = sum(refuted.nodes for proof in proofs for refuted in proof.refuted)
    return {"steps": plan.work, **({"nodes": nodes} if proofs else {})}
