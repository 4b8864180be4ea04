"""Proofs of the plans of jobs."""

import errno
import json
import os
import threading
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from memstow.api.operations.encoding import PROOF, options_to_text, plan_from_bytes, plan_to_bytes
from memstow.api.operations.prove import prove
from memstow.api.operations.request_types import ProveRequest, ProveResult, SolveRequest, SolveResult
from memstow.api.operations.solve import solve
from memstow.planner.formats.native import write_document
from memstow.planner.generate.graph import graph as generated
from memstow.planner.model.graph import FREE
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Buffer, Problem
from memstow.planner.proofs import prove as proofs
from memstow.planner.proofs.check import check_proof
from memstow.planner.solve.engine import plan
from memstow.records import replace as with_changes
from tests.checker.checkers import dense_costs, document_of


@pytest.mark.parametrize("shortage", [errno.ENOSPC, errno.EDQUOT])
def test_where_the_disk_has_no_room_for_a_proof_there_is_a_plan_without_one(
    monkeypatch: pytest.MonkeyPatch, shortage: int
) -> None:
    problem = Problem(buffers=(Buffer(id="a", size=4), Buffer(id="b", size=4)))
    request = ProveRequest(
        problem=write_document(problem),
        plan=plan_to_bytes(plan(problem)),
        options="{}",
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


def _proven_with_and_without(
    problem: bytes, options: Options, work: int
) -> tuple[SolveResult, ProveResult, ProveResult]:
    """A plan, its proof with what the run has proven, and without."""
    text = json.dumps({**json.loads(options_to_text(options)), PROOF: True})
    result = solve(SolveRequest(problem=problem, options=text), lambda _: None, threading.Event())
    assert result.known is not None
    request = ProveRequest(
        problem=problem,
        plan=result.plan,
        options=text,
        known=result.known,
        seconds=None,
        work=work,
        most_bytes=1 << 24,
    )
    proven = prove(request, threading.Event())
    # A plan from the cache comes without: a run that is the same each time is done again.
    return result, proven, prove(replace(request, known=None), threading.Event())


@pytest.mark.parametrize("deterministic", [True, False])
def test_the_proof_of_a_graph_rests_on_what_its_run_has_proven(tmp_path: Path, deterministic: bool) -> None:
    graph = write_document(with_changes(generated(60, 3, family="wiring"), order=FREE))
    options = Options(deterministic=deterministic, work_limit=10_000_000, workers=1)
    result, proven, again = _proven_with_and_without(graph, options, 1_500_000)
    bounds = list[int]()
    for one in (proven, again):
        path = tmp_path / "plan.proof"
        path.write_bytes(one.proof or b"")
        bounds.append(check_proof(graph, plan_from_bytes(one.plan), path).bounds[0])
    assert bounds[0] == result.bound
    assert (bounds[1] == result.bound, proven.proof == again.proof) == (deterministic, deterministic)


def test_the_proof_of_a_reuse_cost_rests_on_the_prices_of_its_run(tmp_path: Path) -> None:
    problem = document_of(dense_costs(Random(2), 26))
    options = Options(deterministic=True, work_limit=12_000_000)
    result, proven, again = _proven_with_and_without(problem, options, 300_000)
    assert proven.proof == again.proof
    path = tmp_path / "plan.proof"
    path.write_bytes(proven.proof or b"")
    assert check_proof(problem, plan_from_bytes(proven.plan), path).bounds[0] == result.bound
