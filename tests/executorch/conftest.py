"""ExecuTorch, for the tests that need it."""

import warnings
from typing import Any

import pytest

from tests.executorch import NEEDED


@pytest.fixture(scope="session")
def et() -> Any:
    """What compiles and runs models, where ExecuTorch is installed."""
    with warnings.catch_warnings():
        # They warn of each other.
        warnings.simplefilter("ignore")
        pytest.importorskip("executorch.exir", reason=NEEDED)
        from tests.executorch import running
    running.torch.manual_seed(5)
    return running
