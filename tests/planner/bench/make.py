"""Records made up for tests: as much said of each as matters."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from memstow.planner.bench.journal import Results, read
from memstow.planner.bench.record import (
    RESULTS,
    Ending,
    Instance,
    JudgeResult,
    Layout,
    Machine,
    ProgressEvent,
    Record,
    SolverInfo,
    TermValue,
    to_line,
)

MACHINE = Machine(cpus=2, memory=1 << 33, system="Linux", python="3.12", load=0.5)


def made(
    name: str,
    solver: str,
    value: int | tuple[int, ...] | None = None,
    *,
    seed: int = 0,
    status: Ending | None = None,
    bound: int | None = None,
    seconds: float = 1.0,
    reported: float | None = None,
    turn: int | None = None,
    family: str = "family",
    buffers: int = 10,
    options: dict[str, Any] | None = None,
    version: str = "1.0",
    events: Iterable[ProgressEvent] = (),
    work: dict[str, int] | None = None,
    violations: tuple[str, ...] = (),
    plan: Layout | None = None,
    digest: str | None = None,
) -> Record:
    """A record; without a status it is a valid plan of that value, or nothing was found."""
    values = () if value is None else value if isinstance(value, tuple) else (value,)
    if status is None:
        status = Ending.UNKNOWN if value is None else Ending.FEASIBLE
    return Record(
        instance=Instance(
            name, family, digest or f"digest of {name}", f"content of {name}", {"buffers": buffers}
        ),
        solver=SolverInfo(solver, version, False, {"time_limit": 10.0} if options is None else options),
        seed=seed,
        status=status,
        objective=tuple(TermValue(f"term{i}", v, bound) for i, v in enumerate(values)),
        peak=values[0] if values else None,
        bound=bound,
        events=tuple(events),
        seconds=seconds,
        cpu_seconds=seconds,
        reported_seconds=reported,
        turn=turn,
        peak_memory=1 << 25,
        work={"steps": 100} if work is None else work,
        judged=None if value is None else JudgeResult(not violations, violations),
        plan=plan,
        machine=MACHINE,
    )


def results(folder: Path, *records: Record) -> Results:
    """The records, written and read."""
    write(folder, *records)
    return read(folder)


def write(folder: Path, *records: Record) -> None:
    """The records in the file of a run."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RESULTS).write_text("".join(f"{to_line(record)}\n" for record in records))
