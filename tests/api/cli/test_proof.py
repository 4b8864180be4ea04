"""`--proof`, `--opb` and `--pbp` of `solve`, and `verify --proof`: what is written, checked and refused."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import pytest

import memstow
from memstow.api.cli.terminal import Exit
from memstow.planner.model.plan import Plan
from memstow.solvers.core import Budget
from tests.api.cli.conftest import Cli
from tests.api.cli.fakes import FakeEngine
from tests.checker.checkers import VERIFIED, WEAKER, dense_costs, document_of, second
from tests.checker.pseudo_boolean import accepts
from tests.checker.test_resume import dense
from tests.planner.verify.test_windows import ABOVE_LIVE, problem_of
from tests.plugins import PROVING, plugins_in
from tests.waiting import PATIENCE, wait_for


def written(folder: Path) -> tuple[bytes, bytes, bytes]:
    return (
        (folder / "three.json").read_bytes(),
        (folder / "plan.json").read_bytes(),
        (folder / "plan.proof").read_bytes(),
    )


def solve_and_prove(cli: Cli, problem: Path, *more: str) -> tuple[int, str, str]:
    folder = problem.parent
    names = ("--output", folder / "plan.json", "--proof", folder / "plan.proof")
    ran = cli("solve", problem, *names, *more)
    return ran.code, ran.out, ran.err


def test_the_proof_is_of_the_plan(cli: Cli, three: Path, tmp_path: Path) -> None:
    code, out, err = solve_and_prove(cli, three)
    assert (code, err) == (Exit.DONE, "")
    assert "plan.proof proves that no plan has a peak below 150 (1 step, " in out
    verdict = second(written(tmp_path), tmp_path)
    assert (verdict.code, verdict.words) == (VERIFIED, "verified: peak 150 is least")
    assert not list(tmp_path.glob("*.unfinished"))


@pytest.mark.parametrize("more", [("--quiet",), ("--deterministic",), ("--solver", "greedy")])
def test_other_options_change_nothing_of_it(
    cli: Cli, three: Path, tmp_path: Path, more: tuple[str, ...]
) -> None:
    code, out, _ = solve_and_prove(cli, three, *more)
    assert code == Exit.DONE
    assert ("proves" in out) == ("--quiet" not in more)
    assert second(written(tmp_path), tmp_path).code == VERIFIED


def test_the_plan_of_a_lock_is_proven_as_well(cli: Cli, three: Path, tmp_path: Path) -> None:
    lock = ("--lock", str(tmp_path / "plan.lock"))
    for _ in range(2):
        assert solve_and_prove(cli, three, *lock)[0] == Exit.DONE
        assert second(written(tmp_path), tmp_path).code == VERIFIED
        os.remove(tmp_path / "plan.proof")


def test_a_lock_names_the_same_proof_of_a_reuse_cost_with_and_without_its_run(
    cli: Cli, three: Path, tmp_path: Path
) -> None:
    three.write_bytes(document_of(dense_costs(Random(2), 26)))
    lock, proof, proofs = tmp_path / "plan.lock", tmp_path / "plan.proof", list[bytes]()
    limit = ("--work-limit", "12000000")
    for more in (("--deterministic",), ("--lock", str(lock)), ("--lock", str(lock), "--locked")):
        assert solve_and_prove(cli, three, *limit, *more)[0] == Exit.DONE
        proofs.append(proof.read_bytes())
        proof.unlink()
    assert len(set(proofs)) == 1
    (claimed, *_) = json.loads((tmp_path / "plan.json").read_bytes())["objective"]
    assert claimed["certificate"] == {"kind": "model", "solver": "reuse"}
    # The plan of an older lock, to begin from, is no part of the proof of the next one.
    older = json.loads(lock.read_bytes())
    older["problem"] = older["problem"][::-1]
    lock.write_text(json.dumps(older))
    again = list[bytes]()
    for locked in ([], ["--locked"]):
        assert solve_and_prove(cli, three, *limit, "--lock", str(lock), *locked)[0] == Exit.DONE
        again.append(proof.read_bytes())
    assert again[0] == again[1]
    least = f"none is below {claimed['bound']}"
    for data in (proofs[0], again[0]):
        proof.write_bytes(data)
        assert least in second(written(tmp_path), tmp_path).words


def test_the_proof_that_a_lock_names_is_not_sought_again_where_it_is(
    cli: Cli, three: Path, tmp_path: Path
) -> None:
    lock, proof = tmp_path / "plan.lock", tmp_path / "plan.proof"
    assert solve_and_prove(cli, three, "--lock", str(lock))[0] == Exit.DONE
    data, file = proof.read_bytes(), proof.stat().st_ino
    os.link(proof, tmp_path / "same")  # else another file could have its number
    for locked in ([], ["--locked"]):
        code, out, _ = solve_and_prove(cli, three, "--lock", str(lock), *locked)
        assert (code, "plan.proof proves that no plan has a peak below" in out) == (Exit.DONE, True)
        assert proof.stat().st_ino == file
    proof.write_bytes(data[:-1])
    assert solve_and_prove(cli, three, "--lock", str(lock), "--locked")[0] == Exit.DONE
    assert (proof.read_bytes(), proof.stat().st_ino != file) == (data, True)
    # What is wrong is no proof, though a lock names it.
    wrong = data[:-2] + bytes([data[-2], data[-1] + 1])
    proof.write_bytes(wrong)
    lock.write_text(lock.read_text().replace(sha256(data).hexdigest(), sha256(wrong).hexdigest()))
    code, _, err = solve_and_prove(cli, three, "--lock", str(lock), "--locked")
    assert (code, "the lock names another proof" in err) == (Exit.USAGE, True)
    assert solve_and_prove(cli, three, "--lock", str(lock))[0] == Exit.DONE
    assert proof.read_bytes() == data


def test_a_proof_that_shows_as_much_is_kept(
    cli: Cli, three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proof = tmp_path / "plan.proof"
    solve_and_prove(cli, three)
    data, file = proof.read_bytes(), proof.stat().st_ino
    os.link(proof, tmp_path / "same")  # else another file could have its number

    def nothing(*_: object) -> None:
        raise AssertionError("nothing has to be proven")

    with monkeypatch.context() as patch:
        patch.setattr("memstow.planner.proofs.resume.prove_within", nothing)
        code, out, _ = solve_and_prove(cli, three)
    assert (code, "plan.proof proves that no plan has a peak below 150 (" in out) == (Exit.DONE, True)
    assert (proof.read_bytes(), proof.stat().st_ino) == (data, file)
    assert sha256(data).hexdigest() in (tmp_path / "plan.json").read_text()
    # A deterministic run writes what it has shown itself.
    assert solve_and_prove(cli, three, "--deterministic")[0] == Exit.DONE
    assert proof.stat().st_ino != file
    # What is about another problem, or wrong, is replaced.
    for other in (data[:20] + b"?" + data[21:], data[:-1], b"something else", b""):
        proof.write_bytes(other)
        assert solve_and_prove(cli, three)[0] == Exit.DONE
        assert second(written(tmp_path), tmp_path).code == VERIFIED


@pytest.mark.parametrize("shows_less", [False, True])
def test_a_proof_is_not_replaced_by_one_of_less(
    cli: Cli, three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shows_less: bool
) -> None:
    proof, weaker = tmp_path / "plan.proof", tmp_path / "weaker.proof"
    solve_and_prove(cli, three)
    data = proof.read_bytes()
    problem = memstow.read_problem(three.read_bytes())
    plan = memstow.read_plan((tmp_path / "plan.json").read_bytes(), problem)
    value = replace(plan.objective[0], bound=140, certificate=None)
    less = replace(plan, status=memstow.Status.FEASIBLE, objective=(value,))
    shown = memstow.prove(three.read_bytes(), less, weaker)
    assert shown is not None
    assert shown.bound == 140

    def prove(_document: object, _plan: object, _data: object, path: str, *_: object) -> object:
        if shows_less:
            Path(path).write_bytes(weaker.read_bytes())
        return shown if shows_less else None

    monkeypatch.setattr("memstow.planner.proofs.resume.Earlier.suffices", lambda *_: False)
    monkeypatch.setattr("memstow.planner.proofs.resume.prove_within", prove)
    code, out, _ = solve_and_prove(cli, three)
    assert (code, "plan.proof proves that no plan has a peak below 150 (" in out) == (Exit.DONE, True)
    assert proof.read_bytes() == data
    proof.write_bytes(weaker.read_bytes())
    monkeypatch.undo()
    solve_and_prove(cli, three)
    assert proof.read_bytes() == data, "one of more takes its place"


def test_a_search_that_a_limit_ends_goes_on_with_the_next_command(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, _ = dense(140, "ties")
    file, left, runs = tmp_path / "three.json", 0, 0
    file.write_bytes(memstow.write_problem(problem))
    # Steps instead of seconds, more for each run.
    monkeypatch.setattr("memstow.solvers.core.Budget", lambda *_: Budget(-1.0, 400_000 * (runs + 1)))
    while True:
        code, out, err = solve_and_prove(cli, file)
        runs += 1
        assert code == Exit.DONE
        lemmas = re.search(r"the same command goes on from what is in it \((.*) lemmas\)", err)
        if lemmas is None:
            break
        assert "plan.proof proves only that no plan has a peak below" in err
        assert int(lemmas[1].replace(",", "")) > left
        left = int(lemmas[1].replace(",", ""))
    assert (runs > 1, "plan.proof proves that no plan has a peak below 185 (" in out) == (True, True)
    assert second(written(tmp_path), tmp_path).words == "verified: peak 185 is least"


def test_what_there_is_no_time_to_check_stays(
    cli: Cli, three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proof = tmp_path / "plan.proof"
    monkeypatch.setattr("memstow.planner.proofs.resume._CHECKED_IN_A_SECOND", 0)
    monkeypatch.setattr("memstow.planner.proofs.resume._CHECKED_AT_ONCE", 0)
    solve_and_prove(cli, three)
    data = proof.read_bytes()
    # What shows all takes the place of anything, what shows nothing of nothing that may be about the problem.
    for there, shows, stays in (
        (data[:-1] + b"?", True, False),
        (data[:-1] + b"?", False, True),
        (b"memstow proof 1\n" + bytes(32), False, False),
    ):
        proof.write_bytes(there)
        with monkeypatch.context() as patch:
            if not shows:
                patch.setattr("memstow.planner.proofs.resume.prove_within", lambda *_: None)
            code, _, err = solve_and_prove(cli, three)
        assert code == Exit.DONE
        assert (proof.read_bytes() == there) == (stays or not shows)
        assert ("stays as it is: to go on from it takes a longer time limit" in err) == stays


def test_a_lock_that_names_another_proof_does_not_hold(cli: Cli, three: Path, tmp_path: Path) -> None:
    lock, plan, proof = (tmp_path / name for name in ("plan.lock", "plan.json", "plan.proof"))
    assert solve_and_prove(cli, three, "--lock", str(lock))[0] == Exit.DONE
    assert solve_and_prove(cli, three, "--lock", str(lock), "--locked")[0] == Exit.DONE
    (digest,) = set(re.findall(r'"proof_sha256": "(\w+)"', lock.read_text() + plan.read_text()))
    lock.write_text(lock.read_text().replace(digest, "0" * 64))
    for path in (plan, proof):
        path.write_bytes(b"as it was")
    code, out, err = solve_and_prove(cli, three, "--lock", str(lock), "--locked")
    assert (code, out, "the lock names another proof" in err) == (Exit.USAGE, "", True)
    assert plan.read_bytes() == proof.read_bytes() == b"as it was"
    # The command that the message names mends it; and a lock without a proof holds beside any.
    assert solve_and_prove(cli, three, "--lock", str(lock))[0] == Exit.DONE
    assert digest in lock.read_text()
    locked = json.loads(lock.read_text())
    del locked["plan"]["proof_sha256"]
    lock.write_text(json.dumps(locked))
    assert solve_and_prove(cli, three, "--lock", str(lock), "--locked")[0] == Exit.DONE
    assert not list(tmp_path.glob(".*"))


def test_that_nothing_fits_is_proven(cli: Cli, three: Path, tmp_path: Path) -> None:
    problem = json.loads(three.read_bytes()) | {"pools": [{"id": "memory", "capacity": 149}]}
    three.write_text(json.dumps(problem))
    code, out, _ = solve_and_prove(cli, three)
    assert code == Exit.INFEASIBLE
    assert "plan.proof proves that nothing fits" in out
    assert second(written(tmp_path), tmp_path).words == "verified: no layout fits into 149 bytes"


def test_a_pair_in_place_that_cannot_tie_is_proven(cli: Cli, three: Path, tmp_path: Path) -> None:
    # `b` may share bytes with `a` at 2 alone, where `d` is in its way.
    problem = {
        "version": 1,
        "buffers": [
            {"id": "a", "size": 4, "lifetime": [0, 1], "pool": "memory", "offset": 2},
            {"id": "b", "size": 4, "lifetime": [0, 2]},
            {"id": "d", "size": 1, "lifetime": [1, 2], "pool": "memory", "offset": 5},
        ],
        "in_place": [{"input": "a", "output": "b"}],
    }
    three.write_text(json.dumps(problem))
    code, out, _ = solve_and_prove(cli, three)
    assert (code, "plan.proof proves" in out) == (Exit.DONE, True)
    assert second(written(tmp_path), tmp_path).words == "verified: peak 10 is least"


@pytest.mark.parametrize(("received", "why"), [(b"", "does not accept what the service sent"), (None, "")])
def test_what_a_service_sends_is_checked(
    cli: Cli, three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, received: bytes | None, why: str
) -> None:
    from memstow.api.client import runs

    def solved(*arguments: Any) -> Plan:
        *_, on_proof = arguments
        on_proof(received)
        return memstow.plan(memstow.read_problem(three.read_bytes(), "json"))

    monkeypatch.setattr(runs, "solve", solved)
    (tmp_path / "plan.proof").write_bytes(b"an older one")
    code, out, err = solve_and_prove(cli, three, "--server", "http://localhost:1")
    assert (code, "proves" in out) == (Exit.DONE if received is None else Exit.USAGE, False)
    assert (why or "plan.proof is not written: nothing could be proven") in err
    assert (tmp_path / "plan.proof").read_bytes() == b"an older one"
    assert not list(tmp_path.glob("*.unfinished"))


@pytest.mark.parametrize("late", [False, True])
def test_the_check_of_what_a_service_sends_ends_with_the_time_limit(
    cli: Cli, three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    from memstow.api.client import runs
    from memstow.planner.proofs import check

    assert solve_and_prove(cli, three)[0] == Exit.DONE
    proof = (tmp_path / "plan.proof").read_bytes()
    os.remove(tmp_path / "plan.proof")

    def solved(*arguments: Any) -> Plan:
        *_, on_proof = arguments
        on_proof(proof)
        return memstow.plan(memstow.read_problem(three.read_bytes(), "json"))

    monkeypatch.setattr(runs, "solve", solved)
    monkeypatch.setattr(check, "_LEAST_SECONDS", -1.0 if late else PATIENCE)
    limit = ("--time-limit", "1ms")  # It is over when the proof comes.
    code, out, err = solve_and_prove(cli, three, *limit, "--server", "http://localhost:1")
    assert (code, "proves that no plan" in out) == (Exit.DONE, not late)
    assert (tmp_path / "plan.proof").exists() == (not late)
    assert ("plan.proof is not written: it was not checked before the time limit" in err) == late
    assert ("proof_sha256" in (tmp_path / "plan.json").read_text()) == (not late)
    assert not list(tmp_path.glob(".*"))


def test_a_plan_of_a_service_that_is_wrong_is_refused(
    cli: Cli, three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memstow.api.client import runs

    plan = memstow.plan(memstow.read_problem(three.read_bytes(), "json"))
    wrong = replace(plan, placements=tuple(replace(place, offset=0) for place in plan.placements))
    monkeypatch.setattr(runs, "solve", lambda *_: wrong)
    ran = cli("solve", three, "--server", "http://localhost:1", "--output", tmp_path / "plan.json")
    assert (ran.code, "the service sent a plan that is not valid" in ran.err) == (Exit.USAGE, True)
    assert not (tmp_path / "plan.json").exists()


def test_a_plan_of_a_service_names_no_proof_that_is_not_here(
    cli: Cli, three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memstow.api.client import runs

    def solved(*arguments: Any) -> Plan:
        *_, on_proof = arguments
        if on_proof is not None:
            on_proof(None)
        plan = memstow.plan(memstow.read_problem(three.read_bytes(), "json"))
        return replace(plan, proof_sha256="0" * 64)

    monkeypatch.setattr(runs, "solve", solved)
    service = ("--server", "http://localhost:1")
    assert solve_and_prove(cli, three, *service)[0] == Exit.DONE
    assert cli("solve", three, *service, "--output", tmp_path / "alone.json").code == Exit.DONE
    for name in ("plan.json", "alone.json"):
        assert "proof_sha256" not in (tmp_path / name).read_text()


SLOW = """
import os, signal, sys, time
from memstow.api.cli.main import main
from memstow.planner.proofs import prove, resume

def slowly(problem, plan, document, path, budget, *more):
    with prove.draft_of(path) as draft, open(draft, "x"):
        while not budget.spent:
            time.sleep(0.01)
        while diary := os.environ.get("DEAF_DIARY"):
            open(diary, "w").write("cancelled")
            time.sleep(0.01)
    if "--quiet" in sys.argv:
        return prompt(problem, plan, document, path, budget, *more)

prompt = prove.prove_within
prove.prove_within = resume.prove_within = slowly
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which `nohup` ignores
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_the_process_leaves_no_draft(three: Path, tmp_path: Path, number: int) -> None:
    words = ("solve", three, "--time-limit", "600", "--proof", tmp_path / "plan.proof", "--output", "-")
    with subprocess.Popen([sys.executable, "-c", SLOW, *words], stdout=subprocess.DEVNULL) as process:
        wait_for(lambda: list(tmp_path.glob(".*.unfinished")), "a draft")
        process.send_signal(number)
        assert process.wait(PATIENCE) == -number
    assert not list(tmp_path.glob(".*"))


def test_a_second_ctrl_c_leaves_no_draft(three: Path, tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    words = ("solve", three, "--time-limit", "600", "--proof", tmp_path / "plan.proof")
    environment = {**os.environ, "DEAF_DIARY": str(diary)}
    with subprocess.Popen([sys.executable, "-c", SLOW, *words], env=environment) as process:
        wait_for(lambda: list(tmp_path.glob(".*.unfinished")), "a draft")
        process.send_signal(signal.SIGINT)
        wait_for(diary.exists, "the end of the budget")
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == Exit.INTERRUPTED
    assert not list(tmp_path.glob(".*"))


def test_a_proof_has_the_permissions_of_the_one_before(cli: Cli, three: Path, tmp_path: Path) -> None:
    proof = tmp_path / "plan.proof"
    proof.write_bytes(b"")
    proof.chmod(0o640)
    assert solve_and_prove(cli, three)[0] == Exit.DONE
    assert proof.stat().st_size > 0
    assert stat.S_IMODE(proof.stat().st_mode) == 0o640


@pytest.mark.parametrize("proves", [False, True])
def test_ctrl_c_while_a_proof_is_written_keeps_the_plan(three: Path, tmp_path: Path, proves: bool) -> None:
    # Live bytes alone are shown at once, whatever the budget.
    files = ("--proof", tmp_path / "plan.proof", "--output", tmp_path / "plan.json")
    lock = ("--lock", tmp_path / "plan.lock", *(("--quiet",) if proves else ()))
    words = ("solve", three, "--time-limit", "600", *files, *lock)
    with subprocess.Popen([sys.executable, "-c", SLOW, *words], stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: list(tmp_path.glob(".*.unfinished")), "a draft")
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == Exit.INTERRUPTED
        assert process.stderr is not None
        err = process.stderr.read()
    assert "interrupted while a proof was written" in err
    assert ("plan.proof is not written: nothing could be proven before Ctrl-C" in err) == (not proves)
    assert (tmp_path / "plan.proof").exists() == proves
    assert ("proof_sha256" in (tmp_path / "plan.json").read_text()) == proves
    assert json.loads((tmp_path / "plan.json").read_text())["status"] == "optimal"
    # Another run may come further: the lock names no proof.
    assert "proof_sha256" not in (tmp_path / "plan.lock").read_text()
    assert not list(tmp_path.glob(".*"))
    if proves:
        assert second(written(tmp_path), tmp_path).code == VERIFIED


def test_files_of_others_stay(cli: Cli, three: Path, tmp_path: Path) -> None:
    mine = tmp_path / "plan.proof.unfinished"
    mine.write_text("mine")
    (tmp_path / "link.proof").symlink_to(tmp_path / "plan.proof")
    os.mkfifo(tmp_path / "pipe")
    assert cli("solve", three, "--proof", tmp_path / "link.proof").code == Exit.DONE
    assert (tmp_path / "link.proof").is_symlink()
    assert (tmp_path / "plan.proof").read_bytes().startswith(b"memstow proof")
    assert mine.read_text() == "mine"
    ran = cli("solve", three, "--proof", tmp_path / "pipe")
    assert (ran.code, "is none" in ran.err) == (Exit.USAGE, True)
    assert (tmp_path / "pipe").is_fifo()


REFUSED: list[tuple[tuple[str, ...], dict[str, Any], str]] = [
    (("--capacity", "4096"), {}, "just as its file says it"),
    (("--fit-only",), {}, "just as its file says it"),
    (("--target", "stm32h743"), {}, "just as its file says it"),
    (("--output", "plan.json", "--proof", "plan.json"), {}, "cannot be the same file"),
    (
        (),
        {"pools": [{"id": "one"}, {"id": "two"}], "objective": ["moves"]},
        "its objective does not begin with a peak or a cost",
    ),
    ((), {"pools": [{"id": "memory", "banks": [{"size": 64}]}]}, "banks"),
    ((), {"objective": ["moves"]}, "its objective does not begin with the peak or a cost"),
]


@pytest.mark.parametrize(("more", "change", "why"), REFUSED)
def test_what_cannot_be_proven_is_refused_before_the_search(
    cli: Cli,
    three: Path,
    monkeypatch: pytest.MonkeyPatch,
    engine: FakeEngine,
    more: tuple[str, ...],
    change: dict[str, Any],
    why: str,
) -> None:
    engine.answer = None  # type: ignore[assignment]
    monkeypatch.chdir(three.parent)
    three.write_text(json.dumps(json.loads(three.read_bytes()) | change))
    ran = cli("solve", three, "--proof", "plan.proof", *more)
    assert (ran.code, ran.out) == (Exit.USAGE, "")
    assert why in ran.err
    assert not (three.parent / "plan.proof").exists()


def test_it_is_no_text_for_standard_output(cli: Cli, three: Path) -> None:
    ran = cli("solve", three, "--proof", "-")
    assert (ran.code, "a proof is a file of its own; name it" in ran.err) == (Exit.USAGE, True)


def test_the_plan_and_what_is_made_of_it_name_the_proof(cli: Cli, three: Path, tmp_path: Path) -> None:
    lock, header = tmp_path / "plan.lock", tmp_path / "plan.h"
    for _ in range(2):
        solve_and_prove(cli, three, "--lock", str(lock), "--output", str(header))
        digest = sha256((tmp_path / "plan.proof").read_bytes()).hexdigest()
        assert json.loads((tmp_path / "plan.json").read_bytes())["proof_sha256"] == digest
        assert json.loads(lock.read_bytes())["plan"]["proof_sha256"] == digest
        assert f" * Proof {digest}\n" in header.read_text()


def claimed(folder: Path) -> Path:
    """The plan, as if a search had proven it."""
    path = folder / "plan.json"
    plan = json.loads(path.read_bytes())
    certificate = {"kind": "exhausted", "solver": "exact", "refuted": [{"height": 149, "nodes": 7}]}
    plan["objective"][0]["certificate"] = certificate
    path.write_text(json.dumps(plan))
    return path


def test_a_proof_makes_a_claim_of_a_search_checked(cli: Cli, three: Path, tmp_path: Path) -> None:
    solve_and_prove(cli, three)
    plan, proof = claimed(tmp_path), tmp_path / "plan.proof"
    assert cli("verify", three, plan).code == Exit.DONE
    assert cli("verify", three, plan, "--strict").code == Exit.INVALID
    ran = cli("verify", three, plan, "--strict", "--proof", proof)
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert "\n  verified: peak 150 is least\n" in ran.out
    assert "no plan has peak below 150: checked by its proof" in ran.out
    said = json.loads(cli("verify", three, plan, "--proof", proof, "--json").out)
    assert (said["valid"], said["checked"], said["proof"]["verified"]) == (True, True, True)
    assert said["proof"]["sha256"] == sha256(proof.read_bytes()).hexdigest()


def test_a_plan_of_places_alone_is_verified(cli: Cli, three: Path, tmp_path: Path) -> None:
    solve_and_prove(cli, three, "--output", str(tmp_path / "plan.csv"))
    ran = cli("verify", three, tmp_path / "plan.csv", "--proof", tmp_path / "plan.proof")
    assert (ran.code, "  verified: peak 150 is least" in ran.out) == (Exit.DONE, True)


def test_that_nothing_fits_is_checked_by_its_proof(cli: Cli, three: Path, tmp_path: Path) -> None:
    problem = json.loads(three.read_bytes()) | {"pools": [{"id": "memory", "capacity": 149}]}
    three.write_text(json.dumps(problem))
    solve_and_prove(cli, three)
    path = tmp_path / "plan.json"
    plan = json.loads(path.read_bytes())
    plan["explanation"] = {
        "code": "no_layout",
        "message": "A search found none.",
        "buffers": plan["explanation"]["buffers"],
    }
    path.write_text(json.dumps(plan))
    assert cli("verify", three, path, "--strict").code == Exit.INVALID
    ran = cli("verify", three, path, "--strict", "--proof", tmp_path / "plan.proof")
    assert (ran.code, "verified: no layout fits into 149 bytes" in ran.out) == (Exit.DONE, True)


def test_a_proof_of_less_leaves_the_claim(cli: Cli, three: Path, tmp_path: Path) -> None:
    solve_and_prove(cli, three)
    plan, proof = claimed(tmp_path), tmp_path / "plan.proof"
    document = json.loads(plan.read_bytes())
    del document["proof_sha256"]
    plan.write_text(json.dumps(document))
    proof.write_bytes(b"memstow proof 1\n" + sha256(three.read_bytes()).digest() + b"\0\0")
    ran = cli("verify", three, plan, "--proof", proof)
    assert (ran.code, "only that none is below 0" in ran.out) == (Exit.DONE, True)
    assert cli("verify", three, plan, "--strict", "--proof", proof).code == Exit.INVALID


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (
            lambda proof: proof[:-1],
            "memstow-check does not accept the proof: wrong: step 1 of the proof: the proof is",
        ),
        (lambda proof: proof[:20] + b"?" + proof[21:], "wrong: the proof is for another problem"),
        (lambda _: b"something else", "not checked: the proof is none of this format"),
    ],
)
def test_a_wrong_proof_makes_the_plan_invalid(
    cli: Cli, three: Path, tmp_path: Path, spoil: Callable[[bytes], bytes], why: str
) -> None:
    solve_and_prove(cli, three)
    plan, proof = claimed(tmp_path), tmp_path / "plan.proof"
    document = json.loads(plan.read_bytes())
    del document["proof_sha256"]
    plan.write_text(json.dumps(document))
    proof.write_bytes(spoil(proof.read_bytes()))
    ran = cli("verify", three, plan, "--proof", proof)
    assert (ran.code, why in ran.out, "[proof]" in ran.out) == (Exit.INVALID, True, True), ran.out
    assert "no plan has peak below 150: claimed" in ran.out


def test_another_proof_than_the_plan_names_is_refused(cli: Cli, three: Path, tmp_path: Path) -> None:
    solve_and_prove(cli, three)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"proof_sha256": "0" * 64}))
    ran = cli("verify", three, path, "--proof", tmp_path / "plan.proof")
    assert (ran.code, "the plan names another proof" in ran.out) == (Exit.INVALID, True)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (("--proof", "-"), "a proof is a file of its own"),
        (("--proof", "nowhere.proof"), "nowhere.proof"),
        (("--proof", "plan.proof", "--capacity", "4096"), "just as its file says it"),
    ],
)
def test_proofs_that_cannot_be_checked_are_refused(
    cli: Cli, three: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], why: str
) -> None:
    solve_and_prove(cli, three)
    monkeypatch.chdir(three.parent)
    ran = cli("verify", three, "plan.json", *more)
    assert (ran.code, why in ran.err) == (Exit.USAGE, True), ran.err


@pytest.mark.parametrize("command", ["verify", "view"])
def test_a_pipe_is_no_proof_to_wait_for(cli: Cli, three: Path, tmp_path: Path, command: str) -> None:
    assert solve_and_prove(cli, three)[0] == Exit.DONE
    os.mkfifo(tmp_path / "pipe")
    other_end = os.open(tmp_path / "pipe", os.O_RDWR)  # so that reading would not wait for one
    os.write(other_end, (tmp_path / "plan.proof").read_bytes())
    words = {
        "verify": ("verify", three, tmp_path / "plan.json"),
        "view": ("view", tmp_path / "plan.json", "--problem", three, "--output", tmp_path / "plan.html"),
    }
    try:
        ran = cli(*words[command], "--proof", tmp_path / "pipe")
    finally:
        os.close(other_end)
    assert ran.code == Exit.USAGE
    assert "pipe: a proof is read twice, so it has to be a file" in ran.err


def test_a_proof_for_veripb(cli: Cli, three: Path, tmp_path: Path) -> None:
    opb, pbp = tmp_path / "p.opb", tmp_path / "p.pbp"
    ran = cli("solve", three, "--opb", opb, "--pbp", pbp, "--proof", tmp_path / "plan.proof")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert "p.pbp proves that no plan has a peak below 150 (" in ran.out
    assert "plan.proof proves that no plan has a peak below 150 (" in ran.out
    assert accepts(opb.read_text(), pbp.read_text())


@pytest.mark.parametrize(("capacity", "code"), [(120, Exit.DONE), (90, Exit.INFEASIBLE)])
def test_several_pools_are_proven(cli: Cli, three: Path, tmp_path: Path, capacity: int, code: int) -> None:
    problem = json.loads(three.read_bytes())
    problem["pools"] = [{"id": name, "capacity": capacity} for name in ("one", "two")]
    problem["objective"] = ["max_peak"] if code == Exit.DONE else ["placement_cost"]
    three.write_text(json.dumps(problem))
    ran, out, err = solve_and_prove(cli, three)
    assert (ran, "plan.proof proves that" in out, err) == (code, True, "")
    assert second(written(tmp_path), tmp_path).code == VERIFIED
    checked = cli("verify", three, tmp_path / "plan.json", "--strict", "--proof", tmp_path / "plan.proof")
    assert checked.code == Exit.DONE, checked.out
    files = tmp_path / "p.opb", tmp_path / "p.pbp"
    assert cli("solve", three, "--opb", files[0], "--pbp", files[1]).code == code
    assert accepts(files[0].read_text(), files[1].read_text())


def test_of_other_terms_of_several_pools_it_is_said_that_nothing_is_proven(cli: Cli, three: Path) -> None:
    problem = json.loads(three.read_bytes())
    problem["pools"] = [{"id": name, "capacity": 200} for name in ("one", "two")]
    problem["objective"] = []
    three.write_text(json.dumps(problem))
    code, out, err = solve_and_prove(cli, three)
    assert (code, "proves" in out) == (Exit.DONE, False)
    assert "plan.proof is not written: proofs are about a peak or a cost" in err


@pytest.mark.parametrize(
    ("objective", "says"), [("peak", "sum of peaks below 150"), ("peak:one", "peak of one below 0")]
)
def test_peaks_of_several_pools_are_proven(
    cli: Cli, three: Path, tmp_path: Path, objective: str, says: str
) -> None:
    problem = json.loads(three.read_bytes())
    problem["pools"] = [{"id": name, "capacity": 200} for name in ("one", "two")]
    problem["objective"] = [objective]
    three.write_text(json.dumps(problem))
    code, out, err = solve_and_prove(cli, three)
    assert (code, err) == (Exit.DONE, "")
    assert f"plan.proof proves that no plan has a {says} (" in out
    assert second(written(tmp_path), tmp_path).code == 0
    checked = cli("verify", three, tmp_path / "plan.json", "--proof", tmp_path / "plan.proof")
    assert checked.code == Exit.DONE, checked.out


def test_a_page_walks_through_a_proof(cli: Cli, three: Path, tmp_path: Path) -> None:
    solve_and_prove(cli, three)
    plan, proof, page = tmp_path / "plan.json", tmp_path / "plan.proof", tmp_path / "plan.html"
    view = ("view", plan, "--problem", three, "--proof", proof, "--output", page)
    assert cli(*view).code == Exit.DONE
    wrong = proof.read_bytes()[:-1] + b"\x09"
    for refused, why in (
        (("view", three, plan, "--proof", proof, "--output", page), ""),
        (("view", plan, plan, "--problem", three, "--proof", proof, "--output", page), "of one plan"),
        (("view", plan, "--proof", proof, "--output", page), "give it by --problem"),
    ):
        ran = cli(*refused)
        assert (ran.code, why in ran.err) == (Exit.DONE if not why else Exit.USAGE, True), ran.err
    page.unlink()
    proof.write_bytes(wrong)
    ran = cli(*view)
    assert (ran.code, "memstow-check does not accept it: wrong: " in ran.err) == (Exit.USAGE, True)
    assert not page.exists()


def test_of_another_term_of_one_pool_it_is_said_as_well(cli: Cli, three: Path) -> None:
    problem = json.loads(three.read_bytes())
    problem |= {"pools": [{"id": "memory", "capacity": 200}], "objective": []}
    three.write_text(json.dumps(problem))
    code, out, err = solve_and_prove(cli, three)
    assert (code, "proves" in out) == (Exit.DONE, False)
    assert "plan.proof is not written: proofs are about the peak or a cost" in err


def test_placement_costs_are_proven(cli: Cli, three: Path, tmp_path: Path) -> None:
    problem = json.loads(three.read_bytes())
    problem["pools"] = [{"id": "fast", "capacity": 100}, {"id": "slow", "cost": 3}]
    three.write_text(json.dumps(problem))
    code, out, err = solve_and_prove(cli, three)
    assert (code, err) == (Exit.DONE, "")
    least = json.loads((tmp_path / "plan.json").read_text())["objective"][0]["value"]
    assert f"plan.proof proves that no plan has a placement cost below {least:,}, and no plan as good" in out
    assert "has a sum of peaks below 150 (" in out
    words = f"verified: placement cost {least} is least, then sum of peaks 150"
    assert second(written(tmp_path), tmp_path).words == words
    checked = cli("verify", three, tmp_path / "plan.json", "--proof", tmp_path / "plan.proof")
    assert checked.code == Exit.DONE, checked.out
    page = tmp_path / "plan.html"
    view = ("view", tmp_path / "plan.json", "--problem", three, "--proof", tmp_path / "plan.proof")
    assert cli(*view, "--output", page).code == Exit.DONE


def tiles(*objective: str) -> dict[str, Any]:
    """Three that live one after the other, of which two fit beside each other."""
    costs = {("tile0", "tile1"): 5, ("tile1", "tile2"): 5, ("tile0", "tile2"): 1}
    return {
        "version": 1,
        "pools": [{"id": "memory", "capacity": 10}],
        "buffers": [{"id": f"tile{i}", "size": 4, "lifetime": [i, i + 1]} for i in range(3)],
        "reuse_costs": [{"buffers": pair, "cost": cost} for pair, cost in costs.items()],
        "objective": objective,
    }


def test_reuse_costs_are_proven_and_then_the_peak(cli: Cli, three: Path, tmp_path: Path) -> None:
    three.write_text(json.dumps(tiles("reuse_cost", "peak")))
    code, out, err = solve_and_prove(cli, three)
    assert (code, err) == (Exit.DONE, "")
    proven = "no plan has a reuse cost below 1, and no plan as good in that has a peak below 8"
    assert f"plan.proof proves that {proven} (" in out
    verdict = second(written(tmp_path), tmp_path)
    assert (verdict.code, verdict.words) == (VERIFIED, "verified: reuse cost 1 is least, then peak 8")
    verify = ("verify", three, tmp_path / "plan.json", "--strict", "--proof", tmp_path / "plan.proof")
    ran = cli(*verify)
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert "verified: reuse cost 1 is least, then peak 8" in ran.out
    assert json.loads(cli(*verify, "--json").out)["proof"]["bounds"] == [1, 8]
    # In the other order all three share the same bytes.
    three.write_text(json.dumps(tiles("peak", "reuse_cost")))
    assert solve_and_prove(cli, three)[0] == Exit.DONE
    assert second(written(tmp_path), tmp_path).words == "verified: peak 4 is least, then reuse cost 11"


def test_of_a_reuse_cost_that_is_not_shown_it_is_said(
    cli: Cli, three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memstow.planner.proofs import prove, prove_places

    three.write_text(json.dumps(tiles("peak", "reuse_cost")))
    monkeypatch.setattr(prove, "MOST_COSTS", 0)
    monkeypatch.setattr(prove_places, "_MOST_UNITS", 0)
    code, out, err = solve_and_prove(cli, three)
    assert code == Exit.DONE
    assert "plan.proof proves that no plan has a peak below 4 (1 step" in out
    assert "plan.proof proves only that no plan as good in that has a reuse cost below 0, not 11" in err
    assert second(written(tmp_path), tmp_path).words == "verified: peak 4 is least"
    verify = ("verify", three, tmp_path / "plan.json", "--strict", "--proof", tmp_path / "plan.proof")
    assert cli(*verify).code != Exit.DONE


def test_groups_are_proven(cli: Cli, three: Path, tmp_path: Path) -> None:
    problem = json.loads(three.read_bytes())
    names = [buffer["id"] for buffer in problem["buffers"]]
    problem["relative"] = [{"buffer": names[0], "base": names[1], "offset": 300}]
    three.write_text(json.dumps(problem))
    code, out, err = solve_and_prove(cli, three)
    assert (code, "plan.proof proves that no plan" in out, err) == (Exit.DONE, True, "")
    assert second(written(tmp_path), tmp_path).code == VERIFIED
    opb, pbp = tmp_path / "p.opb", tmp_path / "p.pbp"
    ran = cli("solve", three, "--opb", opb, "--pbp", pbp)
    assert (ran.code, "p.pbp proves that no plan has a peak below" in ran.out) == (Exit.DONE, True), ran.err
    assert accepts(opb.read_text(), pbp.read_text())


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (("--opb", "p.opb"), "give both"),
        (("--pbp", "p.pbp"), "give both"),
        (("--opb", "p.opb", "--pbp", "p.opb"), "cannot be the same file"),
        (("--opb", "p.opb", "--pbp", "-"), "a file of its own"),
        (("--opb", "p.opb", "--pbp", "p.pbp", "--server", "http://localhost:1"), "leave out --server"),
    ],
)
def test_files_for_veripb_that_cannot_be_written_are_refused(
    cli: Cli, three: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], why: str
) -> None:
    monkeypatch.chdir(three.parent)
    ran = cli("solve", three, *more)
    assert (ran.code, why in ran.err) == (Exit.USAGE, True), ran.err
    assert not list(three.parent.glob("p.*"))


@pytest.mark.parametrize("capacity", [None, 15])
def test_the_proof_of_a_plug_in_is_written_about_the_file_of_the_user(
    cli: Cli, three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capacity: int | None
) -> None:
    plugins = plugins_in(tmp_path / "plugins", monkeypatch)
    body = "plan, proof = proven(search, problem)\nsearch.offer(plan, proof)"
    plugins.solver("prover", body, before=PROVING)
    problem = problem_of(ABOVE_LIVE)
    problem = replace(problem, pools=(replace(problem.pools[0], capacity=capacity),))
    three.write_bytes(b" \n" + memstow.write_problem(problem, "json"))
    # What is written is the proof of the plug-in: memstow makes none here.
    monkeypatch.setattr("memstow.planner.proofs.prove.prove_within", lambda *_arguments: None)
    code, out, err = solve_and_prove(cli, three, "--solver", "prover", "--time-limit", "300")
    assert (code, err) == (Exit.DONE if capacity is None else Exit.INFEASIBLE, "")
    assert "plan.proof proves that " in out
    assert second(written(tmp_path), tmp_path).code == VERIFIED
    assert written(tmp_path)[2][16:48] == sha256(three.read_bytes()).digest()
    verify = ("verify", three, tmp_path / "plan.json", "--strict", "--proof", tmp_path / "plan.proof")
    assert cli(*verify).code == Exit.DONE


def test_a_false_proof_of_a_plug_in_is_told_and_not_written(
    cli: Cli, three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugins = plugins_in(tmp_path / "plugins", monkeypatch)
    body = "plan, proof = proven(search, problem)\nsearch.offer(plan, proof[:-1])"
    plugins.solver("prover", body, before=PROVING)
    three.write_bytes(memstow.write_problem(problem_of(ABOVE_LIVE), "json"))
    code, _, err = solve_and_prove(cli, three, "--solver", "prover", "--time-limit", "300")
    assert code == Exit.DONE
    assert "prover has a proof that does not count: " in err
    # memstow proves what it knows itself.
    assert second(written(tmp_path), tmp_path).code in (VERIFIED, WEAKER)
