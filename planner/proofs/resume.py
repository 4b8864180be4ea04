"""A proof that goes on from the one in its file.

What is there and shows as much is kept, and so is what shows more than the limits allow to show now. What a
search had learnt when the limits ended it stays in the file for the next.
"""

import os
import threading
from typing import TYPE_CHECKING, Final

from memstow.planner.model.plan import Plan
from memstow.planner.proofs.check import CheckedProof, StoppedError, check_proof, is_about
from memstow.planner.proofs.proof_file import Proof, draft_of, sha256_in
from memstow.planner.proofs.prove import prove_within, read_for
from memstow.records import record
from memstow.solvers.core import Budget

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.problem import Problem
    from memstow.solvers.known import Known

# Bytes of a proof; most take less.
_CHECKED_IN_A_SECOND: Final = 5_000_000


@record
class Earlier:
    """The file of a proof before another is looked for."""

    proof: CheckedProof | None = None
    """What the checker says, if all its steps are right."""
    waits: bool = False
    """Whether it may be such a proof, but takes longer to check than is left."""

    def suffices(self, plan: Plan) -> bool:
        """Whether it is the one that the plan names, or shows what the run of the plan has shown, or more."""
        if self.proof is None:
            return False
        bounds = self.proof.bounds
        both = zip(bounds, plan.objective, strict=False)
        shows_all = all(bound >= value.bound for bound, value in both)
        return self.proof.sha256 == plan.proof_sha256 or (shows_all and (self.proof.verified or any(bounds)))

    def stays(self, proof: Proof | None, plan: Plan) -> bool:
        """Whether the file is of more use than this proof."""
        if proof is None:
            return True
        if self.waits:
            both = zip(proof.bounds, plan.objective, strict=False)
            return proof.unfinished > 0 or any(bound < value.value for bound, value in both)
        if self.proof is None or proof.bounds > self.proof.bounds:
            return False
        # That nothing fits has no bounds.
        is_further = proof.unfinished > 0 or not proof.bounds
        return proof.bounds < self.proof.bounds or not is_further


def resume_proof(
    document: bytes, plan: Plan, path: "str | os.PathLike[str]", time_limit: float = 10.0
) -> Proof | CheckedProof | None:
    """The same as `prove`, from the proof in the file on: where that shows as much, it is checked and stays.

    A search that the limit ends is kept for the next call (`unfinished`), even where nothing is shown yet.
    What is in the file is checked first, which the limit has to have time for.
    """
    budget, file = Budget(time_limit, -1), os.fspath(path)
    there = earlier_in(file, document, plan, None, time_limit)
    if there.suffices(plan):
        return there.proof
    return prove_on(read_for(plan, document), plan, document, file, budget, there)


def earlier_in(
    path: str, document: bytes, plan: Plan, cancel: threading.Event | None, seconds: float | None
) -> Earlier:
    """What is in the file: the proof that the plan names, or any other that these seconds suffice for."""
    if not os.path.isfile(path) or (plan.proof_sha256 is None and seconds is None):
        return Earlier()
    try:
        if seconds is None or os.path.getsize(path) >= seconds * _CHECKED_IN_A_SECOND:
            with open(path, "rb") as file:
                if sha256_in(file) != plan.proof_sha256:
                    return Earlier(waits=seconds is not None and is_about(path, document))
        checked = check_proof(document, plan, path, cancel, seconds)
    except OSError:
        return Earlier()
    except StoppedError:
        return Earlier(waits=is_about(path, document))
    # Another may have taken its place meanwhile.
    counts = checked.is_right and (seconds is not None or checked.sha256 == plan.proof_sha256)
    return Earlier(checked if counts else None)


def prove_on(
    problem: "Problem | Graph",
    plan: Plan,
    document: bytes,
    path: str,
    budget: Budget,
    there: Earlier,
    known: "Known | None" = None,
) -> Proof | CheckedProof | None:
    """Write the proof that `prove_within` comes to, going on from what is there, unless that stays."""
    with draft_of(path) as draft:
        earlier = None if there.proof is None else path
        proof = prove_within(problem, plan, document, draft, budget, known, True, earlier)
        if there.stays(proof, plan):
            return there.proof
        os.replace(draft, os.path.realpath(path))
        return proof
