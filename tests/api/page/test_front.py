"""A front drawn: points to choose from, the plan of each, and nothing believed that the page can count."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import memstow
from memstow.api.cli.pages import front_page, plans_left_out
from memstow.api.page.offline import page_alone
from memstow.planner.formats import write_problem
from memstow.planner.formats.native import write_document
from memstow.planner.front import front_view
from memstow.planner.front.front_documents import plain_front, read_front
from memstow.planner.graph.changes import with_channels
from memstow.planner.graph.schedules import only_orders, scheduled_problem
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import Front, FrontOptions
from memstow.planner.model.graph import Graph, Operator, Tensor
from memstow.planner.model.problem import Problem
from tests.api.page import samples
from tests.api.page.browser import Look
from tests.api.page.samples import JsonObject
from tests.api.serving import Server
from tests.planner.graph.test_channels import block
from tests.waiting import wait_for

DROP = """(files) => {
  const data = new DataTransfer();
  for (const [name, text] of files) data.items.add(new File([text], name, {type: 'application/json'}));
  document.dispatchEvent(new DragEvent('drop', {dataTransfer: data, cancelable: true}));
}"""
ON_FRONT = "document.querySelector('main.front')"
ON_PLAN = "document.querySelector('nav.point') && document.querySelector('canvas[data-pool]')"

# One pool: a and b live together, c after them; with overlaps that cost.
PROBLEM = samples.buffers(
    (64, 0, 2), (32, 0, 2), (64, 2, 4), reuse_costs=[{"buffers": ["a", "c"], "cost": 5}], name="three buffers"
)


@pytest.fixture(scope="module")
def net() -> tuple[Graph, Front]:
    """A graph whose points run in stripes, and its front."""
    graph = samples.conv_net()
    return graph, samples.front_of(graph)


@pytest.fixture(scope="module")
def page(net: tuple[Graph, Front]) -> bytes:
    """The page of its front, as `memstow view` makes it."""
    return front_page(*net, "net.json", None).page


def point(
    peak: int,
    cost: int,
    *offsets: int,
    proven: bool = False,
    bounds: tuple[int | None, int | None] = (None, None),
) -> JsonObject:
    """A point of PROBLEM."""
    plan = samples.places(*offsets)
    known = {
        term: bound for term, bound in zip(("peak", "reuse_cost"), bounds, strict=True) if bound is not None
    }
    return {"peak": peak, "reuse_cost": cost, "bounds": known, "proven": proven, "plan": plan}


def two_points() -> list[JsonObject]:
    """Its front: c over b and the rest, or above both."""
    return [
        point(96, 5, 0, 64, 0, proven=True, bounds=(96, 5)),
        point(128, 0, 0, 64, 64, proven=True, bounds=(128, 0)),
    ]


def front(*points: JsonObject, **more: object) -> JsonObject:
    """A front of these points."""
    return {"version": 1, "terms": ["peak", "reuse_cost"], "points": list(points), **more}


def dropped(look: Look, *documents: JsonObject) -> Look:
    """Drop these on the page, and wait until they are read."""
    look.page.evaluate("document.querySelector('main').dataset.old = '1'")
    look.page.evaluate(DROP, [[f"{at}.json", json.dumps(document)] for at, document in enumerate(documents)])
    return look.wait(
        "document.querySelector('.plan, .failed') && !document.querySelector('[data-old], progress')"
    )


def judged(problem: JsonObject, document: JsonObject) -> bytes:
    """The page of this front, as `memstow view` makes it."""
    return front_page(samples.problem_of(problem), read_front(json.dumps(document).encode()), "", None).page


def standings(look: Look) -> list[str]:
    """How each point stands, as the table says."""
    cells = "[...document.querySelectorAll('.points tbody tr')].map((row) => row.lastChild.textContent)"
    result: list[str] = look.page.evaluate(cells)
    return result


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("state", ["wide", "narrow", "chosen", "open", "wrong"])
def test_every_state_is_accessible_and_silent(
    running: Any, page: bytes, tmp_path: Path, state: str, dark: bool
) -> None:
    look = Look(running, dark=dark, wide=390 if state == "narrow" else 1440)
    look.show(page, tmp_path, {"chosen": "#at=2", "open": "#point=2"}.get(state, ""))
    if state == "wrong":
        look.show(judged(PROBLEM, front(point(95, 5, 0, 64, 0), *two_points())), tmp_path)
        look.page.keyboard.press("Home")
        look.wait("document.querySelector('.side p.wrong')")
    assert look.violations() == []
    look.close()


def test_keys_choose_points_and_open_their_plans(look: Look, page: bytes, tmp_path: Path) -> None:
    look.show(page, tmp_path).wait(ON_FRONT)
    look.page.keyboard.press("ArrowRight")
    look.page.keyboard.press("ArrowRight")
    look.wait("location.hash === '#at=2'")
    assert "Point 2 of" in look.text(".side h2")
    look.page.keyboard.press("Enter")
    look.wait(ON_PLAN).wait("location.hash === '#point=2'")
    assert look.verdict.endswith("No plan of this schedule can be smaller.")
    look.page.keyboard.press("n")
    look.wait("location.hash === '#point=3'")
    look.page.keyboard.press("Escape")
    look.wait(ON_FRONT).wait("location.hash === '#at=3'")


def test_a_click_opens_the_plan_and_escape_first_lets_go_of_a_buffer(
    look: Look, page: bytes, tmp_path: Path
) -> None:
    look.show(page, tmp_path, "#at=1")
    box = look.page.evaluate("document.querySelector('.front-chart').getBoundingClientRect().toJSON()")
    # The first of the points is at the left edge of the plans; look for it from there on.
    for y in range(int(box["y"]) + 40, int(box["y"] + box["height"]) - 40, 6):
        for x in range(int(box["x"]) + 120, int(box["x"]) + 220, 12):
            look.page.mouse.move(x, y)
            if look.page.evaluate("Boolean(document.querySelector('.front-chart.over'))"):
                break
        else:
            continue
        break
    look.wait("document.querySelector('.tip')?.textContent.includes('click for the plan')")
    look.page.mouse.down()
    look.page.mouse.up()
    look.wait(ON_PLAN).wait("location.hash.startsWith('#point=')")
    look.page.keyboard.press("]")
    look.wait("location.hash.includes('buffer=')")
    look.page.keyboard.press("Escape")
    look.wait("!location.hash.includes('buffer=')")
    assert look.page.evaluate(f"Boolean({ON_PLAN})")
    look.page.click("nav.point button")
    look.wait(ON_FRONT)


def test_the_link_restores_the_plan_and_what_was_seen_of_it(look: Look, page: bytes, tmp_path: Path) -> None:
    look.show(page, tmp_path, "#point=3&colour=size&buffer=image").wait(ON_PLAN)
    look.wait("location.hash.includes('buffer=image')")
    assert "3 of" in look.text("nav.point")
    assert look.text("[aria-label=Colour] [aria-pressed=true]") == "size"


def test_a_page_of_one_point_opens_with_its_plan(
    look: Look, net: tuple[Graph, Front], tmp_path: Path
) -> None:
    look.show(front_page(*net, "", 1).page, tmp_path).wait(ON_PLAN)
    assert "2 of" in look.text("nav.point")


def test_the_page_draws_the_problem_that_each_schedule_makes(
    look: Look, net: tuple[Graph, Front], page: bytes, tmp_path: Path
) -> None:
    graph, front_ = net
    assert any(
        entry.plan.schedule is not None and not only_orders(entry.plan.schedule) for entry in front_.points
    )
    look.show(page, tmp_path)
    for place, sample in enumerate(front_.points):
        look.page.goto(look.page.url.partition("#")[0] + f"#point={place + 1}")
        look.page.reload()
        look.wait(ON_PLAN)
        expected = {
            buffer.id: (str(buffer.size), "{}-{}".format(*buffer.lifetime))  # type: ignore[misc]
            for buffer in scheduled_problem(graph, sample.plan.schedule).buffers
        }
        assert {row["id"]: (row["size"], row["lifetimes"]) for row in _csv(look)} == expected
        assert f"{sample.values['peak']:,}" in look.text(".facts")


def test_what_the_page_cannot_count_is_a_claim(look: Look, page: bytes, tmp_path: Path) -> None:
    look.show(page, tmp_path)
    assert "All are proven, and none is missing, as the file claims." in look.verdict
    assert set(standings(look)) == {"claimed"}
    look.page.keyboard.press("Home")
    look.wait("document.querySelector('.side dl')")
    assert "peak 9,504 B" in look.text(".side dl")
    assert "judged" in look.text(".facts")


def test_bounds_that_hold_for_every_plan_are_counted(look: Look, tmp_path: Path) -> None:
    alone = samples.buffers((64, 0, 2), (32, 0, 2))
    known: JsonObject = {"peak": 96, "placement_cost": 0, "proven": True, "plan": samples.places(0, 64)}
    known["bounds"] = {"peak": 96, "placement_cost": 0}
    document = front(known) | {"terms": ["peak", "placement_cost"]}
    look.show(judged(alone, document), tmp_path)
    assert standings(look) == ["proven"]
    dropped(look, document)
    assert standings(look) == ["claimed"]


def test_a_front_is_dropped_with_its_problem_or_before_it(look: Look, page: bytes, tmp_path: Path) -> None:
    look.show(page, tmp_path)
    dropped(look, front(*two_points(), complete=True))
    assert "drop the problem with the front" in look.text(".note")
    dropped(look, PROBLEM)
    assert look.text(".note") == ""
    assert look.verdict == "2 points. Not judged here."
    look.page.keyboard.press("End")
    look.page.keyboard.press("Enter")
    look.wait(ON_PLAN)
    assert "128 B" in look.text(".caption")


def test_a_dropped_graph_whose_points_have_stripes_needs_view(
    look: Look, net: tuple[Graph, Front], page: bytes, tmp_path: Path
) -> None:
    look.show(page, tmp_path)
    graph, front_ = net
    document = json.loads(json.dumps(plain_front(front_)))
    dropped(look, json.loads(write_document(graph)), document)
    assert "`memstow view` makes a page that can draw it" in look.text(".note")
    assert set(standings(look)) == {"claimed"}
    look.page.keyboard.press("Home")
    look.page.keyboard.press("Enter")
    assert look.page.evaluate(f"Boolean({ON_FRONT})")
    dropped(look, json.loads(write_document(graph)), document["points"][0]["plan"])
    assert "`memstow view` makes a page that can draw it" in look.text(".failed")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (point(95, 5, 0, 64, 0), "peak is 95 in the front, but 96 in its plan"),
        (point(96, 5, 0, 32, 0), "the judge says: 'a' [0, 64) and 'b' [32, 64) overlap"),
        (point(90, 6, 0, 64), "the judge says: 'c' has no place"),
        (
            point(96, 5, 0, 64, 0, proven=True, bounds=(96, None)),
            "called proven, but its bound on reuse_cost",
        ),
        (point(96, 5, 0, 64, 0, bounds=(97, None)), "the bound on peak is above its value"),
        (point(160, 0, 0, 64, 96, bounds=(130, None)), "another point disproves its bound on peak"),
    ],
)
def test_points_that_are_wrong_are_told(look: Look, tmp_path: Path, wrong: JsonObject, said: str) -> None:
    look.show(judged(PROBLEM, front(*two_points(), wrong, complete=True)), tmp_path)
    assert sorted(standings(look)) == ["claimed", "claimed", "wrong"]
    assert "The file calls it complete, but parts of it are wrong." in look.verdict
    look.page.evaluate(
        "[...document.querySelectorAll('.points tr')].at("
        f"{standings(look).index('wrong') + 1}).querySelector('button').click()"
    )
    look.wait("document.querySelector('.side p.wrong')")
    assert said in look.text(".side p.wrong")


def test_a_point_that_another_is_as_good_as_is_crossed_out(look: Look, tmp_path: Path) -> None:
    first, last = two_points()
    points = first, last, point(128, 0, 0, 64, 64), point(160, 0, 0, 64, 96)
    look.show(judged(PROBLEM, front(*points)), tmp_path)
    assert sorted(standings(look)) == ["claimed", "claimed", "worse", "worse"]


def test_of_two_points_with_the_same_values_the_first_counts() -> None:
    """And of two with one value in common the better one; seen without a browser."""
    points = front(*two_points(), point(128, 0, 64, 0, 0), point(160, 0, 0, 64, 96))
    known = read_front(json.dumps(points).encode())
    document = front_view.front_document(samples.problem_of(PROBLEM), known, "", "file")
    entries = json.loads(document.content)["verdict"]["points"]
    assert [entry["standing"] for entry in entries] == ["claimed", "claimed", "worse", "worse"]


def test_who_says_that_the_judge_counted_is_not_believed(look: Look, page: bytes, tmp_path: Path) -> None:
    look.show(page, tmp_path)
    held = {"front": front(*two_points()), "problems": [PROBLEM], "of": [0, 0], "verdict": {"lead": "All"}}
    dropped(look, held)
    assert "judged" not in look.text(".facts")
    assert look.verdict == "2 points. Not judged here."


def test_values_are_exact_and_names_are_text(look: Look, page: bytes, tmp_path: Path) -> None:
    look.show(page, tmp_path)
    name, most = samples.HOSTILE, (1 << 62) - 1
    document = {"version": 1, "name": name, "terms": ["peak", name], "points": []}
    dropped(look, document | {"points": [{"peak": most, name: most - 2, "plan": samples.places()}]})
    look.page.keyboard.press("Home")
    look.wait("document.querySelector('.side dl')")
    assert f"{most:,} B" in look.text(".side dl")
    assert f"{most - 2:,}" in look.text(".side dl")
    assert look.page.evaluate("document.images.length") == 0


def test_a_page_of_a_plan_says_where_fronts_are_drawn(look: Look, tmp_path: Path) -> None:
    look.show(samples.page_of(samples.buffers((8, 0, 1)), samples.places(0)), tmp_path)
    dropped(look, front(*two_points()))
    assert "a front has a page of its own: `memstow view FILE front.json` makes it" in look.text(".failed")


def test_a_front_without_points_says_why(look: Look, tmp_path: Path) -> None:
    why = {"code": "over_capacity", "message": "96 bytes are live at 0"}
    look.show(judged(PROBLEM, front(complete=True, explanation=why)), tmp_path)
    assert look.verdict == "No point is left. Nothing fits, as the file claims."
    assert "96 bytes are live at 0" in look.text(".note")


def test_the_service_draws_a_front_that_is_dropped(running: Any, address: str) -> None:
    look = Look(running).open(address)
    dropped(look, PROBLEM, front(*two_points()))
    look.wait("document.querySelector('.points')")
    assert standings(look) == ["claimed", "claimed"]
    look.page.keyboard.press("Home")
    look.page.keyboard.press("Enter")
    look.wait(ON_PLAN)
    look.page.keyboard.press("Escape")
    look.wait(ON_FRONT)
    look.close()


def test_a_job_for_a_front_is_drawn_and_its_points_open(running: Any, server: Server, address: str) -> None:
    with server.client() as client:
        body = {"problem": PROBLEM, "front": {"terms": ["peak", "reuse_cost"]}}
        answer = client.post("/v1/fronts", json=body)
        assert answer.status_code == 202, answer.text
        job = answer.json()["id"]
    look = Look(running).open(f"{address}/jobs/{job}")
    look.wait("document.querySelectorAll('.points tbody tr').length === 2")
    look.wait("document.querySelector('.strip a.button')?.textContent === 'Edit'")
    # One word and one colour, that of the bar: the service has proven what it shows.
    assert look.text(".strip .state") == "proven"
    assert standings(look) == ["proven", "proven"]
    assert look.verdict.endswith("All are proven, and none is missing, as the service says.")
    look.page.keyboard.press("End")
    look.wait("document.querySelector('.side .see')")
    assert "as the file claims" not in look.text("body")
    colours = (
        "['.strip .state', 'h1 span'].map((it) => getComputedStyle(document.querySelector(it)).color)"
        ".concat(getComputedStyle(document.querySelector('.legend .dot')).backgroundColor)"
    )
    assert len(set(look.page.evaluate(colours))) == 1
    look.page.keyboard.press("Enter")
    look.wait(ON_PLAN).wait("location.hash === '#point=2'")
    assert "proven" in look.text("nav.point")
    assert "as the file claims" not in look.text("body")
    assert look.text(".solver button") == "Ask the solver"
    look.page.reload()
    look.wait(ON_PLAN)
    assert "2 of 2" in look.text("nav.point")
    assert look.violations() == []
    look.close()


def test_the_points_of_a_job_of_a_graph_are_drawn_as_their_schedules_run(
    running: Any, server: Server, address: str
) -> None:
    graph = samples.conv_net()
    with server.client() as client:
        body = {"graph": json.loads(write_document(graph)), "options": {"time_limit": 60.0}}
        job = client.post("/v1/fronts", json=body).json()["id"]
        wait_for(lambda: client.get(f"/v1/jobs/{job}").json()["finished"], "the front")
        frontier = read_front(client.get(f"/v1/jobs/{job}/front").content)
    schedule = frontier.points[0].plan.schedule
    assert schedule is not None
    assert schedule.stripes
    look = Look(running).open(f"{address}/jobs/{job}#point=1")
    look.wait(ON_PLAN)
    expected = scheduled_problem(graph, schedule).buffers
    look.page.keyboard.press("b")
    look.wait("document.querySelector('dialog table tbody tr')")
    rows = look.page.evaluate("document.querySelectorAll('dialog table tbody tr').length")
    assert rows == len(expected)
    assert look.violations() == []
    look.close()


def test_the_page_draws_parts_of_channels_for_the_graph_as_it_is(look: Look, tmp_path: Path) -> None:
    graph = block()
    frontier = memstow.front(graph, generators=["channels"])
    made = front_page(graph, frontier, "net.json", None)
    assert made.plans == len(frontier.points)
    look.show(made.page, tmp_path)
    assert "wrong" not in standings(look)
    look.page.keyboard.press("Home")
    look.page.keyboard.press("Enter")
    look.wait(ON_PLAN)
    schedule = frontier.points[0].plan.schedule
    assert schedule is not None
    assert schedule.alternatives
    look.page.keyboard.press("b")
    look.wait("document.querySelector('dialog table tbody tr')")
    rows = look.page.evaluate("document.querySelectorAll('dialog table tbody tr').length")
    assert rows == len(scheduled_problem(with_channels(graph), schedule).buffers)
    without = replace(frontier, request=FrontOptions())
    with pytest.raises(InputError, match="the front is of another problem or graph"):
        front_page(graph, without, "", None)


def test_a_job_of_targets_shows_the_smallest_that_will_do(running: Any, server: Server, address: str) -> None:
    targets = [
        {"version": 1, "name": str(value), "pools": [{"id": "ram", "capacity": value}]}
        for value in (64, 96, 999)
    ]
    with server.client() as client:
        body = {"problem": PROBLEM, "front": {"terms": ["peak", "reuse_cost"]}, "targets": targets}
        job = client.post("/v1/fronts", json=body).json()["id"]
        wait_for(lambda: client.get(f"/v1/jobs/{job}").json()["finished"], "the fronts")
        whole = client.get(f"/v1/jobs/{job}/front", params={"output_format": "page"}).json()
    assert whole["front"]["name"] == "three buffers in 96"
    assert "in the memories of 96, the smallest of 3 targets that will do." in whole["verdict"]["note"]
    look = Look(running).open(f"{address}/jobs/{job}")
    look.wait("document.querySelectorAll('.points tbody tr').length === 1")
    assert "in the memories of 96, the smallest of 3 targets that will do." in look.text(".head")
    look.page.keyboard.press("Home")
    look.page.keyboard.press("Enter")
    look.wait(ON_PLAN)
    look.close()


def test_a_target_that_is_known_says_that_others_are_not(look: Look, tmp_path: Path) -> None:
    frontier = read_front(json.dumps(front(*two_points()[::-1], complete=True)).encode())
    target = front_view.TargetOf(name="tiny", smallest=False, all=3, open=2)
    made = front_view.front_document(samples.problem_of(PROBLEM), frontier, "", "service", target=target)
    look.show(page_alone(made.content, "tiny", "front"), tmp_path)
    assert "in the memories of tiny, one of 3 targets. Of 2 others not all is known" in look.text(".head")


def test_the_chart_is_saved(look: Look, page: bytes, tmp_path: Path) -> None:
    look.show(page, tmp_path)
    with look.page.expect_download() as download:
        look.page.keyboard.press("s")
    picture = Path(download.value.path()).read_text()
    assert picture.startswith("<svg")
    assert "9.28 KiB" in picture


def test_the_front_is_saved_as_other_files(
    look: Look, page: bytes, net: tuple[Graph, Front], tmp_path: Path
) -> None:
    look.show(page, tmp_path)
    saved = {}
    for kind in ("PNG", "CSV", "JSON"):
        with look.page.expect_download() as download:
            look.page.click(f"[aria-label='save the front as'] button:has-text('{kind}')")
        assert download.value.suggested_filename == f"a-small-MobileNet-48-x-48.front.{kind.lower()}"
        saved[kind] = Path(download.value.path()).read_bytes()
    assert saved["PNG"].startswith(b"\x89PNG")
    rows = list(csv.DictReader(io.StringIO(saved["CSV"].decode())))
    document = json.loads(saved["JSON"])
    terms = net[1].terms
    assert [[row[term] for term in terms] for row in rows] == [
        [str(entry.values[term]) for term in terms] for entry in net[1].points
    ]
    assert [[entry[term] for term in terms] for entry in document["points"]] == [
        [entry.values[term] for term in terms] for entry in net[1].points
    ]
    assert [{"bounds": entry["bounds"]} for entry in document["points"]] == [
        {"bounds": entry.bounds} for entry in net[1].points
    ]


def test_a_front_of_one_point_says_why_there_is_one(look: Look, tmp_path: Path) -> None:
    cheap = {**PROBLEM, "reuse_costs": []}
    one = front(point(96, 0, 0, 64, 0, proven=True, bounds=(96, 0)), complete=True)
    look.show(judged(cheap, one), tmp_path)
    assert look.verdict.startswith("One point: 96 B, reuse cost 0.")
    assert "There is nothing to choose: no plan has less peak, whatever its reuse cost" in look.text(".head")
    assert look.violations() == []


def test_that_the_order_was_kept_is_told(look: Look, tmp_path: Path) -> None:
    net = samples.conv_net()
    aside = Operator(id="aside", inputs=(), outputs=("aside.out",))
    other = replace(
        net, tensors=(*net.tensors, Tensor(id="aside.out", size=1)), operators=(*net.operators, aside)
    )
    # Of a chain there is one order, which nobody has kept.
    for graph, kept in (
        (replace(net, order="given"), False),
        (replace(other, order="given"), True),
        (replace(other, order="free"), False),
    ):
        look.show(front_page(graph, samples.front_of(graph), "", None).page, tmp_path)
        assert ("--order free" in look.text(".head")) == kept


def test_a_job_in_the_listed_order_can_be_found_again_in_the_best(look: Look, address: str) -> None:
    look.open(f"{address}/new")
    look.wait("document.querySelector('.segments') && document.querySelectorAll('select option').length > 1")
    look.page.click(".segments button:has-text('Front')")
    look.page.click(".segments button:has-text('Graph')")
    look.page.click(".segments button:has-text('Front')")
    look.page.locator(".asked label:has-text('as the graph says') select").select_option("given")
    look.page.click("button.main")
    look.wait("document.querySelector('.again') !== null")
    look.page.click(".again")
    look.wait("document.querySelector('.segments [aria-pressed=true]')?.innerText === 'Front'")
    # The form appears before what it is to hold has been put in.
    look.wait(
        "[...document.querySelectorAll('.asked label')]"
        ".find((label) => label.innerText.includes('as the graph says'))"
        "?.querySelector('select').value === 'free'"
    )


def test_points_beyond_the_room_are_drawn_without_plans(
    look: Look, net: tuple[Graph, Front], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(front_view, "MOST_PLANS", 2)
    made = front_page(*net, "", 2)
    said = plans_left_out(made, net[1])
    assert said is not None
    assert said.startswith(f"the page holds the plans of 2 points; the other {len(net[1].points) - 2}")
    look.show(made.page, tmp_path, "#at=6")
    assert "this file holds the plans of some points only" in look.text(".note")
    assert "wrong" not in standings(look)
    look.page.keyboard.press("Home")
    look.page.keyboard.press("Enter")
    assert look.page.evaluate(f"Boolean({ON_FRONT})")


def test_what_the_judge_counts_otherwise_is_told(
    look: Look, net: tuple[Graph, Front], tmp_path: Path
) -> None:
    graph, front_ = net
    forged = _forged(front_, cost=front_.points[0].values["cost"] - 1)
    look.show(front_page(graph, forged, "", None).page, tmp_path)
    assert standings(look)[0] == "wrong"
    look.page.keyboard.press("Home")
    look.wait("document.querySelector('.side p.wrong')")
    assert f"its schedule costs {front_.points[0].values['cost']:,}" in look.text(".side")


def test_a_front_of_something_else_is_refused(net: tuple[Graph, Front]) -> None:
    other = samples.problem_of(PROBLEM)
    with pytest.raises(InputError, match="the front is of another problem or graph"):
        front_page(other, net[1], "", None)


def test_a_problem_is_held_once(net: tuple[Graph, Front]) -> None:
    problem: Problem = samples.problem_of(PROBLEM)
    frontier = samples.front_of(problem)
    made = front_page(problem, frontier, "", None)
    assert made.plans == len(frontier.points) == 2
    assert len(made.page) < len(front_page(*net, "", None).page) + len(write_problem(problem))


def _forged(front_: Front, **values: int) -> Front:
    first, *rest = front_.points
    lie = replace(first, values=dict(first.values) | values, bounds={}, proven=False)
    return replace(front_, points=(lie, *rest))


def _csv(look: Look) -> list[dict[str, str]]:
    look.page.click("#export")
    with look.page.expect_download() as download:
        look.page.click(".items button:has-text('CSV')")
    return list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text())))
