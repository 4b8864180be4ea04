"""Symbolic graphs: at each value the problem is that of the ordinary graph at this value."""

import json
from dataclasses import replace
from random import Random
from typing import Any

import pytest

import memstow
from memstow.planner.formats.native import parse_symbolic_graph, read_symbolic
from memstow.planner.formulas.sizes import problem_at
from memstow.planner.generate.graph import graph as random_graph
from memstow.planner.graph.check import find_issues
from memstow.planner.graph.lowering import listed_problem
from memstow.planner.graph.symbolic_graph import lower_symbolic
from memstow.planner.model.graph import Graph, Tensor
from memstow.planner.model.symbolic import (
    Symbol,
    SymbolicGraph,
    SymbolicOperator,
    SymbolicTemporary,
    SymbolicTensor,
    shape_size,
)
from tests.planner.formulas.formulas import by_python

SYMBOLS = (Symbol(id="s", min=1, max=9), Symbol(id="b", min=0, max=3))
SMALL: dict[str, Any] = {
    "symbols": [{"id": "s", "min": 1, "max": 64}],
    "tensors": [{"id": "x", "shape": ["s", 4], "type": "int16"}, {"id": "y", "size": "8*s"}],
    "operators": [{"id": "f", "inputs": ["x"], "outputs": ["y"]}],
    "inputs": ["x"],
    "outputs": ["y"],
}


def _symbolic(graph: Graph, random: Random) -> SymbolicGraph:
    """The same graph with formulas in place of most sizes."""
    types = ("int4", "float32", "bool", "complex128")
    tensors = []
    for tensor in graph.tensors:
        made = SymbolicTensor(id=tensor.id, kind=tensor.kind, size=f"{random.randint(1, 9)}*s*b + 1")
        if random.random() < 0.5:
            extents: list[int | str] = [3, "s", "b + 1", "s // 2 + b"]
            shape = [random.choice(extents) for _ in range(3)]
            made = SymbolicTensor(id=tensor.id, kind=tensor.kind, shape=shape, type=random.choice(types))  # type: ignore[arg-type]
        tensors.append(made)
    operators = [
        SymbolicOperator(
            id=operator.id,
            type=operator.type,
            inputs=operator.inputs,
            outputs=operator.outputs,
            in_place=operator.in_place,
            temporaries=[SymbolicTemporary(id=f"{operator.id} t", size="s*s + b", phases=(1, 3))]
            if random.random() < 0.3
            else [],
        )
        for operator in graph.operators
    ]
    return SymbolicGraph(
        symbols=SYMBOLS, tensors=tensors, operators=operators, inputs=graph.inputs, outputs=graph.outputs
    )


def _at(graph: SymbolicGraph, at: dict[str, int]) -> Graph:
    """The ordinary graph, its formulas evaluated by Python."""

    def value(number: int | str | None) -> int | None:
        return by_python(number, at) if isinstance(number, str) else number

    return Graph(
        tensors=[
            Tensor(
                id=tensor.id,
                size=value(tensor.size),
                shape=None if tensor.shape is None else [value(extent) or 0 for extent in tensor.shape],
                type=tensor.type,
                kind=tensor.kind,
            )
            for tensor in graph.tensors
        ],
        operators=[
            memstow.Operator(
                id=operator.id,
                type=operator.type,
                inputs=operator.inputs,
                outputs=operator.outputs,
                in_place=operator.in_place,
                temporaries=[
                    memstow.Temporary(id=one.id, size=value(one.size) or 0, phases=one.phases)
                    for one in operator.temporaries
                ],
            )
            for operator in graph.operators
        ],
        inputs=graph.inputs,
        outputs=graph.outputs,
        objective=graph.objective,
    )


@pytest.mark.parametrize("family", ["chain", "cells", "wiring", "training"])
@pytest.mark.parametrize("seed", range(5))
def test_at_each_value_it_is_the_problem_of_the_graph_there(family: str, seed: int) -> None:
    random = Random(seed)
    graph = _symbolic(random_graph(random.randint(1, 25), seed, family=family), random)
    written = memstow.write_symbolic_graph(graph)
    assert memstow.read_symbolic_graph(written) == graph
    problem = lower_symbolic(graph)
    assert read_symbolic(written) == problem
    for at in ({"s": 1, "b": 0}, {"s": 9, "b": 3}, {"s": 4, "b": 1}):
        ordinary = _at(graph, at)
        assert find_issues(ordinary) == []
        assert problem_at(problem, at) == listed_problem(ordinary)


@pytest.mark.parametrize(
    ("changes", "code", "path"),
    [
        ({"symbols": []}, "empty", "$.symbols"),
        ({"points": [{"at": {"s": 0}}]}, "value_out_of_range", "$.points[0].at.s"),
        ({"objective": ["moves"]}, "unknown_term", "$.objective[0]"),
        ({"outputs": ["z"]}, "unknown_tensor", "$.outputs[0]"),
        ({"order": "lpmf"}, "unknown_choice", "$.order"),
        ({"inputs": []}, "not_made", "$.tensors[0]"),
        ({"pools": [{"id": "a"}, {"id": "a"}]}, "duplicate_pool", "$.pools[1].id"),
    ],
)
def test_what_is_wrong_with_a_graph_is_told_with_its_place(
    changes: dict[str, Any], code: str, path: str
) -> None:
    with pytest.raises(memstow.InputError) as raised:
        parse_symbolic_graph(SMALL | changes)
    assert [(issue.code, issue.path) for issue in raised.value.issues] == [(code, path)]


@pytest.mark.parametrize(
    ("tensor", "code", "path"),
    [
        ({"size": "8*t"}, "unknown_symbol", "$.tensors[1].size"),
        ({"size": "8*s - 9"}, "formula_negative", "$.tensors[1].size"),
        ({"shape": ["s", "s - 2"], "type": "int8"}, "formula_negative", "$.tensors[1].shape[1]"),
        ({"shape": ["s", 1.5], "type": "int8"}, "not_a_size", "$.tensors[1].shape[1]"),
        ({"shape": ["s"] * 11, "type": "int8"}, "formula_overflow", "$.tensors[1].shape"),
        ({"shape": ["s", 1 << 61], "type": "int8"}, "formula_overflow", "$.tensors[1].shape"),
        ({"shape": [1 << 31, 1 << 32], "type": "int8"}, "too_large", "$.tensors[1]"),
        ({"shape": ["s", 4]}, "no_size", "$.tensors[1]"),
        (
            {"shape": ["s"], "type": "int32", "size": "3*s + 62"},
            "size_contradicts_shape",
            "$.tensors[1].size",
        ),
        ({"shape": ["s"], "type": "int32", "size": 255}, "size_contradicts_shape", "$.tensors[1].size"),
    ],
)
def test_what_is_wrong_with_a_size_is_told_with_its_place(
    tensor: dict[str, Any], code: str, path: str
) -> None:
    with pytest.raises(memstow.InputError) as raised:
        parse_symbolic_graph(SMALL | {"tensors": [SMALL["tensors"][0], {"id": "y", **tensor}]})
    result = [(issue.code, issue.path.removesuffix(".size")) for issue in raised.value.issues]
    assert result == [(code, path.removesuffix(".size"))]


def test_a_view_lies_inside_at_every_value() -> None:
    document = SMALL | {"views": [{"tensor": "y", "of": "x", "offset": 0}]}
    problem = read_symbolic(json.dumps(document).encode())
    assert [(relation.buffer, relation.base, relation.offset) for relation in problem.relative] == [
        ("y", "x", 0)
    ]
    for size in ("8*s + 1", "4*s + 5", "s*s"):
        tensors = (*SMALL["tensors"][:1], {"id": "y", "size": size})
        with pytest.raises(memstow.InputError, match="view_beyond"):
            parse_symbolic_graph(document | {"tensors": list(tensors)})


def test_numbers_alone_need_no_formula() -> None:
    graph = parse_symbolic_graph(SMALL)
    plain = replace(
        graph,
        tensors=(
            SymbolicTensor(id="x", shape=[3, "5"], type="int4"),
            SymbolicTensor(id="y", shape=["s"], type="int8"),
        ),
    )
    assert [buffer.size for buffer in lower_symbolic(plain).buffers] == [8, "s"]


@pytest.mark.parametrize(
    ("shape", "kind", "size"),
    [
        (["s + b"], "int8", "s + b"),
        (["s + b", 3], "int8", "3*(s + b)"),
        (["s", " 2 ", "max(b, 1)"], "int32", "8*s*max(b, 1)"),
        (["max(b, 1) + max(s, 2)", "s"], "int8", "(max(b, 1) + max(s, 2))*s"),
        (["max(b, 1)*(s)", "s"], "int8", "(max(b, 1)*(s))*s"),
        (["s + b"], "int4", "ceil_div(4*(s + b), 8)"),
    ],
)
def test_the_size_of_a_shape_is_the_product_of_its_numbers(
    shape: list[int | str], kind: Any, size: str
) -> None:
    tensor = SymbolicTensor(id="x", shape=shape, type=kind)
    assert shape_size(tensor) == size
    graph = SymbolicGraph(symbols=SYMBOLS, tensors=[tensor], operators=[], inputs=["x"])
    assert lower_symbolic(graph).buffers[0].size == size
