"""The formats for people: what each is, and what of it can be read and written, with those of plug-ins."""

from typing import Final, NamedTuple

from memstow.planner import formats
from memstow.planner.plugins.process import listed

_SUMMARIES: Final = {
    "json": "the native format: everything",
    "csv": "buffers in one memory, as MiniMalloc has them",
    "structured": "the JSON of kernel compilers, as dsa-solver has it",
    "executorch": "a list of tensors of ExecuTorch, or the input of its planner for Cadence",
    "usmp": "the input of TVM's Unified Static Memory Planner",
    "xla": "dumps of XLA: the temporaries of a compiled program",
    "torch-snapshot": "memory snapshots of PyTorch",
    "torch-trace": "traces of PyTorch's profiler with memory events",
    "stalloc": "logs of STAlloc, and the plans that its allocator reads",
    "programs": "several programs in the same memories, and a plan for each",
    "graph": "operators and the tensors between them",
    "tflite": "models of TensorFlow Lite",
    "onnx": "models of ONNX",
    "pt2": "programs of PyTorch",
    "replay": "the table of a step that repeats, for its allocator",
}
_READ, _WRITE = "read", "write"


class Description(NamedTuple):
    """One line of the list of formats."""

    name: str
    summary: str
    problems: tuple[str, ...]
    """Of `read` and `write`, what can be done with problems, or with graphs."""
    plans: tuple[str, ...]
    missing: str | None = None
    package: str | None = None
    """With its version, of a plug-in."""


def describe() -> list[Description]:
    """Every format."""
    read, written = (*formats.readable_names(), *formats.graph_names()), (*formats.names(), "graph")
    plans_read, plans_written = formats.readable_plan_names(), formats.written_plan_names()
    ours = [
        Description(
            name,
            summary,
            _ways(name in read, name in written),
            _ways(name in plans_read, name in plans_written),
        )
        for name, summary in _SUMMARIES.items()
    ]
    plug_ins = [
        Description(
            one.plug_in.name,
            str(one.said.get("summary", "")),
            _ways(*(f"{way}_problem" in one.said.get("methods", ()) for way in (_READ, _WRITE))),
            _ways(*(f"{way}_plan" in one.said.get("methods", ()) for way in (_READ, _WRITE))),
            one.missing,
            one.plug_in.origin,
        )
        for one in listed("format", _SUMMARIES)
    ]
    return [*ours, *plug_ins]


def _ways(reads: bool, writes: bool) -> tuple[str, ...]:
    return tuple(way for way, is_there in ((_READ, reads), (_WRITE, writes)) if is_there)
