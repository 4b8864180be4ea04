"""Which workers of a cluster get jobs: those that are alive, of this version, with what a job needs."""

import signal
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any

import httpx2
import pytest

from memstow import __version__
from memstow.planner.model.digest import digest
from memstow.planner.model.options import Options
from memstow.planner.reading.parse import parse_plan, parse_problem
from memstow.planner.solve.engine import plan
from tests import processes
from tests.api.asking import job_of, over, submit
from tests.api.http.conftest import hard
from tests.api.on_cluster import LONG, attempts, begun, ends_of, said, solving, start
from tests.api.serving import Server
from tests.planner.bench.farm import Farm
from tests.waiting import wait_for

pytestmark = pytest.mark.campaign

if find_spec("distributed") is None:
    pytest.skip("needs Dask: pip install 'memstow[dask]'", allow_module_level=True)

BOUNDED: dict[str, Any] = {"deterministic": True, "work_limit": 5_000_000}
SHORT_LEASE = 8


def same_as_here(client: httpx2.Client, jobs: dict[str, dict[str, Any]]) -> None:
    """Each job has one end, and the plan of a run here."""
    for job, problem in jobs.items():
        excess = over(client, job)
        assert (excess["state"], excess["error"], ends_of(client, job)) == ("done", None, 1)
        there = parse_plan(client.get(f"/v1/jobs/{job}/plan").json())
        assert there.placements == plan(parse_problem(problem), Options(**BOUNDED)).placements
        assert digest(parse_problem(problem)) == excess["digest"]


def workers(client: httpx2.Client, standing: str) -> int:
    """The number of workers in the metrics."""
    name = f'memstow_cluster_workers{{standing="{standing}"}} '
    lines = client.get("/metrics").text.splitlines()
    return sum(int(float(line.removeprefix(name))) for line in lines if line.startswith(name))


def test_what_a_stalled_worker_has_not_begun_is_done_by_another(server: Server, farm: Farm) -> None:
    stalled = farm.add_worker()
    with start(server, farm, slots=4, lease_seconds=SHORT_LEASE, fast_seconds=0) as client:
        long = begun(client, farm, hard(600, 70), time_limit=LONG)
        # These wait for the only thread.
        problems = [hard(100, seed) for seed in (71, 72, 73)]
        waiting = {submit(client, problem, **BOUNDED): problem for problem in problems}
        wait_for(
            lambda: all(job_of(client, entry)["state"] == "running" for entry in waiting), "all to be placed"
        )
        stalled.send_signal(signal.SIGSTOP)
        wait_for(lambda: said(server, "cluster_worker_silent"), "the silence to be noticed")
        wait_for(lambda: workers(client, "silent") == 1, "the metrics to tell")
        # One of them goes on with the long job.
        farm.add_worker()
        farm.add_worker()
        same_as_here(client, waiting)
        client.delete(f"/v1/jobs/{long}")
        stalled.send_signal(signal.SIGCONT)
        wait_for(lambda: said(server, "cluster_worker_back"), "the worker to be back")
        assert over(client, long)["state"] == "cancelled"
        wait_for(lambda: not solving(farm), "what nobody wants any more to end")
        same_as_here(client, waiting)
        again = {submit(client, hard(100, 74), **BOUNDED): hard(100, 74)}
        same_as_here(client, again)
        # Jobs that had not begun are not counted as lost.
        assert sorted(attempt for attempt in attempts(server) if attempt > 1) in ([], [2])


def test_a_job_goes_to_a_worker_that_has_what_it_needs(server: Server, farm: Farm) -> None:
    farm.add_worker(without="ortools")
    with start(server, farm, slots=2, fast_seconds=0, lease_seconds=SHORT_LEASE) as client:
        wait_for(lambda: workers(client, "ready") == 1, "the worker to be known")
        lacking = submit(client, hard(30, 80), solver="cpsat", time_limit=LONG)
        excess = over(client, lacking)
        assert (excess["state"], excess["error"]) == (
            "failed",
            "declined: no worker of the cluster has ortools",
        )
        farm.add_worker()
        wait_for(lambda: workers(client, "ready") == 2, "the other worker to be known")
        for seed in (81, 82, 83):
            excess = over(client, submit(client, hard(30, seed), solver="cpsat", time_limit=2))
            assert (excess["state"], excess["error"]) == ("done", None)
        assert attempts(server) == [1, 1, 1, 1]


def test_a_worker_of_another_version_gets_nothing_and_is_named(server: Server, farm: Farm) -> None:
    other = farm.add_worker(version="0.0.1")
    with start(server, farm, fast_seconds=0) as client:
        (text,) = wait_for(lambda: said(server, "cluster_worker_refused"), "it to be refused")
        assert f"it has memstow 0.0.1, and here is {__version__}" in text
        wait_for(lambda: workers(client, "refused") == 1, "the metrics to tell")
        problem = hard(100, 90)
        job = submit(client, problem, **BOUNDED)
        wait_for(lambda: job_of(client, job)["state"] == "running", "it to wait for a worker")
        ours = farm.add_worker()
        same_as_here(client, {job: problem})
        assert processes.children_of(ours.pid)
        assert not processes.children_of(other.pid)


def test_inboxes_of_servers_that_are_gone_are_removed(server: Server, farm: Farm) -> None:
    farm.add_worker()
    with start(server, farm) as client:
        begun(client, farm, hard(600, 95), time_limit=LONG)
        (mine,) = farm.queues()
    server.kill()
    wait_for(lambda: not solving(farm), "the solve to end")
    with start(server, farm):
        wait_for(lambda: mine not in farm.queues(), "the inbox of the killed server to be removed")
        assert len(farm.queues()) == 1
    server.signal(signal.SIGTERM)
    assert server.wait() == 0
    wait_for(lambda: not farm.queues(), "the server to take its inbox with it")


def test_who_waits_for_a_child_of_the_server_itself_is_told_that_it_ends(server: Server, farm: Farm) -> None:
    """Bodies are read beside the cluster, in children that have the time of the request."""
    farm.add_worker()
    tight = {**hard(600, 96), "pools": [{"id": "m", "capacity": 1 << 16}]}
    with start(server, farm, grace_seconds=4) as client, ThreadPoolExecutor() as threads:
        begun(client, farm, hard(600, 95), time_limit=LONG)
        request = threads.submit(client.post, "/v1/inspect?needs=true&time_limit=300", json=tight)
        wait_for(lambda: len(processes.solving(server.pid)) > 0, "the search for what it needs")
        server.signal(signal.SIGTERM)
        answer = request.result()
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    assert (answer.status_code, answer.json()["code"]) == (503, "child_lost")
    assert server.wait() == 0
