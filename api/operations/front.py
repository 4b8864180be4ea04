"""A front as the service finds it: points are told as they come, and the front so far with them."""

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from memstow.api.operations.documents import document_from
from memstow.api.operations.encoding import front_in, options_from_text
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
    """Find the front, from what is known of it on."""
    document = document_from(request.problem)
    options = options_from_text(request.options, request.hint)
    asked = front_in(request.options)
    start = _start(request.known_plan, digest_of(document), ignore=options.deterministic)
    wanted = request_of(document, asked, options, start)
    collected = Collected(wanted)
    collected.add(start)
    begin = time.monotonic()
    next_at = begin

    def on_point(point: FrontPoint) -> None:
        nonlocal next_at
        collected.add([point])
        now = time.monotonic()
        seconds = 0.0 if options.deterministic else round(now - begin, 6)
        on_update(
            PointUpdate(
                values=dict(point.values), bounds=dict(point.bounds), proven=point.proven, seconds=seconds
            )
        )
        if now >= next_at:
            so_far = Front(
                name=document.name,
                terms=wanted.terms,
                points=collected.points(),
                asked=asked,
                digest=digest_of(document),
                seconds=seconds,
            )
            on_update(result_of(so_far))
            after = time.monotonic()
            next_at = after + max(_SECONDS, (after - now) * _PART)

    callbacks = FrontCallbacks(on_update, cancel)
    return result_of(find_front(document, asked, options, callbacks, on_point, start))


def result_of(front: Front) -> SolveResult:
    """A front as its bytes, with the figures that the job table has of it: of its first point."""
    first = front.points[0] if front.points else None
    term = front.terms[0]
    return SolveResult(
        plan=write_front(front, "json"),
        status=_status(front).value,
        value=None if first is None else first.values[term],
        bound=None if first is None else first.bounds.get(term),
        peak=None,
        solver=None,
    )


def _status(front: Front) -> Status:
    if not front.points:
        return Status.INFEASIBLE if front.complete else Status.UNKNOWN
    return Status.OPTIMAL if front.complete else Status.FEASIBLE


def _start(known: bytes | None, digest: str, *, ignore: bool) -> Sequence[FrontPoint]:
    """The points of an earlier run of the same job; a deterministic one begins anew."""
    if known is None or ignore:
        return ()
    front = read_front(known)
    return front.points if front.digest == digest else ()
