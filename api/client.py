"""A client of the service, typed: `Client`, and `AsyncClient` for programs in an event loop.

Requests that failed on the way, or that the server had no time for, are sent again after a while. A job is
put in with an idempotency key, so that it is one job however often it is sent.
"""

import asyncio
import json
import queue
import random
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import httpx2

from planner import formats
from planner.errors import DeclinedError, InputError, Issue, MemstowError
from planner.events import Bound, Event, Incumbent, Phase
from planner.formats.native import plain
from planner.options import Options
from planner.plan import Plan, Status
from planner.problem import Problem
from planner.reading.shown import printable

_AGAIN: Final = frozenset({429, 502, 503, 504})
_LONGEST_PAUSE: Final = 10.0
_ANSWER_SECONDS: Final = 60.0
_CONNECT_SECONDS: Final = 10.0
_LEAST_LOOK_SECONDS: Final = 0.2


class ServerError(MemstowError):
    """The server cannot be reached, or it did not do what was asked."""

    def __init__(self, status: int | None, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


@dataclass(frozen=True, slots=True)
class Happening:
    """One event of a job: its number, its kind, its data."""

    number: int
    kind: str
    data: Mapping[str, Any]

    def event(self) -> Event | None:
        """As the engine tells it; None for the end."""
        data = self.data
        match self.kind:
            case "phase":
                return Phase(data["name"], data["seconds"])
            case "incumbent":
                return Incumbent(data["value"], data["solver"], data["seconds"])
            case "bound":
                return Bound(data["value"], data["solver"], data["seconds"])
        return None


class _Common:
    """What both clients share: requests as data, answers as values."""

    def __init__(self, server: str, key: str | None, attempts: int) -> None:
        if not server.startswith(("http://", "https://")):
            raise InputError.single(
                "bad_server", "server", f"{printable(server, 100)!r} is not an http(s) URL"
            )
        self._attempts = max(1, attempts)
        self._options: dict[str, Any] = {
            "base_url": server.rstrip("/"),
            "headers": {"accept": "application/json"} | ({"authorization": f"Bearer {key}"} if key else {}),
            "timeout": httpx2.Timeout(_ANSWER_SECONDS, connect=_CONNECT_SECONDS),
        }

    @staticmethod
    def _asked(problem: Problem, options: Options | None, members: Mapping[str, Any]) -> dict[str, Any]:
        body = b'{"problem": ' + formats.write_problem(problem)
        if options is not None:
            body += b', "options": ' + _written(problem, options)
        for name, value in members.items():
            if value is not None:
                body += f', "{name}": {json.dumps(value)}'.encode()
        return {"content": body + b"}", "headers": {"content-type": "application/json"}}

    def _pause(self, attempt: int, answer: httpx2.Response | None) -> float:
        """Seconds to wait before the next attempt: what the server says, or longer each time, at random."""
        if answer is not None and (said := answer.headers.get("retry-after", "")).isdecimal():
            return float(min(int(said), _LONGEST_PAUSE))
        return float(min(_LONGEST_PAUSE, 0.1 * 2**attempt)) * random.uniform(0.5, 1.0)  # noqa: S311

    def _final(self, attempt: int, answer: httpx2.Response | None) -> bool:
        return attempt + 1 >= self._attempts or (answer is not None and answer.status_code not in _AGAIN)


class Client(_Common):
    """Talks to one server. Close it, or use it as a context manager."""

    def __init__(self, server: str, key: str | None = None, *, attempts: int = 6) -> None:
        super().__init__(server, key, attempts)
        self._http = httpx2.Client(**self._options)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def plan(self, problem: Problem, options: Options | None = None) -> Plan:
        """The plan, in one request where the server has it in time, else when its job is done."""
        answer = self._send("POST", "/v1/plan", **self._asked(problem, options, {}))
        if answer.status_code == 202:
            job = answer.json()["id"]
            for _ in self.events(job):
                pass
            return self.result(job, problem)
        return formats.read_plan(answer.content, problem, "json")

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
        asked = self._asked(problem, options, {"priority": priority, "hint_job": hint_job})
        asked["headers"]["idempotency-key"] = idempotency_key or uuid.uuid4().hex
        return str(self._send("POST", "/v1/jobs", **asked).json()["id"])

    def job(self, job: str) -> dict[str, Any]:
        """What the server says of a job."""
        found: dict[str, Any] = self._send("GET", f"/v1/jobs/{job}").json()
        return found

    def events(self, job: str, after: int = 0) -> Iterator[Happening]:
        """What happens to a job, up to its end, over as many connections as it takes."""
        failures = 0
        while True:
            begin = time.monotonic()
            try:
                with self._http.stream(
                    "GET", f"/v1/jobs/{job}/events", headers={"last-event-id": str(after)}
                ) as stream:
                    if stream.status_code != 200:
                        stream.read()
                        if self._final(failures, stream):
                            raise _failure(stream)
                        failures += 1
                        time.sleep(self._pause(failures, stream))
                        continue
                    reader = _EventReader()
                    for line in stream.iter_lines():
                        for happening in reader.feed(line):
                            after, failures = happening.number, 0
                            yield happening
                            if happening.kind == "done":
                                return
            except httpx2.TransportError as error:
                failures += 1
                if failures >= self._attempts:
                    raise _unreachable(error) from error
            # A stream that ended without the end of the job: its server is going away.
            if time.monotonic() - begin < _LEAST_LOOK_SECONDS:
                time.sleep(self._pause(failures, None))

    def result(self, job: str, problem: Problem) -> Plan:
        """The plan of a job: the best so far, or the last."""
        answer = self._send("GET", f"/v1/jobs/{job}/plan")
        return formats.read_plan(answer.content, problem, "json")

    def stop(self, job: str, *, discard: bool = False) -> None:
        """Stop a job and keep its best plan, or remove all of it."""
        self._send("DELETE", f"/v1/jobs/{job}" + ("?discard=true" if discard else ""))

    def _send(self, method: str, path: str, **asked: Any) -> httpx2.Response:
        attempt = 0
        while True:
            answer = None
            try:
                answer = self._http.request(method, path, **asked)
            except httpx2.TransportError as error:
                if self._final(attempt, None):
                    raise _unreachable(error) from error
            if answer is not None and answer.is_success:
                return answer
            if answer is not None and self._final(attempt, answer):
                raise _failure(answer)
            time.sleep(self._pause(attempt, answer))
            attempt += 1


class AsyncClient(_Common):
    """The same for an event loop."""

    def __init__(self, server: str, key: str | None = None, *, attempts: int = 6) -> None:
        super().__init__(server, key, attempts)
        self._http = httpx2.AsyncClient(**self._options)

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def plan(self, problem: Problem, options: Options | None = None) -> Plan:
        """The plan, in one request where the server has it in time, else when its job is done."""
        answer = await self._send("POST", "/v1/plan", **self._asked(problem, options, {}))
        if answer.status_code == 202:
            job = answer.json()["id"]
            async for _ in self.events(job):
                pass
            return await self.result(job, problem)
        return formats.read_plan(answer.content, problem, "json")

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
        asked = self._asked(problem, options, {"priority": priority, "hint_job": hint_job})
        asked["headers"]["idempotency-key"] = idempotency_key or uuid.uuid4().hex
        return str((await self._send("POST", "/v1/jobs", **asked)).json()["id"])

    async def job(self, job: str) -> dict[str, Any]:
        """What the server says of a job."""
        found: dict[str, Any] = (await self._send("GET", f"/v1/jobs/{job}")).json()
        return found

    async def events(self, job: str, after: int = 0) -> AsyncIterator[Happening]:
        """What happens to a job, up to its end, over as many connections as it takes."""
        failures = 0
        while True:
            begin = time.monotonic()
            try:
                async with self._http.stream(
                    "GET", f"/v1/jobs/{job}/events", headers={"last-event-id": str(after)}
                ) as stream:
                    if stream.status_code != 200:
                        await stream.aread()
                        if self._final(failures, stream):
                            raise _failure(stream)
                        failures += 1
                        await asyncio.sleep(self._pause(failures, stream))
                        continue
                    reader = _EventReader()
                    async for line in stream.aiter_lines():
                        for happening in reader.feed(line):
                            after, failures = happening.number, 0
                            yield happening
                            if happening.kind == "done":
                                return
            except httpx2.TransportError as error:
                failures += 1
                if failures >= self._attempts:
                    raise _unreachable(error) from error
            if time.monotonic() - begin < _LEAST_LOOK_SECONDS:
                await asyncio.sleep(self._pause(failures, None))

    async def result(self, job: str, problem: Problem) -> Plan:
        """The plan of a job: the best so far, or the last."""
        answer = await self._send("GET", f"/v1/jobs/{job}/plan")
        return formats.read_plan(answer.content, problem, "json")

    async def stop(self, job: str, *, discard: bool = False) -> None:
        """Stop a job and keep its best plan, or remove all of it."""
        await self._send("DELETE", f"/v1/jobs/{job}" + ("?discard=true" if discard else ""))

    async def _send(self, method: str, path: str, **asked: Any) -> httpx2.Response:
        attempt = 0
        while True:
            answer = None
            try:
                answer = await self._http.request(method, path, **asked)
            except httpx2.TransportError as error:
                if self._final(attempt, None):
                    raise _unreachable(error) from error
            if answer is not None and answer.is_success:
                return answer
            if answer is not None and self._final(attempt, answer):
                raise _failure(answer)
            await asyncio.sleep(self._pause(attempt, answer))
            attempt += 1


class _EventReader:
    """Lines of a stream to events."""

    def __init__(self) -> None:
        self._fields: dict[str, str] = {}

    def feed(self, line: str) -> Iterator[Happening]:
        """The event that is complete with this line, if one is."""
        if line:
            name, _, value = line.partition(":")
            self._fields[name] = value.removeprefix(" ")
            return
        fields, self._fields = self._fields, {}
        if "event" in fields and "id" in fields:
            yield Happening(int(fields["id"]), fields["event"], json.loads(fields.get("data", "{}")))


def solve(
    client: Client,
    problem: Problem,
    options: Options,
    on_event: Callable[[Event], None] | None,
    stopped: Callable[[], bool],
) -> Plan:
    """As `planner.engine.plan`, by a server: events are told, and a stop keeps the best plan."""
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
        raise _failed(client.job(job))
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


def _written(problem: Problem, options: Options) -> bytes:
    hint = options.hint
    text = plain(replace(options, hint=None))
    body = json.dumps(text).encode()
    if hint is None:
        return body
    return body[:-1] + (b", " if text else b"") + b'"hint": ' + formats.write_plan(problem, hint) + b"}"


def _unreachable(error: Exception) -> ServerError:
    return ServerError(None, "unreachable", f"the server cannot be reached: {printable(str(error), 200)}")


def _failure(answer: httpx2.Response) -> MemstowError:
    """A problem document as the exception that the same mistake raises here."""
    try:
        document = answer.json()
        code, detail = str(document["code"]), str(document["detail"])
    except (ValueError, KeyError, TypeError):
        return ServerError(answer.status_code, "http_error", f"the server answered {answer.status_code}")
    if code == "declined":
        return DeclinedError(detail)
    issues = [
        Issue(it["code"], it["path"].replace("$.problem", "$", 1), it["message"])
        for it in document.get("errors", [])
    ]
    return InputError(issues) if issues else ServerError(answer.status_code, code, f"{detail} [{code}]")


def _failed(job: Mapping[str, Any]) -> MemstowError:
    """Why a job failed."""
    code, _, message = str(job["error"]).partition(": ")
    if code == "declined":
        return DeclinedError(message)
    return ServerError(None, "job_failed", f"the server could not solve it: {job['error']}")
