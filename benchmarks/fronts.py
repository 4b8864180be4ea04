"""Fronts of networks of images: what of them is proven in ten seconds, with each of what may be done.

`python -m benchmarks fronts` puts the table on the page. The networks are those of the shared data whose
operators can run in stripes.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.page import DATA, table
from memstow.planner.formats import read_graph
from memstow.planner.front.find_front import find_front
from memstow.planner.front.front_request import FrontCallbacks
from memstow.planner.model.front import FrontOptions, Generator
from memstow.planner.model.graph import Graph
from memstow.planner.model.options import Options
from memstow.records import replace

SECONDS: Final = 10.0
NETWORKS: Final = (
    *("tflite/mlct__kws_ref_model.tflite", "tflite/mlct__vww_96_int8.tflite"),
    *("tflite/tflm__person_detect.tflite", "tflite/swiftnet_vww.tflite"),
    *("tflite/mww__okay_nabu.tflite", "tflite/mww__v2_alexa.tflite", "graphs/msf_MN2-vww5.json"),
)
WAYS: Final[tuple[tuple[Generator, ...], ...]] = (
    ("stripes",),
    ("stripes", "channels"),
    ("stripes", "recompute"),
    ("stripes", "channels", "recompute"),
)


def measure() -> str:
    """The table."""
    head = ("network", "operators", "order", *(", ".join(way) for way in WAYS))
    text = (
        "Points that are proven, of all; the largest gap of the others, `-` where there is no bound; seconds:"
    )
    return f"{text}\n\n{table(head, _rows(), 1)}"


def _rows() -> Iterator[list[str]]:
    for name in NETWORKS:
        graph = read_graph((DATA / name).read_bytes())
        for order in ("given", "free"):
            ordered = replace(graph, order=order)
            yield [
                Path(name).stem,
                f"{len(graph.operators)}",
                order,
                *(_figures(ordered, way) for way in WAYS),
            ]


def _figures(graph: Graph, way: tuple[Generator, ...]) -> str:
    began = time.perf_counter()
    front = find_front(graph, FrontOptions(generators=way), Options(time_limit=SECONDS), FrontCallbacks())
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
