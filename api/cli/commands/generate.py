"""`memstow generate`: generate test problems of any size."""

import argparse
from typing import Any

from memstow.api.cli.output_files import format_of, refuse_unwritable, write_out
from memstow.api.cli.parser import Commands, add_command, amount_from, real, whole
from memstow.api.cli.terminal import Exit
from memstow.api.options import WRITABLE
from memstow.planner.generate import FEATURES, SYMBOLIC_FEATURES

# Arguments that are not parameters of the generator.
_OURS = {"command", "version", "kind", "output", "output_format", "run", "words"}


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command and the kinds of problems."""
    parser = add_command(
        commands,
        "generate",
        "generate a test problem, or a graph",
        details="The same arguments give the same bytes, on any machine.",
        examples="""
memstow generate planted --n 1000 --seed 7 --output planted.json
memstow generate planted --n 200 --slack 0.1 --drop 0.05 | memstow solve -
memstow generate network --n 300 --output network.csv
memstow generate random --n 50 --features pools,pins,alignments
memstow generate graph --n 200 --family wiring --output wiring.json
memstow generate training --batch 16 --output training.json
memstow generate symbolic --n 50 --output symbolic.json
""",
    )
    kinds = parser.add_subparsers(title="kinds", metavar="KIND", dest="kind", required=True)
    _add_planted(kinds)
    _add_network(kinds)
    _add_random(kinds)
    _add_graph(kinds)
    _add_training(kinds)
    _add_symbolic(kinds)


def _add_kind(
    kinds: "Commands[argparse.ArgumentParser]", name: str, summary: str, examples: str
) -> argparse.ArgumentParser:
    parser = add_command(kinds, name, summary, examples=examples)
    parser.add_argument(
        "--n", type=whole(1, 10_000_000), default=100, metavar="N", help="number of buffers (default: 100)"
    )
    parser.add_argument("--seed", type=whole(0), default=0, metavar="S", help="random seed (default: 0)")
    parser.add_argument("-o", "--output", metavar="FILE", help="the file to write (default: standard output)")
    parser.add_argument(
        "--output-format",
        choices=WRITABLE,
        help="format to write (default: as the file's name ends, .json or .csv)",
    )
    parser.set_defaults(run=run)
    return parser


def _add_planted(kinds: "Commands[argparse.ArgumentParser]") -> None:
    parser = _add_kind(
        kinds,
        "planted",
        "an exact tiling of height x horizon, so that the optimum is known: the height",
        """
memstow generate planted --n 100
memstow generate planted --n 1000000 --output million.csv
memstow generate planted --n 500 --height 64KiB --horizon 400 --slack 0.2
""",
    )
    parser.add_argument(
        "--height", type=amount_from(1), metavar="H", help="the optimum in bytes (default: 1MiB)"
    )
    parser.add_argument(
        "--horizon", type=whole(1), metavar="T", help="length of the time axis (default: grows with n)"
    )
    parser.add_argument(
        "--live",
        type=whole(1),
        metavar="L",
        help="approximate number of buffers live at once (default: 4 to 100)",
    )
    parser.add_argument(
        "--alignment",
        type=amount_from(1),
        default=1,
        metavar="A",
        help="alignment of sizes and offsets (default: 1)",
    )
    parser.add_argument(
        "--slack",
        type=real(0, 1),
        default=0.0,
        metavar="F",
        help="shrink buffers by up to this fraction (default: 0)",
    )
    parser.add_argument(
        "--drop",
        type=real(0, 0.9),
        default=0.0,
        metavar="F",
        help="leave this fraction of the tiles out (default: 0)",
    )


def _add_network(kinds: "Commands[argparse.ArgumentParser]") -> None:
    parser = _add_kind(
        kinds,
        "network",
        "tensors of synthetic neural networks: chains, residuals, branches",
        """
memstow generate network --n 300
memstow generate network --n 40 --element 1 --in-place
memstow generate network --training --n 20000 --output training.csv
""",
    )
    parser.add_argument(
        "--element", type=whole(1, 16), default=4, metavar="B", help="bytes per tensor element (default: 4)"
    )
    parser.add_argument(
        "--alignment",
        type=amount_from(1),
        default=64,
        metavar="A",
        help="alignment of every tensor (default: 64)",
    )
    parser.add_argument(
        "--in-place", action="store_true", help="let element-wise operators share input and output"
    )
    parser.add_argument(
        "--training",
        action="store_true",
        default=None,  # not given: names of instances stay as they were
        help="buffers of a training step of one deep network: forward, backward, updates of an optimiser "
        "(as a graph: memstow generate graph --family training)",
    )


def _add_random(kinds: "Commands[argparse.ArgumentParser]") -> None:
    parser = _add_kind(
        kinds,
        "random",
        "random buffers, with any combination of features",
        """
memstow generate random --n 20
memstow generate random --n 50 --features pools,pins,alignments
memstow generate random --n 12 --features all --seed 3
""",
    )
    parser.add_argument(
        "--features",
        type=_features,
        default=(),
        metavar="LIST",
        help=f"comma-separated list, or all: {', '.join(FEATURES)}",
    )
    parser.add_argument("--horizon", type=whole(2), metavar="T", help="length of the time axis (default: n)")
    parser.add_argument(
        "--largest", type=amount_from(1), default=4096, metavar="N", help="largest size (default: 4096)"
    )


def _add_graph(kinds: "Commands[argparse.ArgumentParser]") -> None:
    from memstow.planner.generate import FAMILIES

    parser = add_command(
        kinds,
        "graph",
        "the operators and tensors of a program",
        examples="""
memstow generate graph --n 200 --output cells.json
memstow generate graph --n 64 --family wiring --seed 3 | memstow solve - --order free
""",
    )
    parser.add_argument(
        "--n", type=whole(1, 1_000_000), default=100, metavar="N", help="number of operators (default: 100)"
    )
    parser.add_argument("--seed", type=whole(0), default=0, metavar="S", help="random seed (default: 0)")
    parser.add_argument(
        "--family",
        choices=FAMILIES,
        default=FAMILIES[1],
        help="chains, cells of architecture search, random wiring, or training steps of made-up layers "
        "(default: cells)",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="the file to write (default: standard output)")
    parser.set_defaults(run=run_graph)


def _add_training(kinds: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        kinds,
        "training",
        "a training step of MobileNetV2 as a graph: forward, backward, updates",
        details="""
Training steps of made-up networks, of as many buffers or operators as wanted: `memstow generate network
--training` as a problem, `memstow generate graph --family training` as a graph.
""",
        examples="memstow generate training --batch 16 --side 96 --output training.json",
    )
    parser.add_argument(
        "--batch", type=whole(1, 65_536), default=16, metavar="N", help="images of a step (default: 16)"
    )
    parser.add_argument(
        "--side", type=whole(32, 65_536), default=224, metavar="N", help="rows of an image (default: 224)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="the file to write (default: standard output)")
    parser.set_defaults(run=run_training)


def _add_symbolic(kinds: "Commands[argparse.ArgumentParser]") -> None:
    parser = add_command(
        kinds,
        "symbolic",
        "a problem whose sizes are formulas of symbols",
        examples="""
memstow generate symbolic --n 55
memstow generate symbolic --n 300 --symbols 2 --output decode.json
memstow generate symbolic --n 8 --family random --features pins,alignments --seed 3
""",
    )
    parser.add_argument(
        "--n", type=whole(1, 1_000_000), default=100, metavar="N", help="number of buffers (default: 100)"
    )
    parser.add_argument("--seed", type=whole(0), default=0, metavar="S", help="random seed (default: 0)")
    parser.add_argument(
        "--family",
        choices=("attention", "random"),
        default="attention",
        help="what the sizes are like: blocks of transformers (the default), or anything that is small",
    )
    parser.add_argument(
        "--symbols",
        type=whole(1, 4),
        default=1,
        metavar="K",
        help="number of symbols: up to 2 for attention, 4 for random (default: 1)",
    )
    parser.add_argument(
        "--features",
        type=_symbolic_features,
        default=(),
        metavar="LIST",
        help=f"of random: comma-separated list, or all: {', '.join(SYMBOLIC_FEATURES)}",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="the file to write (default: standard output)")
    parser.set_defaults(run=run_symbolic)


def _features(text: str) -> tuple[str, ...]:
    return _features_among(FEATURES, text)


def _symbolic_features(text: str) -> tuple[str, ...]:
    return _features_among(SYMBOLIC_FEATURES, text)


def _features_among(features: tuple[str, ...], text: str) -> tuple[str, ...]:
    if text == "all":
        return features
    names = tuple(name for name in text.split(",") if name)
    for name in names:
        if name not in features:
            raise argparse.ArgumentTypeError(
                f"{name!r} is not a feature; there are: all, {', '.join(features)}"
            )
    return names


def run(args: argparse.Namespace) -> int:
    """Generate the problem and write it."""
    from memstow.planner import formats
    from memstow.planner.generate.by_name import make

    refuse_unwritable(args.output)
    form = format_of(args.output, args.output_format)
    problem = make(args.kind, arguments_of(args))
    write_out(formats.write_problem(problem, form), args.output)
    return Exit.DONE


def arguments_of(args: argparse.Namespace) -> dict[str, Any]:
    """The parameters of the generator that were given; it has defaults for the others."""
    return {name: value for name, value in vars(args).items() if name not in _OURS and value is not None}


def run_graph(args: argparse.Namespace) -> int:
    """Generate the graph and write it."""
    from memstow.planner import formats
    from memstow.planner.generate.by_name import make_graph

    refuse_unwritable(args.output)
    write_out(formats.write_graph(make_graph(arguments_of(args))), args.output)
    return Exit.DONE


def run_training(args: argparse.Namespace) -> int:
    """Generate the training step and write it."""
    from memstow.planner import formats
    from memstow.planner.generate.graph import training_step

    refuse_unwritable(args.output)
    write_out(formats.write_graph(training_step(args.batch, args.side)), args.output)
    return Exit.DONE


def run_symbolic(args: argparse.Namespace) -> int:
    """Generate the symbolic problem and write it."""
    from memstow.planner.generate.symbolic import symbolic
    from memstow.planner.shapes.symbolic_documents import write_symbolic

    refuse_unwritable(args.output)
    write_out(write_symbolic(symbolic(**arguments_of(args))), args.output)
    return Exit.DONE
