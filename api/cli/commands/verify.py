"""`memstow verify`: check a plan."""

import argparse
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from memstow.api import options
from memstow.api.cli.output_files import (
    ONLY_SUFFIXES,
    STDOUT,
    format_of,
    refuse_one_file_twice,
    refuse_unwritable,
    write_out,
)
from memstow.api.cli.parser import Commands, add_command, add_options
from memstow.api.cli.plan_input import (
    ChosenPlan,
    read_carried_plan,
    read_chosen_plan,
    refuse_plan_format_of_front,
    tilings_in,
    with_point_verdict,
)
from memstow.api.cli.problem_input import (
    add_graph_changes,
    add_problem,
    columns_in,
    document_in,
    in_operator_order,
    programs_in,
    read_bytes_of,
    read_plan,
    read_symbolic_plan_of,
    refuse_for_symbolic,
    refuse_two_stdins,
    symbolic_in,
    warn_if_terminal,
)
from memstow.api.cli.proof_output import checked_proof, refuse_stream
from memstow.api.cli.terminal import Exit, print_error
from memstow.planner.graph.documents import problem_of
from memstow.planner.model import PLANNED
from memstow.planner.model.errors import InputError
from memstow.planner.show.formatting import plain

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem
    from memstow.planner.model.symbolic import SymbolicDocument, SymbolicPlan
    from memstow.planner.model.tiling import Tiling, Tilings
    from memstow.planner.proofs.check import CheckedProof
    from memstow.planner.verify import Verdict

RECHECK_SECONDS = 10.0
MOST_SHOWN = 100
MOST_CHECKED_SHOWN = 20


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "verify",
        "check that a plan is valid and that its figures are correct",
        details="""
Lists each claim of the plan as checked, refuted, or claimed but not checked. Exit code 0: valid; 1: not valid
(every violation is listed), or with --strict some claims were not checked. A plan that was made with
--target, --capacity or --fit-only is for the problem changed that way: pass the same options here.""",
        examples="""
memstow verify model.json plan.json
memstow verify model.csv offsets.csv --capacity 64KiB
memstow verify model.json plan.json --strict --recheck --time-limit 60
memstow verify model.json plan.json --strict --proof plan.proof
memstow verify net.json front.json --point 2 --output plan.json
memstow verify attention.json attention-plan.json
memstow verify net.json tiles.json
memstow verify planned.tflite
memstow verify model.tflite planned.tflite
memstow solve model.json --json | memstow verify model.json -
""",
    )
    add_problem(parser, "problem")
    parser.add_argument(
        "plan",
        metavar="PLAN",
        nargs="?",
        help="the plan, or tiles of `memstow tile`; - reads it from standard input. A TensorFlow Lite model "
        "may carry it, even the first file itself",
    )
    add_options(parser, options.PLAN_FORMAT, options.POINT)
    add_options(parser, *options.CHANGES)
    add_graph_changes(parser)
    add_options(parser, options.VERIFY_HINT, options.STRICT, options.RECHECK, options.RECHECK_TIME)
    add_options(parser, options.VERIFY_PROOF)
    add_options(parser, options.VERDICT_JSON, options.VERIFIED_OUTPUT)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check the plan and print the verdict."""
    _refuse_unused(
        args.time_limit is not None and not args.recheck,
        "--time-limit",
        "it limits --recheck: add that, or leave it out",
    )
    if args.point is not None:
        refuse_plan_format_of_front(args)
    if args.proof is not None:
        refuse_stream(args.proof)
    refuse_two_stdins(args.problem, args.plan, args.hint, args.target)
    for path in (args.problem, args.plan, args.hint):
        warn_if_terminal(path)
    data = read_bytes_of(args.problem)
    if (code := _in_columns(args, data)) is not None:
        return code
    symbolic = None if args.at or args.then else symbolic_in(data, args.problem)
    return _run_ordinary(args, data) if symbolic is None else _run_symbolic(args, symbolic)


def _in_columns(args: argparse.Namespace, data: bytes) -> int | None:
    """The exit code for a plain problem and a plan of it that is right; None for all else."""
    # A plan that is not right is read again, so it has to be in a file.
    if args.plan is None or args.plan_format is not None or not os.path.isfile(args.plan):
        return None
    if args.output is not None or args.proof is not None:
        return None
    columns = columns_in(args, data)
    if columns is None:
        return None
    from memstow.planner.plain.column_verdict import peak_of, verdict_on
    from memstow.planner.plain.column_verdict import read_plan as read_in_columns

    plan = read_in_columns(columns, read_bytes_of(args.plan))
    verdict = None if plan is None else verdict_on(columns, plan)
    if plan is None or verdict is None:
        return None
    if args.json:
        _print_json(verdict)
    else:
        use = next(iter(plan.frame.pools), None)
        peak = peak_of(columns, plan) if use is None else use.peak
        _print_valid("" if use is None else f" {plan.frame.status},", len(columns), {columns.pool: peak})
        _print_claims(verdict)
    return Exit.INVALID if args.strict and verdict.unchecked else Exit.DONE


def _run_ordinary(args: argparse.Namespace, data: bytes) -> int:
    """Check the plan of a problem, a graph or a model."""
    programs = programs_in(data, args.problem, args)
    document = document_in(data, args.problem, args, programs)
    form = _output_form(args)
    plan_data = data if args.plan is None else read_bytes_of(args.plan)
    tilings = None if args.plan is None else tilings_in(args, plan_data)
    if tilings is not None:
        return _run_tilings(args, document, tilings)
    carried = read_carried_plan(args, plan_data, document)
    if carried is None:
        chosen = read_chosen_plan(
            args.plan,
            document,
            args.plan_format,
            args.point,
            args.target,
            lambda: document_in(data, args.problem, argparse.Namespace(**{**vars(args), "target": None})),
            plan_data,
        )
    else:
        message = "it is for plans in files of their own, and this model carries its plan; leave it out"
        _refuse_unused(args.point is not None, "--point", message)
        _refuse_unused(args.plan_format is not None, "--plan-format", message)
        chosen = ChosenPlan(carried.plan, document)
    plan, document = chosen.plan, chosen.document
    if form:
        from memstow.planner.formats import refuse_lost_schedule

        refuse_lost_schedule(plan, form, plain(args.output))
    hint = None if args.hint is None else read_plan(args.hint, problem_of(document))

    from memstow.planner.model.problem import MOVES, parse_term
    from memstow.planner.verify import judge

    terms = [
        *(entry.term for entry in plan.objective),
        *(chosen.front.terms if chosen.front is not None else ()),
    ]
    counts_moves = any(parse_term(term) == MOVES for term in terms)
    _refuse_unused(
        hint is not None and not counts_moves and not args.recheck,
        "--hint",
        "the term `moves` is counted against it, which this plan does not have; leave it out",
    )

    verdict, interrupted = judge(document, plan, hint), False
    if programs is not None:
        from memstow.planner.verify.program_plans import judged_apart

        verdict = judged_apart(programs, problem_of(document), plan, verdict)
    proof = None if args.proof is None else checked_proof(document, plan, data, args.proof)
    if proof is not None:
        from memstow.planner.proofs.check import with_proof

        verdict = with_proof(problem_of(document), plan, verdict, proof)
    if args.recheck:
        verdict, interrupted = _rechecked(args, document, plan, verdict, hint)
    verdict = with_point_verdict(verdict, chosen, args.point, hint)
    if hint is None and any(parse_term(term.term) == MOVES for term in plan.objective):
        print_error("`moves` was not checked: pass the plan that it is counted against as --hint")

    def say_valid() -> None:
        _print_valid_plan(problem_of(document, plan), plan)
        if proof is not None:
            print(f"  {plain(proof.says)}")
        if carried is not None and carried.left:
            print(f"  {carried.left:,} tensors are left to the runtime, and are where its rule puts them")

    code = _tell(args, verdict, say_valid, proof)
    if verdict.valid and args.output is not None:
        _write(args, form, chosen)
    if interrupted:
        print_error("interrupted: claims that were not decided yet stay unchecked")
        return Exit.INTERRUPTED
    return code


def _tell(
    args: argparse.Namespace,
    verdict: "Verdict",
    say_valid: Callable[[], None],
    proof: "CheckedProof | None" = None,
) -> Exit:
    """Print the verdict, and say of a valid plan what it is; the exit code."""
    if args.json:
        _print_json(verdict, proof)
    else:
        if verdict.valid:
            say_valid()
        else:
            _print_violations(verdict)
        _print_claims(verdict)
    failed = not verdict.valid or (args.strict and verdict.unchecked)
    return Exit.INVALID if failed else Exit.DONE


def _run_tilings(args: argparse.Namespace, document: "Problem | Graph", tilings: "Tiling | Tilings") -> int:
    """Check tiles of operators of a graph."""
    from memstow.planner.model.problem import Problem
    from memstow.planner.model.tiling import Tiling
    from memstow.planner.verify.tiling_verdict import judge_tilings

    if isinstance(document, Problem):
        message = "these are tiles of an operator of a graph, and the first file is a problem; name the graph"
        raise InputError.single("not_a_graph", "PLAN", message)
    every = (tilings,) if isinstance(tilings, Tiling) else tilings.tilings

    def say_valid() -> None:
        print(f"valid: {len(every):,} {'operator' if len(every) == 1 else 'operators'} in tiles")
        _print_incomplete(every)

    return _tell(args, judge_tilings(document, tilings), say_valid)


def _print_incomplete(tilings: "Sequence[Tiling]") -> None:
    """Of which operators a better tile, or a point of the front, may be missing."""
    partial = [tiling for tiling in tilings if not tiling.complete]
    if not partial:
        return
    names = ", ".join(plain(entry.operator, most=40) for entry in partial[:8])
    more = f" and {len(partial) - 8:,} more" if len(partial) > 8 else ""
    missing = (
        "better tiles and points of a front" if any(entry.front for entry in partial) else "better tiles"
    )
    print(f"  not all tiles were looked at: {missing} may be missing, of {names}{more}")


def _refuse_unused(is_unused: bool, option: str, message: str) -> None:
    """InputError for an option that would not be followed."""
    if is_unused:
        raise InputError.single("unused_option", option, message)


def _output_form(args: argparse.Namespace) -> str:
    """The format of the plan to write; an InputError where it cannot be written."""
    if args.output is None:
        return ""
    if args.output == STDOUT:
        raise InputError.single("no_output", "--output", "the verdict goes to standard output; name a file")
    refuse_unwritable(args.output)
    refuse_one_file_twice([(args.output, "the output")], {"the problem": args.problem, "the plan": args.plan})
    return format_of(args.output, None, ONLY_SUFFIXES)


def _write(args: argparse.Namespace, form: str, chosen: ChosenPlan) -> None:
    from memstow.planner import formats

    write_out(formats.write_plan(chosen.document, chosen.plan, form), args.output)
    schedule = chosen.plan.schedule
    has_parts = chosen.front is not None and "channels" in (chosen.front.request.generators or ())
    if has_parts and schedule is not None and schedule.alternatives:
        print_error(
            f"{plain(args.output, most=200)} is a plan of the graph with parts of channels: "
            "`memstow convert GRAPH parts.json --output-format graph --channels` writes that"
        )


def _run_symbolic(args: argparse.Namespace, read: "SymbolicDocument") -> int:
    """Check the plan of a problem or a graph whose sizes are formulas."""
    refuse_for_symbolic(args)
    document = in_operator_order(read, args.problem, args)
    if args.output is not None:
        message = "it is not for problems with symbols; leave it out"
        raise InputError.single("unused_option", "--output", message)
    if args.plan is None:
        raise InputError.single("no_plan", "PLAN", "name the plan; - reads it from standard input")
    plan = read_symbolic_plan_of(args.plan)

    from memstow.planner.verify import judge

    return _tell(args, judge(document, plan), lambda: print(f"valid: {_symbolic_plan_in_words(plan)}"))


def _symbolic_plan_in_words(plan: "SymbolicPlan") -> str:
    if plan.status not in PLANNED:
        return plan.status.value
    if plan.shapes == "fixed":
        what = f"{len(plan.placements):,} placements for every value"
    else:
        orders = "1 order" if len(plan.orders) == 1 else f"{len(plan.orders):,} orders"
        what = f"{orders} of {len(plan.orders[0].placements):,} placements"
    ratio = "" if plan.worst is None else f", at most {plan.worst:.4g} times the least peak"
    points = f" at {len(plan.points):,} {'point' if len(plan.points) == 1 else 'points'}" if ratio else ""
    return f"{plan.status.value}, {what}{ratio}{points}"


def _rechecked(
    args: argparse.Namespace,
    document: "Problem | Graph",
    plan: "Plan",
    verdict: "Verdict",
    hint: "Plan | None",
) -> "tuple[Verdict, bool]":
    """The verdict after solving again, and whether Ctrl-C interrupted that."""
    import threading

    from memstow.api.cli.terminal import Interruptible
    from memstow.planner.solve.recheck import recheck

    def work(cancel: threading.Event) -> "Verdict":
        limit = RECHECK_SECONDS if args.time_limit is None else args.time_limit
        return recheck(document, plan, verdict, limit, hint, cancel)

    call = Interruptible(work)
    return call.run(None), call.interrupted


def _print_json(verdict: "Verdict", proof: "CheckedProof | None" = None) -> None:
    import json

    from memstow.planner.verify.verdict import as_data

    document = as_data(verdict)
    if proof is not None:
        said = {"verified": proof.verified, "says": proof.says, "bound": proof.bound, "sha256": proof.sha256}
        document["proof"] = {**said, "bounds": list(proof.bounds)}
    print(json.dumps(document, indent=2))


def _print_violations(verdict: "Verdict") -> None:
    violations = verdict.violations
    count = sum(violation.count for violation in violations)
    print(f"invalid: {count:,} {'violation' if count == 1 else 'violations'}")
    for violation in violations[:MOST_SHOWN]:
        print(f"  {plain(violation.message)} [{violation.code}]")
    if len(violations) > MOST_SHOWN:
        print(f"  and {sum(violation.count for violation in violations[MOST_SHOWN:]):,} more")


def _print_claims(verdict: "Verdict") -> None:
    """Print each claim and how it was checked, unchecked ones first."""
    from memstow.planner.verify import Standing

    checked = [claim for claim in verdict.claims if claim.standing is Standing.CHECKED]
    others = [claim for claim in verdict.claims if claim.standing is not Standing.CHECKED]
    for claims, most, kind in (
        (others, MOST_SHOWN, "claims"),
        (checked, MOST_CHECKED_SHOWN, "claims, checked"),
    ):
        for claim in claims[:most]:
            print(f"  {plain(claim.says)}: {plain(claim.standing_text)}")
        if len(claims) > most:
            print(f"  and {len(claims) - most:,} more {kind}")


def _print_valid_plan(problem: "Problem", plan: "Plan") -> None:
    from memstow.planner.model.plan import is_bare, peaks

    status = "" if is_bare(plan) else f" {plan.status},"
    if plan.status in PLANNED and not problem.terms():
        # Without an objective, "optimal" means nothing.
        status = " fits,"
    _print_valid(status, len(plan.placements), peaks(problem, plan.placements))


def _print_valid(status: str, placed: int, peaks: "dict[str, int]") -> None:
    largest = list(peaks.items())[:4]
    shown = "".join(f", peak {peak:,} in {plain(pool)}" for pool, peak in largest)
    print(f"valid:{status} {placed:,} placements{shown}")
