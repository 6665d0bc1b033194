"""What is written in a protocol is read again as it was, but for what the table of the protocol names as unsupported:
all of it, and nothing else."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import recordings
from conversation.strategies import MESSAGES
from partstream.errors import CallerError, RequestNotExpressibleError
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import CitationMode, FileMode, InboundRequest, Reply, StreamOptions, StreamOutput
from partstream.protocols.protocol import PROTOCOLS, Protocol
from partstream.protocols.reader import StreamReader
from partstream.runtime.translation import (
    frame_answer,
    read_document,
    read_question,
    write_answer,
    write_document,
    write_question,
)
from partstream.server.replies import AnswerBytes
from partstream_devtools.recorded_stream import read_recording
from protocols.ai_sdk.streams import FOREIGN, OWN
from protocols.ai_sdk.streams import parameters as streams_of_the_sdk
from protocols.answers import answers, requests
from unsupported import UNSUPPORTED, request_form, response_form

WRITTEN = {name: row for name, row in PROTOCOLS.items() if row.write_response is not None}
SERVED = {name: row for name, row in WRITTEN.items() if row.read_request is not None and row.write_request is not None}
DOCUMENTED = {name: row for name, row in WRITTEN.items() if row.read_response().has_documents}

EVERYTHING = StreamOptions(citations=CitationMode.DATA, call_id_prefix="", files=FileMode.ADDRESS)
ASKED = InboundRequest("small", (ChatMessage.user("Hi"),), RequestOptions())
REPLY = Reply("identity", 1)

every_writer = pytest.mark.parametrize("protocol", WRITTEN.values(), ids=WRITTEN)
moderate = settings(suppress_health_check=[HealthCheck.too_slow])


def _there_and_back(protocol: Protocol, outputs: list[StreamOutput], size: int | None = None) -> list[StreamOutput]:
    data = frame_answer(protocol, write_answer(protocol, ASKED, outputs, REPLY))
    assert _written_part_by_part(protocol, outputs) == data, f"{protocol.name}: the short way writes other bytes"
    reader = StreamReader(protocol, EVERYTHING)
    pieces = [data] if size is None else [data[start : start + size] for start in range(0, len(data), size)]
    return [*(output for piece in pieces for output in reader.feed(piece)), *reader.end()]


def _written_part_by_part(protocol: Protocol, outputs: list[StreamOutput]) -> bytes:
    assert protocol.write_response is not None
    corner = protocol.write_response()
    written = AnswerBytes(corner(ASKED, REPLY), corner.stream_form(ASKED))
    return b"".join([*map(written.write, outputs), written.end()])


def _recorded_by_servers() -> list[Any]:
    """Every answer that a model server gave."""
    return [
        pytest.param(one.values[0].path, id=f"{folder}/{one.id}", marks=one.marks)
        for folder in ("openresponses", "chat_completions", "anthropic_messages", "gemini")
        for one in recordings.recordings(folder)
    ]


def _recorded() -> list[Any]:
    """Every recorded answer with the protocol that it is in, and the protocols that it is written in.

    The versions of the AI SDK recorded the same scenarios: their recordings of one share the protocols among them.
    """
    wires = [pytest.param(one.values[0], None, WRITTEN, id=one.id, marks=one.marks) for one in _recorded_by_servers()]
    scenarios: dict[str, list[Any]] = {}
    for one in [*streams_of_the_sdk(OWN), *streams_of_the_sdk(FOREIGN)]:
        scenarios.setdefault(one.values[0].scenario, []).append(one)
    sdk = [
        pytest.param(recorded.path, recorded.protocol, shared, id=f"ai_sdk/{one.id}", marks=one.marks)
        for ones in scenarios.values()
        for place, one in enumerate(ones)
        for recorded in one.values
        for shared in [{recorded.protocol, *list(WRITTEN)[place % 3 :: min(len(ones), 3)]}]
    ]
    return [*wires, *sdk]


@pytest.mark.parametrize(("path", "spoken", "written"), _recorded())
def test_a_recorded_answer_survives_every_protocol(path: Path, spoken: str | None, written: Collection[str]) -> None:
    """Also in one document, if a model server gave it."""
    outputs = list(read_recording(path.read_bytes(), str(path), spoken, EVERYTHING))
    for name in sorted(written):
        streamed = _assert_survives(WRITTEN[name], outputs)
        if spoken is None and name in DOCUMENTED:
            _compare_document(WRITTEN[name], outputs, streamed)


def _assert_survives(protocol: Protocol, outputs: list[StreamOutput]) -> list[StreamOutput]:
    """What the protocol gives back of the answer, which is the answer but for what the protocol has no place for."""
    streamed = _there_and_back(protocol, outputs)
    unsupported = UNSUPPORTED[protocol.name].response
    assert response_form(streamed, unsupported) == response_form(outputs, unsupported), protocol.name
    return streamed


def _compare_document(protocol: Protocol, outputs: list[StreamOutput], streamed: list[StreamOutput]) -> None:
    """The answer in one document says what its stream says."""
    status, document = write_document(protocol, ASKED, outputs, REPLY)
    if status != 200:
        assert response_form(outputs).error is not None, protocol.name
        return
    read = read_document(protocol, json.dumps(document).encode(), EVERYTHING)
    unsupported = UNSUPPORTED[protocol.name].document
    assert response_form(read, unsupported) == response_form(streamed, unsupported), protocol.name


# Each example is drawn once for all protocols: drawing one takes longer than to write it and to read it.


@given(outputs=answers())
@moderate
def test_a_made_up_answer_survives_every_protocol(outputs: list[StreamOutput]) -> None:
    for protocol in WRITTEN.values():
        streamed = _assert_survives(protocol, outputs)
        unsupported = UNSUPPORTED[protocol.name].response
        split = _there_and_back(protocol, outputs, size=7)
        assert response_form(split, unsupported) == response_form(outputs, unsupported), protocol.name
        if protocol.name in DOCUMENTED:
            _compare_document(protocol, outputs, streamed)


@given(asked=requests())
@moderate
def test_a_made_up_request_survives_every_protocol(asked: InboundRequest) -> None:
    for protocol in SERVED.values():
        read = read_question(protocol, write_question(protocol, asked))
        unsupported = UNSUPPORTED[protocol.name].request
        assert request_form(read, unsupported) == request_form(asked, unsupported), protocol.name
        assert read.unmapped == {}, f"a request of {protocol.name} holds what its own reader does not know"


@given(messages=MESSAGES)
@moderate
def test_any_conversation_says_the_same_when_it_is_written_again(messages: list[ChatMessage]) -> None:
    asked = InboundRequest("small", (*messages, ChatMessage.user("Hi")), RequestOptions())
    for protocol in SERVED.values():
        _assert_says_the_same_again(protocol, asked)


def _assert_says_the_same_again(protocol: Protocol, asked: InboundRequest) -> None:
    try:
        once = read_question(protocol, write_question(protocol, asked))
    except RequestNotExpressibleError as error:  # not every server fetches files, or takes files of every type
        if not any(words in str(error) for words in ("the address of", "bytes of application/", "a file of ")):
            raise
        return
    again = read_question(protocol, write_question(protocol, once))
    unsupported = UNSUPPORTED[protocol.name].request
    assert request_form(again, unsupported) == request_form(once, unsupported), protocol.name
    assert once.unmapped == {}, protocol.name


@given(outputs=answers())
@moderate
def test_a_writer_that_has_written_the_end_writes_nothing_more(outputs: list[StreamOutput]) -> None:
    for protocol in WRITTEN.values():
        assert protocol.write_response is not None
        writer = protocol.write_response()(ASKED, REPLY)
        for output in outputs:
            writer.write(output)
        with pytest.raises(CallerError):
            writer.write(outputs[-1])


@every_writer
def test_every_unsupported_feature_has_a_name_of_its_own_and_a_sentence(protocol: Protocol) -> None:
    unsupported = UNSUPPORTED[protocol.name]
    for table in (unsupported.response, unsupported.document, unsupported.request):
        names = [feature.name for feature in table]
        assert len(set(names)) == len(names)
        assert all(feature.says.endswith(".") for feature in table)
