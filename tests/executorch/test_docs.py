"""The code that docs/integrations.md shows for ExecuTorch runs, from top to bottom."""

import re
from pathlib import Path
from typing import Any

import pytest

from memstow.executorch import Memstow

PAGE = (Path(__file__).parents[2] / "docs" / "integrations.md").read_text(encoding="utf-8")
SECTION = PAGE.split("## ExecuTorch\n")[1].split("\n## ")[0]


@pytest.mark.usefixtures("et")
@pytest.mark.filterwarnings("default")
def test_the_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", SECTION, flags=re.DOTALL):
        exec(code, names)
    one, two, three = [eval(line) for line in capsys.readouterr().out.splitlines() if line.startswith("[0, ")]
    assert len(one) == 2
    assert len(two) == 3
    assert 0 < two[1] <= 2048
    assert sum(two) <= sum(one)
    # In order of the memories, of which the first is Cadence's own.
    assert len(three) == 3
    assert 0 < three[1] <= 65536


def test_every_argument_is_documented() -> None:
    rows = re.findall(r"^\| (`.*?) \|", SECTION.split("Several memories")[0], flags=re.MULTILINE)
    documented = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    code = Memstow.__init__.__code__
    assert set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]) - {"self"} == documented
