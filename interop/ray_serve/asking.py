"""Asks a server of the tries as clients do, and looks at the bytes themselves."""

from __future__ import annotations
import json
import socket
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["KEY", "SECONDS", "Asked", "asked", "request_bytes", "whole"]

KEY: Final = "a-key-of-the-tries-on-loopback"
SECONDS: Final = 60.0
_READ: Final = 65536


def request_bytes(
    model: str, question: str, *, stream: bool, key: str = KEY, most: int = 0, close: bool = False
) -> bytes:
    """A question as a request of Chat Completions, for so many tokens at most."""
    message = {"role": "user", "content": question}
    limit = {"max_tokens": most} if most else {}
    body = json.dumps({"model": model, "stream": stream, "messages": [message], **limit}).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {key}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
        f"{'connection: close' if close else 'connection: keep-alive'}\r\n\r\n"
    )
    return head.encode() + body


@dataclass
class Asked:
    """A connection on which a question was asked.

    Attributes:
        connection: The connection.
        received: All that has come.
        is_closed: Whether the other side has closed it.
    """

    connection: socket.socket
    received: bytes = b""
    is_closed: bool = False

    def until(self, end: bytes) -> bytes:
        """Reads until something has come, or everything has; all that has come."""
        while end not in self.received and not self.is_closed:
            self.read()
        return self.received

    def read(self) -> None:
        """Reads what comes next, within the time limit of the connection."""
        try:
            piece = self.connection.recv(_READ)
        except OSError:
            piece = b""
        self.received += piece
        self.is_closed = not piece

    def read_at_hand(self) -> None:
        """Reads what has come already, without waiting."""
        self.connection.settimeout(0)
        try:
            self.received += self.connection.recv(_READ)
        except BlockingIOError:
            pass
        finally:
            self.connection.settimeout(SECONDS)

    @property
    def is_whole(self) -> bool:
        """Whether the reply has its last chunk."""
        return self.received.endswith(b"\r\n0\r\n\r\n") or self.received.endswith(b"0\r\n\r\n")

    @property
    def process(self) -> int:
        """The process that answers, which says so first."""
        return int(self.until(b"pid=").split(b"pid=")[1].split(b" ")[0])

    def leave(self) -> float:
        """Closes the connection; the time at which it was closed."""
        self.connection.close()
        return time.time()


@contextmanager
def asked(port: int, request: bytes) -> Iterator[Asked]:
    """Asks on a connection of its own, closed with the block."""
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
        connection.sendall(request)
        yield Asked(connection)


def whole(port: int, model: str, question: str, key: str = KEY, most: int = 0) -> tuple[int, bytes]:
    """The status and the body of a reply that is no stream; 0 where there was none."""
    try:
        with asked(port, request_bytes(model, question, stream=False, key=key, most=most, close=True)) as one:
            while not one.is_closed:
                one.until(b"\0 of nothing")
            return int(one.received.split(b" ", 2)[1]), one.received.partition(b"\r\n\r\n")[2]
    except (OSError, IndexError):
        return 0, b""
