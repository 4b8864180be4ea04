"""Documents, plans and options as the store keeps them; the key under which equal requests share a plan."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

import memstow
from memstow.planner import formats
from memstow.planner.formats.native import plain, write_document
from memstow.planner.graph.documents import problem_of
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.printable import shown
from memstow.planner.model.problem import Problem
from memstow.planner.reading.json_text import parse_json
from memstow.planner.reading.parse import parse_options, parse_target
from memstow.records import record, replace

if TYPE_CHECKING:
    from memstow.planner.model.front import FrontOptions
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.problem import Target
    from memstow.planner.model.symbolic import Shapes, SymbolicDocument


def document_from(body: bytes) -> "Problem | Graph":
    """The problem or the graph as the store keeps it."""
    return formats.document_of(parse_json(body))


def document_bytes(document: "Problem | Graph") -> bytes:
    """The problem or the graph as the store keeps it."""
    if isinstance(document, Problem):
        return formats.write_problem(document)
    return formats.write_graph(document)


def digest_of(document: "Problem | Graph") -> str:
    """The identity of the problem or the graph."""
    if isinstance(document, Problem):
        return digest(document)
    from memstow.planner.graph.graph_document import graph_digest

    return graph_digest(document)


def symbolic_from(body: bytes) -> "SymbolicDocument":
    """The problem or graph with symbols as the store keeps it."""
    # Requests about other problems do not wait for this import.
    from memstow.planner.formats.native import parse_symbolic_document

    return parse_symbolic_document(parse_json(body))


def symbolic_digest(document: "SymbolicDocument") -> str:
    """The identity of a problem or graph with symbols: of a graph as it is written, but for its name."""
    from memstow.planner.model.symbolic import SymbolicProblem, digest_symbolic

    if isinstance(document, SymbolicProblem):
        return digest_symbolic(document)
    written = write_document(replace(document, name=None))
    return hashlib.sha256(b"memstow-symbolic-graph 1\n" + written).hexdigest()


def buffer_ids(document: "Problem | Graph") -> list[str]:
    """The ids of the buffers, in the order in which a plan places them."""
    return [buffer.id for buffer in problem_of(document).buffers]


# The options that decide about the plan. The hint is added to the cache key apart.
OPTION_NAMES: Final = (
    "time_limit",
    "solver",
    "gap",
    "deterministic",
    "work_limit",
    "seed",
    "workers",
    "memory_limit",
)
FRONT: Final = "front"
"""The member of the options of a job that says which front it is for."""
TARGETS: Final = "targets"
"""The member that says in whose memories, where it is for several."""
SHAPES_KEY: Final = "shapes"
"""The member of the options of a job that says of what kind the plan of its problem with symbols is."""
PROOF: Final = "proof"
"""The member of the options of a job that says whether a proof of its plan is wanted."""
# `members` stands in jobs of before teams of a cluster were dropped; one run solves them.
_OF_KINDS: Final = (FRONT, TARGETS, SHAPES_KEY, PROOF, "pieces", "members")
# Characters of a cache key that say which version it is of.
MARK_LENGTH: Final = 12
_NO_PROBLEM: Final = Problem(version=1, buffers=())


def plan_to_bytes(plan: Plan) -> bytes:
    """A plan as the store keeps it."""
    return formats.write_plan(_NO_PROBLEM, plan)


def plan_from_bytes(body: bytes) -> Plan:
    """A plan from the store."""
    return formats.read_plan(body, _NO_PROBLEM, "json")


def options_to_text(options: Options) -> str:
    """The options without the hint, as JSON."""
    return json.dumps({name: getattr(options, name) for name in OPTION_NAMES})


def with_front(options: str, front_options: "FrontOptions", targets: "Sequence[Target]" = ()) -> str:
    """The options of a job for a front: what is asked for is one more member, and targets another."""
    from memstow.planner.front.front_documents import plain_options

    members: dict[str, object] = {**json.loads(options), FRONT: plain_options(front_options)}
    if targets:
        members[TARGETS] = [plain(target) for target in targets]
    return json.dumps(members)


def front_in(options: str) -> "FrontOptions":
    """What the options of a job for a front ask for."""
    from memstow.planner.front.front_documents import parse_front_options

    return parse_front_options(json.loads(options)[FRONT])


def targets_in(options: str) -> "tuple[Target, ...]":
    """The targets whose fronts a job finds, each with what it is called; none: one front, of the document."""
    return tuple(parse_target(raw) for raw in json.loads(options).get(TARGETS, ()))


def options_from_text(text: str, hint: bytes | None) -> Options:
    """Options and hint from the store."""
    raw = json.loads(text)
    for name in _OF_KINDS:
        raw.pop(name, None)
    if hint is not None:
        raw["hint"] = json.loads(hint)
    return parse_options(raw)


def wants_proof(text: str) -> bool:
    """Whether the job with these options is to prove its plan as well."""
    return bool(json.loads(text).get(PROOF))


def cache_key(problem: "Problem | Graph", options: Options, problem_digest: str) -> str:
    """Equal for requests that may share a plan.

    A deterministic run may depend on the order in which the problem is written. Any other plan serves every
    problem with the same digest.
    """
    key = ordered_key(problem, problem_digest) if options.deterministic else problem_digest
    return cache_key_of(key, options)


def ordered_key(problem: "Problem | Graph", problem_digest: str) -> str:
    """The key of a problem together with the order in which it is written."""
    written = document_bytes(replace(problem, name=None))
    return f"{problem_digest} {hashlib.sha256(written).hexdigest()}"


def cache_key_of(problem_key: str, options: Options) -> str:
    """The cache key for a problem with this key."""
    hint = None if options.hint is None else plan_to_bytes(options.hint)
    return cache_key_of_parts(problem_key, options_to_text(options), hint_key(hint))


def cache_key_of_parts(problem_key: str, options: str, hint_of_key: str) -> str:
    """The cache key from texts that may be part of many keys."""
    parts = [problem_key, options, hint_of_key]
    return _of_this_version("\n".join(parts).encode("utf-8", "surrogatepass"))


def cache_key_with_hint(key: str, hint: bytes) -> str:
    """The cache key of a request with this one whose hint was found later."""
    return _of_this_version(b"%b\n%b" % (key.encode(), hint))


def cache_key_of_owner(key: str, owner: str | None) -> str:
    """The cache key of a request of this owner; None: of whoever shares the cache."""
    return key if owner is None else _of_this_version(f"{owner}\n{key}".encode())


def is_of_this_version(key: str) -> bool:
    """Whether the request of this cache key came to this version of memstow: others may plan differently."""
    return key.startswith(_version_mark())


def _of_this_version(content: bytes) -> str:
    mark = _version_mark()
    return mark + hashlib.sha256(content).hexdigest()[len(mark) :]


def _version_mark() -> str:
    return _mark_of(memstow.__version__)


@cache
def _mark_of(version: str) -> str:
    return hashlib.sha256(version.encode()).hexdigest()[:MARK_LENGTH]


def hint_key(hint: bytes | None) -> str:
    """What of a hint is part of the cache key."""
    return "-" if hint is None else hashlib.sha256(hint).hexdigest()


def in_order(buffers: Sequence[str], plan: Plan) -> Plan:
    """The plan with its placements in the order of these buffers."""
    if not plan.placements or [placement.buffer for placement in plan.placements] == list(buffers):
        return plan
    placements = {placement.buffer: placement for placement in plan.placements}
    return replace(plan, placements=tuple(placements[name] for name in buffers if name in placements))


def bytes_in_order(buffers: Sequence[str], body: bytes) -> bytes:
    """The same for a plan from the store; the same bytes where the order is right."""
    plan = plan_from_bytes(body)
    ordered = in_order(buffers, plan)
    return body if ordered is plan else plan_to_bytes(ordered)


SHAPES_MEMBERS: Final = ("shapes", "pieces")
"""The members of an envelope, and of the options of a job, that say it."""


@record
class RequestedShapes:
    """The kind of plan, and how many orders it may have."""

    shapes: "Shapes" = "order"
    pieces: int | None = None


def parse_shapes(members: Mapping[str, object]) -> RequestedShapes:
    """What these members ask for; InputError with everything that is wrong."""
    # Requests about other problems do not wait for this import.
    from memstow.planner.model.symbolic import DEFAULT_ORDERS, MOST_ORDERS, SHAPES, unused_pieces

    issues: list[Issue] = []
    name = members.get("shapes", "order")
    shapes = next((entry for entry in SHAPES if entry == name), None)
    if shapes is None:
        message = f"{shown(name)} is no kind of plan; use one of {', '.join(SHAPES)}"
        issues.append(Issue("unknown_shapes", "$.shapes", message))
    pieces = members.get("pieces", DEFAULT_ORDERS)
    if not isinstance(pieces, int) or isinstance(pieces, bool) or not 1 <= pieces <= MOST_ORDERS:
        message = f"expected a whole number from 1 to {MOST_ORDERS}, given {shown(pieces)}"
        issues.append(Issue("out_of_range", "$.pieces", message))
    elif "pieces" in members and shapes is not None and shapes != "pieces":
        issues.append(Issue("unused_option", "$.pieces", unused_pieces(shapes)))
    elif shapes == "pieces":
        return RequestedShapes("pieces", pieces)
    if issues or shapes is None:
        raise InputError(issues)
    return RequestedShapes(shapes)


def with_shapes(options: str, shapes: RequestedShapes) -> str:
    """The options of a job for such a plan."""
    return json.dumps({**json.loads(options), **shapes_members(shapes)})


def shapes_members(shapes: RequestedShapes) -> dict[str, str | int]:
    """The members that ask for it."""
    pieces: dict[str, str | int] = {} if shapes.pieces is None else {"pieces": shapes.pieces}
    return {"shapes": shapes.shapes, **pieces}


def shapes_in(options: str) -> RequestedShapes:
    """What the options of a job ask for."""
    kept = json.loads(options)
    return parse_shapes({name: kept[name] for name in SHAPES_MEMBERS if name in kept})
