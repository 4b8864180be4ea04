"""Results of a bench for a library: what breaks its records, and its values to compare with."""

import threading
from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final, Literal

from memstow.planner.bench.analysis import Best, BestKnown
from memstow.planner.bench.instances import InLibrary, Instances
from memstow.planner.bench.journal import Results, Run
from memstow.planner.bench.judgement import seconds_for_proof
from memstow.planner.bench.record import Ending, Layout, Record
from memstow.planner.graph.documents import problem_of
from memstow.planner.instance_library.folder import LARGEST_FILE, instance_of, posed_of
from memstow.planner.instance_library.judging import Answer, Posed, judged, proved
from memstow.planner.instance_library.records import Credit, Library, first_message
from memstow.planner.model import Status
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import InputError
from memstow.planner.model.library import LibraryInstance
from memstow.planner.model.plan import Exhausted, Explanation, Placement, Plan, Refuted, Schedule, TermValue
from memstow.planner.proofs.check import StoppedError, proof_about
from memstow.solvers.core import Budget

_NOT_KEPT: Final = "the results have no plan of so many buffers"
_NO_PROOF: Final = "no proof that nothing fits was written in time"


@dataclass(frozen=True, slots=True)
class Offered:
    """What came of the best run on an instance."""

    name: str
    outcome: Literal["better", "kept", "refused"]
    says: str = ""


def submit_results(
    library: Library, results: Results, credit: Credit, cancel: threading.Event
) -> Iterator[Offered]:
    """Take what is better in the results, each plan judged again, until `cancel` is set."""
    runs: dict[str, list[Run]] = {}
    for run in results.runs:
        runs.setdefault(run.instance.digest, []).append(run)
    for name in sorted(library.instances):
        if cancel.is_set():
            return
        instance = library.instances[name]
        if instance.kind == "problem" and instance.digest not in runs:
            continue
        try:
            posed = posed_of(library.folder, instance)
            mine = [run for known in _digests(instance, posed) for run in runs.get(known, ())]
            if mine:
                yield _Offer(library, name, posed, results, credit, cancel).best_of(mine)
        except InputError as error:
            yield Offered(name, "refused", first_message(error))
        except StoppedError:
            return


def _digests(instance: LibraryInstance, posed: Posed) -> Iterator[str]:
    """Those of the runs on it: of a graph also that of its listed order."""
    yield instance.digest
    if posed.kind == "graph":
        try:
            yield digest(problem_of(posed.document))
        except InputError:  # In its listed order it is no problem.
            return


@dataclass(frozen=True, slots=True)
class _Offer:
    """The runs on one instance."""

    library: Library
    name: str
    posed: Posed
    results: Results
    credit: Credit
    cancel: threading.Event

    def best_of(self, runs: Sequence[Run]) -> Offered:
        """Submit the best run that is better than the record; where that is refused, the next."""
        better = sorted(
            filter(self._is_better, runs), key=lambda run: (run.value or (), not self._is_final(run))
        )
        refusal = why_kept = ""
        for run in better:
            if self.cancel.is_set():
                raise StoppedError
            try:
                answer = self._answer(run)
                if answer is None:
                    is_empty = run.record.status is Ending.INFEASIBLE
                    why_kept = why_kept or (_NO_PROOF if is_empty else _NOT_KEPT)
                    continue
                changed = self.library.submit(self.name, answer, self.credit, self.cancel)
            except InputError as error:
                refusal = refusal or f"{run.solver}: {first_message(error)}"
                continue
            if changed:
                return Offered(self.name, "better", f"{', '.join(changed)} by {run.solver}")
        if refusal:
            return Offered(self.name, "refused", refusal)
        return Offered(self.name, "kept", why_kept)

    def _is_better(self, run: Run) -> bool:
        instance = self.library.instances[self.name]
        if run.record.status is Ending.INFEASIBLE:
            return self._is_final(run) and not instance.best and instance.state != "infeasible"
        value, best = run.value, tuple(term.value for term in instance.best)
        if value is None:
            return False
        if not instance.history or not best or value < best:
            return True
        return value == best and self._is_final(run) and instance.state != "proven"

    def _is_final(self, run: Run) -> bool:
        """Whether it was checked that nothing is better or nothing fits, in any order of a graph."""
        judged_as = run.record.judged
        is_whole = run.instance.digest == self.library.instances[self.name].digest
        return run.proven and is_whole and judged_as is not None and judged_as.checked is not None

    def _answer(self, run: Run) -> Answer | None:
        """The plan of the run, with its proof or one that is written again; None without a plan to take."""
        record = self.results.whole(run)
        solver = record.solver
        if record.status is Ending.INFEASIBLE:
            buffers = tuple(buffer.id for buffer in problem_of(self.posed.document).buffers)
            why = Explanation(code="no_layout", message="nothing fits, as the proof shows", buffers=buffers)
            plan = Plan(status=Status.INFEASIBLE, explanation=why, solver=solver.name, version=solver.version)
            answer, is_shown = self._proved(plan, record)
            return answer if is_shown else None
        layout = record.plan
        if layout is None:
            return None
        bare = judged(self.posed, Answer(_bare(self.posed, layout))).answer.plan
        plan = replace(bare, solver=solver.name, version=solver.version)
        if not self._is_final(run):
            return Answer(plan)
        terms = tuple(_claimed(term, record) for term in plan.objective)
        answer, is_shown = self._proved(replace(plan, status=Status.OPTIMAL, objective=terms), record)
        # A proof that shows less than the run claims is taken beside what can be counted.
        return answer if is_shown else Answer(plan, answer.proof)

    def _proved(self, claim: Plan, record: Record) -> tuple[Answer, bool]:
        """What the run claims, with its proof or one that is written in time; and whether all is shown."""
        if record.proof is not None:
            try:
                proof = proof_about(self.posed.data, b64decode(record.proof, validate=True))
            except ValueError:
                raise InputError.single(
                    "no_proof", "proof", "what is recorded as its proof is none"
                ) from None
            answer = Answer(replace(claim, proof_sha256=sha256(proof).hexdigest()), proof)
            if self._is_shown(answer):
                return answer, True
        budget = Budget(seconds_for_proof(record.seconds), -1)
        answer = proved(self.posed, claim, budget, LARGEST_FILE, self.cancel)
        return answer, self._is_shown(answer)

    def _is_shown(self, answer: Answer) -> bool:
        try:
            return judged(self.posed, answer, self.cancel).state in ("proven", "infeasible")
        except InputError:
            return False


def _claimed(term: TermValue, record: Record) -> TermValue:
    """The term as the least there is.

    Records have no certificates: that a search ran dry is the word of the solver, kept where it is proven.
    """
    if term.bound == term.value:
        return term
    refuted = Refuted(height=term.value - 1, nodes=max(record.work.get("nodes", 0), 1))
    dry = Exhausted(solver=record.solver.name, refuted=(refuted,))
    return replace(term, bound=term.value, gap=0.0, certificate=dry)


def _bare(posed: Posed, layout: Layout) -> Plan:
    """The places of a record, as a plan that claims nothing."""
    problem = problem_of(posed.document)
    try:
        if min(layout.pool, default=0) < 0 or (layout.order and posed.kind == "problem"):
            raise ValueError("pools are numbered from 0, and a problem has no order")
        placements = [
            Placement(buffer=buffer.id, pool=problem.pools[pool].id, offset=offset)
            for buffer, pool, offset in zip(problem.buffers, layout.pool, layout.offset, strict=True)
        ]
        schedule = Schedule(order=layout.order) if layout.order else None
        return Plan(status=Status.FEASIBLE, placements=placements, schedule=schedule)
    except (ValueError, TypeError, IndexError):
        message = "what is recorded as its places is no plan of the instance"
        raise InputError.single("no_plan", "plan", message) from None


def with_libraries(known: BestKnown, sources: Iterable[Instances], runs: Iterable[Run]) -> dict[str, Best]:
    """The best known values, with those that libraries among the sources have of these instances."""
    digests, best = {run.instance.digest for run in runs}, dict(known)
    libraries = [source for source in sources if isinstance(source, InLibrary)]
    for some in libraries:
        for name in some.ids:
            try:
                instance = instance_of(some.library, name)
            except InputError:
                continue  # `library verify` says what is wrong with it.
            value = tuple(term.value for term in instance.best)
            before = best.get(instance.digest)
            if instance.digest not in digests or not value or not instance.history:
                continue
            if before is None or (len(before.value) == len(value) and value < before.value):
                last, terms = instance.history[-1], tuple(term.term for term in instance.best)
                is_proven = instance.state == "proven"
                best[instance.digest] = Best(
                    name, terms, value, is_proven, last.solver or last.by, last.version or ""
                )
    return best
