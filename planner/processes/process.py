"""One child process, its pipes and its folder, from the start to the last trace."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path

# How long a child may take to be gone before the caller is let go and a thread waits for it instead.
_REAP_SECONDS = 0.05
_FAREWELL_SECONDS = 0.02
_PREFIX = "memstow-"
_graves: list[threading.Thread] = []


class Group(ABC):
    """A child that leads a process group, its pipes and its temporary folder."""

    folder: Path
    events: int
    requests: int

    @property
    @abstractmethod
    def id(self) -> int:
        """The process id, which is also the id of its group."""

    @abstractmethod
    def alive(self) -> bool:
        """Whether it has not ended yet."""

    @abstractmethod
    def ending(self, within: float) -> str:
        """How it ended, for people: waits up to this many seconds for that."""

    def memory(self) -> int:
        """Resident bytes of the child and what it started; 0 where the system does not tell."""
        return sum(map(_resident, (self.id, *_descendants(self.id)))) if self.alive() else 0

    def _kill(self) -> None:
        if not self.alive():
            # It led its group; what it started and left behind is still in it.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.id, signal.SIGKILL)
            return
        # What it started goes first, so that it can reap it: where nobody reaps orphans they would stay.
        started = list(_descendants(self.id))
        for process in started:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        end = time.monotonic() + _FAREWELL_SECONDS
        while started and time.monotonic() < end and self.alive() and any(_descendants(self.id)):
            time.sleep(0.001)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.id, signal.SIGKILL)


class Process(Group):
    """A child started anew in a session of its own."""

    def __init__(self, command: Sequence[str]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self.events, theirs = os.pipe()
        try:
            arguments = [part.replace("{events}", str(theirs)) for part in command]
            self._popen = subprocess.Popen(  # noqa: S603
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=self.folder,
                env=_environment(self.folder),
                pass_fds=(theirs,),
                start_new_session=True,
            )
        except BaseException:
            os.close(self.events)
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        finally:
            os.close(theirs)
        assert self._popen.stdin is not None  # noqa: S101
        self.requests = self._popen.stdin.fileno()
        os.set_blocking(self.requests, False)
        os.set_blocking(self.events, False)
        self._closed = False

    @property
    def id(self) -> int:
        """The process id, which is also the id of its group."""
        return self._popen.pid

    def alive(self) -> bool:
        """Whether it has not ended yet."""
        return self._popen.poll() is None

    def ending(self, within: float) -> str:
        """How it ended, for people: waits up to this many seconds for that."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._popen.wait(within)
            return f"killed by signal {-code}" if code < 0 else f"ended with status {code}"
        return "closed its pipe"

    def close(self, wait: float = _REAP_SECONDS) -> None:
        """Kill the group, wait for its end, close the pipes, remove the folder. May be called twice."""
        if self._closed:
            return
        self._closed = True
        self._kill()
        with contextlib.suppress(OSError):
            assert self._popen.stdin is not None  # noqa: S101
            self._popen.stdin.close()
        os.close(self.events)
        try:
            self._popen.wait(wait)
        except subprocess.TimeoutExpired:
            # The kernel is still freeing its memory: nobody has to wait for that.
            grave = threading.Thread(target=self._bury, daemon=True)
            _graves.append(grave)
            grave.start()
        # At once in any case: this process may end before that one does.
        shutil.rmtree(self.folder, ignore_errors=True)

    def _bury(self) -> None:
        self._popen.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def wait_for_killed(seconds: float) -> None:
    """Wait, at most so long, until what was killed and let go is gone: only then it is known what it used."""
    end = time.monotonic() + seconds
    for grave in _graves:
        grave.join(max(end - time.monotonic(), 0.0))
    _graves[:] = [grave for grave in _graves if grave.is_alive()]


def _environment(folder: Path) -> dict[str, str]:
    """Ours, with the temporary folder, and what is importable here importable there."""
    paths = [path or os.getcwd() for path in sys.path]
    return {
        **os.environ,
        "TMPDIR": str(folder),
        "MEMSTOW_FOLDER": str(folder),
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONWARNINGS": "ignore",
    }


def _descendants(process: int) -> Iterator[int]:
    for child in children(process):
        yield child
        yield from _descendants(child)


def children(process: int) -> list[int]:
    """Processes that it started and that nobody has reaped; none where the system does not tell."""
    found: list[int] = []
    with contextlib.suppress(OSError, ValueError):
        for task in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{task}/children") as file:
                found += map(int, file.read().split())
    return found


def _resident(process: int) -> int:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
