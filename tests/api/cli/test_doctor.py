"""`memstow doctor`: what is said of this installation is so, and what does not work has its exit code."""

import json
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import memstow
from memstow.api import installation
from memstow.api.cli.terminal import Exit
from memstow.api.client import checkup
from memstow.api.http.settings import Settings
from tests.api.cli.conftest import ROOT, Cli
from tests.api.serving import Server

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(autouse=True)
def _forgetful() -> Iterator[None]:
    yield
    installation._requirements.cache_clear()
    installation._version.cache_clear()


def _without(monkeypatch: pytest.MonkeyPatch, *names: str, **versions: str) -> None:
    """An installation that lacks these packages, or has them in these versions."""
    here = installation._version

    def there(name: str) -> str | None:
        return None if name in names else versions.get(name) or here(name)

    monkeypatch.setattr(installation, "_version", there)


def test_it_says_what_is_here(cli: Cli) -> None:
    ran = cli("doctor", "--json")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    document = json.loads(ran.out)
    assert (document["version"], document["works"], document["faults"]) == (memstow.__version__, True, [])
    assert document["python"] == ".".join(map(str, sys.version_info[:3]))
    assert document["native_error"] is None
    assert {package["name"]: package["version"] for package in document["packages"]} == {
        name: version(name) for name in ("pydantic", "shtab")
    }
    text = cli("doctor").out
    assert f"pydantic {version('pydantic')}" in text
    assert "native core: works" in text


def test_it_says_whether_models_can_be_measured(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    _without(monkeypatch, **{"tflite-micro": "0.7"})
    assert "tflite-micro, for solve --scratch measure: 0.7\n" in cli("doctor").out
    _without(monkeypatch, "tflite-micro")
    ran = cli("doctor")
    assert ran.code == Exit.DONE
    assert "--scratch measure: none; pip install --pre tflite-micro\n" in ran.out
    runtime = json.loads(cli("doctor", "--json").out)["runtime"]
    assert runtime == {"name": "tflite-micro", "limits": "", "version": None, "fits": False}


def test_all_is_an_extra_too(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    of_all = set(re.findall(r"[\w-]+", PROJECT["optional-dependencies"]["all"][0].partition("[")[2]))
    assert {*installation.OF_ALL} == of_all
    lacking = installation.Extra("onnx", "", (installation.Package("none", "", None),))
    looked = installation.look()
    extras = (*(extra for extra in looked.extras if extra.name not in of_all), lacking)
    monkeypatch.setattr(installation, "look", lambda: looked._replace(extras=extras))
    answer = cli("doctor", "--extra", "all")
    assert "the extra onnx lacks none" in answer.err
    assert answer.code == Exit.NOT_WORKING


def test_every_extra_for_users_is_explained() -> None:
    assert {*installation.EXTRAS} == {*PROJECT["optional-dependencies"]} - {"all", "dev"}


@pytest.mark.parametrize("extra", installation.EXTRAS)
def test_the_packages_of_an_extra_are_those_of_the_project(extra: str) -> None:
    wanted = {}
    waiting = [extra]
    while waiting:
        for text in PROJECT["optional-dependencies"][waiting.pop()]:
            requirement = Requirement(text)
            if requirement.name == "memstow":
                waiting += requirement.extras
            elif requirement.marker is None or requirement.marker.evaluate():
                wanted[requirement.name] = requirement
    result = {
        package.name: package
        for package in next(entry for entry in installation.look().extras if entry.name == extra).packages
    }
    # Beside them, the packages of extras of other projects.
    assert result.keys() - wanted.keys() <= {"psycopg-binary"}
    for name, requirement in wanted.items():
        for given in ("0.1", "1", "3.9", "4.0.0", "25", "9999.1.2"):
            package = result[name]._replace(version=given)
            assert package.fits == requirement.specifier.contains(Version(given), prereleases=True), given


def test_packages_of_extras_of_packages_are_needed_too(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    requirements = {
        "memstow": ("psycopg[binary]>=3.2; extra == 'postgres'",),
        "psycopg": (
            "psycopg-binary==3.2.1; implementation_name != 'other' and extra == 'binary'",
            "x; extra == 'c'",
        ),
    }
    monkeypatch.setattr(installation, "_requirements", lambda name: requirements.get(name, ()))
    _without(monkeypatch, "psycopg-binary", psycopg="3.2.1")
    ran = cli("doctor", "--extra", "postgres")
    assert ran.code == Exit.NOT_WORKING
    assert ran.err == (
        "memstow: the extra postgres lacks psycopg-binary==3.2.1; "
        "install it with: pip install 'memstow[postgres]'\n"
    )


def test_an_extra_that_is_missing_is_a_fault_where_it_was_asked_for(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    _without(monkeypatch, "ortools", highspy="1.2.0")
    ran = cli("doctor")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert (
        "lacks highspy>=1.10 (here is 1.2.0)\n    install it with: pip install 'memstow[milp]'\n" in ran.out
    )
    ran = cli("doctor", "--extra", "cpsat", "--json")
    assert ran.code == Exit.NOT_WORKING
    assert "the extra cpsat lacks ortools>=9.12" in ran.err
    document = json.loads(ran.out)
    assert (document["works"], len(document["faults"])) == (False, 1)
    commands = {extra["name"]: extra["command"] for extra in document["extras"] if not extra["complete"]}
    # PyTorch is not among what tests are run with, and may be there all the same.
    assert commands.pop("torch", "pip install 'memstow[torch]'") == "pip install 'memstow[torch]'"
    assert commands == {name: f"pip install 'memstow[{name}]'" for name in ("cpsat", "milp")}


def test_an_unknown_extra_is_a_mistake(cli: Cli) -> None:
    ran = cli("doctor", "--extra", "cpsta")
    assert ran.code == Exit.USAGE
    assert "did you mean cpsat?" in ran.err
    assert "there are cpsat, milp" in cli("doctor", "--extra", "all-of-it").err


def test_what_memstow_cannot_do_without_is_a_fault(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    _without(monkeypatch, "pydantic")
    monkeypatch.setattr(installation, "_NATIVE", ("memstow.solvers._nothing",))
    ran = cli("doctor")
    assert ran.code == Exit.NOT_WORKING
    assert "memstow needs pydantic>=2.10" in ran.err
    assert "the native core cannot be loaded: No module named 'memstow.solvers._nothing'" in ran.err


def test_no_library_is_imported_to_find_it() -> None:
    code = (
        "import sys; from memstow.api.cli.main import main; code = main(['doctor']); "
        "heavy = {'pydantic', 'ortools', 'fastapi', 'httpx2', 'onnx', 'numpy'} & set(sys.modules); "
        "sys.exit(code or repr(heavy))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stderr == "set()\n"


def test_pip_takes_the_memstow_that_is_installed_and_adds_what_is_missing() -> None:
    """Which is what the commands rely on that are told to users: no index has memstow."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-index", "memstow[client]"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if "No module named pip" in ran.stderr:
        pytest.skip("pip is not installed here")
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"Requirement already satisfied: memstow\[client\]", ran.stdout)


# Servers


def test_a_server_tells_what_it_takes(cli: Cli, server: Server) -> None:
    url = server.start(max_buffers=1234).url
    ran = cli("doctor", "--server", url, "--json")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    document = json.loads(ran.out)["server"]
    assert (document["url"], document["version"], document["ready"]) == (url, memstow.__version__, True)
    assert (document["key_needed"], document["key_accepted"]) == (False, None)
    assert document["limits"]["max_buffers"] == 1234
    assert document["limits"]["max_body"] == Settings.model_fields["max_body"].default
    assert {"json", "csv", "onnx"} <= {*document["formats"]["problem"]}
    text = cli("doctor", "--server", url).out
    assert "max_buffers 1234" in text
    assert "no key is needed" in text
    assert (document["callbacks"], "callbacks are off" in text) == (False, True)


def test_whether_a_key_is_needed_and_accepted(
    cli: Cli, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = cli("keys", "create", "--name", "k", "--data", server.data).out.strip()
    url = server.start(key_time_limit=7).url
    ran = cli("doctor", "--server", url)
    assert ran.code == Exit.NOT_WORKING
    assert "needs a key" in ran.err
    ran = cli("doctor", "--server", url, "--key", key[:-4] + "0000", "--json")
    assert ran.code == Exit.NOT_WORKING
    assert "refuses the key" in ran.err
    monkeypatch.setenv("MEMSTOW_SERVER", url)
    monkeypatch.setenv("MEMSTOW_KEY", key)
    ran = cli("doctor", "--json")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    document = json.loads(ran.out)["server"]
    assert (document["key_needed"], document["key_accepted"]) == (True, True)
    assert document["limits"]["max_time_limit"] == 7, "that of this key"


def test_a_server_that_does_not_answer(cli: Cli) -> None:
    ran = cli("doctor", "--server", "http://127.0.0.1:9")
    assert ran.code == Exit.NOT_WORKING
    assert "cannot be reached" in ran.err
    assert "no answer" in ran.out
    assert cli("doctor", "--server", "planner:8080").code == Exit.USAGE


Answer = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def _other(answer: Answer) -> Iterator[str]:
    """A server that is not memstow."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as other:
        other.daemon_threads = True
        threading.Thread(target=other.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{other.server_address[1]}"
        other.shutdown()


def _says(status: int, *documents: bytes) -> Answer:
    bodies = iter(documents)

    def answer(handler: BaseHTTPRequestHandler) -> None:
        body = next(bodies, documents[-1])
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


_NAMED = b'{"name": "memstow", "version": "9.8.7"}'


@pytest.mark.parametrize(
    "answer",
    [
        _says(200, b"<html>"),
        _says(200, b"[]"),
        _says(200, b'{"name": "other"}'),
        _says(500, b"\x1b[31mred"),
        _says(200, _NAMED, b'{"status": "ok"}', b'{"formats": [], "limits": 1}'),
        _says(200, _NAMED, b'{"status": "ok"}', b"null"),
    ],
)
def test_what_is_no_server_of_memstow_is_told_as_such(cli: Cli, answer: Answer) -> None:
    with _other(answer) as url:
        ran = cli("doctor", "--server", url)
    assert ran.code == Exit.NOT_WORKING
    assert url in ran.err or "the server answered 500" in ran.err
    assert "\x1b" not in ran.err + ran.out


def test_a_server_of_another_version_that_is_not_ready(cli: Cli) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        busy = b'{"code": "draining", "detail": "not ready: draining"}'
        _says(*((503, busy) if handler.path == "/readyz" else (200, _NAMED)))(handler)

    with _other(answer) as url:
        ran = cli("doctor", "--server", url)
    assert ran.code == Exit.NOT_WORKING
    assert f"memstow 9.8.7; here is {memstow.__version__}" in ran.out
    assert "not ready: draining" in ran.err


def test_a_server_that_never_ends_its_answer_is_not_waited_for(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkup, "_SECONDS", 0.2)
    ended = threading.Event()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        ended.wait(60)

    with _other(answer) as url:
        ran = cli("doctor", "--server", url)
        ended.set()
    assert ran.code == Exit.NOT_WORKING
    assert "has not answered within" in ran.err


def test_a_server_needs_the_extra_of_clients(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "memstow.api.client.checkup", None)
    ran = cli("doctor", "--server", "http://127.0.0.1:9")
    assert ran.code == Exit.NOT_WORKING
    assert "pip install 'memstow[client]'" in ran.err
