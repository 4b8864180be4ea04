"""docs/loops.md: its commands and its program in C hold, and no field is missing from it."""

import dataclasses
import re
import shlex
from pathlib import Path

import pytest

from memstow.api.cli.main import main
from memstow.api.cli.terminal import Exit
from memstow.planner.model import loops as model
from tests.planner.exports.toolchains import found, run

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "loops.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """The only block of the page in this language."""
    (text,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    return str(text)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where the commands of the page have run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.json").write_text(block("json graph"))
    lines = [line[2:] for line in PAGE.splitlines() if line.startswith("$ memstow ")]
    assert len(lines) == 5
    for line in lines:
        assert main(shlex.split(line)[1:]) == Exit.DONE
    return tmp_path


def test_the_commands_write_what_the_page_shows(folder: Path) -> None:
    assert block("text") in (folder / "two.loops.txt").read_text()
    assert (DOCS / "loops.svg").read_bytes() == (folder / "two.loops.svg").read_bytes()


def test_the_program_in_c_goes_through_all_steps(folder: Path) -> None:
    (folder / "run.c").write_text(block("c"))
    strict = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-unused-const-variable")
    run(folder, found("cc"), *strict, "run.c", "-o", "run")
    said = run(folder, str(folder / "run")).splitlines()
    assert len(said) == 2 * (6 + 3 + 3)
    assert said[0] == "operator 0 makes row 0, columns 0 to 4"
    assert said[-1] == "operator 2 makes row 2, columns 2 to 2"


def test_every_field_is_explained() -> None:
    kinds = [var for var in vars(model).values() if dataclasses.is_dataclass(var)]
    assert len(kinds) > 8
    for kind in kinds:
        for field in dataclasses.fields(kind):
            assert f"`{field.name}`" in PAGE, f"{kind} {field.name}"
