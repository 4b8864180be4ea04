"""What the tests of the command line share: a problem on disk and a way to run a command line."""

import json
import subprocess
import sys
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from memstow.api.cli.main import main
from tests.api.cli import fakes
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[3]


THREE = {
    "version": 1,
    "name": "three",
    "buffers": [
        {"id": "a", "size": 100, "lifetime": [0, 2]},
        {"id": "b", "size": 50, "lifetime": [1, 3]},
        {"id": "c", "size": 100, "lifetime": [2, 4]},
    ],
}


@dataclass(frozen=True)
class Ran:
    """What a command line did."""

    code: int
    out: str
    err: str


Cli = Callable[..., Ran]


def _look(address: str) -> bool:
    """A browser that shows a page and is closed again, after which nobody needs the file."""
    Path(url2pathname(urlsplit(address).path)).unlink()
    return True


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Runs a command line in this process."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(webbrowser, "open", _look)

    def run(*arguments: str | Path) -> Ran:
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """A problem of three buffers."""
    path = tmp_path / "three.json"
    path.write_text(json.dumps(THREE))
    return path


@pytest.fixture
def engine() -> Iterator[fakes.FakeEngine]:
    """A fake engine in place of the real one."""
    with fakes.fake_engine(fakes.FakeEngine()) as fake:
        yield fake


def door(lasting: str, *arguments: str | Path, **options: object) -> "subprocess.Popen[bytes]":
    """The console script in a process of its own, with a fake engine that takes so long."""
    command = [sys.executable, "-m", "tests.api.cli.door", lasting, *map(str, arguments)]
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": ROOT, **options}
    return subprocess.Popen(command, **given)  # type: ignore[call-overload, no-any-return]


def script(*arguments: str | Path, data: bytes | None = None) -> "subprocess.CompletedProcess[bytes]":
    """The console script itself, in a process of its own."""
    command = [sys.executable, "-m", "memstow.api.cli.main", *map(str, arguments)]
    return subprocess.run(command, input=data, capture_output=True, cwd=ROOT, timeout=PATIENCE, check=False)
