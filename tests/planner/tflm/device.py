"""The log of a device, as a runtime compiled with TF_LITE_SHOW_MEMORY_USE prints it."""

from collections.abc import Mapping, Sequence

import memstow
from memstow.planner.tflm.runtime_model import aligned, listed, runtime_model


def device_log(
    model: bytes, scratch: Mapping[tuple[int, int], Sequence[int]], tail: int | None = None
) -> bytes:
    """A line for each tensor that needs memory, then for each block of a kernel."""
    graph = memstow.read_graph(model)
    of_model = runtime_model(model, graph, listed(graph))
    rows = [(tensor.size, tensor.lifetime) for tensor in of_model.tensors if tensor.size]
    for operator, lifetime in of_model.operators.items():
        rows += [(aligned(size), lifetime) for size in scratch.get(operator, ())]
    lines = [
        f"{i % 10} (id={i}): size={size}, offset=0, first_used={first} last_used={last - 1}"
        for i, (size, (first, last)) in enumerate(rows)
    ]
    if tail is not None:
        lines.append(f"[RecordingMicroAllocator] Arena allocation tail {tail} bytes")
    return "".join(f"{line}\r\n" for line in lines).encode()
