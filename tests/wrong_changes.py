"""How many wrong changes of the code do the tests catch? `python -m tests.wrong_changes --help`.

A wrong change is one expression that says something else: `<` for `<=`, `+` for `-`, `and` for `or`, one
more. Each is made in a copy of the checkout, and the tests of its room are run until one fails; what no test
notices survives. Tests that fail or take too long without a change say nothing about one: such a change is
`untried`. With `--before`, what survives is looked for by its text in another checkout and tried there with
the tests of that one: what was caught there and survives here has been lost on the way.

The sample depends on the seed alone, so two runs try the same.
"""

import argparse
import ast
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[1]
_ROOMS: Final = ("planner", "solvers", "api")
# Rooms whose tests are elsewhere, or that have few of their own.
_MORE_TESTS: Final = {
    "planner/model": ("tests/planner/check",),
    "planner/plain": ("tests/planner/solve",),
    "planner/reduce": ("tests/planner/solve",),
    "planner/backends": ("tests/solvers",),
    "planner/formulas": ("tests/planner/formats/onnx", "tests/planner/shapes"),
    "planner/judge": ("tests/planner/verify",),
    "planner/verify": ("tests/planner/front", "tests/planner/tiling"),
    "planner/solve": ("tests/planner/place",),
    "solvers": ("tests/planner/solve", "tests/planner/reduce"),
    "api/options.py": ("tests/api/cli",),
    "api/operations": ("tests/api/cli", "tests/api/http"),
    "api/workers": ("tests/api/http",),
    "api/webhooks.py": ("tests/api/callbacks",),
}
_COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
_OPERATIONS: Final[dict[type[ast.operator], str]] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "+",
    ast.FloorDiv: "*",
    ast.Mod: "+",
}
_OTHER_NAMES: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class WrongChange:
    """One line of a file that becomes another."""

    file: str
    line: int
    """Counted from 1."""
    old: str
    new: str

    def is_of(self, text: str) -> int | None:
        """The only line of the text that is the old one but for its indentation, or None."""
        lines = [at for at, line in enumerate(text.splitlines(), 1) if line.strip() == self.old.strip()]
        return lines[0] if len(lines) == 1 else None


def wrong_changes(root: Path, seed: int, count: int) -> list[WrongChange]:
    """A sample of the wrong changes of planner, solvers and api; no two of one line."""
    every = [
        change
        for room in _ROOMS
        for path in sorted((root / room).rglob("*.py"))
        if "migrations" not in path.parts and "node_modules" not in path.parts
        for change in _of_file(path, path.relative_to(root).as_posix())
    ]
    # Lines that stand in one place only can be looked for in another version.
    chosen: dict[str, WrongChange] = {}
    for change in random.Random(seed).sample(every, len(every)):
        chosen.setdefault(change.old.strip(), change)
        if len(chosen) == count:
            break
    return list(chosen.values())


def _of_file(path: Path, name: str) -> Iterator[WrongChange]:
    text = path.read_text()
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        for place, old, new in _edits(node, text):
            line = lines[place[0] - 1]
            # Columns of the parser are bytes; a line that is not ASCII is left alone.
            if not line.isascii() or line.strip().startswith(('"', "'", "import", "from")):
                continue
            begin = line.find(old, place[1])
            if begin < 0:
                continue
            changed = line[:begin] + new + line[begin + len(old) :]
            if len(old.strip()) and text.splitlines().count(line) == 1:
                yield WrongChange(name, place[0], line, changed)


def _edits(node: ast.AST, text: str) -> Iterator[tuple[tuple[int, int], str, str]]:
    """Where to look on which line, and what becomes what."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        sign = _COMPARISONS.get(type(node.ops[0]))
        yield from _between(text, node.left, node.comparators[0], sign)
    elif isinstance(node, ast.BinOp):
        yield from _between(text, node.left, node.right, _OPERATIONS.get(type(node.op)))
    elif isinstance(node, ast.BoolOp):
        other = "or" if isinstance(node.op, ast.And) else "and"
        yield from _between(text, node.values[0], node.values[1], other)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield (node.lineno, node.col_offset), "not ", ""
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _OTHER_NAMES:
        yield (node.lineno, node.col_offset), f"{node.func.id}(", f"{_OTHER_NAMES[node.func.id]}("
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield (node.lineno, node.col_offset), str(node.value), str(not node.value)
    elif isinstance(node, ast.Constant) and type(node.value) is int and 0 <= node.value < 1000:
        yield (node.lineno, node.col_offset), str(node.value), str(node.value + 1)


def _between(
    text: str, left: ast.expr, right: ast.expr, sign: str | None
) -> Iterator[tuple[tuple[int, int], str, str]]:
    """The sign between two operands of one line, without parentheses, becomes another."""
    line, begin = left.end_lineno, left.end_col_offset
    if sign is None or line is None or begin is None or line != right.lineno:
        return
    between = text.splitlines()[line - 1][begin : right.col_offset]
    if not set("()") & set(between):
        yield (line, begin), between, f" {sign} "


def tests_of(root: Path, file: str) -> list[str]:
    """The folders of tests of the room that the file is in."""
    parts = file.split("/")
    room = "/".join(parts[:2]) if len(parts) > 2 else parts[0]
    wanted = [f"tests/{room}"]
    for place, more in _MORE_TESTS.items():
        if file.startswith(place):
            wanted += more
    there = [folder for folder in wanted if (root / folder).exists()]
    return there or [f"tests/{parts[0]}"]


def _nearest_first(root: Path, folders: Sequence[str], file: str) -> list[str]:
    """The folders, and before them the tests that have the name of the file, which notice most at once."""
    nearest = [
        path.relative_to(root).as_posix()
        for folder in folders
        for path in sorted((root / folder).rglob(f"test_{Path(file).stem.lstrip('_')}.py"))
    ]
    return [*nearest, *folders]


class Copy:
    """A copy of a checkout in which changes are made and tests are run."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root, folder
        ignored = shutil.ignore_patterns(
            ".git", ".venv*", "build", "node_modules", "__pycache__", ".*_cache", ".hypothesis"
        )
        shutil.copytree(root, folder, symlinks=True, ignore=ignored)
        self._environment = {**os.environ, "PYTHONPATH": str(folder)}
        self._import_from_here()
        self._passes: dict[tuple[str, ...], bool] = {}

    def _import_from_here(self) -> None:
        """Makes the copy what its tests import, with compiled modules, and makes sure of that.

        An editable install imports the checkout, whatever the path says, by a module that is read at the
        start of Python: an empty one of that name is here, and comes first.
        """
        (packages,) = (self.root / ".venv").glob("lib/python*/site-packages")
        for hook in packages.glob("_editable_*memstow*.py"):
            (self.folder / hook.name).write_text("")
        for compiled in (packages / "memstow").rglob("*.so"):
            shutil.copy(compiled, self.folder / "memstow" / compiled.relative_to(packages / "memstow"))
        script = "import memstow.api, memstow.planner, memstow.solvers as solvers; print(solvers.__file__)"
        file = subprocess.run(
            [self._python, "-c", script],
            cwd=self.folder.parent,
            env=self._environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout.strip()
        if not Path(file).resolve().is_relative_to(self.folder.resolve()):
            raise RuntimeError(f"Tests in {self.folder} would import {file}, which is not changed")

    @property
    def _python(self) -> str:
        return str(self.root / ".venv" / "bin" / "python")

    def catches(self, change: WrongChange, seconds: float) -> str:
        """`caught`, `survived`, `hung`, which a test run would notice as well, or `untried`."""
        folders = tests_of(self.folder, change.file)
        if not self._pass(folders, seconds):
            return "untried"
        path = self.folder / change.file
        text = path.read_text()
        lines = text.splitlines(keepends=True)
        lines[change.line - 1] = change.new + "\n"
        path.write_text("".join(lines))
        try:
            return self._run(_nearest_first(self.folder, folders, change.file), seconds)
        finally:
            path.write_text(text)

    def _pass(self, folders: Sequence[str], seconds: float) -> bool:
        """Whether these tests pass without any change."""
        key = tuple(folders)
        if key not in self._passes:
            self._passes[key] = self._run(folders, seconds) == "survived"
        return self._passes[key]

    def _run(self, folders: Sequence[str], seconds: float) -> str:
        command = [
            self._python,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            *folders,
        ]
        with subprocess.Popen(
            command,
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as run:
            try:
                code = run.wait(seconds)
            except subprocess.TimeoutExpired:
                return "hung"
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(run.pid, signal.SIGKILL)
        return "survived" if code == 0 else "caught"


def in_version(change: WrongChange, root: Path) -> WrongChange | None:
    """The same wrong change in another checkout, where its line stands in one place."""
    places = []
    for room in _ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            line = change.is_of(path.read_text())
            if line is not None:
                places.append((path, line))
    if len(places) != 1:
        return None
    path, line = places[0]
    old = path.read_text().splitlines()[line - 1]
    indentation = old[: len(old) - len(old.lstrip())]
    return WrongChange(path.relative_to(root).as_posix(), line, old, indentation + change.new.strip())


def main(arguments: list[str] | None = None) -> int:
    """1 where a change survives that was caught before."""
    parser = argparse.ArgumentParser(prog="python -m tests.wrong_changes", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="how many (default: 200)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", default="1/1", metavar="K/N", help="every Nth only, from the Kth on")
    parser.add_argument(
        "--seconds", type=float, default=300.0, help="limit of one run of tests (default: 300)"
    )
    parser.add_argument("--before", type=Path, help="another checkout, with its .venv")
    parser.add_argument("--folder", type=Path, required=True, help="an empty folder for the copies")
    parser.add_argument("--output", type=Path, help="write a JSON line for each change")
    options = parser.parse_args(arguments)
    part, parts = (int(number) for number in options.part.split("/"))
    changes = wrong_changes(_ROOT, options.seed, options.count)[part - 1 :: parts]
    here = Copy(_ROOT, options.folder / "here")
    before = None if options.before is None else Copy(options.before, options.folder / "before")
    lost = 0
    totals: dict[str, int] = {}
    for change in changes:
        verdict = here.catches(change, options.seconds)
        earlier = None
        if verdict == "survived" and before is not None:
            same = in_version(change, options.before)
            earlier = "elsewhere" if same is None else before.catches(same, options.seconds)
            lost += earlier in ("caught", "hung")
        totals[verdict] = totals.get(verdict, 0) + 1
        line = json.dumps(
            {
                "file": change.file,
                "line": change.line,
                "new": change.new.strip(),
                "here": verdict,
                "before": earlier,
            }
        )
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
        if options.output is not None:
            with options.output.open("a") as lines:
                lines.write(line + "\n")
    sys.stdout.write(f"{len(changes)} wrong changes: {totals}; caught before and not now: {lost}\n")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
