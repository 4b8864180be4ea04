"""Documents in one pass of native code: what the ordinary readers make of them, or nothing."""

import json
from random import Random
from typing import Any

import pytest

from memstow.planner import formats
from memstow.planner.check import find_issues as issues_of_problem
from memstow.planner.formats.native import write_document
from memstow.planner.generate.graph import graph
from memstow.planner.generate.random_problems import mixed
from memstow.planner.graph.check import find_issues as issues_of_graph
from memstow.planner.graph.graph_document import parse_graph
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph, Operator, Tensor
from memstow.planner.model.model_class import instance_in, instances_of
from memstow.planner.model.problem import Buffer, Pool, Problem
from memstow.planner.reading.json_text import FEW_BYTES, parse_json
from memstow.planner.reading.parse import parse_problem
from tests.graphs import random_graph
from tests.problems import random_problem

_NAMES = ('""', '"a"', '"\\u0000"', '"\\ud800"', '"\\ud83d\\ude00"', f'"{"ä" * 1024}"', f'"{"ä" * 1025}"')
_NUMBERS = ("-1", "0", "7", "1.0", "1e3", "-0", "01", str(1 << 62), str((1 << 62) + 1), str(1 << 63))
_OTHERS = ("null", "true", "NaN", "[]", "[[]]", "[1]", "[1, 2]", '["t0", "t1"]', "{}", '{"id": "x"}')
_ODD = (*_NAMES, *_NUMBERS, *_OTHERS, '"always"', '"state"')


def with_odd_text(text: str, random: Random) -> str:
    """The document with one value, name or character that it did not have."""
    kind = random.randrange(4)
    if kind == 0:
        spots = [i for i, entry in enumerate(text) if entry in ":,["]
        at = random.choice(spots) + 1
        end = at
        while end < len(text) and text[end] not in ",]}":
            end += 1
        return text[:at] + random.choice(_ODD) + text[end:]
    if kind == 1:
        at = random.randrange(len(text))
        return text[:at] + random.choice(',:[]{}" 0a\\') + text[at + 1 :]
    if kind == 2:
        return text.replace('"id"', random.choice(('"id": "b", "id"', '"name": 1, "id"', '"it"')), 1)
    return text.replace("{", '{"version": 1, ', 1)


def ordinary(data: bytes, holder: type) -> Any:
    """What the ordinary readers make of the document; None where they refuse it."""
    try:
        return (parse_graph if holder is Graph else parse_problem)(parse_json(data))
    except InputError:
        return None


def compare(data: bytes, holder: Any) -> bool:
    """Whether the native reader takes the document, which it may only do as the ordinary ones do."""
    result = instance_in(data, holder)
    if result is None:
        return False
    known = ordinary(data, holder)
    # What contradicts itself is plain, and yet refused.
    assert known is None or known == result
    if known is None:
        assert issues_of_graph(result) if isinstance(result, Graph) else issues_of_problem(result)
    return True


@pytest.mark.parametrize("chunk", range(5))
def test_what_the_native_reader_takes_the_ordinary_readers_take_and_make_the_same_of(chunk: int) -> None:
    taken = 0
    for seed in range(60 * chunk, 60 * chunk + 60):
        random = Random(seed)
        documents: list[tuple[str, type]] = [
            (write_document(random_problem(random)).decode(), Problem),
            (json.dumps(random_graph(seed)), Graph),
        ]
        for text, holder in documents:
            taken += compare(text.encode(), holder)
            for _ in range(10):
                compare(with_odd_text(text, random).encode("utf-8", "surrogatepass"), holder)
    assert taken > 100


def test_every_generated_document_is_taken() -> None:
    for family in ("chain", "cells", "wiring", "training"):
        made = graph(40, 3, family=family)
        assert instance_in(write_document(made), Graph) == made
    problem = mixed(40, 3, features=["pools", "pins", "alignments", "conflicts", "lifetimes"])
    assert instance_in(write_document(problem), Problem) == problem


def test_a_name_is_one_object_wherever_it_stands() -> None:
    result = instance_in(write_document(graph(40, 3, family="chain")), Graph)
    assert result is not None
    assert result.operators[1].inputs[0] is result.operators[0].outputs[0]


def test_what_contradicts_itself_is_left_to_the_readers_with_messages() -> None:
    data = write_document(Graph(tensors=(), operators=(Operator(id="o", inputs=("t",)),)))
    assert instance_in(data, Graph) is not None
    with pytest.raises(InputError, match="there is no tensor 't'"):
        formats.read_document(data + b" " * FEW_BYTES)


@pytest.mark.parametrize("padding", [0, FEW_BYTES])
def test_large_and_small_documents_are_read_alike(padding: int) -> None:
    made = graph(30, 5)
    assert formats.read_document(write_document(made) + b" " * padding) == made
    problem = Problem(
        pools=(Pool(id="a", capacity=10), Pool(id="b")),
        buffers=(Buffer(id="x", size=1, lifetime=(0, 2)), Buffer(id="y", size=2, lifetime="always")),
    )
    assert formats.read_document(write_document(problem) + b" " * padding) == problem
    with pytest.raises(InputError, match="more than once"):
        formats.read_document(b'{"version": 1, "version": 1, "buffers": []}' + b" " * padding)


def test_many_instances_are_as_if_each_had_been_made() -> None:
    made = instances_of(Tensor, 2, id=["a", "b"], size=[1, None], kind="state")
    assert made == (Tensor(id="a", size=1, kind="state"), Tensor(id="b", kind="state"))
    assert instances_of(Tensor, 0, id=[]) == ()
    with pytest.raises(TypeError, match="needs 'id'"):
        instances_of(Tensor, 1)
    with pytest.raises(TypeError, match="has no colour"):
        instances_of(Tensor, 1, id=["a"], colour="red")
    with pytest.raises(ValueError, match="another length"):
        instances_of(Tensor, 2, id=["a"])
