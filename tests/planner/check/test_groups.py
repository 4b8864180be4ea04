"""Rigid groups: distances add up along ties, and alignments of the members meet in one congruence."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from memstow.planner.model.problem import (
    Buffer,
    Congruence,
    Pool,
    Problem,
    Relative,
    cycles,
    group_alignment,
    rigid_groups,
)

SMALL = st.builds(lambda m, r: Congruence(m, r % m), st.integers(1, 12), st.integers(0, 11))


@given(SMALL, SMALL)
def test_meeting_congruences_keep_exactly_the_common_offsets(one: Congruence, other: Congruence) -> None:
    common = [
        x
        for x in range(one.modulus * other.modulus)
        if x % one.modulus == one.residue and x % other.modulus == other.residue
    ]
    met = one.meet(other)
    result = (
        []
        if met is None
        else [x for x in range(one.modulus * other.modulus) if x % met.modulus == met.residue]
    )
    assert result == common


@given(st.lists(st.tuples(st.integers(1, 8), st.integers(0, 12)), min_size=1, max_size=3), st.integers(0, 9))
def test_a_group_is_aligned_where_each_member_is(members: list[tuple[int, int]], base: int) -> None:
    tied = [(Buffer(id=str(i), size=1, alignment=a), d) for i, (a, d) in enumerate(members)]
    pool = Pool(id="p", base=base, alignment=2)
    where = group_alignment(tied, pool)
    for offset in range(2 * 840):
        aligned = all(
            (base + offset + d) % b.alignment == 0 and (base + offset + d) % 2 == 0 for b, d in tied
        )
        assert aligned == (where is not None and offset % where.modulus == where.residue)


def test_chains_of_ties_become_distances_from_the_lowest() -> None:
    problem = Problem(
        version=1,
        buffers=tuple(Buffer(id=name, size=4) for name in "abcde"),
        relative=(
            Relative(buffer="b", base="a", offset=-8),
            Relative(buffer="d", base="b", offset=4),
            Relative(buffer="c", base="e", offset=1),
        ),
    )
    groups = rigid_groups(problem, {name: i for i, name in enumerate("abcde")})
    assert [(g.members, g.deltas) for g in groups] == [((0, 1, 3), (8, 0, 4)), ((2, 4), (1, 0))]


def test_a_long_chain_of_ties_needs_no_deep_recursion() -> None:
    count = 50_000
    problem = Problem(
        version=1,
        buffers=tuple(Buffer(id=str(i), size=1) for i in range(count)),
        relative=tuple(Relative(buffer=str(i), base=str(i + 1), offset=1) for i in range(count - 1)),
    )
    (group,) = rigid_groups(problem, {str(i): i for i in range(count)})
    assert group.deltas == tuple(range(count - 1, -1, -1))
    assert list(cycles(problem.relative)) == []


def test_cycles_are_found_each_once() -> None:
    ties = [
        Relative(buffer=a, base=b, offset=0)
        for a, b in (("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"), ("e", "f"), ("f", "e"))
    ]
    assert sorted(map(len, cycles(ties))) == [3, 4]


def test_ties_of_all_kinds_keep_their_distances() -> None:
    for x, y in product((-3, 0, 5), repeat=2):
        problem = Problem(
            version=1,
            buffers=tuple(Buffer(id=name, size=4) for name in "abc"),
            relative=(Relative(buffer="a", base="b", offset=x), Relative(buffer="b", base="c", offset=y)),
        )
        (group,) = rigid_groups(problem, {"a": 0, "b": 1, "c": 2})
        at = dict(zip(group.members, group.deltas, strict=True))
        assert (at[0] - at[1], at[1] - at[2], min(at.values())) == (x, y, 0)


def test_buffers_of_size_0_pass_distances_on_and_are_in_no_group() -> None:
    size_of = {"a": 4, "x": 0, "y": 0, "b": 4, "c": 4, "z": 0}
    problem = Problem(
        version=1,
        buffers=tuple(Buffer(id=name, size=size) for name, size in size_of.items()),
        relative=(
            Relative(buffer="a", base="x", offset=-2),
            Relative(buffer="x", base="y", offset=-9),
            Relative(buffer="y", base="b", offset=1),
            Relative(buffer="c", base="z", offset=5),
        ),
    )
    groups = rigid_groups(problem, {name: i for i, name in enumerate(size_of)})
    assert [(g.members, g.deltas) for g in groups] == [((0, 3), (0, 10))]
