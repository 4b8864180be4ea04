"""`--proof`: writes why no plan is better, for the checker that stands alone."""

import argparse
import threading
import time
from typing import TYPE_CHECKING

from memstow.api import options
from memstow.api.cli.output_files import STDOUT, refuse_one_file_twice, refuse_unwritable
from memstow.api.cli.search_arguments import server_of
from memstow.api.cli.terminal import Interruptible, print_error
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import InputError
from memstow.planner.show.formatting import plain

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.options import Options
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem
    from memstow.planner.proofs.prove import Proof


def check_proof(args: argparse.Namespace) -> None:
    """Report a proof that cannot be written, before anything is read."""
    if args.proof is None:
        return
    if args.proof == STDOUT:
        raise _refused("a proof is binary; name a file")
    if server_of(args):
        raise _refused("proofs are written here, not by a service; leave out --server")
    refuse_unwritable(args.proof)
    refuse_one_file_twice(
        [(path, "the plan") for path in args.output or () if path != STDOUT] + [(args.proof, "its proof")],
        {"the problem": args.file, "the lock": args.lock},
    )


def _refused(why: str) -> InputError:
    return InputError.single("no_proof", options.PROOF.spelling, why)


def provable(document: "Problem | Graph", data: bytes) -> "Problem":
    """The problem, which is just what these bytes say: a checker reads nothing else."""
    from memstow.planner.formats import read_problem
    from memstow.planner.model.problem import Problem
    from memstow.planner.proofs.prove import why_not

    if not isinstance(document, Problem):
        raise _refused(
            "there are no proofs for graphs: leave it out, or `memstow convert` it to the problem of an order"
        )
    try:
        same = read_problem(data, "json") == document
    except InputError:
        same = False
    if not same:
        raise _refused(
            "a proof is about a problem in JSON, just as its file says it: write such a file with "
            "`memstow convert`, with the capacity and the pools in it, and solve that, or leave it out"
        )
    why = why_not(document)
    if why is not None:
        raise _refused(f"there are no proofs for such a problem yet: {why}; leave it out")
    return document


def write_proof(
    args: argparse.Namespace, problem: "Problem", plan: "Plan", data: bytes, options: "Options", began: float
) -> str:
    """Write the proof within what is left of the limits, and return what it shows."""
    from memstow.planner.proofs.prove import prove_within
    from memstow.planner.solve.portfolio import cancelling
    from memstow.solvers.core import DEFAULT_WORK, Budget

    if options.deterministic:
        most = DEFAULT_WORK if options.work_limit is None else options.work_limit
        budget = Budget(-1.0, max(most - plan.work, 0))
    else:
        budget = Budget(max(options.time_limit - (time.monotonic() - began), 0.0), -1)

    def work(cancel: threading.Event) -> "Proof | None":
        with cancelling(budget, cancel):
            return prove_within(problem, plan, data, args.proof, budget)

    proof = Interruptible(work).run(None)
    path = plain(args.proof)
    if proof is None:
        print_error(f"{path} is not written: nothing could be proven within the limits")
        return ""
    size = f"{proof.steps:,} {'step' if proof.steps == 1 else 'steps'}, {proof.size:,} bytes"
    if plan.status is Status.INFEASIBLE:
        return f"{path} proves that nothing fits ({size})"
    peak = plan.objective[0].value if plan.status in PLANNED else 0
    if proof.bound == peak:
        return f"{path} proves that no plan has a peak below {peak:,} ({size})"
    print_error(f"{path} proves only that no plan has a peak below {proof.bound:,}, not {peak:,}")
    return ""
