"""A child forked from this process: it starts in milliseconds, with everything imported already.

Only for a process with a single thread: a lock held by another thread would stay locked in the child.
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
from typing import Final

from memstow.planner.processes import folder
from memstow.planner.processes.process import Group

# Bytes in a unit of `ru_maxrss`.
MAXRSS_UNIT: Final = 1 if sys.platform == "darwin" else 1024
_FAILED = 70
_MOST_FILES = 4096


@dataclass(frozen=True, slots=True)
class Usage:
    """Resources used by a child and the processes that it waited for."""

    cpu_seconds: float
    peak_memory: int


class ForkedProcess(Group):
    """A child in a session of its own that runs `serve(events)`, with requests at its standard input."""

    def __init__(self, serve: Callable[[int], None]) -> None:
        self.folder = folder.new_name()
        self.events, events = os.pipe()
        requests, self.requests = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _run_child(serve, requests, events, self.folder)
        os.close(events)
        os.close(requests)
        os.set_blocking(self.requests, False)
        os.set_blocking(self.events, False)
        self.status: int | None = None
        """Set by `close`: the exit status, or the number of the signal that killed it, negated."""
        self.usage = Usage(0.0, 0)

    @property
    def id(self) -> int:
        """The process id, which is also the id of its group."""
        return self._pid

    def alive(self) -> bool:
        """Whether it still runs. This does not reap it, so its id is not reused."""
        return self.status is None and self._exit_info() is None

    def ending(self, within: float) -> str:
        """Wait up to this many seconds for its end, and describe how it ended."""
        end = time.monotonic() + within
        while self.alive() and time.monotonic() < end:
            time.sleep(0.001)
        info = self._exit_info()
        if info is None:
            return "closed its pipe"
        if info.si_code == os.CLD_EXITED:
            return f"ended with status {info.si_status}"
        return f"killed by signal {info.si_status}"

    def close(self) -> None:
        """Kill the group, reap it, close the pipes, remove the folder. May be called twice."""
        if self.status is not None:
            return
        self._kill()
        # A new child may not lead a group yet. It is not reaped, so the id is still its own.
        os.kill(self._pid, signal.SIGKILL)
        _, status, usage = os.wait4(self._pid, 0)
        self.status = os.waitstatus_to_exitcode(status)
        self.usage = Usage(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * MAXRSS_UNIT)
        os.close(self.events)
        os.close(self.requests)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _exit_info(self) -> os.waitid_result | None:
        with contextlib.suppress(ChildProcessError):
            return os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return None


def _run_child(serve: Callable[[int], None], requests: int, events: int, own: Path) -> None:
    """The whole life of the child: this never returns to the code of the parent."""
    try:
        os.setsid()
        os.dup2(requests, 0)
        # Otherwise the pipes of the parent would stay open as long as this child lives.
        os.closerange(3, events)
        os.closerange(events + 1, _MOST_FILES)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.close(null)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.environ.update(folder.variables(own))
        tempfile.tempdir = None
        folder.move_in()
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        serve(events)
        os._exit(0)
    finally:
        os._exit(_FAILED)
