"""What the tests of plug-ins share."""

from pathlib import Path

import pytest

from tests.plugins import Plugins, plugins_in


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plugins:
    """A folder in which plug-ins are installed."""
    return plugins_in(tmp_path / "plugins", monkeypatch)
