"""One thing of a plan changed, at random: most often it is false then."""

from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Final

from tests.independent.documents import CertificateDocument, ExplanationDocument, PlanDocument, TermDocument

Forge = Callable[[PlanDocument, Random], None]


def forged(plan: PlanDocument, rng: Random) -> tuple[str, PlanDocument]:
    """What was changed, and the plan with that."""
    name = rng.choice(list(_FORGERIES))
    other = deepcopy(plan)
    _FORGERIES[name](other, rng)
    return name, other


def _move(plan: PlanDocument, rng: Random) -> None:
    if places := plan.get("placements"):
        rng.choice(places)["offset"] = rng.randint(0, 12)


def _other_pool(plan: PlanDocument, rng: Random) -> None:
    if places := plan.get("placements"):
        rng.choice(places)["pool"] = rng.choice(places)["pool"]


def _forget(plan: PlanDocument, rng: Random) -> None:
    if places := plan.get("placements"):
        places.pop(rng.randrange(len(places)))


def _value(plan: PlanDocument, rng: Random) -> None:
    if rows := plan.get("objective"):
        rng.choice(rows)["value"] += rng.choice((-1, 1))


def _bound(plan: PlanDocument, rng: Random) -> None:
    """A larger bound, consistent in all else, with the certificate that there is or another."""
    rows = plan.get("objective")
    if not rows:
        return
    row = rng.choice(rows)
    row["bound"] = rng.randint(0, row["value"] + 1)
    _settle(plan, row)
    if rng.random() < 0.7:
        row["certificate"] = _certificate(plan, row, rng)


def _settle(plan: PlanDocument, row: TermDocument) -> None:
    row["gap"] = (row["value"] - row["bound"]) / row["value"] if row["value"] else 0.0
    rows = plan.get("objective", [])
    plan["status"] = "optimal" if all(row["bound"] == row["value"] for row in rows) else "feasible"


def _certificate(plan: PlanDocument, row: TermDocument, rng: Random) -> CertificateDocument:
    kind = rng.choice(("live_bytes", "sum", "least", "exhausted", "model"))
    if kind == "exhausted":
        return {"kind": kind, "solver": "exact", "refuted": [{"height": row["bound"] - 1, "nodes": 1}]}
    if kind == "model":
        return {"kind": kind, "solver": "cbc"}
    if kind == "sum":
        return {"kind": kind, "parts": [_live_bytes(plan, rng) for _ in range(rng.randint(0, 2))]}
    return _live_bytes(plan, rng) if kind == "live_bytes" else {"kind": kind}


def _live_bytes(plan: PlanDocument, rng: Random) -> CertificateDocument:
    places = plan.get("placements", [])
    some = rng.sample(places, rng.randint(0, len(places)))
    pool = some[0]["pool"] if some and rng.random() < 0.7 else None
    time = rng.choice((None, rng.randint(-1, 6)))
    return {
        "kind": "live_bytes",
        "pool": pool,
        "time": time,
        "buffers": [placement["buffer"] for placement in some],
    }


def _pool_row(plan: PlanDocument, rng: Random) -> None:
    rows = plan.get("pools")
    if not rows:
        return
    row = rng.choice(rows)
    what = rng.choice(("peak", "bound", "bytes", "time", "capacity"))
    if what == "peak":
        row["peak"] += rng.choice((-1, 1))
    elif what == "bound":
        row["bound"] += rng.randint(1, 3)
        row["certificate"] = _live_bytes(plan, rng)
    elif what == "bytes":
        row["live"]["bytes"] += rng.choice((-1, 1))
    elif what == "time":
        row["live"]["time"] = rng.randint(-1, 6)
    else:
        row["capacity"] = rng.randint(0, 14)


def _nothing_fits(plan: PlanDocument, rng: Random) -> None:
    places = plan.get("placements", [])
    if not places:
        return
    some = rng.sample(places, rng.randint(1, len(places)))
    code = rng.choice(("over_capacity", "no_place", "no_layout", "sums"))
    explanation: ExplanationDocument = {
        "code": code,
        "message": "it is so",
        "pool": rng.choice((None, some[0]["pool"])),
        "buffers": [placement["buffer"] for placement in some],
    }
    plan["status"], plan["explanation"] = "infeasible", explanation
    plan["placements"], plan["pools"], plan["objective"] = [], [], []


def _explanation(plan: PlanDocument, rng: Random) -> None:
    explanation = plan.get("explanation")
    if explanation is None:
        return
    what = rng.choice(("code", "needed", "capacity", "time", "buffers"))
    if what == "code":
        explanation["code"] = rng.choice(("over_capacity", "no_place", "no_layout"))
    elif what == "needed":
        explanation["needed"] = (explanation.get("needed") or 0) + rng.randint(1, 3)
    elif what == "capacity":
        explanation["capacity"] = rng.randint(0, 14)
    elif what == "time":
        explanation["time"] = rng.randint(-1, 6)
    elif names := explanation.get("buffers"):
        names.pop(rng.randrange(len(names)))


_FORGERIES: Final[dict[str, Forge]] = {
    "a place": _move,
    "a pool": _other_pool,
    "a buffer less": _forget,
    "a value": _value,
    "a bound": _bound,
    "another bound": _bound,
    "the row of a pool": _pool_row,
    "nothing fits": _nothing_fits,
    "an explanation": _explanation,
}
