"""Issues of tensors, temporaries, windows and ids by themselves."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from memstow.planner.model.errors import Issue
from memstow.planner.model.graph import Graph, Operator, Tensor, Window, shape_bytes, size_of
from memstow.planner.model.problem import LIMIT


def element_issues(graph: Graph) -> Iterator[Issue]:
    """Issues of each element by itself, and ids that are used twice."""
    yield from _duplicates(graph)
    yield from tensor_issues(graph.tensors, "$.tensors")
    for i, operator in enumerate(graph.operators):
        if operator.temporaries:
            yield from _phase_issues(operator, f"$.operators[{i}]")
    tensors = {tensor.id: tensor for tensor in graph.tensors}
    for i, operator in enumerate(graph.operators):
        if operator.window is not None:
            yield from window_issues(operator, tensors, f"$.operators[{i}].window")


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
    temporaries = [
        (i, j, it.id)
        for i, operator in enumerate(graph.operators)
        for j, it in enumerate(operator.temporaries)
    ]
    yield from _repeated(
        [*(tensor.id for tensor in graph.tensors), *(name for _, _, name in temporaries)],
        lambda: [
            *(f"$.tensors[{i}].id" for i in range(len(graph.tensors))),
            *(f"$.operators[{i}].temporaries[{j}].id" for i, j, _ in temporaries),
        ],
        "a tensor or a temporary",
    )
    for field, elements, what in (
        ("operators", graph.operators, "an operator"),
        ("alternatives", graph.alternatives, "an alternative"),
    ):
        names = [it.id for it in elements]
        yield from _repeated(names, partial(_paths_of_ids, field, len(names)), what)


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
