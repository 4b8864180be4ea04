"""Problems and plans that the page is tried with."""

import json
from collections.abc import Sequence
from typing import Any

from memstow.api.page.offline import page_alone
from memstow.planner.formats import read_plan, read_problem, write_plan, write_problem
from memstow.planner.front.find_front import find_front
from memstow.planner.front.front_request import FrontCallbacks
from memstow.planner.generate.network import network as make_network
from memstow.planner.model.front import Front, FrontOptions
from memstow.planner.model.graph import Graph, Operator, Tensor, Window
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.show.view_document import SearchStep, comparison_document, plan_document
from memstow.planner.solve import engine

HOSTILE = '<img src=x onerror="alert(1)">\u202e\n]]></script>'
_OPTIONS = Options(deterministic=True)

JsonObject = dict[str, Any]


def network(count: int, seed: int) -> Problem:
    """The tensors of a network."""
    return make_network(count, seed)


def solved(problem: Problem, options: Options = _OPTIONS) -> tuple[bytes, bytes]:
    """The problem and a plan for it."""
    plan: Plan = engine.plan(problem, options)
    return write_problem(problem), write_plan(problem, plan)


def page_of(
    problem: bytes | JsonObject, plan: bytes | JsonObject, search: Sequence[SearchStep] = ()
) -> bytes:
    """The page that holds both, and what the judge says."""
    read = read_problem(_encoded(problem))
    return page_alone(plan_document(read, read, read_plan(_encoded(plan), read), "sample", search), "sample")


def compared(problem: bytes | JsonObject, plans: Sequence[bytes | JsonObject], names: Sequence[str]) -> bytes:
    """The page of two plans."""
    read = read_problem(_encoded(problem))
    both = [read_plan(_encoded(plan), read) for plan in plans]
    return page_alone(comparison_document(read, read, both, names, "sample"), "sample")


def _encoded(document: bytes | JsonObject) -> bytes:
    return document if isinstance(document, bytes) else json.dumps(document).encode()


def buffers(*sizes_and_lives: tuple[int, int, int], name: str = "sample", **more: object) -> JsonObject:
    """A problem of buffers a, b, c...: size, begin, end."""
    listed = [
        {"id": chr(97 + place), "size": size, "lifetime": [begin, end]}
        for place, (size, begin, end) in enumerate(sizes_and_lives)
    ]
    return {"version": 1, "name": name, "buffers": listed, **more}


def places(*offsets: int, status: str = "feasible", **more: object) -> JsonObject:
    """A plan that places a, b, c... at these offsets."""
    placed = [
        {"buffer": chr(97 + place), "pool": "memory", "offset": offset}
        for place, offset in enumerate(offsets)
    ]
    return {"status": status, "placements": placed, **more}


def peak_claim(value: int, bound: int, certificate: object = None) -> list[JsonObject]:
    """The objective of a plan with one term."""
    claim: JsonObject = {"term": "peak", "value": value, "bound": bound, "gap": (value - bound) / value}
    return [claim | ({} if certificate is None else {"certificate": certificate})]


def two_pools() -> JsonObject:
    """A keyword spotter on a board with two memories, with most kinds of constraints."""
    made: list[JsonObject] = [
        {"id": "audio_ring", "size": 8192, "lifetime": [0, 33], "pool": "dtcm", "offset": 2048}
    ]
    kibibytes = (15, 23, 31, 31, 24, 24, 16, 16, 12, 12, 8, 8, 6, 6)
    for place, size in enumerate(kibibytes):
        group = "conv" if place % 2 == 0 else "dwconv"
        life = [2 * place, 2 * place + 3]
        made.append({"id": f"{group}{place}.out", "size": size * 1024, "lifetime": life})
        scratch = (4096, 8192, 6144, 9216)[place % 4]
        made.append({"id": f"{group}{place}.scratch", "size": scratch, "lifetime": [life[0], life[0] + 1]})
    for place, life in enumerate(([0, 5], [6, 11], [14, 20])):
        made.append({"id": f"weights{place}.dma", "size": 20480, "lifetime": life, "pools": ["sram"]})
    for name, size, life in (
        ("skip3", 31744, [7, 14]),
        ("skip7", 16384, [15, 22]),
        ("concat", 16384, [19, 25]),
        ("concat.left", 8192, [18, 20]),
        ("concat.right", 8192, [18, 21]),
        ("relu", 16384, [24, 28]),
    ):
        made.append({"id": name, "size": size, "lifetime": life, "pools": ["sram"]})
    return {
        "version": 1,
        "name": "keyword spotting on a two-memory board",
        "pools": [
            {"id": "dtcm", "capacity": 65536, "cost": 1, "reserved": [{"offset": 0, "size": 1024}]},
            {"id": "sram", "capacity": 262144, "cost": 3},
        ],
        "buffers": made,
        "relative": [
            {"buffer": "concat.left", "base": "concat", "offset": 0},
            {"buffer": "concat.right", "base": "concat", "offset": 8192},
        ],
        "in_place": [{"input": "concat", "output": "relu"}],
        "reuse_costs": [{"buffers": ["skip7", "weights2.dma"], "cost": 5}],
    }


def infeasible() -> JsonObject:
    """More live bytes than the memory has."""
    listed = [
        {"id": f"b{place}", "size": 1024 * (1 + place % 4), "lifetime": [place, place + 3 + place % 3]}
        for place in range(20)
    ]
    return {
        "version": 1,
        "name": "too much for 10 KiB",
        "pools": [{"id": "ram", "capacity": 10240}],
        "buffers": listed,
    }


def problem_of(document: JsonObject) -> Problem:
    """The document as a problem."""
    return read_problem(json.dumps(document).encode())


def conv_net() -> Graph:
    """A small MobileNet: pairs of depthwise and pointwise convolutions on an image of 48 x 48."""
    shapes = [(48, 48, 3), (24, 24, 8)]
    kinds = ["CONV_2D"]
    for stride, channels in ((1, 16), (2, 32), (1, 32), (2, 64), (1, 64), (2, 128)):
        rows, columns, before = shapes[-1]
        shapes += [(rows // stride, columns // stride, before), (rows // stride, columns // stride, channels)]
        kinds += ["DEPTHWISE_CONV_2D", "CONV_2D"]
    tensors = [
        Tensor(id="image" if place == 0 else f"t{place}", shape=shape, type="int8")
        for place, shape in enumerate(shapes)
    ]
    operators = []
    for place, kind in enumerate(kinds):
        (rows, _, before), (after, _, channels) = shapes[place], shapes[place + 1]
        side, stride = (1 if kind == "CONV_2D" and place else 3), rows // after
        padding = (0, 0, 1, 1) if stride == 2 else (side // 2,) * 4
        work = after * after * channels * side * side * (1 if kind.startswith("DEPTH") else before)
        operators.append(
            Operator(
                id=f"{'dw' if kind.startswith('DEPTH') else 'conv'}{place}",
                type=kind,
                inputs=[tensors[place].id],
                outputs=[tensors[place + 1].id],
                window=Window(kernel=(side, side), stride=(stride, stride), padding=padding),
                cost=work,
            )
        )
    return Graph(
        version=1,
        name="a small MobileNet, 48 x 48",
        tensors=tensors,
        operators=operators,
        inputs=["image"],
        outputs=[tensors[-1].id],
    )


def front_of(document: Problem | Graph, seconds: float = 10.0, **asked: Any) -> Front:
    """Its front."""
    return find_front(document, FrontOptions(**asked), Options(time_limit=seconds), FrontCallbacks())
