"""`memstow bench compare`: what got better or worse from one run to another."""

import argparse
from pathlib import Path

from memstow.api.cli.exit_codes import Exit
from memstow.api.cli.io.arguments import Commands, add_command, real


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "compare",
        "tell what got better or worse between two runs, chance aside",
        details="""
OLD and NEW are folders of results, or files of results. Runs are paired by instance, solver and seed. What
differs must be more than chance would give, unless the runs are deterministic: then it is a fact.
Exit code 5: something that decides (--fail-on) got worse, or a claim is false, or results are missing.""",
        examples="""
memstow bench compare before after
memstow bench compare baseline.jsonl after --fail-on solved,proven,steps --tolerance 0.05
memstow bench compare before after --json
""",
    )
    parser.add_argument("old", metavar="OLD", help="results before")
    parser.add_argument("new", metavar="NEW", help="results after")
    parser.add_argument(
        "--measures", type=_measures, metavar="LIST", help="what to compare (default: everything there is)"
    )
    parser.add_argument(
        "--fail-on",
        type=_measures,
        metavar="LIST",
        help="what decides on the exit code (default: everything but what a busy machine changes)",
    )
    parser.add_argument(
        "--tolerance",
        type=real(0, 10),
        default=0.01,
        metavar="F",
        help="means that differ by less, as a fraction, are the same (default: 0.01)",
    )
    parser.add_argument(
        "--significance",
        type=real(0, 1),
        default=0.05,
        metavar="P",
        help="what chance does as often is no difference (default: 0.05)",
    )
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compare."""
    from memstow.planner.bench.compare.measures import DECIDING, NAMES
    from memstow.planner.bench.compare.text import comparison_json, comparison_text
    from memstow.planner.bench.compare.verdicts import Strictness, compare
    from memstow.planner.bench.records.results import read

    deciding = DECIDING if args.fail_on is None else args.fail_on
    measures = NAMES if args.measures is None else (*args.measures, *deciding)
    old, new = read(Path(args.old)), read(Path(args.new))
    comparison = compare(old, new, Strictness(args.tolerance, args.significance), measures)
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
            raise argparse.ArgumentTypeError(f"{name!r} is no measure; there are: {', '.join(NAMES)}")
    return names
