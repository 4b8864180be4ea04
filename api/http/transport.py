"""A transport that counts what is written and lets its protocol decide how to close."""

import asyncio
from collections.abc import Callable
from typing import Any


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
