"""Signed thinking: the signature comes early, late, alone or again, and thinking comes as a list."""

from typing import Any

from matrix.rows import Event, Expected, Row

KIND = "The signature of thinking comes in another place, or with the thinking again."

_BOTH = Expected(text="Hi", thinking="Let me think.")


def _twice(kind: str) -> Expected:
    return Expected(text="Hi", thinking="Let me think.", unmapped=(f"{kind} (repeated)",))


_SUMMARY = Expected(text="Hello!", thinking="The user says hi.")


def _chat(*deltas: dict[str, Any]) -> tuple[Event, ...]:
    said = (*deltas, {"content": "Hi"})
    return (
        *({"id": "c1", "model": "m", "choices": [{"index": 0, "delta": delta}]} for delta in said),
        {"id": "c1", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    )


def _block(thinking: str, signature: str = "", *, field: str | None = None) -> dict[str, Any]:
    block = {"type": "thinking", "thinking": thinking, "signature": signature}
    beside = {} if field is None else {"reasoning_content": field}
    return {**beside, "thinking_blocks": [block]}


def _detail(said: str, **more: object) -> dict[str, Any]:
    return {"reasoning_details": [{"type": "reasoning.text", "text": said, **more}]}


def _summary(said: str, **more: object) -> dict[str, Any]:
    return {"content": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": said, **more}]}]}


def _chat_document(message: dict[str, Any]) -> Event:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return {"id": "c1", "object": "chat.completion", "model": "m", "choices": [choice]}


def _messages(*deltas: dict[str, Any], **start: object) -> tuple[Event, ...]:
    message = {"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": []}
    block = {"type": "thinking", "thinking": "", **start}
    said = {"type": "text_delta", "text": "Hi"}
    return (
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": said},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    )


def _thought(thinking: str, **more: object) -> dict[str, Any]:
    return {"type": "thinking_delta", "thinking": thinking, **more}


_LITELLM = "BerriAI/litellm#35118, open-webui#29860"
_SIGNED = {"type": "signature_delta", "signature": "SIG"}
_REPEATED = "the signed piece repeats the whole thinking"
_DATABRICKS = "tidyverse/ellmer#822, maximhq/bifrost#6958"

ROWS = (
    Row(
        _REPEATED,
        "chat-completions",
        _chat(_block("Let me ", field="Let me "), _block("think.", field="think."), _block("Let me think.", "SIG")),
        _twice("thinking"),
        _LITELLM,
    ),
    Row(
        "the signed piece and the field repeat the whole thinking",
        "chat-completions",
        _chat(
            _block("Let me ", field="Let me "),
            _block("think.", field="think."),
            _block("Let me think.", "SIG", field="Let me think."),
        ),
        _twice("thinking"),
    ),
    Row(
        "the signed piece repeats the whole thinking, without a field beside it",
        "chat-completions",
        _chat(_block("Let me "), _block("think."), _block("Let me think.", "SIG")),
        _twice("thinking"),
        _LITELLM,
    ),
    Row(
        "the signed entry of the details repeats the whole thinking",
        "chat-completions",
        _chat(_detail("Let me "), _detail("think."), _detail("Let me think.", signature="SIG")),
        _twice("reasoning.text"),
    ),
    Row(_REPEATED, "anthropic-messages",
        _messages(_thought("Let me "), _thought("think."), _thought("Let me think.", signature="SIG")),
        _twice("thinking")),
    Row("the signature comes first", "chat-completions", _chat(_block("", "SIG"), _block("Let me think.")), _BOTH),
    Row("the signature comes first", "anthropic-messages", _messages(_SIGNED, _thought("Let me think.")), _BOTH),
    Row("the signature comes alone at the end", "chat-completions",
        _chat(_block("Let me think."), _block("", "SIG")), _BOTH, "google/adk-python#5437, agno#8861, pi#9534"),
    Row("the signature comes alone at the end", "anthropic-messages",
        _messages(_thought("Let me think."), _SIGNED), _BOTH),
    Row("the signature comes twice", "anthropic-messages",
        _messages(_thought("Let me think."), _SIGNED, _SIGNED), _BOTH, "pensarai/apex#534"),
    Row("the block begins with signature and thinking", "anthropic-messages",
        _messages(thinking="Let me think.", signature="SIG"), _BOTH),
    Row("a signature without thinking", "anthropic-messages",
        _messages(_SIGNED), Expected(text="Hi"), "looplj/axonhub#1105"),
    Row("a signature without thinking", "chat-completions", _chat(_block("", "SIG")), Expected(text="Hi")),
    Row(
        "a part of the content with a summary",
        "chat-completions",
        _chat(_summary("The"), _summary(" user says hi."), {"content": [{"type": "text", "text": "Hello! "}]}),
        Expected(text="Hello! Hi", thinking="The user says hi."),
        _DATABRICKS,
    ),
    Row(
        "a part of the content with a summary",
        "chat-completions",
        _chat_document({"content": [*_summary("The user says hi.", signature="SIG")["content"],
                                    {"type": "text", "text": "Hello!"}]}),
        _SUMMARY,
        _DATABRICKS,
    ),
    Row(
        "a part of the content with its text",
        "chat-completions",
        _chat_document({"content": [{"type": "reasoning", "text": "The user says hi."},
                                    {"type": "text", "text": "Hello!"}]}),
        _SUMMARY,
    ),
    Row(
        "a field that is a list",
        "chat-completions",
        _chat({"reasoning": [{"type": "text", "text": "Let me "}]}, {"reasoning": ["think."]}),
        _BOTH,
    ),
)  # fmt: skip
