"""A parser under test: gives it the bytes of a stream in the form that it takes, and reads what it makes of them.

What it returns is judged, so nothing is refused here: a value of the wrong type becomes a part that holds it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from partstream.errors import LanguageModelError
from partstream.lm.outputs import Finish, Outcome, Unmapped
from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart, Usage, unchecked_part
from partstream.runtime.progress import fault_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Parser", "ParserFailedError", "Takes", "is_parser", "takes_of"]


class Takes(StrEnum):
    """What a parser is given."""

    BYTES = "bytes"
    """All bytes at once."""
    PIECES = "pieces"
    """An iterable of pieces."""
    ASYNC_PIECES = "async-pieces"
    """An asynchronous iterable of pieces."""
    EITHER = "either"
    """An object that is both kinds of iterables."""


class ParserFailedError(LanguageModelError):
    """The parser says that the stream has failed, or has failed itself.

    Attributes:
        reason: What it raised or said, as a text.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"the parser says: {reason}")
        self.reason = reason


def takes_of(parse: object) -> Takes | None:
    """What a function takes by the name and the annotation of its first parameter; None where neither says it.

    The names are `data` and `chunks`; the annotations, `bytes` and iterables of it.
    """
    first = _first_parameter(parse)
    if first is None:
        return None
    said = "" if first.annotation is first.empty else inspect.formatannotation(first.annotation).strip("'\"")
    if "bytes" in said:
        is_async = "Async" in said
        is_plain = _PLAIN.search(said) is not None
        if is_async:
            return Takes.EITHER if is_plain else Takes.ASYNC_PIECES
        return Takes.PIECES if is_plain else Takes.BYTES
    return {"data": Takes.BYTES, "chunks": Takes.EITHER}.get(first.name)


_PLAIN: Final = re.compile(r"(?<!Async)\b(?:Iterable|Iterator|Sequence|Generator|list|tuple)\[")


def is_parser(found: object) -> TypeGuard[Callable[..., Any]]:
    """Whether a function is a parser by its first parameter."""
    return not inspect.isclass(found) and takes_of(found) is not None


def _first_parameter(parse: object) -> inspect.Parameter | None:
    if not callable(parse):
        return None
    try:
        parameters = list(inspect.signature(parse).parameters.values())
    except (TypeError, ValueError):
        return None
    places = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    return next((one for one in parameters if one.kind in places), None)


class _Pieces:
    """The pieces of one stream, as both kinds of iterables; an error at their end is one of the connection."""

    def __init__(self, pieces: Sequence[bytes], error: Exception | None) -> None:
        self._pieces = pieces
        self._error = error

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces
        if self._error is not None:
            raise self._error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


@dataclass(frozen=True, slots=True)
class Parser:
    """A parser.

    Attributes:
        parse: The function.
        takes: What it is given.
        protocol: The name of the protocol that it reads; given to it as `protocol` where it has the parameter.
    """

    parse: Callable[..., Any]
    takes: Takes
    protocol: str

    async def read(self, pieces: Sequence[bytes], error: Exception | None = None) -> AsyncIterator[object]:
        """Reads a stream, and yields parts and at most one Finish as the parser gives them.

        Args:
            pieces: The bytes.
            error: The error of the connection behind them, which only a parser of pieces can see; None for none.

        Raises:
            ParserFailedError: The parser has raised an error, or says that the stream has failed.
        """
        numbers = count(1)
        try:
            async for value in self._values(_Pieces(pieces, error), b"".join(pieces)):
                if not isinstance(value, Unmapped):
                    yield _output(value, numbers)
        except ParserFailedError:
            raise
        except (Exception, SystemExit) as failure:
            raise ParserFailedError(str(fault_of(failure))) from failure

    async def _values(self, pieces: _Pieces, data: bytes) -> AsyncIterator[Any]:
        forms: dict[Takes, Any] = {
            Takes.BYTES: data,
            Takes.PIECES: iter(pieces),
            Takes.ASYNC_PIECES: aiter(pieces),
            Takes.EITHER: pieces,
        }
        given = forms[self.takes]
        options = {"protocol": self.protocol} if self._takes_protocol() else {}
        made = self.parse(given, **options)
        if isinstance(made, Awaitable):
            made = await made
        if isinstance(made, AsyncIterable):
            async for value in made:
                yield value
        elif isinstance(made, Iterable) and not isinstance(made, str | bytes | Mapping):
            for value in made:
                yield value
        else:
            raise ParserFailedError(f"it returned {type(made).__name__}, expected an iterable of parts")

    def _takes_protocol(self) -> bool:
        try:
            return "protocol" in inspect.signature(self.parse).parameters
        except (TypeError, ValueError):
            return False


def _output(value: Any, numbers: count[int]) -> object:
    """A part of ours, or the end of the answer; the value itself where it is neither.

    Raises:
        ParserFailedError: It says that the stream has failed.
    """
    if isinstance(value, Finish) and value.error is not None:
        raise ParserFailedError(str(value.error))
    if not isinstance(value, Mapping):
        return value
    read = _FORMS.get(str(value.get("type")))
    return value if read is None else read(value, numbers)


def _call(value: Mapping[str, Any], numbers: count[int]) -> ToolCallPart:
    """A call; some wires have no ids of calls, so that any id of its own is right."""
    call_id = value.get("id")
    known = f"parser_call_{next(numbers)}" if call_id is None else call_id
    return unchecked_part(ToolCallPart, known, value.get("name"), value.get("input"))


def _failed(value: Mapping[str, Any]) -> object:
    raise ParserFailedError(str(value.get("message", value)))


_FORMS: Final[Mapping[str, Callable[[Mapping[str, Any], count[int]], object]]] = {
    "text": lambda value, _: unchecked_part(TextPart, value.get("text")),
    "thinking": lambda value, _: unchecked_part(
        ThinkingPart, value.get("text"), value.get("id"), value.get("metadata")
    ),
    "tool-call": _call,
    "finish": lambda value, _: _finish(value),
    "error": lambda value, _: _failed(value),
}
"""What reads a plain dictionary, by its type."""


def _finish(value: Mapping[str, Any]) -> Finish:
    if value.get("error") is not None:
        raise ParserFailedError(str(value["error"]))
    usage = value.get("usage")
    if not isinstance(usage, Mapping):
        return Finish(Outcome.COMPLETED)
    asked, answered = usage.get("input_tokens"), usage.get("output_tokens")
    total = usage.get(
        "total_tokens", asked + answered if isinstance(asked, int) and isinstance(answered, int) else None
    )
    return Finish(Outcome.COMPLETED, usage=Usage(asked, answered, total))
