"""A typed client of the service: `Client`, and `AsyncClient` for programs with an event loop.

Requests are retried when the connection failed or the server was busy. A job is submitted with an idempotency
key, so that retries make no second one.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypedDict, TypeVar

import httpx2

from memstow.api.client.exchange import (
    Exchange,
    Flow,
    Follow,
    JobEvent,
    JsonObject,
    Reply,
    Request,
    ServerError,
    Wait,
)
from memstow.planner.model.errors import InputError
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.reading.printable import printable

if TYPE_CHECKING:
    from memstow.api.operations.encoding import ShapesAsked
    from memstow.planner.model.front import Front, FrontOptions
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.problem import Target
    from memstow.planner.model.symbolic import Shapes, SymbolicPlan, SymbolicProblem

__all__ = ["AsyncClient", "Client", "JobEvent", "ServerError"]

_ANSWER_SECONDS: Final = 60.0
_CONNECT_SECONDS: Final = 10.0

T = TypeVar("T")


class Client:
    """A client of one server. Close it, or use it as a context manager."""

    def __init__(self, server: str, key: str | None = None, *, attempts: int = 6) -> None:
        self._exchange = Exchange(attempts)
        self._http = httpx2.Client(**_http_options(server, key))

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def plan(self, problem: "Problem | Graph", options: Options | None = None) -> Plan:
        """The plan, in one request where the server has it in time, else when its job is done."""
        return self._run(self._exchange.plan(problem, options))

    def submit(
        self,
        problem: "Problem | Graph",
        options: Options | None = None,
        *,
        priority: int | None = None,
        hint_job: str | None = None,
        idempotency_key: str | None = None,
        name: str | None = None,
        callback: str | None = None,
    ) -> str:
        """The id of a new job."""
        flow = self._exchange.submit(problem, options, priority, hint_job, idempotency_key, name, callback)
        return self._run(flow)

    def front(
        self,
        problem: "Problem | Graph",
        asked: "FrontOptions | None" = None,
        options: Options | None = None,
        *,
        targets: "Sequence[Target | str]" = (),
    ) -> "Front":
        """The front of two terms, when its job is done; with targets, one in the memories of each."""
        return self._run(self._exchange.find_front(problem, asked, options, targets))

    def submit_front(
        self,
        problem: "Problem | Graph",
        asked: "FrontOptions | None" = None,
        options: Options | None = None,
        *,
        targets: "Sequence[Target | str]" = (),
        priority: int | None = None,
        idempotency_key: str | None = None,
        name: str | None = None,
        callback: str | None = None,
    ) -> str:
        """The id of a new job for a front; its events have a `point` for each point."""
        flow = self._exchange.submit_front(
            problem, asked, options, targets, priority, idempotency_key, name, callback
        )
        return self._run(flow)

    def front_result(self, job: str) -> "Front":
        """The front of a job: the points so far, or all of them."""
        return self._run(self._exchange.front(job))

    def job(self, job: str) -> JsonObject:
        """A job as the server describes it."""
        return self._run(self._exchange.job(job))

    def jobs(
        self, *, search: str | None = None, state: str | None = None, limit: int = 50
    ) -> list[JsonObject]:
        """The newest jobs; those with this text in their name, or in this state."""
        return self._run(self._exchange.jobs(search, state, limit))

    def result(self, job: str, problem: "Problem | Graph") -> Plan:
        """The plan of a job: the best so far, or the last."""
        return self._run(self._exchange.result(job, problem))

    def plan_symbolic(
        self,
        problem: "SymbolicProblem",
        options: Options | None = None,
        *,
        shapes: "Shapes" = "order",
        pieces: int = 2,
    ) -> "SymbolicPlan":
        """The plan of a problem with symbols, in one request or when its job is done."""
        return self._run(self._exchange.plan_symbolic(problem, options, _asked(shapes, pieces)))

    def submit_symbolic(
        self,
        problem: "SymbolicProblem",
        options: Options | None = None,
        *,
        shapes: "Shapes" = "order",
        pieces: int = 2,
        priority: int | None = None,
        idempotency_key: str | None = None,
        name: str | None = None,
        callback: str | None = None,
    ) -> str:
        """The id of a new job for a problem with symbols."""
        asked = _asked(shapes, pieces)
        flow = self._exchange.submit_symbolic(
            problem, options, asked, priority, idempotency_key, name, callback
        )
        return self._run(flow)

    def symbolic_result(self, job: str) -> "SymbolicPlan":
        """The plan of a job for a problem with symbols: the best so far, or the last."""
        return self._run(self._exchange.symbolic_result(job))

    def evaluate(self, problem: "SymbolicProblem", plan: "SymbolicPlan", at: Mapping[str, int]) -> Plan:
        """The ordinary plan of a symbolic plan, at a value of every symbol."""
        return self._run(self._exchange.evaluate(problem, plan, at))

    def stop(self, job: str, *, discard: bool = False) -> None:
        """Stop a job and keep its best plan, or remove all of it."""
        self._run(self._exchange.stop(job, discard))

    def stop_jobs(
        self,
        ids: Sequence[str] | None = None,
        *,
        search: str | None = None,
        state: str | None = None,
        discard: bool = False,
    ) -> list[str]:
        """Stop the jobs that all of these describe, or remove all of them; the ids of those that were."""
        return self._run(self._exchange.stop_jobs(ids, search, state, discard))

    def get(self, path: str) -> JsonObject:
        """What the server has at a path, such as /v1/capabilities."""
        return self._run(self._exchange.administer("GET", path))

    def administer(self, method: str, path: str) -> JsonObject:
        """The answer to a request for administrators, such as GET /v1/admin/queue."""
        return self._run(self._exchange.administer(method, path))

    def events(self, job: str, after: int = 0) -> Iterator[JobEvent]:
        """The events of a job up to its end, over as many connections as it takes."""
        events = self._exchange.events(job, after)
        while True:
            try:
                with self._http.stream("GET", events.path, headers=events.headers()) as stream:
                    if stream.status_code != 200:
                        stream.read()
                        events.fail(stream)
                    else:
                        for line in stream.iter_lines():
                            for event in events.feed_line(line):
                                yield event
                                if events.over:
                                    return
            except httpx2.TransportError as error:
                events.fail(error)
            if events.over:
                return
            time.sleep(events.pause())

    def _run(self, flow: Flow[T]) -> T:
        reply: Reply = None
        while True:
            try:
                step = flow.send(reply)
            except StopIteration as end:
                result: T = end.value
                return result
            reply = self._do(step)

    def _do(self, step: Request | Wait | Follow) -> Reply:
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
    """A client for programs with an event loop."""

    def __init__(self, server: str, key: str | None = None, *, attempts: int = 6) -> None:
        self._exchange = Exchange(attempts)
        self._http = httpx2.AsyncClient(**_http_options(server, key))

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def plan(self, problem: "Problem | Graph", options: Options | None = None) -> Plan:
        """The plan, in one request where the server has it in time, else when its job is done."""
        return await self._run(self._exchange.plan(problem, options))

    async def submit(
        self,
        problem: "Problem | Graph",
        options: Options | None = None,
        *,
        priority: int | None = None,
        hint_job: str | None = None,
        idempotency_key: str | None = None,
        name: str | None = None,
        callback: str | None = None,
    ) -> str:
        """The id of a new job."""
        flow = self._exchange.submit(problem, options, priority, hint_job, idempotency_key, name, callback)
        return await self._run(flow)

    async def front(
        self,
        problem: "Problem | Graph",
        asked: "FrontOptions | None" = None,
        options: Options | None = None,
        *,
        targets: "Sequence[Target | str]" = (),
    ) -> "Front":
        """The front of two terms, when its job is done; with targets, one in the memories of each."""
        return await self._run(self._exchange.find_front(problem, asked, options, targets))

    async def submit_front(
        self,
        problem: "Problem | Graph",
        asked: "FrontOptions | None" = None,
        options: Options | None = None,
        *,
        targets: "Sequence[Target | str]" = (),
        priority: int | None = None,
        idempotency_key: str | None = None,
        name: str | None = None,
        callback: str | None = None,
    ) -> str:
        """The id of a new job for a front; its events have a `point` for each point."""
        flow = self._exchange.submit_front(
            problem, asked, options, targets, priority, idempotency_key, name, callback
        )
        return await self._run(flow)

    async def front_result(self, job: str) -> "Front":
        """The front of a job: the points so far, or all of them."""
        return await self._run(self._exchange.front(job))

    async def job(self, job: str) -> JsonObject:
        """A job as the server describes it."""
        return await self._run(self._exchange.job(job))

    async def jobs(
        self, *, search: str | None = None, state: str | None = None, limit: int = 50
    ) -> list[JsonObject]:
        """The newest jobs; those with this text in their name, or in this state."""
        return await self._run(self._exchange.jobs(search, state, limit))

    async def result(self, job: str, problem: "Problem | Graph") -> Plan:
        """The plan of a job: the best so far, or the last."""
        return await self._run(self._exchange.result(job, problem))

    async def plan_symbolic(
        self,
        problem: "SymbolicProblem",
        options: Options | None = None,
        *,
        shapes: "Shapes" = "order",
        pieces: int = 2,
    ) -> "SymbolicPlan":
        """The plan of a problem with symbols, in one request or when its job is done."""
        return await self._run(self._exchange.plan_symbolic(problem, options, _asked(shapes, pieces)))

    async def submit_symbolic(
        self,
        problem: "SymbolicProblem",
        options: Options | None = None,
        *,
        shapes: "Shapes" = "order",
        pieces: int = 2,
        priority: int | None = None,
        idempotency_key: str | None = None,
        name: str | None = None,
        callback: str | None = None,
    ) -> str:
        """The id of a new job for a problem with symbols."""
        asked = _asked(shapes, pieces)
        flow = self._exchange.submit_symbolic(
            problem, options, asked, priority, idempotency_key, name, callback
        )
        return await self._run(flow)

    async def symbolic_result(self, job: str) -> "SymbolicPlan":
        """The plan of a job for a problem with symbols: the best so far, or the last."""
        return await self._run(self._exchange.symbolic_result(job))

    async def evaluate(self, problem: "SymbolicProblem", plan: "SymbolicPlan", at: Mapping[str, int]) -> Plan:
        """The ordinary plan of a symbolic plan, at a value of every symbol."""
        return await self._run(self._exchange.evaluate(problem, plan, at))

    async def stop(self, job: str, *, discard: bool = False) -> None:
        """Stop a job and keep its best plan, or remove all of it."""
        await self._run(self._exchange.stop(job, discard))

    async def stop_jobs(
        self,
        ids: Sequence[str] | None = None,
        *,
        search: str | None = None,
        state: str | None = None,
        discard: bool = False,
    ) -> list[str]:
        """Stop the jobs that all of these describe, or remove all of them; the ids of those that were."""
        return await self._run(self._exchange.stop_jobs(ids, search, state, discard))

    async def get(self, path: str) -> JsonObject:
        """What the server has at a path, such as /v1/capabilities."""
        return await self._run(self._exchange.administer("GET", path))

    async def administer(self, method: str, path: str) -> JsonObject:
        """The answer to a request for administrators, such as GET /v1/admin/queue."""
        return await self._run(self._exchange.administer(method, path))

    async def events(self, job: str, after: int = 0) -> AsyncIterator[JobEvent]:
        """The events of a job up to its end, over as many connections as it takes."""
        events = self._exchange.events(job, after)
        while True:
            try:
                async with self._http.stream("GET", events.path, headers=events.headers()) as stream:
                    if stream.status_code != 200:
                        await stream.aread()
                        events.fail(stream)
                    else:
                        async for line in stream.aiter_lines():
                            for event in events.feed_line(line):
                                yield event
                                if events.over:
                                    return
            except httpx2.TransportError as error:
                events.fail(error)
            if events.over:
                return
            await asyncio.sleep(events.pause())

    async def _run(self, flow: Flow[T]) -> T:
        reply: Reply = None
        while True:
            try:
                step = flow.send(reply)
            except StopIteration as end:
                result: T = end.value
                return result
            reply = await self._do(step)

    async def _do(self, step: Request | Wait | Follow) -> Reply:
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


def _asked(shapes: "Shapes", pieces: int) -> "ShapesAsked":
    # The programs of most clients do not wait for this import.
    from memstow.api.operations.encoding import parse_shapes

    return parse_shapes({"shapes": shapes, **({"pieces": pieces} if shapes == "pieces" else {})})


class _HttpOptions(TypedDict):
    """The arguments for either client of httpx."""

    base_url: str
    headers: dict[str, str]
    timeout: httpx2.Timeout


def _http_options(server: str, key: str | None) -> _HttpOptions:
    if not server.startswith(("http://", "https://")):
        raise InputError.single(
            "bad_server", "server", f"{printable(server, 100)!r} is not a URL such as http://localhost:8080"
        )
    return {
        "base_url": server.rstrip("/"),
        "headers": {"accept": "application/json"} | ({"authorization": f"Bearer {key}"} if key else {}),
        "timeout": httpx2.Timeout(_ANSWER_SECONDS, connect=_CONNECT_SECONDS),
    }
