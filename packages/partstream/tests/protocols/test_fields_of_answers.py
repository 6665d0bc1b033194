"""What a model server says and no output holds is named once at the end, by its path and without its value."""

from __future__ import annotations
import json
from typing import Any

import pytest

from partstream.codec.checks import places
from partstream.conversation.citations import CITATION_MIME_TYPE
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import CitationMode, Finish, InboundRequest, Outcome, Reply, StreamOptions
from partstream.lm.parts import DataPart, FinishReason, TextPart, ThinkingPart, UnifiedFinishReason, Usage
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.read_response import MOST_LOGPROBS
from partstream.runtime.translation import frame_answer, read_answer, read_document, write_answer, write_document
from rows import one_test_for

VALUE = "planted-value"
STOPPED = FinishReason(UnifiedFinishReason.STOP)


def _said_in_chat(**fields: Any) -> dict[str, Any]:
    return {"id": "c", "model": "m", "choices": [{"index": 0, "delta": {"content": "Hi"}} | fields]}


STREAMS: dict[str, tuple[str, list[dict[str, Any]], tuple[str, ...]]] = {
    "a field of a chunk": (
        "chat-completions",
        [_said_in_chat(logprobs={"refusal": [{"token": VALUE}]}), _said_in_chat(delta={}, finish_reason="stop")],
        ("choices[].logprobs.refusal",),
    ),
    "a field of every chunk": (
        "chat-completions",
        [
            *[_said_in_chat() | {"moderation": {"at": number}} for number in range(1, 9)],
            _said_in_chat(finish_reason="stop"),
        ],
        ("moderation",),
    ),
    "what a source says beside its address": (
        "chat-completions",
        [
            _said_in_chat() | {"search_results": [{"url": "https://a/", "title": "A", "snippet": VALUE}]},
            _said_in_chat(delta={}, finish_reason="stop") | {"citations": ["https://a/"]},
        ],
        ("search_results[].snippet",),
    ),
    "fields that say nothing": (
        "chat-completions",
        [
            _said_in_chat(logprobs=None, seen=[{"at": None}])
            | {"service_tier": "default", "moderation": {"flags": {}}},
            _said_in_chat(delta={}, finish_reason="stop") | {"usage": {"prompt_tokens": 3, "audio_tokens": 0}},
        ],
        (),
    ),
    "what an item, a part and the response say": (
        "openresponses",
        [
            {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "phase": VALUE}},
            {"type": "response.output_text.delta", "output_index": 0, "delta": "Hi", "tone": VALUE},
            {
                "type": "response.output_text.annotation.added",
                "output_index": 0,
                "annotation": {"type": "url_citation", "url": "https://a.example/", "tone": VALUE},
            },
            {
                "type": "response.completed",
                "response": {
                    "status": "completed",
                    "output": [],
                    "speed": VALUE,
                    "moderation": {"output": {"flagged": True}},  # a verdict, where the request has a wish
                },
            },
        ],
        ("output[].phase", "tone", "output[].content[].annotations[].tone", "speed", "moderation"),
    ),
    "what a block, a delta and a message say": (
        "anthropic-messages",
        [
            {"type": "message_start", "message": {"id": "m", "content": [], "usage": {"speed": VALUE}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "", "tone": VALUE}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn", "mood": VALUE}},
            {"type": "message_stop"},
        ],
        ("usage.speed", "content[].tone", "delta.mood"),
    ),
    "what sources and parts say": (
        "gemini",
        [
            {"candidates": [{"content": {"parts": [{"text": "Hi", "partMetadata": {"a": VALUE}}]}}]},
            {
                "candidates": [
                    {
                        "finishReason": "STOP",
                        "groundingMetadata": {"groundingChunks": [{"web": {"uri": "https://a/", "domain": VALUE}}]},
                        "avgLogprobs": -0.5,
                    }
                ]
            },
        ],
        (
            "candidates[].content.parts[].partMetadata",
            "candidates[].groundingMetadata.groundingChunks[].web.domain",
            "candidates[].avgLogprobs",
        ),
    ),
    "what a line says": (
        "ollama",
        [
            {
                "model": "m",
                "created_at": "t",
                "message": {"content": "Hi"},
                "done": False,
                "mood": [{"token": VALUE}],
            },
            {"model": "m", "created_at": "t", "message": {"content": ""}, "done": True, "done_reason": "stop"},
        ],
        ("mood",),
    ),
}


@one_test_for(("wire", "events", "names"), STREAMS.values(), ids=STREAMS)
def test_the_end_names_them_once_and_no_value(wire, events, names):
    said = read_answer(PROTOCOLS[wire], frame_answer(PROTOCOLS[wire], events))
    assert said[-1].outcome is Outcome.COMPLETED
    assert said[-1].dropped == names
    assert VALUE not in repr(said[-1].dropped)


def test_a_document_names_them_as_they_are_in_it():
    message = {"role": "assistant", "content": "Hi", "audio": {"data": "", "transcript": "", "id": VALUE}}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": {"refusal": [{"token": "Hi"}]}}
    document = {"id": "c", "model": "m", "choices": [choice], "usage": {"prompt_tokens_details": {"audio_tokens": 7}}}
    said = read_document(PROTOCOLS["chat-completions"], json.dumps(document).encode())
    assert said[-1].dropped == (
        "choices[].message.audio.id",
        "choices[].logprobs.refusal",
        "usage.prompt_tokens_details.audio_tokens",
    )


def test_an_answer_that_says_nothing_else_names_nothing():
    (_, finish) = read_answer(
        PROTOCOLS["chat-completions"],
        frame_answer(PROTOCOLS["chat-completions"], [_said_in_chat(), _said_in_chat(delta={}, finish_reason="stop")]),
    )
    assert finish.dropped == ()


def test_names_that_a_server_invents_are_few_and_short():
    invented = {f"{'x' * 10_000}{number}": VALUE for number in range(50)} | {f"f{n}": 1 for n in range(10_000)}
    events = [_said_in_chat() | invented, _said_in_chat(delta={}, finish_reason="stop")]
    said = read_answer(PROTOCOLS["chat-completions"], frame_answer(PROTOCOLS["chat-completions"], events))
    assert len(said[-1].dropped) == 100
    assert max(map(len, said[-1].dropped)) == 200


def test_a_place_of_the_table_that_nothing_leads_to_is_found():
    for protocol in PROTOCOLS.values():
        reads = protocol.read_response().reads
        reached = {""} | {inner.replace("[]", "") for known in reads.values() for inner in known.values() if inner}
        assert {place.partition("[")[0] for place in reads} <= reached


def test_a_row_of_several_paths_and_types_is_a_place_for_each():
    table = places({"": "a=b.c[] d", "d[x|y] b.c": "e"})
    assert table == {"": {"a": "b.c[]", "d": "d"}, "d[x]": {"e": None}, "d[y]": {"e": None}, "b.c": {"e": None}}


# ---- Log probabilities ----

LOGPROBS = (
    {
        "token": "Hi",
        "logprob": -0.25,
        "bytes": [72, 105],
        "top_logprobs": [{"token": "Ho", "logprob": -2.5, "bytes": [72, 111]}],
    },
    {"token": "!", "logprob": -0.5, "bytes": [33], "top_logprobs": []},
)
CARRIES_LOGPROBS = ["openresponses", "chat-completions", "gemini", "ollama"]


@pytest.mark.parametrize("document", [False, True], ids=["stream", "document"])
@pytest.mark.parametrize("wire", CARRIES_LOGPROBS)
def test_log_probabilities_come_back_from_each_wire_that_has_a_place_for_them(wire, document):
    protocol, asked = PROTOCOLS[wire], InboundRequest("m", (ChatMessage.user("Hi"),), RequestOptions())
    outputs = [TextPart("Hi!"), Finish(Outcome.COMPLETED, STOPPED, Usage(9, 5, 14), logprobs=LOGPROBS)]
    if document:
        _, whole = write_document(protocol, asked, outputs, Reply("r", 0))
        said = read_document(protocol, json.dumps(whole).encode())
    else:
        events = write_answer(protocol, asked, outputs, Reply("r", 0))
        said = read_answer(protocol, frame_answer(protocol, events))
    assert said[-1].logprobs == LOGPROBS
    assert said[-1].dropped == ()


LOGPROB = {"token": "Hi", "logprob": -0.25, "bytes": [72, 105]}
PIECES: dict[str, tuple[str, dict[str, Any], list[dict[str, Any]]]] = {
    "chat-completions": (
        "chat-completions",
        _said_in_chat(logprobs={"content": [LOGPROB]}),
        [_said_in_chat(delta={}, finish_reason="stop")],
    ),
    "openresponses": (
        "openresponses",
        {"type": "response.output_text.delta", "output_index": 0, "delta": "Hi", "logprobs": [LOGPROB]},
        [{"type": "response.completed", "response": {"status": "completed", "output": []}}],
    ),
    "gemini": (
        "gemini",
        {
            "candidates": [
                {
                    "content": {"parts": [{"text": "Hi"}]},
                    "logprobsResult": {"chosenCandidates": [{"token": "Hi", "logProbability": -0.25}]},
                }
            ]
        },
        [{"candidates": [{"finishReason": "STOP"}]}],
    ),
    "ollama": (
        "ollama",
        {"model": "m", "created_at": "t", "message": {"content": "Hi"}, "done": False, "logprobs": [LOGPROB]},
        [{"model": "m", "created_at": "t", "message": {}, "done": True, "done_reason": "stop"}],
    ),
}


@one_test_for(("wire", "piece", "end"), PIECES.values(), ids=PIECES)
def test_no_log_probability_is_lost_where_pieces_are_equal(wire, piece, end):
    said = read_answer(PROTOCOLS[wire], frame_answer(PROTOCOLS[wire], [*[piece] * 5, *end]))
    assert said[-1].logprobs == (LOGPROB,) * 5


def test_the_log_probabilities_of_a_great_many_tokens_are_bounded():
    many = _said_in_chat(logprobs={"content": [{**LOGPROB, "top_logprobs": [LOGPROB] * 30}] * 5000})
    protocol = PROTOCOLS["chat-completions"]
    said = read_answer(protocol, frame_answer(protocol, [many, _said_in_chat(delta={}, finish_reason="stop")]))
    assert len(said[-1].logprobs) == MOST_LOGPROBS // 21
    assert len(said[-1].logprobs[0]["top_logprobs"]) == 20
    assert said[-1].dropped == ("logprobs (beyond 50,000)",)


# ---- What the client's wire has no place for ----


def _citation(**fields: Any) -> DataPart:
    return DataPart.json({"type": "citation", "url": "https://a.example/", **fields}, CITATION_MIME_TYPE)


def _served(tier: str) -> Finish:
    return Finish(Outcome.COMPLETED, STOPPED, Usage(9, 5, 14), provider_metadata={"x": {"serviceTier": tier}})


FACTS: dict[str, tuple[str, Any, set[str]]] = {
    "a source, where there is no place for sources": (
        "ollama",
        _citation(title="A"),
        {"citation.title", "citation.url"},
    ),
    "the words of a source": ("openresponses", _citation(citedText="Hi"), {"citation.citedText"}),
    "a source without an address": (
        "gemini",
        DataPart.json({"type": "citation", "sourceId": "file-1"}, CITATION_MIME_TYPE),
        {"citation"},
    ),
    "log probabilities": ("anthropic-messages", Finish(Outcome.COMPLETED, STOPPED, logprobs=LOGPROBS), {"logprobs"}),
    "a picture": ("anthropic-messages", DataPart(b"\x89PNG", "image/png"), {"image"}),
    "a mark for programs": ("anthropic-messages", DataPart(b"{}", "usage"), set()),
    "state that a server remembers": ("ollama", ThinkingPart("Hm", metadata={"signature": "s"}), set()),
    "counts": ("ollama", Finish(Outcome.COMPLETED, STOPPED, Usage(9, 5, 14, 3)), {"usage.cached_tokens"}),
    "one side of the usage": ("chat-completions", Finish(Outcome.COMPLETED, STOPPED, Usage(9)), {"usage.half"}),
    "a text and a plain end": ("chat-completions", Finish(Outcome.COMPLETED, STOPPED, Usage(9, 5, 14)), set()),
    "the place of a source in the text": ("gemini", _citation(startIndex=0, endIndex=2, citedText="Hi"), set()),
    "the words of a source, in interactions": (
        "gemini-interactions",
        _citation(startIndex=0, citedText="Hi"),
        {"citation.citedText"},
    ),
    "a source and a picture of a run": ("ag-ui", _citation(title="A"), {"citation.title", "citation.url"}),
    "a picture of a run": ("ag-ui", DataPart(b"\x89PNG", "image/png"), {"image"}),
    "log probabilities of a run": ("ag-ui", Finish(Outcome.COMPLETED, STOPPED, logprobs=LOGPROBS), {"logprobs"}),
    "what a filter ended, in interactions": (
        "gemini-interactions",
        Finish(Outcome.INCOMPLETE, FinishReason(UnifiedFinishReason.CONTENT_FILTER), explanation="No."),
        {"finish_reason.filter", "explanation"},
    ),
    "log probabilities for the AI SDK": ("ai-sdk", Finish(Outcome.COMPLETED, STOPPED, logprobs=LOGPROBS), {"logprobs"}),
    "the word of a server for the AI SDK": (
        "ai-sdk",
        Finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.OTHER, "tired"), Usage(9, 5, 14, 3)),
        set(),
    ),
    "facts through the gateway": (
        "ai-gateway",
        Finish(
            Outcome.COMPLETED,
            FinishReason(UnifiedFinishReason.OTHER, "tired"),
            explanation="No.",
            provider_metadata={"x": {"y": 1}},
        ),
        {"explanation"},
    ),
    "a service tier without a word": ("chat-completions", _served("batch"), {"serviceTier"}),
    "a service tier with a word": ("chat-completions", _served("priority"), set()),
    "the usual service tier of Google": ("openresponses", _served("standard"), set()),
    "a fact of the provider": (
        "openresponses",
        Finish(Outcome.COMPLETED, STOPPED, provider_metadata={"ollama": {"load_duration": 3}}),
        {"load_duration"},
    ),
}


@one_test_for(("wire", "output", "names"), FACTS.values(), ids=FACTS)
def test_the_writer_names_what_its_wire_has_no_place_for(wire, output, names):
    asked = InboundRequest("m", (ChatMessage.user("Hi"),), RequestOptions())
    writer = PROTOCOLS[wire].write_response()(asked, Reply("r", 0))
    for one in (TextPart("Hi"), output):
        writer.write(one)
    assert {*writer.dropped} == names


TIERS = {
    "openresponses": ("flex", "priority", "scale"),
    "chat-completions": ("flex", "priority", "scale"),
    "anthropic-messages": ("priority", "batch"),
    "gemini": ("flex", "priority"),
}


@pytest.mark.parametrize(("wire", "tier"), [(wire, tier) for wire, known in TIERS.items() for tier in known])
def test_the_service_tier_that_answered_comes_back_from_each_wire_with_a_word_for_it(wire, tier):
    protocol, asked = PROTOCOLS[wire], InboundRequest("m", (ChatMessage.user("Hi"),), RequestOptions(), stream=False)
    _, whole = write_document(protocol, asked, [TextPart("Hi!"), _served(tier)], Reply("r", 0))
    said = read_document(protocol, json.dumps(whole).encode())[-1]
    assert (said.fact("serviceTier"), said.dropped) == (tier, ())


@pytest.mark.parametrize("wire", ["gemini", "gemini-interactions"])
@pytest.mark.parametrize("document", [False, True], ids=["stream", "document"])
def test_the_place_of_a_source_comes_back_in_characters_from_wires_that_count_bytes(wire, document):
    protocol, asked = PROTOCOLS[wire], InboundRequest("m", (ChatMessage.user("Hi"),), RequestOptions())
    pieces = ["Gr\u00fc\u00dfe \U0001f642", " aus K\u00f6ln", "."]
    outputs = [
        *map(TextPart, pieces),
        _citation(title="A", startIndex=8, endIndex=16),
        Finish(Outcome.COMPLETED, STOPPED),
    ]
    options = StreamOptions(citations=CitationMode.DATA)
    if document:
        _, whole = write_document(protocol, asked, outputs, Reply("r", 0))
        said = read_document(protocol, json.dumps(whole).encode(), options)
    else:
        said = read_answer(
            protocol, frame_answer(protocol, write_answer(protocol, asked, outputs, Reply("r", 0))), options
        )
    (cited,) = (json.loads(one.data) for one in said if isinstance(one, DataPart))
    assert "".join(pieces)[cited["startIndex"] : cited["endIndex"]] == "aus K\u00f6ln"


@pytest.mark.parametrize("wire", ["openresponses", "chat-completions", "anthropic-messages", "gemini", "ollama"])
def test_what_one_wire_writes_it_reads_whole(wire):
    asked = InboundRequest("m", (ChatMessage.user("Hi"),), RequestOptions())
    writer = PROTOCOLS[wire].write_response()(asked, Reply("r", 0))
    usage = Usage(9, 5, 14, 3, 2, cache_write_tokens=1)
    outputs = [ThinkingPart("Hm"), TextPart("Hi"), _citation(title="A"), Finish(Outcome.COMPLETED, STOPPED, usage)]
    events = [event for output in outputs for event in writer.write(output)]
    assert read_answer(PROTOCOLS[wire], frame_answer(PROTOCOLS[wire], events))[-1].dropped == ()
