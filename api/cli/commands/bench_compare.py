"""`memstow bench compare`: show what got better or worse between two runs, or between two solvers."""

import argparse
from pathlib import Path

from memstow.api.cli.commands.bench_arguments import two_solvers
from memstow.api.cli.exit_codes import Exit
from memstow.api.cli.io.arguments import Commands, add_command, real


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "compare",
        "show what got better or worse between two runs or solvers, with significance tests",
        details="""
OLD and NEW are folders with results, or results.jsonl files. Runs are paired by instance, solver and seed. A
difference must be statistically significant, unless both runs are deterministic.
With --solvers A,B the runs of A in OLD are paired with those of B in NEW; with one folder, both are in it.
Exit code 5: a measure of --fail-on got worse, a claim is false, or results are missing.""",
        examples="""
memstow bench compare before after
memstow bench compare results --solvers greedy,exact
memstow bench compare ours theirs --solvers auto,minimalloc --fail-on value
memstow bench compare baseline.jsonl after --fail-on solved,proven,steps --tolerance 0.05
memstow bench compare before after --json
""",
    )
    parser.add_argument("old", metavar="OLD", help="results of the old run")
    parser.add_argument(
        "new", metavar="NEW", nargs="?", help="results of the new run (default with --solvers: OLD)"
    )
    parser.add_argument(
        "--solvers",
        type=two_solvers,
        metavar="A,B",
        help="compare these two solvers, B as the new one; only what --fail-on names decides the exit code",
    )
    parser.add_argument(
        "--measures",
        type=_measures,
        metavar="LIST",
        help="comma-separated measures to compare (default: all)",
    )
    parser.add_argument(
        "--fail-on",
        type=_measures,
        metavar="LIST",
        help="measures that decide the exit code (default: all but times and memory)",
    )
    parser.add_argument(
        "--tolerance",
        type=real(0, 10),
        default=0.01,
        metavar="F",
        help="relative difference of means that counts as equal (default: 0.01)",
    )
    parser.add_argument(
        "--significance",
        type=real(0, 1),
        default=0.05,
        metavar="P",
        help="significance level of the tests (default: 0.05)",
    )
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compare the results and print the differences."""
    from memstow.planner.bench.compare.measures import DECIDING, NAMES, OF_TWO_SOLVERS
    from memstow.planner.bench.compare.text import comparison_json, comparison_text
    from memstow.planner.bench.compare.verdicts import Strictness, compare
    from memstow.planner.bench.records.results import read
    from memstow.planner.model.errors import InputError

    if args.new is None and args.solvers is None:
        raise InputError.single(
            "nothing_to_compare", "NEW", "name the results to compare with, or two solvers: --solvers A,B"
        )
    by_default, all_measures = (DECIDING, NAMES) if args.solvers is None else ((), OF_TWO_SOLVERS)
    deciding = by_default if args.fail_on is None else args.fail_on
    measures = (*(all_measures if args.measures is None else args.measures), *deciding)
    old = read(Path(args.old))
    new = old if args.new is None else read(Path(args.new))
    strictness = Strictness(args.tolerance, args.significance)
    comparison = compare(old, new, strictness, measures, args.solvers)
    if args.json:
        import json

        print(json.dumps(comparison_json(comparison, deciding), indent=2))
    else:
        print(comparison_text(comparison, deciding))
    return Exit.WORSE if comparison.worse(deciding) else Exit.DONE


def _measures(text: str) -> tuple[str, ...]:
    from memstow.planner.bench.compare.measures import NAMES

    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in NAMES:
            raise argparse.ArgumentTypeError(f"{name!r} is not a measure; choose from: {', '.join(NAMES)}")
    return names
