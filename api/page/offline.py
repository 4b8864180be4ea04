"""A plan or a front as one file that works offline: the page and its data, compressed, loading nothing.

It holds what the page cannot compute without a solver: what the plans of a front are for, and which buffers
must change for smaller peaks, each as far as there is room.
"""

import base64
import gzip
import hashlib
import json
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from math import log2
from typing import Final, Literal

from memstow.api.page.assets import asset, manifest
from memstow.planner.explain.shortfall import Demand, Work, as_data
from memstow.planner.formats import write_problem
from memstow.planner.formats.native import write_document
from memstow.planner.front.front_documents import write_front
from memstow.planner.front.graph_candidates import ends_first
from memstow.planner.front.graph_front import has_other_orders
from memstow.planner.graph.links import listed_order
from memstow.planner.graph.operators import with_cost_unit
from memstow.planner.graph.schedules import only_orders, scheduled_graph
from memstow.planner.model import PLANNED
from memstow.planner.model.front import Front, FrontPoint
from memstow.planner.model.graph import GIVEN, Graph
from memstow.planner.model.plan import Plan, Schedule
from memstow.planner.model.problem import Problem

_DIGITS: Final = "".join(
    (string.digits, string.ascii_uppercase, string.ascii_lowercase, "!#$%&()*+-;,=>?@^_`{|}~")
)
"""Those of `base64.b85encode` but for `<`, which could begin a tag."""

_START: Final = """(async()=>{
const types=globalThis.trustedTypes;
const rules={createScript:(text)=>text};
const policy=types?types.createPolicy("memstow-start",rules):rules;
const text=document.getElementById("packed").textContent;
const digits="DIGITS";
const packed=new Uint8Array(text.length*4/5);
for(let at=0,to=0;at<text.length;at+=5){
let value=0;
for(let place=at;place<at+5;place++)value=value*85+(place<text.length?digits.indexOf(text[place]):84);
for(let shift=24;shift>=0;shift-=8)packed[to++]=value>>>shift;
}
const stream=new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
const script=document.createElement("script");
script.text=policy.createScript(await new Response(stream).text());
document.head.append(script);
})();""".replace("DIGITS", _DIGITS)
"""Unpacks the script of the page and runs it: four bytes are five digits, since the page must stay small."""


@dataclass(frozen=True, slots=True)
class SearchStep:
    """A better plan or a better bound, and when in the run it came."""

    seconds: float
    value: int | None
    bound: int | None
    solver: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Another plan of the same problem, as JSON, and what both are called."""

    plan: bytes
    names: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Ordered:
    """The graph of the problem, as JSON, and the terms whose bounds over all orders the judge has checked."""

    graph: bytes
    judged: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PointPlans:
    """What the plans of a front are for, as JSON: problems, or graphs that run as they are listed."""

    kind: Literal["problems", "graphs"]
    documents: tuple[bytes, ...]
    of: tuple[int | None, ...]
    """For each point the index of its document; None: the page does not hold its plan."""
    keeps_order: bool = False
    """Whether it is the front of a graph whose operators run as they are listed, although others may be."""

    def fields(self) -> dict[str, bytes]:
        """What the page reads of it."""
        made = {self.kind: b"[" + b",".join(self.documents) + b"]", "of": json.dumps(self.of).encode()}
        return made | ({"keeps_order": b"true"} if self.keeps_order else {})


def page_alone(
    problem: bytes,
    plan: bytes,
    title: str,
    search: Iterable[SearchStep] = (),
    *,
    other: Comparison | None = None,
    ordered: Ordered | None = None,
    shortfalls: bytes = b"[]",
) -> bytes:
    """The page of this problem and this plan, both as JSON. The same input gives the same bytes.

    `shortfalls`: which buffers must change for smaller peaks, as JSON.
    """
    fields = {
        "name": json.dumps(title).encode(),
        "problem": problem,
        "plan": plan,
        "search": json.dumps([asdict(step) for step in search]).encode(),
    }
    if shortfalls != b"[]":
        fields["shortfalls"] = shortfalls
    if other is not None:
        fields |= {"other": other.plan, "names": json.dumps(other.names).encode()}
    if ordered is not None:
        fields |= {"graph": ordered.graph, "judged": json.dumps(ordered.judged).encode()}
    return _page(title, fields, "alone")


def front_alone(
    front: bytes, plans: PointPlans, told: Sequence[str | None], title: str, first: int | None = None
) -> bytes:
    """The page of this front, as JSON, that opens at the point of this index.

    `told` is what the judge says against each point.
    """
    fields = {
        "name": json.dumps(title).encode(),
        "front": front,
        **plans.fields(),
        "told": json.dumps(told).encode(),
    }
    if first is not None:
        fields["first"] = str(first).encode()
    return _page(title, fields, "alone_front")


def symbols_alone(
    problem: bytes, plan: bytes, judged: str, counted: str, title: str, at: Mapping[str, int]
) -> bytes:
    """The page of this plan of formulas, both as JSON, that begins at these values.

    `judged` is what the judge says against the plan, and `counted` how it has checked that nothing fits;
    empty: nothing, and it has not.
    """
    fields = {
        "name": json.dumps(title).encode(),
        "symbolic": problem,
        "formed": plan,
        "judged": json.dumps(judged).encode(),
    }
    if counted:
        fields["counted"] = json.dumps(counted).encode()
    if at:
        fields["at"] = json.dumps(dict(at)).encode()
    return _page(title, fields, "alone_symbols")


def _page(title: str, fields: Mapping[str, bytes], program_name: str) -> bytes:
    names = manifest()
    program, style = asset(names[program_name]), asset(names["style"])
    if program is None or style is None:
        raise FileNotFoundError("the page has not been built: run `make page`")
    script = _styled(style) + program
    data = b"{" + b", ".join(b'"%s": %s' % (field.encode(), entry) for field, entry in fields.items()) + b"}"
    policy = (
        f"default-src 'none'; script-src {_hash(_START.encode())} {_hash(script)}; style-src {_hash(style)}; "
        "img-src data: blob:; worker-src blob:; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types memstow memstow-start"
    )
    head = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
</head>
<body>
<div id="page"><noscript>This page draws with JavaScript; it loads nothing and sends nothing.</noscript></div>
<script type="text/plain" id="held">"""
    return b"".join(
        (
            head.encode(),
            _packed(data),
            b'</script>\n<script type="text/plain" id="packed">',
            base64.b85encode(_gzipped(script)).replace(b"<", b","),
            b"</script>\n<script>",
            _START.encode(),
            b"</script>\n</body>\n</html>\n",
        )
    )


def _styled(style: bytes) -> bytes:
    """Applies the style: it is compressed with the script, which is also that of the worker."""
    made = f"Object.assign(document.createElement('style'),{{textContent:{json.dumps(style.decode())}}})"
    return f"typeof document==='undefined'||document.head.append({made});\n".encode()


def _packed(content: bytes) -> bytes:
    return base64.b64encode(_gzipped(content))


def _gzipped(content: bytes) -> bytes:
    return gzip.compress(content, 9, mtime=0)


def _hash(content: bytes) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content).digest()).decode()}'"


MOST_PLANS: Final = 200
"""Points whose plans are in one file."""
MOST_BYTES: Final = 32 << 20
"""Bytes of these plans and of what they are for, before they are compressed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetOf:
    """Of several targets, the one whose front the page draws."""

    name: str
    smallest: bool
    """Whether it is the smallest that will do."""
    all: int
    open: int
    """Of how many others not every point is known and proven."""


def front_file(document: Problem | Graph, front: Front, target: TargetOf | None = None) -> bytes:
    """The front with what its plans are for, as a file that the page reads."""
    held, front = point_plans(document, front, None, [None] * len(front.points))
    fields = {
        "name": json.dumps(front.name or document.name or "front").encode(),
        "front": write_front(front, "json"),
        **held.fields(),
    }
    if target is not None:
        fields["target"] = json.dumps(asdict(target)).encode()
    return b"{" + b", ".join(b'"%s": %s' % (name.encode(), field) for name, field in fields.items()) + b"}"


def point_plans(
    document: Problem | Graph, front: Front, first: int | None, told: Sequence[str | None]
) -> tuple[PointPlans, Front]:
    """What the plans of the points are for, and the front without the plans for which there is no room.

    `first`: the point that matters most. What is `told` against a point of a graph keeps its plan out.
    """
    held = _held(document, front, first, told)
    points = tuple(
        point if at is not None else replace(point, plan=_without_places(point.plan))
        for point, at in zip(front.points, held.of, strict=True)
    )
    return held, replace(front, points=points)


def _held(
    document: Problem | Graph, front: Front, first: int | None, told: Sequence[str | None]
) -> PointPlans:
    """What the plans are for: of a problem itself, of a graph what each schedule makes of it."""
    if isinstance(document, Problem):
        whole = write_problem(document)
        room = _Room(len(whole))
        of = {
            entry: 0
            for entry in _nearest(len(front.points), first)
            if room.takes(_bytes(front.points[entry]))
        }
        return PointPlans("problems", (whole,), tuple(of.get(number) for number in range(len(front.points))))
    graph = with_cost_unit(document, front.asked.cost)
    room = _Room(0)
    documents: list[bytes] = []
    place_of: dict[Schedule | None, int] = {}
    chosen: dict[int, int] = {}
    for entry in _nearest(len(front.points), first):
        if told[entry] is not None:
            continue
        schedule = front.points[entry].plan.schedule
        if schedule not in place_of:
            made = write_document(_as_it_runs(graph, schedule))
            if not room.takes(len(made) + _bytes(front.points[entry])):
                break
            place_of[schedule] = len(documents)
            documents.append(made)
        chosen[entry] = place_of[schedule]
    places = tuple(chosen.get(number) for number in range(len(front.points)))
    keeps_order = document.order == GIVEN and has_other_orders(document)
    return PointPlans("graphs", tuple(documents), places, keeps_order)


def _as_it_runs(graph: Graph, schedule: Schedule | None) -> Graph:
    """A graph whose operators are listed as the schedule runs them."""
    if schedule is not None and not only_orders(schedule):
        return scheduled_graph(graph, schedule)
    if schedule is None:
        order = [graph.operators[entry].id for entry in listed_order(graph)]
    else:
        order = list(schedule.order)
    operators = {operator.id: operator for operator in graph.operators}
    return replace(graph, operators=tuple(operators[entry] for entry in order), order=GIVEN)


def _nearest(points: int, first: int | None) -> list[int]:
    """The points in the order in which they are taken: the nearest to the chosen one, or spread over all."""
    if first is None:
        return list(ends_first(points))
    return sorted(range(points), key=lambda number: (abs(number - first), number))


class _Room:
    """What still goes into the file."""

    def __init__(self, used: int) -> None:
        self._bytes = MOST_BYTES - used
        self._plans = MOST_PLANS

    def takes(self, size: int) -> bool:
        """Whether a plan of this size goes in; the first always does."""
        if self._plans < MOST_PLANS and (size > self._bytes or not self._plans):
            return False
        self._bytes -= size
        self._plans -= 1
        return True


def _bytes(point: FrontPoint) -> int:
    """About how much JSON the places of a plan are."""
    return 64 * len(point.plan.placements)


def _without_places(plan: Plan) -> Plan:
    return replace(plan, placements=(), pools=(), objective=(), schedule=None)


_MOST_POOLS: Final = 8
# Of buffers, over all peaks that are looked at: about a second.
_MOST_COUNTED: Final = 100_000
_WORK: Final = 200_000


def shortfalls_of(problem: Problem, plan: Plan) -> bytes:
    """For the peaks that the page steps through, as JSON; without a plan for the capacities.

    The same plan gives the same bytes: it is work that is limited, and no time.
    """
    room = _MOST_COUNTED // max(len(problem.buffers), 1)
    peaks = list(_peaks(problem, plan))[:_MOST_POOLS] if room else []
    found = []
    for pool, wanted in peaks:
        demand = Demand(problem, pool)
        for least in wanted[: max(room // len(peaks), 1)]:
            shortfall = demand.shortfall(least, Work(_WORK))
            none = {"pool": pool, "wanted": least, "count": 0, "least": 0, "changes": []}
            found.append(none if shortfall is None else as_data(shortfall, moments=False))
    return json.dumps(found).encode()


def _peaks(problem: Problem, plan: Plan) -> Iterator[tuple[str, list[int]]]:
    """For each pool the peaks, those first that are looked at first."""
    if plan.status not in PLANNED:
        for pool in problem.pools:
            if pool.capacity is not None:
                yield pool.id, [pool.capacity]
        return
    size_of = {buffer.id: buffer.size for buffer in problem.buffers}
    ends: dict[str, int] = {}
    for place in plan.placements:
        # A plan of another problem may name buffers that this one does not have: the verdict says so.
        if size := size_of.get(place.buffer, 0):
            ends[place.pool] = max(ends.get(place.pool, 0), place.offset + size)
    for pool in problem.pools:
        peak = ends.get(pool.id, 0)
        if peak:
            # The page begins with about a fiftieth of the peak, and doubles or halves that.
            first = log2(max(peak / 64, 1))
            steps = sorted(range(peak.bit_length()), key=lambda number: abs(number - first - 0.5))
            yield pool.id, [peak - (1 << step) for step in steps]
