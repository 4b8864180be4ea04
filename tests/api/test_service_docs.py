"""docs/service.md says what is so: its examples run, and every operation is there."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from benchmarks.servers import free_port
from memstow.api.http.app import create_app
from memstow.api.http.settings import Settings
from tests.api.serving import ROOT, Server
from tests.person_model import person_model
from tests.waiting import PATIENCE, wait_for

PAGE = (ROOT / "docs" / "service.md").read_text()


def blocks(language: str) -> list[str]:
    """The blocks of the page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("docs") / "data").start()
    yield server
    server.kill()


def test_the_examples_run(running: Server, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not here")
    (tmp_path / "person.tflite").write_bytes(person_model())
    address = running.url.removeprefix("http://")
    lines = [line[2:] for line in re.findall(r"^\$ .*$", PAGE, re.MULTILINE)]
    assert len(lines) > 20
    script = "\n".join(line.replace("localhost:8080", address) + "; echo" for line in lines)
    script = re.sub(r"(= ?|=)\$\((.*)\); echo", r"=$(\2)", script).replace("curl -s ", "curl -sS ")
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    assert ran.stdout.count('"instance": "urn:memstow:request:') == 1, "one example is of an error"
    assert '"valid": true' in ran.stdout
    assert "\nport = 9000\n" in ran.stdout
    assert "\nsync_seconds = 10.0\n" in ran.stdout
    assert "event: done" in ran.stdout
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert plan["status"] == "optimal"


def test_the_examples_for_operators_run(tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not here")
    (block,) = (block for block in blocks("sh") if "/v1/keys" in block)
    data = tmp_path / "data"
    create = ["keys", "create", "--name", "operator", "--role", "admin", "--data", str(data)]
    made = subprocess.run(
        [sys.executable, "-m", "memstow.api.cli.main", *create], check=True, capture_output=True, text=True
    )
    server = Server(data).start()
    try:
        script = block.replace("localhost:8080", server.url.removeprefix("http://"))
        script = re.sub(r"^(curl -s) (.*)$", r"\1Sf \2; echo", script, flags=re.MULTILINE)
        ran = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=tmp_path,
            env=os.environ | {"MEMSTOW_KEY": made.stdout.strip()},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    finally:
        server.kill()
    assert (ran.returncode, ran.stderr) == (0, "")
    answers = [json.loads(line) for line in ran.stdout.splitlines() if line]
    assert len(answers) == block.count("curl ") - 1, "one is in a file"
    assert answers[-1]["draining"] is True


def test_the_receiver_of_callbacks_takes_what_is_signed_and_nothing_else(
    server: Server, tmp_path: Path
) -> None:
    if shutil.which("curl") is None or shutil.which("openssl") is None:
        pytest.skip("curl or openssl is not here")
    operations = (ROOT / "docs" / "operations.md").read_text()
    (make_secret,) = re.findall(r"^\(umask .*> callback.secret\)$", operations, re.MULTILINE)
    subprocess.run(["bash", "-euo", "pipefail", "-c", make_secret], cwd=tmp_path, check=True)
    secret = tmp_path / "callback.secret"
    assert secret.stat().st_mode & 0o077 == 0
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    (code,) = (block for block in blocks("python") if "BaseHTTPRequestHandler" in block)
    (tmp_path / "receiver.py").write_text(code.replace("9090", str(port)))
    environment = os.environ | {"CALLBACK_SECRET": secret.read_text().strip()}
    with subprocess.Popen(
        [sys.executable, "receiver.py"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as receiver:
        try:
            wait_for(lambda: answers(url), "the receiver")
            forged = {"webhook-id": "1", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA"}
            assert httpx2.post(url, content=b"{}", headers=forged).status_code == 401
            server.start(callback_allow=url, callback_secret=secret, callback_networks="127.0.0.1")
            with server.client() as client:
                (tmp_path / "first.json").write_text(client.get("/v1/examples/first").text)
                (command,) = (block for block in blocks("sh") if "?callback=" in block)
                command = command.replace("localhost:8080", server.url.removeprefix("http://"))
                command = command.replace("https://builds.example.com", url)
                ran = subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True, capture_output=True)
                job = json.loads(ran.stdout)["id"]
                wait_for(
                    lambda: client.get(f"/v1/jobs/{job}").json()["callback"]["state"] == "delivered",
                    "the callback",
                )
        finally:
            receiver.kill()
        assert receiver.stdout is not None
        assert receiver.stdout.read().decode() == f"job.done {job}\n"


def answers(url: str) -> bool:
    try:
        return httpx2.get(url).status_code == 501
    except httpx2.TransportError:
        return False


def test_the_first_problem_is_one_everywhere(running: Server) -> None:
    (written,) = re.findall(
        r"cat > first.json <<'END'\n(.*?)^END$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )
    assert httpx2.get(f"{running.url}/v1/examples/first").json() == json.loads(written)


def test_what_the_readme_sends_gets_a_plan(running: Server, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not here")
    readme = (ROOT / "README.md").read_text()
    (written,) = re.findall(r"cat > first.json <<'END'\n(.*?)^END$", readme, re.MULTILINE | re.DOTALL)
    (tmp_path / "first.json").write_text(written)
    (line,) = re.findall(r"^curl .*$", readme, re.MULTILINE)
    line = line.replace("localhost:8080", running.url.removeprefix("http://"))
    ran = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert json.loads(ran.stdout)["status"] == "optimal"


def test_the_library_example_runs(running: Server) -> None:
    (code,) = (block for block in blocks("python") if "Client(" in block)
    exec(code.replace("http://localhost:8080", running.url), {})


def test_the_cmake_example_runs(running: Server, tmp_path: Path) -> None:
    cmake = shutil.which("cmake")
    memstow = shutil.which("memstow")
    if cmake is None or memstow is None:
        pytest.skip("cmake or memstow is not on the path")
    (code,) = re.findall(r"^```cmake\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    code = code.replace("http://localhost:8080", running.url)
    (tmp_path / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.20)\nproject(p NONE)\n{code}")
    (tmp_path / "two.csv").write_text("id,lower,upper,size\na,0,2,64\nb,1,3,64\n")
    for arguments in (["-S", ".", "-B", "build"], ["--build", "build"]):
        subprocess.run([cmake, *arguments], cwd=tmp_path, check=True, capture_output=True, timeout=PATIENCE)
    assert (tmp_path / "build" / "plan.csv").read_text().startswith("id,")


def test_every_operation_is_documented() -> None:
    for path in create_app(Settings()).openapi()["paths"]:
        place = re.sub(r"\{\w+\}", "", path).rstrip("/") or "localhost:8080/"
        for part in filter(None, re.split(r"/(?=$)|(?<=jobs/)|(?<=batches/)|(?<=keys/)", place)):
            assert part.strip("/") in PAGE, path


def _codes_of_errors() -> set[str]:
    """The codes that the service answers with: the names in the calls that make errors."""
    makers = {"ApiError", "ChildError", "_refuse", "_too_many"}
    codes = set()
    for file in (*(ROOT / "api" / "http").rglob("*.py"), *(ROOT / "api" / "workers").rglob("*.py")):
        for call in ast.walk(ast.parse(file.read_text())):
            if isinstance(call, ast.Call) and _name_of(call.func) in makers:
                texts = [str(arg.value) for arg in call.args if isinstance(arg, ast.Constant)]
                codes |= set([text for text in texts if re.fullmatch(r"[a-z]+(_[a-z]+)*", text)][:1])
    return codes - {"http_error"}


def _name_of(called: ast.expr) -> str:
    return called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")


def test_every_code_of_an_error_is_documented() -> None:
    rows = re.findall(r"^\| \d{3} \| (`.*?`) \| .* \|$", PAGE, re.MULTILINE)
    documented = {code for row in rows for code in re.findall(r"`(\w+)`", row)}
    result = _codes_of_errors()
    assert len(result) > 30
    assert result - documented == set()
    program = "".join(file.read_text() for file in (ROOT / "api").rglob("*.py"))
    assert {code for code in documented if f'"{code}"' not in program} == set(), "nothing answers with it"
