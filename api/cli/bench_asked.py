"""What `memstow bench run` is asked: its paths as instances, its arguments as solvers with options."""

import argparse
import os
import re
import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from planner.bench.instances import Generated, Instances
    from planner.bench.task import Asked

_GENERATE: Final = "generate:"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_RANGE: Final = re.compile(r"(\d+)\.\.(\d+)", re.ASCII)
_COMMON: Final = ("format", "target", "capacity", "fit_only", "time_limit", "memory")
_OURS: Final = ("gap", "deterministic", "work_limit", "workers")


def instances_of(path: str) -> "Instances":
    """The instances of one argument."""
    from planner.bench.instances import files

    return _generated(path) if path.startswith(_GENERATE) else files(path)


def asked_of(args: argparse.Namespace) -> "list[Asked]":
    """Every solver that takes part."""
    from planner.errors import InputError

    names = args.solvers if args.solvers is not None else "" if args.external else "auto"
    local = args.executor == "local"
    asked = [_solver(name.strip(), args, local) for name in names.split(",") if name.strip()]
    asked += [_external(text, args, local) for text in args.external]
    seen = [one.name for one in asked]
    if not asked or len(set(seen)) < len(seen):
        raise InputError.single("bad_solvers", "--solvers", "give some solvers, each name once")
    return asked


def _solver(name: str, args: argparse.Namespace, local: bool) -> "Asked":
    from planner.bench.task import Asked
    from planner.errors import MissingBackEndError, UnknownSolverError
    from solvers.models.register import BACK_ENDS
    from solvers.solver import names

    if name != "auto" and name not in names():
        raise UnknownSolverError(f"there is no solver {name!r}; use auto, {', '.join(names())}")
    missing = BACK_ENDS[name].how_to_get() if name in BACK_ENDS and local else None
    if missing is not None:
        raise MissingBackEndError(f"solver {name!r} needs {missing}")
    return Asked(name, _options(args, (*_COMMON, *_OURS)))


def _external(text: str, args: argparse.Namespace, local: bool) -> "Asked":
    # Slow to import, and this module is, whenever there is help to print.
    from shutil import which

    from planner.bench.task import Asked
    from planner.errors import InputError
    from solvers.solver import names

    name, equals, command = text.partition("=")
    try:
        parts = shlex.split(command)
    except ValueError as error:
        raise InputError.single("bad_external", "--external", f"{command!r}: {error}") from None
    if not (equals and parts and _NAME.fullmatch(name)):
        raise InputError.single(
            "bad_external", "--external", f"{text!r} is not like 'name=command {{input}} {{output}}'"
        )
    if name in ("auto", *names()):
        raise InputError.single("bad_external", "--external", f"{name!r} is the name of a solver of memstow")
    if "{input" not in command:
        raise InputError.single("bad_external", "--external", f"{text!r} has no place for {{input}}")
    if os.sep in parts[0]:
        parts[0] = os.path.abspath(parts[0])
    if local and which(parts[0]) is None:
        raise InputError.single(
            "bad_external", "--external", f"{parts[0]!r} is no program that can be started"
        )
    return Asked(name, _options(args, _COMMON), tuple(parts), os.getcwd())


def _options(args: argparse.Namespace, names: tuple[str, ...]) -> dict[str, Any]:
    from api.cli.source import read_target

    options = {name: getattr(args, name) for name in names}
    if args.target is not None:
        # Whole, since where it is run there may be no such file.
        options["target"] = asdict(read_target(args.target))
    return options


def _generated(path: str) -> "Generated":
    """`generate:KIND,n=N,seed=A..B,option=value`: the options of `memstow generate`."""
    from api.cli import generate
    from api.cli.arguments import Parser
    from planner.bench.instances import Generated
    from planner.errors import InputError

    kind, *settings = path.removeprefix(_GENERATE).split(",")
    ranges = {"n": range(0), "seed": range(0)}
    words = [kind]
    for setting in settings:
        name, equals, value = setting.partition("=")
        many = _RANGE.fullmatch(value) if name in ranges else None
        if many is not None:
            ranges[name] = range(int(many[1]), int(many[2]) + 1)
            if not ranges[name]:
                raise InputError.single("empty_range", path, f"{setting!r} is empty: write the smaller first")
            value = many[1]
        # A list has + between its words, since commas are between settings.
        words += [f"--{name}", *([value.replace("+", ",")] if equals else [])]
    parser: argparse.ArgumentParser = Parser(prog="memstow", allow_abbrev=False)
    generate.add(parser.add_subparsers())
    arguments = generate.arguments_of(parser.parse_args(["generate", *words]))
    n, seed = arguments.pop("n"), arguments.pop("seed")
    return Generated(kind, arguments, ranges["n"] or range(n, n + 1), ranges["seed"] or range(seed, seed + 1))
