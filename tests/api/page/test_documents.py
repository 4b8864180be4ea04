"""The service answers with view documents: whole plans, its own jobs, and what anyone asks it to judge."""

from tests.api.page.samples import buffers, infeasible, places
from tests.api.serving import Server
from tests.waiting import wait_for

PROBLEM = buffers((8, 0, 2), (8, 1, 3))


def test_a_plan_in_one_request_comes_with_what_the_judge_says(server: Server) -> None:
    with server.client() as client:
        for problem, lead in ((PROBLEM, "16 B."), (infeasible(), "No plan fits")):
            answer = client.post("/v1/plan?output_format=page", json=problem)
            assert answer.status_code == 200, answer.text
            assert answer.json()["version"] == 1
            assert answer.json()["verdict"]["lead"] == lead


def test_the_plan_of_a_job_is_judged_once_for_each_version(server: Server) -> None:
    with server.client() as client:
        path = f"/v1/jobs/{client.post('/v1/jobs', json=PROBLEM).json()['id']}/plan?output_format=page"
        wait_for(lambda: client.get(path).headers.get("memstow-final") == "true", "the job is over")
        answer = client.get(path)
        assert answer.json()["verdict"]["tone"] == "proven"
        again = client.get(path, headers={"If-None-Match": answer.headers["etag"]})
        assert again.status_code == 304


def test_a_plan_from_anyone_is_judged_for_the_page(server: Server) -> None:
    with server.client() as client:
        body = {"problem": PROBLEM, "plan": places(0, 4)}
        answer = client.post("/v1/verify?output_format=page", json=body)
        assert answer.json()["verdict"]["lead"] == "This is no valid plan."
        refused = client.post("/v1/verify?output_format=page", json=body | {"hint": places(0, 8)})
        assert refused.status_code == 422
