"""docs/integrations.md says what is so: its commands run, and it names every file, format and argument."""

import json
import re
import shutil
from pathlib import Path

import pytest

from memstow.api.options import EXPORTS
from memstow.planner import exports
from tests.api.serving import Server
from tests.examples.building import ROOT, Sample, tool
from tests.planner.formats.test_xla import SIZES, TIMES
from tests.planner.tflm.campaign import scratch_of
from tests.planner.tflm.device import device_log
from tests.planner.tflm.random_models import random_model

PAGE = (ROOT / "docs" / "integrations.md").read_text()
FORMATS = (ROOT / "docs" / "formats.md").read_text()
CMAKE = (ROOT / "api" / "cmake" / "memstowConfig.cmake").read_text()
# A plan and another order help it.
MODEL = random_model(15)
# Beside a C compiler, which all sections need.
NEEDS = {
    "CMake": ("cmake",),
    "Make and Meson": ("make", "meson", "ninja"),
    "Rust": ("rustc",),
    "ONNX": ("emx-onnx-cgen",),
    "On a device": ("arm-none-eabi-gcc", "qemu-system-arm"),
}
# Beside the sample.
EXAMPLES = {"ONNX": ("onnx",), "On a device": ("corstone300",)}


def sections() -> dict[str, str]:
    """The sections of the page with commands, by title."""
    parts = re.split(r"^## (.*)$", PAGE, flags=re.MULTILINE)
    return {title: text for title, text in zip(parts[1::2], parts[2::2], strict=True) if "```console" in text}


def commands(text: str) -> str:
    """The commands as a script."""
    blocks = re.findall(r"^```console\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(re.sub(r"^\$ ", "", block, flags=re.MULTILINE) for block in blocks)


@pytest.mark.parametrize("title", sections())
def test_the_commands_of_a_section_run(
    sample: Sample, title: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    for name in ("cc", *NEEDS.get(title, ())):
        tool(name)
    script = commands(sections()[title])
    if "localhost:8080" in script:
        tool("curl")
        server = Server(tmp_path / "data").start()
        request.addfinalizer(server.kill)
        script = script.replace("localhost:8080", server.url.removeprefix("http://"))
    if title.startswith("Make"):
        # Two builds of one folder.
        script = script.replace("make check\n", "make check && rm -r build\n")
    if "--scratch measure" in script:
        pytest.importorskip("tflite_micro", reason="needs tflite-micro: pip install --pre tflite-micro")
    _add_files(sample.folder, title)
    (sample.folder / "model.tflite").write_bytes(MODEL)
    (sample.folder / "device.log").write_bytes(device_log(MODEL, scratch_of(MODEL), tail=2000))
    said = sample.run("bash", "-euo", "pipefail", "-c", script)
    expected = {
        "The self-check": "net: no live buffer is overwritten\n",
        "Addresses, sections and the linker": "0x0000000020000100                net_at_",
        "On a device": "net: no live buffer is overwritten|last,sram,0,0x21000000",
        "CMake": "100% tests passed",
        "A lock, so that builds do not search": "valid: optimal",
        "Rust": "",
        "ONNX": "the outputs are equal",
        "XLA": "peak 57,360",
        "TVM USMP": "valid: 3 placements",
        "Only curl": '"valid": true',
        "TensorFlow Lite Micro": "placed, found by tflm",
    }
    for piece in expected.get(title, "51 peaks in ").split("|"):
        assert piece in said


def _add_files(folder: Path, title: str) -> None:
    """What the commands of a section read, beside the sample."""
    for example in EXAMPLES.get(title, ()):
        shutil.copytree(ROOT / "examples" / example, folder / example)
    if title == "TVM USMP":
        (case,) = re.findall(r'^```json\n(\{\n  "buffer_infos".*?)^```', FORMATS, re.MULTILINE | re.DOTALL)
        (folder / "case.json").write_text(case)
    if title == "XLA":
        dumps = folder / "D"
        dumps.mkdir()
        for text, kind in ((SIZES, "buffer-assignment"), (TIMES, "live-range")):
            (dumps / f"module_0001.jit_f.cpu_after_optimizations-{kind}.txt").write_text(text)


def test_every_format_and_suffix_is_in_the_table() -> None:
    rows = re.findall(r"^\| (`\..*?) \| `([\w-]+)` \|", PAGE, flags=re.MULTILINE)
    documented = {suffix: form for suffixes, form in rows for suffix in re.findall(r"`(.*?)`", suffixes)}
    assert documented == exports.SUFFIXES
    assert set(documented.values()) == set(EXPORTS)


def test_every_argument_of_the_function_of_cmake_is_documented() -> None:
    parsed = re.findall(r'"([A-Z;_]+)"', CMAKE.split("cmake_parse_arguments")[1].split("\n")[0])
    known = {name for group in parsed for name in group.split(";")}
    assert len(known) == 8
    assert set(re.findall(r"^\| `([A-Z_]+)[ `]", PAGE, flags=re.MULTILINE)) == known
    head = CMAKE.split("include_guard")[0]
    assert set(re.findall(r"\[([A-Z_]+)", head)) == known


def test_the_sample_is_what_the_page_shows() -> None:
    (shown,) = re.findall(r"^```cmake\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    lists = (ROOT / "examples" / "firmware" / "CMakeLists.txt").read_text()
    assert all(line in lists for line in shown.splitlines())


def test_the_lock_of_the_sample_holds(sample: Sample) -> None:
    sample.run("memstow", "solve", "net.json", "--lock", "net.json.lock", "--locked", "--quiet")
    assert json.loads((sample.folder / "net.json.lock").read_text())["plan"]["status"] == "optimal"
