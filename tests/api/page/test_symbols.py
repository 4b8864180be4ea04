"""A plan of formulas drawn: a slider for each symbol, and what the page finds is what `evaluate` finds."""

import base64
import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from memstow.api.cli.main import main
from memstow.api.cli.pages import symbolic_page
from memstow.planner.formats.native import write_symbolic, write_symbolic_plan
from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Explanation
from memstow.planner.model.problem import InPlace, Pool
from memstow.planner.model.symbolic import (
    Order,
    OrderedPlacement,
    Point,
    PointPeak,
    Symbol,
    SymbolicBuffer,
    SymbolicPlan,
    SymbolicProblem,
)
from memstow.planner.shapes.plan_symbolic import plan_symbolic
from memstow.planner.shapes.sweep import sweep_points
from memstow.planner.shapes.symbolic_layout import Layout
from tests.api.page import samples
from tests.api.page.browser import Look
from tests.api.page.test_front import DROP, dropped
from tests.planner.shapes.stacks import stacked_plan

HOSTILE: Final = "</script><img src=x onerror=alert(1)>"
PLAIN: Final = samples.buffers((64, 0, 2), (32, 0, 2), (64, 2, 4))
SHOWN: Final = "document.querySelector('.values') && document.querySelector('canvas[data-pool]')"
# Pixels of what is between peak and least, which only a curve has.
COLOURED: Final = (
    "(() => { const on = document.querySelector('.curve-chart');"
    " const copy = new OffscreenCanvas(on.width, on.height).getContext('2d', { willReadFrequently: true });"
    " copy.drawImage(on, 0, 0);"
    " const bytes = copy.getImageData(0, 0, on.width, on.height).data; let found = 0;"
    " for (let at = 0; at < bytes.length; at += 4)"
    " found += bytes[at] === 251 && bytes[at + 1] === 217 && bytes[at + 2] === 194;"
    " return found; })()"
)
PROBLEM: Final = SymbolicProblem(
    name="attention",
    symbols=[
        Symbol(id="s", min=16, max=1024, step=16, values=[16, 128, 1024]),
        Symbol(id="b", min=1, max=8, values=[1, 8]),
    ],
    buffers=[
        SymbolicBuffer(id="x", size="4*b*s*256", lifetime=(0, 4), alignment=64),
        SymbolicBuffer(id="scores", size="16*b*s*s", lifetime=(1, 3), alignment=64),
        SymbolicBuffer(id=HOSTILE, size="align(ceil_div(s*s, 8), 64)", lifetime=(0, 3)),
        SymbolicBuffer(id="table", size=4096, lifetime="always"),
        SymbolicBuffer(id="y", size="4*b*s*256", lifetime=(3, 6), alignment=64),
        SymbolicBuffer(id="z", size="b*s*s*2", lifetime=(4, 7), alignment=64),
    ],
)


def planned(problem: SymbolicProblem, orders: int = 1) -> SymbolicPlan:
    """A plan of random orders, with what it needs at the points."""
    plan = stacked_plan(problem, Random(3), orders)
    assert plan is not None
    result = sweep_points(Layout(problem, plan)).points
    points = [PointPeak(at=point.at, peak=point.peak or 0, least=point.least) for point in result]
    return replace(plan, points=tuple(points), worst=max(entry.ratio or 1.0 for entry in result))


@pytest.fixture(scope="module")
def page() -> bytes:
    """The page of a plan of one order."""
    return symbolic_page(PROBLEM, planned(PROBLEM), "attention.json", {})


def peak_of(look: Look) -> str:
    """The peak that is shown, in bytes."""
    script = (
        "[...document.querySelectorAll('.facts div')]"
        ".find((it) => it.firstChild.textContent === 'peak, bytes')?.lastChild.textContent"
    )
    result: str = look.page.evaluate(script)
    return result


def at(look: Look, *values: int) -> Look:
    """Wait until these values are shown."""
    text = ", ".join(f"{name}={value}" for name, value in zip(("s", "b"), values, strict=False))
    return look.wait(f"document.querySelector('.title')?.textContent.endsWith(' at {text}')")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("state", ["wide", "middle", "narrow", "pieces", "none"])
def test_every_state_is_accessible_and_silent(
    running: Any, page: bytes, tmp_path: Path, state: str, dark: bool
) -> None:
    look = Look(running, dark=dark, wide={"middle": 820, "narrow": 390}.get(state, 1440))
    if state == "pieces":
        page = symbolic_page(PROBLEM, planned(PROBLEM, 3), "", {})
    elif state == "none":
        explanation = Explanation(code="over_capacity", message="it is too large")
        nothing = SymbolicPlan(status=Status.INFEASIBLE, shapes="order", explanation=explanation)
        page = symbolic_page(PROBLEM, nothing, "", {})
    look.show(page, tmp_path).wait("document.querySelector('.values')")
    assert look.violations() == []
    wide = look.page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0
    look.close()


@pytest.mark.parametrize("orders", [1, 3])
def test_the_peak_is_that_of_evaluate(look: Look, tmp_path: Path, orders: int) -> None:
    plan = planned(PROBLEM, orders)
    layout = Layout(PROBLEM, plan)
    look.show(symbolic_page(PROBLEM, plan, "", {}), tmp_path).wait(SHOWN)
    for s, b in ((16, 1), (512, 3), (1024, 8), (48, 7)):
        for place, value in enumerate((s, b)):
            look.page.fill(f"#value{place}", str(value))
            look.page.press(f"#value{place}", "Enter")
        at(look, s, b)
        assert peak_of(look) == f"{layout.at(s=s, b=b).objective:,}"
        assert look.verdict.startswith(("0 B", "1", "2", "3", "4", "5", "6", "7", "8", "9"))
        assert "no valid plan" not in look.verdict


def test_keys_move_the_slider(look: Look, page: bytes, tmp_path: Path) -> None:
    look.show(page, tmp_path).wait(SHOWN)
    at(look, 16, 1)
    look.page.focus(".slider input[type=range]")
    look.page.keyboard.press("ArrowRight")
    at(look, 32, 1).wait("location.hash === '#value=32_1'")
    look.page.keyboard.press("PageUp")
    at(look, 128, 1)
    look.page.keyboard.press("End")
    at(look, 1024, 1)
    look.page.keyboard.press("PageDown")
    look.page.keyboard.press("ArrowLeft")
    at(look, 112, 1)
    look.page.keyboard.press("Home")
    at(look, 16, 1).wait("location.hash === ''")
    look.page.keyboard.press("n")
    at(look, 16, 8)
    look.page.keyboard.press("N")
    at(look, 16, 1)
    look.page.keyboard.press("N")
    at(look, 1024, 8)
    chosen = (
        "[...document.querySelectorAll('tr.chosen th, tr.chosen td')].slice(0, 2).map((it) => it.textContent)"
    )
    assert look.page.evaluate(chosen) == ["1024", "8"]


def test_what_is_written_becomes_the_nearest_value(look: Look, page: bytes, tmp_path: Path) -> None:
    look.show(page, tmp_path).wait(SHOWN)
    takes = "is no value of s, which takes 16 to 1,024 by 16."
    for text, value, said in (
        ("100", 96, f"100 {takes} The nearest is 96."),
        ("1e9", 96, f"1e9 {takes}"),
        ("", 96, f"Nothing {takes}"),
        ("128", 128, ""),
        ("abc", 128, f"abc {takes}"),
        ("9999999", 1024, f"9999999 {takes} The nearest is 1,024."),
        ("-5", 16, f"-5 {takes} The nearest is 16."),
        ("16.5", 16, f"16.5 {takes}"),
    ):
        look.page.fill("#value0", text)
        look.page.press("#value0", "Enter")
        at(look, value, 1)
        assert look.page.input_value("#value0") == str(value)
        assert look.text(".refusal") == said
    look.page.press(".slider input[type=range]", "End")
    at(look, 1024, 1)
    assert look.text(".refusal") == ""


def test_a_click_on_the_chart_looks_there(look: Look, page: bytes, tmp_path: Path) -> None:
    look.show(page, tmp_path).wait(SHOWN)
    box = look.page.evaluate("document.querySelector('.curve-chart').getBoundingClientRect().toJSON()")
    look.page.mouse.move(box["x"] + box["width"] - 40, box["y"] + 60)
    look.wait("document.querySelector('.told').textContent.startsWith('s=')")
    look.page.mouse.down()
    look.page.mouse.up()
    look.wait("Number(document.querySelector('#value0').value) > 500")
    look.page.click(".curve .choices button:nth-of-type(2)")
    look.wait("document.querySelector('.curve-chart').getAttribute('aria-label').includes('along b')")


def test_a_curve_of_other_values_is_grey_until_the_new_one_is_counted(
    look: Look, page: bytes, tmp_path: Path
) -> None:
    look.show(page, tmp_path).wait(SHOWN).wait(f"({COLOURED}) > 100")
    # No point is counted while a slice of the work takes no time.
    look.page.evaluate("window.clock = performance.now.bind(performance)")
    look.page.evaluate("{ let now = 0; performance.now = () => (now += 20); }")
    look.page.focus(".slider:nth-of-type(2) input[type=range]")
    look.page.keyboard.press("End")
    at(look, 16, 8).wait("document.querySelector('.told').textContent.startsWith('The grey curve')")
    assert look.text(".told") == "The grey curve is that of b=1."
    assert look.page.evaluate(COLOURED) == 0
    look.page.click(".curve .choices button:nth-of-type(2)")
    look.wait("document.querySelector('.told').textContent === ''")
    assert look.page.evaluate(COLOURED) == 0
    look.page.click(".curve .choices button:nth-of-type(1)")
    look.page.evaluate("performance.now = window.clock")
    look.wait("document.querySelector('.told').textContent === ''").wait(f"({COLOURED}) > 100")


def test_the_address_and_the_option_say_where_to_begin(look: Look, page: bytes, tmp_path: Path) -> None:
    at(look.show(page, tmp_path, "#value=512_4").wait(SHOWN), 512, 4)
    at(look.show(symbolic_page(PROBLEM, planned(PROBLEM), "", {"s": 64, "b": 2}), tmp_path), 64, 2)


def test_what_is_looked_at_stays(look: Look, page: bytes, tmp_path: Path) -> None:
    look.show(page, tmp_path, "#buffer=scores&colour=size").wait(SHOWN)
    look.wait("document.querySelector('.side h2')?.textContent.includes('scores')")
    look.page.click(".points tbody tr:nth-of-type(4) button")
    at(look, 128, 8)
    assert "scores" in look.text(".side h2")
    assert "2.00 MiB" in look.text(".side") or "2 MiB" in look.text(".side")


def test_hostile_names_are_text(look: Look, tmp_path: Path) -> None:
    problem = replace(PROBLEM, name=HOSTILE)
    page = symbolic_page(problem, planned(problem), HOSTILE, {})
    assert b"<img" not in page
    look.show(page, tmp_path).wait(SHOWN)
    assert look.page.evaluate("document.querySelectorAll('img').length") == 0
    assert HOSTILE in look.text(".title")


def test_what_the_file_says_wrongly_is_told(look: Look, tmp_path: Path) -> None:
    plan = planned(PROBLEM)
    first, *rest = plan.points
    forged = replace(plan, points=(replace(first, peak=first.peak - 1), *rest))
    look.show(symbolic_page(PROBLEM, forged, "", {}), tmp_path).wait(SHOWN)
    assert "The judge says: the peak at" in look.text(".values")
    assert f"is {first.peak:,}, not {first.peak - 1:,}." in look.text(".side")
    assert look.page.evaluate("document.querySelector('.points tbody td.wrong').textContent") == "wrong"


def test_buffers_in_place_are_counted_at_points_and_between(look: Look, tmp_path: Path) -> None:
    problem = replace(PROBLEM, in_place=(InPlace(input="x", output="y"),))
    problem = replace(problem, buffers=PROBLEM.buffers[:2])
    problem = replace(problem, buffers=(*problem.buffers, *PROBLEM.buffers[3:5]))
    plan = plan_symbolic(problem, Options(deterministic=True))
    look.show(symbolic_page(problem, plan, "", {}), tmp_path).wait(SHOWN)
    for values in ((16, 1), (1024, 8), (208, 3)):
        for place, value in enumerate(values):
            look.page.fill(f"#value{place}", str(value))
            look.page.press(f"#value{place}", "Enter")
        at(look, *values)
        assert look.verdict.endswith(". No layout for this value can be smaller.")
        assert "are live together at t = 1 and need" in look.text(".side")
        stands = look.page.evaluate(
            "[...document.querySelectorAll('.points tbody td:last-of-type')].map((it) => it.textContent)"
        )
        assert stands == ["least"] * 6


def test_a_pool_in_which_nothing_must_be_has_its_bound(look: Look, tmp_path: Path) -> None:
    problem = replace(PROBLEM, pools=(Pool(id="fast"), Pool(id="slow")), objective=("peak:fast",))
    plan = plan_symbolic(problem, Options(deterministic=True))
    look.show(symbolic_page(problem, plan, "", {}), tmp_path).wait(SHOWN)
    assert look.verdict == "0 B. No layout for this value can be smaller."
    assert "No bound is known" not in look.text("main")


def test_orders_are_counted_as_by_the_command_line(look: Look, tmp_path: Path) -> None:
    plan = planned(PROBLEM, 3)
    number = sweep_points(Layout(PROBLEM, plan)).points[0].order
    assert number is not None
    look.show(symbolic_page(PROBLEM, plan, "", {}), tmp_path).wait(SHOWN)
    which = ("first", "second", "third")[number]
    said = f"3 orders, of which the best counts at each value; here it is the {which}."
    assert said in look.text(".values")


def test_the_ring_of_the_focus_is_seen_whole(look: Look, page: bytes, tmp_path: Path) -> None:
    look.show(page, tmp_path).wait(SHOWN)
    bottom = "document.querySelector('.curve .choices').getBoundingClientRect().bottom"
    top = "document.querySelector('.curve-chart').getBoundingClientRect().top"
    assert look.page.evaluate(f"{top} - {bottom}") >= 4


def test_an_order_that_lets_buffers_overlap_is_no_valid_plan(look: Look, tmp_path: Path) -> None:
    plan = planned(PROBLEM)
    order = plan.orders[0]
    bare = replace(order, placements=tuple(replace(placement, above=()) for placement in order.placements))
    look.show(symbolic_page(PROBLEM, replace(plan, orders=(bare,), points=()), "", {}), tmp_path).wait(SHOWN)
    assert look.verdict.startswith("This is no valid plan.")
    assert "The judge says" in look.text(".values")


def test_a_value_at_which_it_does_not_fit_is_told(look: Look, tmp_path: Path) -> None:
    pools = tuple(replace(pool, capacity=1 << 20) for pool in PROBLEM.pools)
    problem = replace(PROBLEM, pools=pools)
    plan = stacked_plan(problem, Random(3))
    assert plan is not None
    look.show(symbolic_page(problem, plan, "", {}), tmp_path).wait(SHOWN)
    look.page.click(".points tbody tr:last-of-type button")
    look.wait("document.querySelector('h1.wrong')")
    assert look.verdict == "The plan does not fit at this value."
    assert look.text(".note").startswith("Pool memory ends at 1,048,576, and")
    look.page.click(".points tbody tr:first-of-type button")
    # At this value it fits; it is no plan for all of them.
    look.wait("document.querySelector('h1').innerText.startsWith('This is no valid plan.')")


def test_points_at_which_a_plan_does_not_fit_are_named(look: Look, tmp_path: Path) -> None:
    pools = tuple(replace(pool, capacity=1 << 20) for pool in PROBLEM.pools)
    problem = replace(PROBLEM, pools=pools)
    plan = stacked_plan(problem, Random(3))
    assert plan is not None
    look.show(symbolic_page(problem, plan, "", {}), tmp_path).wait(SHOWN)
    assert "It does not fit at s=128, b=8, nor at 2 other points." in look.text(".values")
    box = look.page.evaluate("document.querySelector('.curve-chart').getBoundingClientRect().toJSON()")
    look.wait("document.querySelector('.told').textContent.startsWith('From s=')")
    look.page.mouse.move(box["x"] + box["width"] - 40, box["y"] + 60)
    look.wait("document.querySelector('.told').textContent.endsWith('it does not fit')")


def test_a_changed_address_is_followed(look: Look, page: bytes, tmp_path: Path) -> None:
    look.show(page, tmp_path).wait(SHOWN)
    look.page.evaluate("location.hash = '#value=128_8&buffer=scores&colour=size'")
    at(look, 128, 8)
    look.wait("document.querySelector('.side h2')?.textContent.includes('scores')")
    look.page.evaluate("location.hash = '#value=16_8'")
    at(look, 16, 8).wait("!document.querySelector('.side h2')?.textContent.includes('scores')")
    look.page.evaluate("history.back()")
    at(look, 128, 8)


def test_escape_puts_back_the_value_that_is_shown(look: Look, page: bytes, tmp_path: Path) -> None:
    look.show(page, tmp_path).wait(SHOWN)
    look.page.fill("#value0", "77")
    look.page.press("#value0", "Escape")
    assert look.page.input_value("#value0") == "16"
    at(look, 16, 1)


@pytest.mark.parametrize("wide", [1400, 390])
def test_many_symbols_of_long_names_can_be_read(running: Any, tmp_path: Path, wide: int) -> None:
    names = [
        f"q{place}" if place % 2 == 0 else f"a_long_name_of_a_symbol_{place}_of_this" for place in range(8)
    ]
    problem = SymbolicProblem(
        name="a long name " * 20,
        symbols=[Symbol(id=name, min=1, max=10**place + 1) for place, name in enumerate(names)],
        buffers=[
            SymbolicBuffer(id=f"b{place}", size=f"{name}*1000", lifetime=(place, place + 2))
            for place, name in enumerate(names)
        ],
        points=[Point(at={name: 10**place for place, name in enumerate(names)})],
    )
    look = Look(running, wide=wide)
    look.show(symbolic_page(problem, planned(problem), "", {}), tmp_path).wait(SHOWN)
    assert f"{names[7]}=10000000" in look.text(".title")
    lefts = "[...document.querySelectorAll('.track')].map((it) => it.getBoundingClientRect().left)"
    assert len(set(look.page.evaluate(lefts))) == 1
    titles = "[...document.querySelectorAll('.points thead th')].map((it) => it.title)"
    assert look.page.evaluate(titles)[:8] == names
    # No cell holds more than it has room for, and the table scrolls in its own box.
    cells = "[...document.querySelectorAll('.points th, .points td')]"
    over = f"{cells}.filter((it) => it.scrollWidth > it.clientWidth)"
    assert look.page.evaluate(f"{over}.length") == 0
    assert look.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert look.violations() == []
    look.close()


def too_large() -> SymbolicProblem:
    """A problem of which no plan fits at large values."""
    return SymbolicProblem(
        symbols=[Symbol(id="s", min=1, max=64, values=[4, 64])],
        pools=[Pool(id="memory", capacity=1000)],
        buffers=[
            SymbolicBuffer(id="x", size="4*s", lifetime=(0, 2)),
            SymbolicBuffer(id="y", size="s*s", lifetime=(1, 3)),
            SymbolicBuffer(id="z", size="4*s", lifetime=(1, 3)),
        ],
        in_place=[InPlace(input="x", output="z")],
    )


def test_where_nothing_fits_at_every_value_one_value_may_fit(look: Look, tmp_path: Path) -> None:
    problem = too_large()
    plan = plan_symbolic(problem, Options(deterministic=True))
    assert plan.status is Status.INFEASIBLE
    look.show(symbolic_page(problem, plan, "", {}), tmp_path).wait("document.querySelector('.values')")
    assert look.verdict == "No plan fits at every value, checked by counting at s=32."
    assert "At least 32 B are needed here, and memory has 0.98 KiB: this value alone may" in look.text(
        ".note"
    )
    assert "That nothing fits is checked by counting at s=32." in look.text(".values")
    rows = (
        "[...document.querySelectorAll('.points tbody tr')].map((it) => it.innerText.split(/\\s+/).join(' '))"
    )
    assert look.page.evaluate(rows) == ["4 ≥ 32 B – open", "64 ≥ 4.25 KiB – no room"]
    first = next(s for s in range(1, 65) if s * s + 4 * s > 1000)
    look.wait("document.querySelector('.told').textContent !== ''")
    assert look.text(".told").startswith(f"From s={first} on more is needed than there is")
    look.page.keyboard.press("n")
    at(look, 64)
    assert look.verdict == "No plan fits. At least 4.25 KiB are needed here, and memory has 0.98 KiB."


def test_where_nothing_is_known_no_room_is_left_for_a_chart(look: Look, tmp_path: Path) -> None:
    problem = replace(too_large(), in_place=())
    lives = tuple(replace(buffer, lifetime=None) for buffer in problem.buffers)
    problem = replace(problem, buffers=lives, conflicts=(("x", "y"),))
    explanation = Explanation(code="search", message="a search says so")
    plan = SymbolicPlan(status=Status.INFEASIBLE, shapes="order", explanation=explanation)
    look.show(symbolic_page(problem, plan, "", {}), tmp_path).wait("document.querySelector('.values')")
    look.wait("!document.querySelector('.curve')")
    assert look.verdict == "No plan fits at every value, as the file claims."
    assert "Of this one nothing is known" in look.text(".note")


def test_what_the_judge_refuses_is_no_valid_plan(look: Look, tmp_path: Path) -> None:
    plan = planned(PROBLEM)
    order = plan.orders[0]
    missing = replace(order, placements=order.placements[:-1])
    for forged, said in (
        (replace(plan, status=Status.INFEASIBLE), "it has no placements, orders, points or ratios"),
        (replace(plan, status=Status.UNKNOWN), "it has no placements, orders, points or ratios"),
        (replace(plan, orders=(missing,)), f"'{order.placements[-1].buffer}' has no place"),
    ):
        page = symbolic_page(PROBLEM, forged, "", {})
        look.show(page, tmp_path).wait("document.querySelector('.values')")
        assert look.verdict.startswith("This is no valid plan. The judge says: ")
        assert said in look.verdict
        assert said in look.text(".values")


def test_large_plans_are_laid_out_in_the_worker(look: Look, tmp_path: Path) -> None:
    many = [
        SymbolicBuffer(id=f"b{number}", size=f"s*{number % 7 + 1}", lifetime=(number, number + 2))
        for number in range(3_200)
    ]
    problem = SymbolicProblem(symbols=[Symbol(id="s", min=1, max=64)], buffers=many)
    plan = SymbolicPlan(status=Status.FEASIBLE, shapes="order", orders=[_chain(problem)])
    look.show(symbolic_page(problem, plan, "", {}), tmp_path).wait(SHOWN)
    look.page.focus(".slider input[type=range]")
    look.page.keyboard.press("End")
    at(look, 64)
    assert peak_of(look) == f"{Layout(problem, plan).at(s=64).objective:,}"
    assert "no valid plan" not in look.verdict


def test_view_takes_the_files_in_any_order(tmp_path: Path) -> None:
    problem, plan, out = tmp_path / "problem.json", tmp_path / "plan.json", tmp_path / "out.html"
    problem.write_bytes(write_symbolic(PROBLEM))
    plan.write_bytes(write_symbolic_plan(planned(PROBLEM)))
    pages = set()
    for files in ([problem, plan], [plan, problem], [plan, "--problem", problem]):
        assert main(["view", *map(str, files), "--output", str(out)]) == 0
        pages.add(out.read_bytes())
    assert len(pages) == 1
    held = re.search(r'id="held">([\w+/=]*)<', pages.pop().decode())
    assert held is not None
    data = json.loads(gzip.decompress(base64.b64decode(held.group(1))))
    assert data["symbolic"]["symbols"][0]["id"] == "s"
    assert data["verdict"]["valid"] is True


def test_solve_opens_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def show(address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.setattr("webbrowser.open", show)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    problem = tmp_path / "problem.json"
    problem.write_bytes(write_symbolic(PROBLEM))
    assert main(["solve", str(problem), "--deterministic", "--quiet", "--open"]) == 0
    assert len(opened) == 1
    assert "<title>attention</title>" in Path(opened[0].removeprefix("file://")).read_text()


def test_what_view_cannot_show_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problem, plan, ordinary = tmp_path / "problem.json", tmp_path / "plan.json", tmp_path / "ordinary.json"
    problem.write_bytes(write_symbolic(PROBLEM))
    plan.write_bytes(write_symbolic_plan(planned(PROBLEM)))
    ordinary.write_text('{"status": "feasible", "placements": []}')
    out = ["--output", str(tmp_path / "out.html")]
    for arguments, said in (
        ([problem], "give its plan as well"),
        ([problem, ordinary], "this is a plan for one value of the symbols; say which, such as --at s=128"),
        ([problem, plan, "--capacity", "64"], "it is not for problems with symbols; leave it out"),
        ([problem, plan, "--at", "s=17"], "17 is no value of 's'"),
        ([problem, plan, "--at", "s=32"], "'b' has no value"),
    ):
        assert main(["view", *map(str, arguments), *out]) == 2
        assert said in capsys.readouterr().err


def test_points_that_are_given_come_first(look: Look, tmp_path: Path) -> None:
    problem = replace(PROBLEM, points=(Point(at={"s": 256, "b": 2}), Point(at={"s": 16, "b": 1})))
    at(look.show(symbolic_page(problem, planned(problem), "", {}), tmp_path), 256, 2)


def _chain(problem: SymbolicProblem) -> Order:
    """Those with odd numbers are above the two that they meet."""
    names = [buffer.id for buffer in problem.buffers]
    return Order(
        placements=[
            OrderedPlacement(
                buffer=name, pool="memory", above=names[number - 1 : number + 2 : 2] if number % 2 else ()
            )
            for number, name in enumerate(names)
        ]
    )


def test_a_problem_and_its_plan_can_be_dropped_on_the_page_of_the_service(look: Look, address: str) -> None:
    plan = planned(PROBLEM)
    documents = [json.loads(write_symbolic(PROBLEM)), json.loads(write_symbolic_plan(plan))]
    look.open(f"{address}/")
    dropped(look, documents[0]).wait("document.querySelector('.values')")
    assert look.verdict.startswith("No plan yet.")
    look.page.evaluate(DROP, [["plan.json", json.dumps(documents[1])]])
    look.wait("document.querySelector('.facts')?.textContent.includes('peak, bytes')")
    look.page.focus(".slider input[type=range]")
    look.page.keyboard.press("End")
    at(look, 1024, 1)
    assert peak_of(look) == f"{Layout(PROBLEM, plan).at(s=1024, b=1).objective:,}"
    assert "Not judged here." in look.text(".values")
    look.page.keyboard.press("n")
    at(look, 1024, 8)
    assert look.violations() == []
    dropped(look, PLAIN, samples.places(0, 64, 0)).wait("!document.querySelector('.values')")
    dropped(look, *documents[::-1]).wait(SHOWN)
    at(look, 16, 1)


def test_of_several_plans_that_are_dropped_the_last_is_named(look: Look, address: str) -> None:
    first, second = (
        json.loads(write_symbolic_plan(planned(PROBLEM))),
        json.loads(write_symbolic_plan(planned(PROBLEM, 3))),
    )
    look.open(f"{address}/")
    dropped(look, first, second, json.loads(write_symbolic(PROBLEM))).wait(SHOWN)
    assert "Of 2 plans the last is shown: 1.json." in look.text(".values")
    assert "3 orders" in look.text(".values")


def test_a_formula_that_cannot_be_counted_is_named_with_the_value(look: Look, address: str) -> None:
    look.open(f"{address}/")
    for size, said in (
        ("s // (16 - s)", "the size of x at s=16, b=1: a divisor of 0 is not positive"),
        ("s - 100", "the size of x at s=16, b=1: -84 is not within 0 and 2^62"),
        ("s * t", 'the size of x: "t" is no symbol'),
    ):
        document = json.loads(write_symbolic(PROBLEM))
        document["buffers"][0]["size"] = size
        dropped(look, document).wait("document.querySelector('.failed')")
        assert said in look.text(".failed")
