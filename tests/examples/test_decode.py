"""examples/decode: from a graph with formulas to C, and what its README shows is what comes out."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import memstow
from memstow.planner.check import find_issues
from tests.examples.building import ROOT, Sample, tool
from tests.planner.exports.toolchains import HOST

EXAMPLE = ROOT / "examples" / "decode"


def steps() -> Iterator[tuple[str, str]]:
    """The commands of the README, and what each prints."""
    text = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```console\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = step.partition("\n")
            yield command, printed


def test_the_commands_of_the_readme_run_and_print_what_it_shows(tmp_path: Path) -> None:
    for name in ("cc", "bash"):
        tool(name)
    shutil.copytree(EXAMPLE, tmp_path / "decode")
    here = Sample(tmp_path / "decode")
    for command, printed in steps():
        assert here.run("bash", "-euo", "pipefail", "-c", command) == printed, command
    HOST.compile(here.folder, "main.c")
    fixed = json.loads(here.run("memstow", "solve", "decode.json", "--shapes", "fixed", "--json"))
    said = re.search(r"needs\n([0-9,]+) bytes for every step", (EXAMPLE / "README.md").read_text())
    assert said is not None
    assert min(point["peak"] for point in fixed["points"]) == int(said[1].replace(",", ""))


def test_models_of_other_depths_are_problems_too(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "decode")
    here = Sample(tmp_path / "decode")
    for blocks in (0, 1, 12):
        text = here.run("python3", "make_graph.py", "--blocks", str(blocks))
        problem = memstow.read_symbolic(text.encode())
        assert find_issues(problem) == []
        assert len(problem.buffers) == 4 + 15 * blocks
