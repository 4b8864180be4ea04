"""The stubs that are written when native modules are built say what type checkers are to know."""

import ast
from pathlib import Path

import pytest

from memstow.solvers import _native, instance

ROOT = Path(__file__).parents[2]
STUBS = ("solvers/_native", "planner/judge/_judge", "planner/plain/_columns", "planner/model/_instances")


@pytest.mark.parametrize("name", STUBS)
def test_a_stub_names_our_own_types_and_no_array_of_a_library(name: str) -> None:
    text = (ROOT / f"{name}.pyi").read_text()
    assert ast.get_docstring(ast.parse(text))
    assert "NDArray" not in text
    assert "numpy" not in text


def test_the_stub_of_the_core_knows_layouts_and_columns() -> None:
    text = (ROOT / "solvers/_native.pyi").read_text()
    assert "layout: memstow.solvers.instance.Layout" in text
    assert "sizes: array[int] | memoryview" in text


def test_limits_are_the_same_on_both_sides() -> None:
    assert instance.UNBOUNDED == _native.UNBOUNDED
