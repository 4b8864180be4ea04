"""The issues of a symbolic problem: each with its place, all at once, and none where there is none."""

from typing import Any

import pytest

from memstow.planner.check import symbolic_issues
from memstow.planner.formats.native import parse_symbolic
from memstow.planner.model.errors import InputError

S = {"id": "s", "min": 1, "max": 64}


def issues_of(**changes: Any) -> list[tuple[str, str, str]]:
    """The issues of a small problem with these fields."""
    document = {"symbols": [S], "buffers": [{"id": "a", "size": "4*s", "lifetime": [0, 1]}], **changes}
    try:
        parse_symbolic(document)
    except InputError as error:
        return [(issue.code, issue.path, issue.message) for issue in error.issues]
    return []


def _buffer(size: object, **more: object) -> dict[str, object]:
    return {"id": "a", "size": size, "lifetime": [0, 1], **more}


@pytest.mark.parametrize(
    ("changes", "code", "path", "says"),
    [
        ({"symbols": []}, "empty", "$.symbols", "at least one"),
        ({"symbols": [S, S]}, "duplicate_symbol", "$.symbols[1].id", "symbols[0]"),
        ({"symbols": [S, S | {"id": "min"}]}, "reserved_symbol", "$.symbols[1].id", "function"),
        ({"symbols": [S, S | {"id": "1b"}]}, "not_a_name", "$.symbols[1].id", "no digit first"),
        ({"symbols": [S | {"min": 65}]}, "reversed_range", "$.symbols[0].min", "min <= max"),
        ({"symbols": [S | {"step": 2}]}, "max_off_step", "$.symbols[0].max", "use 63 or 65"),
        ({"symbols": [S | {"step": 0}]}, "too_small", "$.symbols[0].step", "at least 1"),
        ({"symbols": [S | {"values": [0]}]}, "value_out_of_range", "$.symbols[0].values[0]", "1 and 64"),
        ({"symbols": [S | {"values": [8, 8]}]}, "repeated_value", "$.symbols[0].values[1]", "once"),
        (
            {"symbols": [{"id": "s", "min": 0, "max": 9, "step": 3, "values": [4]}]},
            "value_out_of_range",
            "$.symbols[0].values[0]",
            "use 3 or 6",
        ),
        ({"symbols": [S, S | {"id": "b", "max": 1 << 20}]}, "too_many_points", "$.symbols", "`points`"),
        ({"points": [{"at": {}}]}, "missing_symbol", "$.points[0].at", "'s'"),
        ({"points": [{"at": {"s": 1, "t": 1}}]}, "unknown_symbol", "$.points[0].at.t", "there are: s"),
        ({"points": [{"at": {"s": 65}}]}, "value_out_of_range", "$.points[0].at.s", "from 1 to 64"),
        ({"points": [{"at": {"s": 1}}] * 2}, "repeated_point", "$.points[1]", "points[0]"),
        ({"points": [{"at": {"s": 1}, "weight": 0}]}, "too_small", "$.points[0].weight", "at least 1"),
        ({"buffers": [_buffer("4*t")]}, "unknown_symbol", "$.buffers[0].size", "character 3"),
        ({"buffers": [_buffer("4*")]}, "formula_syntax", "$.buffers[0].size", "character 3"),
        ({"buffers": [_buffer("s" * 2001)]}, "too_long", "$.buffers[0].size", "2,000"),
        ({"buffers": [_buffer("-" * 70 + "s")]}, "formula_too_deep", "$.buffers[0].size", "64"),
        ({"buffers": [_buffer("")]}, "empty", "$.buffers[0].size", "one character"),
        ({"buffers": [_buffer(1.5)]}, "not_a_size", "$.buffers[0].size", "a number of bytes or a formula"),
        ({"buffers": [_buffer(-1)]}, "too_small", "$.buffers[0].size", "at least 0"),
        ({"buffers": [_buffer("3 - s")]}, "formula_negative", "$.buffers[0].size", "at s=64 the size is -61"),
        ({"buffers": [_buffer("8 // (s - 1)")]}, "formula_divisor", "$.buffers[0].size", "at s=1 a divisor"),
        ({"buffers": [_buffer("s*" * 20 + "s")]}, "formula_overflow", "$.buffers[0].size", "at s=64"),
        ({"buffers": [_buffer("3 - 4")]}, "formula_negative", "$.buffers[0].size", "the size is -1"),
        ({"objective": ["moves"]}, "unknown_term", "$.objective[0]", "peak:POOL"),
        ({"objective": []}, "empty", "$.objective", "at least one"),
        ({"objective": ["peak", "max_peak"]}, "too_long", "$.objective", "at most 1 elements"),
        ({"symbols": [S | {"id": f"s{i}"} for i in range(17)]}, "too_long", "$.symbols", "at most 16"),
        ({"points": [{"at": {"s": 1}}] * 65}, "too_long", "$.points", "at most 64 elements, given 65"),
        ({"objective": ["peak:fast"]}, "unknown_pool", "$.objective[0]", "'memory'"),
        ({"aim": "best"}, "unknown_choice", "$.aim", "worst"),
        ({"version": 2}, "unsupported_version", "$.version", "version 1"),
        ({"reuse_costs": []}, "unknown_field", "$.reuse_costs", "no field"),
        ({"buffers": [_buffer("s", accesses=4)]}, "unknown_field", "$.buffers[0].accesses", "no field"),
        (
            {"buffers": [_buffer("s", lifetime=[2, 1])]},
            "reversed_lifetime",
            "$.buffers[0].lifetime",
            "begins",
        ),
        ({"buffers": [_buffer("s"), _buffer(1)]}, "duplicate_buffer", "$.buffers[1].id", "'a'"),
        ({"conflicts": [["a", "b"]]}, "unknown_buffer", "$.conflicts[0]", "'b'"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    changes: dict[str, Any], code: str, path: str, says: str
) -> None:
    issues = issues_of(**changes)
    assert [(one, where) for one, where, _ in issues] == [(code, path)]
    assert says in issues[0][2]


def test_pins_and_distances_hold_at_the_largest_sizes() -> None:
    pools = [{"id": "memory", "capacity": 256}]
    pinned = _buffer("4*s", pool="memory", offset=4)
    ((code, path, message),) = issues_of(pools=pools, buffers=[pinned])
    assert (code, path) == ("pin_beyond_capacity", "$.buffers[0].offset")
    assert "each size counts at its largest" in message
    assert issues_of(pools=pools, buffers=[_buffer("4*s", pool="memory", offset=0)]) == []
    buffers = [_buffer("4*s"), {"id": "b", "size": 8, "lifetime": [0, 1]}]
    apart = [{"buffer": "b", "base": "a", "offset": 252}]
    listed = [["a", "b"]]
    assert [entry[0] for entry in issues_of(buffers=buffers, relative=apart, conflicts=listed)] == [
        "conflict_in_group"
    ]
    apart[0]["offset"] = 256
    assert issues_of(buffers=buffers, relative=apart, conflicts=listed) == []


def test_all_is_told_at_once_and_nothing_that_follows_from_what_is_missing() -> None:
    symbols = [S, {"id": "z", "min": 0, "max": "many"}]
    buffers = [_buffer("z*s"), {"id": "b", "size": "q"}, {"id": "c", "size": "s - 2"}, {"id": "d"}]
    points = [{"at": {"s": 1, "z": 2}}, {"at": {"s": 0}}]
    issues = issues_of(symbols=symbols, buffers=buffers, points=points, conflicts=[["d", "a"]])
    assert [(code, path) for code, path, _ in issues] == [
        ("not_an_integer", "$.symbols[1].max"),
        ("unknown_symbol", "$.buffers[1].size"),
        ("formula_negative", "$.buffers[2].size"),
        ("missing_field", "$.buffers[3].size"),
        ("value_out_of_range", "$.points[1].at.s"),
    ]


def test_what_is_too_much_is_told_before_formulas_are_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a formula was examined")

    monkeypatch.setattr(symbolic_issues, "examine", refuse)
    long = [{"id": f"b{number}", "size": f"s + {number} + " + "0 + " * 450 + "1"} for number in range(600)]
    assert [entry[:2] for entry in issues_of(buffers=long)] == [("formulas_too_long", "$.buffers")]
    symbols = [{"id": name, "min": 1, "max": 64} for name in ("s", "t", "u")]
    buffers = [_buffer("s*(t - 1)"), {"id": "b", "size": "v"}]
    assert [entry[0] for entry in issues_of(symbols=symbols, buffers=buffers)] == [
        "too_many_points",
        "unknown_symbol",
    ]
    tensors = [{"id": "a", "shape": ["s", "t", "u"], "type": "int8"}]
    operators = [{"id": "o", "inputs": [], "outputs": ["a"]}]
    with pytest.raises(InputError) as caught:
        parse_symbolic({"symbols": symbols, "tensors": tensors, "operators": operators, "outputs": ["a"]})
    assert [issue.code for issue in caught.value.issues] == ["too_many_points"]
