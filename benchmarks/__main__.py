"""Run the benchmarks named, or all of them: `python -m benchmarks [startup] [large] [growth] ...`.

The hard problems take some minutes and are a list of their own: `python -m benchmarks hard [minimalloc] ...`.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from functools import partial

from benchmarks import calls, files, growth, hard, large, models, order, pools, published, starts, startup
from benchmarks.hard.effort import Effort
from benchmarks.limits import MISSED
from benchmarks.page import put
from benchmarks.service import rates

ALL = {
    "startup": startup.measure,
    "calls": calls.measure,
    "published": published.measure,
    "large": large.measure,
    "growth": growth.measure,
    "files": files.measure,
    "models": models.measure,
    "orders": order.measure,
    "pools": pools.measure,
    "starts": starts.measure,
    "service": rates.measure,
}
HARD = "hard"


def main(words: list[str]) -> int:
    """Measure, print, and put the tables on the page; 1 where a limit is missed."""
    args = _parser().parse_args(words)
    names: list[str] = args.names
    known: Mapping[str, Callable[[], str]] = ALL
    prefix = ""
    if names[:1] == [HARD]:
        effort = Effort(args.seconds, args.seeds)
        known = {name: partial(measure, effort) for name, measure in hard.PARTS.items()}
        names, prefix = names[1:], f"{HARD}-"
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no benchmark is called {unknown[0]!r}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    missed = []
    for name in names or known:
        text = known[name]()
        print(f"\n## {prefix}{name}\n\n{text}", flush=True)
        if not args.print_only:
            put(f"{prefix}{name}", text)
        if MISSED in text:
            missed.append(f"{prefix}{name}")
    if missed:
        print(f"limits are missed in: {', '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"some of {', '.join(ALL)} (default: all of these); "
        f"or `{HARD}`, and then some of {', '.join(hard.PARTS)} (default: all of these)",
    )
    parser.add_argument("--print-only", action="store_true", help="leave docs/benchmarks.md as it is")
    group = parser.add_argument_group(f"for `{HARD}`")
    group.add_argument(
        "--seconds", type=float, metavar="S", help="no run gets more than this (default: as the tables say)"
    )
    group.add_argument(
        "--seeds", type=int, default=10, metavar="N", help="seeds of what is random (default: %(default)s)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
