"""The options of a search that the arguments say, and the service that searches instead."""

import argparse
import os
import time
from typing import TYPE_CHECKING, Final

from memstow.api.cli.problem_input import STDIN, read_plan
from memstow.planner.graph.documents import problem_of
from memstow.planner.model.errors import InputError
from memstow.planner.reading.json_text import FEW_BYTES
from memstow.records import replace

if TYPE_CHECKING:
    from memstow.api.client import Client
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.options import Options
    from memstow.planner.model.problem import Problem
    from memstow.planner.model.symbolic import SymbolicDocument

# As a service takes it.
_LONGEST_JOB_NAME: Final = 200


def refuse_unused_key(args: argparse.Namespace) -> None:
    """InputError for a key that opens nothing."""
    if args.key is not None and not args.server and not os.environ.get("MEMSTOW_SERVER"):
        message = "it is the key of a service, and none is asked: add --server URL, or leave it out"
        raise InputError.single("unused_option", "--key", message)


def options_of(args: argparse.Namespace, document: "Problem | Graph") -> "Options":
    """The options; a hint is a plan for this document."""
    options = options_without_hint(args)
    if args.hint is None:
        return options
    return replace(options, hint=read_plan(args.hint, problem_of(document)))


def less_reading(args: argparse.Namespace, options: "Options", size: int, began: float) -> "Options":
    """The options with what is left of the time since `began`: reading so many bytes takes a part of it."""
    takes_time = size >= FEW_BYTES
    if args.format is not None:
        from memstow.planner.formats import is_ours

        # What a plug-in reads, it reads in a process of its own.
        takes_time = takes_time or not is_ours(args.format)
    if options.deterministic or server_of(args) or not takes_time:
        return options
    return replace(options, time_limit=max(options.time_limit - (time.monotonic() - began), 0.0))


def options_without_hint(args: argparse.Namespace) -> "Options":
    """The options but for the hint."""
    from memstow.planner.model.options import Options, require_followed

    options = Options(
        time_limit=args.time_limit,
        solver=args.solver,
        gap=args.gap,
        deterministic=args.deterministic,
        seed=args.seed,
        work_limit=args.work_limit,
        memory_limit=args.memory_limit,
        workers=args.workers,
    )
    require_followed(options, "--time-limit", "--deterministic", "--work-limit")
    return options


def job_name(document: "Problem | Graph | SymbolicDocument", path: str) -> str | None:
    """What the job of a file is called at a service; None: as the problem is, or standard input."""
    if document.name is not None or path == STDIN:
        return None
    name = os.path.basename(path)[:_LONGEST_JOB_NAME]
    return "".join(entry if entry.isprintable() else "?" for entry in name)


def server_of(args: argparse.Namespace) -> str | None:
    """The service that searches instead."""
    server: str | None = args.server or os.environ.get("MEMSTOW_SERVER")
    return server


def client_of(server: str, key: str | None) -> "Client":
    """A client of the service, with this key or that of the environment.

    InputError where what it needs is not installed.
    """
    try:
        from memstow.api.client import Client
    except ModuleNotFoundError as error:
        message = "--server needs an extra that is not installed: pip install 'memstow[client]'"
        raise InputError.single("missing_extra", error.name or "memstow", message) from None
    return Client(server, key or os.environ.get("MEMSTOW_KEY"))
