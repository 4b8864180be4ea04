"""Jobs of a server as its clients see them: put in, followed, waited for."""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import httpx2

from memstow.api.http.samples import PROBLEM
from tests.waiting import wait_for

OVER = ("done", "failed", "cancelled")


class Event(NamedTuple):
    """One event of a job."""

    number: int
    kind: str
    data: Any


def submit(client: httpx2.Client, problem: Any = PROBLEM, **options: Any) -> str:
    """The id of a new job."""
    answer = client.post("/v1/jobs", json={"problem": problem, "options": options})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def job_of(client: httpx2.Client, job: str) -> dict[str, Any]:
    """A job as it is now."""
    answer = client.get(f"/v1/jobs/{job}")
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


def over(client: httpx2.Client, job: str) -> dict[str, Any]:
    """A job once it is over."""

    def look() -> dict[str, Any] | None:
        result = job_of(client, job)
        return result if result["state"] in OVER else None

    result = wait_for(look, "the job to end")
    assert result is not None
    return result


def has_plan(client: httpx2.Client, job: str) -> bool:
    """Whether there is a plan of it already."""
    return client.get(f"/v1/jobs/{job}/plan").status_code == 200


def events(
    client: httpx2.Client, job: str, after: int | str | None = None, most: int | None = None
) -> list[Event]:
    """The events of a job behind one of them, up to the end of the stream or so many."""
    headers = {} if after is None else {"last-event-id": str(after)}
    with client.stream("GET", f"/v1/jobs/{job}/events", headers=headers) as stream:
        assert stream.status_code == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
        return list(islice(read_events(stream.iter_lines()), most))


def read_events(lines: Iterable[str]) -> Iterator[Event]:
    """The events in the lines of a stream."""
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if line:
            fields[name] = value
        elif "event" in fields:
            yield Event(int(fields["id"]), fields["event"], json.loads(fields["data"]))
            fields = {}
