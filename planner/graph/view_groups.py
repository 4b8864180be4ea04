"""Views as groups: the tensor in which each lies in the end, and how far from its begin."""

from memstow.planner.model.graph import Graph, View


def view_of(graph: Graph) -> dict[str, View]:
    """The view by the tensor that it places."""
    return {view.tensor: view for view in graph.views}


def roots(graph: Graph) -> dict[str, tuple[str, int]]:
    """By view, the tensor that is no view itself, and the distance from its begin; cycles left out."""
    views = view_of(graph)
    found: dict[str, tuple[str, int] | None] = {}
    for name in views:
        chain: list[str] = []
        at = name
        entered: set[str] = set()
        while at in views and at not in found and at not in entered:
            entered.add(at)
            chain.append(at)
            at = views[at].of
        base = None if at in entered else found.get(at, (at, 0))
        for link in reversed(chain):
            base = None if base is None else (base[0], base[1] + views[link].offset)
            found[link] = base
    return {name: base for name, base in found.items() if base is not None}
