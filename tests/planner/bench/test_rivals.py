"""Other solvers by name: models find what brute force finds, programs of users speak their own files."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from memstow import Placement, Plan, Pool, Problem, Status, verify, write_problem
from memstow.api.cli.terminal import Exit
from memstow.planner.bench.external_program import version_of
from memstow.planner.bench.record import RESULTS, Ending, Record, from_line
from memstow.planner.bench.rivals import DECLINED, MODELS, RIVALS, command_of, how_to_get
from memstow.planner.plugins.kit import least, peak_of, tiny_problems
from tests.api.cli.conftest import Cli, cli

__all__ = ["cli"]
BEST = [name for name in MODELS if name != "best-fit"]


def run(name: str, problems: list[Problem], folder: Path) -> list[Plan | None]:
    """The plans of a model, which a process of its own makes one after the other."""
    if how_to_get(name) is not None:
        pytest.skip(f"{name} needs {how_to_get(name)}")
    calls = []
    for number, problem in enumerate(problems):
        (folder / f"{number}.json").write_bytes(write_problem(problem))
        calls.append([name, str(folder / f"{number}.json"), str(folder / f"{number}.plan"), "600"])
    code = f"from memstow.planner.bench.rivals import main\nfor call in {calls!r}: main(call)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    plans: list[Plan | None] = []
    for number in range(len(problems)):
        written = json.loads((folder / f"{number}.plan").read_text())
        places = [Placement(**place) for place in written.get("placements", ())]
        assert (written["status"] == "unknown") == (not places)
        plans.append(Plan(status=Status.FEASIBLE, placements=places) if places else None)
    return plans


@pytest.mark.parametrize("name", BEST)
def test_a_model_finds_the_best_plan(name: str, tmp_path: Path) -> None:
    problems = list(tiny_problems(("zero",), 4, 3))
    aligned = tiny_problems(("alignments",), 4, 5)
    problems += [replace(one, pools=(Pool(id="memory"),)) for one in aligned]
    for problem, plan in zip(problems, run(name, problems, tmp_path), strict=True):
        best = least(problem)
        assert plan is not None
        assert best is not None
        assert verify(problem, plan) == []
        assert peak_of(problem, plan) == best[0]


@pytest.mark.parametrize("name", list(MODELS))
def test_a_model_keeps_to_a_capacity(name: str, tmp_path: Path) -> None:
    problem = next(iter(tiny_problems((), 1, 11)))
    best = least(problem)
    assert best is not None
    assert len(problem.buffers) > 2
    limited = [
        replace(problem, pools=(Pool(id="memory", capacity=best[0] - less),), objective=terms)
        for less in (0, 1)
        for terms in ((), ("peak",))
    ]
    for number, (one, plan) in enumerate(zip(limited, run(name, limited, tmp_path), strict=True)):
        if number < 2 and name != "best-fit":
            assert plan is not None
        assert number < 2 or plan is None
        assert plan is None or verify(one, plan) == []


def test_best_fit_is_valid_and_takes_the_smallest_gap(tmp_path: Path) -> None:
    problems = [
        replace(one, pools=(Pool(id="memory"),)) for one in tiny_problems(("alignments", "zero"), 60, 0)
    ]
    for problem, plan in zip(problems, run("best-fit", problems, tmp_path), strict=True):
        assert plan is not None
        assert verify(problem, plan) == []


def test_what_a_model_does_not_take_is_declined_with_the_reason(tmp_path: Path) -> None:
    changes: tuple[dict[str, object], ...] = (
        {"conflicts": [["a", "b"]]},
        {"pools": [{"id": "m"}, {"id": "n"}]},
        {"pools": [{"id": "m", "reserved": [{"offset": 0, "size": 1}]}]},
        {"objective": ["reuse_cost"]},
        {"buffers": [{"id": "a", "size": 1, "lifetimes": [[0, 1], [3, 4]]}]},
        {"buffers": [{"id": "a", "size": 1, "lifetime": [0, 1], "offset": 0}]},
    )
    for number, change in enumerate(changes):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps({"version": 1, "buffers": [], **change}))
        call = [*command_of("best-fit", None)[:5], str(path), str(tmp_path / "plan"), "1"]
        ran = subprocess.run(call, capture_output=True, text=True, check=False)
        assert ran.returncode == DECLINED
        assert ran.stderr.startswith("it")


# Programs of users, by stand-ins that speak their files.

STACK = """
import sys
def stack(path):
    rows = [line.split(",") for line in open(path).read().split()]
    assert rows[0] == ["id", "lower", "upper", "size"], rows[0]
    top = 0
    for name, begin, end, size in rows[1:]:
        assert int(begin) < int(end)
        yield name, begin, end, size, top
        top += int(size)
"""
MINIMALLOC = f"""#!{sys.executable}
{STACK}
options = dict(word.removeprefix("--").split("=") for word in sys.argv[1:] if "=" in word)
assert "--minimize_capacity" in sys.argv and options["timeout"].endswith("s")
if int(options["capacity"]) < 15:
    sys.exit("DEADLINE_EXCEEDED: Process time limit reached.")
rows = list(stack(options["input"]))
with open(options["output"], "w") as file:
    print("id,lower,upper,size,offset", file=file)
    for row in rows: print(*row, sep=",", file=file)
print("Elapsed time 0.125s", file=sys.stderr)
"""
DSA_SOLVER = f"""#!{sys.executable}
{STACK}
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
assert options["--solver"] == "local-search"
with open(options["--output"], "w") as file:
    print("id,lower,upper,size,offset", file=file)
    for row in stack(options["--input"]): print(*row, sep=",", file=file)
print('{{"peak": 15}}')
"""
IDEALLOC = f"""#!{sys.executable}
{STACK}
print("Total allocation time: 12 μs")
print("id,offset")
for name, *_, offset in stack(sys.argv[1]): print(int(name), offset, sep=",")
"""
MAKESPAN_ALONE = f"#!{sys.executable}\nprint('Makespan: 15 bytes')\n"


def program(folder: Path, text: str) -> Path:
    path = folder / "program"
    path.write_text(text)
    path.chmod(0o755)
    return path


def benched(cli: Cli, folder: Path, external: str, **problem: object) -> Record:
    """The record of one run of it."""
    buffers = [
        {"id": "a", "size": 8, "lifetime": [-2, 2]},
        {"id": "no size", "size": 0, "lifetime": [0, 1]},
        {"id": "b", "size": 7, "lifetime": [1, 3]},
    ]
    if "minimalloc" in external or "dsa" in external:
        buffers = [{**one, "lifetime": [one["lifetime"][0] + 2, one["lifetime"][1] + 2]} for one in buffers]  # type: ignore[index]
        del buffers[1]
    (folder / "two.json").write_text(json.dumps({"version": 1, "buffers": buffers, **problem}))
    ran = cli(
        "bench",
        "run",
        folder / "two.json",
        "--external",
        external,
        "--output",
        folder / "out",
        "--repeat-for",
        "0",
    )
    assert ran.code == Exit.DONE, ran.err
    (line,) = (folder / "out" / RESULTS).read_text().splitlines()
    return from_line(line)


@pytest.mark.parametrize(
    ("name", "text", "reported"),
    [("minimalloc", MINIMALLOC, 0.125), ("dsa-solver", DSA_SOLVER, None), ("idealloc", IDEALLOC, ...)],
)
def test_a_program_of_a_user_is_called_as_it_wants_and_its_plan_judged(
    cli: Cli, tmp_path: Path, name: str, text: str, reported: object
) -> None:
    record = benched(cli, tmp_path, f"{name}={program(tmp_path, text)}")
    assert (record.status, record.peak, record.solver.name) == (Ending.FEASIBLE, 15, name), record.error
    assert record.solver.version.startswith("sha256:")
    assert reported is ... or record.reported_seconds == reported
    assert not Path("numbered.csv").exists(), "nothing stays where the command is called"


def test_a_program_that_says_it_found_nothing_in_time_has_not_failed(cli: Cli, tmp_path: Path) -> None:
    pools = [{"id": "memory", "capacity": 14}]
    record = benched(cli, tmp_path, f"minimalloc={program(tmp_path, MINIMALLOC)}", pools=pools)
    assert record.status is Ending.UNKNOWN
    assert "DEADLINE_EXCEEDED" in (record.error or "")


def test_a_program_without_offsets_is_told_how_to_print_them(cli: Cli, tmp_path: Path) -> None:
    record = benched(cli, tmp_path, f"idealloc={program(tmp_path, MAKESPAN_ALONE)}")
    assert record.status is Ending.ERROR
    assert "does not print each offset: docs/bench.md" in (record.error or "")


def test_a_model_is_run_by_its_name_with_the_versions_of_its_packages(cli: Cli, tmp_path: Path) -> None:
    assert benched(cli, tmp_path, "best-fit").peak == 15
    if how_to_get("highs-pairs") is None:
        version = version_of(command_of("highs-pairs", None), None)
        assert version.startswith("pulp ")
        assert " highspy " in version
    assert version_of(command_of("best-fit", None), None).startswith("sha256:")


@pytest.mark.parametrize(
    ("external", "said"),
    [
        ("minimalloc", "say where the program is: minimalloc=PATH"),
        ("minimalloc=/no/such/program", "is not an executable program"),
        ("best-fit=/bin/true", "best-fit is no program of yours"),
        ("worst-fit", "is none of cpsat-boxes"),
    ],
)
def test_what_is_wrong_with_a_name_is_told(cli: Cli, tmp_path: Path, external: str, said: str) -> None:
    ran = cli("bench", "run", "generate:planted,n=5", "--external", external, "--output", tmp_path / "out")
    assert ran.code == Exit.USAGE
    assert said in ran.err


def test_a_command_of_the_user_under_a_known_name_stays_theirs(cli: Cli, tmp_path: Path) -> None:
    text = MINIMALLOC.replace(
        'assert "--minimize_capacity"', 'assert "--mine" in sys.argv and "--minimize_capacity" not'
    )
    options = "--mine --input={input} --output={output} --capacity=99 --timeout=1s"
    assert benched(cli, tmp_path, f"minimalloc={program(tmp_path, text)} {options}").peak == 15
    assert set(MODELS) | {"minimalloc", "dsa-solver", "idealloc"} == set(RIVALS)
