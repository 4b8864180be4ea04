"""Traces: a span for each part of a request and its job, in one trace, in logs and problem documents."""

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

pytest.importorskip("opentelemetry.sdk", reason="needs OpenTelemetry: pip install 'memstow[otel]'")

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from memstow.api import tracing
from memstow.api.http.app import create_app
from memstow.api.http.samples import PROBLEM
from memstow.api.http.settings import Settings
from tests.api.asking import over, submit
from tests.api.http.conftest import hard
from tests.api.serving import Server
from tests.waiting import PATIENCE, wait_for

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
GIVEN = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
NOT_SAMPLED = {"traceparent": f"00-{TRACE}-{PARENT}-00"}


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    kept = InMemorySpanExporter()
    tracing.start_with(kept)
    yield kept
    tracing.stop()


@pytest.fixture
def client(exporter: InMemorySpanExporter, tmp_path: Path) -> Iterator[TestClient]:
    app = create_app(Settings(data=tmp_path, slots=1, lease_seconds=2.0, fast_seconds=0.01))
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        exporter.clear()
        yield client


def spans(exporter: InMemorySpanExporter, root: str) -> dict[str, ReadableSpan]:
    """The spans by name, of which several share one, once the root has ended."""
    return (
        wait_for(
            lambda: (
                result
                if root in (result := {span.name: span for span in exporter.get_finished_spans()})
                else None
            ),
            f"the span {root}",
        )
        or {}
    )


def parent_of(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def id_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return int(span.context.span_id)


def traces_of(result: dict[str, ReadableSpan]) -> set[str]:
    return {f"{entry.context.trace_id:032x}" for entry in result.values() if entry.context is not None}


def test_a_small_request_is_read_solved_and_judged_in_the_trace_of_its_caller(
    client: TestClient, exporter: InMemorySpanExporter
) -> None:
    assert client.post("/v1/plan", json=PROBLEM, headers=GIVEN).status_code == 200
    stretches = spans(exporter, "POST /v1/plan")
    root = stretches["POST /v1/plan"]
    assert traces_of(stretches) == {TRACE}
    assert parent_of(root) == int(PARENT, 16)
    assert root.attributes is not None
    assert root.attributes["http.response.status_code"] == 200
    assert {"read", "solve", "reduce", "judge"} <= stretches.keys()
    assert parent_of(stretches["read"]) == parent_of(stretches["solve"]) == id_of(root)
    assert parent_of(stretches["judge"]) == id_of(stretches["solve"])


def test_a_job_continues_the_trace_across_the_store_and_its_process(
    client: TestClient, exporter: InMemorySpanExporter
) -> None:
    answer = client.post(
        "/v1/jobs", json={"problem": hard(600, 41), "options": {"time_limit": 0.5}}, headers=GIVEN
    )
    job = answer.json()["id"]
    stretches = spans(exporter, "job")
    request, run = stretches["POST /v1/jobs"], stretches["job"]
    assert traces_of(stretches) == {TRACE}
    assert parent_of(run) == parent_of(stretches["queue"]) == id_of(request)
    assert run.attributes is not None
    assert (run.attributes["memstow.job"], run.attributes["memstow.attempt"]) == (job, 1)
    assert {"read", "queue", "solve", "judge", "store"} <= stretches.keys()
    solves = {id_of(span) for span in exporter.get_finished_spans() if span.name == "solve"}
    assert len(solves) == 2, "the short attempt, and the process of its own"
    judged = {parent_of(span) for span in exporter.get_finished_spans() if span.name == "judge"}
    assert judged == solves
    stored = {parent_of(span) for span in exporter.get_finished_spans() if span.name == "store"}
    assert {id_of(request), id_of(run)} <= stored
    for span in stretches.values():
        assert span.start_time is not None
        assert span.end_time is not None
        assert span.start_time <= span.end_time
    queued = stretches["queue"]
    assert queued.end_time is not None
    assert run.start_time is not None
    assert queued.end_time <= run.start_time


def test_a_problem_document_names_the_trace(client: TestClient, exporter: InMemorySpanExporter) -> None:
    answer = client.post("/v1/plan", json={"problem": {}}, headers=GIVEN)
    assert (answer.status_code, answer.json()["trace"]) == (422, TRACE)
    root = spans(exporter, "POST /v1/plan")["POST /v1/plan"]
    assert root.status.is_unset, "the client was wrong, not the server"


@pytest.mark.parametrize("given", ["", "00-zz-1-01", f"00-{'0' * 32}-{PARENT}-01", "x" * 5000])
def test_a_malformed_traceparent_begins_a_new_trace(
    client: TestClient, exporter: InMemorySpanExporter, given: str
) -> None:
    assert client.post("/v1/plan", json=PROBLEM, headers={"traceparent": given}).status_code == 200
    stretches = spans(exporter, "POST /v1/plan")
    assert stretches["POST /v1/plan"].parent is None
    assert len(traces_of(stretches)) == 1


def test_the_caller_decides_what_is_not_recorded(client: TestClient, exporter: InMemorySpanExporter) -> None:
    answer = client.post("/v1/plan", json={"problem": {}}, headers=NOT_SAMPLED)
    assert answer.json()["trace"] == TRACE, "its log has the trace, recorded or not"
    assert client.get("/version", headers=GIVEN).status_code == 200
    assert spans(exporter, "GET /version").keys() == {"GET /version"}


def test_probes_and_idle_workers_make_no_traces(client: TestClient, exporter: InMemorySpanExporter) -> None:
    for path in ("/livez", "/readyz", "/metrics"):
        assert client.get(path).status_code == 200
    assert client.get("/livez", headers=GIVEN).status_code == 200
    assert spans(exporter, "GET /livez").keys() == {"GET /livez"}


def test_without_tracing_nothing_is_imported_and_a_problem_document_names_no_trace(tmp_path: Path) -> None:
    code = f"""
import sys
from pathlib import Path
from starlette.testclient import TestClient
from memstow.api.http.app import create_app
from memstow.api.http.settings import Settings
from memstow.api.http.samples import PROBLEM
app = create_app(Settings(data=Path({str(tmp_path)!r}), slots=1))
with TestClient(app, base_url="http://localhost") as client:
    assert client.post("/v1/plan", json=PROBLEM, headers={GIVEN!r}).status_code == 200
    assert "trace" not in client.post("/v1/plan", json={{}}, headers={GIVEN!r}).json()
taken = [name for name in sys.modules if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter"))]
assert not taken, taken
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE)


class Collector:
    """Takes traces as a collector of OpenTelemetry does."""

    def __init__(self) -> None:
        self.spans: list[dict[str, Any]] = []
        taken = self.spans

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sent = ExportTraceServiceRequest()
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    import gzip

                    body = gzip.decompress(body)
                sent.ParseFromString(body)
                for resource in sent.resource_spans:
                    service = {
                        attribute.key: attribute.value.string_value
                        for attribute in resource.resource.attributes
                    }
                    for scope in resource.scope_spans:
                        taken.extend(
                            {
                                "name": span.name,
                                "trace": span.trace_id.hex(),
                                "service": service["service.name"],
                                "place": service["deployment.environment"],
                            }
                            for span in scope.spans
                        )
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/traces"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


def test_a_server_sends_its_traces_to_a_collector_and_its_log_names_them(
    server: Server, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=tests")
    server.start(trace_url=collector.url)
    with server.client(headers=GIVEN) as client:
        job = submit(client, hard(120), time_limit=0.3)
        over(client, job)
        assert client.post("/v1/plan", json={}).json()["trace"] == TRACE
    server.signal(15)
    assert server.wait() == 0, server.log()
    names = {span["name"] for span in collector.spans}
    assert {"POST /v1/jobs", "queue", "job", "solve", "judge", "store"} <= names
    assert {span["trace"] for span in collector.spans} == {TRACE}
    assert {(span["service"], span["place"]) for span in collector.spans} == {("memstow", "tests")}
    lines = server.events()
    for event in ("request", "job_started", "job_finished"):
        assert {line["trace"] for line in lines if line["event"] == event} == {TRACE}, event


@pytest.mark.campaign
@pytest.mark.parametrize("listens", [False, True], ids=["away", "silent"])
def test_a_collector_that_does_not_answer_holds_nobody_up(server: Server, listens: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1] if listens else 9
        server.start(trace_url=f"http://127.0.0.1:{port}/v1/traces")
        with server.client(headers=GIVEN) as client:
            # More than one bundle of spans.
            for _ in range(100):
                assert client.post("/v1/plan", json=PROBLEM).status_code == 200
        server.signal(15)
        assert server.wait() == 0, server.log()


def test_a_batch_is_traced_as_well(client: TestClient, exporter: InMemorySpanExporter) -> None:
    batch = {
        "problems": [{"name": "one", "problem": PROBLEM}],
        "settings": [{"name": "s", "options": {}}],
    }
    answer: httpx2.Response = client.post("/v1/batches", json=batch, headers=GIVEN)
    assert answer.status_code == 202, answer.text
    stretches = spans(exporter, "job")
    assert traces_of(stretches) == {TRACE}
    assert parent_of(stretches["job"]) == id_of(stretches["POST /v1/batches"])
