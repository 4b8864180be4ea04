"""What pairs of inputs and outputs save in place: the judge's own count."""

from collections.abc import Sequence
from typing import Final

from memstow.planner.verify.effort import Effort

_MOST_CHOICES: Final = 4096


def most_saved(size: Sequence[int], pairs: Sequence[tuple[int, int]], effort: Effort) -> int:
    """No set of pairs that share no storage saves more: the most of all sets.

    Where there are too many sets to try, what the outputs would save if they shared their inputs.
    """
    by_output: dict[int, list[tuple[int, int]]] = {}
    for source, target in dict.fromkeys(pairs):
        by_output.setdefault(target, []).append((source, min(size[source], size[target])))
    best: dict[frozenset[int], int] = {frozenset(): 0}
    for options in by_output.values():
        effort.spend(len(best) * len(options))
        for used, bytes_saved in list(best.items()):
            for source, more in options:
                if source not in used:
                    key = used | {source}
                    best[key] = max(best.get(key, 0), bytes_saved + more)
        if len(best) > _MOST_CHOICES:
            return sum(max(more for _, more in options) for options in by_output.values())
    return max(best.values())
