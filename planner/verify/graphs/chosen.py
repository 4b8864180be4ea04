"""The graph with the alternatives that a schedule chooses."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from memstow.planner.model.graph import Alternative, Graph, Operator
from memstow.planner.verify.graphs.refused import Refused
from memstow.planner.verify.graphs.structure import structure_errors


def with_chosen(graph: Graph, names: Sequence[str]) -> Graph:
    """The graph in which each chosen alternative stands where the first operator stood that it replaces.

    Raises Refused where one is unknown, or two replace one operator, or the result is no graph.
    """
    if not names:
        return graph
    known = {alternative.id: alternative for alternative in graph.alternatives}
    for name, count in Counter(names).items():
        if name not in known:
            raise Refused(f"the schedule chooses the alternative {name!r}, which the graph does not have")
        if count > 1:
            raise Refused(f"the schedule chooses the alternative {name!r} twice")
    chosen = [known[name] for name in names]
    by_replaced = _by_replaced(graph, chosen)
    changed = _replaced(graph, chosen, by_replaced)
    for message in structure_errors(changed):
        raise Refused(f"with the alternatives that are chosen, {message}")
    return changed


def _by_replaced(graph: Graph, chosen: Sequence[Alternative]) -> dict[str, Alternative]:
    there = {operator.id for operator in graph.operators}
    found: dict[str, Alternative] = {}
    for alternative in chosen:
        for name in alternative.replaces:
            if name not in there:
                message = f"the alternative {alternative.id!r} replaces {name!r}, which is no operator"
                raise Refused(message)
            other = found.setdefault(name, alternative)
            if other is not alternative:
                raise Refused(f"the alternatives {other.id!r} and {alternative.id!r} both replace {name!r}")
    return found


def _replaced(graph: Graph, chosen: Sequence[Alternative], by_replaced: dict[str, Alternative]) -> Graph:
    operators = []
    standing: set[str] = set()
    for operator in graph.operators:
        alternative = by_replaced.get(operator.id)
        if alternative is None:
            operators.append(operator)
        elif alternative.id not in standing:
            standing.add(alternative.id)
            operators += _with_cost(alternative)
    used = {name for operator in operators for name in (*operator.inputs, *operator.outputs)}
    used.update(graph.inputs, graph.outputs)
    gone = {
        name
        for operator in graph.operators
        if operator.id in by_replaced
        for name in (*operator.inputs, *operator.outputs)
        if name not in used
    }
    ids = {operator.id for operator in operators}
    return Graph(
        version=1,
        name=graph.name,
        pools=graph.pools,
        tensors=(
            *(tensor for tensor in graph.tensors if tensor.id not in gone),
            *(tensor for alternative in chosen for tensor in alternative.tensors),
        ),
        operators=operators,
        inputs=graph.inputs,
        outputs=graph.outputs,
        before=tuple(pair for pair in graph.before if ids.issuperset(pair)),
        views=tuple(view for view in graph.views if not gone.intersection((view.tensor, view.of))),
        objective=graph.objective,
    )


def _with_cost(alternative: Alternative) -> Sequence[Operator]:
    """Its operators; the first of them has the cost of all, where the alternative tells it."""
    if alternative.cost is None:
        return alternative.operators
    costs = (alternative.cost, *(0 for _ in alternative.operators[1:]))
    return [replace(it, cost=cost) for it, cost in zip(alternative.operators, costs, strict=False)]
