"""The parent's side of a child: start it or fork it, exchange messages, and end all of it in any case."""

import contextlib
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from memstow.planner.processes import child_side
from memstow.planner.processes.frames import GarbageError, Message, Reader, parts_of

# Seconds that the caller waits for the end of a killed child; after that a thread waits for it.
_REAP_SECONDS = 0.05
_DESCENDANTS_SECONDS = 0.02
_reapers: list[threading.Thread] = []


class Group(ABC):
    """A child that leads a process group, with its pipes and its temporary folder."""

    child_side: Path
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
        return sum(map(resident, (self.id, *_descendants(self.id)))) if self.alive() else 0

    def waited(self) -> float:
        """Seconds that a thread of it was ready and had no processor; 0 if the system does not say.

        It may wait for a descendant that has none: of all threads, the one that waited longest counts.
        """
        if not self.alive():
            return 0.0
        return max(
            (wait for process in (self.id, *_descendants(self.id)) for wait in _waits(process)), default=0.0
        )

    def _kill(self) -> None:
        if not self.alive():
            # Its descendants may still be in its group.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.id, signal.SIGKILL)
            return
        # Descendants go first, so that the child can reap them: where nobody reaps orphans they would stay.
        # Again and again: one may have started another, and a child that adopts orphans gets more of them.
        end = time.monotonic() + _DESCENDANTS_SECONDS
        while descendants := list(_descendants(self.id)):
            _kill_with_groups(descendants, but=self.id)
            if time.monotonic() >= end or not self.alive():
                break
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
        self.folder = child_side.new_folder_name(parent)
        self.events, events = os.pipe()
        try:
            arguments = [part.replace("{events}", str(events)) for part in command]
            # The environment of this process, with the temporary folder and the same import path.
            paths = [path or os.getcwd() for path in sys.path]
            self._popen = subprocess.Popen(  # noqa: S603
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={
                    **os.environ,
                    **child_side.folder_variables(self.folder),
                    "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
                    "PYTHONDONTWRITEBYTECODE": "1",
                    "PYTHONWARNINGS": "ignore",
                },
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


def child_command(module: str, *words: str, python: str = sys.executable) -> list[str]:
    """The command that starts a child of this module; `Process` fills in `{events}`, its last word."""
    # -P: where the caller happens to be, there may be files of any name; that is no place to import from.
    return [python, "-P", "-m", module, *words, "{events}"]


def wait_for_reapers(seconds: float) -> None:
    """Wait up to this many seconds for the end of killed children: their resource use is known only then."""
    end = time.monotonic() + seconds
    for reaper in _reapers:
        reaper.join(max(end - time.monotonic(), 0.0))
    _reapers[:] = [reaper for reaper in _reapers if reaper.is_alive()]


def _kill_with_groups(processes: Sequence[int], but: int) -> None:
    """Kill these processes, and what is in groups that they have made, but in the group `but`.

    A group dies as one: of processes that each start the next and end, none is caught by its id.
    """
    session, ours = os.getsid(0), {os.getpgrp(), but}
    groups: set[int] = set()
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            group = os.getpgid(process)
            if group not in ours and (group in processes or os.getsid(process) != session):
                groups.add(group)
            os.kill(process, signal.SIGKILL)
    for group in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


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


def resident(process: int) -> int:
    """Bytes of memory that a process has now; 0 where the system does not tell."""
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


# Bytes in a unit of `ru_maxrss`.
MAXRSS_UNIT: Final = 1 if sys.platform == "darwin" else 1024
_FAILED = 70
_MOST_FILES = 4096


@dataclass(frozen=True, slots=True)
class Usage:
    """Resources used by a child and the processes that it waited for."""

    cpu_seconds: float
    peak_memory: int


# A process may start another just before it is killed, and that one another; some cannot be killed.
_MOST_GENERATIONS: Final = 100


def end_children() -> Usage:
    """Kill all that is below this process, in whichever group, and return what that used.

    For one that adopts orphans: those whose parents have ended are its children then.
    """
    seconds, memory = 0.0, 0
    for _ in range(_MOST_GENERATIONS):
        below = children(os.getpid())
        if not below:
            break
        _kill_with_groups(below, but=os.getpgrp())
        for child in below:
            with contextlib.suppress(ProcessLookupError, ChildProcessError, PermissionError):
                used = os.wait4(child, 0)[2]
                seconds += used.ru_utime + used.ru_stime
                memory = max(memory, used.ru_maxrss * MAXRSS_UNIT)
    return Usage(seconds, memory)


class ForkedProcess(Group):
    """A child in a session of its own that runs `serve(events)`, with requests at its standard input."""

    def __init__(self, serve: Callable[[int], None]) -> None:
        self.folder = child_side.new_folder_name()
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
        os.environ.update(child_side.folder_variables(own))
        tempfile.tempdir = None
        child_side.move_into_folder()
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        serve(events)
        os._exit(0)
    finally:
        os._exit(_FAILED)


OUT_OF_TIME: Final = "out of time"
"""Why a session ended that had come to its time limit."""

_TICK = 0.02
_MEMORY_SECONDS = 0.05
_PIECE = 1 << 20
# A child that has closed its pipe is about to end: waiting this long for its exit status.
_LEAST_ENDING_SECONDS, _MOST_ENDING_SECONDS = 0.2, 2.0


class EndedError(Exception):
    """The session ended without the child's last message."""


class MemoryLimitError(EndedError):
    """The child used more memory than allowed."""


class Session:
    """A request and its messages. The owner's `look` is called in between, and may end it by an exception."""

    def __init__(
        self,
        process: Group,
        request: Message,
        memory: int,
        hear: Callable[[Message], None],
        look: Callable[[float], None],
    ) -> None:
        self.until: float | None = None  # when `look` is called at the latest, on the monotonic clock
        self.rest = 0.0  # seconds to wait after a message for more of them, which then come together
        self._process = process
        # Each part goes when it is sent: one that was a large body is not kept for the whole session.
        self._unsent: deque[memoryview] = deque()
        self._memory = memory
        self._hear = hear
        self._look = look
        self._reader = Reader()
        # A child that has just got its request cannot have used much.
        self._memory_at = time.monotonic() + _MEMORY_SECONDS
        self._poll = select.poll()
        self._poll.register(process.events, select.POLLIN)
        self.say(request)

    def say(self, message: Message) -> None:
        """Send a message as soon as the pipe has room."""
        self._unsent += (memoryview(part) for part in parts_of(message) if part)
        self._poll.register(self._process.requests, select.POLLOUT)

    def run(self) -> Message:
        """Receive every message up to `done`, which is returned; EndedError if it does not come."""
        while True:
            now = time.monotonic()
            self._look(now)
            self._check_memory(now)
            wait = _TICK if self.until is None else min(_TICK, max(self.until - now, 0.0))
            for pipe, _ in self._poll.poll(wait * 1000):
                if pipe == self._process.requests:
                    self._send()
                    continue
                done = self._receive()
                if done is not None:
                    return done
                if self.rest:
                    time.sleep(self.rest)

    def _check_memory(self, now: float) -> None:
        if now < self._memory_at:
            return
        self._memory_at = now + _MEMORY_SECONDS
        used = self._process.memory()
        if used > self._memory:
            message = f"used {used >> 20} MiB of memory; {self._memory >> 20} are allowed"
            raise MemoryLimitError(message)

    def _send(self) -> None:
        """Send a piece. A broken pipe means that the child has ended, as its other pipe will show."""
        part = self._unsent.popleft()
        try:
            rest = part[os.write(self._process.requests, part[:_PIECE]) :]
        except BlockingIOError:
            rest = part
        except BrokenPipeError:
            rest = memoryview(b"")
            self._unsent.clear()
        if rest:
            self._unsent.appendleft(rest)
        if not self._unsent:
            self._poll.unregister(self._process.requests)

    def _time_to_end(self) -> float:
        if self.until is None:
            return _MOST_ENDING_SECONDS
        return min(max(self.until - time.monotonic(), _LEAST_ENDING_SECONDS), _MOST_ENDING_SECONDS)

    def _receive(self) -> Message | None:
        """Receive a piece; the message `done` if it is complete."""
        try:
            data = os.read(self._process.events, _PIECE)
        except BlockingIOError:
            return None
        except OSError:
            raise EndedError("closed by this process") from None
        if not data:
            raise EndedError(f"the child {self._process.ending(self._time_to_end())}")
        try:
            for message in self._reader.feed(data):
                self._hear(message)
                if message["kind"] == "done":
                    return message
        except GarbageError as error:
            raise EndedError(f"the child sent garbage: {error}") from None
        return None


@dataclass(frozen=True, slots=True)
class Terms:
    """The limits of a session."""

    until: float | None  # on the monotonic clock
    memory: int
    cancelled: Callable[[], bool]


def converse(process: Process, request: Message, terms: Terms, hear: Callable[[Message], None]) -> str | None:
    """Receive messages up to `done`, then end the child; the reason if it ended without that message."""

    def look(now: float) -> None:
        if terms.until is not None and now >= terms.until:
            raise EndedError(OUT_OF_TIME)
        if terms.cancelled():
            raise EndedError("told to stop")

    session = Session(process, request, terms.memory, hear, look)
    session.until = terms.until
    try:
        session.run()
    except EndedError as error:
        return str(error)
    finally:
        process.close()
    return None


def ask_child(module: str, request: Message, memory: int, seconds: float) -> Message:
    """The one answer of a new child of this module; where there is none, its `failure` says why."""
    answers: list[Message] = []
    ended = converse(
        Process(child_command(module)),
        {**request, "memory": memory, "seconds": seconds},
        Terms(time.monotonic() + seconds, memory, lambda: False),
        answers.append,
    )
    return answers[-1] if ended is None else {"failure": ended}
