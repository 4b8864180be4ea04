"""The result of a judgement: the violations of a plan, and the standing of each of its claims."""

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

from memstow.planner.model.plan import Plan
from memstow.planner.model.records import record
from memstow.planner.verify.findings import Violation

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


def use_in_words(pool: str, capacity: int | None, peak: int) -> str:
    """What a plan claims of a pool."""
    limit = "no limit" if capacity is None else f"a capacity of {capacity:,}"
    return f"{pool!r} has {limit} and a peak of {peak:,}"


class Claims:
    """Gathers the claims of one plan."""

    def __init__(self, plan: "Plan | SymbolicPlan", author: str = "the plan") -> None:
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
        found = {(claim.subject, claim.name): claim for claim in self._claims}

        def settled(claim: Claim) -> Claim:
            base = None if claim.rests_on is None else found.get(claim.rests_on)
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
            {"code": it.code, "message": it.message, "buffers": list(it.buffers), "pool": it.pool}
            for it in verdict.violations
        ],
        "claims": [
            {"subject": it.subject, "name": it.name, "says": it.says, "standing": it.standing, "by": it.by}
            for it in verdict.claims
        ],
    }
