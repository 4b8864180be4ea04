"""A library of instances on a web server: plain files, read by GET, and written by PUT where it takes them.

A server is not trusted: no redirect is followed, no answer is larger than a limit, and each waits no longer
than the call. What the files say is checked by whoever takes them.
"""

import http.client
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from hashlib import sha256
from typing import Final, NoReturn
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from memstow.planner.instance_library.folder import (
    INDEX,
    LARGEST_FILE,
    LARGEST_INDEX,
    LARGEST_METADATA,
    METADATA,
    Folder,
    index_line,
    instance_of,
    is_file,
    parse_index,
    refused,
    write_index,
    write_metadata,
)
from memstow.planner.instance_library.records import Difference, diff
from memstow.planner.model.errors import InputError
from memstow.planner.model.library import LibraryFile, LibraryIndex, LibraryInstance
from memstow.planner.processes.machine import start_thread

_SCHEMES: Final = ("http://", "https://")
_SECONDS: Final = 30.0
"""What a server may take for a part of an answer."""
_PIECE: Final = 1 << 16
_NOT_FOUND: Final = "not_found"
_LATE: Final = "it took longer than the time limit"


def is_url(text: str) -> bool:
    """Whether it names a library on a server."""
    return text.startswith(_SCHEMES)


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Nothing: the answer that says where else to look is an error."""


class RemoteLibrary:
    """The files of a library below a URL."""

    def __init__(self, url: str, seconds: float) -> None:
        self._url = url.rstrip("/")
        self._until = time.monotonic() + seconds
        self._opener = build_opener(_NoRedirects())
        self._index: LibraryIndex | None = None

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return self._url

    def index(self) -> LibraryIndex:
        """What the server says that it has."""
        if self._index is None:
            self._index = parse_index(self._get(INDEX, LARGEST_INDEX))
        return self._index

    def ids(self) -> Sequence[str]:
        """The instances, ascending."""
        return sorted(line.id for line in self.index().instances)

    def metadata(self, name: str) -> bytes:
        """`instance.json` of one, as the index says."""
        (line,) = (line for line in self.index().instances if line.id == name)
        data = self._get(f"{name}/{METADATA}", LARGEST_METADATA)
        if sha256(data).hexdigest() != line.sha256:
            raise refused(f"{name}/{METADATA}", "checksum", "its bytes are not those that index.json names")
        return data

    def file(self, instance: LibraryInstance, entry: LibraryFile) -> bytes:
        """A file of one, as its checksum says."""
        path = f"{instance.id}/{entry.name}"
        data = self._get(path, min(entry.bytes, LARGEST_FILE))
        if not is_file(entry, data):
            raise refused(path, "checksum", "its bytes are not those that instance.json names")
        return data

    def begin(self) -> None:
        """Take a server that has no index yet for one that has no instances."""
        try:
            self.index()
        except InputError as error:
            if error.issues[0].code != _NOT_FOUND:
                raise
            self._index = LibraryIndex()

    def put(self, path: str, data: bytes) -> None:
        """Write a file."""
        self._answer("PUT", path, _PIECE, data)

    def _get(self, path: str, limit: int) -> bytes:
        return self._answer("GET", path, limit, None)

    def _answer(self, method: str, path: str, limit: int, body: bytes | None) -> bytes:
        """What the server answers; one that sends a byte of its head now and then is left behind."""
        answered = Future[bytes]()

        def exchange() -> None:
            try:
                answered.set_result(self._exchange(method, path, limit, body))
            except BaseException as error:
                answered.set_exception(error)

        left = self._left(path)
        start_thread(threading.Thread(target=exchange, name="memstow server", daemon=True))
        try:
            return answered.result(left)
        except TimeoutError:
            self._fail(path, _LATE)

    def _exchange(self, method: str, path: str, limit: int, body: bytes | None) -> bytes:
        data = b""
        try:
            request = Request(f"{self._url}/{path}", data=body, method=method)  # noqa: S310 - see is_url
            with self._opener.open(request, timeout=min(self._left(path), _SECONDS)) as answer:
                while piece := answer.read1(_PIECE):
                    data += piece
                    self._left(path)
                    if len(data) > limit:
                        raise refused(path, "too_large", f"more than {limit:,} bytes, the most that is read")
        except HTTPError as error:
            error.close()
            if error.code == http.client.NOT_FOUND:
                raise refused(f"{self._url}/{path}", _NOT_FOUND, "the server has no such file") from None
            self._fail(path, f"the server answers {error.code} {error.reason}")
        except (URLError, http.client.HTTPException, OSError, ValueError) as error:
            self._fail(path, str(getattr(error, "reason", error)))
        return data

    def _left(self, path: str) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            self._fail(path, _LATE)
        return left

    def _fail(self, path: str, why: str) -> NoReturn:
        raise refused(f"{self._url}/{path}", "server", why)


def push(
    folder: Folder, site: RemoteLibrary, wanted: Callable[[str], bool], cancel: threading.Event
) -> Iterator[Difference]:
    """Write what is new or better here to a server that takes files by PUT, the index last."""
    site.begin()
    lines = {line.id: line for line in site.index().instances}
    for difference in diff(folder, site, wanted, cancel):
        yield difference
        if difference.side not in ("only here", "better here"):
            continue
        instance = instance_of(folder, difference.name)
        for entry in instance.files:
            site.put(f"{instance.id}/{entry.name}", folder.file(instance, entry))
        site.put(f"{instance.id}/{METADATA}", write_metadata(instance))
        lines[instance.id] = index_line(instance)
        # After each: what was cut short is pushed again.
        site.put(INDEX, write_index(lines.values()))
