"""Changes to a graph that somebody asks for: order, pairs in place, memories, parts of channels.

Partial execution along channels (`with_channels`): a convolution makes some channels of a tensor, what
follows works on each channel alone, and the next convolution adds what these channels give to its sums. The
wide tensor is never there as a whole, and nothing is computed twice.
"""

from collections.abc import Callable, Iterator, Mapping
from math import lcm
from typing import TYPE_CHECKING, Final, Literal

from memstow.planner.graph.check import is_valid, require_valid, take_as_valid
from memstow.planner.graph.graph_issues import given_order_issues
from memstow.planner.graph.links import links_of
from memstow.planner.graph.lowering import Places, timeless_problem
from memstow.planner.graph.operators import Image, Kind, image_of, kinds, operator_costs
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import (
    LONGEST_ID,
    Alternative,
    ElementType,
    Graph,
    Operator,
    Order,
    Tensor,
    columns_of,
    element_bits,
    free_id,
    index_of,
)
from memstow.planner.model.operator_kinds import CONVOLUTIONS, is_by_channel, word_of
from memstow.planner.model.problem import Target
from memstow.planner.targets import with_overrides
from memstow.records import record, replace

if TYPE_CHECKING:
    from memstow.planner.model.problem import Problem


def with_order(graph: Graph, order: Order) -> Graph:
    """The graph with this order of its operators; an InputError where it is to run as listed, and cannot."""
    if order == graph.order:
        return graph
    changed = replace(graph, order=order)
    if not is_valid(graph):
        require_valid(changed)
        return changed
    # Nothing else depends on the order that is wanted than whether it can run.
    columns_of.note(changed, columns_of(graph))
    links_of.note(changed, links_of(graph))
    issues = [] if links_of(changed).as_listed else list(given_order_issues(changed))
    if issues:
        raise InputError(issues)
    take_as_valid(changed)
    return changed


def without_in_place(graph: Graph) -> Graph:
    """The graph without its pairs in place."""
    return replace(graph, operators=tuple(replace(operator, in_place=()) for operator in graph.operators))


def in_memories(graph: Graph, target: Target | None, capacity: int | None, fit_only: bool) -> Graph:
    """The graph in the memories of the target, its single pool of this capacity, without an objective."""
    places = Places(graph)
    try:
        changed: Problem = with_overrides(timeless_problem(graph), target, capacity, fit_only)
    except InputError as error:
        raise InputError(replace(issue, path=places.of_issue(issue.path)) for issue in error.issues) from None
    return replace(graph, pools=changed.pools, objective=changed.objective)


ONLY_GRAPHS: Final = "parts of channels are alternatives of a graph; write the format `graph`"
"""What is said where they are asked for in another format."""
ONLY_LISTED: Final = (
    "a problem is that of the order in which the graph lists its operators; leave it out, write the format "
    "`graph`, or plan the graph"
)
"""What is said where another order is asked for and a problem is written."""
_PARTS: Final = (2, 4, 8, 16)
# More operators than this in all alternatives together would take long to choose from.
_MOST_OPERATORS: Final = 20_000
# Of an id, in one that is made of it.
_MOST_OF_ID: Final = 400


def with_channels(graph: "Graph") -> "Graph":
    """The graph with alternatives in which a wide tensor is there in parts of its channels.

    One for each such chain of operators and number of parts, behind those that the graph has. Those that are
    there already are not added again. Raises InputError for a graph that contradicts itself.
    """
    alternatives = tuple(entry.alternative for entry in channel_alternatives(graph))
    return replace(graph, alternatives=(*graph.alternatives, *alternatives)) if alternatives else graph


@record
class ChannelStep:
    """What an operator of such an alternative does: one of the graph, for some channels of what is wide."""

    operator: str
    """Of the graph."""
    begin: int
    end: int
    work: Literal["makes", "keeps", "adds", "ends"]
    """It makes these channels, makes others of each of them, adds them to sums, or ends the sums."""


@record
class InChannels:
    """An alternative in parts of channels."""

    alternative: Alternative
    steps: Mapping[str, ChannelStep]
    """By operator of the alternative."""


def sums_in(kind: ElementType | None) -> ElementType | None:
    """What elements of this type are added up in: as stripes have it, integers in four bytes at least."""
    if kind is None or kind == "bool" or "int" in kind:
        return kind if kind in ("int64", "uint64") else "int32"
    return kind


def channel_alternatives(
    graph: "Graph", sums: Callable[[ElementType | None], ElementType | None] = sums_in
) -> list[InChannels]:
    """What `with_channels` adds, and what its operators do; `sums` says what elements are added up in."""
    require_valid(graph)
    known = {(alternative.replaces, alternative.id.rstrip("#")) for alternative in graph.alternatives}
    making = _Making(graph, sums)
    alternatives: list[InChannels] = []
    operators = 0
    for chain in _chains(graph):
        for parts in _PARTS:
            size = parts * len(chain.operators) + 1
            if parts > chain.channels or operators + size > _MOST_OPERATORS:
                continue
            replaced = tuple(graph.operators[operator].id for operator in chain.operators)
            operators += size
            name = f"{_short(replaced[0])} to {_short(replaced[-1])} in {parts} parts of channels"
            if (replaced, name) not in known:
                alternatives.append(making.alternative(name, chain, parts))
    return alternatives


@record
class _Chain:
    """Operators from one that makes channels to one that adds them up; none else reads what is between."""

    operators: tuple[int, ...]
    channels: int


class _Names:
    """Ids that nobody has."""

    def __init__(self, graph: Graph) -> None:
        self._taken = {tensor.id for tensor in graph.tensors} | {operator.id for operator in graph.operators}
        self._taken |= {temporary.id for operator in graph.operators for temporary in operator.temporaries}
        for alternative in graph.alternatives:
            self._taken.add(alternative.id)
            self._taken.update(tensor.id for tensor in alternative.tensors)
            self._taken.update(operator.id for operator in alternative.operators)
            self._taken.update(
                temporary.id for operator in alternative.operators for temporary in operator.temporaries
            )

    def free(self, name: str) -> str:
        name = free_id(name, self._taken)
        if len(name) > LONGEST_ID:
            message = f"too many ids begin with {name[:40]!r} and end with `#`; give the graph other ids"
            raise InputError.single("no_free_id", "$", message)
        return name


def _short(name: str) -> str:
    return name[:_MOST_OF_ID]


def _chains(graph: Graph) -> Iterator[_Chain]:
    links, known = links_of(graph), kinds(graph)
    kept = {links.tensor_index[name] for name in graph.outputs}
    for first, kind in enumerate(known):
        if kind is None or not _is_convolution(graph.operators[first]) or graph.operators[first].temporaries:
            continue
        channels = _image(graph, kind.output).channels
        chain = [first]
        output = kind.output
        while True:
            readers = links.readers[output]
            if len(readers) != 1 or output in kept or graph.tensors[output].kind != "data":
                break
            then, reading = graph.operators[readers[0]], known[readers[0]]
            if reading is None or reading.reduces or len(reading.uses) != 1 or then.temporaries:
                break
            chain.append(readers[0])
            if _is_convolution(then):
                yield _Chain(tuple(chain), channels)
                break
            if not _is_by_channel(graph, then, reading):
                break
            output = reading.output


def _image(graph: Graph, tensor: int) -> Image:
    image = image_of(graph.tensors[tensor])
    return image if image is not None else Image(1, 1, 1, 1)


def _is_convolution(operator: Operator) -> bool:
    """Whether each channel that it makes is a sum over all channels that it reads."""
    return operator.window is not None and word_of(operator) in CONVOLUTIONS


def _is_by_channel(graph: Graph, operator: Operator, kind: Kind) -> bool:
    """Whether each channel is made of the same channel of its only image."""
    before, after = _image(graph, kind.uses[0].tensor), _image(graph, kind.output)
    if before.channels != after.channels:
        return False
    return operator.window is None or is_by_channel(word_of(operator))


class _Making:
    """Makes the alternatives of one graph."""

    def __init__(self, graph: Graph, sums: Callable[[ElementType | None], ElementType | None]) -> None:
        self._graph = graph
        self._sums_in = sums
        self._names = _Names(graph)
        self._costs = operator_costs(graph)
        self._tensors = index_of(graph).tensors

    def alternative(self, name: str, chain: _Chain, parts: int) -> InChannels:
        """The operators of the chain for each part of the channels, and what ends the sums."""
        operators = [self._graph.operators[operator] for operator in chain.operators]
        last = operators[-1]
        tensors: list[Tensor] = []
        run: list[Operator] = []
        steps: dict[str, ChannelStep] = {}
        sums: str | None = None
        for number in range(parts):
            part = f"{parts}.{number + 1}"
            begin, end = (chain.channels * entry // parts for entry in (number, number + 1))
            # Each operator has its share of the cost, so that stripes of parts cost what they compute.
            costs = [
                self._costs[operator] * end // chain.channels
                - self._costs[operator] * begin // chain.channels
                for operator in chain.operators
            ]
            source: dict[str, str] = {}
            for operator, cost in zip(operators[:-1], costs[:-1], strict=True):
                slice_ = self._slice(operator.outputs[0], end - begin, part)
                tensors.append(slice_)
                run.append(self._part(operator, part, source, slice_.id, cost))
                work: Literal["makes", "keeps"] = "keeps" if source else "makes"
                steps[run[-1].id] = ChannelStep(operator.id, begin, end, work)
                source[operator.outputs[0]] = slice_.id
            added = self._sums(last.outputs[0], operators[0].outputs[0], part)
            tensors.append(added)
            step = self._part(last, part, source, added.id, costs[-1])
            if sums is not None:
                step = replace(step, inputs=(*step.inputs, sums), in_place=((sums, added.id),))
            run.append(step)
            steps[step.id] = ChannelStep(last.id, begin, end, "adds")
            sums = added.id
        is_planned = self._tensors[last.outputs[0]].kind == "data"
        ending = Operator(
            id=self._names.free(f"{_short(last.id)}.{parts}.end"),
            type="requantize",
            inputs=[sums or ""],
            outputs=last.outputs,
            in_place=[(sums or "", last.outputs[0])] if is_planned else [],
            cost=0,
        )
        steps[ending.id] = ChannelStep(last.id, 0, chain.channels, "ends")
        alternative = Alternative(
            id=self._names.free(name),
            replaces=[operator.id for operator in operators],
            operators=[*run, ending],
            tensors=tensors,
        )
        return InChannels(alternative, steps)

    def _slice(self, name: str, channels: int, part: str) -> Tensor:
        tensor = self._tensors[name]
        shape = (*(tensor.shape or ())[:-1], channels)
        return replace(tensor, id=self._names.free(f"{_short(name)}.{part}"), shape=shape, size=None)

    def _sums(self, name: str, slices: str, part: str) -> Tensor:
        """Where the target lies; if that is elsewhere, where the slices do."""
        target = self._tensors[name]
        pools = self._tensors[slices].pools if target.kind == "external" else target.pools
        kind, alignment = self._sums_in(target.type), target.alignment
        if kind is not None and "int" in kind:
            alignment = lcm(alignment, element_bits(kind) // 8)
        free = self._names.free(f"{_short(name)}.sums.{part}")
        return replace(target, id=free, type=kind, size=None, alignment=alignment, kind="data", pools=pools)

    def _part(
        self, operator: Operator, part: str, source: dict[str, str], output: str, cost: int
    ) -> Operator:
        return Operator(
            id=self._names.free(f"{_short(operator.id)}.{part}"),
            type=operator.type,
            inputs=[source.get(name, name) for name in operator.inputs],
            outputs=[output],
            window=operator.window,
            cost=cost,
        )
