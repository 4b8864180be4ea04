"""docs/programs.md: its commands and its example hold, and no field of the document is missing from it."""

import contextlib
import io
import json
import re
import shlex
from dataclasses import fields
from pathlib import Path

import pytest

from memstow.api.cli.main import main
from memstow.api.cli.terminal import Exit
from memstow.planner.model.programs import Kept, Program, Programs

PAGE = (Path(__file__).parents[1] / "docs" / "programs.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    match = re.search(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert match is not None
    return match[1]


def test_the_commands_run_and_print_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    document = block("json programs")
    (tmp_path / "programs.json").write_text(document)
    for program in json.loads(document)["programs"]:
        text = json.dumps(program["problem"]).replace("past", "cache")
        (tmp_path / f"{program['id']}.json").write_text(text)
    lines = [line[2:] for line in PAGE.splitlines() if line.startswith("$ memstow ")]
    assert len(lines) == 7
    for line in lines:
        assert main(shlex.split(line)[1:]) == Exit.DONE, line
    assert block("text") in capsys.readouterr().out
    each = json.loads((tmp_path / "each.programs.json").read_text())
    assert each["arenas"] == [{"pool": "memory", "bytes": 384}]
    # What begins beyond the arena is refused.
    each["arenas"][0]["bytes"] = 383
    (tmp_path / "each.programs.json").write_text(json.dumps(each))
    assert main(["verify", "programs.json", "each.programs.json"]) != Exit.DONE
    assert "beyond the 383 bytes" in capsys.readouterr().err


def test_the_example_in_python_prints_what_the_page_says() -> None:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(block("python"), "docs/programs.md", "exec"), {})
    assert f"```text\n{said.getvalue()}```" in PAGE


def test_every_field_is_on_the_page() -> None:
    names = {field.name for each in (Programs, Program, Kept) for field in fields(each)}
    for name in names - {"name"}:
        assert re.search(rf"[`\"]{name}[`\"]", PAGE), name
