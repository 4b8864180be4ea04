"""A front as a view document: its points, the problems or graphs that their plans are for, and the verdict.

The page cannot work out what stripes, runs again and copies make of a graph, so the document holds for each
point what its plan is for, as far as there is room. How each point stands, and what there is to choose, is
worded here; `planner/show/view_document.py` words the plan of a point.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import ceil
from typing import Final, Literal

from memstow.planner.formats import write_problem
from memstow.planner.formats.native import write_document
from memstow.planner.front.find_front import document_of_point
from memstow.planner.front.front_documents import write_front
from memstow.planner.front.graph_candidates import ends_first
from memstow.planner.graph.links import has_other_orders, listed_order
from memstow.planner.graph.operators import with_cost_unit
from memstow.planner.graph.schedules import only_orders, scheduled_graph, scheduled_problem
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import Front, FrontPoint
from memstow.planner.model.graph import GIVEN, Graph
from memstow.planner.model.plan import Plan, Schedule
from memstow.planner.model.problem import Problem
from memstow.planner.show.formatting import count, human, plain
from memstow.planner.show.view_document import ON_WHOSE_WORD, Author, Data, PlanView, Sentence, Tone, encoded
from memstow.planner.verify.graph_verdict import judge_graph, schedule_cost
from memstow.planner.verify.problem_verdict import judge_problem
from memstow.planner.verify.row_operators import in_bytes
from memstow.planner.verify.verdict import Refused, Verdict
from memstow.records import record

Standing = Literal["proven", "claimed", "open", "worse", "wrong"]
"""How a point stands: `worse` is no better than another in both terms, `wrong` contradicts itself, another
point or its own plan."""

_SUFFIXES: Final = ("", "k", "M", "G", "T", "P", "E")


MOST_PLANS: Final = 200
"""Points whose plans are in one document."""
MOST_BYTES: Final = 32 << 20
"""Bytes of these plans and of what they are for, before they are compressed."""


@record
class PointView:
    """A point, and what was found out about its plan."""

    point: FrontPoint
    against: str | None = None
    """What the judge says against its plan."""
    plan: PlanView | None = None
    """Its plan; None: the document does not hold it."""
    missing: str = ""
    """Why its plan cannot be drawn."""


@record
class TargetOf:
    """Of several targets, the one whose front the page draws."""

    name: str
    smallest: bool
    """Whether it is the smallest that will do."""
    all: int
    open: int
    """Of how many others not every point is known and proven."""


class FrontView:
    """What is said of a front and of each of its points."""

    def __init__(
        self,
        front: Front,
        points: Sequence[PointView],
        author: Author,
        *,
        keeps_order: bool = False,
        target: TargetOf | None = None,
    ) -> None:
        self._front = front
        self._points = points
        self._author = author
        self._keeps_order = keeps_order
        self._target = target
        self._faults = [list(self._against(entry)) for entry in points]
        self._mend_bounds()
        self._standings = [self._standing(number) for number in range(len(points))]
        self._sound = [
            (entry.point, standing)
            for entry, standing in zip(points, self._standings, strict=True)
            if standing not in ("worse", "wrong")
        ]

    def data(self) -> Data:
        """The verdict as the page reads it."""
        sentence = self.sentence()
        return {
            "lead": sentence.lead,
            "rest": sentence.rest,
            "tone": sentence.tone,
            "note": sentence.note,
            "facts": list(self._facts()),
            "word": self._word,
            "keeps_order": self._keeps_order,
            "points": [
                {
                    "standing": standing,
                    "faults": faults,
                    "missing": entry.missing,
                    "verdict": None if entry.plan is None else entry.plan.data,
                }
                for entry, standing, faults in zip(self._points, self._standings, self._faults, strict=True)
            ],
        }

    def sentence(self) -> Sentence:
        """What there is to choose, and how much of it is proven."""
        front, sound, word = self._front, self._sound, self._word
        wrong = len(self._points) - len(sound)
        note = " ".join(self._notes(wrong))
        if not sound:
            nothing = f"Nothing fits{word}." if front.complete else "Nothing was found."
            why = "" if front.explanation is None else plain(front.explanation.message, most=300)
            rest = "All of them are wrong." if self._points else nothing
            return Sentence("No point is left.", rest, "wrong", f"{why} {note}".strip())
        lead = f"{self._range()}."
        if wrong and front.complete:
            rest = f"The {self._author} calls it complete, but parts of it are wrong."
            return Sentence(lead, rest, "wrong", note)
        proven = sum(standing != "open" for _, standing in sound)
        counted = self._author == "file" and all(standing == "proven" for _, standing in sound)
        by = "" if counted else word
        if proven == len(sound):
            everything = "It is proven" if proven == 1 else "All are proven"
            if front.complete:
                tone: Tone = "proven" if self._author == "service" else "claimed"
                return Sentence(lead, f"{everything}, and none is missing{word}.", tone, note)
            tone = "open" if self._author == "service" or counted else "claimed"
            return Sentence(lead, f"{everything}{by}; there may be others.", tone, note)
        if len(sound) == 1:
            rest = "It is not proven; there may be better ones."
        elif not proven:
            rest = "None is proven; there may be better ones."
        else:
            rest = f"{proven} of {len(sound)} proven{by}; there may be better ones."
        return Sentence(lead, rest, "open", note)

    @property
    def _word(self) -> str:
        return ON_WHOSE_WORD[self._author]

    # How the points stand

    def _against(self, entry: PointView) -> Iterable[str]:
        point = entry.point
        if entry.against is not None:
            yield entry.against
        for term in self._front.terms:
            bound, value = point.bounds.get(term), point.values[term]
            counted = None if entry.plan is None else entry.plan.value(_as_peak(term))
            if counted is not None and counted != value:
                says = f"{plain(term, most=40)} is {count(value)} in the front"
                yield f"{says}, but {count(counted)} in its plan"
            if bound is not None and bound > value:
                yield f"the bound on {plain(term, most=40)} is above its value"
            elif point.proven and bound != value:
                yield f"it is called proven, but its bound on {plain(term, most=40)} does not say so"

    def _mend_bounds(self) -> None:
        """A plan within what a bound speaks of, and better than it, disproves it.

        A point that is wrong by itself says nothing about the others.
        """
        sound = [entry.point for entry, faults in zip(self._points, self._faults, strict=True) if not faults]
        for entry, faults in zip(self._points, self._faults, strict=True):
            for term, other in (self._front.terms, self._front.terms[::-1]):
                bound, limit = entry.point.bounds.get(term), entry.point.values[other]
                if bound is not None and any(
                    one.values[other] <= limit and one.values[term] < bound for one in sound
                ):
                    faults.append(f"another point disproves its bound on {plain(term, most=40)}")

    def _standing(self, number: int) -> Standing:
        entry = self._points[number]
        if self._faults[number]:
            return "wrong"
        if any(
            other != number and not self._faults[other] and self._is_no_worse(other, number)
            for other in range(len(self._points))
        ):
            return "worse"
        if not entry.point.proven:
            return "open"
        return "proven" if self._author == "service" or self._is_counted(entry) else "claimed"

    def _is_no_worse(self, one: int, other: int) -> bool:
        """Of two with the same values, the one that comes first counts."""
        first, second = (
            tuple(self._points[number].point.values[term] for term in self._front.terms)
            for number in (one, other)
        )
        pairs = list(zip(first, second, strict=True))
        return all(a <= b for a, b in pairs) and (one < other or first != second)

    def _is_counted(self, entry: PointView) -> bool:
        """Whether the judge has counted that no plan at all has less of either term."""
        if entry.plan is None or entry.plan.of_schedule:
            return False
        known = {term: entry.plan.bound(_as_peak(term)) for term in self._front.terms}
        return all(
            not entry.point.values[term] or (bound is not None and bound.checked and bound.value >= value)
            for term, bound in known.items()
            for value in (entry.point.values[term],)
        )

    # The words

    def _notes(self, wrong: int) -> Iterable[str]:
        if self._target is not None:
            yield _target_in_words(self._target)
        if len(self._sound) == len(self._points) == 1:
            yield self._one_in_words()
        if wrong:
            yield f"{'One point is' if wrong == 1 else f'{wrong} points are'} crossed out: the list says why."
        missing = [entry.missing for entry in self._points if entry.missing]
        if missing:
            many = f"{len(missing)} of the plans cannot be drawn"
            every = "No plan can be drawn" if len(missing) == len(self._points) else many
            yield f"{every}: {plain(missing[0], most=300)}."

    def _range(self) -> str:
        """How far each term can be brought: "From 54 KiB down to 22 KiB for ×1.27 the cost"."""
        first, second = self._front.terms
        points = sorted((point for point, _ in self._sound), key=lambda point: point.values[first])
        low, high = points[0], points[-1]
        called = plain(second, most=30)
        if len(points) == 1:
            term = called.replace("_", " ")
            return f"One point: {_text(first, low.values[first])}, {term} {_text(second, low.values[second])}"
        times = times_text(low.values[second], min(point.values[second] for point in points))
        value = f"{_text(second, low.values[second])} of {called}"
        price = f"{times} the {called.replace('_', ' ')}" if times else value
        return (
            f"From {_text(first, high.values[first])} down to {_text(first, low.values[first])} for {price}"
        )

    def _one_in_words(self) -> str:
        """Why there is nothing to choose."""
        first, second = (plain(term, most=30).replace("_", " ") for term in self._front.terms)
        one = "plan of this order" if self._keeps_order else "plan"
        if self._front.complete:
            return (
                f"There is nothing to choose: no {one} has less {first}, whatever its {second}{self._word}."
            )
        if self._sound[0][1] != "open":
            return "This plan has the least of both; no other is needed."
        return f"No {one} with less {first} was found, whatever its {second}; there may be some."

    def _facts(self) -> Iterable[tuple[str, str]]:
        yield "points", str(len(self._sound))
        yield "proven", str(sum(standing != "open" for _, standing in self._sound))
        for term in self._front.terms:
            if self._sound:
                least = min(point.values[term] for point, _ in self._sound)
                exact = f"{count(least)} B" if _is_bytes(term) else count(least)
                yield f"least {plain(term, most=30).replace('_', ' ')}", exact
        if self._author == "file":
            yield "plans", "judged"


def _target_in_words(target: TargetOf) -> str:
    """In whose memories it is: the job of several targets is proven only if all of them are."""
    name = plain(target.name, most=60)
    smallest = f"{name}, the smallest of {target.all} targets that will do"
    which = smallest if target.smallest else f"{name}, one of {target.all} targets"
    if not target.open:
        return f"This is in the memories of {which}."
    others = "another" if target.open == 1 else f"{target.open} others"
    open_ones = f"Of {others} not all is known, so the job as a whole is not proven."
    return f"This is in the memories of {which}. {open_ones}"


def _as_peak(term: str) -> str:
    """A plan speaks of the peak of a pool where the front speaks of its capacity."""
    return f"peak{term.removeprefix('capacity')}" if term.split(":")[0] == "capacity" else term


def _is_bytes(term: str) -> bool:
    """Whether a term counts bytes of a memory."""
    return term.split(":")[0] in ("peak", "max_peak", "capacity")


def _text(term: str, value: int) -> str:
    if _is_bytes(term):
        return human(value)
    if value < 10_000:
        return count(value)
    scaled, unit = float(value), 0
    while scaled >= 999.5 and unit < len(_SUFFIXES) - 1:
        scaled /= 1000
        unit += 1
    return f"{scaled:.{2 if scaled < 9.995 else 1 if scaled < 99.95 else 0}f} {_SUFFIXES[unit]}"


def times_text(value: int, least: int) -> str:
    """How many times the least value, rounded up; nothing where that is 0."""
    if least <= 0:
        return ""
    if value == least:
        return "×1"
    times = value / least
    digits = 3 if times < 1.1 else 2
    return f"×{ceil(times * 10**digits - 1e-6) / 10**digits:.{digits}f}"


# The document


@record
class FrontDocument:
    """The document of a front, and how many of its points have their plans in it."""

    content: bytes
    plans: int


def front_document(
    document: Problem | Graph,
    front: Front,
    name: str,
    author: Author,
    *,
    first: int | None = None,
    target: TargetOf | None = None,
) -> FrontDocument:
    """The document of a front of this problem or graph, which opens at the point `first`, if one is given.

    What is wrong with a point of a graph keeps its plan out. The points of the service's own front were
    judged when they were found.
    """
    results = [None if author == "service" else _judged(document, front, point) for point in front.points]
    against = [entry if isinstance(entry, str) else None for entry in results]
    held = _held(document, front, first, against)
    points = []
    for number, (point, at) in enumerate(zip(front.points, held.of, strict=True)):
        verdict = results[number]
        judged = verdict if isinstance(verdict, Verdict) else Verdict((), ())
        plan = None if at is None else _plan_view(document, point, author, judged)
        missing = "" if at is not None else "this file holds the plans of some points only"
        points.append(PointView(point, against[number], plan, missing))
    keeps_order = not isinstance(document, Problem) and document.order == GIVEN and has_other_orders(document)
    view = FrontView(front, points, author, keeps_order=keeps_order, target=target)
    kept = tuple(
        point if at is not None else replace(point, plan=_without_places(point.plan))
        for point, at in zip(front.points, held.of, strict=True)
    )
    members: dict[str, bytes | object] = {
        "name": name,
        "front": write_front(replace(front, points=kept), "json"),
        held.kind: b"[" + b",".join(held.documents) + b"]",
        "of": held.of,
        "verdict": view.data(),
    }
    if first is not None:
        members["first"] = first
    return FrontDocument(encoded(members), sum(at is not None for at in held.of))


def _judged(document: Problem | Graph, front: Front, point: FrontPoint) -> Verdict | str:
    """The verdict on the plan of a point; or why the point is not what it says."""
    try:
        of_point = document_of_point(document, front, point)
        if isinstance(of_point, Problem):
            verdict = judge_problem(of_point, point.plan, None, False)
        else:
            verdict = judge_graph(of_point, point.plan, None, False)
        if verdict.violations:
            return plain(f"the judge says: {verdict.violations[0].message}", most=400)
        if isinstance(document, Problem):
            return verdict
        schedule = point.plan.schedule
        if schedule is None:
            return "its plan has no schedule"
        cost = schedule_cost(in_bytes(document) if front.request.cost == "bytes" else document, schedule)
    except (InputError, Refused, ValueError) as error:
        return plain(f"the judge says: {error}", most=400)
    if "cost" in point.values and cost != point.values["cost"]:
        return f"its schedule costs {count(cost)}, as the judge counts"
    return verdict


def _plan_view(document: Problem | Graph, point: FrontPoint, author: Author, verdict: Verdict) -> PlanView:
    """What is said of the plan of a point, whose bounds are about its schedule."""
    if isinstance(document, Problem):
        return PlanView(document, document, point.plan, author, verdict=verdict)
    problem = scheduled_problem(document, point.plan.schedule)
    return PlanView(document, problem, point.plan, author, of_schedule=True, verdict=verdict)


@record
class _Held:
    """What the plans of a front are for, as JSON: problems, or graphs that run as they are listed."""

    kind: Literal["problems", "graphs"]
    documents: tuple[bytes, ...]
    of: tuple[int | None, ...]
    """For each point the index of its document; None: the page does not hold its plan."""


def _held(document: Problem | Graph, front: Front, first: int | None, against: Sequence[str | None]) -> _Held:
    """What the plans are for: of a problem itself, of a graph what each schedule makes of it."""
    if isinstance(document, Problem):
        whole = write_problem(document)
        room = _Room(len(whole))
        of = {
            entry: 0
            for entry in _nearest(len(front.points), first)
            if room.takes(_bytes(front.points[entry]))
        }
        return _Held("problems", (whole,), tuple(of.get(number) for number in range(len(front.points))))
    graph = with_cost_unit(document, front.request.cost)
    room = _Room(0)
    documents: list[bytes] = []
    place_of: dict[Schedule | None, int] = {}
    chosen: dict[int, int] = {}
    for entry in _nearest(len(front.points), first):
        if against[entry] is not None:
            continue
        schedule = front.points[entry].plan.schedule
        if schedule not in place_of:
            as_run = write_document(_in_run_order(graph, schedule))
            if not room.takes(len(as_run) + _bytes(front.points[entry])):
                break
            place_of[schedule] = len(documents)
            documents.append(as_run)
        chosen[entry] = place_of[schedule]
    return _Held("graphs", tuple(documents), tuple(chosen.get(number) for number in range(len(front.points))))


def _in_run_order(graph: Graph, schedule: Schedule | None) -> Graph:
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
    """What still goes into the document."""

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
