"""Limits that hold at every door; this module imports nothing, so that quick paths can know them."""

from typing import Final

LONGEST_RUN: Final = 366 * 86_400.0
"""Seconds: what a time limit may be at most."""
