"""Random small symbolic problems and orders, and what is true of them by definition."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import combinations, product
from math import lcm
from random import Random

from memstow.planner.model import Status
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import LIMIT, InPlace, Pool, Relative, Reserved
from memstow.planner.model.symbolic import (
    Order,
    OrderedPlacement,
    PointPeak,
    Symbol,
    SymbolicBuffer,
    SymbolicPlan,
    SymbolicProblem,
    with_sizes,
)

At = dict[str, int]


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def align(a: int, b: int) -> int:
    return ceil_div(a, b) * b


def value_of(size: int | str, at: At) -> int:
    """By Python itself, whose operators have the same ranks."""
    if isinstance(size, int):
        return size
    known = {
        "ceil_div": ceil_div,
        "align": align,
        "min": lambda *values: min(values),
        "max": lambda *values: max(values),
    }
    return int(eval(size, {"__builtins__": {}}, {**known, **at}))


def everywhere(problem: SymbolicProblem) -> Iterator[At]:
    names = [symbol.id for symbol in problem.symbols]
    ranges = [range(symbol.min, symbol.max + 1, symbol.step) for symbol in problem.symbols]
    for values in product(*ranges):
        yield dict(zip(names, values, strict=True))


def sizes_at(problem: SymbolicProblem, at: At) -> list[int]:
    return [value_of(buffer.size, at) for buffer in problem.buffers]


_FORMULAS = (
    "s",
    "2*s",
    "s*s",
    "7-s",
    "max(3, s)",
    "align(s, 4)",
    "s//2",
    "(s+1)%3",
    "t",
    "s+t",
    "3*t",
    "t*0",
)


def some_problem(random: Random) -> SymbolicProblem:
    """A few buffers, of which many have constraints."""
    count = random.randint(1, 6)
    ids = [f"b{i}" for i in range(count)]
    pools = [_some_pool(random, f"p{i}") for i in range(random.choice((1, 1, 1, 2)))]
    buffers = []
    for name in ids:
        begin = random.randint(0, 4)
        pinned = random.random() < 0.08
        buffers.append(
            SymbolicBuffer(
                id=name,
                size=random.choice((*_FORMULAS, random.randint(0, 6))),
                lifetime=random.choice(
                    (None, "always", (begin, begin + 2), (begin, begin + random.randint(1, 4)))
                ),
                alignment=random.choice((1, 1, 1, 2, 4)),
                pools=random.choice((None, None, None, (random.choice(pools).id,))),
                pool=random.choice(pools).id if pinned else None,
                offset=random.choice((0, 4, 8, 16)) if pinned else None,
            )
        )
    pairs = list(combinations(ids, 2))

    def some(share: float) -> list[tuple[str, str]]:
        return [pair for pair in pairs if random.random() < share]

    tied = some(0.1)[:2] if random.random() < 0.5 else []
    if tied and random.random() < 0.5:
        hollow = random.choice(tied)[random.randint(0, 1)]
        buffers = [replace(buffer, size="t*0") if buffer.id == hollow else buffer for buffer in buffers]
    return SymbolicProblem(
        symbols=[
            Symbol(id="s", min=1, max=random.choice((1, 3, 5)), values=(1,)),
            Symbol(id="t", min=0, max=random.choice((2, 4)), step=2),
        ],
        pools=pools,
        buffers=buffers,
        conflicts=some(0.15),
        exclusive=some(0.15),
        relative=[Relative(buffer=b, base=a, offset=random.choice((-4, 0, 2, 4, 8))) for a, b in tied],
        in_place=[InPlace(input=a, output=b) for a, b in some(0.2)],
        objective=[random.choice(("peak", "max_peak", "peak:p0"))],
    )


def _some_pool(random: Random, name: str) -> Pool:
    capacity = random.choice((None, None, 16, 32, 64))
    reserved = []
    if random.random() < 0.2:
        reserved.append(Reserved(offset=0, size=random.choice((1, 4))))
    if random.random() < 0.15:
        reserved.append(Reserved(offset=random.choice((6, 12, 28)), size=4))
    return Pool(
        id=name,
        capacity=capacity,
        alignment=random.choice((1, 1, 2)),
        base=random.choice((None, 3)),
        reserved=reserved,
    )


def some_order(random: Random, problem: SymbolicProblem) -> Order:
    """A random sequence from below, and arcs along it: most of the pairs, some of them left out."""
    names = [buffer.id for buffer in problem.buffers]
    random.shuffle(names)
    home = random.choice(problem.pools).id
    pool = {
        buffer.id: buffer.pool or random.choice(buffer.pools or (home, home, random.choice(problem.pools).id))
        for buffer in problem.buffers
    }
    shares: dict[str, str] = {}
    for pair in problem.in_place:
        if random.random() < 0.5 and pair.output not in shares:
            shares[pair.output] = pair.input
            pool[pair.output] = pool[pair.input]
    empty = {buffer.id for buffer in problem.buffers if buffer.size in (0, "t*0") and random.random() < 0.8}
    for tie in problem.relative:
        if not empty & {tie.buffer, tie.base}:
            pool[tie.buffer] = pool[tie.base]
    density = random.choice((0.5, 1, 1, 1))
    unit = _units(problem, shares, empty)
    rank = {name: names.index(name) for name in names}
    if random.random() < 0.9:
        rank = {name: rank[unit[name].removesuffix(" alone")] for name in names}
    placements = []
    for name in names:
        above = [
            other
            for other in names
            if rank[other] < rank[name] and pool[other] == pool[name] and random.random() < density
        ]
        placements.append(
            OrderedPlacement(
                buffer=name, pool=pool[name], above=above, shares=shares.get(name), empty=name in empty
            )
        )
    return Order(placements=placements)


def largest_of(problem: SymbolicProblem) -> dict[str, int]:
    """The largest size of each buffer."""
    largest = {buffer.id: 0 for buffer in problem.buffers}
    for at in everywhere(problem):
        for entry, size in zip(problem.buffers, sizes_at(problem, at), strict=True):
            largest[entry.id] = max(largest[entry.id], size)
    return largest


def _units(
    problem: SymbolicProblem, shares: dict[str, str], empty: Collection[str] = frozenset()
) -> dict[str, str]:
    """By buffer the name of one member of its unit; what is empty is alone."""
    unit = {buffer.id: buffer.id for buffer in problem.buffers}
    ties = [*shares.items(), *((relation.buffer, relation.base) for relation in problem.relative)]
    for _ in unit:
        for one, other in ties:
            unit[one] = unit[other] = min(unit[one], unit[other])
    return {name: f"{name} alone" if name in empty else root for name, root in unit.items()}


class Meaning:
    """An order by definition, slowly. Only of an order whose structure is sound."""

    def __init__(self, problem: SymbolicProblem, order: Order) -> None:
        self.problem = problem
        self.names = [buffer.id for buffer in problem.buffers]
        self.of = {buffer.id: buffer for buffer in problem.buffers}
        self.pool_of = {pool.id: pool for pool in problem.pools}
        self.place = {placement.buffer: placement for placement in order.placements}
        shares = {
            placement.buffer: placement.shares
            for placement in order.placements
            if placement.shares is not None
        }
        self.unit = _units(problem, shares)
        empty = {placement.buffer for placement in order.placements if placement.empty}
        ties = [(b, a, 0) for b, a in shares.items()]
        ties += [(relation.buffer, relation.base, relation.offset) for relation in problem.relative]
        self.distance = {name: 0 for name in self.names if self.unit[name] == name}
        while len(self.distance) < len(self.names):
            for one, other, distance in ties:
                if other in self.distance:
                    self.distance.setdefault(one, self.distance[other] + distance)
                elif one in self.distance:
                    self.distance[other] = self.distance[one] - distance
        self.unit = _units(problem, shares, empty)
        self.distance |= dict.fromkeys(empty, 0)

    def offsets(self, sizes: dict[str, int]) -> dict[str, int]:
        """Units from below: each at the least start that meets all conditions, which are tried one by one."""
        result: dict[str, int] = {}
        left = set(self.unit.values())
        while left:
            for u in sorted(left):
                members = [name for name in self.names if self.unit[name] == u]
                if all(other in result for name in members for other in self.place[name].above):
                    start = self._start(members, sizes, result)
                    result |= {name: start + self.distance[name] for name in members}
                    left.remove(u)
                    break
        return result

    def _floor(self, pool: Pool) -> int:
        floor = 0
        while any(stretch.offset <= floor < stretch.offset + stretch.size for stretch in pool.reserved):
            floor += 1
        return floor

    def _start(self, members: list[str], sizes: dict[str, int], result: dict[str, int]) -> int:
        for name in members:
            pin = self.of[name].offset
            if pin is not None:
                return pin - self.distance[name]
        pool = self.pool_of[self.place[members[0]].pool]
        floor = self._floor(pool)
        start = -1_000
        while not all(
            start + self.distance[name] >= floor
            and all(start + self.distance[name] >= result[o] + sizes[o] for o in self.place[name].above)
            and ((pool.base or 0) + start + self.distance[name])
            % lcm(self.of[name].alignment, pool.alignment)
            == 0
            for name in members
        ):
            start += 1
        return start

    def holds_at(self, at: At) -> bool:
        """Whether no pinned buffer is pushed, and the ordinary judge finds nothing wrong with the places."""
        from memstow.planner.verify import judge

        sizes = dict(zip(self.names, sizes_at(self.problem, at), strict=True))
        offsets = self.offsets(sizes)
        for name in self.names:
            pool = self.pool_of[self.place[name].pool]
            lid = min(
                (stretch.offset for stretch in pool.reserved if stretch.offset > self._floor(pool)),
                default=LIMIT,
            )
            if offsets[name] < self._floor(pool) or (sizes[name] and offsets[name] + sizes[name] > lid):
                return False
            if any(offsets[o] + sizes[o] > offsets[name] for o in self.place[name].above):
                return False
        placements = [
            Placement(buffer=name, pool=self.place[name].pool, offset=offsets[name]) for name in self.names
        ]
        plan = Plan(status=Status.FEASIBLE, placements=placements)
        return judge(with_sizes(self.problem, list(sizes.values())), plan).valid

    def value(self, at: At) -> int:
        """The objective."""
        sizes = dict(zip(self.names, sizes_at(self.problem, at), strict=True))
        offsets = self.offsets(sizes)
        peaks = {pool.id: 0 for pool in self.problem.pools}
        for name, offset in offsets.items():
            if sizes[name]:
                pool = self.place[name].pool
                peaks[pool] = max(peaks[pool], offset + sizes[name])
        term = self.problem.objective[0]
        if term == "max_peak":
            return max(peaks.values())
        return sum(peaks.values()) if term == "peak" else peaks[term[5:]]

    def unordered(self) -> set[tuple[str, str]]:
        """Pairs that conflict and of which neither follows to begin at or after the end of the other."""
        largest = largest_of(self.problem)
        after = {a: self._after(a, largest) for a in self.names}
        return {
            (a, b)
            for a, b in combinations(self.names, 2)
            if largest[a]
            and largest[b]
            and self.place[a].pool == self.place[b].pool
            and self._conflict(a, b)
            and b not in after[a]
            and a not in after[b]
        }

    def _after(self, a: str, largest: dict[str, int]) -> set[str]:
        """What begins at or after the end of a: the rule as it is documented, until nothing is added."""
        after: set[str] = set()

        def together(m: str, n: str) -> bool:
            return self.unit[m] == self.unit[n]

        while True:
            more = {
                b
                for b in self.names
                if b not in after
                and (
                    any(c == a or c in after for c in self.place[b].above)
                    or (together(a, b) and self.distance[b] - self.distance[a] >= largest[a])
                    or any(together(m, b) and self.distance[b] >= self.distance[m] for m in after)
                )
            }
            if not more:
                return after
            after |= more

    def _conflict(self, a: str, b: str) -> bool:
        def among(pairs: list[tuple[str, str]]) -> bool:
            return (a, b) in pairs or (b, a) in pairs

        problem = self.problem
        in_place = [(pair.input, pair.output) for pair in problem.in_place]
        if self.unit[a] == self.unit[b] and self.distance[a] == self.distance[b] and among(in_place):
            return False
        if among(list(problem.conflicts)):
            return True
        tied = _units(problem, {})
        return self._meet(a, b) and not among(list(problem.exclusive)) and tied[a] != tied[b]

    def _meet(self, a: str, b: str) -> bool:
        times = [
            t
            for buffer in self.problem.buffers
            if isinstance(buffer.lifetime, tuple)
            for t in buffer.lifetime
        ]
        span = (min(times), max(times)) if times else (0, 1)
        lives = [self.of[name].lifetime for name in (a, b)]
        one, other = (span if life == "always" else life for life in lives)
        return one is not None and other is not None and one[0] < other[1] and other[0] < one[1]


def plan_of(problem: SymbolicProblem, orders: list[Order]) -> SymbolicPlan:
    """A plan that says what it needs, by definition, and that it may not be less."""
    meanings = [Meaning(problem, order) for order in orders]
    points = []
    names = [symbol.id for symbol in problem.symbols]
    values = [_points_of(symbol) for symbol in problem.symbols]
    for row in product(*values):
        at = dict(zip(names, row, strict=True))
        peak = min(meaning.value(at) for meaning in meanings)
        points.append(PointPeak(at=at, peak=peak, least=peak))
    return SymbolicPlan(
        status=Status.FEASIBLE,
        shapes="order" if len(orders) == 1 else "pieces",
        orders=orders,
        points=points,
        worst=1.0,
    )


def _points_of(symbol: Symbol) -> list[int]:
    powers = [v for v in range(symbol.min, symbol.max + 1, symbol.step) if v > 0 and v & (v - 1) == 0]
    return list(symbol.values) or sorted({symbol.min, symbol.max, *powers})
