"""How far each claim is to be believed: by itself, or as far as what it rests on."""

from memstow.planner.model import Status
from memstow.planner.model.plan import Plan
from memstow.planner.verify.verdict import COUNTED, Claims, Standing, Subject


def claims() -> Claims:
    """Two bounds that a search claims, and one of a pool that is the first of them."""
    claimed = Claims(Plan(status=Status.FEASIBLE, version="1.2"))
    claimed.resting(Subject.POOL_BOUND, "p", "no less", (Subject.BOUND, "peak"))
    claimed.claimed(Subject.BOUND, "peak", "no less", "exact", holds=True)
    claimed.claimed(Subject.BOUND, "moves", "no fewer", "exact", holds=True)
    return claimed


def standings(result: Claims) -> dict[tuple[Subject, str | None], Standing]:
    return {(claim.subject, claim.name): claim.standing for claim in result.settled()}


def test_a_claim_stands_as_what_it_rests_on() -> None:
    claimed = claims()
    assert set(standings(claimed).values()) == {Standing.CLAIMED}
    assert {claim.by for claim in claimed.settled()} == {"memstow 1.2 (exact)"}
    claimed.refute(Subject.BOUND, "peak")
    assert standings(claimed)[Subject.POOL_BOUND, "p"] is Standing.REFUTED


def test_what_speaks_against_one_claim_says_nothing_of_another() -> None:
    claimed = claims()
    claimed.refute(Subject.BOUND, "peak")
    assert standings(claimed)[Subject.BOUND, "moves"] is Standing.CLAIMED
    assert [claim.name for claim in claimed.only_claimed()] == ["moves"]


def test_what_rests_on_nothing_is_what_was_counted() -> None:
    claimed = Claims(Plan(status=Status.FEASIBLE))
    claimed.counted(Subject.PLACES, None, "all fit", holds=True)
    (claim,) = claimed.settled()
    assert (claim.standing, claim.by) == (Standing.CHECKED, COUNTED)
