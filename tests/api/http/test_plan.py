"""`POST /v1/plan`: every way to ask, every way to be answered."""

import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from httpx2 import Response
from starlette.testclient import TestClient

from memstow.api.http.responses import MEDIA_TYPES
from memstow.api.http.samples import CSV, EXAMPLES, PROBLEM
from memstow.api.http.schemas import EXAMPLES_ALONE
from memstow.api.operations import plan_forms
from memstow.planner import formats, loops
from memstow.planner.generate.planted import planted
from memstow.planner.model.digest import digest
from memstow.planner.model.options import Options
from memstow.planner.show.svg_picture import svg
from memstow.planner.solve import engine
from memstow.planner.verify import verify
from tests.api.asking import events, over
from tests.api.http.conftest import hard, problem_document
from tests.waiting import wait_for
from tests.xla_dumps import XLA

TOO_SMALL = EXAMPLES["too-small"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_gets_a_plan_that_the_judge_accepts(client: TestClient, name: str) -> None:
    example = EXAMPLES[name]
    response = client.post("/v1/plan", json=example)
    assert response.status_code == 200, response.text
    problem = formats.read_problem(json.dumps(example.get("problem", example)).encode())
    assert verify(problem, formats.read_plan(response.content, problem)) == []


def test_the_example_in_the_documentation_is_solved_as_it_says(client: TestClient) -> None:
    plan = client.post("/v1/plan", json={"problem": PROBLEM}).json()
    assert (plan["status"], plan["pools"][0]["peak"]) == ("optimal", 12288)


def test_that_nothing_fits_is_an_answer(client: TestClient) -> None:
    response = client.post("/v1/plan", json=TOO_SMALL)
    assert response.status_code == 200
    assert response.json()["status"] == "infeasible"


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        (MEDIA_TYPES["json"], json.dumps(PROBLEM)),
        (MEDIA_TYPES["csv"], CSV),
        *((MEDIA_TYPES[name], json.dumps(body)) for name, body in EXAMPLES_ALONE.items()),
    ],
)
def test_any_format_is_taken_by_its_media_type(client: TestClient, media_type: str, body: str) -> None:
    response = client.post("/v1/plan?time_limit=2", content=body, headers={"content-type": media_type})
    assert response.status_code == 200, response.text
    assert response.json()["status"] == "optimal"


@pytest.mark.parametrize(
    ("query", "media_type"),
    [("", MEDIA_TYPES["xla"]), ("?format=xla", "text/plain"), ("", "application/json")],
)
def test_dumps_of_xla_are_taken_as_a_body_and_as_the_text_of_a_problem(
    client: TestClient, query: str, media_type: str
) -> None:
    body = json.dumps({"problem": XLA}) if media_type == "application/json" else XLA
    headers = {"content-type": media_type}
    response = client.post(f"/v1/plan{query}", content=body, headers=headers)
    assert response.status_code == 200, response.text
    assert (response.json()["status"], response.json()["pools"][0]["peak"]) == ("optimal", 28672)
    job = client.post(f"/v1/jobs{query}", content=body, headers=headers)
    assert job.status_code == 202, job.text


@pytest.mark.parametrize("body", [PROBLEM, *EXAMPLES_ALONE.values()])
@pytest.mark.parametrize("path", ["plan", "inspect", "convert?to=json"])
def test_a_problem_alone_is_told_from_an_envelope_by_what_it_holds(
    client: TestClient, body: Any, path: str
) -> None:
    response = client.post(f"/v1/{path}", json=body)
    assert response.status_code == 200, response.text


def test_a_problem_alone_can_become_a_job(client: TestClient) -> None:
    response = client.post("/v1/jobs?seed=5", json=PROBLEM)
    assert response.status_code == 202, response.text
    assert (response.json()["name"], response.json()["options"]["seed"]) == ("first", 5)


def test_a_large_problem_alone_is_read_like_a_small_one(client: TestClient) -> None:
    buffers = [{"id": f"b{i}", "size": 64, "lifetime": [i, i + 2]} for i in range(3000)]
    response = client.post("/v1/plan", json={"version": 1, "buffers": buffers})
    assert response.status_code == 200, response.text
    assert len(response.json()["placements"]) == 3000


def test_a_solver_that_is_misspelt_is_told_with_what_may_have_been_meant(client: TestClient) -> None:
    document = problem_document(client.post("/v1/plan?solver=exakt", json=PROBLEM), 422, "unknown_solver")
    assert document["detail"].startswith('there is no solver "exakt"; did you mean exact? use one of auto, ')


def test_options_in_the_query_hold_for_a_problem_alone(client: TestClient) -> None:
    document = problem_document(client.post("/v1/plan?gap=2", json=PROBLEM), 422, "too_large")
    assert [error["path"] for error in document["errors"]] == ["$.query.gap"]
    wrong = {**PROBLEM, "buffers": [{"id": "a", "size": -1}]}
    document = problem_document(client.post("/v1/plan", json=wrong), 422, "too_small")
    assert [error["path"] for error in document["errors"]] == ["$.buffers[0].size"]


@pytest.mark.parametrize("path", ["plan", "jobs", "inspect", "convert"])
@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({**PROBLEM, "options": {}}, "`options` stands beside `version`"),
        ({**PROBLEM, "target": "rp2040"}, "`target` stands beside `version`"),
        ({"problem": PROBLEM, "buffers": []}, "`problem` stands beside `buffers`"),
        ({"problem": PROBLEM, **PROBLEM}, "`problem` stands beside `version`"),
    ],
)
def test_what_may_be_either_is_refused_with_the_way_out(
    client: TestClient, path: str, body: dict[str, Any], named: str
) -> None:
    document = problem_document(client.post(f"/v1/{path}", json=body), 422, "not_wrapped")
    assert named in document["detail"]
    assert '{"problem": ' in document["detail"]


@pytest.mark.parametrize("path", ["plan", "jobs", "inspect", "convert"])
def test_an_empty_list_is_no_problem_unless_the_format_says_so(client: TestClient, path: str) -> None:
    document = problem_document(client.post(f"/v1/{path}", json=[]), 422, "no_problem")
    assert "an empty list" in document["detail"]
    assert '{"version": 1, "buffers": [...]}' in document["detail"]
    named = client.post(f"/v1/{path}?format=executorch", json=[])
    assert named.status_code in (200, 202), named.text


@pytest.mark.parametrize("body", [{}, {"options": {}}, {"problems": []}, "text", 5])
def test_what_is_neither_is_told_what_is_missing(client: TestClient, body: Any) -> None:
    response = client.post("/v1/plan", json=body)
    assert response.status_code == 422
    assert "problem" in response.text


def test_a_format_can_be_named_in_the_query_and_options_go_there_too(client: TestClient) -> None:
    response = client.post(
        "/v1/plan?format=csv&solver=greedy&seed=3&deterministic=true",
        content=CSV,
        headers={"content-type": "application/octet-stream"},
    )
    assert response.status_code == 200, response.text
    document = problem_document(
        client.post("/v1/plan?gap=2&seed=x", content=CSV, headers={"content-type": "text/csv"}),
        422,
        "invalid_request",
    )
    assert [error["path"] for error in document["errors"]] == ["$.query.gap", "$.query.seed"]


def test_a_problem_of_another_format_can_be_a_text_in_the_envelope(client: TestClient) -> None:
    response = client.post("/v1/plan", json={"problem": CSV})
    assert len(response.json()["placements"]) == 2


def test_gzip_is_taken(client: TestClient) -> None:
    body = gzip.compress(json.dumps({"problem": PROBLEM}).encode())
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    assert client.post("/v1/plan", content=body, headers=headers).status_code == 200
    two_members = gzip.compress(b'{"problem": ') + gzip.compress(json.dumps(PROBLEM).encode() + b"}")
    assert client.post("/v1/plan", content=two_members, headers=headers).status_code == 200


@pytest.mark.parametrize("name", ["json", "csv", "structured"])
def test_the_plan_comes_in_the_format_asked_for(client: TestClient, name: str) -> None:
    response = client.post(f"/v1/plan?output_format={name}", json={"problem": PROBLEM})
    problem = formats.read_problem(json.dumps(PROBLEM).encode())
    assert len(formats.read_plan(response.content, problem, name).placements) == 5
    by_accept = client.post("/v1/plan", json={"problem": PROBLEM}, headers={"accept": "text/csv"})
    assert by_accept.headers["content-type"].startswith("text/csv")


@pytest.mark.parametrize("name", sorted({*plan_forms.names()} - {"json", *loops.names(), plan_forms.MODEL}))
def test_what_has_no_plan_is_an_error_in_any_format_but_json(client: TestClient, name: str) -> None:
    response = client.post(f"/v1/plan?output_format={name}", json=TOO_SMALL)
    document = problem_document(response, 422, "infeasible")
    why = client.post("/v1/plan?output_format=json", json=TOO_SMALL).json()["explanation"]["message"]
    assert why in document["detail"]
    by_accept = client.post("/v1/plan", json=TOO_SMALL, headers={"accept": "text/csv"})
    problem_document(by_accept, 422, "infeasible")


@pytest.mark.parametrize("name", ["csv", "c-header", "replay", "svg"])
def test_where_the_limits_end_a_search_without_a_plan_other_formats_are_an_error(
    client: TestClient, name: str
) -> None:
    question = {"problem": tight(), "options": {"solver": "first-fit", "deterministic": True}}
    problem_document(client.post(f"/v1/plan?output_format={name}", json=question), 422, "no_plan_found")
    job = client.post("/v1/jobs", json=question).json()["id"]
    over(client, job)
    response = client.get(f"/v1/jobs/{job}/plan?output_format={name}")
    problem_document(response, 422, "no_plan_found")
    assert client.get(f"/v1/jobs/{job}/plan").json()["status"] == "unknown"


def test_an_equal_question_has_the_same_answer_from_the_cache(client: TestClient) -> None:
    question = {"problem": {**PROBLEM, "name": "cache"}, "options": {"seed": 7}}
    first = client.post("/v1/plan", json=question)
    second = client.post("/v1/plan", json=question)
    assert first.headers["memstow-cache"] == "miss"
    assert second.headers["memstow-cache"] == "hit"
    assert (first.content, first.headers["etag"]) == (second.content, second.headers["etag"])
    around = client.post("/v1/plan", json=question, headers={"cache-control": "no-cache"})
    assert around.headers["memstow-cache"] == "miss"


def _turned(problem: dict[str, Any]) -> dict[str, Any]:
    return {**problem, "name": "turned", "buffers": problem["buffers"][::-1]}


def _places(plan: dict[str, Any]) -> list[tuple[str, str, int]]:
    return [(place["buffer"], place["pool"], place["offset"]) for place in plan.get("placements", [])]


def _kept(client: TestClient, problem: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """The answer once it comes from the cache: what is not proven is written behind the answer."""

    def ask() -> Response:
        return client.post("/v1/plan", json={"problem": problem, "options": options})

    assert ask().headers["memstow-cache"] == "miss"
    wait_for(lambda: ask().headers["memstow-cache"] == "hit", "the answer to be kept")
    plan: dict[str, Any] = ask().json()
    return plan


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        (PROBLEM, {"seed": 71}),
        (TOO_SMALL["problem"], {"seed": 72}),
        # Its answer is in the store: it is not proven.
        (hard(60, 21), {"time_limit": 0.05, "solver": "first-fit"}),
        (hard(60, 22), {"time_limit": 0.05, "solver": "first-fit", "workers": 1}),
    ],
)
def test_the_same_problem_in_another_order_is_answered_from_the_cache_in_its_own_order(
    client: TestClient, problem: dict[str, Any], options: dict[str, Any]
) -> None:
    plan = _kept(client, problem, options)
    answer = client.post("/v1/plan", json={"problem": _turned(problem), "options": options})
    assert answer.headers["memstow-cache"] == "hit"
    turned = answer.json()
    assert [buffer for buffer, _, _ in _places(plan)] == [
        buffer["id"] for buffer in problem["buffers"] if "placements" in plan
    ]
    assert _places(turned) == _places(plan)[::-1]
    assert {**turned, "placements": [], "seconds": 0} == {**plan, "placements": [], "seconds": 0}
    other = client.post("/v1/plan", json={"problem": _turned(problem), "options": {**options, "seed": 99}})
    assert other.headers["memstow-cache"] == "miss"


def test_a_job_answered_from_the_cache_has_the_order_of_its_problem(client: TestClient) -> None:
    problem, options = hard(60, 23), {"time_limit": 0.05, "solver": "first-fit"}
    plan = _kept(client, problem, options)
    body = {"problem": _turned(problem), "options": options}
    job = client.post("/v1/plan", json=body, headers={"prefer": "respond-async"})
    turned = plan_of_job(client, job.headers["location"])
    assert _places(turned.json()) == _places(plan)[::-1]


def test_of_a_deterministic_question_the_order_is_a_part(client: TestClient) -> None:
    problem, options = hard(30, 24), {"deterministic": True, "work_limit": 100_000}

    def ask(problem: dict[str, Any], **headers: str) -> Response:
        return client.post("/v1/plan", json={"problem": problem, "options": options}, headers=headers)

    assert ask(problem).headers["memstow-cache"] == "miss"
    turned = ask(_turned(problem))
    assert turned.headers["memstow-cache"] == "miss"
    # The answer is one for one input: with the cache as without it.
    assert turned.content == ask(_turned(problem), **{"cache-control": "no-cache"}).content


def test_what_takes_longer_than_a_moment_is_solved_by_a_job(client: TestClient) -> None:
    response = client.post("/v1/plan", json={"problem": hard(400, 3), "options": {"time_limit": 1.0}})
    assert response.status_code == 200
    job = client.get(response.headers["location"]).json()
    assert job["state"] == "done"
    assert job["value"] == response.json()["objective"][0]["value"]


def test_equal_questions_at_once_are_solved_once(client: TestClient) -> None:
    question = {"problem": hard(400, 9), "options": {"time_limit": 1.5, "seed": 5}}
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: client.post("/v1/plan", json=question), range(4)))
    assert {answer.status_code for answer in answers} == {200}
    values = {answer.json()["objective"][0]["value"] for answer in answers}
    assert len(values) == 1
    problem = formats.read_problem(json.dumps(question["problem"]).encode())
    made = client.get(f"/v1/jobs?digest={digest(problem)}").json()["jobs"]
    worked = [job["id"] for job in made if "phase" in {event.kind for event in events(client, job["id"])}]
    assert len(worked) == 1


def test_an_answer_is_never_worse_than_an_earlier_one(client: TestClient) -> None:
    problem = hard(300, 4)
    long = client.post("/v1/plan", json={"problem": problem, "options": {"time_limit": 3.0}}).json()
    short = client.post("/v1/plan", json={"problem": problem, "options": {"time_limit": 0.0}}).json()
    assert short["objective"][0]["value"] <= long["objective"][0]["value"]


def test_a_deterministic_answer_does_not_displace_a_better_plan(client: TestClient) -> None:
    problem = hard(300, 4)
    long = client.post("/v1/plan", json={"problem": problem, "options": {"time_limit": 3.0}}).json()
    weak = {"solver": "first-fit", "deterministic": True}
    same = client.post("/v1/plan", json={"problem": problem, "options": weak}).json()
    assert same["objective"][0]["value"] > long["objective"][0]["value"], "it depends on nobody else"
    short = client.post("/v1/plan", json={"problem": problem, "options": {"time_limit": 0.0}}).json()
    assert short["objective"][0]["value"] <= long["objective"][0]["value"]


def test_a_search_that_finds_nothing_answers_with_what_is_known(client: TestClient) -> None:
    problem = tight()
    assert client.post("/v1/plan", json={"problem": problem}).json()["status"] == "optimal"
    weak = {"problem": problem, "options": {"time_limit": 0.0}}
    for headers in ({}, {"cache-control": "no-cache"}):
        assert client.post("/v1/plan", json=weak, headers=headers).json()["status"] == "optimal"
    for alone in ({"solver": "first-fit"}, {"deterministic": True, "work_limit": 0}):
        answer = client.post("/v1/plan", json={"problem": problem, "options": alone}).json()
        assert answer["status"] == "unknown", "it depends on nobody else"


def tight() -> dict[str, object]:
    """A problem with a capacity that only a search meets."""
    rows = (
        (182, 5, 7), (1693, 1, 4), (15, 9, 11), (176, 2, 8), (425, 1, 7),
        (4096, 0, 2), (4096, 3, 9), (183, 0, 4), (4, 4, 6), (1697, 5, 10),
    )  # fmt: skip
    buffers = [{"id": f"b{i}", "size": size, "lifetime": life} for i, (size, *life) in enumerate(rows)]
    return {"version": 1, "pools": [{"id": "ram", "capacity": 6580}], "buffers": buffers}


def plan_of_job(client: TestClient, path: str) -> Response:
    assert over(client, path.rpartition("/")[2])["state"] == "done"
    return client.get(f"{path}/plan")


def test_a_cached_answer_is_not_worse_than_what_another_question_has_found_since(client: TestClient) -> None:
    problem = hard(300, 14)
    short = {"problem": problem, "options": {"time_limit": 0.0}}
    first = client.post("/v1/plan", json=short).json()
    long = client.post("/v1/plan", json={"problem": problem, "options": {"time_limit": 3.0}}).json()
    assert long["objective"][0]["value"] < first["objective"][0]["value"]
    for headers in ({}, {"prefer": "respond-async"}):
        again = client.post("/v1/plan", json=short, headers=headers)
        assert again.status_code == (202 if headers else 200)
        if headers:
            again = plan_of_job(client, again.headers["location"])
        assert again.json()["objective"][0]["value"] <= long["objective"][0]["value"]


def test_what_was_found_at_a_glance_is_not_forgotten(client: TestClient) -> None:
    tiles = json.loads(formats.write_problem(planted(12, 4)))
    at_once = client.post("/v1/plan", json={"problem": tiles}).json()
    weaker = client.post("/v1/plan", json={"problem": tiles, "options": {"time_limit": 0.0}}).json()
    assert at_once["status"] == weaker["status"] == "optimal"


def test_who_does_not_want_to_wait_gets_a_job(client: TestClient) -> None:
    response = client.post("/v1/plan", json={"problem": PROBLEM}, headers={"prefer": "respond-async"})
    assert response.status_code == 202
    assert response.headers["preference-applied"] == "respond-async"
    assert client.get(response.headers["location"]).json()["id"] == response.json()["id"]


def test_what_may_take_longer_than_the_server_waits_becomes_a_job(client: TestClient) -> None:
    response = client.post("/v1/plan", json={"problem": hard(400, 11), "options": {"time_limit": 100.0}})
    assert response.status_code == 202
    assert client.delete(response.headers["location"] + "?discard=true").status_code == 204


def test_a_large_body_is_read_in_a_process_of_its_own(client: TestClient) -> None:
    buffers = [{"id": f"b{i}", "size": 64, "lifetime": [i, i + 2]} for i in range(3000)]
    response = client.post("/v1/plan", json={"problem": {"version": 1, "buffers": buffers}})
    assert response.status_code == 200
    assert len(response.json()["placements"]) == 3000
    buffers[7]["size"] = -1
    document = problem_document(
        client.post("/v1/plan", json={"problem": {"version": 1, "buffers": buffers}}), 422, "too_small"
    )
    assert document["errors"][0]["path"] == "$.problem.buffers[7].size"


WRONG: list[tuple[Any, str, str]] = [
    ("a text", "not_an_object", "$"),
    ({}, "missing_field", "$.problem"),
    ({"problem": PROBLEM, "extra": 1}, "unknown_field", '$["extra"]'),
    ({"problem": {"version": 1}}, "missing_field", "$.problem.buffers"),
    (
        {"problem": {"version": 1, "buffers": [{"id": "a", "size": 1.5}]}},
        "not_an_integer",
        "$.problem.buffers[0].size",
    ),
    ({"problem": PROBLEM, "options": {"time_limit": "x"}}, "not_a_number", "$.options.time_limit"),
    ({"problem": PROBLEM, "options": {"solver": "nobody"}}, "unknown_solver", "$.options.solver"),
    ({"problem": PROBLEM, "options": {"time_limit": 9999.0}}, "over_limit", "$.options.time_limit"),
    ({"problem": PROBLEM, "options": {"workers": 200}}, "over_limit", "$.options.workers"),
    ({"problem": PROBLEM, "options": {"memory_limit": 1 << 60}}, "over_limit", "$.options.memory_limit"),
    ({"problem": {**PROBLEM, "objective": ["peak:x"]}}, "unknown_pool", "$.problem.objective[0]"),
]


@pytest.mark.parametrize(("body", "code", "path"), WRONG)
def test_what_is_wrong_is_told_with_its_code_and_its_place(
    client: TestClient, body: Any, code: str, path: str
) -> None:
    document = problem_document(client.post("/v1/plan", json=body), 422, code)
    assert [(error["code"], error["path"]) for error in document["errors"]] == [(code, path)]


@pytest.mark.parametrize("path", ["/v1/plan", "/v1/jobs"])
def test_who_asks_for_a_team_is_told_of_threads(client: TestClient, path: str) -> None:
    body = {"problem": PROBLEM, "members": 4}
    document = problem_document(client.post(path, json=body), 422, "unknown_field")
    assert [error["path"] for error in document["errors"]] == ['$["members"]']
    assert "`workers`" in document["errors"][0]["message"]


def test_everything_that_is_wrong_is_told_at_once(client: TestClient) -> None:
    body = {"problem": {"version": 1, "buffers": [{"size": -1}]}, "options": {"gap": 7.0, "x": 1}}
    document = problem_document(client.post("/v1/plan", json=body), 422, "invalid_request")
    paths = {error["path"] for error in document["errors"]}
    assert paths == {"$.problem.buffers[0].id", "$.problem.buffers[0].size", "$.options.gap", "$.options.x"}
    document = problem_document(
        client.post("/v1/jobs", json={"options": {"gap": 7.0}, "priority": 101, "extra": 1}),
        422,
        "invalid_request",
    )
    paths = {error["path"] for error in document["errors"]}
    assert paths == {'$["extra"]', "$.problem", "$.options.gap", "$.priority"}


def test_options_in_the_query_hold_unless_the_body_says_otherwise(client: TestClient) -> None:
    body = {"problem": PROBLEM, "options": {"seed": 3}}
    path = "/v1/plan?seed=4&time_limit=2.5"
    job = client.post(path, json=body, headers={"prefer": "respond-async"}).json()
    assert (job["options"]["seed"], job["options"]["time_limit"]) == (3, 2.5)
    wrong = problem_document(
        client.post("/v1/plan?time_limit=x", json={"problem": PROBLEM}), 422, "not_a_number"
    )
    assert wrong["errors"][0]["path"] == "$.options.time_limit"


def test_what_is_misspelt_in_a_query_is_refused(client: TestClient) -> None:
    for path in ("/v1/plan", "/v1/jobs"):
        answer = client.post(f"{path}?timelimit=2", json={"problem": PROBLEM})
        document = problem_document(answer, 422, "unknown_parameter")
        assert document["errors"][0]["path"] == "query.timelimit"
        assert "time_limit" in document["detail"]


@pytest.mark.parametrize(
    ("content", "headers", "status", "code"),
    [
        (b"{", {}, 400, "malformed_json"),
        (b"", {}, 400, "empty"),
        (b"\xff\xfe{}", {}, 400, "not_utf8"),
        (b'{"a": 1, "a": 2}', {}, 422, "duplicate_key"),
        (b"[" * 100_000, {}, 400, "too_deep"),
        (b'{"problem": NaN}', {}, 400, "not_finite"),
        (b"{}", {"content-type": "text/plain"}, 415, "unsupported_media_type"),
        (b"{}", {"content-type": ""}, 415, "unsupported_media_type"),
        (b"{}", {"content-encoding": "br"}, 415, "unsupported_encoding"),
        (b"{}", {"content-encoding": "gzip"}, 400, "malformed_gzip"),
        (gzip.compress(b"{}", mtime=0)[:-4], {"content-encoding": "gzip"}, 400, "malformed_gzip"),
    ],
)
def test_a_body_that_cannot_be_read_is_refused(
    client: TestClient, content: bytes, headers: dict[str, str], status: int, code: str
) -> None:
    response = client.post(
        "/v1/plan", content=content, headers={"content-type": "application/json", **headers}
    )
    problem_document(response, status, code)


def test_a_wrong_format_is_refused(client: TestClient) -> None:
    headers = {"content-type": "application/json"}
    problem_document(
        client.post("/v1/plan?format=xml", content=b"{}", headers=headers), 422, "unknown_format"
    )
    problem_document(
        client.post("/v1/plan?output_format=xla", content=b"{}", headers=headers),
        422,
        "unknown_format",
    )


def test_a_solver_that_cannot_honour_the_problem_says_so(client: TestClient) -> None:
    problem = {
        "version": 1,
        "buffers": [{"id": "a", "size": 1, "lifetimes": [[0, 1], [3, 4]]}],
        "objective": ["moves"],
    }
    response = client.post("/v1/plan", json={"problem": problem})
    problem_document(response, 422, "moves_without_hint")


def test_the_plan_comes_as_a_drawing(client: TestClient) -> None:
    question = {"problem": PROBLEM, "options": {"deterministic": True}}
    drawing = client.post("/v1/plan?output_format=svg", json=question)
    assert drawing.status_code == 200, drawing.text
    assert drawing.headers["content-type"].partition(";")[0] == "image/svg+xml"
    problem = formats.read_problem(json.dumps(PROBLEM).encode())
    plan = engine.plan(problem, Options(deterministic=True))
    assert drawing.text == svg(problem, plan)
    job = client.post("/v1/jobs", json=question).json()["id"]
    over(client, job)
    again = client.get(f"/v1/jobs/{job}/plan?output_format=svg")
    assert (again.text, again.headers["content-type"]) == (drawing.text, drawing.headers["content-type"])


def test_a_large_drawing_is_made_in_a_process_of_its_own(client: TestClient) -> None:
    buffers = [{"id": f"b{i}", "size": 8, "lifetime": [i, i + 2]} for i in range(2500)]
    question = {"problem": {"version": 1, "buffers": buffers}, "options": {"deterministic": True}}
    response = client.post("/v1/plan?output_format=svg", json=question)
    assert "location" in response.headers
    assert response.text.startswith("<svg")
