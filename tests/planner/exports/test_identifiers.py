"""Names of code for any id: valid, unique without regard to case, and the same in any order of ids."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstow.planner.exports.naming import identifiers, in_comment
from tests.planner.exports.sample import HOSTILE

TEXTS = st.one_of(st.text(min_size=1), st.text("aA_.0 \\*/", min_size=1, max_size=4))


@given(st.lists(TEXTS, unique=True))
def test_names_are_valid_and_unique_without_regard_to_case(ids: list[str]) -> None:
    names = identifiers(ids)
    assert names.keys() == set(ids)
    assert len({name.lower() for name in names.values()}) == len(ids)
    assert all(re.fullmatch(r"[A-Za-z0-9]+(_[A-Za-z0-9]+)*", name) for name in names.values())


@given(st.lists(TEXTS, unique=True), st.randoms(use_true_random=False))
def test_names_do_not_depend_on_the_order_of_the_ids(ids: list[str], rng: object) -> None:
    shuffled = sorted(ids, key=lambda _: rng.random())  # type: ignore[attr-defined]
    assert identifiers(shuffled) == identifiers(ids)


def test_an_id_that_is_a_name_keeps_it() -> None:
    names = identifiers(["a.b", "a_b", "A_B", "a-b", "a_b_2", "conv1/out", "é"])
    assert names["a_b_2"] == "a_b_2"
    assert names["A_B"] == "A_B"
    assert names["conv1/out"] == "conv1_out"
    assert names["é"] == "x"
    assert [names[name] for name in ("a-b", "a.b", "a_b")] == ["a_b_3", "a_b_4", "a_b_5"]


@given(st.text())
def test_a_comment_stays_a_comment(text: str) -> None:
    shown = in_comment(text)
    assert shown.isascii()
    assert shown.isprintable()
    for ends in ("*/", "/*", "??", "\n", "\r"):
        assert ends not in shown
    assert not shown.endswith("\\")
    assert shown[0] == shown[-1] == '"'
    assert '"' not in shown[1:-1]


def test_different_ids_have_different_comments() -> None:
    assert len({in_comment(text) for text in (*HOSTILE, "\\u{2a}", "*")}) == len(HOSTILE) + 2


@pytest.mark.parametrize("text", ["conv1/out", "model.layers[3] (relu)", "a+b=c"])
def test_what_is_harmless_is_shown_as_it_is(text: str) -> None:
    assert in_comment(text) == f'"{text}"'
