"""A service that answers the page with what a test wants: states that a real one has for a moment only."""

import json
from dataclasses import dataclass, field
from typing import Any

from memstow.api.http.samples import JOB
from memstow.planner.formats import read_plan, read_problem
from memstow.planner.formats.native import read_symbolic, read_symbolic_plan
from memstow.planner.show.symbolic_view import symbolic_verdict_document
from memstow.planner.show.view_document import verdict_document
from tests.api.page.samples import JsonObject, buffers

JOB_ID = str(JOB["id"])


@dataclass
class Answer:
    """One response."""

    status: int = 200
    body: bytes | JsonObject = b""
    headers: dict[str, str] = field(default_factory=dict)


def refusal(status: int, code: str, detail: str, **headers: str) -> Answer:
    """A problem document."""
    body: JsonObject = {"type": "x", "title": "x", "status": status, "code": code, "detail": detail}
    return Answer(status, body, {"content-type": "application/problem+json", **headers})


def stream(*events: tuple[int, str, JsonObject]) -> Answer:
    """Some events, after which the connection ends."""
    text = "".join(
        f"id: {number}\nevent: {kind}\ndata: {json.dumps(data)}\n\n" for number, kind, data in events
    )
    return Answer(200, f": memstow\n\n{text}".encode(), {"content-type": "text/event-stream"})


class FakeService:
    """What is asked of a service gets the first of the answers that are left, and the last for ever."""

    def __init__(self, page: Any) -> None:
        self.answers: dict[str, list[Answer]] = {}
        self.asked: list[tuple[str, str, dict[str, str]]] = []
        page.route("**/v1/**", self._answer)

    def on(self, path: str, *answers: Answer) -> "FakeService":
        """Answer this path so."""
        self.answers[path] = list(answers)
        return self

    def job(self, plan: JsonObject | None = None, **about: Any) -> "FakeService":
        """One job, of a problem of two buffers."""
        base = f"/v1/jobs/{JOB_ID}"
        none = dict.fromkeys(("status", "value", "peak", "bound", "gap", "solver", "improved"))
        self.on(base, Answer(body={**JOB, **none, **about}))
        self.on(f"{base}/problem", Answer(body=buffers((8, 0, 2), (8, 1, 3))))
        self.on(
            f"{base}/plan",
            refusal(409, "no_plan_yet", "no plan")
            if plan is None
            else Answer(body=plan, headers={"etag": '"1"'}),
        )
        return self.on(f"{base}/events", stream((1, "phase", {"name": "exact", "seconds": 0.1})), Answer(204))

    def headers_of(self, path: str) -> list[dict[str, str]]:
        """The headers of each request for this path."""
        return [headers for entry, _, headers in self.asked if entry == path]

    def _judged(self, path: str, plan: bytes, sent: bytes | None) -> bytes:
        """A plan with what the judge says of it, as the service answers for its page."""
        known = (self.answers[name][0] for name in self.answers if name.endswith("/problem"))
        about = sent if path == "/v1/plan" else next(answer.body for answer in known if answer.status == 200)
        problem = about if isinstance(about, bytes) else json.dumps(about).encode()
        if b'"symbols"' in problem:
            formed = read_symbolic_plan(plan)
            return symbolic_verdict_document(read_symbolic(problem), formed, "service")
        read = read_problem(problem)
        return verdict_document(read, read, read_plan(plan, read), "service")

    def _answer(self, route: Any) -> None:
        request = route.request
        path = "/" + request.url.split("/", 3)[3].partition("?")[0]
        self.asked.append((path, request.method, request.headers))
        left = self.answers.get(path, [refusal(404, "not_found", "there is nothing at this path")])
        answer = left.pop(0) if len(left) > 1 else left[0]
        body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        if answer.status == 200 and "output_format=page" in request.url:
            body = self._judged(path, body, request.post_data_buffer)
        headers = {"content-type": "application/json", **answer.headers}
        route.fulfill(status=answer.status, headers=headers, body=body)
