"""Runs all cases with one installed version; what differs from run to run is masked."""

import hashlib
import json
import os
import re
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypedDict

from tests.corpus.calls import CALLS
from tests.corpus.cases import Command, Request, commands, requests
from tests.corpus.inputs import write_inputs

PATIENCE: Final = 300.0
# Longer texts are kept as their hash.
_LONGEST: Final = 20_000
_HEADERS: Final = (
    "content-type",
    "location",
    "allow",
    "retry-after",
    "www-authenticate",
    "content-disposition",
)
_STEP: Final = 0.05
_OVER: Final = ("done", "failed", "cancelled")

# Times, addresses, random names and the version of Python differ from run to run.
_MASKS: Final = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"(?<![\w.])<?\d[\d,]*(?:\.\d+)? ?(?:ms|µs|s)\b", "<time>"),
        (
            r'("(?:[a-z_]*seconds|[a-z_]*_at|time|elapsed|at)": )(?:[\d.e+-]+|"[^"]*T[^"]*")(?=[,}\n])',
            r"\1<time>",
        ),
        (r"\b[0-9a-f]{32}\b", "<id>"),
        (r"127\.0\.0\.1:\d+|localhost:\d+", "<address>"),
        (r"/tmp/[\w./-]+", "<temporary>"),
    )
)


class Result(TypedDict):
    """What one case gave."""

    name: str
    code: int
    out: str
    err: str
    files: dict[str, str]


def masked(text: str, folder: Path) -> str:
    """The text without what differs from run to run."""
    text = text.replace(str(folder), "<folder>")
    for pattern, replacement in _MASKS:
        text = pattern.sub(replacement, text)
    if len(text) > _LONGEST:
        return f"{len(text)} characters {hashlib.sha256(text.encode()).hexdigest()}"
    return text


def record(checkout: Path) -> Iterator[Result]:
    """Run every case with the version that is installed in the .venv of `checkout`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        write_inputs(folder)
        for command in list(commands(folder)):
            yield _run(checkout, command, folder)
        yield from _call(checkout, folder)
        with _served(checkout, folder) as url, ThreadPoolExecutor(2) as threads:
            yield from threads.map(lambda request: _ask(url, request, folder), requests(folder))


def _environment() -> dict[str, str]:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("MEMSTOW_", "PYTHON"))
    }
    return environment | {"COLUMNS": "80", "BROWSER": "true", "NO_COLOR": "1"}


def _run(checkout: Path, command: Command, folder: Path) -> Result:
    before = _files(folder)
    given = (folder / command.stdin).read_bytes() if command.stdin else b""
    program = str(checkout / ".venv" / "bin" / "memstow")
    ran = subprocess.run(
        [program, *command.words],
        cwd=folder,
        env=_environment(),
        input=given,
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    written = {name: content for name, content in _files(folder).items() if before.get(name) != content}
    return Result(
        name=command.name,
        code=ran.returncode,
        out=masked(ran.stdout.decode(errors="replace"), folder),
        err=masked(ran.stderr.decode(errors="replace"), folder),
        files={
            name: masked(content.decode(errors="replace"), folder)
            for name, content in sorted(written.items())
        },
    )


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def _call(checkout: Path, folder: Path) -> Iterator[Result]:
    """The calls of the library, in one process."""
    ran = subprocess.run(
        [checkout / ".venv" / "bin" / "python", "-P", CALLS],
        cwd=folder,
        env=_environment(),
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    for line in ran.stdout.decode().splitlines():
        name, result = json.loads(line)
        yield Result(name=name, code=0, out=masked(result, folder), err="", files={})
    if ran.returncode:
        yield Result(
            name="library", code=ran.returncode, out="", err=masked(ran.stderr.decode(), folder), files={}
        )


@contextmanager
def _served(checkout: Path, folder: Path) -> Iterator[str]:
    """The address of a service of this version."""
    data = folder / "service"
    data.mkdir()
    with (folder / "service.log").open("wb") as log:
        process = subprocess.Popen(
            [checkout / ".venv" / "bin" / "memstow", "serve", "--port", "0", "--data", data],
            cwd=folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        deadline = time.monotonic() + PATIENCE
        while not (address := re.search(r"http://[^\s\"]+", (folder / "service.log").read_text())):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((folder / "service.log").read_text())
            time.sleep(_STEP)
        yield address.group().rstrip("/")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)


def _ask(url: str, request: Request, folder: Path) -> Result:
    status, headers, body = _send(url, request)
    files = {}
    if request.method == "POST" and status in (201, 202) and "id" in (answer := json.loads(body)):
        job = f"/v1/jobs/{answer['id']}"
        deadline = time.monotonic() + PATIENCE
        while (
            json.loads(_send(url, Request("GET", job))[2])["state"] not in _OVER
            and time.monotonic() < deadline
        ):
            time.sleep(_STEP)
        for tail in ("plan", "front"):
            files[tail] = masked(_send(url, Request("GET", f"{job}/{tail}"))[2], folder)
        # How far it was when it was accepted differs from run to run.
        body = ""
    kept = {name: value for name, value in headers.items() if name in _HEADERS}
    return Result(
        name=request.name,
        code=status,
        out=masked(body, folder),
        err=masked(json.dumps(kept), folder),
        files=files,
    )


def _send(url: str, request: Request) -> tuple[int, dict[str, str], str]:
    body: Any = request.body
    content = body.encode() if isinstance(body, str) else None if body is None else json.dumps(body).encode()
    headers = (
        {"Content-Type": "application/json", **request.headers} if content is not None else request.headers
    )
    message = urllib.request.Request(url + request.path, content, headers, method=request.method)
    try:
        with urllib.request.urlopen(message, timeout=PATIENCE) as answer:
            return answer.status, _lower(answer.headers), answer.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, _lower(error.headers), error.read().decode(errors="replace")


def _lower(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
