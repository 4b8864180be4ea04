"""What is answered from memory and what is solved anew; and what who waits for a job is told of its end."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

import memstow
from memstow.api.http.app import create_app
from memstow.api.http.samples import PROBLEM
from memstow.api.http.service import Service
from memstow.api.http.settings import Settings
from memstow.api.http.submission import error_of_job
from memstow.api.operations.encoding import cache_key_of
from memstow.api.store.tables import Job
from memstow.api.workers.executor import ChildError
from memstow.planner import formats
from memstow.planner.generate.planted import planted
from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Placement, Plan
from tests.api.asking import events, has_plan, over, submit
from tests.api.http.conftest import hard, problem_document
from tests.waiting import wait_for

LONG = 300.0
TILES: dict[str, Any] = json.loads(formats.write_problem(planted(12, 21)))


def service_of(app: FastAPI) -> Service:
    service: Service = app.state.service
    return service


def job_in(app: FastAPI, job: str) -> Job:
    result = service_of(app).queue.get(job)
    assert result is not None
    return result


HINT = Plan(status=Status.FEASIBLE, placements=(Placement(buffer="a", pool="m", offset=0),))


@pytest.mark.parametrize(
    "changed",
    [
        {"deterministic": True},
        {"hint": HINT},
        {"seed": 1},
        {"gap": 0.1},
        {"solver": "greedy"},
        {"time_limit": 3.0},
        {"work_limit": 3},
        {"workers": 1},
        {"memory_limit": 1 << 30},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_questions_that_may_have_other_answers_have_other_keys(changed: dict[str, Any]) -> None:
    options = Options()
    assert cache_key_of("d", options) != cache_key_of("d", replace(options, **changed))
    assert cache_key_of("d", options) == cache_key_of("d", Options())
    assert cache_key_of("d", options) != cache_key_of("e", options)


def test_hints_that_differ_have_other_keys() -> None:
    other = replace(HINT, placements=(replace(HINT.placements[0], offset=64),))
    assert cache_key_of("d", Options(hint=HINT)) != cache_key_of("d", Options(hint=other))


def test_another_version_may_have_another_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    before = cache_key_of("d", Options())
    monkeypatch.setattr(memstow, "__version__", "another")
    assert cache_key_of("d", Options()) != before


def test_what_another_version_solved_is_no_answer_to_those_who_asked_this_one(
    client: TestClient, app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with two servers on one store: the job came to one version, and was solved by another."""
    request = {"time_limit": 2.0, "workers": 1}
    job = submit(client, hard(600, 167), **request)
    wait_for(lambda: has_plan(client, job), "a first plan")
    monkeypatch.setattr(memstow, "__version__", "another")
    assert over(client, job)["state"] == "done"
    assert service_of(app).cache.find(job_in(app, job).cache_key) is None
    monkeypatch.undo()
    again = submit(client, hard(600, 168), **request)
    assert over(client, again)["state"] == "done"
    assert service_of(app).cache.find(job_in(app, again).cache_key) is not None


def test_a_stopped_run_is_no_answer_to_those_who_ask_the_same(client: TestClient, app: FastAPI) -> None:
    job = submit(client, hard(600, 61), time_limit=LONG)
    wait_for(lambda: has_plan(client, job), "a first plan")
    client.delete(f"/v1/jobs/{job}")
    assert over(client, job)["state"] == "cancelled"
    cache, result = service_of(app).cache, job_in(app, job)
    assert cache.find(result.cache_key) is None
    assert cache.best_of(result.digest) is not None, "it is where to start"


def test_a_job_that_runs_here_is_told_to_end_at_once(tmp_path: Path) -> None:
    """The next heartbeat, which would tell it too, is not within anyone's patience."""
    app = create_app(Settings(data=tmp_path, slots=1, lease_seconds=3600.0))
    with TestClient(app, base_url="http://localhost") as client:
        job = submit(client, hard(600, 66), time_limit=LONG)
        wait_for(lambda: has_plan(client, job), "a first plan")
        client.delete(f"/v1/jobs/{job}")
        assert over(client, job)["state"] == "cancelled"


def test_a_job_that_ended_by_itself_is_the_answer_to_those_who_ask_the_same(client: TestClient) -> None:
    first = submit(client, hard(150, 62), time_limit=0.3)
    over(client, first)
    assert {"phase", "done"} <= {event.kind for event in events(client, first)}
    again = submit(client, hard(150, 62), time_limit=0.3)
    over(client, again)
    assert [event.kind for event in events(client, again)] == ["done"], "there was nothing to do"


def test_the_jobs_of_a_batch_are_solved_anew_each_from_the_start(client: TestClient) -> None:
    """What is known of their problem would make a weak solver look like a strong one."""
    best = submit(client, TILES)
    assert over(client, best)["status"] == "optimal"
    weak = {"solver": "usmp-size"}
    alone = over(client, submit(client, TILES, time_limit=0.0))
    assert alone["status"] == "optimal", "a job by itself has the best there is"
    body = {
        "problems": [{"name": "p", "problem": TILES}],
        "settings": [{"name": "weak", "options": weak}, {"name": "usual", "options": {}}],
    }
    path = client.post("/v1/batches", json=body).headers["location"]
    wait_for(lambda: client.get(path).json()["done"], "the batch to end")
    table = client.get(path).json()["table"]["p"]
    assert table["usual"]["peak"] < table["weak"]["peak"]
    for cell in table.values():
        assert "phase" in {event.kind for event in events(client, cell["job"])}


@pytest.mark.parametrize(
    ("error", "status", "code", "detail"),
    [
        ("declined: it has several pools", 422, "declined", "it has several pools"),
        ("out_of_memory: used 9 MiB", 413, "out_of_memory", "used 9 MiB"),
        ("child_lost: killed by signal 9", 500, "child_lost", "killed by signal 9"),
        ("stuck: it did not end", 500, "stuck", "it did not end"),
        ("something else", 422, "invalid_request", "something else"),
    ],
)
def test_every_way_a_job_fails_is_told_to_who_waited_for_it(
    error: str, status: int, code: str, detail: str
) -> None:
    problem = error_of_job(error)
    assert (problem.status, problem.code, problem.detail) == (status, code, detail)


class Waiting:
    """A request to plan that waits for its job."""

    def __init__(self, client: TestClient, problem: Any, **headers: str) -> None:
        self._pool = ThreadPoolExecutor(1)
        before = {job["id"] for job in client.get("/v1/jobs?limit=500").json()["jobs"]}

        def new() -> str:
            jobs = client.get("/v1/jobs?limit=500").json()["jobs"]
            return next((str(job["id"]) for job in jobs if job["id"] not in before), "")

        body = {"problem": problem, "options": {"time_limit": 29.0}}
        self._answer = self._pool.submit(client.post, "/v1/plan", json=body, headers=headers)
        self.job = wait_for(new, "its job")

    def answer(self) -> httpx2.Response:
        with self._pool:
            return self._answer.result()


def test_who_waits_for_a_job_that_is_cancelled_is_told(client: TestClient) -> None:
    blocking = submit(client, hard(600, 63), time_limit=LONG)
    waiting = Waiting(client, hard(600, 64))
    client.delete(f"/v1/jobs/{waiting.job}")
    problem_document(waiting.answer(), 409, "job_cancelled")
    client.delete(f"/v1/jobs/{blocking}?discard=true")
    over_or_gone(client, blocking)


def test_who_waits_for_a_job_that_is_removed_is_told(client: TestClient) -> None:
    blocking = submit(client, hard(600, 65), time_limit=LONG)
    waiting = Waiting(client, hard(600, 66))
    client.delete(f"/v1/jobs/{waiting.job}?discard=true")
    problem_document(waiting.answer(), 409, "job_cancelled")
    client.delete(f"/v1/jobs/{blocking}?discard=true")
    over_or_gone(client, blocking)


def over_or_gone(client: TestClient, job: str) -> None:
    wait_for(lambda: client.get(f"/v1/jobs/{job}").status_code == 404, "it to be gone")


@pytest.mark.parametrize(
    ("raised", "status", "code"),
    [
        (ChildError("out_of_memory", "used 9 MiB"), 413, "out_of_memory"),
        (ChildError("stuck", "it did not end"), 500, "stuck"),
    ],
    ids=["out of memory", "stuck"],
)
def test_who_waits_for_a_job_that_fails_is_told_why(
    client: TestClient,
    app: FastAPI,
    monkeypatch: pytest.MonkeyPatch,
    raised: ChildError,
    status: int,
    code: str,
) -> None:
    def fail(*_: Any) -> Any:
        raise raised

    monkeypatch.setattr(service_of(app).children, "run", fail)
    body = {"problem": hard(600, 67), "options": {"time_limit": 20.0}}
    document = problem_document(client.post("/v1/plan", json=body), status, code)
    assert document["detail"] == str(raised)


@pytest.fixture
def ending(tmp_path: Path) -> Iterator[Callable[[], TestClient]]:
    """A server that has been told to end."""
    app = create_app(Settings(data=tmp_path, slots=0, grace_seconds=1.0))
    with TestClient(app, base_url="http://localhost") as client:

        def told() -> TestClient:
            service_of(app).drain()
            return client

        yield told


def test_a_server_that_ends_says_so_to_who_asks_for_work(ending: Callable[[], TestClient]) -> None:
    client = ending()
    body = {"problem": PROBLEM}
    problem_document(client.get("/readyz"), 503, "draining")
    assert client.get("/livez").status_code == 200
    for path in ("/v1/plan", "/v1/jobs"):
        answer = client.post(path, json=body)
        problem_document(answer, 503, "draining")
        assert answer.headers["retry-after"]
    problem_document(client.post("/v1/batches", json={"problems": [body]}), 503, "draining")
