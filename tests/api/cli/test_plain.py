"""Plain problems are solved and verified in columns: what is printed and written is the same."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.limits import document, groups
from memstow.api.cli.commands import solve, verify
from memstow.api.cli.terminal import Exit
from tests.api.cli.conftest import Cli, Ran
from tests.campaign import gate_first
from tests.planner.plain.samples import mutated, random_sample

ENGINE = ("memstow.planner.solve.engine", "memstow.planner.verify", "memstow.planner.formats")
SOLVERS = ("auto", "greedy", "exact", "cpsat", "tflm", "xla-heap")
QUICK = ("--deterministic", "--work-limit", "20000")


def both(cli: Cli, monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> tuple[Ran, Ran]:
    """What the command line does in columns, and what it does with models."""
    in_columns = cli(*arguments)
    with monkeypatch.context() as patched:
        for command in (solve, verify):
            patched.setattr(command, "columns_in", lambda _args, _data, **_: None)
        patched.setattr(solve, "symbolic_columns_in", lambda _args, _data: None)
        return in_columns, cli(*arguments)


def test_a_problem_that_only_has_to_fit(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file, plan = tmp_path / "problem.json", tmp_path / "plan.json"
    for seed in range(6):
        problem = json.loads(random_sample(seed).json()) | {"objective": []}
        file.write_text(json.dumps(problem))
        for more in ((), ("--fit-only",), ("--json",), ("--output-format", "csv")):
            result, wanted = both(cli, monkeypatch, "solve", file, *QUICK, *more)
            assert result == wanted
        if cli("solve", file, *QUICK, "-o", plan).code == 0:
            result, wanted = both(cli, monkeypatch, "verify", file, plan)
            assert (result, result.code) == (wanted, 0)


@pytest.mark.parametrize("kind", gate_first(["rigid groups, symbols", "pools, symbols", "symbols"], 2))
def test_fixed_offsets_of_many_buffers_with_symbols(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    file, plan, header = (tmp_path / name for name in ("problem.json", "plan.json", "offsets.h"))
    problem = document(kind, 2500)
    file.write_text(json.dumps(problem))
    options = ("--shapes", "fixed", "--deterministic", "--work-limit", "100000")
    for more in (("--json",), (), ("--quiet",), ("-o", plan), ("-o", plan, "-o", header), ("--gap", "0.1")):
        result, wanted = both(cli, monkeypatch, "solve", file, *options, *more)
        assert result == wanted
    assert "it is not for problems with symbols" in result.err
    assert cli("solve", file, *options, "-o", plan, "--quiet").code == Exit.DONE
    assert cli("verify", file, plan).code == Exit.DONE
    problem["pools"] = [{**pool, "capacity": 10} for pool in problem.get("pools", [{"id": "memory"}])]
    file.write_text(json.dumps(problem))
    result, wanted = both(cli, monkeypatch, "solve", file, *options)
    assert (result, result.code) == (wanted, Exit.INFEASIBLE)
    problem["buffers"][7]["size"] = "12*t"
    file.write_text(json.dumps(problem))
    result, wanted = both(cli, monkeypatch, "solve", file, *options)
    assert (result, "'t' at character 4 is no symbol" in result.err) == (wanted, True)


def test_many_related_buffers(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file, plan = tmp_path / "problem.json", tmp_path / "plan.json"
    problem = document("conflicts, pins", 2500)
    groups(problem, random.Random(1))
    file.write_text(json.dumps(problem))
    options = ("--deterministic", "--work-limit", "100000", "--solver", "greedy")
    for more in (("--json",), (), ("--output-format", "csv"), ("--quiet",), ("--capacity", "1")):
        result, wanted = both(cli, monkeypatch, "solve", file, *options, *more)
        assert result == wanted
    assert "pin_beyond_capacity" in result.err
    assert cli("solve", file, *options, "-o", plan, "--quiet").code == 0
    result, wanted = both(cli, monkeypatch, "verify", file, plan)
    assert (result, result.code) == (wanted, 0)
    # Alone the two would be apart by time; the verdict must know of the relation.
    moved = json.loads(plan.read_text())
    first, second = problem["conflicts"][0]
    offset = next(place["offset"] for place in moved["placements"] if place["buffer"] == first)
    for place in moved["placements"]:
        if place["buffer"] == second:
            place["offset"] = offset
    plan.write_text(json.dumps(moved))
    result, wanted = both(cli, monkeypatch, "verify", file, plan)
    assert (result, result.code) == (wanted, 1)


def test_many_buffers_in_pools(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "problem.json"
    problem = document("conflicts, pools", 2500)
    options = ("--deterministic", "--work-limit", "100000", "--solver", "greedy")

    def answer(*more: str) -> Ran:
        file.write_text(json.dumps(problem))
        result, wanted = both(cli, monkeypatch, "solve", file, *options, *more)
        assert result == wanted
        return result

    for more in (("--json",), (), ("--output-format", "csv"), ("--quiet",), ("--fit-only", "--json")):
        assert answer(*more).code == 0
    answer("--capacity", "1")
    for pool in problem["pools"]:
        pool["capacity"] = 1 << 12
    assert answer("--json").code == Exit.INFEASIBLE
    problem["pools"][0]["capacity"] = -1
    assert "$.pools[0].capacity" in answer().err
    problem["pools"].pop(0)
    problem["buffers"][7]["pools"] = ["middle", "nowhere"]
    assert "unknown_pool" in answer().err


@pytest.mark.parametrize("block", range(3))
def test_every_problem_has_the_same_answer(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, block: int
) -> None:
    odd = random.Random(block)
    for seed in range(15 * block, 15 * block + 15):
        sample = random_sample(seed)
        data = sample.json() if seed % 2 else sample.csv()
        if odd.random() < 0.4:
            data = mutated(data, odd)
        file = tmp_path / "problem"
        file.write_bytes(data)
        fit = ["--fit-only"] if odd.random() < 0.3 else []
        options: list[str | Path] = [*QUICK, "--solver", odd.choice(SOLVERS), *fit]
        if odd.random() < 0.3:
            options += ["--capacity", odd.choice(("1", "100", "1MiB"))]
        result, wanted = both(cli, monkeypatch, "solve", file, *options)
        assert result == wanted
        plan = tmp_path / "plan.json"
        plan.unlink(missing_ok=True)
        written = []
        for in_columns in (True, False):
            with monkeypatch.context() as patched:
                if not in_columns:
                    patched.setattr(solve, "columns_in", lambda _args, _data, **_: None)
                cli("solve", file, *options, "--quiet", "-o", plan)
            written.append(plan.read_bytes() if plan.exists() else b"")
            plan.unlink(missing_ok=True)
        assert written[0] == written[1]
        for form in ("--json", "--output-format=csv"):
            ran = both(cli, monkeypatch, "solve", file, *options, form)
            assert ran[0] == ran[1]
        if not written[0]:
            continue
        plan.write_bytes(mutated(written[0], odd) if odd.random() < 0.3 else written[0])
        offsets = tmp_path / "plan.csv"
        offsets.write_text(cli("solve", file, *options, "--output-format", "csv").out)
        ran = both(cli, monkeypatch, "verify", file, offsets, *fit)
        assert ran[0] == ran[1]
        for more in ((), ("--json",), ("--strict",)):
            capacity = [option for option in options if "--capacity" in options][-2:]
            ran = both(cli, monkeypatch, "verify", file, plan, *fit, *capacity, *more)
            assert ran[0] == ran[1]


def test_a_plain_problem_loads_neither_the_engine_nor_the_formats(three: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from memstow.api.cli.main import main; "
        "main(['solve', *sys.argv[1:]]); print(*sys.modules, file=sys.stderr)"
    )
    arguments = [str(three), "--output", str(tmp_path / "plan.json"), "--deterministic"]
    ran = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert "3 buffers placed" in ran.stdout
    loaded = ran.stderr.split()
    assert "memstow.planner.solve.column_plans" in loaded
    assert not set(ENGINE) & set(loaded)
