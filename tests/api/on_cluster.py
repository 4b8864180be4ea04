"""A server that sends its solves to a cluster, and what runs there."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2

from tests import processes
from tests.api.asking import events, has_plan, submit
from tests.api.serving import Server
from tests.planner.bench.farm import Farm
from tests.waiting import wait_for

LONG = 300.0
# A worker on a busy machine says nothing for longer than one would wait for it here.
LEASE = 30


@contextmanager
def start(server: Server, farm: Farm, **settings: object) -> Iterator[httpx2.Client]:
    """A client of the server, which sends its solves to the cluster."""
    given = {"executor": "dask", "scheduler": farm.address, "lease_seconds": LEASE, **settings}
    with server.start(**given).client() as client:
        wait_for(lambda: client.get("/readyz").status_code == 200, "the cluster to be there")
        yield client


def begun(client: httpx2.Client, farm: Farm, problem: dict[str, Any], **options: Any) -> str:
    """The id of a job that a worker solves, and of which there is a plan."""
    job = submit(client, problem, **options)
    wait_for(lambda: solving(farm), "a worker to solve it")
    wait_for(lambda: has_plan(client, job), "a first plan")
    return job


def solving(farm: Farm) -> list[int]:
    """Children of workers that solve."""
    alive = [worker for worker in farm.workers if worker.poll() is None]
    return [child for worker in alive for child in processes.solving(worker.pid)]


def attempts(server: Server) -> list[int]:
    """The attempts that a server has begun."""
    return [event["attempt"] for event in server.events() if event["event"] == "job_started"]


def said(server: Server, event: str) -> list[str]:
    """The messages of an event in the log of a server."""
    return [issue["message"] for issue in server.events() if issue["event"] == event]


def ends_of(client: httpx2.Client, job: str) -> int:
    """How often the events of a job that is over say so."""
    return [event.kind for event in events(client, job)].count("done")
