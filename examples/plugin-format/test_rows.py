"""What is written comes back; `pytest` runs it."""

import pytest
from memstow_rows import Rows

from memstow import InputError, Pool, Problem
from memstow.testing import check_format


def test_problems_and_plans_come_back() -> None:
    assert check_format(Rows, features=("zero",), samples=[b"# two\na 64 0 3\nb 32 1 1\n"])


def test_what_rows_have_no_place_for_is_refused() -> None:
    limited = Problem(buffers=[], pools=[Pool(id="memory", capacity=64)])
    with pytest.raises(InputError, match="rows are buffers in one memory"):
        Rows().write_problem(limited)
