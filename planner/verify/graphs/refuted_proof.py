"""Checks that no order stays within a limit: from each set of operators that is called dead, none does."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memstow.planner.verify.graphs.chains import (
    Between,
    Broken,
    ChainOf,
    always_live,
    chained_bytes,
    touched,
)
from memstow.planner.verify.graphs.savings import most_saved
from memstow.planner.verify.graphs.untimed import Ops, Stored, Untimed, members


@dataclass(frozen=True, slots=True)
class DeadOf:
    """A dead set; with a commit, it is dead because both together are."""

    ops: Ops
    commit: Ops
    chains: Sequence[ChainOf]


def check_refuted(
    graph: Untimed, limit: int, late: Sequence[int], backwards: bool, dead: Sequence[DeadOf]
) -> None:
    """Raise Broken where it does not follow that every order needs more than the limit."""
    graph = without_late(graph, late)
    search = _Search(graph.backwards() if backwards else graph, limit, sum(1 << op for op in set(late)), dead)
    search.check()


def without_late(graph: Untimed, late: Sequence[int]) -> Untimed:
    """The graph without operators at which nothing can end: what they begin, begins when someone needs it."""
    out = sum(1 << op for op in set(late))
    targets = {target for pairs in graph.pairs for _, target in pairs}
    for op in late:
        if graph.extra[op] or not graph.all_after[op] & ~out:
            raise Broken("a late operator needs bytes of its own, or nothing waits for it")
        for number in graph.uses[op]:
            storage = graph.storages[number]
            if storage.begins >> op & 1 and number in targets:
                raise Broken("what a late operator makes may be written in place")
            if storage.ends >> op & 1 and not storage.to_end and not storage.ends & graph.all_after[op]:
                raise Broken("something may end at a late operator")
    storages = [_without(graph, storage, out) for storage in graph.storages]
    before = [0 if out >> op & 1 else _next_kept(graph, graph.before, op, out) for op in range(graph.count)]
    pairs = [() if out >> op & 1 else them for op, them in enumerate(graph.pairs)]
    return Untimed(graph.extra, storages, before, pairs, graph.base, graph.effort)


def _without(graph: Untimed, storage: Stored, out: Ops) -> Stored:
    begins = storage.begins & ~out
    for op in members(storage.begins & out):
        begins |= _next_kept(graph, graph.after, op, out)
    return replace(storage, begins=begins, ends=storage.ends & ~out)


def _next_kept(graph: Untimed, next_to: Sequence[Ops], op: int, out: Ops) -> Ops:
    """The nearest operators that are not left out."""
    found, seen, left = 0, 0, next_to[op]
    while left:
        graph.effort.spend(1 + (left & out).bit_count())
        seen |= left
        found |= left & ~out
        more = 0
        for it in members(left & out):
            more |= next_to[it]
        left = more & ~seen
    return found


@dataclass(frozen=True, slots=True)
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
        self.sets = {it.ops for it in dead}

    def check(self) -> None:
        """Raise Broken where a set is not shown to be dead."""
        before = self.graph.before
        at = _At(0, self.graph.live(0), sum(1 << op for op in members(self.all) if not before[op]))
        self.expect_dead(at)
        for it in self.dead:
            at = self.moved(at, it.ops)
            if it.commit:
                self.check_commit(at, it)
            else:
                self.check_next(at)

    def expect_dead(self, at: _At) -> None:
        if self.settled(at) not in self.sets:
            raise Broken("a dead set leads to one that is not said to be dead")

    def moved(self, at: _At, done: Ops) -> _At:
        """Another set. Raises Broken for one that orders do not pass through, or end with."""
        graph, changes = self.graph, at.done ^ done
        if done & ~self.all or done == self.all:
            raise Broken("a dead set has operators that are not there, or all of them")
        live, ready, near = at.live, at.ready, changes
        for number in touched(graph, changes):
            was, is_live = self.is_live(number, at.done), self.is_live(number, done)
            live += graph.storages[number].size * (is_live - was)
        for op in members(changes):
            near |= graph.after[op]
            if graph.before[op] & ~done if done >> op & 1 else graph.after[op] & done:
                raise Broken("a dead set lacks what comes before one of its operators")
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
            raise Broken("a commit has operators that have run")
        larger = self.moved(at, more)
        between = Between(dead.ops, graph.everything & ~more)
        numbers = touched(graph, dead.commit)
        least = sum(graph.storages[it].size for it in numbers if always_live(graph, between, it))
        least += chained_bytes(graph, between, dead.chains)
        if least < sum(graph.storages[it].size for it in numbers if self.is_live(it, more)):
            raise Broken("a set on the way to a commit may have fewer live bytes")
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
