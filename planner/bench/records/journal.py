"""The results of a bench as they come: a line each, whole or mended, each run once, whenever it was ended."""

import fcntl
import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum, auto
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any, Final

from memstow.planner.bench.records.folder import PATHS
from memstow.planner.bench.records.record import RESULTS, RecordError, from_line, hash_of, key_of
from memstow.planner.bench.runs.task import Task
from memstow.planner.model.errors import InputError, MemstowError

_SYNC_SECONDS: Final = 1.0
_PIECE: Final = 1 << 16


class InterruptedBenchError(MemstowError):
    """The bench cannot go on now. Its results stay, and it can be resumed."""


class Known(Enum):
    """Since when there is a result."""

    BEFORE = auto()
    """Since before the file was opened."""
    MEANWHILE = auto()
    """Another instance turned out to be the same problem."""


class Journal:
    """`results.jsonl` of a folder, opened to be added to by one run at a time."""

    def __init__(self, folder: Path, resume: bool) -> None:
        self._path = folder / RESULTS
        self._new_folders = [place for place in (folder, *folder.parents) if not place.exists()]
        self._new_files = [path for path in (self._path, folder / PATHS) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        self._file: IO[bytes] = self._path.open("a+b", buffering=0)
        self._keys: set[bytes] = set()
        self._runs: dict[bytes, Known] = {}
        self._same: dict[str, str] = {}
        self.endings: Counter[tuple[str, str]] = Counter()
        """How many results there are, by solver and status."""
        self._synced = time.monotonic()
        try:
            self._claim()
            self._mend()
            self._read(resume)
        except BaseException:
            self._file.close()
            raise

    def known(self, task: Task) -> Known | None:
        """Whether there is a result of this run, and since when."""
        options, asked = task.asked.player("").options, task.asked
        known = self._runs.get(_run_of(task.content, options, asked.name, task.seed))
        if known is None and (digest := self._same.get(task.content)) is not None:
            key = _short(key_of(digest, asked.name, task.seed, options))
            return Known.MEANWHILE if key in self._keys else None
        return known

    def add(self, line: str) -> bool:
        """Write a record; False where there is one of its key: problems of two files may be the same."""
        values = json.loads(line)
        if not self._note(values, Known.MEANWHILE):
            self._same[values["instance"]["content"]] = values["instance"]["digest"]
            return False
        with self._as_lost():
            data = memoryview(line.encode() + b"\n")
            while data:
                data = data[self._file.write(data) or 0 :]
            if time.monotonic() >= self._synced + _SYNC_SECONDS:
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()
        return True

    def close(self) -> None:
        """Have all of it on the disk, and let another run go on; of a run without a result nothing stays."""
        with self._as_lost():
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
    def _as_lost(self) -> Iterator[None]:
        """A disk that takes nothing more, as it is told."""
        try:
            yield
        except OSError as error:
            raise InterruptedBenchError(f"{self._path}: {error.strerror or error}") from None

    def _claim(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise MemstowError(f"{self._path}: another run is writing to it") from None

    def _mend(self) -> None:
        """Cut off what a killed run has left of its last line."""
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
                from_line(line)
            except RecordError as error:
                raise InputError.single("not_a_record", f"{self._path}, line {number}", str(error)) from None
            self._note(json.loads(line), Known.BEFORE)

    def _note(self, values: dict[str, Any], known: Known) -> bool:
        solver = values["solver"]
        run = _run_of(values["instance"]["content"], solver["options"], solver["name"], values["seed"])
        self._runs.setdefault(run, known)
        key = _short(values["key"])
        if key in self._keys:
            return False
        self._keys.add(key)
        self.endings[solver["name"], values["status"]] += 1
        return True


def _run_of(content: str, options: dict[str, Any], solver: str, seed: int) -> bytes:
    """A run as it can be told before the problem is read."""
    return _short(f"{content}/{solver}/{seed}/{hash_of(options)}")


def _short(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()
