"""Plug-ins in folders of their own, as an installer leaves them there, without one and without a network."""

import shutil
import textwrap
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEMPLATES = {"solver": ROOT / "examples" / "plugin-solver", "format": ROOT / "examples" / "plugin-format"}


class Plugins:
    """A folder on the path for imports, in which packages are installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(self, package: str, group: str, name: str, source: str, kind: str = "Plugin") -> None:
        """A package of one module with this source, whose entry point `name` is what `kind` says there."""
        module = package.replace("-", "_")
        (self.folder / f"{module}.py").write_text(textwrap.dedent(source))
        self._describe(package, "1.0", {group: {name: f"{module}:{kind}"}})

    def solver(self, name: str, solve: str, more: str = "", before: str = "") -> None:
        """A solver that solves so: the body of its method."""
        source = (
            f"{HEAD}{textwrap.dedent(before)}\nclass Plugin:\n    summary, supports = 'of a test', 'all'\n"
        )
        source += textwrap.indent(textwrap.dedent(more), "    ")
        source += "\n    def solve(self, problem, search):\n"
        source += textwrap.indent(textwrap.dedent(solve).strip("\n"), 8 * " ") + "\n"
        self.install(f"test-{name}", "memstow.solvers", name, source)

    def template(self, kind: str) -> Path:
        """The example of this kind, as its pyproject.toml says."""
        source = TEMPLATES[kind]
        project = tomllib.loads((source / "pyproject.toml").read_text())
        for module in project["tool"]["setuptools"]["py-modules"]:
            shutil.copy(source / f"{module}.py", self.folder)
        about = project["project"]
        self._describe(about["name"], about["version"], about["entry-points"])
        return source

    def _describe(self, package: str, version: str, groups: dict[str, dict[str, str]]) -> None:
        folder = self.folder / f"{package.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
        lines = [
            f"[{group}]\n{name} = {place}\n"
            for group, names in groups.items()
            for name, place in names.items()
        ]
        (folder / "entry_points.txt").write_text("".join(lines))


HEAD = """
import ctypes, os, signal, subprocess, sys, threading, time
import memstow
from memstow import Placement, Plan, Status

def stacked(problem, gap=0):
    places, top = [], 0
    for buffer in problem.buffers:
        top = -(-top // buffer.alignment) * buffer.alignment
        places.append(Placement(buffer=buffer.id, pool=problem.pools[0].id, offset=top))
        top += buffer.size + gap
    return Plan(status=Status.FEASIBLE, placements=places)
"""
"""What the modules of tests begin with."""
PROVING = """
import tempfile
from dataclasses import replace

def proven(search, problem, **limits):
    best = memstow.plan(problem, memstow.Options(**limits))
    bare = Plan(status=best.status if best.status is Status.INFEASIBLE else Status.FEASIBLE,
                placements=best.placements)
    with tempfile.TemporaryDirectory() as folder:
        assert memstow.prove(search.document, best, folder + "/proof") is not None
        with open(folder + "/proof", "rb") as file:
            return bare, file.read()
"""
"""What a plug-in has that finds a best plan and proves it."""


def plugins_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Plugins:
    """The folder, made, with plug-ins on the path until the test ends."""
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    # Child processes of tests that start `memstow` get it by their environment.
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return Plugins(folder)
