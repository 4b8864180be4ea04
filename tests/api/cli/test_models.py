"""TensorFlow Lite models at the command line: written with their plan, locked, measured, verified."""

import json
import shlex
import shutil
from pathlib import Path

import pytest

import memstow
from memstow.api.cli.terminal import Exit
from memstow.planner.model.errors import InputError
from memstow.planner.tflm import measure
from tests.api.cli.conftest import Cli
from tests.planner.firmware.random_models import model_of
from tests.planner.tflm.campaign import scratch_of
from tests.planner.tflm.device import device_log
from tests.planner.tflm.random_models import random_model
from tests.planner.tflm.running import needs_runtime, run_models
from tests.planner.tflm.test_planned_model import carrying
from tests.tflite_models import GELU, Sub, model, small_model

MODEL = random_model(15)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("model.tflite").write_bytes(MODEL)
    Path("device.log").write_bytes(device_log(MODEL, scratch_of(MODEL), tail=2000))
    return tmp_path


def test_a_plan_is_written_locked_and_verified(cli: Cli, folder: Path) -> None:
    words = ("solve", "model.tflite", "--scratch", "device.log", "--lock", "model.lock")
    ran = cli(*words, "--output", "planned.tflite", "--output", "memory.h")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert ran.out.splitlines()[-8:] == [
        "TensorFlow Lite Micro, bytes  as it is  as written",
        "  head: tensors and scratch        480         400",
        "  planning, in its place         2,252       2,252",
        "  tail: what stays               2,000       2,000",
        "  least arena                    4,252       4,252",
        "the head shrinks by 80 bytes, and the arena does not: while the model is loaded,",
        "  the tables with which the runtime plans take 2,252 bytes in the place of the",
        "  head",
    ]
    assert "PLAN_OFFSET_scratch_" in (folder / "memory.h").read_text()
    again = cli(*words, "--locked", "--output", "again.tflite", "--quiet")
    assert (again.code, again.out) == (Exit.DONE, "")
    assert (folder / "again.tflite").read_bytes() == (folder / "planned.tflite").read_bytes()
    for given in (("planned.tflite",), ("model.tflite", "planned.tflite")):
        judged = cli("verify", *given)
        assert judged.code == Exit.DONE
        assert "every buffer has a place, and no two that conflict share a byte: checked" in judged.out
    Path("device.log").write_bytes(device_log(MODEL, {}))
    ran = cli(*words, "--locked")
    assert (ran.code, "the problem has changed" in ran.err.replace("\n", " ")) == (Exit.USAGE, True)


def test_order_and_plan_go_together(cli: Cli, folder: Path) -> None:
    words = ("--order", "free", "--scratch", "device.log", "--quiet")
    assert cli("solve", "model.tflite", *words, "--output", "planned.tflite").code == Exit.DONE
    judged = cli("verify", "model.tflite", "planned.tflite")
    assert (judged.code, "peak 336" in judged.out) == (Exit.DONE, True)
    carried = memstow.carried_plan((folder / "planned.tflite").read_bytes())
    assert carried is not None


def test_a_plan_that_saves_nothing_is_not_written(cli: Cli, folder: Path) -> None:
    Path("small.tflite").write_bytes(small_model())
    ran = cli("solve", "small.tflite", "--output", "same.tflite")
    assert ran.code == Exit.DONE
    assert "the model is written without a plan, which saves nothing" in ran.err
    assert (folder / "same.tflite").read_bytes() == small_model()
    ran = cli("verify", "same.tflite")
    assert (ran.code, "the model carries no memory plan" in ran.err) == (Exit.USAGE, True)


def test_wrong_plans_are_found_and_replaced_on_demand(cli: Cli, folder: Path) -> None:
    Path("wrong.tflite").write_bytes(carrying([0] * 5))
    ran = cli("verify", "wrong.tflite")
    assert (ran.code, "[overlap]" in ran.out) == (Exit.INVALID, True)
    words = ("solve", "wrong.tflite", "--order", "free", "--output", "right.tflite")
    assert cli(*words).code == Exit.USAGE
    assert not (folder / "right.tflite").exists()
    assert cli(*words, "--replan").code == Exit.DONE
    assert cli("verify", "wrong.tflite", "right.tflite").code == Exit.DONE
    Path("left.tflite").write_bytes(carrying([0, -1, 528, -1, -1]))
    assert "3 tensors are left to the runtime" in cli("verify", "left.tflite").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("verify model.tflite", "the model carries no memory plan"),
        ("verify problem.json", "name the plan: only the file of a TensorFlow Lite model can carry its own"),
        ("verify problem.json model.tflite", "the first file is a problem; name the model"),
        ("verify other.tflite planned.tflite", "the plan is of another model"),
        ("solve model.tflite --replan", "it is for models, and no output is one"),
        ("solve problem.json --scratch device.log", "only a TensorFlow Lite model can be written"),
        ("solve other.tflite --scratch device.log", "no memory plan in the log has the 3 tensors"),
        ("solve model.tflite --scratch missing.log", "missing.log"),
    ],
)
def test_what_makes_no_sense_is_refused(cli: Cli, folder: Path, three: Path, words: str, said: str) -> None:
    shutil.copy(three, folder / "problem.json")
    Path("other.tflite").write_bytes(small_model())
    planned = memstow.planned_model(MODEL, memstow.plan(memstow.read_graph(MODEL)))
    Path("planned.tflite").write_bytes(planned)
    ran = cli(*words.split())
    assert (ran.code, ran.out) == (Exit.USAGE, "")
    assert said in ran.err.replace("\n", " ")


@needs_runtime
def test_scratch_and_arena_are_measured(cli: Cli, folder: Path) -> None:
    ran = cli("solve", "model.tflite", "--scratch", "measure", "--output", "planned.tflite")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    before, after = run_models([MODEL, (folder / "planned.tflite").read_bytes()], folder)
    assert after.outputs == before.outputs
    (head,) = (line for line in ran.out.splitlines() if line.startswith("  head: tensors and scratch"))
    assert head.split()[-2:] == [str(before.head), str(after.head)] == ["480", "400"]
    (least,) = (line for line in ran.out.splitlines() if line.startswith("  least arena"))
    run_models([MODEL], folder, runs=1, arena=int(least.split()[-2].replace(",", "")))


@pytest.mark.usefixtures("folder")
def test_the_next_command_is_printed_and_works(cli: Cli) -> None:
    seen = set()
    for seed in range(3):
        for content in (random_model((5, 17, 27)[seed]), model_of("hourglass", "int8", seed).model):
            Path("a net.tflite").write_bytes(content)
            command = cli("solve", "a net.tflite").out.splitlines()[-1]
            seen.add(command)
            ran = cli(*shlex.split(command)[2:])
            assert ran.code == Exit.DONE, (command, ran.err)
    assert seen == {
        "next: memstow solve 'a net.tflite' --output 'a net.planned.tflite'",
        "next: memstow build 'a net.tflite' --output 'a net'",
    }


@pytest.mark.usefixtures("folder")
def test_the_arena_is_told_without_an_output_and_as_json(cli: Cli) -> None:
    ran = cli("solve", "model.tflite")
    lines = ran.out.splitlines()
    table = lines[lines.index("TensorFlow Lite Micro, bytes      as it is  with the plan") :]
    assert [line.split()[-1] for line in table[1:4]] == [*arena_figures(MODEL)[1], "?"]
    assert "tail + " in table[4]
    assert "scratch memory of kernels and the tail are not counted" in " ".join(table)
    assert "next:" not in ran.out, "there is no kernel for LESS"
    document = json.loads(cli("solve", "model.tflite", "--json").out)["arena"]
    assert [f"{document[when][part]:,}" for when in ("before", "after") for part in ("head", "planning")] == [
        figure for figures in arena_figures(MODEL) for figure in figures
    ]
    assert document["notes"][-1].startswith("scratch memory of kernels")
    Path("plan.json").write_bytes(cli("solve", "model.tflite", "--json").out.encode())
    judged = cli("verify", "model.tflite", "plan.json", "--strict")
    assert (judged.code, judged.err) == (Exit.DONE, "")
    words = ("solve", "model.tflite", "--scratch", "device.log", "--json")
    measured = json.loads(cli(*words).out)["arena"]
    assert measured["before"] == {"head": 480, "planning": 2252, "tail": 2000, "least": 4252}
    assert cli("solve", "model.tflite", "--quiet").out == ""


def arena_figures(model: bytes) -> list[list[str]]:
    """Head and tables, without and with a plan."""
    planned = memstow.planned_model(model, memstow.plan(memstow.read_graph(model)))
    arenas = [memstow.arena_of(entry) for entry in (model, planned)]
    return [[f"{arena.head:,}", f"{arena.planning:,}"] for arena in arenas]


@pytest.mark.usefixtures("folder")
def test_what_the_runtime_cannot_run_is_said_and_what_works_instead(cli: Cli) -> None:
    main = Sub()
    x, y = main.tensor(1, 8), main.tensor(1, 8)
    main.operator(0, [x], [y])
    main.inputs, main.outputs = [x], [y]
    Path("gelu.tflite").write_bytes(model([GELU], main))
    ran = cli("solve", "gelu.tflite", "--output", "memory.h")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    output = " ".join(line.strip() for line in ran.out.splitlines())
    assert (
        "TensorFlow Lite Micro cannot run this model: it has no kernel for GELU (operator 0); for a runtime"
        in output
    )
    assert "least arena" not in output
    document = json.loads(cli("solve", "gelu.tflite", "--json").out)["arena"]
    assert document.keys() == {"notes"}
    ran = cli("solve", "gelu.tflite", "--output", "planned.tflite", "--quiet")
    assert (ran.code, ran.out) == (Exit.DONE, "")
    assert "is written, and TensorFlow Lite Micro cannot run it: it has no kernel for GELU" in ran.err


@pytest.mark.usefixtures("folder")
def test_a_model_whose_own_plan_cannot_be_read_is_planned_all_the_same(cli: Cli) -> None:
    Path("wrong.tflite").write_bytes(carrying([0]))
    ran = cli("solve", "wrong.tflite")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    output = " ".join(line.strip() for line in ran.out.splitlines())
    assert "the arena of TensorFlow Lite Micro is not known: the model carries a memory plan that" in output


@needs_runtime
@pytest.mark.usefixtures("folder")
def test_outputs_are_written_although_the_arena_cannot_be_measured(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "measure_arena", failing)
    ran = cli(
        "solve", "model.tflite", "--scratch", "measure", "--output", "planned.tflite", "--output", "p.json"
    )
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert Path("planned.tflite").exists()
    assert json.loads(Path("p.json").read_text())["arena"]["notes"] == [
        "the arena of TensorFlow Lite Micro is not known: out of time"
    ]


def failing(_: bytes) -> None:
    """A runtime that does not come to an end."""
    raise InputError.single("cannot_measure", "$", "out of time")


@pytest.mark.usefixtures("folder")
def test_a_plan_that_a_model_cannot_carry_has_no_arena(cli: Cli) -> None:
    Path("small.tflite").write_bytes(small_model())
    ran = cli("solve", "small.tflite", "--in-place")
    assert ran.code == Exit.DONE
    output = " ".join(line.strip() for line in ran.out.splitlines())
    assert "as it is" in output
    assert "with the plan" not in output
    assert "the model cannot carry this plan: '2' [192, 256) and '3' [192, 256) overlap" in output
