"""Budgets of memory: bytes, or a share of what PyTorch needs."""

from math import inf
from typing import Final

LIMIT: Final = "memstow_limit"
"""In the `meta` of a program that was made for a budget: the bytes that it is to need at most."""


def require_budget(budget: float) -> None:
    """Raise ValueError for what is neither a number of bytes (int) nor a share (float)."""
    if type(budget) is int and budget == 1:
        raise ValueError("memory_budget=1 is one byte: give 1.0 for all that PyTorch needs, or more bytes")
    most = 1 if isinstance(budget, float) else inf
    if type(budget) not in (int, float) or not 0 <= budget <= most:
        raise ValueError(
            f"memory_budget is a number of bytes (int), or a share from 0.0 to 1.0, not {budget!r}"
        )
