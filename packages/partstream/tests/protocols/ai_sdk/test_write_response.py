"""What the writers of the SDK's streams have in common, and what each of them writes beside."""

import json
from typing import Any

import pytest
from hypothesis import given

from conversation.samples import PNG
from partstream.codec.json_codec import loads
from partstream.conversation.citations import CITATION_MIME_TYPE
from partstream.errors import AdapterUsageError, UpstreamFailureError
from partstream.lm.outputs import Finish, Outcome, StreamOutput
from partstream.lm.parts import DataPart, FinishReason, TextPart, ThinkingPart, ToolCallPart, UnifiedFinishReason
from partstream.protocols.ai_sdk.read_response import CHUNKS
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.read_response import LifecycleEvent, LifecycleState
from protocols.ai_sdk.wire import WRITERS, Chunk, Writer, frame, read_framed
from protocols.answers import answers
from protocols.feeding import strict_step
from protocols.openresponses.wire import comparable
from protocols.test_round_trips import moderate
from rows import one_test_for

STREAMS = ("ai-sdk", "ai-sdk-ui", "ai-sdk-data")
STOPPED = Finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.STOP, "end_turn"))
FAILED = Finish(Outcome.FAILED, FinishReason(UnifiedFinishReason.ERROR), error=UpstreamFailureError("It broke."))
SIGNED = {"type": "reasoning", "text": "hm", "providerOptions": {"anthropic": {"signature": "s"}}}
URL = "https://example.com"

every_writer = pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
every_stream = pytest.mark.parametrize("protocol", STREAMS)


def write(protocol: str, *outputs: StreamOutput, finish: Finish = STOPPED) -> list[Chunk]:
    return Writer(protocol, protocol).write([*outputs, finish], None)


def types(chunks: list[Chunk]) -> list[str]:
    return [chunk["type"] for chunk in chunks]


@every_writer
@given(outputs=answers())
@moderate
def test_every_answer_lives_by_the_strict_rows_of_the_table(writer: Writer, outputs: list[StreamOutput]) -> None:
    goes_on = writer.protocol in {"ai-sdk-ui", "ai-sdk-data"}
    state = LifecycleState.IDLE
    for chunk in writer.write(outputs):
        kind = LifecycleEvent.CONTENT if chunk["type"].startswith("data-") else CHUNKS[chunk["type"]].kind
        step = strict_step(state, LifecycleEvent.ANSWER_END if goes_on and chunk["type"] == "finish" else kind)
        assert step is not None, f"{chunk['type']} in the state {state.name}"
        state = step.next_state
    assert state is (LifecycleState.ANSWERED if goes_on else LifecycleState.FINISHED)


@every_writer
@given(outputs=answers())
@moderate
def test_every_block_that_opens_is_closed_before_the_next_one(writer: Writer, outputs: list[StreamOutput]) -> None:
    open_block: tuple[str, str] | None = None
    for chunk in writer.write(outputs):
        kind, _, step = chunk["type"].partition("-")
        if kind not in {"text", "reasoning"} or "id" not in chunk:
            assert open_block is None or writer.written == "ai-sdk-data"
            continue
        block = kind, chunk["id"]
        assert open_block == (None if step == "start" else block)
        open_block = None if step == "end" else block
    assert open_block is None


@every_stream
def test_the_bytes_are_read_as_those_that_recorders_write(protocol: str) -> None:
    chunks = write(protocol, TextPart("größe"), ToolCallPart("1", "f", {"a": None}), DataPart(PNG, "image/png"))
    corner = PROTOCOLS[protocol].write_response
    assert corner is not None
    ours = read_framed([corner().frame(chunk) for chunk in chunks], protocol)
    assert comparable(ours) == comparable(read_framed(frame(protocol, chunks), protocol))


def test_the_ui_stream_holds_a_place_for_tokens_and_ends_with_its_mark() -> None:
    *_, finish = write("ai-sdk-ui")
    assert finish["finishReason"] == "stop"
    assert finish["messageMetadata"]["totalUsage"]["totalTokens"] == 10
    corner = PROTOCOLS["ai-sdk-ui"].write_response
    assert corner is not None
    assert corner().end_of_stream == b"data: [DONE]\n\n"


@one_test_for(
    ("part", "chunk"),
    [
        (DataPart.json([1], "application/vnd.vercel.weather+json"), {"type": "data-weather", "data": [1]}),
        (
            DataPart(b"[1, 2]", "application/vnd.vercel.weather+json"),  # not as its reader would write it
            {
                "type": "file",
                "url": "data:application/vnd.vercel.weather+json;base64,WzEsIDJd",
                "mediaType": "application/vnd.vercel.weather+json",
            },
        ),
        (DataPart.text(URL, "text/uri-list"), {"type": "file", "url": URL, "mediaType": "text/uri-list"}),
        (
            DataPart(b"a", 'text/plain; charset="a,b"'),
            {"type": "file", "url": "data:text/plain;base64,YQ==", "mediaType": 'text/plain; charset="a,b"'},
        ),
        (
            DataPart.json({"type": "file_citation", "file_id": "f1", "filename": "a.pdf"}, CITATION_MIME_TYPE),
            {
                "type": "source-document",
                "sourceId": "f1",
                "mediaType": "application/octet-stream",
                "title": "a.pdf",
                "filename": "a.pdf",
            },
        ),
    ],
)
def test_data_of_the_ui_stream_is_what_it_came_from(part: DataPart, chunk: Chunk) -> None:
    assert write("ai-sdk-ui", part)[2] == chunk


@one_test_for(
    "part",
    [
        DataPart(b"1", "usage"),
        DataPart(b"no JSON", CITATION_MIME_TYPE),
        DataPart.json(["no object"], CITATION_MIME_TYPE),
        DataPart.json({"title": "no address"}, CITATION_MIME_TYPE),
    ],
)
@every_stream
def test_what_is_neither_a_file_nor_a_source_is_left_out(protocol: str, part: DataPart) -> None:
    assert write(protocol, part) == write(protocol)


def test_the_data_stream_signs_a_thought_and_redacts_another() -> None:
    redacted = {"type": "reasoning", "text": "", "providerOptions": {"anthropic": {"redactedData": "r"}}}
    thought = ThinkingPart("hm", None, {"reasoning_items": [SIGNED]})
    chunks = write("ai-sdk-data", thought, ThinkingPart("", None, {"reasoning_items": [SIGNED, redacted]}))
    assert chunks[1:4] == [
        {"type": "reasoning", "textDelta": "hm"},
        {"type": "reasoning-signature", "signature": "s"},
        {"type": "redacted-reasoning", "data": "r"},
    ]


@pytest.mark.parametrize("protocol", ["ai-sdk", "ai-sdk-ui"])
def test_items_that_are_listed_again_are_written_once_and_those_of_another_list_as_well(protocol: str) -> None:
    other = {**SIGNED, "text": "so"}
    chunks = write(
        protocol,
        ThinkingPart("hm", "a", {"reasoning_items": [SIGNED]}),
        ThinkingPart("", "a", {"reasoning_items": [SIGNED]}),
        ThinkingPart("so", "b", {"reasoning_items": [other]}),  # not what was listed before, and one more
    )
    ends = [chunk for chunk in chunks if chunk["type"] == "reasoning-end"]
    assert [(end["id"], "providerMetadata" in end) for end in ends] == [("a", True), ("b", True)]


@pytest.mark.parametrize("protocol", ["ai-sdk", "ai-sdk-ui"])
def test_an_item_of_another_text_than_was_shown_is_wrapped(protocol: str) -> None:
    chunks = write(protocol, ThinkingPart("h", "a"), ThinkingPart("", "a", {"reasoning_items": [SIGNED]}))
    (end,) = (chunk for chunk in chunks if chunk["type"] == "reasoning-end")
    assert end["providerMetadata"] == {"partstream": {"item": SIGNED}}


@every_stream
def test_a_failure_is_an_error_before_the_ends(protocol: str) -> None:
    chunks = write(protocol, TextPart("so far"), finish=FAILED)
    ends = [kind for kind in types(chunks) if kind == "error" or kind.startswith(("finish", "step-finish"))]
    assert ends[0] == "error"
    assert len(ends) == 3


@every_stream
def test_there_is_no_document_in_place_of_a_stream(protocol: str) -> None:
    corner = PROTOCOLS[protocol].write_response
    assert corner is not None
    with pytest.raises(AdapterUsageError, match="no document"):
        corner().document([])


@every_stream
def test_an_http_error_says_its_sentence(protocol: str) -> None:
    corner = PROTOCOLS[protocol].write_response
    assert corner is not None
    said: Any = corner().error(500, "It broke.")
    assert loads(json.dumps(said)) == {"error": {"message": "It broke."}}
