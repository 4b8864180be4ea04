"""Copies of the sample firmware, and the tools that build it."""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.planner.exports.toolchains import attempt, run

ROOT = Path(__file__).parents[2]
# The board of examples/corstone300: options of its compiler, and the machine that QEMU has of it.
CPU = ("-mcpu=cortex-m55+nofp+nomve", "--specs=rdimon.specs", "-nostartfiles")
MACHINE = ("-M", "mps3-an547", "-nographic", "-semihosting-config", "enable=on,target=native")


def environment() -> dict[str, str]:
    """The environment with the memstow of these tests first on the PATH."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def tool(name: str) -> str:
    """The path of a tool; the test is skipped where it is missing. What has a folder is what was built."""
    if "/" in name:
        return name
    path = shutil.which(name, path=environment()["PATH"])
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


@dataclass(frozen=True)
class Sample:
    """A copy of the sample firmware."""

    folder: Path

    def run(self, *command: str) -> str:
        """Run a command that must succeed."""
        return run(self.folder, tool(command[0]), *command[1:], env=environment())

    def fail(self, *command: str, path: str | None = None) -> str:
        """Run a command that must fail, and return what it said; `path` is for the PATH it has."""
        env = environment() if path is None else {**environment(), "PATH": path}
        ran = attempt(self.folder, tool(command[0]), *command[1:], env=env)
        assert ran.returncode != 0, ran.stdout
        return ran.stdout + ran.stderr

    def change(self, file: str = "net.json", before: str = '"size": 256', after: str = '"size": 320') -> None:
        """Change a file of the sample, and make it younger than what was built."""
        path = self.folder / file
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after))
        self.touch(file)

    def touch(self, file: str = "net.json") -> None:
        """Make a file younger than all that was built."""
        newest = max(path.stat().st_mtime_ns for path in self.folder.rglob("*") if path.is_file())
        os.utime(self.folder / file, ns=(newest + 1_000_000, newest + 1_000_000))

    def times(self, *patterns: str) -> dict[str, int]:
        """When files were written, by name."""
        return {
            str(path.relative_to(self.folder)): path.stat().st_mtime_ns
            for pattern in patterns
            for path in self.folder.rglob(pattern)
        }


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    """A copy that may be built and changed."""
    folder = tmp_path / "a firmware"
    shutil.copytree(ROOT / "examples" / "firmware", folder, ignore=shutil.ignore_patterns("build"))
    return Sample(folder)
