"""The door of a running host: programs of the same user ask it for its last answers, and follow what goes on.

A Unix socket in a folder that only the user can enter. A client writes one line of JSON, and gets frames: the length of
a JSON object in 4 bytes, the object, and as many bytes as its `size` says.

    {"ask": "answers"}               one frame: the facts of all answers
    {"ask": "answer", "number": 3}   one frame: a bundle of this answer
    {"ask": "follow"}                a frame for each answer that goes on, again and again, the last when it has ended
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import struct
import sys
from contextlib import suppress
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.codec.system import DATA

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from partstream.devtools.capturing.capture import AnswerCapture
    from partstream.devtools.capturing.last_answers import LastAnswers

__all__ = ["FRAME", "HAS_DOORS", "CaptureSocket", "doors_folder"]

_logger = logging.getLogger("partstream.capturing")

HAS_DOORS: Final = sys.platform != "win32" and hasattr(socket, "AF_UNIX")
"""Whether this system has doors. The event loops of Windows have no Unix sockets."""
FRAME: Final = struct.Struct(">I")
"""The length of the JSON object of a frame."""

_LONGEST_QUESTION: Final = 1_000
_QUESTION_SECONDS: Final = 5.0
_MOST_CLIENTS: Final = 16
_LONGEST_PATH: Final = 100
"""Bytes: the systems take 104 or 108."""
_SHORTEST_PAUSE: Final = 0.1
"""Seconds between two looks of a follower at the same answer."""
_PAUSE_FACTOR: Final = 10.0
"""A look is followed by a pause so many times as long: whoever follows takes a tenth of a processor at the most."""


def doors_folder() -> Path:
    """The folder of all doors of the user."""
    return DATA.path() / "doors"


class CaptureSocket:
    """Lets programs of the same user see the last answers of a host.

    Args:
        answers: The answers.
        source: What they are captured in, such as `vscode`.
        versions: Further versions of what takes part, for the bundles.
        folder: The folder of the doors; None for that of the user.
    """

    def __init__(
        self,
        answers: LastAnswers,
        source: str,
        versions: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        self._answers = answers
        self._source = source
        self._versions = versions
        self._folder = folder or doors_folder()
        self._path = self._folder / f"{os.getpid()}-{token_hex(2)}.sock"
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()

    async def open(self) -> bool:
        """Opens the door; tells whether it could. A host works as well without one."""
        if not HAS_DOORS or len(os.fsencode(self._path)) > _LONGEST_PATH:
            _logger.info("no program can ask this one for its answers: there is no place for a socket")
            return False
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._folder.is_symlink():
                raise NotADirectoryError(0, "a link stands in the place of the folder of sockets")
            self._folder.chmod(0o700)
            self._server = await asyncio.start_unix_server(self._welcome, self._path, limit=_LONGEST_QUESTION)
            self._path.chmod(0o600)
        except OSError as error:
            _logger.info("no program can ask this one for its answers: %s", error.strerror or error)
            await self.aclose()
            return False
        return True

    async def aclose(self) -> None:
        """Closes the door, and whoever still stands in it leaves."""
        if self._server is not None:
            self._server.close()
        for task in [*self._clients]:
            task.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)
        self._path.unlink(missing_ok=True)

    async def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - for the type checker: streams run this in a task
        if len(self._clients) >= _MOST_CLIENTS or not _is_same_user(writer):
            writer.close()
            return
        self._clients.add(task)
        try:
            await self._serve(reader, writer)
        except (ConnectionError, TimeoutError, asyncio.CancelledError):
            pass  # it has left, or this host ends
        except Exception:
            _logger.exception("a program that asked for answers got none")
        finally:
            self._clients.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_QUESTION_SECONDS):
            question = _question(await reader.readline())
        asked = question.get("ask")
        if asked == "answers":
            await _send(writer, {"answers": [_facts(answer) for answer in self._answers.answers]})
        elif asked == "answer":
            found = [answer for answer in self._answers.answers if answer.number == question.get("number")]
            await (self._show(writer, found[0]) if found else _send(writer, {"error": "it is not kept any more"}))
        elif asked == "follow":
            await self._follow(reader, writer)
        else:
            await _send(writer, {"error": "expected to be asked for answers, an answer, or to follow"})

    async def _follow(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Shows each answer that goes on, or begins, whenever more of it has come, until the client leaves."""
        loop = asyncio.get_running_loop()
        leaving = loop.create_task(reader.read())
        shown = {answer.number: answer.changes for answer in self._answers.answers if answer.outcome is not None}
        pause = _SHORTEST_PAUSE
        try:
            while not leaving.done():
                started = loop.time()
                for answer in self._answers.answers:
                    if shown.get(answer.number) != answer.changes:
                        shown[answer.number] = answer.changes
                        await self._show(writer, answer)
                pause = max(_SHORTEST_PAUSE, _PAUSE_FACTOR * (loop.time() - started))
                await asyncio.wait([leaving], timeout=pause)
        finally:
            leaving.cancel()
            with suppress(asyncio.CancelledError, ConnectionError):
                await leaving

    async def _show(self, writer: asyncio.StreamWriter, answer: AnswerCapture) -> None:
        """Sends a bundle of one answer, as it is now."""
        from partstream.capturing.bundling import snapshot_of  # noqa: PLC0415 - hardly anybody asks

        facts, snapshot = _facts(answer), snapshot_of([answer])
        data = await asyncio.to_thread(_bundled, snapshot, self._source, self._versions)
        await _send(writer, facts, data)


def _bundled(snapshot: Any, source: str, versions: Mapping[str, str] | None) -> bytes:
    from partstream.bundles.writing import write_bundle  # noqa: PLC0415 - hardly anybody asks
    from partstream.capturing.bundling import bundle_of  # noqa: PLC0415 - the same

    return write_bundle(bundle_of(snapshot, source, versions))


def _facts(answer: AnswerCapture) -> dict[str, Any]:
    return {
        "number": answer.number,
        "host": answer.host,
        "model": answer.model,
        "startedAt": answer.started_at.isoformat(timespec="microseconds"),
        "outcome": answer.outcome,
    }


def _question(line: bytes) -> Mapping[str, Any]:
    try:
        value = loads(line)
    except JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


async def _send(writer: asyncio.StreamWriter, said: Mapping[str, Any], data: bytes = b"") -> None:
    head = dumps({**said, "size": len(data)})
    writer.write(FRAME.pack(len(head)) + head + data)
    await writer.drain()


_LINUX_PEER: Final = struct.Struct("3i")
"""`struct ucred` of Linux: process, user, group."""


def _is_same_user(writer: asyncio.StreamWriter) -> bool:
    """Whether the program at the other end runs as the same user; where the system does not tell, the folder does."""
    get_option: Callable[..., Any] | None = getattr(writer.get_extra_info("socket"), "getsockopt", None)
    if get_option is None or not hasattr(socket, "SO_PEERCRED"):
        return True
    _, user, _ = _LINUX_PEER.unpack(get_option(socket.SOL_SOCKET, socket.SO_PEERCRED, _LINUX_PEER.size))
    return bool(user == os.geteuid())
