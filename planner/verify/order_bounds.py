"""Checks bounds that are to hold for every order of a graph: the certificates `cut` and `refuted`.

`cut`: an operator needs its bytes in any order, by chains for each way to save in place. `refuted`: no order
stays within a limit, since from each set of operators that is called dead, none does. What was proven for one
order or schedule alone proves nothing about others (`check_bounds`).
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from memstow.planner.model.graph import Graph
from memstow.planner.model.plan import Chain, Cut, LiveBytes, Plan, RefutedOrders, Sum
from memstow.planner.model.problem import COST
from memstow.planner.verify.untimed_graph import (
    Between,
    ChainOf,
    NamedGraph,
    Ops,
    Pair,
    ProofError,
    Stored,
    Untimed,
    always_live,
    around,
    chained_bytes,
    fixed_bytes,
    members,
    named_graph,
    possible_pairs,
    saving_of,
    touched,
)
from memstow.planner.verify.verdict import Code, Effort, Findings
from memstow.records import record, replace

_MOST_CHOICES: Final = 4096


@record
class WayOf:
    """Pairs that are granted to the operator, and chains."""

    pairs: Sequence[Pair]
    chains: Sequence[ChainOf]


def needed_by(graph: Untimed, op: int, ways: Sequence[WayOf]) -> int:
    """The bytes that the operator needs according to the ways. Raises ProofError where they show nothing."""
    possible = possible_pairs(graph, op)
    if not _best_for_each_output(graph, possible, ways):
        _check_all_ways(graph, possible, ways)
    between, fixed = around(graph, op), fixed_bytes(graph, op)
    return min(
        fixed
        - sum(saving_of(graph, pair) for pair in way.pairs)
        + chained_bytes(graph, between, way.chains, way.pairs)
        for way in ways
    )


def at_the_ends(graph: Untimed) -> int:
    """What is live before the first operator, also what nobody reads, or after the last."""
    start = graph.base + sum(storage.size for storage in graph.storages if storage.from_start)
    return max(start, graph.live(graph.everything))


def _best_for_each_output(graph: Untimed, possible: Sequence[Pair], ways: Sequence[WayOf]) -> bool:
    """Whether there is one way that grants the best pair of every output: no set of pairs saves more.

    Where a chain rests on a pair that does not save, no other pair may save in its stead: all are granted.
    """
    if len(ways) != 1:
        return False
    pairs = frozenset(ways[0].pairs)
    rested_on = {
        ways[0].pairs[chain.saving][1]
        for chain in ways[0].chains
        if chain.saving is not None and 0 <= chain.saving < len(ways[0].pairs)
    }
    if any(pair[1] in rested_on and pair not in pairs for pair in possible):
        return False
    granted = Counter[int]()
    for pair in ways[0].pairs:
        granted[pair[1]] = max(granted[pair[1]], saving_of(graph, pair))
    return all(granted[pair[1]] >= saving_of(graph, pair) for pair in possible)


def _check_all_ways(graph: Untimed, possible: Sequence[Pair], ways: Sequence[WayOf]) -> None:
    granted = [frozenset(way.pairs) for way in ways]
    choices = [frozenset[Pair]()]
    for pair in possible:
        graph.effort.spend(len(choices))
        for choice in list(choices):
            if all(pair[0] != source and pair[1] != target for source, target in choice):
                choices.append(choice | {pair})
        if len(choices) > _MOST_CHOICES:
            raise ProofError("there are too many ways to save in place to count")
    graph.effort.spend(len(choices) * len(granted))
    if not all(any(choice <= pairs for pairs in granted) for choice in choices):
        raise ProofError("a way to save in place is missing")


def most_saved(size: Sequence[int], pairs: Sequence[tuple[int, int]], effort: Effort) -> int:
    """No set of pairs that share no storage saves more: the most of all sets.

    Where there are too many sets to try, what the outputs would save if they shared their inputs.
    """
    by_output: dict[int, list[tuple[int, int]]] = {}
    for source, target in dict.fromkeys(pairs):
        by_output.setdefault(target, []).append((source, min(size[source], size[target])))
    best: dict[frozenset[int], int] = {frozenset(): 0}
    for options in by_output.values():
        effort.spend(len(best) * len(options))
        for used, bytes_saved in list(best.items()):
            for source, more in options:
                if source not in used:
                    key = used | {source}
                    best[key] = max(best.get(key, 0), bytes_saved + more)
        if len(best) > _MOST_CHOICES:
            return sum(max(more for _, more in options) for options in by_output.values())
    return max(best.values())


@record
class DeadOf:
    """A dead set; with a commit, it is dead because both together are."""

    ops: Ops
    commit: Ops
    chains: Sequence[ChainOf]


def check_refuted(
    graph: Untimed, limit: int, late: Sequence[int], backwards: bool, dead: Sequence[DeadOf]
) -> None:
    """Raise ProofError where it does not follow that every order needs more than the limit."""
    graph = without_late(graph, late)
    search = _Search(graph.backwards() if backwards else graph, limit, sum(1 << op for op in set(late)), dead)
    search.check()


def without_late(graph: Untimed, late: Sequence[int]) -> Untimed:
    """The graph without operators at which nothing can end: what they begin, begins when someone needs it."""
    out = sum(1 << op for op in set(late))
    targets = {target for pairs in graph.pairs for _, target in pairs}
    for op in late:
        if graph.extra[op] or not graph.all_after[op] & ~out:
            raise ProofError("a late operator needs bytes of its own, or nothing waits for it")
        for number in graph.uses[op]:
            storage = graph.storages[number]
            if storage.begins >> op & 1 and number in targets:
                raise ProofError("what a late operator makes may be written in place")
            if storage.ends >> op & 1 and not storage.to_end and not storage.ends & graph.all_after[op]:
                raise ProofError("something may end at a late operator")
    storages = [_without(graph, storage, out) for storage in graph.storages]
    before = [
        () if out >> op & 1 else list(members(_next_kept(graph, graph.before, op, out)))
        for op in range(graph.count)
    ]
    pairs = [() if out >> op & 1 else them for op, them in enumerate(graph.pairs)]
    return Untimed(graph.extra, storages, before, pairs, graph.base, graph.effort)


def _without(graph: Untimed, storage: Stored, out: Ops) -> Stored:
    begins = storage.begins & ~out
    for op in members(storage.begins & out):
        begins |= _next_kept(graph, graph.after, op, out)
    return replace(storage, begins_at=list(members(begins)), ends_at=list(members(storage.ends & ~out)))


def _next_kept(graph: Untimed, next_to: Sequence[Ops], op: int, out: Ops) -> Ops:
    """The nearest operators that are not left out."""
    neighbours, seen, left = 0, 0, next_to[op]
    while left:
        graph.effort.spend(1 + (left & out).bit_count())
        seen |= left
        neighbours |= left & ~out
        more = 0
        for member in members(left & out):
            more |= next_to[member]
        left = more & ~seen
    return neighbours


@record
class _At:
    """A set of operators, with what is live after them and which can run next."""

    done: Ops
    live: int
    ready: Ops


class _Search:
    """The claims about dead sets, each of which rests on larger sets."""

    def __init__(self, graph: Untimed, limit: int, out: Ops, dead: Sequence[DeadOf]) -> None:
        self.graph = graph
        self.limit = limit
        self.all = graph.everything & ~out
        self.dead = dead
        self.sets = {entry.ops for entry in dead}

    def check(self) -> None:
        """Raise ProofError where a set is not shown to be dead."""
        before = self.graph.before
        at = _At(0, self.graph.live(0), sum(1 << op for op in members(self.all) if not before[op]))
        self.expect_dead(at)
        for entry in self.dead:
            at = self.moved(at, entry.ops)
            if entry.commit:
                self.check_commit(at, entry)
            else:
                self.check_next(at)

    def expect_dead(self, at: _At) -> None:
        if self.settled(at) not in self.sets:
            raise ProofError("a dead set leads to one that is not said to be dead")

    def moved(self, at: _At, done: Ops) -> _At:
        """Another set. Raises ProofError for one that orders do not pass through, or end with."""
        graph, changes = self.graph, at.done ^ done
        if done & ~self.all or done == self.all:
            raise ProofError("a dead set has operators that are not there, or all of them")
        live, ready, near = at.live, at.ready, changes
        for number in touched(graph, changes):
            was, is_live = self.is_live(number, at.done), self.is_live(number, done)
            live += graph.storages[number].size * (is_live - was)
        for op in members(changes):
            near |= graph.after[op]
            if graph.before[op] & ~done if done >> op & 1 else graph.after[op] & done:
                raise ProofError("a dead set lacks what comes before one of its operators")
        graph.effort.spend(1 + near.bit_count())
        for op in members(near & self.all):
            ready &= ~(1 << op)
            if not done >> op & 1 and not graph.before[op] & ~done:
                ready |= 1 << op
        return _At(done, live, ready)

    def is_live(self, number: int, done: Ops) -> bool:
        return self.graph.begun(number, done) and not self.graph.ended(number, done)

    def check_next(self, at: _At) -> None:
        """Every operator that can run next needs too much, or leads to a dead set."""
        for op in members(at.ready):
            needs, leaves = self.step(op, at.done, at.live)
            if needs <= self.limit:
                self.expect_dead(self.after(at, op, leaves))

    def check_commit(self, at: _At, dead: DeadOf) -> None:
        """No set between this and the larger one has fewer live bytes than that, and that is dead."""
        graph, more = self.graph, dead.ops | dead.commit
        if dead.commit & dead.ops:
            raise ProofError("a commit has operators that have run")
        larger = self.moved(at, more)
        between = Between(dead.ops, graph.everything & ~more)
        numbers = touched(graph, dead.commit)
        least = sum(graph.storages[number].size for number in numbers if always_live(graph, between, number))
        least += chained_bytes(graph, between, dead.chains)
        if least < sum(graph.storages[number].size for number in numbers if self.is_live(number, more)):
            raise ProofError("a set on the way to a commit may have fewer live bytes")
        self.expect_dead(larger)

    def after(self, at: _At, op: int, live: int) -> _At:
        """The set with one more operator, after which so much is live."""
        self.graph.effort.spend(self.graph.after[op].bit_count())
        done, ready = at.done | 1 << op, at.ready & ~(1 << op)
        for then in members(self.graph.after[op]):
            if not self.graph.before[then] & ~done:
                ready |= 1 << then
        return _At(done, live, ready)

    def settled(self, at: _At) -> Ops:
        """The set after all operators that free at least what they begin, and stay within the limit."""
        changed = True
        while changed:
            changed = False
            for op in members(at.ready):
                needs, leaves = self.step(op, at.done, at.live)
                if leaves <= at.live and needs <= self.limit:
                    at = self.after(at, op, leaves)
                    changed = True
        return at.done

    def step(self, op: int, done: Ops, live: int) -> tuple[int, int]:
        """What an operator needs while it runs, and what is live after it."""
        graph, then = self.graph, done | 1 << op
        graph.effort.spend(1 + len(graph.uses[op]))
        begins = ends = 0
        for number in graph.uses[op]:
            if graph.begun(number, then) and not graph.begun(number, done):
                begins += graph.storages[number].size
            if graph.ended(number, then) and not graph.ended(number, done):
                ends += graph.storages[number].size
        needs = live + begins + graph.extra[op]
        if graph.pairs[op]:
            needs -= self.saved(op, done, then)
        return needs, live + begins - ends

    def saved(self, op: int, done: Ops, then: Ops) -> int:
        graph = self.graph
        graph.effort.spend(len(graph.pairs[op]))
        return most_saved(
            graph.sizes,
            [
                (source, target)
                for source, target in graph.pairs[op]
                if graph.ended(source, then)
                and not graph.ended(source, done)
                and graph.begun(target, then)
                and not graph.begun(target, done)
            ],
            graph.effort,
        )


def reason_against_orders(
    graph: Graph, bound: int, certificate: Cut | RefutedOrders, effort: Effort | None = None
) -> str | None:
    """Why the certificate does not prove that every order needs this many bytes; None where it does."""
    try:
        named = named_graph(graph, effort)
        shown = _shown(named, certificate)
    except ProofError as broken:
        return str(broken)
    except KeyError as missing:
        return f"it names {missing}, which the graph does not have"
    return None if shown >= bound else f"it shows that every order needs {shown:,} bytes"


def _shown(named: NamedGraph, certificate: Cut | RefutedOrders) -> int:
    graph = named.untimed
    if isinstance(certificate, Cut):
        if certificate.operator is None:
            return at_the_ends(graph)
        ways = [
            WayOf(
                [(named.storages[source], named.storages[target]) for source, target in way.pairs],
                _chains(named, way.chains),
            )
            for way in certificate.ways
        ]
        if not ways:
            raise ProofError("it names an operator and says nothing about it")
        return needed_by(graph, named.operators[certificate.operator], ways)
    late = [named.operators[name] for name in certificate.late]
    check_refuted(graph, certificate.height, late, certificate.backwards, _sets(named, certificate))
    return certificate.height + 1


def _chains(named: NamedGraph, chains: Sequence[Chain]) -> list[ChainOf]:
    return [
        ChainOf(chain.bytes, [named.storages[name] for name in chain.storages], chain.saving)
        for chain in chains
    ]


def _sets(named: NamedGraph, certificate: RefutedOrders) -> list[DeadOf]:
    ops: Ops = 0
    sets = []
    for dead in certificate.sets:
        for name in dead.changes:
            ops ^= 1 << named.operators[name]
        commit = sum(1 << named.operators[name] for name in set(dead.commit))
        sets.append(DeadOf(ops, commit, _chains(named, dead.chains)))
    return sets


def check_bounds(graph: Graph, plan: Plan, as_given: bool, findings: Findings) -> None:
    """Note bounds that are proven for the order of the plan alone; `as_given`: there is no other."""
    if graph.alternatives:
        _refuse_all(plan, findings)
        return
    if as_given:
        return
    for term in plan.objective:
        if isinstance(term.certificate, LiveBytes | Sum):
            findings.add(
                Code.CERTIFICATE,
                "the bound {} of {} is proven for this order alone, and the graph allows others",
                term.bound,
                term.term,
            )
    for use in plan.pools:
        if use.certificate is not None:
            findings.add(
                Code.CERTIFICATE,
                "the bound {} of {!r} is proven for this order alone, and the graph allows others",
                use.bound,
                use.pool,
                pool=use.pool,
            )


def check_bounds_of_schedule(plan: Plan, findings: Findings) -> None:
    """Note bounds about all orders, where the schedule does more than order.

    Such a plan is the plan of its schedule: its bounds are about the places in it.
    """
    for term in plan.objective:
        if isinstance(term.certificate, Cut | RefutedOrders):
            message = (
                "the bound {} of {} is proven for orders in which each operator runs once by itself, and the "
                "schedule does more"
            )
            findings.add(Code.CERTIFICATE, message, term.bound, term.term)


def _refuse_all(plan: Plan, findings: Findings) -> None:
    """With alternatives, a program may need less than without them."""
    for term in plan.objective:
        if term.bound and term.term != COST:
            message = "the bound {} of {} is proven without the graph's alternatives"
            findings.add(Code.CERTIFICATE, message, term.bound, term.term)
    for use in plan.pools:
        if use.bound:
            message = "the bound {} of {!r} is proven without the graph's alternatives"
            findings.add(Code.CERTIFICATE, message, use.bound, use.pool, pool=use.pool)
