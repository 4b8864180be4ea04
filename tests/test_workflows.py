"""The workflows publish what CONTRIBUTING.md says, with no more rights than that takes."""

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".github" / "workflows"
NAMES = sorted(path.name for path in FOLDER.iterdir())
# Rights that more than reading the repository takes, by what they are for.
RIGHTS = {
    ("release.yml", "publish"): {"id-token": "write"},
    ("image.yml", "image"): {
        "contents": "read",
        "packages": "write",
        "id-token": "write",
        "attestations": "write",
    },
}
ONLY_TAGS = "startsWith(github.ref, 'refs/tags/v')"


def workflow(name: str) -> dict[Any, Any]:
    document: dict[Any, Any] = yaml.safe_load((FOLDER / name).read_text())
    return document


def steps(job: dict[str, Any], action: str) -> list[dict[str, Any]]:
    return [step for step in job["steps"] if step.get("uses", "").startswith(f"{action}@")]


@pytest.mark.parametrize("name", NAMES)
def test_every_workflow_may_only_read_but_for_what_publishes(name: str) -> None:
    result = workflow(name)
    assert result["permissions"] == {"contents": "read"}
    for title, job in result["jobs"].items():
        assert job.get("permissions") == RIGHTS.get((name, title)), title
        assert ("environment" in job) == ((name, title) in RIGHTS), "who may publish is decided there"


@pytest.mark.parametrize("name", NAMES)
def test_every_action_has_a_version_and_no_text_from_outside_is_run(name: str) -> None:
    for job in workflow(name)["jobs"].values():
        for step in job["steps"]:
            if "uses" in step:
                assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+(\.\d+)*|release/v\d+|[0-9a-f]{40})", step["uses"])
            assert "${{" not in step.get("run", ""), "a variable of the environment is not read as a command"


@pytest.mark.parametrize("name", NAMES)
def test_no_registry_is_named(name: str) -> None:
    text = (FOLDER / name).read_text()
    assert re.findall(r"\b[\w-]+\.(?:io|com|dev|org)\b", text) == []


def test_the_image_is_pushed_with_its_provenance_and_what_is_in_it() -> None:
    result = workflow("image.yml")
    (job,) = result["jobs"].values()
    # PyYAML reads `on` as a truth value.
    assert result[True] == {"push": {"tags": ["v*"]}, "workflow_dispatch": None}
    assert job["if"] == "vars.IMAGE_REGISTRY != ''"
    tried, pushed = steps(job, "docker/build-push-action")
    assert tried["with"]["load"] is True
    assert "push" not in tried["with"]
    assert pushed["if"] == ONLY_TAGS
    assert pushed["with"]["push"] is True
    assert (pushed["with"]["provenance"], pushed["with"]["sbom"]) == ("mode=max", True)
    differ = {"load", "push", "tags", "labels", "provenance", "sbom"}
    assert [{k: v for k, v in entry["with"].items() if k not in differ} for entry in (tried, pushed)] == [
        {"context": "."}
    ] * 2, "what is pushed is what was tried"
    (attested,) = steps(job, "actions/attest-build-provenance")
    assert attested["if"] == ONLY_TAGS
    assert attested["with"]["subject-digest"] == f"${{{{ steps.{pushed['id']}.outputs.digest }}}}"
    (login,) = steps(job, "docker/login-action")
    assert login["if"] == ONLY_TAGS
    assert login["with"]["registry"] == "${{ vars.IMAGE_REGISTRY }}"
    order = [job["steps"].index(step) for step in (tried, login, pushed, attested)]
    (check,) = (at for at, step in enumerate(job["steps"]) if step.get("run") == "docker/check.sh")
    assert order == sorted(order)
    assert order[0] < check < order[1]
    assert job["steps"][check]["env"] == {"IMAGE": tried["with"]["tags"]}
    assert (ROOT / "docker" / "check.sh").stat().st_mode & 0o100


def test_wheels_are_made_on_the_systems_that_contributing_names() -> None:
    systems = workflow("release.yml")["jobs"]["wheels"]["strategy"]["matrix"]["os"]
    assert all(system.startswith("ubuntu-") for system in systems)
    assert len(systems) == 2
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert "Wheels are for Linux with glibc alone. There are none for macOS, musl or Windows" in text
    assert "on Linux on x86_64 and\n   again on aarch64" in text
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert not {"macos", "windows"} & project["tool"]["cibuildwheel"].keys()


def test_the_gate_runs_for_each_change_and_the_campaign_weekly_and_by_hand() -> None:
    gate, campaign = workflow("ci.yml"), workflow("campaign.yml")
    assert gate[True] == {"push": {"branches": ["main"]}, "pull_request": None}
    assert campaign[True].keys() == {"schedule", "workflow_dispatch"}
    (weekly,) = campaign[True]["schedule"]
    assert re.fullmatch(r"\d+ \d+ \* \* [0-6]", weekly["cron"])
    for run, script in ((gate, ".ci/run"), (campaign, ".ci/campaign")):
        (job,) = run["jobs"].values()
        assert job["steps"][-1]["run"].endswith(f" {script}")
        assert (ROOT / script).stat().st_mode & 0o100


def test_the_campaign_has_what_the_gate_leaves_out() -> None:
    makefile = (ROOT / "Makefile").read_text()
    (recipe,) = re.findall(r"^campaign: install\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    for part in (
        "proofs-verified",
        "native-check SANITIZE=thread",
        "native-check NOT_SANITIZED=",
        "wheel-check",
        "contract",
        "MEMSTOW_TEST_ROUNDS=100 $(BIN)/python -m pytest -m 'campaign or rounds'",
    ):
        assert part in recipe
    pytest_options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert "-m 'not campaign'" in pytest_options["addopts"]
    gate = (ROOT / ".ci" / "run").read_text()
    for part in (
        "lint",
        "page-check",
        "proofs-verified",
        "types",
        "audit",
        "native-check",
        "bench-work",
        "test",
    ):
        assert re.search(rf"^ *make {part}\b", gate, re.MULTILINE), part


def test_what_draws_a_share_of_its_cases_is_in_the_campaign() -> None:
    texts = {path: path.read_text() for path in (ROOT / "tests").rglob("test_*.py")}
    drawing = [
        (path.name, test.name, [ast.unparse(decorator) for decorator in test.decorator_list])
        for path, text in texts.items()
        if "rounds(" in text and path != Path(__file__)
        for test in ast.parse(text).body
        if isinstance(test, ast.FunctionDef) and re.search(r"\brounds\(", ast.unparse(test))
    ]
    assert len(drawing) > 20
    assert [entry for entry in drawing if "pytest.mark.rounds" not in entry[2]] == []
