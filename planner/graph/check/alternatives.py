"""Issues of alternatives: what they replace, and whether they make all that the others have made."""

from collections import ChainMap
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Final

from memstow.planner.graph.check.elements import tensor_issues, window_issues
from memstow.planner.graph.check.flow import names_of_views, pair_issues, unknown
from memstow.planner.graph.check.replacing import Replacing
from memstow.planner.graph.links import links_of
from memstow.planner.model.errors import Issue
from memstow.planner.model.graph import Alternative, Graph, Tensor

# Operators and tensors that are gone through to look for cycles, over all alternatives.
_MOST_STEPS: Final = 10_000_000


def alternative_issues(graph: Graph, sound: bool) -> Iterator[Issue]:
    """Issues of the alternatives: of them alone, and where the graph is `sound`, of what becomes of it."""
    tensors = {tensor.id: tensor for tensor in graph.tensors}
    kept, viewed = set(graph.outputs), names_of_views(graph)
    replacing = Replacing(graph) if sound and graph.alternatives else None
    for i, alternative in enumerate(graph.alternatives):
        path = f"$.alternatives[{i}]"
        found = [*_names(graph, alternative, path), *_elements(tensors, viewed, alternative, path)]
        if sound and not found:
            found = [*_coverage(graph, kept, alternative, path)]
        yield from found
        if replacing is None or found:
            continue
        cycle = replacing.cycle(alternative)
        if replacing.steps > _MOST_STEPS:
            message = "the alternatives together are too many to check with a graph of this size; give fewer"
            yield Issue("too_many_alternatives", path, message)
            return
        if cycle:
            names = ", ".join(repr(name[:60]) for name in cycle[:10])
            yield Issue("cycle", path, f"with the alternative, operators wait for each other: {names}")


def with_alternative(graph: Graph, alternative: Alternative) -> Graph:
    """The graph with the operators of the alternative, in the place of the first that it replaces."""
    gone = set(alternative.replaces)
    first = next(i for i, operator in enumerate(graph.operators) if operator.id in gone)
    kept = [operator for operator in graph.operators if operator.id not in gone]
    at = sum(operator.id not in gone for operator in graph.operators[:first])
    operators = (*kept[:at], *alternative.operators, *kept[at:])
    made = {name for operator in graph.operators if operator.id in gone for name in operator.outputs}
    used = {name for operator in operators for name in (*operator.inputs, *operator.outputs)}
    inner = made - used - set(graph.outputs)
    return Graph(
        version=1,
        name=graph.name,
        pools=graph.pools,
        tensors=(*(it for it in graph.tensors if it.id not in inner), *alternative.tensors),
        operators=operators,
        inputs=graph.inputs,
        outputs=graph.outputs,
        before=tuple(pair for pair in graph.before if not gone.intersection(pair)),
        views=tuple(view for view in graph.views if not {view.tensor, view.of} & inner),
        order="free",
        objective=graph.objective,
    )


def _names(graph: Graph, alternative: Alternative, path: str) -> Iterator[Issue]:
    operators = links_of(graph).operator_index
    seen: set[str] = set()
    for j, name in enumerate(alternative.replaces):
        if name not in operators:
            yield Issue("unknown_operator", f"{path}.replaces[{j}]", unknown("an operator", name, operators))
        elif name in seen:
            yield Issue("replaced_twice", f"{path}.replaces[{j}]", f"{name!r} is named twice; once is enough")
        seen.add(name)
    own: set[str] = set()
    for j, operator in enumerate(alternative.operators):
        if operator.id in own or (operator.id in operators and operator.id not in seen):
            yield Issue(
                "duplicate_id",
                f"{path}.operators[{j}].id",
                f"{operator.id!r} is the id of an operator already; give each an id of its own",
            )
        own.add(operator.id)


def _elements(
    known: dict[str, Tensor], viewed: AbstractSet[str], alternative: Alternative, path: str
) -> Iterator[Issue]:
    """Issues of its tensors and operators by themselves, and names that are unknown or used already."""
    yield from tensor_issues(alternative.tensors, f"{path}.tensors")
    own: dict[str, Tensor] = {}
    tensors = ChainMap(own, known)
    for j, tensor in enumerate(alternative.tensors):
        if tensor.id in tensors:
            message = f"{tensor.id!r} is the id of a tensor already; give each an id of its own"
            yield Issue("duplicate_id", f"{path}.tensors[{j}].id", message)
        own[tensor.id] = tensor
    for j, operator in enumerate(alternative.operators):
        at = f"{path}.operators[{j}]"
        for field, names in (("inputs", operator.inputs), ("outputs", operator.outputs)):
            for k, name in enumerate(names):
                if name not in tensors:
                    yield Issue(
                        "unknown_tensor", f"{at}.{field}[{k}]", unknown("a tensor", name, dict(tensors))
                    )
        yield from window_issues(operator, tensors, f"{at}.window")
        yield from pair_issues(operator, tensors, viewed, f"{at}.in_place")


def _coverage(graph: Graph, kept: set[str], alternative: Alternative, path: str) -> Iterator[Issue]:
    """Tensors that others read and the alternative does not make, or makes although others do."""
    links = links_of(graph)
    gone = {links.operator_index[name] for name in alternative.replaces}
    needed = {
        name
        for operator in gone
        for name in graph.operators[operator].outputs
        if name in kept or any(reader not in gone for reader in links.readers[links.tensor_index[name]])
    }
    made: set[str] = set()
    own = {tensor.id for tensor in alternative.tensors if tensor.kind == "data"}
    theirs = {name for operator in gone for name in graph.operators[operator].outputs}
    for j, operator in enumerate(alternative.operators):
        for k, name in enumerate(operator.outputs):
            if name in made or name not in own | theirs:
                yield Issue(
                    "two_producers",
                    f"{path}.operators[{j}].outputs[{k}]",
                    f"{name!r} is made by another operator, or is there before all; give it one producer",
                )
            made.add(name)
    for name in sorted(needed - made):
        yield Issue(
            "not_covered",
            path,
            f"{name!r} is used by others and made by what the alternative replaces; one of its operators "
            "must make it",
        )
    unmade = {name for operator in alternative.operators for name in operator.inputs} & (own | theirs)
    for name in sorted(unmade - made):
        yield Issue("not_made", path, f"{name!r} is read by the alternative, and nobody makes it any more")
