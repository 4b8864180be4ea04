"""`memstow convert`: convert a problem to another format."""

import argparse
from typing import TYPE_CHECKING, Final

from memstow.api import options
from memstow.api.cli.output_files import format_of, refuse_unwritable, write_out
from memstow.api.cli.parser import Commands, add_command, add_option, add_options, first_named
from memstow.api.cli.problem_input import (
    add_graph_changes,
    add_problem,
    add_symbols,
    document_in,
    in_operator_order,
    naming_file,
    read_bytes_of,
    read_symbolic_model,
    refuse_two_stdins,
    symbolic_in,
    warn_if_terminal,
)
from memstow.api.cli.terminal import Exit
from memstow.planner.graph.documents import problem_of
from memstow.planner.model.errors import InputError
from memstow.planner.model.options import Options

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.problem import Problem
    from memstow.planner.model.symbolic import SymbolicDocument


_NO_OPERATORS: Final = "the format 'graph' is for graphs, and this is a problem: its operators are not known"
# A search that is not over by then takes about ten seconds.
_ORDER_WORK = 100_000_000


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "convert",
        "convert a problem to another format, or a graph to the problem of its order",
        examples="""
memstow convert model.csv model.json
memstow convert model.json - --output-format csv
memstow convert net.graph.json problem.json
memstow convert model.tflite parts.json --output-format graph --channels
memstow convert decoder.onnx sizes.json --symbol tokens=1..1024
memstow convert sizes.graph.json ordered.json --output-format graph --order free
memstow convert - model.json --format executorch < exported.json
""",
    )
    add_problem(parser, "in")
    parser.add_argument("out", metavar="OUT", help="the file to write; - writes to standard output")
    add_option(parser, options.CONVERT_FORMAT, type=_output_format)
    add_option(parser, options.CHANNELS)
    add_options(parser, *options.CHANGES)
    add_graph_changes(parser)
    add_symbols(parser.add_argument_group("sizes known only at run time"))
    parser.set_defaults(run=run)


def _output_format(text: str) -> str:
    if text in ("symbolic", "symbols", "shapes"):
        message = (
            f"{text!r} is no format of its own: a problem whose sizes are formulas is written as json, from "
            "an ONNX model whose open dimensions are named by --symbol, such as "
            "`memstow convert model.onnx sizes.json --symbol tokens=1..1024`"
        )
        raise argparse.ArgumentTypeError(message)
    return text


def run(args: argparse.Namespace) -> int:
    """Read the problem and write it in the other format."""
    from memstow.planner import formats
    from memstow.planner.graph.changes import ONLY_GRAPHS, ONLY_LISTED

    source = getattr(args, "in")
    refuse_two_stdins(source, args.target)
    refuse_unwritable(args.out)
    warn_if_terminal(source)
    form = format_of(args.out, args.output_format)
    if args.symbol:
        write_out(_symbolic_bytes(source, args, form), args.out)
        return Exit.DONE
    data = read_bytes_of(source)
    symbolic = None if args.at or form != "graph" else symbolic_in(data, source)
    if symbolic is not None:
        write_out(_ordered_bytes(symbolic, source, args), args.out)
        return Exit.DONE
    document = document_in(data, source, args)
    with naming_file(source):
        if form == "graph":
            data = _graph_bytes(document, args.channels)
        elif args.channels:
            raise InputError.single("unused_option", "--channels", ONLY_GRAPHS)
        elif args.order not in (None, "given"):
            raise InputError.single("unused_option", "--order", ONLY_LISTED)
        else:
            data = formats.write_problem(problem_of(document), form)
    write_out(data, args.out)
    return Exit.DONE


def _ordered_bytes(document: "SymbolicDocument", source: str, args: argparse.Namespace) -> bytes:
    """A graph with symbols, with its operators listed in the order that is asked for."""
    from memstow.planner.formats.native import write_symbolic_graph
    from memstow.planner.model.symbolic import SymbolicProblem
    from memstow.planner.shapes.operator_order import order_symbolic

    option = first_named(args, (*options.CHANGES, options.NO_IN_PLACE, options.CHANNELS, options.DEVICE))
    if option is not None:
        message = "it is not for graphs with symbols; leave it out, or write it into the document"
        raise InputError.single("unused_option", option.spelling, message)
    graph = in_operator_order(document, source, args)
    if isinstance(graph, SymbolicProblem):
        raise InputError.single("not_a_graph", "--output-format", _NO_OPERATORS)
    if args.order == "free":
        # The same file on every machine.
        graph = order_symbolic(graph, Options(deterministic=True, work_limit=_ORDER_WORK)).graph
    return write_symbolic_graph(graph)


def _symbolic_bytes(source: str, args: argparse.Namespace, form: str) -> bytes:
    """A model whose open dimensions are symbols: as a graph, or as the problem of its order."""
    from memstow.planner.formats.native import write_symbolic, write_symbolic_graph
    from memstow.planner.graph.symbolic_graph import lower_symbolic

    if args.at:
        message = "--symbol leaves dimensions open; to give a dimension a value, use --dim in place of both"
        raise InputError.single("unused_option", "--at", message)
    option = first_named(
        args, (*options.CHANGES, options.ORDER, options.NO_IN_PLACE, options.CHANNELS, options.DEVICE)
    )
    if option is not None:
        message = "it is not for models with symbols; leave it out, or write it into the document"
        raise InputError.single("unused_option", option.spelling, message)
    if form not in ("json", "graph"):
        message = f"the format {form!r} has no place for formulas; use json or graph"
        raise InputError.single("no_formulas", "--output-format", message)
    graph = read_symbolic_model(source, args)
    return write_symbolic_graph(graph) if form == "graph" else write_symbolic(lower_symbolic(graph))


def _graph_bytes(document: "Problem | Graph", channels: bool) -> bytes:
    from memstow.planner import formats
    from memstow.planner.graph.changes import with_channels
    from memstow.planner.model.problem import Problem

    if isinstance(document, Problem):
        raise InputError.single("not_a_graph", "--output-format", _NO_OPERATORS)
    return formats.write_graph(with_channels(document) if channels else document)
