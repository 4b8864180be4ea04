"""`memstow verify`: judge a plan from anyone."""

import argparse
from typing import TYPE_CHECKING

from api.cli.arguments import Commands, add_command
from api.cli.exits import Exit
from api.cli.source import (
    READABLE,
    add_changes,
    add_problem,
    read_plan,
    read_problem,
    refuse_two_stdins,
    warn_if_terminal,
)
from api.cli.terminal import complain
from planner.figures import plain

if TYPE_CHECKING:
    from planner.plan import Plan
    from planner.problem import Problem
    from planner.verify import Violation

MOST_SHOWN = 100


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "verify",
        "check that a plan is valid and that its figures are true",
        details="""
Exit code 0: valid; 1: not valid, and every violation is listed. A plan that was made with --target,
--capacity or --fit-only is for the problem so changed: give the same here.""",
        examples="""
memstow verify model.json plan.json
memstow verify model.csv offsets.csv --capacity 64KiB
memstow solve model.json --json | memstow verify model.json -
""",
    )
    add_problem(parser, "problem")
    parser.add_argument("plan", metavar="PLAN", help="the plan; - reads it from standard input")
    parser.add_argument(
        "--plan-format", choices=READABLE, help="format of the plan (default: told from its content)"
    )
    add_changes(parser)
    parser.add_argument("--hint", metavar="PLAN", help="the plan that `moves` in the objective counts from")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Judge."""
    refuse_two_stdins(args.problem, args.plan, args.hint, args.target)
    for path in (args.problem, args.plan, args.hint):
        warn_if_terminal(path)
    problem = read_problem(args.problem, args)
    plan = read_plan(args.plan, problem, args.plan_format)
    hint = None if args.hint is None else read_plan(args.hint, problem)

    from planner.verify import verify

    violations = verify(problem, plan, hint)
    if hint is None and any(term.term == "moves" for term in plan.objective):
        complain("`moves` was not checked: give the plan that it counts from as --hint")
    if args.json:
        _print_json(violations)
    elif violations:
        _print_violations(violations)
    else:
        _print_praise(problem, plan)
    return Exit.INVALID if violations else Exit.DONE


def _print_json(violations: "list[Violation]") -> None:
    import json

    listed = [
        {"code": v.code, "message": v.message, "buffers": list(v.buffers), "pool": v.pool} for v in violations
    ]
    print(json.dumps({"valid": not violations, "violations": listed}, indent=2))


def _print_violations(violations: "list[Violation]") -> None:
    noun = "violation" if len(violations) == 1 else "violations"
    print(f"invalid: {len(violations):,} {noun}")
    for violation in violations[:MOST_SHOWN]:
        print(f"  {plain(violation.message)} [{violation.code}]")
    if len(violations) > MOST_SHOWN:
        print(f"  and {len(violations) - MOST_SHOWN:,} more")


def _print_praise(problem: "Problem", plan: "Plan") -> None:
    from planner.evaluate import peaks
    from planner.plan import is_bare

    status = "" if is_bare(plan) else f" {plan.status},"
    found = list(peaks(problem, plan.placements).items())[:4]
    shown = "".join(f", peak {peak:,} in {plain(pool)}" for pool, peak in found)
    print(f"valid:{status} {len(plan.placements):,} placements{shown}")
