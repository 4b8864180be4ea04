"""Programs on the command line."""

import base64
import gzip
import json
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from memstow.api.cli.terminal import Exit
from memstow.api.http.samples import LAYER
from tests.api.cli.conftest import Cli
from tests.person_model import person_model
from tests.tflite_models import GELU, INT8, Sub, model, small_model


@pytest.fixture
def person(tmp_path: Path) -> Path:
    path = tmp_path / "Person-detect.v2.tflite"
    path.write_bytes(person_model())
    return path


def test_a_program_is_written_and_runs(cli: Cli, person: Path, tmp_path: Path) -> None:
    folder = tmp_path / "made"
    ran = cli("build", person, "--output", folder, "--deterministic")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert "person_detect_v2: works in 21,056 bytes, at 1.000 times the least work" in ran.out
    files = {path.name for path in folder.iterdir()}
    names = {f"person_detect_v2{end}" for end in (".c", ".h", ".map.json", ".graph.json", ".plan.json")}
    assert {*names, "CMakeLists.txt"} <= files
    planned = [folder / f"person_detect_v2.{what}.json" for what in ("graph", "plan")]
    judged = cli("verify", *planned)
    assert (judged.code, judged.err) == (Exit.DONE, "")
    assert "valid: optimal, 16 placements, peak 21,056 in memory" in judged.out
    assert (
        cli("view", planned[1], "--problem", planned[0], "--output", tmp_path / "view.html").code == Exit.DONE
    )
    table = folder / "person_detect_v2.map.json"
    assert cli("view", table, "--output", tmp_path / "map.html").code == Exit.DONE
    shown, same = (held(tmp_path / name) for name in ("map.html", "view.html"))
    assert shown.pop("name") == "person_detect_v2"
    assert same.pop("name") == "person_detect_v2.graph.json"
    assert shown == same
    segments = json.loads(table.read_bytes())["segments"]
    assert [entry["kind"] for entry in shown["loops"]] == [entry["kind"] for entry in segments]
    assert cli("view", table, "--output", tmp_path / "net.loops.json").code == Exit.DONE
    assert (tmp_path / "net.loops.json").read_bytes() == table.read_bytes()
    assert "#define PERSON_DETECT_V2_ARENA_BYTES 21056\n" in (folder / "person_detect_v2.h").read_text()
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    sources = [str(path) for path in folder.glob("*.c")]
    strict = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
    if "person_detect_v2_check.c" not in files:
        assert "no person_detect_v2_check.c: the package tflite-micro is not installed" in ran.out
        sources.insert(0, "-c")
    subprocess.run(["cc", *strict, *sources, "-lm", "-o", str(tmp_path / "check")], check=True, cwd=tmp_path)
    if "-c" not in sources:
        subprocess.run([str(tmp_path / "check")], check=True)


def held(page: Path) -> dict[str, Any]:
    """The view document in a page."""
    content = re.search(r'id="held">([^<]*)<', page.read_text())
    assert content is not None
    document: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(content[1])))
    return document


@pytest.mark.campaign
def test_the_map_of_another_plan_is_not_shown(cli: Cli, person: Path, tmp_path: Path) -> None:
    words = ("build", person, "--name", "net", "--deterministic", "--output")
    assert cli(*words, tmp_path / "p", "--point", "1").code == Exit.DONE
    assert cli(*words, tmp_path / "q", "--with", "none").code == Exit.DONE
    table = tmp_path / "p" / "net.map.json"
    shutil.copy(tmp_path / "q" / "net.plan.json", tmp_path / "p")
    ran = cli("view", table, "--output", tmp_path / "x.html")
    assert ran.code == Exit.USAGE
    assert "it is of another plan than" in ran.err
    (tmp_path / "p" / "net.plan.json").unlink()
    ran = cli("view", table, "--output", tmp_path / "x.html")
    assert ran.code == Exit.USAGE
    assert "a table of loops is shown by its graph and its plan: memstow view GRAPH PLAN" in ran.err
    assert not (tmp_path / "x.html").exists()


@pytest.mark.campaign
def test_the_cheapest_point_that_fits_is_taken(cli: Cli, person: Path, tmp_path: Path) -> None:
    front = json.loads(cli("front", person, "--order", "given", "--in-place", "--json").out)
    for capacity in (30_000, 20_000, 17_000):
        ran = cli("build", person, "--output", tmp_path / "p", "--capacity", str(capacity), "--json")
        values = json.loads(ran.out)["values"]
        assert values["peak"] <= capacity
        # Of all points of one order; others may be better.
        least = min(point["cost"] for point in front["points"] if point["peak"] <= capacity)
        assert values["cost"] <= least


@pytest.mark.campaign
def test_any_point_is_built(cli: Cli, person: Path, tmp_path: Path) -> None:
    first = json.loads(cli("build", person, "--output", tmp_path / "p", "--point", "1", "--json").out)
    whole = json.loads(cli("build", person, "--output", tmp_path / "p", "--with", "none", "--json").out)
    assert first["arena"] < 20_000 < whole["arena"]
    ran = cli("build", person, "--output", tmp_path / "p", "--point", "99")
    assert ran.code == Exit.USAGE
    assert "--point: the front has" in ran.err


def test_where_nothing_fits_the_least_is_told(cli: Cli, person: Path, tmp_path: Path) -> None:
    ran = cli("build", person, "--output", tmp_path / "p", "--capacity", "1000")
    assert ran.code == Exit.INFEASIBLE
    assert "nothing fits in 1,000 bytes: the least that was found is 11,608" in ran.err
    assert "image (9,216)" in ran.err
    assert "Next, try it with external inputs, or with stripes,channels,recompute\n" in ran.err
    assert not (tmp_path / "p").exists()
    done = cli("build", person, "--output", tmp_path / "p", "--capacity", "8000", "--external", "inputs")
    assert done.code == Exit.DONE
    ways = ("--with", "stripes,channels,recompute", "--external", "inputs")
    ran = cli("build", person, "--output", tmp_path / "q", "--capacity", "1000", *ways)
    assert "Next" not in ran.err


@pytest.mark.campaign
def test_memories_of_a_target_are_arrays(cli: Cli, person: Path, tmp_path: Path) -> None:
    ran = cli("build", person, "--output", tmp_path / "p", "--target", "stm32h743", "--name", "net")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert "#define NET_ARENA_0_BYTES 21056 /* dtcm */" in (tmp_path / "p" / "net.h").read_text()


@pytest.mark.campaign
def test_where_no_memory_holds_it_a_program_has_several(cli: Cli, person: Path, tmp_path: Path) -> None:
    """Each tensor lies where accesses cost least."""
    device = tmp_path / "device.json"
    pools = [{"id": "fast", "capacity": 37_000, "cost": 1}, {"id": "slow", "capacity": 37_000, "cost": 9}]
    device.write_text(json.dumps({"version": 1, "name": "device", "pools": pools}))
    words = ["build", person, "--output", tmp_path / "p", "--target", device, "--name", "net"]
    ran = cli(*words, "--with", "none")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    header = (tmp_path / "p" / "net.h").read_text()
    sizes = [int(size) for size in re.findall(r"#define NET_ARENA_\d_BYTES (\d+)", header)]
    assert 0 < sizes[0] <= 37_000
    assert 0 < sizes[1] <= 37_000
    assert f"works in {sum(sizes):,} bytes of 2 memories\n" in ran.out
    assert f"fast: {sizes[0]:,} bytes, slow: {sizes[1]:,} bytes\n" in ran.out
    facts = json.loads(cli(*words, "--with", "none", "--json").out)
    assert facts["memories"] == dict(zip(("fast", "slow"), sizes, strict=True))
    assert (facts["point"], facts["proven"]) == (None, False)
    planned = [tmp_path / "p" / f"net.{what}.json" for what in ("graph", "plan")]
    assert cli("verify", *planned).code == Exit.DONE
    pools[0]["capacity"] = 5_000
    device.write_text(json.dumps({"version": 1, "name": "device", "pools": pools}))
    ran = cli(*words, "--with", "spill")
    assert ran.code == Exit.INFEASIBLE
    assert "pool 'fast' has 5,000 bytes" in ran.err
    # A memory without room is no memory to work in.
    pools[0]["capacity"], pools[1]["capacity"] = 0, 90_000
    device.write_text(json.dumps({"version": 1, "name": "device", "pools": pools}))
    ran = cli(*words, "--with", "spill")
    assert (ran.code, ran.err) == (Exit.DONE, "")


@pytest.mark.parametrize(("costs", "chosen"), [((1, 9), "small"), ((1, 1), "large"), ((0, 0), "large")])
def test_the_memory_is_chosen_by_work_and_accesses(
    cli: Cli, person: Path, tmp_path: Path, costs: tuple[int, int], chosen: str
) -> None:
    pools = [
        {"id": name, "capacity": capacity, "cost": cost}
        for name, capacity, cost in zip(("small", "large"), (17_000, 90_000), costs, strict=True)
    ]
    device = tmp_path / "device.json"
    device.write_text(json.dumps({"version": 1, "name": "device", "pools": pools}))
    ran = cli("build", person, "--output", tmp_path / "p", "--target", device, "--json")
    assert list(json.loads(ran.out)["memories"]) == [chosen]


def test_the_library_that_computes_is_named(cli: Cli, person: Path, tmp_path: Path) -> None:
    words = ("build", person, "--output", tmp_path / "p", "--name", "net", "--with", "none")
    ran = cli(*words, "--kernels", "cmsis-nn")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert re.search(r"^CMSIS-NN computes \d+ of \d+ operators$", ran.out, re.MULTILINE)
    assert f"next: cmake -S {tmp_path}" in ran.out
    assert '#include "arm_nnfunctions.h"' in (tmp_path / "p" / "net.c").read_text()
    assert "CMSIS_NN" in (tmp_path / "p" / "CMakeLists.txt").read_text()
    assert json.loads(cli(*words, "--json").out)["by_cmsis_nn"] == 0
    assert "CMSIS_NN" not in (tmp_path / "p" / "CMakeLists.txt").read_text()
    ran = cli(*words, "--kernels", "fast")
    assert ran.code == Exit.USAGE
    assert "--kernels: 'fast' is not one of own, cmsis-nn" in ran.err


def test_inputs_and_outputs_may_lie_with_the_caller(cli: Cli, person: Path, tmp_path: Path) -> None:
    words = ("build", person, "--output", tmp_path / "p", "--name", "net", "--json")
    within = json.loads(cli(*words).out)["arena"]
    outside = json.loads(cli(*words, "--external", "inputs,outputs").out)["arena"]
    # The image has 9,216 bytes, and nothing can take its place any more.
    assert outside < within
    ran = cli(*words, "--external", "weights")
    assert ran.code == Exit.USAGE
    assert "--external: inputs and outputs may lie with the caller, not weights" in ran.err
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    (tmp_path / "main.c").write_text(_CALLER)
    command = ["cc", "-std=c11", "-O1", "-DNET_ARENA_0_BY_CALLER", "-I", "p", "main.c", "p/net.c", "-lm"]
    assert cli(*words, "--external", "inputs,outputs").code == Exit.DONE
    subprocess.run([*command, "-o", "caller"], check=True, cwd=tmp_path)
    subprocess.run([tmp_path / "caller"], check=True)
    # The same with the arrays of the check.
    if (tmp_path / "p" / "net_check.c").exists():
        more = [word for word in command if word != "main.c"]
        subprocess.run([*more, "p/net_check.c", "-o", "check"], check=True, cwd=tmp_path)
        subprocess.run([tmp_path / "check"], check=True)


_CALLER = """\
#include <stdint.h>
#include <stdlib.h>
#include "net.h"

int main(void) {
  _Alignas(16) static uint8_t arena[NET_ARENA_0_BYTES];
  static int8_t image[NET_INPUT_0_BYTES];
  int8_t scores[NET_OUTPUT_0_BYTES];
  const void *inputs[] = {image};
  void *outputs[] = {scores};
  if (net_run(inputs, outputs) != 1 || net_input(0) != NULL || net_set_arena(1, arena) != 1 ||
      net_set_arena(0, arena + 8) != 1 || net_set_arena(0, NULL) != 1 || net_set_arena(0, arena) != 0) {
    return 1;
  }
  if (net_run(NULL, outputs) != 2 || net_run(inputs, NULL) != 2 || net_input(0) != NULL) {
    return 2;
  }
  return net_run(inputs, outputs);
}
"""


@pytest.mark.campaign
def test_the_same_program_stays_as_it_is(cli: Cli, person: Path, tmp_path: Path) -> None:
    words = ("build", person, "--output", tmp_path / "p", "--deterministic", "--capacity", "20000")
    assert cli(*words).code == Exit.DONE
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in (tmp_path / "p").iterdir()}
    assert cli(*words).code == Exit.DONE
    assert before == {
        path: (path.read_bytes(), path.stat().st_mtime_ns) for path in (tmp_path / "p").iterdir()
    }


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "--output: say into which folder the program goes"),
        (("--output", "-"), "--output: - is no folder"),
        (("--output", "file"), "--output: file is no folder"),
        (
            ("--output", "p", "--with", "tiles"),
            "--with: a program can be built with stripes, channels, recompute, spill, not",
        ),
        (("--output", "p", "--with", "spill"), "--with: to spill, tensors need a second memory"),
        (("--output", "p", "--name", "1net"), "--name: '1net' cannot begin a name"),
        (("--output", ""), "--output: say into which folder the program goes"),
        (("--output", "p", "--name", "Test"), "--name: Test is the name of a target of CMake or of a header"),
        (("--output", "p", "--target", "rp2040", "--capacity", "9"), "--capacity: the target says"),
        (("--output", "p", "--point", "1", "--capacity", "9"), "--point: give a capacity, or"),
        (("--output", "p", "--target", "nowhere"), "nowhere"),
    ],
)
def test_what_cannot_be_is_told(
    cli: Cli, person: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    ran = cli("build", person, *words)
    assert ran.code == Exit.USAGE
    assert says in ran.err
    assert not Path("p").exists()


def test_an_onnx_model_is_built_with_its_check(cli: Cli, tmp_path: Path) -> None:
    models = pytest.importorskip("tests.onnx_models")
    path = tmp_path / "net.onnx"
    path.write_bytes(models.convolutions(1))
    ran = cli("build", path, "--output", tmp_path / "p", "--deterministic")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    if find_spec("onnxruntime") is None:
        assert "no net_check.c: the package onnxruntime is not installed" in ran.out
        pytest.skip("needs onnxruntime")
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    sources = ["p/net.c", "p/net_check.c", "-lm", "-o", "check"]
    subprocess.run(
        ["cc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", *sources], check=True, cwd=tmp_path
    )
    subprocess.run([tmp_path / "check"], check=True)
    # An output that is not what it should be shows.
    check = tmp_path / "p" / "net_check.c"
    text = check.read_text()
    first = re.search(r"expected_0_0\[\] = \{\n *(-?[\d.e-]+f)", text)
    assert first is not None
    check.write_text(text.replace(first[1], "1000.0f", 1))
    subprocess.run(["cc", *sources], check=True, cwd=tmp_path)
    assert subprocess.run([tmp_path / "check"], check=False).returncode == 2


def test_what_is_no_model_or_has_no_kernel_is_told(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "layer.json"
    path.write_text(json.dumps(LAYER))
    ran = cli("build", path, "--output", tmp_path / "p")
    assert (ran.code, "a program is built from a model (.tflite, .onnx)" in ran.err) == (Exit.USAGE, True)
    main = Sub()
    image, made = main.tensor(4, kind=INT8), main.tensor(4, kind=INT8)
    main.operator(0, [image], [made])
    main.inputs, main.outputs = [image], [made]
    path.write_bytes(model([GELU], main))
    ran = cli("build", path, "--output", tmp_path / "p")
    assert ran.code == Exit.USAGE
    assert "$.subgraphs[0].operators[0]: GELU cannot be built yet" in ran.err
    # It says that its weights are larger than they are.
    path.write_bytes(small_model())
    ran = cli("build", path, "--output", tmp_path / "p")
    assert ran.code == Exit.USAGE
    assert "its shape and type need 108 bytes, and the model has 4" in ran.err


@pytest.mark.parametrize("name", ["test", "stdint"])
def test_what_a_file_is_called_hides_nothing(cli: Cli, person: Path, tmp_path: Path, name: str) -> None:
    path = person.rename(tmp_path / f"{name}.tflite")
    ran = cli("build", path, "--output", tmp_path / "p", "--with", "none", "--deterministic")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert (tmp_path / "p" / f"model_{name}.h").exists()


def test_where_one_file_cannot_be_written_none_is(cli: Cli, person: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "p" / "net.map.json"
    blocked.mkdir(parents=True)
    ran = cli("build", person, "--output", tmp_path / "p", "--name", "net", "--with", "none")
    assert ran.code == Exit.USAGE
    assert f"{blocked}: Is a directory" in ran.err
    assert list((tmp_path / "p").iterdir()) == [blocked]
