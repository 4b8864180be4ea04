"""The file of results: a line a run, appended as runs end, repaired after a crash, read again."""

import fcntl
import os
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import Enum, auto
from hashlib import blake2b
from pathlib import Path
from typing import IO, Final

from memstow.planner.bench.record import (
    COMMANDS,
    PATHS,
    RESULTS,
    Ending,
    Instance,
    Layout,
    Record,
    RecordError,
    SolverInfo,
    from_line,
    hash_of,
    key_of,
)
from memstow.planner.bench.task import Task
from memstow.planner.model.errors import InputError, MemstowError

_SYNC_SECONDS: Final = 1.0
_PIECE: Final = 1 << 16
RECENT: Final = 25


class InterruptedBenchError(MemstowError):
    """The bench cannot go on now. Its results stay, and it can be resumed."""


class RecordedWhen(Enum):
    """When a result was recorded."""

    BEFORE = auto()
    """Since before the file was opened."""
    MEANWHILE = auto()
    """Another instance turned out to be the same problem."""


class Journal:
    """`results.jsonl` of a folder, opened to be added to by one run at a time."""

    def __init__(self, folder: Path, resume: bool) -> None:
        self._path = folder / RESULTS
        self._new_folders = [place for place in (folder, *folder.parents) if not place.exists()]
        self._new_files = [
            path for path in (self._path, folder / PATHS, folder / COMMANDS) if not path.exists()
        ]
        folder.mkdir(parents=True, exist_ok=True)
        self._file: IO[bytes] = self._path.open("a+b", buffering=0)
        self._keys: set[bytes] = set()
        self._runs: dict[bytes, RecordedWhen] = {}
        self._same: dict[str, str] = {}
        self.endings: Counter[tuple[str, str]] = Counter()
        """How many results there are, by solver and status."""
        self.faults: dict[tuple[str, str], str] = {}
        """The first run that was declined, failed or gave a wrong plan, and why, by solver and status."""
        self.recent: deque[Record] = deque(maxlen=RECENT)
        """The last results, without plans, proofs and events."""
        self._synced = time.monotonic()
        try:
            self._claim()
            self._repair()
            self._read(resume)
        except BaseException:
            self._file.close()
            raise

    def known(self, task: Task) -> RecordedWhen | None:
        """When a result of this run was recorded; None if there is none."""
        options, solver = task.solver.solver_info("").options, task.solver.title
        known = self._runs.get(_run_of(task.content, options, solver, task.seed))
        if known is None and (digest := self._same.get(task.content)) is not None:
            key = _short(key_of(digest, solver, task.seed, options))
            return RecordedWhen.MEANWHILE if key in self._keys else None
        return known

    def add(self, line: str) -> bool:
        """Write a record; False if its key is there already: two files may hold the same problem."""
        record = from_line(line)
        if not self._note(record, RecordedWhen.MEANWHILE):
            self._same[record.instance.content] = record.instance.digest
            return False
        with self._disk_errors():
            data = memoryview(line.encode() + b"\n")
            while data:
                data = data[self._file.write(data) or 0 :]
            if time.monotonic() >= self._synced + _SYNC_SECONDS:
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()
        return True

    def close(self) -> None:
        """Sync and unlock the file; remove it, and new folders, if there is no result."""
        with self._disk_errors():
            try:
                os.fsync(self._file.fileno())
                if not self._keys:
                    self._take_away()
            finally:
                self._file.close()

    def _take_away(self) -> None:
        for path in self._new_files:
            path.unlink(missing_ok=True)
        # The innermost first; one in which something else is stays.
        with suppress(OSError):
            for folder in self._new_folders:
                folder.rmdir()

    @contextmanager
    def _disk_errors(self) -> Iterator[None]:
        """Turn an error of the disk into one of the bench."""
        try:
            yield
        except OSError as error:
            raise InterruptedBenchError(f"{self._path}: {error.strerror or error}") from None

    def _claim(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise MemstowError(f"{self._path}: another run is writing to it") from None

    def _repair(self) -> None:
        """Cut off a last line that a killed run did not finish."""
        size = self._file.seek(0, os.SEEK_END)
        end = size
        while end:
            begin = max(0, end - _PIECE)
            self._file.seek(begin)
            newline = self._file.read(end - begin).rfind(b"\n")
            if newline >= 0:
                end = begin + newline + 1
                break
            end = begin
        if end < size:
            self._file.truncate(end)

    def _read(self, resume: bool) -> None:
        self._file.seek(0)
        for number, line in enumerate(open(self._file.fileno(), "rb", closefd=False), 1):  # noqa: SIM115
            if not resume:
                raise InputError.single("has_results", str(self._path), "there are results already")
            try:
                record = from_line(line)
            except RecordError as error:
                raise InputError.single("not_a_record", f"{self._path}, line {number}", str(error)) from None
            self._note(record, RecordedWhen.BEFORE)

    def _note(self, record: Record, when: RecordedWhen) -> bool:
        solver = record.solver
        run = _run_of(record.instance.content, solver.options, solver.name, record.seed)
        self._runs.setdefault(run, when)
        key = _short(record.key)
        if key in self._keys:
            return False
        self._keys.add(key)
        self.endings[solver.name, record.status] += 1
        self.recent.append(replace(record, plan=None, proof=None, events=()))
        if record.status in (Ending.DECLINED, Ending.ERROR, Ending.INVALID):
            violations = () if record.judged is None else record.judged.violations
            said = record.error or ", ".join(violations)
            self.faults.setdefault((solver.name, record.status), f"{record.instance.name}: {said}")
        return True


def _run_of(content: str, options: Mapping[str, object], solver: str, seed: int) -> bytes:
    """Identifies a run before its problem is read."""
    return _short(f"{content}/{solver}/{seed}/{hash_of(options)}")


def _short(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()


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
        return self.whole(run).plan

    def whole(self, run: Run) -> Record:
        """The record with its plan and its proof."""
        with self.path.open("rb") as file:
            file.seek(run.place)
            return from_line(file.readline())


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
        """The record without its plan and its proof, and with shared parts."""
        instance = self._instances.setdefault(repr(record.instance), record.instance)
        solver = self._solvers.setdefault(repr(record.solver), record.solver)
        return replace(record, plan=None, proof=None, instance=instance, solver=solver)


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
