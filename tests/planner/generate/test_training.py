"""A training step: a valid graph, of the layers and the weights of MobileNetV2."""

from memstow.planner.generate.graph import training_step
from memstow.planner.graph.check import find_issues
from memstow.planner.model.graph import size_of


def test_it_is_a_valid_graph_with_the_weights_of_the_network() -> None:
    graph = training_step(2, side=64)
    assert find_issues(graph) == []
    kinds = [operator.type for operator in graph.operators]
    assert kinds.count("conv") + kinds.count("depthwise") == 52
    weights = [tensor for tensor in graph.tensors if tensor.kind == "state"]
    # 3.5 million parameters, as the network is known for.
    assert 3_450_000 < sum(size_of(weight) // 4 for weight in weights) < 3_550_000
    assert kinds.count("update") == len(weights)


def test_operators_cost_the_bytes_that_they_read_and_write() -> None:
    graph = training_step(1, side=32)
    size = {tensor.id: size_of(tensor) for tensor in graph.tensors}
    for operator in graph.operators:
        assert operator.cost == sum(size[name] for name in (*operator.inputs, *operator.outputs))


def test_the_batch_scales_images_and_not_weights() -> None:
    one, four = training_step(1, side=32), training_step(4, side=32)
    sizes = [{tensor.id: (tensor.kind, size_of(tensor)) for tensor in graph.tensors} for graph in (one, four)]
    for name, (kind, size) in sizes[0].items():
        if name == "images" or name.endswith(".raw"):
            assert sizes[1][name] == (kind, 4 * size)
        if kind == "state":
            assert sizes[1][name] == (kind, size)
