"""Banks on the page: which of them a buffer touches, who pays for one in common, and why some must."""

from pathlib import Path

from memstow.api.cli.pages import page_of
from memstow.planner.model.options import Options
from memstow.planner.model.problem import BankConflict, Banks, Buffer, Pool, Problem, Relative
from memstow.planner.solve import engine
from tests.api.page.browser import Look

PROBLEM = Problem(
    pools=[Pool(id="sram", capacity=128, banks=[Banks(size=64, count=2)])],
    objective=["bank_cost", "peak"],
    buffers=[
        Buffer(id="a", size=40, lifetime=(0, 4)),
        Buffer(id="b", size=24, lifetime=(0, 2), within_bank=True),
        Buffer(id="c", size=16, lifetime=(1, 4)),
        Buffer(id="d", size=8, lifetime=(2, 4), banks=[1]),
    ],
    bank_conflicts=[
        BankConflict(buffers=["a", "b", "c", "d"], cost=3),
        BankConflict(buffers=["a", "b"], cost=5),
    ],
)
"""Two of the buffers have to share a bank, for 3, and other two."""


def test_who_shares_a_bank_and_why_is_said(look: Look, tmp_path: Path) -> None:
    plan = engine.plan(PROBLEM, Options(deterministic=True))
    look.show(page_of(PROBLEM, plan, ""), tmp_path, "#buffer=c")
    offset_of = {place.buffer: place.offset for place in plan.placements}
    banks = {
        name: range(offset_of[name] // 64, (offset_of[name] + size - 1) // 64 + 1)
        for name, size in (("a", 40), ("b", 24), ("c", 16), ("d", 8))
    }
    sharing = [name for name in "abd" if set(banks[name]) & set(banks["c"])]
    side = look.text(".side")
    assert f"banks {banks['c'][0]}" in side
    assert f"It pays {3 * len(sharing)} for banks in common with {len(sharing)} buffer" in side
    assert "Each of a, b, c, d must touch a bank, and there are fewer banks than that" in side
    assert "costs at least 6" in side
    assert "must be only in 1" not in side
    look.show(page_of(PROBLEM, plan, ""), tmp_path, "#buffer=d")
    assert "must be only in 1" in look.text(".side")
    assert look.violations() == []


def test_a_later_term_that_is_least_is_called_so(look: Look, tmp_path: Path) -> None:
    plan = engine.plan(PROBLEM, Options(deterministic=True))
    assert plan.objective[1].value == plan.objective[1].bound > plan.pools[0].bound
    look.show(page_of(PROBLEM, plan, ""), tmp_path)
    assert "least possible at that bank cost" in look.page.content()


def test_bytes_that_tied_buffers_share_are_counted_once(look: Look, tmp_path: Path) -> None:
    problem = Problem(
        buffers=[
            Buffer(id="cache", size=128, lifetime="always"),
            Buffer(id="past", size=128, lifetime="always"),
            Buffer(id="scores", size=256, lifetime=(1, 2)),
        ],
        relative=[Relative(buffer="past", base="cache", offset=0)],
    )
    look.show(page_of(problem, engine.plan(problem, Options(deterministic=True)), ""), tmp_path, "#less=8")
    assert "One buffer must change scores 256 B 8 B smaller" in look.text(".less")
    assert "add up to 384 bytes, packed without holes" in look.text(".side")
