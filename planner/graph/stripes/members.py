"""The operators of one stripe, and which tensors they have to themselves."""

from collections.abc import Sequence
from dataclasses import dataclass

from memstow.planner.graph.links import NOBODY, links_of
from memstow.planner.graph.stripes.images import image_of
from memstow.planner.graph.stripes.kinds import Kind, kinds
from memstow.planner.model.graph import Graph


@dataclass(frozen=True, slots=True)
class Reader:
    """An operator of the stripe that reads what another of it makes."""

    place: int
    use: int
    """Which of its uses."""


@dataclass(frozen=True, slots=True)
class Members:
    """Operators that run together, by their place in the stripe; what each makes has the same place."""

    operators: tuple[int, ...]
    kinds: tuple[Kind, ...]
    sources: tuple[tuple[int, ...], ...]
    """By place and use, the place of who makes what is read; `NOBODY` where that comes from outside."""
    readers: tuple[tuple[Reader, ...], ...]
    """By place, those inside that read what it makes."""
    leaves: tuple[bool, ...]
    """Whether what it makes is there as a whole: it is needed outside, or by nobody."""
    pixel: tuple[int, ...]
    """The bytes that what it makes has in one row of one column."""

    @property
    def count(self) -> int:
        """How many operators there are."""
        return len(self.operators)


def members_of(graph: Graph, operators: Sequence[int]) -> Members | str:
    """The stripe of these operators in this order; or why they make none."""
    links, known = links_of(graph), kinds(graph)
    place_of = {operator: place for place, operator in enumerate(operators)}
    found: list[Kind] = []
    for operator in operators:
        kind = known[operator]
        if kind is None:
            return f"{graph.operators[operator].id!r} cannot run row by row"
        found.append(kind)
    maker = {kind.made: place for place, kind in enumerate(found)}
    readers: list[list[Reader]] = [[] for _ in found]
    sources: list[tuple[int, ...]] = []
    for place, kind in enumerate(found):
        sources.append(tuple(maker.get(use.tensor, NOBODY) for use in kind.uses))
        for i, source in enumerate(sources[-1]):
            if source == NOBODY:
                continue
            if found[source].reduces:
                names = graph.operators[operators[place]].id, graph.operators[operators[source]].id
                return f"{names[0]!r} needs all of what {names[1]!r} adds up; end the stripe there"
            readers[source].append(Reader(place, i))
    kept = {links.tensor_index[name] for name in graph.outputs}
    leaves, pixel = [], []
    for kind in found:
        tensor = graph.tensors[kind.made]
        reading = links.readers[kind.made]
        outside = any(it not in place_of for it in reading) or not reading
        leaves.append(outside or kind.made in kept or tensor.kind == "external")
        image = image_of(tensor)
        pixel.append(0 if kind.reduces or image is None or tensor.kind == "external" else image.pixel)
    return Members(
        tuple(operators),
        tuple(found),
        tuple(sources),
        tuple(tuple(them) for them in readers),
        tuple(leaves),
        tuple(pixel),
    )
