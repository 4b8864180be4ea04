"""Whatever comes in, the answer is a 4xx problem document, soon, and the server stays small."""

import gzip
import json
import os
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import response_schema_conformance

from api.http.app import create_app
from api.http.documents import CSV, PROBLEM
from api.http.settings import Settings
from tests.api.serving import Server

POSTS = ("/v1/plan", "/v1/jobs", "/v1/batches", "/v1/verify", "/v1/inspect", "/v1/convert")
GOOD = json.dumps({"problem": PROBLEM, "options": {"time_limit": 0.1}}).encode()
# A bomb or a giant is refused within a second; on a machine that is busy with other things it may be a few.
SOON = 5.0
MOST_GROWTH = 300 << 20
ROUNDS = int(os.environ.get("MEMSTOW_FUZZ_SECONDS", "5"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("fuzz") / "data").start(slots=0, max_body=8 << 20)
    yield server
    server.kill()


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[httpx2.Client]:
    with server.client() as client:
        yield client


def resident(server: Server) -> int:
    return int(Path(f"/proc/{server.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def post(client: httpx2.Client, path: str, body: bytes, **headers: str) -> httpx2.Response:
    given = {"content-type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
    begin = time.monotonic()
    answer = client.post(path, content=body, headers=given)
    assert time.monotonic() - begin < SOON, (path, body[:80])
    assert answer.status_code < 500, (path, body[:80], answer.text)
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["code"]
    return answer


BAD: dict[str, bytes] = {
    "nothing": b"",
    "deep lists": b"[" * 1_000_000 + b"]" * 1_000_000,
    "deep objects": b'{"a":' * 500_000 + b"1" + b"}" * 500_000,
    "deep inside": b'{"problem": {"version": 1, "buffers": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
    "many values": b"[" + b"0," * 3_900_000 + b"0]",
    "many objects": b"[" + b"{}," * 2_000_000 + b"{}]",
    "a huge number": b'{"problem": {"version": ' + b"9" * 1_000_000 + b"}}",
    "a huge exponent": b'{"problem": {"version": 1e999999}}',
    "a huge size": b'{"problem": {"version": 1, "buffers": [{"id": "a", "size": ' + b"9" * 4000 + b"}]}}",
    "a repeated key": b'{"problem": 1, "problem": 2}',
    "many repeated keys": b"{" + b'"a": 1,' * 500_000 + b'"a": 1}',
    "not UTF-8": b'{"problem": "\xff\xfe"}',
    "half a character": b'{"problem": "\\ud800"}',
    "a zero character": b'{"problem": {"version": 1, "name": "\\u0000", "buffers": [{"id": "", "size": 1}]}}',
    "a long string": b'{"problem": "' + b"x" * 7_000_000 + b'"}',
    "many issues": b'{"problem": {"version": 1, "buffers": [' + b'{"id": 1},' * 200_000 + b"1]}}",
    "wrong types": b'{"problem": [], "options": "x"}',
    "a truncated text": GOOD[:-5],
    "a CSV of one line": b"id,lower,upper,size",
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_body_is_refused_everywhere(server: Server, client: httpx2.Client, name: str) -> None:
    before = resident(server)
    for path in POSTS:
        assert 400 <= post(client, path, BAD[name]).status_code < 500
    assert resident(server) - before < MOST_GROWTH


def test_a_gzip_bomb_does_not_go_off(server: Server, client: httpx2.Client) -> None:
    before = resident(server)
    squeeze = zlib.compressobj(9, wbits=31)
    bomb = b"".join(squeeze.compress(b" " * (1 << 20)) for _ in range(1024)) + squeeze.flush()
    many = gzip.compress(b"") * 100_000
    for path in POSTS:
        assert post(client, path, bomb, content_encoding="gzip").status_code == 413
        assert post(client, path, many, content_encoding="gzip").status_code == 400
        assert post(client, path, gzip.compress(GOOD)[:-9], content_encoding="gzip").status_code == 400
    assert resident(server) - before < MOST_GROWTH


def _cut(rng: Random, body: bytes) -> bytes:
    return body[: rng.randrange(len(body))]


def _flip(rng: Random, body: bytes) -> bytes:
    changed = bytearray(body)
    for _ in range(rng.randint(1, 4)):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _swap(rng: Random, body: bytes) -> bytes:
    values = [b"null", b"-1", b"1e400", b'""', b"[]", b"{}", b"true", b"9" * 30, b'"\\u0000"', b"[[[[]]]]"]
    places = [i for i, byte in enumerate(body) if 48 <= byte <= 57]
    at = rng.choice(places)
    return body[:at] + rng.choice(values) + body[at + 1 :]


def _double(rng: Random, body: bytes) -> bytes:
    begin = rng.randrange(len(body))
    end = rng.randrange(begin, len(body))
    return body[:end] + body[begin:]


def test_fuzzed_bodies_are_answered(client: httpx2.Client) -> None:
    rng = Random(5)
    kinds: list[Callable[[Random, bytes], bytes]] = [_cut, _flip, _swap, _double]
    media: list[tuple[str, bytes]] = [("application/json", GOOD), ("text/csv", CSV.encode())]
    end = time.monotonic() + ROUNDS
    while time.monotonic() < end:
        media_type, seed = rng.choice(media)
        body = rng.choice(kinds)(rng, seed)
        headers = {"content_type": media_type}
        if rng.random() < 0.2:
            body = _flip(rng, gzip.compress(body))
            headers["content_encoding"] = "gzip"
        post(client, rng.choice(POSTS), body, **headers)


def test_the_server_is_well_afterwards(client: httpx2.Client) -> None:
    assert client.get("/readyz").status_code == 200
    assert (
        client.post("/v1/plan", content=GOOD, headers={"content-type": "application/json"}).status_code == 200
    )


schema = schemathesis.openapi.from_dict(create_app(Settings()).openapi())


@schema.exclude(path_regex="/events$").parametrize()
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
def test_schemathesis_finds_no_defect(case: Any, server: Server) -> None:
    answer = case.call(base_url=server.url, timeout=60)
    assert answer.status_code < 500 or answer.status_code == 503, answer.text
    case.validate_response(answer, checks=[response_schema_conformance])
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == ["application/problem+json"]
