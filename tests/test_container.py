"""The files in docker/ agree with the service that they start and watch; docker/check.sh runs the image."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from memstow.api.http.settings import PREFIX, Settings, load
from memstow.api.metrics import Metrics

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
COMPOSED = ("compose.yaml", "compose.cluster.yaml")


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / "docker" / name).read_text())


def servers(name: str) -> dict[str, Any]:
    """Containers of our image that run what it runs by itself."""
    services = read(name)["services"]
    return {
        title: it for title, it in services.items() if it.get("image") == "memstow" and "entrypoint" not in it
    }


def image_environment() -> dict[str, str]:
    text = (ROOT / "Dockerfile").read_text()
    return dict(re.findall(r"\b(MEMSTOW_\w+)=(\S+)", text))


@pytest.mark.parametrize("name", COMPOSED)
def test_every_container_of_ours_is_confined_and_set_up_by_settings_that_exist(name: str) -> None:
    services = read(name)["services"]
    ours = {title: it for title, it in services.items() if it.get("image") == "memstow"}
    assert ours
    for service in ours.values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert (ROOT / "docker" / service["build"] / "Dockerfile").is_file()
    assert servers(name)
    for service in servers(name).values():
        for variable in service["environment"]:
            assert variable.removeprefix(PREFIX).lower() in Settings.model_fields
        seconds = float(service["stop_grace_period"].removesuffix("s"))
        assert seconds > Settings().grace_seconds, "the server ends by itself before it is killed"


@pytest.mark.parametrize("name", COMPOSED)
def test_ports_are_open_to_this_machine_only_and_lead_to_the_service(name: str) -> None:
    for service in read(name)["services"].values():
        for port in service.get("ports", ()):
            address, _, inside = port.split(":")
            assert address == "127.0.0.1"
            if service.get("image") == "memstow":
                assert inside == image_environment()["MEMSTOW_PORT"]


@pytest.mark.parametrize("name", COMPOSED)
def test_volumes_and_files_that_are_mounted_exist(name: str) -> None:
    composed = read(name)
    for service in composed["services"].values():
        for mount in service.get("volumes", ()):
            source = mount.split(":")[0]
            if source.startswith("."):
                assert (ROOT / "docker" / source).is_file()
            else:
                assert source in composed["volumes"]
        assert set(service.get("depends_on", ())) <= composed["services"].keys()


def test_prometheus_asks_every_replica() -> None:
    replicas = servers("compose.cluster.yaml").keys()
    (job,) = read("prometheus.yaml")["scrape_configs"]
    targets = [target.split(":") for entry in job["static_configs"] for target in entry["targets"]]
    assert {host for host, _ in targets} == replicas
    assert {port for _, port in targets} == {image_environment()["MEMSTOW_PORT"]}


def test_servers_and_workers_of_the_cluster_meet_at_the_scheduler() -> None:
    services = read("compose.cluster.yaml")["services"]
    places = {it["environment"]["MEMSTOW_SCHEDULER"] for it in servers("compose.cluster.yaml").values()}
    (place,) = places
    assert load({"MEMSTOW_EXECUTOR": "dask", "MEMSTOW_SCHEDULER": place}).scheduler == place
    scheduler, worker = services["scheduler"], services["worker"]
    assert scheduler["entrypoint"][2:] == ["dask", "scheduler"]
    port = scheduler["command"][scheduler["command"].index("--port") + 1]
    assert place == f"tcp://scheduler:{port}"
    assert "ports" not in scheduler, "who reaches it can run anything"
    assert worker["entrypoint"][2:] == ["dask", "worker", place]
    threads = int(worker["command"][worker["command"].index("--nthreads") + 1])
    for server in servers("compose.cluster.yaml").values():
        assert int(server["environment"]["MEMSTOW_SLOTS"]) == threads * worker["deploy"]["replicas"]
    extras = re.search(r"^ARG EXTRAS=(\S+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert extras
    assert {"postgres", "dask"} <= set(extras[1].split(","))


def test_the_image_has_cp_sat_unless_it_is_built_without() -> None:
    extras = re.search(r"^ARG EXTRAS=(\S+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert extras
    assert "cpsat" in extras[1].split(",")
    assert (
        set(extras[1].split(","))
        <= tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"].keys()
    )


def test_the_dashboard_asks_for_figures_that_there_are() -> None:
    metrics = Metrics()
    metrics.requests.labels("GET", "/", "200").inc()
    metrics.latency.labels("/").observe(0.1)
    metrics.solve_ended("exact", "feasible", 1.0, 0.1)
    metrics.cache.labels("hit").inc()
    metrics.killed.labels("stuck").inc()
    metrics.store_errors.labels("OperationalError").inc()
    metrics.count_cluster_workers({"ready": 1})
    metrics.connections_refused.labels("memory_full").inc()
    labels_of: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(metrics.text().decode()):
        for sample in family.samples:
            labels_of.setdefault(sample.name, {"instance", "job"}).update(sample.labels)
    panels = json.loads((ROOT / "docker" / "grafana" / "memstow.json").read_text())["panels"]
    expressions = [target["expr"] for panel in panels for target in panel["targets"]]
    asked = set()
    for expression in expressions:
        names = re.findall(r"memstow_\w+", expression)
        assert names, expression
        asked.update(names)
        grouped = re.findall(r"by \(([^)]*)\)", expression)
        matched = re.findall(r"\{([^}]*)\}", expression)
        used = {label.strip() for group in grouped for label in group.split(",")}
        used |= {match.split("=")[0].rstrip("!~") for text in matched for match in text.split(",")}
        for name in names:
            assert name in labels_of, expression
            assert used <= labels_of[name], expression
    families = {re.sub(r"_(bucket|count|sum|total|created)$", "", name) for name in labels_of}
    shown = {re.sub(r"_(bucket|count|sum|total)$", "", name) for name in asked}
    assert families == shown, "every figure has its place on the dashboard"
