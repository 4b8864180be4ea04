"""An address of a scheduler is one, or is refused at once."""

import pytest

from memstow.planner.cluster.roster import check_scheduler
from memstow.planner.model.errors import InputError


@pytest.mark.parametrize("address", ["tcp://host:8786", "tls://[::1]:1", "10.0.0.1:8786", "ws://a.b-c:65535"])
def test_an_address_is_taken_as_it_is(address: str) -> None:
    assert check_scheduler(address, "--scheduler") == address


@pytest.mark.parametrize(
    "address",
    ["", "host", "tcp://host", "http://host:8786", "tcp://host:0", "tcp://host:65536", "tcp://host:1/a"],
)
def test_what_is_no_address_is_refused_with_one_that_would_do(address: str) -> None:
    with pytest.raises(InputError, match=r"--scheduler: .*such as tcp://host:8786"):
        check_scheduler(address, "--scheduler")
