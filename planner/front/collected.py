"""Points as they are found, and those of them that are on the front."""

from collections.abc import Iterable
from dataclasses import replace

from memstow.planner.front.request import FrontRequest
from memstow.planner.model.front import FrontPoint


class Collected:
    """The points of one front: of equal ones what is proven best, and none that is worse than another."""

    def __init__(self, request: FrontRequest) -> None:
        self._request = request
        self._points: dict[tuple[int, int], FrontPoint] = {}

    def add(self, points: Iterable[FrontPoint]) -> None:
        """Take points in; of those with the same values all that is proven of either is kept."""
        for point in points:
            values = self._values(point)
            if any(other != values and _no_worse(other, values) for other in self._points):
                continue
            self._points = {
                other: kept
                for other, kept in self._points.items()
                if other == values or not _no_worse(values, other)
            }
            self._points[values] = with_proofs(point, self._points.get(values))

    def holds(self, point: FrontPoint) -> bool:
        """Whether none that was taken in is better in one term and as good in the other."""
        return self._values(point) in self._points

    def points(self) -> tuple[FrontPoint, ...]:
        """Those that are asked for, by the first term, ascending."""
        if not self._points:
            return ()
        most = self._request.most(min(second for _, second in self._points))
        listed = [values for values in sorted(self._points) if most is None or values[1] <= most]
        return tuple(self._points[values] for values in listed[: self._request.points])

    def _values(self, point: FrontPoint) -> tuple[int, int]:
        first, second = self._request.terms
        return point.values[first], point.values[second]


def with_proofs(point: FrontPoint, earlier: FrontPoint | None) -> FrontPoint:
    """The point with what was proven before of a point with the same values."""
    if earlier is None or (earlier.bounds == point.bounds and earlier.proven == point.proven):
        return point
    bounds = {
        term: max(point.bounds.get(term, 0), earlier.bounds.get(term, 0))
        for term in point.values
        if term in point.bounds or term in earlier.bounds
    }
    return replace(point, bounds=bounds, proven=point.proven or earlier.proven or bounds == point.values)


def _no_worse(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[0] and one[1] <= other[1]
