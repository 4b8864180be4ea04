"""Supervisors that end with the test, and leave nothing behind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memstow.planner.bench.executors import Supervisors
from tests.waiting import wait_for


@pytest.fixture
def supervisors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Supervisors]:
    """Their folders are below one of the test's own, which is empty at the end."""
    folders = tmp_path / "folders"
    folders.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folders))
    result = Supervisors()
    yield result
    result.stop()
    wait_for(lambda: not any(folders.iterdir()), "the folders of processes to be removed")
