"""Arguments of the command line: their types, how a command is added, and the parser and its messages."""

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from memstow.api.cli.exit_codes import Exit
from memstow.api.cli.io.terminal import columns, complain
from memstow.planner.show.formatting import plain

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
# 64KB is 64,000 bytes by the standard and 65,536 to whoever makes memories.
_DOUBTFUL_UNITS = ("kb", "mb", "gb", "tb")
_SECONDS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_AMOUNT = re.compile(r"(?P<number>[0-9][0-9_]*(?:\.[0-9]+)?)\s*(?P<unit>[a-z]*)", re.ASCII)
_DURATION = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(?P<unit>[a-z]*)", re.ASCII)
_LARGEST = 1 << 62
LONGEST_RUN = 366 * 86_400
_LONGEST_WORD = 100


class Help(argparse.HelpFormatter):
    """Help as wide as the terminal; asking for the width ourselves spares importing shutil at every start."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=columns(sys.stdout) - 2)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Paragraphs as wide as the terminal; what is indented, as examples are, stays as it is."""
        from textwrap import fill

        filled = (
            part if "\n  " in part else fill(part, width, initial_indent=indent, subsequent_indent=indent)
            for part in text.split("\n\n")
        )
        return "\n\n".join(filled)


Commands = argparse._SubParsersAction  # argparse offers no public name for the type


def add_command(
    commands: "Commands[argparse.ArgumentParser]",
    name: str,
    summary: str,
    *,
    examples: str,
    details: str = "",
) -> argparse.ArgumentParser:
    """A command of its own, with what it does in a line and examples at the end of its help."""
    return commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}." + (f"\n\n{details.strip()}" if details else ""),
        epilog="examples:\n" + "\n".join(f"  {line}" for line in examples.strip().splitlines()),
        formatter_class=Help,
        allow_abbrev=False,
    )


def amount(text: str) -> int:
    """Bytes as people write them: 65536, 64KiB, 64K, 1.5MiB, 0x10000."""
    lowered = text.strip().lower()
    if re.fullmatch(r"0x[0-9a-f_]*[0-9a-f]", lowered):
        value = int(lowered, 16)
    else:
        match = _AMOUNT.fullmatch(lowered)
        if match is None or (factor := _factor(text, match["unit"])) is None:
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
    """The type of an amount of bytes that is not too small."""

    def parse(text: str) -> int:
        value = amount(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{text!r} is out of range: it must be at least {least:,}")
        return value

    return parse


def _factor(text: str, unit: str) -> int | None:
    if unit in _DOUBTFUL_UNITS:
        letter = unit[0].upper()
        steps = 1 + "KMGT".index(letter)
        raise argparse.ArgumentTypeError(
            f"{text!r} is doubtful: write {letter}iB for units of {1024**steps:,} bytes, "
            f"or the number of bytes in full for units of {1000**steps:,}"
        )
    return _UNITS.get(unit[:-2] if unit.endswith("ib") and len(unit) == 3 else unit)


def duration(most: float) -> Callable[[str], float]:
    """The type of a time: 1.5, 2s, 50ms, 2m or 1h; a number alone is seconds."""

    def parse(text: str) -> float:
        match = _DURATION.fullmatch(text.strip().lower())
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


def _in_words(message: str) -> str:
    """What argparse says, without what only its own users need to know."""
    message = message.removeprefix("argument ")
    message = message.replace("the following arguments are required: ", "this is missing: ", 1)
    message = message.replace("expected one argument", "a value must follow", 1)
    head, explicit, _ = message.partition(": ignored explicit argument ")
    return f"{head}: it takes no value" if explicit else message


def _place(action: argparse.Action) -> str:
    name = str(action.metavar or action.dest)
    if action.nargs == argparse.OPTIONAL:
        return f"[{name}]"
    return f"{name}..." if action.nargs == argparse.ONE_OR_MORE else name


class Parser(argparse.ArgumentParser):
    """Refuses an option where it is, before the rest is read, so that the command it belongs to answers."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """What was understood; nothing is left over."""
        words = sys.argv[1:] if args is None else list(args)
        self._refuse_unknown_options(words)
        known, rest = super().parse_known_args(words, namespace)
        if rest:
            self.error(f"{rest[0]!r} is one argument too many")
        return known, rest

    def error(self, message: str) -> NoReturn:
        """Leave with what is wrong, how the command is used, and where to read more."""
        words = _in_words(message)
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction) and words.endswith(f": {action.metavar}"):
                words += f", one of {', '.join(action.choices)}"
        complain(plain(words, most=1000))
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(f"usage: {self._usage()}\n`{self.prog} --help` tells more\n")
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
        from memstow.planner.model.suggestion import closest_match

        begun = [option for option in self._option_string_actions if option.startswith(name)]
        close = begun[0] if begun else closest_match(name, self._option_string_actions, 0.7)
        if close is not None:
            return f"there is no option {plain(name, most=_LONGEST_WORD)}; did you mean {close}?"
        where = " before the command" if has_commands else ""
        return f"there is no option {plain(name, most=_LONGEST_WORD)}{where}"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse what is none of the choices; argparse would print them as Python does."""
        if action.choices is None or value in action.choices:
            return
        from memstow.planner.model.suggestion import closest_match

        choices = [str(choice) for choice in action.choices]
        close = closest_match(str(value), choices)
        shown = f"'{plain(str(value), most=_LONGEST_WORD)}'"
        listed = ", ".join(choices)
        meant = f"did you mean {close}? " if close is not None else ""
        if isinstance(action, argparse._SubParsersAction):
            what = "kind" if action.metavar == "KIND" else "command"
            raise argparse.ArgumentError(None, f"there is no {what} {shown}; {meant}there are {listed}")
        raise argparse.ArgumentError(
            action, f"{shown} is none of {listed}" + (f"; {meant.strip()}" if meant else "")
        )

    def _print_message(self, message: str, file: "SupportsWrite[str] | None" = None) -> None:
        """Write the message, and do not hide that it could not be written."""
        if message:
            (file or sys.stderr).write(message)
