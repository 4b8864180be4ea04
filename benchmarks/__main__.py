"""Run the benchmarks named, or all of them: `python -m benchmarks [commands] [engine] [published] ...`.

Three lists of their own take some minutes:
`python -m benchmarks hard [minimalloc] ...`: the hard problems;
`python -m benchmarks versions ../before [commands] ...`: another version and this one, in turns;
`python -m benchmarks profiles [million] ...`: where the time goes.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks import cases, fronts, profiles, proofs, sets, versions
from benchmarks.page import MISSED, ROOT, put
from benchmarks.versions import Checkout, FailedError

HARD: Final = "hard"
VERSIONS: Final = "versions"
PROFILES: Final = "profiles"
PROOFS: Final = "proofs"
FRONTS: Final = "fronts"

Measures = Mapping[str, Callable[[], str]]
"""By name, what measures a part of the page and returns its text."""


def main(words: list[str]) -> int:
    """Measure, print, and put the tables on the page; 1 where a limit is missed."""
    args = _parser().parse_intermixed_args(words)
    try:
        prefix, measures, names = _chosen(args)
    except FailedError as error:
        print(error, file=sys.stderr)
        return 2
    unknown = [name for name in names if name not in measures]
    if unknown:
        print(f"no benchmark is called {unknown[0]!r}; there are: {', '.join(measures)}", file=sys.stderr)
        return 2
    missed = []
    for name in names or measures:
        text = measures[name]()
        print(f"\n## {prefix}{name}\n\n{text}", flush=True)
        # The page has whole tables.
        if not args.print_only and not args.rows:
            put(f"{prefix}{name}", text)
        if MISSED in text:
            missed.append(f"{prefix}{name}")
    if missed:
        print(f"limits are missed in: {', '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


def _chosen(args: argparse.Namespace) -> tuple[str, Measures, list[str]]:
    """The list that is asked for: what its names begin with on the page, its benchmarks, and those wanted."""
    first, *rest = args.names or [""]
    effort = sets.Effort(args.seconds, args.seeds)
    if first == HARD:
        return f"{HARD}-", _of_sets(sets.HARD, effort), rest
    if first == PROFILES:
        return f"{PROFILES}-", profiles.PARTS, rest
    if first == VERSIONS:
        if not rest:
            raise FailedError(
                f"name the folder of the other version: python -m benchmarks {VERSIONS} ../before"
            )
        folder, *names = rest
        measures = versions.of_versions(cases.PARTS, Path(folder), args.rows, args.runs)
        return f"{VERSIONS}-", measures, names
    here = Checkout(ROOT)
    alone = {name: partial(versions.measure, part, None, here) for name, part in cases.PARTS.items()}
    return (
        "",
        {
            **alone,
            **_of_sets(sets.ALL, effort),
            PROOFS: partial(proofs.measure, proofs.chosen(args.rows)),
            FRONTS: fronts.measure,
        },
        args.names,
    )


def _of_sets(parts: Mapping[str, sets.ProblemSet], effort: sets.Effort) -> Measures:
    return {name: partial(sets.measure, name, part, effort) for name, part in parts.items()}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    rows = [case.name for part in cases.PARTS.values() for case in part]
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"some of {', '.join([*cases.PARTS, *sets.ALL, PROOFS, FRONTS])} (default: all of these); "
        f"or `{HARD}`, and then some of {', '.join(sets.HARD)} (default: all of these); "
        f"or `{VERSIONS} FOLDER`, another checkout, and then some of {', '.join(cases.PARTS)} "
        "(default: all of these); "
        f"or `{PROFILES}`, and then some of {', '.join(profiles.PARTS)} (default: all of these)",
    )
    parser.add_argument("--print-only", action="store_true", help="leave benchmarks/results.md as it is")
    group = parser.add_argument_group("for sets of problems")
    group.add_argument(
        "--seconds", type=float, metavar="S", help="no run gets more than this (default: as the tables say)"
    )
    group.add_argument(
        "--seeds", type=int, default=10, metavar="N", help="seeds of what is random (default: %(default)s)"
    )
    parser.add_argument(
        "--rows",
        type=lambda text: text.split(","),
        default=[],
        metavar="NAME,...",
        help=f"for `{VERSIONS}` and `{PROOFS}`: only these, and leave the page as it is; "
        + f"some of {', '.join([*rows, *proofs.SETS])}".replace("%", "%%"),
    )
    group = parser.add_argument_group(f"for `{VERSIONS}`")
    group.add_argument("--runs", type=int, metavar="N", help="runs of each (default: 1 to 15)")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
