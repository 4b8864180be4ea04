"""A call of a function on some worker of a cluster, made once or again until it has ended."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from memstow.planner.cluster.needs import Needs
from memstow.planner.model.errors import MemstowError


class NoWorkerError(MemstowError):
    """No worker of the cluster can do this."""


class Ends(Protocol):
    """What is told of a call, in the thread of the cluster."""

    def end(self, result: Any) -> None:
        """The function has returned this."""

    def fail(self, error: Exception) -> None:
        """It has raised this, or NoWorkerError: no worker can do it."""

    def lose(self) -> None:
        """The scheduler is lost, and the call with it."""

    def lose_worker(self, worker: str) -> bool:
        """Its worker is silent or gone. Whether the call is to be made again elsewhere."""


@dataclass(slots=True, eq=False)
class Call:
    """A function with its arguments, which depend on the name of the try."""

    function: Callable[..., Any]
    arguments: Callable[[str], tuple[Any, ...]]
    needs: Needs
    ends: Ends
    begins: bool
    """Whether it tells when it begins. What has not begun may move to a worker that has come."""
    waits_for_version: bool
    """Whether it waits as long as it takes for workers of this version, as it does for any worker."""
    name: str = ""
    """The name of the current try; what earlier ones say does not count."""
    worker: str | None = None
    """The worker that has begun, where this is told."""
    fitting: frozenset[str] = frozenset()
    """The workers that Dask may choose from; none while there are none."""
    future: Any = None
