"""The protocol of the client without a connection: requests, retries, events, errors.

A flow is a generator: it yields steps (a request, a pause, a job to follow) and is sent their replies. The
two clients of `api.client` carry out the steps, one waiting and one in an event loop.
"""

import json
import random
import re
import time
import uuid
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlencode

import httpx2

from memstow.api.operations.encoding import document_bytes, parse_shapes, plan_to_bytes, shapes_members
from memstow.planner import formats
from memstow.planner.formats.native import plain
from memstow.planner.graph.documents import problem_of
from memstow.planner.model.errors import DeclinedError, InputError, Issue, MemstowError
from memstow.planner.model.options import Bound, Event, Incumbent, Options, Phase
from memstow.planner.model.plan import Plan
from memstow.planner.model.printable import printable
from memstow.planner.model.problem import Problem

if TYPE_CHECKING:
    from memstow.planner.model.front import Front, FrontOptions
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.problem import Target
    from memstow.planner.model.symbolic import Shapes, SymbolicDocument, SymbolicPlan

_RETRIED: Final = frozenset({429, 502, 503, 504})
_LONGEST_PAUSE: Final = 10.0
# The prefix that Python puts before a message of the system.
_ERRNO: Final = re.compile(r"\[Errno -?\d+\] ")
_SHORTEST_STREAM_SECONDS: Final = 0.2
# Of one answer, unpacked, and from its first byte to its last: proofs are the longest.
MOST_ANSWER_BYTES: Final = 1 << 30
MOST_ANSWER_SECONDS: Final = 600.0
_BYTES_ON_THE_WIRE: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})
NOT_UNDERSTOOD: Final = "not_understood"
"""The code of an error for what no server of memstow sends."""
_ID: Final = re.compile(r"[0-9A-Za-z-]{1,64}")


class ServerError(MemstowError):
    """The server cannot be reached, or it refused a request."""

    def __init__(self, status: int | None, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


@dataclass(frozen=True, slots=True)
class JobEvent:
    """One event of a job: its number, its kind, its data."""

    number: int
    kind: str
    data: Mapping[str, Any]

    def event(self) -> Event | None:
        """The event as the engine reports it; None for the end of the job."""
        match self.kind, self.data:
            case "phase", {"name": str(name), "seconds": int() | float() as seconds}:
                return Phase(name, seconds)
            case "incumbent" | "bound" as kind, {
                "value": int(value),
                "solver": str(solver),
                "seconds": int() | float() as seconds,
            }:
                return (Incumbent if kind == "incumbent" else Bound)(value, solver, seconds)
            case "phase" | "incumbent" | "bound", _:
                raise _not_understood(f"an event {printable(self.kind)} with something else in it")
        return None


@dataclass(frozen=True, slots=True)
class Request:
    """A step: send this request. The reply is the response, or the error of the connection."""

    method: str
    path: str
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wait:
    """A step: pause."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Follow:
    """A step: read the events of a job to its end."""

    job: str


T = TypeVar("T")
JsonObject = dict[str, Any]
Reply = httpx2.Response | httpx2.RequestError | None
Flow = Generator[Request | Wait | Follow, Reply, T]


class Exchange:
    """The operations of a client, each as a flow: what both clients have of them is made from these."""

    def __init__(self, attempts: int) -> None:
        self._attempts = max(1, attempts)

    def plan(self, problem: "Problem | Graph", options: Options | None = None) -> "Flow[Plan]":
        """The plan, in one request where the server has it in time, else when its job is done."""
        answer = yield from self._planned(_request_about("/v1/plan", *_written(problem), options, {}, None))
        return formats.read_plan(answer.content, problem_of(problem), "json")

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
        proof: bool = False,
    ) -> "Flow[str]":
        """The id of a new job; with `proof` it writes a proof of its plan as well."""
        path = _with_query("/v1/jobs", name=name, callback=callback, proof="true" if proof else None)
        members = {"priority": priority, "hint_job": hint_job}
        request = _request_about(path, *_written(problem), options, members, idempotency_key)
        return (yield from self._submitted(request))

    def front(
        self,
        problem: "Problem | Graph",
        front_options: "FrontOptions | None" = None,
        options: Options | None = None,
        *,
        targets: "Sequence[Target | str]" = (),
    ) -> "Flow[Front]":
        """The front of two terms, when its job is done; with targets, one in the memories of each."""
        job = yield from self.submit_front(problem, front_options, options, targets=targets)
        yield Follow(job)
        return (yield from self.front_result(job))

    def submit_front(
        self,
        problem: "Problem | Graph",
        front_options: "FrontOptions | None" = None,
        options: Options | None = None,
        *,
        targets: "Sequence[Target | str]" = (),
        priority: int | None = None,
        idempotency_key: str | None = None,
        name: str | None = None,
        callback: str | None = None,
    ) -> "Flow[str]":
        """The id of a new job for a front; its events have a `point` for each point."""
        # The programs of most clients do not wait for this import.
        from memstow.planner.front.front_documents import plain_options

        path = _with_query("/v1/fronts", name=name, callback=callback)
        members = {
            "front": None if front_options is None else plain_options(front_options),
            "targets": [target if isinstance(target, str) else plain(target) for target in targets] or None,
            "priority": priority,
        }
        request = _request_about(path, *_written(problem), options, members, idempotency_key)
        return (yield from self._submitted(request))

    def front_result(self, job: str) -> "Flow[Front]":
        """The front of a job: the points so far, or all of them."""
        from memstow.planner.front.front_documents import read_front

        answer = yield from self._send(Request("GET", f"/v1/jobs/{job}/front"))
        return read_front(answer.content)

    def job(self, job: str) -> "Flow[JsonObject]":
        """A job as the server describes it."""
        return (yield from self.administer("GET", f"/v1/jobs/{job}"))

    def jobs(
        self, *, search: str | None = None, state: str | None = None, limit: int = 50
    ) -> "Flow[list[JsonObject]]":
        """The newest jobs; those with this text in their name, or in this state."""
        path = _with_query("/v1/jobs", search=search, state=state, limit=str(limit))
        listed: list[JsonObject] = (yield from self.administer("GET", path))["jobs"]
        return listed

    def result(self, job: str, problem: "Problem | Graph") -> "Flow[Plan]":
        """The plan of a job: the best so far, or the last."""
        answer = yield from self._send(Request("GET", f"/v1/jobs/{job}/plan"))
        return formats.read_plan(answer.content, problem_of(problem), "json")

    def problem(self, job: str) -> "Flow[bytes]":
        """The problem or the graph of a job, byte for byte as its proof is about it."""
        return (yield from self._send(Request("GET", f"/v1/jobs/{job}/problem"))).content

    def proof(self, job: str) -> "Flow[bytes]":
        """The proof of the plan of a job that has ended, for `check_proof` or `memstow-check`."""
        return (yield from self._send(Request("GET", f"/v1/jobs/{job}/proof"))).content

    def plan_symbolic(
        self,
        problem: "SymbolicDocument",
        options: Options | None = None,
        *,
        shapes: "Shapes" = "order",
        pieces: int | None = None,
    ) -> "Flow[SymbolicPlan]":
        """The plan of a problem or graph with symbols, in one request or when its job is done."""
        from memstow.planner.formats.native import read_symbolic_plan, write_document

        members = _shapes_members(shapes, pieces)
        request = _request_about("/v1/plan", "problem", write_document(problem), options, members, None)
        return read_symbolic_plan((yield from self._planned(request)).content)

    def submit_symbolic(
        self,
        problem: "SymbolicDocument",
        options: Options | None = None,
        *,
        shapes: "Shapes" = "order",
        pieces: int | None = None,
        priority: int | None = None,
        idempotency_key: str | None = None,
        name: str | None = None,
        callback: str | None = None,
    ) -> "Flow[str]":
        """The id of a new job for a problem or graph with symbols."""
        from memstow.planner.formats.native import write_document

        path = _with_query("/v1/jobs", name=name, callback=callback)
        members = {**_shapes_members(shapes, pieces), "priority": priority}
        request = _request_about(path, "problem", write_document(problem), options, members, idempotency_key)
        return (yield from self._submitted(request))

    def symbolic_result(self, job: str) -> "Flow[SymbolicPlan]":
        """The plan of a job for a problem with symbols: the best so far, or the last."""
        from memstow.planner.formats.native import read_symbolic_plan

        answer = yield from self._send(Request("GET", f"/v1/jobs/{job}/plan"))
        return read_symbolic_plan(answer.content)

    def evaluate(
        self, problem: "SymbolicDocument", plan: "SymbolicPlan", at: Mapping[str, int]
    ) -> "Flow[Plan]":
        """The ordinary plan of a symbolic plan, at a value of every symbol."""
        from memstow.planner.formats.native import write_document, write_symbolic_plan
        from memstow.planner.reading.json_text import parse_json
        from memstow.planner.reading.parse import parse_plan

        members = (
            (b'{"problem": ', write_document(problem)),
            (b', "plan": ', write_symbolic_plan(plan)),
            (b', "at": ', json.dumps(dict(at)).encode()),
        )
        body = b"".join(name + content for name, content in members) + b"}"
        header = {"content-type": "application/json"}
        answer = yield from self._send(Request("POST", "/v1/evaluate", body, header))
        return parse_plan(parse_json(answer.content))

    def stop(self, job: str, *, discard: bool = False) -> "Flow[None]":
        """Stop a job and keep its best plan, or remove all of it."""
        yield from self._send(Request("DELETE", f"/v1/jobs/{job}" + ("?discard=true" if discard else "")))

    def stop_jobs(
        self,
        ids: Sequence[str] | None = None,
        *,
        search: str | None = None,
        state: str | None = None,
        discard: bool = False,
    ) -> "Flow[list[str]]":
        """Stop the jobs that all of these describe, or remove all of them; the ids of those that were."""
        path = _with_query(
            "/v1/jobs",
            ids=None if ids is None else ",".join(ids),
            search=search,
            state=state,
            discard="true" if discard else None,
        )
        stopped: list[str] = []
        while True:
            document = yield from self.administer("DELETE", path)
            stopped += document["jobs"]
            if not document["more"]:
                return stopped

    def get(self, path: str) -> "Flow[JsonObject]":
        """What the server has at a path, such as /v1/capabilities."""
        return (yield from self.administer("GET", path))

    def administer(self, method: str, path: str) -> "Flow[JsonObject]":
        """The answer to a request for administrators, such as GET /v1/admin/queue."""
        return _object_in((yield from self._send(Request(method, path))))

    def events(self, job: str, after: int) -> "EventStream":
        """The events of a job after a number."""
        return EventStream(job, after, self._attempts)

    def _planned(self, request: Request) -> "Flow[httpx2.Response]":
        """The response to a request for a plan, or where that becomes a job, its plan at the end."""
        answer = yield from self._send(request)
        job = _unfinished_job(answer)
        if job is None:
            return answer
        yield Follow(job)
        return (yield from self._send(Request("GET", f"/v1/jobs/{job}/plan")))

    def _submitted(self, request: Request) -> "Flow[str]":
        """The id of the job that a request makes."""
        return _checked_id(_object_in((yield from self._send(request))).get("id"))

    def _send(self, request: Request) -> "Flow[httpx2.Response]":
        attempt = 0
        while True:
            reply = yield request
            if isinstance(reply, httpx2.Response) and reply.is_success:
                return reply
            _raise_unless_retried(attempt, self._attempts, reply)
            yield Wait(_pause(attempt, reply))
            attempt += 1


class Answer:
    """The body of a response as it comes, which a server cannot send without end."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._content = bytearray()
        self._end = time.monotonic() + MOST_ANSWER_SECONDS

    def add(self, chunk: bytes) -> None:
        """Keep what came; ServerError where it is too much or too late."""
        self._content += chunk
        if len(self._content) > MOST_ANSWER_BYTES:
            most = f"{MOST_ANSWER_BYTES:,} bytes"
            raise ServerError(None, "answer_too_large", f"the server sends more than {most} in one answer")
        if time.monotonic() > self._end:
            most = f"{MOST_ANSWER_SECONDS:g} s"
            raise ServerError(
                None, "answer_too_slow", f"the server takes more than {most} to send one answer"
            )

    def whole(self) -> httpx2.Response:
        """The response with all of its body."""
        headers = [pair for pair in self._response.headers.multi_items() if pair[0] not in _BYTES_ON_THE_WIRE]
        return httpx2.Response(
            self._response.status_code,
            headers=headers,
            content=bytes(self._content),
            request=self._response.request,
        )


class EventStream:
    """The events of a job, over as many connections as it takes.

    Parsed here in a few lines: libraries for server-sent events bring connections of their own.
    """

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
        """The headers of the next connection, which begins now."""
        self._refusal = None
        self._fields = {}
        self._begin = time.monotonic()
        return {"last-event-id": str(self._after)}

    def feed_line(self, line: str) -> Iterator[JobEvent]:
        """The event that this line completes, if any."""
        if line:
            name, _, value = line.partition(":")
            self._fields[name] = value.removeprefix(" ")
            return
        fields, self._fields = self._fields, {}
        if "event" in fields and "id" in fields:
            try:
                number, data = int(fields["id"]), json.loads(fields.get("data", "{}"))
            except ValueError:
                data = None
            if not isinstance(data, dict):
                raise _not_understood("an event that is none")
            self._after, self._failures = number, 0
            self.over = fields["event"] == "done"
            yield JobEvent(self._after, fields["event"], data)

    def fail(self, reply: httpx2.Response | httpx2.RequestError) -> None:
        """The connection failed or was refused; raises the error when that happened too often."""
        if isinstance(reply, httpx2.Response) and reply.status_code == httpx2.codes.NO_CONTENT:
            # The job is over, and all of its events were read before.
            self.over = True
            return
        _raise_unless_retried(self._failures, self._attempts, reply)
        self._failures += 1
        self._refusal = reply if isinstance(reply, httpx2.Response) else None

    def pause(self) -> float:
        """Seconds to wait before the next connection: none after a stream that lasted."""
        soon = time.monotonic() - self._begin < _SHORTEST_STREAM_SECONDS
        return _pause(self._failures, self._refusal) if soon or self._refusal is not None else 0.0


def _unfinished_job(answer: httpx2.Response) -> str | None:
    """The job that still works on the plan: of a response without one, or with the best plan so far."""
    if answer.status_code == httpx2.codes.ACCEPTED:
        return _checked_id(_object_in(answer).get("id"))
    if answer.headers.get("memstow-final") == "false":
        return _checked_id(str(answer.headers.get("location", "")).rpartition("/")[2])
    return None


def _object_in(answer: httpx2.Response) -> JsonObject:
    try:
        document = answer.json()
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise _not_understood("something that is no JSON object")
    return document


def _checked_id(name: object) -> str:
    """The id of a job, which becomes a part of paths."""
    if not isinstance(name, str) or not _ID.fullmatch(name):
        raise _not_understood("a job without an id")
    return name


def _not_understood(what: str) -> ServerError:
    return ServerError(None, NOT_UNDERSTOOD, f"the server sent {what}: is it one of memstow?")


def _raise_unless_retried(attempt: int, attempts: int, reply: Reply) -> None:
    """Raise the error of this attempt, unless another may help."""
    last = attempt + 1 >= attempts
    if isinstance(reply, httpx2.Response):
        if last or reply.status_code not in _RETRIED:
            raise _error_of(reply)
    elif last:
        raise _unreachable(reply) from reply


def _pause(attempt: int, reply: Reply) -> float:
    """Seconds to wait before the next attempt: as the server says, or longer each time with some jitter."""
    if isinstance(reply, httpx2.Response) and (said := reply.headers.get("retry-after", "")).isdecimal():
        return float(min(int(said), _LONGEST_PAUSE))
    return float(min(_LONGEST_PAUSE, 0.1 * 2**attempt)) * random.uniform(0.5, 1.0)  # noqa: S311


def _with_query(path: str, **parameters: str | None) -> str:
    """The path with these parameters, without those that are None."""
    values = {name: value for name, value in parameters.items() if value is not None}
    return f"{path}?{urlencode(values, errors='replace')}" if values else path


def _written(problem: "Problem | Graph") -> tuple[str, bytes]:
    """The member of a body that a problem or a graph is sent as, and its value."""
    return "problem" if isinstance(problem, Problem) else "graph", document_bytes(problem)


def _shapes_members(shapes: "Shapes", pieces: int | None) -> JsonObject:
    """The members of a body that say of what kind the plan of a problem with symbols is."""
    members = {"shapes": shapes} if pieces is None else {"shapes": shapes, "pieces": pieces}
    return {**shapes_members(parse_shapes(members))}


def _request_about(
    path: str,
    member: str,
    document: bytes,
    options: Options | None,
    members: JsonObject,
    idempotency_key: str | None,
) -> Request:
    """A request with a document; with its idempotency key it makes one job, however often it is sent."""
    body = f'{{"{member}": '.encode() + document
    if options is not None:
        body += b', "options": ' + _options_json(options)
    for name, value in members.items():
        if value is not None:
            body += f', "{name}": {json.dumps(value)}'.encode()
    headers = {"content-type": "application/json", "idempotency-key": idempotency_key or uuid.uuid4().hex}
    return Request("POST", path, body + b"}", headers)


def _options_json(options: Options) -> bytes:
    hint = options.hint
    text = plain(replace(options, hint=None))
    body = json.dumps(text).encode()
    if hint is None:
        return body
    return body[:-1] + (b", " if text else b"") + b'"hint": ' + plan_to_bytes(hint) + b"}"


def _unreachable(error: Exception | None) -> ServerError:
    why = _ERRNO.sub("", str(error))
    where = "the server"
    if isinstance(error, httpx2.RequestError):
        with suppress(RuntimeError):  # it does not know of a request
            url = error.request.url
            where = f"the server at {url.scheme}://{url.netloc.decode()}"
    return ServerError(None, "unreachable", f"{where} cannot be reached: {printable(why, 200)}")


def _error_of(answer: httpx2.Response) -> MemstowError:
    """A problem document as the exception that the library raises for the same mistake."""
    try:
        document = answer.json()
        code, detail = str(document["code"]), str(document["detail"])
        issues = [
            Issue(str(entry["code"]), str(entry["path"]).replace("$.problem", "$", 1), str(entry["message"]))
            for entry in document.get("errors", [])
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        return ServerError(answer.status_code, "http_error", f"the server answered {answer.status_code}")
    if code == "declined":
        return DeclinedError(detail)
    return InputError(issues) if issues else ServerError(answer.status_code, code, f"{detail} [{code}]")


def job_error(job: Mapping[str, Any]) -> MemstowError:
    """The error that a job failed with."""
    code, _, message = str(job["error"]).partition(": ")
    if code == "declined":
        return DeclinedError(message)
    return ServerError(None, "job_failed", f"the server could not solve it: {job['error']}")
