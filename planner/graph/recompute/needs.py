"""What each operator of a program needs when it runs once."""

from memstow.planner.graph.savings import most_saved
from memstow.solvers.recompute import RecomputeArrays


def needs_of(arrays: RecomputeArrays) -> list[int]:
    """By operator, the live bytes while it runs, when each runs once, in order."""
    count = len(arrays.cost)
    last = [count if it else -1 for it in arrays.kept]
    for op in range(count):
        for item in arrays.inputs_of(op):
            last[item] = max(last[item], op)
    changes = [0] * (count + 2)
    for item, size in enumerate(arrays.size):
        begin = max(arrays.producer[item], 0)
        # What nobody reads lives while its producer runs; an input that nobody reads, not even then.
        end = max(last[item], arrays.producer[item]) + 1
        if begin < end:
            changes[begin] += size
            changes[min(end, count + 1)] -= size
    needs: list[int] = []
    level = 0
    for op in range(count):
        level += changes[op]
        pairs = [(a, b) for a, b in arrays.pairs[op] if last[a] == op]
        needs.append(level + arrays.fixed[op] + arrays.extra[op] - most_saved(arrays.size, pairs))
    return needs
