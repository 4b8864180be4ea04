"""`memstow view` and `memstow solve --open`: the page of a plan as a file."""

import base64
import gzip
import json
import re
import tempfile
import webbrowser
from pathlib import Path

import pytest

from memstow.api.cli.exit_codes import Exit
from tests.api.cli.conftest import Cli
from tests.tflite_models import small_model


def _held(page: Path) -> dict[str, object]:
    found = re.search(r'id="held">([\w+/=]*)<', page.read_text())
    assert found is not None
    held: dict[str, object] = json.loads(gzip.decompress(base64.b64decode(found.group(1))))
    return held


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The addresses that the browser was asked to open; temporary files are in the folder of the test."""
    addresses: list[str] = []

    def note(address: str) -> bool:
        addresses.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", note)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return addresses


def test_the_file_holds_the_plan_and_its_problem(cli: Cli, three: Path, tmp_path: Path) -> None:
    plan, page = tmp_path / "plan.json", tmp_path / "page.html"
    assert cli("solve", three, "--output", plan, "--quiet").code == Exit.DONE
    assert cli("view", plan, "--problem", three, "--output", page).code == Exit.DONE
    held = _held(page)
    assert held["problem"] == json.loads(three.read_text())
    assert held["plan"] == json.loads(plan.read_text())


def test_a_plan_in_csv_needs_no_problem(cli: Cli, tmp_path: Path) -> None:
    plan, page = tmp_path / "plan.csv", tmp_path / "page.html"
    plan.write_text("id,lower,upper,size,offset\na,0,2,64,0\nb,1,3,64,64\n")
    assert cli("view", plan, "--output", page).code == Exit.DONE
    held = _held(page)
    assert held["name"] == "plan.csv"
    assert held["plan"]["placements"][1] == {"buffer": "b", "pool": "memory", "offset": 64}  # type: ignore[index]


def test_a_plan_without_sizes_needs_its_problem(cli: Cli, three: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    cli("solve", three, "--output", plan, "--quiet")
    ran = cli("view", plan, "--output", tmp_path / "page.html")
    assert ran.code == Exit.USAGE
    assert "give its problem" in ran.err
    assert not (tmp_path / "page.html").exists()


def test_without_an_output_the_browser_shows_a_temporary_file(
    cli: Cli, three: Path, tmp_path: Path, opened: list[str]
) -> None:
    plan = tmp_path / "plan.json"
    cli("solve", three, "--output", plan, "--quiet")
    for _ in range(2):
        assert cli("view", plan, "--problem", three).code == Exit.DONE
    assert len(opened) == 2
    assert opened[0] == opened[1]
    assert [page.as_uri() for page in tmp_path.glob("memstow-*.html")] == opened[:1]


def test_solve_opens_what_it_found_with_its_search(
    cli: Cli, three: Path, tmp_path: Path, opened: list[str]
) -> None:
    assert cli("solve", three, "--quiet", "--open").code == Exit.DONE
    (page,) = tmp_path.glob("memstow-*.html")
    assert opened == [page.as_uri()]
    held = _held(page)
    assert held["plan"]["status"] == "optimal"  # type: ignore[index]
    assert any(step["value"] == 150 for step in held["search"])  # type: ignore[attr-defined]


def test_an_infeasible_problem_is_shown_too(cli: Cli, three: Path, tmp_path: Path, opened: list[str]) -> None:
    assert cli("solve", three, "--capacity", "100", "--quiet", "--open").code == Exit.INFEASIBLE
    assert len(opened) == 1
    (page,) = tmp_path.glob("memstow-*.html")
    assert _held(page)["plan"]["status"] == "infeasible"  # type: ignore[index]


def test_buffers_of_a_model_have_the_groups_that_the_page_colours_by(cli: Cli, tmp_path: Path) -> None:
    model, plan, page = (tmp_path / name for name in ("model.tflite", "plan.json", "page.html"))
    model.write_bytes(small_model())
    assert cli("solve", model, "--output", plan, "--quiet").code == Exit.DONE
    assert cli("view", plan, "--problem", model, "--output", page).code == Exit.DONE
    problem = _held(page)["problem"]
    assert isinstance(problem, dict)
    groups = {buffer["id"]: buffer.get("group") for buffer in problem["buffers"]}
    assert groups == {"0": None, "2": "CONV_2D", "3": "RELU"}
