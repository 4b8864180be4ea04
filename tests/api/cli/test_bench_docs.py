"""docs/bench.md says what is so: its examples run, and every field and status is there."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memstow.api.cli.terminal import Exit
from memstow.planner.bench.record import RESULTS, Ending, from_line, to_line
from tests.api.cli.conftest import ROOT, Cli
from tests.planner.bench.requests import SIDE_BY_SIDE
from tests.planner.bench.test_record import RECORD

PAGE = (ROOT / "docs" / "bench.md").read_text()


def _examples() -> list[list[str]]:
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    lines = [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ memstow ")]
    return [shlex.split(line)[1:] for line in lines]


def _fields(values: dict[str, Any], before: str = "") -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, dict) and name in ("instance", "solver"):
            yield from _fields(value, f"{name}.")
        else:
            yield f"{before}{name}"


@pytest.mark.campaign
def test_the_examples_run(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    (tmp_path / "mine.py").write_text(SIDE_BY_SIDE)
    for name, text in re.findall(
        r"^\$ cat > (\S+) <<'END'\n(.*?)^END$", PAGE, flags=re.MULTILINE | re.DOTALL
    ):
        (tmp_path / name).write_text(text)
    examples = _examples()
    assert examples
    for example in examples:
        ran = cli(*example)
        assert (ran.code, ran.err) == (Exit.DONE, ""), example
    stacked = [from_line(line) for line in (tmp_path / "stacked" / RESULTS).read_text().splitlines()]
    assert [(one.status, one.reported_seconds) for one in stacked] == [(Ending.FEASIBLE, 0.25)] * 2


def test_every_field_and_every_status_is_described_and_none_is_made_up() -> None:
    described = {
        name
        for row in re.findall(r"^\| (`.*?) \|", PAGE, flags=re.MULTILINE)
        for name in re.findall(r"`([a-z_.]+)`", row)
    }
    fields = set(_fields(json.loads(to_line(RECORD))))
    statuses = {ending.value for ending in Ending}
    assert fields | statuses <= described
    assert described - fields - statuses <= set()
