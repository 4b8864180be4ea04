"""Issues of views: what lies outside of its tensor, and bytes that two would write for themselves."""

from collections.abc import Iterator

from memstow.planner.graph.links import NOBODY, Links, links_of
from memstow.planner.graph.view_groups import roots
from memstow.planner.model.errors import Issue
from memstow.planner.model.graph import Graph, View, size_of


def view_issues(graph: Graph) -> Iterator[Issue]:
    """Issues of the views of a graph; those with unknown names are passed over."""
    links = links_of(graph)
    seen: dict[str, int] = {}
    sound = True
    for i, view in enumerate(graph.views):
        if view.tensor not in links.tensor_index or view.of not in links.tensor_index:
            sound = False
            continue
        reason = _against(graph, links, view)
        if view.tensor in seen:
            reason = "view_twice", f"{view.tensor!r} is a view already, at $.views[{seen[view.tensor]}]"
        seen.setdefault(view.tensor, i)
        if reason is not None:
            sound = False
            yield Issue(reason[0], f"$.views[{i}]", reason[1])
    if not sound:
        return
    cyclic = seen.keys() - roots(graph).keys()
    if cyclic:
        at = min(seen[name] for name in cyclic)
        name = graph.views[at].tensor
        yield Issue(
            "view_cycle", f"$.views[{at}]", f"{name!r} lies in itself by way of other views; remove one"
        )
        return
    yield from _crossing(graph, links)


def _against(graph: Graph, links: Links, view: View) -> tuple[str, str] | None:
    inner, outer = links.tensor_index[view.tensor], links.tensor_index[view.of]
    tensor, of = graph.tensors[inner], graph.tensors[outer]
    if inner == outer:
        return "view_of_itself", f"{view.tensor!r} is a view of itself; remove the entry"
    if tensor.kind != "data" or of.kind != "data":
        other = tensor if tensor.kind != "data" else of
        return "view_kind", f"{other.id!r} is of the kind {other.kind}; views are of data"
    if view.offset + size_of(tensor) > size_of(of):
        return (
            "view_beyond",
            f"{tensor.id!r} would end at {view.offset + size_of(tensor):,}, but {of.id!r} has "
            f"{size_of(of):,} bytes; make the view end within it",
        )
    if not _is_fed(links, inner, outer):
        return (
            "view_crosses",
            f"{tensor.id!r} and {of.id!r} share bytes, and neither is made from the other: the operator that "
            "makes one of them must read the other",
        )
    return None


def _is_fed(links: Links, inner: int, outer: int) -> bool:
    """Whether one of the two is made by an operator that reads the other, or both are there already."""
    makers = links.producer[inner], links.producer[outer]
    if makers == (NOBODY, NOBODY):
        return True
    return makers[0] in links.readers[outer] or makers[1] in links.readers[inner]


def _crossing(graph: Graph, links: Links) -> Iterator[Issue]:
    """Parts of one tensor that are made apart from each other, and overlap."""
    parts: dict[str, list[tuple[int, int, int]]] = {}
    for i, view in enumerate(graph.views):
        inner, outer = links.tensor_index[view.tensor], links.tensor_index[view.of]
        end = view.offset + size_of(graph.tensors[inner])
        is_part = links.producer[outer] in links.readers[inner] and links.producer[outer] != NOBODY
        if is_part and view.offset < end:
            parts.setdefault(view.of, []).append((view.offset, end, i))
    for view in graph.views:
        inner, outer = links.tensor_index[view.tensor], links.tensor_index[view.of]
        if view.tensor in parts and links.producer[inner] in links.readers[outer]:
            part = parts[view.tensor][0][2]
            yield Issue(
                "view_crosses",
                f"$.views[{part}]",
                f"{graph.views[part].tensor!r} would be written into {view.tensor!r}, whose bytes still hold "
                f"{view.of!r}; remove one of the two views",
            )
    for name, ranges in parts.items():
        reach, last = -1, 0
        for begin, end, i in sorted(ranges):
            if begin < reach:
                one, two = graph.views[last].tensor, graph.views[i].tensor
                yield Issue(
                    "view_crosses",
                    f"$.views[{i}].offset",
                    f"{two!r} and {one!r} are parts of {name!r}, made apart, and overlap: one "
                    "would overwrite the other; put them apart",
                )
            if end > reach:
                reach, last = end, i
