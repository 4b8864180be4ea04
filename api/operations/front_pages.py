"""The front of a job as the page of the service draws it: each point with what its plan is for."""

from dataclasses import replace

from memstow.api.operations.documents import document_from
from memstow.api.operations.encoding import options_from_text, targets_in
from memstow.api.operations.requests import WriteFrontRequest
from memstow.api.page.front_plans import TargetOf, front_file
from memstow.planner.front.choices import with_choices
from memstow.planner.front.documents import read_front
from memstow.planner.front.targets import in_targets
from memstow.planner.model.front import Front


def file_for_page(request: WriteFrontRequest) -> bytes:
    """The file; of several targets the front of the smallest that will do, else of one that has points."""
    front = read_front(request.front)
    document = with_choices(document_from(request.problem or b""), front.asked)
    options = request.options or ""
    shown = _shown(front)
    if shown is None:
        return front_file(document, replace(front, targets=()))
    found = in_targets(document, front.asked, options_from_text(options, None), targets_in(options))
    at = [it.target for it in front.targets].index(shown)
    target = front.targets[at]
    others = [other for other in front.targets if other is not target]
    of = TargetOf(
        name=shown,
        smallest=shown == front.smallest,
        all=len(front.targets),
        open=sum(not other.complete for other in others),
    )
    # The page draws one front; which memories it is for, its name says.
    name = f"{front.name or 'front'} in {shown}"
    one = replace(front, name=name[:1024], points=target.points, complete=target.complete, targets=())
    return front_file(found[at].document, one, of)


def _shown(front: Front) -> str | None:
    """The target whose front is drawn; None: there is one front."""
    if not front.targets:
        return None
    with_points = [it.target for it in front.targets if it.points]
    return front.smallest or next(iter(with_points), front.targets[0].target)
