"""Runs that one child does one after another, as it tells of them: what came of each, and its time limit."""

import time
from collections.abc import Sequence
from typing import Any, Final

from memstow.planner.bench.records.make_record import Heard, record_of
from memstow.planner.bench.records.record import to_line
from memstow.planner.processes.frames import GarbageError, Message

# Reading or judging a problem of a million buffers takes half a minute where nothing else runs.
_READING_SECONDS: Final = 600.0
# A run that is to end by the clock may be so late, whoever solves, before it is killed: seconds, a share of
# its time, and seconds for each buffer.
_LATE_SECONDS: Final = 1.0
_LATE_SHARE: Final = 0.25
_LATE_PER_BUFFER: Final = 50e-6
# A deterministic run is bounded in work and not in time: a limit for what never ends.
_ENDLESS_SECONDS: Final = 3600.0


class Course:
    """The run that a child is at, and the results of those before."""

    def __init__(self, runs: Sequence[Message], cpu_before: float) -> None:
        self._runs = runs
        self.results: list[Message] = []
        self.cpu_before = cpu_before
        """Processor seconds of the child when the run that it is at began."""
        self._start()

    def hear(self, message: Message) -> None:
        """Take in what a child tells."""
        match message["kind"]:
            case "told":
                for each in message["messages"]:
                    self._hear(each)
            case "done":
                pass
            case kind:
                raise GarbageError(f"a message of kind {kind!r}")

    def end(self, over: Message) -> None:
        """The run that the child was at is over."""
        result: Message = {"seconds": self.seconds}
        if "unreadable" in over:
            result["unreadable"] = over["unreadable"]
        else:
            # Bytes travel as they are: as a part of other JSON it would be written and read once more.
            request = self._runs[len(self.results)]
            result["line"] = to_line(record_of(request, self._heard, over)).encode()
        self.results.append(result)
        self._start()

    @property
    def complete(self) -> bool:
        """Whether every run is over."""
        return len(self.results) == len(self._runs)

    @property
    def seconds(self) -> float:
        """How long the run that the child is at has taken so far."""
        return time.monotonic() - self._begin

    def _start(self) -> None:
        self._heard = Heard()
        self._begin = time.monotonic()
        self.until = self._begin + _READING_SECONDS
        """When the run is to be over at the latest, on the monotonic clock."""

    def _hear(self, message: Message) -> None:
        match message["kind"]:
            case "problem":
                options = self._runs[len(self.results)]["asked"]["options"]
                self.until = time.monotonic() + _limit(options, message["features"]["buffers"])
            case "judging":
                self.until = time.monotonic() + _READING_SECONDS
            case "over":
                self.cpu_before = message["cpu_total"]
                self.end(message)
                return
        self._heard.hear(message)


def _limit(options: dict[str, Any], buffers: int) -> float:
    if options.get("deterministic"):
        return _ENDLESS_SECONDS
    limit: float = options["time_limit"]
    return limit + _LATE_SECONDS + _LATE_SHARE * limit + _LATE_PER_BUFFER * buffers
