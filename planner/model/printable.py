"""A value from outside as a short text that is safe to print: nothing in it can move a terminal's cursor.

And integers of any library as Python's.
"""

from operator import index
from typing import Final, SupportsIndex, cast

LONGEST: Final = 48


def shown(value: object, longest: int = LONGEST) -> str:
    """A value as JSON, shortened for a message."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + printable(value, longest) + '"'
    if isinstance(value, int):
        return _shown_int(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dict):
        return "an object with no fields" if not value else f"an object with {_count(len(value), 'field')}"
    if isinstance(value, list | tuple):
        return "an empty list" if not value else f"a list of {_count(len(value), 'value')}"
    return f"a value of type {printable(type(value).__name__)}"


def printable(text: str, longest: int = LONGEST) -> str:
    """The text with what cannot be printed escaped and its middle left out when it is long."""
    if len(text) > longest:
        tail = longest // 3
        return f"{_escaped(text[: longest - tail])}...{_escaped(text[len(text) - tail :])}"
    return _escaped(text)


def _escaped(text: str) -> str:
    if text.isprintable() and '"' not in text and "\\" not in text:
        return text
    return "".join(map(_escaped_character, text))


def _escaped_character(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    short = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character)
    if short:
        return short
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _shown_int(value: int) -> str:
    # Turning a long integer into digits takes quadratic time and Python may refuse it.
    if value.bit_length() <= 128:
        return str(value)
    return f"an integer of about {round(value.bit_length() * 0.30103)} digits"


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}" + ("s" if number != 1 else "")


def as_integer(value: object) -> int | None:
    """The value as Python's integer; None for what is none, such as true and false."""
    try:
        return None if isinstance(value, bool) else index(cast(SupportsIndex, value))
    except TypeError:
        return None
