"""The plan that a model carries for the runtime: one offset for each tensor of all subgraphs, in metadata.

The runtime reads 32-bit integers: two that it does not look at, the number of tensors, and their offsets, of
which -1 leaves a tensor to its own rule. It trusts them: that tensors do not overlap is for us to check.
"""

import struct
from collections.abc import Sequence
from typing import Final

from memstow.planner.formats.tflite.flatbuffer import Flatbuffer, Table
from memstow.planner.model.errors import InputError

NAME: Final = "OfflineMemoryAllocation"
LEFT: Final = -1
"""The offset of a tensor that the runtime places by its own rule."""
_VERSION: Final = 1
_BUFFERS, _METADATA = 4, 6


def encoded(subgraphs: int, offsets: Sequence[int]) -> bytes:
    """The plan as the runtime reads it."""
    return struct.pack(f"<3i{len(offsets)}i", _VERSION, subgraphs, len(offsets), *offsets)


def carries_plan(model: bytes) -> bool:
    """Whether the model has metadata with a plan."""
    return any(entry.text(0) == NAME for entry in Flatbuffer(model).root().tables(_METADATA))


def carried_offsets(model: bytes, tensors: int) -> list[int] | None:
    """The offsets that a model of so many tensors carries; None without a plan.

    Raises InputError where the runtime could not read it.
    """
    flatbuffer = Flatbuffer(model)
    root = flatbuffer.root()
    found = [entry.number(1, "<I") for entry in root.tables(_METADATA) if entry.text(0) == NAME]
    if not found:
        return None
    # Of several, the runtime takes the last.
    held = _bytes_of(root, found[-1])
    begin, length = held
    if length < 12:
        raise _wrong(f"it has {length:,} bytes, and 12 come before the first offset")
    listed = flatbuffer.number("<I", begin + 8)
    if listed != tensors:
        raise _wrong(f"it has offsets of {listed:,} tensors, and the model has {tensors:,}")
    if length < 12 + 4 * tensors:
        raise _wrong(f"it has {length:,} bytes, too few for the offsets of {tensors:,} tensors")
    flatbuffer.spend(tensors)
    return list(struct.unpack_from(f"<{tensors}i", model, begin + 12))


def _bytes_of(root: Table, index: int) -> tuple[int, int]:
    for at, buffer in enumerate(root.tables(_BUFFERS)):
        if at == index:
            found = buffer.vector(0, 1)
            if found is not None:
                return found
            break
    raise _wrong("its metadata names no buffer with bytes")


def _wrong(why: str) -> InputError:
    message = f"the model carries a memory plan that the runtime cannot read: {why}"
    return InputError.single("wrong_plan", f"$.metadata[{NAME!r}]", message)
