"""Jobs on the page: live by events, in every state, with and without a key."""

import json
import subprocess
import sys
from collections.abc import Iterator
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
GOOD = places(0, 8, objective=peak_claim(16, 16))
STATUSES = (401, 403, 404, 409, 503)


@pytest.fixture
def look(running: Any) -> Iterator[Look]:
    it = Look(running, refusals=STATUSES)
    yield it
    it.close()


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with server.client() as it:
        yield it


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
    look.wait("document.querySelector('h1')?.innerText.includes('of the least possible')")
    look.wait("document.querySelector('canvas.search') !== null")
    look.page.click(".strip button")
    look.wait("document.querySelector('.strip .state')?.innerText === 'cancelled'")
    assert "its best plan is kept" in look.text(".strip")
    assert "of the least possible" in look.verdict
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
    asked = [headers["last-event-id"] for headers in fake.headers_of(path)]
    assert asked[:3] == ["0", "2", "2"]
    look.wait("document.querySelector('.trouble') === null")


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
    assert look.text(".jobs tbody tr td:nth-child(4)") == "4 EiB"
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
        fake.on(f"/v1/jobs/{row['id']}/problem", Answer(body=buffers((8, 0, 2), (8, 1, 3))))
        fake.on(f"/v1/jobs/{row['id']}/plan", Answer(body=GOOD))
    look.open(f"{address}/jobs")
    look.page.click("button[aria-label='compare job a']")
    look.wait("document.querySelector('button[aria-label=\"compare job c\"]') === null")
    assert look.violations() == []
    look.page.click("button[aria-label='with this: compare job a with job b']")
    look.wait("document.querySelectorAll('.pair canvas[data-pool]').length === 2")
    assert look.page.evaluate("location.search") == f"?a={'a' * 32}&b={'b' * 32}"


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
