"""Calls on a cluster that are forgotten before they end."""

import gc
import logging
import time
from importlib.util import find_spec
from typing import Any

import pytest

from tests.planner.bench.farm import Farm
from tests.waiting import wait_for

if find_spec("distributed") is None:
    pytest.skip("needs Dask: pip install 'memstow[dask]'", allow_module_level=True)

from distributed import Client

from memstow.planner.cluster.cluster import Cluster, Hooks
from memstow.planner.cluster.roster import Call, Needs


class Heard:
    """What becomes of a call."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def end(self, result: Any) -> None:
        self.said.append(f"ended with {result}")

    def fail(self, error: Exception) -> None:
        self.said.append(f"failed: {error}")

    def lose(self) -> None:
        self.said.append("lost")

    def lose_worker(self, worker: str) -> bool:
        self.said.append(f"lost {worker}")
        return False


def call_of(function: Any, argument: object, heard: Heard) -> Call:
    return Call(function, lambda _name: (argument,), Needs(), heard, begins=False, waits_for_version=False)


def test_what_is_left_says_no_more_and_dask_prints_nothing_of_it(
    farm: Farm, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[str] = []

    async def cannot_fetch(client: Client, *_how: object) -> dict[str, object]:
        keys = list(client._gather_keys or ())
        client._gather_keys = None
        fetched.extend(keys)
        return {"status": "error", "keys": keys}

    def send(client: Client, message: dict[str, object]) -> None:
        if message["op"] != "report-key":
            original(client, message)

    # The result of a call has been lost with its worker, and nobody has it again yet.
    original: Any = Client._send_to_scheduler
    monkeypatch.setattr(Client, "_send_to_scheduler", send)
    monkeypatch.setattr(Client, "_gather_remote", cannot_fetch)
    # Dask warns of that itself, and its loggers are silenced by those that use it.
    monkeypatch.setattr(logging.getLogger("distributed.client"), "level", logging.CRITICAL)
    farm.add_worker()
    cluster = Cluster(farm.address, 10.0, Hooks(lambda _notice: None))
    heard = Heard()
    cluster.start()
    try:
        wait_for(lambda: cluster.threads, "the worker")
        lost, running = call_of(abs, -3, heard), call_of(time.sleep, 60.0, heard)
        with caplog.at_level(logging.WARNING):
            cluster.begin(lost)
            wait_for(lambda: fetched, "the loss of the result")
            cluster.begin(running)
            wait_for(lambda: running.future is not None, "the other call")
            cluster.leave(lost)
            cluster.leave(running)
            wait_for(lambda: running.future is None, "the calls being left")
    finally:
        cluster.close()
    gc.collect()
    assert heard.said == []
    assert [record.getMessage() for record in caplog.records] == []
