"""What is around every request: responses within the memory for bodies, and requests at once."""

import asyncio
import json
from collections.abc import Awaitable
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memstow.api.http.app import RequestMiddleware, create_app
from memstow.api.http.bodies import UNCOUNTED, MemoryBudget
from memstow.api.http.errors import ApiError
from memstow.api.http.operation import PathRoute, WholePaths
from memstow.api.http.settings import Settings
from memstow.api.metrics import Metrics


class Ask(Protocol):
    """A way to ask an app for a path."""

    async def __call__(
        self, path: str, /, *headers: tuple[bytes, bytes], method: str = "GET"
    ) -> list[Message]: ...


def around(app: ASGIApp, budget: MemoryBudget | None = None, **settings: Any) -> Ask:
    """A way to ask this app for a path."""
    frame = RequestMiddleware(app, Metrics(), budget or MemoryBudget(1 << 30), Settings(**settings))

    async def ask(path: str, *headers: tuple[bytes, bytes], method: str = "GET") -> list[Message]:
        messages: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            messages.append(message)

        scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": headers}
        await frame(scope, receive, send)
        return messages

    return ask


def sends(body: bytes) -> ASGIApp:
    """An app that sends this body."""

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        head = [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": body})

    return app


def status_of(messages: list[Message]) -> int:
    """The status of an answer, which begins once."""
    (start,) = (message for message in messages if message["type"] == "http.response.start")
    return int(start["status"])


def test_a_large_response_is_sent_in_pieces() -> None:
    for size in (0, 1, UNCOUNTED, UNCOUNTED + 1, 3 * UNCOUNTED, 3 * UNCOUNTED + 7):
        body = bytes(range(256)) * (size // 256 + 1)
        messages = asyncio.run(_one(around(sends(body[:size]))))
        assert status_of(messages) == 200
        pieces = messages[1:]
        assert b"".join(piece["body"] for piece in pieces) == body[:size]
        assert max(len(piece["body"]) for piece in pieces) <= UNCOUNTED
        assert [piece.get("more_body", False) for piece in pieces] == [True] * (len(pieces) - 1) + [False]


async def _one(ask: Ask) -> list[Message]:
    return await ask("/")


def test_responses_that_are_not_read_take_no_more_memory_than_is_allowed() -> None:
    budget = MemoryBudget(1 << 20)
    body = bytes(1 << 20)
    reading = asyncio.Event()

    async def read_slowly() -> None:
        frame = RequestMiddleware(sends(body), Metrics(), budget, Settings())

        async def receive() -> Message:
            raise AssertionError

        async def send(message: Message) -> None:
            if message["type"] == "http.response.body":
                await reading.wait()

        await frame({"type": "http", "method": "GET", "path": "/", "headers": []}, receive, send)

    async def work() -> None:
        slow = asyncio.create_task(read_slowly())
        while not budget.used:
            await asyncio.sleep(0)
        refused = await around(sends(body), budget)("/")
        assert status_of(refused) == 503
        assert b"memory_full" in refused[-1]["body"]
        assert b"`body_memory`" in refused[-1]["body"]
        assert dict(refused[0]["headers"])[b"retry-after"]
        assert sum(len(message.get("body", b"")) for message in refused) < 1000
        assert status_of(await around(sends(b"small"), budget)("/")) == 200
        reading.set()
        await slow
        assert budget.used == 0
        assert status_of(await around(sends(body), budget)("/")) == 200
        assert budget.used == 0

    asyncio.run(work())


def test_requests_at_once_are_limited_and_health_is_told_all_the_same() -> None:
    go = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/waits":
            await go.wait()
        await sends(b"served")(scope, receive, send)

    ask = around(app, max_concurrent_requests=2)

    async def work() -> None:
        waiting = [asyncio.create_task(_to_list(ask("/waits"))) for _ in range(2)]
        await asyncio.sleep(0)
        refused = await ask("/v1/plan")
        assert status_of(refused) == 503
        assert b"`max_concurrent_requests`" in refused[-1]["body"]
        assert dict(refused[0]["headers"])[b"retry-after"]
        for path in ("/livez", "/readyz"):
            assert status_of(await ask(path)) == 200
        go.set()
        assert [status_of(messages) for messages in await asyncio.gather(*waiting)] == [200, 200]
        assert status_of(await ask("/v1/plan")) == 200

    asyncio.run(work())


async def _to_list(messages: Awaitable[list[Message]]) -> list[Message]:
    return await messages


def test_a_path_that_names_a_route_whole_is_that_of_no_route_before_it() -> None:
    routes = create_app(Settings()).router.routes
    whole = [route for route in routes if isinstance(route, PathRoute) and not route.param_convertors]
    assert "/v1/plan" in {route.path for route in whole}
    for route in whole:
        for method in route.methods or ():
            scope = {"type": "http", "method": method, "path": route.path, "headers": []}
            assert next(one for one in routes if one.matches(scope)[0] is Match.FULL) is route


def test_only_what_names_a_route_whole_is_kept_from_the_framework() -> None:
    async def answer(request: Request) -> Response:
        if "x-bad" in request.headers:
            raise ApiError(422, "of_a_test", "as it was wanted")
        return Response(request.headers.get("X-Good", "nothing"))

    routes = [PathRoute("/whole", answer, methods=["GET"]), PathRoute("/a/{part}", answer, methods=["GET"])]
    layer = WholePaths(sends(b"of the framework"), routes)

    def asked(path: str, *headers: tuple[bytes, bytes], method: str = "GET") -> tuple[int, bytes]:
        messages = asyncio.run(around(layer)(path, *headers, method=method))
        return status_of(messages), messages[-1]["body"]

    assert asked("/whole") == (200, b"nothing")
    assert asked("/whole", (b"x-good", b"first"), (b"x-good", b"second")) == (200, b"first")
    assert asked("/whole", method="HEAD") == (200, b"nothing"), "the server leaves the body out"
    status, body = asked("/whole", (b"x-bad", b""))
    assert (status, json.loads(body)["code"]) == (422, "of_a_test")
    for path, method in (("/whole", "POST"), ("/a/whole", "GET"), ("/whole/", "GET")):
        assert asked(path, method=method) == (200, b"of the framework")
