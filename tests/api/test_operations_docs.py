"""docs/operations.md: its backups are restored, its keys let Prometheus in, and what it names is there."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from math import ceil
from pathlib import Path
from typing import Any

import httpx2
import pytest

from benchmarks.servers import free_port
from memstow.api.cli.parser import build_parser
from memstow.api.http.settings import Settings
from tests.api import postgres
from tests.api.asking import over, submit
from tests.api.serving import ROOT, Server
from tests.sizing import SERVER, most_memory
from tests.waiting import PATIENCE, wait_for

PAGE = (ROOT / "docs" / "operations.md").read_text()
CONSOLES = [
    [line[2:] for line in block.splitlines()]
    for block in re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
]
DATA = "/var/lib/memstow"
DATABASE = "postgresql://memstow@postgres/memstow"


def run(command: str, folder: Path, **variables: str) -> str:
    """The output of a command of the page."""
    places = [str(Path(sys.executable).parent)]
    if (result := postgres.program("pg_dump")) is not None:
        places.append(str(Path(result).parent))
    environment = os.environ | variables | {"PATH": ":".join([*places, os.environ["PATH"]])}
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def operate(commands: list[str], folder: Path, server: Server, *changes: tuple[str, str]) -> None:
    """Run commands of the page, with this server in place of the service."""
    for command in commands:
        match command:
            case "systemctl stop memstow":
                server.signal(15)
                assert server.wait() == 0
            case "systemctl start memstow":
                server.start()
            case _:
                for old, new in changes:
                    command = command.replace(old, new)
                run(command, folder)


def test_a_store_in_a_folder_is_backed_up_and_restored(server: Server, tmp_path: Path) -> None:
    backup, restore, *_ = CONSOLES
    place = (DATA, str(server.data))
    server.start()
    with server.client() as client:
        kept = over(client, submit(client))["id"]
    operate(backup, tmp_path, server, place)
    with server.client() as client:
        lost = over(client, submit(client, time_limit=2.0))["id"]
    operate(restore, tmp_path, server, place)
    with server.client() as client:
        assert over(client, kept)["state"] == "done"
        assert client.get(f"/v1/jobs/{kept}/plan").json()["status"] == "optimal"
        assert client.get(f"/v1/jobs/{lost}").status_code == 404


def test_a_database_is_backed_up_and_restored(server: Server, pg: postgres.Postgres, tmp_path: Path) -> None:
    if postgres.program("pg_restore") is None:
        pytest.skip(postgres.WHY_NOT)
    (dump, *restore) = CONSOLES[2]
    url = pg.database()
    place = (DATABASE, f"'{url}'")
    server.start(database=url)
    with server.client() as client:
        kept = over(client, submit(client))["id"]
    operate([dump], tmp_path, server, place)
    with server.client() as client:
        lost = over(client, submit(client, time_limit=2.0))["id"]
    operate(restore, tmp_path, server, place)
    with server.client() as client:
        assert client.get(f"/v1/jobs/{kept}/plan").json()["status"] == "optimal"
        assert client.get(f"/v1/jobs/{lost}").status_code == 404


# Prometheus


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def commands_for_keys() -> list[list[str]]:
    """What the page runs in a container to make the keys."""
    lines = re.findall(r"run --rm -T memstow-1 (keys create .*?)(?: >.*)?$", PAGE, re.MULTILINE)
    return [line.split() for line in lines]


def test_prometheus_reads_the_metrics_with_the_key_of_the_page_and_loads_the_alerts(
    server: Server, stack: ExitStack, tmp_path: Path
) -> None:
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("Prometheus is not here (Debian: apt-get install prometheus)")
    for_prometheus, _ = commands_for_keys()
    memstow = [sys.executable, "-m", "memstow.api.cli.main"]
    key = subprocess.run(
        [*memstow, *for_prometheus, "--data", str(server.data)], capture_output=True, check=True, cwd=ROOT
    ).stdout
    server.start(anonymous="never")
    (tmp_path / "prometheus_key").write_bytes(b"msk_000000000000_wrong")
    shipped = (ROOT / "docker" / "prometheus" / "prometheus.yaml").read_text()
    config = shipped.replace("/run/secrets/", f"{tmp_path}/")
    assert config != shipped
    for number in (1, 2):
        config = config.replace(f"memstow-{number}:8080", server.url.removeprefix("http://"))
    (tmp_path / "prometheus.yaml").write_text(config.replace("scrape_interval: 5s", "scrape_interval: 1s"))
    shutil.copy(ROOT / "docker" / "prometheus" / "alerts.yaml", tmp_path)
    port = free_port()
    process = subprocess.Popen(
        [
            program,
            "--config.file=prometheus.yaml",
            "--storage.tsdb.path=tsdb",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=(stack.enter_context((tmp_path / "log").open("wb"))),
    )
    stack.callback(process.wait, PATIENCE)
    stack.callback(process.terminate)

    def ask(path: str) -> Any:
        assert process.poll() is None, (tmp_path / "log").read_text()
        try:
            answer = httpx2.get(f"http://127.0.0.1:{port}/api/v1/{path}")
        except httpx2.TransportError:
            return None
        return answer.json()["data"] if answer.status_code == 200 else None

    def target(health: str) -> Any:
        result = ask("targets?state=active")
        return next(
            (
                activetarget
                for activetarget in (result or {"activeTargets": []})["activeTargets"]
                if activetarget["health"] == health
            ),
            None,
        )

    assert "401" in wait_for(lambda: target("down"), "a scrape that is refused")["lastError"]
    (tmp_path / "prometheus_key").write_bytes(key)
    wait_for(lambda: target("up"), "a scrape that gets the metrics, with the exchanged key")
    wait_for(lambda: ask("query?query=memstow_jobs_queued")["result"], "a figure")
    (group,) = ask("rules")["groups"]
    assert {rule["name"] for rule in group["rules"]} >= {"MemstowDown", "MemstowQueueStands"}


# What it names


@pytest.mark.parametrize("slots", [1, 2, 8, 9, 100])
def test_the_formula_of_memory_counts_the_processes_that_there_may_be(slots: int) -> None:
    settings = Settings(slots=slots)
    solving = (slots + 2 * ceil(slots / 8) + 4) * settings.solve_memory
    assert "`(slots + 2 * ceil(slots / 8) + 4) * solve_memory`" in PAGE
    assert most_memory(settings) == solving + settings.body_memory + settings.cache_memory + SERVER
    assert f"a server needs {SERVER >> 20} MiB, " in PAGE


def test_its_commands_and_settings_are_there() -> None:
    parser = build_parser()
    for line in re.findall(
        r"memstow (serve --host .*|db backup .*sqlite(?: --data \S+)?)$", PAGE, re.MULTILINE
    ):
        parser.parse_args(line.split())
    for line in commands_for_keys():
        parser.parse_args(line)
    named = set(re.findall(r"MEMSTOW_(\w+)=", PAGE))
    assert named
    assert {name.lower() for name in named} <= Settings.model_fields.keys()
    for name in ("trusted_proxies", "trace_url", "trace_share", "body_memory", "solve_memory"):
        assert f"`{name}`" in PAGE
        assert name in Settings.model_fields


def test_its_links_lead_to_files_and_other_pages_lead_there() -> None:
    for target in re.findall(r"\]\(([^)#]+)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
    for page in ("README.md", "docs/service.md", "docs/cli.md", "docs/architecture.md"):
        assert "operations.md" in (ROOT / page).read_text(), page


def test_compose_says_the_same_of_the_first_key() -> None:
    composed = (ROOT / "docker" / "compose.cluster.yaml").read_text()
    for line in re.findall(r"^docker compose .*keys create .*$|^mkdir .*$", PAGE, re.MULTILINE):
        assert line in composed
