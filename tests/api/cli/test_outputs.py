"""Several outputs of one plan: each by its suffix, all or none, and only what has changed is written."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import memstow
from memstow.api.cli.commands import solve
from memstow.api.cli.terminal import Exit
from memstow.api.options import EXPORTS
from memstow.planner import exports
from tests.api.cli.conftest import Cli
from tests.api.cli.fakes import FakeEngine, infeasible
from tests.tflite_models import branching_model, table

FILES = ("net.h", "net.c", "net.check.c", "net.ld", "net.rs", "plan.json", "plan.csv", "step.replay")


def outputs(folder: Path, *names: str) -> list[str]:
    """The arguments that ask for these files."""
    return [word for name in names for word in ("--output", str(folder / name))]


def test_the_command_line_knows_the_formats_of_the_planner() -> None:
    assert exports.names() == EXPORTS
    assert set(exports.SUFFIXES.values()) == set(EXPORTS)


def test_every_output_is_in_the_format_of_its_suffix(cli: Cli, three: Path, tmp_path: Path) -> None:
    ran = cli("solve", three, *outputs(tmp_path, *FILES), "--prefix", "net", "--deterministic")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    begin = {name: (tmp_path / name).read_text().splitlines() for name in FILES}
    assert begin["net.h"][3] == "#ifndef NET_MEMORY_H"
    assert '#include "net.h"' in begin["net.c"]
    assert '#include "net.h"' in begin["net.check.c"]
    assert begin["net.ld"][3] == "SECTIONS"
    assert begin["net.rs"][2] == "pub mod net_memory {"
    assert begin["plan.json"][0] == "{"
    assert begin["plan.csv"][0] == "id,lower,upper,size,offset"
    assert begin["step.replay"][0].startswith("memstow-replay 1 ")


def test_sources_include_the_header_by_the_name_it_is_written_to(
    cli: Cli, three: Path, tmp_path: Path
) -> None:
    assert cli("solve", three, *outputs(tmp_path, "net.c", "memory map.hpp")).code == Exit.DONE
    assert '#include "memory map.hpp"' in (tmp_path / "net.c").read_text()
    assert "PLAN_OFFSET_a" in (tmp_path / "memory map.hpp").read_text()


def test_a_name_that_does_not_tell_takes_the_format_that_is_chosen(
    cli: Cli, three: Path, tmp_path: Path
) -> None:
    given = outputs(tmp_path, "net.h", "script", "net.x")
    assert cli("solve", three, *given, "--output-format", "ld").code == Exit.DONE
    assert (tmp_path / "script").read_text() == (tmp_path / "net.x").read_text()
    assert "SECTIONS" in (tmp_path / "net.x").read_text()
    assert "#ifndef PLAN_MEMORY_H" in (tmp_path / "net.h").read_text()


def test_one_output_may_go_to_standard_output(cli: Cli, three: Path, tmp_path: Path) -> None:
    ran = cli("solve", three, "--output", "-", *outputs(tmp_path, "net.h"), "--output-format", "ld")
    assert ran.out.splitlines()[3] == "SECTIONS"
    assert (tmp_path / "net.h").exists()
    again = cli("solve", three, "--output", "-", "--output", "-", "--output-format", "ld")
    assert (again.code, again.out) == (Exit.USAGE, "")
    assert "standard output can hold only one of" in again.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--output net.h --output net.txt", "net.txt: .txt is not a supported format: use a name that ends"),
        ("--output net.h --output net.svg", "or .tflite; a picture is drawn with --picture"),
        ("--output net.h --output ./net.h", "two outputs cannot be the same file"),
        ("--output net.h --output net.h", "two outputs cannot be the same file"),
        ("--output net.h --output none/net.ld", "there is no such folder"),
        ("--output net.json --lock net.json", "the plan and its lock cannot be the same file"),
        ("--output net.h --picture net.h", "the plan and its picture cannot be the same file"),
        ("--output plan.json --prefix net", "--prefix: it is for source code, and no output is"),
        ("--section memory=.x", "--section: it is for source code, and no output is"),
        ("--output net.h --prefix 1st", "prefix: '1st' cannot begin a name"),
        ("--output net.h --prefix a__b", "cannot begin a name"),
        ("--output net.h --section dtcm=.x", "the problem has no pool 'dtcm'"),
        ("--output net.h --section memory=a;b", "'a;b' is not the name of a section"),
        ("--output net.h --section memory=.x --section memory=.y", "the pool 'memory' has two sections"),
        ("--output net.h --section .x", "'.x' is not a pool and a section"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_search(
    cli: Cli,
    three: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    engine: FakeEngine,
    arguments: str,
    said: str,
) -> None:
    engine.answer = None  # type: ignore[assignment]
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    ran = cli("solve", three, *arguments.split())
    assert (ran.code, ran.out) == (Exit.USAGE, "")
    assert said in ran.err
    assert set(tmp_path.iterdir()) == before


def test_none_is_written_where_one_is_refused(cli: Cli, tmp_path: Path) -> None:
    problem = tmp_path / "odd.json"
    problem.write_text('{"version": 1, "buffers": [{"id": "a", "size": 4, "alignment": 3}]}')
    ran = cli("solve", problem, *outputs(tmp_path, "plan.json", "net.h"))
    assert ran.code == Exit.USAGE
    assert "an array cannot be aligned to 3" in ran.err
    assert set(tmp_path.iterdir()) == {problem}


def test_without_a_plan_no_code_is_written(cli: Cli, three: Path, tmp_path: Path, engine: FakeEngine) -> None:
    engine.answer = infeasible
    ran = cli("solve", three, *outputs(tmp_path, "net.h", "plan.json"))
    assert ran.code == Exit.INFEASIBLE
    assert "net.h is not written: there is no plan (infeasible), and c-header cannot represent" in ran.err
    assert not (tmp_path / "net.h").exists()
    assert (tmp_path / "plan.json").exists()


def test_a_file_that_stays_the_same_keeps_its_time(cli: Cli, three: Path, tmp_path: Path) -> None:
    def solve(*more: str) -> None:
        given = outputs(tmp_path, "net.h", "net.ld", "plan.json")
        assert cli("solve", three, *given, "--deterministic", *more).code == Exit.DONE

    solve()
    for name in ("net.h", "net.ld", "plan.json"):
        os.utime(tmp_path / name, ns=(1, 1))
    solve()
    assert {(tmp_path / name).stat().st_mtime_ns for name in ("net.h", "net.ld", "plan.json")} == {1}
    three.write_text(three.read_text().replace('"size": 50', '"size": 60'))
    solve()
    assert (tmp_path / "net.h").stat().st_mtime_ns != 1


def test_what_is_not_written_is_not_loaded(three: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from memstow.api.cli.main import main; "
        f"main(['solve', {str(three)!r}, '--output', {str(tmp_path / 'plan.json')!r}]); "
        "sys.exit(any(name.startswith('memstow.planner.exports') for name in sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_a_section_is_that_of_its_pool(cli: Cli, three: Path, tmp_path: Path) -> None:
    given = ("--section", "memory=.dtcm_bss", "--prefix", "net")
    assert cli("solve", three, *outputs(tmp_path, "net.h"), *given).code == Exit.DONE
    header = (tmp_path / "net.h").read_text()
    assert '#define NET_SECTION_memory __attribute__((section(".dtcm_bss")))' in header


@pytest.fixture
def branching(tmp_path: Path) -> Path:
    """A model that another order helps."""
    path = tmp_path / "branching.tflite"
    path.write_bytes(branching_model())
    return path


def test_a_model_is_written_in_the_order_of_the_plan(cli: Cli, branching: Path, tmp_path: Path) -> None:
    given = ("--order-only", *outputs(tmp_path, "better.tflite", "plan.json"))
    ran = cli("solve", branching, "--order", "free", *given)
    assert (ran.code, ran.err) == (Exit.DONE, "")
    order = json.loads((tmp_path / "plan.json").read_text())["schedule"]["order"]
    assert order != sorted(order)
    better = tmp_path / "better.tflite"
    assert better.read_bytes() == memstow.reorder_model(branching.read_bytes(), order)
    written = better.stat().st_mtime_ns
    os.utime(better, ns=(written - 10**9, written - 10**9))
    assert cli("solve", branching, "--order", "free", *given).code == Exit.DONE
    assert better.stat().st_mtime_ns == written - 10**9


def test_a_model_may_be_printed(branching: Path) -> None:
    words = ["solve", str(branching), "--order", "free", "--order-only", "--output-format", "tflite"]
    ran = subprocess.run([sys.executable, "-m", "memstow.api.cli", *words], capture_output=True, check=True)
    assert ran.stdout[4:8] == b"TFL3"
    assert len(ran.stdout) == len(branching_model())


def test_a_model_that_its_runtime_places_worse_is_told_of(
    cli: Cli, branching: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The order that was found is the worse one here.
    better = memstow.reorder_model(branching.read_bytes(), "1203")
    branching.write_bytes(better)
    changed = replace(memstow.plan(memstow.read_graph(branching_model())))
    assert changed.schedule is not None
    listed = replace(changed, schedule=replace(changed.schedule, order=("2", "0", "1", "3")))
    monkeypatch.setattr(solve, "_plan", lambda *_: (listed, False))
    words = ("--order", "free", "--order-only", "--quiet")
    ran = cli("solve", branching, *words, *outputs(tmp_path, "again.tflite"))
    assert ran.code == Exit.DONE
    assert "needs 1,136 bytes for this order, and 640 for the listed one" in ran.err.replace("\n", " ")
    assert (tmp_path / "again.tflite").read_bytes() == branching_model()


@pytest.mark.parametrize(
    ("file", "arguments", "said"),
    [
        ("branching.tflite", "--order-only", "branching.tflite: its operators would stay as they are listed"),
        ("three.json", "", "three.json: only a TensorFlow Lite model can be written as one"),
        ("graph.json", "--order free", "graph.json: only a TensorFlow Lite model can be written as one"),
        ("planned.tflite", "--order free --order-only", "a memory plan that holds in this order only"),
        ("planned.tflite", "--order free", "planned.tflite: the model carries a memory plan already"),
        ("branching.tflite", "--in-place", "a model cannot say that tensors share bytes"),
        ("branching.tflite", "--target stm32h743", "the runtime has one arena"),
        ("branching.tflite", "--scratch three.json", "three.json: the log has no memory plan"),
        ("branching.tflite", "--order free --output ./better.tflite", "two outputs cannot be the same"),
    ],
)
def test_a_model_that_cannot_be_written_is_refused_before_the_search(
    cli: Cli,
    three: Path,
    branching: Path,
    monkeypatch: pytest.MonkeyPatch,
    engine: FakeEngine,
    file: str,
    arguments: str,
    said: str,
) -> None:
    engine.answer = None  # type: ignore[assignment]
    monkeypatch.chdir(three.parent)
    graph = memstow.read_graph(branching.read_bytes())
    Path("graph.json").write_bytes(memstow.write_graph(graph))
    plan = table(f0="OfflineMemoryAllocation", f1=("I", 1))
    Path("planned.tflite").write_bytes(branching_model([plan]))
    ran = cli("solve", file, "--output", "better.tflite", *arguments.split())
    assert (ran.code, ran.out) == (Exit.USAGE, "")
    assert said in ran.err.replace("\n", " ")
    assert not Path("better.tflite").exists()


def test_a_model_from_standard_input_is_written_like_one_from_a_file(branching: Path, tmp_path: Path) -> None:
    written = []
    for name in ("-", str(branching)):
        words = ["solve", name, "--order", "free", "--output", str(tmp_path / "better.tflite")]
        ran = subprocess.run(
            [sys.executable, "-m", "memstow.api.cli", *words],
            input=branching.read_bytes(),
            capture_output=True,
            check=False,
        )
        assert ran.returncode == Exit.DONE, ran.stderr
        written.append((tmp_path / "better.tflite").read_bytes())
        (tmp_path / "better.tflite").unlink()
    assert written[0] == written[1] != branching.read_bytes()
