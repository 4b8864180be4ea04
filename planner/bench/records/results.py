"""Reads the results of a folder for reports; plans stay in the file until they are needed."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from memstow.planner.bench.records.record import (
    RESULTS,
    Ending,
    Instance,
    Layout,
    Record,
    RecordError,
    SolverInfo,
    from_line,
    hash_of,
)
from memstow.planner.model.errors import InputError

WITH_PLAN: Final = (Ending.OPTIMAL, Ending.FEASIBLE)
Value = tuple[int, ...]
"""The terms of the objective in their order, to be compared from the first on."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run: its record without the plan, and where in the file that is."""

    record: Record
    solver: str
    place: int

    @property
    def instance(self) -> Instance:
        return self.record.instance

    @property
    def valid(self) -> bool:
        """Whether it gave a plan that the judge accepts."""
        judged = self.record.judged
        return self.record.status in WITH_PLAN and judged is not None and judged.valid

    @property
    def value(self) -> Value | None:
        """The objective of its valid plan."""
        return tuple(term.value for term in self.record.objective) if self.valid else None

    @property
    def proven(self) -> bool:
        """Whether it claims that nothing more is to be found."""
        if self.record.status is Ending.INFEASIBLE:
            return True
        return self.valid and self.record.status is Ending.OPTIMAL

    @property
    def limit(self) -> float:
        """The seconds it was given; those it took where no limit was named."""
        limit = self.record.solver.options.get("time_limit")
        return float(limit) if isinstance(limit, int | float) else self.record.seconds


@dataclass(frozen=True, slots=True)
class Results:
    """The content of a `results.jsonl`."""

    path: Path
    runs: tuple[Run, ...]
    solvers: tuple[str, ...]
    unreadable: int = 0  # lines, such as the last of a run that was killed in the middle of it

    def plan(self, run: Run) -> Layout | None:
        """The plan that the run gave."""
        with self.path.open("rb") as file:
            file.seek(run.place)
            return from_line(file.readline()).plan


def read(path: Path) -> Results:
    """The results in the file, or in the folder of a run; of several records of one key the last counts."""
    path = path / RESULTS if path.is_dir() else path
    records: dict[str, tuple[Record, int]] = {}
    shared = _Shared()
    unreadable = 0
    for line, place in _lines(path):
        try:
            record = from_line(line)
        except RecordError:
            unreadable += 1
        else:
            records[record.key] = (shared.light(record), place)
    if not records:
        raise InputError.single(
            "no_results", str(path), "there is no result in it; `memstow bench run` makes some"
        )
    # Sorted, since results come in the order in which they happen to be ready.
    ordered = [records[key] for key in sorted(records)]
    labels = _labels(record.solver for record, _ in ordered)
    runs = [Run(record, labels[_identity(record.solver)], place) for record, place in ordered]
    runs.sort(
        key=lambda run: (
            run.instance.family,
            run.instance.name,
            run.instance.digest,
            run.solver,
            run.record.seed,
        )
    )
    return Results(path, tuple(runs), tuple(sorted(set(labels.values()))), unreadable)


class _Shared:
    """Equal instances and solvers of records, kept once."""

    def __init__(self) -> None:
        self._instances: dict[str, Instance] = {}
        self._solvers: dict[str, SolverInfo] = {}

    def light(self, record: Record) -> Record:
        """The record without its plan, and with shared parts."""
        instance = self._instances.setdefault(repr(record.instance), record.instance)
        solver = self._solvers.setdefault(repr(record.solver), record.solver)
        return replace(record, plan=None, instance=instance, solver=solver)


def _lines(path: Path) -> Iterator[tuple[bytes, int]]:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise InputError.single("not_found", str(path), "there is no such file") from None
    with file:
        place = 0
        for line in file:
            if line.strip():
                yield line, place
            place += len(line)


def _identity(solver: SolverInfo) -> tuple[str, str, str]:
    return solver.name, solver.version, repr(sorted(solver.options.items()))


def _labels(solvers: Iterable[SolverInfo]) -> dict[tuple[str, str, str], str]:
    """The name of each solver, with what differs where one name has several versions or options."""
    known = {_identity(solver): solver for solver in solvers}
    labels = {
        identity: _label(solver, [other for other in known.values() if other.name == solver.name])
        for identity, solver in known.items()
    }
    many = Counter(labels.values())
    # Two files of a target may give it one name.
    return {
        identity: label if many[label] == 1 else f"{label} {hash_of(known[identity].options)}"
        for identity, label in labels.items()
    }


def _label(solver: SolverInfo, namesakes: Sequence[SolverInfo]) -> str:
    parts = [solver.version] if len({other.version for other in namesakes}) > 1 else []
    for name in sorted({name for other in namesakes for name in other.options}):
        value = solver.options.get(name)
        if value is not None and len({repr(other.options.get(name)) for other in namesakes}) > 1:
            parts.append(f"{name} {_shown(value)}")
    # Commas are between solvers where several are named.
    return f"{solver.name} ({'; '.join(parts)})" if parts else solver.name


def _shown(value: object) -> str:
    """The value of an option; of a target its name."""
    if isinstance(value, dict):
        value = value.get("name", value)
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
