"""Whether an answer is true: places, values, and all that it claims, against the best plan there is."""

from dataclasses import dataclass, field
from itertools import combinations

from tests.independent.brute_force import Best, best_plan, least_alone
from tests.independent.documents import (
    CertificateDocument,
    ExplanationDocument,
    PlanDocument,
    PoolUseDocument,
    ProblemDocument,
    TermDocument,
)
from tests.independent.meaning import Meaning, Places, places_of


@dataclass(frozen=True)
class Truth:
    """A problem and the best plan of it, None where nothing fits."""

    meaning: Meaning
    best: Best | None
    _least_peaks: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, problem: ProblemDocument, hint: PlanDocument | None = None) -> "Truth":
        meaning = Meaning(problem, hint)
        return cls(meaning, best_plan(meaning))

    def least_peak(self, pool: str) -> int:
        """The least peak that any plan has in the pool."""
        if pool not in self._least_peaks:
            best = best_plan(self.meaning.with_terms(f"peak:{pool}"))
            self._least_peaks[pool] = best.vector[0] if best is not None else 0
        return self._least_peaks[pool]


def faults_of(truth: Truth, plan: PlanDocument) -> list[str]:
    """What is not so in the plan; nothing where all of it is true."""
    status = plan["status"]
    if status == "infeasible":
        return _faults_without_layout(truth, plan)
    if status == "unknown":
        return _faults_of_unknown(truth, plan)
    if status not in ("optimal", "feasible"):
        return [f"status {status} is none"]
    wrong = _faults_of_places(truth, plan)
    # Figures of places that are no plan mean nothing.
    return wrong or [*_faults_of_terms(truth, plan), *_faults_of_pools(truth, plan)]


def faults_of_answer(truth: Truth, plan: PlanDocument) -> list[str]:
    """What is not so in a plan that memstow made: that of anyone may have buffers without bytes anywhere."""
    return faults_of(truth, plan) or _faults_of_empty(truth.meaning, places_of(plan))


def _faults_of_places(truth: Truth, plan: PlanDocument) -> list[str]:
    places = places_of(plan)
    wrong = truth.meaning.faults(places)
    if len(places) < len(plan.get("placements", [])):
        wrong.append("a buffer has two places")
    if plan.get("explanation") is not None or plan.get("closest"):
        wrong.append("a plan says why there is none")
    if not wrong and truth.best is None:
        wrong.append("the brute force found no plan where there is one")
    return wrong


def _faults_of_empty(meaning: Meaning, places: Places) -> list[str]:
    """A buffer without bytes is in the first of its pools that has a place for it."""
    wrong = []
    for name, buffer in meaning.buffers.items():
        pools = meaning.allowed(name)
        if not buffer["size"] and name in places:
            better = pools[: pools.index(places[name][0])]
            wrong += [f"{name} could be in {pool}" for pool in better if _has_place(meaning, name, pool)]
    return wrong


def _has_place(meaning: Meaning, name: str, pool: str) -> bool:
    """Whether the pool has an aligned offset, for a buffer that nothing is in the way of."""
    capacity = meaning.pools[pool].get("capacity")
    most = meaning.step(name, pool) if capacity is None else capacity
    return any(not meaning.objections(name, (pool, offset)) for offset in range(most + 1))


# Plans that are none.


def _faults_without_layout(truth: Truth, plan: PlanDocument) -> list[str]:
    wrong = []
    if truth.best is not None:
        wrong.append(f"infeasible, though {truth.best.places} is a plan")
    if plan.get("placements") or plan.get("pools") or plan.get("objective"):
        wrong.append("infeasible, but with places or figures")
    explanation = plan.get("explanation")
    if explanation is None:
        return [*wrong, "infeasible without explanation"]
    return wrong + _faults_of_explanation(truth, explanation)


def _faults_of_explanation(truth: Truth, explanation: ExplanationDocument) -> list[str]:
    wrong = []
    names = explanation.get("buffers", [])
    unknown = set(names) - truth.meaning.buffers.keys()
    if unknown:
        return [f"explained by {sorted(unknown)}, which are no buffers"]
    pool = explanation.get("pool")
    if pool is not None and pool not in truth.meaning.pools:
        return [f"explained by the pool {pool}, which is none"]
    if not names:
        wrong.append("explained by no buffers")
    elif best_plan(truth.meaning.only(names)) is not None:
        wrong.append(f"these fit by themselves: {names}")
    capacity = explanation.get("capacity")
    if pool is not None and capacity is not None and truth.meaning.pools[pool].get("capacity") != capacity:
        wrong.append(f"{pool} does not have a capacity of {capacity}")
    time = explanation.get("time")
    if time is not None:
        wrong += [f"{name} is not live at {time}" for name in names if not truth.meaning.live_at(name, time)]
    needed = explanation.get("needed")
    if needed is not None:
        wrong += _faults_of_needed(truth.meaning, explanation, needed)
    return wrong


def _faults_of_needed(meaning: Meaning, explanation: ExplanationDocument, needed: int) -> list[str]:
    """A capacity of so much is the least that could do for these buffers, and there is less."""
    wrong, names, pool = [], explanation.get("buffers", []), explanation.get("pool")
    capacity, reserved = explanation.get("capacity"), explanation.get("reserved")
    if capacity is not None and needed <= capacity:
        wrong.append(f"{needed} bytes are not too many")
    part = meaning.only(names)
    if pool is None:
        pools = {allowed for name in names for allowed in meaning.allowed(name)}
        most = _bytes_apart(part) + sum(_reserved_bytes(meaning, pool) for pool in pools)
        return wrong if needed <= most else [*wrong, f"{names} need no more than {most} bytes, not {needed}"]
    if reserved is not None and reserved != _reserved_bytes(meaning, pool):
        wrong.append(f"{pool} does not have {reserved} reserved bytes")
    lowest = max(
        (stretch["offset"] + stretch["size"] for stretch in meaning.pools[pool].get("reserved", [])),
        default=0,
    )
    if needed - 1 >= lowest and best_plan(part.with_capacity(pool, needed - 1)) is not None:
        wrong.append(f"{names} fit in {needed - 1} bytes of {pool}")
    return wrong


def _bytes_apart(part: Meaning) -> int:
    """The bytes of buffers that may share none, members of one group counted where they overlap."""
    total = 0
    for group in part.groups:
        covered = {
            byte
            for name, distance in group.distances.items()
            for byte in range(distance, part.end(name, distance))
        }
        total += len(covered)
    return total


def _reserved_bytes(meaning: Meaning, pool: str) -> int:
    ranges = (
        range(stretch["offset"], stretch["offset"] + stretch["size"])
        for stretch in meaning.pools[pool].get("reserved", [])
    )
    return len({byte for some in ranges for byte in some})


def _faults_of_unknown(truth: Truth, plan: PlanDocument) -> list[str]:
    wrong = []
    if plan.get("placements") or plan.get("pools") or plan.get("objective"):
        wrong.append("unknown, but with places or figures")
    for placement in plan.get("closest", []):
        if truth.meaning.pools[placement["pool"]].get("capacity") != placement["capacity"]:
            wrong.append(f"{placement['pool']} does not have a capacity of {placement['capacity']}")
        if placement["peak"] <= placement["capacity"]:
            wrong.append(
                f"{placement['pool']} is too small for {placement['peak']} bytes, it says, but is not"
            )
    return wrong


# Figures of the objective.


def _faults_of_terms(truth: Truth, plan: PlanDocument) -> list[str]:
    meaning, best = truth.meaning, truth.best
    rows = plan.get("objective", [])
    if best is None:
        return ["a plan where nothing fits"]
    if tuple(row["term"] for row in rows) != meaning.terms:
        return [f"the terms are {meaning.terms}"]
    wrong = []
    vector = meaning.vector(places_of(plan))
    if vector < best.vector:
        wrong.append(f"the brute force found {best.vector}, this is {vector}")
    cheapest = False
    for row, value, least in zip(rows, vector, best.vector, strict=True):
        wrong += _faults_of_term(truth, row, value, least, cheapest)
        cheapest |= row["term"] == "placement_cost" and value == _least_alone(meaning, "placement_cost")
    optimal = plan["status"] == "optimal"
    if optimal and vector != best.vector:
        wrong.append(f"{vector} is not optimal, {best.vector} is")
    if optimal != all(row["bound"] == row["value"] for row in rows):
        wrong.append(f"{plan['status']} is not what the bounds say")
    return wrong


def _faults_of_term(truth: Truth, row: TermDocument, value: int, least: int, cheapest: bool) -> list[str]:
    """With `cheapest` a term before this one keeps every buffer in one of its cheapest pools."""
    wrong = []
    name, bound = row["term"], row["bound"]
    if row["value"] != value:
        wrong.append(f"{name} is {value}, not {row['value']}")
    if not 0 <= bound <= least:
        wrong.append(f"the bound of {name} is {bound}, but {least} can be had")
    gap = (value - bound) / value if value else 0.0
    if abs(row["gap"] - gap) > 1e-9:
        wrong.append(f"the gap of {name} is {gap}, not {row['gap']}")
    certificate = row.get("certificate")
    # Nothing is below zero: that needs no certificate, and none can be wrong.
    if certificate is not None and bound:
        wrong += _faults_of_certificate(truth, name, bound, least, certificate, cheapest)
    elif bound:
        wrong.append(f"the bound of {name} has no certificate")
    return wrong


def _faults_of_certificate(
    truth: Truth, term: str, bound: int, least: int, certificate: CertificateDocument, cheapest: bool
) -> list[str]:
    kind = certificate["kind"]
    if kind == "live_bytes":
        return _faults_of_live_bytes(truth, term, bound, certificate, cheapest)
    if kind == "sum":
        return _faults_of_sum(truth, term, bound, certificate, cheapest)
    if kind == "least":
        lowest = _least_alone(truth.meaning, term)
        return [] if bound <= lowest else [f"alone, {term} can be {lowest}, below the bound of {bound}"]
    if kind == "exhausted":
        refuted = certificate.get("refuted", [])
        wrong = [
            f"{refusal['height']} is refuted, but {least} can be had"
            for refusal in refuted
            if refusal["height"] >= least
        ]
        if not refuted or max(refusal["height"] for refusal in refuted) != bound - 1:
            wrong.append(f"nothing says why {term} cannot be {bound - 1}")
        return wrong
    return [] if kind == "model" else [f"a certificate of the kind {kind}"]


def _faults_of_live_bytes(
    truth: Truth, term: str, bound: int, certificate: CertificateDocument, cheapest: bool = False
) -> list[str]:
    """The buffers conflict, or are held together, and alone they cannot do with less."""
    meaning = truth.meaning
    names, pool, time = certificate.get("buffers", []), certificate.get("pool"), certificate.get("time")
    wrong = [f"{name} is no buffer" for name in names if name not in meaning.buffers]
    if wrong:
        return wrong
    if len(set(names)) < len(names):
        wrong.append("a buffer is counted twice")
    for one, other in combinations(names, 2):
        apart = meaning.must_be_apart(one, other) and not meaning.may_start_together(one, other)
        if not apart and not meaning.tied(one, other):
            wrong.append(f"{one} and {other} may share bytes, and are added up")
    if time is not None:
        wrong += [f"{name} is not live at {time}" for name in names if not meaning.live_at(name, time)]
    if not bound_follows(meaning.only(names), term if pool is None else f"peak:{pool}", bound, cheapest):
        wrong.append(f"{names} alone can have less than {bound} in {pool or term}")
    if pool is not None and term not in ("peak", "max_peak", f"peak:{pool}"):
        wrong.append(f"what {pool} needs is no bound of {term}")
    return wrong


def bound_follows(part: Meaning, term: str, bound: int, cheapest: bool = False) -> bool:
    """Whether the term cannot be less for these buffers alone, or alone in their cheapest pools."""
    best = _best_alone(part, term, cheapest)
    return best is None or best.vector[-1] >= bound


def _best_alone(part: Meaning, term: str, cheapest: bool) -> Best | None:
    return best_plan(part.with_terms(*(["placement_cost"] if cheapest else []), term))


def _faults_of_sum(
    truth: Truth, term: str, bound: int, certificate: CertificateDocument, cheapest: bool
) -> list[str]:
    parts = certificate.get("parts", [])
    pools = [part.get("pool") for part in parts]
    wrong = []
    if term != "peak":
        wrong.append(f"pools are not added up in {term}")
    if None in pools or len(set(pools)) < len(pools):
        return [*wrong, "the parts of a sum are not each of a pool of its own"]
    least = 0
    for part in parts:
        some = truth.meaning.only(part.get("buffers", []))
        least += _least_peak(some, str(part.get("pool")), cheapest, bound)
        wrong += _faults_of_live_bytes(truth, "peak", 0, part, cheapest)
    if least < bound:
        wrong.append(f"the parts add up to {least}, not {bound}")
    return wrong


def _least_peak(part: Meaning, pool: str, cheapest: bool, if_none: int) -> int:
    best = _best_alone(part, f"peak:{pool}", cheapest)
    return if_none if best is None else best.vector[-1]


def _least_alone(meaning: Meaning, term: str) -> int:
    """The least that the term can be if each buffer, or each pair, is alone."""
    if term in ("placement_cost", "preference"):
        return least_alone(meaning, term) or 0
    if term == "reuse_cost":
        return sum(cost for one, other, cost in meaning.reuse if _always_share(meaning, one, other))
    return 0


def _always_share(meaning: Meaning, one: str, other: str) -> bool:
    """Whether a rigid group holds the two where they overlap."""
    for group in meaning.groups:
        if one in group.distances and other in group.distances:
            return meaning.share(one, ("", group.distances[one]), other, ("", group.distances[other]))
    return False


# Figures of the pools.


def _faults_of_pools(truth: Truth, plan: PlanDocument) -> list[str]:
    meaning, rows = truth.meaning, plan.get("pools", [])
    if [row["pool"] for row in rows] != list(meaning.pools):
        return ["not all the pools, in their order"]
    return [fault for row in rows for fault in _faults_of_pool(truth, row, places_of(plan))]


def _faults_of_pool(truth: Truth, row: PoolUseDocument, places: Places) -> list[str]:
    meaning, pool, wrong = truth.meaning, row["pool"], []
    if row["capacity"] != meaning.pools[pool].get("capacity"):
        wrong.append(f"{pool} does not have a capacity of {row['capacity']}")
    peak = meaning.peak(pool, places)
    if row["peak"] != peak:
        wrong.append(f"the peak of {pool} is {peak}, not {row['peak']}")
    if row["bound"] > truth.least_peak(pool):
        wrong.append(f"the peak of {pool} can be {truth.least_peak(pool)}, less than {row['bound']}")
    certificate = row.get("certificate")
    if certificate is not None:
        wrong += _faults_of_live_bytes(truth, f"peak:{pool}", row["bound"], certificate)
    return wrong + _faults_of_live(meaning, row, places)


def _faults_of_live(meaning: Meaning, row: PoolUseDocument, places: Places) -> list[str]:
    """The most bytes occupied at one moment, each counted once."""
    here = [name for name, (pool, _) in places.items() if pool == row["pool"]]
    said, time = row["live"]["bytes"], row["live"].get("time")
    moments = meaning.moments()
    most = max((occupied(meaning, here, places, moment) for moment in [*moments, 0]), default=0)
    if time is None:
        return [] if said >= most else [f"{row['pool']} holds {most} bytes at one moment, not {said}"]
    there = occupied(meaning, here, places, time)
    wrong = []
    if there != said:
        wrong.append(f"{row['pool']} holds {there} bytes at {time}, not {said}")
    if said != most:
        wrong.append(f"{row['pool']} holds {most} bytes at its fullest moment, not {said}")
    return wrong


def occupied(meaning: Meaning, names: list[str], places: Places, time: int) -> int:
    """Bytes of these buffers that are held at the moment."""
    held = sorted(
        (places[name][1], meaning.end(name, places[name][1])) for name in names if meaning.live_at(name, time)
    )
    total, upto = 0, 0
    for begin, end in held:
        total += max(0, end - max(begin, upto))
        upto = max(upto, end)
    return total
