"""libmemstow with several pools, costs and any objective: the plans of the package in deterministic mode."""

import ctypes
from dataclasses import replace
from random import Random

import pytest

from memstow.planner.check import find_issues
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Crowds, Exhausted, Least, LiveBytes, Placement, Plan, Sum
from memstow.planner.model.problem import ALWAYS, Kind, Problem
from memstow.planner.solve.engine import plan
from tests.campaign import gate_first
from tests.planner.library.c_library import (
    ADDRESSES,
    ALLOCATE,
    CROWDS,
    DETERMINISTIC,
    FEW_MOVES,
    FIT_ONLY,
    INVALID,
    LEAST,
    LIBRARY,
    LIVE,
    OUT_OF_MEMORY,
    RELEASE,
    SEARCH,
    SUM,
    LibraryError,
    Native,
    RawAllocator,
    Solved,
    native_of,
    numbers,
)
from tests.problems import banked_problem, costly_problem, random_problem
from tests.referee import best

WORK = 300_000
PROOFS = {LiveBytes: LIVE, Exhausted: SEARCH, Sum: SUM, Least: LEAST, Crowds: CROWDS}


def has_lives(problem: Problem) -> bool:
    """Buffers of the library have lifetimes."""
    return all(buffer.lifetime is not None or buffer.lifetimes for buffer in problem.buffers)


def drawn(rng: Random) -> Problem:
    """A problem with every feature mixed, of a few buffers or of some tens."""
    while True:
        make = rng.choice((random_problem, random_problem, costly_problem, banked_problem, banked_problem))
        problem = make(rng, rng.choice((3, 6, 14, 30)))
        if make is not banked_problem and rng.random() < 0.4:
            terms = ["peak", "max_peak", "placement_cost", "reuse_cost", "preference"]
            terms += [f"peak:{pool.id}" for pool in problem.pools]
            problem = replace(problem, objective=tuple(rng.sample(terms, rng.randint(0, 3))))
        if has_lives(problem) and not find_issues(problem):
            return problem


def agree(problem: Problem, ours: Solved, wanted: Plan) -> None:
    """The library says what the package says."""
    assert ours.status == wanted.status
    number_of = {buffer.id: number for number, buffer in enumerate(problem.buffers)}
    if wanted.status is Status.INFEASIBLE:
        assert wanted.explanation is not None
        assert sorted(ours.members) == sorted(number_of[name] for name in wanted.explanation.buffers)
        if wanted.explanation.needed is not None:
            assert ours.bound == wanted.explanation.needed
    if wanted.status not in PLANNED:
        return
    pool_of = {pool.id: number for number, pool in enumerate(problem.pools)}
    assert ours.offsets == tuple(place.offset for place in wanted.placements)
    assert ours.pool_of == tuple(pool_of[place.pool] for place in wanted.placements)
    assert (ours.solver, ours.work) == (wanted.solver, wanted.work)
    assert ours.peak == sum(use.peak for use in wanted.pools)
    for mine, use in zip(ours.pools, wanted.pools, strict=True):
        assert (mine.peak, mine.bound) == (use.peak, use.bound)
        if use.certificate is not None:
            assert mine.members == tuple(sorted(number_of[name] for name in use.certificate.buffers))
    for term, other in zip(ours.terms, wanted.objective, strict=True):
        name = str(term.kind.value)
        assert other.term in (name, f"peak:{problem.pools[term.pool].id}")
        assert (term.value, term.bound) == (other.value, other.bound)
        proof = PROOFS.get(type(other.certificate), ADDRESSES)
        # Where both are 0 nobody asks why.
        assert term.proof == proof or not term.bound
        if isinstance(other.certificate, Crowds):
            crowds = [(tuple(map(number_of.get, one.buffers)), one.cost) for one in other.certificate.crowds]
            assert list(ours.crowds) == crowds
        if isinstance(other.certificate, Exhausted) and other.certificate.solver == "reuse":
            assert [step.nodes for step in other.certificate.refuted] == [term.searches]


@pytest.mark.parametrize("seed", gate_first(range(100), 30))
def test_the_library_gives_the_plan_of_the_package(seed: int) -> None:
    rng = Random(seed)
    for _ in range(4):
        problem = drawn(rng)
        gap = rng.choice((0.0, 0.0, 0.0, 0.3))
        wanted = plan(problem, Options(deterministic=True, work_limit=WORK, seed=seed, gap=gap))
        flags = DETERMINISTIC | (0 if problem.terms() else FIT_ONLY)
        ours = native_of(problem).solve(flags=flags, work_limit=WORK, seed=seed, gap=gap)
        agree(problem, ours, wanted)


@pytest.mark.parametrize("seed", range(30))
def test_plans_from_an_earlier_one_are_those_of_the_package(seed: int) -> None:
    rng = Random(seed)
    for _ in range(4):
        problem = drawn(rng)
        first = plan(problem, Options(deterministic=True, work_limit=WORK)).placements
        kept = [place for place in first if rng.random() < 0.8]
        kept = [replace(place, offset=place.offset + rng.choice((0, 0, 0, 1, 4))) for place in kept]
        kept = [replace(place, pool=rng.choice((place.pool, place.pool, "gone"))) for place in kept]
        terms = list(problem.terms())
        if rng.random() < 0.7:
            terms.insert(rng.randint(0, len(terms)), "moves")
        problem = replace(problem, objective=tuple(terms))
        hint = Plan(status=Status.FEASIBLE, placements=tuple(kept))
        wanted = plan(problem, Options(deterministic=True, work_limit=WORK, hint=hint))
        start, pools = places(problem, kept)
        flags = DETERMINISTIC | (0 if problem.terms() else FIT_ONLY)
        if len(problem.pools) == 1 and "moves" not in terms:
            continue  # a start of one pool is more than a hint
        ours = native_of(problem).solve(flags=flags, work_limit=WORK, start=start, start_pools=pools)
        agree(problem, ours, wanted)
        moved = [term.value for term in ours.terms if term.kind is Kind.MOVES]
        assert moved in ([], [ours.moves])
        if terms[:1] == ["moves"] and len(terms) > 1:
            without = replace(problem, objective=tuple(terms[1:]))
            again = native_of(without).solve(
                flags=DETERMINISTIC | FEW_MOVES, work_limit=WORK, start=start, start_pools=pools
            )
            assert again == ours


def places(problem: Problem, kept: list[Placement]) -> tuple[list[int], list[int]]:
    """By buffer, its offset, or -1, and its pool, which may be none."""
    place_of = {place.buffer: place for place in kept}
    names = [pool.id for pool in problem.pools]
    start, pools = [], []
    for buffer in problem.buffers:
        place = place_of.get(buffer.id)
        start.append(-1 if place is None else place.offset)
        pools.append(0 if place is None else names.index(place.pool) if place.pool in names else 99)
    return start, pools


def test_no_plan_is_better_than_brute_force_and_no_bound_above_it() -> None:
    rng = Random(4)
    proven = 0
    for _ in range(300):
        problem = random_problem(rng)
        if not has_lives(problem):
            continue
        status, vector = best(problem)
        ours = native_of(problem).solve(flags=DETERMINISTIC | (0 if problem.terms() else FIT_ONLY))
        if vector is None:
            assert ours.status in (status, Status.UNKNOWN)
            continue
        assert ours.status in (*PLANNED, Status.UNKNOWN)
        if ours.offsets is None:
            continue
        values, bounds = (tuple(getattr(term, what) for term in ours.terms) for what in ("value", "bound"))
        assert values >= vector
        assert bounds[:1] <= vector[:1]
        if ours.status is Status.OPTIMAL:
            assert values == vector
            proven += 1
    assert proven > 80


def two_pools() -> Native:
    """A fast pool of 8 bytes and a slow one; two buffers that are live at once."""
    native = Native()
    native.call("set_capacity", 8)
    native.call("set_cost", 0, 1)
    native.add_pools([1 << 62], [4])
    native.add([(8, 0, 2, 1), (8, 1, 3, 1)])
    return native


def test_what_is_read_most_is_in_the_cheap_pool() -> None:
    native = two_pools()
    native.call("set_accesses", 1, 100)
    solved = native.solve()
    assert (solved.pool_of, solved.offsets, solved.peak) == ((1, 0), (0, 0), 16)
    assert [(term.kind, term.value, term.bound, term.proof) for term in solved.terms] == [
        (Kind.PLACEMENT_COST, 132, 132, SEARCH),
        (Kind.PEAK, 16, 16, LIVE),
    ]
    native.allow(1, [1])
    assert native.solve().pool_of == (0, 1)
    native.call("set_addresses", 1, 4, 16)
    assert native.solve().offsets == (0, 12)


def banked() -> Native:
    """Three banks of 8 bytes, and a byte beside them."""
    native = Native()
    native.call("set_capacity", 25)
    native.call("add_banks", 0, 0, 8, 3)
    native.add([(4, time, time + 2, 1) for time in range(4)])
    return native


def test_buffers_are_in_banks_apart_and_pay() -> None:
    native = banked()
    native.call("keep_within_bank", 0)
    native.allow_banks(1, [2])
    native.conflict([0, 2], None)
    native.conflict([0, 1, 2, 3], 3)
    native.call("add_term", 7, 0)
    solved = native.solve()
    assert solved.solver == "banks"
    (term,) = solved.terms
    assert (solved.status, term.value, term.bound, term.proof) == (Status.OPTIMAL, 3, 3, CROWDS)
    assert solved.offsets is not None
    assert solved.offsets[1] >= 16
    assert solved.offsets[0] // 8 != solved.offsets[2] // 8
    # A buffer of one byte has a place beside the banks, where nothing is paid.
    native.add([(1, 0, 9, 1)])
    native.conflict([0, 4], 5)
    assert native.solve().terms[0].value == 3


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ((6, 20, 8, 12), "a place across banks: buffer 0"),
        ((21, 16, 8, 12), "a place across banks: buffer 0"),
        ((0, 8, 8, 12), "a bank that it may not be in: buffer 1"),
        ((0, 14, 8, 4), "a bank that it may not be in: buffer 1"),
        ((0, 20, 4, 12), "a bank that two may not share: buffer 0 and buffer 2"),
        ((8, 20, 14, 4), "a bank that two may not share: buffer 0 and buffer 2"),
    ],
)
def test_the_judge_knows_banks(offsets: tuple[int, ...], message: str) -> None:
    native = banked()
    native.call("keep_within_bank", 0)
    native.allow_banks(1, [2])
    native.conflict([0, 2], None)
    assert native.judge((0, 16, 8, 0)) == 20
    with pytest.raises(LibraryError, match=message):
        native.judge(offsets)


def test_what_is_wrong_with_banks_is_said_and_changes_nothing() -> None:
    native = banked()
    for arguments, message in (
        ((1, 0, 8, 1), "there is no pool 1"),
        ((0, 0, 0, 1), "a bank's size of 0"),
        ((0, -1, 8, 1), "an offset of -1"),
        ((0, 20, 8, 1), "banks from 20 to 28 overlap those from 0"),
        ((0, 24, 1, 4094), "more than 4096 banks"),
        ((0, 24, 1, (1 << 64) - 1), "more than 4096 banks"),
        ((0, 1 << 61, 1 << 60, 3), "above 2"),
    ):
        with pytest.raises(LibraryError, match=message) as refused:
            native.call("add_banks", *arguments)
        assert refused.value.code == INVALID
    with pytest.raises(LibraryError, match="there is no buffer 4"):
        native.call("keep_within_bank", 4)
    for banks, message in (([], "in no bank"), ([1, 1], "bank 1 twice"), ([4096], "no bank 4096")):
        with pytest.raises(LibraryError, match=message):
            native.allow_banks(0, banks)
    for named, cost, message in (
        ([0], 1, "fewer than two"),
        ([0, 0], 1, "buffer 0 twice"),
        ([0, 4], 1, "there is no buffer 4"),
        ([0, 1], -2, "a cost of -2"),
        ([0, 1, 2], 1 << 61, "add up to more than 2"),
    ):
        with pytest.raises(LibraryError, match=message):
            native.conflict(named, cost)
    assert LIBRARY.memstow_allow_banks(native.handle, 0, 1, None) == INVALID
    assert LIBRARY.memstow_add_bank_conflict(native.handle, 1 << 40, numbers([0, 1]), 1) == INVALID
    assert native.solve() == banked().solve()


def test_banks_that_no_pool_has_are_named_when_it_is_solved() -> None:
    native = banked()
    native.allow_banks(2, [1, 3])
    with pytest.raises(LibraryError, match="buffer 2 must be in a bank, and no pool"):
        native.solve()
    native.call("add_banks", 0, 24, 8, 1)
    assert native.solve().status in PLANNED
    elsewhere = banked()
    elsewhere.add_pools([64], [0])
    elsewhere.call("keep_within_bank", 0)
    elsewhere.allow(0, [1])
    with pytest.raises(LibraryError, match="buffer 0 must be in a bank, and no pool"):
        elsewhere.solve()


def test_more_pairs_of_banks_than_can_be_listed_are_refused() -> None:
    native = Native()
    native.add([(4, 0, 1, 1)] * 1500)
    with pytest.raises(LibraryError, match="more than 1,000,000 pairs"):
        native.conflict(range(1500), 1)
    native.conflict(range(1000), 0)
    native.conflict(range(1000), 0)
    with pytest.raises(LibraryError, match="more than 1,000,000 pairs"):
        native.conflict(range(100), 0)


def test_what_has_no_bytes_may_be_tied_to_the_middle_of_what_it_conflicts_with() -> None:
    native = Native()
    native.add([(0, 0, 1, 1), (4, 0, 1, 1)])
    native.call("tie", 1, 0, -1)
    native.call("keep_apart", 0, 1)
    assert native.solve().status is Status.OPTIMAL


def test_callbacks_have_the_pools() -> None:
    native, heard = two_pools(), list[tuple[int, list[int], list[int]]]()

    def better(peak: int, pools: list[int], offsets: list[int]) -> bool:
        assert native.judge(offsets, pools) == peak
        heard.append((peak, pools, offsets))
        return True

    solved = native.solve(on_better_in=better)
    assert heard
    assert heard[-1][0] == solved.peak


def test_a_need_of_several_pools_together_is_named() -> None:
    native = two_pools()
    native.add([(8, 0, 3, 1)])
    for buffer in range(3):
        native.allow(buffer, [1, 0])
    # No end: nothing can be shown. With one, all three are too much for both.
    assert native.solve().status in PLANNED
    full = Native()
    full.call("set_capacity", 8)
    full.add_pools([12], [0])
    full.call("reserve_in", 1, 0, 4)
    full.add([(8, 0, 2, 1), (8, 1, 3, 1), (8, 0, 3, 1)])
    solved = full.solve()
    assert (solved.status, solved.members, solved.bound) == (Status.INFEASIBLE, (0, 1, 2), 24 + 4)


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        ("set_cost", (2, 1), "there is no pool 2: the problem has 2"),
        ("set_cost", (0, -1), "a cost of -1"),
        ("set_addresses", (0, -1, 1), "a base of -1"),
        ("set_addresses", (0, 0, 0), "an alignment of 0"),
        ("set_addresses", (9, 0, 1), "there is no pool 9"),
        ("reserve_in", (2, 0, 1), "there is no pool 2"),
        ("reserve_in", (1, 0, -1), "-1 bytes that are reserved at 0"),
        ("set_accesses", (2, 1), "there is no buffer 2"),
        ("set_accesses", (0, -1), "accesses of -1"),
        ("add_reuse_cost", (0, 0, 1), "buffer 0 twice"),
        ("add_reuse_cost", (0, 1, -1), "a cost of -1"),
        ("add_term", (8, 0), "there is no term 8"),
        ("add_term", (-1, 0), "there is no term -1"),
        ("add_term", (1, 2), "there is no pool 2"),
    ],
)
def test_what_is_wrong_is_said_and_changes_nothing(
    call: str, arguments: tuple[int, ...], message: str
) -> None:
    native = two_pools()
    with pytest.raises(LibraryError, match=message) as refused:
        native.call(call, *arguments)
    assert refused.value.code == INVALID
    assert native.solve() == two_pools().solve()


def test_lists_of_pools_name_each_pool_once() -> None:
    native = two_pools()
    for pools, message in (([], "no pool"), ([2], "there is no pool 2"), ([1, 0, 1], "pool 1 twice")):
        with pytest.raises(LibraryError, match=message):
            native.allow(0, pools)
    assert LIBRARY.memstow_allow_pools(native.handle, 0, 1, None) == INVALID
    assert LIBRARY.memstow_add_pools(native.handle, 1, None, None) == INVALID
    assert native.solve() == two_pools().solve()
    with pytest.raises(LibraryError, match="a capacity of -1"):
        native.add_pools([4, -1], [0, 0])
    assert LIBRARY.memstow_pool_count(native.handle) == 2
    native.call("add_term", 4, 0)
    with pytest.raises(LibraryError, match="in the objective already"):
        native.call("add_term", 4, 0)


def test_costs_that_cannot_be_added_up_are_refused() -> None:
    native = two_pools()
    native.call("set_accesses", 0, 1 << 61)
    with pytest.raises(LibraryError, match="costs of accesses"):
        native.solve()
    native = two_pools()
    for _ in range(2):
        native.call("add_reuse_cost", 0, 1, 1 << 62)
    with pytest.raises(LibraryError, match="reuse costs"):
        native.solve()
    native = Native()
    native.add_pools([1 << 62], [0])
    native.add([((1 << 62) - 4, 5, 6, 1), ((1 << 62) - 4, 7, 8, 1)])
    native.call("add_term", 6, 0)
    with pytest.raises(LibraryError, match="preferences"):
        native.solve()


@pytest.mark.parametrize(
    ("offsets", "pools", "message"),
    [
        ((0, 0), (0, 0), "an overlap: buffer 0 and buffer 1"),
        ((0, 0), (0, 2), "a pool that it may not go to: buffer 1"),
        ((14, 4), (1, 0), "a place beyond the memory: buffer 1"),
        ((0, 1), (0, 1), "not aligned: buffer 1"),
        ((0, 6), (0, 1), "a reserved range: buffer 1"),
    ],
)
def test_the_judge_knows_pools(offsets: tuple[int, ...], pools: tuple[int, ...], message: str) -> None:
    native = two_pools()
    native.call("set_addresses", 1, 2, 4)
    native.call("reserve_in", 1, 8, 4)
    assert native.judge((0, 14), (0, 1)) == 8 + 22
    with pytest.raises(LibraryError, match=message):
        native.judge(offsets, pools)
    native.allow(0, [1])
    with pytest.raises(LibraryError, match="a pool that it may not go to: buffer 0"):
        native.judge((0, 14), (0, 1))
    native = two_pools()
    native.call("tie", 0, 1, 0)
    with pytest.raises(LibraryError, match="distance"):
        native.judge((0, 0), (0, 1))


class Counted:
    """An allocator that counts, and that has no more memory after so many calls."""

    def __init__(self, most: int) -> None:
        self.calls, self.most = 0, most
        self.blocks = dict[int, "ctypes.Array[ctypes.c_char]"]()
        self.raw = RawAllocator(ALLOCATE(self._allocate), RELEASE(self._release), None)

    def _allocate(self, _context: int | None, size: int) -> int | None:
        self.calls += 1
        if self.calls > self.most:
            return None
        block = ctypes.create_string_buffer(size + 16)
        place = -(-ctypes.addressof(block) // 16) * 16
        self.blocks[place] = block
        return place

    def _release(self, _context: int | None, memory: int, size: int) -> None:
        assert len(self.blocks.pop(memory)) == size + 16


def everything(native: Native) -> Native:
    """Each kind of list that a problem has."""
    native.add_pools([64], [2])
    native.add([(8, begin, begin + 2, 1) for begin in range(6)])
    native.call("reserve_in", 1, 0, 4)
    native.allow(0, [1, 0])
    native.call("pin", 1, 16)
    native.call("set_accesses", 2, 4)
    native.call("add_lifetime", 3, 20, 21)
    native.call("tie", 4, 5, 4)
    native.call("keep_apart", 0, 5)
    native.call("never_together", 0, 1)
    native.call("allow_in_place", 2, 3)
    native.call("add_reuse_cost", 0, 3, 2)
    native.call("add_banks", 1, 0, 32, 2)
    native.call("keep_within_bank", 0)
    native.allow_banks(0, [1, 0])
    native.conflict([0, 3, 5], 2)
    native.call("add_term", 4, 0)
    native.call("add_term", 7, 0)
    native.call("add_term", 0, 0)
    return native


def test_memory_is_from_the_allocator_and_goes_back_there() -> None:
    memory = Counted(1 << 30)
    solved = everything(Native(memory.raw)).solve()
    assert memory.calls > 20
    assert not memory.blocks
    assert solved == everything(Native()).solve()


def test_a_lack_of_memory_is_a_code_whenever_it_comes() -> None:
    enough = Counted(1 << 30)
    everything(Native(enough.raw)).solve()
    for most in range(enough.calls):
        memory = Counted(most)
        with pytest.raises(LibraryError) as refused:
            everything(Native(memory.raw)).solve()
        assert refused.value.code == OUT_OF_MEMORY
        del refused
        assert not memory.blocks, most


def test_an_allocator_without_functions_is_refused() -> None:
    with pytest.raises(LibraryError) as refused:
        Native(RawAllocator())
    assert refused.value.code == INVALID


def test_a_plan_that_is_none_says_nothing() -> None:
    for name in ("status", "peak", "moves", "bound", "terms", "crowds", "proof", "work"):
        expected = 3 if name == "status" else 0
        assert getattr(LIBRARY, f"memstow_plan_{name}")(None) == expected
    assert not LIBRARY.memstow_plan_offsets(None)
    assert not LIBRARY.memstow_plan_pools(None)
    assert LIBRARY.memstow_plan_solver(None) == b""
    for name in ("proof_buffers", "proof_pools", "proof_time"):
        assert getattr(LIBRARY, f"memstow_plan_{name}")(None, None) == 0
    for name in ("proof_window", "searches"):
        assert getattr(LIBRARY, f"memstow_plan_{name}")(None, None, None) == 0
    for name in ("pool_proof", "pool_proof_time"):
        assert getattr(LIBRARY, f"memstow_plan_{name}")(None, 0, None) == 0
    assert LIBRARY.memstow_plan_pool(None, 0, None, None) == 0
    assert LIBRARY.memstow_plan_crowd(None, 0, None, None) == 0
    assert LIBRARY.memstow_plan_term(None, 0, *(None,) * 6) == 0
    assert LIBRARY.memstow_pool_count(None) == 0


def test_the_problems_of_these_tests_have_all_there_is() -> None:
    rng = Random(2)
    assert any(
        buffer.lifetime == ALWAYS for problem in (drawn(rng) for _ in range(40)) for buffer in problem.buffers
    )
    assert len({len(drawn(rng).pools) for _ in range(40)}) == 3


@pytest.mark.parametrize("seed", range(20))
def test_each_plan_that_is_reported_has_a_lower_placement_cost(seed: int) -> None:
    rng = Random(seed)
    native, costs, accesses = two_pools(), (1, 4), [8, 8]
    for buffer in range(2, 2 + rng.randint(4, 9)):
        begin = rng.randrange(6)
        native.add([(rng.randint(1, 4), begin, begin + rng.randint(1, 3), 1)])
        accesses.append(rng.randint(1, 50))
        native.call("set_accesses", buffer, accesses[-1])
    output = list[int]()

    def better(_: int, pools: list[int], __: list[int]) -> bool:
        output.append(sum(count * costs[pool] for count, pool in zip(accesses, pools, strict=True)))
        return True

    solved = native.solve(on_better_in=better)
    assert output == sorted(output, reverse=True)
    assert solved.terms[0].value <= output[-1]
