"""A lock: the plan in it is taken while it holds for the problem, and made again when it does not."""

import json
import os
import shlex
from pathlib import Path

import pytest

from memstow.api.cli.commands import solve
from memstow.api.cli.terminal import Exit
from memstow.planner.model.plan import Plan
from tests.api.cli.conftest import Cli
from tests.api.cli.fakes import FakeEngine


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "three.lock"


def change(three: Path, before: str = '"size": 50', after: str = '"size": 60') -> None:
    """Change the problem."""
    text = three.read_text()
    assert before in text
    three.write_text(text.replace(before, after))


def placements(lock: Path) -> list[dict[str, object]]:
    """The places in the lock."""
    result: list[dict[str, object]] = json.loads(lock.read_text())["plan"]["placements"]
    return result


def test_locked_neither_searches_nor_writes(
    cli: Cli, three: Path, lock: Path, tmp_path: Path, engine: FakeEngine
) -> None:
    engine.answer = None  # type: ignore[assignment]
    ran = cli("solve", three, "--lock", lock, "--locked", "--output", tmp_path / "plan.json")
    assert ran.code == Exit.USAGE
    assert set(tmp_path.iterdir()) == {three}


def test_what_was_found_until_an_interruption_is_not_locked(
    cli: Cli, three: Path, lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memstow.planner.model.options import Options
    from memstow.planner.model.problem import Problem
    from memstow.planner.solve import engine

    def interrupted(_args: object, problem: Problem, options: Options, *_: object) -> tuple[Plan, bool]:
        return engine.plan(problem, options), True

    monkeypatch.setattr(solve, "_plan", interrupted)
    assert cli("solve", three, "--lock", lock).code == Exit.INTERRUPTED
    assert not lock.exists()


def test_a_lock_that_holds_is_taken_as_it_is(
    cli: Cli, three: Path, lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("solve", three, "--lock", lock).code == Exit.DONE
    content, first = lock.read_bytes(), placements(lock)
    os.utime(lock, ns=(1, 1))
    os.utime(three)  # younger than its lock: the time says nothing
    from memstow.planner.solve import engine

    def never(*_: object, **__: object) -> None:
        raise AssertionError("the lock holds")

    monkeypatch.setattr(engine, "run", never)
    for more in ((), ("--locked",)):
        ran = cli("solve", three, "--lock", lock, "--output", tmp_path / "plan.json", *more)
        assert (ran.code, ran.err) == (Exit.DONE, "")
        assert json.loads((tmp_path / "plan.json").read_text())["placements"] == first
    assert (lock.read_bytes(), lock.stat().st_mtime_ns) == (content, 1)


def test_a_lock_is_the_same_on_every_machine(cli: Cli, three: Path, lock: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.lock"
    assert cli("solve", three, "--lock", lock).code == Exit.DONE
    assert cli("solve", three, "--lock", other, "--workers", "1", "--time-limit", "99").code == Exit.DONE
    assert lock.read_bytes() == other.read_bytes()


def test_a_label_and_an_order_change_nothing(cli: Cli, three: Path, lock: Path) -> None:
    assert cli("solve", three, "--lock", lock).code == Exit.DONE
    raw = json.loads(three.read_text())
    three.write_text(json.dumps({**raw, "name": "other", "buffers": raw["buffers"][::-1]}))
    assert cli("solve", three, "--lock", lock, "--locked").code == Exit.DONE


def test_another_problem_is_planned_from_the_lock_and_locked_again(cli: Cli, three: Path, lock: Path) -> None:
    assert cli("solve", three, "--lock", lock).code == Exit.DONE
    raw = json.loads(lock.read_text())
    high = {"buffer": "b", "pool": "memory", "offset": 1000}
    raw["plan"]["placements"] = [
        high if placement["buffer"] == "b" else placement for placement in raw["plan"]["placements"]
    ]
    lock.write_text(json.dumps(raw))
    # Nothing is minimised but moves: what the lock says of `b` stays.
    text = json.dumps({**json.loads(three.read_text()), "objective": ["moves"]})
    three.write_text(text)
    assert cli("solve", three, "--lock", lock).code == Exit.DONE
    assert high in placements(lock)
    assert cli("solve", three, "--lock", lock, "--locked").code == Exit.DONE


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        ("problem", "the lock is for another problem, or the problem has changed"),
        ("options", "the lock was made with other options"),
        ("plan", "the plan in the lock is not valid: "),
        ("missing", "there is no such lock"),
    ],
)
def test_locked_fails_with_the_command_that_makes_the_lock_hold(
    cli: Cli, three: Path, lock: Path, tmp_path: Path, spoil: str, why: str
) -> None:
    request = [
        "solve",
        str(three),
        "--lock",
        str(lock),
        "--locked",
        "--output",
        str(tmp_path / "a plan.json"),
    ]
    assert cli("solve", three, "--lock", lock).code == Exit.DONE
    match spoil:
        case "problem":
            change(three)
        case "options":
            request += ["--seed", "7"]
        case "plan":
            lock.write_text(lock.read_text().replace('"offset": 100', '"offset": 0'))
        case _:
            lock.unlink()
    before = lock.read_bytes() if lock.exists() else b""
    ran = cli(*request)
    assert (ran.code, ran.out) == (Exit.USAGE, "")
    assert f"{lock}: {why}" in ran.err
    assert (lock.read_bytes() if lock.exists() else b"") == before
    command = shlex.split(ran.err.rpartition("run: ")[2].rpartition(" [")[0])
    assert command[0] == "memstow"
    assert cli(*command[1:]).code == Exit.DONE
    assert cli(*request).code == Exit.DONE


def test_what_is_no_lock_is_not_written_over(cli: Cli, three: Path, lock: Path) -> None:
    for content in ("<<<<<<< ours\n", "{}", '{"version": 2, "problem": "", "options": {}, "plan": {}}'):
        lock.write_text(content)
        ran = cli("solve", three, "--lock", lock)
        assert ran.code == Exit.USAGE
        assert ran.err.startswith(f"memstow: {lock}: ")
        assert lock.read_text() == content


def test_a_lock_stays_where_there_is_no_plan(cli: Cli, three: Path, lock: Path) -> None:
    assert cli("solve", three, "--lock", lock).code == Exit.DONE
    before = lock.read_bytes()
    assert cli("solve", three, "--lock", lock, "--capacity", "100").code == Exit.INFEASIBLE
    assert lock.read_bytes() == before


def test_a_lock_can_be_verified(cli: Cli, three: Path, lock: Path) -> None:
    assert cli("solve", three, "--lock", lock).code == Exit.DONE
    assert cli("verify", three, lock).out.startswith("valid: optimal")
    change(three)
    assert cli("verify", three, lock).code == Exit.INVALID


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--locked", "--locked: it needs the file that holds the plan"),
        ("--lock -", "--lock: a lock is read and written"),
        ("--lock x.lock --hint y.json", "--hint: with --lock, the plan in the lock is the hint"),
    ],
)
def test_options_that_contradict_a_lock_are_refused(cli: Cli, three: Path, arguments: str, said: str) -> None:
    ran = cli("solve", three, *arguments.split())
    assert ran.code == Exit.USAGE
    assert said in ran.err
