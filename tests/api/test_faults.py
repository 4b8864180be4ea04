"""What happens to servers happens to a real one here: kills, lost stores, clients that go away."""

import asyncio
import json
import os
import resource
import signal
import socket
import sqlite3
import threading
import time
import uuid
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import httpx2
import pytest

from memstow.api.http.samples import PROBLEM
from memstow.api.metrics import Metrics
from memstow.api.store import database as store
from memstow.api.store.database import StoreClock
from memstow.api.store.keys import Quotas
from memstow.api.store.maintenance import upgrade
from memstow.api.store.queue import Claims, Queue
from memstow.api.workers.housekeeper import Housekeeper
from memstow.planner.formats.native import parse_symbolic, read_symbolic_plan
from memstow.planner.model.symbolic import SymbolicPlan
from memstow.planner.shapes.point_plans import better
from memstow.planner.verify.symbolic_verdict import judge_symbolic
from tests.api import symbolic_problems
from tests.api.asking import OVER, Event, events, has_plan, job_of, over, read_events, submit
from tests.api.http.conftest import hard
from tests.api.postgres import Postgres
from tests.api.serving import Server
from tests.api.store.drafts import draft
from tests.processes import children_of, solving, wait_ended
from tests.waiting import PATIENCE, wait_for

# Longer than anything is waited for: what runs so long ends because it is told to.
LONG = 300.0


def test_no_job_is_lost_when_the_server_is_killed(server: Server) -> None:
    with server.start().client() as client:
        running = submit(client, hard(600, 1), time_limit=LONG)
        waiting = [submit(client, seed=seed) for seed in range(3)]
        wait_for(lambda: has_plan(client, running), "a first plan")
        before = client.get(f"/v1/jobs/{running}").json()["value"]
        children = children_of(server.pid)
    server.kill()
    for child in children:
        wait_ended(child)
    with server.start().client() as client:
        assert client.get(f"/v1/jobs/{running}/plan").status_code == 200, "its best plan is still there"
        wait_for(lambda: job_of(client, running)["state"] != "queued", "the job to be taken up again")
        assert client.get(f"/v1/jobs/{running}").json()["value"] <= before
        client.delete(f"/v1/jobs/{running}")
        assert over(client, running)["state"] in ("cancelled", "done")
        assert [over(client, job)["state"] for job in waiting] == ["done"] * 3


@pytest.mark.campaign
def test_a_job_with_symbols_goes_on_from_its_plan_when_the_server_is_killed(server: Server) -> None:
    problem = symbolic_problems.hard()
    read = parse_symbolic(problem)

    def plan() -> SymbolicPlan:
        return read_symbolic_plan(client.get(f"/v1/jobs/{job}/plan").content)

    with server.start().client() as client:
        job = submit(client, problem, time_limit=LONG)
        wait_for(lambda: has_plan(client, job), "a first plan")
        before = plan()
        children = children_of(server.pid)
    server.kill()
    for child in children:
        wait_ended(child)
    with server.start().client() as client:
        assert not better(read, before, plan()), "its best plan is still there"
        wait_for(lambda: job_of(client, job)["state"] == "running", "the job to be taken up again")
        client.delete(f"/v1/jobs/{job}")
        assert over(client, job)["state"] == "cancelled"
        after = plan()
    assert not better(read, before, after)
    assert not judge_symbolic(read, after).violations


@pytest.mark.campaign
def test_a_cancelled_job_keeps_its_plan_when_the_server_is_killed_before_the_job_has_ended(
    server: Server,
) -> None:
    with server.start().client() as client:
        job = submit(client, hard(600, 13), time_limit=LONG)
        wait_for(lambda: has_plan(client, job), "a first plan")
        (child,) = wait_for(lambda: solving(server.pid), "a child to solve it")
        # It cannot answer to the request to stop before the server is killed.
        os.kill(child, signal.SIGSTOP)
        assert client.delete(f"/v1/jobs/{job}").status_code < 300
        before = job_of(client, job)["value"]
    server.kill()
    os.kill(child, signal.SIGKILL)
    with server.start().client() as client:
        excess = over(client, job)
        assert excess["state"] == "cancelled"
        assert excess["value"] <= before
        assert excess["expires"] > excess["finished"]
        assert has_plan(client, job)
        assert events(client, job)[-1].data["value"] == excess["value"]


@pytest.mark.campaign
def test_a_job_whose_child_is_killed_is_begun_again(server: Server) -> None:
    with server.start(max_attempts=2).client() as client:
        job = submit(client, hard(600, 2), time_limit=LONG)
        (child,) = wait_for(lambda: solving(server.pid), "a child to solve it")
        os.kill(child, signal.SIGKILL)
        again = wait_for(
            lambda: [entry for entry in solving(server.pid) if entry != child], "another to go on"
        )
        assert again != [child]
        client.delete(f"/v1/jobs/{job}")
        excess = over(client, job)
        assert (excess["state"], excess["error"]) == ("cancelled", None)
        assert has_plan(client, job)
        assert 'memstow_children_killed_total{reason="child_lost"} 1.0' in client.get("/metrics").text
    begins = [event["attempt"] for event in server.events() if event["event"] == "job_started"]
    assert begins == [1, 2]


def test_sigterm_puts_running_jobs_back_with_their_best_plan_and_ends_in_time(server: Server) -> None:
    with server.start(grace_seconds=4).client() as client:
        job = submit(client, hard(600, 3), time_limit=LONG)
        wait_for(lambda: has_plan(client, job), "a first plan")
        heard: list[Event] = []

        def listen() -> None:
            with server.client() as other, other.stream("GET", f"/v1/jobs/{job}/events") as stream:
                for event in read_events(stream.iter_lines()):
                    heard.append(event)

        listener = threading.Thread(target=listen)
        listener.start()
        wait_for(lambda: heard, "an event")
        server.signal(signal.SIGTERM)
        assert server.wait() == 0, "long before the solve would have ended"
        listener.join(PATIENCE)
        assert not listener.is_alive(), "the stream ended politely"
        assert "done" not in {event.kind for event in heard}
    with server.start(slots=0).client() as client:
        assert job_of(client, job)["state"] == "queued"
        assert client.get(f"/v1/jobs/{job}/plan").json()["placements"]


@pytest.mark.campaign
def test_new_work_is_refused_while_the_server_ends(server: Server) -> None:
    """By a word to who has a connection already; by then new ones are not taken any more."""
    output: list[tuple[int, str]] = []
    with server.start(grace_seconds=5).client() as client:
        job = submit(client, hard(600, 4), time_limit=LONG)
        wait_for(lambda: solving(server.pid), "it to run")
        server.signal(signal.SIGTERM)

        def refused() -> bool:
            try:
                answer = client.post("/v1/jobs", json={"problem": PROBLEM})
            except httpx2.TransportError:
                return True
            if answer.status_code != 202:
                output.append((answer.status_code, answer.json()["code"]))
            return answer.status_code != 202

        wait_for(refused, "new work to be refused")
        assert server.wait() == 0, server.log()
    assert set(output) <= {(503, "draining")}
    with server.start(slots=0).client() as client:
        assert job_of(client, job)["state"] == "queued", "what ran was put back"


@pytest.mark.campaign
def test_a_second_server_on_the_same_folder_is_refused(server: Server) -> None:
    server.start()
    with pytest.raises(AssertionError, match="another server works in this folder"):
        Server(server.data).start()


@pytest.mark.campaign
def test_a_locked_store_is_a_word_to_try_again_and_passes(server: Server) -> None:
    with server.start().client() as client:
        assert client.post("/v1/plan", json={"problem": PROBLEM}).status_code == 200
        running = submit(client, hard(300, 12), time_limit=3.0)
        wait_for(lambda: solving(server.pid) or job_of(client, running)["state"] in OVER, "it to run")
        blocker = sqlite3.connect(server.data / "memstow.sqlite", isolation_level=None)
        blocker.execute("BEGIN EXCLUSIVE")
        answer = client.post("/v1/jobs", json={"problem": PROBLEM})
        assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")
        assert answer.headers["retry-after"]
        assert client.get("/livez").status_code == 200
        wait_for(lambda: not solving(server.pid), "what runs to come to its end")
        blocker.execute("ROLLBACK")
        blocker.close()
        job = submit(client)
        assert over(client, job)["state"] == "done"
        assert over(client, running)["state"] == "done", "what ended meanwhile was written down later"
        assert "memstow_store_errors_total" in client.get("/metrics").text


@pytest.mark.campaign
def test_a_full_disk_is_a_word_to_try_again_and_passes(server: Server) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    # No file may grow beyond this, which the store sees as a full disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 19, limits[1]))
    try:
        server.start(slots=0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    body = {"problem": hard(400)}
    with server.client() as client:
        kept = 0
        while (answer := client.post("/v1/jobs", json=body)).status_code == 202:
            kept += 1
            assert kept < 1000
        assert (answer.status_code, answer.json()["code"]) == (507, "disk_full")
        assert "make room" in answer.json()["detail"]
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()["code"]) == (503, "disk_full")
        assert client.get("/livez").status_code == 200
        assert len(client.get("/v1/jobs?limit=500").json()["jobs"]) == kept
    server.kill()
    with server.start().client() as client:
        assert client.get("/readyz").status_code == 200
        assert len(client.get("/v1/jobs?limit=500").json()["jobs"]) == kept
        assert client.post("/v1/jobs", json=body).status_code == 202


@pytest.mark.campaign
def test_a_store_that_goes_away_comes_back_and_nothing_is_lost(pg: Postgres, server: Server) -> None:
    with server.start(database=pg.database()).client() as client:
        job = submit(client, hard(400, 6), time_limit=3.0)
        wait_for(lambda: solving(server.pid) or job_of(client, job)["state"] in OVER, "it to run")
        pg.stop()
        try:
            answer = client.post("/v1/jobs", json={"problem": PROBLEM})
            assert answer.status_code == 503
            assert client.get("/readyz").status_code == 503
            assert client.get("/livez").status_code == 200
            wait_for(lambda: not solving(server.pid), "what runs to come to its end")
        finally:
            pg.start()
        wait_for(lambda: client.get("/readyz").status_code == 200, "the store to be back")
        assert over(client, job)["state"] == "done"


@pytest.mark.campaign
def test_a_replica_takes_over_from_one_that_was_killed(pg: Postgres, tmp_path: Path) -> None:
    database = pg.database()
    one, two = (Server(tmp_path / name, database=database) for name in ("one", "two"))
    try:
        with one.start().client() as client:
            job = submit(client, hard(600, 7), time_limit=LONG)
            wait_for(lambda: has_plan(client, job), "a first plan")
            two.start()
            one.kill()
        with two.client() as client:
            wait_for(lambda: solving(two.pid), "the other to go on with it")
            assert "memstow_jobs_taken_over_total 0.0" not in client.get("/metrics").text
            assert has_plan(client, job)
            client.delete(f"/v1/jobs/{job}")
            assert events(client, job)[-1].kind == "done"
            assert over(client, job)["state"] == "cancelled"
    finally:
        one.kill()
        two.kill()


@pytest.mark.campaign
def test_two_replicas_do_every_job_once(pg: Postgres, tmp_path: Path) -> None:
    database = pg.database()
    servers = [Server(tmp_path / name, database=database, slots=2) for name in ("one", "two")]
    try:
        clients = [server.start().client() for server in servers]
        problems = [{"problem": hard(3, seed)} for seed in range(40)]
        settings = [{"name": str(i), "options": {"seed": i, "time_limit": 0.05}} for i in range(10)]
        path = (
            clients[0]
            .post("/v1/batches", json={"problems": problems, "settings": settings})
            .headers["location"]
        )
        wait_for(lambda: clients[1].get(path).json()["done"], "the batch to end")
        assert clients[1].get(path).json()["states"] == {"done": 400}
        events = [
            event for server in servers for event in server.events() if event["event"] == "job_finished"
        ]
        written = Counter(event["job"] for event in events if event["written"])
        assert len(written) == 400
        assert set(written.values()) == {1}
        for client in clients:
            client.close()
    finally:
        for server in servers:
            server.kill()


def test_a_slow_body_is_given_up_and_others_are_served_meanwhile(server: Server) -> None:
    with server.start(body_seconds=1).client() as client:
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as slow:
            slow.sendall(
                b"POST /v1/plan HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Content-Length: 1000\r\n\r\n{"
            )
            assert client.get("/livez").status_code == 200
            slow.settimeout(PATIENCE)
            answer = b""
            while piece := slow.recv(4096):
                answer += piece
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"body_seconds" in answer


@pytest.mark.campaign
def test_strangers_who_do_not_speak_to_the_end_are_sent_away_and_counted(server: Server) -> None:
    with server.start(head_seconds=0.5, max_connections_per_address=10, slots=0).client() as client:
        host, port = server.url.removeprefix("http://").split(":")
        strangers = [socket.create_connection((host, int(port)), PATIENCE) for _ in range(6)]
        for stranger in strangers:
            stranger.sendall(b"GET /livez HTTP/1.1\r\nHost: local")
        for stranger in strangers:
            assert stranger.recv(12) == b"HTTP/1.1 408"
            stranger.close()
        counted = 'memstow_connections_refused_total{reason="slow_head"} 6.0'
        assert counted in client.get("/metrics").text
        assert client.get("/livez").status_code == 200
    refused = [event for event in server.events() if event["event"] == "connection_refused"]
    assert {(entry["reason"], entry["address"]) for entry in refused} == {("slow_head", "127.0.0.1")}


@pytest.mark.campaign
def test_idle_connections_leave_file_handles_for_the_jobs(server: Server) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, limits[1]))
    try:
        server.start(slots=2, max_connections_per_address=1000, head_seconds=PATIENCE, idle_seconds=PATIENCE)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    host, port = server.url.removeprefix("http://").split(":")
    # A connection that is kept alive may give way just when its next request is sent, which resets it.
    fresh = httpx2.Limits(max_keepalive_connections=0)
    with server.client(limits=fresh) as client, ExitStack() as stack:
        assert client.get("/livez").status_code == 200
        for _ in range(400):
            stack.enter_context(socket.create_connection((host, int(port)), PATIENCE))
        gave_way = 'memstow_connections_refused_total{reason="gave_way"}'
        wait_for(lambda: gave_way in client.get("/metrics").text, "connections to give way")
        jobs = [submit(client, seed=seed) for seed in range(6)]
        assert [over(client, job)["state"] for job in jobs] == ["done"] * 6
    assert [event["open_files"] for event in server.events() if event["event"] == "fewer_connections"] == [
        256
    ]


@pytest.mark.campaign
def test_no_job_is_lost_while_the_server_may_open_no_more_files(server: Server) -> None:
    with server.start().client() as client:
        first, second = (submit(client, hard(600, seed), time_limit=4.0) for seed in (14, 15))
        wait_for(lambda: solving(server.pid), "a child to solve the first")
        limits = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (3, limits[1]))
        logged = {"shortage", "no_spare_child"}
        wait_for(lambda: logged <= {event["event"] for event in server.events()}, "no child to be started")
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, limits)
        assert [over(client, job)["state"] for job in (first, second)] == ["done", "done"]
        assert "memstow_shortages_total 0.0" not in client.get("/metrics").text


def test_a_body_that_is_refused_at_its_head_is_read_so_that_the_client_sees_why(server: Server) -> None:
    size = 1 << 20
    with server.start(max_body=size, slots=0).client() as client:
        for content in (bytes(size + 1), iter([bytes(size), b"0"])):
            answer = client.post("/v1/plan", content=content, headers={"content-type": "application/json"})
            assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


@pytest.mark.campaign
def test_readers_that_do_not_read_share_the_memory_for_bodies(server: Server) -> None:
    size = 3 << 20
    names = [f"{number:01000}" for number in range(2000)]
    problem = {"version": 1, "buffers": [{"id": name, "size": 1, "lifetime": [0, 1]} for name in names]}
    with server.start(max_body=size, body_memory=size, slots=0).client() as client:
        path = f"/v1/jobs/{submit(client, problem)}/problem"
        host, port = server.url.removeprefix("http://").split(":")
        readers = [socket.create_connection((host, int(port)), PATIENCE) for _ in range(3)]
        for reader in readers:
            reader.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        statuses = Counter(reader.recv(12) for reader in readers)
        assert statuses == {b"HTTP/1.1 200": 1, b"HTTP/1.1 503": 2}
        refused = client.get(path)
        assert (refused.status_code, refused.json()["code"]) == (503, "memory_full")
        assert refused.headers["retry-after"]
        assert client.get("/v1/solvers").status_code == 200, "what is small is served meanwhile"
        for reader in readers:
            reader.close()
        wait_for(lambda: client.get(path).status_code == 200, "the memory to be free")
        assert "memstow_body_memory_bytes 0.0" in client.get("/metrics").text


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("header", "seconds"),
    [(b"", 29.0), (b"Idempotency-Key: again\r\n", 4.0)],
    ids=["for good", "to come again"],
)
def test_a_client_that_goes_away_leaves_a_job_behind_only_if_it_can_come_again(
    server: Server, header: bytes, seconds: float
) -> None:
    body = json.dumps({"problem": hard(600, 8), "options": {"time_limit": seconds}}).encode()
    with server.start().client() as client:
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as impatient:
            impatient.sendall(
                b"POST /v1/plan HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"%bContent-Length: %d\r\n\r\n%b" % (header, len(body), body)
            )
            wait_for(lambda: client.get("/v1/jobs").json()["jobs"], "its job")
            (job,) = (job["id"] for job in client.get("/v1/jobs").json()["jobs"])
        request = {"event": "request", "route": "/v1/plan"}
        wait_for(
            lambda: any(request.items() <= event.items() for event in server.events()), "the request to end"
        )
        if header:
            assert over(client, job)["state"] == "done", "it was not stopped"
        else:
            wait_for(lambda: client.get("/v1/jobs").json()["jobs"] == [], "the job to be removed")


@pytest.mark.campaign
@pytest.mark.parametrize("count", [1, 200], ids=["on one job", "on a job each"])
def test_many_readers_of_events_hear_the_end(server: Server, count: int) -> None:
    with server.start().client() as client:
        first = submit(client, hard(500, 9), time_limit=LONG)
        wait_for(
            lambda: job_of(client, first)["state"] == "running", "the first job to keep the others waiting"
        )
        settings = [{"name": str(seed), "options": {"seed": seed}} for seed in range(count)]
        body = {"problems": [{"problem": PROBLEM}], "settings": settings}
        path = client.post("/v1/batches", json=body).headers["location"]
        document = client.get(f"/v1/jobs?batch={path.rpartition('/')[2]}&limit=500").json()["jobs"]
        jobs = [job["id"] for job in document]
        assert len(jobs) == count

        async def read(reader: httpx2.AsyncClient, job: str) -> list[Event]:
            async with reader.stream("GET", f"/v1/jobs/{job}/events") as stream:
                return list(read_events([line async for line in stream.aiter_lines()]))

        def open_streams() -> bool:
            return "memstow_event_streams 200.0" in client.get("/metrics").text

        async def read_all() -> list[list[Event]]:
            limits = httpx2.Limits(max_connections=None)
            async with httpx2.AsyncClient(base_url=server.url, timeout=PATIENCE, limits=limits) as reader:
                tasks = [asyncio.create_task(read(reader, jobs[i % count])) for i in range(200)]
                await asyncio.to_thread(wait_for, open_streams, "all readers to be there")
                assert (await asyncio.to_thread(job_of, client, jobs[0]))["state"] == "queued"
                await asyncio.to_thread(client.delete, f"/v1/jobs/{first}")
                return await asyncio.gather(*tasks)

        heard = asyncio.run(read_all())
        assert [entry[-1].kind for entry in heard] == ["done"] * 200
        wait_for(lambda: "memstow_event_streams 0.0" in client.get("/metrics").text, "the streams to end")


@pytest.mark.campaign
def test_a_stream_goes_on_at_another_replica_where_it_was_left(pg: Postgres, tmp_path: Path) -> None:
    database = pg.database()
    servers = [Server(tmp_path / name, database=database) for name in ("one", "two", "three")]
    try:
        one, two, three = (server.start(slots=int(server is servers[0])).client() for server in servers)
        job = submit(one, hard(400, 11), time_limit=4.0)
        heard = events(one, job, 0, 3)
        assert len(heard) == 3
        for replica, most in ((two, 2), (three, None)):
            heard += events(replica, job, heard[-1].number, most)
        assert [event.number for event in heard] == list(range(1, len(heard) + 1)), (
            "none twice, none left out"
        )
        assert heard[-1].kind == "done"
        assert events(two, job, 0) == heard
        assert events(three, job, len(heard) - 1) == heard[-1:]
        for client in (one, two, three):
            client.close()
    finally:
        for server in servers:
            server.kill()


@pytest.mark.campaign
def test_a_long_queue_is_no_burden(server: Server) -> None:
    with server.start(slots=0, max_queued=10_000).client() as client:
        settings = [{"name": str(i), "options": {"seed": i}} for i in range(1000)]
        for _ in range(10):
            answer = client.post(
                "/v1/batches", json={"problems": [{"problem": PROBLEM}], "settings": settings}
            )
            assert answer.status_code == 202, answer.text
        assert client.post("/v1/jobs", json={"problem": PROBLEM}).status_code == 429
        assert client.get("/v1/jobs?limit=100").json()["next"]
    server.kill()
    with server.start(slots=1).client() as client:
        wait_for(lambda: client.get("/v1/jobs?state=done&limit=20").json()["next"], "the queue to move")


@pytest.mark.campaign
def test_a_clock_that_jumps_takes_no_job_away(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who owns a job is decided by heartbeats that an observer counts by its own steady clock."""
    server.data.mkdir()
    database = store.Database(store.url_of(server.data))
    upgrade(database)
    queue, claims = Queue(database, Quotas(max_queued=10)), Claims(database)
    job, _ = queue.submit(draft())
    claims.claim(uuid.uuid4().hex, 9)
    housekeeper = Housekeeper(
        database,
        queue,
        claims,
        Metrics(),
        StoreClock(database),
        lease_seconds=1.0,
        keep_seconds=60.0,
        max_plans=10,
        running=dict,
        on_requeued=lambda: None,
    )
    steady = SimpleNamespace(monotonic=lambda: 100.0)
    monkeypatch.setattr("memstow.api.workers.housekeeper.time", steady)
    for jump in (1e6, -1e6):
        monkeypatch.setattr(time, "time", lambda jump=jump: 1.8e9 + jump)
        claims.heartbeat([(job, 1)])
        housekeeper._take_over()
        result = queue.get(job)
        assert result is not None
        assert result.state == "running"
    steady.monotonic = lambda: 101.1
    housekeeper._take_over()
    result = queue.get(job)
    assert result is not None
    assert result.state == "queued"
    database.close()
