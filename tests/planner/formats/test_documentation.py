"""Every example in docs/formats.md is of the format whose section it is in."""

import json
import re
from pathlib import Path

import pytest

from memstow.planner import formats

_PAGE = (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")
_SECTIONS = dict(re.findall(r"^## ([\w-]+)\n(.*?)(?=^## |\Z)", _PAGE, re.MULTILINE | re.DOTALL))
_EXAMPLES = [
    (name, example)
    for name, text in _SECTIONS.items()
    for example in re.findall(r"^```\w+\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
]


# No text: tests/planner/recorded makes some.
_BINARY = {"torch-snapshot"}


def test_every_format_has_a_section_with_an_example() -> None:
    assert {name for name, _ in _EXAMPLES} | _BINARY == set(_SECTIONS) == set(formats.readable_names())


def test_an_example_of_a_plan_is_one() -> None:
    (name,) = [name for name, text in _SECTIONS.items() if "```json plan" in text]
    (example,) = re.findall(r"^```json plan\n(.*?)^```", _PAGE, re.MULTILINE | re.DOTALL)
    raw = json.loads(example)
    assert formats.is_plan(raw)
    assert formats.plan_format(raw) == name


@pytest.mark.parametrize(("name", "example"), _EXAMPLES)
def test_an_example_is_what_its_section_says(name: str, example: str) -> None:
    problem = formats.read_problem(example.encode())
    assert problem == formats.read_problem(example.encode(), name)
    assert problem.buffers
    if name in ("json", "csv"):
        assert formats.write_problem(problem, name).decode() == example
    elif name in formats.names() and not example.startswith("[["):  # lists of intervals are read only
        assert formats.read_problem(formats.write_problem(problem, name)) == problem
