"""The file of results: a line a run, appended as runs end; repaired after a crash, each run once."""

import fcntl
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import Enum, auto
from hashlib import blake2b
from pathlib import Path
from typing import IO, Final

from memstow.planner.bench.records.folder import COMMANDS, PATHS
from memstow.planner.bench.records.record import RESULTS, Record, RecordError, from_line, hash_of, key_of
from memstow.planner.bench.runs.task import Task
from memstow.planner.model.errors import InputError, MemstowError

_SYNC_SECONDS: Final = 1.0
_PIECE: Final = 1 << 16


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
        return True


def _run_of(content: str, options: Mapping[str, object], solver: str, seed: int) -> bytes:
    """Identifies a run before its problem is read."""
    return _short(f"{content}/{solver}/{seed}/{hash_of(options)}")


def _short(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()
