"""What tests of every package share."""

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.planner.bench.farm import Farm

# What takes long on a busy machine is not wrong.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

# What a shell starts in the background ignores Ctrl-C, and so would all that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Instances from elsewhere, which lie beside the project where they are there at all."""
    folder = Path(__file__).parents[1] / ".." / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("../shared/data is not here")
    return folder.resolve()


@pytest.fixture
def farm(tmp_path: Path) -> Iterator[Farm]:
    """A cluster of Dask without workers yet."""
    if find_spec("distributed") is None:
        pytest.skip("needs Dask: pip install 'memstow[dask]'")
    folder = tmp_path / "farm"
    folder.mkdir()
    with ExitStack() as stack:
        yield Farm(folder, stack)
