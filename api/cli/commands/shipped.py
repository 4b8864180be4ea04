"""Commands that print what there is: version, solvers, formats, targets, schemas, completion for shells."""

import argparse
import sys
from collections.abc import Iterator, Sequence

from memstow.api.cli.output_files import to_stdout
from memstow.api.cli.parser import Commands, add_command, add_options, build_parser
from memstow.api.cli.terminal import Exit, columns
from memstow.api.options import Flag, Option


def add_version(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(commands, "version", "print the version", examples="memstow version")
    parser.set_defaults(run=run_version)


def run_version(_: argparse.Namespace) -> int:
    """Print the version."""
    from memstow import __version__

    print(f"memstow {__version__}")
    return Exit.DONE


def add_solvers(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "solvers",
        "list the solvers, with those of plug-ins, what each supports, and what is missing to use it",
        examples="memstow solvers\nmemstow solvers --json",
    )
    add_options(parser, Option("json", "print the list as JSON", Flag()))
    parser.set_defaults(run=run_solvers)


def run_solvers(args: argparse.Namespace) -> int:
    """List the solvers."""
    from memstow.planner.plugins.process import listed_solvers
    from memstow.solvers.registry import describe

    described = [*describe(), *listed_solvers()]
    if args.json:
        import json

        print(json.dumps([solver._asdict() for solver in described], indent=2))
        return Exit.DONE
    for solver in described:
        supports = [f"supports: {solver.supports}"] if solver.supports else []
        _print_entry(solver.name, [solver.summary, *supports], solver.package, solver.missing)
    return Exit.DONE


def _print_entry(name: str, lines: Sequence[str], package: str | None, missing: str | None) -> None:
    """One entry of a list: a name, what there is to say, and whose it is if it is a plug-in."""
    from textwrap import wrap

    from memstow.planner.show.formatting import plain

    print(plain(name))
    plug_in = [] if package is None else [f"a plug-in of {package}"]
    for text in (*lines, *plug_in):
        for line in wrap(plain(text, most=2000), columns(sys.stdout) - 4):
            print(f"    {line}")
    if missing:
        print(f"    not available, missing: {plain(missing, most=2000)}")


def add_formats(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "formats",
        "list the formats, with those of plug-ins, and what can be read and written in each",
        examples="memstow formats\nmemstow formats --json",
    )
    add_options(parser, Option("json", "print the list as JSON", Flag()))
    parser.set_defaults(run=run_formats)


def run_formats(args: argparse.Namespace) -> int:
    """List the formats."""
    from memstow.planner.formats.described import describe

    described = describe()
    if args.json:
        import json

        print(json.dumps([form._asdict() for form in described], indent=2))
        return Exit.DONE
    for form in described:
        both = (("problems", form.problems), ("plans", form.plans))
        can = "; ".join(f"{what}: {', '.join(ways)}" for what, ways in both if ways)
        _print_entry(form.name, [form.summary, can], form.package, form.missing)
    return Exit.DONE


def add_targets(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "targets",
        "list the targets that come with memstow, or print one",
        details="""
A target describes the pools of a device, for `memstow solve --target NAME`. To change one, print it to a
file, edit it, and pass the file as --target.""",
        examples="""
memstow targets
memstow targets rp2040 > board.json
memstow solve model.json --target board.json
""",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="the target to print, as JSON")
    parser.set_defaults(run=run_targets)


def run_targets(args: argparse.Namespace) -> int:
    """List the targets, or print one."""
    from memstow.planner.targets import shipped_text

    if args.name is None:
        _list_targets()
    else:
        to_stdout(shipped_text(args.name, "NAME"))
    return Exit.DONE


def _list_targets() -> None:
    from memstow.planner.show.formatting import human
    from memstow.planner.targets import shipped, shipped_target

    width = max(map(len, shipped()))
    for name in shipped():
        pools = shipped_target(name).pools
        shown = (f"{p.id} ({'unlimited' if p.capacity is None else human(p.capacity)})" for p in pools)
        print(f"{name:{width}}  {', '.join(shown)}")


SCHEMAS = (
    "problem",
    "options",
    "plan",
    "target",
    "graph",
    "front",
    "loops",
    "programs",
    "program-plans",
    "symbolic",
    "symbolic-plan",
    "symbolic-graph",
    "library-instance",
    "library-index",
)


def add_schema(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "schema",
        "print the JSON Schema of a problem, of options, of a plan, of a target, of a graph and others",
        examples="memstow schema\nmemstow schema plan > plan.schema.json",
    )
    parser.add_argument(
        "kind",
        nargs="?",
        choices=SCHEMAS,
        default=SCHEMAS[0],
        metavar="KIND",
        help=f"{', '.join(SCHEMAS)} (default: {SCHEMAS[0]})",
    )
    parser.set_defaults(run=run_schema)


def run_schema(args: argparse.Namespace) -> int:
    """Print the schema."""
    from memstow.planner.model.schema import schema_text

    to_stdout(schema_text(args.kind).encode())
    return Exit.DONE


def add_cmake_dir(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "cmake-dir",
        "print the folder from which CMake's find_package(memstow) works",
        details="The package has the function memstow_plan(TARGET PROBLEM ...), which plans at build time.",
        examples="""
memstow cmake-dir
cmake -S . -B build -Dmemstow_DIR="$(memstow cmake-dir)"
""",
    )
    parser.set_defaults(run=run_cmake_dir)


def run_cmake_dir(_args: argparse.Namespace) -> int:
    """Print the folder."""
    from pathlib import Path

    print(Path(__file__).resolve().parents[2] / "cmake")
    return Exit.DONE


SHELLS = ("bash", "zsh", "fish", "tcsh")
# What an argument takes is known by the name that its help shows.
_FILES = ("FILE", "PROBLEM", "PLAN", "IN", "OUT", "PATH", "OLD", "NEW")
_FOLDERS = ("DIR", "FOLDER")


def add_completion(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "completion",
        "print a script that completes memstow's commands and options in a shell",
        details="Load it where the shell starts, as the examples do for bash and zsh.",
        examples="""
memstow completion bash > ~/.local/share/bash-completion/completions/memstow
memstow completion zsh > ~/.zfunc/_memstow
memstow completion fish > ~/.config/fish/completions/memstow.fish
""",
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    parser.set_defaults(run=run_completion)


def run_completion(args: argparse.Namespace) -> int:
    """Print the script for the shell."""
    import shtab

    parser = build_parser()
    for action in _arguments_of(parser):
        _set_values(action)
    to_stdout(shtab.complete(parser, args.shell).encode())
    return Exit.DONE


def _arguments_of(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Every argument of the parser and of the commands below it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from _arguments_of(child)
        else:
            yield action


def _set_values(action: argparse.Action) -> None:
    """Say what completes the argument: files, folders, or the names that a list of memstow holds."""
    import shtab

    from memstow.planner.targets import shipped
    from memstow.solvers.registry import names

    if _takes(action, _FILES):
        action.complete = shtab.FILE  # type: ignore[attr-defined]
    elif _takes(action, _FOLDERS):
        action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    elif action.metavar == "TARGET":
        action.choices = shipped()
    elif action.dest == "solver":
        action.choices = ("auto", *names())


def _takes(action: argparse.Action, values: tuple[str, ...]) -> bool:
    shown = action.metavar if isinstance(action.metavar, tuple) else (action.metavar,)
    return any(name in values for name in shown)
