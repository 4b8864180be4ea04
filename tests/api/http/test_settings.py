"""Settings: where they come from, what is wrong with them, what they limit."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from memstow.api.http.app import create_app
from memstow.api.http.samples import PROBLEM
from memstow.api.http.settings import PREFIX, Override, Settings, load, printed
from memstow.planner.model.errors import InputError
from tests.api.http.conftest import hard, problem_document
from tests.api.serving import ROOT, Server


def test_the_command_line_comes_before_the_environment_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "memstow.toml"
    file.write_text('port = 1\nmax_queued = 11\nhost = "file"\n')
    environment = {"MEMSTOW_PORT": "2", "MEMSTOW_HOST": "environment", "PATH": "x"}
    settings = load(environment, file, [Override("port", 3, "--port")])
    assert (settings.port, settings.host, settings.max_queued) == (3, "environment", 11)
    assert load({"MEMSTOW_CONFIG": str(file)}).port == 1
    assert load({"MEMSTOW_CORS_ORIGINS": "https://a, https://b"}).cors_origins == ("https://a", "https://b")


def test_what_is_printed_can_be_read_again(tmp_path: Path) -> None:
    settings = load(
        {
            "MEMSTOW_DATABASE": "postgresql://me:s3same@host/name",
            "MEMSTOW_CORS_ORIGINS": "https://a",
            "MEMSTOW_SCHEDULER": "tcp://host:8786",
            "MEMSTOW_TLS_CERT": "chain.pem",
            "MEMSTOW_TLS_KEY": "key.pem",
            "MEMSTOW_CALLBACK_SECRET": "callback.key",
            "MEMSTOW_TRACE_URL": "http://collector:4318/v1/traces",
        }
    )
    text = printed(settings)
    assert "s3same" not in text
    read = tomllib.loads(text)
    assert read.keys() == Settings.model_fields.keys()
    file = tmp_path / "again.toml"
    file.write_text(printed(load({})))
    assert load({}, file) == load({})


@pytest.mark.parametrize(
    ("environment", "code", "source"),
    [
        ({"MEMSTOW_PORT": "many"}, "bad_setting", "MEMSTOW_PORT"),
        ({"MEMSTOW_PORT": "70000"}, "bad_setting", "MEMSTOW_PORT"),
        ({"MEMSTOW_PROT": "1"}, "unknown_setting", "MEMSTOW_PROT"),
        ({"MEMSTOW_ANONYMOUS": "yes"}, "bad_setting", "MEMSTOW_ANONYMOUS"),
        ({"MEMSTOW_LEASE_SECONDS": "nan"}, "bad_setting", "MEMSTOW_LEASE_SECONDS"),
        ({"MEMSTOW_EXECUTOR": "slurm"}, "bad_setting", "MEMSTOW_EXECUTOR"),
        ({"MEMSTOW_EXECUTOR": "dask"}, "no_scheduler", "scheduler"),
        ({"MEMSTOW_EXECUTOR": "dask", "MEMSTOW_SCHEDULER": ""}, "no_scheduler", "scheduler"),
        ({"MEMSTOW_EXECUTOR": "dask", "MEMSTOW_SCHEDULER": "http://a:1"}, "bad_scheduler", "scheduler"),
        ({"MEMSTOW_MAX_BODY": "1000001", "MEMSTOW_BODY_MEMORY": "1000000"}, "bad_setting", "body_memory"),
        ({"MEMSTOW_TLS_CERT": "chain.pem"}, "bad_setting", "tls_key"),
        ({"MEMSTOW_TLS_KEY": "key.pem", "MEMSTOW_TLS_CERT": ""}, "bad_setting", "tls_cert"),
        ({"MEMSTOW_TRUSTED_PROXIES": "10.0.0.0/8, proxy"}, "bad_setting", "trusted_proxies"),
        ({"MEMSTOW_TRACE_URL": "collector:4318"}, "bad_setting", "trace_url"),
        ({"MEMSTOW_TRACE_SHARE": "1.1"}, "bad_setting", "MEMSTOW_TRACE_SHARE"),
        ({"MEMSTOW_CONFIG": "/nowhere.toml"}, "not_found", "/nowhere.toml"),
    ],
)
def test_what_is_wrong_with_a_setting_names_where_it_is_from(
    environment: dict[str, str], code: str, source: str
) -> None:
    with pytest.raises(InputError) as refused:
        load(environment)
    assert [(issue.code, issue.path) for issue in refused.value.issues] == [(code, source)]


def test_variables_of_memstow_that_are_no_settings_keep_no_server_from_starting() -> None:
    sources = [path for folder in ("api", "planner", "tests") for path in (ROOT / folder).rglob("*.py")]
    named = {name for path in sources for name in re.findall(r"\bMEMSTOW_[A-Z_]+\b", path.read_text())}
    others = {name for name in named if name.removeprefix(PREFIX).lower() not in Settings.model_fields}
    # A misspelt one, what stands for any of them, and macros of C.
    others -= {"MEMSTOW_PROT", "MEMSTOW_NAME", "MEMSTOW_CONFIG", "MEMSTOW_ABI_VERSION", "MEMSTOW_OK"}
    assert {"MEMSTOW_SETS", "MEMSTOW_SERVER", "MEMSTOW_KEY"} <= others
    assert load(dict.fromkeys(others, "x")) == load({})


def test_traces_take_what_sends_them(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = {"MEMSTOW_TRACE_URL": "http://collector:4318/v1/traces"}
    monkeypatch.setattr("memstow.api.http.settings.find_spec", lambda _name: None)
    with pytest.raises(InputError, match=r"pip install 'memstow\[otel\]'"):
        load(wanted)
    assert load({}).trace_url is None


def test_a_cluster_takes_what_talks_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memstow.api.http.settings.find_spec", lambda _name: None)
    given = {"MEMSTOW_EXECUTOR": "dask", "MEMSTOW_SCHEDULER": "tcp://localhost:8786"}
    with pytest.raises(InputError, match=r"memstow\[dask\]"):
        load(given)
    assert load(given | {"MEMSTOW_EXECUTOR": "local"}).scheduler == "tcp://localhost:8786"


LIMITS: list[tuple[dict[str, Any], dict[str, Any], int, str]] = [
    ({"max_buffers": 4}, {"problem": PROBLEM}, 422, "max_buffers"),
    ({"max_time_limit": 1.0}, {"problem": PROBLEM, "options": {"time_limit": 2.0}}, 422, "max_time_limit"),
    ({"max_workers": 1}, {"problem": PROBLEM, "options": {"workers": 2}}, 422, "max_workers"),
    ({"max_body": 100}, {"problem": PROBLEM}, 413, "max_body"),
    (
        {"solve_memory": 1 << 20},
        {"problem": PROBLEM, "options": {"memory_limit": 1 << 21}},
        422,
        "solve_memory",
    ),
    ({"key_rate": 0.001, "key_burst": 1}, {"problem": PROBLEM}, 429, "key_rate"),
]


@pytest.mark.parametrize(("settings", "body", "status", "name"), LIMITS)
def test_each_limit_is_told_with_the_setting_it_comes_from(
    tmp_path: Path, settings: dict[str, Any], body: dict[str, Any], status: int, name: str
) -> None:
    with TestClient(
        create_app(Settings(data=tmp_path, slots=0, **settings)), base_url="http://localhost"
    ) as client:
        if name == "key_rate":
            client.post("/v1/plan", json=body)
        answer = client.post("/v1/plan", json=body)
        assert answer.status_code == status
        assert f"`{name}`" in answer.json()["detail"]


def test_a_full_queue_is_told_with_when_to_come_again(tmp_path: Path) -> None:
    with TestClient(
        create_app(Settings(data=tmp_path, slots=0, max_queued=1)), base_url="http://localhost"
    ) as client:
        assert client.post("/v1/jobs", json={"problem": hard(3)}).status_code == 202
        answer = client.post("/v1/jobs", json={"problem": hard(4)})
        problem_document(answer, 429, "queue_full")
        assert int(answer.headers["retry-after"]) > 0
        assert client.get("/readyz").status_code == 200, "it serves whoever does not fill it"


def test_a_value_too_many_is_refused_before_it_takes_memory(tmp_path: Path) -> None:
    with TestClient(
        create_app(Settings(data=tmp_path, slots=0, max_values=1000)), base_url="http://localhost"
    ) as client:
        answer = client.post(
            "/v1/plan", content=b"[" + b"0," * 2000 + b"0]", headers={"content-type": "application/json"}
        )
        assert "`max_values`" in problem_document(answer, 422, "too_large")["detail"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"CALLBACK_ALLOW": "builds.example.com"}, "callback_allow: .*expected a URL"),
        ({"CALLBACK_ALLOW": "https://h.example/x?y=1"}, "callback_allow: .*without a query"),
        ({"CALLBACK_ALLOW": "https://h.example"}, "callback_secret: callbacks are signed"),
        ({"CALLBACK_NETWORKS": "localhost"}, "callback_networks: expected addresses and networks"),
    ],
)
def test_callbacks_that_cannot_work_are_refused(given: dict[str, str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        load({f"MEMSTOW_{name}": text for name, text in given.items()})


def test_a_secret_that_is_none_is_one_line_at_the_start(server: Server, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("none of yours")
    with pytest.raises(AssertionError, match="expected a secret in each line"):
        server.start(callback_allow="https://h.example", callback_secret=tmp_path / "secret")
    assert server.wait() == 2
    assert "none of yours" not in server.log()
