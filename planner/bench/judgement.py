"""The record of a run: its task, its child's messages, how it ended, and the verdict on its plan."""

import os
import platform
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cache
from operator import attrgetter
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from memstow.planner import formats
from memstow.planner.bench.record import (
    Ending,
    Instance,
    JudgeResult,
    Layout,
    Machine,
    ProgressEvent,
    Record,
    TermValue,
)
from memstow.planner.bench.task import Task
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.graph import Graph
from memstow.planner.model.plan import Exhausted, Placement, Plan, gap_of, is_bare, peaks
from memstow.planner.model.problem import Kind, Problem, Term, terms_of
from memstow.planner.processes import machine
from memstow.planner.processes.frames import GarbageError, Message
from memstow.planner.solve.problem_plans import placement_cost, preference, reuse_cost
from memstow.planner.verify import Violation, recount, verify
from memstow.planner.verify import judge as judge_plan
from memstow.solvers.core import Budget

# Layouts of more buffers would make most of the file of results.
MOST_KEPT: Final = 20_000
MOST_PROOF: Final = 1 << 20
"""Bytes of a proof that is kept."""


Tell = Callable[[Message], None]
"""How a child tells its supervisor of a run."""


class TermResult(NamedTuple):
    """A term of the objective."""

    term: str
    value: int
    bound: int | None


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict and, of a valid plan, its figures."""

    valid: bool
    codes: tuple[str, ...] = ()
    objective: tuple[TermResult, ...] = ()
    peak: int | None = None
    layout: Message | None = None


class Judge:
    """Judges plans for one problem; caches the last verdict, so that none is judged twice.

    The engine calls `judge` for the plan it returns; `violations` reuses that verdict for the same plan.
    """

    def __init__(self, problem: Problem, digest: str) -> None:
        self._problem = problem
        self._digest = digest
        self._judged: Plan | None = None
        self._violations: list[Violation] = []

    def judge(self, problem: Problem, plan: Plan, hint: Plan | None = None) -> list[Violation]:
        """The violations of a plan of the engine."""
        violations = recount(problem, plan, hint)
        if problem is self._problem and hint is None:
            self._judged, self._violations = plan, violations
        return violations

    def violations(self, plan: Plan) -> list[Violation]:
        """The violations of a plan, cached if it is the one judged last."""
        judged = self._judged
        # The digest may be added to a plan after it was judged.
        named = {None, self._digest}
        if (
            judged is not None
            and {judged.digest, plan.digest} <= named
            and _judged_fields(judged) == _judged_fields(plan)
        ):
            return self._violations
        self._judged, self._violations = plan, verify(self._problem, plan)
        return self._violations


# All fields that `verify` may judge, except the digest.
_judged_fields: Final = attrgetter(
    *(field.name for field in fields(Plan) if field.name not in ("digest", "seconds", "work"))
)


def judgement_of(problem: Problem, plan: Plan, judge: Judge | None = None) -> Judgement:
    """Judge the plan; a bare layout by its places alone."""
    return judged(verify(problem, plan) if judge is None else judge.violations(plan), problem, plan)


def judged(violations: list[Violation], problem: Problem, plan: Plan) -> Judgement:
    """The judgement that follows from the violations of a plan of this problem, in any of its orders."""
    codes = tuple(sorted({violation.code.value for violation in violations}))
    if codes:
        return Judgement(False, codes)
    if plan.status not in PLANNED:
        return Judgement(True)
    if not is_bare(plan):
        objective = tuple(TermResult(term.term, term.value, term.bound) for term in plan.objective)
        return Judgement(True, (), objective, sum(use.peak for use in plan.pools), _layout(problem, plan))
    peak_of = peaks(problem, plan.placements)
    return Judgement(
        True, (), _term_results(problem, plan, peak_of), sum(peak_of.values()), _layout(problem, plan)
    )


def _term_results(problem: Problem, plan: Plan, peak_of: dict[str, int]) -> tuple[TermResult, ...]:
    """The terms that follow from placements alone; `moves` need the plan they are counted from."""
    in_order = _in_order(problem, plan)
    values = []
    for term in terms_of(problem):
        match term:
            case Term(Kind.PEAK):
                value = sum(peak_of.values())
            case Term(Kind.MAX_PEAK):
                value = max(peak_of.values(), default=0)
            case Term(Kind.POOL_PEAK, str(pool)):
                value = peak_of.get(pool, 0)
            case Term(Kind.PLACEMENT_COST):
                value = placement_cost(problem, in_order)
            case Term(Kind.PREFERENCE):
                value = preference(problem, in_order)
            case Term(Kind.REUSE_COST):
                value = reuse_cost(problem, in_order)
            case _:
                break
        values.append(TermResult(str(term), value, None))
    return tuple(values)


def _in_order(problem: Problem, plan: Plan) -> list[Placement]:
    place_of = {placement.buffer: placement for placement in plan.placements}
    return [place_of[buffer.id] for buffer in problem.buffers]


def _layout(problem: Problem, plan: Plan) -> Message | None:
    if len(problem.buffers) > MOST_KEPT:
        return None
    index = {pool.id: number for number, pool in enumerate(problem.pools)}
    places = _in_order(problem, plan)
    layout = {"pool": [index[place.pool] for place in places], "offset": [place.offset for place in places]}
    return layout if plan.schedule is None else {**layout, "order": list(plan.schedule.order)}


def seconds_for_proof(seconds: float) -> float:
    """A proof takes about as long as the search that it repeats, and a moment."""
    return 2 * seconds + 1


def checked_by(
    problem: Problem | Graph, plan: Plan, seconds: float, known: bytes | None = None
) -> str | None:
    """What shows that a plan that is called optimal is, or that nothing fits: `judge` or `proof`.

    The judge counts what it can; of the rest the proof that is known is checked, or one is written, for at
    most this long.
    """
    if plan.status not in (Status.OPTIMAL, Status.INFEASIBLE):
        return None
    verdict = judge_plan(problem, plan)
    if verdict.valid and verdict.unchecked:
        from memstow.planner.graph.documents import problem_of
        from memstow.planner.proofs.check import (
            StoppedError,
            check_bytes,
            check_proof,
            proof_about,
            with_proof,
        )
        from memstow.planner.proofs.prove import prove_within, why_not

        if why_not(problem) is not None:
            return None
        if isinstance(problem, Problem):
            document = formats.write_problem(problem, "json")
        else:
            document = formats.write_graph(problem)
        if known is not None:
            with suppress(StoppedError):
                proof = check_bytes(document, plan, proof_about(document, known), seconds=seconds)
                with_known = with_proof(problem_of(problem), plan, verdict, proof)
                if with_known.valid and not with_known.unchecked:
                    return "proof"
        with TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.proof")
            if prove_within(problem, plan, document, path, Budget(seconds, -1)) is None:
                return None
            proof = check_proof(document, plan, path)
            verdict = with_proof(problem_of(problem), plan, verdict, proof)
        return "proof" if verdict.valid and not verdict.unchecked else None
    return "judge" if verdict.valid and not verdict.unchecked else None


def outcome(judgement: Judgement, plan: Plan, checked: str | None, proof: bytes | None = None) -> Message:
    """The fields of a record that follow from a judged plan; `checked`: from `checked_by`."""
    first = judgement.objective[0] if judgement.objective else None
    # Counts of work, which are the same on every machine if the run is deterministic.
    work = {"steps": plan.work}
    proofs = [term.certificate for term in plan.objective if isinstance(term.certificate, Exhausted)]
    if proofs:
        work["nodes"] = sum(refuted.nodes for proof in proofs for refuted in proof.refuted)
    return {
        "status": plan.status.value if judgement.valid else "invalid",
        "judged": {"valid": judgement.valid, "violations": list(judgement.codes), "checked": checked},
        "objective": [list(term) for term in judgement.objective],
        "peak": judgement.peak,
        "bound": None if first is None else first.bound,
        "plan": judgement.layout,
        "proof": None if proof is None or len(proof) > MOST_PROOF else b64encode(proof).decode(),
        "work": work,
    }


class RunEvents:
    """The messages of a child about its current run."""

    def __init__(self) -> None:
        self.problem: Message = {}
        self.events: list[ProgressEvent] = []

    def receive(self, message: Message) -> None:
        """Handle one message."""
        match message["kind"]:
            case "problem":
                self.problem = message
            case "event":
                bound, incumbent = message.get("bound"), message.get("incumbent")
                self.events.append(ProgressEvent(message["seconds"], incumbent, bound))
            case "judging":
                pass
            case kind:
                raise GarbageError(f"a message of kind {kind!r}")

    def bound(self) -> int | None:
        """The best proven bound of the first term."""
        return max((event.bound for event in self.events if event.bound is not None), default=None)


def record_of(task: Task, received: RunEvents, done: Message) -> Record:
    """The record of a run; of one that was killed, as much as its messages tell."""
    about = received.problem
    objective = tuple(TermValue(*term) for term in done.get("objective", ()))
    bound = objective[0].bound if objective else received.bound()
    plan = done.get("plan")
    return Record(
        instance=Instance(
            name=task.source.name,
            family=task.source.family,
            content=task.content,
            # A problem that was not read to its end has no digest.
            digest=about.get("digest", f"unread-{task.content}"),
            features=about.get("features", {}),
        ),
        solver=task.solver.solver_info(about.get("version", "")),
        seed=task.seed,
        status=Ending(done["status"]),
        objective=objective,
        peak=done.get("peak"),
        bound=bound,
        gap=gap_of(objective[0].value, bound) if objective and bound is not None else None,
        max_live=about.get("max_live", 0),
        capacity=about.get("capacity"),
        events=tuple(received.events),
        repeats=done.get("repeats", 1),
        seconds=done.get("seconds", 0.0),
        cpu_seconds=done.get("cpu_seconds", 0.0),
        peak_memory=done.get("peak_memory", 0),
        reported_seconds=done.get("reported_seconds"),
        work=done.get("work", {}),
        judged=JudgeResult.of(done.get("judged")),
        plan=Layout.of(plan),
        proof=done.get("proof"),
        machine=replace(this_machine(), load=about.get("load", 0.0)),
        error=done.get("error"),
    )


@cache
def this_machine() -> Machine:
    """The machine of this process, with no load noted."""
    return Machine(
        cpus=machine.processors(),
        memory=machine.memory(),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        load=0.0,
        model=machine.processor_model(),
    )
