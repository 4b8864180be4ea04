"""The folder of the temporary files of a server: removed at its end, or when the next server starts."""

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

import structlog

_PREFIX: Final = "memstow-server-"
_LOCK: Final = "in-use"

log = structlog.get_logger("memstow.service")


class Scratch:
    """A folder that belongs to this process as long as it lives, whatever ends it."""

    def __init__(self, parent: Path | None = None) -> None:
        self._path, self._lock = _locked_folder(parent)
        self._closed = False

    @property
    def path(self) -> Path:
        """The folder, made again if something that tidies up has removed it."""
        self._path.mkdir(mode=0o700, exist_ok=True)
        return self._path

    def close(self) -> None:
        """Remove the folder. May be called twice."""
        shutil.rmtree(self._path, ignore_errors=True)
        if not self._closed:
            self._closed = True
            os.close(self._lock)


def _locked_folder(parent: Path | None) -> tuple[Path, int]:
    """A new folder and the lock on it.

    The lock ends with the process, also where process ids mean nothing to each other, as in containers.
    """
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / _LOCK).exists():
            return folder, lock
        # Another server that starts took it for abandoned before the lock was there.
        os.close(lock)


def remove_abandoned(parent: Path | None = None) -> int:
    """Remove the folders of servers that were killed, and return how many there were."""
    removed = 0
    for folder in (parent or Path(tempfile.gettempdir())).glob(f"{_PREFIX}*"):
        removed += _remove_if_abandoned(folder)
    if removed:
        log.info("removed_abandoned_folders", count=removed)
    return removed


def _remove_if_abandoned(folder: Path) -> bool:
    """Remove a folder of ours that nobody uses. One that is just being made has no lock yet."""
    with contextlib.suppress(OSError):
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            return False
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
            return True
        finally:
            os.close(lock)
    return False
