"""Tensors that are images: rows x columns x channels of whole bytes."""

from dataclasses import dataclass

from memstow.planner.model.graph import Tensor, element_bits


@dataclass(frozen=True, slots=True)
class Image:
    """The extents of a tensor that can be had in rows."""

    rows: int
    columns: int
    channels: int
    element: int
    """The bytes of an element."""

    @property
    def pixel(self) -> int:
        """The bytes of one row in one column."""
        return self.channels * self.element


def image_of(tensor: Tensor) -> Image | None:
    """The image that a tensor is; None where it is none."""
    if tensor.shape is None or tensor.type is None or tensor.kind not in ("data", "external"):
        return None
    shape = tensor.shape[1:] if len(tensor.shape) == 4 and tensor.shape[0] == 1 else tensor.shape
    bits = element_bits(tensor.type)
    if len(shape) != 3 or bits % 8 or not all(shape):
        return None
    return Image(*shape, element=bits // 8)
