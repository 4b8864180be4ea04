"""How long a request for a plan waits for its job, and what it gets when the job is not done by then."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from memstow.api.http.app import create_app
from memstow.api.http.samples import PROBLEM
from memstow.api.http.settings import Settings
from memstow.api.operations.solve import solve_briefly
from memstow.api.workers import quick_solve
from memstow.planner import formats
from memstow.planner.verify import verify
from tests.api.http.conftest import hard, problem_document
from tests.api.http.test_plan import tight

WORK = hard(400, 5)


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A server that runs no jobs: none ends before a request has waited long enough."""
    settings = Settings(data=tmp_path_factory.mktemp("idle"), slots=0, sync_seconds=0.05)
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        yield client


def ask(
    client: TestClient, prefer: str | None = None, problem: Any = WORK, **options: Any
) -> httpx2.Response:
    headers = {} if prefer is None else {"prefer": prefer}
    body = {"problem": problem, "options": {"time_limit": 0.05, **options}}
    return client.post("/v1/plan", json=body, headers=headers)


@pytest.fixture
def unsolved(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attempt in the server always leaves something to try."""

    def never_final(*arguments: Any) -> Any:
        return solve_briefly(*arguments)[0], False

    monkeypatch.setattr(quick_solve, "solve_briefly", never_final)


@pytest.mark.usefixtures("unsolved")
def test_after_the_wait_there_is_the_best_plan_and_the_job_that_goes_on(idle: TestClient) -> None:
    response = ask(idle)
    assert response.status_code == 200, response.text
    assert response.headers["memstow-final"] == "false"
    assert response.json()["status"] == "feasible"
    problem = formats.problem_of(WORK, "json")
    assert verify(problem, formats.read_plan(response.content, problem)) == []
    job = idle.get(response.headers["location"]).json()
    assert job["state"] == "queued"


@pytest.mark.usefixtures("unsolved")
def test_a_plan_on_the_way_is_not_an_answer_for_later_requests(idle: TestClient) -> None:
    assert ask(idle, seed=1).headers["memstow-final"] == "false"
    again = ask(idle, seed=1)
    assert (again.headers["memstow-final"], again.headers["memstow-cache"]) == ("false", "miss")


@pytest.mark.usefixtures("unsolved")
def test_who_waits_for_so_long_gets_the_best_plan_in_the_format_asked_for(idle: TestClient) -> None:
    body = {"problem": WORK, "options": {"time_limit": 0.05}}
    response = idle.post("/v1/plan?output_format=csv", json=body, headers={"prefer": "wait=0"})
    assert response.headers["memstow-final"] == "false"
    assert response.headers["content-type"].startswith("text/csv")
    assert response.text.startswith("id,")


@pytest.mark.usefixtures("unsolved")
@pytest.mark.parametrize(
    ("prefer", "options"),
    [
        ({}, {}),
        ({}, {"deterministic": True, "time_limit": 10.0}),
        ({}, {"time_limit": 60.0}),
        ({"prefer": "wait=0"}, {"deterministic": True, "time_limit": 10.0}),
        ({"prefer": "wait=0"}, {"solver": "cpsat"}),
    ],
    ids=[
        "a plan on the way",
        "deterministic",
        "more time than the server waits",
        "deterministic, with a wait",
        "no plan yet",
    ],
)
@pytest.mark.parametrize("name", ["c-header", "csv", "svg"])
def test_what_goes_on_is_an_error_in_other_formats_than_json(
    idle: TestClient, name: str, prefer: dict[str, str], options: dict[str, Any]
) -> None:
    body = {"problem": WORK, "options": {"time_limit": 0.05, **options}}
    response = idle.post(f"/v1/plan?output_format={name}", json=body, headers=prefer)
    problem_document(response, 503, "plan_not_ready")
    assert int(response.headers["retry-after"]) > 0
    job = idle.get(response.headers["location"]).json()
    assert job["state"] == "queued", "it goes on"


def test_who_asks_for_a_job_gets_one_whatever_the_format(idle: TestClient) -> None:
    body = {"problem": WORK, "options": {"deterministic": True}}
    response = idle.post("/v1/plan?output_format=csv", json=body, headers={"prefer": "respond-async"})
    assert response.status_code == 202, response.text


@pytest.mark.usefixtures("unsolved")
def test_a_job_that_goes_on_has_not_said_its_last_word(idle: TestClient) -> None:
    """Its attempt has found nothing that fits, which may still change."""
    response = ask(idle, "wait=0", problem=tight(), solver="first-fit")
    path = f"{response.headers['location']}/plan"
    assert idle.get(path).json()["status"] == "unknown"
    problem_document(idle.get(f"{path}?output_format=csv"), 409, "no_plan_yet")


@pytest.mark.usefixtures("unsolved")
@pytest.mark.parametrize(
    ("prefer", "options"),
    [
        (None, {"deterministic": True, "time_limit": 10.0}),
        ("respond-async", {}),
        ("respond-async, wait=0", {}),
        (None, {"time_limit": 60.0}),
    ],
    ids=[
        "deterministic",
        "a job is wanted",
        "a job is wanted after a while",
        "more time than the server waits",
    ],
)
def test_some_questions_get_the_job_alone(
    idle: TestClient, prefer: str | None, options: dict[str, Any]
) -> None:
    response = ask(idle, prefer, **options)
    assert response.status_code == 202, response.text
    assert response.headers["location"] == f"/v1/jobs/{response.json()['id']}"
    assert response.headers.get("preference-applied") == prefer


@pytest.mark.usefixtures("unsolved")
@pytest.mark.parametrize("prefer", ["wait=0", "return=minimal, WAIT=0", 'wait="0"; x=y'])
def test_a_client_may_wait_less_than_the_server_would(idle: TestClient, prefer: str) -> None:
    """Also for a plan that takes longer than the server waits."""
    response = ask(idle, prefer, time_limit=60.0)
    assert (response.status_code, response.headers["memstow-final"]) == (200, "false")
    assert response.headers["preference-applied"] == "wait=0"


def test_a_plan_that_is_there_at_once_is_final_whatever_the_preference(idle: TestClient) -> None:
    response = ask(idle, "respond-async, wait=5", problem=PROBLEM)
    assert (response.status_code, response.json()["status"]) == (200, "optimal")
    assert "location" not in response.headers


def test_what_has_no_plan_yet_is_a_job(idle: TestClient) -> None:
    """A model is never asked inside the server, so there is nothing to send."""
    response = ask(idle, solver="cpsat")
    assert response.status_code == 202, response.text
