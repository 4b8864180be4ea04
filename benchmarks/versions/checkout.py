"""A checkout of the project, with the environment that `make install` has made in it, and what runs there."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.process import Ran, run

_WHERE: Final = "import memstow; print(memstow.__file__)"
_PLANNED: Final = Path(__file__).with_name("planned.py")
# A process that does not end is not waited for all night.
LONGEST: Final = 900.0
# Of the words of a process that failed, a table has room for so many characters.
_MOST_SAID: Final = 150


class FailedError(Exception):
    """A checkout cannot do what is to be measured; the text says why."""


@dataclass(frozen=True)
class Checkout:
    """One of the two versions."""

    folder: Path

    @property
    def python(self) -> str:
        """Its interpreter."""
        return str(self.folder / ".venv" / "bin" / "python")

    @property
    def memstow(self) -> str:
        """Its command."""
        return str(self.folder / ".venv" / "bin" / "memstow")

    def check(self) -> None:
        """FailedError unless it is installed, and what it imports is its own code."""
        if not Path(self.python).exists():
            raise FailedError(f"{self.folder} is not installed; run `make -C {self.folder} install`")
        imported = Path(self.run(self.python, "-P", "-c", _WHERE).out.decode().strip())
        if not imported.resolve().is_relative_to(self.folder.resolve()):
            raise FailedError(f"the Python of {self.folder} imports another memstow: {imported}")

    def commit(self) -> str:
        """What is checked out, and of when."""
        asked = ["git", "-C", str(self.folder), "log", "-1", "--format=%h of %cs"]
        told = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
        return told or "no commit"

    def run(self, *words: str | Path, most_seconds: float = LONGEST) -> Ran:
        """Run a program of this checkout to its end; FailedError where it fails or takes too long."""
        ran = run(*words, folder=self.folder, most_seconds=most_seconds)
        if ran.code != 0:
            raise FailedError(_why(ran, most_seconds))
        return ran

    def solve(self, *words: str | Path) -> Ran:
        """`memstow solve` as a process."""
        return self.run(self.memstow, "solve", *words)

    def plan(self, problem: Path, **options: object) -> dict[str, Any]:
        """What `memstow.plan` finds with these options, in a process of its own: see planned.py."""
        # Without its folder before others on the path: there are modules with common names.
        ran = self.run(self.python, "-P", _PLANNED, problem, json.dumps(options))
        told: dict[str, Any] = json.loads(ran.out)
        return told


def _why(ran: Ran, most_seconds: float) -> str:
    if ran.seconds >= most_seconds:
        return f"not done in {most_seconds:g} s"
    lines = [line.strip() for line in ran.err.decode(errors="replace").splitlines() if line.strip()]
    said = lines[-1] if lines else "without a word"
    return f"exit code {ran.code}: {said[:_MOST_SAID]}"
