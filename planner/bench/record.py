"""One run of a solver on an instance, as a line of `results.jsonl`; the files in the folder of a run."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from memstow.planner.model.errors import MemstowError

FORMAT: Final = 1
RESULTS: Final = "results.jsonl"
"""The file in the folder of a run."""

_Json = dict[str, Any]


class RecordError(MemstowError):
    """A line that is not a record of this format."""


class Ending(StrEnum):
    """How a run ended."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"
    DECLINED = "declined"
    """The solver cannot honour something in the problem, and said so."""
    ERROR = "error"
    """It failed, or its output cannot be read."""
    KILLED = "killed"
    """It was ended by us (time, memory) or by the system."""
    INVALID = "invalid"
    """It gave a plan that the judge refuses."""


@dataclass(frozen=True, slots=True)
class Instance:
    """The problem that was solved."""

    name: str
    family: str
    digest: str  # of the problem, whatever the file looks like
    content: str  # SHA-256 of the bytes it was read from, or of what it was generated from
    features: dict[str, int]


@dataclass(frozen=True, slots=True)
class SolverInfo:
    """The solver and its options."""

    name: str
    version: str
    external: bool
    options: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class TermValue:
    """One term of the objective; no bound where none is proven."""

    term: str
    value: int
    bound: int | None


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """A better value or a better bound of the first term of the objective, and when it came."""

    seconds: float
    incumbent: int | None = None
    bound: int | None = None


@dataclass(frozen=True, slots=True)
class JudgeResult:
    """The verdict of the judge, with the codes of violations."""

    valid: bool
    violations: tuple[str, ...] = ()
    checked: str | None = None
    """What showed, besides the solver, that nothing is better or nothing fits: `judge` or `proof`."""

    @classmethod
    def of(cls, values: Mapping[str, Any] | None) -> "JudgeResult | None":
        """That of a record or a message; None where there was nothing to judge."""
        if values is None:
            return None
        return cls(values["valid"], tuple(values["violations"]), values.get("checked"))


@dataclass(frozen=True, slots=True)
class Layout:
    """Places by buffer, in the order of the problem: the index of the pool, and the offset."""

    pool: tuple[int, ...]
    offset: tuple[int, ...]
    order: tuple[str, ...] = ()
    """The operators of a graph as they run; empty: as they are listed."""

    @classmethod
    def of(cls, values: Mapping[str, Any] | None) -> "Layout | None":
        """That of a record or a message; None where none was kept."""
        if values is None:
            return None
        return cls(tuple(values["pool"]), tuple(values["offset"]), tuple(values.get("order", ())))


@dataclass(frozen=True, slots=True)
class Machine:
    """Where it ran, and how busy that was at the start."""

    cpus: int
    memory: int
    system: str
    python: str
    load: float
    model: str = ""  # of the processor; empty where the system does not say, and in older records


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The record of one run."""

    instance: Instance
    solver: SolverInfo
    seed: int
    status: Ending
    objective: tuple[TermValue, ...] = ()
    peak: int | None = None  # summed over the pools
    bound: int | None = None  # of the first term, as the gap
    gap: float | None = None
    max_live: int = 0  # most bytes live at once, of the problem
    capacity: int | None = None  # of all pools; None: one is unbounded
    events: tuple[ProgressEvent, ...] = ()
    repeats: int = 1  # runs that the times below are medians of
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_memory: int = 0
    reported_seconds: float | None = None
    work: dict[str, int] = field(default_factory=dict)
    judged: JudgeResult | None = None  # None: there was nothing to judge
    plan: Layout | None = None  # None: there is none, or it has too many buffers
    proof: str | None = None  # of the solver, about the problem as JSON of memstow, in Base64
    machine: Machine
    turn: int | None = None  # 1 or 2: of a pair run side by side, which came first; None: it was no pair
    error: str | None = None

    @property
    def key(self) -> str:
        """There is one record of a key: `digest/solver/seed/options`."""
        return key_of(self.instance.digest, self.solver.name, self.seed, self.solver.options)


def key_of(digest: str, solver: str, seed: int, options: Mapping[str, object]) -> str:
    """The key of a run."""
    return f"{digest}/{solver}/{seed}/{hash_of(options)}"


def hash_of(values: Mapping[str, object]) -> str:
    """A short name of a JSON object."""
    return sha256(_line(values).encode()).hexdigest()[:12]


def to_line(record: Record) -> str:
    """The record as a line of JSON without its end."""
    return _line({"record": FORMAT, "key": record.key, **_fields(record)})


def from_line(line: str | bytes) -> Record:
    """The record of a line; RecordError if the line is not a record."""
    try:
        values = json.loads(line)
    except ValueError as error:
        raise RecordError(f"a record is a line of JSON: {error}") from None
    if not isinstance(values, dict) or values.get("record") != FORMAT:
        raise RecordError(f"expected a record of format {FORMAT}")
    try:
        return _record(values)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RecordError(f"a record with a wrong field: {type(error).__name__}: {error}") from None


def _record(values: _Json) -> Record:
    key = values.pop("key")
    del values["record"]
    record = Record(
        **{
            **values,
            "instance": Instance(**values["instance"]),
            "solver": SolverInfo(**values["solver"]),
            "status": Ending(values["status"]),
            "objective": tuple(TermValue(**term) for term in values["objective"]),
            "events": tuple(ProgressEvent(**moment) for moment in values["events"]),
            "judged": JudgeResult.of(values["judged"]),
            "plan": Layout.of(values["plan"]),
            "machine": Machine(**values["machine"]),
        }
    )
    _require_types(record)
    if record.key != key:
        raise ValueError(f"the key {key!r} is not that of its fields")
    return record


def _require_types(record: Record) -> None:
    """TypeError where a value that is counted with is of another type: a file may be anybody's."""
    about, solver = record.instance, record.solver
    words = [about.name, about.family, about.digest, about.content, solver.name, solver.version]
    if record.proof is not None:
        words.append(record.proof)
    whole = (
        record.seed,
        *(term.value for term in record.objective),
        *(term.bound for term in record.objective if term.bound is not None),
        *record.work.values(),
    )
    times = (record.seconds, record.cpu_seconds)
    for values, kind in ((words, str), (whole, int), (times, (int, float))):
        if not all(isinstance(value, kind) for value in values):
            raise TypeError("a text, a number or a time is none")


def _fields(part: Any) -> _Json:
    """A part of a record as an object; `asdict` would copy every number of a layout."""
    names, values_of = _FIELDS[type(part)]
    values = dict(zip(names, values_of(part), strict=True))
    if isinstance(part, ProgressEvent):
        return {name: value for name, value in values.items() if value is not None}
    if isinstance(part, Machine) and not part.model:
        del values["model"]
    if isinstance(part, Record) and part.proof is None:
        del values["proof"]
    if isinstance(part, JudgeResult) and part.checked is None:
        del values["checked"]
    if isinstance(part, Layout) and not part.order:
        del values["order"]
    return values


def _names(part: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(part))


_FIELDS: Final = {
    part: (_names(part), attrgetter(*_names(part)))
    for part in (Instance, SolverInfo, TermValue, ProgressEvent, JudgeResult, Layout, Machine, Record)
}
_line: Final = json.JSONEncoder(
    default=_fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).encode


PATHS: Final = "paths.json"
"""The paths given to the run, with which reports find the problems again."""
COMMANDS: Final = "commands.json"
"""The command lines of the run, and when they began."""
BEST: Final = "best_known.json"
"""The best value known of each instance."""
RUNS: Final = "runs.csv"
SUMMARY: Final = "summary.csv"
"""A report as tables."""
WRITTEN: Final = frozenset((PATHS, COMMANDS, BEST, RUNS, SUMMARY))


@dataclass(frozen=True, slots=True)
class Command:
    """A command line that wrote results into the folder."""

    began: str
    """Date and time in UTC, to the minute: `2026-11-23 14:05 UTC`."""
    command: str


def commands(folder: Path) -> list[Command]:
    """The command lines of the runs of this folder; none where the file is missing or damaged."""
    try:
        known = json.loads((folder / COMMANDS).read_bytes())
        return [Command(str(entry["began"]), str(entry["command"])) for entry in known]
    except (OSError, ValueError, TypeError, KeyError):
        return []


def commands_file(folder: Path, command: Command) -> bytes:
    """The content of `commands.json`: the commands before, then this one."""
    entries = [asdict(one) for one in (*commands(folder), command)]
    # Of bytes that are no text the escape of Python is that of JSON as well.
    return (json.dumps(entries, indent=1, ensure_ascii=False) + "\n").encode(errors="backslashreplace")
