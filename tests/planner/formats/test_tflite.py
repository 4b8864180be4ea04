"""TensorFlow Lite models as graphs: what small ones hold, what real ones need, what hostile ones do."""

import csv
import struct
from itertools import combinations
from pathlib import Path
from random import Random

import pytest

from memstow.planner import formats
from memstow.planner.formats.tflite_format import read_graph
from memstow.planner.graph.lowering import listed_problem
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Window
from memstow.planner.model.problem import Problem
from tests.tflite_models import (
    ADD,
    ASSIGN_VARIABLE,
    CALL,
    CALL_ONCE,
    IF,
    INT32,
    PAD,
    READ_VARIABLE,
    RELU,
    RESOURCE,
    STRING,
    VAR_HANDLE,
    WHILE,
    Sub,
    model,
    small_model,
    table,
)


def test_a_model_is_recognised_and_read() -> None:
    graph = formats.read_graph(small_model())
    assert [(t.id, t.size, t.kind, t.shape) for t in graph.tensors] == [
        ("0", 192, "data", (1, 8, 8, 3)),
        ("1", None, "constant", (4, 3, 3, 3)),
        ("2", 64, "data", (1, 4, 4, 4)),
        ("3", 64, "data", (1, 4, 4, 4)),
    ]
    assert [(o.id, o.type, o.inputs, o.outputs) for o in graph.operators] == [
        ("0", "CONV_2D", ("0", "1"), ("2",)),
        ("1", "RELU", ("2",), ("3",)),
    ]
    assert graph.operators[0].window == Window(kernel=(3, 3), stride=(2, 2), padding=(0, 0, 1, 1))
    assert (graph.inputs, graph.outputs) == (("0",), ("3",))
    assert not graph.operators[1].in_place
    assert read_graph(small_model(), in_place=True).operators[1].in_place == (("2", "3"),)


@pytest.mark.parametrize(
    ("margins", "window"),
    [
        ([0, 0, 1, 2, 3, 0, 0, 0], Window(kernel=(1, 1), padding=(1, 3, 2, 0))),
        ([0, 0, 1, 2, 2, 2, 0, 0], None),
        ([0, 0, 4, -1, 3, 0, 0, 0], None),
        ([0, 0, 1, 2, 3, 0], None),
    ],
)
def test_what_pads_has_a_window(margins: list[int], window: Window | None) -> None:
    main = Sub()
    x, y = main.tensor(1, 8, 8, 3), main.tensor(1, 11, 11, 3)
    around = main.tensor(len(margins) // 2, 2, kind=INT32, constant=True)
    main.tensors[around][2] = ("I", 2)
    main.operator(0, [x, around], [y])
    main.inputs, main.outputs = [x], [y]
    held = table(f0=struct.pack(f"<{len(margins)}i", *margins))
    graph = formats.read_graph(model([PAD], main, buffers=[held]))
    assert graph.operators[0].window == window


def test_called_subgraphs_are_temporaries_by_phase() -> None:
    main, then, other = Sub(), Sub(), Sub()
    test, x, y = main.tensor(1), main.tensor(100), main.tensor(100)
    main.operator(0, [test, x], [y], table(f0=("i", 1), f1=("i", 2)))
    main.inputs, main.outputs = [test, x], [y]
    for sub, count in ((then, 1), (other, 2)):
        last = sub.tensor(16 * count)
        sub.inputs = [last]
        for _ in range(count):
            made = sub.tensor(32 * count)
            sub.operator(1, [last], [made])
            last = made
        sub.outputs = [last]
    graph = read_graph(model([IF, RELU], main, then, other))
    (operator,) = graph.operators
    assert [(temporary.id, temporary.size, temporary.phases) for temporary in operator.temporaries] == [
        ("1/0", 16, (1, 3)),
        ("1/1", 32, (2, 3)),
        ("2/0", 32, (3, 5)),
        ("2/1", 64, (4, 6)),
        ("2/2", 64, (5, 6)),
    ]
    lives = {buffer.id: buffer.lifetime for buffer in listed_problem(graph).buffers}
    assert (lives["2"], lives["1/1"], lives["2/2"]) == ((1, 7), (3, 4), (6, 7))


def stateful() -> Sub:
    main = Sub()
    x = main.tensor(16)
    a, b = (main.tensor(1, kind=RESOURCE) for _ in range(2))
    made = [main.tensor(16) for _ in range(4)]
    main.operator(0, [], [], table(f0=("i", 1)))
    main.operator(1, [], [a], table(f1="one"))
    main.operator(1, [], [b], table(f1="two"))
    main.operator(2, [a], [made[0]])
    main.operator(2, [a], [made[1]])
    main.operator(2, [b], [made[2]])
    main.operator(3, [a, x], [])
    main.operator(2, [a], [made[3]])
    main.inputs, main.outputs = [x], made
    return main


def test_operators_at_one_variable_keep_their_order_and_readers_do_not() -> None:
    graph = read_graph(model([CALL_ONCE, VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE], stateful(), Sub()))
    after_call = [("0", str(i)) for i in (3, 4, 5, 6, 7)]
    assert graph.before == (*after_call, ("3", "6"), ("4", "6"), ("6", "7"))


def test_a_variable_tensor_is_not_planned_and_orders_its_users() -> None:
    main = Sub()
    x, state, y, z = main.tensor(16), main.tensor(16, variable=True), main.tensor(16), main.tensor(16)
    main.operator(0, [x, state], [y])
    main.operator(0, [x, state], [z])
    main.inputs, main.outputs = [x], [y, z]
    graph = read_graph(model([ADD], main))
    assert graph.before == (("0", "1"),)
    assert {tensor.id: tensor.kind for tensor in graph.tensors}[str(state)] == "external"
    assert {buffer.id for buffer in listed_problem(graph).buffers} == {str(entry) for entry in (x, y, z)}


def refused(data: bytes) -> str:
    with pytest.raises(InputError) as caught:
        read_graph(data)
    return caught.value.issues[0].code


def test_what_cannot_be_read_is_refused_by_name() -> None:
    strings = Sub()
    strings.inputs = [strings.tensor(4, kind=STRING)]
    unknown = Sub()
    unknown.inputs = [unknown.tensor(-1, 4)]
    unknown_type = Sub()
    unknown_type.inputs = [unknown_type.tensor(4, kind=99)]
    calls = Sub()
    calls.operator(0, [], [])
    itself = Sub()
    itself.operator(0, [], [], table(f0=("i", 0)))
    twice = Sub()
    for _ in range(2):
        twice.operator(0, [], [], table(f0=("i", 1)))
    beyond = Sub()
    beyond.operator(0, [], [], table(f0=("i", 7), f1=("i", 9)))
    assert refused(model([], strings)) == "not_supported"
    assert refused(model([], unknown)) == "unknown_shape"
    assert refused(model([], unknown_type)) == "not_supported"
    assert refused(model([CALL], calls)) == "not_supported"
    assert refused(model([CALL_ONCE], itself)) == "not_supported"
    assert refused(model([CALL_ONCE], twice, Sub())) == "not_supported"
    assert refused(model([WHILE], beyond)) == "damaged"
    assert refused(model([])) == "no_subgraph"
    assert refused(b"no model at all") == "not_a_model"
    assert refused(small_model()[:40]) == "damaged"


def test_a_short_file_cannot_describe_endless_work() -> None:
    main = Sub()
    # All tensors are one and the same, and so are all subgraphs: 64 million in 64 kB.
    main.tensors = [table(f0=[1, 2, 3], f1=("b", 9))] * 8_000
    data = model([RELU], *[main] * 8_000)
    assert len(data) < 70_000
    with pytest.raises(InputError, match="parts of it are read many times"):
        read_graph(data)


def overlaps(lives: dict[str, tuple[int, int]]) -> set[frozenset[str]]:
    return {
        frozenset((a, b))
        for a, b in combinations(lives, 2)
        if lives[a][0] < lives[b][1] and lives[b][0] < lives[a][1]
    }


def lives_of(problem: Problem) -> dict[str, tuple[int, int]]:
    return {b.id: b.lifetime for b in problem.buffers if isinstance(b.lifetime, tuple)}


@pytest.mark.parametrize(
    "name",
    [
        "mlct__kws_ref_model",
        "mlct__vww_96_int8",
        "mww__okay_nabu",
        "mww__v2_alexa",
        "tflm__keyword_scrambled_8bit",
        "tflm__person_detect",
        "tflm__trained_lstm_int8",
    ],
)
def test_real_models_need_what_their_runtime_allocates(shared_data: Path, name: str) -> None:
    problem = listed_problem(read_graph((shared_data / "tflite" / f"{name}.tflite").read_bytes()))
    with (shared_data / "tflite" / "problems" / f"{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {buffer.id: buffer.size for buffer in problem.buffers} == {r["id"]: int(r["size"]) for r in rows}
    expected = {row["id"]: (int(row["lower"]), int(row["upper"])) for row in rows}
    assert overlaps(lives_of(problem)) == overlaps(expected)


def test_damaged_real_models_are_refused_or_read(shared_data: Path) -> None:
    rng = Random(3)
    data = (shared_data / "tflite" / "mww__v2_alexa.tflite").read_bytes()
    read, messages = 0, list[str]()
    for _ in range(300):
        mutated = bytearray(data if rng.random() < 0.8 else data[: rng.randrange(len(data))])
        for _ in range(rng.choice((1, 2, 20))):
            at = rng.randrange(len(mutated))
            mutated[at : at + 4] = rng.choice((b"\xff\xff\xff\xff", bytes(4), rng.randbytes(4)))
        try:
            listed_problem(read_graph(bytes(mutated)))
            read += 1
        except InputError as error:
            messages += map(str, error.issues)
    assert read
    assert messages
    assert all(message.isprintable() for message in messages)
