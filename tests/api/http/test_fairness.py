"""Callers of the tools next to each other: a search of one does not hold up the other, and says so honestly.

The children are replaced by pieces of work that end when they are told to: nothing here depends on time.
"""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from memstow.api.http.app import create_app
from memstow.api.http.samples import PROBLEM
from memstow.api.http.settings import Settings
from memstow.api.http.submission import draft_for
from memstow.api.operations.batch import jobs_of, read_batch
from memstow.api.operations.operations import CONVERT, INSPECT, READ, VERIFY
from memstow.api.operations.request_types import Document, encode
from memstow.api.store.keys import Role
from tests.waiting import wait_for

NEEDS = "/v1/inspect?needs=true&time_limit=20"


class Children:
    """In place of child processes: holds each run until it is told to end."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, float | None]] = []
        self.end = threading.Event()

    def run(self, operation: Any, request: Any, _control: Any) -> Any:
        self.begun.append((operation.name, getattr(request, "needs_seconds", None)))
        assert self.end.wait(200)
        if operation is READ:
            return operation.perform(request, None)
        return Document(b"{}", "json")


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return create_app(Settings(data=tmp_path, slots=0, fast_body=100))


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app, base_url="http://localhost") as client:
        yield client


@pytest.fixture
def children(app: FastAPI, client: TestClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[Children]:
    assert client.get("/livez").status_code == 200
    children = Children()
    monkeypatch.setattr(app.state.service.children, "run", children.run)
    yield children
    children.end.set()


@pytest.fixture
def posted(client: TestClient, children: Children) -> Iterator[Callable[..., "Future[httpx2.Response]"]]:
    """Posts in a thread of its own, under the key with this letter."""
    service = client.app.state.service  # type: ignore[attr-defined]
    keys = {name: service.keys.create(name, Role.SOLVE)[1] for name in "abc"}
    with ThreadPoolExecutor(20) as pool:

        def post(key: str, path: str, body: object) -> "Future[httpx2.Response]":
            headers = {"authorization": f"Bearer {keys[key]}"}
            return pool.submit(client.post, path, json=body, headers=headers)

        try:
            yield post
        finally:
            children.end.set()


def waiting(app: FastAPI, lane: str) -> int:
    result: int = getattr(app.state.service._threads, lane).slots._waiting
    return result


def test_searches_of_one_caller_leave_a_slot_to_the_others(
    app: FastAPI, children: Children, posted: Callable[..., "Future[httpx2.Response]"]
) -> None:
    body = {"problem": PROBLEM}
    answers = [posted("a", NEEDS, body) for _ in range(4)]
    wait_for(lambda: waiting(app, "_searchers") == 3, "the first to search, and the others to wait")
    assert children.begun == [("inspect", 20.0)], "nobody else waited"
    answers.append(posted("b", NEEDS, body))
    wait_for(lambda: len(children.begun) == 2, "another caller to be served at once")
    assert children.begun[1] == ("inspect", 5.0), "while others wait a search is short"
    children.end.set()
    assert [answer.result().status_code for answer in answers] == [200] * 5


def test_a_large_body_is_read_while_searches_go_on(
    app: FastAPI, children: Children, posted: Callable[..., "Future[httpx2.Response]"]
) -> None:
    answers = [posted(key, NEEDS, {"problem": PROBLEM}) for key in "abcabc"]
    wait_for(lambda: waiting(app, "_searchers") == 4, "searches to wait for each other")
    answers.append(posted("a", "/v1/jobs", {"problem": PROBLEM}))
    wait_for(lambda: ("read", None) in children.begun, "the body to be read")
    children.end.set()
    assert [answer.result().status_code for answer in answers] == [200] * 6 + [202]


def test_the_large_bodies_of_one_caller_do_not_go_before_those_of_another(
    app: FastAPI, children: Children, posted: Callable[..., "Future[httpx2.Response]"]
) -> None:
    answers = [posted("a", "/v1/jobs", {"problem": PROBLEM}) for _ in range(6)]
    wait_for(lambda: waiting(app, "_readers") == 4, "bodies to wait")
    answers.append(posted("b", "/v1/inspect", {"problem": PROBLEM}))
    wait_for(lambda: waiting(app, "_readers") == 5, "the body of another to wait")
    children.end.set()
    assert [answer.result().status_code for answer in answers] == [202] * 6 + [200]
    assert [name for name, _ in children.begun].index("inspect") <= 3


@pytest.mark.parametrize(
    ("path", "operation"),
    [("inspect", INSPECT), ("convert?to=json", CONVERT), ("verify", VERIFY)],
    ids=["inspect", "convert", "verify"],
)
def test_a_small_body_with_many_choices_is_work_for_a_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, operation: Any
) -> None:
    app = create_app(Settings(data=tmp_path, slots=0, fast_choices=40))
    with TestClient(app, base_url="http://localhost") as client:
        children = Children()
        children.end.set()
        monkeypatch.setattr(app.state.service.children, "run", children.run)
        for buffers, begun in ((10, []), (11, [(operation.name, None)])):
            problem = {
                "version": 1,
                "pools": [{"id": f"p{i}", "capacity": 1000} for i in range(4)],
                "buffers": [{"id": str(i), "size": 8, "lifetime": [0, 1]} for i in range(buffers)],
            }
            body: dict[str, Any] = {"problem": problem}
            if operation is VERIFY:
                body["plan"] = {"status": "unknown"}
            assert client.post(f"/v1/{path}", json=body).status_code == 200
            assert children.begun == begun


def test_a_batch_is_as_large_as_its_body_however_many_pairs() -> None:
    settings = [{"name": str(i), "options": {"seed": i, "deterministic": i % 2 == 0}} for i in range(200)]
    buffers = [{"id": f"b{i}", "size": 8, "lifetime": [i, i + 1]} for i in range(500)]
    large = {"version": 1, "buffers": buffers}
    body = json.dumps({"problems": [{"name": "p", "problem": large}], "settings": settings}).encode()
    limits = Settings().limits()
    read = read_batch(body, limits)
    assert sum(len(problem["request"]["problem"]) for problem in encode(read)["problems"]) < 2 * len(body)
    jobs = jobs_of(read)
    assert len(jobs) == 200
    assert len({id(job.problem) for job in jobs}) == 1
    assert len({job.cache_key for job in jobs}) == 200


def test_the_jobs_of_a_batch_are_made_beside_the_event_loop_and_only_if_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = create_app(Settings(data=tmp_path, slots=0, max_queued=5))
    threads: list[str] = []

    def noted(*given: Any, **named: Any) -> Any:
        threads.append(threading.current_thread().name)
        return draft_for(*given, **named)

    monkeypatch.setattr("memstow.api.http.routes.batches.draft_for", noted)
    settings = [{"name": str(i), "options": {"seed": i}} for i in range(3)]
    body = {"problems": [{"problem": PROBLEM}], "settings": settings}
    with TestClient(app, base_url="http://localhost") as client:
        assert client.post("/v1/batches", json=body).status_code == 202
        assert len(threads) == 3
        assert all(name.startswith("memstow fast") for name in threads)
        assert client.post("/v1/batches", json=body).json()["code"] == "queue_full"
        assert len(threads) == 3, "nothing is made that has no room"
