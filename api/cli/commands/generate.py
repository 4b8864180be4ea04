"""`memstow generate`: generate test problems of any size."""

import argparse
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from memstow.api.cli.output_files import format_of, refuse_unwritable, refuse_unwritable_json, write_out
from memstow.api.cli.parser import Commands, add_command, add_option
from memstow.api.cli.terminal import Exit
from memstow.api.options import WRITABLE, Amount, Choice, Flag, Option, Real, Text, Whole
from memstow.planner.generate.features import FAMILIES, FEATURES, SYMBOLIC_FEATURES

# Arguments that are not parameters of the generator.
_OURS = {"command", "version", "kind", "output", "output_format", "run", "words"}


_SEED: Final = Option("seed", "random seed", Whole(0), "S", default=0)
_OUTPUT: Final = Option(
    "output", "the file to write", Text(), "FILE", short="-o", otherwise="standard output"
)
_OF_PROBLEM: Final = (
    Option("n", "number of buffers", Whole(1, 10_000_000), "N", default=100),
    _SEED,
    _OUTPUT,
    Option(
        "output_format",
        "format to write",
        Choice(WRITABLE),
        otherwise="as the file's name ends, ``.json`` or ``.csv``",
    ),
)
_PLANTED: Final = (
    Option("height", "the optimum in bytes", Amount(1), "H", otherwise="1MiB"),
    Option("horizon", "length of the time axis", Whole(1), "T", otherwise="grows with n"),
    Option("live", "approximate number of buffers live at once", Whole(1), "L", otherwise="4 to 100"),
    Option("alignment", "alignment of sizes and offsets", Amount(1), "A", default=1),
    Option(
        "slack",
        "shrink buffers by up to this fraction",
        Real(0, 1),
        "F",
        default=0.0,
        more="; the optimum stays",
    ),
    Option(
        "drop",
        "leave this fraction of the tiles out",
        Real(0, 0.9),
        "F",
        default=0.0,
        more="; the optimum stays",
    ),
)
_TRAINING_STEP: Final = Option(
    "training",
    "buffers of a training step of one deep network: forward, backward, updates of an optimiser (as a graph: "
    "memstow generate graph --family training)",
    Flag(),
)
_NETWORK: Final = (
    Option("element", "bytes per tensor element", Whole(1, 16), "B", default=4),
    Option("alignment", "alignment of every tensor", Amount(1), "A", default=64),
    Option("in_place", "let element-wise operators share input and output", Flag()),
    _TRAINING_STEP,
)
_FEATURES: Final = Option("features", f"comma-separated list, or all: {', '.join(FEATURES)}", Text(), "LIST")
_RANDOM: Final = (
    _FEATURES,
    Option("horizon", "length of the time axis", Whole(2), "T", otherwise="n"),
    Option("largest", "largest size", Amount(1), "N", default=4096),
)
_GRAPH: Final = (
    Option("n", "number of operators", Whole(1, 1_000_000), "N", default=100),
    _SEED,
    Option(
        "family",
        "chains, cells of architecture search, random wiring, or training steps of made-up layers",
        Choice(FAMILIES),
        default=FAMILIES[1],
    ),
    _OUTPUT,
)
_TRAINING: Final = (
    Option("batch", "images of a step", Whole(1, 65_536), "N", default=16),
    Option("side", "rows of an image", Whole(32, 65_536), "N", default=224),
    _OUTPUT,
)
_SYMBOLIC_FEATURES: Final = Option(
    "features", f"of random: comma-separated list, or all: {', '.join(SYMBOLIC_FEATURES)}", Text(), "LIST"
)
_SYMBOLIC: Final = (
    Option("n", "number of buffers", Whole(1, 1_000_000), "N", default=100),
    _SEED,
    Option(
        "family",
        "what the sizes are like: blocks of transformers, or anything that is small",
        Choice(("attention", "random")),
        default="attention",
    ),
    Option(
        "symbols",
        "number of symbols: up to 2 for attention, 4 for random",
        Whole(1, 4),
        "K",
        default=1,
    ),
    _SYMBOLIC_FEATURES,
    _OUTPUT,
)


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
    for kind in _KINDS:
        below = add_command(kinds, kind.name, kind.summary, examples=kind.examples, details=kind.details)
        for option in kind.options:
            add_option(below, option, **_OWN.get(option, {}))
        below.set_defaults(run=kind.run)


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
    from memstow.planner.generate import make

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
    from memstow.planner.generate import make_graph

    refuse_unwritable_json(args.output)
    write_out(formats.write_graph(make_graph(arguments_of(args))), args.output)
    return Exit.DONE


def run_training(args: argparse.Namespace) -> int:
    """Generate the training step and write it."""
    from memstow.planner import formats
    from memstow.planner.generate.graph import training_step

    refuse_unwritable_json(args.output)
    write_out(formats.write_graph(training_step(args.batch, args.side)), args.output)
    return Exit.DONE


def run_symbolic(args: argparse.Namespace) -> int:
    """Generate the symbolic problem and write it."""
    from memstow.planner.formats.native import write_symbolic
    from memstow.planner.generate.symbolic import symbolic

    refuse_unwritable_json(args.output)
    write_out(write_symbolic(symbolic(**arguments_of(args))), args.output)
    return Exit.DONE


_OWN: Final[dict[Option, dict[str, Any]]] = {
    _FEATURES: {"type": _features, "default": ()},
    _SYMBOLIC_FEATURES: {"type": _symbolic_features, "default": ()},
    # None where it is not named: names of instances stay as they were.
    _TRAINING_STEP: {"default": None},
}
"""Arguments of `add_argument` that only these options have."""


class _Kind(NamedTuple):
    """A kind of problem or graph."""

    name: str
    summary: str
    options: tuple[Option, ...]
    run: Callable[[argparse.Namespace], int]
    examples: str
    details: str = ""


_KINDS: Final = (
    _Kind(
        "planted",
        "an exact tiling of height x horizon, so that the optimum is known: the height",
        (*_OF_PROBLEM, *_PLANTED),
        run,
        """
memstow generate planted --n 100
memstow generate planted --n 1000000 --output million.csv
memstow generate planted --n 500 --height 64KiB --horizon 400 --slack 0.2
""",
    ),
    _Kind(
        "network",
        "tensors of synthetic neural networks: chains, residuals, branches",
        (*_OF_PROBLEM, *_NETWORK),
        run,
        """
memstow generate network --n 300
memstow generate network --n 40 --element 1 --in-place
memstow generate network --training --n 20000 --output training.csv
""",
    ),
    _Kind(
        "random",
        "random buffers, with any combination of features",
        (*_OF_PROBLEM, *_RANDOM),
        run,
        """
memstow generate random --n 20
memstow generate random --n 50 --features pools,pins,alignments
memstow generate random --n 12 --features all --seed 3
""",
    ),
    _Kind(
        "graph",
        "the operators and tensors of a program",
        _GRAPH,
        run_graph,
        """
memstow generate graph --n 200 --output cells.json
memstow generate graph --n 64 --family wiring --seed 3 | memstow solve - --order free
""",
    ),
    _Kind(
        "training",
        "a training step of MobileNetV2 as a graph: forward, backward, updates",
        _TRAINING,
        run_training,
        "memstow generate training --batch 16 --side 96 --output training.json",
        """
Training steps of made-up networks, of as many buffers or operators as wanted: `memstow generate network
--training` as a problem, `memstow generate graph --family training` as a graph.
""",
    ),
    _Kind(
        "symbolic",
        "a problem whose sizes are formulas of symbols",
        _SYMBOLIC,
        run_symbolic,
        """
memstow generate symbolic --n 55
memstow generate symbolic --n 300 --symbols 2 --output decode.json
memstow generate symbolic --n 8 --family random --features pins,alignments --seed 3
""",
    ),
)
