"""The arguments of `memstow front`: which front, and where it goes."""

import argparse
from typing import Final

from memstow.api.cli.io.arguments import amount, real, whole
from memstow.planner.show.formatting import plain

# Those of `planner.model.front`, which is slow to import.
GENERATORS: Final = ("stripes", "recompute", "spill", "channels")
MOST_POINTS: Final = 1_000
_NONE: Final = "none"


def add_front(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say which front is asked for."""
    front = parser.add_argument_group("front")
    front.add_argument(
        "--terms",
        type=_two,
        metavar="A,B",
        help="the two terms: the peak (peak:POOL) or the capacity (capacity:POOL) of a pool and another term "
        "of an objective (default: peak,cost of a graph; of a problem the peak of its first pool, and the "
        "first cost that it has)",
    )
    front.add_argument(
        "--with",
        type=_generators,
        dest="generators",
        metavar="LIST",
        help=f"of a graph: what may be done to need less memory, of {', '.join(GENERATORS)}, or {_NONE} "
        "(default: stripes)",
    )
    front.add_argument(
        "--cost",
        choices=("given", "bytes"),
        default="given",
        help="of a graph: cost as its operators give it, or the bytes that they move (default: given)",
    )
    front.add_argument(
        "--within",
        type=real(1, 1_000_000),
        metavar="X",
        help="only points whose second term is at most X times its least value",
    )
    front.add_argument(
        "--points", type=whole(1, MOST_POINTS), metavar="N", help="at most N points (default: 1,000)"
    )
    front.add_argument(
        "--target",
        action="append",
        dest="targets",
        metavar="TARGETS",
        help="the front in the memories of each of these targets, files or names from `memstow targets`, "
        "separated by commas; tells which is the smallest that will do",
    )
    front.add_argument(
        "--capacity", type=amount, metavar="N", help="capacity of the only pool: 65536, 64KiB, 0x10000"
    )


def add_front_results(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that select the outputs."""
    results = parser.add_argument_group("results")
    results.add_argument(
        "-o",
        "--output",
        action="append",
        metavar="FILE",
        help="write the front to this file, as its name ends: .json, .csv or .svg; may be repeated",
    )
    results.add_argument("--json", action="store_true", help="print only the front, as JSON")
    results.add_argument("--quiet", action="store_true", help="print no table")


def _two(text: str) -> tuple[str, str]:
    first, comma, second = text.partition(",")
    if not comma or not first or not second or "," in second:
        message = f"'{plain(text, most=80)}' is not two terms: write for example peak:fast,placement_cost"
        raise argparse.ArgumentTypeError(message)
    return first, second


def _generators(text: str) -> tuple[str, ...]:
    if text == _NONE:
        return ()
    given = tuple(dict.fromkeys(text.split(",")))
    for name in given:
        if name not in GENERATORS:
            message = f"'{plain(name, most=80)}' is none of {', '.join(GENERATORS)}, or {_NONE}"
            raise argparse.ArgumentTypeError(message)
    return given
