"""Runs operations on a cluster of Dask distributed: each a call of its own, supervised from here.

Dask would start the call of a lost worker again, without the best plan; here such a run is over, and its job
goes on from the best plan. A scheduler that is lost takes its runs with it: they wait until it is back, and
go on from their best plan.
"""

import json
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

import structlog
from distributed import Client, Queue

from memstow.api.operations.operations import Operation
from memstow.api.operations.request_types import Known, SolveRequest, encode, encode_known
from memstow.api.workers.dask.remote_run import LostError, Run
from memstow.api.workers.dask.worker import MOST_WAITING, perform, stop, tell
from memstow.api.workers.executor import ChildError, MissingError, RunControl, result_from
from memstow.planner.cluster.cluster import Cluster, Hooks
from memstow.planner.cluster.roster import INBOXES, Call, Needs, Notice, needs_of
from memstow.planner.processes.frames import GarbageError, Reader, pack

_POLL_SECONDS: Final = 0.05
# Heartbeats in the time after which a worker is given up.
_HEARTBEATS: Final = 4

Q = TypeVar("Q")
R = TypeVar("R")

log = structlog.get_logger("memstow.cluster")


class DaskExecutor:
    """The cluster behind one scheduler."""

    def __init__(
        self,
        scheduler: str,
        lease_seconds: float,
        on_killed: Callable[[str], None],
        on_workers: Callable[[Mapping[str, int]], None] = lambda _counts: None,
        on_notice: Callable[[Notice], None] | None = None,
    ) -> None:
        self._logs = on_notice is None
        self.on_killed = on_killed
        self._lease_seconds = lease_seconds
        self._inbox = ""
        self._closed = threading.Event()
        self._started = False
        self._cluster = Cluster(
            scheduler, lease_seconds, Hooks(on_notice or _log_notice, on_workers, self._listen)
        )

    @property
    def connected(self) -> bool:
        """Whether the scheduler can be reached."""
        return self._cluster.connected

    @property
    def spreads(self) -> bool:
        """Each worker has its own."""
        return True

    @property
    def threads(self) -> int:
        """The number of runs that the workers can do at a time."""
        return self._cluster.threads

    def prepare(self) -> None:
        """Start the thread that connects to the scheduler."""
        if not self._started:
            self._started = True
            if self._logs:
                _set_up_log()
            self._cluster.start()

    def close(self) -> None:
        """Leave the cluster; its runs are called off."""
        self._closed.set()
        self._cluster.close()

    def run(self, operation: Operation[Q, R], request: Q, control: RunControl) -> R:
        """The result of the operation; its own errors, or ChildError when there is no result."""
        needs = _needs(request)
        try:
            while True:
                self._await_connection(control)
                run = Run(control, self._lease_seconds)
                call = self._call(operation.name, request, control, needs, run)
                self._cluster.begin(call)
                try:
                    done = run.wait(partial(self._cluster.send, call, stop), partial(self._tell, call))
                    return result_from(done, operation, control)
                except LostError:
                    self._warn("cluster_lost_run")
                    control.on_wait(True)
                except MissingError as error:
                    self._warn("cluster_missing", worker=run.worker, message=str(error))
                    self._cluster.note_lack(run.worker or "", needs)
                    control.on_wait(True)
                finally:
                    if run.silent and run.worker is not None:
                        self._cluster.suspect(run.worker)
                    self._cluster.leave(call)
                if run.plan is not None and isinstance(request, SolveRequest):
                    request = replace(request, known_plan=run.plan)
        except ChildError as error:
            self.on_killed(error.code)
            raise

    def _call(self, operation: str, request: object, control: RunControl, needs: Needs, run: Run) -> Call:
        message = pack(
            {
                "kind": "run",
                "operation": operation,
                "request": encode(request),
                "memory": control.memory,
                "seconds": control.seconds,
                "heartbeat": self._lease_seconds / _HEARTBEATS,
            }
        )
        return Call(
            perform,
            lambda name: (name, self._inbox, message),
            needs,
            run,
            begins=True,
            waits_for_version=True,
        )

    def _tell(self, call: Call, known: Known) -> None:
        self._cluster.send(call, partial(tell, pack(encode_known(known))))

    def _await_connection(self, control: RunControl) -> None:
        while not self.connected:
            ended = control.kill_requested() or control.stop_requested()
            if ended or self._closed.wait(_POLL_SECONDS):
                raise ChildError("killed", "called off while the cluster was away")
            control.tick()

    async def _listen(self, client: Client) -> None:
        """Hand on what workers send, in the thread of the cluster."""
        self._inbox = f"{INBOXES}{client.id}"
        inbox = await Queue(self._inbox, client=client, maxsize=MOST_WAITING)
        while True:
            self._receive(await inbox.get())

    def _warn(self, event: str, **details: str | None) -> None:
        """Log it, unless this is no server: what a command prints is its plan."""
        if self._logs:
            log.warning(event, **details)

    def _receive(self, data: bytes) -> None:
        try:
            (bundle,) = Reader().feed(data)
        except (GarbageError, ValueError, TypeError) as error:
            self._warn("cluster_garbage", error=str(error)[:500])
            return
        call = self._cluster.call_of(bundle.get("run", ""))
        if call is not None and isinstance(call.ends, Run):
            call.ends.receive(bundle["messages"])
            call.worker = call.ends.begun_by


def _needs(request: object) -> Needs:
    if not isinstance(request, SolveRequest):
        return Needs()
    options = json.loads(request.options)
    return needs_of(options["solver"], options["deterministic"])


def _log_notice(notice: Notice) -> None:
    tell = log.info if notice.kind in ("connected", "worker_back") else log.warning
    tell(f"cluster_{notice.kind}", message=notice.text)


def _set_up_log() -> None:
    """Write the warnings of Dask in the form of our log, and nothing less."""
    logger = logging.getLogger("distributed")
    logger.handlers[:] = []
    logger.propagate = True
    logger.setLevel(logging.WARNING)
    # A lost connection is logged here, without a traceback.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
