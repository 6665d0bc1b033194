"""The capture socket of a running host: programs of the same user ask it for its last answers, and follow what goes on.

A Unix socket in a folder that only the user can enter. A client writes one line of JSON, and gets frames: the length of
a JSON object in 4 bytes, the object, and as many bytes as its `size` says.

    {"ask": "answers"}               one frame: the facts of all answers
    {"ask": "answer", "number": 3}   one frame: a bundle of this answer
    {"ask": "follow"}                a frame for each answer that goes on, again and again, the last when it has ended

A look of a follower is followed by a pause ten times as long, so that a follower takes a tenth of a processor at most.
A host whose event loop only runs while an answer comes, such as a chat, holds its socket open in a thread.
"""

from __future__ import annotations
import asyncio
import logging
import os
import socket
import struct
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, Self

import partstream.codec.silent_log  # noqa: F401 - for its effect
from partstream.codec.checks import dataclass, replace
from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.codec.system import DATA, make_private_folder

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from partstream_devtools.bundles.exchange import Bundle, RecordedExchange
    from partstream_devtools.capturing.capture import AnswerCapture, LastAnswers

# ---- The socket ----

_logger = logging.getLogger("partstream.capturing")

HAS_SOCKETS: Final = sys.platform != "win32" and hasattr(socket, "AF_UNIX")
"""Whether this system has capture sockets. The event loops of Windows have no Unix sockets."""
FRAME: Final = struct.Struct(">I")
"""The length of the JSON object of a frame."""

_LONGEST_QUESTION: Final = 1_000
_QUESTION_SECONDS: Final = 5.0
_MOST_CLIENTS: Final = 16
_LONGEST_PATH: Final = 100  # bytes: the systems take 104 or 108
_SHORTEST_PAUSE: Final = 0.1  # seconds between two looks of a follower at the same answer
_PAUSE_FACTOR: Final = 10.0


def sockets_folder() -> Path:
    """The folder of all capture sockets of the user."""
    return DATA.path() / "doors"


class CaptureSocket:
    """Lets programs of the same user see the last answers of a host.

    `source` says where they are captured, such as `vscode`; `versions` adds those of what takes part to the bundles.
    """

    def __init__(
        self, answers: LastAnswers, source: str, versions: Mapping[str, str] | None = None, folder: Path | None = None
    ) -> None:
        self._answers = answers
        self._source = source
        self._versions = versions
        self._folder = folder or sockets_folder()
        self._path = self._folder / f"{os.getpid()}-{token_hex(2)}.sock"
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()

    async def open(self) -> bool:
        """Opens the socket; tells whether it could. A host works as well without one."""
        if not HAS_SOCKETS or len(os.fsencode(self._path)) > _LONGEST_PATH:
            _logger.info("no program can ask this one for its answers: there is no place for a socket")
            return False
        try:
            make_private_folder(self._folder)
            if self._folder.is_symlink():
                raise NotADirectoryError(0, "the folder of sockets is a link")
            self._folder.chmod(0o700)
            self._server = await asyncio.start_unix_server(
                self._welcome, self._path, limit=_LONGEST_QUESTION, start_serving=False
            )
            self._path.chmod(0o600)
            await self._server.start_serving()
        except asyncio.CancelledError:  # the host ends while it begins
            await self.aclose()
            raise
        except OSError as error:
            _logger.info("no program can ask this one for its answers: %s", error.strerror or error)
            await self.aclose()
            return False
        return True

    async def aclose(self) -> None:
        """Closes the socket and the connections of its clients."""
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
        from partstream_devtools.capturing.bundling import snapshot_of  # noqa: PLC0415 - most hosts are never asked

        facts, snapshot = _facts(answer), snapshot_of([answer])
        data = await asyncio.to_thread(_bundled, snapshot, self._source, self._versions)
        await _send(writer, facts, data)


def _bundled(snapshot: Any, source: str, versions: Mapping[str, str] | None) -> bytes:
    from partstream_devtools.bundles.archive import write_bundle  # noqa: PLC0415 - most hosts are never asked
    from partstream_devtools.capturing.bundling import bundle_of  # noqa: PLC0415 - the same

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


# ---- Clients ----

NO_SOCKETS: Final = (
    "on Windows, running programs cannot be asked for their answers: record an answer to a file and open that"
)
"""What a command says where there are none."""

_UNREADABLE: Final = "the report of a program about its answers cannot be read: %s"
_ANSWER_SECONDS: Final = 20.0
_LARGEST_HEAD: Final = 1024 * 1024
_LARGEST_BUNDLE: Final = 256 * 1024 * 1024
_LOOK_SECONDS: Final = 1.0  # seconds between two looks of a follower for new sockets
_CONNECT_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class FollowedAnswer:
    """An answer of a running host, as it is now.

    `key` identifies it, `started_at` is in ISO 8601, and `is_over` says that it has ended and does not come again.
    `earlier` are the exchanges of the answers before it, where it is the newest.
    """

    key: str
    started_at: str
    is_over: bool
    bundle: Bundle
    earlier: tuple[RecordedExchange, ...] = ()


_EARLIER: Final = 3


async def newest_answer(folder: Path | None = None) -> FollowedAnswer | None:
    """The answer that began last at any running host of the user; None where there is none."""
    sockets = _sockets(folder)
    asked = await asyncio.gather(*(_ask(path, {"ask": "answers"}) for path in sockets))
    known = [
        (str(facts.get("startedAt")), path, facts["number"])
        for path, reply in zip(sockets, asked, strict=True)
        if reply is not None
        for told in (reply[0].get("answers"),)
        for facts in (told if isinstance(told, list) else ())
        if isinstance(facts, dict) and isinstance(facts.get("number"), int)
    ]
    for _, path, number in sorted(known, key=lambda one: one[0], reverse=True):
        if (newest := await _one_answer(path, number)) is None:
            continue
        numbers = sorted(one for _, of, one in known if of == path and one < number)[-_EARLIER:]
        before = [one for before in numbers if (one := await _one_answer(path, before)) is not None]
        return replace(newest, earlier=tuple(exchange for one in before for exchange in one.bundle.exchanges))
    return None


async def _one_answer(path: Path, number: int) -> FollowedAnswer | None:
    reply = await _ask(path, {"ask": "answer", "number": number})
    if reply is not None and reply[1]:
        try:
            return _answer(path, *reply)
        except ValueError as error:
            _logger.warning(_UNREADABLE, error)
    return None


async def follow(folder: Path | None = None) -> AsyncGenerator[FollowedAnswer]:
    """The answers that go on at all running hosts of the user, and those that begin, each whenever more has come."""
    queue: asyncio.Queue[FollowedAnswer] = asyncio.Queue(maxsize=16)
    followed: dict[Path, asyncio.Task[None]] = {}
    try:
        while True:
            for path in _sockets(folder):
                if path not in followed:
                    followed[path] = asyncio.create_task(_follow_one(path, queue))
            try:
                answer = await asyncio.wait_for(queue.get(), _LOOK_SECONDS)
            except TimeoutError:
                continue
            yield answer
    finally:
        for task in followed.values():
            task.cancel()
        await asyncio.gather(*followed.values(), return_exceptions=True)


async def _follow_one(path: Path, queue: asyncio.Queue[FollowedAnswer]) -> None:
    try:
        async with _connected(path, {"ask": "follow"}) as reader:
            while True:
                facts, data = await _frame(reader)
                await queue.put(_answer(path, facts, data))
    except (OSError, EOFError, TimeoutError):
        return  # it has ended
    except ValueError as error:
        _logger.warning(_UNREADABLE, error)


async def _ask(path: Path, question: Mapping[str, Any]) -> tuple[Mapping[str, Any], bytes] | None:
    """The reply of a socket; None where its program has ended."""
    try:
        async with asyncio.timeout(_ANSWER_SECONDS), _connected(path, question) as reader:
            return await _frame(reader)
    except ConnectionRefusedError:
        path.unlink(missing_ok=True)  # its program has gone without closing it
    except (OSError, EOFError, TimeoutError, ValueError) as error:
        _logger.info("a program did not say what its last answers are: %s", type(error).__name__)
    return None


@asynccontextmanager
async def _connected(path: Path, question: Mapping[str, Any]) -> AsyncIterator[asyncio.StreamReader]:
    async with asyncio.timeout(_CONNECT_SECONDS):
        reader, writer = await asyncio.open_unix_connection(path)
    try:
        writer.write(dumps(question) + b"\n")
        await writer.drain()
        yield reader
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def _frame(reader: asyncio.StreamReader) -> tuple[Mapping[str, Any], bytes]:
    """The next frame.

    Raises:
        EOFError: There is none.
        ValueError: It is none.
    """
    length = FRAME.unpack(await reader.readexactly(FRAME.size))[0]
    if length > _LARGEST_HEAD:
        raise ValueError(f"got a head of {length} bytes, expected at most {_LARGEST_HEAD}")
    facts = loads(await reader.readexactly(length))
    size = facts.get("size") if isinstance(facts, dict) else None
    if not isinstance(size, int) or not 0 <= size <= _LARGEST_BUNDLE:
        raise ValueError(f"got the size {size!r}, expected at most {_LARGEST_BUNDLE}")
    return facts, await reader.readexactly(size)


def _answer(path: Path, facts: Mapping[str, Any], data: bytes) -> FollowedAnswer:
    if not isinstance(facts.get("number"), int):
        raise ValueError(f"got the number {facts.get('number')!r} of an answer, expected a whole one")  # noqa: TRY004 - what came, no argument
    is_over = facts.get("outcome") is not None
    from partstream_devtools.bundles.archive import read_bundle  # noqa: PLC0415 - for who asks; a host writes alone

    return FollowedAnswer(f"{path.stem}/{facts['number']}", str(facts.get("startedAt")), is_over, read_bundle(data))


def _sockets(folder: Path | None) -> list[Path]:
    if not HAS_SOCKETS:
        return []
    try:
        return sorted((folder or sockets_folder()).glob("*.sock"))
    except OSError:
        return []


# ---- The socket in a thread ----

_END_SECONDS: Final = 2.0


class CaptureSocketThread:
    """Holds a capture socket open inside its `with` block."""

    def __init__(self, capture_socket: CaptureSocket) -> None:
        self._socket = capture_socket
        self._loop = asyncio.new_event_loop()
        self._closing = asyncio.Event()
        self._is_open = threading.Event()
        self._thread = threading.Thread(target=self._run, name="partstream-door", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._is_open.wait(_END_SECONDS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join(_END_SECONDS)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._hold_open())

    async def _hold_open(self) -> None:
        await self._socket.open()
        self._is_open.set()
        try:
            await self._closing.wait()
        finally:
            await self._socket.aclose()
