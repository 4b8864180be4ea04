"""The fewest buffers that must change, against every set of buffers tried by brute force."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from random import Random

import pytest

from memstow.planner.explain.needs import needs
from memstow.planner.explain.shortfall import Change, Cover, Demand, Shortfall, Work, shortfall, with_changes
from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import Buffer, InPlace, Pool, Problem, Relative, Reserved, spans


def live_sets(buffers: Iterable[Buffer]) -> list[list[Buffer]]:
    """What is live at each whole time."""
    there = list(buffers)
    return [[entry for entry in there if lives_at(entry, time)] for time in range(12)]


def lives_at(buffer: Buffer, time: int) -> bool:
    if buffer.lifetime == "always":
        return True
    ranges = buffer.lifetimes if buffer.lifetimes is not None else (buffer.lifetime,)
    return any(entry is not None and entry[0] <= time < entry[1] for entry in ranges)


def most_apart(problem: Problem, there: list[Buffer]) -> int:
    """The most bytes of buffers of which no two may share bytes."""
    sharing = {frozenset(pair) for pair in problem.exclusive} - {
        frozenset(conflict) for conflict in problem.conflicts
    }
    sharing |= {frozenset((pair.input, pair.output)) for pair in problem.in_place}
    size = {buffer.id: buffer.size for buffer in problem.buffers}
    for tie in problem.relative:
        if -size[tie.buffer] < tie.offset < size[tie.base]:
            sharing.add(frozenset((tie.buffer, tie.base)))
    best = 0
    for chosen in range(1 << len(there)):
        some = [entry for place, entry in enumerate(there) if chosen >> place & 1]
        if not any(frozenset((a.id, b.id)) in sharing for a, b in combinations(some, 2)):
            best = max(best, sum(buffer.size for buffer in some))
    return best


def peak(problem: Problem) -> int:
    return max(most_apart(problem, there) for there in live_sets(problem.buffers))


def fewest(problem: Problem, wanted: int) -> int:
    """How many buffers must go for no moment to be too full."""
    for count in range(len(problem.buffers) + 1):
        for gone in combinations(problem.buffers, count):
            left = tuple(buffer for buffer in problem.buffers if buffer not in gone)
            if all(most_apart(problem, there) <= wanted for there in live_sets(left)):
                return count
    raise AssertionError


def random_problem(random: Random, share: bool) -> Problem:
    buffers = []
    for place in range(random.randint(1, 8)):
        size = random.choice((1, 2, 3, 5, 8, 8))
        begin = random.randrange(10)
        kind = random.random()
        if kind < 0.1:
            buffers.append(Buffer(id=f"b{place}", size=size, lifetime="always"))
        elif kind < 0.3:
            later = (begin + 2, min(begin + 4, 12))
            buffers.append(Buffer(id=f"b{place}", size=size, lifetimes=((begin, begin + 1), later)))
        else:
            end = random.randint(begin + 1, 12)
            buffers.append(Buffer(id=f"b{place}", size=size, lifetime=(begin, end)))
    pairs = list(combinations([buffer.id for buffer in buffers], 2))
    random.shuffle(pairs)
    some = pairs[: random.randint(0, 3)] if share else []
    exclusive = tuple(some[:2])
    in_place = tuple(InPlace(input=a, output=b) for a, b in some[2:])
    conflicts = exclusive[:1] if random.random() < 0.3 else ()
    free = pairs[3:] if share and random.random() < 0.5 else []
    relative = [Relative(buffer=a, base=b, offset=random.randint(-6, 6)) for a, b in free[:1]]
    return Problem(
        buffers=buffers, exclusive=exclusive, in_place=in_place, conflicts=conflicts, relative=relative
    )


@pytest.mark.parametrize("share", [False, True])
def test_no_set_of_fewer_buffers_does(share: bool) -> None:
    several = 0
    for seed in range(150):
        problem = random_problem(Random(seed), share)
        wanted = Random(-seed).randrange(peak(problem) + 1)
        missing = shortfall(problem, wanted)
        if missing is None:
            # What it counts where buffers may share bytes may be less than there is, and never more.
            assert share or peak(problem) <= wanted, seed
            continue
        assert peak(problem) > wanted, seed
        truth = fewest(problem, wanted)
        assert missing.least <= truth, seed
        assert share or missing.count == missing.least == truth, seed
        several += missing.count > 1
        changed = with_changes(problem, [missing])
        assert share or peak(changed) <= wanted, seed
        assert shortfall(changed, wanted) is None, seed
        assert shortfall(with_changes(problem, [missing], leave_out=True), wanted) is None, seed
    assert several > 20


def test_each_way_to_change_a_buffer_is_enough_beside_the_others() -> None:
    ways = 0
    for seed in range(150):
        problem = random_problem(Random(seed), share=False)
        wanted = Random(-seed).randrange(1, peak(problem) + 1)
        missing = shortfall(problem, wanted)
        for change in () if missing is None else missing.changes:
            assert missing is not None
            others = replace(
                missing, changes=tuple(entry for entry in missing.changes if entry is not change)
            )
            beside = with_changes(problem, [others])
            assert peak(beside) > wanted, seed
            for other in instead(beside, change):
                assert peak(other) <= wanted, (seed, change)
                ways += 1
    assert ways > 100


def used_times(problem: Problem) -> range:
    """From the first time that the problem names to the last."""
    ranges = [span for buffer in problem.buffers for span in spans(buffer)]
    return range(min(begin for begin, _ in ranges), max(end for _, end in ranges))


def instead(beside: Problem, change: Change) -> list[Problem]:
    """The problem in which the buffer is away for a time, or another one is gone."""
    made = [
        replace(beside, buffers=tuple(buffer for buffer in beside.buffers if buffer.id != other))
        for other in change.instead
    ]
    away = change.away
    if away is not None:
        (one,) = (buffer for buffer in beside.buffers if buffer.id == change.buffer)
        steps = [
            (time, time + 1)
            for time in used_times(beside)
            if lives_at(one, time) and not away.begin <= time < away.end
        ]
        assert away.lives_before == any(step[0] < away.begin for step in steps)
        assert away.lives_after == any(step[0] >= away.end for step in steps)
        kept = replace(one, lifetime=None, lifetimes=tuple(steps))
        made.append(
            replace(beside, buffers=tuple(kept if buffer is one else buffer for buffer in beside.buffers))
        )
    return made


A, B, C = (Buffer(id=name, size=4, lifetime=(at, at + 2)) for at, name in enumerate("abc"))


def found_in(problem: Problem, wanted: int, pool: str | None = None) -> Shortfall:
    missing = shortfall(problem, wanted, pool)
    assert missing is not None
    return missing


def test_moments_are_listed_with_what_is_live_in_each() -> None:
    result = found_in(Problem(buffers=[A, B, C]), 6)
    assert [(moment.begin, moment.end, moment.live, moment.buffers) for moment in result.hardest] == [
        (1, 2, 8, ("a", "b")),
        (2, 3, 8, ("b", "c")),
    ]
    assert (result.moments, result.count, result.least) == (2, 1, 1)
    (change,) = result.changes
    assert (change.buffer, change.shrink, change.away, change.instead) == ("b", 2, None, ())
    always = found_in(Problem(buffers=[Buffer(id="x", size=9, lifetime="always")]), 3)
    assert [(moment.begin, moment.end) for moment in always.hardest] == [(None, None)]


def test_what_reserved_ranges_take_is_no_room() -> None:
    pool = Pool(id="p", reserved=[Reserved(offset=2, size=1), Reserved(offset=7, size=9)])
    problem = Problem(pools=[pool], buffers=[A, B])
    assert shortfall(problem, 9, "p") is not None
    assert found_in(problem, 8).room == 6


def test_another_pool_is_named_as_long_as_it_has_room() -> None:
    held = replace(C, pool="other")
    pools = [Pool(id="p"), Pool(id="other", capacity=8), Pool(id="full", capacity=7)]
    problem = Problem(pools=pools, buffers=[*(replace(entry, pool="p") for entry in (A, B)), held])
    (change,) = found_in(problem, 5, "p").changes
    assert change.pools == ("other", "full")
    # Nothing is left in `other` for the second of them.
    both = found_in(problem, 0, "p").changes
    assert [entry.pools for entry in both] == [("other", "full"), ("full",)]
    free = Problem(pools=pools, buffers=[A, B, C])
    assert shortfall(free, 0, "p") is None


def test_what_stays_is_a_multiple_of_the_alignment() -> None:
    buffers = [replace(entry, size=64, alignment=16) for entry in (A, B)]
    (change,) = found_in(Problem(buffers=buffers), 100).changes
    assert change.shrink == 32


def test_without_work_the_set_is_one_that_does_and_its_least_is_honest() -> None:
    checked = 0
    for seed in range(60):
        problem = random_problem(Random(seed), share=False)
        wanted = Random(-seed).randrange(peak(problem) + 1)
        missing = Demand(problem, "memory").shortfall(wanted, Work(0))
        if missing is None:
            continue
        assert missing.least <= fewest(problem, wanted) <= missing.count, seed
        assert peak(with_changes(problem, [missing])) <= wanted, seed
        checked += missing.least < missing.count
    assert checked


def test_without_work_none_has_to_change_that_may_stay_beside_others() -> None:
    buffers = [
        Buffer(id="a", size=6, lifetime=(4, 8)),
        Buffer(id="b", size=6, lifetime=(3, 7)),
        Buffer(id="c", size=6, lifetime=(4, 7)),
    ]
    problem = Problem(buffers=buffers, exclusive=[("a", "c")])
    missing = Demand(problem, "memory").shortfall(7, Work(0))
    assert missing is not None
    assert missing.least == missing.count == len(missing.changes) == 1
    assert peak(with_changes(problem, [missing])) <= 7


def test_a_cover_is_smallest_against_brute_force() -> None:
    for seed in range(200):
        random = Random(seed)
        amounts = [random.randint(1, 6) for _ in range(8)]
        sums = []
        for _ in range(random.randint(1, 4)):
            members = random.sample(range(8), random.randint(1, 8))
            sums.append((random.randint(1, sum(amounts[member] for member in members)), members))
        cover = Cover(9)
        for excess, members in sums:
            cover.require(excess, {member: amounts[member] for member in members})
        chosen = cover.smallest(Work())
        assert chosen is not None
        assert all(
            sum(amounts[entry] for entry in chosen.intersection(members)) >= excess
            for excess, members in sums
        )
        assert cover.least == len(chosen)
        for fewer in combinations(range(8), len(chosen) - 1):
            assert any(
                sum(amounts[entry] for entry in fewer if entry in members) < excess
                for excess, members in sums
            ), seed


def test_the_solvers_confirm_it() -> None:
    problem = Problem(pools=[Pool(id="p", capacity=6)], buffers=[A, B, C])
    need = needs(problem, 20.0)
    assert need.shortfalls is not None
    assert [entry.count for entry in need.shortfalls] == [1]
    assert need.confirmed == "shrunk"
    # What is left of `b` lies where the pin is, so only without `b` there is a plan.
    pin = Buffer(id="pin", size=1, lifetime=(0, 4), pool="p", offset=4)
    tied = replace(problem, buffers=(A, B, pin), relative=(Relative(buffer="b", base="a", offset=4),))
    assert needs(tied, 20.0).confirmed == "left_out"
    assert needs(replace(problem, pools=(Pool(id="p", capacity=8),)), 20.0).shortfalls == ()


def test_without_time_nothing_is_counted() -> None:
    need = needs(Problem(pools=[Pool(id="p", capacity=6)], buffers=[A, B, C]), 0.0)
    assert need.shortfalls is None
    assert need.confirmed is None


@pytest.mark.parametrize(("pool", "code"), [(None, "no_pool"), ("r", "unknown_pool")])
def test_a_pool_must_be_named_where_there_are_several(pool: str | None, code: str) -> None:
    problem = Problem(pools=[Pool(id="p"), Pool(id="q")], buffers=[A])
    with pytest.raises(InputError) as raised:
        shortfall(problem, 1, pool)
    assert [issue.code for issue in raised.value.issues] == [code]


@pytest.mark.campaign
def test_thousands_of_equal_buffers_end() -> None:
    random = Random(3)
    buffers = []
    for place in range(3000):
        begin = random.randrange(2000)
        buffers.append(Buffer(id=f"b{place}", size=8, lifetime=(begin, begin + random.randint(1, 60))))
    result = found_in(Problem(buffers=buffers), 300)
    assert 0 < result.least <= result.count
    assert len(result.changes) <= result.count


def test_buffers_that_are_one_change_as_one() -> None:
    cache, past = (Buffer(id=name, size=3, lifetime="always") for name in ("cache", "past"))
    other = Buffer(id="other", size=2, lifetime=(0, 1))
    tie = Relative(buffer="past", base="cache", offset=0)
    problem = Problem(buffers=[cache, past, other], relative=[tie])
    result = found_in(problem, 1)
    assert (result.count, result.least) == (2, 2)
    result = found_in(problem, 4)
    assert [(change.buffer, change.shrink) for change in result.changes] == [("cache", 1)]
    changed = with_changes(problem, [result])
    assert [buffer.size for buffer in changed.buffers] == [2, 2, 2]


def test_a_tied_buffer_that_goes_leaves_what_lies_on_it() -> None:
    """Members at both ends of a large one still need its bytes."""
    large, low, high = (
        Buffer(id=name, size=size, lifetime=(0, 1)) for name, size in (("large", 4), ("low", 2), ("high", 2))
    )
    other = Buffer(id="other", size=2, lifetime=(0, 1))
    ties = [Relative(buffer="low", base="large", offset=0), Relative(buffer="high", base="large", offset=2)]
    problem = Problem(buffers=[large, low, high, other], relative=ties)
    result = found_in(problem, 4)
    assert [change.buffer for change in result.changes] == ["other"]
