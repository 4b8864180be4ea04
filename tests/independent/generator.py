"""Tiny problems with everything that `docs/problem.md` knows, as JSON, from a seed.

They may contradict themselves: then they must be refused, and nothing may fit them.
"""

from random import Random
from typing import Final

from tests.independent.documents import (
    BufferDocument,
    Pair,
    PlanDocument,
    PoolDocument,
    ProblemDocument,
    Range,
    RelativeDocument,
    ReservedDocument,
)

_TERMS: Final = ("peak", "max_peak", "placement_cost", "preference", "reuse_cost", "moves")


def problem_of(seed: int) -> tuple[ProblemDocument, PlanDocument | None]:
    """The problem of this seed, and perhaps a plan to start from."""
    return _Maker(Random(seed)).made()


def features_of(problem: ProblemDocument, hint: PlanDocument | None) -> list[str]:
    """What there is in the problem, for counting."""
    pools, buffers = problem.get("pools", []), problem["buffers"]
    objective = problem.get("objective")
    has = {
        "several pools": len(pools) > 1,
        "capacity": any(pool.get("capacity") is not None for pool in pools),
        "alignment": any(pool.get("alignment", 1) > 1 for pool in pools)
        or any(buffer.get("alignment", 1) > 1 for buffer in buffers),
        "base": any("base" in pool for pool in pools),
        "reserved": any("reserved" in pool for pool in pools),
        "placement costs": any(pool.get("cost") for pool in pools),
        "pin to a pool": any("pool" in buffer and "offset" not in buffer for buffer in buffers),
        "pin to an offset": any("offset" in buffer for buffer in buffers),
        "allowed pools": any("pools" in buffer for buffer in buffers),
        "accesses": any("accesses" in buffer for buffer in buffers),
        "size 0": any(not buffer["size"] for buffer in buffers),
        "several lifetimes": any("lifetimes" in buffer for buffer in buffers),
        "always": any(buffer.get("lifetime") == "always" for buffer in buffers),
        "no lifetime": any("lifetime" not in buffer and "lifetimes" not in buffer for buffer in buffers),
        "conflicts": bool(problem.get("conflicts")),
        "exclusive": bool(problem.get("exclusive")),
        "relative": bool(problem.get("relative")),
        "in_place": bool(problem.get("in_place")),
        "reuse_costs": bool(problem.get("reuse_costs")),
        "default objective": objective is None,
        "empty objective": objective == [],
        "one term": objective is not None and len(objective) == 1,
        "several terms": objective is not None and len(objective) > 1,
        "hint": hint is not None,
    }
    return [name for name, there in has.items() if there] + [
        f"term {term.split(':')[0]}" for term in objective or ()
    ]


class _Maker:
    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._busy = rng.choice((0.1, 0.25, 0.5))  # how much else there is than sizes and lives

    def made(self) -> tuple[ProblemDocument, PlanDocument | None]:
        rng = self._rng
        pools = [self._pool(name) for name in ("p", "q", "r")[: rng.choice((1, 1, 1, 2, 2, 3))]]
        names = [chr(ord("a") + index) for index in range(rng.choice((1, 2, 3, 3, 4, 4, 5, 5, 6)))]
        buffers = [self._buffer(name, pools) for name in names]
        problem: ProblemDocument = {"version": 1, "pools": pools, "buffers": buffers}
        if conflicts := self._pairs(names):
            problem["conflicts"] = conflicts
        if exclusive := self._pairs(names):
            problem["exclusive"] = exclusive
        if in_place := self._pairs(names):
            problem["in_place"] = [{"input": one, "output": other} for one, other in in_place]
        if relative := self._relative(names):
            problem["relative"] = relative
        if reuse := self._pairs(names) + self._pairs(names):
            problem["reuse_costs"] = [{"buffers": pair, "cost": rng.randint(0, 4)} for pair in reuse]
        if self._perhaps():
            problem["objective"] = self._objective(pools, bool(reuse))
        hint = self._hint(problem) if "moves" in problem.get("objective", []) or rng.random() < 0.1 else None
        return problem, hint

    def _perhaps(self, factor: float = 1.0) -> bool:
        return self._rng.random() < self._busy * factor

    def _pool(self, name: str) -> PoolDocument:
        rng = self._rng
        pool: PoolDocument = {"id": name}
        if self._perhaps(1.3):
            pool["capacity"] = rng.randint(0, 14)
        if self._perhaps():
            pool["alignment"] = rng.choice((1, 2, 2, 3, 4))
        if self._perhaps():
            pool["base"] = rng.randint(0, 7)
        if self._perhaps():
            pool["cost"] = rng.randint(0, 3)
        if self._perhaps(0.7):
            pool["reserved"] = [self._reserved() for _ in range(rng.choice((1, 1, 2)))]
        return pool

    def _reserved(self) -> ReservedDocument:
        return {"offset": self._rng.randint(0, 7), "size": self._rng.randint(1, 3)}

    def _buffer(self, name: str, pools: list[PoolDocument]) -> BufferDocument:
        rng = self._rng
        ids = [pool["id"] for pool in pools]
        size = 0 if self._perhaps(0.3) else rng.randint(1, 5)
        buffer: BufferDocument = {"id": name, "size": size}
        self._give_life(buffer)
        if self._perhaps(0.8):
            buffer["alignment"] = rng.choice((1, 2, 2, 3, 4))
        if self._perhaps(0.7):
            buffer["pools"] = rng.sample(ids, rng.randint(1, len(ids)))
        if self._perhaps(0.5):
            buffer["accesses"] = rng.randint(0, 6)
        if self._perhaps(0.4):
            buffer["pool"] = rng.choice(buffer.get("pools", ids))
            if rng.random() < 0.5:
                buffer["offset"] = rng.choice((0, 0, 2, 4, rng.randint(0, 9)))
        return buffer

    def _give_life(self, buffer: BufferDocument) -> None:
        if not self._perhaps(0.6):
            buffer["lifetime"] = self._range()
        elif self._rng.random() < 0.3:
            buffer["lifetime"] = "always"
        elif self._rng.random() < 0.7:
            buffer["lifetimes"] = [self._range() for _ in range(self._rng.randint(1, 3))]

    def _range(self) -> Range:
        begin = self._rng.randint(-1, 5)
        return [begin, begin + self._rng.randint(1, 4)]

    def _pairs(self, names: list[str]) -> list[Pair]:
        """Some pairs, each at most once, whichever comes first."""
        if len(names) < 2 or not self._perhaps():
            return []
        pairs = [[one, other] for index, one in enumerate(names) for other in names[:index]]
        some = self._rng.sample(pairs, self._rng.randint(1, min(4, len(pairs))))
        return [pair if self._rng.random() < 0.5 else pair[::-1] for pair in some]

    def _relative(self, names: list[str]) -> list[RelativeDocument]:
        if len(names) < 2 or not self._perhaps():
            return []
        members = self._rng.sample(names, self._rng.randint(2, min(4, len(names))))
        ties: list[RelativeDocument] = []
        for index, name in enumerate(members[1:], 1):
            if index > 1 and self._rng.random() < 0.2:
                continue
            distance = self._rng.choice((0, 0, 1, 2, 2, 3, 4, -1, -2))
            ties.append({"buffer": name, "base": self._rng.choice(members[:index]), "offset": distance})
        return ties

    def _objective(self, pools: list[PoolDocument], costs: bool) -> list[str]:
        terms = [*_TERMS, *(f"peak:{pool['id']}" for pool in pools)]
        count = self._rng.choice((0, 1, 1, 2, 2, 3))
        chosen = self._rng.sample(terms, count)
        if costs and chosen and "reuse_cost" not in chosen:
            chosen[self._rng.randrange(len(chosen))] = "reuse_cost"
        return chosen

    def _hint(self, problem: ProblemDocument) -> PlanDocument:
        """A plan that is partial and stale but knows the pools; a few name a buffer twice."""
        rng, pools = self._rng, [pool["id"] for pool in problem.get("pools", [])]
        names = [buffer["id"] for buffer in problem["buffers"]]
        if rng.random() < 0.2:
            names.append("gone")
        named = rng.sample(names, rng.randint(0, len(names)))
        if named and rng.random() < 0.05:
            named.append(rng.choice(named))
        return {
            "status": "feasible",
            "placements": [
                {"buffer": name, "pool": rng.choice(pools), "offset": rng.randint(0, 9)} for name in named
            ],
        }
