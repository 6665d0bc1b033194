"""What the writer gives is valid by the official types, and the official helper makes of its chunks what the document
says. Every list has indices for that helper, which raises where one is missing."""

from typing import Any

from hypothesis import example, given

from partstream import DataPart, FinishReason, TextPart, ThinkingPart, ToolCallPart, UnifiedFinishReason, Usage
from partstream.conversation.citations import CITATION_MIME_TYPE
from partstream.conversation.media import URI_LIST
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import Finish, InboundRequest, Outcome, Reply, StreamOutput
from partstream.protocols.chat_completions.serve import ChatCompletionsWriter
from protocols.answers import answers

OPTIONS = {"stream_options": {"include_usage": True}}
ASKED = InboundRequest("small", (ChatMessage.user("Hi"),), RequestOptions(), body=OPTIONS)
STATE = (
    {"type": "reasoning", "encrypted_content": "x"},
    {"type": "message-field", "reasoning_details": [{"type": "reasoning.text", "text": "Hm.", "index": 0}]},
    {"type": "message-field", "toolCallId": "call_1", "extra_content": {"google": {"thought_signature": "y"}}},
)
EVERYTHING: list[StreamOutput] = [
    ThinkingPart("Hm."),
    *(ThinkingPart("", None, {"reasoning_items": list(STATE[: number + 1])}) for number in range(len(STATE))),
    TextPart("Hi"),
    *(DataPart.json({"url": f"https://{name}.example"}, CITATION_MIME_TYPE) for name in "ab"),
    *(DataPart.text(f"https://{name}.example/picture.png", URI_LIST) for name in "ab"),
    ToolCallPart("call_1", "look_up", {"word": "tide"}),
    Finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.TOOL_CALLS), Usage(3, 2, 5)),
]
LISTS = ("images", "annotations", "reasoning_details")


def _written(outputs: list[StreamOutput], argument_size: int | None = None) -> list[dict[str, Any]]:
    writer = ChatCompletionsWriter(ASKED, Reply("identity", 1, argument_size))
    return [event for output in outputs for event in writer.write(output)]


@given(answers())
@example(EVERYTHING)
def test_every_chunk_and_every_document_is_valid_by_the_official_types(outputs: list[StreamOutput]):
    from openai.types.chat import ChatCompletion, ChatCompletionChunk  # a second, which only these tests pay

    events = _written(outputs)
    for event in events:
        if "error" not in event:
            ChatCompletionChunk.model_validate(event)
    status, document = ChatCompletionsWriter.document(events)
    if status == 200:
        ChatCompletion.model_validate(document)


@given(answers())
@example(EVERYTHING)
def test_the_official_helper_makes_the_document_of_the_chunks(outputs: list[StreamOutput]):
    from openai.lib.streaming.chat import ChatCompletionStreamState
    from openai.types.chat import ChatCompletionChunk

    events = _written(outputs, argument_size=5)
    status, document = ChatCompletionsWriter.document(events)
    state: ChatCompletionStreamState[None] = ChatCompletionStreamState()
    for event in events:
        if "error" not in event:
            list(state.handle_chunk(ChatCompletionChunk.model_validate(event)))
    if status == 200:
        assert _said(state.current_completion_snapshot.to_dict()) == _said(document)


def _said(completion: dict[str, Any]) -> dict[str, Any]:
    (choice,) = completion["choices"]
    message = choice["message"]
    calls = [{name: call[name] for name in ("id", "type", "function")} for call in message.get("tool_calls") or []]
    return {
        "content": message.get("content") or "",
        "thinking": message.get("reasoning_content"),
        "calls": [call | {"function": _function(call["function"])} for call in calls],
        "finish": choice["finish_reason"],
        "usage": completion.get("usage"),
        **{name: [_without_index(entry) for entry in message.get(name) or []] for name in LISTS},
    }


def _function(function: dict[str, Any]) -> tuple[str, str]:
    return function["name"], function["arguments"]


def _without_index(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "index"}
