"""Who names a solver is answered by that solver, whatever a server knows of the problem by then."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from memstow.api.client import Client
from memstow.planner import formats
from memstow.planner.generate.planted import planted
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.solve import engine
from memstow.solvers import registry
from tests.api.asking import over, submit
from tests.api.serving import ROOT, Server
from tests.waiting import wait_for

TILES = planted(14, 5)
"""A problem that `auto` solves to the optimum, and published planners do not."""
QUESTION = json.loads(formats.write_problem(TILES))
SOLVERS = [entry.name for entry in registry.describe() if entry.missing is None]
PUBLISHED = [name for name in SOLVERS if registry.is_classic(name)]


def _local(solver: str) -> Plan:
    return engine.plan(TILES, Options(solver=solver))


@pytest.fixture(scope="module")
def best() -> int:
    """The peak that `auto` proves."""
    return _local("auto").objective[0].value


@pytest.fixture(scope="module")
def knowing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that knows the best plan already: by a request, and by a job, in the store."""
    server = Server(tmp_path_factory.mktemp("knowing") / "data").start()
    with server.client() as client:
        for options in ({}, {"seed": 5}):
            answer = client.post("/v1/plan", json={"problem": QUESTION, "options": options})
            assert answer.json()["status"] == "optimal"
        assert over(client, submit(client, QUESTION, seed=6))["status"] == "optimal"
    yield server
    server.kill()


def _places(plan: dict[str, Any]) -> dict[str, int]:
    return {place["buffer"]: place["offset"] for place in plan["placements"]}


def _is_of(plan: dict[str, Any], local: Plan) -> None:
    """The plan is one of the same solver."""
    assert (plan["solver"], plan["status"]) == (local.solver, local.status.value)
    assert plan["objective"][0]["value"] == local.objective[0].value
    if local.solver in PUBLISHED:
        assert _places(plan) == {place.buffer: place.offset for place in local.placements}


def test_published_planners_are_weaker_here(best: int) -> None:
    """Else it could not be seen whose plan an answer is."""
    assert max(_local(name).objective[0].value for name in PUBLISHED) > best


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_answer_is_of_the_solver_that_is_named(knowing: Server, solver: str) -> None:
    local = _local(solver)
    with knowing.client() as client:
        question = {"problem": QUESTION, "options": {"solver": solver}}
        for headers in ({}, {}, {"cache-control": "no-cache"}):
            answer = client.post("/v1/plan", json=question, headers=headers)
            assert answer.status_code == 200, answer.text
            _is_of(answer.json(), local)
            if headers:
                assert answer.headers["memstow-cache"] == "miss"
        # By a job, which is answered from what is stored, and by one that solves anew.
        for headers in ({}, {"cache-control": "no-cache"}):
            job = client.post("/v1/jobs", json=question, headers=headers).json()["id"]
            assert over(client, job)["solver"] == local.solver
            _is_of(client.get(f"/v1/jobs/{job}/plan").json(), local)


@pytest.mark.parametrize("solver", ["first-fit", "usmp-size", "exact"])
def test_the_command_line_prints_what_a_local_run_does(knowing: Server, solver: str) -> None:
    command = [sys.executable, "-m", "memstow.api.cli.main", "solve", "-", "--solver", solver]

    def placed(*more: str) -> Any:
        ran = subprocess.run(
            [*command, *more, "--output-format", "csv", "--output", "-", "--quiet"],
            input=formats.write_problem(TILES),
            cwd=ROOT,
            check=True,
            capture_output=True,
        )
        return ran.stdout

    assert placed("--server", knowing.url) == placed()


def test_the_client_has_the_plan_of_the_solver(knowing: Server, best: int) -> None:
    with Client(knowing.url) as client:
        assert client.plan(TILES, Options(solver="usmp-size")).solver == "usmp-size"
        assert client.plan(TILES).objective[0].value == best


@pytest.mark.campaign
def test_what_a_named_solver_finds_is_no_worse_answer_for_others(server: Server) -> None:
    """Without a name, whoever found it: a plan that is known is not forgotten."""
    server.start()
    with server.client() as client:

        def ask(**options: Any) -> httpx2.Response:
            return client.post("/v1/plan", json={"problem": QUESTION, "options": options})

        weak = ask(solver="usmp-size").json()["objective"][0]["value"]
        best = ask(time_limit=9.0).json()["objective"][0]["value"]
        assert best < weak
        wait_for(lambda: ask(solver="usmp-size").headers["memstow-cache"] == "hit", "it to be kept")
        assert ask(solver="usmp-size").json()["objective"][0]["value"] == weak
        assert ask(time_limit=0.0).json()["objective"][0]["value"] == best
