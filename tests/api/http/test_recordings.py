"""Recordings of PyTorch as bodies."""

import gzip

import pytest
from starlette.testclient import TestClient

from tests.torch_recordings import CachingAllocator, pickled, sample, snapshot_of, trace_of

SNAPSHOT = {"content-type": "application/vnd.memstow.torch-snapshot"}
TRACE = {"content-type": "application/vnd.memstow.torch-trace"}
ALLOCATOR = sample()


def test_a_snapshot_is_planned_described_and_converted(client: TestClient) -> None:
    body = pickled(snapshot_of(ALLOCATOR))
    plan = client.post("/v1/plan?deterministic=true", content=body, headers=SNAPSHOT).json()
    assert plan["pools"][0]["peak"] == ALLOCATOR.most_allocated
    facts = client.post("/v1/inspect?rows=1", content=body, headers=SNAPSHOT).json()
    assert facts["recorded"]["reserved"] == ALLOCATOR.most_reserved
    assert facts["peak_live"] == ALLOCATOR.most_allocated
    table = client.post("/v1/convert?to=json", content=body, headers=SNAPSHOT).json()
    assert len(table["buffers"]) == facts["recorded"]["allocations"]


@pytest.mark.parametrize("compressed", [False, True])
def test_a_trace_is_taken_as_it_is_and_compressed(client: TestClient, compressed: bool) -> None:
    body = trace_of(ALLOCATOR)
    facts = client.post(
        "/v1/inspect", content=gzip.compress(body) if compressed else body, headers=TRACE
    ).json()
    assert facts["recorded"]["allocated"] == ALLOCATOR.most_allocated


def test_a_device_is_named_in_the_query(client: TestClient) -> None:
    second = CachingAllocator(1)
    second.alloc(100)
    body = pickled(snapshot_of(ALLOCATOR, second))
    for path in ("/v1/plan", "/v1/inspect", "/v1/convert"):
        response = client.post(path, content=body, headers=SNAPSHOT)
        assert response.status_code == 422
        (issue,) = response.json()["errors"]
        assert (issue["code"], issue["path"]) == ("several_devices", "query.device")
        assert client.post(f"{path}?device=1", content=body, headers=SNAPSHOT).status_code == 200
    response = client.post("/v1/inspect?device=1", json={"version": 1, "buffers": []})
    assert response.json()["errors"][0]["path"] == "query.device"


@pytest.mark.parametrize("headers", [SNAPSHOT, TRACE])
@pytest.mark.parametrize("body", [b"", b"\x80\x04cos\nsystem\n.", b"{}", b"\x1f\x8b", b"\x80\x04]."])
def test_another_body_is_refused(client: TestClient, headers: dict[str, str], body: bytes) -> None:
    response = client.post("/v1/plan", content=body, headers=headers)
    assert response.status_code in (400, 422)
