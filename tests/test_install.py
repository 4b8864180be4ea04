"""docs/install.md is the one place that says how memstow is installed, and what it says works."""

import re
import subprocess
from pathlib import Path

import pytest

from memstow.api.installation import EXTRAS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "install.md").read_text()


def texts() -> list[Path]:
    """The files in which a user may read how something is installed."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no checkout")
    suffixes = {".md", ".py", ".service", ".toml", ".yaml", ".yml", ".txt", ".ts", ".tsx"}
    return [
        ROOT / name
        for name in listed
        if Path(name).suffix in suffixes and not name.startswith(("tests/", "docs/bench/"))
    ]


def test_nobody_is_told_to_take_memstow_from_an_index_that_lacks_it() -> None:
    """With an extra in brackets a command adds to the memstow that is there: so for messages of memstow."""
    wrong = []
    for path in texts():
        for command in re.findall(r"pip install[^`\n]*", path.read_text()):
            place = path.relative_to(ROOT).as_posix()
            for name, extras in re.findall(r"(?<![\w./-])(memstow)(\[[^\]]*\])?(?![\w./-])", command):
                in_message = path.suffix == ".py" or place == "docs/install.md"
                known = {*EXTRAS} >= {*re.findall(r"[\w.]+", extras)} or extras.startswith(("[{", "[X"))
                if not (name and extras and in_message and known):
                    wrong.append(f"{place}: {command}")
    assert wrong == []


def test_every_extra_is_there_with_what_it_is_for() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE, re.MULTILINE))
    assert rows == EXTRAS


def test_the_readme_and_what_needs_memstow_installed_lead_there() -> None:
    for name in ("README.md", "docs/integrations.md", "docs/scale.md", "examples/stripes/README.md"):
        assert "install.md)" in (ROOT / name).read_text(), name
