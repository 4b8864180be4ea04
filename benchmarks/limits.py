"""Limits that figures are held against: a missed one is marked in the table and by the exit code."""

from typing import Final

MISSED: Final = "**missed**"


def held(text: str, figure: float, limit: float) -> str:
    """The figure as it is shown, with a word where it is above its limit."""
    return text if figure <= limit else f"{text} {MISSED}"
