"""The code that docs/pytorch.md shows runs, from top to bottom."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from memstow.torch import graph_of
from tests.torch import NEEDED

PAGE = (Path(__file__).parents[2] / "docs" / "pytorch.md").read_text(encoding="utf-8")
# Recorded steps are replayed on a processor, without PyTorch, in tests/api/test_replay.py.
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.split("## Replay a recorded step")[0], flags=re.DOTALL)


@pytest.mark.filterwarnings("default")
def test_the_examples_run() -> None:
    pytest.importorskip("torch", reason=NEEDED)
    names: dict[str, Any] = {}
    for code in EXAMPLES:
        exec(code, names)
    assert names["free"].pools[0].peak < memstow_peak(names)


def memstow_peak(names: dict[str, Any]) -> int:
    """The peak of the graph in its own order."""
    peak: int = names["memstow"].plan(names["graph"]).pools[0].peak
    return peak


def test_every_argument_is_documented() -> None:
    section = PAGE.split("## A program as a graph")[1].split("\n## ")[0]
    documented = set(re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE))
    parameters = set(inspect.signature(graph_of).parameters) - {"program"}
    assert parameters == documented
