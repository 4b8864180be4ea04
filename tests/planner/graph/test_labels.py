"""What buffers of a graph are, in words."""

import json
from dataclasses import replace
from hashlib import sha256

import memstow
from memstow.planner.graph.graph_document import checked_json, graph_digest
from memstow.planner.model.graph import Graph, Limits, Operator, Temporary, Tensor
from tests.planner.tflm.random_models import random_model
from tests.tflite_models import small_model

GRAPH = Graph(
    tensors=[
        Tensor(id="x", shape=[1, 4], type="int8", name="sound"),
        Tensor(id="y", size=64),
        Tensor(id="h", shape=[2], type="int16", kind="state"),
        Tensor(id="w", shape=[4, 4], type="int8", kind="constant"),
        Tensor(id="z", size=16, name="answer"),
        Tensor(id="q", size=16),
    ],
    operators=[
        Operator(
            id="0",
            type="LSTM",
            inputs=["x", "w", "h"],
            outputs=["y", "h"],
            temporaries=[Temporary(id="t", size=8)],
        ),
        Operator(id="1", inputs=["y"], outputs=["z"]),
        Operator(id="2", inputs=["y"], outputs=["q"]),
    ],
    inputs=["x"],
    outputs=["z", "q"],
)


def test_a_label_says_who_makes_a_buffer_its_elements_and_its_name() -> None:
    assert {name: str(label) for name, label in memstow.buffer_labels(GRAPH).items()} == {
        "x": "input int8 [1,4] sound",
        "y": "LSTM",
        "h": "state int16 [2]",
        "z": "answer",
        "t": "LSTM temporary",
    }


def test_tensors_of_models_have_their_names_beside_their_ids() -> None:
    graph = memstow.read_graph(small_model())
    assert [(tensor.id, tensor.name) for tensor in graph.tensors] == [(str(i), f"t{i}") for i in range(4)]
    assert {name: str(label) for name, label in memstow.buffer_labels(graph).items()} == {
        "0": "input int8 [1,8,8,3] t0",
        "2": "CONV_2D int8 [1,4,4,4] t2",
        "3": "RELU int8 [1,4,4,4] t3",
    }
    assert memstow.read_graph(memstow.write_graph(graph)) == graph


EVERYTHING = {
    "version": 1,
    "name": "all fields",
    "pools": [
        {
            "id": "p",
            "capacity": 4096,
            "alignment": 8,
            "reserved": [{"offset": 0, "size": 8}],
            "base": 64,
            "cost": 3,
        },
        {"id": 'q"\\\u00e9\u2028\x7f\x01'},
    ],
    "tensors": [
        {"id": "x", "shape": [1, 4, 4, 2], "type": "int8", "name": "x of the program"},
        {"id": "w", "shape": [3, 3, 2, 2], "type": "int8", "kind": "constant"},
        {"id": "y", "shape": [1, 4, 4, 2], "type": "int8", "pools": ["p"], "alignment": 16},
        {"id": "z", "size": 5},
        {"id": "s", "size": 9, "kind": "state"},
        {"id": "v", "size": 2},
        {"id": "a", "size": 32},
    ],
    "operators": [
        {
            "id": "first\n",
            "type": "conv",
            "inputs": ["x", "w"],
            "outputs": ["y"],
            "window": {"kernel": [3, 3], "padding": [1, 1, 1, 1]},
            "temporaries": [{"id": "t", "size": 7, "phases": [0, 1]}, {"id": "u", "size": 7, "pools": ["p"]}],
            "cost": 5,
        },
        {"id": "second", "inputs": ["y"], "outputs": ["z"]},
        {"id": "third", "inputs": ["z", "s"], "outputs": ["v"]},
        {"id": "fourth", "inputs": ["y"], "outputs": ["a"], "in_place": [["y", "a"]]},
    ],
    "inputs": ["x"],
    "outputs": ["v", "a"],
    "before": [["first\n", "third"]],
    "views": [{"tensor": "v", "of": "z", "offset": 1}],
    "order": "free",
    "alternatives": [
        {
            "id": "other",
            "replaces": ["second"],
            "operators": [{"id": "2", "inputs": ["y"], "outputs": ["z", "b"]}],
            "tensors": [{"id": "b", "size": 4, "name": "b of the program"}],
            "cost": 7,
        }
    ],
    "objective": ["peak:p", "placement_cost"],
}


def test_no_digest_depends_on_what_tensors_are_called() -> None:
    """Locks of models that were written before tensors had names hold."""
    graph = memstow.read_graph(small_model())
    nameless = replace(graph, tensors=tuple(replace(tensor, name=None) for tensor in graph.tensors))
    assert graph_digest(graph) == graph_digest(nameless)
    assert graph_digest(graph) == "8ffd3858dd82d61e1b530dbc71e072a2bf4fa4e51bc080bac2168246ce019823"
    assert memstow.digest(memstow.lower_graph(graph)) == memstow.digest(memstow.lower_graph(nameless))
    parts = memstow.with_channels(GRAPH)
    called = tuple(
        replace(alternative, tensors=tuple(replace(t, name="n") for t in alternative.tensors))
        for alternative in parts.alternatives
    )
    assert graph_digest(replace(parts, alternatives=called)) == graph_digest(parts)


def test_a_digest_is_of_what_pydantic_writes() -> None:
    graph = memstow.read_graph(json.dumps(EVERYTHING).encode())
    for entry in (
        graph,
        GRAPH,
        memstow.with_channels(GRAPH),
        *(memstow.read_graph(random_model(seed)) for seed in range(5)),
    ):
        for limited in (entry, replace(entry, limits=Limits(cost=1e16))):
            digest = sha256(b"memstow-graph 1\n" + checked_json(limited)).hexdigest()
            assert graph_digest(limited) == digest


def test_every_buffer_of_a_model_has_a_label() -> None:
    for seed in range(20):
        graph = memstow.read_graph(random_model(seed))
        assert memstow.buffer_labels(graph).keys() == {
            buffer.id for buffer in memstow.lower_graph(graph).buffers
        }
