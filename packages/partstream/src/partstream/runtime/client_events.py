"""The events of a model server's own client as parts: for hand-written agents, inside `@chat_model`.

::

    @chat_model(name="Mine")
    async def provider(messages, options):
        events = await client.responses.create(model="gpt-5", input=user_request(messages), stream=True)
        async for part in from_events(events):
            yield part

Takes the objects of the clients of OpenAI, Anthropic and Google, those of LiteLLM, which are shaped like OpenAI's, and
plain dicts: every object with the events of a wire that :mod:`partstream.protocols` reads. Without a named protocol,
the first events are kept until they show theirs. An error of the client comes after the parts before it, as an error of
our tree, and the client's stream is closed in every case.

:func:`in_thread` runs models of this process that know no asyncio, such as those of transformers and llama-cpp-python:
their iterators run in a thread, and pass their pieces to the event loop as fast as it takes them.
"""

from __future__ import annotations
import asyncio
import contextlib
import logging
import threading
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextvars import copy_context
from functools import partial
from inspect import isawaitable
from typing import Any, Final, Generic, NoReturn, TypeAlias, TypeVar

import partstream.codec.silent_log  # noqa: F401 - for its effect
from partstream.codec.checks import described, refuse
from partstream.conversation.thinking import open_response
from partstream.errors import UpstreamFailureError, UpstreamProtocolError
from partstream.lm.outputs import Finish, StreamOptions, StreamOutput, Unmapped
from partstream.lm.parts import ResponsePart
from partstream.protocols.protocol import AUTO, PROTOCOLS, Protocol, ProtocolName, loadable_protocols
from partstream.protocols.recognition import NamedEvent, ProtocolMatcher, name_of_stream
from partstream.runtime.client_failures import failure_of
from partstream.runtime.stream_adapter import as_chunk, chunks_of

ClientEvents: TypeAlias = AsyncIterable[Any] | Iterable[Any]
"""The events of one answer, as a client streams them: objects made of Pydantic's models, dicts, or JSON texts."""

_logger = logging.getLogger("partstream.agents")

_MOST_LOOKED_AT: Final = 20
"""The most events that are kept until one shows which protocol they are of."""


def from_events(
    events: ClientEvents,
    protocol: ProtocolName | Protocol | None = None,
    *,
    options: StreamOptions = StreamOptions(),  # noqa: B008 - immutable
) -> ClientParts:
    """The parts of an answer as they come, and a :class:`~partstream.lm.outputs.Finish` last, which holds the tokens.

    `async for` reads them; `for` does too where the events are those of a synchronous client. The stream of the client
    is closed when the answer is over, and when the iteration is closed.

    Args:
        events: The events. A plain iterator holds up every other answer while it waits: put it into
            :func:`partstream.in_thread`.
        protocol: The protocol of the events, or its name; by default, and with `auto`, the one that the first events
            show.
        options: How the answer is rendered.

    Raises:
        InvalidArgumentError: `events` is one object and no stream, such as an answer that was asked for without
            `stream=True`.
        UnknownProtocolError: There is no such protocol.
        UpstreamProtocolError: An event is no object, or the events are of no known protocol.
        LanguageModelError: The client raised an error of the server, the connection or its limits of time.
        Exception: Any other error of the iterator, unchanged.

    Example:
        >>> import asyncio
        >>> from partstream import from_events
        >>> chunks = [{"type": "text-delta", "id": "1", "text": "Hi"}, {"type": "finish", "finishReason": "stop"}]
        >>> async def main():
        ...     return [part async for part in from_events(chunks)]
        >>> asyncio.run(main())[0]
        TextPart(value='Hi')
        >>> next(iter(from_events(chunks)))
        TextPart(value='Hi')
    """
    if hasattr(events, "model_dump") or isinstance(events, str | bytes | Mapping):
        refuse("from_events.events", events, f"a stream of events (got {type(events).__name__}): ask with stream=True")
    named = None if protocol == AUTO else protocol
    return ClientParts(events, _Reading(PROTOCOLS[named] if isinstance(named, str) else named, options))


class ClientParts:
    """The parts of one answer, for one iteration; :func:`from_events` makes it.

    Example:
        >>> from partstream import TextPart, from_events
        >>> parts = from_events([{"type": "text-delta", "id": "1", "text": "Hi"}, {"type": "finish"}])
        >>> [part.value for part in parts if isinstance(part, TextPart)]
        ['Hi']
    """

    def __init__(self, events: ClientEvents, reading: _Reading) -> None:
        self._events = events
        self._reading = reading
        self._parts = _parts(events, reading)

    def __aiter__(self) -> AsyncIterator[ResponsePart | Finish]:
        return self._parts

    async def __anext__(self) -> ResponsePart | Finish:
        return await anext(self._parts)

    def __iter__(self) -> Iterator[ResponsePart | Finish]:
        """The same without `async`.

        Raises:
            InvalidArgumentError: The events come asynchronously.
        """
        if isinstance(self._events, AsyncIterable) or not isinstance(self._events, Iterable):
            refuse("from_events.events", self._events, "events of a synchronous client; `async for` reads these")
        events, reading = self._events, self._reading

        def parts() -> Iterator[ResponsePart | Finish]:
            chunks = iter(events)
            try:
                while not reading.is_over:
                    try:
                        chunk = next(chunks)
                    except StopIteration:
                        break
                    except Exception as error:
                        yield from reading.broken(error)
                        _raise_failure(error)
                    yield from reading.read(_event_of(chunk))
            finally:
                for one in (chunks, events):
                    if callable(close := getattr(one, "close", None)):
                        close()
            yield from reading.end()

        return parts()

    async def aclose(self) -> None:
        """Ends the iteration and closes the stream of the client."""
        await self._parts.aclose()


async def _parts(events: ClientEvents, reading: _Reading) -> AsyncGenerator[ResponsePart | Finish, None]:
    chunks = chunks_of(events)
    try:
        while not reading.is_over:
            try:
                chunk = await anext(chunks)
            except StopAsyncIteration:
                break
            except Exception as error:
                for output in reading.broken(error):
                    yield output
                _raise_failure(error)
            for output in reading.read(_event_of(chunk)):
                yield output
    finally:  # closes the iterator, and the client's stream with its connection
        for one, name in ((chunks, "aclose"), (events, "aclose"), (events, "close")):
            close = getattr(one, name, None)
            closing = close() if callable(close) else None
            if isawaitable(closing):
                await closing
    for output in reading.end():
        yield output


def _raise_failure(error: Exception) -> NoReturn:
    failure = failure_of(error, "client", {})
    if failure is error:
        raise error
    raise failure from error


class _Reading:
    """The reading of one response, whose protocol it finds out if `row` is None."""

    def __init__(self, row: Protocol | None, options: StreamOptions) -> None:
        self._options = options
        self._stream = None if row is None else open_response(row.read_response(), options)
        self._kept: list[dict[str, Any]] = []
        self._matcher = ProtocolMatcher(list(loadable_protocols()[0].values()) if row is None else [])
        self._unmapped: Counter[str] = Counter()

    @property
    def is_over(self) -> bool:
        """Whether no later event can change the answer."""
        return self._stream is not None and self._stream.finished

    def read(self, event: dict[str, Any]) -> list[ResponsePart | Finish]:
        """The outputs of the next event."""
        if self._stream is not None:
            return self._shown(self._stream.feed(event))
        self._kept.append(event)
        if self._matcher.add(NamedEvent("", event)) is None and len(self._kept) < _MOST_LOOKED_AT:
            return []
        return self._open(self._matcher.told)

    def end(self) -> list[ResponsePart | Finish]:
        """The outputs that are left when no event follows."""
        opened = self._open(self._matcher.told) if self._stream is None else []
        rest = [] if self._stream is None else self._shown(self._stream.end())
        if self._unmapped:
            _logger.debug("no part can hold some events of the answer: %s", dict(self._unmapped))
        return [*opened, *rest]

    def broken(self, error: Exception) -> list[ResponsePart | Finish]:
        """The parts that were held back when the client broke off."""
        if self._stream is None:
            return []
        outputs = self._stream.fail(UpstreamFailureError(f"{type(error).__name__}: {error}"))
        return [output for output in self._shown(outputs) if not isinstance(output, Finish)]

    def _open(self, row: Protocol | None) -> list[ResponsePart | Finish]:
        if row is None:
            got = "no event"
            if self._kept:
                like = name_of_stream(self._kept)
                got = f"events of {like}" if like is not None else described(self._kept[0])
            raise UpstreamProtocolError(
                event_type=None,
                field=None,
                got=got,
                expected=f"events of one of {', '.join(PROTOCOLS)}; name it with protocol=",
            )
        self._stream = open_response(row.read_response(), self._options)
        return [output for event in self._kept for output in self._shown(self._stream.feed(event))]

    def _shown(self, outputs: Iterable[StreamOutput]) -> list[ResponsePart | Finish]:
        shown: list[ResponsePart | Finish] = []
        for output in outputs:
            if isinstance(output, Unmapped):
                self._unmapped[output.type] += 1
            else:
                shown.append(output)
        return shown


def _event_of(value: Any) -> dict[str, Any]:
    """An event as the JSON object of its wire."""
    dump = getattr(type(value), "model_dump", None)
    if dump is None:
        return as_chunk(value)
    # As JSON: the bytes of Google's parts are base64 on the wire. Fields that were not sent are not on it either.
    return dict(dump(value, mode="json", by_alias=True, exclude_none=True, warnings=False))


# ---- Iterators in threads ----

_Piece = TypeVar("_Piece")

_MOST_WAITING: Final = 16


async def in_thread(
    pieces: Iterable[_Piece], stop: threading.Event | None = None, *, most_waiting: int = _MOST_WAITING
) -> AsyncGenerator[_Piece, None]:
    """The pieces of an iterator that runs in a thread of its own.

    ::

        stop = threading.Event()
        async for text in in_thread(generate(messages, stop), stop):
            yield text

    The thread waits while `most_waiting` pieces wait, so that a model does not run ahead of a slow reader. When this
    generator is closed, as by a cancellation, `stop` is set and the iterator is closed as soon as it gives its next
    piece: no thread can be ended from outside, so it may run on until its current call returns.

    Args:
        pieces: The iterator, best a generator: nothing of it runs outside the thread.
        stop: Set when no more pieces are wanted, for a model that can look at it.
        most_waiting: The most pieces that wait for the event loop.

    Raises:
        Exception: Any error of the iterator, after the pieces before it.

    Example:
        >>> import asyncio
        >>> from partstream import in_thread
        >>> async def main():
        ...     return [piece async for piece in in_thread(["one", "two"])]
        >>> asyncio.run(main())
        ['one', 'two']
    """
    feed = _Feed(pieces, asyncio.get_running_loop(), max(1, most_waiting))
    # A daemon: a model that never returns must not keep the process from ending.
    thread = threading.Thread(target=copy_context().run, args=(feed.run,), name="partstream-pieces", daemon=True)
    thread.start()
    try:
        while (piece := await feed.next()) is not None:
            yield piece[0]
            feed.took_one()
        if feed.error is not None:
            raise feed.error
    finally:
        if stop is not None:
            stop.set()
        feed.close()


class _Feed(Generic[_Piece]):
    """The pieces on their way from the thread to the event loop; `error` is the one that the iterator ended with."""

    def __init__(self, pieces: Iterable[_Piece], loop: asyncio.AbstractEventLoop, most_waiting: int) -> None:
        self.error: BaseException | None = None
        self._pieces = pieces
        self._loop = loop
        self._waiting: deque[_Piece] = deque()
        self._came = asyncio.Event()
        self._places = threading.Semaphore(most_waiting)
        self._is_closed = False
        self._has_ended = False

    def run(self) -> None:
        """Runs the iterator; in the thread."""
        error: BaseException | None = None
        try:
            for piece in self._pieces:
                self._places.acquire()
                if self._is_closed:
                    break
                self._call(partial(self._waiting.append, piece))
        except BaseException as raised:
            error = raised
        close: Callable[[], object] | None = getattr(self._pieces, "close", None)
        if close is not None:
            try:
                close()
            except BaseException as raised:
                error = error or raised

        def end() -> None:
            self._has_ended, self.error = True, error

        self._call(end)

    async def next(self) -> tuple[_Piece] | None:
        """The next piece, as soon as there is one; None when the iterator has ended."""
        while not self._waiting and not self._has_ended:
            self._came.clear()
            await self._came.wait()
        return (self._waiting.popleft(),) if self._waiting else None

    def took_one(self) -> None:
        """Lets the thread give one more piece."""
        self._places.release()

    def close(self) -> None:
        """Stops the thread at its next piece."""
        self._is_closed = True
        self._places.release()

    def _call(self, change: Callable[[], object]) -> None:
        """Changes something in the event loop's thread, and wakes the reader."""

        def change_and_wake() -> None:
            change()
            self._came.set()

        with contextlib.suppress(RuntimeError):  # the event loop has been closed: no reader waits any more
            self._loop.call_soon_threadsafe(change_and_wake)
