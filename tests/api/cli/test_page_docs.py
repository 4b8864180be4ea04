"""docs/page.md says what is so: its examples run, its pictures are there, its keys are those of the page."""

import re
import shlex
from pathlib import Path

import pytest

from memstow.api.cli.terminal import Exit
from tests.api.cli.conftest import ROOT, Cli

PAGE = (ROOT / "docs" / "page.md").read_text()


def test_the_examples_run(cli: Cli, tmp_path: Path, three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    three.rename("first.json")
    assert cli("solve", "first.json", "--quiet", "--output", "plan.json").code == Exit.DONE
    examples = re.findall(r"^\$ memstow (.*)$", PAGE, re.MULTILINE)
    for example in examples:
        ran = cli(*shlex.split(example))
        assert (ran.code, ran.err) == (Exit.DONE, ""), example
    assert "<title>three</title>" in Path("plan.html").read_text()


def test_its_pictures_are_small() -> None:
    pictures = re.findall(r"\]\((page/[\w-]+\.png)\)", PAGE)
    assert set(pictures) == {f"page/{path.name}" for path in (ROOT / "docs" / "page").iterdir()}
    for picture in pictures:
        assert (ROOT / "docs" / picture).stat().st_size < 150_000


def test_it_lists_the_keys_of_the_page() -> None:
    table = PAGE.partition("\n| key | does |\n")[2].partition("\n\n")[0]
    listed = set(re.findall(r"`([^`]+)`", "".join(re.findall(r"^\| (.*?) \|", table, re.MULTILINE))))
    source = (ROOT / "api" / "page" / "src" / "shell" / "keys.ts").read_text()
    known = " ".join(re.findall(r'keys: "([^"]+)"', source)).replace("−", "-").split()
    assert listed <= set(known)
    assert set(known) - listed <= {"←", "→", "↑", "↓", "Esc"}
