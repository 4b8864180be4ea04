"""An option is followed, or refused by its name with what to do: for every kind of input of every command."""

import json
from pathlib import Path

import pytest

from memstow.api.cli.terminal import Exit
from tests.api.cli.conftest import Cli
from tests.fuzz.fuzz_verify import CHAIN, SYMBOLIC
from tests.planner.tflm.test_planned_model import carrying
from tests.tflite_models import branching_model
from tests.torch_recordings import pickled, sample, snapshot_of

PROBLEM = "problem.json", "rows.csv"
EVERY = *PROBLEM, "graph.json", "symbolic.json", "model.tflite"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MEMSTOW_SERVER", raising=False)
    buffers = [{"id": "a", "size": 4, "lifetime": [0, 2]}, {"id": "b", "size": 6, "lifetime": [1, 3]}]
    for name, document in (
        ("problem.json", {"version": 1, "buffers": buffers}),
        ("graph.json", CHAIN),
        ("symbolic.json", SYMBOLIC),
    ):
        (tmp_path / name).write_text(json.dumps(document))
    (tmp_path / "rows.csv").write_text("id,lower,upper,size\na,0,2,4\nb,1,3,6\n")
    (tmp_path / "places.csv").write_text("id,pool,offset\na,memory,0\nb,memory,4\n")
    (tmp_path / "hint.json").write_text(json.dumps({"status": "feasible", "placements": []}))
    (tmp_path / "model.tflite").write_bytes(branching_model())
    (tmp_path / "planned.tflite").write_bytes(carrying([0, -1, 528, -1, -1]))
    return tmp_path


SOLVE = [
    (("--time-limit", "5", "--deterministic"), EVERY),
    (("--dim", "N=1"), EVERY),
    (("--in-place",), (*PROBLEM, "graph.json", "symbolic.json")),
    (("--no-in-place",), (*PROBLEM, "symbolic.json")),
    (("--order", "free"), (*PROBLEM, "symbolic.json")),
    (("--at", "s=1"), (*PROBLEM, "graph.json", "model.tflite")),
    (("--shapes", "order"), (*PROBLEM, "graph.json", "model.tflite")),
    (("--key", "secret"), EVERY),
    (("--locked",), EVERY),
    (("--prefix", "net"), EVERY),
    (("--section", "p=here"), EVERY),
    (("--scratch", "measure"), (*PROBLEM, "graph.json", "symbolic.json")),
    (("--order-only",), EVERY),
    (("--proof", "plan.proof"), EVERY[1:]),
    (("--pbp", "p.pbp", "--opb", "p.opb"), EVERY[1:]),
    (("--replan",), EVERY),
    (("--output", "a.json", "--output", "b.csv", "--output-format", "csv"), (*PROBLEM, "graph.json")),
    (("--target", "stm32h743"), ("symbolic.json",)),
    (("--capacity", "4096"), ("symbolic.json",)),
    (("--fit-only",), ("symbolic.json",)),
    (("--gap", "0.1"), ("symbolic.json",)),
    (("--solver", "greedy"), ("symbolic.json",)),
    (("--hint", "places.csv"), ("symbolic.json",)),
    (("--lock", "plan.lock"), ("symbolic.json",)),
    (("--picture", "plan.svg"), ("symbolic.json",)),
    (("--format", "csv"), ("symbolic.json",)),
    (("--device", "0"), ("symbolic.json",)),
]
FRONT = [
    (("--time-limit", "5", "--deterministic"), (*PROBLEM, "graph.json", "model.tflite")),
    (("--dim", "N=1"), (*PROBLEM, "graph.json", "model.tflite")),
    (("--in-place",), (*PROBLEM, "graph.json")),
    (("--order", "free"), PROBLEM),
    (("--with", "stripes"), PROBLEM),
    (("--cost", "bytes"), PROBLEM),
    (("--hint", "hint.json"), ("graph.json", "model.tflite")),
    (("--key", "secret"), (*PROBLEM, "graph.json")),
]
TILE = [
    (("--dim", "N=1"), ("graph.json", "model.tflite")),
    (("--front",), ("graph.json", "model.tflite")),
    (("--home", "l2"), ("graph.json", "model.tflite")),
    (("--objective", "beyond"), ("graph.json", "model.tflite")),
    (("--output", "tiles.csv"), ("graph.json", "model.tflite")),
]
CONVERT = [
    (("--dim", "N=1"), (*PROBLEM, "graph.json", "model.tflite")),
    (("--in-place",), (*PROBLEM, "graph.json")),
    (("--order", "free"), (*PROBLEM, "graph.json", "model.tflite")),
    (("--at", "s=1"), (*PROBLEM, "graph.json", "model.tflite")),
    (("--channels",), (*PROBLEM, "graph.json", "model.tflite")),
    (("--symbol", "N=1..4"), (*PROBLEM, "graph.json", "model.tflite")),
    (("--output-format", "symbolic"), (*PROBLEM, "graph.json", "symbolic.json", "model.tflite")),
]


@pytest.mark.parametrize(
    ("command", "words", "name"),
    [
        pytest.param(command, words, name, id=f"{command} {name} {' '.join(words)}")
        for command, table in (("solve", SOLVE), ("front", FRONT), ("tile", TILE), ("convert", CONVERT))
        for words, names in table
        for name in names
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_is_not_followed_is_refused(cli: Cli, command: str, words: tuple[str, ...], name: str) -> None:
    capacity = ("--capacity", "4096") if command == "tile" else ()
    made = ("made.json",) if command == "convert" else ()
    ran = cli(command, name, *made, *capacity, *words)
    assert ran.code == Exit.USAGE, ran.out
    # Some options have no meaning for a file that is not of their kind: then that is told of the file.
    of_file = {"--at": "symbols", "--scratch": "model", "--output": "tiles.csv"}
    option = next(word for word in reversed(words) if word.startswith("--"))
    assert option in ran.err or of_file.get(option, option) in ran.err
    assert not Path("made.json").exists()


@pytest.mark.parametrize(
    ("files", "words", "text"),
    [
        (("rows.csv", "places.csv"), ("--time-limit", "5"), "--time-limit: it limits --recheck"),
        (("rows.csv", "plan.json"), ("--hint", "places.csv"), "--hint: the term `moves` is counted against"),
        (
            ("graph.json", "front.json"),
            ("--point", "1", "--plan-format", "csv"),
            "--plan-format: PLAN is a front",
        ),
        (("planned.tflite",), ("--point", "1"), "--point: it is for plans in files of their own"),
        (("planned.tflite",), ("--plan-format", "json"), "--plan-format: it is for plans in files"),
        (("planned.tflite",), ("--hint", "hint.json"), "--hint: the term `moves` is counted against"),
        (("problem.json", "places.csv"), ("--in-place",), "--in-place: it is for graphs"),
        (("graph.json", "places.csv"), ("--in-place",), "--in-place: it is for models"),
        (("symbolic.json", "plan.json"), ("--recheck",), "--recheck: it is not for problems with symbols"),
        (("symbolic.json", "plan.json"), ("--proof", "p"), "--proof: it is not for problems with symbols"),
        (("rows.csv", "plan.json"), ("--proof", "p"), "--proof: a proof is about a problem in JSON"),
        (
            ("symbolic.json", "plan.json"),
            ("--order", "free"),
            "--order: it is for graphs, and this is a problem",
        ),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_is_not_followed_when_a_plan_is_verified_is_refused(
    cli: Cli, files: tuple[str, ...], words: tuple[str, ...], text: str
) -> None:
    assert cli("solve", "rows.csv", "--deterministic", "--output", "plan.json").code == Exit.DONE
    ran = cli("verify", *files, *words)
    assert (ran.code, text in ran.err) == (Exit.USAGE, True), ran.err


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("front.json", "--problem", "graph.json", "--plan-format", "csv"), "--plan-format"),
        (
            (
                *("front.json", "--problem", "graph.json", "--point", "1"),
                *("--plan-format", "csv", "--output-format", "loops"),
            ),
            "--plan-format",
        ),
        *(
            ((name, option, *value), option)
            for name in ("rows.csv", "steps.pickle")
            for option, *value in (
                ("--at", "s=1"),
                ("--order", "free"),
                ("--dim", "N=1"),
                ("--in-place",),
                ("--no-in-place",),
                ("--device", "7"),
            )
        ),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_is_not_followed_when_a_plan_is_viewed_is_refused(
    cli: Cli, words: tuple[str, ...], option: str
) -> None:
    Path("steps.pickle").write_bytes(pickled(snapshot_of(sample())))
    cli("front", "graph.json", "--deterministic", "--with", "none", "--output", "front.json", "--quiet")
    ran = cli("view", *words, "--output", "page")
    assert (ran.code, option in ran.err) == (Exit.USAGE, True), ran.err
    assert not Path("page").exists()


def test_the_device_of_a_recording_that_is_viewed_alone(cli: Cli, folder: Path) -> None:
    both = folder / "both.pickle"
    both.write_bytes(pickled(snapshot_of(sample(1), sample(2, layers=1))))
    page = folder / "page.html"
    assert "--device: name one of its devices" in cli("view", both, "--output", page).err
    assert cli("view", both, "--device", "1", "--output", page).code == Exit.DONE


@pytest.mark.parametrize("output", ["plan.json", "plan.csv", "plan.h"])
@pytest.mark.usefixtures("folder")
def test_a_hint_in_stripes_is_refused_whatever_is_written(cli: Cli, output: str) -> None:
    cli("front", "graph.json", "--deterministic", "--with", "stripes", "--output", "front.json", "--quiet")
    plan = json.loads(Path("front.json").read_text())["points"][0]["plan"]
    assert plan["schedule"]["stripes"]
    Path("striped.json").write_text(json.dumps(plan))
    ran = cli("solve", "graph.json", "--deterministic", "--hint", "striped.json", "--output", output)
    assert ran.code == Exit.USAGE
    assert "runs operators in stripes" in ran.err
    assert "leave the hint out" in ran.err
    assert not Path(output).exists()


def test_a_key_is_for_the_service_that_the_environment_names(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMSTOW_SERVER", "http://localhost:1")
    ran = cli("solve", folder / "problem.json", "--key", "secret", "--time-limit", "0.1")
    assert "--key" not in ran.err
