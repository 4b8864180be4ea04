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
    before = [0 if out >> op & 1 else _next_kept(graph.before, op, out) for op in range(graph.count)]
    pairs = [() if out >> op & 1 else them for op, them in enumerate(graph.pairs)]
    return Untimed(graph.extra, storages, before, pairs, graph.base)


def _without(graph: Untimed, storage: Stored, out: Ops) -> Stored:
    begins = storage.begins & ~out
    for op in members(storage.begins & out):
        begins |= _next_kept(graph.after, op, out)
    return replace(storage, begins=begins, ends=storage.ends & ~out)


def _next_kept(next_to: Sequence[Ops], op: int, out: Ops) -> Ops:
    """The nearest operators that are not left out."""
    found, seen, left = 0, 0, next_to[op]
    while left:
        seen |= left
        found |= left & ~out
        more = 0
        for it in members(left & out):
            more |= next_to[it]
        left = more & ~seen
    return found


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
        self.expect_dead(self.settled(0, self.graph.live(0), self.ready(0)))
        for it in self.dead:
            if it.ops & ~self.all or it.ops == self.all or self.graph.closure(it.ops) & self.all != it.ops:
                raise Broken("a dead set lacks what comes before one of its operators, or lacks nothing")
            if it.commit:
                self.check_commit(it)
            else:
                self.check_next(it.ops)

    def expect_dead(self, ops: Ops) -> None:
        if ops not in self.sets:
            raise Broken("a dead set leads to one that is not said to be dead")

    def ready(self, done: Ops) -> Ops:
        """The operators that can run next."""
        before = self.graph.before
        return sum(1 << op for op in members(self.all & ~done) if not before[op] & ~done)

    def check_next(self, done: Ops) -> None:
        """Every operator that can run next needs too much, or leads to a dead set."""
        live, ready = self.graph.live(done), self.ready(done)
        for op in members(ready):
            needs, leaves = self.step(op, done, live)
            if needs <= self.limit:
                then = done | 1 << op
                self.expect_dead(self.settled(then, leaves, self.ready_after(ready, op, then)))

    def check_commit(self, dead: DeadOf) -> None:
        """No set between this and the larger one has fewer live bytes than that, and that is dead."""
        graph, more = self.graph, dead.ops | dead.commit
        if dead.commit & (dead.ops | ~self.all) or graph.closure(more) & self.all != more:
            raise Broken("a commit lacks what comes before one of its operators")
        between = Between(dead.ops, graph.everything & ~more)
        numbers = touched(graph, dead.commit)
        least = sum(graph.storages[it].size for it in numbers if always_live(graph, between, it))
        least += chained_bytes(graph, between, dead.chains)
        live = [it for it in numbers if graph.begun(it, more) and not graph.ended(it, more)]
        if least < sum(graph.storages[it].size for it in live):
            raise Broken("a set on the way to a commit may have fewer live bytes")
        self.expect_dead(self.settled(more, graph.live(more), self.ready(more)))

    def ready_after(self, ready: Ops, op: int, done: Ops) -> Ops:
        """What can run next once an operator has run."""
        ready &= ~(1 << op)
        for then in members(self.graph.after[op]):
            if not self.graph.before[then] & ~done:
                ready |= 1 << then
        return ready

    def settled(self, done: Ops, live: int, ready: Ops) -> Ops:
        """The set after all operators that free at least what they begin, and stay within the limit."""
        changed = True
        while changed:
            changed = False
            for op in members(ready):
                needs, leaves = self.step(op, done, live)
                if leaves <= live and needs <= self.limit:
                    done |= 1 << op
                    live, changed = leaves, True
                    ready = self.ready_after(ready, op, done)
        return done

    def step(self, op: int, done: Ops, live: int) -> tuple[int, int]:
        """What an operator needs while it runs, and what is live after it."""
        graph, then = self.graph, done | 1 << op
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
        return most_saved(
            [it.size for it in graph.storages],
            [
                (source, target)
                for source, target in graph.pairs[op]
                if graph.ended(source, then)
                and not graph.ended(source, done)
                and graph.begun(target, then)
                and not graph.begun(target, done)
            ],
        )
