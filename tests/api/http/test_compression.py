"""Compressed responses: which coding, for what, and that nothing else changes."""

import gzip
import json
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from backports.zstd import ZstdDecompressor, decompress
from starlette.testclient import TestClient

from memstow.api.http.bodies import LARGE, accepted_coding
from memstow.api.http.samples import PROBLEM
from tests.api.asking import over, submit
from tests.api.http.conftest import hard
from tests.api.serving import Server
from tests.waiting import wait_for

UNPACKERS: dict[str, Callable[[], Any]] = {
    "gzip": lambda: zlib.decompressobj(wbits=31),
    "zstd": ZstdDecompressor,
}
DECODED = {"gzip": gzip.decompress, "zstd": decompress}


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("", None),
        ("gzip", "gzip"),
        ("GZip", "gzip"),
        ("gzip, deflate, br, zstd", "zstd"),
        ("zstd;q=0.5, gzip;q=0.8", "gzip"),
        ("zstd; q=0, gzip", "gzip"),
        ("gzip;q=0", None),
        ("*", "zstd"),
        ("*;q=0.3, zstd;q=0", "gzip"),
        ("identity", None),
        ("identity;q=1, gzip;q=0.5", None),
        ("identity;q=0.5, gzip;q=0.5", "gzip"),
        ("identity;q=0, gzip;q=0.1", "gzip"),
        ("br, deflate", None),
        ("gzip;q=high", None),
        ("gzip;q=nan", None),
    ],
)
def test_the_coding_is_the_one_the_client_likes_best(accepted: str, coding: str | None) -> None:
    assert accepted_coding(accepted) == coding


def raw(client: TestClient, method: str, path: str, accepted: str | None) -> tuple[httpx2.Response, bytes]:
    """A response, and its body as it was sent."""
    headers = {"accept-encoding": accepted or "identity"}
    with client.stream(method, path, headers=headers) as response:
        return response, b"".join(response.iter_raw())


@pytest.fixture(scope="module")
def job(client: TestClient) -> str:
    """A job with a large plan."""
    made = submit(client, hard(600, 91), time_limit=0.2)
    assert over(client, made)["state"] == "done"
    return made


@pytest.mark.parametrize("coding", DECODED)
def test_a_large_plan_is_compressed_for_who_accepts_it(client: TestClient, job: str, coding: str) -> None:
    path = f"/v1/jobs/{job}/plan"
    plain, body = raw(client, "GET", path, None)
    assert len(body) >= LARGE
    assert "content-encoding" not in plain.headers
    packed, sent = raw(client, "GET", path, coding)
    assert packed.headers["content-encoding"] == coding
    assert "content-length" not in packed.headers
    assert len(sent) < len(body) / 2
    assert DECODED[coding](sent) == body
    for response in (plain, packed):
        assert "Accept-Encoding" in response.headers["vary"], "also of the plain one, for caches"
        assert "Accept" in response.headers["vary"].split(", ")


def test_the_tag_of_a_compressed_plan_is_weak_and_still_matches(client: TestClient, job: str) -> None:
    path = f"/v1/jobs/{job}/plan"
    strong = raw(client, "GET", path, None)[0].headers["etag"]
    weak = raw(client, "GET", path, "gzip")[0].headers["etag"]
    assert weak == f"W/{strong}"
    for given, tag in ((strong, strong), (weak, weak), ('"x", ' + weak, weak), ("*", strong)):
        unchanged = client.get(path, headers={"if-none-match": given})
        assert (unchanged.status_code, unchanged.headers["etag"], unchanged.content) == (304, tag, b"")
    for given in ('"x"', strong.strip('"'), "W/*"):
        assert client.get(path, headers={"if-none-match": given}).status_code == 200


def test_what_is_small_is_sent_as_it_is(client: TestClient) -> None:
    response, body = raw(client, "GET", "/v1/examples/first", "gzip, zstd")
    assert json.loads(body)
    assert "content-encoding" not in response.headers
    assert "vary" not in response.headers


def test_the_head_of_a_compressed_plan_is_that_of_the_plan(client: TestClient, job: str) -> None:
    head, sent = raw(client, "HEAD", f"/v1/jobs/{job}/plan", "gzip")
    assert (head.status_code, head.headers["content-encoding"]) == (200, "gzip")
    assert sent == b""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("streams") / "data", slots=0).start()
    yield server
    server.kill()


@pytest.mark.parametrize("coding", DECODED)
def test_each_event_of_a_compressed_stream_can_be_read_when_it_is_sent(running: Server, coding: str) -> None:
    with running.client() as client:
        job = submit(client, PROBLEM, solver="cpsat")
        path = f"/v1/jobs/{job}/events"
        with client.stream("GET", path, headers={"accept-encoding": coding}) as stream:
            assert stream.headers["content-encoding"] == coding
            unpack = (
                zlib.decompressobj(wbits=31).decompress if coding == "gzip" else ZstdDecompressor().decompress
            )
            text, pieces = b"", stream.iter_raw()
            while b"memstow" not in text:
                text += unpack(next(pieces))
            client.delete(f"/v1/jobs/{job}")
            while b"event: done" not in text:
                text += unpack(next(pieces))


STREAMS_IN_MEMORY = """
import asyncio, resource, sys
from memstow.api.http.bodies import CompressedBody

def used():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()

async def feed(stream):
    for number in range(20):
        async for _ in stream.pieces(b'event: bound\\ndata: {"value": %d}\\n\\n' % number, True):
            pass

async def main():
    before = used()
    streams = [CompressedBody(sys.argv[1], stream=True) for _ in range(400)]
    for stream in streams:
        await feed(stream)
    print((used() - before) // len(streams))

asyncio.run(main())
"""


@pytest.mark.parametrize("coding", DECODED)
def test_an_open_stream_takes_little_memory(coding: str) -> None:
    # In a process of its own: this one has free memory, in which streams would not show.
    command = [sys.executable, "-c", STREAMS_IN_MEMORY, coding]
    made = subprocess.run(command, check=True, capture_output=True, text=True)
    assert 1000 < int(made.stdout) < 50 << 10


def test_the_head_of_a_stream_ends_at_once(running: Server) -> None:
    with running.client() as client:
        job = submit(client, PROBLEM, solver="cpsat")
        head = client.head(f"/v1/jobs/{job}/events")
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-type"].startswith("text/event-stream")

        def no_stream_is_open() -> bool:
            return "memstow_event_streams 0.0" in client.get("/metrics").text

        wait_for(no_stream_is_open, "the stream to be closed on the server")
