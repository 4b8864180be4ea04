"""Sets of parts that conflict pairwise through listed conflicts, beyond those that live at one moment."""

from memstow.solvers.models.relations import Relations

# With more parts than this no cliques are searched for.
_MOST_PARTS = 2_000


def cliques(relations: Relations) -> list[list[int]]:
    """For each part with a listed conflict a set that contains it, grown greedily by size; no set twice."""
    if not relations.listed or len(relations.lives) > _MOST_PARTS:
        return []
    sizes, item_of = relations.instance.part_size, relations.item_of
    neighbours: dict[int, set[int]] = {}
    for pair in relations.all_pairs():
        if not pair.shared:
            neighbours.setdefault(pair.first, set()).add(pair.second)
            neighbours.setdefault(pair.second, set()).add(pair.first)
    result = set()
    for seed in sorted({part for pair in relations.listed for part in pair}):
        clique, items = [seed], {item_of[seed]}
        candidates = neighbours.get(seed, set())
        while candidates:
            best = max(candidates, key=lambda part: (sizes[part], -part))
            candidates = candidates & neighbours[best]
            if item_of[best] not in items:
                clique.append(best)
                items.add(item_of[best])
        if len(clique) > 1:
            result.add(tuple(sorted(clique)))
    return [list(clique) for clique in sorted(result)]
