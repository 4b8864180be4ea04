"""The operators of one stripe, and what each tensor of theirs is to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memstow.planner.model.graph import Tensor
from memstow.planner.verify.graphs.images import Image, image_of
from memstow.planner.verify.graphs.kinds import Rolling
from memstow.planner.verify.graphs.refused import Refused


@dataclass(frozen=True, slots=True)
class Parts:
    """Operators by their place in the stripe."""

    rolling: Sequence[Rolling]
    width: int
    """Columns of a strip of the reference."""
    sources: Sequence[Sequence[tuple[str, int]]]
    """By place, the images that it reads and that are made in the stripe, with the place of their maker."""
    readers: Mapping[str, Sequence[int]]
    """By tensor that is made in the stripe, the places of its readers there."""
    leaving: frozenset[str]
    """Tensors that are made in the stripe and needed elsewhere, or nowhere."""
    images: Mapping[str, Image]
    """By tensor that is made in the stripe, but by no reduction."""

    @property
    def reference(self) -> Image:
        """What strips are counted in: what the last operator makes, or what it takes in."""
        return self.rolling[-1].made

    def rings(self) -> list[int]:
        """The places of those whose output is kept in part only."""
        return [place for place, it in enumerate(self.rolling) if it.output not in self.leaving]

    def is_sink(self, place: int) -> bool:
        """Whether all it makes is wanted by others than the operators of the stripe."""
        return self.rolling[place].output in self.leaving


def parts_of(
    rolling: Sequence[Rolling], width: int, tensors: Mapping[str, Tensor], needed: frozenset[str]
) -> Parts:
    """The parts of a stripe; `needed`: tensors that others read, or the graph keeps. Raises Refused."""
    maker = {it.output: place for place, it in enumerate(rolling)}
    readers: dict[str, list[int]] = {name: [] for name in maker}
    for place, it in enumerate(rolling):
        for name in dict.fromkeys(it.operator.inputs):
            if name not in maker:
                continue
            if rolling[maker[name]].reduces is not None:
                raise Refused(
                    f"{it.operator.id!r} reads {name!r}, which has its first element only when "
                    f"{rolling[maker[name]].operator.id!r} has taken in the last row of the stripe"
                )
            readers[name].append(place)
    leaving = frozenset(
        name for name in maker if name in needed or not readers[name] or tensors[name].kind == "external"
    )
    sources = [[(name, maker[name]) for name in it.reads if name in maker] for it in rolling]
    images = {
        name: image
        for name, place in maker.items()
        if rolling[place].reduces is None and (image := image_of(tensors[name])) is not None
    }
    return Parts(rolling, width, sources, readers, leaving, images)
