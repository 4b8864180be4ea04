"""The view document: what the web page draws, with the judge's verdict in the words that the page shows.

The page draws and judges nothing. Whether a plan is valid, which of its bounds are proven and by whom is
found out here, by the judge alone, and each sentence about that is written here once: for the pages of
`memstow view`, and for those of the service. docs/page.md lists the members of the document.

A bound that the judge has counted needs no word of anyone. What it cannot count again stands on the word of
the `Author`: the service, whose own run has proven it, or a file from anywhere.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from math import ceil, log2
from typing import TYPE_CHECKING, Final, Literal

from memstow.planner.explain.shortfall import Demand, Work, as_data
from memstow.planner.formats import write_plan, write_problem
from memstow.planner.formats.native import write_document
from memstow.planner.graph.links import has_other_orders, listed_order
from memstow.planner.graph.schedules import only_orders
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.graph import GIVEN, Graph
from memstow.planner.model.plan import (
    Crowds,
    Cut,
    LiveBytes,
    Plan,
    RefutedOrders,
    Sum,
    TermValue,
    gap_of,
    is_bare,
)
from memstow.planner.model.problem import PEAK, Problem, counted_once, parse_term, peak_of
from memstow.planner.reduce import Reduction, reduce
from memstow.planner.show.formatting import count, human, names, plain, seconds, time_text
from memstow.planner.solve.bounds import Bounds
from memstow.planner.verify import judge
from memstow.planner.verify.graph_verdict import judge_graph
from memstow.planner.verify.layout import Layout, ObjectiveValues, ProblemIndex
from memstow.planner.verify.problem_verdict import Proofs, judge_problem
from memstow.planner.verify.verdict import (
    Claim,
    Code,
    Findings,
    GraphFacts,
    Standing,
    Subject,
    Verdict,
)
from memstow.records import record

if TYPE_CHECKING:
    from memstow.planner.proofs.check import CheckedProof
    from memstow.planner.proofs.walk import Walk

VERSION: Final = 1
"""The version of the document, which grows when a member changes its meaning."""

Author = Literal["file", "service"]
"""Who stands for what the judge could not count again."""
Tone = Literal["proven", "open", "claimed", "wrong", "plain"]
"""The colour of a sentence: `proven` where nothing is left to say, `claimed` where a file alone says so."""
Data = dict[str, object]

ON_WHOSE_WORD: Final[dict[Author, str]] = {"file": ", as the file claims", "service": ", as the service says"}

_LISTED: Final = 20
"""Violations in the document; `memstow verify` lists the others."""
_ABOUT_PLACES: Final = frozenset(
    {
        Code.INVALID_PROBLEM,
        Code.MISSING,
        Code.UNKNOWN_BUFFER,
        Code.REPEATED,
        Code.UNKNOWN_POOL,
        Code.POOL_NOT_ALLOWED,
        Code.PINNED_POOL,
        Code.PINNED_OFFSET,
        Code.MISALIGNED,
        Code.BEYOND_CAPACITY,
        Code.RESERVED,
        Code.ACROSS_BANKS,
        Code.BANK_NOT_ALLOWED,
        Code.OVERLAP,
        Code.IN_PLACE,
        Code.SHARED_BANK,
        Code.RELATIVE_POOL,
        Code.RELATIVE_DISTANCE,
        Code.ORDER,
        Code.SCHEDULE,
    }
)
"""Violations that no claim of the plan could mend."""
_COSTS: Final = {
    "placement_cost": "cheaper accesses",
    "reuse_cost": "lower costs of reuse",
    "bank_cost": "lower costs of shared banks",
    "moves": "fewer moves",
    "preference": "better pools",
}


@record
class SearchStep:
    """A better plan or a better bound, and when in the run it came."""

    seconds: float
    value: int | None
    bound: int | None
    solver: str


@record
class Sentence:
    """The first line of the page: how large the plan is, and whether a smaller one can exist."""

    lead: str
    rest: str
    tone: Tone
    note: str = ""


@record
class Known:
    """What is known of the least that any plan has of a pool or of a term."""

    value: int
    checked: bool
    """Whether the judge has counted it, or gone through its proof again."""
    by: str = ""
    """Who claims it."""
    buffers: tuple[int, ...] = ()
    """Those that show it, by their places in the problem."""
    time: int | None = None
    """The moment at which all of them are live."""


class PlanView:
    """What the judge says of one plan, and the words for it.

    `problem` is what the plan places: of a graph, that of the schedule of the plan. `of_schedule`: bounds are
    about that schedule alone, of which there are others, as they are wherever it does more than order.
    """

    def __init__(
        self,
        document: Problem | Graph,
        problem: Problem,
        plan: Plan,
        author: Author,
        *,
        of_schedule: bool = False,
        verdict: Verdict | None = None,
    ) -> None:
        """`verdict`: what the judge has said already."""
        self._problem = problem
        self._plan = plan
        self._author = author
        graph = None if isinstance(document, Problem) else document
        more = graph is not None and plan.schedule is not None and not only_orders(plan.schedule)
        self.of_schedule = of_schedule or more
        self._graph = None if self.of_schedule else graph
        self.verdict = _verdict_on(document, plan, author) if verdict is None else verdict

    @cached_property
    def any_order(self) -> bool:
        """Whether bounds hold in every order that the graph allows, of which this one says nothing."""
        if self._graph is None:
            return False
        listed = tuple(self._graph.operators[entry].id for entry in listed_order(self._graph))
        schedule = self._plan.schedule
        return self._graph.order != GIVEN or (schedule is not None and schedule.order != listed)

    @cached_property
    def keeps_order(self) -> bool:
        """Whether bounds are about the listed order alone, as the graph says, although it allows others."""
        return self._graph is not None and not self.any_order and has_other_orders(self._graph)

    @cached_property
    def data(self) -> Data:
        """The verdict as the page reads it."""
        sentence = self.sentence()
        return {
            "valid": self.verdict.valid,
            "fits": not self._broken,
            "violations": [entry.message for entry in self.verdict.violations[:_LISTED]],
            "lead": sentence.lead,
            "rest": sentence.rest,
            "tone": sentence.tone,
            "note": sentence.note,
            "facts": list(self._facts()),
            "keeps_order": self.keeps_order,
            "pools": [self._pool_data(place) for place in range(len(self._problem.pools))],
            "terms": [
                {
                    "term": term,
                    "value": self.value(term),
                    "bound": None if known is None else known.value,
                    "proven": known is not None and self._stands(known),
                }
                for term in self._terms
                for known in (self.bound(term),)
            ],
            "operator": self._critical,
        }

    def sentence(self) -> Sentence:
        """How large the plan is, and whether a smaller one can exist."""
        plan = self._plan
        if plan.status is Status.UNKNOWN:
            return Sentence(
                "No plan was found,", "and no proof that none exists.", "open", self._judge_says()
            )
        if plan.status is Status.INFEASIBLE:
            return self._nothing_fits()
        broken = self._broken
        if broken:
            more = f"And {len(broken) - 1:,} more." if len(broken) > 1 else ""
            return Sentence("This is no valid plan.", f"{plain(broken[0], most=160)}.", "wrong", more)
        planned = self._planned()
        return Sentence(
            planned.lead, planned.rest, planned.tone, f"{planned.note} {self._judge_says()}".strip()
        )

    def value(self, term: str) -> int | None:
        """The value of a term, as the judge counts it; of one that needs more than the plan, as that says."""
        counted = self._counted.value(term) if self._counted is not None else None
        return next((entry.value for entry in self._plan.objective if entry.term == term), counted)

    def bound(self, term: str) -> Known | None:
        """The best bound on a term: that of the plan, or what is live in any plan."""
        claimed = next((entry for entry in self._plan.objective if entry.term == term), None)
        known = None if claimed is None else self._claimed(Subject.BOUND, term, claimed.bound)
        value = self.value(term)
        if known is not None and value is not None and known.value > value:
            return known
        # That a peak is at least 0 says nothing, unless it is 0.
        if known is not None and not known.value and value and _is_peak(term):
            known = None
        if self.any_order or (known is not None and known.checked and known.value == value):
            return known
        own = self._own_of_term(term)
        return known if own is None or (known is not None and known.value > own.value) else own

    # What the judge says

    @cached_property
    def _terms(self) -> tuple[str, ...]:
        claimed = tuple(entry.term for entry in self._plan.objective)
        return claimed or tuple(map(str, self._problem.terms()))

    @cached_property
    def _broken(self) -> list[str]:
        """The rules that the places break."""
        return [entry.message for entry in self.verdict.violations if entry.code in _ABOUT_PLACES]

    @cached_property
    def _index(self) -> ProblemIndex | None:
        findings = Findings()
        index = ProblemIndex(self._problem, findings)
        return None if findings.total else index

    @cached_property
    def _counted(self) -> ObjectiveValues | None:
        """Values that are not taken from the plan: it says none, or not all that it says is so."""
        if self._index is None or (self.verdict.valid and not is_bare(self._plan)):
            return None
        layout = Layout(self._index)
        layout.read(self._plan.placements, Findings())
        return ObjectiveValues(self._index, layout, None)

    def _claim(self, subject: Subject, name: str | None) -> Claim | None:
        return next((one for one in self.verdict.claims if (one.subject, one.name) == (subject, name)), None)

    def _claimed(self, subject: Subject, name: str, value: int) -> Known | None:
        """A bound that the plan claims; None where its certificate does not show it."""
        claim = self._claim(subject, name)
        if claim is None:
            # Where the judge refuses a certificate, it says so in a violation and goes no further.
            refused = any(entry.code is Code.CERTIFICATE for entry in self.verdict.violations)
            return None if refused else Known(value, checked=not value, by="the plan")
        if claim.standing is Standing.REFUTED and not self._is_above(subject, name, value):
            return None
        return Known(value, claim.standing is Standing.CHECKED, claim.by)

    def _is_above(self, subject: Subject, name: str, bound: int) -> bool:
        """Whether the plan itself disproves this bound on a term."""
        value = self.value(name) if subject is Subject.BOUND else None
        return value is not None and bound > value

    def _stands(self, known: Known) -> bool:
        """Whether the judge or the run of the service vouches for it."""
        return known.checked or self._author == "service"

    def _word(self, known: Known) -> str:
        return "" if known.checked else ON_WHOSE_WORD[self._author]

    def _judge_says(self) -> str:
        """What is wrong with the claims of a plan that fits."""
        wrong = [entry.message for entry in self.verdict.violations if entry.code not in _ABOUT_PLACES]
        if not wrong:
            return ""
        more = f" And {len(wrong) - 1:,} more." if len(wrong) > 1 else ""
        return f"The judge says: {plain(wrong[0], most=300)}.{more}"

    # What is live in any plan

    @cached_property
    def _bounds(self) -> Bounds | None:
        if self._index is None or not self._problem.buffers:
            return None
        reduction = reduce(self._problem)
        return Bounds(reduction) if isinstance(reduction, Reduction) else None

    def _own_of_term(self, name: str) -> Known | None:
        """The bound that live bytes give, as far as the judge counts the same."""
        term, value = parse_term(name), self.value(name)
        if term is None or value is None or self._bounds is None or self._index is None:
            return None
        bound = self._bounds.of_term(term)
        if not bound.value or bound.value > value:
            return None if _is_peak(name) and value else Known(0, checked=True)
        gap = gap_of(value, bound.value)
        claim = TermValue(term=name, value=value, bound=bound.value, gap=gap, certificate=bound.certificate)
        if Proofs(self._index, (claim,), GraphFacts(), 0).reason_against(0) is not None:
            return None
        return Known(bound.value, True, "", *self._shown_by(bound.certificate))

    def _own_of_pool(self, place: int) -> Known | None:
        if self._bounds is None or self._index is None:
            return None
        bound = self._bounds.of_pool(place)
        certificate = bound.certificate
        if certificate is None:
            several = len(self._problem.pools) > 1
            return Known(0, checked=True) if several and not bound.value else None
        claim = TermValue(
            term=str(peak_of(self._problem.pools[place].id)),
            value=bound.value,
            bound=bound.value,
            gap=0.0,
            certificate=certificate,
        )
        if Proofs(self._index, (claim,), GraphFacts(), 0).reason_against(0) is not None:
            return None
        return Known(bound.value, True, "", *self._shown_by(certificate))

    def _shown_by(self, certificate: object) -> tuple[tuple[int, ...], int | None]:
        """The buffers that a certificate names, and their moment."""
        if isinstance(certificate, Sum):
            parts = [self._shown_by(part)[0] for part in certificate.parts]
            return tuple(buffer for part in parts for buffer in part), None
        if not isinstance(certificate, LiveBytes) or self._index is None:
            return (), None
        places = self._index.buffer_index
        return tuple(places[name] for name in certificate.buffers if name in places), certificate.time

    def pool_bound(self, place: int) -> Known | None:
        """The best bound on the peak of a pool."""
        pool = self._problem.pools[place]
        use = next((entry for entry in self._plan.pools if entry.pool == pool.id), None)
        first = self._plan.objective[0] if self._plan.objective else None
        term = None if first is None else parse_term(first.term)
        of_pool = term is not None and term.is_peak_of(pool.id, len(self._problem.pools))
        if self.any_order:
            if first is not None and of_pool:
                return self._claimed(Subject.BOUND, first.term, first.bound)
            return None if use is None or not use.bound else Known(use.bound, checked=False, by="the plan")
        own = self._own_of_pool(place)
        if use is None or not use.bound or (own is not None and own.value >= use.bound):
            return own
        known = self._claimed(Subject.POOL_BOUND, pool.id, use.bound)
        if known is None:
            return own
        certificate = use.certificate or (first.certificate if first is not None and of_pool else None)
        buffers, time = self._shown_by(certificate) if known.checked else ((), None)
        return Known(known.value, known.checked, known.by, buffers, time)

    # The words

    @cached_property
    def _run(self) -> str:
        """What of a graph a bound is about; empty: everything that it allows."""
        if self.any_order:
            return ""
        return "this schedule" if self.of_schedule else "this order" if self.keeps_order else ""

    @property
    def _one(self) -> str:
        return f"plan of {self._run}" if self._run else "plan"

    def _nothing_fits(self) -> Sentence:
        lead = "No plan of this order fits" if self.keeps_order else "No plan fits"
        explanation = self._plan.explanation
        note = "" if explanation is None else plain(explanation.message, most=400)
        claim = self._claim(Subject.NOTHING_FITS, None)
        if self.verdict.violations:
            return Sentence(f"{lead}, says the plan,", "and does not show it.", "wrong", self._judge_says())
        if claim is not None and claim.standing is Standing.CHECKED:
            return Sentence(lead, "into these memories.", "wrong", note)
        rest = f"into these memories{ON_WHOSE_WORD[self._author]}."
        return Sentence(lead, rest, "wrong" if self._author == "service" else "claimed", note)

    def _planned(self) -> Sentence:
        if not self._terms:
            return Sentence("It fits.", "", "proven")
        term = self._terms[0]
        value = self.value(term)
        if value is None:
            return Sentence("It fits.", "", "plain")
        sentence = self._worded(term, value, self.bound(term))
        if sentence.tone not in ("proven", "claimed"):
            return sentence
        later = next(self._open_later(), None)
        if later is None:
            return sentence
        return Sentence(sentence.lead, f"{sentence.rest} {later}", "open", sentence.note)

    def _open_later(self) -> Iterator[str]:
        """The later terms that a plan with the same values of those before may have less of."""
        for term in self._terms[1:]:
            value, known = self.value(term), self.bound(term)
            if value is None or known is None or known.value >= value:
                continue
            say = human if _is_peak(term) else count
            what = _label(term).replace(", bytes", "")
            yield (
                f"Whether {say(value)} is then the least {what} is open: "
                f"at least {say(known.value)}{self._word(known)}."
            )

    def _worded(self, term: str, value: int, known: Known | None) -> Sentence:
        lead = f"{human(value)}." if _is_peak(term) else "It fits."
        if known is None:
            return Sentence(lead, "", "plain", "No bound is known.")
        if known.value > value:
            return Sentence(lead, f"The {self._author} claims more than can be true.", "wrong")
        least, nearly = self._words(term, value)
        word = f"{self._word(known)}."
        note = "" if known.checked else f"The judge could not count it again: claimed by {known.by}."
        if known.value == value:
            return Sentence(lead, f"{least}{word}", "proven" if self._stands(known) else "claimed", note)
        part = (value - known.value) / value
        # Of a plan that may be more than twice as large as it must be, a share says nothing.
        if part > 0.5 and _is_peak(term):
            are = "are" if known.value > 1 else "is"
            return Sentence(lead, f"At least {human(known.value)} {are} needed{word}", "open", note)
        if _is_peak(term) and not term.startswith("peak:"):
            lead = f"{human(value)},"
        return Sentence(lead, nearly.replace("%", percent_up(part)) + word, "open", note)

    def _words(self, term: str, value: int) -> tuple[str, str]:
        """What is said where no plan is better, and where one may be: % is what that could save."""
        if self.any_order and term == str(PEAK):
            return (
                "No order and no plan can be smaller",
                "of which at most % could be saved in any order",
            )
        one = self._one
        saved = f"at most % could be saved{f' in {self._run}' if self._run else ''}"
        if term == str(PEAK):
            return f"No {one} can be smaller", f"of which {saved}"
        if term == "max_peak":
            return f"No {one} has a smaller largest pool", f"of which {saved}"
        if term.startswith("peak:"):
            pool = plain(term.removeprefix("peak:"), most=30)
            return f"No {one} needs less of {pool}", f"of {pool}, of which {saved}"
        what = _COSTS.get(term, plain(term, most=30))
        return f"No {one} has {what}: {count(value)}", f"Of its cost of {count(value)} {saved}"

    def _facts(self) -> Iterator[tuple[str, str]]:
        """The figures beside the sentence."""
        plan = self._plan
        if plan.status not in PLANNED:
            return
        term = self._terms[0] if self._terms else str(PEAK)
        value, known = self.value(term), self.bound(term)
        if value is not None:
            yield _label(term), count(value)
        if known is not None:
            whose = {"file": "claimed bound", "service": "bound of the service"}[self._author]
            yield "proven bound" if known.checked else whose, count(known.value)
            if value is not None and value > known.value and _is_peak(term):
                yield "gap", human(value - known.value)
        if plan.solver is not None:
            took = f", {seconds(plan.seconds)}" if plan.seconds else ""
            yield "found by", f"{plain(plan.solver, most=36)}{took}"

    def _pool_data(self, place: int) -> Data | None:
        known = self.pool_bound(place)
        if known is None:
            if not self.any_order:
                return None
            return {"bound": None, "proven": False, "proof": self._order_proof()}
        planned = self._plan.status in PLANNED
        peak = self._peaks[place] if planned else 0
        met = planned and known.value == peak
        return {
            "bound": known.value,
            "proven": self._stands(known),
            "caption": self._caption(known, place, peak, met),
            "proof": self._order_proof() if self.any_order else self._proof(known, place, peak),
            "buffers": known.buffers,
            "time": known.time,
        }

    @cached_property
    def _peaks(self) -> Sequence[int]:
        if self._counted is not None:
            return self._counted.peaks
        peak_of_pool = {use.pool: use.peak for use in self._plan.pools}
        return [peak_of_pool.get(pool.id, 0) for pool in self._problem.pools]

    def _caption(self, known: Known, place: int, peak: int, met: bool) -> str:
        word = self._word(known)
        least = f"least of {self._run}" if self._run else "least possible"
        if met:
            return f"{least}{word}"
        after = self._least_after(place, peak)
        if after is not None:
            return f"{least} {after}"
        # Two amounts that read alike say nothing of how far they are apart.
        if known.value < peak and human(known.value) == human(peak):
            return f"at most {human(peak - known.value)} above the {least}{word}"
        return f"at least {human(known.value)}{word}"

    def _least_after(self, place: int, peak: int) -> str | None:
        """Beside which values of terms before it the peak of a pool is proven to be least, if it is."""
        of_pool = {f"peak:{self._problem.pools[place].id}"}
        if len(self._problem.pools) == 1:
            of_pool |= {str(PEAK), "max_peak"}
        at = next((at for at, term in enumerate(self._terms) if term in of_pool), 0)
        known = self.bound(self._terms[at]) if at else None
        if known is None or known.value != peak:
            return None
        before = " and ".join(_label(term).replace(", bytes", "") for term in self._terms[:at])
        return f"at that {before}{self._word(known)}"

    def _proof(self, known: Known, place: int, peak: int) -> str:
        """Why no plan needs less of a pool."""
        if not known.checked:
            who = {"file": "The file claims", "service": "The service says"}[self._author]
            return (
                f"{who} that {count(known.value)} bytes are needed at least. The judge cannot count that "
                f"again: it is claimed by {plain(known.by, most=120)}."
            )
        pool = self._problem.pools[place]
        if not known.buffers:
            if known.value:
                return f"The judge has checked that {count(known.value)} bytes are needed at least."
            return f"Nothing must be in {plain(pool.id, most=24)}."
        live = {self._problem.buffers[buffer].id for buffer in known.buffers}
        apart = [buffer for buffer in counted_once(self._problem) if buffer.id in live]
        total = sum(buffer.size for buffer in apart)
        when = "" if known.time is None else f" at t = {time_text(known.time)}"
        many = f"{count(len({buffer.id for buffer in apart}))} buffers are live together{when} and add up to"
        all_of = f"1 buffer is live{when} and has" if len(apart) == 1 else many
        if self._plan.status not in PLANNED or known.value > peak:
            end = f"No {self._one} can need less."
        else:
            end = (
                "The plan is no higher." if known.value == peak else f"No {self._one} can be lower than that."
            )
        if total == known.value:
            return f"{all_of} {count(total)} bytes, packed without holes. {end}{self._crowds_in_words()}"
        if total < known.value:
            why = f"with reserved ranges and alignment they take {count(known.value)}"
        else:
            why = f"of which at least {count(known.value)} must be here"
        return f"{all_of} {count(total)} bytes; {why}. {end}{self._crowds_in_words()}"

    def _crowds_in_words(self) -> str:
        """Why buffers must pay for banks in common, where that is proven by counting them."""
        claim = next((entry for entry in self._plan.objective if isinstance(entry.certificate, Crowds)), None)
        if claim is None or not isinstance(claim.certificate, Crowds):
            return ""
        known = self._claimed(Subject.BOUND, claim.term, claim.bound)
        crowds = claim.certificate.crowds
        if known is None or not known.checked or not crowds:
            return ""
        some = names(crowds[0].buffers, 4)
        more = f" So it is in {len(crowds) - 1:,} more groups." if len(crowds) > 1 else ""
        return (
            f" Each of {some} must touch a bank, and there are fewer banks than that: some share one.{more} "
            f"That costs at least {count(claim.bound)}."
        )

    @property
    def _critical(self) -> str | None:
        """The operator that the proof about all orders names."""
        first = self._plan.objective[0].certificate if self._plan.objective else None
        return first.operator if isinstance(first, Cut) else None

    def _order_proof(self) -> str:
        """Why no order of the operators needs less."""
        first = self._plan.objective[0] if self._plan.objective else None
        if first is None or not first.bound:
            return (
                "Nothing is claimed about other orders of the operators. In this order the live bytes say "
                "what is needed."
            )
        known = self._claimed(Subject.BOUND, first.term, first.bound)
        if known is None:
            return "What the plan claims about other orders of the operators is not so: the judge says why."
        certificate = first.certificate
        if not isinstance(certificate, Cut | RefutedOrders):
            word = self._word(known) or ", as the judge has checked"
            return f"No order needs less than {count(first.bound)} bytes{word}."
        said = (
            _cut_in_words(certificate, first.bound)
            if isinstance(certificate, Cut)
            else _refuted_in_words(certificate)
        )
        if known.checked:
            return f"{said} The judge has checked this."
        return f"{said} The judge has not gone through this: so the {self._author} claims."


def _verdict_on(document: Problem | Graph, plan: Plan, author: Author) -> Verdict:
    """The verdict; of the service's own plans, which have just been tested against layouts, by counting."""
    if author == "file":
        return judge(document, plan)
    if isinstance(document, Problem):
        return judge_problem(document, plan, None, False)
    return judge_graph(document, plan, None, False)


def _is_peak(term: str) -> bool:
    return term in ("peak", "max_peak") or term.startswith("peak:")


def _label(term: str) -> str:
    return "peak, bytes" if term == "peak" else term.replace("_", " ").replace("peak:", "peak of ")


def percent_up(part: float) -> str:
    """A share in per cent, rounded up: a gap is never told smaller than it is."""
    percent = part * 100
    if percent < 0.01:
        return "0.01 %"
    digits = 2 if percent < 1 else 1 if percent < 10 else 0
    scale = 10**digits
    return f"{ceil(percent * scale - 1e-9) / scale:.{digits}f} %"


def _cut_in_words(cut: Cut, bound: int) -> str:
    if cut.operator is None:
        return f"Before the first operator or after the last, {count(bound)} bytes are live in any order."
    least = f"While {plain(cut.operator, most=60)} runs, {count(bound)} bytes are needed in any order"
    chains = cut.ways[0].chains if cut.ways else ()
    if not chains:
        return f"{least}: what it reads, makes and needs while it runs."
    names = [plain(name if isinstance(name, str) else name[0], most=30) for name in chains[0].storages]
    others = " or others" if len(names) > 3 else ""
    example = f", such as {' or '.join(names[:3])}{others}" if len(names) > 1 else ""
    one = "storages of which one is always live"
    those = one if len(chains) == 1 else f"{count(len(chains))} chains of {one}"
    besides = count(sum(chain.bytes for chain in chains))
    return f"{least}: what it reads, makes and needs while it runs, and {besides} bytes of {those}{example}."


def _refuted_in_words(proof: RefutedOrders) -> str:
    sets = "1 set" if len(proof.sets) == 1 else f"{count(len(proof.sets))} sets"
    return (
        f"A search for an order with at most {count(proof.height)} bytes ran dry: from none of {sets} of "
        "operators does a way lead to the end."
    )


# The document


def encoded(members: Mapping[str, bytes | object]) -> bytes:
    """The document of these members, of which bytes are JSON already."""
    parts = (
        b'"%s": %s' % (name.encode(), value if isinstance(value, bytes) else json.dumps(value).encode())
        for name, value in {"version": VERSION, **members}.items()
    )
    return b"{" + b", ".join(parts) + b"}"


def plan_document(
    document: Problem | Graph,
    problem: Problem,
    plan: Plan,
    name: str,
    search: Iterable[SearchStep] = (),
    program: Mapping[str, bytes | object] | None = None,
    proof: "tuple[CheckedProof, Walk | None] | None" = None,
) -> bytes:
    """The document of a plan from a file, with all that is drawn. The same plan gives the same bytes.

    `proof`: what the checker says of it, and its steps. With a `program` it has the graph as the plan runs
    it, and what each segment does: `members_of` in `planner/loops/loops_view.py`.
    """
    view = PlanView(document, problem, plan, "file", verdict=_verdict_by(problem, document, plan, proof))
    members: Mapping[str, bytes | object] = _graph_of(document)
    if program is not None:
        members = program
        plan = replace(plan, schedule=None)
    return encoded(
        {
            "name": name,
            "problem": write_problem(problem),
            **members,
            "plan": write_plan(problem, plan),
            "verdict": view.data if proof is None else {**view.data, "walk": _walked(*proof)},
            "search": [asdict(step) for step in search],
            "shortfalls": shortfalls_of(problem, plan),
        }
    )


def _verdict_by(
    problem: Problem, document: Problem | Graph, plan: Plan, proof: "tuple[CheckedProof, Walk | None] | None"
) -> Verdict | None:
    """The verdict with what a proof shows; None where there is none."""
    if proof is None:
        return None
    from memstow.planner.proofs.check import with_proof

    return with_proof(problem, plan, _verdict_on(document, plan, "file"), proof[0])


def _walked(checked: "CheckedProof", walk: "Walk | None") -> Data:
    steps = () if walk is None else walk.steps
    return {
        "says": checked.says,
        "steps": [{"text": step.text, "buffers": [*step.buffers]} for step in steps],
        "more": 0 if walk is None else walk.more,
    }


def verdict_document(document: Problem | Graph, problem: Problem, plan: Plan, author: Author) -> bytes:
    """The document of a plan for a page that has the problem or the graph already.

    Where the plan is of what its schedule makes of a graph, which the page cannot work out, that is in it.
    """
    members: dict[str, bytes | object] = {
        "plan": write_plan(problem, plan),
        "verdict": PlanView(document, problem, plan, author).data,
    }
    if plan.schedule is not None and not only_orders(plan.schedule):
        members["problem"] = write_problem(problem)
    return encoded(members)


def comparison_document(
    document: Problem | Graph, problem: Problem, plans: Sequence[Plan], names: Sequence[str], name: str
) -> bytes:
    """The document of two plans of one problem, and what they are called."""
    first, second = plans
    return encoded(
        {
            "name": name,
            "problem": write_problem(problem),
            **_graph_of(document),
            "plan": write_plan(problem, first),
            "verdict": PlanView(document, problem, first, "file").data,
            "other": write_plan(problem, second),
            "other_verdict": PlanView(document, problem, second, "file").data,
            "names": list(names),
        }
    )


def _graph_of(document: Problem | Graph) -> Mapping[str, bytes]:
    return {} if isinstance(document, Problem) else {"graph": write_document(document)}


_MOST_POOLS: Final = 8
_MOST_COUNTED: Final = 100_000
"""Buffers, over all peaks that are looked at: about a second."""
_WORK: Final = 200_000


def shortfalls_of(problem: Problem, plan: Plan) -> list[Data]:
    """Which buffers must change for the peaks that the page steps through; without a plan for the capacities.

    It is work that is limited, and no time: the same plan gives the same answer.
    """
    room = _MOST_COUNTED // max(len(problem.buffers), 1)
    peaks = list(_lower_peaks(problem, plan))[:_MOST_POOLS] if room else []
    answers: list[Data] = []
    for pool, wanted in peaks:
        demand = Demand(problem, pool)
        for least in wanted[: max(room // len(peaks), 1)]:
            shortfall = demand.shortfall(least, Work(_WORK))
            none: Data = {"pool": pool, "wanted": least, "count": 0, "least": 0, "changes": []}
            answers.append(none if shortfall is None else as_data(shortfall, moments=False))
    return answers


def _lower_peaks(problem: Problem, plan: Plan) -> Iterator[tuple[str, list[int]]]:
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
