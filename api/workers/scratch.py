"""The folder for the temporary files of a server's children: removed at its end, or when the next server starts."""

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
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        # The lock ends with the process, also where process ids mean nothing to each other, as in containers.
        self._lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def remove_abandoned(parent: Path | None = None) -> int:
    """Remove the folders of servers that were killed, and return how many there were."""
    removed = 0
    for folder in (parent or Path(tempfile.gettempdir())).glob(f"{_PREFIX}*"):
        if _abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
    if removed:
        log.info("removed_abandoned_folders", count=removed)
    return removed


def _abandoned(folder: Path) -> bool:
    """Whether a folder of ours is in use by nobody. One that is just being made has no lock yet."""
    with contextlib.suppress(OSError):
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            return False
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Of a folder whose owner was about to lock it, this is another file by now.
            return True
        finally:
            os.close(lock)
    return False
