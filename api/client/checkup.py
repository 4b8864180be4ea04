"""A look at a server as clients see it: whether it answers, is ready, takes the key, and what it takes."""

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2

from memstow import __version__
from memstow.api.client import Client
from memstow.api.client.exchange import NOT_UNDERSTOOD, JsonObject, ServerError
from memstow.planner.model.errors import MemstowError

# For all requests together, also of a server that sends a byte now and then.
_SECONDS: Final = 20.0


@dataclass(kw_only=True)
class Checkup:
    """What a server has answered; None where it does not tell."""

    url: str
    version: str | None = None
    ready: bool | None = None
    key_needed: bool | None = None
    key_accepted: bool | None = None
    formats: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)
    callbacks: bool | None = None
    faults: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """All but the faults, for people."""
        if self.version is None:
            yield f"server {self.url}: no answer"
            return
        other = "" if self.version == __version__ else f"; here is {__version__}"
        yield f"server {self.url}: memstow {self.version}{other}"
        yield f"    {'ready' if self.ready else 'not ready'}"
        if self.key_needed is not None:
            yield f"    {'a key is needed' if self.key_needed else 'no key is needed'}"
        if self.key_accepted is not None:
            yield f"    the key is {'accepted' if self.key_accepted else 'refused'}"
        for kind, names in self.formats.items():
            yield f"    formats of a {kind}: {', '.join(map(str, names))}"
        for name, value in self.limits.items():
            yield f"    {name} {value}"
        if self.callbacks is not None:
            yield f"    callbacks {'can be asked for' if self.callbacks else 'are off'}"


def check(server: str, key: str | None) -> Checkup:
    """Ask a server, each thing once and in a bounded time altogether."""
    answers: queue.SimpleQueue[Checkup | BaseException] = queue.SimpleQueue()

    def look() -> None:
        try:
            answers.put(_look(server, key))
        except BaseException as error:
            answers.put(error)

    # A daemon: where the server never ends its answer, the process does not wait for it.
    threading.Thread(target=look, name="memstow checkup", daemon=True).start()
    try:
        answer = answers.get(timeout=_SECONDS)
    except queue.Empty:
        return Checkup(url=server, faults=[f"{server} has not answered within {_SECONDS:.0f} s"])
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _look(server: str, key: str | None) -> Checkup:
    checkup = Checkup(url=server)
    with Client(server, attempts=1) as nobody, Client(server, key, attempts=1) as client:
        try:
            said = _get(nobody, "/version")
            if said.get("name") != "memstow":
                raise ValueError
            checkup.version = str(said.get("version"))
            checkup.ready = _is_ready(checkup, nobody)
            _ask_capabilities(checkup, nobody, client if key else None)
        except (MemstowError, ValueError, httpx2.HTTPError) as error:
            if not isinstance(error, MemstowError) or getattr(error, "code", None) == NOT_UNDERSTOOD:
                checkup.faults.append(f"{server} does not answer as a server of memstow does")
            else:
                checkup.faults.append(str(error))
    return checkup


def _is_ready(checkup: Checkup, client: Client) -> bool:
    try:
        _get(client, "/readyz")
    except ServerError as error:
        checkup.faults.append(f"{checkup.url} is not ready: {error}")
        return False
    return True


def _ask_capabilities(checkup: Checkup, nobody: Client, client: Client | None) -> None:
    """Find out whether a key is needed, whether this one is accepted, and what the server takes."""
    said = None
    try:
        said = _get(nobody, "/v1/capabilities")
        checkup.key_needed = False
    except ServerError as error:
        if error.status != httpx2.codes.UNAUTHORIZED:
            raise
        checkup.key_needed = True
    if client is not None:
        try:
            said = _get(client, "/v1/capabilities")
            checkup.key_accepted = True
        except ServerError as error:
            if error.status != httpx2.codes.UNAUTHORIZED:
                raise
            checkup.key_accepted = False
            checkup.faults.append(f"{checkup.url} refuses the key: {error}")
    elif checkup.key_needed:
        checkup.faults.append(f"{checkup.url} needs a key: give one by --key or MEMSTOW_KEY")
    if said is not None:
        formats, limits = said.get("formats"), said.get("limits")
        if not isinstance(formats, dict) or not isinstance(limits, dict):
            raise ValueError
        checkup.formats, checkup.limits = formats, limits
        checkup.callbacks = bool(said.get("callbacks"))


def _get(client: Client, path: str) -> JsonObject:
    answer = client.get(path)
    if not isinstance(answer, dict):
        raise ValueError
    return answer
