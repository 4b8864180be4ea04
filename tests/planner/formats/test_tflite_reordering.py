"""Models written with their operators in another order: what changes, what may not, and what is refused."""

import struct
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from random import Random

import pytest

import memstow
from memstow.planner.formats.flatbuffer import Flatbuffer
from memstow.planner.formats.tflite_format import read_graph
from memstow.planner.model.errors import InputError
from memstow.planner.tflm.reordering import reorder_model
from tests.tflite_models import (
    ADD,
    ASSIGN_VARIABLE,
    CALL_ONCE,
    CUSTOM,
    IF,
    READ_VARIABLE,
    RELU,
    RESOURCE,
    VAR_HANDLE,
    Fields,
    Sub,
    branching_model,
    model,
    small_model,
    table,
)


def forked(metadata: Sequence[Fields] = ()) -> bytes:
    """Two branches of two operators each, added up: 0 and 1, 2 and 3, then 4."""
    return model([RELU, ADD], _fork(), metadata=metadata)


def _fork() -> Sub:
    main = Sub()
    x = main.tensor(16)
    ends = []
    for size in (100, 200):
        wide, end = main.tensor(size), main.tensor(16)
        main.operator(0, [x], [wide])
        main.operator(0, [wide], [end])
        ends.append(end)
    y = main.tensor(16)
    main.operator(1, ends, [y])
    main.inputs, main.outputs = [x], [y]
    return main


def vector_of(data: bytes) -> tuple[int, int]:
    """Where the operators of the first subgraph are listed."""
    result = next(Flatbuffer(data).root().tables(2)).vector(3, 4)
    assert result is not None
    return result[0], result[0] + 4 * result[1]


def test_only_the_list_of_operators_changes_whatever_the_order() -> None:
    data = forked()
    before = read_graph(data)
    begin, end = vector_of(data)
    allowed = 0
    for order in permutations("01234"):
        if order.index("0") > order.index("1") or order.index("2") > order.index("3") or order[4] != "4":
            with pytest.raises(InputError) as caught:
                reorder_model(data, order)
            assert caught.value.issues[0].code == "not_an_order"
            continue
        allowed += 1
        written = reorder_model(data, order)
        assert (written[:begin], written[end:]) == (data[:begin], data[end:])
        after = read_graph(written)
        moved = [before.operators[int(name)] for name in order]
        assert [(operator.inputs, operator.outputs) for operator in after.operators] == [
            (move.inputs, move.outputs) for move in moved
        ]
        assert after.tensors == before.tensors
        assert reorder_model(written, [str(order.index(name)) for name in "01234"]) == data
    assert allowed == 6


def test_a_model_in_its_own_order_stays_as_it_is() -> None:
    assert reorder_model(small_model(), "01") == small_model()


@pytest.mark.parametrize("order", [(), "0123", "01233", "01235", ("0", "1", "2", "3", "04")])
def test_what_is_no_order_of_its_operators_is_refused(order: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="name each operator of the graph once"):
        reorder_model(forked(), order)


def best_order(data: bytes) -> tuple[str, ...]:
    schedule = memstow.plan(replace(memstow.read_graph(data), order="free")).schedule
    assert schedule is not None
    return schedule.order


def test_the_best_order_is_the_listed_one_of_what_is_written() -> None:
    data = branching_model()
    written = reorder_model(data, best_order(data))
    peaks = [memstow.plan(memstow.read_graph(entry)).objective[0].value for entry in (data, written)]
    assert peaks == [1136, 640]


def pairs(codes: Sequence[int | tuple[int, str]], *subgraphs: Sub) -> set[tuple[int, int]]:
    return {(int(a), int(b)) for a, b in read_graph(model(codes, *subgraphs)).before}


def four(*codes: int) -> Sub:
    """Operators of these codes beside each other."""
    main = Sub()
    main.inputs = [main.tensor(16)]
    for code in codes:
        main.operator(code, [0], [main.tensor(16)])
    main.outputs = list(range(1, 1 + len(codes)))
    return main


def test_custom_operators_keep_their_order_and_others_pass_them() -> None:
    assert pairs([RELU, (CUSTOM, "Mine")], four(1, 0, 1, 0)) == {(0, 2)}


def test_a_custom_operator_with_the_name_of_another_is_none_of_these() -> None:
    main = Sub()
    handle, x = main.tensor(1, kind=RESOURCE), main.tensor(16)
    made = [main.tensor(16), main.tensor(16)]
    main.operator(0, [], [handle], table(f1="one"))
    main.operator(1, [handle], [made[0]])
    main.operator(1, [handle], [made[1]])
    main.inputs, main.outputs = [x], made
    assert pairs([VAR_HANDLE, READ_VARIABLE], main) == set()
    assert pairs([VAR_HANDLE, (CUSTOM, "READ_VARIABLE")], main) == {(1, 2)}


def test_nothing_passes_an_operator_that_may_end_the_run() -> None:
    codes: list[int | tuple[int, str]] = [RELU, (CUSTOM, "CIRCULAR_BUFFER")]
    assert pairs(codes, four(0, 0, 1, 0, 0)) == {(0, 2), (1, 2), (2, 3), (2, 4)}
    data = model(codes, four(0, 0, 1, 0, 0))
    assert read_graph(reorder_model(data, "10243")).operators[2].type == "CIRCULAR_BUFFER"
    with pytest.raises(InputError, match="needs '1', which comes later"):
        reorder_model(data, "02134")


def test_nor_one_that_calls_such_an_operator() -> None:
    main, then, other = four(0, 0, 0), Sub(), Sub()
    main.operators[1] = table(f0=("I", 1), f1=[0], f2=[2], f3=("B", 92), f4=table(f0=("i", 1), f1=("i", 2)))
    then.inputs = [then.tensor(16)]
    then.outputs = [then.tensor(16)]
    then.operator(2, [0], [1])
    codes: list[int | tuple[int, str]] = [RELU, IF, (CUSTOM, "CIRCULAR_BUFFER")]
    assert pairs(codes, main, then, other) == {(0, 1), (1, 2)}
    assert pairs([RELU, IF, RELU], main, then, other) == set()


def test_variables_are_read_and_assigned_in_their_order() -> None:
    main = Sub()
    x, handle, old, y = main.tensor(16), main.tensor(1, kind=RESOURCE), main.tensor(16), main.tensor(16)
    main.operator(0, [], [], table(f0=("i", 1)))
    main.operator(1, [], [handle], table(f1="one"))
    main.operator(2, [handle], [old])
    main.operator(3, [handle, x], [])
    main.operator(4, [old, x], [y])
    main.inputs, main.outputs = [x], [y]
    data = model([CALL_ONCE, VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE, ADD], main, Sub())
    allowed = set()
    for order in permutations("01234"):
        try:
            written = reorder_model(data, order)
        except InputError:
            continue
        names = [operator.type for operator in read_graph(written).operators]
        allowed.add(tuple(names))
        places = [names.index(name) for name in ("CALL_ONCE", "READ_VARIABLE", "ASSIGN_VARIABLE")]
        assert places == sorted(places)
    assert len(allowed) > 3


def refused(data: bytes, order: str = "20134") -> str:
    """Why the model cannot be reordered; it can be read."""
    read_graph(data)
    with pytest.raises(InputError) as caught:
        reorder_model(data, order)
    assert caught.value.issues[0].code == "cannot_reorder"
    return caught.value.issues[0].message


@pytest.mark.parametrize("name", ["OfflineMemoryAllocation", "model_control_dependencies"])
def test_a_model_with_data_of_its_order_is_refused(name: str) -> None:
    assert f"({name})" in refused(forked(metadata=[table(f0=name, f1=("I", 1))]))
    reorder_model(forked(metadata=[table(f0="min_runtime_version", f1=("I", 1))]), "20134")


def test_a_list_of_operators_that_another_part_uses_is_refused() -> None:
    data = model([RELU, ADD, (CUSTOM, "a name")], _fork())
    reorder_model(data, "20134")
    at = data.index(b"a name") - 4
    # A name that reaches to the end of the file, and so past the operators.
    assert at < vector_of(data)[0]
    longer = data[:at] + struct.pack("<I", len(data) - at - 4) + data[at + 4 :]
    assert "shares bytes" in refused(longer)


def test_constants_that_a_buffer_puts_over_the_operators_are_refused() -> None:
    def with_buffer(begin: int, size: int) -> bytes:
        return model([RELU, ADD], _fork(), buffers=[table(f1=("Q", begin), f2=("Q", size))])

    begin, end = vector_of(with_buffer(8, 8))
    assert "shares bytes" in refused(with_buffer(begin - 8, 12))
    assert "shares bytes" in refused(with_buffer(end - 1, 8))
    for beside in (with_buffer(begin - 12, 8), with_buffer(end, 8)):
        assert reorder_model(beside, "20134")[end:] == beside[end:]


def test_one_subgraph_in_two_places_is_refused() -> None:
    main = _fork()
    assert "shares bytes" in refused(model([RELU, ADD], main, main))


def test_operators_within_the_list_of_operators_are_refused() -> None:
    main = Sub()
    main.operator(0, [], [], table(f0="x" * 400))
    main.operator(0, [], [])
    main.operator(0, [], [])
    # A name full of what says that a table has no fields.
    data = bytearray(model([RELU, (CUSTOM, "\4\0\4\0" * 300)], main))
    begin, _ = vector_of(bytes(data))
    # The first operator is now the second place of the list, whose offset leads back into the name.
    struct.pack_into("<I", data, begin, 4)
    assert "shares bytes" in refused(bytes(data), "102")


@pytest.mark.campaign
def test_damaged_models_are_refused_or_right(shared_data: Path) -> None:
    rng = Random(5)
    data = (shared_data / "tflite" / "mww__v2_alexa.tflite").read_bytes()
    order = best_order(data)
    done = 0
    for _ in range(300):
        mutated = bytearray(data)
        for _ in range(rng.choice((1, 2, 20))):
            at = rng.randrange(len(mutated) if rng.random() < 0.5 else 2000)
            mutated[at : at + 4] = rng.choice((b"\xff\xff\xff\xff", bytes(4), rng.randbytes(4)))
        changed = bytes(mutated)
        try:
            written = reorder_model(changed, order)
        except InputError:
            continue
        done += 1
        begin, end = vector_of(changed)
        assert (written[:begin], written[end:]) == (changed[:begin], changed[end:])
        read_graph(written)
    assert done
