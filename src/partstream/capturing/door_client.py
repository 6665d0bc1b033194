"""Asks the doors of all running hosts of the user for their last answers, and follows what goes on."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from partstream.bundles.reading import read_bundle
from partstream.capturing.door import FRAME, HAS_DOORS, doors_folder
from partstream.codec.json_codec import dumps, loads

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping
    from pathlib import Path

    from partstream.bundles.exchange import Bundle

__all__ = ["NO_DOORS", "FollowedAnswer", "follow", "newest_answer"]

_logger = logging.getLogger("partstream.capturing")

NO_DOORS: Final = "Windows has no doors to the answers of running programs: record an answer to a file and open that"
"""What a command says where there are none."""

_UNREADABLE: Final = "what a program said of its answers cannot be read: %s"
_ANSWER_SECONDS: Final = 20.0
_LARGEST_HEAD: Final = 1024 * 1024
_LARGEST_BUNDLE: Final = 256 * 1024 * 1024
_LOOK_SECONDS: Final = 1.0
"""How often one who follows looks for new doors."""
_CONNECT_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class FollowedAnswer:
    """An answer of a running host, as it is now.

    Attributes:
        key: Tells it from all others.
        started_at: When it began, in ISO 8601.
        is_over: Whether it has ended: this is the last that is told of it.
        bundle: What is known of it.
    """

    key: str
    started_at: str
    is_over: bool
    bundle: Bundle


async def newest_answer(folder: Path | None = None) -> FollowedAnswer | None:
    """The answer that began last at any running host of the user; None where there is none.

    Args:
        folder: The folder of the doors; None for that of the user.
    """
    doors = _doors(folder)
    asked = await asyncio.gather(*(_ask(path, {"ask": "answers"}) for path in doors))
    known = [
        (str(facts.get("startedAt")), path, facts["number"])
        for path, reply in zip(doors, asked, strict=True)
        if reply is not None
        for facts in _answers_told(reply[0])
    ]
    for _, path, number in sorted(known, key=lambda one: one[0], reverse=True):
        reply = await _ask(path, {"ask": "answer", "number": number})
        if reply is not None and reply[1]:
            try:
                return _answer(path, *reply)
            except ValueError as error:
                _logger.warning(_UNREADABLE, error)
    return None


def _answers_told(facts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    told = facts.get("answers")
    listed = told if isinstance(told, list) else []
    return [one for one in listed if isinstance(one, dict) and isinstance(one.get("number"), int)]


async def follow(folder: Path | None = None) -> AsyncGenerator[FollowedAnswer]:
    """The answers that go on at all running hosts of the user, and those that begin, each whenever more has come.

    Args:
        folder: The folder of the doors; None for that of the user.
    """
    queue: asyncio.Queue[FollowedAnswer] = asyncio.Queue(maxsize=16)
    followed: dict[Path, asyncio.Task[None]] = {}
    try:
        while True:
            for path in _doors(folder):
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
    """What a door says; None where nobody is behind it any more."""
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
    return FollowedAnswer(f"{path.stem}/{facts['number']}", str(facts.get("startedAt")), is_over, read_bundle(data))


def _doors(folder: Path | None) -> list[Path]:
    if not HAS_DOORS:
        return []
    try:
        return sorted((folder or doors_folder()).glob("*.sock"))
    except OSError:
        return []
