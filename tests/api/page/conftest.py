"""What the tests of the page share: one browser, and one server."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.page.browser import Look, browser
from tests.api.serving import Server


# Not of the session: while playwright runs, nothing else in this thread may run an event loop.
@pytest.fixture(scope="package")
def running() -> Iterator[Any]:
    """The browser, which is ended when other tests than those of the page come."""
    with browser() as started:
        yield started


@pytest.fixture
def look(running: Any) -> Iterator[Look]:
    """A page in it, and what can be asked of it."""
    sample = Look(running)
    yield sample
    sample.close()


@pytest.fixture(scope="module")
def server(shared_server: Server) -> Server:
    """A service that answers without a key."""
    return shared_server


@pytest.fixture(scope="module")
def address(server: Server) -> str:
    """Where it is, without a slash at the end."""
    return server.url.rstrip("/")
