"""What holds for every stream of every protocol: any split, any cut, any damage."""

import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from partstream.conversation.citations import CITATION_MIME_TYPE
from partstream.conversation.thinking import open_response
from partstream.errors import LanguageModelError, UpstreamFailureError
from partstream.lm.contract import CheckMode, ContractChecker
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import (
    CitationMode,
    FileMode,
    Finish,
    InboundRequest,
    Outcome,
    Reply,
    StreamOptions,
    StreamOutput,
    ThinkingMode,
    Unmapped,
)
from partstream.lm.parts import DataPart, FinishReason, TextPart, ThinkingPart, ToolCallPart, UnifiedFinishReason, Usage
from partstream.protocols.ai_sdk.read_response import CHUNKS
from partstream.protocols.anthropic_messages.read_response import EVENTS as MESSAGE_EVENTS
from partstream.protocols.openresponses.read_response import EVENTS
from partstream.protocols.protocol import PROTOCOLS
from partstream.runtime.translation import write_answer
from protocols.ai_sdk.wire import WRITERS, Writer, frame, read_chunks, read_framed
from protocols.chat_completions.wire import sse as chat_sse
from protocols.openresponses.wire import Event, Result, check, comparable, sse

# Texts of what the readers look at: closing marks, line ends, characters of many bytes.
words = st.text(alphabet=st.sampled_from("ab .!?…é😀\n\r\u2028"), max_size=6)
arguments = st.dictionaries(words, st.one_of(st.integers(), words, st.none()), max_size=2)
urls = st.sampled_from(["https://e.org/a", "https://e.org/b"])


def _citation(url: str, title: str) -> DataPart:
    source = {"type": "url_citation", "url": url, "title": title, "start_index": 0, "end_index": 1}
    return DataPart.json(source, CITATION_MIME_TYPE)


def _pieces(make: Callable[[str], Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(words.filter(bool).map(make), min_size=1, max_size=4)


Answer = Sequence[StreamOutput]
"""Parts, then the Finish."""

USAGE = Usage(7, 3, 10)
FINISHES = (
    Finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.STOP), USAGE),
    Finish(Outcome.INCOMPLETE, FinishReason(UnifiedFinishReason.LENGTH, "max_output_tokens"), USAGE),
    Finish(
        Outcome.FAILED,
        FinishReason(UnifiedFinishReason.ERROR),
        USAGE,
        error=UpstreamFailureError("m", provider_code="c"),
    ),
)
blocks = st.one_of(
    st.builds(
        lambda text, sources: [*text, *sources],
        _pieces(TextPart),
        st.lists(st.builds(_citation, urls, words), max_size=2),
    ),
    _pieces(ThinkingPart),
    st.builds(ToolCallPart, st.just("-"), st.sampled_from(["look_up", "add"]), arguments).map(lambda call: [call]),
)


@st.composite
def answers(draw: st.DrawFn) -> Answer:
    """An answer whose text comes in pieces; each call has an id of its own."""
    parts = [part for block in draw(st.lists(blocks, max_size=4)) for part in block]
    numbered = [
        ToolCallPart(f"call_{number}", part.name, part.input) if isinstance(part, ToolCallPart) else part
        for number, part in enumerate(parts)
    ]
    return [*numbered, draw(st.sampled_from(FINISHES))]


options = st.builds(
    StreamOptions, st.sampled_from(ThinkingMode), st.sampled_from(CitationMode), files=st.sampled_from(FileMode)
)
moderate = settings(
    max_examples=3 * settings.default.max_examples // 10,  # each is read in many ways, on every wire
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    deadline=None,
)


@dataclass(frozen=True, slots=True, repr=False)
class Subject:
    """A protocol as its stream is written and read.

    Attributes:
        protocol: Its row.
        write: An answer as events, given how many characters of a call's arguments one of them holds; None for all.
        frame: Events as the bytes of its wire.
        ends: Whether an event ends a response, or says that it failed.
        said: The visible text that an event says for the first time.
        kinds: The types of its events.
        fields: Names of fields that its reader looks at.
        counts_at_first: Whether its first event says how many tokens came in, as far as they are known by then.
        joins_orphans: Whether arguments of a call that was never opened belong to the call opened last, because
            servers send them so (docs/wires/chat-completions.md#tool-call-deltas).
    """

    protocol: str
    write: Callable[[Answer, int | None], list[Event]]
    frame: Callable[[Iterable[Event]], list[bytes]]
    ends: Callable[[Event], bool]
    said: Callable[[Event], str]
    kinds: tuple[str, ...]
    fields: tuple[str, ...]
    counts_at_first: bool = False
    joins_orphans: bool = False


ASKED = InboundRequest(
    "m", (ChatMessage.user("Hi"),), RequestOptions(), body={"include": ["reasoning.encrypted_content"]}
)


def write_openresponses(answer: Answer, size: int | None = 3) -> list[Event]:
    return write_answer(PROTOCOLS["openresponses"], ASKED, answer, Reply("identity", 1, size))


def _said_by_openresponses(event: Event) -> str:
    return event["delta"] if event["type"].endswith("output_text.delta") else ""


def _said_by_the_sdk(event: Event) -> str:
    if event["type"] != "text-delta":
        return ""
    return str(next(event[name] for name in ("text", "textDelta", "delta") if name in event))


_FIELDS_OF_THE_SDK = (
    "text", "textDelta", "delta", "id", "toolCallId", "toolName", "input", "args", "inputTextDelta",
    "argsTextDelta", "providerMetadata", "providerExecuted", "invalid", "error", "errorText", "output", "result",
    "source", "url", "title", "file", "mediaType", "data", "base64Data", "uint8ArrayData", "usage", "totalUsage",
    "finishReason", "response", "messageId", "messageMetadata", "signature", "reason", "citations", "toolCall",
    "approved", "preliminary", "$thrown_by_iterator",
)  # fmt: skip
_FIELDS_OF_OPENRESPONSES = (
    "response", "item", "part", "item_id", "output_index", "content_index", "summary_index", "delta", "text",
    "refusal", "arguments", "annotation", "error", "code", "message", "id", "call_id", "name", "status", "output",
    "content", "summary", "usage", "annotations", "incomplete_details", "encrypted_content", "input_tokens",
    "reason", "url", "title",
)  # fmt: skip


_FIELDS_OF_CHAT = (
    "id", "model", "choices", "delta", "message", "index", "finish_reason", "native_finish_reason", "usage", "error",
    "object", "x_groq", "base_resp", "citations", "search_results", "provider", "content", "refusal", "reasoning",
    "reasoning_content", "reasoning_details", "thinking_blocks", "tool_calls", "function_call", "function", "name",
    "arguments", "extra_content", "annotations", "url_citation", "url", "images", "image_url", "audio", "text",
    "prompt_tokens", "completion_tokens",
)  # fmt: skip


_FIELDS_OF_MESSAGES = (
    "message", "index", "content_block", "delta", "usage", "error", "context_management", "content", "stop_reason",
    "text", "thinking", "signature", "data", "partial_json", "input", "id", "name", "citation", "citations",
    "tool_use_id", "caller", "stop_details", "container", "iterations", "input_tokens", "output_tokens",
)  # fmt: skip
_FIELDS_OF_GEMINI = (
    "candidates", "content", "parts", "role", "text", "thought", "thoughtSignature", "functionCall", "name", "args",
    "id", "partialArgs", "willContinue", "jsonPath", "stringValue", "inlineData", "mimeType", "data", "fileData",
    "fileUri", "executableCode", "codeExecutionResult", "toolCall", "toolResponse", "finishReason", "finishMessage",
    "index", "groundingMetadata", "groundingChunks", "groundingSupports", "segment", "promptFeedback", "blockReason",
    "usageMetadata", "promptTokenCount", "error", "details", "responseId", "modelVersion",
)  # fmt: skip
_FIELDS_OF_OLLAMA = (
    "model", "message", "role", "content", "thinking", "tool_calls", "function", "name", "arguments", "id", "images",
    "done", "done_reason", "prompt_eval_count", "eval_count", "error", "remote_model",
)  # fmt: skip


def _writing(protocol: str) -> Callable[[Answer, int | None], list[Event]]:
    return lambda answer, size: write_answer(PROTOCOLS[protocol], ASKED, answer, Reply("identity", 1, size))


def _ends_messages(event: Event) -> bool:
    return event["type"] == "error" or bool(event["type"] == "message_delta" and event["delta"]["stop_reason"])


def _said_by_messages(event: Event) -> str:
    return event["delta"].get("text", "") if event["type"] == "content_block_delta" else ""


def _ends_gemini(event: Event) -> bool:
    return "error" in event or any("finishReason" in one for one in event.get("candidates", ()))


def _said_by_gemini(event: Event) -> str:
    parts = [part for one in event.get("candidates", ()) for part in one["content"].get("parts", ())]
    return "".join(part.get("text", "") for part in parts if not part.get("thought"))


def _lines(events: Iterable[Event]) -> list[bytes]:
    return [json.dumps(event).encode() + b"\n" for event in events]


def _unnamed(events: Iterable[Event]) -> list[bytes]:
    return [b"data: " + json.dumps(event).encode() + b"\r\n\r\n" for event in events]


def write_chat_completions(answer: Answer, size: int | None = 3) -> list[Event]:
    return write_answer(PROTOCOLS["chat-completions"], ASKED, answer, Reply("identity", 1, size))


def _ends_chat(event: Event) -> bool:
    return "error" in event or any(choice.get("finish_reason") for choice in event["choices"])


def _said_by_chat(event: Event) -> str:
    return "".join(choice["delta"].get("content") or "" for choice in event.get("choices", ()))


def _of_the_sdk(writer: Writer) -> Subject:
    return Subject(
        writer.protocol,
        writer.write,
        lambda events: frame(writer.protocol, events),
        lambda event: event["type"] in {"finish", "error", "abort"},
        _said_by_the_sdk,
        tuple(sorted(CHUNKS)),
        _FIELDS_OF_THE_SDK,
    )


SUBJECTS: dict[str, Subject] = {
    "OpenResponses": Subject(
        "openresponses",
        write_openresponses,
        sse,
        lambda event: event["type"] in {"response.completed", "response.incomplete", "response.failed", "error"},
        _said_by_openresponses,
        tuple(sorted(EVENTS)),
        _FIELDS_OF_OPENRESPONSES,
    ),
    "Chat Completions": Subject(
        "chat-completions",
        write_chat_completions,
        chat_sse,
        _ends_chat,
        _said_by_chat,
        ("chat.completion.chunk",),
        _FIELDS_OF_CHAT,
        joins_orphans=True,
    ),
    "Anthropic Messages": Subject(
        "anthropic-messages",
        _writing("anthropic-messages"),
        sse,
        _ends_messages,
        _said_by_messages,
        tuple(sorted(MESSAGE_EVENTS)),
        _FIELDS_OF_MESSAGES,
        counts_at_first=True,
    ),
    "Gemini": Subject("gemini", _writing("gemini"), _unnamed, _ends_gemini, _said_by_gemini, ("x",), _FIELDS_OF_GEMINI),
    "Ollama": Subject(
        "ollama",
        _writing("ollama"),
        _lines,
        lambda event: "error" in event or event["done"],
        lambda event: event.get("message", {}).get("content", ""),
        ("x",),
        _FIELDS_OF_OLLAMA,
    ),
    **{name: _of_the_sdk(writer) for name, writer in WRITERS.items()},
}
SUBJECTS = {name: one for name, one in SUBJECTS.items() if PROTOCOLS[one.protocol].write_response is not None}
every_subject = pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)


def _read(subject: Subject, events: Iterable[Event], chosen: StreamOptions = StreamOptions()) -> Result:  # noqa: B008
    return read_chunks(events, subject.protocol, chosen)


def _read_bytes(subject: Subject, pieces: Iterable[bytes], chosen: StreamOptions = StreamOptions()) -> Result:  # noqa: B008
    return read_framed(pieces, subject.protocol, chosen)


@every_subject
@given(answer=answers(), chosen=options, cuts=st.lists(st.integers(0, 100_000), max_size=20))
@moderate
def test_any_split_gives_the_same_outputs(
    subject: Subject, answer: Answer, chosen: StreamOptions, cuts: list[int]
) -> None:
    events = subject.write(answer, 3)
    data = b"".join(subject.frame(events))
    borders = [0, *sorted(cut % len(data) for cut in cuts), len(data)]
    expected = comparable(_read(subject, events, chosen))
    assert comparable(_read_bytes(subject, subject.frame(events), chosen)) == expected
    pieces = [data[start:end] for start, end in itertools.pairwise(borders)]
    assert comparable(_read_bytes(subject, pieces, chosen)) == expected
    assert comparable(_read_bytes(subject, [data], chosen)) == expected
    assert comparable(_read_bytes(subject, (data[at : at + 1] for at in range(len(data))), chosen)) == expected


@every_subject
@given(answer=answers(), place=st.floats(0, 1, exclude_max=True), between_events=st.booleans())
@moderate
def test_a_stream_cut_anywhere_is_truncated_and_begins_like_the_whole(
    subject: Subject, answer: Answer, place: float, between_events: bool
) -> None:
    events = subject.write(answer, 3)
    ends = next(number for number, event in enumerate(events) if subject.ends(event))
    whole = _read(subject, events)
    chunks = subject.frame(events[:ends])
    if between_events:
        result = _read_bytes(subject, chunks[: int(place * len(chunks))])
    else:
        data = b"".join(chunks)
        result = _read_bytes(subject, [data[: int(place * len(data))]])
    assert result.finish.outcome is Outcome.TRUNCATED
    counted, all_counted = result.finish.usage, whole.finish.usage
    if subject.counts_at_first:
        assert counted is None or counted.input_tokens <= all_counted.input_tokens  # type: ignore[union-attr, operator]
    else:
        assert counted is None or counted.input_tokens == all_counted.input_tokens  # type: ignore[union-attr]
    # A mark that closes a sentence waits for what comes next, and comes out when nothing comes.
    assert whole.text.startswith(result.text)
    assert whole.thinking.startswith(result.thinking)
    assert result.calls == whole.calls[: len(result.calls)]


# ---- damage ----

_INNER_FIELDS = (
    "type", "id", "text", "x", "anthropic", "gateway", "message", "name", "code", "statusCode", "cause", "data",
    "error", "errors", "lastError", "responseBody", "responseHeaders", "routing", "attempts", "provider", "total",
    "unified", "url", "source", "toolCallId", "$url", "$undefined", "$uint8array", "0",
)  # fmt: skip
_scalars = st.sampled_from(
    [None, True, False, *range(-2, 4), 10**400, 0.5, float("nan"), float("inf"), "message"]
) | st.one_of(words, st.floats())
_shallow = st.one_of(
    _scalars,
    st.lists(_scalars, max_size=2),
    st.dictionaries(st.sampled_from(_INNER_FIELDS), _scalars, max_size=2),
)
json_values = st.one_of(
    _scalars,
    st.lists(_shallow, max_size=2),
    st.dictionaries(st.sampled_from(_INNER_FIELDS), _shallow, max_size=3),
)
"""Two levels by hand: `st.recursive` takes most of the time of the tests that draw from it."""


def _damage(value: Any, where: list[int], what: Any) -> Any:
    """The same value with one field somewhere in it changed."""
    value = json.loads(json.dumps(value))
    at = value
    for step in where:
        keys = sorted(at) if isinstance(at, dict) else list(range(len(at)))
        if not keys:
            break
        key = keys[step % len(keys)]
        if step == where[-1] or not isinstance(at[key], dict | list):
            at[key] = what
            break
        at = at[key]
    return value


@cache
def _wild(subject: Subject) -> st.SearchStrategy[Event]:
    kinds = st.one_of(st.sampled_from(subject.kinds), st.just("data-x"), json_values)
    return st.one_of(
        st.fixed_dictionaries({"type": kinds}, optional=dict.fromkeys(subject.fields, json_values)),
        st.dictionaries(st.sampled_from(["type", *subject.fields]), json_values, max_size=4),
    )


def _survives(subject: Subject, events: list[Event]) -> Result:
    """Every way of feeding ends in outputs or one of our errors; anything else is raised here."""
    chunks = subject.frame(events)
    results = [_read_bytes(subject, chunks), _read_bytes(subject, [b"".join(chunks)])]
    row = PROTOCOLS[subject.protocol]
    if "jsonl" in {framing.name for framing in row.framings}:
        lines = [b"\n".join(json.dumps(event).encode() for event in events)]
        results.append(read_framed(lines, subject.protocol, framing="jsonl"))
    for result in results:
        assert result.finish.error is None or isinstance(result.finish.error, LanguageModelError)
    return _read(subject, events)


@every_subject
@given(data=st.data())
@moderate
def test_events_of_any_shape_give_outputs_or_one_of_our_errors(subject: Subject, data: st.DataObject) -> None:
    _survives(subject, data.draw(st.lists(_wild(subject), max_size=8)))


@every_subject
@given(answer=answers(), data=st.data())
@moderate
def test_a_stream_with_damaged_fields_gives_outputs_or_one_of_our_errors(
    subject: Subject, answer: Answer, data: st.DataObject
) -> None:
    events = subject.write(answer, 3)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(events) - 1))
        where = data.draw(st.lists(st.integers(0, 30), min_size=1, max_size=5))
        events[place] = _damage(events[place], where, data.draw(json_values))
    _survives(subject, events)


@every_subject
@given(
    pieces=st.lists(
        st.one_of(st.binary(max_size=20), st.sampled_from([b"\n", b"data: ", b"0:", b'{"type":"'])), max_size=9
    )
)
@moderate
def test_bytes_of_any_kind_give_one_end_and_no_part(subject: Subject, pieces: list[bytes]) -> None:
    result = _read_bytes(subject, pieces)
    assert isinstance(result.finish.error, LanguageModelError)


@every_subject
@given(answer=answers(), data=st.data())
@moderate
def test_shuffled_duplicated_and_dropped_events_give_outputs_and_no_call_twice(
    subject: Subject, answer: Answer, data: st.DataObject
) -> None:
    events = subject.write(answer, None)
    picked = data.draw(st.lists(st.integers(0, len(events) - 1), max_size=2 * len(events)))
    result = _survives(subject, [events[place] for place in picked])
    said = _read(subject, events).calls
    if answer[-1] != FINISHES[0] or isinstance(result.finish.error, LanguageModelError):
        return
    # Where everything that says the arguments of a call was dropped, there are none.
    possible = [*(call[1:] for call in said), *((name, {}) for _, name, _ in said)]
    if subject.joins_orphans:
        possible += [(name, arguments) for _, name, _ in said for _, _, arguments in said]
    for call in result.calls:
        assert call[1:] in possible
    ids = [call_id for call_id, _, _ in result.calls]
    assert len(set(ids)) == len(ids)


@every_subject
@given(first=answers(), second=answers(), turns=st.lists(st.booleans(), max_size=200))
@moderate
def test_streams_that_are_fed_by_turns_never_mix(
    subject: Subject, first: Answer, second: Answer, turns: list[bool]
) -> None:
    streams = [subject.write(first, 3), subject.write(second, 3)]
    left = [iter(events) for events in streams]
    adapters = [open_response(PROTOCOLS[subject.protocol].read_response(), StreamOptions()) for _ in left]
    outputs: list[list[Any]] = [[], []]
    for turn in turns:
        event = next(left[turn], None)
        if event is not None:
            outputs[turn] += adapters[turn].feed(event)
    for number, rest in enumerate(left):
        for event in rest:
            outputs[number] += adapters[number].feed(event)
        alone = _read(subject, streams[number])
        assert comparable(check(Result(outputs[number] + adapters[number].end()))) == comparable(alone)


@every_subject
@given(answer=answers())
@moderate
def test_parts_are_never_empty_and_the_stream_never_says_more_than_the_answer(subject: Subject, answer: Answer) -> None:
    events = subject.write(answer, 3)
    outputs = _read(subject, events, StreamOptions(citations=CitationMode.OFF)).outputs
    assert all(output.value for output in outputs if isinstance(output, TextPart))
    assert all(output.value or output.metadata for output in outputs if isinstance(output, ThinkingPart))
    said = "".join(map(subject.said, events))
    assert "".join(output.value for output in outputs if isinstance(output, TextPart)) == said
    assert all(isinstance(output, ToolCallPart) == bool(getattr(output, "call_id", "")) for output in outputs)


@every_subject
@given(answer=answers(), chosen=options)
@moderate
def test_whatever_comes_out_keeps_the_contract(subject: Subject, answer: Answer, chosen: StreamOptions) -> None:
    outputs = _read(subject, subject.write(answer, 3), chosen).outputs
    assume(any(isinstance(output, TextPart | ToolCallPart) for output in outputs))  # an answer of nothing breaks it
    checker = ContractChecker(("look_up", "add"), CheckMode.STRICT, namespace="gw-")
    for output in outputs:
        if isinstance(output, Finish):
            checker.complete() if output.error is None else checker.fail(output.error)
        elif not isinstance(output, Unmapped):
            checker.check(output)


@pytest.mark.parametrize("name", WRITERS)
@given(answer=answers(), chosen=options)
@moderate
def test_a_stream_of_the_sdk_gives_what_its_openresponses_twin_gives(
    name: str, answer: Answer, chosen: StreamOptions
) -> None:
    twin = _read(SUBJECTS["OpenResponses"], write_openresponses(answer), chosen)
    result = _read(SUBJECTS[name], WRITERS[name].write(answer), chosen)
    assert result.finish.outcome == twin.finish.outcome
    if chosen.citations in (CitationMode.OFF, CitationMode.DATA):
        assert result.text == twin.text
    if twin.finish.outcome is Outcome.COMPLETED:  # else a call may have been cut, and the writers differ in where
        assert [call[1:] for call in result.calls] == [call[1:] for call in twin.calls]
    assert result.thinking == twin.thinking
