"""Profiles name functions and files that are there, and what they print is told apart."""

import json
import sys
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks import in_process, page, profiles
from benchmarks.measuring import IN_PROCESS, run
from benchmarks.page import ROOT
from benchmarks.problems import write_random_csv


def test_shares_are_of_the_whole_and_what_is_small_is_in_one_line() -> None:
    text = page.shares("part", {"a": 1.0, "b": 6.0, **{f"c{n}": 0.1 for n in range(9)}}, 10.0)
    lines = text.splitlines()
    assert lines[0] == "| part | s | share |"
    assert lines[2:4] == ["| b | 6.00 | 60% |", "| a | 1.00 | 10% |"]
    # Three of c are not among the eight that have a line, and no part counts the rest of 2.1.
    assert lines[-2:] == ["| all else | 2.40 | 24% |", "| in all | 10.00 | 100% |"]
    assert len(lines) == 2 + 8 + 2


@pytest.mark.parametrize("parts", [profiles.OF_SOLVE, profiles.OF_VERIFY])
def test_every_function_that_is_timed_is_there(parts: dict[str, list[str]]) -> None:
    for functions in parts.values():
        for function in functions:
            module, _, name = function.partition(":")
            assert callable(attrgetter(name)(import_module(module)))


def test_every_part_of_both_commands_takes_time(tmp_path: Path) -> None:
    # As many buffers as make the native parts wanted, and a table to be printed.
    problem, plan, output = tmp_path / "random.csv", tmp_path / "plan.json", tmp_path / "seconds.json"
    write_random_csv(problem, 100)
    solve: list[str | Path] = ["solve", problem, "--solver", "greedy", "--output", plan]
    for parts, words in (
        (profiles.OF_SOLVE, solve),
        (profiles.OF_VERIFY, ["verify", problem, plan]),
    ):
        ran = run(sys.executable, "-P", IN_PROCESS, "clock", output, json.dumps(parts), *words)
        assert ran.code == 0
        seconds = json.loads(output.read_text())
        assert seconds.keys() == parts.keys()
        assert 0 < sum(seconds.values()) < ran.usage.cpu_seconds


def test_time_of_an_inner_function_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def inner() -> None:
        now[0] += 2.0

    def outer() -> None:
        now[0] += 1.0
        functions.inner()
        functions.inner()
        now[0] += 1.0

    functions = ModuleType("functions")
    functions.__dict__.update(inner=inner, outer=outer)
    monkeypatch.setitem(sys.modules, "functions", functions)
    monkeypatch.setattr("time.process_time", lambda: now[0])
    clock = in_process.Clock()
    clock.watch("calls", "functions:outer")
    clock.watch("work", "functions:inner")
    functions.outer()
    functions.inner()
    assert clock.seconds == {"calls": 2.0, "work": 6.0}


def test_imports_are_told_apart_by_whose_they_are_without_the_interpreter_s_own() -> None:
    imported = profiles.imports(
        "import time: self [us] | cumulative | imported package\n"
        "import time:       900 |        900 |   encodings\n"
        "import time:       100 |       1000 | site\n"
        "import time:       200 |        200 |   json\n"
        "import time:        30 |         30 |     memstow.solvers._native\n"
        "import time:       400 |        630 | memstow.api.cli.main\n"
        "the plan, which has nothing to do with it\n"
    )
    assert sorted(imported.values()) == [pytest.approx(3e-5), pytest.approx(2e-4), pytest.approx(4e-4)]


def test_a_sample_belongs_to_the_innermost_file_with_a_room() -> None:
    site = f"{ROOT}/.venv/lib/python3.11/site-packages"
    samples = [
        (
            [
                "/usr/lib/python3.11/json/encoder.py",
                f"{ROOT}/planner/solve/column_plans.py",
                f"{ROOT}/api/http/app.py",
            ],
            3,
        ),
        ([f"{ROOT}/api/http/app.py", f"{site}/uvicorn/server.py"], 2),
        ([f"{site}/starlette/routing.py", f"{ROOT}/api/http/app.py"], 1),
        (["/usr/lib/python3.11/asyncio/runners.py"], 4),
    ]
    assert profiles.rooms(samples) == {
        "reduce, solve, judge": 3,
        "layers around each request": 2,
        "FastAPI and Starlette": 1,
        "all else": 4,
    }
    for part, _ in profiles.ROOMS:
        if part.startswith(("/api/", "/planner/", "/solvers/")):
            assert list(ROOT.glob(f"{part[1:].rstrip('/')}*")), part


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("memstow::search::LevelSearch::step(int, std::vector<int>&) const", "search::LevelSearch::step"),
        ("void memstow::(anonymous namespace)::sift<std::less<int> >(int*) [clone .part.0]", "sift"),
        ("std::vector<int, std::allocator<int> >::push_back(int&&)", "std::vector::push_back"),
        ("__memmove_avx_unaligned_erms", "__memmove_avx_unaligned_erms"),
    ],
)
def test_functions_have_names_that_people_use(name: str, known: str) -> None:
    assert profiles.short(name) == known


def test_what_perf_prints_is_counted_by_function() -> None:
    assert profiles.functions("  12|[.] memstow::f(int)\n   3|[.] memstow::f(long)\n 1|[k] page_fault\n") == {
        "f": 15,
        "page_fault": 1,
    }
