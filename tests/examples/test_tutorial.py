"""docs/tutorial-firmware.md says what is so: its commands run, and print what it shows."""

import re
from pathlib import Path

import pytest

from tests.examples.building import ROOT, Sample, tool
from tests.person_model import person_model
from tests.planner.tflm.running import run_models

PAGE = (ROOT / "docs" / "tutorial-firmware.md").read_text()


def blocks(kind: str) -> list[str]:
    """The blocks of this kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def test_the_commands_run_and_print_what_is_shown(tmp_path: Path) -> None:
    tool("cc")
    pytest.importorskip("tflite_micro", reason="needs tflite-micro: pip install --pre tflite-micro")
    (tmp_path / "model.tflite").write_bytes(person_model())
    script = "".join(re.sub(r"^\$ ", "", block, flags=re.MULTILINE) for block in blocks("console"))
    said = Sample(tmp_path).run("bash", "-euo", "pipefail", "-c", script)
    for text in blocks("text"):
        assert text in said
    assert "no live buffer is overwritten" in said
    arena, code = blocks("c")
    assert code in (tmp_path / "net.h").read_text()
    assert "NET_" in (tmp_path / "net.loops.h").read_text()
    (size,) = re.findall(r"kTensorArenaSize = (\d+);", arena)
    models = [person_model(), (tmp_path / "planned.tflite").read_bytes()]
    before, _ = run_models(models, tmp_path, runs=3)
    (after,) = run_models(models[1:], tmp_path, runs=3, arena=int(size))
    assert after.outputs == before.outputs
    assert len(set(before.outputs)) > 1


def test_it_takes_ten_minutes_to_read() -> None:
    assert len(PAGE.split()) < 900
