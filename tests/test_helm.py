"""The chart in deploy/helm makes what Kubernetes takes, as confined as what is in deploy/kubernetes."""

import base64
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memstow
from memstow.api.cli.parser import build_parser
from memstow.api.http.settings import PREFIX, Settings
from tests.helm_templates import Chart, FailedError
from tests.test_deploy import documents as plain_documents
from tests.waiting import PATIENCE

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "deploy" / "helm" / "memstow"
CHART = Chart(FOLDER)
SCHEMA = json.loads((FOLDER / "values.schema.json").read_text())
LEAST: dict[str, Any] = {"database": {"existingSecret": "memstow-database"}}
ALL: dict[str, Any] = {
    "image": {"repository": "images.example.com/memstow", "tag": "1.2.3", "pullSecrets": [{"name": "pull"}]},
    "replicas": 3,
    "database": {"url": "postgresql://memstow:word@postgres/memstow", "key": "address"},
    "settings": {
        "callback_allow": ["https://a.example", "https://b.example/x"],
        "max_queued": 5_000_000,
        "share_cache": True,
        "sync_seconds": 2.5,
    },
    "callbacks": {"existingSecret": "hooks"},
    "service": {"type": "NodePort", "port": 8080, "annotations": {"a": "b"}},
    "ingress": {
        "enabled": True,
        "className": "nginx",
        "host": "plans.example.com",
        "tlsSecret": "plans-tls",
        "annotations": {"a": "true"},
    },
    "autoscaling": {"enabled": True},
    "serviceAccountName": "memstow",
    "podLabels": {"team": "a"},
    "podAnnotations": {"n": "1"},
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "solver", "operator": "Exists"}],
    "affinity": {"podAntiAffinity": {}},
    "priorityClassName": "high",
}
OTHER: dict[str, Any] = {
    **LEAST,
    "migration": {"enabled": False},
    "disruptionBudget": {"enabled": False},
    "settings": {"slots": 1},
}
CASES = {"least": LEAST, "all": ALL, "other": OTHER}


def rendered(values: dict[str, Any], release: str = "memstow") -> dict[str, Any]:
    """The manifests by kind."""
    made = {entry["kind"]: entry for entry in CHART.render(values, release)}
    assert len(made) == len(CHART.render(values, release))
    return made


def containers(result: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each pod with its container."""
    for kind in {"Deployment", "Job"} & result.keys():
        pod = result[kind]["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        yield pod, container


def environment(values: dict[str, Any]) -> dict[str, str]:
    (server,) = rendered(values)["Deployment"]["spec"]["template"]["spec"]["containers"]
    return {variable["name"]: variable.get("value") for variable in server["env"]}


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
@pytest.mark.parametrize("release", ["memstow", "a-release-with-a-name-as-long-as-helm-allows-it-to-be"])
def test_kubernetes_takes_what_the_chart_gives(values: dict[str, Any], release: str) -> None:
    validator = pytest.importorskip("kubernetes_validate", reason="needs kubernetes-validate")
    result = rendered(values, release)
    for document in result.values():
        assert len(document["metadata"]["name"]) <= 63
        for version in ("1.30", validator.latest_version()):
            validator.validate(document, version, strict=True)
    kinds = {"Deployment", "Service"}
    kinds |= {"Job", "PodDisruptionBudget"} if values is not OTHER else set()
    kinds |= {"Secret", "Ingress", "HorizontalPodAutoscaler"} if values is ALL else set()
    assert result.keys() == kinds


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
def test_its_parts_find_each_other(values: dict[str, Any]) -> None:
    result = rendered(values, "one")
    deployment = result["Deployment"]["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    assert deployment["selector"]["matchLabels"].items() <= labels.items()
    assert result["Service"]["spec"]["selector"] == deployment["selector"]["matchLabels"]
    if "PodDisruptionBudget" in result:
        assert result["PodDisruptionBudget"]["spec"]["selector"] == deployment["selector"]
    if "Job" in result:
        job = result["Job"]["spec"]["template"]
        assert not deployment["selector"]["matchLabels"].items() <= job["metadata"]["labels"].items()
        assert build_parser().parse_args(job["spec"]["containers"][0]["args"]).action == "upgrade"
    if "Ingress" in result:
        (rule,) = result["Ingress"]["spec"]["rules"]
        (path,) = rule["http"]["paths"]
        assert path["backend"]["service"]["name"] == result["Service"]["metadata"]["name"]
    if "HorizontalPodAutoscaler" in result:
        target = result["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
        assert target["name"] == result["Deployment"]["metadata"]["name"]
        assert "replicas" not in deployment, "two would set it"
    names = {
        variable["valueFrom"]["secretKeyRef"]["name"]
        for _, container in containers(result)
        for variable in container["env"]
        if "valueFrom" in variable
    }
    secret = result.get("Secret")
    assert names == {secret["metadata"]["name"] if secret else "memstow-database"}
    if secret is not None:
        assert base64.b64decode(secret["data"]["address"]).decode() == ALL["database"]["url"]


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
def test_every_container_is_confined_and_set_up_by_settings_that_exist(values: dict[str, Any]) -> None:
    for pod, container in containers(rendered(values)):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["enableServiceLinks"] is False
        assert pod["automountServiceAccountToken"] is False
        security = container["securityContext"]
        assert security["readOnlyRootFilesystem"] is True
        assert security["allowPrivilegeEscalation"] is False
        assert security["capabilities"] == {"drop": ["ALL"]}
        assert "memory" in container["resources"]["limits"]
        for variable in container["env"]:
            assert variable["name"].removeprefix(PREFIX).lower() in Settings.model_fields


def test_what_it_runs_by_default_is_what_the_plain_manifests_run() -> None:
    result, plain = rendered(LEAST), plain_documents()
    for kind in ("Deployment", "Job"):
        ours, theirs = (entry[kind]["spec"]["template"]["spec"] for entry in (result, plain))
        (server,), (other,) = ours.pop("containers"), theirs.pop("containers")
        assert server.pop("image") == other.pop("image") == f"memstow:{memstow.__version__}"
        assert server.pop("imagePullPolicy") == "IfNotPresent"
        variables = [sorted(entry.pop("env"), key=lambda one: str(one["name"])) for entry in (server, other)]
        assert variables[0] == variables[1]
        assert server == other
        for pod in (ours, theirs):
            pod.pop("topologySpreadConstraints", None)
            pod["securityContext"].pop("fsGroup", None)
        assert ours == theirs
    assert result["Deployment"]["spec"]["strategy"] == plain["Deployment"]["spec"]["strategy"]
    scaled, other = rendered(ALL)["HorizontalPodAutoscaler"], plain["HorizontalPodAutoscaler"]
    assert {**scaled["spec"], "minReplicas": 2} == other["spec"]


def test_settings_come_as_the_service_reads_them() -> None:
    given = environment(ALL)
    assert given["MEMSTOW_SOLVE_MEMORY"] == "1073741824"
    assert given["MEMSTOW_MAX_QUEUED"] == "5000000"
    assert given["MEMSTOW_SYNC_SECONDS"] == "2.5"
    assert given["MEMSTOW_SHARE_CACHE"] == "true"
    assert given["MEMSTOW_CALLBACK_ALLOW"] == "https://a.example,https://b.example/x"
    assert given["MEMSTOW_CALLBACK_SECRET"] == "/run/secrets/memstow/callback"
    assert environment(OTHER)["MEMSTOW_SLOTS"] == "1"
    assert "MEMSTOW_CALLBACK_SECRET" not in environment(OTHER)


def test_what_is_missing_is_said() -> None:
    with pytest.raises(FailedError, match=r"database\.existingSecret"):
        CHART.render({})
    with pytest.raises(FailedError, match=r"ingress\.host"):
        CHART.render({**LEAST, "ingress": {"enabled": True}})


def test_the_versions_are_those_of_memstow() -> None:
    assert CHART.about["version"] == CHART.about["appVersion"] == memstow.__version__


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
def test_the_schema_takes_what_is_right(values: dict[str, Any]) -> None:
    validate = pytest.importorskip("jsonschema").validate
    validate(CHART.values, SCHEMA)
    validate(values, SCHEMA)


@pytest.mark.parametrize(
    "wrong",
    [
        {"replica": 2},
        {"replicas": "2"},
        {"image": {"name": "memstow"}},
        {"database": {"url": "mysql://host/name"}},
        {"settings": {"SLOTS": 2}},
        {"settings": {"database": "postgresql://host/name"}},
        {"settings": {"slots": {}}},
        {"service": {"port": 0}},
        {"migration": {"enabled": "yes"}},
    ],
)
def test_the_schema_refuses_what_is_wrong(wrong: dict[str, Any]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, SCHEMA)


def _paths(values: dict[str, Any], schema: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The values by their paths; a map that takes any names is one value."""
    for name, value in values.items():
        inner = schema["properties"][name]
        if "properties" in inner and name != "resources":
            yield from _paths(value, inner, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def test_every_value_is_in_the_schema_and_documented_with_its_default() -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    rows = dict(re.findall(r"^\| `([\w.]+)` \| (.*?) \| .* \|$", page, re.MULTILINE))
    expected = {path: f"`{json.dumps(value)}`" for path, value in _paths(CHART.values, SCHEMA)}
    assert {path: entry for path, entry in rows.items() if path in expected or "." in path} == expected


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
def test_helm_makes_the_same_of_it(values: dict[str, Any], tmp_path: Path) -> None:
    helm = shutil.which("helm")
    if helm is None:
        pytest.skip("helm is not installed; the chart is rendered by tests/helm_templates.py alone")
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(values))
    given = [str(FOLDER), "--values", str(tmp_path / "values.yaml")]
    for command in (["lint", "--strict", *given], ["template", "memstow", *given]):
        ran = subprocess.run([helm, *command], capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert ran.returncode == 0, ran.stderr + ran.stdout
    made = {entry["kind"]: entry for entry in yaml.safe_load_all(ran.stdout) if entry}
    assert made == rendered(values)
