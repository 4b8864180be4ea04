"""Figures, times, names and tables in words: what reports, pictures and progress are made of."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from memstow.planner.graph.graph_document import Label

MOST_NAMES: Final = 12
_LONGEST_NAME: Final = 40
_SHORTEST_NAME: Final = 6
"""Letters of a name cut short that still say something."""
_SHORTEST_END: Final = 12
"""The end of a long name that still says something."""
_LONGEST_TIME: Final = 20
"""Digits of a time that is written in full."""
_DIGITS_SHOWN: Final = 4

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def count(value: int) -> str:
    """A number to the last digit, in groups of three."""
    return f"{value:,}"


def human(size: int) -> str:
    """A size to three digits, in the unit that suits it."""
    unit = 0
    scaled = float(size)
    # 999.5 would round to four digits.
    while scaled >= 999.5 and unit < len(_UNITS) - 1:
        scaled /= 1024
        unit += 1
    if unit == 0:
        return f"{size} B"
    digits = 2 if scaled < 9.995 else 1 if scaled < 99.95 else 0
    text = f"{scaled:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} {_UNITS[unit]}"


def percent(fraction: float) -> str:
    """A fraction in per cent; only nothing is shown as 0 %."""
    if fraction <= 0:
        return "0 %"
    return "<0.01 %" if fraction < 0.0001 else f"{fraction * 100:.2f} %"


def seconds(value: float) -> str:
    """A duration to about three digits."""
    if value < 0.9995:
        return f"{value * 1000:.3g} ms" if value >= 0.001 else "<1 ms"
    return f"{value:.2f} s" if value < 99.995 else f"{value:.0f} s"


def clock(value: float) -> str:
    """A longer duration: minutes and seconds, and hours where there are any."""
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def plain(text: str, most: int | None = None) -> str:
    """A name that is safe to print: control characters as escapes, cut to `most` characters."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    if most is not None and len(text) > most:
        return text[: most - 3] + "..."
    return text


def short_name(name: str) -> str:
    """A name that is safe to print, cut to what a cell of a table or a line of a legend has room for."""
    return plain(name, most=_LONGEST_NAME)


def names(ids: Sequence[str], most: int = MOST_NAMES) -> str:
    """Names in a row, and how many more there are."""
    shown = ", ".join(short_name(name) for name in ids[:most])
    return f"{shown} and {len(ids) - most:,} more" if len(ids) > most else shown


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Columns as wide as their widest cell, the first `left` flush left and the others flush right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if index < left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (header, *rows)
    ]


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """The lines of a table in Markdown, the first `left` columns flush left and the others flush right."""
    rule = ["---"] * left + ["---:"] * (len(header) - left)
    return [f"| {' | '.join(row)} |" for row in (header, rule, *rows)]


def breadth(text: str) -> int:
    """How many columns it takes."""
    if text.isascii():
        return len(text)
    from unicodedata import east_asian_width

    return len(text) + sum(east_asian_width(letter) in "FW" for letter in text)


def fit_text(name: str, room: int) -> str:
    """As much of the name as there is room for, or nothing where that says little."""
    text = short_name(name)
    while len(text) > _SHORTEST_NAME and breadth(text) > room:
        text = plain(name, most=len(text) - 1)
    return text if breadth(text) <= room else ""


def shown_label(label: "Label", room: int) -> str:
    """What a buffer is; of a long name the end, which tells it from others of the same layers."""
    what, name = plain(label.what), plain(label.name or "")
    left = room - breadth(what) - bool(what)
    if left < _SHORTEST_END:
        return fit_text(what, room)
    ends = (name[start:] for start in range(len(name) + 1))
    end = name if breadth(name) <= left else "..." + next(end for end in ends if breadth(end) <= left - 3)
    return f"{what} {end}".strip()


def round_times(begin: int, end: int, most: int) -> Sequence[int]:
    """At most `most` round times between two times, evenly spaced; at least one."""
    step = 10 ** max(0, len(str((end - begin) // most)) - 1)
    while True:
        for factor in (1, 2, 5):
            every = step * factor
            first, last = -(-begin // every), end // every
            if last - first < most:
                return range(first * every, last * every + 1, every) if first <= last else (begin,)
        step *= 10


def round_addresses(top: int, most: int) -> range:
    """Multiples of a power of two from 0 to the top, at most `most` besides 0."""
    step = 1
    while top // step > most:
        step *= 2
    return range(0, top + 1, step)


def address_ticks(top: int, most: int) -> list[tuple[int, str]]:
    """Round addresses, and how they are written."""
    return [(address, human(address)) for address in round_addresses(top, most)]


def time_ticks(begin: int, end: int, most: int) -> list[tuple[int, str]]:
    """Round times, and how they are written."""
    return [(time, time_text(time)) for time in round_times(begin, end, most)]


def time_text(time: int) -> str:
    """A time in groups of three digits, or in powers of ten where it is too long."""
    digits = str(abs(time))
    if len(digits) <= _LONGEST_TIME:
        return count(time)
    sign = "-" if time < 0 else ""
    fraction = digits[1:_DIGITS_SHOWN].rstrip("0")
    return f"{sign}{digits[0]}{'.' if fraction else ''}{fraction}e{len(digits) - 1}"


_SPECIAL: Final = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "–": "--",
        **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    }
)


def latex_text(text: str) -> str:
    """The text for LaTeX; nothing in it is a command."""
    return text.translate(_SPECIAL)
