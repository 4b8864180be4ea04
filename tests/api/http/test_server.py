"""How a server hears of its end."""

import asyncio
import signal
import threading
from pathlib import Path
from typing import Any, cast

import pytest
import structlog
import uvicorn

from memstow.api.http.server import _Server
from memstow.api.http.service import DrainSignal, open_service
from memstow.api.http.settings import Settings
from memstow.api.metrics import Metrics
from memstow.api.workers.runner import Runner
from tests.waiting import PATIENCE, wait_for


class _Logging:
    """A service whose drain writes to a log, under a lock as loggers have it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.drained: list[bool] = []

    def drain(self) -> None:
        self.drained.append(self.lock.acquire(blocking=False))


def test_a_signal_in_the_middle_of_a_log_line_does_not_stop_the_server_for_ever() -> None:
    service = _Logging()

    async def work() -> None:
        drain = DrainSignal()
        drain.connect(service.drain)
        server = _Server(uvicorn.Config(cast(Any, None)), drain)
        with service.lock:
            server.handle_exit(signal.SIGTERM, None)
            assert service.drained == [], "this thread would wait for itself"
        await asyncio.to_thread(wait_for, lambda: service.drained, "the service to be told")
        assert service.drained == [True]
        assert server.should_exit

    asyncio.run(work())


def test_a_signal_in_the_middle_of_a_request_is_logged_without_its_id() -> None:
    contexts: list[dict[str, Any]] = []

    async def work() -> None:
        drain = DrainSignal()
        drain.connect(lambda: contexts.append(structlog.contextvars.get_contextvars()))
        server = _Server(uvicorn.Config(cast(Any, None)), drain)
        with structlog.contextvars.bound_contextvars(request="one"):
            server.handle_exit(signal.SIGTERM, None)
        await asyncio.to_thread(wait_for, lambda: contexts, "the service to be told")

    asyncio.run(work())
    assert contexts == [{}]


def test_a_signal_while_the_store_is_opened_is_heeded_once_there_is_something_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drained = threading.Event()
    drain = Runner.drain

    def noticed(runner: Runner, grace: float) -> None:
        drained.set()
        drain(runner, grace)

    monkeypatch.setattr(Runner, "drain", noticed)

    async def work() -> None:
        signal = DrainSignal()
        signal.set()
        service = await open_service(Settings(data=tmp_path, grace_seconds=1.0), Metrics(), signal)
        assert drained.wait(PATIENCE)
        await service.stop()

    asyncio.run(work())
