"""A proof that goes on from the one in its file.

What is there and shows as much is kept, and so is what shows more than the limits allow to show now. What a
search had learnt when the limits ended it stays in the file for the next.
"""

import os
from typing import TYPE_CHECKING, Final

from memstow.planner.model.plan import Plan
from memstow.planner.proofs.check import CheckedProof, StoppedError, check_until, is_about
from memstow.planner.proofs.proof_file import Proof, draft_of, sha256_in, take_place
from memstow.planner.proofs.prove import prove_within, read_for
from memstow.records import record
from memstow.solvers.core import Budget

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.problem import Problem
    from memstow.solvers.known import Known

# Bytes of a proof; most take less.
_CHECKED_IN_A_SECOND: Final = 5_000_000
_CHECKED_AT_ONCE: Final = 250_000
"""Bytes that are checked even where nothing is left of a limit."""


@record
class Earlier:
    """The file of a proof before another is looked for."""

    proof: CheckedProof | None = None
    """What the checker says, if all its steps are right."""
    waits: bool = False
    """Whether it may be such a proof, but takes longer to check than is left."""
    state: tuple[int, ...] = ()
    """What is different once another has written the file; empty where there is none."""

    def suffices(self, plan: Plan) -> bool:
        """Whether it shows what the run of the plan has shown, or more."""
        if self.proof is None:
            return False
        both = zip(self.proof.bounds, plan.objective, strict=False)
        return self.proof.shows_something and all(bound >= value.bound for bound, value in both)

    def stays(self, proof: Proof | None, draft: str, path: str, plan: Plan) -> bool:
        """Whether the file at the path is of more use than this proof in a draft."""
        if proof is None:
            return True
        if proof.unfinished and self.state != _state_of(path):
            return True  # Somebody else has written it meanwhile.
        if self.waits:
            both = zip(proof.bounds, plan.objective, strict=False)
            return proof.unfinished > 0 or any(bound < value.value for bound, value in both)
        if self.proof is None:
            return False
        if not proof.unfinished:
            # That nothing fits has no bounds.
            return bool(proof.bounds) and proof.bounds <= self.proof.bounds
        # The checker may see more in the other terms. With all lemmas of the file, it has become longer.
        is_less = proof.bounds[:1] < self.proof.bounds[:1]
        return is_less or os.path.getsize(draft) <= os.path.getsize(path)


def resume_proof(
    document: bytes, plan: Plan, path: "str | os.PathLike[str]", time_limit: float = 10.0
) -> Proof | CheckedProof | None:
    """The same as `prove`, from the proof in the file on: where that shows as much, it is checked and stays.

    A search that the limit ends is kept for the next call (`unfinished`), even where nothing is shown yet.
    What is in the file is checked first, which the limit has to have time for.
    """
    budget, file = Budget(time_limit, -1), os.fspath(path)
    there = earlier_in(file, document, plan, budget, time_limit)
    if there.suffices(plan):
        return there.proof
    return prove_on(read_for(plan, document), plan, document, file, budget, there)


def earlier_in(path: str, document: bytes, plan: Plan, budget: Budget, seconds: float | None) -> Earlier:
    """What is in the file, if these seconds of the budget suffice to check it.

    Without seconds: the proof that the plan names, if it is that.
    """
    try:
        # Before a pipe or a device is opened, which may never end.
        if not os.path.isfile(path) or (plan.proof_sha256 is None and seconds is None):
            return Earlier()
        state, size = _state_of(path), os.path.getsize(path)
        if seconds is None:
            with open(path, "rb") as file:
                if sha256_in(file) != plan.proof_sha256:
                    return Earlier()
        elif size > max(_CHECKED_AT_ONCE, seconds * _CHECKED_IN_A_SECOND):
            return Earlier(None, is_about(path, document), state)
        try:
            stopped = bool if size <= _CHECKED_AT_ONCE else lambda: budget.spent
            checked = check_until(document, plan, path, stopped)
        except StoppedError:
            return Earlier(None, is_about(path, document), state)
    except OSError:
        return Earlier()
    # Another may have taken its place meanwhile.
    counts = checked.is_right and (seconds is not None or checked.sha256 == plan.proof_sha256)
    return Earlier(checked if counts else None, False, state)


def _state_of(path: str) -> tuple[int, ...]:
    try:
        now = os.stat(path)
    except OSError:
        return ()
    return now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns


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
        if there.stays(proof, draft, path, plan):
            return there.proof
        take_place(draft, path)
        return proof
