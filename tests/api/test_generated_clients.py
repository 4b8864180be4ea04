"""Clients that generators make of the OpenAPI document: they plan, wait for a job and read a front."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from memstow.api.http.app import create_app
from memstow.api.http.settings import Settings
from tests.api.serving import ROOT, Server
from tests.examples.building import environment
from tests.waiting import PATIENCE

pytestmark = pytest.mark.campaign

PROGRAMS = ROOT / "examples" / "clients"
SECTION = (
    (ROOT / "docs" / "service.md").read_text().split("## Clients in other languages\n")[1].split("\n## ")[0]
)
BLOCKS = re.findall(r"^```sh\n(.*?)^```", SECTION, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def operations() -> list[str]:
    paths = create_app(Settings()).openapi()["paths"]
    return [entry["operationId"] for path in paths.values() for entry in path.values()]


@pytest.fixture(scope="module")
def running(shared_server: Server) -> Server:
    return shared_server


def _require(*programs: str, module: str | None = None) -> None:
    for name in programs:
        if shutil.which(name, path=environment()["PATH"]) is None:
            pytest.skip(f"{name} is not installed")
    if module is not None and importlib.util.find_spec(module) is None:
        pytest.skip(f"needs {module.replace('_', '-')}: pip install {module.replace('_', '-')}")


def _run(folder: Path, block: str, server: Server, **more: str) -> str:
    """Run lines of the docs beside the programs, and return what was said."""
    shutil.copytree(PROGRAMS, folder, dirs_exist_ok=True)
    script = re.sub(r"(http://)?localhost:8080", server.url, block)
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=environment() | {"PYTHONPATH": str(folder), **more},
        capture_output=True,
        text=True,
        timeout=PATIENCE * 2,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-4000:]
    said = ran.stdout + ran.stderr
    assert "plan optimal 3000000064\n" in said
    assert re.search(r"^job from (python|typescript|go) optimal 3000000064$", said, re.MULTILINE)
    assert re.search(r"^front 0 64$", said, re.MULTILINE)
    return said


def test_python(running: Server, operations: list[str], tmp_path: Path) -> None:
    _require("curl", "openapi-python-client")
    said = _run(tmp_path, BLOCKS[0], running)
    assert "Endpoint will not be generated" not in said
    assert "removal" not in said
    # Of bodies that are not JSON, and of archives, which are there as bytes.
    warned = set(re.findall(r"^WARNING parsing .*\n\n(.*)$", said, re.MULTILINE))
    of_types = re.compile(r"Unsupported content type |.*\(Unsupported content_type application/zip\)")
    assert {entry for entry in warned if not of_types.match(entry)} == {"Missing schema"}
    made = {file.stem for file in (tmp_path / "planner" / "api").rglob("*.py")}
    assert set(operations) <= made


def test_typescript(running: Server, tmp_path: Path) -> None:
    _require("curl", "node", "npm")
    reached = subprocess.run(
        ["npm", "ci", "--no-audit", "--no-fund"],
        cwd=shutil.copytree(PROGRAMS, tmp_path / "installed"),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if reached.returncode:
        pytest.skip(f"npm cannot install openapi-typescript: {reached.stderr[-300:]}")
    _run(tmp_path / "installed", BLOCKS[1].replace("npm ci\n", ""), running)


def test_go(running: Server, operations: list[str], tmp_path: Path) -> None:
    _require("curl", "java", "go", module="openapi_generator_cli")
    said = _run(
        tmp_path, BLOCKS[2], running, GOPROXY="off", GOFLAGS="-mod=mod", GOCACHE=str(tmp_path / "cache")
    )
    made = "".join(file.read_text() for file in (tmp_path / "planner").glob("api_*.go"))
    for name in operations:
        assert f") {''.join(part.capitalize() for part in name.split('_'))}(ctx" in made, name
    assert "not yet supported" not in said
