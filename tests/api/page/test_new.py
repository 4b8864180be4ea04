"""`/new`: what is written is completed, sent and drawn, and what is wrong with it is marked where it is."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from memstow.api.page.assets import manifest
from tests.api.http.conftest import hard
from tests.api.page.browser import Look
from tests.api.page.fake import Answer, FakeService, refusal
from tests.api.page.samples import buffers, places

EDITOR = "document.querySelector('.written').shadowRoot"
TEXT = f"({EDITOR}.querySelector('.cm-content').innerText)"


@pytest.fixture
def look(running: Any) -> Iterator[Look]:
    sample = Look(running, refusals=(400, 401, 404, 422))
    yield sample
    sample.close()


def editor(look: Look, address: str) -> Look:
    """The page with its editor, which completes."""
    look.open(f"{address}/new")
    look.wait(
        f"{EDITOR}?.querySelector('.cm-content') && document.querySelectorAll('select option').length > 1"
    )
    return look


def write(look: Look, text: str) -> None:
    """Write this in place of everything."""
    look.page.locator(".cm-content").focus()
    look.page.keyboard.press("Control+a")
    look.page.keyboard.insert_text(text)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_is_accessible_and_silent(running: Any, address: str, dark: bool) -> None:
    look = editor(Look(running, dark=dark), address)
    look.page.locator(".cm-content").focus()
    assert look.violations(preload=False) == []
    look.page.keyboard.press("Control+a")
    look.page.keyboard.type('{"')
    look.wait(f"{EDITOR}.querySelectorAll('.cm-tooltip-autocomplete li').length > 5")
    assert look.violations(preload=False) == []
    assert look.page.evaluate("document.querySelectorAll('style').length") == 0
    assert look.page.evaluate(f"{EDITOR}.querySelectorAll('style').length") == 0
    look.close()


def test_the_editor_is_loaded_here_only(look: Look, address: str) -> None:
    look.open(f"{address}/jobs")
    editor = f"/page/{manifest()['editor']}"
    assert not any(url.endswith(editor) for url in look.requests)
    look.page.click("nav a[href='/new']")
    look.wait("document.querySelector('.written')?.shadowRoot?.querySelector('.cm-content')")
    assert sum(url.endswith(editor) for url in look.requests) == 1


@pytest.mark.parametrize(
    ("before", "offered", "not_offered"),
    [
        ('{"', {'"problem"', '"buffers"', '"operators"', '"graph"'}, set()),
        ('{"buffers": [{"id": "a", "', {'"size"', '"lifetime"', '"alignment"'}, {'"id"', '"buffers"'}),
        ('{"problem": {"pools": [{"', {'"capacity"', '"reserved"'}, {'"size"'}),
        ('{"problem": {}, "options": {"', {'"time_limit"', '"deterministic"'}, {'"buffers"'}),
        ('{"problem": {}, "options": {"deterministic": ', {"true", "false"}, {"null"}),
        ('{"problem": {}, "options": {"solver": "', {'"auto"', '"greedy"'}, {"true"}),
    ],
)
def test_names_and_values_of_our_schemas_are_offered(
    look: Look, address: str, before: str, offered: set[str], not_offered: set[str]
) -> None:
    editor(look, address)
    write(look, before)
    look.page.keyboard.press("Control+Space")
    look.wait(f"{EDITOR}.querySelectorAll('.cm-tooltip-autocomplete li').length > 0")
    result = look.page.evaluate(
        f"[...{EDITOR}.querySelectorAll('.cm-completionLabel')].map((it) => it.textContent)"
    )
    names = {name if name in ("true", "false", "null") else f'"{name.strip(chr(34))}"' for name in result}
    assert offered <= names
    assert not names & not_offered


def test_what_is_chosen_is_written_with_the_begin_of_its_value(look: Look, address: str) -> None:
    editor(look, address)
    look.page.locator(".cm-content").focus()
    look.page.keyboard.press("Control+a")
    look.page.keyboard.type('{"buff')
    look.wait(f"{EDITOR}.querySelectorAll('.cm-tooltip-autocomplete li').length === 1")
    # What has just been opened is not taken by a key that was on its way.
    look.page.wait_for_timeout(200)
    look.page.keyboard.press("Enter")
    look.wait(f"{TEXT} === '{{\"buffers\": []}}'")


def test_faults_are_marked_at_their_places_and_move_with_the_text(look: Look, address: str) -> None:
    editor(look, address)
    wrong = ['{"id": "a", "size": -4, "lifetime": [0, 2]}', '{"id": "b", "size": 4, "lifetme": [0, 2]}']
    text = '{"version": 1, "buffers": [\n' + ",\n".join(wrong) + "]}"
    write(look, text)
    look.page.click("button.main")
    marked = f"[...{EDITOR}.querySelectorAll('.cm-lintRange-error')].map((it) => it.textContent)"
    look.wait(f"{marked}.join() === '-4,\"lifetme\"'")
    assert look.violations(preload=False) == []
    look.page.click(".faults button:has-text('lifetme')")
    look.page.keyboard.press("Control+Home")
    look.page.keyboard.press("Enter")
    look.wait(f"JSON.stringify({marked}).includes('lifetme')")
    look.page.click(".faults button:has-text('lifetme')")
    look.page.keyboard.insert_text('"lifetime"')
    look.wait(f'{TEXT}.includes(\'"size": 4, "lifetime": [0, 2]\')')


def test_faults_of_a_table_are_marked_in_its_cells(look: Look, address: str) -> None:
    editor(look, address)
    write(look, "id,lower,upper,size\na,0,2,64KB\nb,1,3\n")
    look.page.click("button.main")
    marked = f"[...{EDITOR}.querySelectorAll('.cm-lintRange-error')].map((it) => it.textContent)"
    look.wait(f"{marked}.join(' ') === '64KB b,1,3'")
    look.page.click(".faults button:has-text('column size')")
    look.page.keyboard.insert_text("65536")
    look.wait(f"{TEXT}.includes('a,0,2,65536')")


def test_text_that_is_no_json_is_marked_while_it_is_written(look: Look, address: str) -> None:
    editor(look, address)
    write(look, '{"version": 1,\n "buffers": [}')
    look.wait(f"{EDITOR}.querySelector('.cm-lintRange-error, .cm-lintPoint-error') !== null")


def test_a_plan_is_drawn_with_what_is_written_and_the_text_is_kept(look: Look, address: str) -> None:
    editor(look, address)
    size = 2**61 + 1
    write(look, json.dumps(buffers((size, 0, 2), (8, 3, 4), name="mine")))
    look.page.click("button.main")
    look.wait("document.querySelector('.plan') !== null")
    assert look.verdict == "2 EiB. No plan can be smaller."
    assert f"{size:,}" in look.text(".facts")
    assert look.violations() == []
    look.page.click(".strip button")
    look.wait(f"{EDITOR}?.querySelector('.cm-content') && {TEXT}.includes('\"mine\"')")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,lower,upper,size\na,0,2,64\nb,1,3,64\n", "128 B. No plan can be smaller."),
        (json.dumps({"problem": buffers((8, 0, 2)), "target": "nrf52840"}), "8 B. No plan can be smaller."),
        (json.dumps({"problem": "id,lower,upper,size\na,0,2,64\n"}), "64 B. No plan can be smaller."),
        (
            json.dumps({"problem": buffers((80, 0, 2)), "options": {"time_limit": 1}}),
            "80 B. No plan can be smaller.",
        ),
    ],
)
def test_what_the_page_does_not_read_itself_the_service_reads(
    look: Look, address: str, text: str, said: str
) -> None:
    editor(look, address)
    write(look, text)
    look.page.click("button.main")
    look.wait("document.querySelector('.plan') !== null")
    assert (
        look.verdict.replace("It fits. No plan has cheaper accesses: 8.", "8 B. No plan can be smaller.")
        == said
    )


def test_a_graph_becomes_a_job_whose_problem_is_that_of_its_order(look: Look, address: str) -> None:
    editor(look, address)
    operators = [{"id": name, "inputs": [], "outputs": [f"{name}.out"]} for name in ("a", "b")]
    graph = {
        "version": 1,
        "order": "free",
        "tensors": [{"id": "a.out", "size": 100}, {"id": "b.out", "size": 10}, {"id": "c", "size": 1}],
        "operators": [*operators, {"id": "join", "inputs": ["a.out", "b.out"], "outputs": ["c"]}],
        "outputs": ["c"],
    }
    write(look, json.dumps(graph))
    look.page.click("button.main")
    look.wait("document.querySelector('.strip .state')?.innerText === 'proven'")
    look.wait("document.querySelector('h1')?.innerText.startsWith('111 B. No order')")


def test_what_takes_long_is_followed_as_a_job(look: Look, address: str) -> None:
    editor(look, address)
    look.page.fill("input[type=number]", "600")
    write(look, json.dumps(hard(600, 5)))
    look.page.click("button:has-text('As a job')")
    look.wait("location.pathname.startsWith('/jobs/') && document.querySelector('.strip .state') !== null")
    look.wait(
        "[...document.querySelectorAll('.strip button')].some((it) => /Cancel|Stop/.test(it.innerText))"
    )
    look.page.click(".strip button")
    look.wait("document.querySelector('.strip .state')?.innerText === 'cancelled'")
    look.page.click(".strip a:has-text('Edit')")
    look.wait(f"{EDITOR}?.querySelector('.cm-content') && {TEXT}.includes('planted')")


def test_an_example_is_written_first(look: Look, address: str) -> None:
    look.open(f"{address}/new?example=too-small")
    look.wait(f"{EDITOR}?.querySelector('.cm-content') && {TEXT}.includes('too-small')")
    look.page.click("button.main")
    look.wait("document.querySelector('h1')?.innerText === 'No plan fits into these memories.'")


def test_without_its_script_there_is_a_plain_field(look: Look, address: str) -> None:
    look.page.route(f"**/page/{manifest()['editor']}", lambda route: route.fulfill(status=404))
    look.open(f"{address}/new")
    look.wait("document.querySelector('.written textarea') !== null")
    look.page.fill("textarea", json.dumps(buffers((8, 0, 2))))
    look.page.click("button.main")
    look.wait("document.querySelector('.plan') !== null")
    assert look.verdict == "8 B. No plan can be smaller."


def test_a_key_is_asked_for_and_the_text_stays(look: Look, address: str) -> None:
    fake = FakeService(look.page).on("/v1/plan", refusal(401, "unauthorized", "send a key"))
    fake.on("/v1/examples", Answer(body={"examples": []}))
    editor(look, address)
    write(look, json.dumps(buffers((8, 0, 2), name="kept")))
    look.page.click("button.main")
    look.wait("document.querySelector('dialog[open] input[type=password]') !== null")
    fake.on("/v1/plan", Answer(body=places(0, status="optimal")))
    look.page.fill("dialog input[type=password]", "msk_0123_secret")
    look.page.keyboard.press("Enter")
    look.wait("document.querySelector('dialog') === null")
    assert "kept" in look.page.evaluate(TEXT)
    look.page.click("button.main")
    look.wait("document.querySelector('.plan') !== null")
    assert fake.headers_of("/v1/plan")[-1]["authorization"] == "Bearer msk_0123_secret"


ORDERS = ".asked label:has-text('one for all values') select"


def pressed(look: Look) -> str:
    """The kind that is chosen."""
    return look.text(".segments button[aria-pressed='true']")


GRAPH = {
    "version": 1,
    "tensors": [{"id": "x", "size": 8}, {"id": "y", "size": 8}, {"id": "z", "size": 4}],
    "operators": [
        {"id": "f", "inputs": ["x"], "outputs": ["y"]},
        {"id": "g", "inputs": ["y"], "outputs": ["z"]},
    ],
    "inputs": ["x"],
    "outputs": ["z"],
}
SYMBOLIC = {
    "version": 1,
    "symbols": [{"id": "s", "min": 1, "max": 8}],
    "buffers": [{"id": "x", "size": "4*s", "lifetime": [0, 2]}, {"id": "y", "size": 8, "lifetime": [1, 3]}],
}


def test_what_is_written_is_recognised(look: Look, address: str) -> None:
    editor(look, address)
    assert pressed(look) == "Problem"
    for content, kind in (
        (GRAPH, "Graph"),
        (SYMBOLIC, "Symbols"),
        ({"problem": GRAPH, "front": {}}, "Front"),
    ):
        write(look, json.dumps(content))
        look.wait(f"document.querySelector('.segments [aria-pressed=true]')?.innerText === '{kind}'")
    write(look, "id,lower,upper,size\na,0,2,64\n")
    look.page.click(".segments button:has-text('Problem')")
    assert pressed(look) == "Problem"
    look.page.click(".segments button:has-text('Graph')")
    assert "What is written is a problem. Paste a graph to plan it." in look.text("[role=status]")


def test_each_kind_has_something_to_begin_with(look: Look, address: str) -> None:
    editor(look, address)
    for kind in ("Graph", "Symbols", "Front", "Problem"):
        look.page.click(f".segments button:has-text('{kind}')")
        look.wait(f"document.querySelector('.segments [aria-pressed=true]')?.innerText === '{kind}'")
        assert look.violations(preload=False) == []
    look.page.click(".segments button:has-text('Problem')")
    # What formulas are not solved with is neither offered nor sent.
    look.page.get_by_label("Solver").select_option("exact")
    look.page.click(".segments button:has-text('Symbols')")
    look.wait(f"{TEXT}.includes('symbols')")
    assert look.page.get_by_label("Solver").count() == 0
    look.page.click("button.main")
    look.wait("document.querySelector('.slider') !== null")


def test_a_front_begins_with_a_problem_that_has_one(look: Look, address: str) -> None:
    editor(look, address)
    look.page.click(".segments button:has-text('Front')")
    look.wait(f"{TEXT}.includes('two memories')")
    look.page.click("button.main")
    # How many of its six points have a plan in time depends on the machine.
    look.wait("document.querySelectorAll('.points tbody tr').length > 1")


def test_what_is_wrong_is_told_once_with_its_place(look: Look, address: str) -> None:
    editor(look, address)
    content = {"problem": SYMBOLIC, "options": {"solver": "exact"}}
    write(look, json.dumps(content))
    look.page.click("button.main")
    look.wait("document.querySelector('.faults li')")
    assert look.text("[role=status]").count("leave it out") == 1
    assert "solver" in look.text(".faults")


def test_a_front_is_found_and_edited_as_one(look: Look, address: str) -> None:
    editor(look, address)
    write(look, json.dumps(GRAPH))
    look.wait("document.querySelector('.segments [aria-pressed=true]')?.innerText === 'Graph'")
    look.page.click(".segments button:has-text('Front')")
    look.page.get_by_label("Times the least cost, at most").fill("1.5")
    look.page.get_by_label("Besides the order").select_option("none")
    look.page.click("button.main")
    look.wait(
        "document.querySelector('.front h1') !== null && document.querySelector('a[href*=\"/new?job\"]')"
    )
    look.page.click("a[href*='/new?job']")
    look.wait("document.querySelector('.segments [aria-pressed=true]')?.innerText === 'Front'")
    assert look.page.get_by_label("Times the least cost, at most").input_value() == "1.5"
    assert look.page.get_by_label("Besides the order").input_value() == "none"


def test_the_job_of_symbols_is_edited_as_one(look: Look, address: str) -> None:
    editor(look, address)
    write(look, json.dumps(SYMBOLIC))
    look.wait("document.querySelector('.segments [aria-pressed=true]')?.innerText === 'Symbols'")
    look.page.locator(ORDERS).select_option("fixed")
    look.page.click("button.main")
    look.wait("document.querySelector('a[href*=\"/new?job\"]')")
    look.page.click("a[href*='/new?job']")
    look.wait("document.querySelector('.segments [aria-pressed=true]')?.innerText === 'Symbols'")
    assert look.page.locator(ORDERS).input_value() == "fixed"
