"""A structured document and the problem made from it agree on what fits and on what is best."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memstow.planner import formats
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import (
    BankConflict,
    Banks,
    Buffer,
    Pool,
    Problem,
    Relative,
    Reserved,
    ReuseCost,
)
from memstow.planner.solve.engine import plan
from tests.campaign import rounds
from tests.planner.formats.structured_brute import best, fits, random_document, value
from tests.planner.refusal import told
from tests.referee import judge


def _read(document: dict[str, Any]) -> Problem:
    return formats.read_problem(json.dumps(document).encode())


@pytest.mark.rounds
@settings(max_examples=rounds(150))
@example(221634)  # needs the highest offset
@given(st.integers(0, 10**9))
def test_the_best_plan_of_the_problem_is_the_best_of_the_document(seed: int) -> None:
    document = random_document(Random(seed))
    try:
        problem = _read(document)
    except InputError as error:
        codes = {issue.code for issue in error.issues}
        reserves = any(pool["reserved_ranges"] for pool in document["problem"]["pools"])
        # The document contradicts itself, or its objective cannot be honoured because of reserved ranges.
        assert best(document) is None or (codes == {"unsupported"} and reserves)
        return
    verdict = judge(problem)
    expected = best(document)
    if verdict.places is None:
        assert expected is None
        return
    placements = tuple(
        Placement(buffer=name, pool=pool, offset=offset) for name, (pool, offset) in verdict.places.items()
    )
    solution = json.loads(
        formats.write_plan(problem, Plan(status=Status.FEASIBLE, placements=placements), "structured")
    )
    places = {one["buffer"]: (one["pool"], one["offset"]) for one in solution["placements"]}
    assert fits(document, places)
    assert value(document, places) == expected


def test_numbers_and_names_come_back() -> None:
    document = random_document(Random(4))
    again = json.loads(formats.write_problem(_read(document), "structured"))
    for field in ("pools", "buffers"):
        ids = [(one["id"], one["name"]) for one in document["problem"][field]]
        assert [(one["id"], one["name"]) for one in again["problem"][field]] == ids


def test_other_names_are_numbered_in_order() -> None:
    problem = Problem(
        version=1,
        pools=(Pool(id="fast"), Pool(id="slow")),
        buffers=(Buffer(id="x", size=4, lifetime=(0, 1)), Buffer(id="007", size=4, lifetime="always")),
    )
    written = json.loads(formats.write_problem(problem, "structured"))["problem"]
    assert [(one["id"], one["name"]) for one in written["buffers"]] == [(0, "x"), (1, "007")]
    plan = Plan(status=Status.FEASIBLE, placements=(Placement(buffer="007", pool="slow", offset=8),))
    data = formats.write_plan(problem, plan, "structured")
    assert json.loads(data) == {"placements": [{"buffer": 1, "pool": 1, "offset": 8}]}
    assert formats.read_plan(data, problem) == plan


def _document(**problem: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {
        name: [] for name in ("colocations", "separations", "temporal_exclusions", "pinned_allocations")
    }
    inner = {
        "pools": [{"id": 0, "name": "m", "capacity": None, "reserved_ranges": []}],
        "buffers": [_tile(0), _tile(1), _tile(2)],
        "constraints": {**empty, **problem.pop("constraints", {})},
        "objective": {"aggregation": "lexicographic", "terms": ["total_peak"]},
        **problem,
    }
    return {"schema_version": 1, "profile": "pypto_hard_v1", "instance": "x", "problem": inner}


def _tile(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"t{number}",
        "size": 4,
        "alignment": 1,
        "live_intervals": [{"lower": number, "upper": number + 2}],
        "allowed_pools": [0],
        **fields,
    }


def _terms(*terms: str) -> dict[str, Any]:
    return {"objective": {"aggregation": "lexicographic", "terms": list(terms)}}


def _banked(**fields: Any) -> list[dict[str, Any]]:
    return [{"id": 0, "name": "m", "capacity": None, "reserved_ranges": [], **fields}]


@pytest.mark.parametrize(
    ("document", "code", "place"),
    [
        ({**_document(), "schema_version": 2}, "unsupported_version", "$.schema_version"),
        ({**_document(), "profile": "mine"}, "unknown_choice", "$.profile"),
        ({**_document(), "extra": 1}, "unknown_field", "$.extra"),
        (_document(extra=1), "unknown_field", "$.problem.extra"),
        (_document(constraints={"extra": []}), "unknown_field", "$.problem.constraints.extra"),
        (_document(buffers=[_tile(0, colour=1)]), "unknown_field", "$.problem.buffers[0].colour"),
        (_document(buffers=[_tile(0, size=-1)]), "too_small", "$.problem.buffers[0].size"),
        (_document(buffers=[_tile(0, live_intervals=[])]), "empty", "$.problem.buffers[0].live_intervals"),
        (
            _document(buffers=[_tile(0, live_intervals=[{"lower": 3, "upper": 1}])]),
            "reversed_lifetime",
            "$.problem.buffers[0].live_intervals",
        ),
        (_document(buffers=[_tile(0), _tile(0)]), "duplicate_buffer", "$.problem.buffers[1].id"),
        (
            _document(buffers=[_tile(0), _tile(0) | {"name": "other"}]),
            "duplicate_buffer",
            "$.problem.buffers[1].id",
        ),
        (
            _document(buffers=[_tile(0, allowed_pools=[7])]),
            "unknown_pool",
            "$.problem.buffers[0].allowed_pools[0]",
        ),
        (
            _document(constraints={"separations": [{"first": 0, "second": 9}]}),
            "unknown_buffer",
            "$.problem.constraints.separations[0]",
        ),
        (
            _document(constraints={"separations": [{"first": 1, "second": 1}]}),
            "pair_of_one",
            "$.problem.constraints.separations[0]",
        ),
        (
            _document(
                constraints={
                    "colocations": [{"first": 0, "second": 1}],
                    "separations": [{"first": 0, "second": 1}],
                }
            ),
            "conflict_in_group",
            "$.problem.constraints.separations[0]",
        ),
        (
            _document(pools=_banked(reserved_ranges=[{"begin": 2, "end": 2}])),
            "empty_range",
            "$.problem.pools[0].reserved_ranges[0]",
        ),
        (
            _document(pools=_banked(bank_geometry={"bank_size": 0, "num_banks": 2})),
            "too_small",
            "$.problem.pools[0].bank_geometry.bank_size",
        ),
        (
            _document(pools=_banked(bank_geometry={"bank_size": 1 << 62, "num_banks": 2})),
            "bank_beyond_limit",
            "$.problem.pools[0].bank_geometry",
        ),
        (_document(**_terms("speed")), "unknown_choice", "$.problem.objective.terms[0]"),
        (
            _document(pypto_structure={"alias_classes": [], "pipeline_groups": [], "whole_slot_reuse": True}),
            "unsupported",
            "$.problem.pypto_structure.whole_slot_reuse",
        ),
        (
            _document(
                pools=_banked(reserved_ranges=[{"begin": 8, "end": 9}]),
                cost_model={"reuse_penalties": []},
                **_terms("max_peak", "reuse_cost"),
            ),
            "unsupported",
            "$.problem.pools[0].reserved_ranges",
        ),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(document: Any, code: str, place: str) -> None:
    assert told(lambda: _read(document)) == [(code, place)]


def test_reuse_between_colocated_buffers_costs_nothing_and_between_others_what_it_says() -> None:
    penalties = [
        {"first": 0, "second": 1, "cost": 7, "reason": "generic"},
        {"first": 1, "second": 2, "cost": 5, "reason": "generic"},
    ]
    problem = _read(
        _document(
            buffers=[_tile(0), _tile(1), _tile(2)],
            constraints={"colocations": [{"first": 0, "second": 1}]},
            cost_model={"reuse_penalties": penalties},
            **_terms("total_peak", "reuse_cost"),
        )
    )
    names = [buffer.id for buffer in problem.buffers]
    assert [(cost.buffers, cost.cost) for cost in problem.reuse_costs] == [((names[1], names[2]), 5)]


def test_reuse_costs_beside_ties_are_not_written_since_they_would_not_all_be_charged() -> None:
    problem = Problem(
        version=1,
        buffers=tuple(Buffer(id=name, size=4, lifetime=(0, 1)) for name in "ab"),
        relative=(Relative(buffer="b", base="a", offset=0),),
        reuse_costs=(ReuseCost(buffers=("a", "b"), cost=3),),
    )
    assert told(lambda: formats.write_problem(problem, "structured")) == [
        ("not_expressible", "$.reuse_costs")
    ]


@pytest.mark.parametrize(
    ("allowed", "terms", "refused"),
    [
        (None, ("peak",), True),
        (("fast",), ("peak",), False),
        (("fast",), ("peak", "max_peak"), False),
        (("fast",), ("peak", "reuse_cost"), True),
        (None, ("reuse_cost",), False),
    ],
)
def test_reserved_ranges_are_written_where_they_do_not_change_which_plan_is_best(
    allowed: tuple[str, ...] | None, terms: tuple[str, ...], refused: bool
) -> None:
    problem = Problem(
        version=1,
        pools=(Pool(id="fast", capacity=16, reserved=(Reserved(offset=8, size=1),)), Pool(id="slow")),
        buffers=(Buffer(id="a", size=4, lifetime=(0, 1), pools=allowed),),
        objective=terms,
    )
    if refused:
        said = told(lambda: formats.write_problem(problem, "structured"))
        assert said == [("not_expressible", "$.pools[0].reserved")]
    else:
        assert formats.write_problem(problem, "structured")


def test_bank_geometry_is_kept_and_bank_cost_is_nothing_where_no_pair_has_one() -> None:
    pools = _banked(bank_geometry={"bank_size": 4, "num_banks": 2})
    problem = _read(_document(pools=pools, **_terms("bank_cost", "total_peak")))
    assert problem.pools[0].banks == (Banks(size=4, count=2),)
    assert problem.objective == ("bank_cost", "peak")
    again = json.loads(formats.write_problem(problem, "structured"))["problem"]
    assert again["pools"] == pools
    assert again["objective"]["terms"] == ["bank_cost", "total_peak"]
    ours = plan(problem, Options(deterministic=True))
    assert ours.status is Status.OPTIMAL
    assert ours.objective[0].value == 0


def test_what_the_format_does_not_say_of_banks_is_refused() -> None:
    pools = [Pool(id="m", banks=[Banks(size=4, count=2)])]
    buffers = [
        Buffer(id="a", size=4, lifetime=[0, 1], within_bank=True),
        Buffer(id="b", size=4, lifetime=[0, 1]),
    ]
    problem = Problem(pools=pools, buffers=buffers, bank_conflicts=[BankConflict(buffers=["a", "b"])])
    said = told(lambda: formats.write_problem(problem, "structured"))
    assert said == [("not_expressible", "$.bank_conflicts"), ("not_expressible", "$.buffers[0].within_bank")]
    uneven = Problem(pools=[Pool(id="m", banks=[Banks(size=4, offset=4)])], buffers=buffers[1:])
    assert told(lambda: formats.write_problem(uneven, "structured")) == [
        ("not_expressible", "$.pools[0].banks")
    ]


def test_notes_change_nothing() -> None:
    document = _document(
        pools=_banked(),
        pypto_structure={
            "alias_classes": [{"buffer": 0, "members": ["a"]}],
            "pipeline_groups": [],
            "whole_slot_reuse": False,
        },
    )
    assert _read({**document, "metadata": {"target": "x"}}) == _read(_document())


def test_every_problem_of_the_kernel_compiler_is_read(shared_data: Path) -> None:
    files = [*shared_data.glob("pypto/**/*.json"), *shared_data.glob("minimalloc-dsa-rp/*.json")]
    assert len(files) == 275
    for file in files:
        source = json.loads(file.read_bytes())["problem"]
        problem = formats.read_problem(file.read_bytes())
        assert len(problem.buffers) == len(source["buffers"])
        assert len(problem.conflicts) == len(source["constraints"]["separations"])
        assert len(problem.reuse_costs) == len(source.get("cost_model", {}).get("reuse_penalties", []))
        again = formats.write_problem(problem, "structured")
        assert formats.read_problem(again) == problem
