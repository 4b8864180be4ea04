"""A typed client of the service: `Client`, and `AsyncClient` for programs with an event loop.

Requests are retried when the connection failed or the server was busy. A job is submitted with an idempotency
key, so that retries make no second one. What both do is in `Exchange`; here is how each waits.
"""

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import update_wrapper
from typing import Any, Concatenate, Final, ParamSpec, TypedDict, TypeVar

import httpx2

from memstow.api.client.exchange import (
    Answer,
    Exchange,
    Flow,
    Follow,
    JobEvent,
    Reply,
    Request,
    ServerError,
    Wait,
)
from memstow.planner.model.errors import InputError
from memstow.planner.model.printable import printable

__all__ = ["AsyncClient", "Client", "JobEvent", "ServerError"]

_ANSWER_SECONDS: Final = 60.0
_CONNECT_SECONDS: Final = 10.0

P = ParamSpec("P")
T = TypeVar("T")


def _waiting(operation: Callable[Concatenate[Exchange, P], Flow[T]]) -> Callable[Concatenate["Client", P], T]:
    """The method of `Client` that carries out an operation of `Exchange`, with the same parameters."""

    def method(client: "Client", /, *args: P.args, **named: P.kwargs) -> T:
        return client._run(operation(client._exchange, *args, **named))

    _describe(method, operation)
    return method


def _awaited(
    operation: Callable[Concatenate[Exchange, P], Flow[T]],
) -> Callable[Concatenate["AsyncClient", P], Coroutine[Any, Any, T]]:
    """The same method of `AsyncClient`."""

    async def method(client: "AsyncClient", /, *args: P.args, **named: P.kwargs) -> T:
        return await client._run(operation(client._exchange, *args, **named))

    _describe(method, operation)
    return method


def _describe(method: Callable[..., object], operation: Callable[..., object]) -> None:
    """Let `help` show a method as its operation, and as its result what the flow of that ends with."""
    update_wrapper(method, operation)
    signature = inspect.signature(operation)
    result: str = signature.return_annotation
    result = result.removeprefix("Flow[").removesuffix("]")
    vars(method)["__signature__"] = signature.replace(return_annotation=result)


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

    plan = _waiting(Exchange.plan)
    submit = _waiting(Exchange.submit)
    front = _waiting(Exchange.front)
    submit_front = _waiting(Exchange.submit_front)
    front_result = _waiting(Exchange.front_result)
    job = _waiting(Exchange.job)
    jobs = _waiting(Exchange.jobs)
    result = _waiting(Exchange.result)
    problem = _waiting(Exchange.problem)
    proof = _waiting(Exchange.proof)
    plan_symbolic = _waiting(Exchange.plan_symbolic)
    submit_symbolic = _waiting(Exchange.submit_symbolic)
    symbolic_result = _waiting(Exchange.symbolic_result)
    evaluate = _waiting(Exchange.evaluate)
    stop = _waiting(Exchange.stop)
    stop_jobs = _waiting(Exchange.stop_jobs)
    get = _waiting(Exchange.get)
    administer = _waiting(Exchange.administer)

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
            except httpx2.RequestError as error:
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
                    with self._http.stream(
                        step.method, step.path, content=step.content, headers=step.headers
                    ) as response:
                        answer = Answer(response)
                        for chunk in response.iter_bytes():
                            answer.add(chunk)
                    return answer.whole()
                except httpx2.RequestError as error:
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

    plan = _awaited(Exchange.plan)
    submit = _awaited(Exchange.submit)
    front = _awaited(Exchange.front)
    submit_front = _awaited(Exchange.submit_front)
    front_result = _awaited(Exchange.front_result)
    job = _awaited(Exchange.job)
    jobs = _awaited(Exchange.jobs)
    result = _awaited(Exchange.result)
    problem = _awaited(Exchange.problem)
    proof = _awaited(Exchange.proof)
    plan_symbolic = _awaited(Exchange.plan_symbolic)
    submit_symbolic = _awaited(Exchange.submit_symbolic)
    symbolic_result = _awaited(Exchange.symbolic_result)
    evaluate = _awaited(Exchange.evaluate)
    stop = _awaited(Exchange.stop)
    stop_jobs = _awaited(Exchange.stop_jobs)
    get = _awaited(Exchange.get)
    administer = _awaited(Exchange.administer)

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
            except httpx2.RequestError as error:
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
                    async with self._http.stream(
                        step.method, step.path, content=step.content, headers=step.headers
                    ) as response:
                        answer = Answer(response)
                        async for chunk in response.aiter_bytes():
                            answer.add(chunk)
                    return answer.whole()
                except httpx2.RequestError as error:
                    return error
        return None


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
