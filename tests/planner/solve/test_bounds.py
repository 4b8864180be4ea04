"""What bounds come to, exactly: too low they prove nothing, and no test for too high would notice."""

from typing import Any

import pytest

from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import LiveBytes, Placement, Sum
from memstow.planner.model.problem import Problem, term_of
from memstow.planner.reading.parse import parse_problem
from memstow.planner.reduce import Reduction, reduce
from memstow.planner.solve.bounds import Bounds
from memstow.planner.solve.engine import plan
from memstow.planner.solve.problem_plans import task_of
from memstow.solvers import constraints
from memstow.solvers.cpsat import CpSat
from memstow.solvers.instance import Instance
from memstow.solvers.registry import BACK_ENDS
from tests.referee import best
from tests.waiting import PATIENCE


def problem(sizes: dict[str, int], fields: dict[str, Any] | None = None, **more: Any) -> Problem:
    """Buffers that live together, each with further fields where there are some."""
    own = fields or {}
    named = [{"id": b, "size": size, "lifetime": [0, 1], **own.get(b, {})} for b, size in sizes.items()]
    return parse_problem({"version": 1, "buffers": named, **more})


def reduced(request: Problem) -> Reduction:
    reduction = reduce(request)
    assert isinstance(reduction, Reduction)
    return reduction


def bounds(request: Problem) -> Bounds:
    return Bounds(reduced(request))


SIZES = {"a": 5, "b": 5, "c": 5}


@pytest.mark.parametrize(
    ("other", "value"),
    [
        ({"id": "q", "capacity": 7, "reserved": [{"offset": 0, "size": 2}]}, 10),
        ({"id": "q", "capacity": 10}, 5),
        ({"id": "q", "capacity": 15}, 0),
        ({"id": "q", "capacity": 40}, 0),
        ({"id": "q"}, 0),
    ],
)
def test_what_the_other_pools_cannot_hold_is_in_this_one(other: dict[str, Any], value: int) -> None:
    sample = problem(SIZES, pools=[{"id": "p"}, other], objective=["peak:p"])
    assert bounds(sample).of_pool(0).value == bounds(sample).of_term(term_of("peak:p")).value == value


def test_what_must_be_in_a_pool_counts_where_it_is_more_than_what_spills() -> None:
    own = {"a": {"pool": "p"}, "b": {"pool": "p"}}
    sample = problem(SIZES, own, pools=[{"id": "p"}, {"id": "q", "capacity": 6}])
    assert bounds(sample).of_pool(0).value == 10
    sample = problem(SIZES, {"a": {"pool": "p"}}, pools=[{"id": "p"}, {"id": "q", "capacity": 6}])
    assert bounds(sample).of_pool(0).value == 9


@pytest.mark.parametrize(
    ("sizes", "pools", "needed"),
    [
        ({"a": 5, "b": 5}, [{"id": "p", "capacity": 10}], None),
        ({"a": 5, "b": 5}, [{"id": "p", "capacity": 9}], 10),
        # In steps of four the second begins at 4.
        ({"a": 3, "b": 3}, [{"id": "p", "capacity": 7, "alignment": 4}], None),
        ({"a": 3, "b": 3}, [{"id": "p", "capacity": 6, "alignment": 4}], 7),
        ({"a": 4, "b": 4, "c": 4}, [{"id": "p", "capacity": 8}, {"id": "q", "capacity": 4}], None),
        ({"a": 4, "b": 4, "c": 4}, [{"id": "p", "capacity": 7}, {"id": "q", "capacity": 4}], 12),
        ({"a": 4, "b": 4}, [{"id": "p", "capacity": 10, "reserved": [{"offset": 2, "size": 2}]}], None),
        ({"a": 4, "b": 5}, [{"id": "p", "capacity": 10, "reserved": [{"offset": 2, "size": 2}]}], 11),
    ],
)
def test_a_misfit_is_found_from_the_first_byte_that_is_too_many(
    sizes: dict[str, int], pools: list[dict[str, Any]], needed: int | None
) -> None:
    result = bounds(problem(sizes, pools=pools)).misfit()
    assert (None if result is None else result.needed) == needed


def test_pairs_that_exclude_each_other_are_counted_once() -> None:
    sizes = {"a": 3, "b": 4, "c": 5}
    assert bounds(problem(sizes)).of_term(term_of("peak")).value == 12
    assert bounds(problem(sizes, exclusive=[["a", "b"]])).of_term(term_of("peak")).value == 9
    assert bounds(problem(sizes, exclusive=[["a", "c"]])).of_term(term_of("peak")).value == 9
    assert bounds(problem(sizes, exclusive=[["a", "b"], ["b", "c"]])).of_term(term_of("peak")).value == 8


def test_buffers_that_conflict_in_pairs_add_up_though_no_moment_has_them_all() -> None:
    timeless = {name: {"lifetime": None} for name in "abcde"}
    sizes = {"a": 3, "b": 4, "c": 5, "d": 9, "e": 2}
    pairs = [["a", "b"], ["b", "c"], ["a", "c"], ["d", "e"]]
    result = bounds(problem(sizes, timeless, conflicts=pairs)).of_term(term_of("peak"))
    assert result.value == 12
    assert isinstance(result.certificate, LiveBytes)
    assert (result.certificate.time, set(result.certificate.buffers)) == (None, {"a", "b", "c"})
    result = bounds(problem(sizes, timeless, conflicts=[*pairs, ["c", "d"]])).of_term(term_of("peak"))
    assert result.value == 14


def test_peaks_of_several_pools_add_up() -> None:
    own = {"a": {"pool": "p"}, "b": {"pool": "q", "lifetime": [3, 4]}}
    sample = problem({"a": 5, "b": 7, "c": 2}, own, pools=[{"id": "p"}, {"id": "q"}])
    result = bounds(sample).of_term(term_of("peak"))
    assert result.value == 12
    assert isinstance(result.certificate, Sum)
    assert bounds(sample).of_term(term_of("max_peak")).value == 7


def test_the_least_cost_is_that_of_each_buffer_in_its_cheapest_pool() -> None:
    pools = [{"id": "p", "cost": 3}, {"id": "q", "cost": 2}]
    own = {"a": {"accesses": 10}, "b": {"pool": "p"}, "z": {"accesses": 99}}
    sample = problem({"a": 1, "b": 4, "z": 0}, own, pools=pools)
    assert bounds(sample).of_term(term_of("placement_cost")).value == 2 * 10 + 3 * 4


def test_places_between_two_units_are_no_places_of_items() -> None:
    reduction = reduced(problem({"a": 8, "b": 12}))
    assert reduction.unit == 4
    for offset, unit in ((0, 0), (8, 2), (6, -1), (7, -1)):
        layout = reduction.layout((Placement(buffer="b", pool="memory", offset=offset),))
        assert list(layout.offset) == [-1, unit]


@pytest.mark.parametrize("solver", ["highs", "cbc", "cpsat"])
def test_members_of_two_groups_share_in_place_where_they_are_not_where_their_groups_are(solver: str) -> None:
    """`m` is 8 above its group and `n` is 4 above its own: they share bytes only with the groups 4 apart."""
    if BACK_ENDS[solver].how_to_get() is not None:
        pytest.skip(f"{solver} is not installed")
    own = {
        "x": {"pool": "p", "offset": 0},
        "m": {"lifetime": [0, 4]},
        "y": {"lifetime": [5, 6], "pool": "p", "offset": 4},
        "n": {"lifetime": [2, 6]},
    }
    sample = problem(
        dict.fromkeys(own, 4),
        own,
        pools=[{"id": "p"}],
        relative=[{"buffer": "m", "base": "x", "offset": 8}, {"buffer": "n", "base": "y", "offset": 4}],
        in_place=[{"input": "m", "output": "n"}],
    )
    assert best(sample) == (Status.OPTIMAL, (12,))
    planned = plan(sample, Options(solver=solver, time_limit=PATIENCE))
    assert (planned.status, planned.objective[0].value) == (Status.OPTIMAL, 12)


@pytest.mark.parametrize("bound_to", [{}, {"a": {"pool": "p7"}}])
def test_a_pool_of_many_has_a_bound_only_where_something_must_be_in_it(bound_to: dict[str, Any]) -> None:
    pools = [{"id": f"p{i}", "capacity": 20} for i in range(40)]
    bound = bounds(problem(SIZES, bound_to, pools=pools))
    assert [bound.of_pool(i).value for i in range(40)] == [5 if bound_to and i == 7 else 0 for i in range(40)]


def test_the_places_of_all_pools_are_gone_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    tops = constraints.tops

    def counted(instance: Instance) -> list[int]:
        seen.append(instance.pool_count)
        return tops(instance)

    monkeypatch.setattr(constraints, "tops", counted)
    pools = [{"id": f"p{i}", "capacity": 90, "reserved": [{"offset": i, "size": 1}]} for i in range(40)]
    sample = problem(SIZES, {"b": {"pool": "p3", "offset": 9}}, pools=pools)
    options = Options(solver="assign", time_limit=1.0)
    task, _ = task_of(reduced(sample), {}, options)
    assert CpSat().declines(task) is None
    assert len(seen) <= 2
    # The end of the last reserved range, and all three on top of it.
    assert constraints.highest_stack(task) == 40 + 15 + 3
