"""A child process, its pipes and its temporary folder, from its start until all of it is removed."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path

from memstow.planner.processes import folder

# Seconds that the caller waits for the end of a killed child; after that a thread waits for it.
_REAP_SECONDS = 0.05
_DESCENDANTS_SECONDS = 0.02
_reapers: list[threading.Thread] = []


class Group(ABC):
    """A child that leads a process group, with its pipes and its temporary folder."""

    folder: Path
    events: int
    requests: int

    @property
    @abstractmethod
    def id(self) -> int:
        """The process id, which is also the id of its group."""

    @abstractmethod
    def alive(self) -> bool:
        """Whether it still runs."""

    @abstractmethod
    def ending(self, within: float) -> str:
        """Wait up to this many seconds for its end, and describe how it ended."""

    def memory(self) -> int:
        """Resident bytes of the child and its descendants; 0 where the system does not report them."""
        return sum(map(_resident, (self.id, *_descendants(self.id)))) if self.alive() else 0

    def waited(self) -> float:
        """Seconds that a thread of it was ready and had no processor; 0 if the system does not say.

        It may wait for a descendant that has none: of all threads, the one that waited longest counts.
        """
        if not self.alive():
            return 0.0
        return max(
            (it for process in (self.id, *_descendants(self.id)) for it in _waits(process)), default=0.0
        )

    def _kill(self) -> None:
        if not self.alive():
            # Its descendants may still be in its group.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.id, signal.SIGKILL)
            return
        # Descendants go first, so that the child can reap them: where nobody reaps orphans they would stay.
        descendants = list(_descendants(self.id))
        for process in descendants:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        end = time.monotonic() + _DESCENDANTS_SECONDS
        while descendants and time.monotonic() < end and self.alive() and any(_descendants(self.id)):
            time.sleep(0.001)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.id, signal.SIGKILL)


class Process(Group):
    """A child started from a command, in a process group of its own.

    It stays in the session: where the system shares processors between sessions (autogroups of Linux), a
    lower priority counts within a session only.
    """

    def __init__(self, command: Sequence[str], parent: Path | None = None) -> None:
        """Start it; it is to make its temporary folder in `parent`, or where the system has such folders."""
        self.folder = folder.new_name(parent)
        self.events, events = os.pipe()
        try:
            arguments = [part.replace("{events}", str(events)) for part in command]
            self._popen = subprocess.Popen(  # noqa: S603
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=_environment(self.folder),
                pass_fds=(events,),
                process_group=0,
            )
        except BaseException:
            os.close(self.events)
            raise
        finally:
            os.close(events)
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
        """Whether it still runs."""
        return self._popen.poll() is None

    def ending(self, within: float) -> str:
        """Wait up to this many seconds for its end, and describe how it ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._popen.wait(within)
            return f"killed by signal {-code}" if code < 0 else f"ended with status {code}"
        return "closed its pipe"

    def close(self, wait: float = _REAP_SECONDS) -> None:
        """Kill the group, wait for its end, close the pipes, remove the folder. May be called twice."""
        if self._closed:
            return
        self._closed = True
        # A child that is killed leaves its folder, and this process may end before it has seen the child end.
        shutil.rmtree(self.folder, ignore_errors=True)
        try:
            self._kill()
        finally:
            with contextlib.suppress(OSError):
                assert self._popen.stdin is not None  # noqa: S101
                self._popen.stdin.close()
            os.close(self.events)
            self._wait_and_remove_folder(wait)

    def _wait_and_remove_folder(self, wait: float) -> None:
        try:
            self._popen.wait(wait)
        except subprocess.TimeoutExpired:
            # The kernel is still freeing its memory; the caller does not have to wait for that.
            reaper = threading.Thread(target=self._reap, daemon=True)
            try:
                reaper.start()
            except RuntimeError:
                # No more threads may be started.
                self._popen.wait()
            else:
                _reapers.append(reaper)
        finally:
            # Not left to the thread: this process may end before the child does.
            shutil.rmtree(self.folder, ignore_errors=True)

    def _reap(self) -> None:
        self._popen.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def wait_for_reapers(seconds: float) -> None:
    """Wait up to this many seconds for the end of killed children: their resource use is known only then."""
    end = time.monotonic() + seconds
    for reaper in _reapers:
        reaper.join(max(end - time.monotonic(), 0.0))
    _reapers[:] = [reaper for reaper in _reapers if reaper.is_alive()]


def _environment(own: Path) -> dict[str, str]:
    """The environment of this process, with the temporary folder and the same import path."""
    paths = [path or os.getcwd() for path in sys.path]
    return {
        **os.environ,
        **folder.variables(own),
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONWARNINGS": "ignore",
    }


def _descendants(process: int) -> Iterator[int]:
    for child in children(process):
        yield child
        yield from _descendants(child)


def children(process: int) -> list[int]:
    """Child processes that are not reaped yet; none where the system does not list them."""
    ids: list[int] = []
    with contextlib.suppress(OSError, ValueError):
        for task in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{task}/children") as file:
                ids += map(int, file.read().split())
    return ids


def _resident(process: int) -> int:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _waits(process: int) -> Iterator[float]:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for task in os.listdir(f"/proc/{process}/task"):
            with contextlib.suppress(FileNotFoundError):
                yield int(Path(f"/proc/{process}/task/{task}/schedstat").read_text().split()[1]) / 1e9
