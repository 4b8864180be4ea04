"""Types of arguments that several commands share, and how to add a command."""

import argparse
import re
import sys
from collections.abc import Callable

from memstow.api.cli.io.terminal import columns

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


Commands = argparse._SubParsersAction  # argparse offers no public name for the type


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
