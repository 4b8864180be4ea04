"""PyTorch, for the tests that need it."""

from typing import Any

import pytest

from tests.torch import NEEDED


@pytest.fixture(scope="session")
def torch() -> Any:
    """PyTorch, where it is installed."""
    module = pytest.importorskip("torch", reason=NEEDED)
    module.manual_seed(5)
    return module
