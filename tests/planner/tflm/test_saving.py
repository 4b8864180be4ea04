"""Why an arena shrinks or does not: the part of it that decides is named."""

import pytest

import memstow
from memstow.planner.model import Status
from memstow.planner.model.plan import Arena, LiveBytes, Plan, PoolUse, TermValue
from memstow.planner.tflm.planned_model import written_model
from memstow.planner.tflm.runtime_model import arena, notes_on_saving
from tests.planner.tflm.random_models import random_model

PROVEN = LiveBytes(pool="memory", time=0, buffers=("a",))
NOT_COUNTED = "scratch memory of kernels and the tail are not counted"


def plan_of(peak: int, bound: int, certificate: LiveBytes | None = PROVEN) -> Plan:
    """A plan with this peak and bound."""
    use = PoolUse(pool="memory", capacity=None, peak=peak, bound=bound, live=memstow.Live(bytes=0))
    term = TermValue(term="peak", value=peak, bound=bound, gap=0.0, certificate=certificate)
    return Plan(status=Status.FEASIBLE, pools=(use,), objective=(term,))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (arena(800, 100, None), arena(500, 100, None), "the arena shrinks by 300 bytes"),
        (arena(800, None, 200), arena(500, None, 200), "the arena shrinks by 300 bytes, 30 %"),
        (
            arena(800, 600, None),
            arena(500, 600, None),
            "the head shrinks by 300 bytes and the arena by 200: while the model is loaded, the tables with "
            "which the runtime plans take 600 bytes in the place of the head",
        ),
        (
            arena(800, 900, None),
            arena(500, 900, None),
            "the head shrinks by 300 bytes, and the arena does not: while the model is loaded, the tables "
            "with which the runtime plans take 900 bytes in the place of the head",
        ),
    ],
)
def test_what_decides_is_named(before: Arena, after: Arena, said: str) -> None:
    notes = notes_on_saving(before, after, plan_of(500, 500), "given", has_scratch=True)
    assert notes[0] == said
    assert notes_on_saving(arena(None, 1, None), after, plan_of(1, 1), "given", has_scratch=True) == ()


@pytest.mark.parametrize(
    ("plan", "order", "said"),
    [
        (
            plan_of(800, 800),
            "given",
            ", and no plan for its order of the operators needs less, which is proven",
        ),
        (
            plan_of(800, 800),
            "free",
            ", and no plan for any order of the operators needs less, which is proven",
        ),
        (plan_of(800, 799), "given", ", and so does the plan"),
        (plan_of(800, 800, None), "given", ", and so does the plan"),
        (plan_of(900, 800), "given", ", and the plan 900"),
    ],
)
def test_a_proof_is_told_only_where_there_is_one(plan: Plan, order: str, said: str) -> None:
    same = arena(800, None, 4000)
    assert notes_on_saving(same, same, plan, order, has_scratch=True) == (
        f"the arena does not shrink: for the head the runtime's own rule needs 800 bytes{said}",
        "a program of `memstow build` has no interpreter, and runs layers in stripes: it may need less",
        "the tail, 4,000 bytes, is what interpreter and kernels keep; no plan changes it",
    )


def test_what_is_not_known_is_told() -> None:
    same = arena(800, 100, None)
    assert notes_on_saving(same, same, plan_of(800, 800), "given", has_scratch=False)[2].startswith(
        NOT_COUNTED
    )
    notes = notes_on_saving(same, same, plan_of(800, 800), "given", has_scratch=True)[2]
    assert notes == "the tail is not known: the log does not tell it"


def test_no_plan_is_below_what_is_said_to_be_proven() -> None:
    """The bytes that live at once count scratch memory in pieces, too."""
    proven = 0
    for seed in range(40):
        model = random_model(seed)
        plan = memstow.plan(memstow.read_graph(model), memstow.Options(deterministic=True))
        before = memstow.arena_of(model)
        after = memstow.arena_of(written_model(model, plan).model)
        notes = notes_on_saving(before, after, plan, "given", has_scratch=False)
        if notes and "which is proven" in notes[0]:
            proven += 1
            assert before.head is not None
            assert before.head <= max(live_bytes(model))
    assert proven > 5


def live_bytes(model: bytes) -> list[int]:
    """What lives at each moment, by the problem alone."""
    buffers = memstow.lower_graph(memstow.read_graph(model)).buffers
    lives = [(buffer.size, buffer.lifetime) for buffer in buffers if isinstance(buffer.lifetime, tuple)]
    ends = {time for _, life in lives for time in life}
    return [sum(size for size, (begin, end) in lives if begin <= time < end) for time in ends]
