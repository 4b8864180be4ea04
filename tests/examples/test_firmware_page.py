"""docs/firmware.md says what is so: its commands run and print what it shows, and it lists all operators."""

import re
from pathlib import Path

import pytest

from memstow.planner.firmware.layers import OPERATORS
from memstow.planner.firmware.onnx.nodes import RULES
from memstow.planner.formats.onnx.pairs import OPERATORS as QUANTISED
from tests.examples.building import ROOT, Sample, tool
from tests.person_model import person_model

PAGE = (ROOT / "docs" / "firmware.md").read_text()


def blocks(kind: str) -> list[str]:
    """The blocks of this kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def test_the_commands_run_and_print_what_is_shown(tmp_path: Path) -> None:
    tool("cc")
    pytest.importorskip("tflite_micro", reason="needs tflite-micro: pip install --pre tflite-micro")
    (tmp_path / "model.tflite").write_bytes(person_model())
    script = "".join(re.sub(r"^\$ ", "", block, flags=re.MULTILINE) for block in blocks("console"))
    (call,) = blocks("c")
    (tmp_path / "call.c").write_text(call)
    script += "cc -std=c11 -Wall -Wextra -Werror -Imodel -c call.c\n"
    said = Sample(tmp_path).run("bash", "-euo", "pipefail", "-c", script)
    for text in blocks("text"):
        assert text in said


@pytest.mark.campaign
def test_it_compiles_for_a_device(tmp_path: Path) -> None:
    tool("arm-none-eabi-gcc")
    (tmp_path / "model.tflite").write_bytes(person_model())
    (command,) = blocks("sh")
    script = f"memstow build model.tflite --output model\n{command}"
    Sample(tmp_path).run("bash", "-euo", "pipefail", "-c", script)


def test_it_lists_all_operators() -> None:
    (section,) = re.findall(r"^## Operators\n(.*?)^## ", PAGE, flags=re.MULTILINE | re.DOTALL)
    lite, of_onnx = section.split("Of ONNX ")
    assert set(re.findall(r"\b[A-Z][A-Z0-9_]{2,}\b", lite)) == set(OPERATORS)
    listed = of_onnx.partition(":")[2].partition(";")[0]
    assert [name.strip() for name in listed.split(",")] == sorted(RULES)
    assert set(re.findall(r"\bQ[A-Z]\w+", of_onnx)) == set(QUANTISED)
