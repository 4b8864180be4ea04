"""A graph in one order as the arrays from which stripes are chosen, and what is chosen as a schedule."""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memstow.planner.graph.costs import operator_costs
from memstow.planner.graph.links import NOBODY, links_of
from memstow.planner.graph.steps import steps
from memstow.planner.graph.storages import storages
from memstow.planner.graph.stripes.images import image_of
from memstow.planner.graph.stripes.kinds import Axis, kinds
from memstow.planner.graph.units import load_of, resident_load, start_height
from memstow.planner.model.graph import Graph
from memstow.solvers.stripes import StripeProgram


@dataclass(frozen=True, slots=True)
class Way:
    """Another way to run the operators at places [begin, end) of the order."""

    begin: int
    end: int
    bytes: int
    """All that is live meanwhile, at its fullest moment, in whole units but for what is on top."""
    cost: int


def stripe_program(
    graph: Graph, order: Sequence[int], unit: int = 1, ways: Sequence[Way] = ()
) -> StripeProgram:
    """The arrays of a valid graph whose numbers can be added up (`limits`)."""
    links, known = links_of(graph), kinds(graph)
    place = {operator: at for at, operator in enumerate(order)}
    costs = operator_costs(graph)
    kept = {links.tensor_index[name] for name in graph.outputs}
    columns: dict[str, array[int]] = {
        name: array("q", [0]) * len(order)
        for name in (
            *("can", "reduces", "kept", "rows", "columns", "pixel"),
            *("extra", "extra_rest", "sums", "alone", "cost"),
        )
    }
    last_reader = array("q", [NOBODY]) * len(order)
    use_start, uses = array("q", [0]), array("q")
    needs = [step.bytes for step in steps(graph, order, unit)]
    for at, operator in enumerate(order):
        columns["alone"][at] = needs[at]
        columns["cost"][at] = costs[operator]
        extra = load_of((it.size for it in graph.operators[operator].temporaries), unit)
        columns["extra"][at], columns["extra_rest"][at] = extra.bytes, extra.rest
        kind = known[operator]
        if kind is not None:
            made = graph.tensors[kind.made]
            image = image_of(made)
            readers = links.readers[kind.made]
            external = made.kind == "external"
            columns["can"][at] = 1
            columns["reduces"][at] = kind.reduces
            columns["kept"][at] = kind.made in kept or external or not readers
            last_reader[at] = max((place[it] for it in readers), default=NOBODY)
            columns["rows"][at], columns["columns"][at] = kind.rows, kind.columns
            columns["pixel"][at] = 0 if kind.reduces or external or image is None else image.pixel
            columns["sums"][at] = kind.sums
            for use in kind.uses:
                maker = links.producer[use.tensor]
                uses.append(NOBODY if maker == NOBODY else place[maker])
                uses.extend((*_numbers(use.rows), *_numbers(use.columns)))
        use_start.append(len(uses) // 11)
    always = resident_load(graph, unit)
    return StripeProgram(
        **columns,
        last_reader=last_reader,
        use_start=use_start,
        uses=uses,
        wholes=array("q", (it for whole in _wholes(graph, place) for it in whole)),
        others=array("q", (it for way in ways for it in (way.begin, way.end, way.bytes, way.cost))),
        unit=unit,
        base=always.bytes,
        base_rest=always.rest,
        start=start_height(graph, unit),
    )


def _numbers(axis: Axis) -> tuple[int, int, int, int, int]:
    return axis.extent, axis.step, axis.over, axis.before, axis.after


def _wholes(graph: Graph, place: dict[int, int]) -> Iterator[tuple[int, int, int, int]]:
    """The places between which each storage lives, its bytes, and who makes it if that is one operator."""
    links = links_of(graph)
    for storage in storages(graph):
        used = [place[it] for it in (*storage.writers, *storage.readers)]
        written = [place[it] for it in storage.writers]
        begin = NOBODY if storage.from_start else min(written, default=NOBODY)
        end = len(place) if storage.to_end else max(used, default=NOBODY)
        maker = links.producer[storage.tensor]
        alone = storage.begin is None and maker != NOBODY
        if end >= 0:
            yield begin, end, storage.size, place[maker] if alone else NOBODY
