"""A front as the service finds it: points are told as they come, each with the front so far that holds it."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from memstow.api.operations.encoding import document_from, front_in, options_from_text, targets_in
from memstow.api.operations.request_types import (
    FrontUpdate,
    PointUpdate,
    SolveFrontRequest,
    SolveResult,
    WriteFrontRequest,
)
from memstow.planner.front.find_front import digest_of, find_front, in_targets, with_choices
from memstow.planner.front.front_documents import read_front, write_front
from memstow.planner.front.front_request import FrontCallbacks, with_proofs
from memstow.planner.front.front_view import TargetOf, front_document
from memstow.planner.model import Status
from memstow.planner.model.front import Front, FrontPoint
from memstow.records import replace

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
        self._sent = {} if known is None else dict(_points_by_key(known))
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
        earlier = self._sent.get(key)
        point = with_proofs(point, earlier)
        if earlier is not None and (earlier.bounds, earlier.proven) == (point.bounds, point.proven):
            return
        self._sent[key] = point
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
    return next((target.points for target in front.targets if target.points), front.points)


def _status(front: Front) -> Status:
    if _points(front):
        return Status.OPTIMAL if front.complete else Status.FEASIBLE
    nowhere = all(target.fits == "no" for target in front.targets) if front.targets else front.complete
    return Status.INFEASIBLE if nowhere else Status.UNKNOWN


def _points_by_key(front: Front) -> Iterator[tuple[_Key, FrontPoint]]:
    """The points of the front, each by its target and values."""
    for point in front.points:
        yield (None, tuple(point.values.items())), point
    for target in front.targets:
        for point in target.points:
            yield (target.target, tuple(point.values.items())), point


def solve_front(request: SolveFrontRequest, on_update: "OnUpdate", cancel: threading.Event) -> SolveResult:
    """Find the front, or those of several targets, from what is known of it on."""
    options = options_from_text(request.options, request.hint)
    front_options, targets = front_in(request.options), targets_in(request.options)
    document = with_choices(document_from(request.problem), front_options)
    known = _known(request.known_plan, digest_of(document), ignore=options.deterministic)
    callbacks = FrontCallbacks(on_update, cancel)
    with FrontTeller(on_update, known, timed=not options.deterministic) as teller:
        return result_of(
            find_front(
                document,
                front_options,
                options,
                callbacks,
                teller.tell,
                targets=targets,
                names=[target.name or "" for target in targets],
                known=known,
            )
        )


def _known(known: bytes | None, digest: str, *, ignore: bool) -> Front | None:
    """What an earlier run of the same job has found; a deterministic one begins anew."""
    if known is None or ignore:
        return None
    front = read_front(known)
    return front if front.digest == digest else None


def front_result(front: bytes) -> SolveResult | None:
    """The front so far as a result, of a run that did not end by itself; None where it has no point."""
    result = result_of(read_front(front))
    return None if result.value is None else result


def document_for_page(request: WriteFrontRequest) -> bytes:
    """The view document; of several targets that of the smallest that will do, else of one with points."""
    front = read_front(request.front)
    document = with_choices(document_from(request.problem or b""), front.request)
    options = request.options or ""
    shown = _shown(front)
    if shown is None:
        one, target = replace(front, targets=()), None
    else:
        parts = in_targets(document, front.request, options_from_text(options, None), targets_in(options))
        at = [entry.target for entry in front.targets].index(shown)
        chosen = front.targets[at]
        others = [other for other in front.targets if other is not chosen]
        target = TargetOf(
            name=shown,
            smallest=shown == front.smallest,
            all=len(front.targets),
            open=sum(not other.complete for other in others),
        )
        # The page draws one front; which memories it is for, its name says.
        name = f"{front.name or 'front'} in {shown}"
        one = replace(front, name=name[:1024], points=chosen.points, complete=chosen.complete, targets=())
        document = parts[at].document
    name = one.name or document.name or "front"
    return front_document(document, one, name, "service", target=target).content


def _shown(front: Front) -> str | None:
    """The target whose front is drawn; None: there is one front."""
    if not front.targets:
        return None
    with_points = [target.target for target in front.targets if target.points]
    return front.smallest or next(iter(with_points), front.targets[0].target)
