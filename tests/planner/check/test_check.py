"""Each way in which a well-formed problem can contradict itself has its own code and place."""

import re
from dataclasses import replace
from typing import Any

import pytest
from pydantic import TypeAdapter

from memstow.planner import check
from memstow.planner.check import find_issues, require_valid
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.problem import LIMIT, Problem
from memstow.planner.solve.engine import plan
from memstow.planner.verify import verify

READER = TypeAdapter(Problem)


def problem(**fields: Any) -> Problem:
    """A problem with two plain buffers, some fields replaced."""
    base: dict[str, Any] = {
        "version": 1,
        "pools": [{"id": "p", "capacity": 256}, {"id": "q", "capacity": 64}],
        "buffers": [
            {"id": "a", "size": 16, "lifetime": [0, 2]},
            {"id": "b", "size": 16, "lifetime": [1, 3]},
        ],
    }
    return READER.validate_python(base | fields)


def buffers(**fields: Any) -> dict[str, Any]:
    """The first of the two buffers with some fields replaced."""
    return {
        "buffers": [
            {"id": "a", "size": 16, "lifetime": [0, 2]} | fields,
            {"id": "b", "size": 16, "lifetime": [1, 3]},
        ]
    }


TIED = [{"buffer": "a", "base": "b", "offset": 8}]

DEFECTS: list[tuple[str, str, dict[str, Any]]] = [
    ("duplicate_pool", "$.pools[1].id", {"pools": [{"id": "p"}, {"id": "p"}]}),
    (
        "reserved_beyond_capacity",
        "$.pools[0].reserved[0]",
        {"pools": [{"id": "p", "capacity": 64, "reserved": [{"offset": 60, "size": 8}]}]},
    ),
    ("duplicate_buffer", "$.buffers[1].id", buffers(id="b")),
    ("lifetime_twice", "$.buffers[0].lifetimes", buffers(lifetimes=[[4, 5]])),
    ("no_lifetimes", "$.buffers[0].lifetimes", buffers(lifetime=None, lifetimes=[])),
    ("empty_lifetime", "$.buffers[0].lifetime", buffers(lifetime=[2, 2])),
    ("time_out_of_range", "$.buffers[0].lifetime", buffers(lifetime=[0, 10**4000])),
    (
        "time_out_of_range",
        "$.buffers[0].lifetimes[1]",
        buffers(lifetime=None, lifetimes=[[0, 1], [-(10**4299), 0]]),
    ),
    ("reversed_lifetime", "$.buffers[0].lifetime", buffers(lifetime=[3, 2])),
    ("reversed_lifetime", "$.buffers[0].lifetimes[1]", buffers(lifetime=None, lifetimes=[[0, 1], [5, 4]])),
    ("no_allowed_pool", "$.buffers[0].pools", buffers(pools=[])),
    ("unknown_pool", "$.buffers[0].pools[1]", buffers(pools=["p", "x"])),
    ("repeated_pool", "$.buffers[0].pools", buffers(pools=["p", "p"])),
    ("unknown_pool", "$.buffers[0].pool", buffers(pool="x")),
    ("pin_not_allowed", "$.buffers[0].pool", buffers(pool="q", pools=["p"])),
    ("offset_without_pool", "$.buffers[0].offset", buffers(offset=0)),
    ("pin_misaligned", "$.buffers[0].offset", buffers(pool="p", offset=8, alignment=16)),
    ("pin_beyond_capacity", "$.buffers[0].offset", buffers(pool="q", offset=56)),
    (
        "pin_on_reserved",
        "$.buffers[0].offset",
        buffers(pool="p", offset=0)
        | {"pools": [{"id": "p", "reserved": [{"offset": 8, "size": 4}]}, {"id": "q"}]},
    ),
    (
        "pins_clash",
        "$.buffers[1].offset",
        {
            "buffers": [
                {"id": "a", "size": 16, "lifetime": [0, 2], "pool": "p", "offset": 0},
                {"id": "b", "size": 16, "lifetime": [1, 3], "pool": "p", "offset": 8},
            ]
        },
    ),
    ("unknown_buffer", "$.conflicts[0]", {"conflicts": [["a", "x"]]}),
    ("unknown_buffer", "$.exclusive[0]", {"exclusive": [["x", "a"]]}),
    ("unknown_buffer", "$.relative[0]", {"relative": [{"buffer": "a", "base": "x", "offset": 0}]}),
    ("unknown_buffer", "$.in_place[0]", {"in_place": [{"input": "a", "output": "x"}]}),
    ("unknown_buffer", "$.reuse_costs[0]", {"reuse_costs": [{"buffers": ["a", "x"], "cost": 1}]}),
    ("pair_of_one", "$.conflicts[0]", {"conflicts": [["a", "a"]]}),
    ("pair_of_one", "$.exclusive[0]", {"exclusive": [["a", "a"]]}),
    ("pair_of_one", "$.relative[0]", {"relative": [{"buffer": "a", "base": "a", "offset": 0}]}),
    ("pair_of_one", "$.in_place[0]", {"in_place": [{"input": "a", "output": "a"}]}),
    ("pair_of_one", "$.reuse_costs[0]", {"reuse_costs": [{"buffers": ["a", "a"], "cost": 1}]}),
    (
        "two_distances",
        "$.relative[1]",
        {"relative": [*TIED, {"buffer": "a", "base": "b", "offset": 12}]},
    ),
    (
        "relative_cycle",
        "$.relative[1]",
        {"relative": [*TIED, {"buffer": "b", "base": "a", "offset": -8}]},
    ),
    (
        "group_pools",
        "$.buffers[0]",
        {
            "relative": TIED,
            "buffers": [
                {"id": "a", "size": 16, "lifetime": [0, 2], "pools": ["p"]},
                {"id": "b", "size": 16, "lifetime": [1, 3], "pools": ["q"]},
            ],
        },
    ),
    (
        "group_alignment",
        "$.buffers[0]",
        {
            "relative": TIED,
            "buffers": [
                {"id": "a", "size": 16, "lifetime": [0, 2], "alignment": 16},
                {"id": "b", "size": 16, "lifetime": [1, 3], "alignment": 16},
            ],
        },
    ),
    (
        "group_pins_differ",
        "$.buffers[0]",
        {
            "relative": TIED,
            "buffers": [
                {"id": "a", "size": 4, "pool": "p", "offset": 40},
                {"id": "b", "size": 4, "pool": "p", "offset": 0},
            ],
        },
    ),
    (
        "group_pin_below_zero",
        "$.buffers[0]",
        {"relative": TIED, **buffers(pool="p", offset=0)},
    ),
    (
        "group_too_large",
        "$.buffers[0]",
        {"relative": [{"buffer": "a", "base": "b", "offset": LIMIT}]},
    ),
    ("conflict_in_group", "$.conflicts[0]", {"relative": TIED, "conflicts": [["a", "b"]]}),
    ("unknown_term", "$.objective[0]", {"objective": ["speed"]}),
    ("unknown_pool", "$.objective[0]", {"objective": ["peak:x"]}),
    ("repeated_term", "$.objective[1]", {"objective": ["peak", "peak"]}),
    ("cost_too_large", "$.pools", buffers(accesses=LIMIT) | {"pools": [{"id": "p", "cost": 2}]}),
    (
        "cost_too_large",
        "$.reuse_costs",
        {"reuse_costs": [{"buffers": ["a", "b"], "cost": LIMIT}, {"buffers": ["a", "b"], "cost": 1}]},
    ),
]


@pytest.mark.parametrize(("code", "path", "fields"), DEFECTS, ids=[f"{c} {p}" for c, p, _ in DEFECTS])
def test_each_defect_has_its_code_and_place(code: str, path: str, fields: dict[str, Any]) -> None:
    assert (code, path) in [(issue.code, issue.path) for issue in find_issues(problem(**fields))]


def test_a_conflict_in_a_group_is_none_where_the_two_may_start_together() -> None:
    pair = {"conflicts": [["a", "b"]], "in_place": [{"input": "b", "output": "a"}]}
    together = [{"buffer": "a", "base": "b", "offset": 0}]
    assert find_issues(problem(relative=together, **pair)) == []
    apart = [{"buffer": "a", "base": "b", "offset": 1}]
    assert "conflict_in_group" in [issue.code for issue in find_issues(problem(relative=apart, **pair))]


def test_a_sound_problem_has_no_issue() -> None:
    assert find_issues(problem()) == []


def test_all_issues_are_found_at_once() -> None:
    broken = problem(
        buffers=[
            {"id": "a", "size": 16, "lifetime": [2, 2], "pools": ["x"]},
            {"id": "a", "size": 16, "lifetime": [3, 1], "pool": "y"},
        ],
        conflicts=[["a", "z"]],
        objective=["nothing"],
    )
    codes = {issue.code for issue in find_issues(broken)}
    assert codes == {
        "empty_lifetime",
        "unknown_pool",
        "duplicate_buffer",
        "reversed_lifetime",
        "unknown_buffer",
        "unknown_term",
    }
    with pytest.raises(InputError) as raised:
        require_valid(broken)
    assert len(raised.value.issues) == len(find_issues(broken))


def test_a_distance_told_twice_is_no_contradiction() -> None:
    assert find_issues(problem(relative=TIED * 2)) == []


def test_distances_over_two_ways_round_must_agree() -> None:
    three = [{"id": name, "size": 4} for name in "abcd"]
    ways = [
        {"buffer": "b", "base": "a", "offset": 4},
        {"buffer": "c", "base": "a", "offset": 8},
        {"buffer": "d", "base": "b", "offset": 8},
    ]
    assert (
        find_issues(problem(buffers=three, relative=[*ways, {"buffer": "d", "base": "c", "offset": 4}])) == []
    )
    issues = find_issues(problem(buffers=three, relative=[*ways, {"buffer": "d", "base": "c", "offset": 5}]))
    assert [issue.code for issue in issues] == ["two_distances"]


def test_pins_may_share_bytes_when_the_buffers_never_meet() -> None:
    apart = [
        {"id": "a", "size": 16, "lifetime": [0, 1], "pool": "p", "offset": 0},
        {"id": "b", "size": 16, "lifetime": [1, 2], "pool": "p", "offset": 8},
    ]
    assert find_issues(problem(buffers=apart)) == []


def test_pins_may_share_bytes_in_place() -> None:
    both = [
        {"id": "a", "size": 16, "lifetime": [0, 2], "pool": "p", "offset": 8},
        {"id": "b", "size": 16, "lifetime": [1, 3], "pool": "p", "offset": 8},
    ]
    shared = [{"input": "a", "output": "b"}]
    assert find_issues(problem(buffers=both, in_place=shared)) == []
    assert [i.code for i in find_issues(problem(buffers=both))] == ["pins_clash"]


def test_a_pin_is_told_of_each_reserved_range_it_is_on_and_of_no_other() -> None:
    ranges = [(0, 4), (2, 30), (8, 2), (12, 1), (20, 4), (40, 8)]
    reserved = [{"offset": offset, "size": size} for offset, size in ranges]
    for offset in range(45):
        issues = find_issues(
            problem(
                buffers=[{"id": "a", "size": 3, "pool": "p", "offset": offset}],
                pools=[{"id": "p", "reserved": reserved}],
            )
        )
        output = {issue.message.partition("range ")[2] for issue in issues}
        assert output == {
            f"[{begin}, {begin + size}) of pool 'p'"
            for begin, size in ranges
            if begin < offset + 3 and offset < begin + size
        }


def test_a_long_cycle_is_told_in_short() -> None:
    named = [{"id": f"b{i}", "size": 1} for i in range(1000)]
    ties = [{"buffer": f"b{i}", "base": f"b{(i + 1) % 1000}", "offset": 1} for i in range(1000)]
    (cycle, _) = find_issues(problem(buffers=named, relative=ties))
    assert "b0 -> b1 ->" in cycle.message
    assert "(1,000 entries) -> b0" in cycle.message
    assert len(cycle.message) < 300


def test_where_a_pin_may_be_is_told_as_aligned() -> None:
    pool = {"id": "p", "capacity": 64, "base": 3, "alignment": 16}
    (issue,) = find_issues(problem(pools=[pool], **buffers(pool="p", offset=61)))
    assert issue.message.endswith("pin it at 45 or below")
    (issue,) = find_issues(problem(pools=[pool], **buffers(pool="p", offset=13, size=52)))
    assert issue.message == "its 52 bytes do not fit in pool 'p' of 64"


def test_a_sound_problem_is_looked_through_once_and_a_changed_copy_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sound = problem()
    assert find_issues(sound) == []
    broken = replace(sound, objective=("peak:nowhere",))
    assert [issue.code for issue in find_issues(broken)] == ["unknown_pool"]
    assert [issue.code for issue in find_issues(broken)] == ["unknown_pool"], "it stays broken"
    monkeypatch.setattr(check, "_issues", lambda _problem: iter([Issue("looked", "$", "through again")]))
    assert find_issues(sound) == []


def test_what_has_no_bytes_asks_nothing_of_its_group() -> None:
    pools = [{"id": "p", "capacity": 64, "alignment": 8}, {"id": "q"}]
    named = [
        {"id": "a", "size": 16, "pool": "p", "offset": 8},
        {"id": "z", "size": 0, "pool": "q", "offset": 3, "alignment": 3},
    ]
    for distance in (-8, 3, 64):
        tied = [{"buffer": "z", "base": "a", "offset": distance}]
        assert find_issues(problem(buffers=named, pools=pools, relative=tied)) == []


def test_alignments_without_a_common_multiple_in_range_leave_the_offset_that_is_in_range() -> None:
    for base, offset in ((0, 0), (LIMIT, LIMIT // 2), (1, None), (LIMIT // 2, None)):
        pool = {"id": "p", "alignment": LIMIT // 2, "base": base}
        sample = problem(buffers=[{"id": "a", "size": 4, "alignment": 3}], pools=[pool])
        assert find_issues(sample) == []
        planned = plan(sample)
        assert verify(sample, planned) == []
        assert [place.offset for place in planned.placements] == ([] if offset is None else [offset])
        assert planned.explanation is None or "no address is above 2^62" in planned.explanation.message


LARGE = 1 << 40
BEYOND_ALL = {
    "pools": [
        {"id": "p", "capacity": 65536, "alignment": 4096, "base": 12288, "cost": LARGE,
         "reserved": [{"offset": 65000, "size": 7000}]},
        {"id": "q", "alignment": (1 << 61) + 1},
    ],
    "buffers": [
        {"id": "a", "size": 99999, "lifetime": [0, 2], "pool": "p", "offset": 12345},
        {"id": "b", "size": 12345, "lifetime": [0, 2], "pool": "p", "offset": 61440, "alignment": 1 << 20},
        {"id": "c", "size": LARGE, "lifetime": [0, 2], "offset": 123456, "accesses": 1 << 62},
        {"id": "d", "size": 5000, "lifetime": [123456, 12345]},
    ],
    "relative": [
        {"buffer": "c", "base": "d", "offset": 10000},
        {"buffer": "c", "base": "d", "offset": 20000},
    ],
    "reuse_costs": [{"buffers": ["a", "b"], "cost": 1 << 62}, {"buffers": ["a", "c"], "cost": 7}],
}  # fmt: skip


def test_every_number_is_told_in_groups_of_three_and_nothing_in_words_of_python() -> None:
    issues = find_issues(problem(**BEYOND_ALL))
    assert len({issue.code for issue in issues}) >= 9
    for issue in issues:
        # What stands in brackets is written as a range is in JSON.
        outside = re.sub(r"\[[^\]]*[\])]", "", issue.message)
        assert not re.search(r"\d{4}", outside), issue.message
        assert not re.search(r"\b(None|True|False|tuple|dict)\b", issue.message), issue.message


def test_a_buffer_of_no_bytes_conflicts_with_nothing_in_its_group() -> None:
    tied: dict[str, Any] = {
        "relative": [{"buffer": "b", "base": "a", "offset": 2}],
        "conflicts": [["a", "b"]],
    }
    assert find_issues(problem(**buffers(size=4), **tied)) != []
    none = [{"id": "a", "size": 4, "lifetime": [0, 2]}, {"id": "b", "size": 0, "lifetime": [1, 3]}]
    for first, second in (none, none[::-1]):
        assert find_issues(problem(buffers=[first, second], **tied)) == []


def test_a_group_may_begin_at_offset_0_and_not_a_byte_below() -> None:
    for offset, codes in ((1, []), (0, ["group_pin_below_zero"])):
        issues = find_issues(
            problem(
                **buffers(pool="p", offset=offset, pools=["p"]),
                relative=[{"buffer": "b", "base": "a", "offset": -1}],
            )
        )
        assert [issue.code for issue in issues] == codes


@pytest.mark.parametrize(
    ("offset", "in_place", "clash"),
    [
        (16, False, False),
        (15, False, True),
        (15, True, True),
        (0, False, True),
        (0, True, False),
    ],
)
def test_pins_clash_from_one_byte_on_unless_both_start_at_one_place_and_may(
    offset: int, in_place: bool, clash: bool
) -> None:
    pinned = [
        {"id": "a", "size": 16, "lifetime": [0, 2], "pool": "p", "offset": 0},
        {"id": "b", "size": 16, "lifetime": [1, 3], "pool": "p", "offset": offset},
    ]
    shared = [{"input": "a", "output": "b"}] if in_place else []
    issues = find_issues(problem(buffers=pinned, in_place=shared))
    assert [issue.code for issue in issues] == (["pins_clash"] if clash else [])


def test_costs_may_add_up_to_the_limit_and_not_beyond() -> None:
    for accesses, codes in ((1 << 61, []), ((1 << 61) + 1, ["cost_too_large"])):
        made = problem(
            pools=[{"id": "p", "cost": 1}],
            buffers=[
                {"id": "a", "size": 16, "accesses": 1 << 61},
                {"id": "b", "size": 16, "accesses": accesses},
            ],
        )
        assert [issue.code for issue in find_issues(made)] == codes
        pairs = [{"buffers": ["a", "b"], "cost": 1 << 61}, {"buffers": ["b", "a"], "cost": accesses}]
        assert [issue.code for issue in find_issues(problem(reuse_costs=pairs))] == codes


PINS = [{"id": name, "size": 4, "lifetime": [0, 2], "pool": "p", "offset": 0} for name in "ab"]


@pytest.mark.parametrize(
    ("fields", "codes"),
    [
        (
            {
                "pools": [{"id": "p"}, {"id": "q"}],
                "buffers": [
                    {"id": "a", "size": 4, "pools": ["oops"]},
                    {"id": "b", "size": 4, "pools": ["q"]},
                ],
                "relative": [{"buffer": "a", "base": "b", "offset": 0}],
            },
            {"unknown_pool"},
        ),
        ({"pools": [{"id": "p"}], "buffers": [PINS[0], PINS[1] | {"id": "a"}]}, {"duplicate_buffer"}),
        (
            {"pools": [{"id": "p", "capacity": 8}, {"id": "p", "capacity": 2}], "buffers": PINS[:1]},
            {"duplicate_pool"},
        ),
        (
            {"pools": [{"id": "p"}], "buffers": [PINS[0] | {"lifetime": [3, -1]}, PINS[1]]},
            {"reversed_lifetime"},
        ),
        (
            {"pools": [{"id": "p"}], "buffers": [PINS[0] | {"lifetimes": [[0, 1]]}, PINS[1]]},
            {"lifetime_twice"},
        ),
    ],
)
def test_nothing_is_told_that_the_first_mistake_alone_brings_about(
    fields: dict[str, Any], codes: set[str]
) -> None:
    assert {issue.code for issue in find_issues(problem(**fields))} == codes
