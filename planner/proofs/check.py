"""What the checkers that stand alone say of a proof, and what that means to the claims of a plan.

The module `_checker` is built from their own source. It is given the bytes of the file of the problem or the
graph, and the plan as this package writes it, and judges both itself: nothing that memstow has read goes in.
"""

import errno
import math
import os
import threading
import time
from collections.abc import Callable
from enum import IntEnum
from typing import Final

from memstow.planner.formats.native import write_plan
from memstow.planner.model import Status
from memstow.planner.model.digest import sha256_of
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.proofs._checker import check, check_order
from memstow.planner.proofs.proof_file import sha256_in
from memstow.planner.verify.verdict import Code, Standing, Subject, Verdict, Violation
from memstow.records import record

BY_PROOF: Final = "its proof"
_HEADER: Final = b"memstow proof 1\n"
_ORDER_HEADER: Final = b"memstow order proof 1\n"
_LEAST_SECONDS: Final = 1.0
"""Most checks take less; a search may have left nothing of a limit."""
_NOT_SHOWN: Final = "wrong: the plan says infeasible, but the proof does not show it"
"""The checkers say so once they have read all of a proof that is right."""
_NO_PROBLEM: Final = Problem(version=1, buffers=())


class Outcome(IntEnum):
    """What the checker says, as the exit code of `memstow-check`."""

    VERIFIED = 0
    """The plan is right and the first term of its objective the least, or nothing fits."""
    WRONG = 1
    """The plan or the proof is wrong."""
    NOT_CHECKED = 2
    """The problem has something that the checker does not know, or one of the files is none."""
    WEAKER = 3
    """The plan is right, and the proof shows less."""


@record
class CheckedProof:
    """What the checker says of a proof."""

    outcome: Outcome
    says: str
    """The verdict in words, such as `verified: peak 986112 is least`."""
    bound: int
    """No plan has a peak below it, by the proof; 0 where it shows nothing."""
    sha256: str
    """Of the file of the proof."""
    bounds: tuple[int, ...] = ()
    """By term of the objective, of those that proofs are about: no plan is below that is no worse in those
    before it."""

    @property
    def verified(self) -> bool:
        """Whether the plan is right, and no other is better in the first term; `bounds` says more."""
        return self.outcome is Outcome.VERIFIED

    @property
    def shows(self) -> bool:
        """Whether plan and proof are right, though the proof may show less than the plan says."""
        return self.outcome in (Outcome.VERIFIED, Outcome.WEAKER)

    @property
    def shows_something(self) -> bool:
        """Whether a right proof shows a bound, or that nothing fits."""
        return self.verified or any(self.bounds)

    @property
    def is_right(self) -> bool:
        """Whether all steps of the proof are right, though they may not show what the plan says."""
        return self.shows or self.says == _NOT_SHOWN


class StoppedError(Exception):
    """The check was stopped before its end."""


def check_proof(
    document: bytes,
    plan: Plan,
    path: "str | os.PathLike[str]",
    cancel: threading.Event | None = None,
    seconds: float | None = None,
) -> CheckedProof:
    """What the checker says of a plan and a proof in a file; `document` is that of the problem, or the graph.

    Raises OSError where the proof cannot be read, and StoppedError soon after `cancel` is set or, but not
    before a second has passed, the seconds are over.
    """
    name = os.fspath(path)
    if not os.path.isfile(name) and os.path.exists(name):
        # Of a pipe or a device that has no end, or that nobody writes to, reading would never end.
        raise OSError(errno.EINVAL, "a proof is read twice, so it has to be a file", name)
    return check_until(document, plan, name, bool if cancel is None else cancel.is_set, seconds)


def check_bytes(
    document: bytes,
    plan: Plan,
    proof: bytes,
    stopped: Callable[[], bool] = bool,
    seconds: float | None = None,
) -> CheckedProof:
    """The same of a proof in memory, as from another process; StoppedError soon after `stopped` says so."""
    # In memory: whatever ends this process leaves nothing on a disk.
    held = os.memfd_create("memstow-proof")
    try:
        with os.fdopen(held, "wb", closefd=False) as file:
            file.write(proof)
        return check_until(document, plan, f"/proc/self/fd/{held}", stopped, seconds)
    finally:
        os.close(held)


def check_until(
    document: bytes, plan: Plan, name: str, stopped: Callable[[], bool], seconds: float | None = None
) -> CheckedProof:
    """The same of a regular file; StoppedError soon after `stopped` says so."""
    end = math.inf if seconds is None else time.monotonic() + max(seconds, _LEAST_SECONDS)
    with open(name, "rb") as file:
        digest = sha256_in(file)
        file.seek(0)
        is_about_orders = file.read(len(_ORDER_HEADER)) == _ORDER_HEADER
    checker = check_order if is_about_orders else check
    answer = checker(
        document, write_plan(_NO_PROBLEM, plan), name, lambda: stopped() or time.monotonic() > end
    )
    if answer is None:
        raise StoppedError
    code, says, least_peak, bounds = answer
    return CheckedProof(Outcome(code), says, least_peak, digest, tuple(bounds))


def proof_about(document: bytes, proof: bytes) -> bytes:
    """A proof as one about this file of the same problem or graph: in it all have numbers, not names."""
    begin = len(_ORDER_HEADER if proof.startswith(_ORDER_HEADER) else _HEADER)
    digest = sha256_of(document).digest()
    return proof[:begin] + digest + proof[begin + len(digest) :]


def is_about(path: str, document: bytes) -> bool:
    """Whether a file begins as a proof about this file of a problem or a graph."""
    with open(path, "rb") as file:
        head = file.read(len(_ORDER_HEADER) + 32)
    digest = sha256_of(document).digest()
    return head.startswith((_HEADER + digest, _ORDER_HEADER + digest))


def with_proof(problem: Problem, plan: Plan, verdict: Verdict, proof: CheckedProof) -> Verdict:
    """The verdict on a plan of the problem with what its proof shows.

    Claims that it proves are checked. A wrong proof, or another than the plan names, is a violation.
    """
    if plan.proof_sha256 not in (None, proof.sha256):
        message = f"the plan names another proof, with the SHA-256 {plan.proof_sha256}, not {proof.sha256}"
        return verdict.violated(Violation(Code.PROOF, message))
    if not proof.shows:
        message = f"memstow-check does not accept the proof: {proof.says}"
        return verdict.violated(Violation(Code.PROOF, message))
    if plan.status is Status.INFEASIBLE and proof.verified:
        return verdict.standing((Subject.NOTHING_FITS, None), Standing.CHECKED, BY_PROOF)
    for term, value, bound in zip(problem.terms(), plan.objective, proof.bounds, strict=False):
        if value.term == term and value.bound <= bound:
            verdict = verdict.standing((Subject.BOUND, value.term), Standing.CHECKED, BY_PROOF)
    if len(problem.pools) > 1:
        return verdict
    (pool,) = problem.pools
    for use in plan.pools:
        if use.pool == pool.id and use.bound <= proof.bound:
            verdict = verdict.standing((Subject.POOL_BOUND, use.pool), Standing.CHECKED, BY_PROOF)
    return verdict
