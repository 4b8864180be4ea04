"""The running service does what its OpenAPI document says: a short part of `make contract`."""

from pathlib import Path

import pytest

from tests.api import contract
from tests.api.serving import Server

pytestmark = [
    pytest.mark.campaign,
    pytest.mark.skipif(not contract.is_here(), reason="schemathesis is not installed"),
]


@pytest.mark.parametrize("keyed", [False, True], ids=["without keys", "with a key"])
def test_no_made_up_request_is_answered_against_the_document(
    server: Server, tmp_path: Path, keyed: bool
) -> None:
    key = contract.new_key(server.data) if keyed else None
    server.start(**contract.SETTINGS)
    options = ("--max-examples", "2", "--seed", "1", "--generation-deterministic")
    agrees, report = contract.compare(server.url, key, tmp_path, "examples,fuzzing", *options)
    assert agrees, report
