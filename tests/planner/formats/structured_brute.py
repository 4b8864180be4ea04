"""The structured JSON taken at its word: its own rules of what fits and what it costs, tried plan by plan."""

from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any

Places = dict[int, tuple[int, int]]

HEIGHT = 7
# Three buffers of 3 bytes at even offsets above a reserved range: no plan gains by a higher offset.
HIGHEST = HEIGHT + 5


def random_document(rng: Random) -> dict[str, Any]:
    """A tiny document with everything mixed, valid in itself."""
    pools = [_pool(rng, number) for number in rng.sample(range(5), rng.choice((1, 1, 2)))]
    numbers = rng.sample(range(9), rng.randint(1, 3))
    buffers = [_buffer(rng, number, [pool["id"] for pool in pools]) for number in numbers]
    pairs = [(a, b) for i, a in enumerate(numbers) for b in numbers[:i]]
    constraints: dict[str, Any] = {name: [] for name in ("colocations", "separations", "temporal_exclusions")}
    for first, second in pairs:
        kind = rng.choice((None, None, "colocations", "separations", "temporal_exclusions"))
        if kind is not None:
            constraints[kind].append({"first": first, "second": second})
    constraints["pinned_allocations"] = list(_pins(rng, buffers))
    penalties = [
        {"first": a, "second": b, "cost": rng.randint(0, 3), "reason": "generic"}
        for a, b in pairs
        if rng.random() < 0.5
    ]
    terms = rng.sample(["capacity_overflow", "total_peak", "max_peak", "reuse_cost"], rng.randint(1, 3))
    return {
        "schema_version": 1,
        "profile": "pypto_research_v1",
        "instance": "tiny",
        "problem": {
            "pools": pools,
            "buffers": buffers,
            "constraints": constraints,
            "cost_model": {"reuse_penalties": penalties},
            "objective": {"aggregation": "lexicographic", "terms": terms},
        },
    }


def _pool(rng: Random, number: int) -> dict[str, Any]:
    begin = rng.choice((0, 0, 1))
    reserved = [{"begin": begin, "end": begin + rng.randint(1, 2)}] if rng.random() < 0.4 else []
    return {
        "id": number,
        "name": f"pool {number}",
        "capacity": rng.choice((None, HEIGHT)),
        "reserved_ranges": reserved,
    }


def _buffer(rng: Random, number: int, pools: list[int]) -> dict[str, Any]:
    begin = rng.randint(0, 3)
    lives = [{"lower": begin, "upper": begin + rng.randint(1, 3)}]
    if rng.random() < 0.3:
        lives.append({"lower": 7, "upper": 8})
    return {
        "id": number,
        "name": rng.choice(("", f"buffer {number}")),
        "size": rng.randint(1, 3),
        "alignment": rng.choice((1, 1, 2)),
        "live_intervals": lives,
        "allowed_pools": rng.sample(pools, rng.randint(1, len(pools))),
    }


def _pins(rng: Random, buffers: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for buffer in buffers:
        if rng.random() < 0.15:
            yield {
                "buffer": buffer["id"],
                "pool": rng.choice(buffer["allowed_pools"]),
                "offset": 2 * rng.randint(0, 1),
                "exclusive_for_all_time": rng.random() < 0.5,
            }


def best(document: dict[str, Any]) -> tuple[int, ...] | None:
    """The least values of the terms; None when nothing fits."""
    values = [value(document, places) for places in _all_places(document) if fits(document, places)]
    return min(values, default=None)


def _all_places(document: dict[str, Any]) -> Iterator[Places]:
    buffers = document["problem"]["buffers"]
    choices = [
        [(pool, offset) for pool in b["allowed_pools"] for offset in range(0, HIGHEST + 1, b["alignment"])]
        for b in buffers
    ]
    for places in product(*choices):
        yield dict(zip([b["id"] for b in buffers], places, strict=True))


def fits(document: dict[str, Any], places: Places) -> bool:
    """Whether the placement breaks no rule."""
    problem = document["problem"]
    constraints = problem["constraints"]
    classes, extents = _blocks(problem)
    exclusive = {p["buffer"] for p in constraints["pinned_allocations"] if p["exclusive_for_all_time"]}
    for pin in constraints["pinned_allocations"]:
        if places[pin["buffer"]] != (pin["pool"], pin["offset"]):
            return False
    for buffer in problem["buffers"]:
        pool, offset = places[buffer["id"]]
        end = offset + extents[buffer["id"]]
        memory = next(p for p in problem["pools"] if p["id"] == pool)
        if memory["capacity"] is not None and end > memory["capacity"]:
            return False
        if any(offset < r["end"] and r["begin"] < end for r in memory["reserved_ranges"]):
            return False
    for pair in constraints["colocations"]:
        if places[pair["first"]] != places[pair["second"]]:
            return False
    apart = {frozenset((p["first"], p["second"])) for p in constraints["separations"]}
    for one, other in _pairs(problem):
        same = classes[one["id"]] == classes[other["id"]]
        both = frozenset((one["id"], other["id"]))
        bound = both & exclusive or _live_together(problem, one, other)
        if (both in apart or (bound and not same)) and _share(places, extents, one["id"], other["id"]):
            return False
    return True


def value(document: dict[str, Any], places: Places) -> tuple[int, ...]:
    """The terms of the objective."""
    problem = document["problem"]
    classes, extents = _blocks(problem)
    peaks = {p["id"]: max([0, *(r["end"] for r in p["reserved_ranges"])]) for p in problem["pools"]}
    for number, (pool, offset) in places.items():
        peaks[pool] = max(peaks[pool], offset + extents[number])
    by_id = {b["id"]: b for b in problem["buffers"]}
    reuse = sum(
        p["cost"]
        for p in problem["cost_model"]["reuse_penalties"]
        if classes[p["first"]] != classes[p["second"]]
        and not _live_together(problem, by_id[p["first"]], by_id[p["second"]])
        and _share(places, extents, p["first"], p["second"])
    )
    values = {
        "capacity_overflow": 0,
        "total_peak": sum(peaks.values()),
        "max_peak": max(peaks.values()),
        "reuse_cost": reuse,
    }
    return tuple(values[term] for term in problem["objective"]["terms"])


def _pairs(problem: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for i, one in enumerate(problem["buffers"]):
        for other in problem["buffers"][:i]:
            yield one, other


def _live_together(problem: dict[str, Any], one: dict[str, Any], other: dict[str, Any]) -> bool:
    for pair in problem["constraints"]["temporal_exclusions"]:
        if {pair["first"], pair["second"]} == {one["id"], other["id"]}:
            return False
    return any(
        a["lower"] < b["upper"] and b["lower"] < a["upper"]
        for a in one["live_intervals"]
        for b in other["live_intervals"]
    )


def _share(places: Places, extents: dict[int, int], one: int, other: int) -> bool:
    (pool, offset), (other_pool, other_offset) = places[one], places[other]
    if pool != other_pool:
        return False
    return offset < other_offset + extents[other] and other_offset < offset + extents[one]


def _blocks(problem: dict[str, Any]) -> tuple[dict[int, int], dict[int, int]]:
    """Of each buffer: the class it is in, and the bytes of that class."""
    classes = {b["id"]: b["id"] for b in problem["buffers"]}
    for _ in classes:
        for pair in problem["constraints"]["colocations"]:
            least = min(classes[pair["first"]], classes[pair["second"]])
            classes[pair["first"]] = classes[pair["second"]] = least
    largest: dict[int, int] = {}
    for b in problem["buffers"]:
        largest[classes[b["id"]]] = max(largest.get(classes[b["id"]], 0), b["size"])
    return classes, {number: largest[leader] for number, leader in classes.items()}
