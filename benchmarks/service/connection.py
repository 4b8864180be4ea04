"""One kept-alive connection, as little of HTTP as it takes: client and server share the processors."""

import asyncio
import re


class Connection:
    """Requests one after another."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def request(
        self, method: str, path: str, body: bytes = b"", headers: str = ""
    ) -> tuple[int, bytes]:
        """The status and the body of the answer."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", answer, re.IGNORECASE)
        told = b"" if length is None else await reader.readexactly(int(length[1]))
        return int(answer[9:12]), told

    async def post(self, path: str, body: bytes) -> int:
        """The status of the answer to this body."""
        return (await self.request("POST", path, body))[0]

    async def lines(self, path: str) -> list[bytes]:
        """The lines of a stream, up to its end. A connection of its own, which ends with it."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        lines = (await reader.read()).splitlines()
        writer.close()
        return lines

    def close(self) -> None:
        """Close it."""
        if self._streams is not None:
            self._streams[1].close()
