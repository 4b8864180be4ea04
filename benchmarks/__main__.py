"""Run the benchmarks named, or all of them: `python -m benchmarks [startup] [large] [growth] ...`.

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

from benchmarks import commands, engine, graphs, hard, load, profiles, versions
from benchmarks.measuring import Effort
from benchmarks.page import MISSED, put
from benchmarks.versions import FailedError

ALL = {
    "startup": commands.startup,
    "calls": engine.calls,
    "published": engine.published,
    "large": commands.large,
    "growth": commands.growth,
    "files": commands.files,
    "models": engine.models,
    "orders": graphs.orders,
    "pools": engine.pools,
    "starts": engine.starts,
    "service": load.rates,
}
HARD = "hard"
VERSIONS = "versions"
PROFILES = "profiles"

Known = Mapping[str, Callable[[], str]]


def main(words: list[str]) -> int:
    """Measure, print, and put the tables on the page; 1 where a limit is missed."""
    args = _parser().parse_intermixed_args(words)
    try:
        prefix, parts, names = _chosen(args)
    except FailedError as error:
        print(error, file=sys.stderr)
        return 2
    unknown = [name for name in names if name not in parts]
    if unknown:
        print(f"no benchmark is called {unknown[0]!r}; there are: {', '.join(parts)}", file=sys.stderr)
        return 2
    missed = []
    for name in names or parts:
        text = parts[name]()
        print(f"\n## {prefix}{name}\n\n{text}", flush=True)
        # The page has whole tables.
        if not args.print_only and not args.rows:
            put(f"{prefix}{name}", text)
        if MISSED in text:
            missed.append(f"{prefix}{name}")
    if missed:
        print(f"limits are missed in: {', '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


def _chosen(args: argparse.Namespace) -> tuple[str, Known, list[str]]:
    """The list that is asked for: what its names begin with on the page, its benchmarks, and those wanted."""
    first, *rest = args.names or [""]
    if first == HARD:
        effort = Effort(args.seconds, args.seeds)
        return f"{HARD}-", {name: partial(measure, effort) for name, measure in hard.PARTS.items()}, rest
    if first == PROFILES:
        return f"{PROFILES}-", profiles.PARTS, rest
    if first == VERSIONS:
        if not rest:
            raise FailedError(
                f"name the folder of the other version: python -m benchmarks {VERSIONS} ../before"
            )
        folder, *names = rest
        return f"{VERSIONS}-", versions.parts(Path(folder), args.rows, args.runs), names
    return "", ALL, args.names


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"some of {', '.join(ALL)} (default: all of these); "
        f"or `{HARD}`, and then some of {', '.join(hard.PARTS)} (default: all of these); "
        f"or `{VERSIONS} FOLDER`, another checkout, and then some of {', '.join(versions.PARTS)} "
        "(default: all of these); "
        f"or `{PROFILES}`, and then some of {', '.join(profiles.PARTS)} (default: all of these)",
    )
    parser.add_argument("--print-only", action="store_true", help="leave benchmarks/results.md as it is")
    group = parser.add_argument_group(f"for `{HARD}`")
    group.add_argument(
        "--seconds", type=float, metavar="S", help="no run gets more than this (default: as the tables say)"
    )
    group.add_argument(
        "--seeds", type=int, default=10, metavar="N", help="seeds of what is random (default: %(default)s)"
    )
    group = parser.add_argument_group(f"for `{VERSIONS}`")
    group.add_argument(
        "--rows",
        type=lambda text: text.split(","),
        default=[],
        metavar="NAME,...",
        help=f"only these, and leave the page as it is; some of {', '.join(versions.ROWS)}",
    )
    group.add_argument("--runs", type=int, metavar="N", help="runs of each (default: 3 to 15)")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
