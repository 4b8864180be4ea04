"""Jobs and batches over HTTP."""

import csv
import io
import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from memstow.api.http.app import create_app
from memstow.api.http.samples import CSV, PROBLEM, SYMBOLIC, TWO_POOLS
from memstow.api.http.service import Service
from memstow.api.http.settings import Settings
from memstow.planner import formats
from memstow.planner.generate.planted import planted
from memstow.planner.model.options import Options
from memstow.planner.solve.engine import plan
from tests.api.asking import events, has_plan, over
from tests.api.http.conftest import hard, problem_document
from tests.checker.checkers import VERIFIED, second
from tests.checker.order_proofs import SECOND as ORDERS
from tests.waiting import wait_for


def submit(client: TestClient, **body: Any) -> dict[str, Any]:
    response = client.post("/v1/jobs", json={"problem": PROBLEM, **body})
    assert response.status_code == 202, response.text
    job: dict[str, Any] = response.json()
    assert response.headers["location"] == f"/v1/jobs/{job['id']}"
    return job


def test_a_parameter_that_is_misspelt_is_refused_and_nothing_is_done(client: TestClient) -> None:
    job = submit(client)["id"]
    for path in ("/v1/jobs?stat=failed", f"/v1/jobs/{job}/plan?fromat=csv", "/v1/schema?knd=plan"):
        problem_document(client.get(path), 422, "unknown_parameter")
    problem_document(client.delete(f"/v1/jobs/{job}?discrad=true"), 422, "unknown_parameter")
    assert client.get(f"/v1/jobs/{job}").json()["state"] != "cancelled"
    problem_document(client.get("/v1/batches/x/results?fromat=csv"), 422, "unknown_parameter")
    problem_document(client.delete("/v1/batches/x?discrad=true"), 422, "unknown_parameter")


def test_a_job_goes_its_way(client: TestClient) -> None:
    job = submit(client, options={"time_limit": 2.0}, priority=3)
    assert job["state"] in ("queued", "running")
    assert (job["priority"], job["buffers"]) == (3, 5)
    done = over(client, job["id"])
    assert (done["state"], done["status"], done["peak"], done["gap"]) == ("done", "optimal", 12288, 0.0)
    assert done["created"] <= done["started"] <= done["finished"] <= done["expires"]
    assert client.get(f"/v1/jobs/{job['id']}/problem").json() == PROBLEM
    plan = client.get(f"/v1/jobs/{job['id']}/plan")
    assert (plan.json()["status"], plan.headers["memstow-final"]) == ("optimal", "true")
    unchanged = client.get(f"/v1/jobs/{job['id']}/plan", headers={"if-none-match": plan.headers["etag"]})
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    as_csv = client.get(f"/v1/jobs/{job['id']}/plan?output_format=csv")
    assert as_csv.text.startswith("id,lower,upper,size,offset\n")


def test_a_page_that_has_the_plan_is_told_so_before_anything_is_judged(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = submit(client)["id"]
    over(client, job)
    path = f"/v1/jobs/{job}/plan?output_format=page"
    view = client.get(path)
    assert view.json()["verdict"]["tone"] == "proven"

    performed: list[object] = []
    perform = Service.perform

    async def noted(self: Service, *request: Any) -> Any:
        performed.append(request)
        return await perform(self, *request)

    monkeypatch.setattr(Service, "perform", noted)
    unchanged = client.get(path, headers={"if-none-match": view.headers["etag"]})
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    assert unchanged.headers["memstow-final"] == "true"
    assert not performed
    assert client.get(path, headers={"if-none-match": '"another"'}).json() == view.json()
    assert len(performed) == 1


def _names(client: TestClient, **query: str) -> list[str | None]:
    return [job["name"] for job in client.get("/v1/jobs", params=query).json()["jobs"]]


def test_a_job_has_the_name_that_the_query_gives_it(client: TestClient) -> None:
    named = {"name": "Größe 100%_a.csv"}
    as_csv = {"content-type": "text/csv"}
    job = client.post("/v1/jobs", params=named, content=CSV, headers=as_csv).json()
    assert (job["name"], client.get(f"/v1/jobs/{job['id']}").json()["name"]) == (named["name"], named["name"])
    assert client.post("/v1/jobs", content=CSV, headers=as_csv).json()["name"] is None
    # The name of the problem gives way.
    assert (
        client.post("/v1/jobs", params={"name": "mine"}, json={"problem": PROBLEM}).json()["name"] == "mine"
    )
    assert submit(client)["name"] == PROBLEM["name"]
    plan = client.post("/v1/plan?name=now", json={"problem": PROBLEM}, headers={"prefer": "respond-async"})
    assert plan.json()["name"] == "now"
    front = client.post("/v1/fronts?name=front&terms=peak:fast,placement_cost", json=TWO_POOLS)
    assert front.json()["name"] == "front", front.text
    symbolic = client.post("/v1/jobs?name=formulas", json=SYMBOLIC)
    assert symbolic.json()["name"] == "formulas", symbolic.text


def test_jobs_are_found_by_a_part_of_their_name(client: TestClient) -> None:
    for name in ("net 50%.csv", "net 500.csv", "Net_a.csv", "netxa.csv", 'a "b" \\ c'):
        client.post("/v1/jobs", params={"name": name}, json={"problem": PROBLEM}).raise_for_status()
    assert sorted(_names(client, search="NET 5")) == ["net 50%.csv", "net 500.csv"]  # type: ignore[type-var]
    assert _names(client, search="0%.") == ["net 50%.csv"]
    assert _names(client, search="t_a") == ["Net_a.csv"]
    assert len(_names(client, search='"b" \\')) == 1
    assert _names(client, search="there is none", state="done") == []
    assert client.get("/v1/jobs?search=%00%ED%A0%80").json()["jobs"] == []


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/plan", "/v1/fronts"])
def test_a_name_has_one_to_two_hundred_characters(client: TestClient, path: str) -> None:
    for name in ("", "x" * 201):
        response = client.post(path, params={"name": name}, json={"problem": PROBLEM})
        problem_document(response, 422, "not_a_string")
    problem_document(client.get("/v1/jobs", params={"search": ""}), 422, "invalid_request")


def test_the_events_of_a_job_come_in_order_and_resume(client: TestClient) -> None:
    job = submit(client, problem=hard(120, 21), options={"time_limit": 1.0})["id"]
    heard = events(client, job)
    assert [number for number, _, _ in heard] == list(range(1, len(heard) + 1))
    assert heard[-1][1] == "done"
    assert {"phase", "bound"} <= {kind for _, kind, _ in heard}
    assert events(client, job, str(len(heard) - 2)) == heard[-2:]
    assert events(client, job, "nonsense") == heard


def test_who_has_heard_the_end_is_not_kept_waiting(client: TestClient) -> None:
    job = submit(client)["id"]
    last = events(client, job)[-1][0]
    for beyond in (last, last + 1, 99_999):
        answer = client.get(f"/v1/jobs/{job}/events", headers={"last-event-id": str(beyond)})
        assert (answer.status_code, answer.content) == (204, b"")


def test_a_stream_from_beyond_the_end_of_a_running_job_ends_with_it(client: TestClient) -> None:
    job = submit(client, problem=hard(600, 22), options={"time_limit": 1.5})["id"]
    assert events(client, job, "99999") == []
    assert over(client, job)["state"] == "done"


def test_an_idempotency_key_makes_one_job_of_many_requests(client: TestClient) -> None:
    headers = {"idempotency-key": "one"}
    first = client.post("/v1/jobs", json={"problem": PROBLEM}, headers=headers)
    second = client.post("/v1/jobs", json={"problem": PROBLEM}, headers=headers)
    assert first.json()["id"] == second.json()["id"]
    other = client.post("/v1/jobs", json={"problem": hard(3)}, headers=headers)
    problem_document(other, 422, "idempotency_key_reused")
    for bad in ("", "x" * 201):
        response = client.post("/v1/jobs", json={"problem": PROBLEM}, headers={"idempotency-key": bad})
        problem_document(response, 422, "bad_idempotency_key")


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/plan", "/v1/batches"])
def test_a_request_whose_job_was_removed_says_so_when_it_is_sent_again(client: TestClient, path: str) -> None:
    headers = {"idempotency-key": f"removed {path}", "prefer": "respond-async"}
    body = {"problems": [{"problem": PROBLEM}]} if path == "/v1/batches" else {"problem": PROBLEM}
    first = client.post(path, json=body, headers=headers)
    assert first.status_code == 202
    place = first.headers["location"]
    wait_for(lambda: client.delete(f"{place}?discard=true").status_code == 404, "it to be removed")
    problem_document(client.post(path, json=body, headers=headers), 410, "job_removed")
    again = client.post(path, json=body, headers={**headers, "idempotency-key": f"again {path}"})
    assert again.status_code == 202


def test_a_running_job_can_be_stopped_and_keeps_its_best_plan(client: TestClient) -> None:
    job = submit(client, problem=hard(600, 5), options={"time_limit": 300.0})["id"]
    wait_for(lambda: has_plan(client, job), "a first plan")
    assert client.get(f"/v1/jobs/{job}/plan").headers["memstow-final"] == "false"
    client.delete(f"/v1/jobs/{job}")
    stopped = over(client, job)
    assert stopped["state"] in ("cancelled", "done")
    assert client.get(f"/v1/jobs/{job}/plan").json()["placements"]


def test_a_waiting_job_can_be_stopped_or_removed(client: TestClient) -> None:
    running = submit(client, problem=hard(600, 6), options={"time_limit": 300.0})["id"]
    waiting = [submit(client, problem=hard(50, seed), priority=-5)["id"] for seed in (71, 72)]
    assert client.delete(f"/v1/jobs/{waiting[0]}").json()["state"] == "cancelled"
    assert client.delete(f"/v1/jobs/{waiting[1]}?discard=true").status_code == 204
    problem_document(client.get(f"/v1/jobs/{waiting[1]}"), 404, "no_such_job")
    ended = client.get(f"/v1/jobs/{waiting[0]}/plan")
    problem_document(ended, 409, "job_cancelled")
    assert "retry-after" not in ended.headers
    assert events(client, waiting[0])[-1][1] == "done"
    client.delete(f"/v1/jobs/{running}?discard=true")
    wait_for(lambda: client.get(f"/v1/jobs/{running}").status_code == 404, "it to be gone")
    problem_document(client.get(f"/v1/jobs/{running}/events"), 404, "no_such_job")


def test_several_jobs_are_stopped_or_removed_at_once(client: TestClient) -> None:
    running = submit(client, problem=hard(600, 6), options={"time_limit": 300.0})["id"]
    wait_for(lambda: client.get(f"/v1/jobs/{running}").json()["state"] == "running", "it to run")
    waiting = [
        client.post(f"/v1/jobs?name=several {i}", json={"problem": hard(50, 80 + i), "priority": -5}).json()[
            "id"
        ]
        for i in range(25)
    ]
    answer = client.delete("/v1/jobs?search=SEVERAL&state=queued")
    assert (answer.status_code, answer.json()["more"]) == (200, False), answer.text
    assert sorted(answer.json()["jobs"]) == sorted(waiting)
    assert {client.get(f"/v1/jobs/{job}").json()["state"] for job in waiting} == {"cancelled"}
    assert events(client, waiting[0])[-1][1] == "done"
    again = client.delete("/v1/jobs?search=several")
    assert again.json() == {"jobs": [], "more": False}, "they are over"
    named = ",".join([running, waiting[0], "0" * 32, "no id"])
    assert sorted(client.delete(f"/v1/jobs?ids={named}&discard=true").json()["jobs"]) == sorted(
        [running, waiting[0]]
    )
    problem_document(client.get(f"/v1/jobs/{waiting[0]}"), 404, "no_such_job")
    wait_for(lambda: client.get(f"/v1/jobs/{running}").status_code == 404, "it to be gone")
    assert client.get(f"/v1/jobs/{waiting[1]}").json()["state"] == "cancelled"
    assert client.delete("/v1/jobs?ids=").json()["jobs"] == []


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", "missing_parameter"),
        ("?discard=true", "missing_parameter"),
        ("?state=none", "invalid_request"),
        ("?ids=a&limit=5", "unknown_parameter"),
        ("?ids=" + ",".join(["a"] * 501), "too_many"),
    ],
)
def test_it_must_be_said_which_jobs_end(client: TestClient, query: str, code: str) -> None:
    job = submit(client)["id"]
    response = client.delete(f"/v1/jobs{query}")
    assert response.status_code == 422
    document = response.json()
    assert code in {document["code"], *(error["code"] for error in document["errors"])}
    assert client.get(f"/v1/jobs/{job}").json()["state"] != "cancelled"


def test_a_job_can_start_from_the_plan_of_another(client: TestClient) -> None:
    first = submit(client)["id"]
    over(client, first)
    second = submit(client, hint_job=first, options={"seed": 99})["id"]
    assert over(client, second)["peak"] == 12288
    for wrong in ("x", 3, "0" * 32):
        response = client.post("/v1/jobs", json={"problem": PROBLEM, "hint_job": wrong})
        problem_document(response, 422, "no_such_job")


def test_the_plan_of_another_job_is_where_the_search_starts(client: TestClient) -> None:
    """One step of work finds nothing of its own: what comes is the plan of the job that is named."""
    problem = planted(40, 5)
    best = plan(problem, Options(time_limit=60.0))
    at = {place.buffer: place for place in best.placements}
    pinned = replace(
        problem,
        buffers=tuple(replace(b, pool=at[b.id].pool, offset=at[b.id].offset) for b in problem.buffers),
    )
    known = submit(client, problem=json.loads(formats.write_problem(pinned)))["id"]
    assert over(client, known)["status"] == "optimal"
    body = {
        "problem": json.loads(formats.write_problem(problem)),
        "options": {"deterministic": True, "work_limit": 1},
    }
    alone = over(client, submit(client, **body)["id"])
    hinted = over(client, submit(client, hint_job=known, **body)["id"])
    assert hinted["peak"] == best.pools[0].peak < alone["peak"]


def test_two_plans_to_start_from_are_refused(client: TestClient) -> None:
    job = submit(client)["id"]
    over(client, job)
    hint = client.get(f"/v1/jobs/{job}/plan").json()
    body = {"problem": PROBLEM, "hint_job": job, "options": {"hint": hint}}
    response = client.post("/v1/jobs", json=body)
    problem_document(response, 422, "two_hints")
    assert response.json()["errors"][0]["path"] == "$.hint_job"


def test_a_hint_that_places_a_buffer_twice_is_refused_before_there_is_a_job(client: TestClient) -> None:
    place = {"buffer": "input", "pool": "sram", "offset": 0}
    options = {"hint": {"status": "feasible", "placements": [place, place]}}
    for path in ("/v1/plan", "/v1/jobs"):
        response = client.post(path, json={"problem": PROBLEM, "options": options})
        problem_document(response, 422, "repeated_placement")


def test_a_request_that_comes_again_is_the_same_job_though_its_hint_is_gone(client: TestClient) -> None:
    hint = submit(client)["id"]
    over(client, hint)
    body = {"problem": PROBLEM, "hint_job": hint, "options": {"seed": 101}}
    key = {"idempotency-key": "hinted"}
    first = client.post("/v1/jobs", json=body, headers=key)
    assert client.delete(f"/v1/jobs/{hint}?discard=true").status_code == 204
    again = client.post("/v1/jobs", json=body, headers=key)
    assert (again.status_code, again.json()["id"]) == (202, first.json()["id"])


def test_a_job_is_never_worse_than_what_was_found_at_a_glance(client: TestClient) -> None:
    tiles = json.loads(formats.write_problem(planted(12, 5)))
    assert client.post("/v1/plan", json={"problem": tiles}).json()["status"] == "optimal"
    weaker = submit(client, problem=tiles, options={"time_limit": 0.0})["id"]
    assert over(client, weaker)["status"] == "optimal"


def test_jobs_are_listed_in_pages_and_by_state(client: TestClient) -> None:
    made = {submit(client, options={"seed": seed})["id"] for seed in range(5)}
    for job in made:
        over(client, job)
    seen: list[str] = []
    path = "/v1/jobs?limit=2&state=done"
    cursor = ""
    while len(seen) < 100:
        page = client.get(path + cursor).json()
        seen += [job["id"] for job in page["jobs"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert len(seen) == len(set(seen))
    assert made <= set(seen)
    problem_document(client.get("/v1/jobs?state=lost"), 422, "invalid_request")
    problem_document(client.get("/v1/jobs?limit=0"), 422, "invalid_request")
    for cursor in ("x", "W10=", "%00"):
        problem_document(client.get(f"/v1/jobs?cursor={cursor}"), 422, "bad_cursor")
    assert client.get("/v1/jobs?batch=%00&digest=%00").json()["jobs"] == []


def test_a_priority_is_a_small_integer(client: TestClient) -> None:
    for priority, code in (("x", "not_an_integer"), (True, "not_an_integer"), (101, "out_of_range")):
        response = client.post("/v1/jobs", json={"problem": PROBLEM, "priority": priority})
        assert problem_document(response, 422, code)["errors"][0]["path"] == "$.priority"


def test_a_batch_is_every_problem_with_every_setting(client: TestClient) -> None:
    body = {
        "name": "nightly",
        "problems": [{"name": "p", "problem": PROBLEM}, {"problem": "id,lower,upper,size\na,0,1,8\n"}],
        "settings": [
            {"name": "quick", "options": {"time_limit": 1.0}},
            {"name": "ff", "options": {"solver": "first-fit"}},
        ],
    }
    response = client.post("/v1/batches", json=body)
    assert response.status_code == 202, response.text
    path = response.headers["location"]
    assert response.json()["jobs"] == 4
    wait_for(lambda: client.get(path).json()["done"], "the batch to end")
    batch = client.get(path).json()
    assert batch["states"] == {"done": 4}
    assert batch["table"]["p"]["quick"]["peak"] == 12288
    assert batch["table"]["1"]["ff"]["peak"] == 8
    rows = list(csv.DictReader(io.StringIO(client.get(path + "/results?format=csv").text)))
    assert [(row["problem"], row["setting"]) for row in rows] == [
        ("p", "quick"),
        ("p", "ff"),
        ("1", "quick"),
        ("1", "ff"),
    ]
    assert len(client.get(path + "/results").json()["results"]) == 4
    assert {job["batch"] for job in client.get(f"/v1/jobs?batch={batch['id']}").json()["jobs"]} == {
        batch["id"]
    }
    assert client.delete(path + "?discard=true").status_code == 204
    problem_document(client.get(path), 404, "no_such_batch")


def test_a_batch_can_be_cancelled(client: TestClient) -> None:
    body = {
        "problems": [{"problem": hard(500, seed)} for seed in range(3)],
        "settings": [{"options": {"time_limit": 200.0}}],
    }
    path = client.post("/v1/batches", json=body).headers["location"]
    client.delete(path)
    wait_for(lambda: client.get(path).json()["done"], "the batch to end")
    batch = client.get(path).json()
    assert batch["states"].get("cancelled", 0) >= 2


def test_the_running_jobs_of_a_batch_end_without_waiting_for_a_heartbeat(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, slots=1, lease_seconds=3600.0)
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        body = {
            "problems": [{"problem": hard(500, 7)}],
            "settings": [{"options": {"time_limit": 200.0}}],
        }
        path = client.post("/v1/batches", json=body).headers["location"]
        wait_for(lambda: client.get(path).json()["states"] == {"running": 1}, "its job to run")
        client.delete(path)
        wait_for(lambda: client.get(path).json()["done"], "its job to end")
        alone = submit(client, problem=hard(500, 8), options={"time_limit": 200.0})["id"]
        waiting = client.post("/v1/batches", json={"problems": [{"problem": PROBLEM}] * 2}).headers[
            "location"
        ]
        wait_for(lambda: has_plan(client, alone), "a first plan")
        first, *_ = client.get(f"{waiting}/results").json()["results"]
        client.delete(f"/v1/jobs/{first['job']}")
        assert client.get(waiting).json()["states"] == {"cancelled": 1, "queued": 1}
        assert client.get(waiting).json()["done"] is False, "one of two is"
        client.delete(f"/v1/jobs/{alone}")
        assert over(client, alone)["state"] == "cancelled"


def test_what_is_wrong_with_a_batch_is_told(client: TestClient) -> None:
    def refused(code: str, path: str, **body: Any) -> None:
        document = problem_document(client.post("/v1/batches", json=body), 422, code)
        assert document["errors"][0]["path"] == path, document

    refused("missing_field", "$.problems")
    refused("not_a_list", "$.problems", problems={})
    refused("empty", "$.problems", problems=[])
    refused("not_an_object", "$.problems[0]", problems=[1])
    refused("missing_field", "$.problems[0].problem.buffers", problems=[{"problem": {"version": 1}}])
    refused("duplicate_name", "$.problems[1].name", problems=[{"name": "a", "problem": PROBLEM}] * 2)
    one = [{"problem": PROBLEM}]
    refused(
        "unknown_solver",
        "$.settings[0].options.solver",
        problems=one,
        settings=[{"options": {"solver": "x"}}],
    )
    refused("over_limit", "$", problems=one, settings=[{"name": str(i), "options": {}} for i in range(1001)])
    many = [{"problem": PROBLEM} for _ in range(40)]
    refused("over_limit", "$", problems=many, settings=[{"options": {}} for _ in range(26)])
    refused("not_a_string", "$.name", problems=one, name=3)
    much = {
        "problems": [1, {}, {"problem": {"version": 1}}],
        "settings": [{"options": 1}],
        "priority": 101,
        "x": 1,
    }
    document = problem_document(client.post("/v1/batches", json=much), 422, "invalid_request")
    assert {error["path"] for error in document["errors"]} == {
        '$["x"]',
        "$.priority",
        "$.problems[0]",
        "$.problems[1].problem",
        "$.problems[2].problem.buffers",
        "$.settings[0].options",
    }


def test_what_is_not_there_is_404(client: TestClient) -> None:
    for path in (
        "/v1/jobs/x",
        "/v1/jobs/" + "0" * 32,
        "/v1/jobs/" + "0" * 32 + "/plan",
        "/v1/jobs/%00/events",
    ):
        problem_document(client.get(path), 404, "no_such_job")
    problem_document(client.delete("/v1/jobs/x"), 404, "no_such_job")
    problem_document(client.get("/v1/batches/x"), 404, "no_such_batch")
    problem_document(client.delete("/v1/batches/x"), 404, "no_such_batch")


def proven(client: TestClient, problem: dict[str, Any], **options: Any) -> str:
    response = client.post("/v1/jobs?proof=true", json={"problem": problem, "options": options})
    assert response.status_code == 202, response.text
    job: str = response.json()["id"]
    assert over(client, job)["state"] == "done"
    return job


@pytest.mark.parametrize("options", [{"time_limit": 60.0}, {"deterministic": True}])
def test_a_job_keeps_a_proof_of_its_plan(client: TestClient, tmp_path: Path, options: dict[str, Any]) -> None:
    # The second is answered from the cache, and has its proof all the same.
    for _ in range(2):
        path = f"/v1/jobs/{proven(client, PROBLEM, **options)}"
        document, answer, proof = (client.get(f"{path}/{part}") for part in ("problem", "plan", "proof"))
        assert (proof.status_code, proof.headers["content-type"]) == (200, "application/octet-stream")
        assert answer.json()["proof_sha256"] == sha256(proof.content).hexdigest()
        verdict = second((document.content, answer.content, proof.content), tmp_path)
        assert (verdict.code, verdict.words) == (VERIFIED, "verified: peak 12288 is least")
        assert client.delete(f"{path}?discard=true").status_code == 204
        problem_document(client.get(f"{path}/proof"), 404, "no_such_job")


def test_a_proof_of_a_reuse_cost(client: TestClient, tmp_path: Path) -> None:
    buffers = [{"id": name, "size": 4, "lifetime": [at, at + 1]} for at, name in enumerate("abc")]
    costs = [{"buffers": [*pair], "cost": 1} for pair in ("ab", "bc", "ac")]
    pools = [{"id": "memory", "capacity": 9}]
    problem = {"version": 1, "pools": pools, "buffers": buffers, "reuse_costs": costs}
    path = f"/v1/jobs/{proven(client, {**problem, 'objective': ['reuse_cost', 'peak']})}"
    files = tuple(client.get(f"{path}/{part}").content for part in ("problem", "plan", "proof"))
    verdict = second((files[0], files[1], files[2]), tmp_path)
    assert (verdict.code, verdict.words) == (VERIFIED, "verified: reuse cost 1 is least, then peak 8")


def test_a_proof_that_nothing_fits(client: TestClient, tmp_path: Path) -> None:
    path = f"/v1/jobs/{proven(client, {**PROBLEM, 'pools': [{'id': 'memory', 'capacity': 12287}]})}"
    files = tuple(client.get(f"{path}/{part}").content for part in ("problem", "plan", "proof"))
    assert second((files[0], files[1], files[2]), tmp_path).code == VERIFIED


def test_a_proof_about_all_orders_of_a_graph(client: TestClient, tmp_path: Path) -> None:
    graph = {
        "version": 1,
        "tensors": [
            {"id": name, "size": size} for name, size in (("x", 10), ("a", 100), ("b", 20), ("d", 60))
        ],
        "operators": [
            {"id": "D", "inputs": ["x"], "outputs": ["d"]},
            {"id": "A", "inputs": ["x"], "outputs": ["a"]},
            {"id": "B", "inputs": ["a"], "outputs": ["b"]},
        ],
        "inputs": ["x"],
        "outputs": ["b", "d"],
        "order": "free",
    }
    path = f"/v1/jobs/{proven(client, graph)}"
    document, answer, proof = (client.get(f"{path}/{part}").content for part in ("problem", "plan", "proof"))
    says = ORDERS.check((document, answer, proof), tmp_path).words
    assert says == "verified: peak 130 is least of all orders and layouts"


def test_a_job_without_a_proof_says_why(client: TestClient) -> None:
    job = submit(client)["id"]
    over(client, job)
    message = problem_document(client.get(f"/v1/jobs/{job}/proof"), 409, "no_proof")["detail"]
    assert "without `proof=true`" in message
    assert "proof_sha256" not in client.get(f"/v1/jobs/{job}/plan").json()


def test_a_proof_that_is_too_large_is_not_kept(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, slots=1, max_proof=50)
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        job = proven(client, PROBLEM)
        message = problem_document(client.get(f"/v1/jobs/{job}/proof"), 409, "no_proof")["detail"]
        assert "nothing could be proven" in message
        assert client.get(f"/v1/jobs/{job}/plan").json()["status"] == "optimal"


@pytest.mark.parametrize(
    ("problem", "code", "why"),
    [
        (
            {**PROBLEM, "pools": [{"id": "one"}, {"id": "two"}], "objective": ["moves"]},
            "no_proof",
            "its objective does not begin with a peak or a cost",
        ),
        ({"version": 1, "tensors": [], "operators": []}, "no_proof", "its operators run as they are listed"),
        (SYMBOLIC, "not_for_symbols", "not for problems with symbols"),
    ],
)
def test_a_proof_that_there_cannot_be_is_refused(
    client: TestClient, problem: dict[str, Any], code: str, why: str
) -> None:
    refused = client.post("/v1/jobs?proof=true", json=problem)
    assert refused.status_code == 422
    (issue,) = refused.json()["errors"]
    assert (issue["code"], issue["path"].endswith("query.proof"), why in issue["message"]) == (
        code,
        True,
        True,
    )
