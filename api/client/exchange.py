"""What a client says to a server and what it makes of the answers, without a connection.

A flow is a generator: it yields what is to be done and is sent what came of it. The two clients of
`api.client` carry that out, one waiting and one in an event loop; what is asked, when it is asked again and
what an error means is the same for both, and here.
"""

import json
import random
import re
import time
import uuid
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

import httpx2

from memstow.planner import formats
from memstow.planner.formats.native import plain
from memstow.planner.model.errors import DeclinedError, InputError, Issue, MemstowError
from memstow.planner.model.events import Bound, Event, Incumbent, Phase
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.reading.printable import printable

_AGAIN: Final = frozenset({429, 502, 503, 504})
_LONGEST_PAUSE: Final = 10.0
# How Python begins what the system says.
_ERRNO: Final = re.compile(r"\[Errno -?\d+\] ")
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


@dataclass(frozen=True, slots=True)
class Request:
    """To be sent; what comes of it is the answer, or why there is none."""

    method: str
    path: str
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wait:
    """So many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Follow:
    """To the end of a job."""

    job: str


T = TypeVar("T")
Heard = httpx2.Response | httpx2.TransportError | None
Flow = Generator[Request | Wait | Follow, Heard, T]


class Exchange:
    """The flows of one client."""

    def __init__(self, attempts: int) -> None:
        self._attempts = max(1, attempts)

    def plan(self, problem: Problem, options: Options | None) -> Flow[Plan]:
        """The plan, in one request where the server has it in time, else when its job is done."""
        answer = yield from self._sent(_asking("/v1/plan", problem, options, {}, _promise(None)))
        if answer.status_code == 202:
            job = str(answer.json()["id"])
            yield Follow(job)
            return (yield from self.result(job, problem))
        return formats.read_plan(answer.content, problem, "json")

    def submit(
        self,
        problem: Problem,
        options: Options | None,
        priority: int | None,
        hint_job: str | None,
        idempotency_key: str | None,
    ) -> Flow[str]:
        """The id of a new job."""
        members = {"priority": priority, "hint_job": hint_job}
        promise = _promise(idempotency_key)
        answer = yield from self._sent(_asking("/v1/jobs", problem, options, members, promise))
        return str(answer.json()["id"])

    def job(self, job: str) -> Flow[dict[str, Any]]:
        """What the server says of a job."""
        answer = yield from self._sent(Request("GET", f"/v1/jobs/{job}"))
        found: dict[str, Any] = answer.json()
        return found

    def result(self, job: str, problem: Problem) -> Flow[Plan]:
        """The plan of a job: the best so far, or the last."""
        answer = yield from self._sent(Request("GET", f"/v1/jobs/{job}/plan"))
        return formats.read_plan(answer.content, problem, "json")

    def stop(self, job: str, discard: bool) -> Flow[None]:
        """Stop a job and keep its best plan, or remove all of it."""
        yield from self._sent(Request("DELETE", f"/v1/jobs/{job}" + ("?discard=true" if discard else "")))

    def following(self, job: str, after: int) -> "Following":
        """The events of a job behind a number."""
        return Following(job, after, self._attempts)

    def _sent(self, request: Request) -> Flow[httpx2.Response]:
        attempt = 0
        while True:
            heard = yield request
            if isinstance(heard, httpx2.Response) and heard.is_success:
                return heard
            _require_another(attempt, self._attempts, heard)
            yield Wait(_pause(attempt, heard))
            attempt += 1


class Following:
    """What is known of a job's events, over as many connections as it takes."""

    def __init__(self, job: str, after: int, attempts: int) -> None:
        self.over = False
        self.path = f"/v1/jobs/{job}/events"
        self._after = after
        self._attempts = attempts
        self._failures = 0
        self._refusal: httpx2.Response | None = None
        self._fields: dict[str, str] = {}
        self._begin = 0.0

    def headers(self) -> dict[str, str]:
        """Of the next connection, which begins now."""
        self._refusal = None
        self._fields = {}
        self._begin = time.monotonic()
        return {"last-event-id": str(self._after)}

    def hear(self, line: str) -> Iterator[Happening]:
        """The event that is complete with this line of the stream, if one is."""
        if line:
            name, _, value = line.partition(":")
            self._fields[name] = value.removeprefix(" ")
            return
        fields, self._fields = self._fields, {}
        if "event" in fields and "id" in fields:
            self._after, self._failures = int(fields["id"]), 0
            self.over = fields["event"] == "done"
            yield Happening(self._after, fields["event"], json.loads(fields.get("data", "{}")))

    def fail(self, heard: httpx2.Response | httpx2.TransportError) -> None:
        """There was no stream, or it broke off; an error when that happened too often."""
        if isinstance(heard, httpx2.Response) and heard.status_code == httpx2.codes.NO_CONTENT:
            # The job is over, and all of it was heard before.
            self.over = True
            return
        _require_another(self._failures, self._attempts, heard)
        self._failures += 1
        self._refusal = heard if isinstance(heard, httpx2.Response) else None

    def pause(self) -> float:
        """Seconds to wait before the next connection. A stream that ended: its server is going away."""
        soon = time.monotonic() - self._begin < _LEAST_LOOK_SECONDS
        return _pause(self._failures, self._refusal) if soon or self._refusal is not None else 0.0


def _require_another(attempt: int, attempts: int, heard: Heard) -> None:
    """Raise what came of this attempt, unless another may help."""
    last = attempt + 1 >= attempts
    if isinstance(heard, httpx2.Response):
        if last or heard.status_code not in _AGAIN:
            raise _failure(heard)
    elif last:
        raise _unreachable(heard) from heard


def _pause(attempt: int, heard: Heard) -> float:
    """Seconds to wait before the next attempt: what the server says, or longer each time, at random."""
    if isinstance(heard, httpx2.Response) and (said := heard.headers.get("retry-after", "")).isdecimal():
        return float(min(int(said), _LONGEST_PAUSE))
    return float(min(_LONGEST_PAUSE, 0.1 * 2**attempt)) * random.uniform(0.5, 1.0)  # noqa: S311


def _promise(key: str | None) -> dict[str, str]:
    """However often the request is sent, it makes one job."""
    return {"idempotency-key": key or uuid.uuid4().hex}


def _asking(
    path: str,
    problem: Problem,
    options: Options | None,
    members: Mapping[str, Any],
    headers: Mapping[str, str] | None = None,
) -> Request:
    body = b'{"problem": ' + formats.write_problem(problem)
    if options is not None:
        body += b', "options": ' + _written(problem, options)
    for name, value in members.items():
        if value is not None:
            body += f', "{name}": {json.dumps(value)}'.encode()
    return Request("POST", path, body + b"}", {"content-type": "application/json", **(headers or {})})


def _written(problem: Problem, options: Options) -> bytes:
    hint = options.hint
    text = plain(replace(options, hint=None))
    body = json.dumps(text).encode()
    if hint is None:
        return body
    return body[:-1] + (b", " if text else b"") + b'"hint": ' + formats.write_plan(problem, hint) + b"}"


def _unreachable(error: Exception | None) -> ServerError:
    why = _ERRNO.sub("", str(error))
    where = "the server"
    if isinstance(error, httpx2.RequestError):
        with suppress(RuntimeError):  # it does not know of a request
            url = error.request.url
            where = f"the server at {url.scheme}://{url.netloc.decode()}"
    return ServerError(None, "unreachable", f"{where} cannot be reached: {printable(why, 200)}")


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


def failed(job: Mapping[str, Any]) -> MemstowError:
    """Why a job failed."""
    code, _, message = str(job["error"]).partition(": ")
    if code == "declined":
        return DeclinedError(message)
    return ServerError(None, "job_failed", f"the server could not solve it: {job['error']}")
