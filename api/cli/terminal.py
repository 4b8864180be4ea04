"""What a command tells the terminal and the shell: exit codes, errors, a progress line, and Ctrl-C.

A long call runs in a thread of its own; the main thread waits and draws its progress. So a signal is handled
at once: Python runs signal handlers in the main thread only, and only between two steps of Python code.
"""

import os
import signal
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from types import FrameType
from typing import TYPE_CHECKING, Generic, TextIO, TypeVar


class Exit(IntEnum):
    """Exit codes; scripts rely on them, so a number never changes its meaning."""

    DONE = 0
    """A plan was found, or the command succeeded."""
    INVALID = 1
    """`verify`: the plan breaks the problem's constraints; `library`: not all is right, better or reached."""
    USAGE = 2
    """The input or the arguments are wrong."""
    INFEASIBLE = 3
    """Proven infeasible: no plan exists."""
    UNKNOWN = 4
    """Neither a plan nor a proof was found."""
    WORSE = 5
    """`bench compare`, `bench run --interleave`: something got worse."""
    NOT_WORKING = 6
    """`doctor`: something does not work that has to, or that was asked for."""
    DEFECT = 70
    """A defect of memstow itself (EX_SOFTWARE of sysexits)."""
    INTERRUPTED = 130
    """Ctrl-C (128 + SIGINT)."""
    BROKEN_PIPE = 141
    """The reader of the output closed it (128 + SIGPIPE)."""


NARROWEST = 40
WIDEST = 120
USUAL = 80

_PROBE = "░▒▓█▁▇─╱╌━…"


def is_terminal(stream: TextIO) -> bool:
    """Whether the stream is a terminal; False for a closed stream."""
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def draws_unicode(stream: TextIO) -> bool:
    """Whether the encoding of the stream has the characters used in pictures."""
    try:
        _PROBE.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def columns(stream: TextIO) -> int:
    """The width of the terminal within limits, or 80 without a terminal."""
    chosen = os.environ.get("COLUMNS", "")
    if chosen.isdecimal() and int(chosen) > 0:
        width = int(chosen)
    else:
        try:
            width = os.get_terminal_size(stream.fileno()).columns or USUAL
        except (OSError, ValueError, AttributeError):
            width = USUAL
    return max(NARROWEST, min(width, WIDEST))


def print_error(message: str) -> None:
    """Print a message to standard error, unless it is closed."""
    try:
        sys.stderr.write(f"memstow: {message}\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        # With nowhere to print_error, the exit code has to say it all.
        return


if TYPE_CHECKING:
    from memstow.planner.model.options import Event

REDRAW_SECONDS = 0.1


class Line(ABC):
    """A line that is redrawn in place."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._began = time.monotonic()
        self._drawn = 0

    @abstractmethod
    def line(self, elapsed: float) -> str:
        """The text of the line."""

    def draw(self) -> None:
        """Rewrite the line."""
        text = self.line(time.monotonic() - self._began)[: columns(self._stream) - 1]
        self._put("\r" + text.ljust(self._drawn))
        self._drawn = len(text)

    def clear(self) -> None:
        """Erase the line."""
        if self._drawn:
            self._put("\r" + " " * self._drawn + "\r")
            self._drawn = 0

    def _put(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            # The terminal was closed; the run goes on.
            self._drawn = 0


class Progress(Line):
    """Shows the latest value, bound and phase of a run."""

    def __init__(self, stream: TextIO, term: str = "value") -> None:
        super().__init__(stream)
        self._term = term
        self._value: int | None = None
        self._bound: int | None = None
        self._phase = "start"

    def hear(self, event: "Event") -> None:
        """Record the event; called from the thread that solves."""
        from memstow.planner.model.options import Bound, Incumbent, Phase

        match event:
            case Phase():
                self._phase = event.name
            case Incumbent():
                self._value = event.value
            case Bound():
                self._bound = event.value

    def line(self, elapsed: float) -> str:
        """Value, bound, gap, phase and time."""
        from memstow.planner.show.formatting import count, percent, plain

        parts = []
        if self._value is not None:
            parts.append(f"{plain(self._term, most=40)} {count(self._value)}")
        if self._bound is not None:
            parts.append(f"bound {count(self._bound)}")
        if self._value is not None and self._bound is not None:
            gap = (self._value - self._bound) / self._value if self._value > self._bound else 0.0
            parts.append(f"gap {percent(gap)}")
        return "  ".join([*parts, plain(self._phase, most=40), f"{elapsed:.1f} s"])


Result = TypeVar("Result")


class Interruptible(Generic[Result]):
    """Runs `work(cancel)`; the first Ctrl-C sets `cancel`, the second ends the process at once."""

    def __init__(
        self, work: Callable[[threading.Event], Result], before_exit: Callable[[], None] | None = None
    ) -> None:
        """`before_exit` is called before the second Ctrl-C ends the process."""
        self._work = work
        self._before_exit = before_exit
        self._cancel = threading.Event()
        self._done = threading.Event()
        self._result: list[Result] = []
        self._error: BaseException | None = None

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self._cancel.is_set()

    def run(self, progress: Line | None) -> Result:
        """Run the work and return its result, also after Ctrl-C."""
        from memstow.planner.processes.machine import start_thread

        # A daemon: the second Ctrl-C must not wait for it.
        thread = threading.Thread(target=self._in_thread, name="memstow-solve", daemon=True)
        with self._ctrl_c_cancels():
            start_thread(thread)
            if progress is None:
                self._done.wait()
            else:
                while not self._done.wait(REDRAW_SECONDS):
                    progress.draw()
                progress.clear()
        if self._error is not None:
            raise self._error
        return self._result[0]

    def _in_thread(self) -> None:
        try:
            self._result.append(self._work(self._cancel))
        except BaseException as error:
            self._error = error
        finally:
            self._done.set()

    def _on_signal(self, _signal: int, _frame: FrameType | None) -> None:
        if self._cancel.is_set():
            if self._before_exit is not None:
                self._before_exit()
            os._exit(Exit.INTERRUPTED)
        self._cancel.set()

    @contextmanager
    def _ctrl_c_cancels(self) -> Iterator[None]:
        ignored = signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None)
        if ignored or threading.current_thread() is not threading.main_thread():
            # In the background or outside of the main thread, SIGINT is not ours to handle.
            yield
            return
        before = signal.signal(signal.SIGINT, self._on_signal)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
