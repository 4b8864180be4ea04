"""Jobs on the page: live by events, in every state, with and without a key."""

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Client

from memstow.api.http.samples import JOB
from tests.api.asking import over, submit
from tests.api.http.conftest import hard
from tests.api.page import samples
from tests.api.page.browser import ROOT, Look
from tests.api.page.fake import JOB_ID, Answer, FakeService, refusal, stream
from tests.api.page.samples import JsonObject, buffers, peak_claim, places
from tests.api.serving import Server

JOB_PAGE = f"/jobs/{JOB_ID}"
BASE = f"/v1/jobs/{JOB_ID}"
AWAY = refusal(
    503, "store_unavailable", "the store does not answer; nothing was lost, try again", **{"retry-after": "1"}
)
NO_KEY = refusal(401, "unauthorized", "send a key: Authorization: Bearer msk_...")
GOOD_BUFFERS = buffers((8, 0, 2), (8, 1, 3))["buffers"]
GOOD = places(0, 8, objective=peak_claim(16, 16))
STATUSES = (401, 403, 404, 409, 503)


@pytest.fixture
def look(running: Any) -> Iterator[Look]:
    sample = Look(running, refusals=STATUSES)
    yield sample
    sample.close()


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with server.client() as sample:
        yield sample


UNFITTING = {"status": "feasible", "placements": [{"buffer": "x", "pool": "memory", "offset": 0}]}
PROVEN = {"state": "done", "status": "optimal", "value": 16, "bound": 16, "gap": 0.0}
# For each state what is told of the job, its plan, and what the page then says.
STATES: dict[str, tuple[JsonObject, JsonObject | None, str]] = {
    "queued": ({"state": "queued", "started": None}, None, "waits for its turn"),
    "without a plan": ({"state": "running"}, None, "no plan yet · at least 16 B"),
    "done": (PROVEN, GOOD, "No plan can be smaller"),
    "infeasible": (
        {"state": "done", "status": "infeasible"},
        {"status": "infeasible"},
        "nothing fits",
    ),
    "unknown": ({"state": "done", "status": "unknown"}, {"status": "unknown"}, "No plan was found"),
    "failed": (
        {"state": "failed", "error": "out_of_memory: the work exceeds `memory_limit`"},
        None,
        "out_of_memory: the work exceeds `memory_limit`",
    ),
    "cancelled": ({"state": "cancelled"}, None, "before there was a plan"),
    "not for its problem": (
        {"state": "done", "status": "feasible", "value": 16},
        UNFITTING,
        "cannot be drawn here",
    ),
}
REFUSALS = {
    "expired": (refusal(404, "no_such_job", "there is no job of this id"), "There is no such job"),
    "store away": (AWAY, "The store of the service is away"),
    "key needed": (NO_KEY, "A key is needed"),
    "role": (refusal(403, "missing_role", "this needs the role `solve`"), "The key may not do this"),
}


def prepare(fake: FakeService, state: str) -> str:
    """Prepares the state, and returns what the page then says."""
    if state in REFUSALS:
        answer, said = REFUSALS[state]
        fake.on(BASE, answer)
        return said
    about, plan, said = STATES[state]
    fake.job(plan, **about)
    if state == "without a plan":
        bound = {"value": 16, "solver": "x", "seconds": 0.2}
        fake.on(f"{BASE}/events", stream((1, "bound", bound)), Answer(204))
    return said


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("state", [*STATES, *REFUSALS])
def test_every_state_says_what_it_is_and_is_accessible(
    running: Any, address: str, state: str, dark: bool
) -> None:
    look = Look(running, dark=dark, refusals=STATUSES)
    said = prepare(FakeService(look.page), state)
    look.open(address + JOB_PAGE)
    look.wait(f"document.body.innerText.includes({json.dumps(said)})")
    assert look.violations() == []
    look.close()


def test_a_job_is_seen_live_and_can_be_stopped(look: Look, client: Client, address: str) -> None:
    job = submit(client, hard(600, 21), time_limit=600.0)
    look.open(f"{address}/jobs/{job}")
    look.wait("document.querySelector('.strip .state')?.innerText === 'running'")
    look.wait("document.querySelector('h1')?.innerText.includes('could be saved')")
    look.wait("document.querySelector('canvas.search') !== null")
    look.page.click(".strip button")
    look.wait("document.querySelector('.strip .state')?.innerText === 'cancelled'")
    assert "its best plan is kept" in look.text(".strip")
    assert "could be saved" in look.verdict
    look.page.click(".strip button:has-text('Delete')")
    look.wait("document.querySelector('dialog[open]') !== null")
    assert look.violations() == []
    look.page.click("dialog button.main")
    look.wait("location.pathname === '/jobs'")
    assert client.get(f"/v1/jobs/{job}").status_code == 404


def test_a_better_plan_is_drawn_and_what_is_chosen_stays(look: Look, address: str) -> None:
    fake = FakeService(look.page).job(places(8, 20), state="running", status="feasible", value=28, bound=16)
    fake.on(
        f"{BASE}/plan",
        Answer(body=places(8, 20), headers={"etag": '"1"'}),
        Answer(body=GOOD, headers={"etag": '"2"'}),
    )
    look.open(f"{address}{JOB_PAGE}#buffer=b")
    look.wait("document.querySelector('.side h2')?.innerText.startsWith('b')")
    fake.on(
        f"{BASE}/events", stream((1, "incumbent", {"value": 16, "solver": "x", "seconds": 1})), Answer(204)
    )
    look.wait("document.querySelector('h1')?.innerText.startsWith('16 B')")
    assert look.text(".side h2").startswith("b")
    assert "16" in look.text(".side .rows")


def test_a_stream_that_breaks_is_resumed_behind_its_last_event(look: Look, address: str) -> None:
    fake = FakeService(look.page).job(state="running")
    path = f"{BASE}/events"
    fake.on(
        path,
        stream(
            (1, "phase", {"name": "greedy", "seconds": 0}),
            (2, "bound", {"value": 12, "solver": "x", "seconds": 1}),
        ),
        AWAY,
        stream((3, "bound", {"value": 16, "solver": "x", "seconds": 2})),
        Answer(204),
    )
    look.open(address + JOB_PAGE)
    look.wait("document.querySelector('.strip')?.innerText.includes('at least 16 B')")
    request = [headers["last-event-id"] for headers in fake.headers_of(path)]
    assert request[:3] == ["0", "2", "2"]
    look.wait("document.querySelector('.trouble') === null")


def test_a_queued_job_is_seen_to_start_though_its_run_tells_of_nothing(look: Look, address: str) -> None:
    fake = FakeService(look.page).job(state="queued", started=None, options={"front": {}})
    two_pools = {"pools": [{"id": "fast", "capacity": 8}, {"id": "slow"}], "buffers": GOOD_BUFFERS}
    fake.on(f"{BASE}/problem", Answer(body={"version": 1, **two_pools})).on(f"{BASE}/events", stream())
    look.open(address + JOB_PAGE).wait("document.querySelector('.strip .state')?.innerText === 'queued'")
    assert look.verdict == "No plan yet."
    answer = fake.answers[BASE][0]
    assert isinstance(answer.body, dict)
    fake.on(BASE, Answer(body={**answer.body, "state": "running", "started": JOB["started"]}))
    look.wait("document.querySelector('.strip .state')?.innerText === 'running'")


def test_what_is_known_stays_while_the_store_is_away(look: Look, address: str) -> None:
    fake = FakeService(look.page).job(GOOD, state="running", status="feasible", value=16, bound=8)
    fake.on(f"{BASE}/events", AWAY)
    look.open(address + JOB_PAGE)
    look.wait("document.querySelector('.trouble')?.innerText.includes('the last that is known')")
    assert look.verdict.startswith("16 B")
    assert look.violations() == []


@pytest.mark.parametrize("keep", [False, True])
def test_a_key_is_sent_in_a_header_and_kept_only_if_asked(look: Look, address: str, keep: bool) -> None:
    fake = FakeService(look.page).on(BASE, NO_KEY)
    look.open(address + JOB_PAGE)
    look.page.fill("input[type=password]", "msk_one two")
    look.page.keyboard.press("Enter")
    look.wait("document.querySelector('.failed') !== null")
    fake.job(GOOD, state="done", status="optimal", value=16)
    look.page.fill("input[type=password]", "msk_0123_secret")
    if keep:
        look.page.check("input[type=checkbox]")
    look.page.keyboard.press("Enter")
    look.wait("document.querySelector('.plan') !== null")
    assert fake.headers_of(f"{BASE}/plan")[-1]["authorization"] == "Bearer msk_0123_secret"
    assert not any("msk_" in url for url in look.requests)
    assert "msk_" not in look.page.content()
    stored = look.page.evaluate("JSON.stringify([sessionStorage, localStorage])")
    assert ("msk_0123_secret" in stored) == keep
    look.page.click("#key")
    look.wait("document.querySelector('dialog[open]') !== null")
    assert look.page.evaluate("document.activeElement.type") == "password"
    assert look.violations() == []
    look.page.click("dialog button:has-text('Forget')")
    look.wait("document.querySelector('dialog') === null")
    assert "msk_" not in look.page.evaluate("JSON.stringify([sessionStorage, localStorage])")


def test_a_key_sees_its_own_jobs_only(running: Any, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    solve, read = _key(tmp_path, "solve"), _key(tmp_path, "read")
    server = Server(tmp_path / "data").start()
    request.addfinalizer(server.kill)
    look = Look(running, refusals=STATUSES)
    with server.client(headers={"authorization": f"Bearer {solve}"}) as client:
        job = submit(client, hard(600, 3), time_limit=600.0)
    look.open(f"{server.url.rstrip('/')}/jobs")
    look.wait("document.querySelector('h1')?.innerText === 'A key is needed.'")
    look.page.fill("input[type=password]", solve)
    look.page.keyboard.press("Enter")
    look.wait(f"document.querySelector('a[href=\"/jobs/{job}\"]') !== null")
    look.page.click(f"a[href='/jobs/{job}']")
    look.wait("document.querySelector('.strip .state')?.innerText === 'running'")
    look.page.click("#key")
    look.page.fill("input[type=password]", read)
    look.page.keyboard.press("Enter")
    look.wait("document.querySelector('h1')?.innerText === 'There is no such job.'")
    look.close()


def _key(folder: Path, role: str) -> str:
    command = [sys.executable, "-m", "memstow.api.cli.main", "keys", "create", "--name", role, "--role", role]
    made = subprocess.run(
        [*command, "--data", str(folder / "data")], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return next(word for word in made.stdout.split() if word.startswith("msk_"))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_list_of_jobs_lives_filters_and_pages(running: Any, address: str, dark: bool) -> None:
    look = Look(running, dark=dark, refusals=STATUSES)
    hostile = {**JOB, "name": samples.HOSTILE, "value": 2**62, "peak": 2**62}
    done = {**hostile, "id": "f" * 32, "state": "done", "status": "optimal", "gap": 0.0, "name": None}
    fake = FakeService(look.page).on(
        "/v1/jobs",
        Answer(body={"jobs": [hostile], "next": None}),
        Answer(body={"jobs": [done, hostile], "next": "abc"}),
    )
    look.open(f"{address}/jobs")
    look.wait("document.querySelectorAll('.jobs tbody tr').length === 2")
    assert look.page.evaluate("document.images.length") == 0
    assert "<img src=x" in look.text(".jobs")
    assert look.text(".jobs tbody tr td[data-of=best]") == "4 EiB"
    assert look.violations() == []
    look.page.click(".choices button:has-text('failed')")
    look.wait("location.search === '?state=failed'")
    look.page.click("button:has-text('Older')")
    look.wait("location.search.includes('cursor=abc') && location.search.includes('state=failed')")
    look.page.go_back()
    look.wait("location.search === '?state=failed'")
    assert ("/v1/jobs", "GET") in {(path, method) for path, method, _ in fake.asked}
    look.close()


def test_two_jobs_of_one_problem_are_compared_from_the_list(look: Look, address: str) -> None:
    rows = [{**JOB, "id": letter * 32, "name": f"job {letter}"} for letter in "ab"]
    other = {**JOB, "id": "c" * 32, "name": "job c", "digest": "1" * 64}
    fake = FakeService(look.page).on("/v1/jobs", Answer(body={"jobs": [*rows, other], "next": None}))
    for row in rows:
        fake.on(f"/v1/jobs/{row['id']}", Answer(body=row))
        fake.on(f"/v1/jobs/{row['id']}/problem", Answer(body=buffers((8, 0, 2), (8, 1, 3))))
        fake.on(f"/v1/jobs/{row['id']}/plan", Answer(body=GOOD))
    look.open(f"{address}/jobs")
    look.page.click("button[aria-label='compare job a']")
    look.wait("document.querySelector('button[aria-label=\"compare job c\"]') === null")
    assert look.violations() == []
    look.page.click("button[aria-label='with this: compare job a with job b']")
    look.wait("document.querySelectorAll('.pair canvas[data-pool]').length === 2")
    assert look.page.evaluate("location.search") == f"?a={'a' * 32}&b={'b' * 32}"


def test_compared_jobs_are_told_apart_by_what_they_were_asked_for(look: Look, address: str) -> None:
    fake = FakeService(look.page)
    options = ({"solver": "auto", "time_limit": 5.0}, {"solver": "first-fit", "time_limit": 5.0, "seed": 7})
    for letter, given in zip("ab", options, strict=True):
        about = {
            **JOB,
            **PROVEN,
            "id": letter * 32,
            "name": None,
            "buffers": 2,
            "options": given,
            "solver": "exact",
        }
        fake.on(f"/v1/jobs/{letter * 32}", Answer(body=about))
        fake.on(f"/v1/jobs/{letter * 32}/problem", Answer(body={"version": 1, "buffers": GOOD_BUFFERS}))
        fake.on(f"/v1/jobs/{letter * 32}/plan", Answer(body=GOOD))
    look.open(f"{address}/compare?a={'a' * 32}&b={'b' * 32}")
    look.wait("document.querySelector('.compared')")
    assert "first: auto, found by exact" in look.text(".pair")
    assert "second: first-fit, seed 7" in look.text(".pair")
    assert "solver first-fit, 5.0 s at most, seed 7" in look.text(".compared")
    assert look.page.locator(f".compared a[href='/jobs/{'b' * 32}']").count() == 1
    assert look.text(".title") == "2 buffers, job aaaaaaaa"
    assert look.violations() == []
    look.page.keyboard.press("x")
    look.wait("document.querySelector('.compared p').innerText.includes('first-fit')")


@pytest.mark.parametrize("wide", [390, 1440])
def test_jobs_are_found_and_ended_together(running: Any, address: str, wide: int) -> None:
    look = Look(running, wide=wide, refusals=STATUSES)
    states = {"a": "running", "b": "queued", "c": "done", "d": "done"}
    rows = [{**JOB, "id": key * 32, "name": f"job {key}", "state": state} for key, state in states.items()]
    fake = FakeService(look.page).on("/v1/jobs", Answer(body={"jobs": rows, "next": None}))
    look.open(f"{address}/jobs").wait("document.querySelectorAll('.jobs tbody tr').length === 4")
    assert look.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    clipped = (
        "[...document.querySelectorAll('.jobs tbody :is(td, th)')]"
        ".filter((it) => it.getBoundingClientRect().right > innerWidth).length"
    )
    assert look.page.evaluate(clipped) == 0
    look.page.focus("input.wanted")
    look.page.keyboard.type("ob")
    look.wait("location.search === '?search=ob'")
    look.page.keyboard.type(" a")
    look.wait("location.search === '?search=ob+a'")
    assert look.page.evaluate("document.activeElement.value") == "ob a"
    request = [url for url in look.requests if "search=ob+a" in url]
    assert request
    look.page.check("input[aria-label='select all that are shown']")
    look.wait("document.querySelector('.chosen-jobs')")
    assert "4 selected" in look.text(".chosen-jobs")
    assert look.violations() == []
    look.page.click("button:has-text('End 2 that go on')")
    look.wait("document.querySelector('.chosen-jobs') === null")
    ended = [url.partition("/v1/jobs?")[2] for url in look.requests if "ids=" in url]
    assert ended == [f"ids={'a' * 32},{'b' * 32}"]
    assert [path for path, method, _ in fake.asked if method == "DELETE"] == ["/v1/jobs"]
    look.page.check("input[aria-label='select job c']")
    look.page.check("input[aria-label='select job d']")
    look.page.click(".chosen-jobs button:has-text('Delete selected')")
    look.wait("document.querySelector('dialog[open]')")
    assert "Delete 2 jobs?" in look.text("dialog")
    look.page.click("dialog button.main")
    look.wait("document.querySelector('dialog') === null")
    assert [url.partition("/v1/jobs?")[2] for url in look.requests if "ids=" in url][1:] == [
        f"ids={'c' * 32},{'d' * 32}&discard=true"
    ]
    look.close()


def test_several_jobs_of_a_service_are_deleted_at_once(look: Look, client: Client, address: str) -> None:
    jobs = [submit(client, buffers((8, 0, place + 1), name="bulk of two")) for place in range(2)]
    for job in jobs:
        over(client, job)
    look.open(f"{address}/jobs?search=bulk+of+two")
    look.wait("document.querySelectorAll('.jobs tbody tr').length === 2")
    look.page.check("input[aria-label='select all that are shown']")
    look.page.click(".chosen-jobs button:has-text('Delete selected')")
    look.page.click("dialog button.main")
    look.wait("document.querySelectorAll('.jobs tbody tr').length === 0")
    assert [client.get(f"/v1/jobs/{job}").status_code for job in jobs] == [404, 404]


def test_a_job_is_found_by_what_the_list_calls_it(look: Look, client: Client, address: str) -> None:
    nameless = {"version": 1, "buffers": buffers(*[(8, 0, 2)] * 7)["buffers"]}
    job = submit(client, nameless)
    submit(client, nameless | {"name": "seven"})
    over(client, job)
    for search in (f"7 buffers, job {job[:8]}", job[:8].upper(), job):
        look.open(f"{address}/jobs").wait("document.querySelectorAll('.jobs tbody tr').length > 1")
        look.page.fill("input[type=search]", search)
        look.wait("document.querySelectorAll('.jobs tbody tr').length === 1")
        assert look.text(".jobs tbody th") == f"7 buffers, job {job[:8]}"
    look.page.fill("input[type=search]", "no such name")
    look.wait("document.querySelector('.said')")
    assert look.text(".said") == "No job here is called “no such name”. All jobs"


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"status": "feasible", "value": 20, "gap": 0.2}, "20 %"),
        ({"status": "feasible", "value": 16, "gap": 0.0}, "0 %, first term"),
        ({"status": "optimal", "value": 16, "gap": 0.0}, "0 %"),
        ({"status": "feasible", "value": 16, "gap": 0.0, "options": {"front": {}}}, ""),
        ({"status": "optimal", "value": 16, "gap": 0.0, "options": {"front": {}}}, "0 %"),
    ],
)
def test_a_gap_in_the_list_says_of_what_it_is(look: Look, address: str, about: JsonObject, said: str) -> None:
    job = {**JOB, "state": "done", "bound": 16, **about}
    FakeService(look.page).on("/v1/jobs", Answer(body={"jobs": [job], "next": None}))
    look.open(f"{address}/jobs").wait("document.querySelectorAll('.jobs tbody tr').length === 1")
    assert look.text(".jobs td[data-of=gap]") == said


def test_the_older_job_never_seems_the_newer(look: Look, address: str) -> None:
    def created(seconds: int) -> str:
        return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()

    jobs = [{**JOB, "id": f"{ago:032x}", "created": created(ago)} for ago in (95, 110, 130, 6500, 7300)]
    FakeService(look.page).on("/v1/jobs", Answer(body={"jobs": jobs, "next": None}))
    look.open(f"{address}/jobs").wait("document.querySelectorAll('.jobs tbody tr').length === 5")
    output = look.page.evaluate(
        "[...document.querySelectorAll('.jobs td[data-of=created]')].map((it) => it.innerText)"
    )
    units = {"s": 1, "min": 60, "h": 3600}
    counted = [int(number) * units[unit] for number, unit, _ in (text.split() for text in output)]
    assert counted == sorted(counted)


def test_a_job_without_a_name_is_called_by_its_size(look: Look, address: str) -> None:
    fake = FakeService(look.page).job(GOOD, **PROVEN, name=None, buffers=2)
    fake.on(f"{BASE}/problem", Answer(body={"version": 1, "buffers": GOOD_BUFFERS}))
    look.open(address + JOB_PAGE).wait("document.querySelector('.plan')")
    assert look.text(".title") == f"2 buffers, job {JOB_ID[:8]}"


@pytest.mark.parametrize(("name", "said"), [("build 17", "build 17"), ("net", "")])
def test_a_job_is_called_by_its_name_beside_that_of_its_problem(
    look: Look, address: str, name: str, said: str
) -> None:
    fake = FakeService(look.page).job(GOOD, **PROVEN, name=name)
    fake.on(f"{BASE}/problem", Answer(body={"version": 1, "name": "net", "buffers": GOOD_BUFFERS}))
    look.open(address + JOB_PAGE).wait("document.querySelector('.plan')")
    assert look.text(".title") == "net"
    assert look.text(".strip .called") == said


def test_a_bound_close_to_the_best_is_told_by_what_is_between(look: Look, address: str) -> None:
    plan = places(0, 10**9, objective=peak_claim(10**9 + 8, 10**9))
    fake = FakeService(look.page).job(plan, state="running", status="feasible", value=10**9 + 8, bound=10**9)
    fake.on(f"{BASE}/problem", Answer(body=buffers((10**9, 0, 1), (8, 1, 2))))
    fake.on(f"{BASE}/events", stream((1, "phase", {"name": "exact", "seconds": 0.1})), AWAY)
    look.open(address + JOB_PAGE)
    look.wait("document.querySelector('.strip')?.innerText.includes('best')")
    assert "best 954 MiB · at most 8 B above the least possible" in look.text(".strip .doing")
    look.wait("document.querySelector('.caption')?.innerText.includes('8 B above the least possible')")
    assert look.text(".caption").count("954 MiB") == 1


def test_what_the_service_has_found_is_said_in_one_colour_with_one_word(look: Look, address: str) -> None:
    problem = {
        **buffers((10, 0, 1), (10, 1, 2), (1, 0, 1)),
        "pools": [{"id": "memory"}, {"id": "other", "capacity": 1}],
    }
    certificate = {"kind": "exhausted", "solver": "mine", "refuted": [{"height": 19, "nodes": 1}]}
    (term,) = peak_claim(20, 20, certificate)
    plan = places(0, 10, 10, status="optimal", prover="mine", objective=[term | {"term": "peak:memory"}])
    use = {"pool": "memory", "capacity": None, "peak": 20, "bound": 20, "live": {"bytes": 11, "time": 0}}
    plan["pools"] = [use]
    fake = FakeService(look.page).job(plan, **{**PROVEN, "value": 20, "bound": 20})
    fake.on(f"{BASE}/problem", Answer(body=problem | {"objective": ["peak:memory"]}))
    look.open(address + JOB_PAGE).wait("document.querySelector('.plan')")
    assert look.verdict == "20 B. No plan needs less of memory, as the service says."
    assert "bound of the service" in look.text(".facts")
    assert "least possible, as the service says" in look.text(".caption")
    assert "The service says that 20 bytes are needed at least" in look.text(".side")
    colours = (
        "[document.querySelector('h1 span'), document.querySelector('.caption .met')]"
        ".map((it) => getComputedStyle(it).color)"
    )
    verdict, caption = look.page.evaluate(colours)
    assert verdict == caption
    assert not {"as the judge says", "as the file claims"} & {*look.text("body").split("\n")}
    assert "the file claims" not in look.text("body")


def test_a_job_of_formulas_has_its_bar_and_the_words_of_the_service(look: Look, address: str) -> None:
    problem = {
        "symbols": [{"id": "s", "min": 1, "max": 8, "values": [1, 8]}],
        "buffers": [
            {"id": "x", "size": "8*s", "lifetime": [0, 2]},
            {"id": "y", "size": "8*s", "lifetime": [1, 3]},
        ],
    }
    placements = [
        {"buffer": "x", "pool": "memory", "above": []},
        {"buffer": "y", "pool": "memory", "above": ["x"]},
    ]
    points = [{"at": {"s": s}, "peak": 16 * s, "least": 16 * s} for s in (1, 8)]
    plan = {
        "status": "optimal",
        "shapes": "pieces",
        "orders": [{"placements": placements}],
        "points": points,
        "worst": 1.0,
        "bound": 1.0,
    }
    fake = FakeService(look.page).job(
        plan, state="running", status="feasible", value=16, bound=16, name="formulas"
    )
    fake.on(f"{BASE}/problem", Answer(body=problem))
    fake.on(f"{BASE}/events", stream((1, "phase", {"name": "orders", "seconds": 0.1})), AWAY)
    look.open(address + JOB_PAGE).wait("document.querySelector('.values')")
    look.wait("document.querySelector('.strip .state')?.innerText === 'running'")
    assert look.page.locator(".strip button:has-text('Stop, keep the best')").count() == 1
    assert "Several orders were allowed; this plan has one, for every value." in look.text(".values")
    look.page.keyboard.press("n")
    look.wait("document.querySelector('.title').innerText.endsWith('s=8')")
    assert look.verdict.startswith("128 B. No layout for this value can be smaller")
    assert look.violations() == []


def test_jobs_are_listed_opened_and_removed_by_keyboard(look: Look, client: Client, address: str) -> None:
    job = submit(client, samples.infeasible())
    over(client, job)
    look.open(f"{address}/jobs")
    look.wait(f"document.querySelector('a[href=\"/jobs/{job}\"]') !== null")
    look.page.focus(f"a[href='/jobs/{job}']")
    look.page.keyboard.press("Enter")
    look.wait("document.querySelector('.strip .state')?.innerText === 'nothing fits'")
    assert look.verdict == "No plan fits into these memories."
    look.page.go_back()
    look.wait("document.querySelector('button[aria-label^=\"delete too much\"]') !== null")
    look.page.focus("button[aria-label^='delete too much']")
    look.page.keyboard.press("Enter")
    look.wait("document.querySelector('dialog[open]') !== null")
    look.page.keyboard.press("Escape")
    look.wait("document.querySelector('dialog') === null")
    assert client.get(f"/v1/jobs/{job}").status_code == 200
    look.page.focus("button[aria-label^='delete too much']")
    look.page.keyboard.press("Enter")
    look.wait("document.querySelector('dialog[open]') !== null")
    look.page.keyboard.press("Tab")
    look.page.keyboard.press("Enter")
    look.wait(f"document.querySelector('a[href=\"/jobs/{job}\"]') === null")
    assert client.get(f"/v1/jobs/{job}").status_code == 404
