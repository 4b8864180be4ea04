"""A CSV plan has absolute addresses where a pool has a base, and is refused where they contradict offsets."""

import pytest

from memstow.planner import formats
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import Buffer, Pool, Problem

PROBLEM = Problem(
    pools=(Pool(id="tcm", base=0x20000000), Pool(id="ddr")),
    buffers=(Buffer(id="a", size=4, lifetime=(0, 2)), Buffer(id="b", size=4, lifetime=(0, 2))),
)
PLAN = Plan(
    status=Status.FEASIBLE,
    placements=(
        Placement(buffer="a", pool="tcm", offset=16),
        Placement(buffer="b", pool="ddr", offset=8),
    ),
)


def test_a_buffer_in_a_pool_with_a_base_has_an_address() -> None:
    written = formats.write_plan(PROBLEM, PLAN, "csv")
    assert written == b"id,pool,offset,address\na,tcm,16,0x20000010\nb,ddr,8,\n"
    assert formats.read_plan(written, PROBLEM) == PLAN


def test_one_pool_with_a_base_has_addresses_as_well() -> None:
    problem = Problem(pools=(Pool(id="tcm", base=32),), buffers=PROBLEM.buffers[:1])
    plan = Plan(status=Status.FEASIBLE, placements=PLAN.placements[:1])
    assert (
        formats.write_plan(problem, plan, "csv") == b"id,lower,upper,size,offset,address\na,0,2,4,16,0x30\n"
    )


@pytest.mark.parametrize(
    ("cell", "pool", "code"),
    [
        ("0x20000010", "tcm", None),
        ("536870928", "tcm", None),
        (" 0X20000010 ", "tcm", None),
        ("", "tcm", None),
        ("0x20000014", "tcm", "contradiction"),
        ("16", "tcm", "contradiction"),
        ("0x8", "ddr", "no_base"),
        ("here", "tcm", "not_an_integer"),
        ("0x", "tcm", "not_an_integer"),
        ("0x" + "f" * 10_000, "tcm", "not_an_integer"),
    ],
)
def test_an_address_is_that_of_the_offset(cell: str, pool: str, code: str | None) -> None:
    data = f"id,pool,offset,address\na,{pool},16,{cell}\n".encode()
    if code is None:
        assert formats.read_plan(data, PROBLEM).placements == (Placement(buffer="a", pool=pool, offset=16),)
        return
    with pytest.raises(InputError) as refused:
        formats.read_plan(data, PROBLEM)
    assert [(issue.code, issue.path) for issue in refused.value.issues] == [(code, "line 2, column address")]
