"""The best value known of each instance, kept in a file of its own from one report to the next.

Only plans that the judge has accepted count; what a solver merely claims does not enter.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from memstow.planner.bench.records.results import Run, Value
from memstow.planner.model.errors import InputError

VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Best:
    """The best plan known of an instance: its objective, whether that is proven, and who found it."""

    name: str
    terms: tuple[str, ...]
    value: Value
    proven: bool
    solver: str
    version: str


BestKnown = Mapping[str, Best]
"""By the digest of the problem."""


def with_results(known: BestKnown, runs: Iterable[Run]) -> dict[str, Best]:
    """The best known values including these runs; of equal values the first stays."""
    best = dict(known)
    for run in runs:
        value, before = run.value, best.get(run.instance.digest)
        if value is None:
            continue
        if before is not None and (len(before.value) != len(value) or before.value < value):
            continue
        if before is not None and before.value == value and (before.proven or not run.proven):
            continue
        best[run.instance.digest] = _of(run, value)
    return best


def _of(run: Run, value: Value) -> Best:
    solver = run.record.solver
    terms = tuple(term.term for term in run.record.objective)
    return Best(run.instance.name, terms, value, run.proven, solver.name, solver.version)


def ratio(value: Value, best: Value) -> float:
    """How much worse than the best: the quotient of the first terms that differ; 1 where none does.

    A best of 0, as costs can be, would make any quotient infinite: both count one more then.
    """
    for mine, other in zip(value, best, strict=True):
        if mine != other:
            return mine / other if mine and other else (mine + 1) / (other + 1)
    return 1.0


def to_json(known: BestKnown) -> bytes:
    """The file: one object, sorted by name, so that a difference between two of them can be read."""
    ordered = sorted(known.items(), key=lambda item: (item[1].name, item[0]))
    entries = [{"digest": digest, **asdict(best)} for digest, best in ordered]
    return (json.dumps({"version": VERSION, "best": entries}, indent=1, ensure_ascii=False) + "\n").encode()


def from_json(data: bytes, name: str) -> dict[str, Best]:
    """The best known values of a file; InputError if it is no such file."""
    try:
        values = json.loads(data)
        if values["version"] != VERSION:
            raise InputError.single(
                "wrong_version", name, f"version {values['version']!r}; {VERSION} can be read"
            )
        return {entry.pop("digest"): _best(entry) for entry in values["best"]}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"not a file of best known values: {type(error).__name__}: {error}"
        raise InputError.single("not_best_known", name, message) from None


def _best(entry: dict[str, Any]) -> Best:  # of JSON
    best = Best(**{**entry, "terms": tuple(entry["terms"]), "value": tuple(entry["value"])})
    if not all(isinstance(value, int) for value in best.value) or len(best.terms) != len(best.value):
        raise ValueError(f"the value of {best.name!r} does not fit its terms")
    return best
