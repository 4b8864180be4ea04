"""Fronts of networks of images: what of them is proven in ten seconds, with each of what may be done.

`python -m benchmarks fronts` puts the table on the page. The networks are those of the shared data whose
operators can run in stripes, and residual networks for images of 32 by 32, as MLPerf Tiny has one of eight
layers, which are made here.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.page import DATA, table
from memstow.planner.formats import read_graph
from memstow.planner.front.find_front import find_front
from memstow.planner.front.front_request import FrontCallbacks
from memstow.planner.model.front import FrontOptions, Generator
from memstow.planner.model.graph import Graph, Operator, Tensor, Window, is_planned
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Pool
from memstow.records import replace

SECONDS: Final = 10.0
NETWORKS: Final = (
    *("tflite/mlct__kws_ref_model.tflite", "tflite/mlct__vww_96_int8.tflite"),
    *("tflite/tflm__person_detect.tflite", "tflite/swiftnet_vww.tflite"),
    *("tflite/mww__okay_nabu.tflite", "tflite/mww__v2_alexa.tflite", "graphs/msf_MN2-vww5.json"),
)
RESIDUAL: Final = (1, 2, 3, 8)
WAYS: Final[tuple[tuple[Generator, ...], ...]] = (
    ("stripes",),
    ("stripes", "channels"),
    ("stripes", "recompute"),
    ("stripes", "channels", "recompute"),
    ("stripes", "channels", "recompute", "spill"),
)


def measure() -> str:
    """The table."""
    head = ("network", "operators", "order", *(", ".join(way) for way in WAYS))
    text = (
        "Points that are proven, of all; the largest gap of the others, `-` where there is no bound; "
        "seconds. With spill, the cost is in bytes:"
    )
    return f"{text}\n\n{table(head, _rows(), 1)}"


def _rows() -> Iterator[list[str]]:
    graphs = {Path(name).stem: read_graph((DATA / name).read_bytes()) for name in NETWORKS}
    graphs |= {f"residual, {2 + 6 * blocks} layers": residual_network(blocks) for blocks in RESIDUAL}
    for name, graph in graphs.items():
        for order in ("given", "free"):
            ordered = replace(graph, order=order)
            yield [
                name,
                f"{len(graph.operators)}",
                order,
                *(_figures(ordered, way) for way in WAYS),
            ]


class _Image(NamedTuple):
    id: str
    rows: int
    channels: int


def residual_network(blocks: int) -> Graph:
    """Three times so many blocks of two convolutions, around each of which goes what comes to it."""
    images = [_Image("x", 32, 3)]
    operators: list[Operator] = []

    def run(sources: list[_Image], made: _Image, kind: str, window: Window | None, each: int) -> _Image:
        """An operator that costs so much for each element."""
        images.append(made)
        operators.append(
            Operator(
                id=f"to {made.id}",
                type=kind,
                inputs=[source.id for source in sources],
                outputs=[made.id],
                window=window,
                in_place=[(source.id, made.id) for source in sources if kind == "add"],
                cost=made.rows**2 * made.channels * each,
            )
        )
        return made

    def convolve(source: _Image, name: str, channels: int, kernel: int, stride: int = 1) -> _Image:
        made = _Image(name, source.rows // stride, channels)
        window = Window(kernel=(kernel,) * 2, stride=(stride,) * 2, padding=(kernel // 2,) * 4)
        return run([source], made, "conv2d", window, source.channels * kernel**2)

    last = convolve(images[0], "begin", 16, 3)
    for channels in (16, 32, 64):
        for number in range(blocks):
            name, stride = f"{channels}.{number}", channels // last.channels
            inner = convolve(convolve(last, f"a{name}", channels, 3, stride), f"b{name}", channels, 3)
            around = last if stride == 1 else convolve(last, f"c{name}", channels, 1, stride)
            last = run([around, inner], inner._replace(id=name), "add", None, 1)
    rows = last.rows
    run([last], _Image("y", 1, last.channels), "average_pool2d", Window(kernel=(rows, rows)), rows**2)
    return Graph(
        tensors=[
            Tensor(id=name, shape=(rows, rows, channels), type="int8") for name, rows, channels in images
        ],
        operators=operators,
        inputs=["x"],
        outputs=["y"],
    )


def beside_slow_memory(graph: Graph) -> Graph:
    """The graph in a pool `fast`, with another, `slow`, in which tensors may wait."""
    pools = ("fast",)
    tensors = (replace(tensor, pools=pools) if is_planned(tensor) else tensor for tensor in graph.tensors)
    operators = (
        replace(operator, temporaries=tuple(replace(own, pools=pools) for own in operator.temporaries))
        for operator in graph.operators
    )
    return replace(
        graph,
        pools=(Pool(id="fast"), Pool(id="slow")),
        tensors=tuple(tensors),
        operators=tuple(operators),
        objective=(),
    )


def _figures(graph: Graph, way: tuple[Generator, ...]) -> str:
    options = FrontOptions(generators=way)
    if "spill" in way:
        graph = beside_slow_memory(graph)
        options = replace(options, cost="bytes", terms=("peak:fast", "cost"))
    began = time.perf_counter()
    front = find_front(graph, options, Options(time_limit=SECONDS), FrontCallbacks())
    seconds = time.perf_counter() - began
    proven = sum(point.proven for point in front.points)
    gaps = [
        None if not point.bounds.get(term) else value / point.bounds[term] - 1
        for point in front.points
        for term, value in point.values.items()
        if not point.proven
    ]
    numbers = [gap for gap in gaps if gap is not None]
    largest = "" if not gaps else " (-)" if len(numbers) < len(gaps) else f" ({max(numbers):.0%})"
    complete = ", complete" if front.complete else ""
    return f"{proven} of {len(front.points)}{complete}{largest}, {seconds:.1f}"
