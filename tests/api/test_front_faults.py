"""Jobs for fronts through what happens to servers: points are kept, and events are told once."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memstow.planner import formats
from memstow.planner.front.front_documents import read_front
from memstow.planner.generate.planted import planted
from memstow.planner.model.front import Front, FrontPoint
from memstow.planner.model.problem import Pool, Problem
from tests.api.serving import Server
from tests.waiting import wait_for

TERMS = ["peak:fast", "placement_cost"]
Json = dict[str, Any]


def problem(seed: int, buffers: int = 80) -> Problem:
    """One whose front has many points, which take their time."""
    made = planted(buffers, seed, slack=0.01)
    fast = Pool(id="fast", capacity=sum(buffer.size for buffer in made.buffers) // 8)
    return replace(made, pools=(fast, Pool(id="slow", cost=3)))


def submit(server: Server, seed: int, time_limit: float, **members: object) -> str:
    """A new job for a front."""
    given = json.loads(formats.write_problem(problem(seed)))
    request = {"problem": given, "front": {"terms": TERMS}, "options": {"time_limit": time_limit}, **members}
    with server.client() as client:
        response = client.post("/v1/fronts", json=request)
        assert response.status_code == 202, response.text
        return str(response.json()["id"])


def job_of(server: Server, job: str) -> Json:
    with server.client() as client:
        document: Json = client.get(f"/v1/jobs/{job}").json()
        return document


def over(server: Server, job: str) -> Json:
    """The job when it is over."""
    wait_for(lambda: job_of(server, job)["state"] in ("done", "failed", "cancelled"), "the end of a front")
    return job_of(server, job)


def points_told(server: Server, job: str) -> list[tuple[int, Json]]:
    """The events of points so far, with their numbers."""
    events: list[tuple[int, Json]] = []
    with server.client() as client, client.stream("GET", f"/v1/jobs/{job}/events") as stream:
        number = 0
        kind = ""
        for line in stream.iter_lines():
            name, _, value = line.partition(": ")
            if name == "id":
                number = int(value)
            elif name == "event":
                kind = value
            elif name == "data" and kind == "point":
                events.append((number, json.loads(value)))
            if kind == "done":
                break
    return events


def stored_points(server: Server, job: str) -> int:
    """How many points the front so far has."""
    with server.client() as client:
        response = client.get(f"/v1/jobs/{job}/front")
    return len(read_front(response.content).points) if response.status_code == 200 else 0


def more_points(server: Server, job: str, known: int) -> int:
    """Wait for more points than are known, or for the end; how many there are then."""
    wait_for(lambda: stored_points(server, job) > known or job_of(server, job)["finished"], "a point")
    return stored_points(server, job)


def front_of(server: Server, job: str) -> Front:
    with server.client() as client:
        return read_front(client.get(f"/v1/jobs/{job}/front").content)


def key(output: Json) -> str:
    """What an event says of a point, whenever it was told."""
    return json.dumps({name: value for name, value in output.items() if name != "seconds"}, sort_keys=True)


def key_of(point: FrontPoint) -> str:
    said = {**point.values, "bounds": dict(point.bounds), "proven": point.proven}
    return json.dumps(said, sort_keys=True)


def require_told_once(output: list[Json], front: Front) -> None:
    keys = [key(entry) for entry in output]
    assert len(keys) == len(set(keys)), "a point was told twice"
    assert {key_of(point) for point in front.points} <= set(keys), "a point was not told"


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Processes that leave little to others."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for child in started:
            child.kill()
            child.wait()


@pytest.mark.campaign
def test_a_server_that_is_killed_goes_on_with_all_points_and_tells_none_twice(tmp_path: Path) -> None:
    server = Server(tmp_path / "data").start()
    job = submit(server, 3, 12.0)
    before = 0
    try:
        for _ in range(3):
            before = more_points(server, job, before)
            server.kill()
            server.start()
            assert stored_points(server, job) >= before
        assert over(server, job)["state"] == "done"
        front = front_of(server, job)
        require_told_once([entry for _, entry in points_told(server, job)], front)
        assert len(front.points) >= 2
    finally:
        server.kill()


@pytest.mark.campaign
@pytest.mark.parametrize("moment", ["at once", "after a point"])
def test_a_front_that_is_stopped_ends_with_its_points(tmp_path: Path, moment: str) -> None:
    server = Server(tmp_path / "data").start()
    try:
        job = submit(server, 5, 240.0)
        if moment == "at once":
            wait_for(lambda: job_of(server, job)["state"] == "running", "the job to run")
        else:
            wait_for(lambda: stored_points(server, job), "a point")
        with server.client() as client:
            assert client.delete(f"/v1/jobs/{job}").status_code == 200
        assert over(server, job)["state"] == "cancelled"
        front = front_of(server, job)
        assert front.points
        assert not front.complete
        require_told_once([entry for _, entry in points_told(server, job)], front)
    finally:
        server.kill()


@pytest.mark.campaign
def test_fronts_at_a_server_that_gets_hardly_any_processor(tmp_path: Path) -> None:
    server = Server(tmp_path / "data", slots=3).start()
    try:
        with busy(6):
            jobs = [submit(server, seed, 1.0) for seed in range(4)]
            for job in jobs:
                ended = over(server, job)
                assert (ended["state"], ended["error"]) == ("done", None)
                front = front_of(server, job)
                assert front.points
                require_told_once([entry for _, entry in points_told(server, job)], front)
    finally:
        server.kill()
