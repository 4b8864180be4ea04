"""A server that sends its solves to a cluster does what one alone does, whatever happens to the cluster."""

import signal
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memstow.planner.model.digest import digest
from memstow.planner.model.options import Options
from memstow.planner.reading.parse import parse_plan, parse_problem
from memstow.planner.solve.engine import plan
from memstow.planner.verify import verify
from tests import processes
from tests.api.asking import events, has_plan, job_of, over, submit
from tests.api.http.conftest import hard
from tests.api.on_cluster import LEASE, LONG, attempts, begun, ends_of, solving, start
from tests.api.serving import Server
from tests.planner.bench.farm import ROOT, Farm
from tests.processes import children_of, wait_ended
from tests.waiting import PATIENCE, wait_for

if find_spec("distributed") is None:
    pytest.skip("needs Dask: pip install 'memstow[dask]'", allow_module_level=True)


def value_of(client: httpx2.Client, job: str) -> int:
    """Of the best plan that is kept: the job tells of better ones a moment before they are."""
    value: int = client.get(f"/v1/jobs/{job}/plan").json()["objective"][0]["value"]
    return value


def require_valid(problem: dict[str, Any], result: Any) -> None:
    assert verify(parse_problem(problem), parse_plan(result)) == []


def test_what_a_worker_finds_is_told_while_it_goes_on(server: Server, farm: Farm) -> None:
    farm.add_worker()
    with start(server, farm) as client:
        problem = hard(600, 31)
        job = begun(client, farm, problem, time_limit=LONG)
        assert not processes.solving(server.pid)
        heard: list[str] = []

        def listen() -> None:
            with server.client() as other:
                heard.extend(event.kind for event in events(other, job))

        listener = threading.Thread(target=listen)
        listener.start()
        first = value_of(client, job)
        wait_for(lambda: value_of(client, job) < first, "a better plan")
        assert job_of(client, job)["state"] == "running"
        require_valid(problem, client.get(f"/v1/jobs/{job}/plan").json())
        client.delete(f"/v1/jobs/{job}")
        wait_for(lambda: not solving(farm), "the solve to end")
        excess = over(client, job)
        listener.join(PATIENCE)
        assert excess["state"] == "cancelled"
        assert excess["value"] < first
        last = client.get(f"/v1/jobs/{job}/plan").json()
        require_valid(problem, last)
        assert last["objective"][0]["value"] == excess["value"]
        assert {"phase", "incumbent"} <= set(heard)
        assert heard[-1] == "done"
        assert heard.count("done") == 1


@pytest.mark.campaign
def test_a_job_that_no_worker_has_yet_can_be_cancelled_and_one_discarded(server: Server, farm: Farm) -> None:
    with start(server, farm, slots=2) as client:
        job = submit(client, hard(600, 32), time_limit=LONG)
        wait_for(lambda: job_of(client, job)["state"] == "running", "it to be given to the cluster")
        client.delete(f"/v1/jobs/{job}")
        assert over(client, job)["state"] == "cancelled"
        farm.add_worker()
        other = begun(client, farm, hard(600, 33), time_limit=LONG)
        client.delete(f"/v1/jobs/{other}?discard=true")
        wait_for(lambda: client.get(f"/v1/jobs/{other}").status_code == 404, "it to be gone")
        wait_for(lambda: not solving(farm), "its solve to be ended")


@pytest.mark.campaign
def test_a_lost_worker_means_another_try_from_the_best_plan(server: Server, farm: Farm) -> None:
    farm.add_worker()
    farm.add_worker()
    with start(server, farm) as client:
        problem = hard(600, 34)
        job = begun(client, farm, problem, time_limit=LONG)
        first = value_of(client, job)
        wait_for(lambda: value_of(client, job) < first, "a better plan")
        before = value_of(client, job)
        (child,) = solving(farm)
        (worker,) = (worker for worker in farm.workers if child in children_of(worker.pid))
        worker.kill()
        worker.wait()
        wait_ended(child)
        wait_for(lambda: solving(farm), "the other worker to go on")
        client.delete(f"/v1/jobs/{job}")
        excess = over(client, job)
        assert (excess["state"], excess["error"]) == ("cancelled", None)
        assert excess["value"] <= before
        require_valid(problem, client.get(f"/v1/jobs/{job}/plan").json())
        assert ends_of(client, job) == 1
        assert 'memstow_children_killed_total{reason="child_lost"} 1.0' in client.get("/metrics").text
        assert attempts(server) == [1, 2]


@pytest.mark.campaign
def test_a_batch_that_loses_a_worker_has_the_plans_of_a_run_here(server: Server, farm: Farm) -> None:
    farm.add_worker()
    farm.add_worker()
    problems = [hard(200, seed) for seed in range(60, 64)]
    options: dict[str, Any] = {"deterministic": True, "work_limit": 5_000_000}
    body = {
        "problems": [{"problem": problem} for problem in problems],
        "settings": [{"name": "it", "options": options}],
    }
    with start(server, farm, slots=3, fast_seconds=0) as client:
        batch = client.post("/v1/batches", json=body).json()["id"]

        def done() -> int:
            count: int = client.get(f"/v1/batches/{batch}").json()["states"].get("done", 0)
            return count

        wait_for(done, "a first result")
        farm.workers[0].kill()
        wait_for(lambda: done() == len(problems), "all results")
        jobs = client.get(f"/v1/jobs?batch={batch}").json()["jobs"]
        result = {job["digest"]: client.get(f"/v1/jobs/{job['id']}/plan").json() for job in jobs}
        assert all(ends_of(client, job["id"]) == 1 for job in jobs)
    here = [parse_problem(problem) for problem in problems]
    expected = {digest(problem): plan(problem, Options(**options)) for problem in here}
    assert {name: parse_plan(entry).placements for name, entry in result.items()} == {
        name: one_plan.placements for name, one_plan in expected.items()
    }


@pytest.mark.campaign
def test_a_worker_that_says_nothing_is_given_up(server: Server, farm: Farm) -> None:
    farm.add_worker()
    with start(server, farm, max_attempts=1, lease_seconds=8) as client:
        job = begun(client, farm, hard(600, 35), time_limit=LONG)
        farm.workers[0].send_signal(signal.SIGSTOP)
        excess = over(client, job)
        assert excess["state"] == "failed"
        assert excess["error"] == "child_lost: its worker gave no sign of life"
        farm.workers[0].send_signal(signal.SIGCONT)
        wait_for(lambda: not solving(farm), "what nobody wants any more to end")


@pytest.mark.campaign
def test_a_scheduler_is_waited_for_at_the_start_and_when_it_is_lost(server: Server, farm: Farm) -> None:
    address = farm.address
    farm.lose_scheduler()
    with server.start(executor="dask", scheduler=address, lease_seconds=LEASE).client() as client:
        assert client.get("/readyz").json()["code"] == "cluster_unavailable"
        job = submit(client, hard(600, 36), time_limit=LONG)
        farm.start_scheduler()
        farm.add_worker()
        wait_for(lambda: solving(farm), "a worker to solve it")
        assert client.get("/readyz").status_code == 200
        wait_for(lambda: has_plan(client, job), "a first plan")
        before = value_of(client, job)
        farm.lose_scheduler()
        wait_for(lambda: client.get("/readyz").status_code == 503, "the loss to be told")
        assert client.post("/v1/plan", json={"problem": hard(3)}).status_code == 200, "what is quick is done"
        wait_for(lambda: not solving(farm), "a solve that nobody hears of to end")
        assert job_of(client, job)["state"] == "running"
        farm.start_scheduler()
        farm.add_worker()
        wait_for(lambda: client.get("/readyz").status_code == 200, "the cluster to be there again")
        wait_for(lambda: solving(farm), "a worker to go on")
        client.delete(f"/v1/jobs/{job}")
        excess = over(client, job)
        assert (excess["state"], excess["error"]) == ("cancelled", None)
        assert excess["value"] <= before
        assert ends_of(client, job) == 1
        assert attempts(server) == [1], "the job is not to blame"


@pytest.mark.campaign
def test_a_solve_ends_with_its_server(server: Server, farm: Farm) -> None:
    farm.add_worker()
    with start(server, farm) as client:
        begun(client, farm, hard(600, 37), time_limit=LONG)
    server.kill()
    wait_for(lambda: not solving(farm), "the solve to end")
    assert farm.workers[0].poll() is None


@pytest.mark.campaign
def test_a_solve_over_its_memory_is_ended_there(server: Server, farm: Farm) -> None:
    farm.add_worker()
    with start(server, farm, solve_memory=1 << 20) as client:
        excess = over(client, submit(client, hard(600, 38), time_limit=LONG))
        assert excess["state"] == "failed"
        assert excess["error"].startswith("out_of_memory: ")
        assert "solve_memory" in excess["error"]


def test_a_server_alone_does_not_import_dask(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from starlette.testclient import TestClient
from memstow.api.http.app import create_app
from memstow.api.http.settings import Settings
with TestClient(create_app(Settings(data=Path(sys.argv[1]), anonymous="everyone"))) as client:
    assert client.get("/readyz").status_code == 200
sys.exit("distributed" in sys.modules or "dask" in sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, check=False)
    assert ran.returncode == 0
