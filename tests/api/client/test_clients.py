"""The client against real servers: plans, events, retries, stops; and the command line through it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from memstow.api.cli.terminal import Exit
from memstow.api.client import AsyncClient, Client, ServerError, exchange
from memstow.api.client.runs import find_front, solve, solve_symbolic
from memstow.planner import formats
from memstow.planner.formats.native import parse_symbolic, plain, write_symbolic_graph
from memstow.planner.generate.planted import planted
from memstow.planner.model import Status
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import Front, FrontOptions
from memstow.planner.model.options import Event, Incumbent, Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Buffer, Pool, Problem, ReuseCost, Target
from memstow.planner.model.symbolic import (
    Order,
    OrderedPlacement,
    Symbol,
    SymbolicBuffer,
    SymbolicPlan,
    SymbolicProblem,
    digest_symbolic,
)
from memstow.planner.proofs.check import check_proof
from memstow.planner.shapes.plan_symbolic import plan_symbolic
from memstow.planner.shapes.symbolic_layout import plan_at
from memstow.planner.verify import verify
from memstow.planner.verify.symbolic_verdict import judge_symbolic
from tests.api import symbolic_problems
from tests.api.serving import ROOT, Server
from tests.planner.shapes.solve.test_operator_order import TWO_BRANCHES
from tests.waiting import PATIENCE, wait_for

# Longer than anything is waited for: what runs so long ends because it is told to.
LONG = 300.0
SMALL = Problem(version=1, buffers=(Buffer(id="a", size=64, lifetime=(0, 2)),))
IMPOSSIBLE = Problem(version=1, pools=(Pool(id="p", capacity=8),), buffers=SMALL.buffers)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("client") / "data").start()
    yield server
    server.kill()


def test_a_plan_comes_back_whole(running: Server) -> None:
    with Client(running.url) as client:
        assert client.plan(SMALL).status is Status.OPTIMAL
        assert client.plan(IMPOSSIBLE).status is Status.INFEASIBLE
        problem = planted(300, 3, slack=0.1)
        plan = client.plan(problem, Options(time_limit=1.0))
        assert verify(problem, plan) == []
        again = client.plan(problem, Options(time_limit=0.5, hint=plan))
        assert again.objective[0].value <= plan.objective[0].value


def test_a_run_by_a_server_tells_what_a_run_here_tells(running: Server) -> None:
    heard: list[Event] = []
    problem = planted(150, 8, slack=0.1)
    with Client(running.url) as client:
        plan = solve(client, problem, Options(time_limit=1.0, seed=4), heard.append, lambda: False)
    assert verify(problem, plan) == []
    assert all(isinstance(event, Event) for event in heard)


TARGETS = (
    Target(name="large", pools=[Pool(id="ram", capacity=128)]),
    Target(name="small", pools=[Pool(id="ram", capacity=64)]),
)


def test_the_fronts_of_targets_come_back_whole(running: Server, tmp_path: Path) -> None:
    problem = Problem(
        version=1,
        buffers=(Buffer(id="a", size=64, lifetime=(0, 2)), Buffer(id="b", size=32, lifetime=(2, 3))),
        reuse_costs=(ReuseCost(buffers=("a", "b"), cost=1),),
    )
    options = FrontOptions(terms=("peak", "reuse_cost"))
    with Client(running.url) as client:
        front = client.front(problem, options, Options(time_limit=60.0), targets=TARGETS)

    async def ask() -> Front:
        async with AsyncClient(running.url) as client:
            job = await client.submit_front(problem, options, Options(time_limit=60.0), targets=TARGETS)
            async for _ in client.events(job):
                pass
            return await client.front_result(job)

    for entry in (front, asyncio.run(ask())):
        assert [(device.target, len(device.points)) for device in entry.targets] == [
            ("small", 1),
            ("large", 2),
        ]
        assert (entry.smallest, entry.complete) == ("small", True)
    file = tmp_path / "problem.json"
    file.write_bytes(formats.write_problem(problem))
    paths = []
    for target in TARGETS:
        paths.append(str(tmp_path / f"{target.name}.json"))
        Path(paths[-1]).write_text(json.dumps(plain(target)))
    command = ["front", str(file), "--target", ",".join(paths), "--terms", "peak,reuse_cost"]
    ran = subprocess.run(
        [sys.executable, "-m", "memstow.api.cli.main", *command, "--server", running.url, "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == Exit.DONE, ran.stderr
    document = json.loads(ran.stdout)
    assert document["smallest"] == paths[1]
    assert [device["target"] for device in document["targets"]] == [paths[1], paths[0]]


def test_jobs_have_the_names_that_they_are_given(running: Server) -> None:
    options = FrontOptions(terms=("peak", "reuse_cost"))
    two = (Buffer(id="a", size=64, lifetime=(0, 2)), Buffer(id="b", size=32, lifetime=(2, 3)))
    costly = Problem(version=1, buffers=two, reuse_costs=(ReuseCost(buffers=("a", "b"), cost=1),))
    formulas = SymbolicProblem(
        symbols=(Symbol(id="s", min=1, max=64),),
        buffers=(SymbolicBuffer(id="x", size="4*s", lifetime=(0, 1)),),
    )
    with Client(running.url) as client:
        jobs = [
            client.submit(SMALL, name="named: a & b?"),
            client.submit_front(costly, options, name="named: a front"),
            client.submit_symbolic(formulas, name="named: formulas"),
        ]
        result = client.jobs(search="NAMED: ", limit=9)

    async def ask() -> list[Any]:
        async with AsyncClient(running.url) as client:
            await client.submit(SMALL, name="named by another")
            return [entry["name"] for entry in await client.jobs(search="by another", state="done")]

    assert [job["id"] for job in result] == jobs[::-1]
    assert [job["name"] for job in result] == ["named: formulas", "named: a front", "named: a & b?"]
    wait_for(lambda: asyncio.run(ask()), "a job of that name to be done")

    async def remove(client: AsyncClient, job: str) -> list[str]:
        async with client:
            return await client.stop_jobs([job], discard=True)

    with Client(running.url) as client:
        assert sorted(client.stop_jobs(jobs[:2], search="named", discard=True)) == sorted(jobs[:2])
        assert asyncio.run(remove(AsyncClient(running.url), jobs[2])) == jobs[2:]
        # One that runs is removed once its process has ended.
        wait_for(lambda: client.jobs(search="named: ") == [], "the jobs to be gone")


@pytest.mark.parametrize(
    ("file", "content", "name"),
    [
        ("a net.csv", "id,lower,upper,size\na,0,2,64\n", "a net.csv"),
        ("b.json", formats.write_problem(replace(SMALL, name="of its own")).decode(), "of its own"),
        ("x" * 150 + "\x01" * 50 + ".csv", "id,lower,upper,size\na,0,2,64\n", "x" * 100),
    ],
    ids=["its file", "its own", "a long file"],
)
def test_a_job_of_the_command_line_is_called_as_its_file(
    running: Server, tmp_path: Path, file: str, content: str, name: str
) -> None:
    (tmp_path / file).write_text(content)
    command = [sys.executable, "-m", "memstow.api.cli.main", "solve", str(tmp_path / file)]
    subprocess.run([*command, "--server", running.url, "--quiet"], cwd=ROOT, check=True, capture_output=True)
    with Client(running.url) as client:
        assert client.jobs(search=name)[0]["name"].startswith(name)


def test_a_front_comes_back_whole(running: Server) -> None:
    problem = Problem(
        version=1,
        buffers=(Buffer(id="a", size=64, lifetime=(0, 2)), Buffer(id="b", size=32, lifetime=(2, 3))),
        reuse_costs=(ReuseCost(buffers=("a", "b"), cost=1),),
    )
    options = FrontOptions(terms=("peak", "reuse_cost"))
    output: list[object] = []
    with Client(running.url) as client:
        front = client.front(problem, options, Options(time_limit=60.0))
        result = find_front(client, problem, options, Options(time_limit=60.0), output.append, lambda: False)
        with pytest.raises(InputError):
            client.submit_front(problem, FrontOptions(terms=("reuse_cost", "preference")))
    values = [tuple(point.values.values()) for point in front.points]
    assert (values, front.complete) == ([(64, 1), (96, 0)], True)
    assert result is not None
    assert [point.values for point in result.points] == [point.values for point in front.points]
    assert output


def test_a_plan_of_formulas_is_laid_out_at_values(running: Server) -> None:
    problem = SymbolicProblem(
        symbols=[Symbol(id="s", min=1, max=9)], buffers=[SymbolicBuffer(id="x", size="3*s")]
    )
    order = Order(placements=[OrderedPlacement(buffer="x", pool="memory")])
    plan = SymbolicPlan(status=Status.FEASIBLE, shapes="order", orders=[order])
    with Client(running.url) as client:
        result = client.evaluate(problem, plan, {"s": 4})
        with pytest.raises(InputError, match="'s' has no value"):
            client.evaluate(problem, plan, {})
    assert result == plan_at(problem, plan, {"s": 4})

    async def same() -> Plan:
        async with AsyncClient(running.url) as client:
            return await client.evaluate(problem, plan, {"s": 4})

    assert asyncio.run(same()) == result


def test_a_plan_of_a_problem_with_symbols_comes_back_whole(running: Server) -> None:
    problem = SymbolicProblem(
        symbols=[Symbol(id="s", min=1, max=9)],
        buffers=[
            SymbolicBuffer(id="x", size="3*s", lifetime=(0, 2)),
            SymbolicBuffer(id="y", size="s*s", lifetime=(1, 3)),
        ],
    )
    with Client(running.url) as client:
        plan = client.plan_symbolic(problem, Options(time_limit=20.0))
        assert (plan.shapes, plan.digest) == ("order", digest_symbolic(problem))
        assert judge_symbolic(problem, plan).violations == ()
        job = client.submit_symbolic(problem, Options(time_limit=60.0), shapes="pieces", pieces=3)
        wait_for(lambda: client.job(job)["state"] == "done", "the job")
        assert client.symbolic_result(job).shapes == "pieces"
        fixed = solve_symbolic(client, problem, Options(time_limit=60.0), "fixed", None, lambda: False)
        assert fixed.placements
        with pytest.raises(InputError, match="expected a whole number from 1 to 16"):
            client.plan_symbolic(problem, shapes="pieces", pieces=17)
        with pytest.raises(InputError, match="asks for `order`; leave it out"):
            client.submit_symbolic(problem, pieces=3)
        with pytest.raises(InputError, match="not for problems with symbols"):
            client.plan_symbolic(problem, Options(gap=0.5))

    async def same() -> SymbolicPlan:
        async with AsyncClient(running.url) as client:
            job = await client.submit_symbolic(problem, Options(time_limit=60.0), shapes="fixed")
            async for _ in client.events(job):
                pass
            assert await client.symbolic_result(job) == fixed
            return await client.plan_symbolic(problem, Options(time_limit=20.0))

    # Of equal requests the second is answered from the cache.
    assert asyncio.run(same()) == plan


def test_a_run_with_symbols_that_is_stopped_gives_its_best_plan(running: Server) -> None:
    problem = parse_symbolic(symbolic_problems.hard())
    begin: list[bool] = []

    def stopped() -> bool:
        begin.append(True)
        return len(begin) > 40

    with Client(running.url) as client:
        plan = solve_symbolic(client, problem, Options(time_limit=LONG), "order", None, stopped)
    assert plan.status in (Status.FEASIBLE, Status.UNKNOWN)
    assert judge_symbolic(problem, plan).violations == ()


def test_the_command_line_plans_symbols_by_a_server(running: Server, tmp_path: Path) -> None:
    path = tmp_path / "symbolic.json"
    memstow("generate", "symbolic", "--n", "12", "--output", path)
    options = ("solve", path, "--shapes", "pieces:3", "--deterministic", "--json")
    here, there = memstow(*options), memstow(*options, "--server", running.url)
    assert (there.returncode, json.loads(there.stdout)) == (0, json.loads(here.stdout))
    ran = memstow("solve", path, "--server", "http://127.0.0.1:9")
    assert (ran.returncode, "cannot be reached" in ran.stderr) == (Exit.USAGE, True)


def test_a_server_plans_a_graph_with_symbols_in_a_free_order(running: Server, tmp_path: Path) -> None:
    path = tmp_path / "branches.json"
    path.write_bytes(write_symbolic_graph(TWO_BRANCHES))
    options = ("solve", path, "--order", "free", "--deterministic", "--json")
    here, there = memstow(*options), memstow(*options, "--server", running.url)
    assert (there.returncode, json.loads(there.stdout)) == (0, json.loads(here.stdout))
    free = replace(TWO_BRANCHES, order="free")
    deterministic = Options(deterministic=True)
    with Client(running.url) as client:
        plan = client.plan_symbolic(free, deterministic)
        assert plan == plan_symbolic(free, deterministic)
        assert client.evaluate(TWO_BRANCHES, plan, {"s": 64}).objective[0].value == 4117
        listed = client.symbolic_result(_done(client, client.submit_symbolic(TWO_BRANCHES, deterministic)))
    assert listed == plan_symbolic(TWO_BRANCHES, deterministic)


def _done(client: Client, job: str) -> str:
    wait_for(lambda: client.job(job)["state"] == "done", "the job")
    return job


@pytest.mark.parametrize("capacity", [None, 149], ids=["optimal", "infeasible"])
def test_the_proof_of_a_server_is_about_the_file_of_the_user(
    running: Server, tmp_path: Path, capacity: int | None
) -> None:
    # In other bytes than the server writes it.
    problem = {
        "pools": [{"id": "memory", "capacity": capacity}],
        "version": 1,
        "buffers": [
            {"lifetime": [0, 3], "id": "a", "size": 100},
            {"lifetime": [1, 4], "id": "b", "size": 50},
        ],
    }
    path, plan, proof = tmp_path / "problem.json", tmp_path / "plan.json", tmp_path / "plan.proof"
    path.write_text(json.dumps(problem, indent=3))
    files = ("--output", plan, "--proof", proof)
    ran = memstow("solve", path, *files, "--server", running.url)
    code, proven = (
        (Exit.DONE, "that no plan has a peak below 150")
        if capacity is None
        else (Exit.INFEASIBLE, "that nothing fits")
    )
    assert (ran.returncode, ran.stderr) == (code, "")
    assert f"proves {proven} (" in ran.stdout
    checked = memstow("verify", path, plan, "--strict", "--proof", proof)
    assert (checked.returncode, checked.stderr) == (Exit.DONE, "")
    assert not list(tmp_path.glob("*.unfinished"))
    # The plan of a lock that holds is proven here, without a job.
    lock = ("--lock", tmp_path / "plan.lock")
    for _ in range(2):
        os.remove(proof)
        ran = memstow("solve", path, *files, *lock, "--server", running.url)
        assert (ran.returncode, f"proves {proven} (" in ran.stdout) == (code, True), ran.stderr


def test_a_stopped_run_gives_its_best_plan(running: Server) -> None:
    heard = threading.Event()

    def listen(event: Event) -> None:
        if isinstance(event, Incumbent):
            heard.set()

    with Client(running.url) as client:
        plan = solve(
            client, planted(700, 12, slack=0.1), Options(time_limit=LONG), listen, stopped=heard.is_set
        )
    assert plan.placements


def test_the_same_for_an_event_loop(running: Server) -> None:
    async def work() -> None:
        async with AsyncClient(running.url) as client:
            assert (await client.plan(SMALL)).status is Status.OPTIMAL
            job = await client.submit(SMALL, Options(seed=77), priority=1)
            kinds = [happening.kind async for happening in client.events(job)]
            assert kinds[-1] == "done"
            assert [happening async for happening in client.events(job, len(kinds))] == []
            assert (await client.result(job, SMALL)).placements
            assert (await client.job(job))["state"] == "done"
            await client.stop(job, discard=True)
            with pytest.raises(ServerError) as gone:
                await client.job(job)
            assert gone.value.code == "no_such_job"

    asyncio.run(work())


def test_a_proof_comes_with_a_plan_where_it_is_asked_for(running: Server, tmp_path: Path) -> None:
    path = tmp_path / "plan.proof"
    with Client(running.url) as client:
        job = client.submit(SMALL, Options(time_limit=60.0), proof=True)
        assert [event.kind for event in client.events(job)][-1] == "done"
        answer, document = client.result(job, SMALL), client.problem(job)
        path.write_bytes(client.proof(job))
        checked = check_proof(document, answer, path)
        assert (checked.verified, checked.sha256) == (True, answer.proof_sha256)
        without = client.submit(SMALL)
        assert [event.kind for event in client.events(without)][-1] == "done"
        with pytest.raises(ServerError) as none:
            client.proof(without)
        assert none.value.code == "no_proof"


def test_mistakes_raise_what_they_raise_here(running: Server) -> None:
    with Client(running.url) as client:
        with pytest.raises(InputError) as wrong:
            client.plan(SMALL, Options(solver="nobody"))
        assert wrong.value.issues[0].code == "unknown_solver"
        with pytest.raises(ServerError, match="no_such_job"):
            client.job("0" * 32)
    with pytest.raises(InputError):
        Client("localhost:8080")
    with (
        Client("http://127.0.0.1:9", attempts=2) as nowhere,
        pytest.raises(ServerError, match="cannot be reached"),
    ):
        nowhere.plan(SMALL)


class _Moody(BaseHTTPRequestHandler):
    """Busy, then gone in the middle, then fine."""

    seen: list[str | None] = []  # noqa: RUF012

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.seen.append(self.headers["idempotency-key"])
        if len(self.seen) == 1:
            self.send_response(429)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif len(self.seen) == 2:
            self.close_connection = True
            self.connection.close()
        else:
            body = b'{"id": "x"}'
            self.send_response(202)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def test_a_request_is_sent_again_with_the_same_idempotency_key() -> None:
    with HTTPServer(("127.0.0.1", 0), _Moody) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with Client(f"http://127.0.0.1:{server.server_port}") as client:
                assert client.submit(SMALL) == "x"
        finally:
            server.shutdown()
            thread.join()
    assert len(_Moody.seen) == 3
    assert len(set(_Moody.seen)) == 1


class _Endless(BaseHTTPRequestHandler):
    """Sends bytes until nobody reads them."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        with suppress(ConnectionError):
            while True:
                self.wfile.write(bytes(1 << 16))

    def log_message(self, *_: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("limit", "most", "code"),
    [("MOST_ANSWER_BYTES", 1 << 20, "answer_too_large"), ("MOST_ANSWER_SECONDS", 0.0, "answer_too_slow")],
)
def test_an_answer_without_end_is_an_error(
    limit: str, most: float, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, limit, most)

    async def of_an_event_loop(url: str) -> None:
        async with AsyncClient(url) as client:
            await client.proof("x")

    with ThreadingHTTPServer(("127.0.0.1", 0), _Endless) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"
        try:
            with Client(url) as client, pytest.raises(ServerError) as refused:
                client.proof("x")
            assert refused.value.code == code
            with pytest.raises(ServerError) as refused:
                asyncio.run(of_an_event_loop(url))
            assert refused.value.code == code
        finally:
            server.shutdown()
            thread.join()


def test_a_client_hears_the_end_though_the_server_was_killed_in_between(tmp_path: Path) -> None:
    server = Server(tmp_path / "data", port=_free_port()).start()
    try:
        with Client(server.url, attempts=30) as client:
            job = client.submit(planted(600, 4, slack=0.1), Options(time_limit=LONG))
            kinds: list[str] = []
            reader = threading.Thread(target=lambda: kinds.extend(event.kind for event in client.events(job)))
            reader.start()
            wait_for(lambda: kinds, "an event")
            server.kill()
            server.start()
            wait_for(lambda: client.job(job)["state"] == "running", "it to run again")
            client.stop(job)
            reader.join(PATIENCE)
            assert kinds[-1] == "done"
            assert kinds.count("done") == 1
            assert client.job(job)["state"] == "cancelled"
    finally:
        server.kill()


def _free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def memstow(*arguments: object, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "memstow.api.cli.main", *map(str, arguments)]
    given = {**os.environ, **environment}
    return subprocess.run(
        command, cwd=ROOT, env=given, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


@pytest.mark.parametrize(
    ("problem", "code"), [(SMALL, Exit.DONE), (IMPOSSIBLE, Exit.INFEASIBLE)], ids=["optimal", "infeasible"]
)
def test_the_command_line_says_the_same_with_a_server(
    running: Server, tmp_path: Path, problem: Problem, code: Exit
) -> None:
    path = tmp_path / "problem.json"
    path.write_bytes(formats.write_problem(problem))
    here = memstow("solve", path, "--deterministic")
    there = memstow("solve", path, "--deterministic", "--server", running.url)
    assert (there.returncode, there.stderr) == (here.returncode, here.stderr) == (code, "")
    assert there.stdout == here.stdout
    by_environment = memstow("solve", path, "--json", MEMSTOW_SERVER=running.url)
    assert json.loads(by_environment.stdout)["status"]


def test_the_command_line_tells_of_a_server_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "problem.json"
    path.write_bytes(formats.write_problem(SMALL))
    ran = memstow("solve", path, "--server", "http://127.0.0.1:9")
    assert ran.returncode == Exit.USAGE
    assert "the server at http://127.0.0.1:9 cannot be reached" in ran.stderr


def test_ctrl_c_prints_the_best_plan_of_the_server(running: Server, tmp_path: Path) -> None:
    path = tmp_path / "problem.json"
    problem = planted(800, 5, slack=0.1)
    path.write_bytes(formats.write_problem(problem))
    command = [
        sys.executable,
        "-m",
        "memstow.api.cli.main",
        "solve",
        str(path),
        "--json",
        "--time-limit",
        str(LONG),
    ]
    process = subprocess.Popen(
        [*command, "--server", running.url], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with running.client() as client:
        request = f"/v1/jobs?state=running&digest={digest(problem)}"
        wait_for(lambda: client.get(request).json()["jobs"], "its job to run")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == Exit.INTERRUPTED, err
    assert json.loads(out)["placements"]


def test_importing_the_planner_imports_none_of_this() -> None:
    code = (
        "import sys; import memstow.planner.solve.engine, memstow.api.cli.main; "
        "import memstow.api.cli.commands.solve; "
        "print([m for m in ('fastapi', 'sqlalchemy', 'httpx2', 'uvicorn', 'structlog') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
