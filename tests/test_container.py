"""The files in docker/ agree with the service that they start and watch; docker/check.sh runs the image."""

import re
import shutil
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from memstow.api.http.settings import PREFIX, Settings, load
from tests.sizing import most_memory
from tests.waiting import PATIENCE

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
COMPOSED = ("compose.yaml", "compose.cluster.yaml")


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / "docker" / name).read_text())


def servers(name: str) -> dict[str, Any]:
    """Containers of our image that run what it runs by itself."""
    services = read(name)["services"]
    return {
        title: entry
        for title, entry in services.items()
        if entry.get("image") == "memstow" and "entrypoint" not in entry
    }


def image_environment() -> dict[str, str]:
    text = (ROOT / "Dockerfile").read_text()
    return dict(re.findall(r"\b(MEMSTOW_\w+)=(\S+)", text))


@pytest.mark.parametrize("name", COMPOSED)
def test_every_container_of_ours_is_confined_and_set_up_by_settings_that_exist(name: str) -> None:
    services = read(name)["services"]
    ours = {title: entry for title, entry in services.items() if entry.get("image") == "memstow"}
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
        handles = service["ulimits"]["nofile"]
        assert handles["soft"] == handles["hard"] > Settings().max_connections
        seconds = float(service["stop_grace_period"].removesuffix("s"))
        assert seconds > Settings().grace_seconds, "the server ends by itself before it is killed"


@pytest.mark.parametrize("name", COMPOSED)
def test_compose_takes_the_file(name: str) -> None:
    program = shutil.which("docker-compose")
    if program is None:
        pytest.skip("docker-compose is not here (Debian: apt-get install docker-compose)")
    ran = subprocess.run(
        [program, "-f", name, "config", "--quiet"],
        cwd=ROOT / "docker",
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("name", COMPOSED)
def test_every_container_has_limits_and_every_foreign_image_is_pinned(name: str) -> None:
    for service in read(name)["services"].values():
        assert re.fullmatch(r"\d+[mg]", service["mem_limit"])
        assert service["pids_limit"] > 0
        if service["image"] != "memstow":
            assert re.fullmatch(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}", service["image"])


def test_what_solves_on_one_server_fits_into_its_memory() -> None:
    (service,) = servers("compose.yaml").values()
    given = service["environment"]
    settings = load({name: str(value) for name, value in given.items()})
    assert settings.slots == 2
    assert most_memory(settings) < int(service["mem_limit"].removesuffix("g")) << 30


def test_what_solves_on_a_worker_fits_into_its_memory() -> None:
    services = read("compose.cluster.yaml")["services"]
    worker = services["worker"]
    threads = int(worker["command"][worker["command"].index("--nthreads") + 1])
    for server in servers("compose.cluster.yaml").values():
        given = {name: str(value) for name, value in server["environment"].items()}
        assert most_memory(load(given)) < int(server["mem_limit"].removesuffix("g")) << 30
        solves = threads * int(server["environment"]["MEMSTOW_SOLVE_MEMORY"])
        assert solves < int(worker["mem_limit"].removesuffix("g")) << 30


def test_the_base_is_pinned_and_what_is_installed_has_hashes() -> None:
    text = (ROOT / "Dockerfile").read_text()
    assert re.search(r"^ARG BASE=\S+@sha256:[0-9a-f]{64}$", text, re.MULTILINE)
    assert "pip download --require-hashes" in text
    assert "PIP_NO_INDEX=1" in text, "nothing comes from elsewhere after that"
    assert "/livez" in text
    ignored = (ROOT / ".dockerignore").read_text()
    assert "!docker/requirements.txt" in ignored


def requirements() -> dict[str, str]:
    """The packages that the image may install, and their versions; each has hashes."""
    result: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", (ROOT / "docker" / "requirements.txt").read_text()):
        if entry.startswith("#"):
            continue
        pinned = re.match(r"([\w.-]+)==(\S+)", entry)
        assert pinned, entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry
        result[canonicalize_name(pinned[1])] = pinned[2]
    return result


def test_the_hashes_are_of_the_versions_that_were_tested() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = [line.partition(";")[0].split("==") for line in lines if line and not line.startswith("#")]
    tested = {canonicalize_name(name): version for name, version in pinned}
    image = requirements()
    assert image.items() <= tested.items(), "run docker/pin.sh"


def test_the_image_finds_whatever_it_needs_among_them() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    wanted = [*project["build-system"]["requires"], *project["project"]["dependencies"], "cmake", "ninja"]
    for extra in ("service", "postgres", "dask", "cpsat", "milp", "otel"):
        wanted += extras[extra]
    seen: set[tuple[str, str]] = set()
    missing: set[str] = set()
    left = [(Requirement(text), "") for text in wanted]
    while left:
        requirement, extra = left.pop()
        name = canonicalize_name(requirement.name)
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": extra})
        if name == "memstow" or not applies:
            continue
        if name not in requirements():
            missing.add(name)
        for chosen in ("", *requirement.extras):
            if (name, chosen) not in seen:
                seen.add((name, chosen))
                for text in metadata.requires(name) or ():
                    left.append((Requirement(text), chosen))
    assert not missing, "run docker/pin.sh"
    assert len(seen) > 40


@pytest.mark.parametrize("name", COMPOSED)
def test_ports_are_open_to_this_machine_only_and_lead_to_the_service(name: str) -> None:
    for service in read(name)["services"].values():
        for port in service.get("ports", ()):
            address, _, inside = port.split(":")
            assert address == "127.0.0.1"
            if service["image"] == "memstow":
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
        for secret in service.get("secrets", ()):
            assert secret in composed["secrets"]
        assert set(service.get("depends_on", ())) <= composed["services"].keys()


def test_prometheus_asks_every_replica() -> None:
    replicas = servers("compose.cluster.yaml").keys()
    (job,) = read("prometheus/prometheus.yaml")["scrape_configs"]
    targets = [target.split(":") for entry in job["static_configs"] for target in entry["targets"]]
    assert {host for host, _ in targets} == replicas
    assert {port for _, port in targets} == {image_environment()["MEMSTOW_PORT"]}


def test_servers_and_workers_of_the_cluster_meet_at_the_scheduler() -> None:
    services = read("compose.cluster.yaml")["services"]
    places = {
        server["environment"]["MEMSTOW_SCHEDULER"] for server in servers("compose.cluster.yaml").values()
    }
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


def test_one_key_does_not_take_all_workers_of_the_cluster() -> None:
    worker = read("compose.cluster.yaml")["services"]["worker"]
    threads = int(worker["command"][worker["command"].index("--nthreads") + 1]) * worker["deploy"]["replicas"]
    for service in servers("compose.cluster.yaml").values():
        assert 0 < int(service["environment"]["MEMSTOW_KEY_RUNNING"]) < threads
