"""examples/board: from a model to a program on a board, emulated, built by CMake."""

import re
import shutil
from importlib.util import find_spec
from pathlib import Path

from tests.examples.building import ROOT, Sample, tool
from tests.person_model import person_model


def test_a_model_runs_on_the_board_and_is_built_again_when_it_changes(tmp_path: Path) -> None:
    for name in ("cmake", "arm-none-eabi-gcc", "qemu-system-arm"):
        tool(name)
    shutil.copytree(ROOT / "examples" / "board", tmp_path / "a board")
    sample = Sample(tmp_path / "a board")
    model = sample.folder / "model.tflite"
    model.write_bytes(person_model())
    words = ("--toolchain", "cortex-m4.cmake", f"-DMODEL={model}", "-Werror=dev")
    sample.run("cmake", "-S", ".", "-B", "build", *words, "-DCAPACITY=20KiB")
    sample.run("cmake", "--build", "build")
    tests = 1 if find_spec("tflite_micro") is None else 2
    said = sample.run("ctest", "--test-dir", "build", "-V")
    assert re.search(rf"100% tests passed.* out of {tests}\n", said)
    assert "net works in 19" in said or "net works in 20" in said
    before = sample.times("net.c", "*.obj")
    sample.run("cmake", "--build", "build")
    assert sample.times("net.c", "*.obj") == before
    # A model that is only younger gives the same program.
    sample.touch("model.tflite")
    sample.run("cmake", "--build", "build")
    assert sample.times("net.c", "*.obj") == before
    sample.run("cmake", "-S", ".", "-B", "build", "-DCAPACITY=18KiB")
    sample.run("cmake", "--build", "build")
    assert sample.times("net.c")["build/net/net.c"] > before["build/net/net.c"]
    assert "100% tests passed" in sample.run("ctest", "--test-dir", "build")
