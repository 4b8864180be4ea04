"""Programs on the command line."""

import json
import shutil
import subprocess
from pathlib import Path

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


def test_the_cheapest_point_that_fits_is_taken(cli: Cli, person: Path, tmp_path: Path) -> None:
    front = json.loads(cli("front", person, "--order", "given", "--in-place", "--json").out)
    for capacity in (30_000, 20_000, 17_000):
        ran = cli("build", person, "--output", tmp_path / "p", "--capacity", str(capacity), "--json")
        values = json.loads(ran.out)["values"]
        assert values["peak"] <= capacity
        # Of all points of one order; others may be better.
        least = min(point["cost"] for point in front["points"] if point["peak"] <= capacity)
        assert values["cost"] <= least


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
    assert "try it with stripes,recompute\n" in ran.err
    assert not (tmp_path / "p").exists()


def test_memories_of_a_target_are_arrays(cli: Cli, person: Path, tmp_path: Path) -> None:
    ran = cli("build", person, "--output", tmp_path / "p", "--target", "stm32h743", "--name", "net")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert "#define NET_ARENA_0_BYTES 21056 /* dtcm */" in (tmp_path / "p" / "net.h").read_text()


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
            ("--output", "p", "--with", "channels"),
            "--with: a program can be built with stripes, recompute, not",
        ),
        (("--output", "p", "--name", "1net"), "--name: '1net' cannot begin a name"),
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


def test_what_is_no_model_or_has_no_kernel_is_told(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "layer.json"
    path.write_text(json.dumps(LAYER))
    ran = cli("build", path, "--output", tmp_path / "p")
    assert (ran.code, "a program is built from a TensorFlow Lite model" in ran.err) == (Exit.USAGE, True)
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
