"""Which way imports point: api on planner on solvers, and the judge on nothing that it judges."""

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache
from pathlib import Path
from typing import TypeVar

import pytest

ROOT = Path(__file__).resolve().parents[1]
Node = TypeVar("Node", str, Path)
TOPS = ("memstow", "planner", "solvers", "api")


def files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@cache
def imports(path: Path) -> frozenset[str]:
    """The names that a file imports, wherever in it, each as far as it is a module or may be one."""
    return frozenset(_imports(uses_in(path.read_bytes())))


@cache
def uses_in(text: bytes) -> tuple[ast.Import | ast.ImportFrom | ast.Attribute, ...]:
    """What imports, and what the library's face is asked for; by the text, so that copies are read once."""
    return tuple(
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.Attribute) and getattr(node.value, "id", None) == "memstow")
    )


def _imports(uses: Sequence[ast.AST]) -> Iterator[str]:
    for node in uses:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            for alias in node.names:
                yield from (str(node.module), f"{node.module}.{alias.name}")


def within(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def offenders(paths: list[Path], *forbidden: str) -> list[str]:
    return [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in paths
        for name in sorted(imports(path))
        if within(name, *forbidden)
    ]


@cache
def file_of(name: str) -> Path | None:
    """The file of a module of ours; None for what is not ours or no module."""
    parts = name.split(".")
    if parts[0] != "memstow":
        return None
    # The three folders are links in `memstow/`.
    place = ROOT.joinpath("memstow", *parts[1:])
    named = next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.exists()), None)
    return None if named is None else named.resolve()


def reached(paths: list[Path]) -> set[Path]:
    """These files and all of ours that they import; the library's face loads what it names later."""
    seen, left = set(paths), list(paths)
    while left:
        for name in imports(left.pop()) - {"memstow"}:
            result = file_of(name)
            if result is not None and result not in seen:
                seen.add(result)
                left.append(result)
    return seen


@pytest.mark.parametrize(
    ("folder", "forbidden"),
    [
        ("solvers", ("memstow.planner", "memstow.api")),
        ("planner", ("memstow.api", "memstow.solvers._native")),
        ("api", ("memstow.solvers._native",)),
    ],
)
def test_imports_point_one_way(folder: str, forbidden: tuple[str, ...]) -> None:
    paths = files(folder)
    assert len(paths) > 10
    assert offenders(paths, *forbidden) == []


def test_the_native_core_is_imported_by_solvers_alone() -> None:
    users = [path for path in files(*TOPS) if any("_native" in name.split(".") for name in imports(path))]
    assert ROOT / "solvers" / "core.py" in users
    assert {path.relative_to(ROOT).parts[0] for path in users} == {"solvers"}


def rooms_of(folder: Path) -> dict[str, set[str]]:
    """By room of `planner/`, the other rooms that it imports from, at once or when a function is called."""
    arrows: dict[str, set[str]] = {}
    for path in sorted(folder.glob("*/**/*.py")):
        room = path.relative_to(folder).parts[0]
        names = (name.split(".") for name in imports(path) if within(name, "memstow.planner"))
        arrows.setdefault(room, set()).update(parts[2] for parts in names if len(parts) > 2)
    return {room: {other for other in others if other in arrows} - {room} for room, others in arrows.items()}


@cache
def files_imported(path: Path) -> frozenset[Path]:
    """The other files of ours that a file imports, at once or late; the version alone is no import."""
    arrows: set[Path | None] = set()
    for node in uses_in(path.read_bytes()):
        if isinstance(node, ast.Import):
            arrows.update(file_of(alias.name) for alias in node.names if alias.name != "memstow")
        elif isinstance(node, ast.ImportFrom):
            modules = {alias.name: file_of(f"{node.module}.{alias.name}") for alias in node.names}
            arrows.update(modules.values())
            if any(modules[name] is None for name in modules.keys() - {"__version__"}):
                arrows.add(file_of(str(node.module)))
        else:
            arrows.add(None if node.attr == "__version__" else ROOT / "memstow" / "__init__.py")
    return frozenset(other for other in arrows if other not in (None, path))


def circle_in(arrows: Mapping[Node, Set[Node]]) -> list[Node]:
    """What is in a circle or between two: all else imports nothing of it, or is not imported from there."""
    left = dict(arrows)
    while True:
        imported = set().union(*left.values())
        free = [node for node, others in left.items() if node not in imported or not others & left.keys()]
        if not free:
            return sorted(left)
        for node in free:
            del left[node]


def test_no_room_of_the_planner_imports_from_one_that_imports_from_it() -> None:
    arrows = rooms_of(ROOT / "planner")
    assert {"reading", "check", "reduce", "solve", "verify", "show"} <= arrows.keys()
    assert {"model", "check", "reduce", "backends", "verify"} <= arrows["solve"]
    assert circle_in(arrows) == []


def test_no_file_imports_from_one_that_imports_from_it() -> None:
    arrows = {path: files_imported(path) for path in files(*TOPS)}
    assert len(arrows) > 300
    assert arrows[ROOT / "planner" / "solve" / "engine.py"] >= {ROOT / "planner" / "solve" / "graphs.py"}
    assert circle_in(arrows) == []


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("planner/solve/one_run.py", "from memstow.planner.solve import engine"),
        ("planner/solve/bounds.py", "from memstow.planner.solve.problem_plans import moves"),
        ("planner/model/problem.py", "import memstow\nplan = memstow.plan"),
        ("planner/verify/verdict.py", "def late():\n    from memstow.planner.verify import judge"),
        ("solvers/core.py", "from memstow import Plan"),
    ],
)
def test_an_import_that_closes_a_circle_of_files_is_found(tmp_path: Path, path: str, line: str) -> None:
    (tmp_path / "wrong.py").write_text(f"{(ROOT / path).read_text()}\n\n{line}\n")
    arrows = {other: files_imported(other) for other in files(*TOPS)}
    arrows[ROOT / path] = files_imported(tmp_path / "wrong.py")
    assert ROOT / path in circle_in(arrows)


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("reduce", "from memstow.planner.solve.engine import plan\n"),
        ("check", "from memstow.planner import reading\n"),
        ("model", "def late() -> None:\n    import memstow.planner.explain.needs\n"),
    ],
)
def test_an_import_that_closes_a_circle_is_found(tmp_path: Path, room: str, line: str) -> None:
    shutil.copytree(ROOT / "planner", tmp_path / "planner", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "planner" / room / "wrong.py").write_text(line)
    assert room in circle_in(rooms_of(tmp_path / "planner"))


def test_the_bench_is_imported_by_its_command_alone() -> None:
    room = ROOT / "planner" / "bench"
    users = {path for path in files(*TOPS) if offenders([path], "memstow.planner.bench")}
    inside = {path for path in users if path.is_relative_to(room)}
    commands = ROOT / "api" / "cli" / "commands"
    assert inside
    assert users - inside == {commands / f"{name}.py" for name in ("bench", "bench_run")}


@pytest.mark.parametrize("words", ["version", "solve --help", "view --help"])
def test_no_other_command_loads_the_bench(words: str) -> None:
    script = (
        "import contextlib, sys\n"
        "from memstow.api.cli.main import main\n"
        "with contextlib.suppress(SystemExit):\n"
        "    main(sys.argv[1:])\n"
        "sys.exit(any('bench' in name.split('.') for name in sys.modules))\n"
    )
    command = [sys.executable, "-c", script, *words.split()]
    assert subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 0


def test_the_judge_reaches_nothing_of_what_it_judges() -> None:
    paths = files("planner/verify")
    room = reached(paths)
    # It is the models that it shares with those who solve, and how their classes are defined.
    assert ROOT / "planner" / "model" / "problem.py" in room
    assert len(room) > len(paths)
    mine = {path.relative_to(ROOT).parts[:2] for path in room}
    assert mine == {("planner", "verify"), ("planner", "model"), ("memstow", "records.py")}
