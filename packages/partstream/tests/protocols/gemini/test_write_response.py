"""Answers as a server of Gemini writes them: chunks, an array, a document, errors, and what comes beside answers."""

import json
from typing import Any

import pytest

from partstream.conversation.citations import CITATION_MIME_TYPE
from partstream.conversation.provider_state import ITEMS
from partstream.errors import UpstreamHTTPError
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import Finish, InboundRequest, Outcome, Reply, StreamOutput
from partstream.lm.parts import DataPart, FinishReason, TextPart, ThinkingPart, ToolCallPart, UnifiedFinishReason, Usage
from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.gemini.provider_state import is_made_up, read_sealed
from partstream.protocols.gemini.serve import GeminiResponseWriter
from partstream.protocols.serve import ServedModel, WireRequest, fits_path, literal_size
from protocols.openresponses.wire import Event
from rows import one_test_for

DONE = Finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.STOP), Usage(9, 325, 334, 4, 302))


def asked(model: str = "gemini-2.5-flash", dialect: str = "") -> InboundRequest:
    return InboundRequest(model, (ChatMessage.user("Hi"),), RequestOptions(), dialect=dialect)


def write(*outputs: StreamOutput, model: str = "gemini-2.5-flash", finish: Finish = DONE) -> list[Event]:
    writer = GeminiResponseWriter(asked(model), Reply("identity", 1))
    return [event for output in (*outputs, finish) for event in writer.write(output)]


def parts(events: list[Event]) -> list[Event]:
    return [part for event in events for one in event["candidates"] for part in one["content"]["parts"]]


def test_an_answer_is_chunks_whose_last_says_why_it_ends_and_what_it_cost() -> None:
    events = write(ThinkingPart("Hm."), TextPart("Hi"), ToolCallPart("c1", "f", {"a": 1}))
    assert parts(events) == [
        {"text": "Hm.", "thought": True},
        {"text": "Hi"},
        {"functionCall": {"id": "c1", "name": "f", "args": {"a": 1}}},
        {"text": ""},
    ]
    last = events[-1]
    assert last["candidates"][0]["finishReason"] == "STOP"
    assert last["usageMetadata"] == {
        "promptTokenCount": 9,
        "candidatesTokenCount": 23,
        "thoughtsTokenCount": 302,
        "totalTokenCount": 334,
        "cachedContentTokenCount": 4,
    }
    assert all(one["modelVersion"] == "gemini-2.5-flash" and one["responseId"] for one in events)
    assert not any("finishReason" in one["candidates"][0] for one in events[:-1])


@one_test_for(
    ("outcome", "unified", "word"),
    [
        (Outcome.INCOMPLETE, UnifiedFinishReason.LENGTH, "MAX_TOKENS"),
        (Outcome.INCOMPLETE, UnifiedFinishReason.CONTENT_FILTER, "SAFETY"),
        (Outcome.COMPLETED, UnifiedFinishReason.TOOL_CALLS, "STOP"),
        (Outcome.COMPLETED, UnifiedFinishReason.OTHER, "OTHER"),
        (Outcome.INCOMPLETE, None, "MAX_TOKENS"),
    ],
)
def test_the_end_has_a_word_of_googles(outcome: Outcome, unified: UnifiedFinishReason | None, word: str) -> None:
    reason = None if unified is None else FinishReason(unified, "a word of others")
    assert write(finish=Finish(outcome, reason))[-1]["candidates"][0]["finishReason"] == word


def test_a_signature_stands_where_it_stood() -> None:
    items = [
        {"type": "gemini-part", "toolCallId": "c1", "given": True, "thoughtSignature": "s"},
        {"type": "gemini-part", "textLength": 0, "thoughtSignature": "t"},
    ]
    events = write(TextPart("Hi"), ThinkingPart("", None, {ITEMS: items}), ToolCallPart("c1", "f", {}))
    assert parts(events)[1:3] == [
        {"text": "", "thoughtSignature": "t"},
        {"functionCall": {"id": "c1", "name": "f", "args": {}}, "thoughtSignature": "s"},
    ]


def test_the_state_of_other_protocols_is_sealed_into_a_signature() -> None:
    item = {"type": "reasoning", "encrypted_content": "x"}
    events = write(ThinkingPart("", None, {ITEMS: [item], "origin": "o"}), TextPart("Hi"))
    sealed = read_sealed(parts(events)[0]["thoughtSignature"])
    assert sealed == (item, {"origin": "o"})


@pytest.mark.parametrize(("model", "expected"), [("gemini-3-flash", [True, False]), ("gemini-2.5-pro", [False, False])])
def test_the_first_call_of_a_model_that_signs_has_a_signature(model: str, expected: list[bool]) -> None:
    written = parts(write(ToolCallPart("c1", "f", {}), ToolCallPart("c2", "f", {}), model=model))
    assert [is_made_up(one.get("thoughtSignature", "")) for one in written[:2]] == expected


def test_files_and_sources_have_their_places() -> None:
    source = DataPart.json({"type": "citation", "url": "https://e.org/a", "title": "A"}, CITATION_MIME_TYPE)
    address = DataPart.text("https://e.org/a.png", "text/uri-list")
    events = write(TextPart("See"), source, DataPart(b"png", "image/png"), address)
    assert parts(events)[1:3] == [
        {"inlineData": {"mimeType": "image/png", "data": "cG5n"}},
        {"fileData": {"fileUri": "https://e.org/a.png"}},
    ]
    grounding = events[-1]["candidates"][0]["groundingMetadata"]
    assert grounding == {"groundingChunks": [{"web": {"uri": "https://e.org/a", "title": "A"}}]}


def test_an_answer_that_fails_ends_with_an_error() -> None:
    error = UpstreamHTTPError(503, provider_message="The model is overloaded.")
    events = write(TextPart("Hi"), finish=Finish(Outcome.FAILED, None, None, error=error))
    assert events[-1] == {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
    assert GeminiResponseWriter.document(events) == (503, {"error": events[-1]["error"]})


def test_a_document_joins_the_texts_of_its_chunks() -> None:
    events = write(ThinkingPart("H"), ThinkingPart("m."), TextPart("a"), TextPart("b"), ToolCallPart("c1", "f", {}))
    status, document = GeminiResponseWriter.document(events)
    assert status == 200
    assert document["candidates"][0]["content"]["parts"] == [
        {"text": "Hm.", "thought": True},
        {"text": "ab"},
        {"functionCall": {"id": "c1", "name": "f", "args": {}}},
    ]
    assert document["usageMetadata"]["totalTokenCount"] == 334


@pytest.mark.parametrize("dialect", ["", "array"])
def test_without_events_a_stream_is_one_array(dialect: str) -> None:
    form = GeminiResponseWriter.stream_form(asked(dialect=dialect))
    events = write(TextPart("Hi"))
    data = form.start + form.separator.join(map(form.frame, events)) + form.end
    if dialect:
        assert json.loads(data) == events
        assert form.content_type.startswith("application/json")
    else:
        assert data.count(b"data: ") == data.count(b"\r\n\r\n") == len(events)


# ---- what comes beside answers ----

MODELS = [ServedModel(f"m{number}", f"M {number}", 1000, 100, True, True, True, None, None) for number in range(120)]


def document(method: str, path: str, query: str = "", body: Any = None) -> tuple[int, Any]:
    fitting = [one for one in GeminiResponseWriter.documents if one.method == method and fits_path(one.path, path)]
    found = max(fitting, key=lambda one: literal_size(one.path))
    request = WireRequest(path, body or {}, query=query, method=method)
    tokens = 0 if found.counts is None else len(found.counts(request).messages)
    return found.answer(request, MODELS, tokens)


def test_the_models_come_in_pages() -> None:
    names: list[str] = []
    page: Any = {"nextPageToken": "0"}
    while "nextPageToken" in page:
        _, page = document("GET", "/models", f"pageToken={page['nextPageToken']}")
        names += [one["name"] for one in page["models"]]
    assert names == [f"models/m{number}" for number in range(120)]
    assert len(document("GET", "/models", "pageSize=1000")[1]["models"]) == 120


def test_one_model_says_what_it_takes() -> None:
    _, model = document("GET", "/models/m3")
    assert (model["name"], model["inputTokenLimit"], model["outputTokenLimit"]) == ("models/m3", 1000, 100)
    assert "streamGenerateContent" in model["supportedGenerationMethods"]
    with pytest.raises(RefusedRequestError, match="models/no is not found for API version v1beta"):
        document("GET", "/models/no")


def test_the_tokens_of_a_request_are_counted_with_its_system_and_without() -> None:
    contents = [{"role": "user", "parts": [{"text": "Hi"}]}]
    whole = {"contents": contents, "systemInstruction": {"parts": [{"text": "Be brief."}]}, "model": "models/m1"}
    assert document("POST", "/models/m1:countTokens", body={"contents": contents})[1]["totalTokens"] == 1
    body = {"generateContentRequest": whole}
    assert document("POST", "/models/m1:countTokens", body=body)[1]["totalTokens"] == 2
