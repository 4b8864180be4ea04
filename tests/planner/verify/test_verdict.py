"""How far each claim is to be believed: by itself, or as far as what it rests on."""

from memstow.planner.model import Status
from memstow.planner.model.plan import Plan
from memstow.planner.verify.verdict import COUNTED, Claims, Standing, Subject


def claims() -> Claims:
    """Two bounds that a search claims, and one of a pool that is the first of them."""
    found = Claims(Plan(status=Status.FEASIBLE, version="1.2"))
    found.resting(Subject.POOL_BOUND, "p", "no less", (Subject.BOUND, "peak"))
    found.claimed(Subject.BOUND, "peak", "no less", "exact", holds=True)
    found.claimed(Subject.BOUND, "moves", "no fewer", "exact", holds=True)
    return found


def standings(found: Claims) -> dict[tuple[Subject, str | None], Standing]:
    return {(claim.subject, claim.name): claim.standing for claim in found.settled()}


def test_a_claim_stands_as_what_it_rests_on() -> None:
    found = claims()
    assert set(standings(found).values()) == {Standing.CLAIMED}
    assert {claim.by for claim in found.settled()} == {"memstow 1.2 (exact)"}
    found.refute(Subject.BOUND, "peak")
    assert standings(found)[Subject.POOL_BOUND, "p"] is Standing.REFUTED


def test_what_speaks_against_one_claim_says_nothing_of_another() -> None:
    found = claims()
    found.refute(Subject.BOUND, "peak")
    assert standings(found)[Subject.BOUND, "moves"] is Standing.CLAIMED
    assert [claim.name for claim in found.only_claimed()] == ["moves"]


def test_what_rests_on_nothing_is_what_was_counted() -> None:
    found = Claims(Plan(status=Status.FEASIBLE))
    found.counted(Subject.PLACES, None, "all fit", holds=True)
    (claim,) = found.settled()
    assert (claim.standing, claim.by) == (Standing.CHECKED, COUNTED)
