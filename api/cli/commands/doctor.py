"""`memstow doctor`: what is installed, what is missing and what would bring it, and what a server answers."""

import argparse
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from memstow.api.cli.parser import Commands, add_command, add_options
from memstow.api.cli.terminal import Exit, columns, print_error
from memstow.api.options import Flag, Option, Text

if TYPE_CHECKING:
    from memstow.api.client.checkup import Checkup
    from memstow.api.installation import Extra, Installation, Package


_OPTIONS: Final = (
    Option("extra", "an extra that has to be complete", Text(), "NAME", is_repeated=True),
    Option("server", "URL of a service to ask as well", Text(), "URL", otherwise="``MEMSTOW_SERVER``"),
    Option("key", "API key for the server", Text(), "KEY", otherwise="``MEMSTOW_KEY``"),
    Option("json", "print all of it as JSON", Flag()),
)


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "doctor",
        "show what is installed, what is missing, and what a server answers",
        details="""
Says which commands bring what is missing. The exit code is 6 if memstow itself cannot work, an extra named
by --extra is not complete, or the server cannot be used: what does not work is on standard error.""",
        examples="""
memstow doctor
memstow doctor --extra service --extra cpsat
memstow doctor --server http://planner:8080
""",
    )
    add_options(parser, *_OPTIONS)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Look, ask the server, and say what does not work."""
    from memstow.api.installation import EXTRAS, OF_ALL, look

    extras: list[str] = args.extra or []
    _require_extras(extras, (*EXTRAS, "all"))
    wanted = {*extras, *(OF_ALL if "all" in extras else ())}
    installation = look()
    server = args.server or os.environ.get("MEMSTOW_SERVER")
    checkup = None if server is None else _checkup(server, args.key or os.environ.get("MEMSTOW_KEY"))
    faults = list(_faults(installation, wanted))
    if isinstance(checkup, str):
        faults.append(checkup)
        checkup = None
    elif checkup is not None:
        faults += checkup.faults
    if args.json:
        import json

        print(json.dumps(_document(installation, checkup, faults), indent=2))
    else:
        _print_installation(installation)
        if checkup is not None:
            _print_checkup(checkup)
    from memstow.planner.show.formatting import plain

    for fault in faults:
        print_error(plain(fault))
    return Exit.NOT_WORKING if faults else Exit.DONE


def _require_extras(extras: list[str], known: tuple[str, ...]) -> None:
    from memstow.planner.model.errors import InputError, closest_match
    from memstow.planner.model.printable import shown

    for name in extras:
        if name not in known:
            close = closest_match(name, known)
            meant = f"; did you mean {close}?" if close is not None else f"; there are {', '.join(known)}"
            raise InputError.single("unknown_extra", "--extra", f"there is no extra {shown(name)}{meant}")


def _checkup(server: str, key: str | None) -> "Checkup | str":
    """What the server answers, or why it cannot be asked."""
    try:
        from memstow.api.client.checkup import check
    except ModuleNotFoundError as error:
        return f"--server needs the extra client, which lacks {error.name}: pip install 'memstow[client]'"
    return check(server, key)


def _faults(installation: "Installation", wanted: set[str]) -> Iterator[str]:
    if installation.native_error is not None:
        yield f"the native core cannot be loaded: {installation.native_error}"
    for package in installation.packages:
        if not package.fits:
            yield f"memstow needs {_state(package)}"
    for extra in installation.extras:
        if extra.name in wanted and extra.missing:
            yield f"the extra {extra.name} lacks {_states(extra)}; install it with: {extra.command}"


def _document(
    installation: "Installation", checkup: "Checkup | None", faults: list[str]
) -> dict[str, object]:
    return {
        "version": installation.version,
        "python": installation.python,
        "platform": installation.platform,
        "works": not faults,
        "faults": faults,
        "native_error": installation.native_error,
        "packages": [_package_json(package) for package in installation.packages],
        "extras": [
            {
                "name": extra.name,
                "purpose": extra.purpose,
                "complete": not extra.missing,
                "packages": [_package_json(package) for package in extra.packages],
                "command": extra.command if extra.missing else None,
            }
            for extra in installation.extras
        ],
        "programs": installation.programs,
        "runtime": _package_json(installation.runtime),
        "server": None if checkup is None else asdict(checkup),
    }


def _package_json(package: "Package") -> dict[str, object]:
    return {**package._asdict(), "fits": package.fits}


def _print_installation(installation: "Installation") -> None:
    print(f"memstow {installation.version}, Python {installation.python}, {installation.platform}")
    print(f"native core: {'works' if installation.native_error is None else 'cannot be loaded'}")
    _print_words("needs", [_state(package) for package in installation.packages])
    for extra in installation.extras:
        print(f"extra {extra.name}: {extra.purpose}")
        _print_words("has", [_state(package) for package in extra.packages if package.fits])
        if extra.missing:
            _print_words("lacks", [_state(package) for package in extra.missing])
            print(f"    install it with: {extra.command}")
    runtime = installation.runtime
    here = f"none; pip install --pre {runtime.name}" if runtime.version is None else runtime.version
    print(f"{runtime.name}, for solve --scratch measure: {here}")
    for name, place in installation.programs.items():
        print(f"{name}: {place or 'none; only needed to build memstow, or what it writes'}")


def _print_checkup(checkup: "Checkup") -> None:
    from memstow.planner.show.formatting import plain

    for line in checkup.lines():
        print(plain(line))


def _print_words(name: str, words: list[str]) -> None:
    from textwrap import wrap

    if words:
        for line in wrap(f"{name} {', '.join(words)}", columns(sys.stdout) - 4, subsequent_indent="  "):
            print(f"    {line}")


def _states(extra: "Extra") -> str:
    return ", ".join(map(_state, extra.missing))


def _state(package: "Package") -> str:
    """The package with its version; where it does not fit, with what is wanted."""
    if package.fits:
        return f"{package.name} {package.version}"
    here = "" if package.version is None else f" (here is {package.version})"
    return f"{package.name}{package.limits}{here}"
