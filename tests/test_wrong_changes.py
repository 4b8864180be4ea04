"""The tool for wrong changes makes them in what the tests import."""

from pathlib import Path

import pytest

from tests.wrong_changes import Copy, WrongChange

_ROOT = Path(__file__).parents[1]
_SECONDS = 600.0
_FILE = "planner/generate/planted.py"


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    if not (_ROOT / ".venv").is_dir():
        pytest.skip("needs the environment of make install")
    return Copy(_ROOT, tmp_path / "copy")


def _first_import(becomes: str) -> WrongChange:
    lines = (_ROOT / _FILE).read_text().splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("from "))
    return WrongChange(_FILE, at + 1, lines[at], becomes.format(lines[at]))


def test_that_a_wrong_change_is_caught_and_another_survives(copy: Copy) -> None:
    assert copy.catches(_first_import("raise ValueError"), _SECONDS) == "caught"
    assert copy.catches(_first_import("{}  # A comment."), _SECONDS) == "survived"
    assert (copy.folder / _FILE).read_text() == (_ROOT / _FILE).read_text()


def test_that_a_change_is_untried_where_tests_fail_without_it(copy: Copy) -> None:
    (copy.folder / "tests" / "planner" / "generate" / "test_planted.py").write_text("raise ValueError")
    assert copy.catches(_first_import("raise ValueError"), _SECONDS) == "untried"
