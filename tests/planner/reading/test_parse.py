"""A document is read whole or refused with everything that is wrong with it, in its own order."""

from collections.abc import Callable
from typing import Any

import pytest

from memstow.planner.model.errors import Issue
from memstow.planner.model.problem import Buffer, Problem
from memstow.planner.reading.parse import parse_options, parse_plan, parse_problem
from memstow.planner.reading.sections import MOST_REPORTED
from tests.planner.refusal import refusal, told


def _with(**fields: Any) -> dict[str, Any]:
    return {"version": 1, "buffers": [{"id": "a", "size": 1, "lifetime": [0, 1], **fields}]}


def test_a_sound_document_becomes_a_problem() -> None:
    assert parse_problem(_with()) == Problem(version=1, buffers=(Buffer(id="a", size=1, lifetime=(0, 1)),))


@pytest.mark.parametrize(
    ("raw", "code", "place"),
    [
        ([], "wrong_root", "$"),
        (None, "wrong_root", "$"),
        ({"buffers": []}, "missing_field", "$.version"),
        ({"version": 1}, "missing_field", "$.buffers"),
        ({"version": 2, "buffers": []}, "unsupported_version", "$.version"),
        ({"version": "1", "buffers": []}, "not_an_integer", "$.version"),
        ({"version": 1, "buffers": {}}, "not_a_list", "$.buffers"),
        ({"version": 1, "buffers": None}, "not_a_list", "$.buffers"),
        ({"version": 1, "buffers": [3]}, "not_an_object", "$.buffers[0]"),
        ({"version": 1, "buffers": [], "pools": []}, "empty", "$.pools"),
        ({"version": 1, "buffers": [], "pool": []}, "unknown_field", "$.pool"),
        ({"version": 1, "buffers": [], "name": 3}, "not_a_string", "$.name"),
        ({"version": 1, "buffers": [], "name": "a" * 1025}, "too_long", "$.name"),
        ({"version": 1, "buffers": [], "objective": ["peak", 3]}, "not_a_string", "$.objective[1]"),
        ({"version": 1, "buffers": [], "objective": "peak"}, "not_a_list", "$.objective"),
        ({"version": 1, "buffers": [], "conflicts": [["a"]]}, "wrong_length", "$.conflicts[0]"),
        ({"version": 1, "buffers": [], "conflicts": [["a", "b", "c"]]}, "wrong_length", "$.conflicts[0]"),
        ({"version": 1, "buffers": [], "conflicts": ["ab"]}, "not_a_list", "$.conflicts[0]"),
        (_with(size=True), "not_an_integer", "$.buffers[0].size"),
        (_with(size=1.0), "not_an_integer", "$.buffers[0].size"),
        (_with(size=-1), "too_small", "$.buffers[0].size"),
        (_with(size=1 << 63), "too_large", "$.buffers[0].size"),
        (_with(size=10**400), "too_large", "$.buffers[0].size"),
        (_with(id=""), "empty", "$.buffers[0].id"),
        (_with(id="\ud800"), "not_text", "$.buffers[0].id"),
        (_with(id="a\0b"), "not_text", "$.buffers[0].id"),
        (_with(pools=["\0"]), "not_text", "$.buffers[0].pools[0]"),
        (_with(id=7), "not_a_string", "$.buffers[0].id"),
        (_with(alignment=0), "too_small", "$.buffers[0].alignment"),
        (_with(lifetime=3), "not_a_lifetime", "$.buffers[0].lifetime"),
        (_with(lifetime="alway"), "not_a_lifetime", "$.buffers[0].lifetime"),
        (_with(lifetime={}), "not_a_lifetime", "$.buffers[0].lifetime"),
        (_with(lifetime=[1]), "wrong_length", "$.buffers[0].lifetime"),
        (_with(lifetime=[1, 2, 3]), "wrong_length", "$.buffers[0].lifetime"),
        (_with(lifetime=[1, "2"]), "not_an_integer", "$.buffers[0].lifetime[1]"),
        (_with(lifetime=[3, 2]), "reversed_lifetime", "$.buffers[0].lifetime"),
        (_with(pools=["x"]), "unknown_pool", "$.buffers[0].pools[0]"),
        (_with(pool="x"), "unknown_pool", "$.buffers[0].pool"),
    ],
)
def test_each_defect_has_its_code_and_place(raw: object, code: str, place: str) -> None:
    assert told(lambda: parse_problem(raw)) == [(code, place)]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (_with(size=3.0), "write 3"),
        (_with(size="12"), "leave out the quotes"),
        (_with(sise=3), "did you mean size?"),
        (_with(lower=3), "did you mean lifetime?"),
        (_with(colour=3), "allowed: id, size, lifetime"),
        (_with(size=1 << 63), "at most 2^62"),
        (_with(lifetime="alway"), '[begin, end] or "always", given "alway"'),
    ],
)
def test_messages_say_what_would_be_right(raw: object, words: str) -> None:
    assert words in refusal(lambda: parse_problem(raw))[0].message


def test_structure_and_meaning_are_told_at_once_in_the_order_of_the_document() -> None:
    raw = {
        "conflicts": [["b", "nobody"]],
        "version": 1,
        "buffers": [
            {"id": "a", "size": "?", "lifetime": [0, 1]},
            {"id": "b", "size": 1, "lifetime": [4, 4]},
            {"id": "b", "lifetime": [0, 1]},
            {"id": "c", "size": 1, "lifetime": [5, 4], "colour": 0},
            {"id": "d", "size": 1, "lifetime": [5, 4]},
        ],
    }
    assert told(lambda: parse_problem(raw)) == [
        ("unknown_buffer", "$.conflicts[0]"),
        ("not_an_integer", "$.buffers[0].size"),
        ("empty_lifetime", "$.buffers[1].lifetime"),
        ("missing_field", "$.buffers[2].size"),
        ("unknown_field", "$.buffers[3].colour"),
        ("reversed_lifetime", "$.buffers[4].lifetime"),
    ]


def test_references_to_what_is_broken_are_not_called_unknown() -> None:
    raw = {
        "version": 1,
        "pools": [{"id": "p", "capacity": "big"}, {"id": "q"}],
        "buffers": [{"id": "a", "size": -1}, {"id": "b", "size": 1, "pools": ["p"]}],
        "conflicts": [["a", "b"], ["a", "z"]],
        "objective": ["peak:p"],
    }
    assert told(lambda: parse_problem(raw)) == [
        ("not_an_integer", "$.pools[0].capacity"),
        ("too_small", "$.buffers[0].size"),
        ("unknown_buffer", "$.conflicts[1]"),
    ]


TIED: dict[str, Any] = {
    "buffers": [
        {"id": "a", "size": 4, "lifetime": [0, 1], "pools": ["q"]},
        {"id": "b", "size": 4, "lifetime": [0, 1]},
    ],
    "relative": [{"buffer": "a", "base": "b", "offset": 0}],
}
PINNED: dict[str, Any] = {
    "buffers": [
        {"id": name, "size": 4, "lifetime": [0, 1], "pool": "p", "offset": 4, "alignment": 8} for name in "ab"
    ],
    "pools": [{"id": "p", "base": 4}],
}


@pytest.mark.parametrize(
    ("fields", "codes"),
    [
        # The pool that both may go to, or that has the base, is what could not be read.
        (TIED | {"pools": [{"id": "p"}, {"id": "q", "base": -1}]}, {"too_small"}),
        (TIED | {"pools": "q"}, {"not_a_list"}),
        (PINNED | {"buffers": PINNED["buffers"][:1], "pools": 4}, {"not_a_list"}),
        # The pair that lets the pins share bytes is.
        (PINNED | {"exclusive": [["a", "b", "c"]]}, {"wrong_length"}),
        (PINNED | {"in_place": [{"input": "a"}]}, {"missing_field"}),
        (PINNED | {"relative": 5}, {"not_a_list"}),
        (PINNED | {"exclusives": [["a", "b"]]}, {"unknown_field"}),
        # What no other element could mend is told as ever.
        (PINNED | {"conflicts": 5}, {"not_a_list", "pins_clash"}),
    ],
)
def test_nothing_is_told_that_what_could_not_be_read_may_have_mended(
    fields: dict[str, Any], codes: set[str]
) -> None:
    assert {issue.code for issue in _issues(parse_problem, {"version": 1, **fields})} == codes


def test_when_a_lost_name_cannot_be_read_no_name_is_called_unknown() -> None:
    raw = {"version": 1, "buffers": [{"size": 1}, {"id": "b", "size": 1}], "conflicts": [["a", "b"]]}
    assert told(lambda: parse_problem(raw)) == [("missing_field", "$.buffers[0].id")]


def test_every_error_of_a_long_inner_list_is_told() -> None:
    lives: list[Any] = [[2 * i, 2 * i + 1] for i in range(3000)]
    assert len(parse_problem(_with(lifetime=None, lifetimes=lives)).buffers[0].lifetimes or ()) == 3000
    lives[1500], lives[2999] = 3, [1]
    assert told(lambda: parse_problem(_with(lifetime=None, lifetimes=lives))) == [
        ("not_a_list", "$.buffers[0].lifetimes[1500]"),
        ("wrong_length", "$.buffers[0].lifetimes[2999]"),
    ]


@pytest.mark.parametrize(
    "raw",
    [
        {"version": 1, "buffers": [3] * 100_000},
        _with(lifetimes=[3] * 100_000),
        _with(**{f"x{i}": 0 for i in range(100_000)}),
        {**_with(), **{f"x{i}": 0 for i in range(100_000)}},
        {"version": 1, "buffers": [], "conflicts": [["a", "b"]] * 100_000},
        {
            "version": 1,
            "buffers": [],
            "pools": [{"id": "p", "reserved": [{f"x{i}": 0 for i in range(9_999)}]}],
        },
    ],
    ids=["elements", "inner list", "fields", "root fields", "references", "inner fields"],
)
def test_the_number_of_issues_is_bounded(raw: object) -> None:
    issues = refusal(lambda: parse_problem(raw))
    assert len(issues) == MOST_REPORTED + 1
    assert issues[-1].code == "more_issues"


_PLAN = {"status": "feasible"}
_TERM = {"term": "peak", "value": 1, "bound": 1, "gap": 0}


@pytest.mark.parametrize(
    ("parse", "raw", "code", "place"),
    [
        (parse_plan, {}, "missing_field", "$.status"),
        (parse_plan, {"status": "perfect"}, "unknown_choice", "$.status"),
        (parse_plan, {**_PLAN, "seconds": "1"}, "not_a_number", "$.seconds"),
        (parse_plan, {**_PLAN, "seconds": float("nan")}, "not_finite", "$.seconds"),
        (parse_plan, {**_PLAN, "placements": [{}, 1]}, "not_an_object", "$.placements[1]"),
        (
            parse_plan,
            {**_PLAN, "objective": [{**_TERM, "certificate": {"kind": "oath"}}]},
            "unknown_choice",
            "$.objective[0].certificate.kind",
        ),
        (
            parse_plan,
            {**_PLAN, "objective": [{**_TERM, "certificate": {}}]},
            "missing_field",
            "$.objective[0].certificate.kind",
        ),
        (
            parse_plan,
            {**_PLAN, "objective": [{**_TERM, "certificate": {"kind": "model", "solver": 1}}]},
            "not_a_string",
            "$.objective[0].certificate.solver",
        ),
        (
            parse_plan,
            {**_PLAN, "objective": [{**_TERM, "certificate": {"kind": "model", "solver": "x", "y": 1}}]},
            "unknown_field",
            "$.objective[0].certificate.y",
        ),
        (parse_options, [], "wrong_root", "$"),
        (parse_options, {"time_limit": -1}, "too_small", "$.time_limit"),
        (parse_options, {"time_limit": float("inf")}, "not_finite", "$.time_limit"),
        (parse_options, {"gap": 1.5}, "too_large", "$.gap"),
        (parse_options, {"deterministic": 1}, "not_a_boolean", "$.deterministic"),
        (parse_options, {"workers": 0}, "too_small", "$.workers"),
        (parse_options, {"hint": {**_PLAN, "placements": [3]}}, "not_an_object", "$.hint.placements[0]"),
    ],
)
def test_plans_and_options_are_told_the_same_way(
    parse: Callable[[object], object], raw: object, code: str, place: str
) -> None:
    assert (code, place) in told(lambda: parse(raw))


def test_no_message_of_pydantic_gets_through() -> None:
    strange: list[Any] = [
        None,
        True,
        1,
        1.5,
        -1,
        "",
        "x",
        "\ud800",
        [],
        [1],
        [[]],
        {},
        {"kind": 1},
        {"a": {}},
        1 << 70,
    ]
    issues: list[Issue] = []
    for value in strange:
        for field in (
            "id",
            "size",
            "lifetime",
            "lifetimes",
            "alignment",
            "pools",
            "accesses",
            "pool",
            "offset",
        ):
            issues.extend(_issues(parse_problem, _with(**{field: value})))
        for field in Problem.__dataclass_fields__:
            issues.extend(_issues(parse_problem, {**_with(), field: value}))
        issues.extend(_issues(parse_plan, {**_PLAN, "objective": [value, {**_TERM, "certificate": value}]}))
        issues.extend(_issues(parse_options, dict.fromkeys(("time_limit", "solver", "seed", "hint"), value)))
    assert issues
    assert {issue.code for issue in issues}.isdisjoint({"invalid"})
    assert all("valid " not in issue.message for issue in issues)
    assert all(str(issue).isprintable() for issue in issues)


def _issues(parse: Callable[[object], object], raw: object) -> tuple[Issue, ...]:
    from memstow.planner.model.errors import InputError

    try:
        parse(raw)
    except InputError as error:
        return error.issues
    return ()
