"""Alternatives in parts of channels: what is known of all of them, or of those that are left to choose from.

So they are bounded together, by a graph that has the operators that they replace.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from memstow.planner.graph.changes import InChannels, channel_alternatives
from memstow.planner.graph.live_bytes import most_saved, pairs_among
from memstow.planner.graph.operators import kinds_if_unbound, operator_costs
from memstow.planner.graph.schedules import with_chosen
from memstow.planner.graph.shares import shares_in_stripes
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import GIVEN, Alternative, Graph, Operator, index_of, size_of
from memstow.records import Remembered
from memstow.solvers.core import Budget
from memstow.solvers.graph_programs import MOST

# What describing a graph counts as, for each of its operators.
_WORK_OF_AN_OPERATOR: Final = 300


@dataclass(frozen=True, slots=True)
class PartsBeside:
    """While the part that is made last is between these operators, the others need so much at least."""

    makes: int
    last: int
    """The last that works on the part."""
    adds: int
    bytes: int


@dataclass(frozen=True, slots=True)
class InParts:
    """Operators that may run in parts or not."""

    own: Mapping[int, int] = field(default_factory=dict)
    """By operator, the bytes of a part of what it makes; `MOST` where it adds parts up, and makes all."""
    makes: Container[int] = ()
    """Those that make channels: they stand for several, each of which reads what is before."""
    costs: Mapping[int, int] = field(default_factory=dict)
    """By operator, what its parts cost together at least, unless stripes make some of them again."""
    again: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """By operator, what all its parts cost at least that run again, and one of them."""
    beside: Sequence[PartsBeside] | None = ()
    """None: a path through one of the parts stands for all of them, and costs what all cost."""

    def least_cost(self, graph: Graph, among: Iterable[int]) -> int:
        """What these operators cost at least, in parts or not, in whatever stripes."""
        costs, shares = operator_costs(graph), shares_in_stripes(graph)
        return sum(shares[at].cost(self.costs.get(at, costs[at])) for at in among)


@dataclass(frozen=True, slots=True)
class ChannelParts:
    """An alternative that runs next to each other, in parts of channels, what it replaces."""

    group: tuple[str, ...]
    """What it replaces."""
    totals: Mapping[str, int]
    """By operator, what its parts cost together."""
    costs: Mapping[str, int]
    """The same if each part cost as much for each channel as the cheapest."""
    least: Mapping[str, int]
    """By operator, what its cheapest part costs."""
    own: Mapping[str, int]
    """By operator that makes or keeps parts, the bytes of the smallest."""
    beside: int
    """What other parts need at least beside the one that is made last.

    Of each that is added later, all is there; of those before, a sum, or each of them as well.
    """
    needs: int
    """What is live at least while one of its operators runs: those that are in no stripe have all there."""


@Remembered
def _known_in(graph: Graph) -> Mapping[int, InChannels]:
    """The alternatives of a graph that are in parts of channels, by their places."""
    try:
        made = channel_alternatives(with_chosen(graph, ())) if graph.alternatives else []
    except InputError:
        made = []
    listed = {alternative.id: at for at, alternative in enumerate(graph.alternatives)}
    known: dict[int, InChannels] = {}
    for entry in made:
        at = listed.get(entry.alternative.id)
        if at is not None and _plain(graph.alternatives[at]) == _plain(entry.alternative):
            known[at] = entry
    return known


def in_listed_order(graph: Graph) -> Graph:
    """The graph whose operators run as they are listed, of which what is known of its parts is known."""
    if graph.order == GIVEN:
        return graph
    changed = replace(graph, order=GIVEN)
    _known_in.note(changed, _known_in(graph))
    return changed


def parts_in(graph: Graph, budget: Budget) -> dict[str, ChannelParts]:
    """As many of those of a graph as the budget allows, by alternative."""
    place = {operator.id: at for at, operator in enumerate(graph.operators)}
    parts: dict[str, ChannelParts] = {}
    for entry in () if budget.spent else _known_in(graph).values():
        if budget.spent:
            break
        replaced = [place[name] for name in entry.alternative.replaces]
        if replaced != [*range(replaced[0], replaced[-1] + 1)]:
            continue
        try:
            changed = with_chosen(graph, (entry.alternative.id,))
        except InputError:
            continue
        budget.count(_WORK_OF_AN_OPERATOR * len(changed.operators))
        parts[entry.alternative.id] = _parts_of(entry, changed)
    return parts


def with_sums_last(graph: Graph) -> Graph | None:
    """The graph in which parts of channels are added up when all of them are there; None if there are none.

    What they are made of need not wait beside the sums then.
    """
    alternatives, known = list(graph.alternatives), _known_in(graph)
    for at, entry in known.items():
        operators = sorted(
            alternatives[at].operators, key=lambda operator: entry.steps[operator.id].work in ("adds", "ends")
        )
        alternatives[at] = replace(alternatives[at], operators=tuple(operators))
    if tuple(alternatives) == graph.alternatives:
        return None
    changed = replace(graph, alternatives=tuple(alternatives))
    _known_in.note(changed, known)
    return changed


def _parts_of(entry: InChannels, changed: Graph) -> ChannelParts:
    """What is known of an alternative; `changed`: the graph with it."""
    alternative = entry.alternative
    totals, costs, least = dict.fromkeys(alternative.replaces, 0), dict[str, int](), dict[str, int]()
    channels = max(step.end for step in entry.steps.values())
    for operator, cost in zip(changed.operators, operator_costs(changed), strict=True):
        step = entry.steps.get(operator.id)
        if step is None:
            continue
        totals[step.operator] += cost
        if step.work != "ends":
            if_all = cost * channels // (step.end - step.begin)
            costs[step.operator] = min(if_all, costs.get(step.operator, if_all))
            least[step.operator] = min(cost, least.get(step.operator, cost))
    own, others = _sizes_of_parts(entry)
    kinds = zip(changed.operators, kinds_if_unbound(changed), strict=True)
    alone = (operator for operator, kind in kinds if kind is None and operator.id in entry.steps)
    needs = max((_live_alone(changed, operator) for operator in alone), default=0)
    return ChannelParts(tuple(alternative.replaces), totals, costs, least, own, others, needs)


def _live_alone(graph: Graph, operator: Operator) -> int:
    """The bytes of what an operator uses, wherever that begins."""
    tensors = index_of(graph).tensors
    used = dict.fromkeys((*operator.inputs, *operator.outputs))
    names = [name for name in used if tensors[name].kind == "data"]
    sizes = [size_of(tensors[name]) for name in names]
    return sum(sizes) - most_saved(sizes, pairs_among(operator, names))


def whether_in_parts(
    graph: Graph,
    chosen: Sequence[ChannelParts],
    may_be: Sequence[ChannelParts],
    unit: int,
    *,
    spread: bool = False,
) -> InParts:
    """Operators of a graph that run in these parts, or that may do so.

    `spread`: one of them stands for all.
    """
    place = {operator.id: at for at, operator in enumerate(graph.operators)}
    costs = operator_costs(graph)
    own: dict[int, int] = {}
    least: dict[int, int] = {}
    again: dict[int, tuple[int, int]] = {}
    beside: dict[tuple[str, ...], int] = {}
    for number, parts in enumerate((*chosen, *may_be)):
        known = parts.costs if spread else parts.totals
        for name in parts.group:
            at = place[name]
            own[at] = min(own.get(at, MOST), parts.own.get(name, MOST))
            cost = known[name] if number < len(chosen) else min(known[name], costs[at])
            least[at] = min(cost, least.get(at, cost))
            whole, part = again.get(at, (costs[at], costs[at]))
            again[at] = min(whole, parts.costs[name]), min(part, parts.least[name])
        beside[parts.group] = min(parts.beside, beside.get(parts.group, parts.beside))
    groups = (
        PartsBeside(place[group[0]], place[group[-2]], place[group[-1]], size - size % unit)
        for group, size in beside.items()
    )
    makes = {place[group[0]] for group in beside}
    return InParts(own, makes, least, again, None if spread else tuple(groups))


def _sizes_of_parts(entry: InChannels) -> tuple[dict[str, int], int]:
    """By operator the bytes of its smallest part, and what others need at least beside one part."""
    sizes = {tensor.id: size_of(tensor) for tensor in entry.alternative.tensors}
    made: dict[str, list[int]] = {}
    sums: list[int] = []
    for operator in entry.alternative.operators:
        step = entry.steps[operator.id]
        if step.work in ("makes", "keeps"):
            made.setdefault(step.operator, []).append(sizes[operator.outputs[0]])
        elif step.work == "adds":
            sums.append(sizes[operator.outputs[0]])
    others = sum(sorted(map(min, zip(*made.values(), strict=True)))[:-1])
    return {name: min(parts) for name, parts in made.items()}, min(*sums, others)


def _plain(alternative: Alternative) -> Alternative:
    """Without costs, and whichever of its operators come first."""
    operators = sorted(alternative.operators, key=lambda operator: operator.id)
    return replace(
        alternative, cost=None, operators=tuple(replace(operator, cost=None) for operator in operators)
    )
