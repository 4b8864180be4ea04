"""Orders made by hand: what each rule allows and refuses."""

from dataclasses import replace
from itertools import pairwise

import pytest

from memstow.planner.model import Status
from memstow.planner.model.plan import Placement
from memstow.planner.model.problem import InPlace, Pool, Relative, Reserved
from memstow.planner.model.symbolic import (
    Order,
    OrderedPlacement,
    Point,
    Symbol,
    SymbolicBuffer,
    SymbolicPlan,
    SymbolicProblem,
)
from memstow.planner.verify import Standing, Subject, Verdict, symbolic_orders, symbolic_verdict
from memstow.planner.verify.symbolic_verdict import judge_symbolic
from memstow.planner.verify.verdict import Code

S = Symbol(id="s", min=1, max=64)


def buffer(name: str, size: int | str, begin: int = 0, end: int = 2, **rest: object) -> SymbolicBuffer:
    return SymbolicBuffer(id=name, size=size, lifetime=(begin, end), **rest)  # type: ignore[arg-type]


def problem(*buffers: SymbolicBuffer, **rest: object) -> SymbolicProblem:
    return SymbolicProblem(symbols=[S], buffers=buffers, **rest)  # type: ignore[arg-type]


def order(*places: "tuple[str, str] | OrderedPlacement", pool: str = "memory") -> Order:
    """From pairs of a buffer and what it is above of, as one text."""
    return Order(
        placements=[
            place
            if isinstance(place, OrderedPlacement)
            else OrderedPlacement(buffer=place[0], pool=pool, above=place[1].split())
            for place in places
        ]
    )


def verdict(symbolic_problem: SymbolicProblem, *orders: Order) -> Verdict:
    kind = "order" if len(orders) == 1 else "pieces"
    return judge_symbolic(symbolic_problem, SymbolicPlan(status=Status.FEASIBLE, shapes=kind, orders=orders))  # type: ignore[arg-type]


def codes(result: Verdict) -> list[Code]:
    return [violation.code for violation in result.violations]


ABC = problem(buffer("a", "s", 0, 2), buffer("b", "2*s", 1, 3), buffer("c", 8, 1, 2))


def test_a_chain_joins_all_of_its_buffers() -> None:
    judged = verdict(ABC, order(("a", ""), ("b", "a"), ("c", "b")))
    assert judged.valid
    assert {claim.subject: claim.standing for claim in judged.claims} == {
        Subject.SIZES: Standing.CHECKED,
        Subject.PLACES: Standing.CHECKED,
        Subject.EVERYWHERE: Standing.CHECKED,
    }
    assert judged.claims[-1].says == "'memory' needs at most 200 bytes at every value"


@pytest.mark.parametrize(
    ("places", "pairs"),
    [
        ((("a", ""), ("b", "a"), ("c", "a")), {("b", "c")}),
        ((("a", "b"), ("b", ""), ("c", "b")), {("a", "c")}),
        ((("a", ""), ("b", ""), ("c", "")), {("a", "b"), ("a", "c"), ("b", "c")}),
        ((("a", "b c"), ("b", ""), ("c", "")), {("b", "c")}),
    ],
)
def test_pairs_that_are_not_joined_are_named(
    places: tuple[tuple[str, str], ...], pairs: set[tuple[str, str]]
) -> None:
    judged = verdict(ABC, order(*places))
    assert set(codes(judged)) == {Code.UNORDERED}
    assert {violation.buffers for violation in judged.violations} == pairs
    places_claim = next(claim for claim in judged.claims if claim.subject is Subject.PLACES)
    assert places_claim.standing is Standing.REFUTED


def test_a_path_may_lead_through_buffers_that_do_not_live_then() -> None:
    sample = problem(buffer("a", "s", 0, 2), buffer("w", 4, 5, 6), buffer("b", "s", 1, 3))
    assert verdict(sample, order(("a", ""), ("w", "a"), ("b", "w"))).valid
    # What begins where w begins says nothing of what is above a.
    assert not verdict(sample, order(("w", ""), ("a", "w"), ("b", "w"))).valid


def test_many_buffers_are_taken_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    # Most orders of one pool are judged in columns; what is not is taken in blocks.
    monkeypatch.setattr(symbolic_verdict, "columns_of", lambda _: None)
    names = [f"b{i}" for i in range(150)]
    sample = problem(*(buffer(name, "s") for name in names), conflicts=[("b0", "b149"), ("b149", "b70")])
    chain = [(names[0], ""), *((b, a) for a, b in pairwise(names))]
    broken = [*chain[:100], ("b100", "b98"), *chain[101:]]
    assert verdict(sample, order(*chain)).valid
    whole = verdict(sample, order(*broken)).violations
    assert [entry.buffers for entry in whole] == [("b99", "b100")] or len(whole) > 1
    monkeypatch.setattr(symbolic_orders, "neighbours_are_joined", lambda *_: False)
    monkeypatch.setattr(symbolic_orders, "MOST_BITS", 64)
    assert verdict(sample, order(*chain)).valid
    assert {violation.buffers for violation in verdict(sample, order(*broken)).violations} == {
        entry.buffers for entry in whole
    }
    monkeypatch.setattr(symbolic_orders, "MOST_STEPS", 100)
    assert codes(verdict(sample, order(*chain))) == [Code.NOT_SHOWN]


@pytest.mark.parametrize(
    ("places", "code", "part"),
    [
        ((("a", ""), ("b", "a")), Code.MISSING, "'c' has no place"),
        ((("a", ""), ("b", "a"), ("c", "b"), ("c", "b")), Code.REPEATED, "several places"),
        ((("a", ""), ("b", "a"), ("c", "b"), ("d", "b")), Code.UNKNOWN_BUFFER, "'d' is named"),
        ((("a", ""), ("b", "a d"), ("c", "b")), Code.UNKNOWN_BUFFER, "'d' is named"),
        ((("a", "c"), ("b", "a"), ("c", "b")), Code.ABOVE, "a circle of 3"),
        ((("a", "a"), ("b", "a"), ("c", "b")), Code.ABOVE, "a fixed distance"),
        (
            (("a", ""), ("b", "a"), OrderedPlacement(buffer="c", pool="x", above=["b"])),
            Code.UNKNOWN_POOL,
            "not a pool",
        ),
        (
            (("a", ""), ("b", "a"), OrderedPlacement(buffer="c", pool="memory", above=["b"], shares="a")),
            Code.SHARES,
            "no pair in place",
        ),
    ],
)
def test_what_is_no_order(places: tuple[tuple[str, str], ...], code: Code, part: str) -> None:
    judged = verdict(ABC, order(*places))
    assert code in codes(judged)
    assert any(part in violation.message for violation in judged.violations if violation.code is code)


def test_nothing_is_above_what_is_in_another_pool() -> None:
    sample = problem(
        buffer("a", "s"), buffer("b", "s", pools=("p",)), pools=[Pool(id="p"), Pool(id="q", capacity=100)]
    )
    apart_ = order(
        OrderedPlacement(buffer="a", pool="q"), OrderedPlacement(buffer="b", pool="p"), pool="none"
    )
    assert verdict(sample, apart_).valid
    across = order(
        OrderedPlacement(buffer="a", pool="q"), OrderedPlacement(buffer="b", pool="p", above=["a"])
    )
    assert codes(verdict(sample, across)) == [Code.ABOVE]
    wrong = order(OrderedPlacement(buffer="a", pool="p"), OrderedPlacement(buffer="b", pool="q", above=[]))
    assert codes(verdict(sample, wrong)) == [Code.POOL_NOT_ALLOWED]


class TestSharing:
    it = problem(
        buffer("i", "s", 0, 3),
        buffer("o", "s", 2, 5),
        buffer("x", 4, 0, 5),
        in_place=[InPlace(input="i", output="o")],
    )

    def test_a_pair_in_place_may_share_or_not(self) -> None:
        shared = OrderedPlacement(buffer="o", pool="memory", shares="i")
        assert verdict(self.it, order(("i", ""), shared, ("x", "i o"))).valid
        assert verdict(self.it, order(("i", ""), ("o", "i"), ("x", "o"))).valid
        assert codes(verdict(self.it, order(("i", ""), ("o", ""), ("x", "i o")))) == [Code.UNORDERED]

    def test_each_of_them_is_joined_to_the_others(self) -> None:
        shared = OrderedPlacement(buffer="o", pool="memory", shares="i")
        # That x is above i does not say that it is above o.
        judged = verdict(self.it, order(("i", ""), shared, ("x", "i")))
        assert [violation.buffers for violation in judged.violations] == [("o", "x")]
        # Where one of them is above x the other is as well: they begin together.
        assert verdict(self.it, order(("i", "x"), shared, ("x", ""))).valid

    def test_it_needs_no_arcs_within(self) -> None:
        shared = OrderedPlacement(buffer="o", pool="memory", shares="i", above=["i"])
        assert codes(verdict(self.it, order(("i", ""), shared, ("x", "i o")))) == [Code.ABOVE]

    def test_two_that_share_with_one_need_not_share_with_each_other(self) -> None:
        sample = problem(
            buffer("i", "s", 0, 3),
            buffer("o", "s", 2, 5),
            buffer("p", "s", 2, 5),
            in_place=[InPlace(input="i", output="o"), InPlace(input="i", output="p")],
        )
        both = order(
            ("i", ""),
            OrderedPlacement(buffer="o", pool="memory", shares="i"),
            OrderedPlacement(buffer="p", pool="memory", shares="i"),
        )
        judged = verdict(sample, both)
        assert [violation.buffers for violation in judged.violations] == [("o", "p")]
        assert verdict(replace(sample, exclusive=(("o", "p"),)), both).valid


class TestRigid:
    def test_members_overlap_and_others_are_joined_to_each(self) -> None:
        sample = problem(
            buffer("all", "2*s"),
            buffer("part", "s"),
            buffer("x", 4),
            relative=[Relative(buffer="part", base="all", offset=64)],
        )
        assert verdict(sample, order(("all", ""), ("part", ""), ("x", "all part"))).valid
        # It begins at or after the end of x, and so does what lies above it at a fixed distance.
        assert verdict(sample, order(("all", "x"), ("part", ""), ("x", ""))).valid
        judged = verdict(sample, order(("all", ""), ("part", "x"), ("x", "")))
        assert [violation.buffers for violation in judged.violations] == [("all", "x")]

    def test_a_distance_of_the_largest_size_keeps_two_apart(self) -> None:
        def it(distance: int) -> SymbolicProblem:
            return problem(
                buffer("a", "s"),
                buffer("b", "s"),
                relative=[Relative(buffer="b", base="a", offset=distance)],
                conflicts=[("a", "b")],
            )

        places = order(("a", ""), ("b", ""))
        assert verdict(it(64), places).valid
        assert verdict(it(-64), places).valid
        assert codes(verdict(it(63), places)) == [Code.UNORDERED]
        in_place = replace(it(0), in_place=(InPlace(input="a", output="b"),))
        assert verdict(in_place, places).valid
        assert codes(verdict(it(0), places)) == [Code.UNORDERED]

    def test_a_path_goes_on_from_what_is_past_the_end(self) -> None:
        sample = problem(
            buffer("a", "s"),
            buffer("b", "s"),
            buffer("x", 4),
            relative=[Relative(buffer="b", base="a", offset=64)],
        )
        assert verdict(sample, order(("a", ""), ("b", ""), ("x", "b"))).valid
        nearer = replace(sample, relative=(Relative(buffer="b", base="a", offset=63),))
        assert codes(verdict(nearer, order(("a", ""), ("b", ""), ("x", "b")))) == [Code.UNORDERED]

    def test_members_are_in_one_pool_and_can_be_aligned(self) -> None:
        sample = problem(
            buffer("a", "s"),
            buffer("b", "s", alignment=4),
            relative=[Relative(buffer="b", base="a", offset=6)],
            pools=[Pool(id="p"), Pool(id="q")],
        )
        split = order(OrderedPlacement(buffer="a", pool="p"), OrderedPlacement(buffer="b", pool="q"))
        assert codes(verdict(sample, split)) == [Code.RELATIVE_POOL]
        assert verdict(sample, order(("a", ""), ("b", ""), pool="p")).valid
        odd = replace(sample, buffers=(buffer("a", "s", alignment=4), sample.buffers[1]))
        assert codes(verdict(odd, order(("a", ""), ("b", ""), pool="p"))) == [Code.MISALIGNED]

    def test_sharing_does_not_contradict_distances(self) -> None:
        sample = problem(
            buffer("a", "s", 0, 1),
            buffer("b", "s", 0, 1),
            relative=[Relative(buffer="b", base="a", offset=64)],
            in_place=[InPlace(input="a", output="b")],
        )
        shared = OrderedPlacement(buffer="b", pool="memory", shares="a")
        assert codes(verdict(sample, order(("a", ""), shared))) == [Code.RELATIVE_DISTANCE]


class TestValues:
    """What must hold at every value."""

    def test_a_capacity_holds_at_every_value_or_is_refused_with_one(self) -> None:
        sample = problem(buffer("a", "s"), buffer("b", "2*s"), pools=[Pool(id="memory", capacity=192)])
        assert verdict(sample, order(("a", ""), ("b", "a"))).valid
        less = replace(sample, pools=(Pool(id="memory", capacity=191),))
        judged = verdict(less, order(("a", ""), ("b", "a")))
        assert codes(judged) == [Code.BEYOND_CAPACITY]
        assert judged.violations[0].message.startswith("at s=64: 'b' ends at 192")

    def test_sizes_that_are_never_large_together_are_looked_at_one_by_one(self) -> None:
        sample = problem(buffer("a", "s"), buffer("b", "64 - s"), pools=[Pool(id="memory", capacity=64)])
        judged = verdict(sample, order(("a", ""), ("b", "a")))
        assert judged.valid
        assert (
            next(c.by for c in judged.claims if c.subject is Subject.EVERYWHERE) == "looking at every value"
        )
        wide = replace(sample, symbols=(Symbol(id="s", min=1, max=10**6),))
        wide = replace(wide, buffers=(buffer("a", "s"), buffer("b", "1000000 - s")))
        wide = replace(wide, pools=(Pool(id="memory", capacity=10**6),))
        assert codes(verdict(wide, order(("a", ""), ("b", "a")))) == [Code.NOT_SHOWN]

    def test_pins_are_above_what_is_below_them(self) -> None:
        sample = problem(buffer("a", "s"), buffer("b", "s", pool="memory", offset=64), buffer("c", 3))
        assert verdict(sample, order(("a", ""), ("b", "a"), ("c", "b"))).valid
        judged = verdict(sample, order(("a", ""), ("b", "c"), ("c", "a")))
        assert codes(judged) == [Code.PINNED_OFFSET]
        assert "at s=64: 'b' is pinned to 64 and above 'c', which ends at 67" in judged.violations[0].message

    def test_pins_are_aligned_and_at_their_distances(self) -> None:
        sample = problem(
            buffer("a", "s", pool="memory", offset=6, alignment=4),
            buffer("b", 1, 5, 6, pool="memory", offset=9),
            relative=[Relative(buffer="b", base="a", offset=2)],
        )
        assert set(codes(verdict(sample, order(("a", ""), ("b", ""))))) == {
            Code.MISALIGNED,
            Code.PINNED_OFFSET,
        }

    def test_what_is_reserved_at_the_bottom_is_below_everything(self) -> None:
        pool = Pool(
            id="memory", capacity=80, reserved=[Reserved(offset=0, size=10), Reserved(offset=10, size=6)]
        )
        sample = problem(buffer("a", "s"), pools=[pool])
        assert verdict(sample, order(("a", ""))).valid
        assert codes(verdict(replace(sample, pools=(replace(pool, capacity=79),)), order(("a", "")))) == [
            Code.BEYOND_CAPACITY
        ]

    def test_what_is_reserved_above_is_not_reached(self) -> None:
        pool = Pool(id="memory", capacity=100, reserved=[Reserved(offset=64, size=36)])
        sample = problem(buffer("a", "s"), buffer("b", 1), pools=[pool])
        alone = replace(sample, buffers=sample.buffers[:1])
        assert verdict(alone, order(("a", ""))).valid
        judged = verdict(sample, order(("a", ""), ("b", "a")))
        assert codes(judged) == [Code.RESERVED]
        assert judged.violations[0].message.startswith("at s=64")

    def test_an_order_keeps_below_every_range_that_is_not_at_the_bottom(self) -> None:
        pool = Pool(id="memory", reserved=[Reserved(offset=32, size=8)])
        sample = problem(buffer("a", 4), buffer("b", 1, alignment=64), pools=[pool])
        assert codes(verdict(sample, order(("a", ""), ("b", "a")))) == [Code.RESERVED]

    @pytest.mark.parametrize(
        ("size", "part"),
        [
            ("s - 2", "is -1 at s=1"),
            ("10 // (s - 3)", "has no value at s=1: a divisor is -2"),
            ("s *", "is not a formula"),
            ("u", "no symbol 'u'"),
            ("s*s*s*s*s*s*s*s*s*s*s", "beyond 2^62"),
        ],
    )
    def test_sizes_have_a_value_everywhere(self, size: str, part: str) -> None:
        judged = verdict(problem(buffer("a", size)), order(("a", "")))
        assert codes(judged) == [Code.INVALID_PROBLEM]
        assert part in judged.violations[0].message


def test_only_what_has_no_bytes_at_any_value_is_free_of_its_ties() -> None:
    apart = [Relative(buffer="b", base="a", offset=100)]
    for size, loose in ((0, True), ("s - s", True), ("s - 1", False), ("s // 64", False)):
        sample = problem(buffer("a", size), buffer("b", "s"), relative=apart)
        places = [OrderedPlacement(buffer="a", pool="memory", empty=True)]
        judged = verdict(sample, order(*places, ("b", "")))
        assert codes(judged) == ([] if loose else [Code.EMPTY])
        assert verdict(sample, order(("a", ""), ("b", ""))).valid
    pinned = replace(sample, buffers=(buffer("a", 0, pool="memory", offset=7), sample.buffers[1]))
    assert verdict(pinned, order(*places, ("b", ""))).valid


def test_zero_sizes_conflict_with_nothing_where_they_are_zero_everywhere() -> None:
    sample = problem(buffer("a", "s"), buffer("z", "0*s"), buffer("y", "s//64"))
    assert verdict(sample, order(("a", ""), ("z", ""), ("y", "a"))).valid
    assert codes(verdict(sample, order(("a", ""), ("z", ""), ("y", "")))) == [Code.UNORDERED]


class TestPieces:
    it = problem(buffer("a", "s", 0, 2), buffer("b", 40, 1, 3), pools=[Pool(id="memory", capacity=104)])
    up, down = order(("a", ""), ("b", "a")), order(("a", "b"), ("b", ""))

    def test_each_order_joins_all(self) -> None:
        assert verdict(self.it, self.up, self.down).valid
        judged = verdict(self.it, self.up, order(("a", ""), ("b", "")))
        assert codes(judged) == [Code.UNORDERED]

    def test_the_order_that_is_used_fits(self) -> None:
        changed = replace(
            self.it,
            buffers=(buffer("a", "s", alignment=1), buffer("b", 40, alignment=64)),
            pools=(Pool(id="memory", capacity=104),),
        )
        # Below a, b needs no alignment gap; above it ends at 104 at most.
        high = order(("a", "b"), ("b", ""))
        assert verdict(changed, high).valid
        assert verdict(changed, high, self.up).valid
        low = replace(changed, pools=(Pool(id="memory", capacity=103),))
        assert codes(verdict(low, high, self.up)) == [Code.BEYOND_CAPACITY]


@pytest.mark.parametrize(
    ("plan", "code"),
    [
        (SymbolicPlan(status=Status.FEASIBLE, shapes="order"), Code.SHAPES),
        (SymbolicPlan(status=Status.FEASIBLE, shapes="pieces"), Code.SHAPES),
        (SymbolicPlan(status=Status.FEASIBLE, shapes="order", orders=[order(), order()]), Code.SHAPES),
        (SymbolicPlan(status=Status.FEASIBLE, shapes="fixed"), Code.STATUS),
        (SymbolicPlan(status=Status.UNKNOWN, shapes="order", orders=[order()]), Code.STATUS),
        (
            SymbolicPlan(
                status=Status.FEASIBLE,
                shapes="order",
                orders=[order()],
                placements=[Placement(buffer="a", pool="memory", offset=0)],
            ),
            Code.SHAPES,
        ),
        (SymbolicPlan(status=Status.FEASIBLE, shapes="order", orders=[order()], digest="0"), Code.DIGEST),
        (SymbolicPlan(status=Status.INFEASIBLE, shapes="order"), Code.EXPLANATION),
    ],
)
def test_a_plan_has_the_parts_of_its_kind(plan: SymbolicPlan, code: Code) -> None:
    assert code in codes(judge_symbolic(ABC, plan))


@pytest.mark.parametrize("objective", ["moves", "placement_cost", "size"])
def test_only_peaks_are_objectives(objective: str) -> None:
    plan = order(("a", ""), ("b", "a"), ("c", "b"))
    judged = verdict(replace(ABC, objective=(objective,)), plan)
    assert set(codes(judged)) == {Code.INVALID_PROBLEM}
    assert objective in judged.violations[0].message


def test_what_does_not_fit_is_named_at_the_points_for_which_there_is_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many = Symbol(id="s", min=1, max=5000)
    inner = SymbolicProblem(
        symbols=[many],
        points=[Point(at={"s": 1})],
        pools=[Pool(id="memory", capacity=2499)],
        buffers=[buffer("a", "min(s, 5000 - s)")],
    )
    least = replace(inner, buffers=(buffer("a", "5001 - s"),))
    (named,) = verdict(inner, order(("a", ""))).violations
    assert (named.code, named.message[:10]) == (Code.BEYOND_CAPACITY, "at s=2500:")
    # Whatever the time, the last and the first value of all symbols are looked at, and then nothing more.
    monkeypatch.setattr(symbolic_verdict, "MOST_STEPS", 0)
    assert codes(verdict(inner, order(("a", "")))) == [Code.NOT_SHOWN]
    (named,) = verdict(least, order(("a", ""))).violations
    assert (named.code, named.message[:7]) == (Code.BEYOND_CAPACITY, "at s=1:")


def test_of_orders_with_little_above_what_is_reserved_the_lowest_fits() -> None:
    """An order that does not fit at the largest sizes is not used there, whatever is reserved above."""
    orders = order(("a", "b"), ("b", "")), order(("a", ""), ("b", "a"))
    for free, valid in ((48, True), (47, False)):
        sample = SymbolicProblem(
            symbols=[Symbol(id="s", min=1, max=5000)],
            points=[Point(at={"s": 1})],
            pools=[Pool(id="memory", reserved=[Reserved(offset=free, size=2), Reserved(offset=90, size=1)])],
            buffers=[buffer("a", "min(s, 40)"), buffer("b", 8, alignment=32)],
        )
        assert verdict(sample, *orders).valid is valid
        assert not verdict(sample, orders[1]).valid
