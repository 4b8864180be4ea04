"""What tests of every package share."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Instances from elsewhere, which lie beside the project where they are there at all."""
    folder = Path(__file__).parents[1] / ".." / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("../shared/data is not here")
    return folder.resolve()
