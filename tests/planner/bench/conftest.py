"""Keepers that end with the test, and leave nothing behind."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.bench.keepers import Keepers


@pytest.fixture
def keepers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Keepers]:
    """Their folders are below one of the test's own, which is empty at the end."""
    folders = tmp_path / "folders"
    folders.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folders))
    found = Keepers()
    yield found
    found.stop()
    end = time.monotonic() + 10
    while any(folders.iterdir()) and time.monotonic() < end:
        time.sleep(0.01)
    assert list(folders.iterdir()) == []
