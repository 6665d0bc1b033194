"""A server on raw sockets for `make bench WHAT=record`: each event says when it was sent, by the clock of the machine.

GET /ready                      200
GET /paced?count=N&pause=MS     N events, each with its time in nanoseconds
GET /flood?count=N              N events of a kilobyte, as fast as they are taken
GET /hold                       one event, then nothing; the server notices when the client leaves
GET /left                       when it noticed that last, in nanoseconds; 0 before
"""

from __future__ import annotations
import asyncio
import sys
import time
from urllib.parse import parse_qsl, urlsplit

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_KILOBYTE = b"data: " + b"x" * 1016 + b"\n\n"


class Server:
    """The server, and when a client of `/hold` left it."""

    def __init__(self) -> None:
        self.left = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection."""
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                target = urlsplit(head.split(b" ", 2)[1].decode())
                asked = {name: float(value) for name, value in parse_qsl(target.query)}
                await self._answer(target.path, asked, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(
        self, path: str, asked: dict[str, float], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if path in {"/ready", "/left"}:
            said = str(self.left).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(said), said))
            return
        writer.write(_HEAD)
        if path == "/hold":
            writer.write(_chunk(b"data: held\n\n"))
            await reader.read()
            self.left = time.monotonic_ns()
            return
        for number in range(int(asked["count"])):
            if path == "/flood":
                writer.write(_chunk(_KILOBYTE))
            else:
                if number:
                    await asyncio.sleep(asked["pause"] / 1000)
                writer.write(_chunk(b"data: %d\n\n" % time.monotonic_ns()))
            await writer.drain()
        writer.write(b"0\r\n\r\n")


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def main() -> None:
    """Serves until the process is ended."""
    server = await asyncio.start_server(Server().serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
