"""The least peak of all orders by a dynamic program over sets of operators, which shares no code with the
solver."""

from itertools import combinations

from memstow.solvers.orders import OrderInstance
from tests.solvers.order.instances import edges_of


class Sets:
    """Live bytes of sets of operators, as bits of a number."""

    def __init__(self, instance: OrderInstance) -> None:
        self.instance = instance
        self.count = instance.operator_count
        self.waits = [0] * self.count
        for first, then in edges_of(instance):
            self.waits[then] |= 1 << first
        self.begins, self.uses = [], []
        for s in range(instance.storage_count):
            writers = sum(1 << v for v in set(instance.writers_of(s)))
            readers = sum(1 << v for v in set(instance.readers_of(s)))
            self.begins.append(writers)
            self.uses.append(writers | readers)

    def begun(self, storage: int, done: int) -> bool:
        """Whether a storage has begun."""
        return bool(self.instance.from_start[storage] or self.begins[storage] & done)

    def ended(self, storage: int, done: int) -> bool:
        """Whether a storage is needed no more."""
        return not self.instance.to_end[storage] and not self.uses[storage] & ~done

    def live(self, done: int) -> int:
        """The bytes live between operators."""
        return self.instance.base + sum(
            size
            for s, size in enumerate(self.instance.size)
            if self.begun(s, done) and not self.ended(s, done)
        )

    def needs(self, v: int, done: int) -> int:
        """The bytes that an operator needs."""
        then = done | 1 << v
        total = self.instance.base + self.instance.extra[v] - self.saved(v, done)
        for s, size in enumerate(self.instance.size):
            if self.begun(s, then) and not self.ended(s, done):
                total += size
        return total

    def saved(self, v: int, done: int) -> int:
        """The most that is saved in place, by trying all sets of pairs."""
        then, sample = done | 1 << v, self.instance.in_place
        ends = {s for s in range(len(self.uses)) if self.ended(s, then) and not self.ended(s, done)}
        begins = {s for s in range(len(self.uses)) if self.begun(s, then) and not self.begun(s, done)}
        pairs = {
            (a, b)
            for owner, a, b in zip(sample[::3], sample[1::3], sample[2::3], strict=True)
            if owner == v and a in ends and b in begins
        }
        most = 0
        for count in range(1, min(len({a for a, _ in pairs}), len({b for _, b in pairs})) + 1):
            for chosen in combinations(sorted(pairs), count):
                if len({a for a, _ in chosen}) == len({b for _, b in chosen}) == count:
                    most = max(
                        most, sum(min(self.instance.size[a], self.instance.size[b]) for a, b in chosen)
                    )
        return most

    def least_peak(self) -> int:
        """The least peak of all orders."""
        everything = (1 << self.count) - 1
        best = {0: 0}
        for done in range(everything):
            if done not in best:
                continue
            for v in range(self.count):
                if done >> v & 1 or self.waits[v] & ~done:
                    continue
                then, peak = done | 1 << v, max(best[done], self.needs(v, done))
                best[then] = min(best.get(then, peak), peak)
        return best[everything] if self.count else self.live(0)
