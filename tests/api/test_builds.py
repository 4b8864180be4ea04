"""What builds do with a server: the lines of the docs leave a plan, or fail and leave nothing."""

import json
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from benchmarks.servers import free_port
from tests.api.http.conftest import hard
from tests.api.http.test_plan import TOO_SMALL, tight
from tests.api.serving import ROOT, Server
from tests.examples.building import environment
from tests.waiting import PATIENCE

SERVICE = (ROOT / "docs" / "service.md").read_text()
INTEGRATIONS = (ROOT / "docs" / "integrations.md").read_text()
FIRMWARE = json.loads((ROOT / "examples" / "firmware" / "net.json").read_text())
# Its plan is found by a search that takes longer than the server lets a request wait.
LONG = {"problem": hard(400, 5), "options": {"work_limit": 400_000_000}}


def _block(language: str) -> str:
    (block,) = re.findall(rf"^```{language}\n(.*?)^```", SERVICE, re.MULTILINE | re.DOTALL)
    return str(block)


@dataclass(frozen=True)
class Build:
    """Something that docs have builds do: its file, the command, and what that writes."""

    files: dict[str, str]
    command: str
    written: tuple[str, ...]


def _curl_lines() -> dict[str, Build]:
    """The commands of the docs that write a plan of a problem in JSON by curl."""
    lines = re.findall(r"^\$ (curl .*)$", SERVICE + INTEGRATIONS, re.MULTILINE)
    written = [(line, re.search(r" -o (\S+)$", line)) for line in lines]
    return {
        f"curl, {name[1]}": Build({}, re.sub(r"@\S+\.json", "@net.json", line), (name[1],))
        for line, name in written
        if name is not None and "application/json" in line
    }


def _bazel() -> Build:
    """The rule as Bazel would run it: its command, with the names of files put in."""
    command = "".join(re.findall(r'"(.*?)"', _block("starlark").split("cmd = ")[1].split("tags")[0]))
    return Build({}, command.replace("$<", "net.json").replace("$@", "net.h"), ("net.h",))


BUILDS = {
    **_curl_lines(),
    "make": Build({"Makefile": _block("make")}, "make --keep-going", ("net.h", "net.c")),
    "bazel": _bazel(),
}
TOOLS = ("curl", "make", "cc")


@pytest.fixture(scope="module", autouse=True)
def _tools() -> None:
    for name in TOOLS:
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not here")


@pytest.fixture(scope="module")
def working(shared_server: Server) -> Server:
    """A server as it comes."""
    return shared_server


@pytest.fixture(scope="module")
def hurried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that lets nobody wait for long."""
    server = Server(tmp_path_factory.mktemp("hurried") / "data").start(sync_seconds=0.1)
    yield server
    server.kill()


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that runs no jobs, and has room for the jobs of these tests."""
    server = Server(tmp_path_factory.mktemp("idle") / "data").start(slots=0, sync_seconds=0.1)
    yield server
    server.kill()


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a full queue."""
    server = Server(tmp_path_factory.mktemp("full") / "data").start(slots=0, max_queued=1)
    with server.client() as client:
        client.post("/v1/jobs", json={"problem": FIRMWARE}).raise_for_status()
    yield server
    server.kill()


def _attempt(
    build: Build, folder: Path, url: str, body: Any, tries: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run a build on this body at a server."""

    def for_server(text: str) -> str:
        text = re.sub(r"(http://)?localhost:8080", url, text)
        return re.sub(r"--retry \d+ ", f"--retry {tries} " if tries else "", text)

    folder.mkdir(exist_ok=True)
    (folder / "net.json").write_text(body if isinstance(body, str) else json.dumps(body))
    for name, content in build.files.items():
        (folder / name).write_text(for_server(content))
    return subprocess.run(
        ["bash", "-c", for_server(build.command)],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


CASES: dict[str, tuple[str, Any]] = {
    "nothing fits": ("working", TOO_SMALL),
    "nothing was found": (
        "working",
        {"problem": tight(), "options": {"solver": "first-fit", "deterministic": True}},
    ),
    "it takes longer": ("idle", LONG),
    "it may take longer": ("idle", {**LONG, "options": {"time_limit": 3600.0}}),
    "the queue is full": ("full", LONG),
    "no JSON": ("working", '{"version": 1, "buffers": ['),
    "a wrong problem": ("working", {**FIRMWARE, "buffers": [{"id": "a", "size": -1}]}),
    "a wrong option": ("working", {"problem": FIRMWARE, "options": {"solver": "nobody"}}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", BUILDS)
def test_without_a_plan_a_build_fails_and_leaves_nothing(
    name: str, case: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    which, body = CASES[case]
    server: Server = request.getfixturevalue(which)
    build = BUILDS[name]
    for _ in range(2):
        # The second time, too: nothing is there that a build would take for made.
        ran = _attempt(build, tmp_path / "a build", server.url, body)
        assert ran.returncode != 0, ran.stdout
        assert "requested URL returned error: 4" in ran.stderr or "returned error: 503" in ran.stderr
        left = {file.name for file in (tmp_path / "a build").iterdir()}
        assert left == {"net.json", *build.files}


@pytest.mark.parametrize("name", BUILDS)
def test_without_a_server_a_build_fails_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    ran = _attempt(BUILDS[name], tmp_path / "a build", f"http://127.0.0.1:{free_port()}", FIRMWARE)
    assert ran.returncode != 0, ran.stdout
    assert {file.name for file in (tmp_path / "a build").iterdir()} == {"net.json", *BUILDS[name].files}


@pytest.mark.parametrize("name", ["make", "bazel"])
def test_a_build_that_is_patient_gets_the_plan(name: str, tmp_path: Path, hurried: Server) -> None:
    # Each its own, that none is in the cache.
    build, body = BUILDS[name], {**LONG, "options": {**LONG["options"], "seed": len(name)}}
    first = _attempt(build, tmp_path, hurried.url, body)
    assert "returned error: 503" in first.stderr, "one try is not enough"
    ran = _attempt(build, tmp_path, hurried.url, body, tries=100)
    assert ran.returncode == 0, ran.stderr
    _compiles(tmp_path, build.written)


@pytest.mark.parametrize("name", BUILDS)
def test_what_a_build_gets_compiles(name: str, tmp_path: Path, working: Server) -> None:
    ran = _attempt(BUILDS[name], tmp_path, working.url, FIRMWARE)
    assert ran.returncode == 0, ran.stderr
    _compiles(tmp_path, BUILDS[name].written)


def _compiles(folder: Path, names: tuple[str, ...]) -> None:
    for name in names:
        if name.endswith(".c") and "net.h" not in names:
            continue  # Its header is written by another line.
        compiled = subprocess.run(
            ["cc", "-std=c11", "-fsyntax-only", "-x", "c", name], cwd=folder, capture_output=True, check=False
        )
        assert compiled.returncode == 0, compiled.stderr


def test_a_lost_connection_leaves_nothing(tmp_path: Path, working: Server) -> None:
    """Half of a header is no header: the connection ends before all of the answer is there."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def half() -> None:
            for _ in range(2):
                connection, _address = listening.accept()
                with connection:
                    connection.recv(1 << 16)
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n#define NET_")

        thread = threading.Thread(target=half, daemon=True)
        thread.start()
        ran = _attempt(BUILDS["make"], tmp_path, f"http://127.0.0.1:{listening.getsockname()[1]}", FIRMWARE)
        thread.join(PATIENCE)
    assert ran.returncode != 0
    assert {file.name for file in tmp_path.iterdir()} == {"net.json", "Makefile"}
    assert _attempt(BUILDS["make"], tmp_path, working.url, FIRMWARE).returncode == 0


def test_the_lines_of_the_docs_are_among_these() -> None:
    """A line that writes a plan to a file by curl fails with the server, and cleans up."""
    lines = re.findall(r"^\$ (curl .*)$", SERVICE + INTEGRATIONS, re.MULTILINE)
    writing = [line for line in lines if "output_format=" in line and "/v1/plan?" in line]
    assert len(writing) > 5
    for line in writing:
        if "output_format=csv" in line and " -o " not in line:
            continue  # It shows the plan.
        assert line.startswith("curl -fsS --remove-on-error "), line
        assert re.search(r" -o \S+$", line), line


def _cmake_attempt(folder: Path, url: str, csv: str) -> subprocess.CompletedProcess[str]:
    code = _block("cmake").replace("http://localhost:8080", url)
    (folder / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.20)\nproject(p NONE)\n{code}")
    (folder / "two.csv").write_text(csv)
    subprocess.run(
        ["cmake", "-S", ".", "-B", "build"], cwd=folder, check=True, capture_output=True, env=environment()
    )
    return subprocess.run(
        ["cmake", "--build", "build"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env=environment(),
    )


@pytest.mark.parametrize(
    ("which", "csv"),
    [
        ("working", "id,lower,upper,size\na,0,2,-64\n"),
        ("working", "id,lower,upper,offset\na,0,2,64\n"),
        (None, "id,lower,upper,size\na,0,2,64\n"),
    ],
    ids=["a wrong size", "no sizes", "no server"],
)
def test_the_example_for_cmake_fails_and_leaves_nothing(
    which: str | None, csv: str, tmp_path: Path, request: pytest.FixtureRequest, server: Server
) -> None:
    if shutil.which("cmake", path=environment()["PATH"]) is None:
        pytest.skip("cmake is not here")
    if which is None:
        url = server.start().url
        server.kill()
    else:
        url = request.getfixturevalue(which).url
    for _ in range(2):
        ran = _cmake_attempt(tmp_path, url, csv)
        assert ran.returncode != 0, ran.stdout
        assert not (tmp_path / "build" / "plan.csv").exists()


def test_a_plan_that_is_on_the_way_says_where_its_job_is(idle: Server) -> None:
    response = httpx2.post(f"{idle.url}/v1/plan?deterministic=true&output_format=ld", json=LONG)
    assert (response.status_code, response.headers["content-type"]) == (503, "application/problem+json")
    assert httpx2.get(f"{idle.url}{response.headers['location']}").json()["state"] == "queued"
