"""The list of tensors is read as it is and refused with the place of what is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from memstow.planner import formats
from memstow.planner.model.problem import Buffer, Problem
from tests.planner.refusal import told

TENSOR = {"id": "b0", "size": 16, "lower": 0, "upper": 4, "alignment": 16}


def _read(raw: Any) -> Problem:
    return formats.read_problem(json.dumps(raw).encode(), "executorch")


def test_a_tensor_is_a_buffer() -> None:
    assert _read([TENSOR]).buffers == (Buffer(id="b0", size=16, lifetime=(0, 4), alignment=16),)


@pytest.mark.parametrize(
    ("raw", "code", "place"),
    [
        (3, "wrong_root", "$"),
        ([3], "not_an_object", "$[0]"),
        ([{**TENSOR, "upper": 0}], "empty_lifetime", "$[0].lower"),
        ([TENSOR, TENSOR], "duplicate_buffer", "$[1].id"),
        ([TENSOR, {**TENSOR, "size": "?"}, TENSOR], "duplicate_buffer", "$[2].id"),
        ([{**TENSOR, "offset": 0}], "unknown_field", "$[0].offset"),
        ([{"id": "a", "size": 1, "lower": 0}], "missing_field", "$[0].upper"),
    ],
)
def test_defects_have_their_place(raw: Any, code: str, place: str) -> None:
    assert (code, place) in told(lambda: _read(raw))


def test_every_exported_network_comes_back(shared_data: Path) -> None:
    files = list(shared_data.glob("executorch/*.json"))
    assert len(files) == 5
    for file in files:
        problem = formats.read_problem(file.read_bytes())
        assert json.loads(formats.write_problem(problem, "executorch")) == json.loads(file.read_bytes())
