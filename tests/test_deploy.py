"""The files in deploy/ are valid, confine the service, and name settings, commands and paths that exist."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import memstow
from memstow.api.cli.parser import build_parser
from memstow.api.http.app import create_app
from memstow.api.http.settings import PREFIX, Settings, load
from tests.sizing import most_memory
from tests.waiting import PATIENCE

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
KUBERNETES = ROOT / "deploy" / "kubernetes"
UNIT = ROOT / "deploy" / "memstow.service"


def documents() -> dict[str, Any]:
    """What is in the manifests, by kind."""
    return {
        entry["kind"]: entry
        for path in sorted(KUBERNETES.iterdir())
        for entry in yaml.safe_load_all(path.read_text())
    }


def containers() -> list[Any]:
    pods = [documents()[kind]["spec"]["template"]["spec"] for kind in ("Deployment", "Job")]
    return [container for pod in pods for container in pod["containers"]]


def test_the_manifests_are_what_kubernetes_takes() -> None:
    validator = pytest.importorskip("kubernetes_validate", reason="needs kubernetes-validate")
    result = documents()
    assert result.keys() == {
        "Deployment",
        "Service",
        "PodDisruptionBudget",
        "HorizontalPodAutoscaler",
        "Job",
    }
    for document in result.values():
        for version in ("1.30", validator.latest_version()):
            validator.validate(document, version, strict=True)
    broken = {**result["Service"], "spec": {**result["Service"]["spec"], "prots": []}}
    with pytest.raises(validator.ValidationError):
        validator.validate(broken, "1.30", strict=True)


def test_the_manifests_agree_with_each_other_and_with_the_service() -> None:
    result = documents()
    deployment = result["Deployment"]
    template = deployment["spec"]["template"]
    assert result["Service"]["spec"]["selector"] == template["metadata"]["labels"]
    for kind in ("Deployment", "PodDisruptionBudget"):
        assert result[kind]["spec"]["selector"]["matchLabels"] == template["metadata"]["labels"]
    target = result["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    assert (target["kind"], target["name"]) == ("Deployment", deployment["metadata"]["name"])
    (server,) = template["spec"]["containers"]
    assert template["spec"]["terminationGracePeriodSeconds"] > 5 + Settings().grace_seconds
    assert server["ports"][0]["containerPort"] == Settings().port
    paths = create_app(Settings()).openapi()["paths"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert server[probe]["httpGet"]["path"] in paths


def test_every_container_is_confined_and_set_up_by_settings_that_exist() -> None:
    for container in containers():
        assert container["image"] == f"memstow:{memstow.__version__}"
        for variable in container["env"]:
            assert variable["name"].removeprefix(PREFIX).lower() in Settings.model_fields
        security = container["securityContext"]
        assert security["readOnlyRootFilesystem"] is True
        assert security["allowPrivilegeEscalation"] is False
        assert security["capabilities"] == {"drop": ["ALL"]}
        assert "memory" in container["resources"]["limits"]
    for kind in ("Deployment", "Job"):
        pod = documents()[kind]["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["enableServiceLinks"] is False
        assert pod["automountServiceAccountToken"] is False


def test_what_solves_fits_into_the_memory_of_its_pod() -> None:
    (server,) = documents()["Deployment"]["spec"]["template"]["spec"]["containers"]
    settings = load(
        {variable["name"]: variable["value"] for variable in server["env"] if "value" in variable}
    )
    assert most_memory(settings) < int(server["resources"]["limits"]["memory"].removesuffix("Gi")) << 30


def test_one_key_does_not_take_all_slots_of_the_pods() -> None:
    deployment = documents()["Deployment"]["spec"]
    (server,) = deployment["template"]["spec"]["containers"]
    given = {variable["name"]: variable.get("value") for variable in server["env"]}
    assert 0 < int(given["MEMSTOW_KEY_RUNNING"]) < int(given["MEMSTOW_SLOTS"]) * deployment["replicas"]


def test_the_job_runs_a_command_that_there_is() -> None:
    (migration,) = documents()["Job"]["spec"]["template"]["spec"]["containers"]
    assert build_parser().parse_args(migration["args"]).action == "upgrade"


def test_the_unit_is_what_systemd_takes(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not here")
    program = tmp_path / "memstow"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = tmp_path / "memstow.service"
    unit.write_text(UNIT.read_text().replace("/opt/memstow/bin/memstow serve", f"{program} serve"))
    ran = subprocess.run(
        ["systemd-analyze", "verify", str(unit)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_unit_gives_the_server_its_time_and_settings_that_exist() -> None:
    lines = dict(line.split("=", 1) for line in UNIT.read_text().splitlines() if re.match(r"[A-Z]\w+=", line))
    assert float(lines["TimeoutStopSec"]) > Settings().grace_seconds
    assert int(lines["LimitNOFILE"]) > Settings().max_connections
    names = re.findall(rf"^Environment={PREFIX}(\w+)=", UNIT.read_text(), re.MULTILINE)
    assert names
    assert {name.lower() for name in names} <= Settings.model_fields.keys()
    assert lines["NoNewPrivileges"] == "yes"


def test_what_solves_fits_into_the_memory_of_the_unit() -> None:
    text = UNIT.read_text()
    settings = load(dict(re.findall(rf"^Environment=({PREFIX}\w+)=(\S+)$", text, re.MULTILINE)))
    (limit,) = re.findall(r"^MemoryMax=(\d+)G$", text, re.MULTILINE)
    assert most_memory(settings) < int(limit) << 30
