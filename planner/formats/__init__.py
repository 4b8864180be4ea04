"""Formats of problems, graphs and plans: chosen by name, or detected from the content.

In: bytes, out: a problem, a graph or a plan with all issues of the document; and the other way round.
"""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from memstow.planner.formats.format import Format
from memstow.planner.graph import documents
from memstow.planner.model.errors import InputError, require_kind
from memstow.planner.model.plan import Plan
from memstow.planner.model.printable import printable
from memstow.planner.model.problem import Problem
from memstow.planner.reading.json_text import FEW_BYTES, parse_json, require_bytes
from memstow.records import record

if TYPE_CHECKING:
    from memstow.planner.formats.format import GraphFormat
    from memstow.planner.model.graph import Graph
    from memstow.planner.recorded.recording import Recording

# Imported when used, so that no command waits for formats that it does not need.
_MODULES: Final = {
    "json": "native",
    "csv": "csv_table",
    "structured": "structured_format",
    "executorch": "executorch_format",
    "usmp": "usmp_format",
}
_READ_ONLY: Final = {
    "xla": "xla_dump",
    "torch-snapshot": "torch_recordings:SNAPSHOT_FORMAT",
    "torch-trace": "torch_recordings:TRACE_FORMAT",
    "stalloc": "torch_recordings:STALLOC_FORMAT",
    "programs": "programs_format",
}
RECORDED: Final = ("torch-snapshot", "torch-trace", "stalloc")
"""Formats of what an allocator did, on one device or several."""
# Read only: a graph becomes a problem when its operators have an order.
_OF_GRAPHS: Final = {
    "graph": "native:GRAPH_FORMAT",
    "tflite": "tflite_format",
    "onnx": "onnx.models",
    "pt2": "torch_program",
}
_WITH_PLANS: Final = ("json", "csv", "structured", "executorch", "usmp", "programs")
# Plans that other programs run and nobody reads back.
_PLANS_ONLY: Final = {"replay": "step_table", "stalloc": "stalloc_plan"}
_OURS: Final = frozenset((*_MODULES, *_READ_ONLY, *_OF_GRAPHS, *_WITH_PLANS, *_PLANS_ONLY))
_NO_PROBLEM: Final = Problem(buffers=())
_USMP_PLAN: Final = "pool_allocations"
_EMPTY_LIST: Final = (
    'an empty list is of no format in particular: give a problem, {"version": 1, "buffers": [...]}, '
    "or name the format"
)


def names() -> tuple[str, ...]:
    """The formats a problem can be read from and written to."""
    return tuple(_MODULES)


def readable_names() -> tuple[str, ...]:
    """The formats a problem can be read from."""
    return (*_MODULES, *_READ_ONLY)


def graph_names() -> tuple[str, ...]:
    """The formats a graph can be read from."""
    return tuple(_OF_GRAPHS)


def readable_plan_names() -> tuple[str, ...]:
    """The formats a plan can be read from."""
    return tuple(name for name in (*_MODULES, *_READ_ONLY) if _named(name).read_plan is not None)


def plan_names() -> tuple[str, ...]:
    """The formats a plan can be read from and written to."""
    return _WITH_PLANS


def written_plan_names() -> tuple[str, ...]:
    """The formats a plan can be written to."""
    return (*_WITH_PLANS, *_PLANS_ONLY)


def read_problem(data: bytes, name: str | None = None) -> Problem:
    """The problem in the bytes, in the named format or in the one they look like.

    A graph is the problem of its operators in the order in which they are listed.
    """
    document = read_document(data, name)
    if isinstance(document, Problem):
        return document
    from memstow.planner.graph.lowering import listed_problem

    return listed_problem(document)


@record
class Reading:
    """A document as some bytes describe it."""

    document: "Problem | Graph"
    is_native: bool
    """Whether they do so in native JSON."""


def read_document(
    data: bytes,
    name: str | None = None,
    *,
    in_place: bool = False,
    dims: Mapping[str, int] | None = None,
    device: str | None = None,
) -> "Problem | Graph":
    """The problem or the graph in the bytes, in the named format or in the one they look like.

    `in_place`: the operators of a model that work element by element may overwrite an input. A document says
    itself which operators may. `dims`: values for the dimensions that an ONNX model leaves open, by their
    names, or as INPUT:AXIS where they have none. `device`: which device of a recording.
    """
    return reading_of(data, name, in_place=in_place, dims=dims, device=device).document


def reading_of(
    data: bytes,
    name: str | None = None,
    *,
    in_place: bool = False,
    dims: Mapping[str, int] | None = None,
    device: str | None = None,
) -> Reading:
    """The same, and in which way the bytes say that."""
    recording = read_recording(data, name, device)
    if recording is not None:
        if dims:
            from memstow.planner.formats.format import no_open_dimensions

            raise no_open_dimensions()
        return Reading(recording.problem, False)
    if name is None and not looks_like_json(data):
        name = format_by_content(data)
    if name in _OF_GRAPHS and not _graph_format(name).is_json:
        model = _graph_format(name)
        graph = (
            model.read_graph(data)
            if model.read_model is None
            else model.read_model(data, in_place, dims or {})
        )
        return Reading(graph, False)
    if dims:
        from memstow.planner.formats.format import no_open_dimensions

        raise no_open_dimensions()
    if name is None:
        document = _large_document(data)
        if document is not None:
            return Reading(document, True)
        raw = parse_json(data)
        return Reading(document_of(raw), is_graph(raw) or problem_format(raw) == "json")
    if name in _OF_GRAPHS:
        return Reading(_graph_format(name).read_graph(parse_json(data)), True)
    form = _named(name)
    if is_ours(name):
        return Reading(form.read_problem(_content(form, data)), name == "json")
    from memstow.planner.formats.plugin_format import document_in

    return Reading(document_of(parse_json(document_in(name, data))), False)


def read_recording(data: bytes, name: str | None = None, device: str | None = None) -> "Recording | None":
    """What an allocator did, where the bytes are in such a format, named or by their looks.

    `device`: which of its devices; an InputError where the bytes are something else, which has none.
    """
    name = recorded_format(data) if name is None else name
    if name in RECORDED:
        from memstow.planner.recorded import recording

        return recording.read_recording(data, name, device)
    if device is not None:
        message = (
            "only recordings of PyTorch are of several devices, and this is something else; leave it out"
        )
        raise InputError.single("no_devices", "device", message)
    return None


def recorded_format(data: bytes) -> str | None:
    """The format of the recording that the bytes look like; None if they look like something else."""
    require_bytes(data)
    if data[:1] not in (b"\x80", b"\x1f", b"0", b"1", b"I", b"\xef") and b'"traceEvents"' not in data:
        return None
    from memstow.planner.recorded.recording import format_of

    return format_of(data)


def read_graph(
    data: bytes, name: str | None = None, *, in_place: bool = False, dims: Mapping[str, int] | None = None
) -> "Graph":
    """The graph in the bytes, in the named format or in the one they look like.

    `in_place` and `dims` are as for `read_document`.
    """
    document = read_document(data, name, in_place=in_place, dims=dims)
    if isinstance(document, Problem):
        message = "this is a problem, where a graph is expected: a graph has `operators`"
        raise InputError.single("not_a_graph", "$", message)
    return document


def _large_document(data: bytes) -> "Problem | Graph | None":
    """What a large document in native JSON describes; None where the ordinary readers should read it."""
    if len(data) < FEW_BYTES:
        return None
    from memstow.planner.model.model_class import instance_in
    from memstow.records import collector_at_rest

    with collector_at_rest():
        if b'"operators"' not in data:
            from memstow.planner.check import find_issues

            problem = instance_in(data, Problem)
            return None if problem is None or find_issues(problem) else problem
        from memstow.planner.graph.check import find_issues as find_issues_of_graph
        from memstow.planner.model.graph import Graph

        graph = instance_in(data, Graph)
        return None if graph is None or find_issues_of_graph(graph) else graph


def document_of(raw: object) -> "Problem | Graph":
    """The problem or the graph that a JSON value describes, in the format that it looks like."""
    if is_request(raw):
        message = "it is a request to the service: the problem is what `problem` holds; give that alone"
        raise InputError.single("request", "$", message)
    if is_symbolic(raw):
        message = (
            "sizes are formulas here: `memstow solve`, `evaluate` and `verify` take such a problem, and "
            "--at s=128 makes an ordinary one of it; in Python, read_symbolic and problem_at"
        )
        raise InputError.single("symbolic", "$.symbols", message)
    if is_graph(raw):
        return _graph_format("graph").read_graph(raw)
    if is_plan(raw):
        message = "this is a plan, where a problem is expected: the problem is named before its plan"
        raise InputError.single("not_a_problem", "$", message)
    return _named(problem_format(raw)).read_problem(raw)


def write_graph(graph: "Graph") -> bytes:
    """The graph as native JSON."""
    from memstow.planner.formats.native import write_document

    return write_document(graph)


def problem_of(raw: object, name: str) -> Problem:
    """The problem that a JSON value describes in the named format, which is one of JSON."""
    return _named(name).read_problem(raw)


def write_problem(problem: Problem, name: str = "json") -> bytes:
    """The problem in the named format; an InputError that names the fields it has no place for."""
    form = _named(name, _MODULES)
    if form.write_problem is None:
        message = f"the format {name!r} can only be read; use {', '.join(_MODULES)}"
        raise InputError.single("read_only_format", "format", message)
    return form.write_problem(problem)


def read_plan(data: bytes, problem: Problem, name: str | None = None) -> Plan:
    """The plan in the bytes. Whether it is right is for `verify` to say."""
    name = recorded_format(data) if name is None else name
    if name is None and not looks_like_json(data):
        name = text_format(data)
    if name is not None:
        form = _named(name, _WITH_PLANS)
        if form.read_plan is None:
            raise _no_plans(name)
        return form.read_plan(_content(form, data), problem)
    raw = parse_json(data)
    if isinstance(raw, dict) and "plan" in raw:
        from memstow.planner.formats.lock import is_lock

        raw = raw["plan"] if is_lock(raw) else raw
    if isinstance(raw, dict) and "placements" not in raw:
        # What memstow writes as well, and is no plan.
        if {"terms", "points"} <= raw.keys():
            message = (
                "this is a front, where a plan is expected: `memstow verify` takes the plan of its point N "
                "by --point N, and writes it to a file of its own by --output"
            )
            raise InputError.single("not_a_plan", "$", message)
        if "tilings" in raw or {"operator", "unit"} <= raw.keys():
            message = "these are tiles of operators, where a plan is expected: `memstow verify` judges them"
            raise InputError.single("not_a_plan", "$", message)
    is_problem = isinstance(raw, dict) and "buffers" in raw and "placements" not in raw
    if is_problem or (isinstance(raw, list) and not is_plan(raw)):
        message = "this is a problem, where a plan is expected: the problem is named before its plan"
        raise InputError.single("not_a_plan", "$", message)
    form = _named(plan_format(raw))
    if form.read_plan is None:
        raise _no_plans(form.name)
    return form.read_plan(raw, problem)


def write_plan(problem: "Problem | Graph", plan: Plan, name: str = "json") -> bytes:
    """The plan of the problem or the graph in the named format."""
    write = _plan_writer(name)
    require_kind(plan, Plan, "write_plan takes a problem or a graph and its Plan")
    if not isinstance(problem, Problem):
        refuse_lost_schedule(plan, name, "schedule")
        # A plan in JSON is all of itself: it needs no problem, and there may be none in the order as listed.
        problem = _NO_PROBLEM if name == "json" else documents.problem_of(problem, plan)
    return write(problem, plan)


def _plan_writer(name: str) -> Callable[[Problem, Plan], bytes]:
    if name in _PLANS_ONLY:
        write: Callable[[Problem, Plan], bytes] = import_module(
            f"memstow.planner.formats.{_PLANS_ONLY[name]}"
        ).write_plan
        return write
    form = _named(name, written_plan_names())
    if form.write_plan is None:
        raise _no_plans(name)
    return form.write_plan


def refuse_lost_schedule(plan: Plan, name: str, path: str) -> None:
    """InputError for a plan that is not the same one without a schedule that the format has no place for."""
    if name == "json" or plan.schedule is None:
        return
    from memstow.planner.graph.schedules import only_orders

    if not only_orders(plan.schedule):
        message = (
            f"{name} has the places of a plan and not what runs in stripes, again or in another way; "
            "write it as json"
        )
        raise InputError.single("lost_schedule", path, message)


def _content(form: Format, data: bytes) -> Any:
    return parse_json(data) if form.is_json else data


def is_ours(name: str) -> bool:
    """Whether the format is one of these: any other is of another package."""
    return name in _OURS


def _named(name: str, known: Iterable[str] = (*_MODULES, *_READ_ONLY, *_OF_GRAPHS)) -> Format:
    """The format of this name; an InputError that lists those that are `known` here."""
    module = _MODULES.get(name) or _READ_ONLY.get(name)
    if module is None and not is_ours(name):
        # Looking for plug-ins takes as long as a small solve.
        from memstow.planner.formats import plugin_format

        of_plugin = plugin_format.find(name)
        if of_plugin is not None:
            return of_plugin
        known = (*known, *plugin_format.names(_OURS))
    if module is None:
        wrong = "the format {} is one of graphs" if name in _OF_GRAPHS else "there is no format {}"
        message = f"{wrong.format(repr(printable(name)))}; use {', '.join(known)}"
        raise InputError.single("unknown_format", "format", message)
    module, _, attribute = module.partition(":")
    form: Format = getattr(import_module(f"memstow.planner.formats.{module}"), attribute or "FORMAT")
    return form


def _graph_format(name: str) -> "GraphFormat":
    module, _, attribute = _OF_GRAPHS[name].partition(":")
    form: GraphFormat = getattr(import_module(f"memstow.planner.formats.{module}"), attribute or "FORMAT")
    return form


def _no_plans(name: str) -> InputError:
    message = f"the format {name!r} holds problems only; use {', '.join(written_plan_names())}"
    return InputError.single("no_plan_format", "format", message)


# Detection


def looks_like_json(data: bytes) -> bool:
    """Whether the bytes begin as a JSON object or list does; anything else is taken for CSV."""
    require_bytes(data)
    return data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


def problem_format(raw: Any) -> str:
    """The format of a JSON value that should be a problem; the native one where nothing tells.

    InputError for an empty list, which is of several: who sent it has lost a problem on the way.
    """
    if isinstance(raw, list):
        if not raw:
            raise InputError.single("no_problem", "$", _EMPTY_LIST)
        return "usmp" if isinstance(raw[0], list) else "executorch"
    if is_programs(raw):
        return "programs"
    if isinstance(raw, dict) and not ("buffers" in raw or "version" in raw):
        if "schema_version" in raw or "problem" in raw:
            return "structured"
        if "sizes" in raw or "edges" in raw or "buffer_infos" in raw:
            return "usmp"
        if "specs" in raw or "memory_config" in raw:
            return "executorch"
    return "json"


def format_by_content(data: bytes) -> str:
    """The format of bytes that are no JSON: a TensorFlow Lite model says so, ONNX begins with its version."""
    if data[4:8] == b"TFL3":
        return "tflite"
    if data[:4] == b"PK\x03\x04" and b"/" in data[30 : 30 + int.from_bytes(data[26:28], "little")]:
        # Programs of PyTorch are archives whose first file is in a folder, unlike a document that was packed.
        return "pt2"
    return "onnx" if data[:1] == b"\x08" else text_format(data)


def text_format(data: bytes) -> str:
    """The format of a text that is no JSON: dumps of XLA say what they are, all else is taken for CSV."""
    begins = data[:64].removeprefix(b"\xef\xbb\xbf")
    return "xla" if begins.startswith((b"BufferAssignment:", b"HloLiveRange (max ")) else "csv"


def is_graph(raw: Any) -> bool:
    """Whether it is a graph: a problem has buffers, and a plan has placements."""
    return isinstance(raw, dict) and "operators" in raw and not ("buffers" in raw or "placements" in raw)


def is_programs(raw: Any) -> bool:
    """Whether it is of several programs: the problem of each, or the plan of each."""
    others = {"buffers", "operators", "placements"}
    return isinstance(raw, dict) and "programs" in raw and not raw.keys() & others


def is_symbolic(raw: Any) -> bool:
    """Whether it is a problem or a graph whose sizes are formulas."""
    return isinstance(raw, dict) and "symbols" in raw and ("buffers" in raw or "operators" in raw)


def is_request(raw: Any) -> bool:
    """Whether it is what the service gets: a native problem, with options or a target beside it."""
    problem = raw.get("problem") if isinstance(raw, dict) else None
    return isinstance(problem, dict) and "version" in problem and "schema_version" not in raw


def is_plan(raw: Any) -> bool:
    """Whether it is a plan, of ours or in the form of somebody else."""
    if isinstance(raw, list):
        return bool(raw) and isinstance(raw[0], dict) and "mem_offset" in raw[0]
    if is_programs(raw):
        entries = raw["programs"] if isinstance(raw["programs"], list) else []
        return any(isinstance(entry, dict) and "plan" in entry for entry in entries)
    return isinstance(raw, dict) and ("placements" in raw or _USMP_PLAN in raw) and "buffers" not in raw


def plan_format(raw: Any) -> str:
    """The format of a JSON value that should be a plan; only the native one has a status."""
    if isinstance(raw, list):
        return "executorch"
    if isinstance(raw, dict) and _USMP_PLAN in raw:
        return "usmp"
    if is_programs(raw):
        return "programs"
    return "structured" if isinstance(raw, dict) and "placements" in raw and "status" not in raw else "json"
