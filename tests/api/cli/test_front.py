"""`memstow front`: what it prints and writes, and what it refuses."""

import io
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from memstow.api.cli.terminal import Exit
from memstow.planner.formats import write_graph
from tests.api.cli.conftest import Cli
from tests.planner.graph.test_channels import block

TWO_POOLS: dict[str, Any] = {
    "version": 1,
    "name": "two <pools>",
    "pools": [{"id": "fast", "capacity": 8}, {"id": "slow", "cost": 3}],
    "buffers": [
        {"id": "a", "size": 4, "lifetime": [0, 2]},
        {"id": "b", "size": 2, "lifetime": [0, 2]},
    ],
}
TERMS = ("--terms", "peak:fast,placement_cost")
FEW = ("--deterministic", "--work-limit", "0")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "two.json"
    path.write_text(json.dumps(TWO_POOLS))
    return path


def test_a_line_for_each_point_and_files_by_their_suffixes(cli: Cli, file: Path, tmp_path: Path) -> None:
    outputs = [tmp_path / name for name in ("front.json", "front.csv", "front.svg")]
    wanted = [word for path in outputs for word in ("--output", str(path))]
    ran = cli("front", file, "--time-limit", "240", *wanted)
    assert (ran.code, ran.err) == (Exit.DONE, "")
    lines = ran.out.splitlines()
    assert [line.split() for line in lines[:5]] == [
        ["peak:fast", "placement_cost"],
        ["0", "18", "proven"],
        ["2", "12", "proven"],
        ["4", "6", "proven"],
        ["6", "0", "proven"],
    ]
    assert lines[6].startswith("complete: 4 points, all proven")
    document = json.loads(outputs[0].read_text())
    assert (document["terms"], document["complete"]) == (["peak:fast", "placement_cost"], True)
    assert document["points"][1]["peak:fast"] == 2
    assert document["points"][1]["bounds"] == {"peak:fast": 2, "placement_cost": 12}
    (tmp_path / "plan.json").write_text(json.dumps(document["points"][1]["plan"]))
    assert cli("verify", file, tmp_path / "plan.json").code == Exit.DONE
    assert outputs[1].read_text().splitlines()[2] == "2,12,2,12,yes"
    picture = ElementTree.fromstring(outputs[2].read_text())
    assert len(picture.findall(".//{*}circle[@class='proven']")) == 4
    assert picture.findtext("{*}title") == "two <pools>"


def test_open_points_show_their_bounds(cli: Cli, file: Path, tmp_path: Path) -> None:
    ran = cli("front", file, "--terms", "peak:slow,peak:fast", *FEW, "--output", tmp_path / "front.svg")
    assert ran.code == Exit.DONE
    assert "complete" in ran.out or ("peak:fast bound" in ran.out and "there may be others" in ran.out)


def test_json_alone(cli: Cli, file: Path) -> None:
    ran = cli("front", file, *TERMS, "--within", "1", "--points", "2", *FEW, "--json")
    document = json.loads(ran.out)
    assert document["request"] == {"terms": ["peak:fast", "placement_cost"], "within": 1.0, "points": 2}
    assert [point["placement_cost"] for point in document["points"]] == [0]


def test_the_smallest_target_that_will_do(cli: Cli, file: Path, tmp_path: Path) -> None:
    for name, capacity in (("large", 64), ("small", 3), ("middle", 6)):
        pools = [{"id": "fast", "capacity": capacity}]
        (tmp_path / f"{name}.json").write_text(json.dumps({"version": 1, "name": name, "pools": pools}))
    problem = {**TWO_POOLS, "reuse_costs": [{"buffers": ["a", "b"], "cost": 1}]}
    file.write_text(json.dumps(problem))
    targets = ",".join(str(tmp_path / f"{name}.json") for name in ("large", "small", "middle"))
    ran = cli("front", file, "--target", targets, "--terms", "peak,reuse_cost", "--time-limit", "240")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert [line.rpartition(": ")[2] for line in ran.out.splitlines() if " B): " in line] == [
        "does not fit",
        "fits",
        "fits",
    ]
    assert ran.out.splitlines()[-1].startswith("the smallest that will do: ")
    ran = cli("front", file, "--target", targets, "--terms", "peak,reuse_cost", "--json")
    document = json.loads(ran.out)
    assert document["smallest"] == str(tmp_path / "middle.json")
    assert [device["bytes"] for device in document["targets"]] == [3, 6, 64]


def test_what_fits_nowhere(cli: Cli, file: Path) -> None:
    pools = [{"id": "fast", "capacity": 3}, {"id": "slow", "capacity": 1}]
    file.write_text(json.dumps({**TWO_POOLS, "pools": pools}))
    ran = cli("front", file, "--terms", "peak:fast,peak:slow")
    assert ran.code == Exit.INFEASIBLE
    assert ran.out.startswith("infeasible: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--terms", "peak"), "is not two terms"),
        (("--terms", "peak,placement_cost"), "[no_limit]"),
        (("--with", "magic"), "is none of stripes"),
        (("--with", "stripes"), "[not_a_graph]"),
        (("--cost", "bytes"), "[not_a_graph]"),
        (("--points", "0"), "out of range"),
        (("--within", "0.5"), "out of range"),
        (("--output", "front.png"), "[unknown_suffix]"),
        (("--output", "a.csv", "--output", "./a.csv"), "[one_file_twice]"),
        (("--order", "free"), "[not_a_graph]"),
        (("--target", "no-such"), "no target of that name"),
        (("--target", "rp2040", "--capacity", "1000"), "--capacity: each target says"),
        (("--target", "rp2040", "--terms", "peak:fast,placement_cost"), "[unknown_pool]"),
    ],
)
def test_mistakes_are_told(
    cli: Cli, file: Path, arguments: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    ran = cli("front", file, *arguments)
    assert ran.code == Exit.USAGE
    assert said in ran.err


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("peak", 1, "it says that peak is 1"),
        ("cost", 1, "it says that cost is 1"),
        ("peak", -1, "$.points[0].peak: expected at least 0"),
        ("bounds", {"peak": 10**9}, "its bound of peak is above its value"),
        ("bounds", {}, "it is called proven"),
        (None, "0" * 64, "of another problem or graph"),
    ],
)
def test_what_a_front_says_of_a_point_is_verified(
    cli: Cli, tmp_path: Path, field: str | None, value: object, said: str
) -> None:
    graph, front = tmp_path / "graph.json", tmp_path / "front.json"
    operators = [
        {"id": "a", "inputs": ["x"], "outputs": ["y"], "cost": 7},
        {"id": "b", "inputs": ["y"], "outputs": ["z"], "cost": 7},
    ]
    tensors = [{"id": letter, "size": 8} for letter in "xyz"]
    document = {"version": 1, "tensors": tensors, "operators": operators, "inputs": ["x"], "outputs": ["z"]}
    graph.write_text(json.dumps(document))
    assert cli("front", graph, "--output", front).code == Exit.DONE
    assert cli("verify", graph, front, "--point", "1").code == Exit.DONE
    forged = json.loads(front.read_text())
    if field is None:
        forged["digest"] = value
    else:
        forged["points"][0][field] = value
    front.write_text(json.dumps(forged))
    ran = cli("verify", graph, front, "--point", "1")
    assert ran.code == (Exit.USAGE if value == -1 else Exit.INVALID)
    assert said in ran.out + ran.err


def test_a_front_and_a_plan_in_the_place_of_each_other_are_told(cli: Cli, file: Path, tmp_path: Path) -> None:
    front, plan = tmp_path / "front.json", tmp_path / "plan.json"
    assert cli("front", file, *TERMS, *FEW, "--output", front).code == Exit.DONE
    assert cli("solve", file, "--output", plan, "--quiet").code == Exit.DONE
    for words in (("verify", file, front), ("solve", file, "--hint", front)):
        ran = cli(*words)
        assert (ran.code, ran.err.count("\n")) == (Exit.USAGE, 1)
        assert "this is a front, where a plan is expected" in ran.err
        assert "--point N" in ran.err
    ran = cli("verify", file, plan, "--point", "1")
    assert (ran.code, ran.err.count("\n")) == (Exit.USAGE, 1)
    assert "this is a plan, where a front is expected" in ran.err


@pytest.fixture
def parts(cli: Cli, tmp_path: Path) -> tuple[Path, Path]:
    """A graph, and a front of it whose points have parts of channels."""
    graph, front = tmp_path / "graph.json", tmp_path / "front.json"
    graph.write_bytes(write_graph(block()))
    assert cli("front", graph, "--with", "channels", "--output", front).code == Exit.DONE
    return graph, front


def test_a_front_with_parts_of_channels_needs_no_second_file(
    cli: Cli, tmp_path: Path, parts: tuple[Path, Path]
) -> None:
    graph, front = parts
    document = json.loads(front.read_text())
    assert document["request"]["generators"] == ["channels"]
    assert document["points"][0]["plan"]["schedule"]["alternatives"]
    ran = cli("verify", graph, front, "--point", "1", "--json")
    assert (ran.code, json.loads(ran.out)["valid"]) == (Exit.DONE, True)
    assert cli("view", graph, front, "--output", tmp_path / "page.html").code == Exit.DONE
    loops = tmp_path / "net.loops.txt"
    given = ("--point", "1", "--problem", graph)
    assert cli("view", front, *given, "--output", loops).code == Exit.DONE
    assert "expand." in loops.read_text()


def test_its_plans_are_of_the_graph_with_parts(cli: Cli, tmp_path: Path, parts: tuple[Path, Path]) -> None:
    graph, front = parts
    plan, enlarged, again = (tmp_path / name for name in ("plan.json", "parts.json", "again.json"))
    ran = cli("verify", graph, front, "--point", "1", "--output", plan)
    assert ran.code == Exit.DONE
    assert "is a plan of the graph with parts of channels: `memstow convert GRAPH" in ran.err
    assert cli("convert", graph, enlarged, "--output-format", "graph", "--channels").code == Exit.DONE
    assert cli("verify", enlarged, plan).code == Exit.DONE
    assert cli("verify", enlarged, front, "--point", "1").code == Exit.DONE
    ran = cli("verify", graph, plan)
    assert ran.code == Exit.INVALID
    assert "which the graph does not have" in ran.out
    # In two steps it is the same.
    assert cli("front", enlarged, "--with", "none", "--output", again).code == Exit.DONE
    one, other = (json.loads(path.read_text()) for path in (front, again))
    assert (one["digest"], one["points"][0]["peak"]) == (other["digest"], other["points"][0]["peak"])


def test_a_front_that_says_nothing_of_its_channels_is_refused(
    cli: Cli, tmp_path: Path, parts: tuple[Path, Path]
) -> None:
    graph, front = parts
    forged = json.loads(front.read_text())
    forged["request"]["generators"] = []
    front.write_text(json.dumps(forged))
    plan = tmp_path / "plan.json"
    ran = cli("verify", graph, front, "--point", "1", "--output", plan)
    assert ran.code == Exit.INVALID
    assert "of another problem or graph" in ran.out
    assert not plan.exists()
    ran = cli("view", graph, front, "--output", tmp_path / "page.html")
    assert ran.code == Exit.USAGE
    assert "of another problem or graph" in ran.err


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("-", "[no_output]"),
        (
            "plan.svg",
            "plan.svg: .svg is not a supported format: use a name that ends with .json or .csv [unk",
        ),
        ("front.json", "[one_file_twice]"),
        # Without what it does beside an order it would be another plan.
        ("plan.csv", "[lost_schedule]"),
    ],
)
def test_outputs_of_a_verdict_that_are_impossible_are_told(
    cli: Cli, parts: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, output: str, said: str
) -> None:
    graph, front = parts
    monkeypatch.chdir(graph.parent)
    before = front.read_bytes()
    ran = cli("verify", graph, front, "--point", "1", "--output", output)
    assert (ran.code, front.read_bytes()) == (Exit.USAGE, before)
    assert said in ran.err


def test_a_front_comes_from_standard_input(
    cli: Cli, parts: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, front = parts
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(front.read_bytes())))
    assert cli("verify", graph, "-", "--point", "1").code == Exit.DONE


def test_a_point_of_a_front_of_targets_is_taken_by_the_target(cli: Cli, file: Path, tmp_path: Path) -> None:
    for name, capacity in (("small", 6), ("large", 8)):
        pools = [{"id": "fast", "capacity": capacity}, {"id": "slow", "cost": 3}]
        (tmp_path / f"{name}.json").write_text(json.dumps({"version": 1, "name": name, "pools": pools}))
    targets = [str(tmp_path / f"{name}.json") for name in ("small", "large")]
    front = tmp_path / "front.json"
    ran = cli("front", file, *TERMS, *FEW, "--target", ",".join(targets), "--output", front)
    assert ran.code == Exit.DONE
    for name in targets:
        ran = cli("verify", file, front, "--point", "1", "--target", name)
        assert ran.code == Exit.DONE, ran.out
    ran = cli("verify", file, front, "--point", "1")
    assert ran.code == Exit.USAGE
    assert f"give one as --target: {targets[0]}" in ran.err
    document = json.loads(front.read_text())
    document["digest"] = "0" * 64
    front.write_text(json.dumps(document))
    ran = cli("verify", file, front, "--point", "1", "--target", targets[0])
    assert ran.code == Exit.INVALID
    assert "of another problem or graph" in ran.out


def test_a_point_with_a_capacity_is_verified_with_it(cli: Cli, file: Path, tmp_path: Path) -> None:
    front, plan = tmp_path / "front.json", tmp_path / "plan.json"
    terms = ("--terms", "capacity:fast,placement_cost")
    assert cli("front", file, *terms, *FEW, "--output", front).code == Exit.DONE
    for number in range(1, len(json.loads(front.read_text())["points"]) + 1):
        assert cli("verify", file, front, "--point", str(number), "--output", plan).code == Exit.DONE
    forged = json.loads(front.read_text())
    forged["points"][0]["capacity:fast"] += 1
    front.write_text(json.dumps(forged))
    assert cli("verify", file, front, "--point", "1").code == Exit.INVALID
