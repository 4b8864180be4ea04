"""docs/scale.md sets up a cluster by commands that work, and names what there is."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import httpx2
import pytest

from benchmarks.servers import free_port
from memstow.api.http.settings import Settings
from tests.api.asking import over, submit
from tests.api.http.conftest import hard
from tests.api.serving import ROOT
from tests.waiting import PATIENCE, wait_for

PAGE = (ROOT / "docs" / "scale.md").read_text()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_the_commands_set_up_a_cluster(stack: ExitStack, tmp_path: Path) -> None:
    if find_spec("distributed") is None:
        pytest.skip("needs Dask: pip install 'memstow[dask]'")
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    scheduler, port = free_port(), free_port()
    for line in block.splitlines():
        here = line.replace("scheduler:8786", f"127.0.0.1:{scheduler}").replace("8786", str(scheduler))
        program, *arguments = shlex.split(here.replace("8080", str(port)))
        module = {"dask": "dask", "memstow": "memstow.api.cli.main"}[program]
        started = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=tmp_path,
            env={"PATH": "", "PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "TMPDIR": str(tmp_path)},
        )
        stack.callback(started.wait, PATIENCE)
        stack.callback(started.kill)

    def ready() -> bool:
        try:
            return httpx2.get(f"http://127.0.0.1:{port}/readyz").status_code == 200
        except httpx2.TransportError:
            return False

    wait_for(ready, "the server and its cluster")
    with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE) as client:
        excess = over(client, submit(client, hard(600, 41), time_limit=0.5))
        assert (excess["state"], excess["error"]) == ("done", None)


def test_the_settings_it_names_are_there() -> None:
    named = set(re.findall(r"MEMSTOW_(\w+)", PAGE))
    assert {name.lower() for name in named} <= Settings.model_fields.keys()
    assert {"EXECUTOR", "SCHEDULER"} <= named
    output = {
        "slots",
        "solve_memory",
        "lease_seconds",
        "max_attempts",
        "keep_seconds",
        "max_queued",
        "key_running",
    }
    assert all(f"`{name}`" in PAGE for name in output)
    assert output <= Settings.model_fields.keys()


def test_other_pages_lead_there() -> None:
    for page in ("README.md", "docs/service.md", "docs/cli.md", "docs/architecture.md"):
        assert "scale.md" in (ROOT / page).read_text(), page
