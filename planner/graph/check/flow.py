"""Issues of who makes and reads what: unknown names, two producers, tensors nobody makes, in-place pairs."""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import chain
from operator import attrgetter

from memstow.planner.graph.links import NOBODY, links_of
from memstow.planner.model.errors import Issue, closest_match
from memstow.planner.model.graph import Graph, Operator, Tensor


def flow_issues(graph: Graph) -> Iterator[Issue]:
    """Issues of names, producers and in-place pairs."""
    tensors = {tensor.id: tensor for tensor in graph.tensors}
    yield from _unknown_names(graph, tensors)
    yield from _producers(graph, tensors)
    yield from _unmade(graph)
    viewed = names_of_views(graph)
    for i, operator in enumerate(graph.operators):
        if operator.in_place:
            yield from pair_issues(operator, tensors, viewed, f"$.operators[{i}].in_place")


def names_of_views(graph: Graph) -> AbstractSet[str]:
    """Tensors that are views or have some."""
    return {name for view in graph.views for name in (view.tensor, view.of)}


def pair_issues(
    operator: Operator, tensors: Mapping[str, Tensor], viewed: AbstractSet[str], path: str
) -> Iterator[Issue]:
    """Issues of the in-place pairs of an operator."""
    for j, pair in enumerate(operator.in_place):
        reason = _against_pair(operator, pair, tensors, viewed)
        if reason is not None:
            code, message = reason
            yield Issue(code, f"{path}[{j}]", message)


def unknown(kind: str, name: str, known: dict[str, Tensor] | dict[str, int]) -> str:
    """The message for a name that the graph does not have."""
    # Comparing with very many names takes longer than the hint is worth.
    close = closest_match(name, known) if len(known) <= 2_000 else None
    hint = f"did you mean {close!r}?" if close is not None else f"give the id of {kind} of this graph"
    return f"there is no {kind.removeprefix('a ').removeprefix('an ')} {name!r}; {hint}"


def _unknown_names(graph: Graph, tensors: dict[str, Tensor]) -> Iterator[Issue]:
    if not _named_tensors(graph) <= tensors.keys():
        yield from _unknown_tensors(graph, tensors)
    operators = links_of(graph).operator_index
    for i, pair in enumerate(graph.before):
        for j, name in enumerate(pair):
            if name not in operators:
                yield Issue(
                    "unknown_operator", f"$.before[{i}][{j}]", unknown("an operator", name, operators)
                )


def _named_tensors(graph: Graph) -> AbstractSet[str]:
    """The names that stand for tensors, of which hardly ever one is unknown."""
    named = {*graph.inputs, *graph.outputs, *names_of_views(graph)}
    named.update(chain.from_iterable(map(attrgetter("inputs"), graph.operators)))
    named.update(chain.from_iterable(map(attrgetter("outputs"), graph.operators)))
    return named


def _unknown_tensors(graph: Graph, tensors: dict[str, Tensor]) -> Iterator[Issue]:
    named = [(f"$.inputs[{i}]", name) for i, name in enumerate(graph.inputs)]
    named += [(f"$.outputs[{i}]", name) for i, name in enumerate(graph.outputs)]
    for i, operator in enumerate(graph.operators):
        named += [(f"$.operators[{i}].inputs[{j}]", name) for j, name in enumerate(operator.inputs)]
        named += [(f"$.operators[{i}].outputs[{j}]", name) for j, name in enumerate(operator.outputs)]
    for i, view in enumerate(graph.views):
        named += [(f"$.views[{i}].tensor", view.tensor), (f"$.views[{i}].of", view.of)]
    for path, name in named:
        if name not in tensors:
            yield Issue("unknown_tensor", path, unknown("a tensor", name, tensors))


def _producers(graph: Graph, tensors: dict[str, Tensor]) -> Iterator[Issue]:
    """Issues of tensors that more than one operator makes, or one although they are there before all."""
    maker: dict[str, str] = {}
    there = set(graph.inputs)
    for i, operator in enumerate(graph.operators):
        for j, name in enumerate(operator.outputs):
            tensor = tensors.get(name)
            if tensor is None or tensor.kind == "state":
                continue
            if name in maker:
                yield Issue(
                    "two_producers",
                    f"$.operators[{i}].outputs[{j}]",
                    f"{name!r} is made by {maker[name]!r} already; give it one producer, or the kind `state`",
                )
            elif name in there or tensor.kind == "constant":
                what = "an input of the graph" if name in there else "a constant"
                message = f"{name!r} is {what}, so no operator can make it"
                yield Issue("two_producers", f"$.operators[{i}].outputs[{j}]", message)
            maker.setdefault(name, operator.id)


def _unmade(graph: Graph) -> Iterator[Issue]:
    """Issues of data that nobody makes."""
    links = links_of(graph)
    there = set(graph.inputs)
    kept: dict[str, int] = {}
    for j, name in enumerate(graph.outputs):
        kept.setdefault(name, j)
    for i, tensor in enumerate(graph.tensors):
        if tensor.kind != "data" or tensor.id in there or links.producer[i] != NOBODY:
            continue
        if tensor.id in kept:
            yield Issue(
                "output_not_made",
                f"$.outputs[{kept[tensor.id]}]",
                f"no operator makes {tensor.id!r}; name a tensor that one makes, or an input",
            )
        else:
            yield Issue(
                "not_made",
                f"$.tensors[{i}]",
                f"no operator makes {tensor.id!r} and it is no input of the graph; add it to `inputs`, give "
                "it another `kind`, or leave it out",
            )


def _against_pair(
    operator: Operator, pair: tuple[str, str], tensors: Mapping[str, Tensor], viewed: AbstractSet[str]
) -> tuple[str, str] | None:
    for name, side, names in zip(
        pair, ("inputs", "outputs"), (operator.inputs, operator.outputs), strict=True
    ):
        if name not in names:
            return (
                "in_place_of_another",
                f"{name!r} is not among the {side} of {operator.id!r}; a pair is an input and an output of "
                "its operator",
            )
        if name in viewed:
            return (
                "in_place_view",
                f"{name!r} is a view or has one: where it lies is settled; remove the pair, or the view",
            )
        if name in tensors and tensors[name].kind not in ("data", "external"):
            return (
                "in_place_kind",
                f"{name!r} is of the kind {tensors[name].kind}, which nobody overwrites; remove the pair",
            )
    return None
