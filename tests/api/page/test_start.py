"""`/` at a service, what is sent to it after asking, the solver beside the map, and `/reference`."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memstow.api.http.samples import JOB
from tests.api.http.test_models import onnx_model
from tests.api.page.browser import Look
from tests.api.page.fake import Answer, FakeService, refusal
from tests.api.page.samples import HOSTILE, JsonObject, buffers, infeasible, places
from tests.tflite_models import small_model
from tests.torch_recordings import pickled, sample, snapshot_of


@pytest.fixture
def look(running: Any) -> Iterator[Look]:
    subject = Look(running, refusals=(401, 422))
    yield subject
    subject.close()


def sent(look: Look) -> list[tuple[str, str]]:
    """What is asked from now on besides what is only looked at."""
    result: list[tuple[str, str]] = []

    def note(request: Any) -> None:
        if request.method != "GET":
            result.append((request.method, "/" + request.url.split("/", 3)[3]))

    look.page.on("request", note)
    return result


def drop(look: Look, name: str, content: bytes | JsonObject) -> None:
    """Choose a file, as if it were dropped."""
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    look.page.set_input_files("input[type=file]", files=[{"name": name, "mimeType": "", "buffer": data}])


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_examples_and_the_newest_jobs_are_at_hand(running: Any, address: str, dark: bool) -> None:
    look = Look(running, dark=dark)
    fake = FakeService(look.page).on(
        "/v1/jobs", Answer(body={"jobs": [{**JOB, "name": HOSTILE}], "next": None})
    )
    fake.on("/v1/examples", Answer(body={"examples": [{"name": "first"}]}))
    look.open(f"{address}/")
    look.wait(
        "document.querySelector('.newest a') && document.querySelector('a[href=\"/new?example=first\"]')"
    )
    assert look.page.evaluate("document.images.length") == 0
    assert look.violations() == []
    look.page.click(".newest a")
    look.wait(f"location.pathname === '/jobs/{JOB['id']}'")
    look.page.go_back()
    look.wait("document.querySelector('.newest a') !== null")
    look.context.close()


def test_without_a_key_the_start_is_still_there(look: Look, address: str) -> None:
    FakeService(look.page).on("/v1/jobs", refusal(401, "unauthorized", "no")).on(
        "/v1/examples", refusal(401, "unauthorized", "no")
    )
    look.open(f"{address}/")
    assert look.violations() == []
    drop(look, "problem.json", buffers((8, 0, 2)))
    look.wait("document.querySelector('.plan') !== null")


@pytest.mark.parametrize("name", ["model.tflite", "model.onnx", "table.csv", "step.pickle"])
def test_what_only_the_service_reads_is_sent_after_asking(look: Look, address: str, name: str) -> None:
    contents: dict[str, Callable[[], bytes]] = {
        "table.csv": lambda: b"id,lower,upper,size\na,0,2,64\nb,1,3,64\n",
        "model.tflite": small_model,
        "model.onnx": onnx_model,
        "step.pickle": lambda: pickled(snapshot_of(sample())),
    }
    content = contents[name]()
    posted = sent(look)
    look.open(f"{address}/")
    drop(look, name, content)
    look.wait("document.querySelector('dialog[open]') !== null")
    assert "Nothing of its" in look.text("dialog")
    assert look.violations() == []
    look.page.click("dialog button:has-text('Do not send')")
    look.wait("document.querySelector('dialog') === null")
    assert posted == []
    drop(look, name, content)
    look.page.click("dialog button:has-text('show what it needs')")
    look.wait("document.querySelector('.strip') !== null")
    assert look.verdict.startswith("No plan yet.")
    assert [path.partition("?")[0] for _, path in posted] == ["/v1/convert"]
    assert look.violations() == []
    look.page.click(".strip button:has-text('Plan it')")
    look.wait("document.querySelector('.strip .state')?.innerText === 'proven'")
    assert posted[-1][1] == f"/v1/jobs?name={name}"


def test_a_model_is_planned_in_the_order_that_is_asked_for(look: Look, address: str) -> None:
    posted = sent(look)
    look.open(f"{address}/")
    drop(look, "model.tflite", small_model())
    look.page.select_option("dialog select", "free")
    look.page.check("dialog input[type=checkbox]")
    look.page.click("dialog button.main")
    look.wait("location.pathname.startsWith('/jobs/') && document.querySelector('.strip .state') !== null")
    assert posted == [("POST", "/v1/jobs?order=free&in_place=true&name=model.tflite")]
    look.wait("document.querySelector('h1')?.innerText.includes('No order and no plan can be smaller')")


def test_open_dimensions_are_asked_for(look: Look, address: str) -> None:
    look.open(f"{address}/")
    drop(look, "model.onnx", onnx_model("batch"))
    look.page.click("dialog button:has-text('show what it needs')")
    look.wait("document.querySelector('dialog .failed')?.innerText.includes('batch')")
    look.page.fill("dialog input[type=text]", "batch=2")
    look.page.click("dialog button:has-text('show what it needs')")
    look.wait("document.querySelector('.strip') !== null")
    assert look.verdict.startswith("No plan yet.")


def test_a_graph_that_was_read_here_is_planned_after_asking(look: Look, address: str) -> None:
    graph = {
        "version": 1,
        "tensors": [{"id": "x", "size": 8}],
        "operators": [{"id": "one", "inputs": [], "outputs": ["x"]}],
        "outputs": ["x"],
    }
    posted = sent(look)
    look.open(f"{address}/")
    drop(look, "graph.json", graph)
    look.wait("document.querySelector('.strip') !== null")
    assert posted == []
    look.page.click(".strip button")
    look.wait("document.querySelector('h1')?.innerText.startsWith('8 B. No')")
    assert posted == [("POST", "/v1/jobs?name=graph.json")]


def test_another_format_is_offered_to_the_service(look: Look, address: str) -> None:
    posted = sent(look)
    look.open(f"{address}/")
    drop(look, "list.json", json.dumps([{"id": "b0", "size": 64, "lower": 0, "upper": 4}]).encode())
    look.wait("document.querySelector('.failed') !== null")
    look.page.click("button:has-text('Let the service read')")
    look.wait("document.querySelector('dialog[open]') !== null")
    assert posted == []
    look.page.click("dialog button.main")
    look.wait("document.querySelector('h1')?.innerText === '64 B. No plan can be smaller.'")


def test_a_plan_that_is_dropped_on_a_job_is_compared_with_it(look: Look, address: str) -> None:
    plan = places(0, 8, status="optimal")
    fake = FakeService(look.page).job(plan, state="done", status="optimal", value=16)
    fake.on("/v1/jobs", Answer(body={"jobs": [], "next": None})).on(
        "/v1/examples", Answer(body={"examples": []})
    )
    look.open(f"{address}/jobs/{JOB['id']}")
    look.wait("document.querySelector('.plan') !== null")
    content = json.dumps(places(8, 0))
    look.page.evaluate(
        """(text) => {
            const data = new DataTransfer();
            data.items.add(new File([text], "other.json"));
            document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true}));
        }""",
        content,
    )
    look.wait("document.querySelectorAll('.pair canvas[data-pool]').length === 2")
    assert look.page.evaluate("location.pathname") == "/"


def test_two_jobs_are_compared_with_a_key(look: Look, address: str) -> None:
    one, other = "a" * 32, "b" * 32
    fake = FakeService(look.page)
    for job in (one, other):
        fake.on(f"/v1/jobs/{job}", Answer(body={**JOB, "id": job}))
        fake.on(f"/v1/jobs/{job}/problem", refusal(401, "unauthorized", "send a key"))
        fake.on(f"/v1/jobs/{job}/plan", refusal(401, "unauthorized", "send a key"))
    look.open(f"{address}/compare?a={one}&b={other}")
    look.wait("document.querySelector('h1')?.innerText === 'A key is needed.'")
    fake.on(f"/v1/jobs/{one}/problem", Answer(body=buffers((8, 0, 2), (8, 1, 3))))
    fake.on(f"/v1/jobs/{one}/plan", Answer(body=places(0, 8)))
    fake.on(f"/v1/jobs/{other}/plan", Answer(body=places(8, 0)))
    look.page.fill("input[type=password]", "msk_0123_secret")
    look.page.keyboard.press("Enter")
    look.wait("document.querySelectorAll('.pair canvas[data-pool]').length === 2")
    assert fake.headers_of(f"/v1/jobs/{other}/plan")[-1]["authorization"] == "Bearer msk_0123_secret"


def test_a_problem_that_was_read_here_is_planned_after_asking(look: Look, address: str) -> None:
    posted = sent(look)
    look.open(f"{address}/")
    drop(look, "problem.json", buffers((8, 0, 2), (8, 1, 3)))
    look.wait("document.querySelector('.strip')?.innerText.includes('and not sent')")
    assert posted == []
    look.page.click(".strip button")
    look.wait("document.querySelector('h1')?.innerText === '16 B. No plan can be smaller.'")
    assert posted == [("POST", "/v1/jobs")]


def test_the_solver_says_whether_less_would_do(look: Look, address: str) -> None:
    posted = sent(look)
    look.open(f"{address}/")
    drop(look, "both.json", {"problem": buffers((8, 0, 2), (8, 1, 3), (4, 3, 4)), "plan": places(0, 8, 16)})
    look.wait("document.querySelector('.solver') !== null")
    section = ".solver"
    assert posted == []
    assert "Is there a plan with 1 B less in memory?" in look.text(section)
    look.page.click(f"{section} button:has-text('Send the problem and ask')")
    look.wait("document.querySelector('.solver').innerText.includes('Yes')")
    assert "memory needs 16 B, and no plan needs less" in look.text(section)
    for _ in range(4):
        look.page.click("button[aria-label='more']")
    look.wait("document.querySelector('.solver').innerText.includes('16 B less')")
    assert "Yes" not in look.text(section)
    look.page.click(f"{section} button:has-text('ask')")
    look.wait("document.querySelector('.solver').innerText.includes('No plan exists')")
    assert look.violations() == []


def test_the_solver_says_what_a_plan_would_take(look: Look, address: str) -> None:
    look.open(f"{address}/")
    problem = infeasible() | {"conflicts": [["b0", "b19"]]}
    drop(look, "both.json", {"problem": problem, "plan": {"status": "infeasible"}})
    look.wait("document.querySelector('.solver') !== null")
    look.page.click(".solver button")
    look.wait("document.querySelector('.solver').innerText.includes('ram needs 13 KiB')")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_reference_names_every_operation(running: Any, address: str, dark: bool) -> None:
    look = Look(running, dark=dark)
    look.open(f"{address}/reference#schema-Buffer")
    look.wait("document.querySelectorAll('.operation').length > 40")
    look.wait("document.getElementById('schema-Buffer').open")
    assert "lifetime" in look.text("#schema-Buffer")
    look.page.focus("#plan summary")
    look.page.keyboard.press("Enter")
    look.wait("document.getElementById('plan').open")
    assert look.violations() == []
    look.page.fill("input[type=search]", "/events")
    look.wait("document.querySelectorAll('.operation').length === 1")
    assert "GET /v1/jobs/{job}/events" in look.text(".operation")
    look.close()
