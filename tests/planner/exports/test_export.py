"""What is exported and what is refused: valid plans alone, in names that a compiler takes, within limits."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from memstow.planner.exports import export, names, self_check
from memstow.planner.graph.graph_document import Label
from memstow.planner.model import Status
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import Buffer, InPlace, Pool, Problem, Relative, Reserved
from tests.planner.exports.sample import files, plan_of, sample
from tests.planner.exports.toolchains import HOST, attempt, link, run, write_all
from tests.planner.refusal import refusal

PROBLEM = sample()
PLAN = plan_of(PROBLEM)
ONE = Problem(buffers=(Buffer(id="a", size=4, lifetime=(0, 2)),))


def moved(plan: Plan, buffer: str, offset: int) -> Plan:
    """The plan with a buffer at another offset."""
    places = tuple(
        replace(placement, offset=offset) if placement.buffer == buffer else placement
        for placement in plan.placements
    )
    return replace(plan, placements=places)


def header_of(problem: Problem) -> str:
    """The header of a plan for the problem."""
    return export(problem, plan_of(problem), "c-header", prefix="net").decode()


@pytest.mark.parametrize("form", names())
def test_a_plan_that_the_judge_refuses_is_not_written(form: str) -> None:
    issues = refusal(lambda: export(PROBLEM, moved(PLAN, "cat", 10_000_001), form))
    assert {issue.code for issue in issues} == {"relative_distance"}
    missing = replace(PLAN, placements=PLAN.placements[1:])
    assert [issue.code for issue in refusal(lambda: export(PROBLEM, missing, form))] == ["missing"]
    nothing = Plan(status=Status.INFEASIBLE)
    assert [issue.code for issue in refusal(lambda: export(PROBLEM, nothing, form))] == ["no_plan"]


@pytest.mark.parametrize("form", names())
def test_the_same_plan_gives_the_same_bytes_whoever_found_it(form: str) -> None:
    written = export(PROBLEM, PLAN, form)
    other = replace(PLAN, seconds=12.5, solver="somebody", version="9.9", placements=PLAN.placements[::-1])
    assert export(PROBLEM, other, form) == written
    assert written.isascii()
    assert all(line.rstrip() == line for line in written.decode().split("\n"))


@pytest.mark.parametrize(("form", "begins"), [("c-header", "/* "), ("rust", "    /// ")])
def test_comments_say_what_buffers_are(form: str, begins: str) -> None:
    plan = plan_of(ONE)
    written = export(ONE, plan, form, labels={"a": Label("ADD int8 [4]", "*/ x")}).decode()
    assert f'{begins}Buffer "a" in "memory": "ADD int8 [4] \\u{{2a}}/ x".' in written
    assert f'{begins}Buffer "a" in "memory".' in export(ONE, plan, form).decode()


def test_an_unknown_format_is_told() -> None:
    (issue,) = refusal(lambda: export(ONE, plan_of(ONE), "fortran"))
    assert issue.message == "there is no format 'fortran'; use c-header, c-source, c-check, ld, rust"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"prefix": ""}, "bad_prefix"),
        ({"prefix": "a b"}, "bad_prefix"),
        ({"prefix": "a_"}, "bad_prefix"),
        ({"prefix": "é"}, "bad_prefix"),
        ({"prefix": "a" * 65}, "bad_prefix"),
        ({"sections": {"memory": '"); int x; //'}}, "bad_section"),
        ({"sections": {"memory": ""}}, "bad_section"),
        ({"sections": {"memroy": ".x"}}, "unknown_pool"),
        ({"header": 'a.h"\n#error'}, "bad_header"),
        ({"header": "a\\b.h"}, "bad_header"),
        ({"header": ""}, "bad_header"),
    ],
)
def test_what_would_be_no_name_is_refused(given: dict[str, str], code: str) -> None:
    issues = refusal(lambda: export(ONE, plan_of(ONE), "c-source", **given))  # type: ignore[arg-type]
    assert [issue.code for issue in issues] == [code]


@pytest.mark.parametrize(
    ("pool", "text"),
    [
        ("memroy", "did you mean 'memory'?"),
        ("dtcm", "the pools are 'memory'; a target has those of a device"),
    ],
)
def test_a_section_of_an_unknown_pool_says_which_there_are(pool: str, text: str) -> None:
    (issue,) = refusal(lambda: export(ONE, plan_of(ONE), "ld", sections={pool: ".x"}))
    assert issue.message == f"the problem has no pool '{pool}'; {text}"


def test_an_alignment_that_only_address_0_has_is_written() -> None:
    pools = (Pool(id="memory", base=0, alignment=(1 << 61) - 1),)
    problem = replace(ONE, pools=pools, buffers=(replace(ONE.buffers[0], alignment=1 << 61),))
    assert f"NET_ADDRESS_a % {1 << 62}u == 0u" in header_of(problem)


@pytest.mark.parametrize("alignment", [3, 24, 1 << 29])
def test_an_alignment_that_no_array_can_have_is_refused_unless_the_address_is_fixed(alignment: int) -> None:
    problem = replace(ONE, buffers=(replace(ONE.buffers[0], alignment=alignment),))
    (issue,) = refusal(lambda: header_of(problem))
    assert issue.code == "not_expressible"
    assert f"an array cannot be aligned to {alignment:,}" in issue.message
    fixed = replace(problem, pools=(Pool(id="memory", base=alignment),))
    assert f"#define NET_ADDRESS_a {alignment}u" in header_of(fixed)


def test_arenas_of_a_pool_with_a_base_avoid_what_is_reserved() -> None:
    pool = Pool(id="m", base=0x1000, reserved=(Reserved(offset=0, size=16), Reserved(offset=32, size=16)))
    buffers = tuple(Buffer(id=name, size=12, lifetime=(0, 2)) for name in ("m", "m_2", "n"))
    header = header_of(Problem(pools=(pool,), buffers=buffers))
    arrays = re.findall(r"unsigned char (\w+)\[(\d+)u\]", header)
    assert arrays == [("net_arena_m", "12"), ("net_arena_m_2", "24")]


def test_names_of_arenas_do_not_collide_with_those_of_pools() -> None:
    reserved = (Reserved(offset=4, size=4),)
    pools = tuple(
        Pool(id=name, base=base, capacity=12, reserved=reserved) for base, name in ((0, "m"), (64, "M_2"))
    )
    buffers = tuple(
        Buffer(id=f"{pool.id}{i}", size=4, lifetime=(0, 2), pool=pool.id) for pool in pools for i in (0, 1)
    )
    arrays = re.findall(r"unsigned char (\w+)\[4u\]", header_of(Problem(pools=pools, buffers=buffers)))
    assert arrays == ["net_arena_m", "net_arena_m_3", "net_arena_m_2", "net_arena_m_2_2"]


def test_a_buffer_of_size_0_has_a_place_where_there_is_one() -> None:
    buffers = (Buffer(id="z", size=0), Buffer(id="end", size=0, pool="memory", offset=4), *ONE.buffers)
    header = header_of(replace(ONE, buffers=(*buffers, Buffer(id="far", size=0, pool="memory", offset=5))))
    assert "#define NET_AT_z ((void *)(net_arena_memory + 0u))" in header
    assert "#define NET_AT_end ((void *)(net_arena_memory + 4u))" in header
    assert "NET_OFFSET_far 5u" in header
    assert "NET_AT_far" not in header


@pytest.mark.parametrize("form", names())
def test_nothing_to_place_is_written_too(form: str, tmp_path: Path) -> None:
    empty = Problem(buffers=(Buffer(id="z", size=0),))
    write_all(tmp_path, files(empty, plan_of(empty)))
    if form.startswith("c-"):
        link(tmp_path, "check", [HOST.compile(tmp_path, name) for name in ("net.c", "net.check.c")])
        assert run(tmp_path, str(tmp_path / "check")) == "net: no live buffer is overwritten\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "#define NET_AT_b ((void *)(net_arena_memory + 64u))",
            "#define NET_AT_b ((void *)(net_arena_memory + 63u))",
        ),
        ("#define NET_SIZE_a 64u", "#define NET_SIZE_a 65u"),
    ],
)
def test_a_header_that_was_tampered_with_fails_its_self_check(
    tmp_path: Path, before: str, after: str
) -> None:
    problem = Problem(
        buffers=(
            Buffer(id="a", size=64, lifetime=(0, 2), pool="memory", offset=0),
            Buffer(id="b", size=32, lifetime=(1, 3), pool="memory", offset=64),
        )
    )
    write_all(tmp_path, files(problem, plan_of(problem)))

    def answer() -> str:
        link(tmp_path, "check", [HOST.compile(tmp_path, name) for name in ("net.c", "net.check.c")])
        return attempt(tmp_path, str(tmp_path / "check")).stdout

    assert answer() == "net: no live buffer is overwritten\n"
    header = (tmp_path / "net.h").read_text()
    assert before in header
    (tmp_path / "net.h").write_text(header.replace(before, after))
    assert answer() == "net: a is overwritten while it lives, or at a wrong address\n"


def test_overlaps_of_one_byte_are_found_among_more_buffers_than_a_byte_can_number(tmp_path: Path) -> None:
    buffers = tuple(
        Buffer(id=f"b{i}", size=1, lifetime="always", pool="memory", offset=i) for i in range(700)
    )
    problem = Problem(buffers=buffers)
    plan = plan_of(problem)
    write_all(tmp_path, files(problem, plan))
    header = (tmp_path / "net.h").read_text()
    # 5 and 5 + 512 end in the same byte.
    moved_one = header.replace(
        "AT_b517 ((void *)(net_arena_memory + 517u))", "AT_b517 ((void *)(net_arena_memory + 5u))"
    )
    assert moved_one != header
    (tmp_path / "net.h").write_text(moved_one)
    link(tmp_path, "check", [HOST.compile(tmp_path, name) for name in ("net.c", "net.check.c")])
    ran = attempt(tmp_path, str(tmp_path / "check"))
    assert ran.returncode == 1
    assert "b5 is overwritten" in ran.stdout


def test_a_chain_in_place_takes_few_rounds() -> None:
    """Real networks make one after the other in place: the check is not much longer for that."""
    count = 2000
    buffers = tuple(Buffer(id=f"b{i}", size=8, lifetime=(i, i + 2)) for i in range(count))
    chain = tuple(InPlace(input=f"b{i}", output=f"b{i + 1}") for i in range(count - 1))
    problem = Problem(buffers=buffers, in_place=chain)
    bare = Plan(
        status=Status.FEASIBLE,
        placements=tuple(Placement(buffer=buffer.id, pool="memory", offset=0) for buffer in buffers),
    )
    text = export(problem, bare, "c-check").decode()
    steps = text.split("plan_check_steps[] = {")[1].split("};")[0].count(",") + 1
    assert steps <= 6 * count


def branches(count: int) -> tuple[Problem, Plan]:
    """Two choices among so many alternatives each: any two of one choice may share bytes, and no others."""
    ones, others = ([f"{which}{i}" for i in range(count)] for which in "ab")
    problem = Problem(
        buffers=tuple(Buffer(id=name, size=1, lifetime=(0, 1)) for name in (*ones, *others)),
        exclusive=tuple(pair for names in (ones, others) for pair in combinations(names, 2)),
    )
    places = tuple(
        Placement(buffer=name, pool="memory", offset=int(name in others)) for name in (*ones, *others)
    )
    return problem, Plan(status=Status.FEASIBLE, placements=places)


def test_every_pair_of_alternatives_is_together_in_a_round() -> None:
    text = export(*branches(20), "c-check").decode()
    assert text.split("plan_check_steps[] = {")[1].split("};")[0].count("u") == 4 * 20 * 20


def one_group(count: int) -> tuple[Problem, Plan]:
    """A rigid group of so many buffers, which all live at once."""
    problem = Problem(
        buffers=tuple(Buffer(id=f"b{i}", size=1, lifetime="always") for i in range(count)),
        relative=tuple(Relative(buffer=f"b{i}", base="b0", offset=i) for i in range(1, count)),
    )
    places = tuple(Placement(buffer=f"b{i}", pool="memory", offset=i) for i in range(count))
    return problem, Plan(status=Status.FEASIBLE, placements=places)


@pytest.mark.parametrize("make", [lambda: branches(40), lambda: one_group(800)])
def test_a_check_that_would_be_too_long_is_refused(
    make: Callable[[], tuple[Problem, Plan]], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, plan = make()
    assert export(problem, plan, "c-check")
    # A small limit refuses what is small: as the real one does what is large, in less time.
    monkeypatch.setattr(self_check, "_MOST_WORK", 100_000)
    (issue,) = refusal(lambda: export(problem, plan, "c-check"))
    assert issue.code == "too_large"
    assert f"would take more than {self_check.MOST_STEPS:,} steps" in issue.message
