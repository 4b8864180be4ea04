"""How a server hears of its end."""

import asyncio
import signal
import threading
from typing import Any, cast

import uvicorn

from api.http.service import Service
from api.http.serving import _Server


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
        server = _Server(uvicorn.Config(cast(Any, None)), cast(Service, service))
        with service.lock:
            server.handle_exit(signal.SIGTERM, None)
            assert service.drained == [], "this thread would wait for itself"
        await asyncio.sleep(0.01)
        assert service.drained == [True]
        assert server.should_exit

    asyncio.run(work())
