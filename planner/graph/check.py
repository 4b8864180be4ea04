"""Checks what must hold in a graph, with each alternative in the place of what it replaces.

In: a graph. Out: all of its issues (`find_issues`, `require_valid`). Of an alternative: what it replaces,
whether it makes all that the others have made, and whether operators wait for each other with it. What must
run before and after its operators is looked up, in an order of the graph as it is: where all before it come
earlier than all after it, there is no cycle, and nothing else is touched. Only where some do not, edges of
the whole graph are gone through (`Replacing`).
"""

from bisect import bisect_left
from collections import ChainMap
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import accumulate
from typing import Final

from memstow.planner.check import find_issues as find_problem_issues
from memstow.planner.check import issues_once
from memstow.planner.graph.graph_issues import (
    cycle_issues,
    element_issues,
    find_cycle,
    flow_issues,
    given_order_issues,
    pair_issues,
    tensor_issues,
    unknown,
    view_issues,
    window_issues,
)
from memstow.planner.graph.links import NOBODY, links_of, state_order, topological_order
from memstow.planner.graph.lowering import Places, timeless_problem
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.graph import (
    Alternative,
    Graph,
    Operator,
    Tensor,
    columns_of,
    index_of,
    names_in_views,
)
from memstow.planner.model.problem import ONE_MEMORY, Problem
from memstow.records import Memo, record


class _State:
    """Who uses a state, in the order of the document."""

    def __init__(self) -> None:
        self.operators: list[int] = []
        self.latest: list[int] = []
        """By number in `operators`: the last place of these up to here."""
        self.earliest: list[int] = []
        """The first place of these from here on."""


@record
class _Around:
    """Of the operators of an alternative: edges between them, and from and to the rest of the graph."""

    inside: Sequence[tuple[int, int]]
    before: Sequence[tuple[int, int]]
    after: Sequence[tuple[int, int]]


class Replacing:
    """A valid graph, with what can be known of it once for all alternatives."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._links = links_of(graph)
        self._place = [0] * len(graph.operators)
        for place, operator in enumerate(topological_order(self._links.successors())):
            self._place[operator] = place
        self._kept_states = {tensor.id for tensor in graph.tensors if tensor.kind == "state"}
        self._states = self._find_states()
        self.steps = 0
        """How many operators and tensors were gone through for alternatives that needed it."""

    def cycle(self, alternative: Alternative) -> list[str]:
        """Operators that wait for each other with the alternative, by id; empty: there are none."""
        gone = {self._links.operator_index[name] for name in alternative.replaces}
        around = self._around(alternative, gone)
        if self._is_plain(alternative, around, min(gone)):
            return []
        self.steps += len(self._graph.operators) + len(self._graph.tensors)
        count, first = len(self._graph.operators), min(gone)
        cycle = find_cycle(
            self._successors(alternative, gone, around),
            # The operators of the alternative stand where the first was that they replace.
            lambda entry: (first, entry - count) if entry >= count else (entry, 0),
            gone,
        )
        operators = (*self._graph.operators, *alternative.operators)
        return [operators[entry].id for entry in cycle]

    def _find_states(self) -> dict[str, _State]:
        states: dict[str, _State] = {}
        for i, operator in enumerate(self._graph.operators) if self._kept_states else ():
            for name in self._kept_states.intersection((*operator.inputs, *operator.outputs)):
                states.setdefault(name, _State()).operators.append(i)
        for state in states.values():
            places = [self._place[operator] for operator in state.operators]
            state.latest = list(accumulate(places, max))
            state.earliest = list(accumulate(reversed(places), min))[::-1]
        return states

    def _around(self, alternative: Alternative, gone: set[int]) -> _Around:
        links, operators = self._links, alternative.operators
        outputs = [(name, j) for j, operator in enumerate(operators) for name in operator.outputs]
        maker = {name: j for name, j in outputs if name not in self._kept_states}
        read = [(name, j) for j, operator in enumerate(operators) for name in dict.fromkeys(operator.inputs)]
        known = [(name, j) for name, j in read if name in links.tensor_index and name not in maker]
        sources = [(links.producer[links.tensor_index[name]], j) for name, j in known]
        followed = [(j, links.tensor_index[name]) for name, j in maker.items() if name in links.tensor_index]
        return _Around(
            [(maker[name], j) for name, j in read if name in maker],
            [(source, j) for source, j in sources if source != NOBODY and source not in gone],
            [(j, reader) for j, tensor in followed for reader in links.readers[tensor] if reader not in gone],
        )

    def _is_plain(self, alternative: Alternative, around: _Around, first: int) -> bool:
        """Whether all that its operators wait for comes before all that waits for them."""
        if any(one >= other for one, other in around.inside):
            return False
        last = max((self._place[entry] for entry, _ in around.before), default=-1)
        least = min((self._place[entry] for _, entry in around.after), default=len(self._place))
        for state in self._touched(alternative.operators):
            used = self._states[state]
            at = bisect_left(used.operators, first)
            if at > 0:
                last = max(last, used.latest[at - 1])
            if at < len(used.operators):
                least = min(least, used.earliest[at])
        return last < least

    def _touched(self, operators: Iterable[Operator]) -> set[str]:
        """The states of the graph that they read or write."""
        if not self._states:
            return set()
        names = (name for operator in operators for name in (*operator.inputs, *operator.outputs))
        return self._states.keys() & set(names)

    def _successors(self, alternative: Alternative, gone: set[int], around: _Around) -> list[list[int]]:
        """Who must run after whom: the operators of the graph, then those of the alternative."""
        count = len(self._graph.operators)
        changed = self._touched(alternative.operators)
        changed |= self._touched([self._graph.operators[entry] for entry in gone])
        successors = list(self._without_states if changed else self._all)
        successors += [[] for _ in alternative.operators]
        for one, other in (
            *((one + count, other + count) for one, other in around.inside),
            *((one, other + count) for one, other in around.before),
            *((one + count, other) for one, other in around.after),
            *(self._state_edges(alternative, gone) if changed else ()),
        ):
            successors[one] = [*successors[one], other]
        for operator in gone:
            successors[operator] = []
        return successors

    @cached_property
    def _all(self) -> list[list[int]]:
        return self._links.successors()

    @cached_property
    def _without_states(self) -> list[list[int]]:
        successors: list[list[int]] = [[] for _ in self._graph.operators]
        for maker, readers in zip(self._links.producer, self._links.readers, strict=True):
            if maker != NOBODY:
                successors[maker] += readers
        for one, other in self._links.before:
            successors[one].append(other)
        return successors

    def _state_edges(self, alternative: Alternative, gone: set[int]) -> Iterator[tuple[int, int]]:
        """Who comes later at a state: what stays is in the order of the document."""
        first, count = min(gone), len(self._graph.operators)
        users = sorted({operator for state in self._states.values() for operator in state.operators} - gone)
        kept = [(user, self._graph.operators[user]) for user in users]
        at = bisect_left(users, first)
        own = [(count + j, operator) for j, operator in enumerate(alternative.operators)]
        yield from state_order([*kept[:at], *own, *kept[at:]], self._kept_states)


# Operators and tensors that are gone through to look for cycles, over all alternatives.
_MOST_STEPS: Final = 10_000_000


def alternative_issues(graph: Graph, sound: bool) -> Iterator[Issue]:
    """Issues of the alternatives: of them alone, and where the graph is `sound`, of what becomes of it."""
    if not graph.alternatives:
        return
    tensors = dict(index_of(graph).tensors)
    kept, viewed = set(graph.outputs), names_in_views(graph)
    replacing = Replacing(graph) if sound else None
    for i, alternative in enumerate(graph.alternatives):
        path = f"$.alternatives[{i}]"
        issues = [*_names(graph, alternative, path), *_elements(tensors, viewed, alternative, path)]
        if sound and not issues:
            issues = [*_coverage(graph, kept, alternative, path)]
        yield from issues
        if replacing is None or issues:
            continue
        cycle = replacing.cycle(alternative)
        if replacing.steps > _MOST_STEPS:
            message = "the alternatives together are too many to check with a graph of this size; give fewer"
            yield Issue("too_many_alternatives", path, message)
            return
        if cycle:
            names = ", ".join(repr(name[:60]) for name in cycle[:10])
            yield Issue("cycle", path, f"with the alternative, operators wait for each other: {names}")


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
        for side, names in (("inputs", operator.inputs), ("outputs", operator.outputs)):
            for k, name in enumerate(names):
                if name not in tensors:
                    yield Issue(
                        "unknown_tensor", f"{at}.{side}[{k}]", unknown("a tensor", name, dict(tensors))
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
    outputs: set[str] = set()
    own = {tensor.id for tensor in alternative.tensors if tensor.kind == "data"}
    theirs = {name for operator in gone for name in graph.operators[operator].outputs}
    for j, operator in enumerate(alternative.operators):
        for k, name in enumerate(operator.outputs):
            if name in outputs or name not in own | theirs:
                yield Issue(
                    "two_producers",
                    f"{path}.operators[{j}].outputs[{k}]",
                    f"{name!r} is made by another operator, or is there before all; give it one producer",
                )
            outputs.add(name)
    for name in sorted(needed - outputs):
        yield Issue(
            "not_covered",
            path,
            f"{name!r} is used by others and made by what the alternative replaces; one of its operators "
            "must make it",
        )
    unmade = {name for operator in alternative.operators for name in operator.inputs} & (own | theirs)
    for name in sorted(unmade - outputs):
        yield Issue("not_made", path, f"{name!r} is read by the alternative, and nobody makes it any more")


_valid: Final = Memo[Graph, bool]()


def find_issues(graph: Graph) -> list[Issue]:
    """All issues of a well-formed graph, up to a thousand."""
    return issues_once(_valid, graph, _issues)


def is_valid(graph: Graph) -> bool:
    """Whether it is known to have no issues."""
    return _valid.get(graph) is True


def take_as_valid(graph: Graph) -> None:
    """Note that a graph has no issues: it was made of one that has none."""
    _valid.note(graph, True)


def require_valid(graph: Graph) -> None:
    """Raise InputError with every issue there is."""
    issues = find_issues(graph)
    if issues:
        raise InputError(issues)


def _issues(graph: Graph) -> Iterator[Issue]:
    sound = True
    for issue in (*element_issues(graph), *flow_issues(graph)):
        sound = False
        yield issue
    yield from view_issues(graph)
    yield from _problem_issues(graph)
    cyclic = False
    # Where nobody waits for one that is listed later, there is no cycle, and the given order can run.
    if not links_of(graph).as_listed:
        for issue in cycle_issues(graph):
            cyclic = True
            yield issue
        if not cyclic:
            yield from given_order_issues(graph)
    yield from alternative_issues(graph, sound and not cyclic)


def _problem_issues(graph: Graph) -> Iterator[Issue]:
    """Issues of what a graph shares with a problem: pools, alignments, rigid groups, the objective."""
    # The names are checked as those of a graph already.
    ours = ("duplicate_buffer", "unknown_buffer", "relative_cycle", "two_distances", "pair_of_one")
    if graph.views or columns_of(graph).has_pools or len(graph.pools) > 1 or any(p.cost for p in graph.pools):
        problem = timeless_problem(graph)
    else:
        # In one memory that costs nothing, buffers that name no pools and have no views are right.
        problem = Problem(buffers=(), pools=graph.pools or ONE_MEMORY, objective=graph.objective)
    issues = [issue for issue in find_problem_issues(problem) if issue.code not in ours]
    places = Places(graph) if issues else None
    for issue in issues:
        yield Issue(issue.code, issue.path if places is None else places.of_issue(issue.path), issue.message)
