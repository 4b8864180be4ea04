"""The arguments of `memstow bench run` as instances and solvers with options."""

import argparse
import os
import re
import shlex
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from memstow.planner.bench.instances import Generated, Instances
    from memstow.planner.bench.task import RunOptions, SolverRequest

_GENERATE: Final = "generate:"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_RANGE: Final = re.compile(r"(\d+)\.\.(\d+)", re.ASCII)
_RANGED: Final = ("n", "seed")
ORDERS: Final = ("free", "lpmf", "dfs", "given", "cpsat")
"""Who may order the operators of a graph: the search for the best order, rules, a model."""
_MODEL: Final = "cpsat"
# The name of both external programs of --interleave.
_PROGRAM: Final = "program"
_WATCHES: Final = "memstow.planner.bench.supervisor"
# Options of `memstow generate` that are not the problem's.
_OF_A_FILE: Final = ("output", "output-format")
_MOST_GENERATED: Final = 1_000_000_000


def instances_of(path: str) -> "Instances":
    """The instances that one path argument names."""
    from memstow.planner.bench.instances import files

    return _generated(path) if path.startswith(_GENERATE) else files(path)


def solver_requests(args: argparse.Namespace) -> "list[SolverRequest]":
    """All solvers to run."""
    asked = _solvers(args)
    asked += [_external(text, args, args.executor == "local") for text in args.external]
    return _each_once(asked)


def sides_of(args: argparse.Namespace) -> "list[tuple[list[SolverRequest], str]]":
    """For each side of --interleave its solvers, and the Python that runs them."""
    from memstow.planner.model.errors import InputError

    if args.external or args.executor != "local" or args.jobs != 1:
        message = (
            "it cannot be combined with --external, --executor or --jobs, because runs are made in pairs"
        )
        raise InputError.single("bad_interleave", "--interleave", message)
    programs = ["{input" in one for one in args.interleave]
    if any(programs):
        if not all(programs) or args.solvers is not None:
            message = (
                "give two commands that contain {input}, without --solvers; or two installations of memstow"
            )
            raise InputError.single("bad_interleave", "--interleave", message)
        return [([_external(f"{_PROGRAM}={one}", args, True)], sys.executable) for one in args.interleave]
    return [(_each_once(_solvers(args)), _python_of(one)) for one in args.interleave]


def _python_of(text: str) -> str:
    """The Python of a `memstow` program or of a venv."""
    import subprocess
    from pathlib import Path
    from shutil import which

    from memstow.planner.model.errors import InputError

    found = which(str(Path(text) / "bin" / "memstow") if Path(text).is_dir() else text)
    # The link is followed to the program, and the Python beside it is not: it may be a link out of its venv.
    python = None if found is None else str(Path(found).resolve().with_name("python"))
    if python is not None and os.access(python, os.X_OK):
        runs = [python, "-P", "-c", f"import {_WATCHES}"]
        if subprocess.run(runs, capture_output=True, check=False).returncode == 0:  # noqa: S603
            return python
    message = f"{text!r} is neither a venv with memstow or its program, nor a command with {{input}}"
    raise InputError.single("bad_interleave", "--interleave", message)


def _solvers(args: argparse.Namespace) -> "list[SolverRequest]":
    names = args.solvers if args.solvers is not None else "" if args.external else "auto"
    local = args.executor == "local" and args.interleave is None
    return [
        _solver(name.strip(), order, args, local)
        for order in _orders(args, local)
        for name in names.split(",")
        if name.strip()
    ]


def _orders(args: argparse.Namespace, local: bool) -> "list[str | None]":
    """Who orders the operators of graphs; None for graphs as they are listed."""
    from memstow.planner.model.errors import InputError, MissingBackEndError
    from memstow.solvers.registry import BACK_ENDS

    if args.orders is None:
        return [None]
    names = [name.strip() for name in args.orders.split(",") if name.strip()]
    if not names or any(name not in ORDERS for name in names):
        message = f"name one or more of {', '.join(ORDERS)}, with commas between them"
        raise InputError.single("bad_orders", "--orders", message)
    missing = BACK_ENDS[_MODEL].how_to_get() if _MODEL in names and local else None
    if missing is not None:
        raise MissingBackEndError(f"the order {_MODEL!r} needs {missing}")
    return list(names)


def _each_once(asked: "list[SolverRequest]") -> "list[SolverRequest]":
    from memstow.planner.model.errors import InputError

    seen = [one.title for one in asked]
    if not asked or len(set(seen)) < len(seen):
        message = "name at least one solver, and each solver and each order only once"
        raise InputError.single("bad_solvers", "--solvers", message)
    return asked


def _solver(name: str, order: str | None, args: argparse.Namespace, local: bool) -> "SolverRequest":
    from memstow.planner.bench.task import SolverRequest
    from memstow.planner.model.errors import MissingBackEndError
    from memstow.planner.solve.portfolio import solver_by_name
    from memstow.solvers.registry import BACK_ENDS

    solver_by_name(name)
    missing = BACK_ENDS[name].how_to_get() if name in BACK_ENDS and local else None
    if missing is not None:
        raise MissingBackEndError(f"solver {name!r} needs {missing}")
    options = _solver_options(args)
    if order is not None:
        options["order"] = order
    return SolverRequest(name, options, repeat_seconds=args.repeat_for)


def _external(text: str, args: argparse.Namespace, local: bool) -> "SolverRequest":
    # Slow to import, while this module is imported whenever help is printed.
    from shutil import which

    from memstow.planner.bench.task import SolverRequest
    from memstow.planner.model.errors import InputError
    from memstow.solvers.registry import names

    name, equals, command = text.partition("=")
    try:
        parts = shlex.split(command)
        command.encode()  # it is recorded, so it must be valid text
    except ValueError as error:
        raise InputError.single("bad_external", "--external", f"{command!r}: {error}") from None
    if not (equals and parts and _NAME.fullmatch(name)):
        raise InputError.single(
            "bad_external",
            "--external",
            f"{text!r} does not have the form 'name=command {{input}} {{output}}'",
        )
    if name in ("auto", *names()):
        raise InputError.single("bad_external", "--external", f"{name!r} is the name of a solver of memstow")
    if "{input" not in command:
        raise InputError.single("bad_external", "--external", f"{text!r} does not contain {{input}}")
    if os.sep in parts[0]:
        parts[0] = os.path.abspath(parts[0])
    if local and which(parts[0]) is None:
        raise InputError.single("bad_external", "--external", f"{parts[0]!r} is not an executable program")
    return SolverRequest(name, _run_options(args), tuple(parts), os.getcwd(), args.repeat_for)


def _run_options(args: argparse.Namespace) -> "RunOptions":
    from memstow.api.cli.problem_input import read_target

    return {
        "format": args.format,
        # The target itself, since the file may not exist where the run is executed.
        "target": None if args.target is None else asdict(read_target(args.target)),
        "capacity": args.capacity,
        "fit_only": args.fit_only,
        "time_limit": args.time_limit,
        "memory": args.memory,
    }


def _solver_options(args: argparse.Namespace) -> "RunOptions":
    return {
        **_run_options(args),
        "gap": args.gap,
        "deterministic": args.deterministic,
        "work_limit": args.work_limit,
        "workers": args.workers,
    }


def _generated(path: str) -> "Generated":
    """`generate:KIND,n=N,seed=A..B,option=value`: the options of `memstow generate`."""
    from memstow.planner.bench.instances import Generated
    from memstow.planner.model.errors import InputError

    kind, *settings = (part.strip() for part in path.removeprefix(_GENERATE).split(","))
    settings = [setting for setting in settings if setting]
    named = [setting.partition("=")[0] for setting in settings]
    for name in named:
        if named.count(name) > 1 or name in _OF_A_FILE:
            why = (
                "is given twice"
                if name not in _OF_A_FILE
                else "selects an output file, which is not possible here"
            )
            raise InputError.single("bad_generate", path, f"{name!r} {why}")
    first, last = (_generator_arguments(kind, settings, end) for end in (1, 2))
    counts, seeds = (range(first.pop(name), last[name] + 1) for name in _RANGED)
    if not counts or not seeds:
        raise InputError.single("empty_range", path, "the range is empty: write the smaller number first")
    if seeds.stop - seeds.start > _MOST_GENERATED // len(counts):
        raise InputError.single("too_many", path, f"more than {_MOST_GENERATED:,} problems")
    return Generated(kind, first, counts, seeds)


def _generator_arguments(kind: str, settings: list[str], end: int) -> dict[str, Any]:
    """The arguments of the generator, with the first (1) or the last (2) number of each range."""
    from memstow.api.cli.commands import generate
    from memstow.api.cli.parser import Parser

    words = [kind]
    for setting in settings:
        name, equals, value = setting.partition("=")
        ends = _RANGE.fullmatch(value) if name in _RANGED else None
        # A list has + between its words, since commas are between settings.
        words += [f"--{name}", *([ends[end] if ends else value.replace("+", ",")] if equals else [])]
    parser: argparse.ArgumentParser = Parser(prog="memstow", allow_abbrev=False)
    generate.add(parser.add_subparsers())
    return generate.arguments_of(parser.parse_args(["generate", *words]))


def two_solvers(text: str) -> tuple[str, str]:
    """The names of two solvers, from `A,B`."""
    first, comma, second = text.partition(",")
    if not (comma and first and second) or first == second:
        raise argparse.ArgumentTypeError(f"{text!r} is not two solver names separated by a comma")
    return first, second
