"""What a problem or a graph has, as counts by name."""

from bisect import bisect_right

from memstow.planner.model.graph import Graph
from memstow.planner.model.problem import ALWAYS, Problem, Profile, spans


def features_of(problem: Problem, profile: Profile, graph: Graph | None = None) -> dict[str, int]:
    """Counts by name; zeros are left out, except those of buffers and pools.

    `graph`: what the problem is the listed order of.
    """
    buffers = problem.buffers
    counts = {
        "moments": len(profile.live),
        "overlaps": overlaps(problem),
        "terms": len(problem.terms()),
        "bounded": sum(pool.capacity is not None for pool in problem.pools),
        "reserved": sum(len(pool.reserved) for pool in problem.pools),
        "aligned": sum(buffer.alignment > 1 for buffer in buffers),
        "pinned": sum(buffer.offset is not None for buffer in buffers),
        "empty": sum(not buffer.size for buffer in buffers),
        "always": sum(buffer.lifetime == ALWAYS for buffer in buffers),
        "timeless": sum(buffer.lifetime is None and buffer.lifetimes is None for buffer in buffers),
        "several_lifetimes": sum(len(buffer.lifetimes or ()) > 1 for buffer in buffers),
        "conflicts": len(problem.conflicts),
        "exclusive": len(problem.exclusive),
        "relative": len(problem.relative),
        "in_place": len(problem.in_place),
        "reuse_costs": len(problem.reuse_costs),
        "operators": 0 if graph is None else len(graph.operators),
    }
    present = {name: count for name, count in counts.items() if count}
    return {"buffers": len(buffers), "pools": len(problem.pools), **present}


def overlaps(problem: Problem) -> int:
    """The number of pairs of overlapping live ranges, counted in linear time after sorting."""
    ranges = [span for buffer in problem.buffers for span in spans(buffer) if span[0] < span[1]]
    ends = sorted(end for _, end in ranges)
    # Two ranges are apart when one ends before, or as, the other begins.
    apart = sum(bisect_right(ends, begin) for begin, _ in ranges)
    return len(ranges) * (len(ranges) - 1) // 2 - apart
