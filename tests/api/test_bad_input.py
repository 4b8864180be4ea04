"""Whatever comes in, the answer is a 4xx problem document for little work, and the server stays small."""

import gzip
import json
import os
import struct
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.core.result import Ok
from schemathesis.pytest.lazy import get_all_tests
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import response_schema_conformance

from memstow.api.http.app import create_app
from memstow.api.http.samples import CSV, PROBLEM
from memstow.api.http.settings import Settings
from tests.api import media_types
from tests.api.serving import Server
from tests.waiting import PATIENCE

POSTS = (
    "/v1/plan",
    "/v1/jobs",
    "/v1/batches",
    "/v1/verify",
    "/v1/inspect",
    "/v1/convert",
    "/v1/tile",
    "/v1/evaluate",
)
# A plan, a job, a part of a batch, and documents of another kind.
LARGE_POSTS = ("/v1/plan", "/v1/jobs", "/v1/batches", "/v1/evaluate")
GOOD = json.dumps({"problem": PROBLEM, "options": {"time_limit": 0.1}}).encode()
# Any body is refused for less than a second of a processor; twice that is a slow machine.
# Beside other work a second of a processor does less, so that the least of some tries counts.
MOST_WORK = 2.0
TRIES = 3
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


def worked(server: Server) -> float:
    """Seconds of a processor that the server and its children have used."""
    fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def post(client: httpx2.Client, path: str, body: bytes, **headers: str) -> httpx2.Response:
    given = {"content-type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
    answer = client.post(path, content=body, headers=given)
    assert answer.status_code < 500, (path, body[:80], answer.text)
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["code"]
    return answer


def problem(buffers: Iterable[dict[str, Any]], **members: Any) -> bytes:
    """A body whose last buffer is never alive, so that it is refused whatever else there is."""
    last = {"id": "last", "size": 1, "lifetime": [1, 1]}
    return json.dumps({"problem": {"version": 1, "buffers": [*buffers, last], **members}}).encode()


def buffer(number: int, **members: Any) -> dict[str, Any]:
    return {"id": f"b{number}", "size": 8, "lifetime": [0, 1], **members}


def pools(count: int, **members: Any) -> list[dict[str, Any]]:
    return [{"id": f"p{number}", **members} for number in range(count)]


def tied(pairs: Iterable[tuple[int, int]]) -> list[dict[str, Any]]:
    return [{"buffer": f"b{one}", "base": f"b{other}", "offset": 8} for one, other in pairs]


# Bodies that would take the square of their length, or make an answer of that length. They are made when a
# test begins: every worker reads this file.
STEEP: dict[str, Callable[[], bytes]] = {
    "every buffer in every pool": lambda: problem(
        (buffer(i, alignment=2) for i in range(8000)), pools=pools(8000)
    ),
    "odd alignments in every pool": lambda: problem(
        (buffer(i, alignment=2**31 + i) for i in range(2000)),
        pools=[*pools(2000), {"id": "p", "alignment": 2**31}],
    ),
    "every group in every pool": lambda: problem(
        map(buffer, range(2000)), pools=pools(2000), relative=tied((i, i + 1) for i in range(0, 2000, 2))
    ),
    "groups aligned nowhere": lambda: problem(
        (buffer(i, alignment=16) for i in range(2000)),
        pools=pools(2000),
        relative=tied((i, i + 1) for i in range(0, 2000, 2)),
    ),
    "every pin on every reserved range": lambda: problem(
        (buffer(i, pool="p0", offset=8 * i) for i in range(20_000)),
        pools=pools(1, reserved=[{"offset": 10**6 + 8 * i, "size": 8} for i in range(20_000)]),
    ),
    "every pin beside every other": lambda: problem(
        (buffer(i, pool="p0", offset=8 * i, lifetime=[i, i + 40_000]) for i in range(40_000)), pools=pools(1)
    ),
    "every pin on every other": lambda: problem(
        (buffer(i, pool="p0", offset=0) for i in range(40_000)), pools=pools(1)
    ),
    "a long cycle": lambda: problem(
        map(buffer, range(40_000)), relative=tied((i, (i + 1) % 40_000) for i in range(40_000))
    ),
    "many long cycles": lambda: problem(
        map(buffer, range(20_000)),
        relative=tied([*((i, i + 1) for i in range(19_999)), *((19_999, i) for i in range(2000))]),
    ),
    "many terms": lambda: problem([], objective=[f"peak:p{i}" for i in range(20_000)], pools=pools(20_000)),
    "long names that are named often": lambda: problem(
        (buffer(i, pools=["none"]) for i in range(1000)),
        pools=[{"id": "p" * 900_000 + str(i)} for i in range(8)],
    ),
    "many broken elements and many names": lambda: problem(
        ({**buffer(i), "size": -1} for i in range(20_000)),
        conflicts=[[f"b{i}", f"c{i}"] for i in range(20_000)],
    ),
}

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


@pytest.mark.parametrize("name", [*BAD, *STEEP])
def test_a_bad_body_is_refused_everywhere(server: Server, client: httpx2.Client, name: str) -> None:
    before = resident(server)
    body = BAD[name] if name in BAD else STEEP[name]()
    # What a problem means is looked at in the same way everywhere; so is what is large, in a child.
    paths = POSTS[:1] if name in STEEP else LARGE_POSTS if len(body) > 1 << 18 else POSTS
    for path in paths:
        for _ in range(TRIES):
            begin = worked(server)
            answer = post(client, path, body)
            if (work := worked(server) - begin) < MOST_WORK:
                break
        assert work < MOST_WORK, path
        assert 400 <= answer.status_code < 500
        assert len(answer.content) < 1 << 20
    assert resident(server) - before < MOST_GROWTH


def _bomb(mebibytes: int) -> bytes:
    """So much in a gzip file, of which a mebibyte is compressed once."""
    blank = b" " * (1 << 20)
    squeeze = zlib.compressobj(9, wbits=-15)
    block = squeeze.compress(blank) + squeeze.flush(zlib.Z_FULL_FLUSH)
    check = 0
    for _ in range(mebibytes):
        check = zlib.crc32(blank, check)
    head = gzip.compress(b"")[:10]
    return head + block * mebibytes + squeeze.flush() + struct.pack("<LL", check, mebibytes << 20)


def test_a_gzip_bomb_does_not_go_off(server: Server, client: httpx2.Client) -> None:
    before = resident(server)
    bomb = _bomb(1024)
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


# There are some 2,000 cases for each operation with a body, most of them one more wrong value deep in a
# problem: the first ones are all sent, then one of so many. `make fuzz` sends each.
FIRST = 10
ONE_OF = 1 if "MEMSTOW_FUZZ_SECONDS" in os.environ else 100
_sent: Counter[str] = Counter()


def _described() -> dict[str, Any]:
    """What the service says of itself; without what is deep, whose cases take minutes to make."""
    document = create_app(Settings()).openapi()
    if ONE_OF > 1:
        for deep in ("Graph", "Explanation", "SymbolicPlan", "SymbolicProblem"):
            document["components"]["schemas"][deep] = {"type": "object"}
    return document


@pytest.fixture(scope="module")
def schema() -> BaseSchema:
    media_types.teach()
    return schemathesis.openapi.from_dict(_described())


def _operations() -> list[tuple[str, str]]:
    paths = create_app(Settings()).openapi()["paths"]
    return [(method.upper(), path) for path, methods in paths.items() for method in methods]


def _skipped(case: Any) -> bool:
    _sent[case.operation.label] += 1
    number = _sent[case.operation.label]
    return number > FIRST and number % ONE_OF > 0


# Cases are made when a test begins: made while tests are collected, every worker would make all of them.
@pytest.mark.parametrize(("method", "path"), _operations())
def test_schemathesis_finds_no_defect(server: Server, schema: BaseSchema, method: str, path: str) -> None:
    def answered(case: Any) -> None:
        if _skipped(case):
            return
        answer = case.call(base_url=server.url, timeout=PATIENCE)
        assert answer.status_code < 500 or answer.status_code == 503, answer.text
        case.validate_response(answer, checks=[response_schema_conformance])
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == ["application/problem+json"]

    few = settings(max_examples=3, suppress_health_check=list(HealthCheck))
    one = schema.include(method=method, path=path)
    (made,) = get_all_tests(schema=one, test_func=answered, settings=few, given_kwargs=None)
    assert isinstance(made, Ok), made
    _, run = made.ok()
    run()


def test_a_stream_of_events_is_what_the_description_says(
    server: Server, client: httpx2.Client, schema: BaseSchema
) -> None:
    job = client.post("/v1/jobs", content=GOOD, headers={"content-type": "application/json"}).json()["id"]
    client.delete(f"/v1/jobs/{job}")
    case = schema["/v1/jobs/{job}/events"]["GET"].Case(path_parameters={"job": job})
    answer = case.call(base_url=server.url, timeout=PATIENCE)
    case.validate_response(answer)
    assert answer.headers["content-type"] == ["text/event-stream; charset=utf-8"]
    assert "event: done" in answer.text
