"""Each value of each event of an answer, replaced by values of another class, on every wire.

What comes out is outputs and one typed end; other wires can write it, the next request can repeat it, and what was not
understood is named. The same holds for documents, bodies of errors and lists of models, and for answers over HTTP, to a
program that asks and through a server of ours to its clients.
"""

import itertools
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest

from extent import IS_WHOLE
from fuzzing.properties import faults_of_outputs, in_words
from fuzzing.sources import sources
from models import lists
from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.errors import LanguageModelError, PartstreamError, UpstreamProtocolError
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import CitationMode, Finish, InboundRequest, Outcome, Reply, StreamOptions, Unmapped
from partstream.lm.parts import (
    FinishReason,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    UnifiedFinishReason,
    Usage,
)
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.reader import StreamReader
from partstream.runtime.translation import write_document, write_question
from partstream.server.application import app
from partstream.upstream import discovery, model_shapes
from partstream.upstream.configuration import RetryPolicy
from partstream.upstream.http_errors import http_error
from partstream.upstream.model_information import (
    LimitSettings,
    ModelSelection,
    information_of,
    offered_models,
    summary_of,
)
from partstream_devtools.testing.faults import End, Head, Send
from rows import one_test_for
from serving.asgi import ask as ask_server
from serving.wires import WIRES
from upstreams.upstreams import MODEL, ask, gateway_to, run, server_of

ODD: dict[str, bytes] = {
    "null": b"null",
    "true": b"true",
    "a list": b'["planted"]',
    "a list of everything": b'[null,0,"x",{},[]]',
    "nothing in an object": b"{}",
    "an object": b'{"planted":"planted"}',
    "nothing in a text": b'""',
    "a text": b'"planted"',
    "JSON in a text": b'"{\\"a\\":NaN}"',
    "half a character": b'"\\ud800"',
    "a long text": b'"' + b"x" * 50_000 + b'"',
    "less than nothing": b"-1",
    "a fraction": b"7.5",
    "no number": b"NaN",
    "more than there is": b"1e999",
    "400 digits": b"9" * 400,
    "5,000 digits": b"-" + b"9" * 5000,
    "lists in lists": b"[" * 200 + b"]" * 200,
    "objects in objects": b'{"a":' * 200 + b"1" + b"}" * 200,
    "too many levels": b"[" * 300 + b"]" * 300,
}
OF_ANOTHER_CLASS = ("a list", "an object", "a text", "a fraction")
"""What says something, of which at most one is of the class of the field."""

MARK = "\uf8ff here"
NOW = datetime(2026, 5, 1, tzinfo=UTC)
Place = tuple[str | int, ...]
READ = [name for name, row in PROTOCOLS.items() if row.framings[0].name != "text"]
MANY = ("openresponses", "chat-completions", "ai-sdk")
"""Wires with hundreds of different places."""
WRITTEN = [name for name, row in PROTOCOLS.items() if row.write_response is not None]
WANTED = {"include": ["reasoning.encrypted_content"]}
ASKED = InboundRequest("m", (ChatMessage.user("Hi"),), RequestOptions(), body=WANTED)


_ANSWER = [
    ThinkingPart("Hm."),
    TextPart("So:"),
    ToolCallPart("c1", "look_up", {"word": "a"}),
    Finish(
        Outcome.COMPLETED,
        FinishReason(UnifiedFinishReason.TOOL_CALLS),
        Usage(9, 5, 14, 3, 2),
        "r",
        "m",
        logprobs=({"token": "So:", "logprob": -0.25, "bytes": [83]},),
    ),
]


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """The places of all values within one."""
    if at:
        yield at
    for name, one in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(one, (*at, name))


def with_mark(value: Any, place: Place) -> Any:
    """The value with a mark at a place; the value itself stays as it is."""
    if not place:
        return MARK
    copy = value.copy()
    copy[place[0]] = with_mark(copy[place[0]], place[1:])
    return copy


class Damaged(NamedTuple):
    """A stream with a hole: one value of one event."""

    wire: str
    name: str
    before: tuple[bytes, ...]
    event: tuple[bytes, bytes]  # around the value
    original: bytes
    after: tuple[bytes, ...]

    def data(self, value: bytes) -> bytes:
        return framed(self.wire, (*self.before, value.join(self.event), *self.after))


def framed(wire: str, events: Iterable[bytes]) -> bytes:
    if PROTOCOLS[wire].framings[0].name == "sse":
        return b"".join(b"data: " + one + b"\n\n" for one in events)
    return b"".join(one + b"\n" for one in events)


def holes(value: Any) -> Iterator[tuple[Place, tuple[bytes, bytes]]]:
    """Each place of a value, and the JSON around it."""
    for place in places(value):
        before, _, after = json.dumps(with_mark(value, place)).encode().partition(json.dumps(MARK).encode())
        yield place, (before, after)


def damaged(wire: str) -> Iterator[Damaged]:
    """Each place of each kind of event once."""
    seen = set[str]()
    for source in sources():
        for number, event in enumerate(source.events if source.protocol == wire else ()):
            code, line = event[:2] if wire == "ai-sdk-data" else b"", event[2:] if wire == "ai-sdk-data" else event
            try:
                value = json.loads(line)
            except ValueError:
                continue
            for place, (before, after) in holes(value):
                name = _name(code.decode(), value, place)
                if name not in seen:
                    seen.add(name)
                    at = value
                    for step in place:
                        at = at[step]
                    original = json.dumps(at).encode()
                    events = source.events
                    yield Damaged(wire, name, events[:number], (code + before, after), original, events[number + 1 :])


def _name(code: str, value: Any, place: Place) -> str:
    """The place with the types on the way, such as `step.delta.delta(text).text`."""
    name = code
    for step in place:
        kind = next((value[one] for one in ("type", "event_type") if isinstance(value, dict) and one in value), "")
        name += f"({kind})" if isinstance(kind, str) and kind else ""
        name += "[]" if isinstance(step, int) else f".{step}"
        value = value[step]
    return name


def read(wire: str, data: bytes) -> list[Any]:
    reader = StreamReader(wire, StreamOptions(citations=CitationMode.DATA))
    return [*reader.feed(data), *reader.end()]


def check_outputs(outputs: list[Any]) -> None:
    """One typed end, and only what JSON holds."""
    assert list(faults_of_outputs(outputs)) == []
    finish = outputs[-1]
    assert (finish.error is None) == (finish.outcome in {Outcome.COMPLETED, Outcome.INCOMPLETE})
    assert finish.error is None or isinstance(finish.error, LanguageModelError)
    assert all(json.dumps(one, allow_nan=False) for one in (dict(finish.provider_metadata), finish.logprobs))
    assert repr(outputs)


def check_written(outputs: list[Any], wires: Iterable[str]) -> None:
    """A server of ours passes it on: each wire has a form for it, which its reader reads."""
    for wire in wires:
        writer = PROTOCOLS[wire].write_response()(ASKED, Reply("r", 1, 9))
        data = b"".join(writer.frame(event) for output in outputs for event in writer.write(output))
        check_outputs(read(wire, data + writer.end_of_stream))


def check_goes_back(wire: str, outputs: list[Any]) -> None:
    """The next request repeats the answer; what is in no form of the wire is refused."""
    parts = [one for one in outputs if not isinstance(one, Finish | Unmapped)]
    if PROTOCOLS[wire].write_request is None or not parts:
        return
    results = [ToolResultPart(one.call_id, [TextPart("x")]) for one in parts if isinstance(one, ToolCallPart)]
    messages = (ASKED.messages[0], ChatMessage.assistant(parts), ChatMessage.user([*results, TextPart("yes")]))
    try:
        written = write_question(PROTOCOLS[wire], InboundRequest("m", messages, RequestOptions()))
    except (PartstreamError, LanguageModelError):
        return
    dumps(written.body)


def few(number: int, step: int = 1) -> list[str]:
    """Some values, others for each number, so that all have their turn."""
    return [*ODD][number * step % len(ODD) :][:step]


def check_values(wire: str, choose: Callable[[int], Iterable[str]]) -> None:
    """Reads each damaged stream with the values that are chosen for it."""
    faults, others = [], itertools.cycle(WRITTEN)
    for number, one in enumerate(damaged(wire)):
        for what in choose(number):
            try:
                outputs = read(wire, one.data(ODD[what]))
                check_outputs(outputs)
                check_written(outputs, [next(others)])
                check_goes_back(wire, outputs)
            except Exception as error:
                faults.append(f"{what} at {one.name}: {error!r:.200}")
    assert faults == []


@pytest.mark.parametrize("wire", READ)
def test_an_odd_value_anywhere_in_a_stream_is_outputs_and_one_typed_end(wire: str) -> None:
    # Each place of small wires; of the others, every ninth: the next test has all.
    check_values(wire, lambda number: few(number // 9) if number % 9 == 0 or wire not in MANY else ())


@pytest.mark.parametrize(("wire", "part"), [(wire, part) for wire in READ for part in range(4 if wire in MANY else 1)])
def test_odd_values_in_each_place_of_a_stream_are_outputs_and_one_typed_end(wire: str, part: int) -> None:
    # A fifth of the values at each place, others at the next one; each at each with WHOLE_RUNS.
    def choose(number: int) -> Iterable[str]:
        if number % 4 != part and wire in MANY:
            return ()
        return ODD if IS_WHOLE else few(number, 4)

    check_values(wire, choose)


# ---- What is not understood is named ----

SILENT: tuple[tuple[str, tuple[str, ...]], ...] = (
    # The end is a typed error in any case.
    (r"^\((error|abort|RUN_ERROR|tool-error)\)|^\.error|thrown_by_iterator", OF_ANOTHER_CLASS),
    # An object without the fields that are known.
    (r"", ("an object",)),
    # One word is as good as another, and a text is one.
    (r"(status|finishReason|mediaType|messageId|id)$", ("a text",)),
    # A number that is no count: the raw usage has it, and the log says so.
    (r"(index|_count|_duration)$", ("a fraction",)),
    # What applications mix in has any class.
    (r"roviderMetadata\.\w+$|rawEvent|^\(CUSTOM\)\.value|warnings$|finishReason\.\w+$", OF_ANOTHER_CLASS),
    # Lists of texts and numbers.
    (r"groundingChunkIndices|citations\[\]|\.thinking\[\]|incomplete_details", OF_ANOTHER_CLASS),
)
"""What is replaced without a word: places, and the values there."""


def check_traces(wire: str, part: int = 0, of: int = 1) -> None:
    silent = []
    for one in itertools.islice(damaged(wire), part, None, of):
        whole, without, *others = (
            _said(read(wire, one.data(value)))
            for value in (one.original, b"null", *(ODD[what] for what in OF_ANOTHER_CLASS))
        )
        if whole == without:
            continue  # nothing depends on it here
        silent += [
            f"{what} at {one.name}"
            for what, said in zip(OF_ANOTHER_CLASS, others, strict=True)
            if said == without and not any(what in values and re.search(at, one.name) for at, values in SILENT)
        ]
    assert silent == []


@pytest.mark.parametrize("wire", [name for name in READ if name not in {*MANY, "ai-sdk-data"}])
def test_what_counts_and_is_of_another_class_leaves_a_trace(wire: str) -> None:
    check_traces(wire)


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("wire", MANY)
def test_what_counts_and_is_of_another_class_leaves_a_trace_on_wires_of_many_recordings(wire: str, part: int) -> None:
    check_traces(wire, part, 4)


def _said(outputs: list[Any]) -> tuple[Any, ...]:
    finish = outputs[-1]
    return in_words(outputs), finish.dropped, finish.logprobs, finish.explanation


# ---- Documents, errors, lists of models ----


@one_test_for("wire", [name for name in WRITTEN if not name.startswith("ai-sdk")])
def test_an_odd_value_anywhere_in_a_document_is_outputs_and_one_typed_end(wire: str) -> None:
    protocol = PROTOCOLS[wire]
    _, document = write_document(protocol, ASKED, _ANSWER, Reply("r", 1, 9))
    for number, (place, around) in enumerate(holes(document)):
        for what in few(number, 4):
            value = ODD[what]
            reader = StreamReader(wire, StreamOptions(citations=CitationMode.DATA))
            said = [*reader.feed_document(value.join(around)), *reader.end()]
            try:
                check_outputs(said)
                check_written(said, [wire])
            except Exception as error:
                error.add_note(f"{what} at {place}")
                raise


ERROR_BODIES: tuple[Any, ...] = (
    {
        "error": {
            "message": "Too much", "type": "rate_limit_error", "code": "rate_limit_exceeded", "param": "input",
            "status": "RESOURCE_EXHAUSTED", "metadata": {"raw": "{}", "provider_name": "p"},
            "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3s"}],
        },
        "request_id": "r",
    },
    {"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}},
    {"detail": [{"loc": ["body", "input"], "msg": "field required", "type": "missing"}]},
    {"base_resp": {"status_code": 1002, "status_msg": "limit"}},
    {"message": "no", "code": 429, "retry_after": 2, "errors": [{"message": "a"}]},
    [{"error": {"code": 400, "message": "bad", "status": "INVALID_ARGUMENT"}}],
)  # fmt: skip


@one_test_for("wire", [name for name, row in PROTOCOLS.items() if row.write_request is not None])
def test_an_odd_value_anywhere_in_the_body_of_an_error_is_one_typed_error(wire: str) -> None:
    errors = PROTOCOLS[wire].write_request().errors
    for body in ERROR_BODIES:
        for number, (_, around) in enumerate(holes(body)):
            for what in few(number, 4):
                data = ODD[what].join(around)
                error = http_error(429, {}, data, NOW, errors)
                assert str(error)
                assert 0 <= (error.retry_after or 0) < 1e10
                errors.overflow(error)
                check_outputs(read(wire, framed(wire, [data])))


LISTS = {name: value for name, value in vars(lists).items() if isinstance(value, dict) and name.isupper()}


@one_test_for("name", LISTS)
def test_an_odd_value_anywhere_in_what_says_models_is_a_record_or_a_problem(name: str) -> None:
    for number, (_, around) in enumerate(holes(LISTS[name])):
        for what in few(number, 4):
            try:
                document = loads(ODD[what].join(around))
            except JSONDecodeError:
                continue
            try:
                catalogue = discovery.read_catalogue(document)
            except UpstreamProtocolError:
                catalogue = discovery.Catalogue({})
            records = [entry.record for entry in catalogue.entries.values()]
            for model in offered_models(records, ModelSelection()):
                assert information_of(model, LimitSettings()).max_input_tokens >= 0
                assert isinstance(summary_of(model.record), str)
            discovery.next_page(document)
            for details in (model_shapes.ENDPOINTS, model_shapes.LLAMA_CPP_PROPS, model_shapes.OLLAMA_SHOW):
                for one in (document, *(document.values() if isinstance(document, dict) else ())):
                    try:
                        record = model_shapes.read_detail(details, "m", one)
                    except UpstreamProtocolError:
                        continue
                    assert record is None or isinstance(summary_of(record), str)


# ---- Over HTTP: a program that asks, and clients of a server of ours ----


def check_over_http(wire: Any, most: int) -> None:
    """Asks for some of the damaged answers, each at three doors."""
    others = itertools.cycle(other for other in WIRES if other is not wire)
    whole = [*damaged(wire.name)]
    chosen = whole[:: max(1, len(whole) // most)]
    odd = [(f"{what} at {one.name}", one.data(ODD[what])) for number, one in enumerate(chosen) for what in few(number)]
    head = Head(200, (("content-type", wire.protocol.framings[0].media_type),))
    faults: list[str] = []

    async def test() -> None:
        replies = [(head, Send(data), End()) for _, data in odd for _ in range(3)]
        async with server_of(*replies) as (url, requests):
            base_url = url.removesuffix("/v1") + wire.base_path
            async with gateway_to(base_url, protocol=wire.name, retry=RetryPolicy(attempts=1)) as gateway:
                application = app(gateway)
                for number, (what, _) in enumerate(odd):
                    answer = await ask(gateway, "Hi")
                    assert answer.error is None or isinstance(answer.error, LanguageModelError)
                    for client in (wire, next(others)):
                        (path, body), more = client.asking(MODEL.id)
                        reply = await ask_server(application, path, body, **more)
                        if reply.status != 200:  # refused before its first part, in the words of the wire
                            if not isinstance(said := reply.json, dict) or not said.get("error", said):
                                faults.append(f"{what}: {reply.body[:200]!r} for {client.name}")
                            continue
                        check_outputs(read(client.name, reply.body))
                    # Whatever came of it, each door has asked once.
                    assert len(requests) == 3 * number + 3, what

    run(test(), seconds=120)
    assert faults == []


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
def test_an_odd_answer_over_http_is_one_typed_outcome_at_every_door(
    wire: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        check_over_http(wire, 20)
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
def test_odd_answers_of_every_place_over_http_are_typed_outcomes_at_every_door(
    wire: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        check_over_http(wire, 150)
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []
