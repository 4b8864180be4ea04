"""Whatever a solver does, its run has a record in time, the next one is not touched, and nothing is left."""

import os
import signal
import sys
import threading
from base64 import b64decode
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

import memstow
from memstow.planner.bench.executors import LostError, StoppedError, Supervisors
from memstow.planner.bench.record import Ending, JudgeResult, Record, TermValue
from memstow.planner.formats import read_problem
from memstow.planner.generate.planted import planted as make_planted
from memstow.planner.model.digest import digest
from memstow.planner.model.problem import Pool, Problem
from memstow.planner.processes.process import Process
from tests.planner.bench.requests import (
    SIDE_BY_SIDE,
    THREE,
    given,
    planted,
    program,
    record_of,
    recorded,
    solver,
    task,
    timeless,
)
from tests.planner.verify.test_windows import ABOVE_LIVE, problem_of
from tests.plugins import PROVING, plugins_in
from tests.processes import wait_ended, wait_gone
from tests.waiting import PATIENCE, wait_for

HOLDING = "{input} {output} {capacity}"


def test_a_run_is_recorded_with_all_there_is_to_know(supervisors: Supervisors) -> None:
    record = record_of(supervisors, planted(60), solver("auto", deterministic=False))
    assert (record.status, record.peak, record.bound, record.gap) == (Ending.OPTIMAL, 1 << 20, 1 << 20, 0.0)
    assert record.objective[0].term == "peak"
    assert record.instance.digest == digest(make_planted(60, 1))
    assert record.instance.features["buffers"] == 60
    assert record.max_live == 1 << 20
    assert record.judged is not None
    assert record.judged.valid
    assert record.plan is not None
    assert len(record.plan.offset) == 60
    assert record.events[-1].incumbent == 1 << 20
    assert record.seconds > 0
    assert record.cpu_seconds > 0
    assert record.peak_memory > 5 << 20
    assert record.work["steps"] > 0


def test_a_deterministic_run_has_the_same_record_whoever_ran_before(supervisors: Supervisors) -> None:
    request = [task(planted(40 + n), solver(name), 1) for n in range(3) for name in ("greedy", "exact")]
    one = [timeless(recorded(supervisors.perform(each))) for each in request]
    other = [timeless(recorded(supervisors.perform(each))) for each in reversed(request)]
    assert one == other[::-1]


def test_a_model_is_killed_with_the_run_that_started_it(supervisors: Supervisors) -> None:
    pytest.importorskip("ortools")
    record = record_of(supervisors, planted(300), solver("cpsat", deterministic=False, time_limit=1.0))
    assert record.status in (Ending.FEASIBLE, Ending.OPTIMAL)
    assert "ortools" in record.solver.version


def test_what_is_no_problem_has_no_record(supervisors: Supervisors) -> None:
    result = supervisors.perform(task(given(b"id,lower\n"), solver("greedy")))
    assert result.line is None
    assert "missing_column" in (result.unreadable or "")


def test_a_solver_that_declines_says_what(supervisors: Supervisors) -> None:
    two = b'{"version": 1, "buffers": [], "pools": [{"id": "a"}, {"id": "b"}]}'
    record = record_of(supervisors, given(two), solver("exact"))
    assert record.status is Ending.DECLINED
    assert "several pools" in (record.error or "")


def test_what_does_not_fit_is_proven(supervisors: Supervisors) -> None:
    record = record_of(supervisors, given(), solver("exact", capacity=140))
    assert (record.status, record.capacity, record.peak, record.plan) == (Ending.INFEASIBLE, 140, None, None)
    assert record.judged is not None
    assert record.judged.valid


def test_an_outside_program_is_judged_and_measured(supervisors: Supervisors, tmp_path: Path) -> None:
    record = record_of(supervisors, given(), program(tmp_path, f"{SIDE_BY_SIDE}\nprint('took 12.5 ms')"))
    assert (record.status, record.peak, record.bound, record.gap) == (Ending.FEASIBLE, 250, None, None)
    assert record.solver.external
    assert record.solver.version.startswith("sha256:")
    command = record.solver.options["command"]
    assert isinstance(command, list)
    assert command[-2:] == ["{input}", "{output}"]
    assert [event.incumbent for event in record.events] == [250]
    assert record.reported_seconds == 0.0125
    assert record.cpu_seconds > 0
    assert record.peak_memory > 1 << 20
    assert record.judged is not None
    assert record.judged.valid


def test_an_outside_program_may_speak_json_and_standard_output(
    supervisors: Supervisors, tmp_path: Path
) -> None:
    body = """
    import json, sys
    problem = json.load(open(sys.argv[1]))
    capacity, seconds = int(sys.argv[2]), float(sys.argv[3])
    ids = [buffer["id"] for buffer in problem["buffers"]]
    places = [{"buffer": name, "pool": "memory", "offset": i * 100} for i, name in enumerate(ids)]
    assert (capacity, seconds) == (250, 60.0)
    json.dump({"status": "feasible", "placements": places, "seconds": 0.25}, sys.stdout)
    """
    record = record_of(supervisors, given(), program(tmp_path, body, "{input.json} {capacity} {seconds}"))
    assert (record.status, record.peak, record.error) == (Ending.FEASIBLE, 300, None)
    assert record.reported_seconds == 0.25


@pytest.mark.parametrize(
    ("body", "ending", "said"),
    [
        ("open(sys.argv[2], 'w').write('id,offset\\na,0\\nb,0\\nc,0\\n')", Ending.INVALID, ""),
        ("open(sys.argv[2], 'w').write('garbage' * 100)", Ending.ERROR, "is not a plan"),
        ("open(sys.argv[2], 'wb').write(bytes(range(256)))", Ending.ERROR, "is not a plan"),
        ("open(sys.argv[2], 'wb').truncate(300 << 20)", Ending.ERROR, "is not a plan"),
        ("pass", Ending.UNKNOWN, "no plan"),
        ("import shutil; shutil.rmtree(os.path.dirname(sys.argv[1]))", Ending.UNKNOWN, "no plan"),
        ("open(sys.argv[2], 'w').write('{\"status\": \"unknown\"}')", Ending.UNKNOWN, "it found no plan"),
        ("open(sys.argv[2], 'w').write('{\"status\": \"infeasible\"}')", Ending.UNKNOWN, "not checked"),
        ("open(sys.argv[2], 'wb').truncate(2 << 30); time.sleep(600)", Ending.ERROR, "File too large"),
        ("sys.exit('it is too hard')", Ending.ERROR, "ended with status 1: it is too hard"),
        ("os.kill(os.getpid(), 11)", Ending.ERROR, "killed by signal 11"),
        ("os.kill(os.getppid(), 9)", Ending.KILLED, "killed by signal 9"),
        ("time.sleep(600)", Ending.KILLED, "out of time"),
        ("held = b'x' * (1 << 30); time.sleep(600)", Ending.KILLED, "MiB of memory"),
        (
            "print('noise' * 1_000_000); sys.stderr.write('more' * 1_000_000); sys.exit(3)",
            Ending.ERROR,
            "more",
        ),
    ],
)
def test_an_outside_program_that_fails_is_told_of(
    supervisors: Supervisors, tmp_path: Path, body: str, ending: Ending, said: str
) -> None:
    limit = 1.0 if ending is Ending.KILLED and said == "out of time" else PATIENCE
    sample = program(tmp_path, f"import os, sys, time\n{body}", time_limit=limit, memory=500 << 20)
    record = record_of(supervisors, given(), sample)
    assert record.status is ending, record.error
    assert said in (record.error or "")
    assert record.plan is None
    assert record.instance.digest == digest(read_problem(THREE))
    assert record_of(supervisors, given(), solver("greedy")).status is Ending.OPTIMAL, (
        "the next run is not touched"
    )


def test_a_plan_that_breaks_a_constraint_is_told_in_codes(supervisors: Supervisors, tmp_path: Path) -> None:
    record = record_of(supervisors, given(), program(tmp_path, SIDE_BY_SIDE, HOLDING, capacity=200))
    assert record.status is Ending.INVALID
    assert record.judged is not None
    assert record.judged.violations == ("beyond_capacity",)
    assert record.peak is None


def test_a_program_is_told_of_a_capacity_or_declines(supervisors: Supervisors, tmp_path: Path) -> None:
    sample = program(tmp_path, SIDE_BY_SIDE, HOLDING, capacity=300, fit_only=True)
    assert record_of(supervisors, given(), sample).status is Ending.FEASIBLE
    untold = program(tmp_path, SIDE_BY_SIDE, capacity=300)
    assert record_of(supervisors, given(), untold).status is Ending.DECLINED


def test_a_program_cannot_be_asked_what_csv_cannot_say(supervisors: Supervisors, tmp_path: Path) -> None:
    two = b'{"version": 1, "buffers": [], "pools": [{"id": "a"}, {"id": "b"}]}'
    record = record_of(supervisors, given(two), program(tmp_path, "raise SystemExit(1)"))
    assert record.status is Ending.DECLINED


def test_a_program_that_is_not_there_is_an_error(supervisors: Supervisors, tmp_path: Path) -> None:
    changed = replace(program(tmp_path, ""), command=("/no/such/program", "{input}"))
    record = record_of(supervisors, given(), changed)
    assert record.status is Ending.ERROR
    assert "cannot be started" in (record.error or "")


def test_a_folder_that_is_not_there_is_named(supervisors: Supervisors, tmp_path: Path) -> None:
    changed = replace(program(tmp_path, SIDE_BY_SIDE), folder=str(tmp_path / "elsewhere"))
    record = record_of(supervisors, given(), changed)
    assert record.status is Ending.ERROR
    assert f"cannot be started: {tmp_path / 'elsewhere'}: No such file" in (record.error or "")


@pytest.mark.parametrize("ends", [True, False])
def test_nothing_is_left_of_a_program_that_hides_what_it_starts(
    supervisors: Supervisors, tmp_path: Path, ends: bool
) -> None:
    body = f"""
    import os, sys, time
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            open({str(tmp_path / "hidden")!r}, "w").write(str(os.getpid()))
            time.sleep(600)
        os._exit(0)
    while not os.path.exists({str(tmp_path / "hidden")!r}) or not open({str(tmp_path / "hidden")!r}).read():
        time.sleep(0.01)
    {"" if ends else "held = b'x' * (600 << 20); time.sleep(600)"}
    """
    sample = program(tmp_path, body, time_limit=PATIENCE, memory=300 << 20)
    record = record_of(supervisors, given(), sample)
    assert record.status is (Ending.UNKNOWN if ends else Ending.KILLED)
    wait_ended(int((tmp_path / "hidden").read_text()))


def test_a_supervisor_that_is_killed_is_replaced(supervisors: Supervisors) -> None:
    record_of(supervisors, given(), solver("greedy"))
    (supervisor,) = supervisors._idle
    os.kill(supervisor.id, signal.SIGKILL)
    record = record_of(supervisors, given(), solver("greedy"))
    assert record.status is Ending.OPTIMAL
    wait_gone(supervisor.id)


def test_a_run_whose_supervisors_all_end_is_lost(
    supervisors: Supervisors, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> Process:
        return Process(["/bin/false", "{events}"])

    monkeypatch.setattr(supervisors, "_take", broken)
    with pytest.raises(LostError, match="ended with status 1"):
        supervisors.perform(task(given(), solver("greedy")))


def test_what_runs_is_called_off_at_once(supervisors: Supervisors, tmp_path: Path) -> None:
    started = tmp_path / "started"
    sample = program(
        tmp_path,
        f"import os, time\nopen({str(started)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)",
        time_limit=600.0,
    )
    errors: list[BaseException] = []
    records: list[Record] = []

    def run() -> None:
        try:
            records.append(record_of(supervisors, given(), sample))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    wait_for(lambda: started.exists() and started.read_text(), "the program to start")
    supervisors.stop()
    thread.join(PATIENCE)
    assert [type(error) for error in errors] == [StoppedError]
    assert records == []
    wait_ended(int(started.read_text()))


def test_bytes_of_any_kind_travel(supervisors: Supervisors) -> None:
    odd = THREE.replace(b"a,", "ä\u2028,".encode())
    record = record_of(supervisors, given(odd), solver("greedy"))
    assert record.status is Ending.OPTIMAL


def test_a_run_that_ends_its_process_costs_no_other(supervisors: Supervisors, tmp_path: Path) -> None:
    deadly = program(tmp_path, "import os, time\nos.kill(os.getppid(), 9); time.sleep(600)")
    request = [solver("greedy"), solver("exact"), deadly, solver("auto"), solver("exact")]
    tasks = [task(given(), one, seed) for seed, one in enumerate(request)]
    records: list[Record] = []
    while len(records) < len(tasks):
        records += map(recorded, supervisors.perform_some(tasks[len(records) :]))
    assert [record.seed for record in records] == [0, 1, 2, 3, 4]
    endings = [Ending.OPTIMAL] * 2 + [Ending.KILLED] + [Ending.OPTIMAL] * 2
    assert [record.status for record in records] == endings
    assert records[2].instance.digest == records[0].instance.digest
    assert all(record.cpu_seconds >= 0 for record in records)


def test_runs_in_one_process_have_the_limits_of_each(supervisors: Supervisors, tmp_path: Path) -> None:
    holding = program(tmp_path, "held = b'x' * (600 << 20); import time; time.sleep(600)", memory=300 << 20)
    tasks = [task(given(), solver("greedy")), task(given(), holding), task(given(), solver("greedy"), 1)]
    records: list[Record] = []
    while len(records) < len(tasks):
        records += map(recorded, supervisors.perform_some(tasks[len(records) :]))
    assert [record.status for record in records] == [Ending.OPTIMAL, Ending.KILLED, Ending.OPTIMAL]
    assert "300 are allowed" in (records[1].error or "")


def test_of_several_tasks_as_many_are_done_as_fit_into_a_moment(
    supervisors: Supervisors, tmp_path: Path
) -> None:
    record_of(supervisors, given(), solver("greedy"))
    quick = [task(given(), solver("first-fit"), seed) for seed in range(3)]
    done = [recorded(result).seed for result in supervisors.perform_some(quick)]
    assert done == [0, 1, 2][: len(done)]
    assert done
    sleeping = program(tmp_path, "import time; time.sleep(0.6)")
    slow = [task(given(), sleeping, seed) for seed in range(3)]
    (first,) = supervisors.perform_some(slow)
    assert recorded(first).status is Ending.UNKNOWN
    assert first.seconds > 0.6


def test_a_place_for_everything_is_a_plan_whatever_it_is_called(
    supervisors: Supervisors, tmp_path: Path
) -> None:
    places = [
        {"buffer": name, "pool": "memory", "offset": at} for name, at in (("a", 0), ("b", 100), ("c", 0))
    ]
    said = {"status": "unknown", "placements": places}
    sample = program(tmp_path, f"import json; print(json.dumps({said!r}))", "{input}")
    record = record_of(supervisors, given(), sample)
    assert (record.status, record.peak) == (Ending.FEASIBLE, 150)


PROVER = """
import sys
sys.path[:0] = {path!r}
from pathlib import Path
import memstow
source, output, proof = map(Path, sys.argv[1:])
problem = memstow.read_problem(source.read_bytes(), "json")
plan = memstow.plan(problem)
output.write_bytes(memstow.write_plan(problem, plan))
memstow.prove({about}, plan, proof)
{then}
"""
"""An outside program that writes a proof."""


def proven_by_program(supervisors: Supervisors, tmp_path: Path, problem: Problem, **words: str) -> Record:
    """The record of a run on a problem, of a program with a proof."""
    about = words.get("about", "source.read_bytes()")
    body = PROVER.format(path=sys.path, about=about, then=words.get("then", ""))
    places = words.get("places", "{input.json} {output.json} {proof}")
    changed = replace(program(tmp_path, body, places), repeat_seconds=float(words.get("repeat", "0")))
    command = (changed.command or ())[2:]  # with the libraries of this Python
    changed = replace(changed, command=(sys.executable, *command))
    return record_of(supervisors, given(memstow.write_problem(problem, "json"), "above"), changed)


def test_a_proof_of_a_program_counts_where_the_checker_accepts_it(
    supervisors: Supervisors, tmp_path: Path
) -> None:
    problem = problem_of(ABOVE_LIVE)
    for repeat in ("0", "1000"):
        record = proven_by_program(supervisors, tmp_path, problem, repeat=repeat)
        assert (record.status, record.error) == (Ending.OPTIMAL, None)
        assert record.judged == JudgeResult(True, checked="proof")
        assert (record.objective, record.bound, record.gap) == ((TermValue("peak", 16, 16),), 16, 0.0)
        assert record.proof is not None
        proof = b64decode(record.proof)
        assert proof[16:48] == sha256(memstow.write_problem(problem, "json")).digest()


def test_a_program_may_prove_that_nothing_fits(supervisors: Supervisors, tmp_path: Path) -> None:
    problem = replace(problem_of(ABOVE_LIVE), pools=(Pool(id="memory", capacity=15),))
    record = proven_by_program(supervisors, tmp_path, problem)
    assert (record.status, record.judged) == (Ending.INFEASIBLE, JudgeResult(True, checked="proof"))
    record = proven_by_program(supervisors, tmp_path, problem, then="proof.unlink()")
    assert (record.status, record.judged) == (Ending.UNKNOWN, None)
    assert record.error == "it says that nothing fits, which is not checked: it has no proof"
    record = proven_by_program(supervisors, tmp_path, problem, then="proof.write_bytes(b'')")
    assert (record.status, record.judged, record.proof) == (Ending.UNKNOWN, None, None)
    assert "its proof does not count" in str(record.error)


@pytest.mark.parametrize(
    "words",
    [
        {"about": "memstow.write_problem(problem, 'json') + b' '"},
        {"then": "proof.write_bytes(proof.read_bytes()[:-1])"},
        {"then": "proof.write_bytes(b'')"},
    ],
)
def test_a_wrong_or_foreign_proof_of_a_program_is_told(
    supervisors: Supervisors, tmp_path: Path, words: dict[str, str]
) -> None:
    record = proven_by_program(supervisors, tmp_path, problem_of(ABOVE_LIVE), **words)
    assert (record.status, record.peak, record.bound, record.proof) == (Ending.FEASIBLE, 16, None, None)
    assert record.judged == JudgeResult(True)
    assert str(record.error).startswith("its proof does not count: ")


@pytest.mark.parametrize("then", ["", "; proof.mkdir()", "; import os; os.mkfifo(proof)"])
def test_what_is_no_file_is_no_proof(supervisors: Supervisors, tmp_path: Path, then: str) -> None:
    record = proven_by_program(supervisors, tmp_path, problem_of(ABOVE_LIVE), then=f"proof.unlink(){then}")
    assert (record.status, record.error) == (Ending.FEASIBLE, None)


def test_a_proof_of_a_plug_in_is_checked_and_kept(
    supervisors: Supervisors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugins = plugins_in(tmp_path / "plugins", monkeypatch)
    body = "plan, proof = proven(search, problem)\nsearch.offer(plan, proof)"
    plugins.solver("prover", body, before=PROVING)
    plugins.solver("liar", body.replace("plan, proof)", "plan, proof[:-1])"), before=PROVING)
    source = given(memstow.write_problem(problem_of(ABOVE_LIVE), "json"), "above")
    record = record_of(supervisors, source, solver("prover", deterministic=False))
    assert (record.status, record.bound) == (Ending.OPTIMAL, 16)
    assert record.judged == JudgeResult(True, checked="proof")
    assert record.proof is not None
    record = record_of(supervisors, source, solver("liar", deterministic=False))
    assert (record.status, record.bound, record.proof) == (Ending.FEASIBLE, 15, None)
    assert "liar has a proof that does not count: " in str(record.error)
