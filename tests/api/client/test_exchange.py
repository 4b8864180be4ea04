"""What both clients decide: when to ask again, after how long, and what an error means. Nothing is sent."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Iterable, Iterator
from inspect import iscoroutinefunction, signature
from typing import Any

import httpx2
import pytest

from memstow.api.client import AsyncClient, Client, exchange
from memstow.api.client.exchange import (
    EventStream,
    Exchange,
    Flow,
    Follow,
    JobEvent,
    Reply,
    Request,
    ServerError,
    Wait,
)
from memstow.planner import formats
from memstow.planner.model import Status
from memstow.planner.model.errors import DeclinedError, InputError
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Buffer, Problem

PROBLEM = Problem(version=1, buffers=(Buffer(id="a", size=64, lifetime=(0, 2)),))
LOST = httpx2.ConnectError("no route")


def answer(status: int, document: Any = None, **headers: str) -> httpx2.Response:
    return httpx2.Response(
        status, json=document, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


def refusal(status: int, code: str, **members: Any) -> httpx2.Response:
    return answer(status, {"code": code, "detail": "it is so", **members})


def carried_out(flow: Flow[Any], heard: Iterable[Reply]) -> tuple[list[Any], Any]:
    """The steps of a flow that hears this, requests, waits and all, and what it comes to."""
    coming = iter(heard)
    steps: list[Any] = []
    output: Reply = None
    while True:
        try:
            step = flow.send(output)
        except StopIteration as end:
            assert next(coming, None) is None, "everything was heard"
            return steps, end.value
        steps.append(step)
        output = next(coming) if isinstance(step, Request) else None


def test_a_busy_server_is_asked_again_when_it_says_so_with_the_same_key() -> None:
    flow = Exchange(6).submit(PROBLEM, priority=3)
    heard: list[Reply] = [
        refusal(429, "queue_full"),
        LOST,
        answer(503, retry_after="4"),
        answer(202, {"id": "j"}),
    ]
    steps, job = carried_out(flow, heard)
    assert job == "j"
    requests = [step for step in steps if isinstance(step, Request)]
    waits = [step.seconds for step in steps if isinstance(step, Wait)]
    assert len(requests) == 4
    assert requests[0].headers["idempotency-key"]
    assert all(request == requests[0] for request in requests)
    assert json.loads(requests[0].content or b"")["priority"] == 3
    assert waits[2] == 4.0
    assert 0 < waits[0] <= 0.1 < waits[0] + waits[1] <= 0.3


def test_a_pause_grows_and_has_an_end() -> None:
    flow = Exchange(20).job("j")
    steps, _ = carried_out(flow, [*[LOST] * 18, answer(200, {})])
    waits = [step.seconds for step in steps if isinstance(step, Wait)]
    assert max(waits[:3]) < min(waits[8:])
    assert max(waits) <= 10.0
    steps, _ = carried_out(Exchange(2).job("j"), [answer(503, retry_after="86400"), answer(200, {})])
    assert steps[1].seconds == 10.0


@pytest.mark.parametrize("last", [LOST, refusal(503, "draining")])
def test_after_the_last_attempt_it_is_an_error(last: Reply) -> None:
    with pytest.raises(ServerError) as gone:
        carried_out(Exchange(3).job("j"), [LOST, LOST, last])
    assert gone.value.code in ("unreachable", "draining")


@pytest.mark.parametrize(
    ("reply", "error", "text"),
    [
        (refusal(404, "no_such_job"), ServerError, "no_such_job"),
        (refusal(422, "declined"), DeclinedError, "it is so"),
        (answer(400, ["no", "document"]), ServerError, "answered 400"),
        (
            refusal(
                422,
                "wrong",
                errors=[{"code": "empty_lifetime", "path": "$.problem.buffers[0]", "message": "never"}],
            ),
            InputError,
            r"\$.buffers\[0\]",
        ),
    ],
)
def test_a_mistake_is_not_sent_again_and_raises_what_it_raises_here(
    reply: Reply, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        carried_out(Exchange(6).plan(PROBLEM, None), [reply])


def test_a_plan_that_takes_longer_is_followed_and_fetched() -> None:
    plan = Plan(status=Status.UNKNOWN)
    body = httpx2.Response(200, content=formats.write_plan(PROBLEM, plan))
    steps, result = carried_out(
        Exchange(6).plan(PROBLEM, Options(time_limit=2.0, hint=plan)), [answer(202, {"id": "j"}), body]
    )
    assert result == plan
    assert [type(step) for step in steps] == [Request, Follow, Request]
    assert steps[0].headers["idempotency-key"], "sent again, it is not another job"
    document = json.loads(steps[0].content)
    assert document["options"]["time_limit"] == 2.0
    assert document["options"]["hint"]["status"] == "unknown"
    assert (steps[1].job, steps[2].path) == ("j", "/v1/jobs/j/plan")


def hear(following: EventStream, text: str) -> list[tuple[int, str]]:
    return [(one.number, one.kind) for line in text.splitlines() for one in following.feed_line(line)]


def test_a_stream_goes_on_behind_the_last_event_that_was_whole() -> None:
    following = Exchange(3).events("j", 0)
    assert following.headers() == {"last-event-id": "0"}
    first = ": a comment\nretry: 1000\n\nid: 1\nevent: phase\ndata: {}\n\nid: 2\nevent: bou"
    assert hear(following, first) == [(1, "phase")]
    following.fail(LOST)
    assert following.headers() == {"last-event-id": "1"}
    assert hear(following, 'id: 2\nevent: bound\ndata: {"value": 3}\n\n') == [(2, "bound")]
    assert not following.over
    assert hear(following, "id: 3\nevent: done\ndata: {}\n\n") == [(3, "done")]
    assert following.over


def test_a_stream_that_has_nothing_more_is_over() -> None:
    following = Exchange(3).events("j", 7)
    following.headers()
    following.fail(httpx2.Response(204))
    assert following.over


def test_failures_count_from_the_last_event() -> None:
    following = Exchange(2).events("j", 0)
    for number in (1, 2, 3):
        following.headers()
        following.fail(refusal(503, "draining"))
        following.headers()
        assert hear(following, f"id: {number}\nevent: bound\ndata: {{}}\n\n") == [(number, "bound")]
    following.fail(LOST)
    with pytest.raises(ServerError, match="cannot be reached"):
        following.fail(LOST)


def test_a_server_that_ends_its_streams_at_once_is_not_asked_at_once() -> None:
    following = Exchange(3).events("j", 0)
    following.headers()
    assert 0 < following.pause() <= 0.1
    following.fail(answer(503, retry_after="2"))
    assert following.pause() == 2.0


def test_the_best_plan_so_far_is_not_taken_for_the_last() -> None:
    early, last = (
        Plan(status=status, seconds=seconds)
        for status, seconds in ((Status.UNKNOWN, 1.0), (Status.INFEASIBLE, 2.0))
    )
    partial = httpx2.Response(
        200,
        content=formats.write_plan(PROBLEM, early),
        headers={"memstow-final": "false", "location": "/v1/jobs/j1"},
    )
    final = httpx2.Response(200, content=formats.write_plan(PROBLEM, last))
    steps, plan = carried_out(Exchange(6).plan(PROBLEM, None), [partial, final])
    assert steps[1:] == [Follow("j1"), Request("GET", "/v1/jobs/j1/plan")]
    assert plan.status is Status.INFEASIBLE


def test_both_clients_have_every_operation_with_the_same_parameters() -> None:
    operations = {name for name in vars(Exchange) if not name.startswith("_")} - {"events"}
    for client in (Client, AsyncClient):
        assert {name for name in vars(client) if not name.startswith("_")} == operations | {"events", "close"}
    for name in operations:
        waiting, awaited = signature(getattr(Client, name)), signature(getattr(AsyncClient, name))
        assert waiting == awaited
    assert str(signature(Client.job)) == "(self, job: str) -> 'JsonObject'"
    assert iscoroutinefunction(AsyncClient.job)
    assert not iscoroutinefunction(Client.job)


@pytest.mark.parametrize("name", ["../keys", "a?b", "a\r\nX: y", "", None, 7])
def test_what_is_no_id_is_no_part_of_a_path(name: object) -> None:
    with pytest.raises(ServerError, match="a job without an id"):
        carried_out(Exchange(1).submit(PROBLEM), [answer(202, {"id": name})])


@pytest.mark.parametrize("document", [[], "x", None])
def test_an_answer_that_is_no_object_is_an_error(document: object) -> None:
    with pytest.raises(ServerError, match="no JSON object"):
        carried_out(Exchange(1).job("j"), [answer(200, document)])


@pytest.mark.parametrize("errors", [1, [1], [{}], ["x"]])
def test_a_refusal_with_something_else_in_it_is_one_all_the_same(errors: object) -> None:
    with pytest.raises(ServerError, match="the server answered 422"):
        carried_out(Exchange(1).job("j"), [refusal(422, "invalid_request", errors=errors)])


@pytest.mark.parametrize(("number", "data"), [("x", "{}"), ("1", "[1"), ("1", "[]")])
def test_an_event_that_is_none_is_an_error(number: str, data: str) -> None:
    stream = EventStream("j", 0, 1)
    for line in (f"id: {number}", "event: incumbent", f"data: {data}"):
        assert list(stream.feed_line(line)) == []
    with pytest.raises(ServerError, match="an event that is none"):
        list(stream.feed_line(""))


@pytest.mark.parametrize("kind", ["phase", "incumbent", "bound"])
@pytest.mark.parametrize("data", [{}, {"name": 1, "value": "1", "solver": "x", "seconds": 0.0}])
def test_an_event_with_something_else_in_it_is_an_error(kind: str, data: dict[str, object]) -> None:
    with pytest.raises(ServerError, match="with something else in it"):
        JobEvent(1, kind, data).event()


def pretended(client: Client | AsyncClient, body: bytes, **headers: str) -> None:
    """Let the client hear this, whatever it asks for."""
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, stream=Pieces(body), headers=headers))
    kind = httpx2.Client if isinstance(client, Client) else httpx2.AsyncClient
    vars(client)["_http"] = kind(transport=transport, base_url="http://localhost")


class Pieces(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A body that says nothing of its length."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def __iter__(self) -> Iterator[bytes]:
        yield self._body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_response_has_an_end_unpacked_as_well(
    monkeypatch: pytest.MonkeyPatch, kind: type[Client] | type[AsyncClient]
) -> None:
    def proof(body: bytes, **headers: str) -> bytes:
        client = kind("http://localhost", attempts=1)
        pretended(client, body, **headers)
        if isinstance(client, Client):
            return client.proof("j")
        return asyncio.run(client.proof("j"))

    monkeypatch.setattr(exchange, "MOST_ANSWER_BYTES", 1000)
    packed = {"content-encoding": "gzip"}
    assert proof(bytes(1000)) == proof(gzip.compress(bytes(1000)), **packed) == bytes(1000)
    for body, headers in ((bytes(1001), {}), (gzip.compress(bytes(1001)), packed)):
        with pytest.raises(ServerError, match="more than 1,000 bytes"):
            proof(body, **headers)
    with pytest.raises(ServerError, match="cannot be reached"):
        proof(b"no gzip", **packed)
