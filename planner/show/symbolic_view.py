"""A plan of formulas in the view document: what the judge says of every value, and of each point."""

from collections.abc import Mapping
from typing import Final

from memstow.planner.formats.native import write_symbolic, write_symbolic_plan
from memstow.planner.graph.symbolic_graph import symbolic_problem_of
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.symbolic import (
    PointPeak,
    SymbolicDocument,
    SymbolicGraph,
    SymbolicPlan,
    SymbolicProblem,
)
from memstow.planner.show.formatting import plain
from memstow.planner.show.view_document import ON_WHOSE_WORD, Author, Data, Sentence, Tone, encoded
from memstow.planner.verify import judge
from memstow.planner.verify.verdict import Standing, Subject

_KINDS: Final = {"fixed": "other offsets for all values", "order": "one order", "pieces": "so many orders"}


class SymbolicView:
    """What is said of a plan of formulas."""

    def __init__(self, document: SymbolicDocument, plan: SymbolicPlan, author: Author) -> None:
        self._plan = plan
        self._author = author
        self._symbols = tuple(symbol.id for symbol in document.symbols)
        self._here = " in this order of the operators" if _has_other_orders(document, plan) else ""
        self.verdict = judge(document, plan)
        self._wrong = plain(self.verdict.violations[0].message, most=400) if self.verdict.violations else ""

    def data(self) -> Data:
        """The verdict as the page reads it."""
        sentence = self.sentence()
        return {
            "valid": self.verdict.valid,
            "sentence": None
            if sentence is None
            else {
                "lead": sentence.lead,
                "rest": sentence.rest,
                "tone": sentence.tone,
                "note": sentence.note,
            },
            "says": self.says(),
            "worst": self._worst_in_words(),
            "bound": self._bound_in_words(),
            "here": self._here,
            "points": [self._point_data(point) for point in self._plan.points],
        }

    def sentence(self) -> Sentence | None:
        """What is said at each value alike; None where the value has a layout, whose size is told."""
        plan = self._plan
        if plan.status in PLANNED and not self._wrong:
            return None
        if self._wrong:
            return Sentence("This is no valid plan.", f"The judge says: {self._wrong}.", "wrong")
        explanation = plan.explanation
        if plan.status is Status.UNKNOWN:
            why = "" if explanation is None else f"{plain(explanation.message, most=400)}."
            return Sentence("No plan was found,", "and no proof that none exists.", "open", why)
        reason = (
            ""
            if explanation is None
            else f"The reason that is given: {plain(explanation.message, most=400)}."
        )
        note = f"A plan has to fit at every value. {reason}".strip()
        claim = self._nothing_fits()
        if claim is not None:
            return Sentence("No plan fits at every value,", f"checked by {claim}.", "wrong", note)
        tone: Tone = "wrong" if self._author == "service" else "claimed"
        word = ON_WHOSE_WORD[self._author].removeprefix(", ")
        return Sentence("No plan fits at every value,", f"{word}.", tone, note)

    def says(self) -> str:
        """What holds at every value."""
        if self._wrong:
            return f"The judge says: {self._wrong}."
        if self._plan.status is Status.INFEASIBLE:
            claim = self._nothing_fits()
            if claim is None:
                return "That nothing fits is claimed: the judge could not check it."
            return f"That nothing fits is checked by {claim}."
        return "Valid at every value." if self._plan.status in PLANNED else ""

    def _nothing_fits(self) -> str | None:
        """How the judge has checked that nothing fits; None: it has not."""
        return next(
            (
                plain(claim.by, most=100)
                for claim in self.verdict.claims
                if claim.subject is Subject.NOTHING_FITS and claim.standing is Standing.CHECKED
            ),
            None,
        )

    def _standing(self, subject: Subject, name: str) -> Standing | None:
        return next(
            (
                claim.standing
                for claim in self.verdict.claims
                if (claim.subject, claim.name) == (subject, name)
            ),
            None,
        )

    def _point_data(self, point: PointPeak) -> Data:
        where = self._where(point)
        peak, least = self._standing(Subject.PEAK_AT, where), self._standing(Subject.LEAST_AT, where)
        checked = least is Standing.CHECKED
        about = (f"the peak at {where} ", f"the least peak at {where} ")
        refuted = Standing.REFUTED in (peak, least)
        said = (entry.message for entry in self.verdict.violations if entry.message.startswith(about))
        fault = plain(next(said, "the judge counts otherwise"), most=300) if refuted else ""
        word = self._here + ("" if checked else ON_WHOSE_WORD[self._author])
        met, vouched = point.peak == point.least, checked or self._author == "service"
        if fault:
            stands = "wrong"
        elif met:
            stands = "least" if vouched else "claimed"
        else:
            stands = "above"
        return {
            "at": point.at,
            "least": point.least,
            "stands": stands,
            "fault": fault,
            "rest": self._no_smaller(point, word) if met else "",
            "word": word,
        }

    def _no_smaller(self, point: PointPeak, word: str) -> str:
        """What is said where a point has its least peak."""
        if point.bound != point.peak:
            return f"No layout for this value can be smaller{word}."
        standing = self._standing(Subject.BOUND, self._where(point))
        word = "" if standing is Standing.CHECKED else ON_WHOSE_WORD[self._author]
        return f"No layout for this value can be smaller, in any order of the operators{word}."

    def _worst_in_words(self) -> str:
        """How close the plan is to the least, over the points."""
        points = self._plan.points
        if not self.verdict.valid or self._plan.worst is None or not points:
            return ""
        which = "the point" if len(points) == 1 else f"all {len(points)} points"
        checked = all(
            self._standing(Subject.LEAST_AT, self._where(point)) is Standing.CHECKED for point in points
        )
        word = "" if checked else f"{ON_WHOSE_WORD[self._author]} of the least"
        if self._plan.worst == 1:
            return f"The least possible{self._here} at {which}{word}."
        worst = max(points, key=lambda point: point.peak / point.least if point.least else 1.0)
        times = f"×{-(-round(self._plan.worst * 1e12) // 10**9) / 1000:.3f}"
        return f"At most {times} of the least{self._here} at {which}{word}; the most at {self._where(worst)}."

    def _bound_in_words(self) -> str:
        """What no plan of this kind can reach."""
        plan = self._plan
        if plan.bound is None or plan.bound <= 1 or plan.worst is None or not self.verdict.valid:
            return ""
        standing = self._standing(Subject.BOUND, Subject.WORST.value)
        word = "" if standing is Standing.CHECKED else ON_WHOSE_WORD[self._author]
        # Rounded down: a claim is never told to be stronger than it is.
        text = "less" if plan.bound == plan.worst else f"less than ×{int(plan.bound * 1000) / 1000:.3f}"
        return f"No {_KINDS[plan.shapes]} can do with {text}{self._here}{word}."

    def _where(self, point: PointPeak) -> str:
        """A point as the judge names it."""
        return ", ".join(f"{name}={point.at[name]}" for name in self._symbols if name in point.at)


def symbolic_document(
    document: SymbolicDocument, plan: SymbolicPlan, name: str, at: Mapping[str, int]
) -> bytes:
    """The document of a plan of formulas from a file; the page begins at these values, if any are given."""
    members: dict[str, bytes | object] = {
        "name": name,
        "symbolic": write_symbolic(_drawn(document, plan)),
        "formed": write_symbolic_plan(plan),
        "verdict": SymbolicView(document, plan, "file").data(),
    }
    return encoded(members | ({"at": dict(at)} if at else {}))


def symbolic_verdict_document(document: SymbolicDocument, plan: SymbolicPlan, author: Author) -> bytes:
    """The document of a plan of formulas for a page that has the problem already, unless it has a graph."""
    members: dict[str, bytes | object] = {
        "formed": write_symbolic_plan(plan),
        "verdict": SymbolicView(document, plan, author).data(),
    }
    if isinstance(document, SymbolicGraph):
        members["symbolic"] = write_symbolic(_drawn(document, plan))
    return encoded(members)


def _has_other_orders(document: SymbolicDocument, plan: SymbolicPlan) -> bool:
    """Whether operators might run in another order than that of the plan."""
    if not isinstance(document, SymbolicGraph):
        return False
    listed = tuple(operator.id for operator in document.operators)
    return document.order != "given" or (plan.schedule is not None and plan.schedule.order != listed)


def _drawn(document: SymbolicDocument, plan: SymbolicPlan) -> SymbolicProblem:
    """The problem in the order of the plan; as listed, where the graph does not allow that one."""
    try:
        return symbolic_problem_of(document, plan)
    except InputError:
        return symbolic_problem_of(document)
