"""A transport that counts what is written and lets its protocol decide how to close."""

import asyncio
import enum
import random
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any, Final, NoReturn

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from memstow.api.http.bodies import WHOLE_BODY
from memstow.api.http.connections import Connections
from memstow.api.http.errors import ApiError, error_response
from memstow.planner.model.printable import printable


class CountingTransport(asyncio.Transport):
    """Wraps the transport of a connection."""

    def __init__(self, inner: asyncio.Transport, close: Callable[[], None]) -> None:
        super().__init__()
        self.inner = inner
        self._close = close
        self.closing = False
        self.written = 0

    @property
    def unsent(self) -> int:
        """Bytes written that the system has not taken yet."""
        return self.inner.get_write_buffer_size()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write, and count; nothing more once the connection is being closed."""
        if not self.closing:
            self.written += len(data)
            self.inner.write(data)

    def write_eof(self) -> None:
        """Tell the client that nothing more will come, where that can be said: not within TLS."""
        if self.inner.can_write_eof():
            self.inner.write_eof()

    def close(self) -> None:
        """Ask the protocol to close the connection."""
        self._close()

    def is_closing(self) -> bool:
        """Whether nothing more may be written."""
        return self.closing or self.inner.is_closing()

    def abort(self) -> None:
        """Close at once and drop what is unsent."""
        self.inner.abort()

    def pause_reading(self) -> None:
        """Stop receiving."""
        self.inner.pause_reading()

    def resume_reading(self) -> None:
        """Receive again."""
        self.inner.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Addresses, socket and the like."""
        return self.inner.get_extra_info(name, default)


CLOSE: Final = {"Connection": "close"}


def response_bytes(problem: ApiError, default_headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The whole response, behind which the connection is closed."""
    request_id = f"{random.getrandbits(128):032x}"
    response = error_response(problem, request_id)
    headers = [*default_headers, *response.raw_headers, (b"x-request-id", request_id.encode())]
    if problem.headers != CLOSE:
        headers.append((b"connection", b"close"))
    status = HTTPStatus(problem.status)
    lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode()]
    lines += [b"%b: %b" % header for header in headers]
    return b"\r\n".join([*lines, b"", bytes(response.body)])


def malformed(error: Exception) -> tuple[str, ApiError]:
    """The refusal of what the parser does not take."""
    # Of an error in a callback the parser says only which: the URL is looked at behind the headers.
    reason = (
        "invalid URL" if isinstance(error, httptools.HttpParserCallbackError) else printable(str(error), 100)
    )
    detail = f"this is not a request of HTTP/1.1: {reason}"
    return "malformed_request", ApiError(400, "malformed_request", detail, headers=CLOSE)


def slow_head(seconds: float) -> ApiError:
    """The refusal of a head that does not come."""
    return ApiError(
        408,
        "head_too_slow",
        f"the head was not complete within the {seconds:g} s of the setting `head_seconds`",
        headers=CLOSE,
    )


_MOST_HEADERS: Final = 256
# Requests that may wait on one connection while an earlier one is answered.
_MOST_PIPELINED: Final = 64
_HOST: Final = b"host"


class _Part(enum.Enum):
    """The part of a request that is expected next."""

    START = "the first byte of a request"
    HEAD = "the rest of the head"
    BODY = "the rest of the body"


class _RefusedError(Exception):
    """Stops the parser."""


class LimitedProtocol(HttpToolsProtocol):
    """One connection. What is refused gets a problem document before the connection is closed."""

    transport: CountingTransport

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        connections: Connections,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._connections = connections
        self._limits = connections.limits
        self._part = _Part.START
        self._since = 0.0  # when this part began
        self._start_seconds = self._limits.head_seconds
        self._head_size = 0  # by complete headers
        self._head_received = 0  # by all bytes, of a header that is not complete as well
        self._body_received = 0
        self._requests = 0
        self._unanswered = 0
        self._refusal: tuple[str, ApiError] | None = None
        self._deaf = False  # what arrives is dropped
        self._dropped = 0
        self._close_by: float | None = None
        self._slow_since: float | None = None
        self._taken = 0  # bytes of responses that the client had taken then

    # The connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected."""
        super().connection_made(CountingTransport(transport, self._close))
        self._since = self.loop.time()
        refused = self._connections.add(self, self._host)
        if refused is not None:
            # No waiting for its request: that would be one connection more.
            self._deaf = True
            transport.write(self._response(refused))
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed."""
        self._connections.remove(self)
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """The server ends: an idle connection is closed without waiting for its client."""
        if not self._unanswered:
            self._part = _Part.START
        super().shutdown()

    # What arrives

    def data_received(self, data: bytes) -> None:
        """Parse what arrived, within the limits."""
        if self._deaf:
            self._drop(len(data))
            return
        self._unset_keepalive_if_required()
        if self._part is _Part.START:
            self._begin_head()
        before = (self._part, self._requests, self._body_received)
        try:
            self.parser.feed_data(data)
            if before == (self._part, self._requests, self._body_received):
                # All of it is head, or trailers and extensions of chunks.
                self._head_received += len(data)
                if self._head_received > self._limits.max_head:
                    self._refuse_head()
        except (httptools.HttpParserError, _RefusedError) as error:
            self._end_with(*(self._refusal or malformed(error)))
        except httptools.HttpParserUpgrade:
            # We go on with HTTP/1.1, as a server may.
            pass

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._requests += 1
        self._begin_head()
        if len(self.pipeline) >= _MOST_PIPELINED:
            self._refuse("too_many_pipelined", 429, "too many requests wait on this connection")

    def on_url(self, url: bytes) -> None:
        """A piece of the request line."""
        super().on_url(url)
        self._head_size += len(url)
        if self._head_size > self._limits.max_head:
            self._refuse(
                "uri_too_long",
                414,
                f"the URL is longer than the {self._limits.max_head:,} bytes of the setting `max_head`",
            )

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; also one behind the body, which nobody here needs."""
        self._head_size += len(name) + len(value) + 4
        if self._head_size > self._limits.max_head or len(self.headers) >= _MOST_HEADERS:
            self._refuse_head()
        if self._part is _Part.HEAD:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is complete: answer the request."""
        hosts = [value for name, value in self.headers if name == _HOST]
        if len(hosts) > 1 or (not hosts and self.parser.get_http_version() == "1.1"):
            self._refuse("malformed_request", 400, "a request has one Host header")
        if not self._unanswered:
            path = self.url.partition(b"?")[0].decode("latin-1")
            refused = self._connections.begin_request(self, path)
            if refused is not None:
                self._refusal = (refused.code, refused)
                raise _RefusedError
        super().on_headers_complete()
        self._part = _Part.BODY
        self._head_received = 0
        self._body_received = 0
        self._unanswered += 1

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        self._body_received += len(body)
        self._head_received = 0
        if self.cycle.response_complete:
            self._drop(len(body))
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is complete."""
        super().on_message_complete()
        self.scope["state"][WHOLE_BODY] = True
        self._part = _Part.START
        self._since = self.loop.time()

    def on_response_complete(self) -> None:
        """A response is written."""
        self._unanswered -= 1
        self._since = self.loop.time()
        self._start_seconds = self._limits.idle_seconds
        self._dropped = 0
        self._wait_if_answered()
        super().on_response_complete()
        if self._refusal is not None and not self._unanswered:
            self._send_refusal()

    # What takes too long

    def check(self, now: float) -> None:
        """End the connection if its client is too slow."""
        if self._reads_too_slowly(now):
            self._connections.refused("slow_reader", self._host)
            self.transport.abort()
        elif self._close_by is not None:
            if now > self._close_by and not self.transport.unsent:
                self.transport.abort()
        elif self.flow.read_paused:
            # The client cannot send: its time begins when it can.
            self._since = now
        elif not self._deaf:
            self._check_request(now)

    def _check_request(self, now: float) -> None:
        seconds = now - self._since
        if self._part is _Part.HEAD:
            if seconds > self._limits.head_seconds:
                self._end_with("slow_head", slow_head(self._limits.head_seconds))
            return
        if self._unanswered:
            # The app reads the body, with limits of its own.
            return
        # Behind a response comes the next request, or the rest of a body that nobody needed.
        limit = self._limits.linger_seconds if self._part is _Part.BODY else self._start_seconds
        if seconds > limit:
            self.transport.close()

    def _reads_too_slowly(self, now: float) -> bool:
        """Whether responses wait for the client, which takes less of them than it must."""
        unsent = self.transport.unsent
        if not unsent:
            self._slow_since = None
            return False
        taken = self.transport.written - unsent
        limits = self._limits
        if self._slow_since is not None and now - self._slow_since <= limits.stall_seconds:
            return False
        slow = (
            self._slow_since is not None and taken - self._taken < (now - self._slow_since) * limits.min_rate
        )
        self._slow_since, self._taken = now, taken
        return slow

    # The end

    def may_give_way(self) -> bool:
        """Whether the client has taken all responses."""
        return not self.transport.unsent

    def give_way(self, problem: ApiError) -> None:
        """End at once; who has begun a request is told why."""
        self._deaf = True
        if self._part is _Part.HEAD:
            self.transport.write(self._response(problem))
        self.transport.abort()

    def _wait_if_answered(self) -> None:
        if not self._unanswered:
            self._connections.wait(self)

    def _begin_head(self) -> None:
        self._part = _Part.HEAD
        self._since = self.loop.time()
        self._head_size = 0
        self._head_received = 0

    def _refuse(self, code: str, status: int, detail: str) -> NoReturn:
        """Stop the parser; the caller of the parser sends the problem."""
        self._refusal = (code, ApiError(status, code, detail, headers=CLOSE))
        raise _RefusedError

    def _refuse_head(self) -> NoReturn:
        self._refuse(
            "headers_too_large",
            431,
            f"the headers are larger than the {self._limits.max_head:,} bytes of the setting `max_head`, "
            f"or more than {_MOST_HEADERS}",
        )

    def _end_with(self, reason: str, problem: ApiError) -> None:
        """Answer with the problem, after the responses to earlier requests, and close."""
        self._connections.refused(reason, self._host)
        self._deaf = True
        if self._part is _Part.BODY:
            if self.cycle.response_complete:
                # The request has its response: the problem would be taken for that of the next one.
                self.transport.close()
                return
            self._forget_request()
        self._refusal = (reason, problem)
        if not self._unanswered:
            self._send_refusal()

    def _forget_request(self) -> None:
        """The request whose body is broken gets no response from the app."""
        cycle = self.cycle
        self._unanswered -= 1
        self._wait_if_answered()
        if self.pipeline and self.pipeline[0][0] is cycle:
            self.pipeline.popleft()
        elif cycle.response_started:
            self.transport.abort()
        cycle.disconnected = True
        cycle.message_event.set()

    def _send_refusal(self) -> None:
        assert self._refusal is not None  # noqa: S101
        if not self.transport.is_closing():
            self.transport.write(self._response(self._refusal[1]))
            self.transport.close()

    def _response(self, problem: ApiError) -> bytes:
        return response_bytes(problem, self.server_state.default_headers)

    def _close(self) -> None:
        """Close; what the client still sends is dropped first, or it would not see the response."""
        transport = self.transport
        if transport.is_closing():
            return
        transport.closing = True
        self._deaf = True
        self._dropped = 0
        if self._part is _Part.START:
            transport.inner.close()
            return
        self._close_by = self.loop.time() + self._limits.linger_seconds
        transport.write_eof()
        transport.resume_reading()

    def _drop(self, size: int) -> None:
        self._dropped += size
        if self._dropped > self._limits.max_dropped:
            self.transport.abort()

    @property
    def _host(self) -> str | None:
        return None if self.client is None else self.client[0]
