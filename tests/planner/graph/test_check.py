"""What is wrong with a graph: every issue at once, at its place, with a way out."""

from typing import Any

import pytest

from memstow.planner.formats import read_document, write_graph
from memstow.planner.graph.graph_document import parse_graph
from memstow.planner.model.errors import InputError
from tests.graphs import random_graph

TENSORS = [{"id": name, "size": 4} for name in "xaby"]
OPERATORS = [
    {"id": "A", "inputs": ["x"], "outputs": ["a"]},
    {"id": "B", "inputs": ["a"], "outputs": ["b"]},
    {"id": "C", "inputs": ["b"], "outputs": ["y"]},
]


def document(**changed: object) -> dict[str, Any]:
    """A chain of three operators, with these fields instead of its own."""
    plain = {"version": 1, "tensors": TENSORS, "operators": OPERATORS, "inputs": ["x"], "outputs": ["y"]}
    return {**plain, **changed}


def operators(**changed: dict[str, object]) -> list[dict[str, object]]:
    return [{**operator, **changed.get(str(operator["id"]), {})} for operator in OPERATORS]


def tensors(**changed: dict[str, object]) -> list[dict[str, object]]:
    return [{**tensor, **changed.get(str(tensor["id"]), {})} for tensor in TENSORS]


def issues(raw: object) -> set[tuple[str, str]]:
    with pytest.raises(InputError) as caught:
        parse_graph(raw)
    assert all(len(issue.message) > 20 for issue in caught.value.issues)
    return {(issue.path, issue.code) for issue in caught.value.issues}


def test_a_sound_graph_has_none() -> None:
    assert parse_graph(document()).operators[2].id == "C"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (
            {"inputs": ["z"]},
            {("$.inputs[0]", "unknown_tensor"), ("$.tensors[0]", "not_made")},
        ),
        (
            {"operators": operators(C={"outputs": ["y", "b"]})},
            {("$.operators[2].outputs[1]", "two_producers")},
        ),
        ({"inputs": ["x", "a"]}, {("$.operators[0].outputs[0]", "two_producers")}),
        ({"operators": operators(A={"inputs": ["b"]})}, {("$.operators[0]", "cycle")}),
        ({"before": [["C", "A"]]}, {("$.before[0]", "before_cycle")}),
        ({"before": [["A", "A"]]}, {("$.before[0]", "before_cycle")}),
        ({"before": [["Q", "A"]]}, {("$.before[0][0]", "unknown_operator")}),
        (
            {"outputs": ["y", "w"], "tensors": [*TENSORS, {"id": "w", "size": 1}]},
            {("$.outputs[1]", "output_not_made")},
        ),
        (
            {"operators": OPERATORS[::-1]},
            {("$.operators[0].inputs[0]", "not_in_order"), ("$.operators[1].inputs[0]", "not_in_order")},
        ),
        (
            {"operators": operators(A={"in_place": [["b", "a"]]}, B={"in_place": [["a", "y"]]})},
            {
                ("$.operators[0].in_place[0]", "in_place_of_another"),
                ("$.operators[1].in_place[0]", "in_place_of_another"),
            },
        ),
        (
            {
                "operators": operators(A={"in_place": [["x", "a"]]}),
                "tensors": tensors(x={"kind": "constant"}),
                "inputs": [],
            },
            {("$.operators[0].in_place[0]", "in_place_kind")},
        ),
        (
            {"operators": operators(A={"temporaries": [{"id": "y", "size": 1, "phases": [2, 2]}]})},
            {
                ("$.operators[0].temporaries[0].id", "duplicate_id"),
                ("$.operators[0].temporaries[0].phases", "empty_phases"),
            },
        ),
        (
            {"tensors": tensors(a={"id": "b"})},
            {
                ("$.tensors[2].id", "duplicate_id"),
                ("$.tensors[1]", "not_made"),
                ("$.operators[0].outputs[0]", "unknown_tensor"),
                ("$.operators[1].inputs[0]", "unknown_tensor"),
            },
        ),
        (
            {"tensors": tensors(a={"shape": [3], "type": "int16"})},
            {("$.tensors[1].size", "size_contradicts_shape")},
        ),
        ({"tensors": tensors(a={"size": None})}, {("$.tensors[1]", "no_size")}),
        ({"views": [{"tensor": "y", "of": "x"}]}, {("$.views[0]", "view_crosses")}),
        ({"views": [{"tensor": "b", "of": "a", "offset": 1}]}, {("$.views[0]", "view_beyond")}),
        ({"views": [{"tensor": "b", "of": "b"}]}, {("$.views[0]", "view_of_itself")}),
        ({"views": [{"tensor": "b", "of": "a"}, {"tensor": "a", "of": "b"}]}, {("$.views[0]", "view_cycle")}),
        ({"views": [{"tensor": "b", "of": "a"}, {"tensor": "b", "of": "a"}]}, {("$.views[1]", "view_twice")}),
        (
            {"views": [{"tensor": "b", "of": "a"}], "operators": operators(B={"in_place": [["a", "b"]]})},
            {("$.operators[1].in_place[0]", "in_place_view")},
        ),
        (
            {"pools": [{"id": "p"}, {"id": "p"}], "objective": ["peek"]},
            {("$.pools[1].id", "duplicate_pool"), ("$.objective[0]", "unknown_term")},
        ),
        ({"tensors": tensors(a={"pools": ["nowhere"]})}, {("$.tensors[1].pools[0]", "unknown_pool")}),
        ({"order": "random"}, {("$.order", "unknown_choice")}),
        (
            {"operators": [{"inputs": []}], "tensors": [{"id": "x", "size": -1}]},
            {
                ("$.operators[0].id", "missing_field"),
                ("$.tensors[0].size", "too_small"),
                ("$.outputs[0]", "unknown_tensor"),
            },
        ),
    ],
)
def test_each_issue_is_told_at_its_place(changed: dict[str, object], expected: set[tuple[str, str]]) -> None:
    assert issues(document(**changed)) == expected


def test_unknown_names_and_cycles_are_told_beside_fields_that_cannot_be_read() -> None:
    broken = {"order": "random", "inputs": ["x", "nope"], "before": [["D", "A"], ["Q", "A"]]}
    raw = document(
        **broken,
        operators=[*operators(A={"inputs": ["b", "lost"]}), {"id": "D", "cost": -1}],
        tensors=[*TENSORS, {"id": "lost", "size": -1}],
    )
    # D and `lost` are in the document, so that they are not read is no reason to call them unknown.
    assert issues(raw) == {
        ("$.order", "unknown_choice"),
        ("$.operators[3].cost", "too_small"),
        ("$.tensors[4].size", "too_small"),
        ("$.inputs[1]", "unknown_tensor"),
        ("$.before[1][0]", "unknown_operator"),
        ("$.operators[0]", "cycle"),
    }


def test_alternatives_by_themselves_are_checked_whatever_else_is_wrong() -> None:
    wrong = {"id": "other", "replaces": ["Q"], "operators": [{"id": "N", "inputs": ["gone"]}]}
    assert issues(document(inputs=["x", "nope"], alternatives=[wrong])) == {
        ("$.inputs[1]", "unknown_tensor"),
        ("$.alternatives[0].replaces[0]", "unknown_operator"),
        ("$.alternatives[0].operators[0].inputs[0]", "unknown_tensor"),
    }


def test_a_cycle_is_named() -> None:
    with pytest.raises(InputError, match="'A' -> 'B' -> 'A'"):
        parse_graph(document(operators=operators(A={"inputs": ["b"]}), order="free"))


def test_parts_that_overlap_cross() -> None:
    raw = {
        "version": 1,
        "tensors": [
            {"id": "x", "size": 1},
            *({"id": name, "size": 4} for name in "ab"),
            {"id": "y", "size": 8},
        ],
        "operators": [
            {"id": "A", "inputs": ["x"], "outputs": ["a"]},
            {"id": "B", "inputs": ["x"], "outputs": ["b"]},
            {"id": "C", "inputs": ["a", "b"], "outputs": ["y"]},
        ],
        "inputs": ["x"],
        "views": [{"tensor": "a", "of": "y"}, {"tensor": "b", "of": "y", "offset": 3}],
    }
    assert issues(raw) == {("$.views[1].offset", "view_crosses")}


@pytest.mark.parametrize(
    ("window", "sound"),
    [
        ({"kernel": [3, 3]}, True),
        ({"kernel": [3, 3], "padding": [1, 1, 1, 1]}, False),
        ({"kernel": [2, 2], "dilation": [2, 2]}, True),
        ({"kernel": [1, 1], "stride": [2, 2], "padding": [0, 0, 6, 6]}, True),
        ({"kernel": [9, 9]}, False),
    ],
)
def test_a_window_agrees_with_the_shapes_or_is_an_issue(window: dict[str, object], sound: bool) -> None:
    shapes = tensors(
        x={"shape": [8, 8, 1], "type": "int8", "size": 64},
        a={"shape": [1, 6, 6, 2], "type": "int8", "size": 72},
    )
    if "stride" in window:
        shapes[1] = {"id": "a", "shape": [7, 7, 1], "type": "int8"}
    raw = document(tensors=shapes, operators=operators(A={"window": window}))
    if sound:
        parse_graph(raw)
    else:
        assert issues(raw) == {("$.operators[0].window", "window_contradicts_shape")}


@pytest.mark.parametrize(
    ("alternative", "expected"),
    [
        ({"replaces": ["A", "B"]}, {("", "not_covered")}),
        ({"replaces": ["Z"]}, {(".replaces[0]", "unknown_operator")}),
        ({"replaces": []}, {(".replaces", "empty")}),
        (
            {"replaces": ["A"], "operators": [{"id": "B", "inputs": ["x"], "outputs": ["a"]}]},
            {(".operators[0].id", "duplicate_id")},
        ),
        ({"replaces": ["A"], "operators": [{"id": "N", "inputs": ["y"], "outputs": ["a"]}]}, {("", "cycle")}),
        (
            {"replaces": ["A"], "operators": [{"id": "N", "inputs": ["x"], "outputs": ["a", "b"]}]},
            {(".operators[0].outputs[1]", "two_producers")},
        ),
        (
            {"replaces": ["A"], "operators": [{"id": "N", "inputs": ["q"], "outputs": ["a"]}]},
            {(".operators[0].inputs[0]", "unknown_tensor")},
        ),
        (
            {
                "replaces": ["A"],
                "operators": [{"id": "N", "inputs": ["t"], "outputs": ["a"]}],
                "tensors": [{"id": "t", "size": 1}],
            },
            {("", "not_made")},
        ),
        (
            {
                "replaces": ["A"],
                "operators": [{"id": "N", "inputs": ["x"], "outputs": ["a"]}],
                "tensors": [{"id": "b", "size": 1}],
            },
            {(".tensors[0].id", "duplicate_id")},
        ),
        ({"replaces": ["A", "B"], "operators": [{"id": "A", "inputs": ["x"], "outputs": ["b"]}]}, set()),
        (
            {
                "replaces": ["A"],
                "operators": [{"id": "N", "inputs": ["x"], "outputs": ["a"], "in_place": [["a", "x"]]}],
            },
            {(".operators[0].in_place[0]", "in_place_of_another")},
        ),
        (
            {
                "replaces": ["A"],
                "operators": [{"id": "N", "inputs": ["x"], "outputs": ["a"], "in_place": [["x", "a"]]}],
            },
            set(),
        ),
    ],
)
def test_alternatives_cover_what_they_replace(
    alternative: dict[str, object], expected: set[tuple[str, str]]
) -> None:
    raw = document(alternatives=[{"id": "other", **alternative}])
    if expected:
        assert issues(raw) == {(f"$.alternatives[0]{path}", code) for path, code in expected}
    else:
        assert parse_graph(raw).alternatives[0].id == "other"


def test_random_graphs_are_sound_and_read_back() -> None:
    for seed in range(100):
        graph = parse_graph(random_graph(seed))
        assert read_document(write_graph(graph)) == graph
