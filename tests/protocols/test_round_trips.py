"""What is written in a protocol is read again as it was, but for the losses that the protocol names: all of them, and
no others."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import recordings
from conversation.strategies import MESSAGES
from partstream.errors import CallerError, RequestNotExpressibleError
from partstream.messages import ChatMessage, RequestOptions
from partstream.outputs import Asked, CitationMode, FileMode, Reply, StreamOptions, StreamOutput
from partstream.protocols.losses import request_form, response_form
from partstream.protocols.protocol import Protocol
from partstream.protocols.reader import StreamReader
from partstream.protocols.recording import read_recording
from partstream.protocols.registry import PROTOCOLS
from partstream.protocols.translation import (
    frame_answer,
    read_document,
    read_question,
    write_answer,
    write_document,
    write_question,
)
from protocols.ai_sdk.streams import FOREIGN, OWN
from protocols.ai_sdk.streams import parameters as streams_of_the_sdk
from protocols.answers import answers, requests

WRITTEN = {name: row for name, row in PROTOCOLS.items() if row.write_response is not None}
SERVED = {name: row for name, row in WRITTEN.items() if row.read_request is not None and row.write_request is not None}
DOCUMENTED = {name: row for name, row in WRITTEN.items() if row.read_response().events_of is not None}

EVERYTHING = StreamOptions(citations=CitationMode.DATA, call_id_prefix="", files=FileMode.ADDRESS)
ASKED = Asked("small", (ChatMessage.user("Hi"),), RequestOptions())
REPLY = Reply("identity", 1)

every_writer = pytest.mark.parametrize("protocol", WRITTEN.values(), ids=WRITTEN)
every_server = pytest.mark.parametrize("protocol", SERVED.values(), ids=SERVED)
moderate = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])


def _losses(protocol: Protocol) -> Any:
    assert protocol.loses is not None, f"{protocol.name} writes and names no losses"
    return protocol.loses()


def _there_and_back(protocol: Protocol, outputs: list[StreamOutput], size: int | None = None) -> list[StreamOutput]:
    data = frame_answer(protocol, write_answer(protocol, ASKED, outputs, REPLY))
    reader = StreamReader(protocol, EVERYTHING)
    pieces = [data] if size is None else [data[start : start + size] for start in range(0, len(data), size)]
    return [*(output for piece in pieces for output in reader.feed(piece)), *reader.end()]


def _recorded_by_servers() -> list[Any]:
    """Every answer that a model server gave."""
    return [
        pytest.param(one.values[0].path, id=f"{folder}/{one.id}", marks=one.marks)
        for folder in ("openresponses", "chat_completions", "anthropic_messages", "gemini")
        for one in recordings.recordings(folder)
    ]


def _recorded() -> list[Any]:
    """Every recorded answer with the protocol that it is in."""
    wires = [pytest.param(one.values[0], None, id=one.id, marks=one.marks) for one in _recorded_by_servers()]
    sdk = [
        pytest.param(one.values[0].path, one.values[0].protocol, id=f"ai_sdk/{one.id}", marks=one.marks)
        for one in [*streams_of_the_sdk(OWN), *streams_of_the_sdk(FOREIGN)]
    ]
    return [*wires, *sdk]


@pytest.mark.parametrize(("path", "spoken"), _recorded())
def test_a_recorded_answer_survives_every_protocol(path: Path, spoken: str | None) -> None:
    outputs = list(read_recording(path.read_bytes(), str(path), spoken, EVERYTHING))
    for name, protocol in WRITTEN.items():
        losses = _losses(protocol).response
        assert response_form(_there_and_back(protocol, outputs), losses) == response_form(outputs, losses), name


@every_writer
@given(outputs=answers())
@moderate
def test_a_made_up_answer_survives_every_protocol(protocol: Protocol, outputs: list[StreamOutput]) -> None:
    losses = _losses(protocol).response
    expected = response_form(outputs, losses)
    assert response_form(_there_and_back(protocol, outputs), losses) == expected
    assert response_form(_there_and_back(protocol, outputs, size=7), losses) == expected


@pytest.mark.parametrize("path", _recorded_by_servers())
def test_a_recorded_answer_in_one_document_says_what_its_stream_says(path: Path) -> None:
    outputs = list(read_recording(path.read_bytes(), str(path), None, EVERYTHING))
    for protocol in DOCUMENTED.values():
        _compare_document(protocol, outputs)


@pytest.mark.parametrize("protocol", DOCUMENTED.values(), ids=DOCUMENTED)
@given(outputs=answers())
@moderate
def test_an_answer_in_one_document_says_what_its_stream_says(protocol: Protocol, outputs: list[StreamOutput]) -> None:
    _compare_document(protocol, outputs)


def _compare_document(protocol: Protocol, outputs: list[StreamOutput]) -> None:
    status, document = write_document(protocol, ASKED, outputs, REPLY)
    if status != 200:
        assert response_form(outputs).error is not None
        return
    read = read_document(protocol, json.dumps(document).encode(), EVERYTHING)
    losses = _losses(protocol).document
    assert response_form(read, losses) == response_form(_there_and_back(protocol, outputs), losses)


@every_server
@given(asked=requests())
@moderate
def test_a_made_up_request_survives_every_protocol(protocol: Protocol, asked: Asked) -> None:
    read = read_question(protocol, write_question(protocol, asked))
    losses = _losses(protocol).request
    assert request_form(read, losses) == request_form(asked, losses)
    assert read.unmapped == {}, "a request holds what its own reader does not know"


@every_server
@given(messages=MESSAGES)
@moderate
def test_any_conversation_says_the_same_when_it_is_written_again(
    protocol: Protocol, messages: list[ChatMessage]
) -> None:
    asked = Asked("small", (*messages, ChatMessage.user("Hi")), RequestOptions())
    try:
        once = read_question(protocol, write_question(protocol, asked))
    except RequestNotExpressibleError as error:  # not every server fetches files, or takes files of every type
        if not any(words in str(error) for words in ("the address of", "bytes of application/", "a file of ")):
            raise
        return
    again = read_question(protocol, write_question(protocol, once))
    losses = _losses(protocol).request
    assert request_form(again, losses) == request_form(once, losses)
    assert once.unmapped == {}


@every_writer
@given(outputs=answers())
@moderate
def test_a_writer_that_has_written_the_end_writes_nothing_more(protocol: Protocol, outputs: list[StreamOutput]) -> None:
    assert protocol.write_response is not None
    writer = protocol.write_response().open(ASKED, REPLY)
    for output in outputs:
        writer.write(output)
    with pytest.raises(CallerError):
        writer.write(outputs[-1])


@every_writer
def test_every_loss_has_a_name_of_its_own_and_a_sentence(protocol: Protocol) -> None:
    losses = _losses(protocol)
    for table in (losses.response, losses.document, losses.request):
        names = [loss.name for loss in table]
        assert len(set(names)) == len(names)
        assert all(loss.says.endswith(".") for loss in table)
