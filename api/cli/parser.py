"""The parser of the command line: how a command is added, its help, its errors, and the types of its values.

Errors are short and suggest the closest option or command. Amounts are bytes or 64KiB, times seconds or 50ms.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NoReturn

from memstow.api.cli.terminal import Exit, columns, print_error
from memstow.api.options import (
    Amount,
    Choice,
    Duration,
    Flag,
    Format,
    Kind,
    Option,
    Pair,
    Real,
    Switch,
    Text,
    Whole,
    in_terminal,
)
from memstow.planner.show.formatting import plain

COMMANDS: Final = (
    "solve",
    "front",
    "verify",
    "view",
    "inspect",
    "convert",
    "build",
    "tile",
    "evaluate",
    "generate",
    "bench",
    "library",
    "solvers",
    "formats",
    "targets",
    "schema",
    "serve",
    "keys",
    "admin",
    "db",
    "cmake-dir",
    "completion",
    "doctor",
    "version",
)

# Where a module holds several commands: its name; each is added by its `add_NAME`, not by `add`.
_SHARED: Final = {
    "db": "serve",
    **dict.fromkeys(
        ("solvers", "formats", "targets", "schema", "cmake-dir", "completion", "version"), "shipped"
    ),
}

_EPILOG = """\
examples:
  memstow generate network --n 40 --output net.json
  memstow solve net.json
  memstow solve net.json --capacity 2MiB --json > plan.json
  memstow verify net.json plan.json --capacity 2MiB

exit codes:
  0 done; 1 the plan is invalid, or with --strict not all claims were
  checked (verify), or not all is right, better or reached (library);
  2 bad input or usage; 3 proven infeasible; 4 no plan and no proof;
  5 something got worse (bench compare, bench run --interleave);
  6 something does not work (doctor); 70 a defect of memstow;
  130 interrupted; 141 the reader of the output closed it

`memstow COMMAND --help` explains a command."""


_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
# 64KB is 64,000 bytes by the standard, but often used for 65,536.
_AMBIGUOUS_UNITS = ("kb", "mb", "gb", "tb")
_SECONDS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
# Compiled where they are first used: most runs use none.
_AMOUNT = r"(?P<number>[0-9][0-9_]*(?:\.[0-9]+)?)\s*(?P<unit>[a-z]*)"
_DURATION = r"(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(?P<unit>[a-z]*)"
_LARGEST = 1 << 62


class Help(argparse.HelpFormatter):
    """Help as wide as the terminal; finding the width here spares importing shutil at every start."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=columns(sys.stdout) - 2)

    def add_argument(self, action: argparse.Action) -> None:
        """Add the argument; argparse does not count the indentation of the names of commands."""
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            longest = max(map(len, action.choices), default=0)
            indent = self._current_indent + self._indent_increment
            self._action_max_length = max(self._action_max_length, longest + indent)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Wrap paragraphs to the width of the terminal, but not indented text such as examples."""
        from textwrap import fill

        filled = (
            part if "\n  " in part else fill(part, width, initial_indent=indent, subsequent_indent=indent)
            for part in text.split("\n\n")
        )
        return "\n\n".join(filled)


# It would look for translations of its words, of which there are none, and ours are English. Titles without a
# description have None.
vars(argparse)["_"] = lambda words: words

Commands = argparse._SubParsersAction  # argparse offers no public name for the type


def build_parser(commands: Sequence[str] = COMMANDS) -> argparse.ArgumentParser:
    """The argument parser, with these commands."""
    parser = Parser(
        prog="memstow",
        description="Static memory planner: chooses a pool and an offset for every buffer of a program.",
        epilog=_EPILOG,
        formatter_class=Help,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    added = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    for command in commands:
        module = import_module(f"memstow.api.cli.commands.{_SHARED.get(command, command)}")
        add = f"add_{command.replace('-', '_')}" if command in _SHARED else "add"
        getattr(module, add)(added)
    return parser


def add_command(
    commands: "Commands[argparse.ArgumentParser]",
    name: str,
    summary: str,
    *,
    examples: str,
    details: str = "",
) -> argparse.ArgumentParser:
    """Add a command with a one-line summary, and examples at the end of its help."""
    return commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}." + (f"\n\n{details.strip()}" if details else ""),
        epilog="examples:\n" + "\n".join(f"  {line}" for line in examples.strip().splitlines()),
        formatter_class=Help,
        allow_abbrev=False,
    )


def add_options(group: argparse._ActionsContainer, *options: Option) -> None:
    """Add options of the table to a parser, or to a group of its help."""
    for option in options:
        add_option(group, option)


def add_option(group: argparse._ActionsContainer, option: Option, **own: Any) -> None:
    """Add an option of the table; `own`: arguments of `add_argument` that only this command has."""
    words = {"help": in_terminal(option), "default": option.default, **_of_kind(option.kind)}
    if option.flag:
        words["dest"] = option.name
    if option.is_repeated:
        words["action"] = "append"
    if option.metavar is not None:
        words["metavar"] = option.metavar
    flags = (option.short, option.spelling) if option.short else (option.spelling,)
    action = group.add_argument(*flags, **(words | own))
    # For the tables of docs/cli.md.
    vars(action)["option"] = option


def first_named(args: argparse.Namespace, options: Iterable[Option]) -> Option | None:
    """The first of these options that the command line names, with another value than holds without it."""
    for option in options:
        value = getattr(args, option.name, None)
        if value is None or value is False or value in ([], option.default, option.silent):
            continue
        return option
    return None


def _of_kind(kind: Kind) -> dict[str, Any]:
    """What `add_argument` is told of a kind of value."""
    match kind:
        case Flag():
            return {"action": "store_true", "default": False}
        case Switch():
            return {"action": argparse.BooleanOptionalAction}
        case Whole(least=least, most=most):
            return {"type": whole(least, most)}
        case Real(least=lower, most=upper):
            return {"type": real(lower, upper)}
        case Duration(most=longest):
            return {"type": duration(longest)}
        case Amount(least=least):
            return {"type": amount_from(least) if least else amount}
        case Format(values=values):
            return {"choices": _Formats(values)}
        case Choice(values=values):
            return {"choices": values}
        case Pair():
            return {"type": pair(kind)}
        case Text():
            return {}


class _Formats(tuple[str, ...]):
    """Names of formats; one that is not listed may be that of a plug-in."""

    __slots__ = ()

    def __contains__(self, name: object) -> bool:
        if super().__contains__(name):
            return True
        if not isinstance(name, str):
            return False
        # Looking for plug-ins takes as long as a small solve.
        from memstow.planner.plugins.installed import find

        return find("format", name) is not None


def amount(text: str) -> int:
    """Bytes as people write them: 65536, 64KiB, 64K, 1.5MiB, 0x10000."""
    lowered = text.strip().lower()
    if re.fullmatch(r"0x[0-9a-f_]*[0-9a-f]", lowered):
        value = int(lowered, 16)
    else:
        match = re.fullmatch(_AMOUNT, lowered, re.ASCII)
        if match is None or (factor := _factor(text, match)) is None:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not an amount of bytes, such as 65536, 64KiB or 0x10000"
            )
        whole, _, fraction = match["number"].replace("_", "").partition(".")
        value, rest = divmod(int(whole + fraction) * factor, 10 ** len(fraction))
        if rest:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of bytes")
    if value > _LARGEST:
        raise argparse.ArgumentTypeError(f"{text!r} is more than 2^62 bytes")
    return value


def amount_from(least: int) -> Callable[[str], int]:
    """The type of an amount of bytes with a minimum."""

    def parse(text: str) -> int:
        value = amount(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{text!r} is out of range: it must be at least {least:,}")
        return value

    return parse


def _factor(text: str, match: "re.Match[str]") -> int | None:
    unit, number = match["unit"], match["number"]
    if unit in _AMBIGUOUS_UNITS:
        letter = unit[0].upper()
        steps = 1 + "KMGT".index(letter)
        whole, _, fraction = number.replace("_", "").partition(".")
        in_full = int(whole + fraction) * 1000**steps // 10 ** len(fraction)
        raise argparse.ArgumentTypeError(
            f"{text!r} is ambiguous: write {number}{letter}iB for units of {1024**steps:,} bytes, "
            f"or {in_full} for units of {1000**steps:,}"
        )
    return _UNITS.get(unit[:-2] if unit.endswith("ib") and len(unit) == 3 else unit)


def duration(most: float) -> Callable[[str], float]:
    """The type of a time: 1.5, 2s, 50ms, 2m or 1h; a number alone is seconds."""

    def parse(text: str) -> float:
        match = re.fullmatch(_DURATION, text.strip().lower(), re.ASCII)
        factor = None if match is None else _SECONDS.get(match["unit"])
        if match is None or factor is None:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a time, such as 1.5 or 2s (seconds), 50ms or 2m (minutes)"
            )
        value = float(match["number"]) * factor
        if value > most:
            raise argparse.ArgumentTypeError(f"{text} is out of range: it must be at most {most:,.0f} s")
        return value

    return parse


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """The type of a whole number within limits."""
    limits = f"at least {least:,}" if most is None else f"from {least:,} to {most:,}"

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if value < least or (most is not None and value > most):
            raise argparse.ArgumentTypeError(f"{text} is out of range: it must be {limits}")
        return value

    return parse


def pair(kind: Pair) -> Callable[[str], tuple[str, int | str]]:
    """The type of a name and its value."""

    def parse(text: str) -> tuple[str, int | str]:
        read = kind.read(text)
        if read is None:
            message = f"'{plain(text, most=80)}' is not {kind.what}: write for example {kind.example}"
            raise argparse.ArgumentTypeError(message)
        return (read[0], int(read[1])) if kind.is_number else read

    return parse


def real(least: float, most: float) -> Callable[[str], float]:
    """The type of a number within limits."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
        # Written so that NaN fails as well.
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(
                f"{text} is out of range: it must be from {least:.12g} to {most:.12g}"
            )
        return value

    return parse


if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_LONGEST_WORD = 100


def _in_words(message: str) -> str:
    """The message of argparse in the words of a user."""
    message = message.removeprefix("argument ")
    message = message.replace("the following arguments are required: ", "missing argument: ", 1)
    message = message.replace("expected one argument", "a value is missing", 1)
    head, explicit, _ = message.partition(": ignored explicit argument ")
    return f"{head}: it takes no value" if explicit else message


def _place(action: argparse.Action) -> str:
    name = str(action.metavar or action.dest)
    if action.nargs == argparse.OPTIONAL:
        return f"[{name}]"
    return f"{name}..." if action.nargs == argparse.ONE_OR_MORE else name


class Parser(argparse.ArgumentParser):
    """Rejects an unknown option before parsing the rest, so that the error comes from its command."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse all arguments; unknown ones are an error."""
        words = sys.argv[1:] if args is None else list(args)
        self._refuse_unknown_options(words)
        known, rest = super().parse_known_args(words, namespace)
        if rest:
            self.error(f"{rest[0]!r} is an unexpected argument")
        return known, rest

    def error(self, message: str) -> NoReturn:
        """Exit with the error, the usage of the command, and how to get help."""
        words = _in_words(message)
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction) and words.endswith(f": {action.metavar}"):
                words += f", one of {', '.join(action.choices)}"
        print_error(plain(words, most=1000))
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(f"usage: {self._usage()}\n`{self.prog} --help` shows all options\n")
        sys.exit(Exit.USAGE)

    def _usage(self) -> str:
        places = [_place(action) for action in self._actions if not action.option_strings]
        return " ".join([self.prog, *places, "[OPTION...]"])

    def _refuse_unknown_options(self, words: Iterable[str]) -> None:
        has_commands = any(isinstance(action, argparse._SubParsersAction) for action in self._actions)
        for word in words:
            if word == "--" or (has_commands and not word.startswith("-")):
                return
            if not word.startswith("-") or word == "-" or " " in word or word[1].isdigit():
                continue
            name = word.partition("=")[0] if word.startswith("--") else word[:2]
            if name not in self._option_string_actions:
                self.error(self._about_option(name, has_commands))

    def _about_option(self, name: str, has_commands: bool) -> str:
        from memstow.planner.model.errors import closest_match

        begun = [option for option in self._option_string_actions if option.startswith(name)]
        close = begun[0] if begun else closest_match(name, self._option_string_actions, 0.7)
        if close is not None:
            return f"there is no option {plain(name, most=_LONGEST_WORD)}; did you mean {close}?"
        where = " before the command" if has_commands else ""
        return f"there is no option {plain(name, most=_LONGEST_WORD)}{where}"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Reject a value that is not one of the choices; argparse would print them as Python literals."""
        if action.choices is None or value in action.choices:
            return
        from memstow.planner.model.errors import closest_match

        choices = [str(choice) for choice in action.choices]
        close = closest_match(str(value), choices)
        shown = f"'{plain(str(value), most=_LONGEST_WORD)}'"
        listed = ", ".join(choices)
        meant = f"did you mean {close}? " if close is not None else ""
        if isinstance(action, argparse._SubParsersAction):
            what = "kind" if action.metavar == "KIND" else "command"
            raise argparse.ArgumentError(None, f"there is no {what} {shown}; {meant}there are {listed}")
        raise argparse.ArgumentError(
            action, f"{shown} is not one of {listed}" + (f"; {meant.strip()}" if meant else "")
        )

    def _print_message(self, message: str, file: "SupportsWrite[str] | None" = None) -> None:
        """Write the message; unlike argparse, let errors of writing through."""
        if message:
            (file or sys.stderr).write(message)
