"""Where solves take place: in children of this server, or on a cluster that looks the same from here."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from memstow.api.workers.isolated_run import Watch
from memstow.planner.processes.frames import Message


class Place(Protocol):
    """Runs operations, each in a child of its own, from as many threads as wanted."""

    on_killed: Callable[[str], None]
    """Told why, whenever there was no answer."""

    def prepare(self) -> None:
        """There will be something to run."""

    def run(self, what: str, arguments: Mapping[str, Any], watch: Watch) -> Message:
        """What the operation returns; its own errors, or ChildError when there was no answer."""

    def close(self) -> None:
        """End what runs."""
