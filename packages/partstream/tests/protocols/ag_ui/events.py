"""Events of AG-UI as agents send them, short to write."""

from typing import Any

from partstream.lm.outputs import StreamOptions, StreamOutput
from partstream.protocols.ag_ui.read_response import AGUIReader

START = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"}
END = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def read(*events: dict[str, Any], **options: Any) -> list[StreamOutput]:
    """What a whole run means."""
    stream = AGUIReader(StreamOptions(**{"call_id_prefix": "", **options}))
    return [*(output for event in events for output in stream.feed(event)), *stream.end()]


def run_of(*events: dict[str, Any], **end: Any) -> list[StreamOutput]:
    """What a run means that begins and ends well; `end` are further fields of its last event."""
    return read(START, *events, {**END, **end})


def said(text: str, message: str = "m1", **fields: Any) -> list[dict[str, Any]]:
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": message, "role": "assistant", **fields},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": message, "delta": text, **fields},
        {"type": "TEXT_MESSAGE_END", "messageId": message, **fields},
    ]


def thought(text: str, message: str = "r1") -> list[dict[str, Any]]:
    return [
        {"type": "REASONING_START", "messageId": message},
        {"type": "REASONING_MESSAGE_START", "messageId": message, "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": message, "delta": text},
        {"type": "REASONING_MESSAGE_END", "messageId": message},
        {"type": "REASONING_END", "messageId": message},
    ]


def called(call_id: str, name: str, arguments: str = "{}", parent: str = "m1") -> list[dict[str, Any]]:
    middle = len(arguments) // 2
    return [
        {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name, "parentMessageId": parent},
        {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": arguments[:middle]},
        {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": arguments[middle:]},
        {"type": "TOOL_CALL_END", "toolCallId": call_id},
    ]


def result(call_id: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {
        "type": "TOOL_CALL_RESULT",
        "messageId": f"of-{call_id}",
        "toolCallId": call_id,
        "content": content,
        **fields,
    }
