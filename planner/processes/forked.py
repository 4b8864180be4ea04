"""A child forked from this process, which has all it needs in memory already: it is there in milliseconds.

Only for a process of one thread: a lock that another thread holds then would never open in the child.
"""

import contextlib
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from memstow.planner.processes.process import Group

# Bytes in a unit of `ru_maxrss`.
MAXRSS_UNIT: Final = 1 if sys.platform == "darwin" else 1024
_FAILED = 70
_MOST_FILES = 4096


@dataclass(frozen=True, slots=True)
class Usage:
    """What a child and all that it waited for have used."""

    cpu_seconds: float
    peak_memory: int


class Forked(Group):
    """A child in a session of its own that runs `serve(events)`, with requests at its standard input."""

    def __init__(self, serve: Callable[[int], None]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="memstow-"))
        self.events, told = os.pipe()
        asked, self.requests = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _live(serve, asked, told, self.folder)
        os.close(told)
        os.close(asked)
        os.set_blocking(self.requests, False)
        os.set_blocking(self.events, False)
        self.status: int | None = None
        """Once it is closed: its exit status, or less the number of the signal that ended it."""
        self.usage = Usage(0.0, 0)

    @property
    def id(self) -> int:
        """The process id, which is also the id of its group."""
        return self._pid

    def alive(self) -> bool:
        """Whether it has not ended yet. It is not reaped, so that its id stays its own."""
        return self.status is None and self._ended() is None

    def ending(self, within: float) -> str:
        """How it ended, for people: waits up to this many seconds for that."""
        end = time.monotonic() + within
        while self.alive() and time.monotonic() < end:
            time.sleep(0.001)
        ended = self._ended()
        if ended is None:
            return "closed its pipe"
        if ended.si_code == os.CLD_EXITED:
            return f"ended with status {ended.si_status}"
        return f"killed by signal {ended.si_status}"

    def close(self) -> None:
        """Kill the group, reap it, close the pipes, remove the folder. May be called twice."""
        if self.status is not None:
            return
        self._kill()
        # A child this young may not lead a group yet. It is not reaped, so the id is its own.
        os.kill(self._pid, signal.SIGKILL)
        _, status, used = os.wait4(self._pid, 0)
        self.status = os.waitstatus_to_exitcode(status)
        self.usage = Usage(used.ru_utime + used.ru_stime, used.ru_maxrss * MAXRSS_UNIT)
        os.close(self.events)
        os.close(self.requests)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _ended(self) -> Any:
        with contextlib.suppress(ChildProcessError):
            return os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return None


def _live(serve: Callable[[int], None], asked: int, told: int, folder: Path) -> None:
    """All that happens in the child: it never returns to what its parent was about to do."""
    try:
        os.setsid()
        os.dup2(asked, 0)
        # The pipes of the parent would seem open for as long as this child lives.
        os.closerange(3, told)
        os.closerange(told + 1, _MOST_FILES)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.close(null)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.environ.update(TMPDIR=str(folder), MEMSTOW_FOLDER=str(folder))
        tempfile.tempdir = None
        os.chdir(folder)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        serve(told)
        os._exit(0)
    finally:
        os._exit(_FAILED)
