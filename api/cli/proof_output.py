"""`--proof`: writes why no plan is better, or checks that with the checker that stands alone."""

import argparse
import os
import threading
from typing import TYPE_CHECKING, TypeVar

from memstow.api import options
from memstow.api.cli.output_files import (
    STDOUT,
    ending_signals_held,
    refuse_one_file_twice,
    refuse_unwritable,
    write_out,
)
from memstow.api.cli.search_arguments import server_of
from memstow.api.cli.terminal import Interruptible, print_error
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import Kind
from memstow.planner.show.formatting import plain
from memstow.records import record, replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from memstow.planner.formats import Reading
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.options import Options
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem
    from memstow.planner.proofs.check import CheckedProof
    from memstow.planner.proofs.proof_file import Proof
    from memstow.solvers.core import Budget
    from memstow.solvers.known import Known


def refuse_odd_proof(args: argparse.Namespace) -> None:
    """Report a proof that cannot be written, before anything is read."""
    named = (
        (args.proof, "its proof"),
        (args.opb, "the problem for VeriPB"),
        (args.pbp, "the proof for VeriPB"),
    )
    written = [(path, what) for path, what in named if path is not None]
    for path, _ in written:
        refuse_stream(path)
        if os.path.exists(path) and not os.path.isfile(path):
            raise _refused(f"a proof is written as a file, and {plain(path)} is none")
    if (args.opb is None) != (args.pbp is None):
        raise _refused("--opb and --pbp are about each other: give both", options.OPB)
    if server_of(args) and args.opb is not None:
        raise _refused(
            "proofs for VeriPB are written here, not by a service; leave out --server", options.OPB
        )
    refuse_unwritable(*(path for path, _ in written))
    refuse_one_file_twice(
        [*((path, "the plan") for path in args.output or () if path != STDOUT), *written],
        {"the problem": args.file, "the lock": args.lock},
    )


def refuse_stream(path: str) -> None:
    """A proof is read or written as a file."""
    if path == STDOUT:
        raise _refused("a proof is a file of its own; name it")


def _refused(why: str, option: options.Option = options.PROOF) -> InputError:
    return InputError.single("no_proof", option.spelling, why)


def refuse_other_file(
    document: "Problem | Graph", data: bytes, option: options.Option, read: "Reading | None" = None
) -> None:
    """Report a document that is not just what these bytes say: a checker reads nothing else.

    `read`: what they say, where that is known. A proof is about all orders of a graph, whichever it asks for.
    """
    in_file = read.document if read is not None and read.is_native else _native(document, data)
    if document is in_file:
        return
    from memstow.planner.model.problem import Problem

    is_problem = isinstance(document, Problem)
    if not isinstance(document, Problem) and in_file is not None and not isinstance(in_file, Problem):
        in_file = replace(in_file, order=document.order)
    if in_file != document:
        what, form = ("problem", "") if is_problem else ("graph", " --output-format graph")
        raise _refused(
            f"a proof is about a {what} in JSON, just as its file says it: write such a file with `memstow "
            f"convert{form}`, with the capacity and the pools in it, and take that, or leave it out",
            option,
        )


def _native(document: "Problem | Graph", data: bytes) -> "Problem | Graph | None":
    """What the bytes say in native JSON, of the kind of this document; None if they are something else."""
    from memstow.planner.formats import read_graph, read_problem
    from memstow.planner.model.problem import Problem

    try:
        return read_problem(data, "json") if isinstance(document, Problem) else read_graph(data, "graph")
    except InputError:
        return None


def provable_in(args: argparse.Namespace, document: "Problem | Graph", data: bytes, read: "Reading") -> None:
    """Report a document, read from these bytes, of which the proofs that are wanted cannot be written."""
    from memstow.planner.model.problem import Problem
    from memstow.planner.proofs.prove import why_not

    option = options.OPB if args.proof is None else options.PROOF
    refuse_other_file(document, data, option, read)
    why = why_not(document)
    if why is not None:
        raise _refused(f"{why}; leave it out", option)
    if args.opb is not None and not isinstance(document, Problem):
        raise _refused("there are no proofs for VeriPB of the orders of graphs; leave it out", options.OPB)


def checked_proof(document: "Problem | Graph", plan: "Plan", data: bytes, path: str) -> "CheckedProof":
    """What the checker says of the proof in this file, of a document that was read from these bytes."""
    from memstow.planner.model.problem import Problem
    from memstow.planner.proofs.prove import why_not

    refuse_other_file(document, data, options.PROOF)
    why = why_not(document) if isinstance(document, Problem) else None
    if why is not None:
        raise _refused(f"{why}; leave it out")
    from memstow.planner.proofs.check import StoppedError, check_proof

    try:
        return Interruptible(lambda cancel: check_proof(data, plan, path, cancel)).run(None)
    except StoppedError:
        raise KeyboardInterrupt from None


@record
class ProvenPlan:
    """A plan that names its proof, if one was written."""

    plan: "Plan"
    shown: tuple[str, ...] = ()
    """What the proofs show, in lines."""
    interrupted: bool = False
    """Whether Ctrl-C came meanwhile: then less may be written, and less be shown."""


def write_proofs(
    args: argparse.Namespace,
    document: "Problem | Graph",
    plan: "Plan",
    data: bytes,
    options: "Options",
    left: float,
    cited: str | None,
    known: "Known | None" = None,
) -> ProvenPlan:
    """Write the proofs within the limits; of the time `left` seconds remain.

    `known`: what the run has proven; a deterministic one is done again without it, unless the proof that the
    plan of a lock names is there already. Another run keeps what is there and shows as much, or more than it
    can show itself.

    If one is cited, by its SHA-256, no other is written, whatever the plan names then.
    """
    from memstow.planner.model.problem import Problem
    from memstow.planner.proofs.proof_file import Proof, draft_of, take_place
    from memstow.planner.proofs.prove import not_about, prove_within, work_for_proof
    from memstow.planner.proofs.resume import earlier_in, prove_on
    from memstow.planner.solve.engine import proven_again
    from memstow.solvers.core import DEFAULT_WORK, Budget

    if options.deterministic:
        most = DEFAULT_WORK if options.work_limit is None else options.work_limit
        budget = Budget(-1.0, work_for_proof(document, most, plan.work))
    else:
        budget = Budget(left, -1)
    lines, interrupted = list[str](), False
    if args.proof is not None:
        why = not_about(document)
        if plan.status in PLANNED and why is not None:
            print_error(f"{plain(args.proof)} is not written: {why}")
            return ProvenPlan(plan)

        # A deterministic run writes the same, whatever is there.
        keeps, waits = not options.deterministic and cited is None, list[bool]()

        def prove(cancel: threading.Event) -> "Proof | CheckedProof | None":
            there = earlier_in(args.proof, data, plan, budget, left if keeps else None)
            if there.suffices(plan) or (there.proof is not None and not keeps):
                return there.proof
            shown = proven_again(document, plan, options, cancel) if known is None else known
            if keeps:
                waits.append(there.waits)
                return prove_on(document, plan, data, args.proof, budget, there, shown)
            with draft_of(args.proof) as draft:
                proof = prove_within(document, plan, data, draft, budget, shown)
                if proof is not None and cited in (None, proof.sha256):
                    take_place(draft, args.proof)
                return proof

        proof, interrupted = _run(prove, budget)
        if interrupted and cited is not None and (proof is None or proof.sha256 != cited):
            return ProvenPlan(plan, (), interrupted)
        size = "" if proof is None else f"{os.path.getsize(args.proof):,} bytes"
        unfinished = 0
        if isinstance(proof, Proof):
            size, unfinished = f"{_steps(proof.steps)}, {size}", proof.unfinished
        if proof is None and any(waits) and not interrupted:
            print_error(f"{plain(args.proof)} stays as it is: to go on from it takes a longer time limit")
        elif proof is None or proof.shows_something:
            lines += _shown(plan, args.proof, None if proof is None else proof.bounds, size, interrupted)
            plan = plan if proof is None else replace(plan, proof_sha256=proof.sha256)
        else:
            print_error(f"{plain(args.proof)} proves nothing yet")
        if unfinished:
            print_error(f"the same command goes on from what is in it ({unfinished:,} lemmas)")
    if args.pbp is not None and isinstance(document, Problem):
        from memstow.planner.proofs.pseudo_boolean import refute_within

        problem = document
        refuted, late = _run(lambda _cancel: refute_within(problem, plan, args.opb, args.pbp, budget), budget)
        interrupted = interrupted or late
        size = "" if refuted is None else _steps(refuted.steps)
        lines += _shown(plan, args.pbp, None if refuted is None else (refuted.bound,), size, interrupted)
    return ProvenPlan(plan, tuple(lines), interrupted)


def write_received(
    args: argparse.Namespace, plan: "Plan", data: bytes, proof: bytes | None, seconds: float | None
) -> ProvenPlan:
    """Write the proof of a service or a plug-in as one about the user's file, once the checker accepts that.

    They have the problem in bytes of their own. The check ends after these seconds, or after one.
    """
    from memstow.planner.proofs.check import StoppedError, check_proof, proof_about
    from memstow.planner.proofs.proof_file import draft_of, remove_drafts, take_place

    if proof is None:
        return ProvenPlan(plan, tuple(_shown(plan, args.proof, None, "")))
    proof = proof_about(data, proof)
    with ending_signals_held(), draft_of(args.proof) as draft:  # else the draft would stay
        write_out(proof, draft)
        check = Interruptible(lambda cancel: check_proof(data, plan, draft, cancel, seconds), remove_drafts)
        try:
            checked = check.run(None)
        except StoppedError:
            when = "Ctrl-C" if check.interrupted else "the time limit"
            print_error(f"{plain(args.proof)} is not written: it was not checked before {when}")
            return ProvenPlan(plan, (), check.interrupted)
        if not checked.shows:
            who = "the service" if server_of(args) else "the plug-in"
            raise _refused(f"memstow-check does not accept what {who} sent: {checked.says}")
        take_place(draft, args.proof)
    plan = replace(plan, proof_sha256=checked.sha256)
    shown = _shown(plan, args.proof, checked.bounds, f"{len(proof):,} bytes")
    return ProvenPlan(plan, tuple(shown), check.interrupted)


_Written = TypeVar("_Written")


def _run(work: "Callable[[threading.Event], _Written]", budget: "Budget") -> tuple[_Written, bool]:
    """What the work comes to, and whether Ctrl-C ended its budget."""
    from memstow.planner.proofs.proof_file import remove_drafts
    from memstow.planner.solve.portfolio import cancelling

    def within(cancel: threading.Event) -> _Written:
        with cancelling(budget, cancel):
            return work(cancel)

    with ending_signals_held(budget.cancel):  # else a draft would stay
        call = Interruptible(within, remove_drafts)
        return call.run(None), call.interrupted


def _steps(count: int) -> str:
    return f"{count:,} {'step' if count == 1 else 'steps'}"


def _named(term: str, several: bool) -> str:
    """A term as proofs speak of it."""
    pool = term.removeprefix(f"{Kind.PEAK}:")
    if several and pool != term:
        return f"peak of {plain(pool)}"
    if several and term == Kind.PEAK:
        return "sum of peaks"
    return term.replace("_", " ") if "cost" in term or term == Kind.PREFERENCE else "peak"


def _shown(
    plan: "Plan", file: str, bounds: tuple[int, ...] | None, size: str, interrupted: bool = False
) -> list[str]:
    """What a proof shows, in a line; what it does not show is told at once."""
    path = plain(file)
    if bounds is None:
        limits = "before Ctrl-C" if interrupted else "within the limits"
        print_error(f"{path} is not written: nothing could be proven {limits}")
        return []
    if plan.status is Status.INFEASIBLE:
        return [f"{path} proves that nothing fits ({size})"]
    shown = list[str]()
    for value, bound in zip(plan.objective, bounds, strict=False):
        what = _named(value.term, len(plan.pools) > 1)
        text = f"no plan {'as good in that ' if shown else ''}has a {what} below "
        if bound < value.value:
            print_error(f"{path} proves only that {text}{bound:,}, not {value.value:,}")
            break
        if value.value or not shown:
            shown.append(f"{text}{value.value:,}")
    return [f"{path} proves that {', and '.join(shown)} ({size})"] if shown else []
