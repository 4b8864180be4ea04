"""`memstow view` and `memstow solve --open`: the page of a plan as a file."""

import base64
import gzip
import json
import re
import tempfile
import webbrowser
from pathlib import Path

import pytest

from memstow.api.cli.terminal import Exit
from tests.api.cli.conftest import Cli
from tests.tflite_models import small_model


def _held(page: Path) -> dict[str, object]:
    match = re.search(r'id="held">([\w+/=]*)<', page.read_text())
    assert match is not None
    held: dict[str, object] = json.loads(gzip.decompress(base64.b64decode(match.group(1))))
    return held


def _proof(held: dict[str, object]) -> str:
    """What the page says of why no plan of the first pool is smaller."""
    proof: str = held["verdict"]["pools"][0]["proof"]  # type: ignore[index]
    return proof


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


def test_a_problem_may_be_named_before_its_plan_as_for_verify(cli: Cli, three: Path, tmp_path: Path) -> None:
    plan, page, other = tmp_path / "plan.json", tmp_path / "page.html", tmp_path / "other.html"
    assert cli("solve", three, "--output", plan, "--quiet").code == Exit.DONE
    assert cli("view", plan, "--problem", three, "--output", page).code == Exit.DONE
    assert cli("view", three, plan, "--output", other).code == Exit.DONE
    assert other.read_bytes() == page.read_bytes()
    ran = cli("view", plan, plan, "--output", other)
    assert (ran.code, "[no_problem]" in ran.err) == (Exit.USAGE, True)


def test_a_plan_of_another_problem_is_shown_as_such(cli: Cli, three: Path, tmp_path: Path) -> None:
    plan, page = tmp_path / "plan.json", tmp_path / "page.html"
    placements = [{"buffer": "of another problem", "pool": "memory", "offset": 0}]
    plan.write_text(json.dumps({"status": "feasible", "placements": placements}))
    assert cli("view", plan, "--problem", three, "--output", page).code == Exit.DONE
    assert "of another problem" in json.dumps(_held(page))


@pytest.mark.parametrize("name", ["page.h", "page.tflite", "page.svg", "page.json"])
def test_a_page_has_no_name_of_something_else(cli: Cli, three: Path, tmp_path: Path, name: str) -> None:
    plan, page = tmp_path / "plan.json", tmp_path / name
    cli("solve", three, "--output", plan, "--quiet")
    ran = cli("view", plan, "--problem", three, "--output", page)
    assert (ran.code, page.exists()) == (Exit.USAGE, False)
    assert ".loops.h" in ran.err
    ran = cli("view", plan, "--problem", three, "--output", page, "--output-format", "html")
    assert (ran.code, page.exists()) == (Exit.DONE, True)


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


def test_two_plans_are_compared_in_one_file(cli: Cli, three: Path, tmp_path: Path) -> None:
    plans = [tmp_path / f"{solver}.json" for solver in ("exact", "first-fit")]
    for plan in plans:
        cli("solve", three, "--solver", plan.stem, "--output", plan, "--quiet")
    page = tmp_path / "diff.html"
    assert cli("view", *plans, "--problem", three, "--output", page).code == Exit.DONE
    held = _held(page)
    assert (held["plan"], held["other"]) == tuple(json.loads(plan.read_text()) for plan in plans)
    assert held["names"] == ["exact.json", "first-fit.json"]


def test_two_plans_in_csv_need_no_problem_but_the_same_buffers(cli: Cli, tmp_path: Path) -> None:
    one, other, third, page = (tmp_path / name for name in ("a.csv", "b.csv", "c.csv", "page.html"))
    one.write_text("id,lower,upper,size,offset\na,0,2,64,0\nb,1,3,64,64\n")
    other.write_text("id,lower,upper,size,offset\nb,1,3,64,0\na,0,2,64,64\n")
    third.write_text("id,lower,upper,size,offset\na,0,2,64,0\nb,1,3,32,64\n")
    assert cli("view", one, other, "--output", page).code == Exit.DONE
    held = _held(page)
    placed = {placement["buffer"]: placement["offset"] for placement in held["other"]["placements"]}  # type: ignore[index]
    assert placed == {"a": 64, "b": 0}
    assert "offset" not in held["problem"]["buffers"][0]  # type: ignore[index]
    ran = cli("view", one, third, "--output", page)
    assert ran.code == Exit.USAGE
    assert "not of the same buffers" in ran.err


def test_a_plan_without_places_cannot_be_compared(cli: Cli, three: Path, tmp_path: Path) -> None:
    plan, nothing = tmp_path / "plan.json", tmp_path / "nothing.json"
    cli("solve", three, "--output", plan, "--quiet")
    cli("solve", three, "--capacity", "100", "--output", nothing, "--quiet")
    ran = cli("view", plan, nothing, "--problem", three, "--output", tmp_path / "page.html")
    assert ran.code == Exit.USAGE
    assert "no places to compare" in ran.err


def test_plans_of_two_orders_cannot_be_compared(cli: Cli, tmp_path: Path) -> None:
    graph = tmp_path / "graph.json"
    cli("generate", "graph", "--n", "12", "--output", graph)
    plans = [tmp_path / f"{order}.json" for order in ("given", "free")]
    for plan in plans:
        cli("solve", graph, "--order", plan.stem, "--output", plan, "--quiet")
    orders = [json.loads(plan.read_text())["schedule"]["order"] for plan in plans]
    assert orders[0] != orders[1]
    ran = cli("view", *plans, "--problem", graph, "--output", tmp_path / "page.html")
    assert ran.code == Exit.USAGE
    assert "of different orders" in ran.err


def test_of_a_graph_the_file_says_what_the_judge_has_checked(cli: Cli, tmp_path: Path) -> None:
    graph, plan, page = (tmp_path / name for name in ("graph.json", "plan.json", "page.html"))
    cli("generate", "graph", "--n", "12", "--output", graph)
    cli("solve", graph, "--order", "free", "--output", plan, "--quiet")
    assert cli("view", plan, "--problem", graph, "--order", "free", "--output", page).code == Exit.DONE
    held = _held(page)
    assert held["graph"]["order"] == "free"  # type: ignore[index]
    assert _proof(held).endswith("The judge has checked this.")
    forged = json.loads(plan.read_text())
    forged["objective"][0]["certificate"] = {"kind": "model", "solver": "mine"}
    plan.write_text(json.dumps(forged))
    assert cli("view", plan, "--problem", graph, "--order", "free", "--output", page).code == Exit.DONE
    assert "The judge has checked this." not in _proof(_held(page))


@pytest.mark.parametrize(("change", "said"), [("short", "once"), ("reversed", "comes later")])
def test_an_order_that_the_graph_does_not_allow_is_refused(
    cli: Cli, tmp_path: Path, change: str, said: str
) -> None:
    graph, path, page = (tmp_path / name for name in ("graph.json", "plan.json", "page.html"))
    cli("generate", "graph", "--n", "12", "--output", graph)
    cli("solve", graph, "--order", "given", "--output", path, "--quiet")
    plan = json.loads(path.read_text())
    order = plan["schedule"]["order"]
    plan["schedule"]["order"] = order[:-1] if change == "short" else order[::-1]
    path.write_text(json.dumps(plan))
    ran = cli("view", path, "--problem", graph, "--output", page)
    assert ran.code == Exit.USAGE
    assert "plan.json" in ran.err
    assert said in ran.err
    assert not page.exists()


def test_a_plan_for_another_problem_is_told_of_and_not_compared(
    cli: Cli, three: Path, tmp_path: Path
) -> None:
    plan, forged, page = (tmp_path / name for name in ("plan.json", "forged.json", "page.html"))
    cli("solve", three, "--output", plan, "--quiet")
    assert cli("view", plan, "--problem", three, "--output", page).err == ""
    forged.write_text(json.dumps({**json.loads(plan.read_text()), "digest": "0" * 64}))
    ran = cli("view", forged, "--problem", three, "--output", page)
    assert ran.code == Exit.DONE
    assert "forged.json: the plan is for another problem" in ran.err
    ran = cli("view", plan, forged, "--problem", three, "--output", tmp_path / "diff.html")
    assert ran.code == Exit.USAGE
    assert "for different problems" in ran.err


TWO_WAYS = {
    "version": 1,
    "name": "two ways",
    "buffers": [
        {"id": "a", "size": 64, "lifetime": [0, 2]},
        {"id": "b", "size": 32, "lifetime": [0, 2]},
        {"id": "c", "size": 64, "lifetime": [2, 4]},
    ],
    "reuse_costs": [{"buffers": ["a", "c"], "cost": 5}],
}


@pytest.fixture
def front(cli: Cli, tmp_path: Path) -> tuple[Path, Path]:
    """A problem and its front."""
    problem, result = tmp_path / "two.json", tmp_path / "front.json"
    problem.write_text(json.dumps(TWO_WAYS))
    assert cli("front", problem, "--output", result, "--quiet").code == Exit.DONE
    return problem, result


def test_a_front_is_held_with_its_problem(cli: Cli, front: tuple[Path, Path], tmp_path: Path) -> None:
    problem, result = front
    pages = [tmp_path / f"{name}.html" for name in ("first", "last", "point")]
    assert cli("view", problem, result, "--output", pages[0]).code == Exit.DONE
    assert cli("view", result, "--problem", problem, "--output", pages[1]).code == Exit.DONE
    assert pages[0].read_bytes() == pages[1].read_bytes()
    held = _held(pages[0])
    assert held["front"] == json.loads(result.read_text())
    assert (held["problems"], held["of"]) == ([TWO_WAYS], [0, 0])
    assert [point["faults"] for point in held["verdict"]["points"]] == [[], []]  # type: ignore[index]
    assert cli("view", result, "--problem", problem, "--point", 2, "--output", pages[2]).code == Exit.DONE
    assert _held(pages[2])["first"] == 1


def test_a_front_whose_points_lack_a_term_is_refused(
    cli: Cli, front: tuple[Path, Path], tmp_path: Path
) -> None:
    problem, result = front
    forged = json.loads(result.read_text())
    first, second = forged["terms"]
    del forged["points"][1][second]
    result.write_text(json.dumps(forged))
    for command in (("view", "--output", tmp_path / "page.html"), ("verify", "--point", "1")):
        ran = cli(command[0], problem, result, *command[1:])
        assert ran.code == Exit.USAGE
        assert f"$.points[1]: the point has no value of {second}, a term of the front" in ran.err
        assert f"no value of {first}" not in ran.err


def test_a_front_of_another_problem_is_refused(
    cli: Cli, front: tuple[Path, Path], three: Path, tmp_path: Path
) -> None:
    problem, result = front
    page = tmp_path / "page.html"
    ran = cli("view", three, result, "--output", page)
    assert ran.code == Exit.USAGE
    assert "the front is of another problem or graph, as its digest says" in ran.err
    assert not page.exists()
    ran = cli("view", result, "--output", page)
    assert "give what it is a front of" in ran.err
    ran = cli("view", problem, result, "--point", 3, "--output", page)
    assert "the front has points 1 to 2" in ran.err
