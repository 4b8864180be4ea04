"""The dashboard and the alerts in docker/ ask for figures that there are, and find each other."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from memstow.api.metrics import Metrics
from tests.test_container import ROOT, read
from tests.waiting import PATIENCE

yaml = pytest.importorskip("yaml")


def shown_metrics() -> dict[str, set[str]]:
    """The labels of every sample that a server may show."""
    metrics = Metrics()
    metrics.requests.labels("GET", "/", "200").inc()
    metrics.latency.labels("/").observe(0.1)
    metrics.solve_ended("exact", "feasible", 1.0, 0.1)
    metrics.cache.labels("hit").inc()
    metrics.killed.labels("stuck").inc()
    metrics.store_errors.labels("OperationalError").inc()
    metrics.count_cluster_workers({"ready": 1})
    metrics.callbacks.labels("delivered").inc()
    metrics.connections_refused.labels("memory_full").inc()
    labels_of: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(metrics.text().decode()):
        for sample in family.samples:
            labels_of.setdefault(sample.name, {"instance", "job"}).update(sample.labels)
    return labels_of


def asked_metrics(expression: str, labels_of: dict[str, set[str]]) -> set[str]:
    """The metrics of an expression, each of which is there with the labels that are used of it."""
    names = re.findall(r"memstow_\w+", expression)
    grouped = re.findall(r"by \(([^)]*)\)", expression)
    matched = re.findall(r"\{([^}]*)\}", expression)
    used = {label.strip() for group in grouped for label in group.split(",")}
    used |= {match.split("=")[0].rstrip("!~") for text in matched for match in text.split(",")}
    for name in names:
        assert name in labels_of, expression
        assert used <= labels_of[name], expression
    return set(names)


def test_the_dashboard_asks_for_figures_that_there_are() -> None:
    labels_of = shown_metrics()
    panels = json.loads((ROOT / "docker" / "grafana" / "memstow.json").read_text())["panels"]
    expressions = [target["expr"] for panel in panels for target in panel["targets"]]
    assert all("memstow_" in expression for expression in expressions)
    request = set().union(*(asked_metrics(expression, labels_of) for expression in expressions))
    families = {re.sub(r"_(bucket|count|sum|total|created)$", "", name) for name in labels_of}
    shown = {re.sub(r"_(bucket|count|sum|total)$", "", name) for name in request}
    assert families == shown, "every figure has its place on the dashboard"


ALERTS = ROOT / "docker" / "prometheus" / "alerts.yaml"


def alerts() -> list[Any]:
    (group,) = yaml.safe_load(ALERTS.read_text())["groups"]
    rules: list[Any] = group["rules"]
    return rules


def test_alerts_ask_for_figures_that_there_are_and_are_explained() -> None:
    labels_of = shown_metrics()
    page = (ROOT / "docs" / "operations.md").read_text()
    for alert in alerts():
        assert asked_metrics(alert["expr"], labels_of) or alert["expr"] == 'up{job="memstow"} == 0'
        assert f"| `{alert['alert']}` |" in page
    assert len(re.findall(r"^\| `Memstow\w+` \|", page, re.MULTILINE)) == len(alerts())


def test_alerts_are_raised_when_they_should_be_and_only_then() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not here (Debian: apt-get install prometheus)")
    for command in (["check", "rules", "alerts.yaml"], ["test", "rules", "alerts_test.yaml"]):
        ran = subprocess.run(
            [promtool, *command],
            cwd=ALERTS.parent,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
    tried = ALERTS.with_name("alerts_test.yaml").read_text()
    assert all(f'alertname="{alert["alert"]}"' in tried for alert in alerts())


def test_grafana_finds_the_dashboard_and_its_source() -> None:
    grafana = read("compose.cluster.yaml")["services"]["grafana"]
    mounts = dict(mount.split(":")[:2] for mount in grafana["volumes"])
    (provider,) = read("grafana/provisioning/dashboards/memstow.yaml")["providers"]
    home = grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert mounts["./grafana/memstow.json"] == home
    assert str(Path(home).parent) == provider["options"]["path"]
    (source,) = read("grafana/provisioning/datasources/prometheus.yaml")["datasources"]
    assert source["url"] == "http://prometheus:9090"
    assert "prometheus" in read("compose.cluster.yaml")["services"]
