"""`memstow front`: all plans worth choosing from between two terms."""

import argparse
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from memstow.api import options
from memstow.api.cli.output_files import (
    STDOUT,
    refuse_one_file_twice,
    refuse_unwritable,
    suffix_of,
    to_stdout,
    write_out,
)
from memstow.api.cli.parser import Commands, add_command, add_option, add_options
from memstow.api.cli.problem_input import (
    add_graph_changes,
    add_problem,
    document_in,
    read_bytes_of,
    read_target,
    refuse_two_stdins,
    warn_if_terminal,
)
from memstow.api.cli.search_arguments import (
    client_of,
    job_name,
    less_reading,
    options_of,
    refuse_unused_key,
    server_of,
)
from memstow.api.cli.terminal import Exit, Interruptible, Line, is_terminal, print_error
from memstow.api.options import GENERATORS
from memstow.planner.model.errors import InputError, changing_issues
from memstow.planner.show.formatting import plain

_NONE: Final = "none"


def _add_front(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say which front is asked for."""
    front = parser.add_argument_group("front")
    add_option(front, options.TERMS, type=_two)
    add_option(front, options.WITH, type=_generators, default=None)
    add_options(front, options.COST, options.WITHIN, options.POINTS)
    add_option(front, options.TARGETS, action="append")
    add_option(front, options.CAPACITY)


def _two(text: str) -> tuple[str, str]:
    first, comma, second = text.partition(",")
    if not comma or not first or not second or "," in second:
        message = f"'{plain(text, most=80)}' is not two terms: write for example peak:fast,placement_cost"
        raise argparse.ArgumentTypeError(message)
    return first, second


def _generators(text: str) -> tuple[str, ...]:
    if text == _NONE:
        return ()
    names = tuple(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in GENERATORS:
            message = f"'{plain(name, most=80)}' is none of {', '.join(GENERATORS)}, or {_NONE}"
            raise argparse.ArgumentTypeError(message)
    return names


if TYPE_CHECKING:
    from memstow.planner.model.front import Front, FrontOptions, FrontPoint
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.options import Event, Listener, Options
    from memstow.planner.model.problem import Problem, Target

# The options by the names that issues have.
_OPTIONS: Final = {"hint": "--hint", "generators": "--with", "cost": "--cost"}
_FORMAT_OF: Final = {".json": "json", ".csv": "csv", ".svg": "svg"}


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "front",
        "find all plans worth choosing from between two terms, such as memory against work",
        details="""
Prints a line for each point: a plan that no other plan beats in one term without being worse in the
other. Both ends are found first. Ctrl-C prints the points found so far; a second one exits immediately.

Exit code 0: a plan was found; 3: proven infeasible; 4: no plan and no proof; 130: interrupted.""",
        examples="""
memstow front model.json --terms peak:fast,placement_cost
memstow front model.json --terms capacity:fast,placement_cost --output front.svg --output front.json
memstow front model.json --within 1.1 --points 8
memstow front model.tflite --with stripes,recompute --time-limit 60
memstow front model.tflite --target stm32h743,corstone300
""",
    )
    add_problem(parser)
    _add_front(parser)
    add_graph_changes(parser)
    add_options(parser.add_argument_group("search"), *options.SEARCH)
    add_options(parser.add_argument_group("limits"), *options.LIMITS)
    add_options(parser.add_argument_group("service"), options.SERVER, options.KEY)
    results = parser.add_argument_group("results")
    add_options(results, options.FRONT_OUTPUT, options.FRONT_JSON, options.FRONT_QUIET)
    parser.set_defaults(run=run, target=None, fit_only=False)


def run(args: argparse.Namespace) -> int:
    """Read the problem, find the front, and write it."""
    outputs = _outputs(args)
    refuse_two_stdins(args.file, args.hint)
    refuse_unused_key(args)
    if args.targets and args.capacity is not None:
        message = "each target says how large its memories are; leave this or --target out"
        raise InputError.single("unused_option", "--capacity", message)
    warn_if_terminal(args.file)
    data = read_bytes_of(args.file)
    began, size = time.monotonic(), len(data)
    document = document_in(data, args.file, args)
    del data
    names = [name for data in args.targets or () for name in data.split(",")]
    targets = [read_target(name) for name in names]
    with changing_issues(lambda issue: replace(issue, path=_OPTIONS.get(issue.path, issue.path))):
        options = less_reading(args, options_of(args, document), size, began)
        front, interrupted = _find(args, document, options, _Targets(names, targets))
    _write(args, front, outputs)
    if interrupted:
        print_error("interrupted: these are the points found so far")
        return Exit.INTERRUPTED
    return _exit_code(front)


@dataclass(frozen=True, slots=True)
class _Targets:
    """The targets to compare, with the names that the user gave them."""

    names: "Sequence[str]"
    targets: "Sequence[Target]"


@dataclass(frozen=True, slots=True)
class _Hearing:
    """Who hears of the run, and may stop it."""

    event: "Listener"
    values: "Callable[[Mapping[str, object]], None]"
    cancel: threading.Event


class _Progress(Line):
    """Shows how many points there are."""

    points = 0

    def line(self, elapsed: float) -> str:
        """The number of points and the time."""
        return f"{self.points:,} points  {elapsed:.1f} s"


def _find(
    args: argparse.Namespace, document: "Problem | Graph", options: "Options", targets: _Targets
) -> "tuple[Front, bool]":
    from memstow.planner.model.front import FrontOptions
    from memstow.planner.model.options import Phase

    front_options = FrontOptions(
        terms=args.terms,
        generators=args.generators,
        cost=args.cost,
        within=args.within,
        points=args.points,
    )
    progress = _Progress(sys.stderr) if is_terminal(sys.stderr) else None
    server = server_of(args)
    given_up: dict[str, None] = {}
    known: set[tuple[object, ...]] = set()

    def hear(event: "Event") -> None:
        if isinstance(event, Phase) and event.is_note:
            given_up[event.name] = None

    def count(values: "Mapping[str, object]") -> None:
        known.add((values.get("target"), *(value for value in values.values() if type(value) is int)))
        if progress is not None:
            progress.points = len(known)

    def work(cancel: threading.Event) -> "Front":
        hearing = _Hearing(hear, count, cancel)
        if server:
            return _remote(args, server, document, front_options, options, targets, hearing)
        return _front(document, front_options, options, targets, hearing)

    call = Interruptible(work)
    front = call.run(progress)
    for line in given_up:
        print_error(plain(line, most=300))
    return front, call.interrupted


def _front(
    document: "Problem | Graph",
    front_options: "FrontOptions",
    options: "Options",
    targets: _Targets,
    hearing: _Hearing,
) -> "Front":
    from memstow.planner.front.find_front import find_front
    from memstow.planner.front.front_request import FrontCallbacks

    def hear(target: str | None, point: "FrontPoint", _so_far: object) -> None:
        hearing.values({"target": target, **point.values})

    callbacks = FrontCallbacks(hearing.event, hearing.cancel)
    return find_front(
        document, front_options, options, callbacks, hear, targets=targets.targets, names=targets.names
    )


def _remote(
    args: argparse.Namespace,
    server: str,
    document: "Problem | Graph",
    front_options: "FrontOptions",
    options: "Options",
    targets: _Targets,
    hearing: _Hearing,
) -> "Front":
    client = client_of(server, args.key)
    from memstow.api.client.runs import find_front
    from memstow.planner.front.find_front import parts_of
    from memstow.planner.model.front import Front

    # The server calls them as the user does.
    called = [replace(target, name=name) for target, name in zip(targets.targets, targets.names, strict=True)]
    with client:
        front = find_front(
            client,
            document,
            front_options,
            options,
            hearing.values,
            hearing.cancel.is_set,
            called,
            job_name(document, args.file),
        )
    if front is not None:
        return front
    return Front(
        terms=parts_of(document, front_options, options, called)[0].request.terms, request=front_options
    )


def _outputs(args: argparse.Namespace) -> list[tuple[str, str]]:
    """The files to write, with their formats."""
    outputs = []
    for path in args.output or ():
        form = _FORMAT_OF.get(suffix_of(path))
        if form is None or path == STDOUT:
            message = "use a name that ends with .json, .csv or .svg; --json prints the front"
            raise InputError.single("unknown_suffix", plain(path), message)
        outputs.append((path, form))
    refuse_unwritable(*(path for path, _ in outputs))
    refuse_one_file_twice([(path, "the front") for path, _ in outputs], {"the problem": args.file})
    return outputs


def _write(args: argparse.Namespace, front: "Front", outputs: "Sequence[tuple[str, str]]") -> None:
    from memstow.planner.front.front_documents import write_front
    from memstow.planner.show.front_report import front_report

    if args.json:
        to_stdout(write_front(front, "json"))
    elif not args.quiet:
        print(front_report(front))
    for path, form in outputs:
        write_out(write_front(front, form), path)


def _exit_code(front: "Front") -> int:
    if front.points or any(target.points for target in front.targets):
        return Exit.DONE
    proven = all(target.fits == "no" for target in front.targets) if front.targets else front.complete
    return Exit.INFEASIBLE if proven else Exit.UNKNOWN
