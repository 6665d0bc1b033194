"""What a served Ollama reads, refuses, answers and lists (docs/wires/ollama.md)."""

import json
from dataclasses import replace
from typing import Any

import pytest

from conversation.samples import PNG
from partstream import ChatMessage, DataPart, RequestOptions, Role, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream.errors import InvalidRequestError, UpstreamFailureError
from partstream.lm.outputs import Finish, InboundRequest, Outcome, Reply
from partstream.lm.parts import FinishReason, UnifiedFinishReason, Usage
from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.ollama.serve import READ_REQUEST, OllamaWriter
from partstream.protocols.serve import WireRequest
from partstream_devtools.testing.vendors import VENDORS
from protocols.ollama.test_write_request import IMAGE
from rows import one_test_for
from served_models import SERVED_MODELS

USER = {"role": "user", "content": "Hi"}
ASKED = InboundRequest("m", (ChatMessage.user("Hi"),), RequestOptions())


def _read(**body: Any) -> InboundRequest:
    return READ_REQUEST.read(WireRequest("/chat", {"model": "m", "messages": [USER], **body}))


# ---- requests ----


def test_a_request_streams_unless_it_says_otherwise() -> None:
    assert _read().stream
    assert not _read(stream=False).stream


def test_options_the_window_and_thinking_are_read() -> None:
    asked = _read(options={"temperature": 0, "num_ctx": 9000}, think="high", format="json", truncate=False)
    assert asked.options.model_options == {"temperature": 0, "format": "json"}
    assert asked.options.model_configuration == {"reasoningEffort": "high", "contextSize": 9000}
    assert asked.unmapped == {}
    assert _read(think=False).options.model_configuration == {"reasoningEffort": "none"}
    thinking = {True: True, "low": True, False: False, None: None}
    assert {think: _read(think=think).asks_to_think for think in thinking} == thinking


def test_what_a_client_wants_of_the_server_itself_is_counted() -> None:
    assert _read(keep_alive="5m", shift=True).unmapped == {"keep_alive": "5m", "shift": True}


def test_a_request_without_messages_loads_the_model() -> None:
    assert READ_REQUEST.read(WireRequest("/chat", {"model": "m"})).messages == ()


def test_messages_are_read_as_vs_code_has_them() -> None:
    call = {"id": "c1", "function": {"name": "look", "arguments": {"a": 1}}}
    messages = _read(
        messages=[
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What?", "images": [IMAGE]},
            {"role": "assistant", "content": "", "thinking": "Hm", "tool_calls": [call]},
            {"role": "tool", "content": "seen", "tool_name": "look", "tool_call_id": "c1"},
        ]
    ).messages
    assert messages == (
        ChatMessage.system("Be brief."),
        ChatMessage(Role.USER, (TextPart("What?"), DataPart(PNG, "image/png"))),
        ChatMessage.assistant([ThinkingPart("Hm"), ToolCallPart("c1", "look", {"a": 1})]),
        ChatMessage.user([ToolResultPart("c1", (TextPart("seen"),))]),
    )


def test_results_without_ids_find_their_calls_by_name_and_then_in_order() -> None:
    calls = [{"function": {"name": name, "arguments": {}}} for name in ("one", "two", "two")]
    messages = _read(
        messages=[
            USER,
            {"role": "assistant", "content": "", "tool_calls": calls},
            {"role": "tool", "content": "2", "tool_name": "two"},
            {"role": "tool", "content": "1", "tool_name": "one"},
            {"role": "tool", "content": "3"},
        ]
    ).messages
    ids = [part.call_id for part in messages[1].content if isinstance(part, ToolCallPart)]
    results = [part.call_id for part in messages[2].content if isinstance(part, ToolResultPart)]
    assert len(set(ids)) == 3
    assert results == [ids[1], ids[0], ids[2]]


WRONG: dict[str, dict[str, Any]] = {
    "messages": {"messages": "Hi"},
    "messages[0]": {"messages": ["Hi"]},
    "messages[0].role": {"messages": [{"role": "developer", "content": "Hi"}]},
    "messages[0].content": {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]},
    "messages[0].tool_calls[0].function.arguments": {
        "messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}]
    },
    "a call before it": {"messages": [{"role": "tool", "content": "1"}]},
    "tools": {"tools": {}},
    "tools[0].function": {"tools": [{"type": "function"}]},
    "stream": {"stream": "yes"},
    "options": {"options": []},
}


@one_test_for("where", WRONG)
def test_what_cannot_be_understood_is_refused_with_its_place(where: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        _read(**WRONG[where])
    assert where in str(caught.value)


REFUSED: dict[str, dict[str, Any]] = {
    "model is required": {"model": ""},
    'invalid think value: "extreme" (must be "high", "medium", "low", "max", true, or false)': {"think": "extreme"},
    "top_logprobs must be between 0 and 20": {"top_logprobs": 21},
    "illegal base64 data at input byte 4": {"messages": [{**USER, "images": ["data:image/png;base64,AAAA"]}]},
    '"llama2" does not support tools': {"model": "llama2", "tools": [{"type": "function"}]},
    '"llama3.2:1b" does not support thinking': {"model": "llama3.2:1b", "think": "low"},
    '"qwen3:4b" does not support vision': {"model": "qwen3:4b", "messages": [{**USER, "images": [IMAGE]}]},
}


@one_test_for("sentence", REFUSED)
def test_what_a_real_server_refuses_is_refused_in_its_words(sentence: str) -> None:
    with pytest.raises(RefusedRequestError) as caught:
        VENDORS["ollama"].refuse(WireRequest("/chat", {"model": "m", "messages": [USER], **REFUSED[sentence]}))
    assert (str(caught.value), caught.value.status) == (sentence, 400)


@pytest.mark.parametrize("body", [{}, {"model": "llama2", "think": False}, {"model": "gpt-oss:20b", "think": "max"}])
def test_what_a_real_server_takes_is_taken(body: dict[str, Any]) -> None:
    VENDORS["ollama"].refuse(WireRequest("/chat", {"model": "m", "messages": [USER], **body}))


# ---- answers ----


def _lines(*outputs: Any) -> list[dict[str, Any]]:
    writer = OllamaWriter(ASKED, Reply("identity", 1_784_000_000))
    return [line for output in outputs for line in writer.write(output)]


STOPPED = Finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.STOP), Usage(7, 3))


def test_an_answer_is_lines_and_a_last_one_with_the_tokens() -> None:
    first, second, last = _lines(TextPart("Hi"), ToolCallPart("c1", "look", {"a": 1}), STOPPED)
    head = {"model": "m", "created_at": "2026-07-14T03:33:20Z"}
    assert first == {**head, "message": {"role": "assistant", "content": "Hi"}, "done": False}
    function = {"index": 0, "name": "look", "arguments": {"a": 1}}
    assert second["message"]["tool_calls"] == [{"id": "c1", "function": function}]
    assert last == {
        **head,
        "message": {"role": "assistant", "content": ""},
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": 7,
        "eval_count": 3,
    }
    assert OllamaWriter.frame(first).endswith(b"}\n")
    assert OllamaWriter.content_type == "application/x-ndjson"


def test_a_failure_is_a_line_and_no_end_follows() -> None:
    failed = replace(STOPPED, outcome=Outcome.FAILED, error=UpstreamFailureError("out of memory"))
    assert _lines(TextPart("Hi"), failed)[1:] == [{"error": "out of memory"}]
    assert OllamaWriter.document(_lines(TextPart("Hi"), failed)) == (500, {"error": "out of memory"})


def test_a_document_is_the_last_line_with_the_whole_message() -> None:
    lines = _lines(ThinkingPart("Hm"), TextPart("H"), TextPart("i"), DataPart(PNG, "image/png"), STOPPED)
    status, document = OllamaWriter.document(lines)
    assert (status, document["done"]) == (200, True)
    assert document["message"] == {"role": "assistant", "content": "Hi", "thinking": "Hm", "images": [IMAGE]}


# ---- documents ----


def _served(path: str, **body: Any) -> Any:
    document = next(one for one in OllamaWriter.documents if one.path == path)
    status, answer = document.answer(WireRequest(path, body), SERVED_MODELS, 0)
    assert status == 200
    return json.loads(json.dumps(answer))


def test_the_models_and_what_they_can_do_are_listed() -> None:
    listed = _served("/tags")["models"]
    assert [one["model"] for one in listed] == [model.id for model in SERVED_MODELS]
    shown = _served("/show", model=SERVED_MODELS[0].id)
    assert shown["capabilities"] == listed[0]["capabilities"]
    assert shown["model_info"]["partstream.context_length"] > 0
    assert _served("/ps") == {"models": []}
    assert _served("/version")["version"]


def test_a_model_that_is_missing_is_not_shown() -> None:
    with pytest.raises(RefusedRequestError) as caught:
        _served("/show", model="nobody")
    assert (str(caught.value), caught.value.status) == ("model 'nobody' not found", 404)


@one_test_for(
    ("seconds", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (951_782_400, "2000-02-29T00:00:00Z"),
        (951_868_799, "2000-02-29T23:59:59Z"),
        (1_798_761_599, "2026-12-31T23:59:59Z"),
        (4_107_542_400, "2100-03-01T00:00:00Z"),
    ],
)
def test_a_moment_is_written_as_rfc_3339_demands(seconds: int, text: str) -> None:
    (line,) = OllamaWriter(ASKED, Reply("identity", seconds)).write(TextPart("Hi"))
    assert line["created_at"] == text
