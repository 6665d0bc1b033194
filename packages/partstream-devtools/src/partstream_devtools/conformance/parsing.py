"""A parser under test, `parse(bytes) -> parts`: gives it the bytes of a stream, and reads what it makes of them.

The first parameter of the function says in which form it takes the bytes. What it returns is judged, so nothing is
refused here: a value of the wrong type becomes a part that holds it. :class:`ParserProvider` is the parser as the
provider that the kit asks; it has the parser read the stream of a script.

A folder of recorded streams has the outcome that a right reader reaches beside each. `NAME.expected.json` is the
outcome; `NAME.sse` or `NAME.ndjson` is the body as it came, or `NAME.jsonl` its events as one JSON value a line, which
are framed as the protocol frames them. The outcome has the fields `text`, `thinking`, `tool_calls` (`name`, `input`),
`input_tokens`, `output_tokens`, `error` (null for an answer without one) and `finish`; a missing field is not judged.

Shapes are short streams that the protocol's own document does not lead one to expect, as real servers send them. The
folder `stream_shapes` has a file for each protocol of which such servers are known: a block a shape, whose first line
says its name, its title and the outcome, and whose other lines are the events. A name is part of reports and
baselines, and stays the same for ever; one form that several protocols have keeps one name.
"""

from __future__ import annotations
import inspect
import json
import re
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from importlib.resources import files
from itertools import count
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from partstream.codec.checks import dataclass
from partstream.codec.json_codec import loads
from partstream.errors import CallerError, LanguageModelError
from partstream.lm import provider
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import Finish, InboundRequest, Outcome, Reply, Unmapped
from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart, Usage, unchecked_part
from partstream.runtime.progress import fault_of
from partstream_devtools.testing import faults
from partstream_devtools.testing.directives import parse_choices

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from partstream.lm.cancellation import CancellationToken
    from partstream.protocols.protocol import Protocol
    from partstream.protocols.serve import StreamForm, WireEvent
    from partstream_devtools.conformance.scripts import Script, ScriptedAnswer


# ---- Parsers ----


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
    """The parser says that the stream has failed, or has failed itself; `reason` is what it raised or said."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the parser says: {reason}")
        self.reason = reason


_PLAIN: Final = re.compile(r"(?<!Async)\b(?:Iterable|Iterator|Sequence|Generator|list|tuple)\[")


def takes_of(parse: object) -> Takes | None:
    """What a function takes by the name and the annotation of its first parameter; None where neither says it.

    The names are `data` and `chunks`; the annotations, `bytes` and iterables of it.
    """
    places = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    first = next((one for one in parameters_of(parse).values() if one.kind in places), None)
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


def is_parser(found: object) -> TypeGuard[Callable[..., Any]]:
    """Whether a function is a parser by its first parameter."""
    return not inspect.isclass(found) and takes_of(found) is not None


def parameters_of(found: object) -> Mapping[str, inspect.Parameter]:
    """The parameters of a function, by name; none of an object that is no function or hides them."""
    try:
        return inspect.signature(found).parameters if callable(found) else {}
    except (TypeError, ValueError):
        return {}


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
            error: The error of the connection after them, which only a parser of pieces can see; None for none.

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
        options = {"protocol": self.protocol} if "protocol" in parameters_of(self.parse) else {}
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


def _output(value: Any, numbers: count[int]) -> object:
    """A part of ours, or the end of the answer; the value itself where it is neither.

    Raises:
        ParserFailedError: It says that the stream has failed.
    """
    if isinstance(value, Finish) and value.error is not None:
        raise ParserFailedError(str(value.error))
    match value:
        case {"type": "text"}:
            return unchecked_part(TextPart, value.get("text"))
        case {"type": "thinking"}:
            return unchecked_part(ThinkingPart, value.get("text"), value.get("id"), value.get("metadata"))
        case {"type": "tool-call"}:
            call_id = value.get("id")
            # Some wires have no ids of calls, so that any id of its own is right.
            known = f"parser_call_{next(numbers)}" if call_id is None else call_id
            return unchecked_part(ToolCallPart, known, value.get("name"), value.get("input"))
        case {"type": "error"}:
            raise ParserFailedError(str(value.get("message", value)))
        case {"type": "finish", "error": error} if error is not None:
            raise ParserFailedError(str(error))
        case {"type": "finish", "usage": Mapping() as usage}:
            asked, answered = usage.get("input_tokens"), usage.get("output_tokens")
            both = asked + answered if isinstance(asked, int) and isinstance(answered, int) else None
            total = usage.get("total_tokens", both)
            return Finish(Outcome.COMPLETED, usage=Usage(asked, answered, total))
        case {"type": "finish"}:
            return Finish(Outcome.COMPLETED)
    return value


# ---- What a parser reports ----


@dataclass(frozen=True, slots=True)
class ParserReport:
    """What a parser reports about a stream: `calls` are ids, names and arguments, `tokens` input and output."""

    text: str
    thinking: str
    calls: tuple[tuple[object, object, object], ...]
    tokens: tuple[int | None, int | None] | None
    failed: str | None

    def to_json(self) -> dict[str, Any]:
        """What is compared with the expected outcome of a recording."""
        calls = [{"name": name, "input": arguments} for _, name, arguments in self.calls]
        tokens = None if self.tokens is None else list(self.tokens)
        return {"text": self.text, "thinking": self.thinking, "calls": calls, "tokens": tokens, "failed": self.failed}


async def told_of(parser: Parser, pieces: Sequence[bytes]) -> ParserReport:
    """Has a parser read a stream."""
    outputs: list[object] = []
    failed = None
    try:
        async for output in parser.read(pieces):
            outputs.append(output)
    except ParserFailedError as error:
        failed = error.reason
    usage = next((one.usage for one in outputs if isinstance(one, Finish)), None)
    calls = [(one.call_id, one.name, one.input) for one in outputs if isinstance(one, ToolCallPart)]
    return ParserReport(
        "".join(str(one.value) for one in outputs if isinstance(one, TextPart)),
        "".join(str(one.value) for one in outputs if isinstance(one, ThinkingPart)),
        tuple(calls),
        None if usage is None else (usage.input_tokens, usage.output_tokens),
        failed,
    )


# ---- Shapes of streams ----


@dataclass(frozen=True, slots=True)
class ShapeOutcome:
    """What a right reader makes of a stream.

    `calls` are names and arguments in the order of the model; `call_ids` is None where the server gives no ids,
    `tokens` (input, output) where it reports none.
    """

    text: str = ""
    thinking: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    call_ids: tuple[str, ...] | None = None
    tokens: tuple[int, int] | None = None
    is_failed: bool = False


@dataclass(frozen=True, slots=True)
class StreamShape:
    """One shape: its name, its title, its events as JSON, and what a right reader makes of them."""

    name: str
    title: str
    events: tuple[WireEvent, ...]
    outcome: ShapeOutcome


def stream_shapes(protocol: str) -> Iterator[StreamShape]:
    """The shapes of a protocol; none for a protocol without a file."""
    file = files(__package__) / "stream_shapes" / f"{protocol}.jsonl"
    for block in file.read_text(encoding="utf-8").split("\n\n") if file.is_file() else ():
        head, *events = map(json.loads, block.splitlines())
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in head["outcome"].items()
        }
        given["calls"] = tuple((name, arguments) for name, arguments in given.get("calls", ()))
        yield StreamShape(head["name"], head["title"], tuple(events), ShapeOutcome(**given))


def differences(wanted: ShapeOutcome, told: ParserReport) -> list[str]:
    """What a parser got wrong of a shape, a sentence each; thinking and tokens only where it tells any."""
    found = []
    if (told.failed is not None) != wanted.is_failed:
        said = "the stream failed, and the parser reports no error" if wanted.is_failed else told.failed
        return [f"the parser failed: {said}" if not wanted.is_failed else str(said)]
    if told.text != wanted.text:
        found.append(f"the text is {told.text!r}, expected {wanted.text!r}")
    if told.thinking and told.thinking != wanted.thinking:
        found.append(f"the thinking is {told.thinking!r}, expected {wanted.thinking!r}")
    calls = [(name, arguments) for _, name, arguments in told.calls]
    if calls != list(wanted.calls):
        found.append(f"the calls are {calls}, expected {list(wanted.calls)}")
    elif wanted.call_ids is not None and not all(
        str(one).endswith(other)  # a reader may put a prefix before the ids of the server
        for (one, _, _), other in zip(told.calls, wanted.call_ids, strict=True)
    ):
        found.append(f"the ids of the calls are {[one for one, _, _ in told.calls]}, expected {list(wanted.call_ids)}")
    elif len({str(one) for one, _, _ in told.calls}) != len(told.calls):
        found.append("two calls have the same id")
    if wanted.tokens is not None and told.tokens is not None and told.tokens != wanted.tokens:
        found.append(f"the tokens are {told.tokens}, expected {wanted.tokens}")
    return found


# ---- Comparison with a recorded outcome ----

_CUT: Final = frozenset({"length", "max_tokens", "incomplete", "MAX_TOKENS"})
"""Finish reasons of answers that a limit has cut."""


def _calls(expected: Mapping[str, Any], told: Mapping[str, Any]) -> bool | None:
    if "tool_calls" not in expected:
        return None
    if expected.get("or_error") and told["failed"] is not None and not told["calls"]:
        return True
    wanted = [{"name": one["name"], "input": one["input"]} for one in expected["tool_calls"]]
    return _sorted(wanted) == _sorted(told["calls"])


def _tokens(expected: Mapping[str, Any], told: Mapping[str, Any]) -> bool | None:
    wanted = [expected.get("input_tokens"), expected.get("output_tokens")]
    return None if None in wanted else told["tokens"] == wanted


def _error(expected: Mapping[str, Any], told: Mapping[str, Any]) -> bool | None:
    if "error" not in expected or (
        expected["error"] is None and (expected.get("finish") in _CUT or "finish_raw" in expected)
    ):
        return None  # whether a call that the limit of the answer has cut is an error is debatable
    return (expected["error"] is not None) == (told["failed"] is not None)


ASPECTS: Final[Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], bool | None]]] = {
    "text": lambda expected, told: _same_words(expected.get("text"), told["text"]),
    "thinking": lambda expected, told: _same_words(expected.get("thinking"), told["thinking"]),
    "calls": _calls,
    "tokens": _tokens,
    "errors": _error,
}
"""By name, whether an aspect is right, given the expected outcome and the report; None where it is not judged."""


def judged(expected: Mapping[str, Any], told: Mapping[str, Any], unread: Collection[str] = ()) -> dict[str, bool]:
    """By aspect, whether a parser got a recording right; without what it leaves open and the `unread` aspects.

    `told` is :meth:`ParserReport.to_json`; of an unread aspect the parser can report nothing.
    """
    found = {name: right(expected, told) for name, right in ASPECTS.items() if name not in unread}
    return {name: is_right for name, is_right in found.items() if is_right is not None}


def _same_words(wanted: str | None, got: str) -> bool | None:
    """Whether two texts have the same characters beside white space: packages join paragraphs differently."""
    return None if wanted is None else "".join(wanted.split()) == "".join(got.split())


def _sorted(calls: list[Any]) -> list[str]:
    return sorted(json.dumps(call, sort_keys=True, default=str) for call in calls)


# ---- Streams of scripts ----

_CREATED_AT: Final = 1_700_000_000
_ARGUMENT_SIZE: Final = 8
"""The most characters of a call's arguments in one event, so that they come in pieces."""


def answer_stream(
    protocol: Protocol,
    answer: ScriptedAnswer,
    messages: Sequence[ChatMessage] = (),
    options: RequestOptions | None = None,
) -> tuple[list[bytes], Exception | None]:
    """The stream of an answer to a conversation, in a protocol that answers can be written in.

    Returns the bytes in the pieces in which they arrive, and the error of the connection after them.
    """
    asked = InboundRequest("scripted", tuple(messages), options or RequestOptions())
    assert protocol.write_response is not None  # noqa: S101 - checked where the target is made
    writes = protocol.write_response()
    writer = writes(asked, Reply("conformance", _CREATED_AT, argument_size=_ARGUMENT_SIZE))
    events = (event for output in (*answer.parts(messages), answer.finish()) for event in writer.write(output))
    steps: tuple[faults.Step, ...] = (faults.Head(200, ()), *framed(events, writes.stream_form(asked)), faults.End())
    done = faults.apply_faults(
        steps, parse_choices(answer.fault), faults.ReplyContext(1, 0.0, lambda _status, _message: b"")
    )
    is_reset = any(isinstance(step, faults.End) and step.kind is faults.EndKind.RESET for step in done)
    pieces = [step.data for step in done if isinstance(step, faults.Send)]
    reset = ConnectionResetError("the connection was reset in the middle of the answer")
    return pieces, reset if is_reset else None


def form_of(protocol: Protocol) -> StreamForm:
    """The form of a stream of a protocol that answers can be written in."""
    assert protocol.write_response is not None  # noqa: S101 - checked where the target is made
    return protocol.write_response().stream_form(InboundRequest("scripted", (), RequestOptions()))


def framed(events: Iterable[WireEvent], form: StreamForm) -> Iterator[faults.Send]:
    """Events as the steps of a server that sends them, one an event."""
    before = form.start
    for event in events:
        yield faults.Send(before + form.frame(event), event=faults.UNNAMED)
        before = form.separator
    if form.end:
        yield faults.Send(form.end, event=faults.END_OF_STREAM)


# ---- The parser as a provider ----

_MODEL: Final = provider.LanguageModelChatInformation(
    "parser",
    "parser",
    "parser",
    "",
    128_000,
    16_000,
    capabilities=provider.LanguageModelChatCapabilities(tool_calling=True),
)


class ParserProvider(provider.LanguageModelChatProvider):
    """Answers with what a parser makes of the stream of a script; without a script it is not asked for answers."""

    def __init__(self, parser: Parser, protocol: Protocol, script: Script | None) -> None:
        self.parser = parser
        self._protocol = protocol
        self._script = script

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[provider.LanguageModelChatInformation]:
        """Lists one model, the parser."""
        return [_MODEL]

    async def provide_language_model_chat_response(
        self,
        model: provider.LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: provider.Progress,
        token: CancellationToken,
    ) -> None:
        """Reports what the parser makes of the stream of the script's answer.

        Raises:
            ParserFailedError: The parser says that the stream has failed.
            CallerError: There is no script.
        """
        if self._script is None:
            raise CallerError("a parser answers a script alone")
        pieces, error = answer_stream(self._protocol, self._script.answer_to(messages), messages, options)
        async for output in self.parser.read(pieces, error):
            if not isinstance(output, Finish):
                progress.report(output)  # type: ignore[arg-type]  # what it is is judged
            elif isinstance(progress, provider.FinishingProgress):
                progress.finish(output)

    async def provide_token_count(
        self, model: provider.LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        """Counts nothing.

        Raises:
            CallerError: Always.
        """
        raise CallerError("a parser counts no tokens")


# ---- Recorded streams ----

_EXPECTED: Final = ".expected.json"
_BODIES: Final = (".sse", ".ndjson")


@dataclass(frozen=True, slots=True)
class RecordedStream:
    """One recorded stream: its name, the bytes that the server sent, and the expected outcome."""

    name: str
    data: bytes
    expected: dict[str, Any]


def recorded_streams(folder: Path, protocol: Protocol) -> list[RecordedStream]:
    """The recordings of a folder, by name; of its folder named after the protocol where it has one.

    Raises:
        CallerError: The folder has no recording, or one cannot be read.
    """
    own = folder / protocol.name.replace("-", "_")
    place = own if own.is_dir() else folder
    try:
        found = [_recorded(path, protocol) for path in sorted(place.glob(f"*{_EXPECTED}"))]
    except (OSError, ValueError) as error:
        raise CallerError(f"--recordings: a recording in {place} cannot be read: {error}") from error
    if not found:
        raise CallerError(f"--recordings: {place} has no file whose name ends with {_EXPECTED}")
    return found


def _recorded(path: Path, protocol: Protocol) -> RecordedStream:
    name = path.name.removesuffix(_EXPECTED)
    expected = loads(path.read_bytes())
    if not isinstance(expected, dict):
        raise ValueError(f"{path.name} holds {type(expected).__name__}, expected an object")  # noqa: TRY004 - of JSON
    for ending in _BODIES:
        body = path.with_name(name + ending)
        if body.is_file():
            return RecordedStream(name, body.read_bytes(), expected)
    lines = path.with_name(f"{name}.jsonl").read_bytes().splitlines()
    events = [loads(line) for line in lines if line.strip()]
    return RecordedStream(name, b"".join(one.data for one in framed(events, form_of(protocol))), expected)
