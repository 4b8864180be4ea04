"""Issues of a graph without its alternatives: elements, who makes and reads what, views, order.

In: a graph. Out: for each rule the issues, each with a code, a path and a way out. `planner.graph.check`
asks for all of them. Rules about tensors, windows and pairs in place are those of alternatives as well.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Final

from memstow.planner.graph.links import NOBODY, Links, links_of, roots
from memstow.planner.model.errors import Issue, closest_match
from memstow.planner.model.graph import (
    GIVEN,
    Graph,
    Operator,
    Tensor,
    View,
    Window,
    columns_of,
    index_of,
    names_in_views,
    shape_bytes,
    size_of,
)
from memstow.planner.model.problem import LIMIT


def element_issues(graph: Graph) -> Iterator[Issue]:
    """Issues of each element by itself, and ids that are used twice."""
    columns = columns_of(graph)
    yield from _duplicates(graph)
    if columns.has_shapes:
        yield from tensor_issues(graph.tensors, "$.tensors")
    for i, operator in enumerate(graph.operators if columns.has_temporaries else ()):
        yield from _phase_issues(operator, f"$.operators[{i}]")
    for i, operator in enumerate(graph.operators if columns.has_windows else ()):
        yield from window_issues(operator, index_of(graph).tensors, f"$.operators[{i}].window")


def tensor_issues(tensors: Sequence[Tensor], path: str) -> Iterator[Issue]:
    """Issues of the sizes of tensors."""
    for i, tensor in enumerate(tensors):
        if tensor.size is not None and tensor.shape is None:
            continue
        known = shape_bytes(tensor)
        if tensor.size is None and known is None:
            yield Issue("no_size", f"{path}[{i}]", f"{tensor.id!r} needs a `size`, or a `shape` and a `type`")
        elif tensor.size is not None and known is not None and tensor.size < known:
            yield Issue(
                "size_contradicts_shape",
                f"{path}[{i}].size",
                f"{tensor.size:,} bytes are less than the {known:,} of shape {list(tensor.shape or ())} and "
                f"type {tensor.type}; leave `size` out, or give at least that",
            )
        elif size_of(tensor) > LIMIT:
            yield Issue(
                "too_large", f"{path}[{i}]", f"{tensor.id!r} has {size_of(tensor):,} bytes, above 2^62"
            )


def _duplicates(graph: Graph) -> Iterator[Issue]:
    columns = columns_of(graph)
    temporaries = [
        (i, j, temporary.id)
        for i, operator in enumerate(graph.operators if columns.has_temporaries else ())
        for j, temporary in enumerate(operator.temporaries)
    ]
    if temporaries or len(columns.tensor_number) < len(graph.tensors):
        yield from _repeated(
            [*(tensor.id for tensor in graph.tensors), *(name for _, _, name in temporaries)],
            lambda: [
                *(f"$.tensors[{i}].id" for i in range(len(graph.tensors))),
                *(f"$.operators[{i}].temporaries[{j}].id" for i, j, _ in temporaries),
            ],
            "a tensor or a temporary",
        )
    if len(columns.operator_number) < len(graph.operators):
        names = [operator.id for operator in graph.operators]
        yield from _repeated(names, partial(_paths_of_ids, "operators", len(names)), "an operator")
    names = [alternative.id for alternative in graph.alternatives]
    yield from _repeated(names, partial(_paths_of_ids, "alternatives", len(names)), "an alternative")


def _paths_of_ids(field: str, count: int) -> list[str]:
    return [f"$.{field}[{i}].id" for i in range(count)]


def _repeated(names: Sequence[str], paths: Callable[[], Sequence[str]], what: str) -> Iterator[Issue]:
    """Issues of names that are there twice. The paths take long to write, and hardly ever matter."""
    if len(set(names)) == len(names):
        return
    first: dict[str, str] = {}
    for path, name in zip(paths(), names, strict=True):
        if name in first:
            message = f"{name!r} is the id of {what} already, at {first[name]}; give each an id of its own"
            yield Issue("duplicate_id", path, message)
        first.setdefault(name, path)


def _phase_issues(operator: Operator, path: str) -> Iterator[Issue]:
    for j, temporary in enumerate(operator.temporaries):
        if temporary.phases is not None and temporary.phases[0] >= temporary.phases[1]:
            begin, end = temporary.phases
            yield Issue(
                "empty_phases",
                f"{path}.temporaries[{j}].phases",
                f"[{begin}, {end}] holds no phase: the end is not included; give [{begin}, {begin + 1}] for "
                "a single one, or leave `phases` out for all",
            )


def window_issues(operator: Operator, tensors: Mapping[str, Tensor], path: str) -> Iterator[Issue]:
    """Issues of a window that does not fit the shapes of the first input and the first output."""
    window = operator.window
    if window is None:
        return
    if not operator.inputs or not operator.outputs:
        yield Issue(
            "window_without_tensors",
            path,
            f"{operator.id!r} has a window and no input or no output; a window needs one of each",
        )
        return
    names = operator.inputs[0], operator.outputs[0]
    shapes = []
    for name in names:
        tensor = tensors.get(name)
        if tensor is None or tensor.shape is None:
            return
        image = _rows_and_columns(tensor.shape)
        if image is None:
            yield Issue(
                "window_contradicts_shape",
                path,
                f"{name!r} has shape {list(tensor.shape)}; with a window it must be rows x columns x "
                "channels, after a batch of 1 if any",
            )
            return
        shapes.append(image)
    expected = _slid(window, shapes[0])
    if expected != shapes[1]:
        yield Issue(
            "window_contradicts_shape",
            path,
            f"over the {_by(shapes[0])} elements of {names[0]!r} it makes {_by(expected)}, and "
            f"{names[1]!r} has {_by(shapes[1])}; correct the window or a shape",
        )


def _rows_and_columns(shape: Sequence[int]) -> tuple[int, int] | None:
    if len(shape) == 3:
        return shape[0], shape[1]
    return (shape[1], shape[2]) if len(shape) == 4 and shape[0] == 1 else None


def _slid(window: Window, image: tuple[int, int]) -> tuple[int, int]:
    """The rows and columns that come out."""
    top, left, bottom, right = window.padding
    padded = image[0] + top + bottom, image[1] + left + right
    rows, columns = (
        max((extent - ((kernel - 1) * dilation + 1)) // stride + 1, 0)
        for extent, kernel, stride, dilation in zip(
            padded, window.kernel, window.stride, window.dilation, strict=True
        )
    )
    return rows, columns


def _by(image: tuple[int, int]) -> str:
    return f"{image[0]:,} x {image[1]:,}"


def flow_issues(graph: Graph) -> Iterator[Issue]:
    """Issues of names, producers and in-place pairs."""
    columns = columns_of(graph)
    yield from _unknown_names(graph)
    if not columns.is_made_once:
        yield from _producers(graph, index_of(graph).tensors)
        yield from _unmade(graph)
    viewed = names_in_views(graph)
    if viewed or not columns.has_plain_pairs:
        for i, operator in enumerate(graph.operators):
            yield from pair_issues(operator, index_of(graph).tensors, viewed, f"$.operators[{i}].in_place")


def pair_issues(
    operator: Operator, tensors: Mapping[str, Tensor], viewed: AbstractSet[str], path: str
) -> Iterator[Issue]:
    """Issues of the in-place pairs of an operator."""
    for j, pair in enumerate(operator.in_place):
        reason = _against_pair(operator, pair, tensors, viewed)
        if reason is not None:
            code, message = reason
            yield Issue(code, f"{path}[{j}]", message)


def unknown(kind: str, name: str, known: Mapping[str, object]) -> str:
    """The message for a name that the graph does not have."""
    # Comparing with very many names takes longer than the hint is worth.
    close = closest_match(name, known) if len(known) <= 2_000 else None
    hint = f"did you mean {close!r}?" if close is not None else f"give the id of {kind} of this graph"
    return f"there is no {kind.removeprefix('a ').removeprefix('an ')} {name!r}; {hint}"


def _unknown_names(graph: Graph) -> Iterator[Issue]:
    columns = columns_of(graph)
    if columns.has_unknown or not names_in_views(graph) <= columns.tensor_number.keys():
        yield from _unknown_tensors(graph, index_of(graph).tensors)
    for i, pair in enumerate(graph.before):
        for j, name in enumerate(pair):
            if name not in columns.operator_number:
                message = unknown("an operator", name, columns.operator_number)
                yield Issue("unknown_operator", f"$.before[{i}][{j}]", message)


def _unknown_tensors(graph: Graph, tensors: Mapping[str, Tensor]) -> Iterator[Issue]:
    named = [(f"$.inputs[{i}]", name) for i, name in enumerate(graph.inputs)]
    named += [(f"$.outputs[{i}]", name) for i, name in enumerate(graph.outputs)]
    for i, operator in enumerate(graph.operators):
        named += [(f"$.operators[{i}].inputs[{j}]", name) for j, name in enumerate(operator.inputs)]
        named += [(f"$.operators[{i}].outputs[{j}]", name) for j, name in enumerate(operator.outputs)]
    for i, view in enumerate(graph.views):
        named += [(f"$.views[{i}].tensor", view.tensor), (f"$.views[{i}].of", view.of)]
    for path, name in named:
        if name not in tensors:
            yield Issue("unknown_tensor", path, unknown("a tensor", name, tensors))


def _producers(graph: Graph, tensors: Mapping[str, Tensor]) -> Iterator[Issue]:
    """Issues of tensors that more than one operator makes, or one although they are there before all."""
    maker: dict[str, str] = {}
    there = set(graph.inputs)
    for i, operator in enumerate(graph.operators):
        for j, name in enumerate(operator.outputs):
            tensor = tensors.get(name)
            if tensor is None or tensor.kind == "state":
                continue
            if name in maker:
                yield Issue(
                    "two_producers",
                    f"$.operators[{i}].outputs[{j}]",
                    f"{name!r} is made by {maker[name]!r} already; give it one producer, or the kind `state`",
                )
            elif name in there or tensor.kind == "constant":
                what = "an input of the graph" if name in there else "a constant"
                message = f"{name!r} is {what}, so no operator can make it"
                yield Issue("two_producers", f"$.operators[{i}].outputs[{j}]", message)
            maker.setdefault(name, operator.id)


def _unmade(graph: Graph) -> Iterator[Issue]:
    """Issues of data that nobody makes."""
    links = links_of(graph)
    there = set(graph.inputs)
    kept: dict[str, int] = {}
    for j, name in enumerate(graph.outputs):
        kept.setdefault(name, j)
    for i, tensor in enumerate(graph.tensors):
        if tensor.kind != "data" or tensor.id in there or links.producer[i] != NOBODY:
            continue
        if tensor.id in kept:
            yield Issue(
                "output_not_made",
                f"$.outputs[{kept[tensor.id]}]",
                f"no operator makes {tensor.id!r}; name a tensor that one makes, or an input",
            )
        else:
            yield Issue(
                "not_made",
                f"$.tensors[{i}]",
                f"no operator makes {tensor.id!r} and it is no input of the graph; add it to `inputs`, give "
                "it another `kind`, or leave it out",
            )


def _against_pair(
    operator: Operator, pair: tuple[str, str], tensors: Mapping[str, Tensor], viewed: AbstractSet[str]
) -> tuple[str, str] | None:
    for name, side, names in zip(
        pair, ("inputs", "outputs"), (operator.inputs, operator.outputs), strict=True
    ):
        if name not in names:
            return (
                "in_place_of_another",
                f"{name!r} is not among the {side} of {operator.id!r}; a pair is an input and an output of "
                "its operator",
            )
        if name in viewed:
            return (
                "in_place_view",
                f"{name!r} is a view or has one: where it lies is settled; remove the pair, or the view",
            )
        if name in tensors and tensors[name].kind not in ("data", "external"):
            return (
                "in_place_kind",
                f"{name!r} is of the kind {tensors[name].kind}, which nobody overwrites; remove the pair",
            )
    return None


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


_MOST_NAMED: Final = 10


def cycle_issues(graph: Graph) -> Iterator[Issue]:
    """A cycle of data, else one that `before` closes."""
    links = links_of(graph)
    cycle = find_cycle(links.after)
    if cycle:
        first = cycle[0]
        yield Issue(
            "cycle",
            f"$.operators[{first}]",
            f"operators wait for each other: {_chain(graph, cycle)}; one of them must not read a later one",
        )
        return
    cycle = find_cycle(links.successors())
    if cycle:
        steps = set(zip(cycle, [*cycle[1:], cycle[0]], strict=True))
        index_of = links.operator_index
        at = next(
            i
            for i, (a, b) in enumerate(graph.before)
            if a in index_of and b in index_of and (index_of[a], index_of[b]) in steps
        )
        yield Issue(
            "before_cycle",
            f"$.before[{at}]",
            f"together with the data that operators read, it makes them wait for each other: "
            f"{_chain(graph, cycle)}; remove or turn one of the pairs",
        )


def given_order_issues(graph: Graph) -> Iterator[Issue]:
    """Operators that are listed before one that they need, where the order is the given one."""
    if graph.order != GIVEN:
        return
    links = links_of(graph)
    for i, operator in enumerate(graph.operators):
        for j, name in enumerate(operator.inputs):
            tensor = links.tensor_index.get(name, NOBODY)
            maker = NOBODY if tensor == NOBODY else links.producer[tensor]
            if maker > i:
                yield Issue(
                    "not_in_order",
                    f"$.operators[{i}].inputs[{j}]",
                    f"{operator.id!r} reads {name!r} before {graph.operators[maker].id!r} makes it; list "
                    'operators in an order that can run, or set `order` to "free"',
                )
    for i, pair in enumerate(graph.before):
        first, second = (links.operator_index.get(name, NOBODY) for name in pair)
        if first != NOBODY and second != NOBODY and first > second:
            yield Issue(
                "not_in_order",
                f"$.before[{i}]",
                f"{pair[1]!r} is listed before {pair[0]!r}; list operators in an order that can run, or set "
                '`order` to "free"',
            )


def find_cycle(
    successors: Sequence[Sequence[int]],
    rank: Callable[[int], tuple[int, int]] | None = None,
    gone: Collection[int] = (),
) -> list[int]:
    """Operators of which each must run before the next, and the last before the first; empty: none.

    The one with the least rank is first, by default the one with the least index. Those that are `gone` have
    no successors and do not count.
    """
    left = set(_in_or_after_cycles(successors)).difference(gone)
    if not left:
        return []
    # Each that is left waits for another that is left: going back from one to the next must close a circle.
    before: dict[int, int] = {}
    for operator in sorted(left, key=rank):
        for other in successors[operator]:
            if other in left:
                before.setdefault(other, operator)
    seen: dict[int, int] = {}
    walk: list[int] = []
    at = min(left, key=rank)
    while at not in seen:
        seen[at] = len(walk)
        walk.append(at)
        at = before[at]
    cycle = walk[seen[at] :][::-1]
    first = cycle.index(min(cycle, key=rank))
    return cycle[first:] + cycle[:first]


def _in_or_after_cycles(successors: Sequence[Sequence[int]]) -> list[int]:
    """The operators that never come to run."""
    waiting = [0] * len(successors)
    for them in successors:
        for other in them:
            waiting[other] += 1
    ready = [operator for operator, count in enumerate(waiting) if not count]
    while ready:
        for other in successors[ready.pop()]:
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    return [operator for operator, count in enumerate(waiting) if count]


def _chain(graph: Graph, cycle: list[int]) -> str:
    names = [repr(graph.operators[i].id[:60]) for i in cycle]
    if len(names) > _MOST_NAMED:
        names = [*names[: _MOST_NAMED - 1], f"... ({len(cycle):,} in all)"]
    return " -> ".join([*names, repr(graph.operators[cycle[0]].id[:60])])
