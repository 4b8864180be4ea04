"""A NUL in a name is told as what it is by every format that has names."""

import json
from functools import partial
from typing import Any

import pytest

from memstow.planner import formats
from memstow.planner.formats.csv_table import read_plan
from memstow.planner.model.problem import Buffer, Problem
from tests.planner.refusal import told
from tests.xla_dumps import XLA

PROBLEM = Problem(buffers=(Buffer(id="a", size=4, lifetime=(0, 3)),))


def document(form: str) -> Any:
    return json.loads(formats.write_problem(PROBLEM, form))


def test_names_of_documents() -> None:
    case: dict[str, Any] = {"sizes": {"a": 4, "b\0": 2}, "edges": [["a", "b\0"]]}
    pools: dict[str, Any] = {"sizes": {"a": 4}, "edges": [], "pools": [{"name": "\0", "size": 9}]}
    structured = document("structured")
    structured["problem"]["buffers"][0]["name"] = "a\0"
    native = document("json")
    native["buffers"][0]["id"] = "a\0"
    for given in (case, pools, structured, native):
        result = told(partial(formats.read_problem, json.dumps(given).encode()))
        assert "not_text" in [code for code, _ in result], given


def test_names_in_an_xla_dump() -> None:
    assert formats.read_problem(XLA.encode()).buffers
    assert told(lambda: formats.read_problem(XLA.replace("first", "first\0").encode()))


def test_names_in_the_plan_of_a_csv() -> None:
    for text, column in ((b"id,offset\na\0,0\n", "id"), (b"id,pool,offset\na,m\0,0\n", "pool")):
        assert told(partial(read_plan, text, PROBLEM)) == [("not_text", f"line 2, column {column}")]


def test_names_in_an_onnx_model() -> None:
    pytest.importorskip("onnx", reason="needs ONNX: pip install 'memstow[onnx]'")
    from memstow.planner.formats.onnx.models import read_graph
    from tests.onnx_models import helper, model, value

    def named(tensor: str, node: str, kind: str) -> bytes:
        return model(
            [helper.make_node(kind, ["x"], [tensor], name=node)], [value("x", [3])], [value(tensor, [3])]
        )

    for data in (named("y\0", "relu", "Relu"), named("y", "relu\0", "Relu")):
        assert [code for code, _ in told(partial(read_graph, data))] == ["not_text"]
    (operator,) = read_graph(named("y", "", "Strange\0")).operators
    assert "\0" not in operator.id
