"""The endpoint that compacts a conversation: the model writes a summary, which stands for what it summarises.

The reply holds the messages that are worth their room as they are, calls that still wait for their output, and one
`compaction` item with the summary. Its text is signed with the secret of the installation, so that it is read again
after a restart and by another worker, and nobody puts words into a model's mouth with it. The client sends the whole
output back as input (specification 2026-04-24, "Compaction").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import dumps
from partstream.errors import AdapterUsageError
from partstream.messages import ChatMessage, RequestOptions
from partstream.outputs import Finish, InboundRequest, Outcome
from partstream.parts import DataPart, TextPart, ToolCallPart, ToolResultPart
from partstream.protocols.failures import RefusedRequestError, common_reply
from partstream.protocols.openresponses.asked_items import read_items
from partstream.protocols.openresponses.errors import error_document, error_of, error_payload, incomplete_reason
from partstream.protocols.openresponses.output_items import COMPACTION, Identifiers, written_usage
from partstream.protocols.openresponses.stored_responses import STATE, SUMMARY, sealed_summary
from partstream.protocols.read_request import Counts, optional_text, required_text
from partstream.protocols.serve import FurtherEndpoint, RequestReaderSpec, ResponseWriterSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.outputs import Reply, StreamOutput
    from partstream.parts import MessagePart
    from partstream.protocols.serve import WireRequest

__all__ = ["COMPACT"]

_KEPT_CHARACTERS: Final = 60_000
"""The most characters of messages that a reply repeats as JSON, from the newest back; about 15,000 tokens."""

_TASK: Final = """\
Summarise the conversation above so that it can be continued without its messages. Keep:
- what the person wants, decided and refused, in their own terms;
- facts, names, paths, numbers, code and results of tools that later turns need, exactly;
- what has been done, what failed and why;
- what is still open, and the next step.
Write nothing but the summary, in the language of the conversation."""

# ---- the request ----


def _read(request: WireRequest) -> InboundRequest:
    """The request for a summary: the conversation and the task, without tools.

    Raises:
        InvalidRequestError: The model is missing, or a field has the wrong type.
        RefusedRequestError: There is no conversation.
    """
    body = request.body
    model = required_text(body, "model", "")
    messages = [_without_calls(message) for message in read_items(body.get("input"), Counts())]
    if not messages:
        raise RefusedRequestError("got no input to compact, expected input or previous_response_id", "input")
    if instructions := optional_text(body, "instructions"):
        messages.insert(0, ChatMessage.system(instructions))
    cache_key = optional_text(body, "prompt_cache_key")
    options = {"_conversationId": cache_key} if cache_key else {}
    return InboundRequest(
        model=model,
        messages=(*messages, ChatMessage.user(_TASK)),
        options=RequestOptions(model_options=options),
        stream=False,
        body=body,
    )


def _without_calls(message: ChatMessage) -> ChatMessage:
    """The message with calls and results as text: some servers take neither without the tools, which nobody sends
    here."""
    parts: list[MessagePart] = []
    for part in message.content:
        if isinstance(part, ToolCallPart):
            parts.append(TextPart(f"[Call {part.call_id} of the tool {part.name}: {dumps(dict(part.input)).decode()}]"))
        elif isinstance(part, ToolResultPart):
            parts.append(TextPart(f"[Result of call {part.call_id}:]"))
            parts += part.content
        elif isinstance(part, TextPart | DataPart):
            parts.append(part)
    return ChatMessage(message.role, parts or [TextPart("[thinking]")], message.name)


# ---- the reply ----

_KEPT_ROLES: Final = ("user", "system", "developer")


class _CompactionWriter:
    """One compacted conversation; see :class:`partstream.outputs.ResponseWriter`."""

    def __init__(self, asked: InboundRequest, reply: Reply) -> None:
        self._asked = asked
        self._reply = reply
        self._pieces: list[str] = []
        self._finished = False

    def write(self, output: StreamOutput) -> list[dict[str, Any]]:
        """Takes the next output; returns the reply with the Finish.

        Raises:
            AdapterUsageError: The Finish was written before.
        """
        if self._finished:
            raise AdapterUsageError("written to after the Finish")
        if isinstance(output, TextPart):
            self._pieces.append(output.value)
        if not isinstance(output, Finish):
            return []
        self._finished = True
        return [self._end(output)]

    def _end(self, finish: Finish) -> dict[str, Any]:
        summary = "".join(self._pieces).strip()
        if finish.outcome not in (Outcome.COMPLETED, Outcome.INCOMPLETE) or finish.error is not None:
            return {"error": error_payload(error_of(finish.error))}
        if finish.outcome is Outcome.INCOMPLETE or not summary:
            why = incomplete_reason(finish.reason) if finish.outcome is Outcome.INCOMPLETE else "an empty answer"
            return error_document(500, f"the model wrote no whole summary: {why}")
        identifiers = Identifiers(self._reply.identity)
        item = {
            "type": COMPACTION,
            "id": identifiers.make("cmp", "summary"),
            "encrypted_content": sealed_summary(summary, self._reply.secret),
        }
        return {
            "id": identifiers.make("resp", "compaction"),
            "object": "response.compaction",
            "created_at": self._reply.created_at,
            "output": [*_kept(self._asked.body.get("input"), identifiers), item],
            "usage": written_usage(finish) or _NO_USAGE,
        }


_NO_USAGE: Final = {
    "input_tokens": 0,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 0,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 0,
}


def _kept(value: object, identifiers: Identifiers) -> list[dict[str, Any]]:
    """What of the conversation stays as it is: messages of people and rules, the newest of them, and open calls."""
    items = value if isinstance(value, list) else [{"role": "user", "content": value}]
    answered = {item.get("call_id") for item in items if _is(item, "function_call_output")}
    kept: list[dict[str, Any]] = []
    room = _KEPT_CHARACTERS
    for place in range(len(items) - 1, -1, -1):
        item = items[place]
        if _is(item, "function_call"):
            if item.get("call_id") not in answered:
                kept.append({"status": "completed", **item, "id": item.get("id") or identifiers.make("fc", place)})
            continue
        message = _message(item, identifiers.make("msg", place))
        if message is not None and room >= 0:
            room -= len(dumps(message))
            if room >= 0:
                kept.append(message)
    return kept[::-1]


def _message(item: Any, item_id: str) -> dict[str, Any] | None:
    """A message in the form that items of an output have; None for what the summary stands for."""
    is_message = isinstance(item, Mapping) and item.get("type") in ("message", None) and "role" in item
    if not is_message or item["role"] not in _KEPT_ROLES:
        return None
    content = item.get("content")
    parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else list(content or ())
    if parts and str(parts[0].get("text", "")).startswith(SUMMARY):
        return None
    return {
        "type": "message",
        "id": item.get("id") or item_id,
        "status": "completed",
        "role": item["role"],
        "content": [{"detail": "auto", **part} if part.get("type") == "input_image" else part for part in parts],
    }


def _is(item: object, kind: str) -> bool:
    return isinstance(item, Mapping) and item.get("type") == kind


def _document(events: Sequence[Mapping[str, Any]]) -> tuple[int, dict[str, Any]]:
    reply = dict(events[-1])
    return (500, reply) if "error" in reply else (200, reply)


def _never(_request: WireRequest) -> bool:
    return False


COMPACT: Final = FurtherEndpoint(
    "/responses/compact",
    RequestReaderSpec(read=_read),
    ResponseWriterSpec(
        open=_CompactionWriter,
        frame=dumps,
        document=_document,
        error=error_document,
        fail=common_reply,
        state=replace(STATE, keeps=_never, routes=()),
    ),
)
