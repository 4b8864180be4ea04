"""What a graph must be for a plan to be judged against it: names known, one producer each, nothing twice."""

from collections.abc import Iterator

from memstow.planner.model.graph import Graph


def structure_errors(graph: Graph) -> Iterator[str]:
    """Why no plan can be judged against the graph; nothing where one can."""
    temporaries = [it.id for operator in graph.operators for it in operator.temporaries]
    tensors = {tensor.id: tensor for tensor in graph.tensors}
    operators = {operator.id for operator in graph.operators}
    if len(tensors) + len(set(temporaries)) != len({*tensors, *temporaries}) or (
        len(tensors) != len(graph.tensors) or len(set(temporaries)) != len(temporaries)
    ):
        yield "two tensors or temporaries have one id"
    if len(operators) != len(graph.operators):
        yield "two operators have one id"
    if not _named_tensors(graph) <= tensors.keys():
        yield "it names a tensor that it does not have"
        return
    if any(name not in operators for pair in graph.before for name in pair):
        yield "it names an operator that it does not have"
    states = {name for name, tensor in tensors.items() if tensor.kind == "state"}
    made = [name for operator in graph.operators for name in operator.outputs if name not in states]
    if len(set(made)) < len(made) or not set(made).isdisjoint(graph.inputs):
        yield "a tensor has two producers"
    yield from _wrong_pairs(graph)


def _named_tensors(graph: Graph) -> set[str]:
    named = {*graph.inputs, *graph.outputs, *_names_of_views(graph)}
    for operator in graph.operators:
        named.update(operator.inputs)
        named.update(operator.outputs)
        for pair in operator.in_place:
            named.update(pair)
    return named


def _names_of_views(graph: Graph) -> set[str]:
    return {name for view in graph.views for name in (view.tensor, view.of)}


def _wrong_pairs(graph: Graph) -> Iterator[str]:
    viewed = _names_of_views(graph)
    for operator in graph.operators:
        for source, target in operator.in_place:
            if source not in operator.inputs or target not in operator.outputs:
                yield f"a pair in place is not of its operator {operator.id!r}"
            if source in viewed or target in viewed:
                yield f"a pair in place of {operator.id!r} has a view"
