"""The report of a front for people: a line for each point, and what is known of the whole."""

from collections.abc import Sequence

from memstow.planner.model.front import Front, FrontPoint, KeptOrder, TargetFront
from memstow.planner.model.plan import gap_of
from memstow.planner.show.formatting import count, human, percent, plain, seconds, table

_NAME = 40
_FITS = {"yes": "fits", "no": "does not fit", "unknown": "unknown"}


def front_report(front: Front) -> str:
    """The front as text."""
    lines: list[str] = []
    for target in front.targets:
        lines += [*_target(front, target), ""]
    if front.targets:
        lines.append(_which(front))
    else:
        lines += _points(front, front.points)
        lines += ["", _verdict(front)] if front.points else [_nothing(front)]
    if front.kept_order is not None:
        lines.append(_kept(front, front.kept_order))
    return "\n".join(lines)


def _points(front: Front, points: Sequence[FrontPoint]) -> list[str]:
    """A line for each point: values, bounds where they are not reached, the gap, and whether it is proven."""
    if not points:
        return []
    open_ = any(not point.proven for point in points)
    head = [plain(term, most=_NAME) for term in front.terms]
    if open_:
        head += [f"{name} bound" for name in head] + ["gap"]
    rows = []
    for point in points:
        row = [count(point.values[term]) for term in front.terms]
        if open_:
            row += [count(point.bounds[term]) if term in point.bounds else "-" for term in front.terms]
            row.append(percent(_gap(front, point)))
        rows.append((*row, "proven" if point.proven else "open"))
    return table((*head, ""), rows, left=0)


def _gap(front: Front, point: FrontPoint) -> float:
    """The larger of the gaps of the two terms."""
    return max(gap_of(point.values[term], point.bounds.get(term, 0)) for term in front.terms)


def _verdict(front: Front) -> str:
    number = len(front.points)
    noun = "point" if number == 1 else "points"
    proven = sum(point.proven for point in front.points)
    said = [f"complete: {number:,} {noun}, all proven"]
    if not front.complete:
        said = [f"{number:,} {noun}, {proven:,} proven", "there may be others"]
    if front.seconds:
        said.append(seconds(front.seconds))
    return ", ".join(said)


def _kept(front: Front, kept: KeptOrder) -> str:
    said = "the operators run as they are listed; --order free looks for other orders, too"
    if kept.free_bytes is None:
        return said
    said += (
        f": with each operator once, one needs {count(kept.free_bytes)} live bytes, not {count(kept.bytes)}"
    )
    least = min((point.values[front.terms[0]] for point in front.points), default=None)
    if least is not None and kept.free_bytes < least:
        said += f", which is {percent(1 - kept.free_bytes / least)} less than the least point"
    return said


def _nothing(front: Front) -> str:
    if front.explanation is not None:
        known = "infeasible" if front.complete else "no plan was found"
        return f"{known}: {plain(front.explanation.message, most=600)}"
    return "infeasible: nothing fits" if front.complete else "no plan was found; give it more time"


def _target(front: Front, target: TargetFront) -> list[str]:
    size = "no limit" if target.bytes is None else human(target.bytes)
    where = ""
    if target.pool is not None:
        capacity = _capacity(target)
        of = "" if capacity is None else f" of {human(capacity)}"
        where = f", all in {plain(target.pool, most=_NAME)!r}{of}"
        size += " in all"
    lines = [f"{plain(target.target, most=_NAME)} ({size}): {_FITS[target.fits]}{where}"]
    if target.explanation is not None:
        lines.append(f"  {plain(target.explanation.message)}")
    return lines + [f"  {line}" for line in _points(front, target.points)]


def _capacity(target: TargetFront) -> int | None:
    """Of the only memory that all is in, where that is known."""
    for point in target.points:
        return next((it.capacity for it in point.plan.pools if it.pool == target.pool), None)
    said = target.explanation
    return said.capacity if said is not None and said.pool == target.pool else None


def _which(front: Front) -> str:
    if front.smallest is not None:
        return f"the smallest that will do: {plain(front.smallest, most=_NAME)}"
    if all(target.fits == "no" for target in front.targets):
        return "none of them will do"
    said = "the smallest that will do is not known"
    # What the others say of themselves is of more use.
    open_ = [it for it in front.targets if it.fits == "unknown"]
    return f"{said}; give it more time" if not open_ or any(it.explanation is None for it in open_) else said
