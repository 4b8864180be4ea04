"""Parts of channels: what the alternatives compute is what the operators did, in less memory."""

from dataclasses import replace
from itertools import pairwise

import pytest

import memstow
from memstow import Graph, InputError, Operator, Options, Pool, Tensor, Window
from memstow.planner.graph.changes import with_channels
from memstow.planner.graph.check import find_issues
from memstow.planner.verify import verify

THREE = Window(kernel=(3, 3), padding=(1, 1, 1, 1))
ONE = Window(kernel=(1, 1))


def block(wide: int = 48, element: str = "int8", outputs: tuple[str, ...] = ("y",), **types: str) -> Graph:
    """A block of MobileNet: wider, each channel alone, narrower."""
    extents = {"x": 8, "a": wide, "b": wide, "c": wide, "y": 8}
    tensors = [Tensor(id=name, shape=(8, 8, n), type=element) for name, n in extents.items()]  # type: ignore[arg-type]
    weights = Tensor(id="w", shape=(wide, 1, 1, 8), type="int8", kind="constant")
    return Graph(
        tensors=[*tensors, weights],
        operators=[
            Operator(id="expand", type="CONV_2D", inputs=["x", "w"], outputs=["a"], window=ONE, cost=100),
            Operator(
                id="each",
                type=types.get("each", "DEPTHWISE_CONV_2D"),
                inputs=["a"],
                outputs=["b"],
                window=THREE,
            ),
            Operator(id="relu", type="relu6", inputs=["b"], outputs=["c"]),
            Operator(id="project", type="conv2d", inputs=["c"], outputs=["y"], window=ONE, cost=70),
        ],
        inputs=["x"],
        outputs=list(outputs),
    )


def test_the_wide_tensors_are_never_there_as_a_whole() -> None:
    graph = with_channels(block())
    assert find_issues(graph) == []
    assert [len(alternative.operators) for alternative in graph.alternatives] == [
        4 * n + 1 for n in (2, 4, 8, 16)
    ]
    plan = memstow.plan(graph, Options(time_limit=5))
    assert verify(graph, plan) == []
    # What comes in, 3 channels twice, and the sums.
    assert plan.pools[0].peak == 64 * (8 + 3 + 3 + 4 * 8)
    assert memstow.plan(block()).pools[0].peak == 64 * 96


@pytest.mark.parametrize("parts", range(4))
def test_every_channel_is_made_and_added_once(parts: int) -> None:
    graph = with_channels(block(wide=21))
    alternative = graph.alternatives[parts]
    shape = {tensor.id: tensor.shape for tensor in alternative.tensors}
    made = [operator.outputs[0] for operator in alternative.operators if operator.id.startswith("expand")]
    assert len(made) == 2 ** (parts + 1)
    assert sum((shape[entry] or (0,))[-1] for entry in made) == 21
    added = [operator for operator in alternative.operators if operator.id.startswith("project")][:-1]
    for step, then in pairwise(added):
        assert then.in_place == ((step.outputs[0], then.outputs[0]),)
    # Each operator has its share, so that what a stripe computes again is paid for.
    assert alternative.cost is None
    assert sum(operator.cost or 0 for operator in alternative.operators) == 100 + 70 + sum(
        (64 * 21 * 9, 64 * 21)
    )
    assert all(operator.cost for operator in alternative.operators[:-1])
    assert alternative.operators[-1].outputs == ("y",)


def test_sums_of_what_lies_elsewhere_are_where_its_parts_are() -> None:
    pools = (Pool(id="fast"), Pool(id="slow"))
    graph = block()
    tensors = (
        replace(tensor, kind="external") if tensor.id == "y" else replace(tensor, pools=("fast",))
        for tensor in graph.tensors
    )
    made = with_channels(replace(graph, pools=pools, tensors=tuple(tensors))).alternatives
    assert {tensor.pools for other in made for tensor in other.tensors} == {("fast",)}


def test_sums_are_as_wide_as_they_must_be() -> None:
    graph = with_channels(block(element="float32"))
    sums = [tensor for tensor in graph.alternatives[0].tensors if ".sums." in tensor.id]
    assert {total.type for total in sums} == {"float32"}
    sums = [
        tensor
        for tensor in with_channels(block(element="int16")).alternatives[0].tensors
        if ".sums." in tensor.id
    ]
    assert {(total.type, total.alignment) for total in sums} == {("int32", 4)}
    sums = [
        tensor
        for tensor in with_channels(block(element="int64")).alternatives[0].tensors
        if ".sums." in tensor.id
    ]
    assert {total.type for total in sums} == {"int64"}


@pytest.mark.parametrize(
    "graph",
    [block(outputs=("y", "b")), block(each="conv_2d_transpose"), block(wide=1), block(each="softmax")],
    ids=["kept between", "not by channel", "one channel", "barrier"],
)
def test_others_have_none(graph: Graph) -> None:
    assert [
        alternative for alternative in with_channels(graph).alternatives if "expand" in alternative.replaces
    ] == []


def test_a_graph_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(InputError):
        with_channels(Graph(tensors=[], operators=[Operator(id="a", inputs=["x"])]))
