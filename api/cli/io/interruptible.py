"""A long call that Ctrl-C ends early, with the result so far.

The call runs in a thread of its own and the main thread waits, so that a signal is handled at once: Python
runs signal handlers in the main thread only, and only between two steps of Python code.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Generic, TypeVar

from memstow.api.cli.exit_codes import Exit
from memstow.api.cli.io.progress import REDRAW_SECONDS, Line

Result = TypeVar("Result")


class Interruptible(Generic[Result]):
    """Runs `work(cancel)`; the first Ctrl-C sets `cancel`, the second ends the process at once."""

    def __init__(self, work: Callable[[threading.Event], Result]) -> None:
        self._work = work
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
        # A daemon: the second Ctrl-C must not wait for it.
        thread = threading.Thread(target=self._in_thread, name="memstow-solve", daemon=True)
        with self._ctrl_c_cancels():
            thread.start()
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
