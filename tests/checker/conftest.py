"""The checker of layouts, compiled once."""

from collections.abc import Iterator

import pytest

from tests.checker.checkers import MOST_SANITIZERS, Batch, batch, build_batch, folder_of_run


@pytest.fixture(scope="session")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Batch]:
    """It stays, and is given one case after the other."""
    folder = tmp_path_factory.mktemp("checker")
    with batch(build_batch(folder_of_run(tmp_path_factory), *MOST_SANITIZERS), folder) as running:
        yield running
