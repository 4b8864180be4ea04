"""Which of many cases run in the gate, and which only in a campaign (CONTRIBUTING.md)."""

from collections.abc import Iterable
from typing import Any

import pytest


def gate_first(cases: Iterable[Any], count: int) -> list[Any]:
    """Values for `pytest.mark.parametrize`: the first `count` run in the gate, the others in a campaign.

    For cases that take the same path with other numbers: put those that differ most first.
    """
    return [
        case if place < count else pytest.param(case, marks=pytest.mark.campaign)
        for place, case in enumerate(cases)
    ]
