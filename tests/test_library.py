"""`import memstow` is as docs/library.md has it, to Python and to mypy, and foreign folders do it no harm."""

import ast
import contextlib
import inspect
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import memstow
from tests.person_model import person_model

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
FOREIGN = ("api", "planner", "solvers")
PROBLEM = """{"version": 1, "pools": [{"id": "fast", "capacity": 64}, {"id": "slow", "cost": 1}], "buffers": [
  {"id": "a", "size": 64, "lifetime": [0, 2]}, {"id": "b", "size": 32, "lifetime": [1, 3]}]}"""


def _examples() -> list[tuple[str, str]]:
    """Each example of the page, and what it prints."""
    return re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", PAGE, flags=re.DOTALL)


def _in_python(code: str, folder: Path) -> str:
    """What another Python prints, started in that folder as people start it."""
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def _types(code: str, folder: Path) -> list[str]:
    """What mypy finds in the code of a user who has set it to strict and uses no plugin."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    (folder / "program.py").write_text(code, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        "--cache-dir",
        # Of all tests of this session: most of the time is for the types of memstow.
        str(folder.parent / "types"),
        "program.py",
    ]
    # In an editable install it is Python that knows where the sources are; mypy asks for a path.
    paths = os.environ | {"MYPYPATH": str(ROOT)}
    ran = subprocess.run(command, cwd=folder, env=paths, capture_output=True, text=True, check=False)
    assert ran.returncode in (0, 1), ran.stderr
    return ran.stdout.splitlines()


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A project with folders and a module that are called as ours are."""
    for name in FOREIGN:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise AssertionError('taken for memstow')\n")
    (tmp_path / "planner.py").write_text("raise AssertionError('taken for memstow')\n")
    (tmp_path / "problem.json").write_text(PROBLEM)
    return tmp_path


def test_the_examples_print_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "person.tflite").write_bytes(person_model())
    examples = _examples()
    assert len(examples) > 10
    names: dict[str, object] = {}
    for code, printed in examples:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(code, names)
        assert said.getvalue() == printed, code


def test_the_examples_of_the_page_and_of_the_readme_have_types(tmp_path: Path) -> None:
    (readme,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert "import memstow\n" in readme
    code = "\n".join([readme, *(code for code, _ in _examples())])
    assert _types(code, tmp_path) == []


def test_the_example_of_the_readme_runs(tmp_path: Path) -> None:
    (readme,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(_in_python(readme, tmp_path).splitlines()) == 2


def test_each_name_is_on_the_page() -> None:
    for name in memstow.__all__:
        assert re.search(rf"\b{name}\b", PAGE) or name == "__version__", name


def test_the_page_uses_no_name_that_is_not_public() -> None:
    used = set(re.findall(r"\bmemstow\.(\w+)", "".join(code for code, _ in _examples())))
    assert used <= set(memstow.__all__)


def test_each_name_is_there_typed_and_says_what_it_is() -> None:
    tree = ast.walk(ast.parse(inspect.getsource(memstow)))
    lines = [
        node
        for node in tree
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("memstow.")
    ]
    imported = {alias.name: line.module for line in lines for alias in line.names}
    assert imported == memstow._HOME_OF
    assert sorted([*imported, "__version__"]) == memstow.__all__
    for name in memstow.__all__:
        value = getattr(memstow, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), name
    assert set(memstow.__all__) <= set(dir(memstow))
    with pytest.raises(AttributeError, match="no attribute 'plans'"):
        memstow.plans  # noqa: B018


def test_signatures_are_those_that_people_read() -> None:
    assert str(inspect.signature(memstow.plan)).startswith(
        "(problem: 'Problem | Graph', options: 'Options | None' = None,"
    )
    text = str(inspect.signature(memstow.Buffer))
    assert text.startswith("(*, id: 'str', size: 'SupportsIndex', lifetime: ")
    assert "**" not in text
    for name in memstow.__all__:
        value = getattr(memstow, name)
        if inspect.isfunction(value):
            assert " at 0x" not in str(inspect.signature(value)), name


def test_importing_it_loads_nothing_that_takes_time(tmp_path: Path) -> None:
    code = """
import sys
before = set(sys.modules)
import memstow
from tests.person_model import person_model
memstow.__version__, dir(memstow), memstow.__all__
print(*sorted(set(sys.modules) - before))
memstow.InputError, memstow.MemstowError
print(*sorted(set(sys.modules) - before))
memstow.Buffer
problem = memstow.Problem(
    pools=[memstow.Pool(id="m", capacity=64)],
    buffers=[memstow.Buffer(id=name, size=8, lifetime=[0, 2]) for name in "ab"],
    conflicts=[("a", "b")],
)
plan = memstow.plan(problem, memstow.Options(time_limit=60, seed=1))
again = memstow.read_problem(memstow.write_problem(problem))
assert memstow.verify(again, memstow.read_plan(memstow.write_plan(problem, plan), again)) == []
assert memstow.Plan(status="optimal", placements=plan.placements).status is memstow.Status.OPTIMAL
assert memstow.place([8, 8], [0, 0], [2, 2]).peak == 16
heavy = {"pydantic", "numpy", "ortools", "highspy", "matplotlib", "fastapi", "importlib.metadata", "asyncio"}
print(*sorted(heavy & set(sys.modules)))
memstow.Buffer(id="a", size=8, lifetime=(step for step in (0, 2)))
print(*sorted(heavy & set(sys.modules)))
"""
    lines = _in_python(code, tmp_path).splitlines()
    ours = {name for name in lines[0].split() if name.startswith("memstow")}
    assert ours == {"memstow"}
    for loaded in lines[:2]:
        assert not {"pydantic", "json", "asyncio", "memstow.solvers"} & set(loaded.split())
    assert lines[2] == ""
    assert "pydantic" in lines[3].split()  # An iterator is none of the plain values.


def test_it_is_found_beside_folders_called_as_its_own(elsewhere: Path) -> None:
    code = """
import memstow
from tests.person_model import person_model
problem = memstow.read_problem(open("problem.json", "rb").read())
found = memstow.plan(problem, memstow.Options(time_limit=5.0))
print(found.status, memstow.verify(problem, found))
"""
    assert _in_python(code, elsewhere).endswith(" []\n")


@pytest.mark.parametrize("solver", ["auto", "cpsat"])
def test_the_command_works_beside_folders_called_as_its_own(elsewhere: Path, solver: str) -> None:
    if solver == "cpsat":
        # It runs in a process of its own, which must find what the first one found.
        pytest.importorskip("ortools", reason="the [cpsat] extra is not installed")
    command = [str(Path(sys.executable).with_name("memstow")), "solve", "problem.json", "--solver", solver]
    # The run ends with the proof; on a busy machine it takes a back end long to start.
    ran = subprocess.run(
        [*command, "--output", "plan.json", "--time-limit", "300"],
        cwd=elsewhere,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert '"optimal"' in (elsewhere / "plan.json").read_text()


def test_lists_and_foreign_integers_have_types_and_what_is_wrong_has_not(tmp_path: Path) -> None:
    right = """
from typing import SupportsIndex
from memstow import Buffer, Options, Placement, Plan, Pool, Problem, Reserved, ReuseCost, Status, Target

class Size:
    def __index__(self) -> int:
        return 8

times: list[int] = [0, 2]
pairs: list[tuple[str, str]] = [("a", "b")]
buffers = [Buffer(id="a", size=Size(), lifetime=times), Buffer(id="b", size=8, lifetimes=[times, (3, 4)])]
problem = Problem(
    buffers=buffers,
    pools=[Pool(id="m", reserved=[Reserved(offset=Size(), size=1)])],
    conflicts=pairs,
    exclusive=[["a", "b"]],
    reuse_costs=[ReuseCost(buffers=["a", "b"], cost=1)],
    objective=["peak"],
)
sizes: tuple[int, ...] = tuple(buffer.size for buffer in problem.buffers)
hint = Plan(status=Status.FEASIBLE, placements=[Placement(buffer="a", pool="m", offset=Size())])
Options(hint=hint, seed=Size())
Target(pools=[Pool(id="m")])
Buffer(id="c", size=1, lifetime="always", pools=["m"])
"""
    wrong = """
Problem(buffers=[1])
Buffer(id="a", size=1.5)
Buffer(id="a", size="8")
Buffer(id="a", size=8, pools="m")
Buffer(id="a", size=8, lifetime="never")
Buffer(id="a")
Buffer(id="a", size=8, sizes=8)
problem.name = "frozen"
"""
    result = _types(right + wrong, tmp_path)
    lines = len(right.splitlines())
    at = {int(line.split(":")[1]) for line in result if ": error:" in line}
    assert at == set(range(lines + 2, lines + 10)), "\n".join(result)


@pytest.mark.parametrize("read", [name for name in dir(memstow) if name.startswith("read_")])
@pytest.mark.parametrize("given", ["{}", {}, None])
def test_what_is_read_is_bytes(read: str, given: object) -> None:
    more = [memstow.Problem(version=1, buffers=())] if read == "read_plan" else []
    with pytest.raises(TypeError, match="open the file in binary mode"):
        getattr(memstow, read)(given, *more)


def a_graph(order: Any = "given") -> memstow.Graph:
    """Two operators, the second of which comes first in the list."""
    sizes = {"x": 64, "y": 32, "z": 16}
    second = memstow.Operator(id="second", type="relu", inputs=["y"], outputs=["z"])
    first = memstow.Operator(id="first", type="conv2d", inputs=["x"], outputs=["y"])
    return memstow.Graph(
        tensors=[memstow.Tensor(id=name, size=size) for name, size in sizes.items()],
        operators=[second, first] if order == "free" else [first, second],
        inputs=["x"],
        outputs=["z"],
        order=order,
    )


A_PROBLEM: Any = memstow.Problem(buffers=[memstow.Buffer(id="a", size=8, lifetime=(0, 1))])
A_SYMBOLIC: Any = memstow.SymbolicProblem(
    symbols=[memstow.Symbol(id="s", min=1, max=8)], buffers=[memstow.SymbolicBuffer(id="a", size="s")]
)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda entry: entry.plan({"version": 1}), "not dict: memstow.read_problem reads a document"),
        (lambda entry: entry.plan(A_SYMBOLIC), "memstow.plan_symbolic is for sizes that are formulas"),
        (
            lambda entry: entry.plan(A_PROBLEM, {"time_limit": 3}),
            "the options of a plan are memstow.Options, not dict",
        ),
        (
            lambda entry: entry.plan_symbolic(A_PROBLEM),
            "plan_symbolic takes a SymbolicProblem or a SymbolicGraph, not Problem",
        ),
        (lambda entry: entry.lower_graph(A_PROBLEM), "lower_graph takes a Graph, not Problem"),
        (lambda entry: entry.buffer_labels(A_PROBLEM), "buffer_labels takes a Graph, not Problem"),
        (
            lambda entry: entry.loops(A_PROBLEM, entry.plan(A_PROBLEM)),
            "loops takes a Graph and its Plan, not Problem",
        ),
        (lambda entry: entry.tile(A_PROBLEM, "a"), "tile takes a Graph, not Problem"),
        (lambda entry: entry.digest(A_SYMBOLIC), "digest takes a Problem, not SymbolicProblem"),
        (lambda entry: entry.write_plan(entry.plan(A_PROBLEM), A_PROBLEM), "and its Plan, not Problem"),
        (
            lambda entry: entry.retarget(A_PROBLEM, "rp2040"),
            "as memstow.shipped_target returns it by its name, not str",
        ),
    ],
)
def test_what_is_of_another_kind_is_told_by_what_is_needed(call: Any, said: str) -> None:
    with pytest.raises(TypeError, match=re.escape(said)):
        call(memstow)


@pytest.mark.parametrize("order", ["given", "free"])
def test_a_graph_stands_where_a_problem_can(order: str) -> None:
    graph = memstow.retarget(a_graph(order), memstow.shipped_target("rp2040"))
    assert [pool.id for pool in graph.pools] == ["sram", "scratch_x", "scratch_y"]
    plan = memstow.plan(graph)
    assert plan.schedule is not None
    assert plan.schedule.order == ("first", "second")
    problem = memstow.lower_graph(graph, plan.schedule.order)
    for form in ("json", "csv", "structured", "usmp", "executorch"):
        assert memstow.write_plan(graph, plan, form) == memstow.write_plan(problem, plan, form)
    labels = memstow.buffer_labels(graph)
    for form in ("c-header", "c-source", "c-check", "ld", "rust"):
        written = memstow.export(graph, plan, form)
        assert written == memstow.export(problem, plan, form, labels=labels)
    assert b"conv2d" in memstow.export(graph, plan, "c-header")


def test_the_shortfall_of_a_graph_is_that_of_its_problem() -> None:
    graph = a_graph()
    missing = memstow.shortfall(graph, 90)
    assert missing is not None
    assert missing == memstow.shortfall(memstow.lower_graph(graph), 90)
    with pytest.raises(memstow.InputError, match="0 bytes or more, not -1"):
        memstow.shortfall(graph, -1)


def test_a_plan_in_stripes_is_not_written_without_its_schedule() -> None:
    shapes = {"photo": [32, 32, 3], "wide": [32, 32, 16], "half": [16, 16, 8]}
    each, every = memstow.Window(kernel=[1, 1]), memstow.Window(kernel=[2, 2], stride=[2, 2])
    graph = memstow.Graph(
        tensors=[memstow.Tensor(id=name, shape=shape, type="int8") for name, shape in shapes.items()],
        operators=[
            memstow.Operator(id="a", type="conv2d", inputs=["photo"], outputs=["wide"], window=each, cost=9),
            memstow.Operator(id="b", type="conv2d", inputs=["wide"], outputs=["half"], window=every, cost=9),
        ],
        inputs=["photo"],
        outputs=["half"],
    )
    plan = memstow.front(graph).points[0].plan
    assert plan.schedule is not None
    assert plan.schedule.stripes
    assert memstow.read_plan(memstow.write_plan(graph, plan), memstow.lower_graph(graph)) == plan
    with pytest.raises(memstow.InputError, match="lost_schedule"):
        memstow.write_plan(graph, plan, "csv")
    assert b"PLAN_OFFSET" in memstow.export(graph, plan, "c-header")
