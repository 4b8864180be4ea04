"""A problem solved by a team on a cluster: from the command line, the library and the service."""

import gc
import json
import signal
import threading
from importlib.util import find_spec
from pathlib import Path

import pytest

from memstow import (
    Event,
    InputError,
    Options,
    Plan,
    Problem,
    Status,
    plan_on_cluster,
    read_plan,
    read_problem,
    verify,
)
from memstow.api.workers import team
from tests.api.asking import has_plan, job_of, over, submit
from tests.api.cli.conftest import Cli
from tests.api.cli.conftest import cli as cli
from tests.api.http.conftest import hard
from tests.api.on_cluster import LONG, solving, start
from tests.api.serving import Server
from tests.planner.bench.farm import Farm
from tests.processes import children_of
from tests.waiting import PATIENCE, wait_for

if find_spec("distributed") is None:
    pytest.skip("needs Dask: pip install 'memstow[dask]'", allow_module_level=True)

HARD = hard(600, 51)


def ready(farm: Farm) -> str:
    """The address of the scheduler, once both of its workers are there."""
    from distributed import Client

    farm.add_worker()
    farm.add_worker()
    with Client(farm.address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
    return farm.address


@pytest.mark.campaign
def test_a_team_outlives_a_worker_and_leaves_nothing_behind(farm: Farm) -> None:
    problem, address = read_problem(json.dumps(HARD).encode()), ready(farm)
    found: list[Plan] = []
    cancel = threading.Event()
    heard: list[Event] = []

    def call() -> None:
        options = Options(time_limit=LONG, workers=1)
        found.append(
            plan_on_cluster(problem, options, scheduler=address, on_event=heard.append, cancel=cancel)
        )

    thread = threading.Thread(target=call)
    thread.start()
    wait_for(lambda: len(solving(farm)) == 2, "both workers to solve")
    child = solving(farm)[0]
    (worker,) = (it for it in farm.workers if child in children_of(it.pid))
    worker.kill()
    worker.wait()
    wait_for(lambda: solving(farm), "the other to go on")
    cancel.set()
    thread.join(PATIENCE)
    assert found[0].status is Status.FEASIBLE
    assert verify(problem, found[0]) == []
    wait_for(lambda: not solving(farm), "all children to end")
    wait_for(lambda: not farm.queues(), "the queue to be removed")


class Call:
    """A call of `plan_on_cluster` in a thread."""

    def __init__(self, problem: Problem, address: str) -> None:
        self.events: list[Event] = []
        self.notices: list[str] = []
        self._cancel = threading.Event()
        self._found: list[Plan] = []
        self._thread = threading.Thread(target=self._run, args=(problem, address), daemon=True)
        self._thread.start()

    def _run(self, problem: Problem, address: str) -> None:
        found = plan_on_cluster(
            problem,
            Options(time_limit=LONG, workers=1),
            scheduler=address,
            members=2,
            on_event=self.events.append,
            cancel=self._cancel,
            on_notice=self.notices.append,
        )
        self._found.append(found)

    def end(self) -> Plan:
        """Call it off: its plan."""
        self._cancel.set()
        self._thread.join(PATIENCE)
        return self._found[0]


@pytest.mark.campaign
@pytest.mark.parametrize("lost", ["the scheduler", "the workers"])
def test_a_problem_whose_cluster_is_lost_is_solved_here(
    farm: Farm, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(team, "_AWAY_SECONDS", 0.1)
    problem, address = read_problem(json.dumps(HARD).encode()), ready(farm)
    call = Call(problem, address)
    wait_for(lambda: len(solving(farm)) == 2, "both workers to solve")
    if lost == "the scheduler":
        farm.lose_scheduler()
    else:
        for worker in farm.workers:
            worker.kill()
    (said,) = wait_for(
        lambda: [it for it in call.notices if it.endswith("; the problem is solved here")], "it to be said"
    )
    before = len(call.events)
    wait_for(lambda: len(call.events) > before, "a solve in this process")
    found = call.end()
    if lost == "the scheduler":
        assert said == f"the scheduler at {address} is lost; the problem is solved here"
    assert verify(problem, found) == []
    seconds = [it.seconds for it in call.events]
    assert seconds == sorted(seconds)


@pytest.mark.campaign
def test_a_worker_that_stands_still_causes_no_traceback(farm: Farm, caplog: pytest.LogCaptureFixture) -> None:
    problem = read_problem(json.dumps(HARD).encode())
    call = Call(problem, ready(farm))
    wait_for(lambda: len(solving(farm)) == 2, "both workers to solve")
    farm.workers[0].send_signal(signal.SIGSTOP)
    found = call.end()
    # What a task of Dask has raised is logged when the task is forgotten.
    gc.collect()
    assert verify(problem, found) == []
    assert [it.getMessage() for it in caplog.records if it.name == "asyncio"] == []


@pytest.mark.campaign
def test_the_command_solves_on_a_cluster_and_says_if_there_is_none(
    farm: Farm, cli: Cli, tmp_path: Path
) -> None:
    file = tmp_path / "hard.json"
    file.write_text(json.dumps(HARD))
    arguments = ("solve", file, "--members", "2", "--time-limit", "5", "--workers", "1", "--json")
    done = cli(*arguments, "--scheduler", ready(farm))
    assert done.code == 0
    problem = read_problem(file.read_bytes())
    assert verify(problem, read_plan(done.out.encode(), problem)) == []
    wait_for(lambda: not solving(farm), "all children to end")
    nobody = ("--scheduler", "tcp://127.0.0.1:1", "--time-limit")
    for limit, said in (
        ("5", "it does not answer; the problem is solved here"),
        ("1.5", "is too short for it"),
    ):
        gone = cli(*arguments, *nobody, limit)
        assert gone.code == 0
        assert said in gone.err
        assert verify(problem, read_plan(gone.out.encode(), problem)) == []
    # Each member reads the problem: the time that is needed grows with it.
    large = tmp_path / "large.csv"
    assert cli("generate", "random", "--n", "12000", "--output", large).code == 0
    alone = cli("solve", large, "--time-limit", "4", "--workers", "1", "--scheduler", "tcp://127.0.0.1:1")
    assert (alone.code, "is too short for it" in alone.err) == (0, True)


def test_what_no_team_can_do_is_refused(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "easy.json"
    file.write_text(json.dumps(hard(3)))
    there = ("--scheduler", "tcp://127.0.0.1:1")
    for arguments, said in (
        ((*there, "--deterministic"), "depends on time"),
        ((*there, "--lock", tmp_path / "it.lock"), "depends on time"),
        ((*there, "--server", "http://localhost:1"), "each says who solves"),
        (("--members", "2"), "add --scheduler"),
        (("--scheduler", "nowhere"), "expected an address"),
    ):
        refused = cli("solve", file, *arguments)
        assert (refused.code, said in refused.err) == (2, True), refused.err
    problem = read_problem(file.read_bytes())
    with pytest.raises(InputError, match="deterministic"):
        plan_on_cluster(problem, Options(deterministic=True), scheduler="tcp://127.0.0.1:1")
    with pytest.raises(InputError, match="members"):
        plan_on_cluster(problem, scheduler="tcp://127.0.0.1:1", members=65)
    easy = plan_on_cluster(problem, scheduler="tcp://127.0.0.1:1")
    assert easy.status is Status.OPTIMAL, "no worker is needed"


@pytest.mark.campaign
def test_a_job_of_the_service_has_members(server: Server, farm: Farm) -> None:
    ready(farm)
    with start(server, farm, fast_seconds=0) as client:
        refused = client.post("/v1/jobs", json={"problem": HARD, "members": 5})
        assert (refused.status_code, "max_members" in refused.text) == (422, True)
        steady = {"problem": HARD, "members": 2, "options": {"deterministic": True}}
        assert "deterministic_team" in client.post("/v1/jobs", json=steady).text
        body = {"problem": HARD, "members": 2, "options": {"time_limit": LONG, "workers": 1}}
        job = client.post("/v1/jobs", json=body).json()["id"]
        wait_for(lambda: len(solving(farm)) == 2, "both workers to solve")
        wait_for(lambda: has_plan(client, job), "a first plan")
        assert job_of(client, job)["state"] == "running"
        client.delete(f"/v1/jobs/{job}")
        assert over(client, job)["state"] == "cancelled"
        wait_for(lambda: not solving(farm), "both children to end")
        problem = read_problem(json.dumps(HARD).encode())
        plan = client.get(f"/v1/jobs/{job}/plan")
        assert verify(problem, read_plan(plan.content, problem)) == []
        assert submit(client, hard(3))
