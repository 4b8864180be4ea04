"""The proof of the plan of a job: written within what is left of its limits, and checked before all else."""

import errno
import os
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from memstow.api.operations.encoding import (
    document_from,
    options_from_text,
    plan_from_bytes,
    plan_to_bytes,
)
from memstow.api.operations.request_types import ProveRequest, ProveResult
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.problem import Problem
from memstow.planner.proofs.check import StoppedError, check_proof
from memstow.planner.proofs.prove import prove_within, why_not
from memstow.records import replace
from memstow.solvers.core import Budget
from memstow.solvers.known import unpacked_orders, unpacked_prices

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.plan import Plan
    from memstow.solvers.known import Known


def against_proofs(document: "Problem | Graph") -> Issue | None:
    """What to say of a request for a proof of a document that there are none of."""
    why = why_not(document)
    if why is None:
        return None
    return Issue("no_proof", "query.proof", f"{why}; leave it out")


def prove(request: ProveRequest, cancel: threading.Event) -> ProveResult:
    """The proof of a plan, which then names it; none where nothing was shown, or where it is too large."""
    from memstow.planner.solve.portfolio import cancelling

    document, plan = document_from(request.problem), plan_from_bytes(request.plan)
    issue = against_proofs(document)
    if issue is not None:
        raise InputError([issue])
    nothing = ProveResult(plan=request.plan, proof=None)
    budget = Budget(
        -1.0 if request.seconds is None else request.seconds, -1 if request.work is None else request.work
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "plan.proof"

        def is_too_large() -> bool:
            try:
                return sum(entry.stat().st_size for entry in os.scandir(folder)) > request.most_bytes
            except FileNotFoundError:
                return False  # A draft was renamed or removed meanwhile.

        try:
            with cancelling(budget, cancel, is_too_large):
                known = _known(request, document, plan, cancel)
                proof = prove_within(document, plan, request.problem, str(path), budget, known)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            return nothing  # As one that is too large: another attempt would only fill the disk again.
        if proof is None or proof.size > request.most_bytes:
            return nothing
        try:
            checked = check_proof(request.problem, plan, path, cancel, request.seconds)
        except StoppedError:
            return nothing
        if not checked.shows:
            raise RuntimeError(f"a proof of memstow's own is none: {checked.says}")
        return ProveResult(
            plan=plan_to_bytes(replace(plan, proof_sha256=checked.sha256)), proof=path.read_bytes()
        )


def _known(
    request: ProveRequest, document: "Problem | Graph", plan: "Plan", cancel: threading.Event
) -> "Known | None":
    """What the run has proven; of a plan from the cache there is no run."""
    if request.known is None:
        # Most proofs do not wait for this import.
        from memstow.planner.solve.engine import proven_again

        return proven_again(document, plan, options_from_text(request.options, request.hint), cancel)
    unpacked = unpacked_prices if isinstance(document, Problem) else unpacked_orders
    return unpacked(request.known)
