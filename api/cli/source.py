"""How a command gets its problem: the arguments for it, reading it, and what the arguments change in it."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from api.cli.arguments import amount

if TYPE_CHECKING:
    from planner.errors import Issue
    from planner.plan import Plan
    from planner.problem import Problem
    from planner.target import Target

STDIN = "-"
READABLE = ("json", "csv", "structured", "executorch", "usmp")


def add_problem(parser: argparse.ArgumentParser, name: str = "file") -> None:
    """The problem file and its format."""
    parser.add_argument(name, metavar=name.upper(), help="the problem; - reads it from standard input")
    parser.add_argument(
        "--format", choices=READABLE, help="format of the problem (default: told from its content)"
    )


def add_changes(parser: argparse.ArgumentParser) -> None:
    """What may be changed in the problem without editing its file."""
    parser.add_argument(
        "--target",
        metavar="TARGET",
        help="plan for the pools of this target instead: a file, or a name that `memstow targets` lists",
    )
    parser.add_argument(
        "--capacity", type=amount, metavar="N", help="capacity of the only pool: 65536, 64KiB, 0x10000"
    )
    parser.add_argument(
        "--fit-only", action="store_true", help="ask for any plan that fits, not for the best"
    )


def read_problem(path: str, args: argparse.Namespace) -> "Problem":
    """The problem in the file, with the changes that the arguments ask for."""
    from planner import formats
    from planner.changed import changed

    problem = formats.read_problem(_read(path), args.format)
    target = None if args.target is None else read_target(args.target)
    return changed(problem, target, args.capacity, args.fit_only)


def read_target(name: str) -> "Target":
    """The target that ships under the name, or the one in the file."""
    from planner.errors import InputError
    from planner.reading.jsontext import parse_json
    from planner.reading.parse import parse_target
    from planner.reading.targets import shipped_target
    from planner.target import shipped

    if name in shipped():
        return shipped_target(name)
    try:
        with _told_of("--target"):
            return parse_target(parse_json(_read(name)))
    except InputError as error:
        raise InputError(map(_with_shipped, error.issues)) from None


def _with_shipped(issue: "Issue") -> "Issue":
    """The issue; of a file that is not there, with the names it may have been meant for."""
    from dataclasses import replace

    from planner.target import shipped

    if issue.code != "not_found":
        return issue
    known = ", ".join(shipped())
    return replace(issue, message=f"{issue.message}, and no target of that name comes with memstow ({known})")


def read_plan(path: str, problem: "Problem", argument: str, form: str | None = None) -> "Plan":
    """The plan for this problem in the file that the argument names."""
    from planner import formats

    with _told_of(argument):
        return formats.read_plan(_read(path), problem, form)


@contextmanager
def _told_of(argument: str) -> Iterator[None]:
    """A place inside a document says nothing where there are two of them: name the argument as well."""
    from dataclasses import replace

    from planner.errors import InputError

    try:
        yield
    except InputError as error:
        inside = (issue.path.startswith(("$", "line ")) for issue in error.issues)
        raise InputError(
            replace(issue, path=f"{argument} {issue.path}") if within else issue
            for issue, within in zip(error.issues, inside, strict=True)
        ) from None


def refuse_two_stdins(*paths: str | None) -> None:
    """Standard input can be read once only."""
    if sum(path == STDIN for path in paths) > 1:
        from planner.errors import InputError

        raise InputError.single("two_stdins", "arguments", "only one of the files can be standard input (-)")


def _read(path: str) -> bytes:
    from planner.errors import InputError
    from planner.reading.source import read_bytes

    if path == STDIN and sys.stdin is None:
        raise InputError.single("no_stdin", "standard input", "it is closed; name a file instead of -")
    return read_bytes(sys.stdin.buffer if path == STDIN else path)


def warn_if_terminal(path: str | None) -> None:
    """A person who typed - may not know that the program now waits for them."""
    from api.cli.terminal import complain, is_terminal

    if path == STDIN and is_terminal(sys.stdin):
        complain("reading from standard input; end with Ctrl-D")
