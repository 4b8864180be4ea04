"""The judge's words: violations with their codes, claims with their standing, and the verdict of both.

A plan of a million buffers can be wrong a million times. Past `LISTED` violations of one code only their
number is kept, so that output and time stay bounded. `Effort` bounds the work done for one proof in the same
way: a document of a few megabytes may ask for years.
"""

from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from memstow.planner.model.plan import Cut, Live, Plan, RefutedOrders
from memstow.records import record, replace

LISTED: Final = 100


class Code(StrEnum):
    """Every way in which a plan can be wrong."""

    INVALID_PROBLEM = "invalid_problem"
    """The problem contradicts itself, so no plan can be judged against it."""

    DIGEST = "digest"
    """The plan says that it is for another problem."""
    PROOF = "proof"
    """The proof is wrong, of another problem, or not the one that the plan names."""

    MISSING = "missing"
    """A buffer of the problem has no place."""
    UNKNOWN_BUFFER = "unknown_buffer"
    """A place for a buffer that the problem does not have."""
    REPEATED = "repeated"
    """A buffer has several places."""

    UNKNOWN_POOL = "unknown_pool"
    """A place in a pool that the problem does not have."""
    POOL_NOT_ALLOWED = "pool_not_allowed"
    """A pool that is not among the buffer's allowed pools."""
    PINNED_POOL = "pinned_pool"
    """Not the pool the buffer is pinned to."""
    PINNED_OFFSET = "pinned_offset"
    """Not the offset the buffer is pinned to."""
    MISALIGNED = "misaligned"
    """Pool base plus offset is not a multiple of the effective alignment."""
    BEYOND_CAPACITY = "beyond_capacity"
    """The buffer ends after the end of its pool, or beyond 2^62 in an unbounded one."""
    RESERVED = "reserved"
    """The buffer is on a reserved range."""
    ACROSS_BANKS = "across_banks"
    """The bytes of the buffer are not all in one bank."""
    BANK_NOT_ALLOWED = "bank_not_allowed"
    """The buffer has a byte outside of the banks that it may be in."""

    OVERLAP = "overlap"
    """Two conflicting buffers share a byte."""
    IN_PLACE = "in_place"
    """An in-place pair shares bytes, but does not start at the same offset."""
    SHARED_BANK = "shared_bank"
    """Two buffers touch one bank that may not."""
    RELATIVE_POOL = "relative_pool"
    """Two buffers at a fixed distance are in different pools."""
    RELATIVE_DISTANCE = "relative_distance"
    """Two buffers at a fixed distance are at another one."""

    ORDER = "order"
    """The schedule is no order of the graph's operators that the graph allows."""
    SCHEDULE = "schedule"
    """The schedule repeats, copies, replaces or stripes what the graph does not allow."""

    SHAPES = "shapes"
    """The plan of a symbolic problem does not consist of what it says it does."""
    ABOVE = "above"
    """An order has a circle, or puts a buffer above one that it cannot be above."""
    SHARES = "shares"
    """A buffer shares the offset of one that it may not share bytes with, or that is elsewhere."""
    EMPTY = "empty"
    """An order says of a buffer that it has no bytes at any value, which could not be shown."""
    UNORDERED = "unordered"
    """An order puts neither of two conflicting buffers above the other."""
    NOT_SHOWN = "not_shown"
    """It could not be shown that something holds at every value of the symbols."""
    POINT = "point"
    """A point is none of the problem, is there twice, or is missing."""
    LEAST = "least"
    """The least peak at a point is above the peak of the plan."""
    WORST = "worst"
    """The largest ratio of peak to least peak is another."""

    TILING = "tiling"
    """A figure of a tiling is another, or a statement about tiles is false."""

    STATUS = "status"
    """The status does not follow from the rest of the plan."""
    EXPLANATION = "explanation"
    """The explanation is missing, out of place, or speaks of what the problem does not have."""
    CLOSEST = "closest"
    """The closest attempt is out of place, or no overflow of a pool of the problem."""

    POOL_USE = "pool_use"
    """The pools of the plan are not those of the problem, each once."""
    CAPACITY = "capacity"
    """A claimed capacity is not that of the pool."""
    PEAK = "peak"
    """A claimed peak is not the largest end offset in the pool."""
    LIVE = "live"
    """The claimed live bytes are not the most bytes occupied at one moment, or not first at the one named."""
    POOL_BOUND = "pool_bound"
    """A claimed bound of a pool is above its peak."""

    TERMS = "terms"
    """The objective of the plan does not have the terms of the problem, in their order."""
    VALUE = "value"
    """A claimed value of a term is not what the placements cost."""
    BOUND = "bound"
    """A claimed bound of a term is above its value."""
    GAP = "gap"
    """A claimed gap does not follow from value and bound."""
    UNCERTIFIED = "uncertified"
    """A bound above zero without a certificate."""
    CERTIFICATE = "certificate"
    """A certificate that does not prove the bound it stands for."""


@record
class Violation:
    """One thing that is wrong with a plan."""

    code: Code
    message: str
    buffers: tuple[str, ...] = ()
    pool: str | None = None
    count: int = 1
    """How many violations this line stands for: those of a code that are not listed share one."""

    def __str__(self) -> str:
        return f"{self.message} [{self.code}]"


class _Grouped(int):
    """A number printed in groups of three digits; `{:d}` prints the plain digits, as in a range."""

    def __format__(self, spec: str) -> str:
        return int.__format__(self, spec or ",")


def _grouped(value: object) -> object:
    return _Grouped(value) if type(value) is int else value


class Findings:
    """Collects violations, at most `LISTED` of each code."""

    def __init__(self) -> None:
        self._listed: list[Violation] = []
        self._counts: Counter[Code] = Counter()
        self._cut_short: set[Code] = set()
        self.total = 0
        """How many violations were noted, listed or not."""

    def add(
        self, code: Code, text: str, *values: object, buffers: tuple[str, ...] = (), pool: str | None = None
    ) -> None:
        """Note a violation; `values` fill the braces of `text`, which is formatted only when it is listed."""
        self.total += 1
        self._counts[code] += 1
        if self._counts[code] <= LISTED:
            self._listed.append(Violation(code, text.format(*map(_grouped, values)), buffers, pool))

    def merge(self, other: "Findings") -> None:
        """Note what others have found."""
        for violation in other._listed:
            self.add(violation.code, "{}", violation.message, buffers=violation.buffers, pool=violation.pool)

    def full(self, code: Code) -> bool:
        """Whether another violation of this code would not be listed."""
        return self._counts[code] >= LISTED

    def cut_short(self, code: Code) -> None:
        """Note that the search for violations of this code ended before all were found."""
        self._cut_short.add(code)

    def violations(self) -> list[Violation]:
        """Everything listed, then one line for each code that had more."""
        rest = [
            Violation(code, f"and {count - LISTED:,} more", count=count - LISTED)
            for code, count in self._counts.items()
            if count > LISTED
        ]
        rest += [
            Violation(code, "and perhaps more: the search ended here", count=0)
            for code in sorted(self._cut_short)
            if self._counts[code] <= LISTED
        ]
        return self._listed + rest


if TYPE_CHECKING:
    from memstow.planner.model.symbolic import SymbolicPlan


class Standing(StrEnum):
    """How far a claim is to be believed."""

    CHECKED = "checked"
    """It follows from the problem and the plan, as the judge has counted itself."""
    CLAIMED = "claimed"
    """Not refuted, and not checkable: it rests on the word of whoever made the plan."""
    REFUTED = "refuted"
    """False, or not shown by its certificate: a violation says why."""


class Subject(StrEnum):
    """The subject of a claim."""

    ORDER = "order"
    """The operators of a graph can run in the order of the plan."""
    SCHEDULE = "schedule"
    """Operators run again, alternatives and copies are as the graph allows."""
    STRIPES = "stripes"
    """Every row and column is there when it is read."""
    PLACES = "places"
    """Every buffer has a place, and no constraint is broken."""
    POOL = "pool"
    """Capacity and peak of a pool."""
    LIVE = "live"
    """The most bytes live at one moment in a pool, and the first such moment."""
    POOL_BOUND = "pool_bound"
    """No plan has a lower peak in a pool."""
    VALUE = "value"
    """The value of a term of the objective."""
    BOUND = "bound"
    """No plan has a lower value of a term, those before as they are here."""
    SIZES = "sizes"
    """Every size has a value, and none is too small or too large, at every value of the symbols."""
    EVERYWHERE = "everywhere"
    """What must hold at every value of the symbols: capacities and pins."""
    PEAK_AT = "peak_at"
    """What a plan of a symbolic problem needs at one point."""
    LEAST_AT = "least_at"
    """No layout made for one point alone needs less there."""
    WORST = "worst"
    """The largest ratio of peak to least peak at a point."""
    NOTHING_FITS = "nothing_fits"
    """No plan exists, for the reason given."""
    POINT = "point"
    """What a front says of one of its points, or of all."""
    CLOSEST = "closest"
    """How far an attempt was from fitting."""
    TILES = "tiles"
    """What a tiling says of all tiles: that none is better, that none fits, or which are on its front."""
    FIGURES = "figures"
    """What a tile needs and moves."""


COUNTED = "counted"
SOLVED_AGAIN = "solving again"


@record
class Claim:
    """A claim of a plan."""

    subject: Subject
    name: str | None
    """The pool or the term concerned."""
    says: str
    standing: Standing
    by: str
    """How it was checked, or who claims it."""
    rests_on: tuple[Subject, str] | None = None
    """The claim of which this one is a part: both stand or fall together."""

    @property
    def standing_text(self) -> str:
        """The standing in words, without the claim itself."""
        match self.standing:
            case Standing.CHECKED:
                return "checked" if self.by == COUNTED else f"checked by {self.by}"
            case Standing.CLAIMED:
                return f"claimed by {self.by}, not checked"
        return "refuted"


@record
class Verdict:
    """The violations of a plan, and the standing of each of its claims."""

    violations: tuple[Violation, ...]
    claims: tuple[Claim, ...]

    @property
    def valid(self) -> bool:
        """Whether there is no violation; claims may be unchecked all the same."""
        return not self.violations

    @property
    def unchecked(self) -> tuple[Claim, ...]:
        """Claims that were not checked."""
        return tuple(claim for claim in self.claims if claim.standing is Standing.CLAIMED)

    def standing(self, about: tuple[Subject, str | None], standing: Standing, by: str) -> "Verdict":
        """The verdict with another standing for an unchecked claim, and for those that rest on it."""

        def update(claim: Claim) -> Claim:
            mine = (claim.subject, claim.name) == about or claim.rests_on == about
            if not mine or claim.standing is not Standing.CLAIMED:
                return claim
            return replace(claim, standing=standing, by=by)

        return replace(self, claims=tuple(map(update, self.claims)))

    def violated(self, violation: Violation) -> "Verdict":
        """The verdict with one more violation."""
        return replace(self, violations=(*self.violations, violation))


def use_in_words(pool: str, capacity: int | None, peak: int) -> str:
    """What a plan claims of a pool."""
    limit = "no limit" if capacity is None else f"a capacity of {capacity:,}"
    return f"{pool!r} has {limit} and a peak of {peak:,}"


def live_in_words(pool: str, live: Live) -> str:
    """What a plan claims of the bytes that are live in a pool; without lifetimes there is no moment."""
    first = "" if live.time is None else f", first at {live.time}"
    return f"at most {live.bytes:,} bytes are live in {pool!r}{first}"


@record
class CostTerm:
    """What was counted of a schedule."""

    value: int
    least: int
    """No schedule of the graph costs less; 0 where that is not known."""
    terms: tuple[str, ...]
    """The objective of the graph."""


AgainstOrders = Callable[[int, Cut | RefutedOrders], str | None]
"""Why a certificate does not prove such a bound on what every order of a graph needs; None where it does.

Raises TooMuch where the judge would have too much to do."""


@record
class GraphFacts:
    """What is known of the graph of whose schedule the plan is; nothing where it is of a problem."""

    against_orders: AgainstOrders | None = None
    cost: CostTerm | None = None
    """What the schedule costs, where the plan or the graph speaks of it."""
    has_other_schedules: bool = False
    """The graph allows others than that of the plan, of which counting in its problem says nothing."""


class Claims:
    """Gathers the claims of one plan."""

    def __init__(self, plan: "Plan | SymbolicPlan", author: str = "the plan") -> None:
        self.graph = GraphFacts()
        """Set where the plan is of a graph."""
        self._author = author if plan.version is None else f"memstow {plan.version[:64]}"
        self._claims: list[Claim] = []

    def counted(self, subject: Subject, name: str | None, says: str, holds: bool) -> None:
        """Add a claim that the judge has counted."""
        self._add(subject, name, says, Standing.CHECKED if holds else Standing.REFUTED, COUNTED)

    def proven(self, subject: Subject, name: str | None, says: str, kind: str, holds: bool) -> None:
        """Add a claim whose certificate the judge has checked."""
        self._add(subject, name, says, Standing.CHECKED if holds else Standing.REFUTED, kind)

    def claimed(self, subject: Subject, name: str | None, says: str, by: str | None, holds: bool) -> None:
        """Add a claim that cannot be counted, with its author; `holds`: nothing refutes it."""
        author = self._author if by is None else f"{self._author} ({by[:64]})"
        self._add(subject, name, says, Standing.CLAIMED if holds else Standing.REFUTED, author)

    def resting(self, subject: Subject, name: str, says: str, on: tuple[Subject, str]) -> None:
        """Add a claim that holds if and only if another claim does."""
        self._claims.append(Claim(subject, name, says, Standing.CHECKED, COUNTED, on))

    def only_claimed(self) -> list[Claim]:
        """Claims that are neither checked nor refuted so far."""
        return [claim for claim in self._claims if claim.standing is Standing.CLAIMED]

    def refute(self, subject: Subject, name: str | None) -> None:
        """Mark a claim as refuted."""
        self._claims = [
            replace(claim, standing=Standing.REFUTED)
            if (claim.subject, claim.name) == (subject, name)
            else claim
            for claim in self._claims
        ]

    def settled(self) -> tuple[Claim, ...]:
        """All claims; one that rests on another has its standing."""
        by_subject = {(claim.subject, claim.name): claim for claim in self._claims}

        def settled(claim: Claim) -> Claim:
            base = None if claim.rests_on is None else by_subject.get(claim.rests_on)
            return claim if base is None else replace(claim, standing=base.standing, by=base.by)

        return tuple(map(settled, self._claims))

    def _add(self, subject: Subject, name: str | None, says: str, standing: Standing, by: str) -> None:
        self._claims.append(Claim(subject, name, says, standing, by))


def as_data(verdict: Verdict) -> dict[str, object]:
    """The verdict as plain data."""
    return {
        "valid": verdict.valid,
        "checked": not verdict.unchecked,
        "violations": [
            {
                "code": violation.code,
                "message": violation.message,
                "buffers": list(violation.buffers),
                "pool": violation.pool,
            }
            for violation in verdict.violations
        ],
        "claims": [
            {
                "subject": claim.subject,
                "name": claim.name,
                "says": claim.says,
                "standing": claim.standing,
                "by": claim.by,
            }
            for claim in verdict.claims
        ],
    }


STEPS_OF_A_PROOF: Final = 20_000_000
"""Of each some microseconds at most. The largest proofs that memstow writes take a tenth of them."""

STEPS_IN_A_RUN: Final = 2_000_000
"""Of the search of a window, for a plan of a run that was searched before: some milliseconds."""
STEPS_OF_A_VERDICT: Final = 200_000_000
"""Of the same, where somebody asks: about a second."""


class TooMuch(Exception):  # noqa: N818
    """Checking this takes more work than the judge does: it stays a claim."""


class Refused(Exception):  # noqa: N818
    """Why the schedule is none of the graph."""


class Effort:
    """A budget of steps, each of which looks at one buffer, operator, storage or name; `left` of them."""

    def __init__(self, most: int = STEPS_OF_A_PROOF) -> None:
        self.left = most

    def spend(self, steps: int) -> None:
        """Count steps before they are done; raises TooMuch where that many are not left."""
        self.left -= steps
        if self.left < 0:
            raise TooMuch
