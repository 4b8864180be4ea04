"""A progress line on standard error.

The waiting main thread draws it, so it does not slow down the run.
"""

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, TextIO

from memstow.api.cli.io.terminal import columns

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
        return "  ".join([*parts, self._phase, f"{elapsed:.1f} s"])
