"""`memstow tile`: operators in tiles that fit a small memory."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from memstow.api import options
from memstow.api.cli.output_files import refuse_one_file_twice, refuse_unwritable_json, write_out
from memstow.api.cli.parser import Commands, add_command, add_option, add_options
from memstow.api.cli.problem_input import read_document, refuse_two_stdins, warn_if_terminal
from memstow.api.cli.terminal import Exit
from memstow.planner.model.errors import InputError, changing_issues

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memstow.planner.model.tiling import Tiling, TilingOptions


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "tile",
        "compute operators of a graph in tiles that fit a small memory, and move as few bytes as possible",
        details="""
Each operator by itself: the tile of output channels, rows, columns and input channels, the order of the
loops, the buffers with their offsets, and the bytes that move. docs/tiling.md tells which tiles there
are.""",
        examples="""
memstow tile model.tflite --capacity 64KiB
memstow tile model.tflite --capacity 16KiB --operator 6 --front
memstow tile net.json --pool l1 --objective bytes,alignment --multiple channels=4,columns=2
memstow tile net.json --pool l1 --home l2 --objective beyond,bytes --output tiles.json
""",
    )
    parser.add_argument("file", metavar="FILE", help="the graph or the model; - reads it from standard input")
    add_options(parser, options.TILE_FORMAT, options.OPERATOR)
    memory = parser.add_argument_group("memory")
    add_options(memory, options.TARGET, options.POOL)
    add_option(memory, options.ROOM, dest="room")
    add_options(memory, options.HOME, options.DIM)
    tiles = parser.add_argument_group("tiles")
    add_options(tiles, options.OBJECTIVE, options.DOUBLE_BUFFER, options.IM2COL, options.MULTIPLE)
    add_options(tiles, options.TILE_FRONT, options.WORK)
    add_options(parser.add_argument_group("output"), options.TILES_JSON, options.TILES_OUTPUT)
    # What a graph is not changed by before it is tiled.
    parser.set_defaults(run=run, capacity=None, fit_only=False, order=None, in_place=False, no_in_place=False)


def run(args: argparse.Namespace) -> int:
    """Read the graph, find the tiles, and print them."""
    refuse_two_stdins(args.file, args.target)
    refuse_unwritable_json(args.output)
    if args.output is not None:
        refuse_one_file_twice([(args.output, "the tiles")], {"the graph": args.file})
    warn_if_terminal(args.file)

    from memstow.planner.model.problem import Problem

    document = read_document(args.file, args)
    if isinstance(document, Problem):
        message = "this is a problem, whose operators are not known; tiles are of a graph or a model"
        raise InputError.single("not_a_graph", args.file, message)

    from memstow.planner.show.tiling_report import tiling_report, tilings_report
    from memstow.planner.tiling.tile import tile, tile_all
    from memstow.planner.tiling.tiling_documents import all_as_data, as_data

    if args.front and args.operator is None:
        message = "the front is of one operator; name it by --operator"
        raise InputError.single("no_operator", "--front", message)
    with changing_issues(lambda issue: replace(issue, path=f"--{issue.path}")):
        options = _options(args)
        if args.operator is None:
            tilings = tile_all(document, options)
            report, data = tilings_report(tilings), all_as_data(tilings)
        else:
            tilings = (tile(document, args.operator, options),)
            report, data = tiling_report(tilings[0]), as_data(tilings[0])
    if args.operator is not None and tilings[0].why_not is not None:
        raise InputError.single(
            "no_tiles", "--operator", f"{args.operator!r} has no tiles: {tilings[0].why_not}"
        )
    _write(args, report, data)
    return _exit(tilings)


def _options(args: argparse.Namespace) -> "TilingOptions":
    from memstow.planner.model.tiling import TilingOptions
    from memstow.planner.tiling.tiling_documents import options_of_texts

    options = TilingOptions(
        pool=args.pool,
        capacity=args.room,
        home=args.home,
        double_buffer=args.double_buffer,
        front=args.front,
        work=TilingOptions().work if args.work is None else args.work,
    )
    return options_of_texts(options, objective=args.objective, im2col=args.im2col, multiples=args.multiple)


def _write(args: argparse.Namespace, report: str, data: dict[str, object]) -> None:
    import json

    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    if args.output is not None:
        write_out(text.encode(), args.output)
    if args.json:
        write_out(text.encode(), None)
    elif args.output != "-":
        print(report)


def _exit(tilings: "Sequence[Tiling]") -> int:
    """Whether every operator that can have tiles has some that fit."""
    missing = [tiling for tiling in tilings if tiling.chosen is None and tiling.why_not is None]
    if not missing:
        return Exit.DONE
    return Exit.INFEASIBLE if any(entry.needs is not None for entry in missing) else Exit.UNKNOWN
