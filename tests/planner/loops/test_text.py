"""The text of loops: what repeats is said once, and says all."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

import memstow
from memstow.planner.loops import loop_writers
from memstow.planner.loops.loop_writers import Phrase, Step, phrases_of
from memstow.planner.model.plan import Stripe
from tests.planner.loops.samples import in_two_strips, plan_of, two, with_all


def said(phrases: Sequence[Phrase]) -> Iterator[Step]:
    """The steps that phrases stand for."""
    for phrase in phrases:
        yield from phrase.steps
        for time in range(1, phrase.times):
            for step, growth in zip(phrase.steps, phrase.growth, strict=True):
                yield tuple(a + time * b for a, b in zip(step, growth, strict=True))


def test_phrases_stand_for_the_steps() -> None:
    """Strides, margins and rates of random kinds; what is said is shorter where there is much to say."""
    for seed in range(60):
        kernel, stride, rate = (1 + (seed * 7 + at * 5) % 4 for at in range(3))
        steps = rolling(kernel, stride, rate, 4 + seed % 30)
        phrases = list(phrases_of(steps, 2))
        assert list(said(phrases)) == steps
        if seed % 30 > 25:
            assert sum(len(phrase.steps) for phrase in phrases) < len(steps) // 2


def rolling(kernel: int, stride: int, rate: int, rows: int) -> list[Step]:
    """Steps of three operators: a window, one that makes some rows for each row, and the last."""
    steps: list[Step] = []
    made = 0
    for row in range(rows):
        while made < min(row * stride + kernel, rows * stride):
            steps.append((0, made, max(0, made - 1), made + 1))
            made += 1
        steps += [(1, row * rate + at, 0, 1) for at in range(rate)]
        steps.append((2, row, max(0, row * stride - 1), row * stride + kernel))
    return steps


def test_nothing_repeats_where_nothing_does() -> None:
    steps: list[Step] = [(0, 0, 0, 1), (0, 5, 0, 1), (0, 6, 0, 1), (0, 13, 0, 1)]
    assert list(said(list(phrases_of(steps, 0)))) == steps
    assert list(phrases_of([], 0)) == []


def test_the_text_tells_where_and_when() -> None:
    graph, plan = in_two_strips()
    text = memstow.write_loops(memstow.loops(graph, plan), "loops-text").decode()
    for line in (
        "0. stripe of blur, shrink, pool in 2 strips of 2 columns",
        "10 bytes a row, 2 a column; 3 rows, row r at r mod 3",
        "wide: 1 of 7 columns are made once more",
        "they become score after the last strip",
        "0                 0..4  0..1   0..1",
        "shrink: y[1] from wide[2..4]",
        "pool: add y[1] to score",
    ):
        assert line in text
    graph, plan = with_all()
    text = memstow.write_loops(memstow.loops(graph, plan), "loops-text").decode()
    assert "blur#2 (blur again)" in text
    assert "2. copy y to y.away.1" in text


def test_a_steady_state_is_said_once() -> None:
    text = memstow.write_loops(memstow.loops(*long()), "loops-text").decode()
    assert "  30 times, i = 0..29:" in text
    assert "blur: wide[2i+3] from x[2i+2..2i+4]" in text


def long() -> tuple[memstow.Graph, memstow.Plan]:
    """The sample with 64 rows."""
    graph = two()
    shapes = {"x": (64, 6, 1), "wide": (64, 6, 2), "y": (32, 3, 4), "score": (4,)}
    graph = replace(
        graph, tensors=tuple(replace(tensor, shape=shapes[tensor.id]) for tensor in graph.tensors)
    )
    schedule = memstow.Schedule(
        order=("blur", "shrink", "pool"), stripes=(Stripe(begin=0, end=3, columns=3),)
    )
    return graph, plan_of(graph, schedule)


def test_what_is_too_long_is_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_writers, "_MOST_STEPS_LISTED", 4)
    monkeypatch.setattr(loop_writers, "_MOST_STRIPS", 1)
    table = memstow.loops(*in_two_strips())
    text = memstow.write_loops(table, "loops-text").decode()
    assert "and 1 more" in text
    assert "and more steps: the table in JSON has them" in text
