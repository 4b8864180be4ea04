"""Orders of operators for all values of symbols, against all orders of tiny graphs, counted from the page."""

import json
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memstow
from tests.graphs import Document, most_live, orders, random_graph

OPTIONS = memstow.Options(deterministic=True)
PLACES = [{"s": 1, "t": 9}, {"s": 7, "t": 2}, {"s": 3, "t": 3}]
WEIGHTS = [1, 3, 1]


def _with_formulas(seed: int, aim: str) -> tuple[Document, dict[str, str]]:
    """A graph whose sizes grow with one of two symbols, and the formulas by id."""
    document, random = random_graph(seed), Random(seed)
    del document["order"]
    # There is no such field in a graph with symbols; the reference reads an empty one.
    del document["before"]
    tied = {view[end] for view in document["views"] for end in ("tensor", "of")}
    formulas: dict[str, str] = {}
    for element in _elements(document):
        element.pop("shape", None)
        element.pop("type", None)
        if element["id"] not in tied:
            formulas[element["id"]] = f"{element['size']}*{random.choice(['s', 't', '1', 's*t'])}"
            element["size"] = formulas[element["id"]]
    points = [{"at": at, "weight": weight} for at, weight in zip(PLACES, WEIGHTS, strict=True)]
    symbols = [{"id": "s", "min": 1, "max": 9}, {"id": "t", "min": 1, "max": 9}]
    return {**document, "symbols": symbols, "points": points, "aim": aim}, formulas


def _elements(document: Document) -> list[dict[str, Any]]:
    temporaries = [entry for operator in document["operators"] for entry in operator["temporaries"]]
    return [*document["tensors"], *temporaries]


def _at(document: Document, formulas: dict[str, str], at: dict[str, int]) -> Document:
    """The graph with the sizes at a point."""
    size = {name: eval(formula, {}, dict(at)) for name, formula in formulas.items()}

    def sized(element: dict[str, Any]) -> dict[str, Any]:
        return {**element, "size": size.get(element["id"], element["size"])}

    return {
        **document,
        "before": [],
        "tensors": list(map(sized, document["tensors"])),
        "operators": [
            {**operator, "temporaries": list(map(sized, operator["temporaries"]))}
            for operator in document["operators"]
        ],
    }


def _worst(peaks: list[int], least: list[int]) -> Fraction:
    pairs = zip(peaks, least, strict=True)
    return max(Fraction(peak, few) if few else Fraction(1 + peak) for peak, few in pairs)


def _read(document: Document) -> memstow.SymbolicGraph:
    return memstow.read_symbolic_graph(json.dumps(document).encode())


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_no_order_has_a_smaller_largest_ratio(seed: int) -> None:
    document, formulas = _with_formulas(seed, "worst")
    ordered = memstow.order_symbolic(_read(document), OPTIONS)
    there = [_at(document, formulas, at) for at in PLACES]
    rows = [[most_live(graph, order) for graph in there] for order in orders(there[0])]
    least = [min(column) for column in zip(*rows, strict=True)]
    chosen = [operator.id for operator in ordered.graph.operators]
    assert chosen in list(orders(there[0]))
    assert list(ordered.live) == [most_live(graph, chosen) for graph in there]
    # Tiny graphs are searched to the end.
    assert list(ordered.least) == least
    assert _worst(list(ordered.live), least) == min(_worst(row, least) for row in rows)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), aim=st.sampled_from(["sum", "first"]))
def test_the_order_is_no_worse_than_the_list_for_each_aim(seed: int, aim: str) -> None:
    document, formulas = _with_formulas(seed, aim)
    ordered = memstow.order_symbolic(_read(document), OPTIONS)
    there = [_at(document, formulas, at) for at in PLACES]
    listed = [most_live(graph, [operator["id"] for operator in document["operators"]]) for graph in there]

    def counted(peaks: list[int]) -> int:
        pairs = zip(peaks, WEIGHTS, strict=True)
        return sum(peak * weight for peak, weight in pairs) if aim == "sum" else peaks[0]

    assert counted(list(ordered.live)) <= counted(listed)


_SIZES: dict[str, int | str] = {"x": 16, "a": "s*s", "c": 5, "d": "10*s", "y": 1}
TWO_BRANCHES = memstow.SymbolicGraph(
    symbols=[memstow.Symbol(id="s", min=1, max=64, values=[8, 64])],
    tensors=[memstow.SymbolicTensor(id=name, size=size) for name, size in _SIZES.items()],
    operators=[
        memstow.SymbolicOperator(id="D", inputs=["x"], outputs=["d"]),
        memstow.SymbolicOperator(id="A", inputs=["x"], outputs=["a"]),
        memstow.SymbolicOperator(id="C", inputs=["a"], outputs=["c"]),
        memstow.SymbolicOperator(id="Y", inputs=["c", "d"], outputs=["y"]),
    ],
    inputs=["x"],
    outputs=["y"],
)


def test_the_large_branch_runs_before_what_it_would_meet() -> None:
    ordered = memstow.order_symbolic(TWO_BRANCHES, OPTIONS)
    assert [operator.id for operator in ordered.graph.operators] == ["A", "C", "D", "Y"]
    assert ordered.least == ordered.live == (101, 4117)
    plan = memstow.plan_symbolic(memstow.lower_symbolic(ordered.graph), OPTIONS)
    assert [point.peak for point in plan.points] == [101, 4117]
    assert ordered == memstow.order_symbolic(TWO_BRANCHES, OPTIONS)


def test_bounds_are_those_of_the_objective() -> None:
    pools = [memstow.Pool(id="one"), memstow.Pool(id="two")]
    for objective, least in (("peak", (101, 4117)), ("max_peak", (51, 2059)), ("peak:one", (0, 0))):
        graph = memstow.SymbolicGraph(
            symbols=TWO_BRANCHES.symbols,
            tensors=TWO_BRANCHES.tensors,
            operators=TWO_BRANCHES.operators,
            inputs=TWO_BRANCHES.inputs,
            outputs=TWO_BRANCHES.outputs,
            pools=pools,
            objective=[objective],
        )
        assert memstow.order_symbolic(graph, OPTIONS).least == least


def test_without_operators_nothing_is_chosen() -> None:
    graph = memstow.SymbolicGraph(
        symbols=TWO_BRANCHES.symbols,
        tensors=[memstow.SymbolicTensor(id="x", size="4*s")],
        operators=[],
        inputs=["x"],
        outputs=["x"],
    )
    ordered = memstow.order_symbolic(graph, OPTIONS)
    assert ordered.graph == graph
    assert ordered.least == (32, 256)


def test_more_bytes_than_can_be_counted_have_no_bound_of_a_search() -> None:
    tensors = [
        memstow.SymbolicTensor(id=tensor.id, size=f"{1 << 50}*({tensor.size})")
        for tensor in TWO_BRANCHES.tensors
    ]
    graph = memstow.SymbolicGraph(
        symbols=[memstow.Symbol(id="s", min=1, max=16, values=[8, 16])],
        tensors=tensors,
        operators=TWO_BRANCHES.operators,
        inputs=["x"],
        outputs=["y"],
    )
    ordered = memstow.order_symbolic(graph, OPTIONS)
    assert max(ordered.least) <= max(ordered.live)


def test_a_graph_with_sizes_that_are_numbers_is_refused() -> None:
    graph = memstow.Graph(tensors=[memstow.Tensor(id="x", size=1)], operators=[], inputs=["x"])
    with pytest.raises(TypeError, match="order_symbolic takes a SymbolicGraph, not Graph"):
        memstow.order_symbolic(graph, OPTIONS)  # type: ignore[arg-type]
