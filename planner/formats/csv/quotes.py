"""Where a quote opens that is never closed."""

from collections.abc import Iterable


def open_quote(lines: Iterable[str], first: int) -> int | None:
    """The line of the quote that is open at the end of these lines of a row; None if there is none."""
    opened: int | None = None
    closed: int | None = None
    begins = True
    for number, line in enumerate(lines, first):
        for character in line:
            if opened is not None:
                if character == '"':
                    opened, closed = None, opened
            elif character == '"' and closed is not None:
                # Written twice it is a quote in the cell, which goes on.
                opened, closed = closed, None
            elif character == '"' and begins:
                opened, begins = number, False
            else:
                closed, begins = None, character in ",\r\n"
    return opened
