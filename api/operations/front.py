"""A front as the service finds it: points are told as they come, and the front so far with them."""

import threading
from typing import TYPE_CHECKING

from memstow.api.operations.documents import document_from
from memstow.api.operations.encoding import front_in, options_from_text, targets_in
from memstow.api.operations.front_teller import FrontTeller, result_of
from memstow.api.operations.requests import SolveFrontRequest
from memstow.api.operations.results import SolveResult
from memstow.planner.front.choices import with_choices
from memstow.planner.front.collected import Collected
from memstow.planner.front.documents import read_front
from memstow.planner.front.front import digest_of, find_front, request_of
from memstow.planner.front.request import FrontCallbacks
from memstow.planner.model.front import Front, FrontPoint

if TYPE_CHECKING:
    from memstow.api.operations.solve import OnUpdate


def solve_front(request: SolveFrontRequest, on_update: "OnUpdate", cancel: threading.Event) -> SolveResult:
    """Find the front, or those of several targets, from what is known of it on."""
    options = options_from_text(request.options, request.hint)
    asked, targets = front_in(request.options), targets_in(request.options)
    document = with_choices(document_from(request.problem), asked)
    known = _known(request.known_plan, digest_of(document), ignore=options.deterministic)
    callbacks = FrontCallbacks(on_update, cancel)
    with FrontTeller(on_update, known, timed=not options.deterministic) as teller:
        if targets:
            from memstow.planner.front.targets import front_of_targets

            start = () if known is None else known.targets
            names = [it.name or "" for it in targets]
            return result_of(
                front_of_targets(document, asked, options, targets, callbacks, names, teller.tell, start)
            )
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
            # One that another beats is not in the front so far: an earlier run may have told of it already.
            if collected.holds(point):
                teller.tell(None, point, so_far)

        return result_of(find_front(document, asked, options, callbacks, on_point, points))


def _known(known: bytes | None, digest: str, *, ignore: bool) -> Front | None:
    """What an earlier run of the same job has found; a deterministic one begins anew."""
    if known is None or ignore:
        return None
    front = read_front(known)
    return front if front.digest == digest else None


def front_result(front: bytes) -> SolveResult | None:
    """The front so far as a result, of a run that did not end by itself; None where it has no point."""
    found = result_of(read_front(front))
    return None if found.value is None else found
