"""A client of the service, typed: `Client`, and `AsyncClient` for programs in an event loop.

Requests that failed on the way, or that the server had no time for, are sent again after a while. A job is
put in with an idempotency key, so that it is one job however often it is sent.
"""

import asyncio
import queue
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Final, TypeVar

import httpx2

from memstow.api.client.exchange import (
    Exchange,
    Flow,
    Follow,
    Happening,
    Heard,
    Request,
    ServerError,
    Wait,
    failed,
)
from memstow.planner.model.errors import InputError
from memstow.planner.model.events import Event
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan, Status
from memstow.planner.model.problem import Problem
from memstow.planner.reading.printable import printable

__all__ = ["AsyncClient", "Client", "Happening", "ServerError", "solve"]

_ANSWER_SECONDS: Final = 60.0
_CONNECT_SECONDS: Final = 10.0

T = TypeVar("T")


class Client:
    """Talks to one server. Close it, or use it as a context manager."""

    def __init__(self, server: str, key: str | None = None, *, attempts: int = 6) -> None:
        self._exchange = Exchange(attempts)
        self._http = httpx2.Client(**_options(server, key))

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def plan(self, problem: Problem, options: Options | None = None) -> Plan:
        """The plan, in one request where the server has it in time, else when its job is done."""
        return self._run(self._exchange.plan(problem, options))

    def submit(
        self,
        problem: Problem,
        options: Options | None = None,
        *,
        priority: int | None = None,
        hint_job: str | None = None,
        idempotency_key: str | None = None,
    ) -> str:
        """The id of a new job."""
        flow = self._exchange.submit(problem, options, priority, hint_job, idempotency_key)
        return self._run(flow)

    def job(self, job: str) -> dict[str, Any]:
        """What the server says of a job."""
        return self._run(self._exchange.job(job))

    def result(self, job: str, problem: Problem) -> Plan:
        """The plan of a job: the best so far, or the last."""
        return self._run(self._exchange.result(job, problem))

    def stop(self, job: str, *, discard: bool = False) -> None:
        """Stop a job and keep its best plan, or remove all of it."""
        self._run(self._exchange.stop(job, discard))

    def events(self, job: str, after: int = 0) -> Iterator[Happening]:
        """What happens to a job, up to its end, over as many connections as it takes."""
        following = self._exchange.following(job, after)
        while True:
            try:
                with self._http.stream("GET", following.path, headers=following.headers()) as stream:
                    if stream.status_code != 200:
                        stream.read()
                        following.fail(stream)
                    else:
                        for line in stream.iter_lines():
                            for happening in following.hear(line):
                                yield happening
                                if following.over:
                                    return
            except httpx2.TransportError as error:
                following.fail(error)
            if following.over:
                return
            time.sleep(following.pause())

    def _run(self, flow: Flow[T]) -> T:
        heard: Heard = None
        while True:
            try:
                step = flow.send(heard)
            except StopIteration as end:
                result: T = end.value
                return result
            heard = self._do(step)

    def _do(self, step: Request | Wait | Follow) -> Heard:
        match step:
            case Wait():
                time.sleep(step.seconds)
            case Follow():
                for _ in self.events(step.job):
                    pass
            case Request():
                try:
                    return self._http.request(
                        step.method, step.path, content=step.content, headers=step.headers
                    )
                except httpx2.TransportError as error:
                    return error
        return None


class AsyncClient:
    """The same for an event loop."""

    def __init__(self, server: str, key: str | None = None, *, attempts: int = 6) -> None:
        self._exchange = Exchange(attempts)
        self._http = httpx2.AsyncClient(**_options(server, key))

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def plan(self, problem: Problem, options: Options | None = None) -> Plan:
        """The plan, in one request where the server has it in time, else when its job is done."""
        return await self._run(self._exchange.plan(problem, options))

    async def submit(
        self,
        problem: Problem,
        options: Options | None = None,
        *,
        priority: int | None = None,
        hint_job: str | None = None,
        idempotency_key: str | None = None,
    ) -> str:
        """The id of a new job."""
        flow = self._exchange.submit(problem, options, priority, hint_job, idempotency_key)
        return await self._run(flow)

    async def job(self, job: str) -> dict[str, Any]:
        """What the server says of a job."""
        return await self._run(self._exchange.job(job))

    async def result(self, job: str, problem: Problem) -> Plan:
        """The plan of a job: the best so far, or the last."""
        return await self._run(self._exchange.result(job, problem))

    async def stop(self, job: str, *, discard: bool = False) -> None:
        """Stop a job and keep its best plan, or remove all of it."""
        await self._run(self._exchange.stop(job, discard))

    async def events(self, job: str, after: int = 0) -> AsyncIterator[Happening]:
        """What happens to a job, up to its end, over as many connections as it takes."""
        following = self._exchange.following(job, after)
        while True:
            try:
                async with self._http.stream("GET", following.path, headers=following.headers()) as stream:
                    if stream.status_code != 200:
                        await stream.aread()
                        following.fail(stream)
                    else:
                        async for line in stream.aiter_lines():
                            for happening in following.hear(line):
                                yield happening
                                if following.over:
                                    return
            except httpx2.TransportError as error:
                following.fail(error)
            if following.over:
                return
            await asyncio.sleep(following.pause())

    async def _run(self, flow: Flow[T]) -> T:
        heard: Heard = None
        while True:
            try:
                step = flow.send(heard)
            except StopIteration as end:
                result: T = end.value
                return result
            heard = await self._do(step)

    async def _do(self, step: Request | Wait | Follow) -> Heard:
        match step:
            case Wait():
                await asyncio.sleep(step.seconds)
            case Follow():
                async for _ in self.events(step.job):
                    pass
            case Request():
                try:
                    return await self._http.request(
                        step.method, step.path, content=step.content, headers=step.headers
                    )
                except httpx2.TransportError as error:
                    return error
        return None


def _options(server: str, key: str | None) -> dict[str, Any]:
    """What either client of httpx takes."""
    if not server.startswith(("http://", "https://")):
        raise InputError.single(
            "bad_server", "server", f"{printable(server, 100)!r} is not a URL such as http://localhost:8080"
        )
    return {
        "base_url": server.rstrip("/"),
        "headers": {"accept": "application/json"} | ({"authorization": f"Bearer {key}"} if key else {}),
        "timeout": httpx2.Timeout(_ANSWER_SECONDS, connect=_CONNECT_SECONDS),
    }


def solve(
    client: Client,
    problem: Problem,
    options: Options,
    on_event: Callable[[Event], None] | None,
    stopped: Callable[[], bool],
) -> Plan:
    """As `planner.solve.engine.plan`, by a server: events are told, and a stop keeps the best plan."""
    job = client.submit(problem, options)
    told = False
    last = ""
    for happening in _watched(client, job, stopped):
        if happening is None:
            if not told:
                told = True
                client.stop(job)
            continue
        event = happening.event()
        if event is not None and on_event is not None:
            on_event(event)
        last = str(happening.data.get("state", ""))
    if last == "failed":
        raise failed(client.job(job))
    try:
        return client.result(job, problem)
    except ServerError as error:
        if last == "cancelled" and error.code == "no_plan_yet":
            return Plan(status=Status.UNKNOWN)
        raise


def _watched(client: Client, job: str, stopped: Callable[[], bool]) -> Iterator[Happening | None]:
    """The events of a job; None whenever it should stop. A thread reads, so that a stop is heard at once."""
    heard: queue.SimpleQueue[Happening | BaseException | None] = queue.SimpleQueue()

    def read() -> None:
        try:
            for happening in client.events(job):
                heard.put(happening)
            heard.put(None)
        except BaseException as error:
            heard.put(error)

    threading.Thread(target=read, name="memstow events", daemon=True).start()
    while True:
        try:
            one = heard.get(timeout=0.05)
        except queue.Empty:
            if stopped():
                yield None
            continue
        if one is None:
            return
        if isinstance(one, BaseException):
            raise one
        yield one
