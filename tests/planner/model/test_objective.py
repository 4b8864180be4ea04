"""Terms of the objective and the strings that stand for them."""

from dataclasses import replace

import pytest

from memstow.planner.model.problem import (
    PLAIN_KINDS,
    Buffer,
    Kind,
    Pool,
    Problem,
    Term,
    counts,
    parse_term,
    peak_of,
    term_of,
    terms_of,
)

PROBLEM = Problem(version=1, buffers=(Buffer(id="a", size=1),))


@pytest.mark.parametrize(
    "text", [*PLAIN_KINDS, "peak:fast", "peak:", "peak:a:b", "peak:peak", "peak:POOL", "peak: "]
)
def test_a_term_is_written_as_it_was_read(text: str) -> None:
    term = parse_term(text)
    assert term is not None
    assert str(term) == text
    assert (term.kind is Kind.POOL_PEAK) == (term.pool is not None) == (":" in text)


@pytest.mark.parametrize("text", ["", "Peak", "peak ", "max_peak:fast", "pool", ":", ":fast", "moves:"])
def test_what_is_no_objective_is_no_term(text: str) -> None:
    assert parse_term(text) is None
    with pytest.raises(ValueError, match="is not an objective"):
        term_of(text)


def test_a_name_of_a_pool_may_have_colons() -> None:
    assert parse_term("peak:a:b") == Term(Kind.POOL_PEAK, "a:b") == peak_of("a:b")


def test_the_objective_in_force_is_a_default_where_none_is_given() -> None:
    two = replace(PROBLEM, pools=(Pool(id="x"), Pool(id="y")))
    assert terms_of(PROBLEM) == (Term(Kind.PEAK),)
    assert terms_of(two) == (Term(Kind.PLACEMENT_COST), Term(Kind.PEAK))
    assert terms_of(replace(two, objective=("peak:y", "moves"))) == (peak_of("y"), Term(Kind.MOVES))
    assert terms_of(replace(two, objective=())) == ()


def test_an_objective_counts_the_kinds_it_names() -> None:
    changed = replace(PROBLEM, objective=("nonsense", "peak:memory", "moves"))
    assert counts(changed, Kind.MOVES)
    assert counts(changed, Kind.POOL_PEAK)
    assert not counts(changed, Kind.PEAK)


def test_a_term_is_the_peak_of_a_pool_by_name_or_where_it_is_alone() -> None:
    assert peak_of("x").is_peak_of("x", 2)
    assert not peak_of("y").is_peak_of("x", 2)
    for kind in (Kind.PEAK, Kind.MAX_PEAK):
        assert Term(kind).is_peak_of("x", 1)
        assert not Term(kind).is_peak_of("x", 2)
    assert not Term(Kind.REUSE_COST).is_peak_of("x", 1)
