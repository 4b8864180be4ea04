"""Delivers the callbacks of jobs that have ended: each until it is delivered, or its time is over."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import structlog

from memstow.api.metrics import Metrics
from memstow.api.store.database import StoreError
from memstow.api.store.job_records import Callbacks, Delivery, TakenCallback
from memstow.api.store.tables import Job
from memstow.api.webhooks import Allowed, SendError, message_body, message_headers, place_of, send

_POLL_SECONDS: Final = 1.0
_AT_ONCE: Final = 4
# Of one receiver, so that one that does not answer leaves room for others.
_AT_ONCE_OF_ONE: Final = 2
_FIRST_PAUSE: Final = 5.0
_LONGEST_PAUSE: Final = 3600.0
_GONE: Final = 410

log = structlog.get_logger("memstow.callbacks")


class Deliverer:
    """Threads of one server that deliver callbacks, until it stops."""

    def __init__(
        self,
        callbacks: Callbacks,
        allowed: Allowed,
        secrets: Sequence[bytes],
        seconds: float,
        metrics: Metrics,
        job_json: Callable[[Job], dict[str, object]],
    ) -> None:
        self._callbacks = callbacks
        self._allowed = allowed
        self._secrets = secrets
        self._seconds = seconds
        self._metrics = metrics
        self._job_json = job_json
        self._stopped = threading.Event()
        self._lock = threading.Condition()
        self._under_way: Counter[str] = Counter()
        self._thread = threading.Thread(target=self._serve, name="memstow callbacks", daemon=True)

    def start(self) -> None:
        """Start to deliver."""
        self._thread.start()

    def close(self) -> None:
        """End. What is under way may still arrive; another attempt follows, unless it was recorded."""
        self._stopped.set()
        with self._lock:
            self._lock.notify_all()
        self._thread.join(2.0)

    def _serve(self) -> None:
        while not self._stopped.is_set():
            try:
                while self._begin_next():
                    pass
            except StoreError as error:
                log.warning("store_error", during="callback", error=str(error))
            except Exception:
                log.exception("defect")
            self._stopped.wait(_POLL_SECONDS)

    def _begin_next(self) -> bool:
        """Begin an attempt of the callback that is due for longest; False when there is none."""
        with self._lock:
            while self._under_way.total() >= _AT_ONCE and not self._stopped.is_set():
                self._lock.wait()
            busy = [origin for origin, count in self._under_way.items() if count >= _AT_ONCE_OF_ONE]
        taken = None if self._stopped.is_set() else self._callbacks.take(busy)
        if taken is None:
            return False
        thread = threading.Thread(target=self._deliver, args=(taken,), name="memstow callback", daemon=True)
        with self._lock:
            # First, because it may fail where the process may have no more threads.
            thread.start()
            self._under_way[taken.origin] += 1
        return True

    def _deliver(self, taken: TakenCallback) -> None:
        try:
            self._record(taken, self._attempt(taken))
        except StoreError as error:
            # It is due again when nobody has recorded the attempt.
            log.warning("store_error", during="callback", error=str(error))
        except Exception:
            log.exception("defect")
        finally:
            with self._lock:
                self._under_way[taken.origin] -= 1
                self._under_way += Counter()
                self._lock.notify_all()

    def _attempt(self, taken: TakenCallback) -> str | None:
        """Why the message did not arrive; None: it did."""
        place = place_of(taken.url)
        if not self._allowed.takes(place):
            return "not_allowed"
        body = message_body(self._job_json(taken.job))
        headers = message_headers(taken.job.id, int(time.time()), body, self._secrets)
        try:
            status = send(place, self._allowed, headers, body)
        except SendError as error:
            return error.reason
        return None if 200 <= status < 300 else f"http_{status}"

    def _record(self, taken: TakenCallback, error: str | None) -> None:
        about = {"job": taken.job.id, "to": taken.origin, "attempt": taken.attempt}
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(taken.attempt - 1, 20))
        pause *= random.uniform(0.8, 1.2)  # noqa: S311
        if error is None:
            outcome, state = "delivered", Delivery.DELIVERED
            log.info("callback_delivered", **about)
        elif error in ("not_allowed", f"http_{_GONE}") or taken.seconds + pause > self._seconds:
            outcome, state = "given_up", Delivery.FAILED
            log.warning("callback_given_up", **about, error=error)
        else:
            outcome, state = "retried", Delivery.PENDING
            log.info("callback_retried", **about, error=error, seconds=round(pause, 1))
        self._metrics.callbacks.labels(outcome).inc()
        self._callbacks.record(taken, state, error, pause)
