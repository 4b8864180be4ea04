"""Proofs of the plans of jobs."""

import errno
import os
import threading

import pytest

from memstow.api.operations.encoding import plan_to_bytes
from memstow.api.operations.prove import prove
from memstow.api.operations.request_types import ProveRequest
from memstow.planner.formats.native import write_document
from memstow.planner.model.problem import Buffer, Problem
from memstow.planner.proofs import prove as proofs
from memstow.planner.solve.engine import plan


@pytest.mark.parametrize("shortage", [errno.ENOSPC, errno.EDQUOT])
def test_where_the_disk_has_no_room_for_a_proof_there_is_a_plan_without_one(
    monkeypatch: pytest.MonkeyPatch, shortage: int
) -> None:
    problem = Problem(buffers=(Buffer(id="a", size=4), Buffer(id="b", size=4)))
    request = ProveRequest(
        problem=write_document(problem),
        plan=plan_to_bytes(plan(problem)),
        seconds=10.0,
        work=None,
        most_bytes=1 << 20,
    )
    assert prove(request, threading.Event()).proof is not None

    def full(*_: object) -> None:
        raise OSError(shortage, os.strerror(shortage))

    monkeypatch.setattr(proofs, "ProofFile", full)
    result = prove(request, threading.Event())
    assert (result.plan, result.proof) == (request.plan, None)
