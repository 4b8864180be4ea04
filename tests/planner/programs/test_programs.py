"""Programs that take turns: their plan against all offsets, and both judges against each other."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product
from random import Random
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstow.planner.formats.programs_format import FORMAT
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import ALWAYS, Buffer, InPlace, Pool, Problem, Relative
from memstow.planner.model.programs import Kept, Program, Programs, name_in_all
from memstow.planner.programs import (
    find_programs_issues,
    joint_problem,
    plan_of_all,
    program_plans,
    programs_of,
)
from memstow.planner.solve.engine import plan
from memstow.planner.verify import judge, verify
from memstow.planner.verify.program_plans import verify_programs
from tests.campaign import gate_first, rounds
from tests.problems import random_problem

PREFILL = Problem(
    buffers=[
        Buffer(id="tokens", size=64, lifetime=(0, 1)),
        Buffer(id="scores", size=256, lifetime=(1, 2)),
        Buffer(id="cache", size=128, lifetime=(1, 2)),
    ]
)
DECODE = Problem(
    buffers=[
        Buffer(id="cache", size=128, lifetime=(0, 1)),
        Buffer(id="token", size=16, lifetime=(0, 2)),
        Buffer(id="logits", size=192, lifetime=(1, 3)),
    ]
)
BOTH = programs_of([("prefill", PREFILL), ("decode", DECODE)], ["cache"])


def places(**offsets: int) -> Plan:
    """Offsets by names, in which `__` stands for the slash."""
    return Plan(
        status=Status.FEASIBLE,
        placements=[
            Placement(buffer=name.replace("__", "/"), pool="memory", offset=offset)
            for name, offset in offsets.items()
        ],
    )


def test_what_is_kept_has_one_address_and_the_rest_shares_bytes() -> None:
    joint = joint_problem(BOTH)
    planned = plan(joint, Options(deterministic=True))
    # 256 + 128 in prefill; in decode the cache stays although its life is over there.
    assert (planned.status, planned.pools[0].peak) == (Status.OPTIMAL, 384)
    own = program_plans(planned)
    offset_of = {
        name: {placement.buffer: placement.offset for placement in entry.placements}
        for name, entry in own.items()
    }
    assert offset_of["prefill"]["cache"] == offset_of["decode"]["cache"]
    assert list(own) == ["prefill", "decode"]
    assert verify_programs(BOTH, own) == []
    assert judge(joint, planned).unchecked == ()


def test_without_anything_kept_the_largest_program_decides() -> None:
    apart = replace(BOTH, kept=())
    assert plan(joint_problem(apart)).pools[0].peak == 384
    smaller = programs_of([("a", DECODE), ("b", DECODE), ("c", DECODE)])
    assert [program.id for program in smaller.programs] == ["a", "b", "c"]
    assert plan(joint_problem(smaller)).pools[0].peak == 208


def test_programs_of_one_name_get_numbers() -> None:
    same = programs_of([("net", DECODE), ("net", DECODE), ("net-2", DECODE)])
    assert [program.id for program in same.programs] == ["net", "net-2", "net-2-2"]


GOOD = {
    "prefill__tokens": 128,
    "prefill__scores": 128,
    "prefill__cache": 0,
    "decode__cache": 0,
    "decode__token": 128,
    "decode__logits": 144,
}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, None),
        ({"decode__cache": 400}, "relative_distance"),
        ({"decode__logits": 0}, "overlap"),
        ({"prefill__tokens": 64}, "overlap"),
        ({"prefill__scores": 64}, "overlap"),
        ({"decode__token": 200}, "overlap"),
    ],
)
def test_the_judge_of_programs_knows_what_must_survive(changes: dict[str, int], code: str | None) -> None:
    changed = places(**{**GOOD, **changes})
    expected = set() if code is None else {code}
    assert {program.code.value for program in verify_programs(BOTH, program_plans(changed))} == expected
    assert bool(verify(joint_problem(BOTH), changed)) == bool(expected)


def test_a_program_without_a_plan_or_one_too_many_is_no_plan_of_all() -> None:
    own = program_plans(places(**GOOD))
    assert {program.code.value for program in verify_programs(BOTH, {"prefill": own["prefill"]})} == {
        "missing"
    }
    assert {program.code.value for program in verify_programs(BOTH, {**own, "other": own["decode"]})} == {
        "unknown_buffer"
    }


def test_what_is_used_lives_from_the_first_program_to_the_last_that_has_it() -> None:
    encoder = Problem(
        buffers=[
            Buffer(id="image", size=100, lifetime=(0, 2)),
            Buffer(id="code", size=10, lifetime=(2, 3)),
        ]
    )
    between = Problem(buffers=[Buffer(id="x", size=95, lifetime=(0, 1))])
    decoder = Problem(
        buffers=[
            Buffer(id="code", size=10, lifetime=(0, 1)),
            Buffer(id="sound", size=100, lifetime=(1, 2)),
        ]
    )
    handed = programs_of([("enc", encoder), ("mid", between), ("dec", decoder)], ["code"])
    assert plan(joint_problem(handed)).pools[0].peak == 110
    once = replace(handed, kept=(replace(handed.kept[0], life="used"),))
    planned = plan(joint_problem(once))
    assert planned.pools[0].peak == 105
    assert verify_programs(once, program_plans(planned)) == []
    assert verify_programs(handed, program_plans(planned)) != []


def test_the_time_at_which_a_program_begins_does_not_matter() -> None:
    timeless = Problem(buffers=[Buffer(id="code", size=10), Buffer(id="x", size=95, lifetime=(0, 1))])

    def handed(begin: int) -> Programs:
        lives = [replace(timeless.buffers[1], lifetime=(begin, begin + 1))]
        later = replace(timeless, buffers=(timeless.buffers[0], *lives))
        after = Problem(buffers=[Buffer(id="y", size=100, lifetime=(begin, begin + 2))])
        programs = programs_of([("first", later), ("second", after)])
        return replace(programs, kept=(Kept(buffers=[("first", "code")], life="used"),))

    at_zero, at_seven = (joint_problem(handed(begin)) for begin in (0, 7))
    assert at_zero == at_seven
    assert plan(at_zero).pools[0].peak == 105


def test_buffers_without_lifetimes_are_kept_apart_from_what_survives() -> None:
    graph = Problem(
        buffers=[Buffer(id="a", size=8), Buffer(id="b", size=8), Buffer(id="state", size=4)],
        conflicts=[("a", "b")],
    )
    weights = Problem(
        buffers=[Buffer(id="w", size=3, lifetime=ALWAYS), Buffer(id="t", size=5, lifetime=(0, 1))]
    )
    both = Programs(
        programs=[Program(id="g", problem=graph), Program(id="n", problem=weights)],
        kept=[Kept(buffers=[("g", "state")])],
    )
    planned = plan(joint_problem(both))
    assert planned.pools[0].peak == 8 + 8 + 4 + 3
    assert verify_programs(both, program_plans(planned)) == []


def test_pairs_do_not_lift_what_is_kept() -> None:
    one = Problem(
        buffers=[Buffer(id="s", size=4, lifetime=(0, 1)), Buffer(id="t", size=4, lifetime=(0, 1))],
        exclusive=[("s", "t")],
    )
    kept = Programs(programs=[Program(id="p", problem=one)], kept=[Kept(buffers=[("p", "s")])])
    assert plan(one).pools[0].peak == 4
    assert plan(joint_problem(kept)).pools[0].peak == 8


def offsets_of(programs: Programs, most: int) -> Iterator[dict[str, int]]:
    """All offsets up to this one, of what is kept once."""
    alike = {
        name_in_all(*pair): name_in_all(*kept.buffers[0]) for kept in programs.kept for pair in kept.buffers
    }
    names = [
        name_in_all(program.id, buffer.id)
        for program in programs.programs
        for buffer in program.problem.buffers
    ]
    free = list(dict.fromkeys(alike.get(name, name) for name in names))
    for chosen in product(range(most), repeat=len(free)):
        offset = dict(zip(free, chosen, strict=True))
        yield {name: offset[alike.get(name, name)] for name in names}


def least_peak(programs: Programs) -> int:
    """By trying all offsets: what lives together, or has to survive, is apart."""
    kept = {pair for entry in programs.kept for pair in entry.buffers}
    every = [(program.id, buffer) for program in programs.programs for buffer in program.problem.buffers]
    entry_of = {pair: number for number, entry in enumerate(programs.kept) for pair in entry.buffers}

    def apart(one: tuple[str, Buffer], other: tuple[str, Buffer]) -> bool:
        keys = (one[0], one[1].id), (other[0], other[1].id)
        if all(key in kept for key in keys) and entry_of[keys[0]] == entry_of[keys[1]]:
            return False
        if any(key in kept for key in keys):
            return True
        lives = one[1].lifetime, other[1].lifetime
        assert isinstance(lives[0], tuple)
        assert isinstance(lives[1], tuple)
        return one[0] == other[0] and max(lives[0][0], lives[1][0]) < min(lives[0][1], lives[1][1])

    pairs = [pair for pair in combinations(every, 2) if apart(*pair)]
    best = sum(buffer.size for _, buffer in every)
    for offset in offsets_of(programs, best):
        ends = [offset[name_in_all(program, buffer.id)] + buffer.size for program, buffer in every]
        if max(ends) < best and all(
            offset[name_in_all(one[0], one[1].id)] + one[1].size <= offset[name_in_all(other[0], other[1].id)]
            or offset[name_in_all(other[0], other[1].id)] + other[1].size
            <= offset[name_in_all(one[0], one[1].id)]
            for one, other in pairs
        ):
            best = max(ends)
    return best


def tiny_programs(rng: Random) -> Programs:
    """Two or three programs of up to two buffers each, one of which may be kept."""
    programs = []
    for name in "pqr"[: rng.randint(2, 3)]:
        buffers = []
        for number in range(rng.randint(1, 2)):
            begin = rng.randint(0, 2)
            life = (begin, begin + rng.randint(1, 2))
            buffers.append(Buffer(id=f"b{number}", size=rng.randint(1, 2), lifetime=life))
        programs.append((name, Problem(buffers=buffers)))
    return programs_of(programs, ["b0"] if rng.random() < 0.6 else [])


@pytest.mark.parametrize("seed", gate_first(range(40), 14))
def test_no_offsets_need_less(seed: int) -> None:
    programs = tiny_programs(Random(seed))
    planned = plan(joint_problem(programs), Options(deterministic=True))
    assert planned.status is Status.OPTIMAL
    assert planned.pools[0].peak == least_peak(programs)
    assert verify_programs(programs, program_plans(planned)) == []


def any_programs(rng: Random) -> Programs:
    """Programs with every kind of constraint, in the pools of the first."""
    problems: list[Problem] = []
    while len(problems) < rng.randint(2, 3):
        problem = random_problem(rng, 3)
        if problems and len(problem.pools) < len(problems[0].pools):
            continue
        problems.append(problem)
    pools = [Pool(id=name) for name in ("fast", "slow", "far")]
    programs = [Program(id=f"p{at}", problem=problem) for at, problem in enumerate(problems)]
    free = [(program.id, buffer.id) for program in programs for buffer in program.problem.buffers]
    kept: list[Kept] = []
    for program, buffer in rng.sample(free, rng.randint(0, min(3, len(free)))):
        life: Literal["always", "used"] = "always" if rng.random() < 0.5 else "used"
        if kept and rng.random() < 0.5 and program not in dict(kept[-1].buffers):
            kept[-1] = replace(kept[-1], buffers=(*kept[-1].buffers, (program, buffer)))
        else:
            kept.append(Kept(buffers=[(program, buffer)], life=life))
    return Programs(programs=programs, kept=kept, pools=pools, objective=["peak"])


@pytest.mark.rounds
@settings(max_examples=rounds(100), deadline=None)
@given(st.randoms(use_true_random=False))
def test_both_judges_agree_on_any_places(rng: Random) -> None:
    programs = any_programs(rng)
    try:
        joint = joint_problem(programs)
    except InputError:
        return
    limits = Options(deterministic=True, work_limit=20_000, solver="greedy")
    planned = plan(joint, limits)
    if planned.status is Status.FEASIBLE or planned.status is Status.OPTIMAL:
        assert verify_programs(programs, program_plans(planned)) == []
    start = planned.placements or tuple(
        Placement(buffer=buffer.id, pool=(buffer.pools or ("fast",))[0], offset=0) for buffer in joint.buffers
    )
    for _ in range(10):
        moved = [
            replace(place, offset=rng.randint(0, 12)) if rng.random() < 0.3 else place for place in start
        ]
        bare = Plan(status=Status.FEASIBLE, placements=moved)
        own = program_plans(bare)
        assert plan_of_all(own.items()).placements == bare.placements
        assert (verify(joint, bare) == []) == (verify_programs(programs, own) == []), (programs, bare)


def test_arenas_may_be_larger_and_are_pools_of_the_problem() -> None:
    joint = joint_problem(BOTH)
    assert FORMAT.write_plan is not None
    assert FORMAT.read_plan is not None
    document = json.loads(FORMAT.write_plan(joint, plan(joint, Options(deterministic=True))))
    document["arenas"][0]["bytes"] += 8
    FORMAT.read_plan(document, joint)
    document["arenas"].append({"pool": "other", "bytes": 8})
    with pytest.raises(InputError) as refused:
        FORMAT.read_plan(document, joint)
    assert [(issue.code, issue.path) for issue in refused.value.issues] == [
        ("unknown_pool", "$.arenas[1].pool")
    ]


def pair_of(first: tuple[int, int], second: tuple[int, int], apart: int | None, size: int = 8) -> Problem:
    """Two buffers x and y, tied so far apart."""
    return Problem(
        buffers=[Buffer(id="x", size=size, lifetime=first), Buffer(id="y", size=size, lifetime=second)],
        relative=[] if apart is None else [Relative(buffer="y", base="x", offset=apart)],
    )


LATER = pair_of((0, 1), (1, 2), 4)
TOGETHER = pair_of((0, 2), (0, 2), None)
BEHIND = pair_of((0, 1), (0, 1), 8)


@pytest.mark.parametrize(
    ("problems", "kept", "offsets"),
    [
        # One program ties them, and both are live at once in the other.
        ((LATER, TOGETHER), ["x", "y"], {"p__x": 0, "p__y": 4, "q__x": 0, "q__y": 4}),
        # Each program has something else behind what is kept, and one of these is kept as well.
        ((BEHIND, BEHIND), ["x", ("p", "y")], {"p__x": 0, "p__y": 8, "q__x": 0, "q__y": 8}),
    ],
)
def test_what_is_kept_does_not_tie_what_no_program_ties(
    problems: tuple[Problem, Problem], kept: list[str | tuple[str, str]], offsets: dict[str, int]
) -> None:
    entries = [
        Kept(buffers=[("p", entry), ("q", entry)] if isinstance(entry, str) else [entry]) for entry in kept
    ]
    programs = [Program(id=name, problem=problem) for name, problem in zip("pq", problems, strict=True)]
    document = Programs(programs=programs, kept=entries)
    with pytest.raises(InputError) as refused:
        joint_problem(document)
    assert [issue.code for issue in refused.value.issues] == ["kept_overlap"]
    violations = verify_programs(document, program_plans(places(**offsets)))
    assert {violation.code.value for violation in violations} == {"overlap"}


def test_of_what_is_kept_the_largest_is_what_others_must_not_be_on() -> None:
    small = Problem(buffers=[Buffer(id="y", size=1, lifetime=(0, 1))])
    programs = [
        Program(id="q", problem=BEHIND),
        Program(id="r", problem=small),
        Program(id="p", problem=BEHIND),
    ]
    kept = [Kept(buffers=[("q", "x"), ("p", "x")]), Kept(buffers=[("r", "y"), ("q", "y")])]
    with pytest.raises(InputError, match="bytes of each other"):
        joint_problem(Programs(programs=programs, kept=kept))


def tied_programs(rng: Random) -> Programs:
    """Two or three programs of up to three buffers, of which two may be tied, and some are kept."""
    programs = []
    for name in "pqr"[: rng.choice((2, 2, 3))]:
        begins = [rng.randrange(3) for _ in range(rng.randint(1, 2 if name == "r" else 3))]
        buffers = [
            Buffer(id=f"b{at}", size=rng.randint(1, 2), lifetime=(begin, begin + rng.randint(1, 2)))
            for at, begin in enumerate(begins)
        ]
        relative = []
        if len(buffers) > 1 and rng.random() < 0.7:
            one, other = rng.sample(buffers, 2)
            relative = [Relative(buffer=one.id, base=other.id, offset=rng.randint(-1, 2))]
        programs.append(Program(id=name, problem=Problem(buffers=buffers, relative=relative)))
    kept: list[Kept] = []
    named: set[tuple[str, str]] = set()
    lives: list[Literal["always", "used"]] = ["always", "used"]
    for life in lives[: rng.randint(1, 2)]:
        chosen = [(program.id, rng.choice(program.problem.buffers).id) for program in programs]
        chosen = [pair for pair in chosen if pair not in named and rng.random() < 0.8]
        named.update(chosen)
        if chosen:
            kept.append(Kept(buffers=chosen, life=life))
    return Programs(programs=programs, kept=kept)


@pytest.mark.parametrize("seed", gate_first(range(60), 20))
def test_ties_within_programs_and_what_is_kept_go_together(seed: int) -> None:
    programs = tied_programs(Random(seed))
    most = 7

    def fits(offset: dict[str, int]) -> bool:
        placements = [Placement(buffer=name, pool="memory", offset=at) for name, at in offset.items()]
        own = program_plans(Plan(status=Status.FEASIBLE, placements=placements))
        return verify_programs(programs, own) == []

    if issues := find_programs_issues(programs):
        assert issues[0].code in ("kept_overlap", "two_distances")
        assert not any(map(fits, consistent_offsets(programs, most)))
        return
    joint = joint_problem(programs)
    planned = plan(joint, Options(deterministic=True))
    assert planned.status is Status.OPTIMAL
    assert verify_programs(programs, program_plans(planned)) == []
    size_of = {buffer.id: buffer.size for buffer in joint.buffers}
    ends = [
        max(at + size_of[name] for name, at in offset.items())
        for offset in consistent_offsets(programs, most)
        if max(at + size_of[name] for name, at in offset.items()) < planned.pools[0].peak and fits(offset)
    ]
    assert not ends


def consistent_offsets(programs: Programs, most: int) -> Iterator[dict[str, int]]:
    """Offsets below this one at which what is tied is as far apart as it must be."""
    ties = [
        (name_in_all(program.id, tie.buffer), name_in_all(program.id, tie.base), tie.offset)
        for program in programs.programs
        for tie in program.problem.relative
    ]
    bases = {one: (other, apart) for one, other, apart in ties}
    for offset in offsets_of(programs, most):
        if all(offset[one] == offset[other] + apart for one, (other, apart) in bases.items()):
            yield offset


def test_the_judge_refuses_pairs_in_place_that_what_is_kept_is_in() -> None:
    one = replace(
        pair_of((0, 1), (1, 2), None), conflicts=(("x", "y"),), in_place=(InPlace(input="x", output="y"),)
    )
    kept = [Kept(buffers=[("p", "x")], life="used")]
    document = Programs(programs=[Program(id="p", problem=one)], kept=kept)
    assert verify_programs(document, program_plans(places(p__x=0, p__y=0)))
    assert plan(joint_problem(document)).pools[0].peak == 16


def test_a_program_without_buffers_needs_no_plan() -> None:
    empty = Program(id="q", problem=Problem(buffers=[]))
    document = replace(BOTH, programs=(*BOTH.programs, empty))
    planned = plan(joint_problem(document))
    assert verify_programs(document, program_plans(planned)) == []


def kept_in_two(one: Problem, other: Problem, *kept: Kept) -> Programs:
    return Programs(programs=[Program(id="a", problem=one), Program(id="b", problem=other)], kept=kept)


def test_what_has_no_bytes_ties_nothing_that_is_kept() -> None:
    state = Problem(buffers=[Buffer(id="state", size=4, lifetime=(0, 1))])
    other = Problem(
        buffers=[Buffer(id="empty", size=0, lifetime=(0, 1)), Buffer(id="n", size=4, lifetime=(0, 1))],
        relative=[Relative(buffer="empty", base="n", offset=0)],
    )
    document = kept_in_two(state, other, Kept(buffers=[("a", "state"), ("b", "empty")]))
    assert plan(joint_problem(document)).pools[0].peak == 8
    assert verify_programs(document, program_plans(places(a__state=0, b__empty=0, b__n=0)))


def test_of_different_sizes_the_bytes_of_the_largest_survive() -> None:
    small = Problem(
        buffers=[Buffer(id="x", size=4, lifetime=(0, 1)), Buffer(id="w", size=4, lifetime=(0, 1))],
        relative=[Relative(buffer="w", base="x", offset=4)],
    )
    large = Problem(buffers=[Buffer(id="x", size=8, lifetime=(0, 1))])
    document = kept_in_two(small, large, Kept(buffers=[("a", "x"), ("b", "x")]))
    assert [issue.code for issue in find_programs_issues(document)] == ["kept_overlap"]
    assert verify_programs(document, program_plans(places(a__x=0, a__w=4, b__x=0)))
    untied = kept_in_two(replace(small, relative=()), large, Kept(buffers=[("a", "x"), ("b", "x")]))
    assert plan(joint_problem(untied)).pools[0].peak == 12


def test_what_another_program_ties_survives_in_one_that_does_not() -> None:
    """It may only be overwritten where both are of one rigid group."""
    kept = [Kept(buffers=[("a", name), ("b", name)]) for name in "xy"]
    document = kept_in_two(pair_of((0, 1), (1, 2), None, 4), pair_of((0, 1), (0, 1), 2, 4), *kept)
    assert [issue.code for issue in find_programs_issues(document)] == ["kept_overlap"]
    assert verify_programs(document, program_plans(places(a__x=0, a__y=2, b__x=0, b__y=2)))


def test_a_buffer_without_bytes_may_be_beyond_the_arena() -> None:
    empty = Buffer(id="z", size=0, pool="memory", offset=64)
    problem = Problem(buffers=[Buffer(id="x", size=4, lifetime=(0, 1)), empty])
    joint = joint_problem(Programs(programs=[Program(id="a", problem=problem)]))
    assert FORMAT.write_plan is not None
    assert FORMAT.read_plan is not None
    written = json.loads(FORMAT.write_plan(joint, plan(joint)))
    assert written["arenas"] == [{"pool": "memory", "bytes": 4}]
    assert verify(joint, FORMAT.read_plan(written, joint)) == []
