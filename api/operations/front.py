"""A front as the service finds it: points are told as they come, and the front so far with them."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from memstow.api.operations.documents import document_from
from memstow.api.operations.encoding import front_in, options_from_text, targets_in
from memstow.api.operations.requests import SolveFrontRequest
from memstow.api.operations.results import PointUpdate, SolveResult
from memstow.planner.front.collected import Collected
from memstow.planner.front.documents import read_front, write_front
from memstow.planner.front.front import digest_of, find_front, request_of
from memstow.planner.front.request import FrontCallbacks
from memstow.planner.model.front import Front, FrontPoint
from memstow.planner.model.plan import Status

if TYPE_CHECKING:
    from memstow.api.operations.solve import OnUpdate

# The front so far holds the plans of all its points: it is told this often at most, and takes this part of
# the time at most.
_SECONDS: Final = 0.5
_PART: Final = 10


def solve_front(request: SolveFrontRequest, on_update: "OnUpdate", cancel: threading.Event) -> SolveResult:
    """Find the front, or those of several targets, from what is known of it on."""
    document = document_from(request.problem)
    options = options_from_text(request.options, request.hint)
    asked, targets = front_in(request.options), targets_in(request.options)
    known = _known(request.known_plan, digest_of(document), ignore=options.deterministic)
    callbacks = FrontCallbacks(on_update, cancel)
    teller = _Teller(on_update, options.deterministic)
    if targets:
        from memstow.planner.front.targets import front_of_targets

        start = () if known is None else known.targets
        names = [it.name or "" for it in targets]
        found = front_of_targets(
            document, asked, options, targets, callbacks, names, teller.on_target_point, start
        )
        return result_of(found)
    points = () if known is None else known.points
    wanted = request_of(document, asked, options, points)
    collected = Collected(wanted)
    collected.add(points)

    def so_far() -> Front:
        return Front(
            name=document.name,
            terms=wanted.terms,
            points=collected.points(),
            asked=asked,
            digest=digest_of(document),
            seconds=teller.seconds(),
        )

    def on_point(point: FrontPoint) -> None:
        collected.add([point])
        teller.tell(point, None, so_far)

    return result_of(find_front(document, asked, options, callbacks, on_point, points))


class _Teller:
    """Tells of points, and of the front so far as often as it is worth it."""

    def __init__(self, on_update: "OnUpdate", deterministic: bool) -> None:
        self._on_update = on_update
        self._deterministic = deterministic
        self._begin = self._next_at = time.monotonic()

    def seconds(self) -> float:
        """Since the run began; a deterministic run has none."""
        return 0.0 if self._deterministic else round(time.monotonic() - self._begin, 6)

    def on_target_point(self, target: str, point: FrontPoint, so_far: Callable[[], Front]) -> None:
        """Tell of a point in the memories of a target."""
        self.tell(point, target, so_far)

    def tell(self, point: FrontPoint, target: str | None, so_far: Callable[[], Front]) -> None:
        """Tell of a point."""
        self._on_update(
            PointUpdate(
                values=dict(point.values),
                bounds=dict(point.bounds),
                proven=point.proven,
                seconds=self.seconds(),
                target=target,
            )
        )
        now = time.monotonic()
        if now >= self._next_at:
            self._on_update(result_of(so_far()))
            after = time.monotonic()
            self._next_at = after + max(_SECONDS, (after - now) * _PART)


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


def _known(known: bytes | None, digest: str, *, ignore: bool) -> Front | None:
    """What an earlier run of the same job has found; a deterministic one begins anew."""
    if known is None or ignore:
        return None
    front = read_front(known)
    return front if front.digest == digest else None
