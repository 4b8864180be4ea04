"""Which of many cases run in the gate, and which only in a campaign (CONTRIBUTING.md)."""

import os
from collections.abc import Iterable
from typing import Any, Final

import pytest

SHARE: Final = int(os.environ.get("MEMSTOW_TEST_ROUNDS", "30"))
"""Per cent of the random cases that run: the campaign sets 100, as it does for the C++ tests."""


def rounds(count: int) -> int:
    """How many of `count` random cases run.

    For tests that draw their cases in a loop or by Hypothesis, and are marked `rounds` so that the campaign
    runs them as well: with all cases.
    """
    return max(1, count * SHARE // 100)


def gate_first(cases: Iterable[Any], count: int) -> list[Any]:
    """Values for `pytest.mark.parametrize`: the first `count` run in the gate, the others in a campaign.

    For cases that take the same path with other numbers: put those that differ most first.
    """
    return [
        case if place < count else pytest.param(case, marks=pytest.mark.campaign)
        for place, case in enumerate(cases)
    ]
