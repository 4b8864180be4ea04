"""The problem of a command: its arguments, reading it, and changing it as the arguments say.

It is a problem, in columns where nothing asks for more, a graph, or a problem whose sizes are formulas.
"""

import argparse
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from memstow.api import options
from memstow.api.cli.parser import add_option, add_options, amount, first_named
from memstow.planner.model.errors import InputError, Issue, changing_issues, closest_match, naming
from memstow.planner.reading.json_text import LARGEST_INPUT, parse_json, read_bytes, too_large
from memstow.planner.show.formatting import plain
from memstow.records import replace

if TYPE_CHECKING:
    from memstow.planner.formats import Reading
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem, Target
    from memstow.planner.model.programs import Programs
    from memstow.planner.model.symbolic import SymbolicDocument, SymbolicGraph, SymbolicPlan
    from memstow.planner.plain._columns import Columns
    from memstow.planner.plain.symbolic_documents import SymbolicColumns
    from memstow.planner.recorded.recording import Recording


STDIN = "-"
_MAX_RECORDING: Final = "MEMSTOW_MAX_RECORDING"
# Readers of recordings count the parts of a file in 32 bits.
_MOST_OF_RECORDING: Final = 4 << 30
_OF_VALUES: Final = ("missing_symbol", "unknown_symbol", "value_out_of_range")
# XLA writes what memstow needs into two files; the second is found beside the first.
_SIZES, _TIMES = "-buffer-assignment.txt", "-live-range.txt"


def add_problem(parser: argparse.ArgumentParser, name: str = "file") -> None:
    """Add the arguments for the problem file and its format."""
    parser.add_argument(
        name, metavar=name.upper(), help="the problem or the graph; - reads it from standard input"
    )
    add_option(parser, options.FORMAT)
    add_options(parser, options.DEVICE, options.AT, options.THEN, options.KEEP)


def values_of(args: argparse.Namespace) -> dict[str, int]:
    """The values of symbols."""
    return _each_once(args.at, "--at", "a symbol")


def dimensions_of(args: argparse.Namespace) -> dict[str, int]:
    """The values of the dimensions that an ONNX model leaves open."""
    return _each_once(args.dim, "--dim", "a dimension")


def _each_once(pairs: list[tuple[str, int]] | None, option: str, what: str) -> dict[str, int]:
    """The values by name; InputError where a name has two."""
    values = dict(pairs or ())
    if len(values) < len(pairs or ()):
        raise InputError.single("repeated", option, f"{what} has two values; give each one")
    return values


def add_graph_changes(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that change a graph."""
    graphs = parser.add_argument_group("graphs")
    add_options(graphs, options.ORDER, options.DIM)
    pairs = graphs.add_mutually_exclusive_group()
    add_options(pairs, options.IN_PLACE, options.NO_IN_PLACE)


def add_symbols(group: "argparse._ArgumentGroup") -> None:
    """Add the argument for what an ONNX model leaves open until it runs."""
    add_option(group, options.SYMBOL, type=_range)


def _range(text: str) -> tuple[str, int, int, int]:
    name, _, rest = text.rpartition("=")
    match = re.fullmatch(r"([0-9]{1,19})\.\.([0-9]{1,19})(?::([0-9]{1,19}))?", rest)
    if not name or match is None:
        message = f"{text!r} is not a dimension and its range: write for example tokens=1..1024 or N=8..64:8"
        raise argparse.ArgumentTypeError(message)
    return name, int(match[1]), int(match[2]), int(match[3] or 1)


def read_symbolic_model(path: str, args: argparse.Namespace) -> "SymbolicGraph":
    """Read an ONNX model whose dimensions become symbols, as `--symbol` says."""
    from memstow.planner import formats
    from memstow.planner.formats.onnx.models import read_symbolic_model, symbol_for
    from memstow.planner.model.symbolic import Symbol

    ranges: dict[str, Symbol] = {}
    for name, least, most, step in args.symbol:
        if name in ranges or not 0 <= least <= most <= 1 << 31 or not 1 <= step <= 1 << 31:
            message = (
                f"{name}: give each dimension one range, from 0 to 2^31 at most, and a step of at least 1"
            )
            raise InputError.single("out_of_range", "--symbol", message)
        ranges[name] = symbol_for(name, Symbol(id="x", min=least, max=most, step=step))
    data = read_bytes_of(path)
    with naming_file(path):
        by_content = "json" if formats.looks_like_json(data) else formats.format_by_content(data)
        if (args.format or by_content) != "onnx":
            message = (
                "only ONNX models have dimensions that are open, and this is something else; leave it out"
            )
            raise InputError.single("no_open_dimensions", "--symbol", message)
        return read_symbolic_model(data, ranges, in_place=args.in_place, dims=dimensions_of(args))


def read_document(path: str, args: argparse.Namespace) -> "Problem | Graph":
    """Read the problem or the graph, and change it as the arguments say."""
    return document_in(read_bytes_of(path), path, args)


def recording_in(data: bytes, path: str, args: argparse.Namespace) -> "Recording | None":
    """What an allocator did, if the bytes say that; None also for options that recordings do not have."""
    from memstow.planner import formats

    if args.at or args.dim or args.then:
        return None
    with naming_file(path), naming_option("device", options.DEVICE.spelling):
        return formats.read_recording(data, args.format, args.device)


def document_in(
    data: bytes,
    path: str,
    args: argparse.Namespace,
    source: "Recording | Programs | None" = None,
) -> "Problem | Graph":
    """The problem or the graph in these bytes, or of what they were read as, changed as the arguments say."""
    return changed_document(reading_of(data, path, args, source).document, data, path, args)


def reading_of(
    data: bytes,
    path: str,
    args: argparse.Namespace,
    source: "Recording | Programs | None" = None,
) -> "Reading":
    """The same before the arguments change it."""
    from memstow.planner import formats

    programs = programs_in(data, path, args) if source is None else source
    if programs is not None:
        return formats.Reading(problem_of(programs), False)
    data = _with_live_ranges(path, data)
    if getattr(args, "at", None):
        return formats.Reading(_at_values(data, path, args), False)
    with naming_file(path), naming_option("device", options.DEVICE.spelling):
        return formats.reading_of(
            data,
            args.format,
            in_place=args.in_place,
            dims=dimensions_of(args),
            device=getattr(args, "device", None),
        )


def changed_document(
    document: "Problem | Graph", data: bytes, path: str, args: argparse.Namespace
) -> "Problem | Graph":
    """What was read from these bytes, changed as the arguments say."""
    from memstow.planner import formats
    from memstow.planner.model.problem import Problem

    if isinstance(document, Problem):
        return _changed_problem(document, args)
    if args.in_place and formats.looks_like_json(data):
        message = "it is for models, and this graph says itself which inputs are overwritten; leave it out"
        raise InputError.single("not_a_model", "--in-place", message)
    return _changed_graph(document, path, args)


def programs_in(data: bytes, path: str, args: argparse.Namespace) -> "Programs | None":
    """The programs that the bytes describe, or that the arguments name; None where there is but one."""
    from memstow.planner import formats

    files, names = getattr(args, "then", None) or (), getattr(args, "keep", None) or ()
    is_json = formats.looks_like_json(data) and b'"programs"' in data
    raw = parse_json(data) if is_json and not files else None
    if not files and not formats.is_programs(raw):
        if names:
            message = (
                "it is of several programs, and this is one; name the next one by --then, or leave it out"
            )
            raise InputError.single("no_programs", "--keep", message)
        return None
    option = first_named(args, (options.DEVICE, options.AT, *(() if files else (options.KEEP,))))
    if option is not None:
        message = "it is not for a document of several programs; leave it out, or write it into the document"
        raise InputError.single("not_for_programs", option.spelling, message)
    from memstow.planner.formats.programs_format import problem_of_program
    from memstow.planner.programs import parse_programs, programs_of

    def read(name: str) -> "Problem":
        # As seen from the document.
        return _problem_in(os.path.join("" if files or path == STDIN else os.path.dirname(path), name))

    if not files:
        with naming_file(path):
            return parse_programs(raw, problem_of_program, read)
    with changing_issues(
        lambda issue: replace(issue, path="--keep") if issue.path.startswith("$") else issue
    ):
        first = (_stem(path), _problem_in(path, data))
        return programs_of([first, *((_stem(name), _problem_in(name)) for name in files)], names)


def _problem_in(path: str, read: bytes | None = None) -> "Problem":
    """The problem of one program, in this file, which may have been read."""
    from memstow.planner import formats
    from memstow.planner.formats.programs_format import problem_as_listed

    data = read_bytes_of(path) if read is None else read
    with naming_file(path):
        return problem_as_listed(formats.read_document(_with_live_ranges(path, data)))


def _stem(path: str) -> str:
    """What the program in a file is called."""
    return os.path.basename(path).partition(".")[0] or "program"


def problem_of(source: "Recording | Programs") -> "Problem":
    """The problem of what is more than a problem."""
    from memstow.planner.model.programs import Programs

    if not isinstance(source, Programs):
        return source.problem
    from memstow.planner.programs import joint_problem

    return joint_problem(source)


def _at_values(data: bytes, path: str, args: argparse.Namespace) -> "Problem | Graph":
    """A problem or a graph with symbols as the ordinary one at these values."""
    from memstow.planner import formats
    from memstow.planner.formats.native import parse_symbolic_document
    from memstow.planner.formulas.sizes import problem_at
    from memstow.planner.graph.symbolic_graph import graph_at
    from memstow.planner.model.symbolic import SymbolicGraph

    if not formats.looks_like_json(data):
        message = (
            "it is for the symbols of a symbolic problem, and this is no JSON; give the dimensions of an "
            "ONNX model their values by --dim, or convert it first: "
            "memstow convert MODEL PROBLEM --symbol NAME=1..64"
        )
        raise InputError.single("unused_option", "--at", message)
    with naming_file(path):
        document = parse_symbolic_document(parse_json(data))
    with naming_values():
        if isinstance(document, SymbolicGraph):
            return graph_at(document, values_of(args))
        return problem_at(document, values_of(args))


@contextmanager
def naming_values() -> Iterator[None]:
    """Put the option in the place of the symbols that issues are about."""
    with changing_issues(
        lambda issue: replace(issue, path="--at") if issue.path == "at" or issue.code in _OF_VALUES else issue
    ):
        yield


def _changed_problem(document: "Problem", args: argparse.Namespace) -> "Problem":
    of_graphs = first_named(args, (options.ORDER, options.IN_PLACE, options.NO_IN_PLACE))
    if of_graphs is not None:
        message = "it is for graphs, and this is a problem: its lifetimes have an order already; leave it out"
        raise InputError.single("not_a_graph", of_graphs.spelling, message)
    if args.target is None and args.capacity is None and not args.fit_only:
        return document
    from memstow.planner.targets import with_overrides

    target = None if args.target is None else read_target(args.target)
    with naming_option("capacity", "--capacity"):
        return with_overrides(document, target, args.capacity, args.fit_only)


def _with_live_ranges(path: str, data: bytes) -> bytes:
    """The bytes; of a dump of XLA that is half, with the other half from the file beside it."""
    if not data.startswith(b"BufferAssignment:") or b"\nHloLiveRange (max " in data:
        return data
    if path == STDIN or not path.endswith(_SIZES):
        return data
    return data + b"\n" + read_bytes_of(path.removesuffix(_SIZES) + _TIMES)


def _changed_graph(graph: "Graph", path: str, args: argparse.Namespace) -> "Graph":
    from memstow.planner.graph.changes import in_memories, with_order, without_in_place

    if args.no_in_place:
        graph = without_in_place(graph)
    if args.order is not None:
        with naming_file(path):
            graph = with_order(graph, args.order)
    if args.target is None and args.capacity is None and not args.fit_only:
        return graph
    target = None if args.target is None else read_target(args.target)
    with naming_option("capacity", "--capacity"):
        return in_memories(graph, target, args.capacity, args.fit_only)


def read_target(name: str) -> "Target":
    """The target that ships under this name, or the one in the file."""
    from memstow.planner.reading.parse import parse_target
    from memstow.planner.targets import shipped, shipped_target

    if name in shipped():
        return shipped_target(name)
    with changing_issues(lambda issue: _with_shipped(name, issue)):
        data = read_bytes_of(name)
    with naming_file(name):
        return parse_target(parse_json(data))


def _with_shipped(name: str, issue: "Issue") -> "Issue":
    """The issue; if the file does not exist, with the names of shipped targets."""
    from memstow.planner.targets import shipped

    if issue.code != "not_found":
        return issue
    close = closest_match(name, shipped())
    meant = f"did you mean {close}? " if close is not None else ""
    known = f"no target of that name comes with memstow; {meant}there are {', '.join(shipped())}"
    return replace(issue, message=f"{issue.message}, and {known}")


def read_plan(path: str, problem: "Problem", form: str | None = None, data: bytes | None = None) -> "Plan":
    """The plan for this problem in the file; `data`: what is in it, where that was read before."""
    from memstow.planner import formats

    if data is None:
        data = read_bytes_of(path)
    with naming_file(path):
        return formats.read_plan(data, problem, form)


def is_front(data: bytes) -> bool:
    """Whether this is a front, as `memstow front` writes it."""
    return _object_with(data, "terms", "points") is not None


def loops_in(data: bytes) -> dict[str, object] | None:
    """The members of a table of loops, as `memstow build` and `memstow view` write it; None: it is none."""
    return _object_with(data, "segments", "tensors", "digest")


def _object_with(data: bytes, *members: str) -> dict[str, object] | None:
    # Read as a whole only where it may be one: files of problems are large.
    if not data.lstrip().startswith(b"{") or any(f'"{name}"'.encode() not in data for name in members):
        return None
    try:
        raw = parse_json(data)
    except InputError:
        return None
    return raw if isinstance(raw, dict) and all(name in raw for name in members) else None


@contextmanager
def naming_option(name: str, option: str) -> Iterator[None]:
    """Replace the path of issues with the option the value came from."""
    with changing_issues(lambda issue: replace(issue, path=option) if issue.path == name else issue):
        yield


@contextmanager
def naming_file(path: str) -> Iterator[None]:
    """Put the name of the file before the paths of issues."""
    name = "standard input" if path == STDIN else plain(path, most=200)
    with naming(name):
        yield


def refuse_two_stdins(*paths: str | None) -> None:
    """Reject more than one file that is standard input."""
    if sum(path == STDIN for path in paths) > 1:
        raise InputError.single("two_stdins", "arguments", "only one of the files can be standard input (-)")


def read_bytes_of(path: str) -> bytes:
    """What is in the file, or on standard input."""
    if path == STDIN and sys.stdin is None:
        raise InputError.single("no_stdin", "standard input", "it is closed; name a file instead of -")
    if not path:
        raise InputError.single("no_name", "FILE", "the name of the file is empty; - is standard input")
    largest = _largest_recording()
    with changing_issues(_with_way_out):
        data = read_bytes(sys.stdin.buffer if path == STDIN else path, largest)
        if len(data) > LARGEST_INPUT:
            from memstow.planner.formats import recorded_format

            if recorded_format(data) is None:
                raise too_large("standard input" if path == STDIN else path, LARGEST_INPUT)
    return data


def _largest_recording() -> int:
    """How many bytes a recording may have, as the user says: those of training are large."""
    text = os.environ.get(_MAX_RECORDING)
    if text is None:
        return LARGEST_INPUT
    try:
        largest = amount(text)
    except argparse.ArgumentTypeError as error:
        raise InputError.single("wrong_amount", _MAX_RECORDING, str(error)) from None
    if not LARGEST_INPUT <= largest <= _MOST_OF_RECORDING:
        message = (
            f"{text!r} is out of range: it must be at least {LARGEST_INPUT:,} and at most "
            f"{_MOST_OF_RECORDING:,}"
        )
        raise InputError.single("wrong_amount", _MAX_RECORDING, message)
    return largest


def _with_way_out(issue: Issue) -> Issue:
    if issue.code != "too_large":
        return issue
    more = f"of a recording of PyTorch more is read with {_MAX_RECORDING}=2GiB"
    return replace(issue, message=f"{issue.message}; {more}")


def warn_if_terminal(path: str | None) -> None:
    """Tell the user that the program waits for input from the terminal."""
    from memstow.api.cli.terminal import is_terminal, print_error

    if path == STDIN and is_terminal(sys.stdin):
        print_error("reading from standard input; end with Ctrl-D")


# Options that change the document or ask for more than columns hold.
NEED_OBJECTS: Final = (
    options.DEVICE,
    options.AT,
    options.THEN,
    options.KEEP,
    options.TARGET,
    options.ORDER,
    options.DIM,
    options.IN_PLACE,
    options.NO_IN_PLACE,
    options.HINT,
    options.LOCK,
    options.SERVER,
    options.SHAPES,
    options.PREFIX,
    options.SECTION,
    options.SCRATCH,
    options.ORDER_ONLY,
    options.REPLAN,
    options.POINT,
    options.RECHECK,
    options.PROOF,
    options.OPB,
    options.PBP,
)


# Bytes of an input whose columns are large blocks.
_LARGE: Final = 1 << 20
# A document of some thousand buffers.
_MANY: Final = 1 << 17


def columns_in(args: argparse.Namespace, data: bytes, *, related: bool = False) -> "Columns | None":
    """The columns of a plain problem, or where wanted of a large related one; None for the ordinary way."""
    if len(data) > _LARGE:
        from memstow.api.process_memory import return_large_blocks

        # Else what one step has freed leaves holes, and takes memory beside that of the next.
        return_large_blocks(one_run=True)
    if os.environ.get("MEMSTOW_SERVER") or first_named(args, NEED_OBJECTS) is not None:
        return None
    from memstow.planner.plain.column_documents import columns_in

    # Of few buffers the ordinary way is as quick, and words what is wrong.
    columns = columns_in(data, args.format, related=related and len(data) > _MANY)
    if columns is None:
        return None
    columns.fit_only = columns.fit_only or args.fit_only
    if args.capacity is not None:
        if columns.pools_text or not 0 <= args.capacity <= 1 << 62:
            return None
        columns.set_memory(columns.pool, args.capacity)
    return columns if columns.are_plainly_sound() else None


def symbolic_columns_in(args: argparse.Namespace, data: bytes) -> "SymbolicColumns | None":
    """The columns of a large problem with symbols that is to get fixed offsets; None for the ordinary way."""
    if args.shapes != ("fixed", None) or len(data) <= _MANY or b'"symbols"' not in data:
        return None
    others = [option for option in NEED_OBJECTS if option is not options.SHAPES]
    if os.environ.get("MEMSTOW_SERVER") or first_named(args, others) is not None:
        return None
    from memstow.planner.plain.symbolic_documents import symbolic_columns_in

    return symbolic_columns_in(data)


# Options of documents that symbolic problems do not have.
_NOT_OF_SYMBOLS: Final = (
    options.FORMAT,
    options.PLAN_FORMAT,
    options.DEVICE,
    options.THEN,
    options.KEEP,
    *options.CHANGES,
    options.DIM,
    options.IN_PLACE,
    options.NO_IN_PLACE,
    options.POINT,
    options.HINT,
    options.RECHECK,
    options.VERIFY_PROOF,
)


def symbolic_in(data: bytes, path: str) -> "SymbolicDocument | None":
    """The problem or the graph with symbols in the bytes of this file; None if they are something else."""
    # A large file of something else need not be parsed to know.
    if b'"symbols"' not in data or not data.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        return None
    from memstow.planner.formats.native import read_symbolic_document

    with naming_file(path):
        return read_symbolic_document(data)


def in_operator_order(
    document: "SymbolicDocument", path: str, args: argparse.Namespace
) -> "SymbolicDocument":
    """The document of this file, a graph with the order of its operators that is asked for."""
    if args.order is None:
        return document
    from memstow.planner.graph.symbolic_graph import with_operator_order

    def of_option(issue: Issue) -> Issue:
        return replace(issue, path=options.ORDER.spelling) if issue.path.endswith(": order") else issue

    with changing_issues(of_option), naming_file(path):
        return with_operator_order(document, args.order)


def read_symbolic_plan_of(path: str) -> "SymbolicPlan":
    """The plan of a symbolic problem in the file."""
    from memstow.planner.formats.native import is_symbolic_plan, parse_symbolic_plan

    data = read_bytes_of(path)
    with naming_file(path):
        raw = parse_json(data)
        if not is_symbolic_plan(raw):
            message = "this is no plan of a problem with symbols, which says its `shapes`"
            raise InputError.single("not_symbolic", "$", message)
        return parse_symbolic_plan(raw)


def refuse_for_symbolic(args: argparse.Namespace) -> None:
    """Reject options that mean nothing for a problem with symbols."""
    option = first_named(args, _NOT_OF_SYMBOLS)
    if option is not None:
        message = "it is not for problems with symbols; leave it out"
        raise InputError.single("unused_option", option.spelling, message)
