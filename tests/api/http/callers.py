"""One server asked with different keys."""

import httpx2
from starlette.testclient import TestClient

from memstow.api.http.service import Service
from memstow.api.store.keys import Role


class Callers:
    """The same server asked with different keys."""

    def __init__(self, client: TestClient, service: Service) -> None:
        self._client = client
        self._service = service

    def __call__(self, name: str, role: Role = Role.SOLVE) -> httpx2.Client:
        """A client with a key of its own."""
        return self.with_key(self._service.keys.create(name, role)[1])

    def with_key(self, text: str) -> httpx2.Client:
        """A client with this key."""
        other = TestClient(self._client.app, base_url="http://localhost", raise_server_exceptions=False)
        # The parts of the app run in the loop of the first.
        other.portal = self._client.portal
        other.headers["authorization"] = f"Bearer {text}"
        return other
