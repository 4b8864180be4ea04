"""Tells of the points of a front while it is looked for, each together with the front that holds it."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from memstow.api.operations.results import FrontUpdate, PointUpdate, SolveResult
from memstow.planner.front.collected import with_proofs
from memstow.planner.front.documents import write_front
from memstow.planner.model import Status
from memstow.planner.model.front import Front, FrontPoint

if TYPE_CHECKING:
    from memstow.api.operations.solve import OnUpdate

# The front so far holds the plans of all its points: it is told this often at most, and takes this part of
# the time at most.
_SECONDS: Final = 0.5
_PART: Final = 10
_Key = tuple[str | None, tuple[tuple[str, int], ...]]
"""The target, and the values."""


class FrontTeller:
    """Tells of each point once: what an earlier run of the same job has told is known already.

    What comes soon after another is told a little later by a thread, though nothing more may be found.
    """

    def __init__(self, on_update: "OnUpdate", known: Front | None, *, timed: bool) -> None:
        self._on_update = on_update
        self._timed = timed
        self._begin = self._next_at = time.monotonic()
        self._told = {} if known is None else dict(_told(known))
        self._news: list[PointUpdate] = []
        self._so_far: Front | None = None
        self._change = threading.Condition()
        self._over = False
        self._thread = threading.Thread(target=self._tell_later, name="memstow front", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, _kind: object, _error: BaseException | None, _trace: TracebackType | None) -> None:
        with self._change:
            self._over = True
            self._change.notify()
        self._thread.join()

    def seconds(self) -> float:
        """Since the run began; a deterministic run has none."""
        return round(time.monotonic() - self._begin, 6) if self._timed else 0.0

    def tell(self, target: str | None, point: FrontPoint, so_far: Callable[[], Front]) -> None:
        """Tell of a point that was found or proven, in the memories of this target."""
        key = target, tuple(point.values.items())
        earlier = self._told.get(key)
        point = with_proofs(point, earlier)
        if earlier is not None and (earlier.bounds, earlier.proven) == (point.bounds, point.proven):
            return
        self._told[key] = point
        update = PointUpdate(
            values=dict(point.values),
            bounds=dict(point.bounds),
            proven=point.proven,
            seconds=self.seconds(),
            target=target,
        )
        front = so_far()
        with self._change:
            self._news.append(update)
            self._so_far = front
            self._change.notify()

    def _tell_later(self) -> None:
        """Tell what is new, not too often, until the run is over and all is told."""
        while True:
            with self._change:
                while not self._news and not self._over:
                    self._change.wait()
                if not self._over:
                    self._change.wait_for(lambda: self._over, max(self._next_at - time.monotonic(), 0.0))
                news, self._news = self._news, []
                front, over = self._so_far, self._over
            if news and front is not None:
                begin = time.monotonic()
                self._on_update(FrontUpdate(front=result_of(front), points=tuple(news)))
                end = time.monotonic()
                self._next_at = end + max(_SECONDS, (end - begin) * _PART)
            if over:
                return


def result_of(front: Front) -> SolveResult:
    """A front as its bytes, with the figures that the job table has of it: of its first point."""
    first = next(iter(_points(front)), None)
    term = front.terms[0]
    return SolveResult(
        plan=write_front(front, "json"),
        status=_status(front).value,
        value=None if first is None else first.values[term],
        bound=None if first is None else first.bounds.get(term),
        peak=None,
        solver=None,
    )


def _points(front: Front) -> Sequence[FrontPoint]:
    """Of the front, or of the smallest target that has some."""
    return next((it.points for it in front.targets if it.points), front.points)


def _status(front: Front) -> Status:
    if _points(front):
        return Status.OPTIMAL if front.complete else Status.FEASIBLE
    nowhere = all(it.fits == "no" for it in front.targets) if front.targets else front.complete
    return Status.INFEASIBLE if nowhere else Status.UNKNOWN


def _told(front: Front) -> Iterator[tuple[_Key, FrontPoint]]:
    """What was told of the front."""
    for point in front.points:
        yield (None, tuple(point.values.items())), point
    for it in front.targets:
        for point in it.points:
            yield (it.target, tuple(point.values.items())), point
