"""Writes answers as canonical OpenResponses events, the served side of the protocol; knows no socket and no clock.

What is written is valid by the published schema and in the order that the specification asks for ("Streaming",
version 2026-04-24): `output_item.added`, `content_part.added`, deltas, the `.done` of each, `output_item.done`; the
terminal event holds the whole response. Neighbouring function calls are open together and their deltas alternate.
"""

from __future__ import annotations

import base64
import hashlib
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from partstream.json_codec import dumps
from partstream.protocols.openresponses.serve_request import read_request
from partstream.protocols.serving import (
    Answer,
    Citation,
    Completed,
    Ending,
    Failed,
    Incomplete,
    RefusalBlock,
    ServedProtocol,
    ServedRequest,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    count_tokens,
    grouped,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from partstream.outputs import Reply

__all__ = ["PROTOCOL", "error_body", "frame", "write_document", "write_events"]


def write_events(request: ServedRequest, answer: Answer, reply: Reply) -> list[dict[str, Any]]:
    """The whole stream of one answer, from `response.created` to the terminal event."""
    return _ResponseWriter(request, answer, reply).write()


def write_document(events: Sequence[Mapping[str, Any]]) -> tuple[int, dict[str, Any]]:
    """What a client gets that did not ask for a stream: the response of the terminal event, or its failure."""
    response: dict[str, Any] = dict(events[-1]["response"])
    if response["status"] == "failed":
        return 500, error_body(500, response["error"]["message"])
    return 200, response


def frame(event: Mapping[str, Any]) -> bytes:
    """The bytes of one event: `event` equals `type`, line feeds only, no `id` (specification, "Streaming")."""
    name = event.get("type")
    head = f"event: {name}\n".encode() if isinstance(name, str) else b""
    return head + b"data: " + dumps(event) + b"\n\n"


# The specification's error types; the codes are those that OpenAI sends with the same status.
_ERROR_KINDS: Final[dict[int, tuple[str, str | None]]] = {
    400: ("invalid_request", None),
    401: ("authentication_error", "invalid_api_key"),
    403: ("permission_error", "permission_denied"),
    404: ("not_found", "not_found"),
    429: ("too_many_requests", "rate_limit_exceeded"),
}


def error_body(status: int, message: str) -> dict[str, Any]:
    """The JSON body of an HTTP error."""
    default = ("server_error", "server_error") if status >= 500 else ("invalid_request", None)
    kind, code = _ERROR_KINDS.get(status, default)
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


# ---- writing ----

_TextualBlock: TypeAlias = TextBlock | RefusalBlock | ThinkingBlock


class _Channel(NamedTuple):
    """How one kind of text is streamed."""

    part: str
    field: str
    event: str
    part_event: str
    index_field: str


_CHANNELS: Final[dict[type, _Channel]] = {
    TextBlock: _Channel("output_text", "text", "response.output_text", "response.content_part", "content_index"),
    RefusalBlock: _Channel("refusal", "refusal", "response.refusal", "response.content_part", "content_index"),
    # The summary is the one channel of reasoning that every known client reads.
    ThinkingBlock: _Channel(
        "summary_text",
        "text",
        "response.reasoning_summary_text",
        "response.reasoning_summary_part",
        "summary_index",
    ),
}

_ITEM_STATUS: Final[dict[type, str]] = {Completed: "completed", Incomplete: "incomplete"}


class _ResponseWriter:
    """Writes one response; lives as long as that takes."""

    def __init__(self, request: ServedRequest, answer: Answer, reply: Reply) -> None:
        self._request = request
        self._answer = answer
        self._reply = reply
        self._response_id = self._identifier("resp", "response")
        self._events: list[dict[str, Any]] = []
        self._output: list[dict[str, Any]] = []
        self._opened = 0

    def write(self) -> list[dict[str, Any]]:
        self._emit("response.created", response=self._resource("in_progress"))
        self._emit("response.in_progress", response=self._resource("in_progress"))
        groups = grouped(self._answer.blocks)
        for number, group in enumerate(groups, start=1):
            ending = self._answer.ending if number == len(groups) else Completed()
            if isinstance(group, list):
                self._write_calls(group, ending)
            else:
                self._write_text(group, ending)
        self._write_ending(self._answer.ending)
        return self._events

    def _write_text(self, block: _TextualBlock, ending: Ending) -> None:
        channel = _CHANNELS[type(block)]
        output_index = self._next_output_index()
        item = self._new_text_item(block, output_index)
        where = {"item_id": item["id"], "output_index": output_index, channel.index_field: 0}
        self._emit("response.output_item.added", output_index=output_index, item=dict(item))
        self._emit(f"{channel.part_event}.added", **where, part=_part(channel, "", ()))
        log_probabilities: dict[str, Any] = {"logprobs": []} if isinstance(block, TextBlock) else {}
        citations = block.citations if isinstance(block, TextBlock) else ()
        length = written = 0
        for piece in block.pieces:
            self._emit(f"{channel.event}.delta", **where, delta=piece, **log_probabilities)
            length += len(piece)
            while written < len(citations) and citations[written].end <= length:
                annotation = _annotation(citations[written])
                self._emit(
                    "response.output_text.annotation.added", **where, annotation_index=written, annotation=annotation
                )
                written += 1
        if isinstance(ending, Failed):
            return
        text = "".join(block.pieces)
        part = _part(channel, text, citations)
        self._emit(f"{channel.event}.done", **where, **{channel.field: text}, **log_probabilities)
        self._emit(f"{channel.part_event}.done", **where, part=part)
        if isinstance(block, ThinkingBlock):
            self._close(output_index, item | {"summary": [part]} | self._encrypted_content(output_index))
        else:
            self._close(output_index, item | {"content": [part], "status": _ITEM_STATUS[type(ending)]})

    def _new_text_item(self, block: _TextualBlock, output_index: int) -> dict[str, Any]:
        if isinstance(block, ThinkingBlock):
            return {"type": "reasoning", "id": self._identifier("rs", output_index), "summary": []}
        item_id = self._identifier("msg", output_index)
        return {"type": "message", "id": item_id, "status": "in_progress", "role": "assistant", "content": []}

    def _encrypted_content(self, output_index: int) -> dict[str, Any]:
        """Something opaque that only this reply can have given, when the request asks for it; never null."""
        if "reasoning.encrypted_content" not in (self._request.body.get("include") or ()):
            return {}
        opaque = base64.b64encode(self._identifier("encrypted", output_index).encode()).decode()
        return {"encrypted_content": opaque}

    def _write_calls(self, blocks: Sequence[ToolCallBlock], ending: Ending) -> None:
        opened: list[tuple[int, dict[str, Any], ToolCallBlock]] = []
        for block in blocks:
            output_index = self._next_output_index()
            item = {
                "type": "function_call",
                "id": self._identifier("fc", output_index),
                "call_id": self._identifier("call", output_index),
                "name": block.name,
                "arguments": "",
                "status": "in_progress",
            }
            self._emit("response.output_item.added", output_index=output_index, item=dict(item))
            opened.append((output_index, item, block))
        for row in zip_longest(*(block.pieces for block in blocks)):
            for (output_index, item, _), piece in zip(opened, row, strict=True):
                if piece is not None:
                    where = {"item_id": item["id"], "output_index": output_index}
                    self._emit("response.function_call_arguments.delta", **where, delta=piece)
        if isinstance(ending, Failed):
            return
        for output_index, item, block in opened:
            arguments = "".join(block.pieces)
            where = {"item_id": item["id"], "output_index": output_index}
            self._emit("response.function_call_arguments.done", **where, arguments=arguments)
            self._close(output_index, item | {"arguments": arguments, "status": _ITEM_STATUS[type(ending)]})

    def _close(self, output_index: int, item: dict[str, Any]) -> None:
        self._emit("response.output_item.done", output_index=output_index, item=item)
        self._output.append(item)

    def _write_ending(self, ending: Ending) -> None:
        changes: dict[str, Any] = {"output": list(self._output), "usage": self._usage()}
        if isinstance(ending, Failed):
            payload = {"type": "server_error", "code": ending.code, "message": ending.message, "param": None}
            self._emit("error", error=payload)
            changes["error"] = {"code": ending.code, "message": ending.message}
            self._emit("response.failed", response=self._resource("failed") | changes)
        elif isinstance(ending, Incomplete):
            changes["incomplete_details"] = {"reason": ending.reason}
            self._emit("response.incomplete", response=self._resource("incomplete") | changes)
        else:
            changes["completed_at"] = self._reply.created_at
            self._emit("response.completed", response=self._resource("completed") | changes)

    def _emit(self, event_type: str, **fields: Any) -> None:
        self._events.append({"type": event_type, "sequence_number": len(self._events), **fields})

    def _next_output_index(self) -> int:
        self._opened += 1
        return self._opened - 1

    def _identifier(self, prefix: str, what: object) -> str:
        return f"{prefix}_{hashlib.sha256(f'{self._reply.identity}/{prefix}/{what}'.encode()).hexdigest()[:24]}"

    def _usage(self) -> dict[str, Any]:
        spent = [(block, count_tokens("".join(block.pieces))) for block in self._answer.blocks]
        output_tokens = sum(tokens for _, tokens in spent)
        return {
            "input_tokens": self._request.prompt_tokens,
            "input_tokens_details": {"cached_tokens": self._request.cached_tokens},
            "output_tokens": output_tokens,
            "output_tokens_details": {
                "reasoning_tokens": sum(tokens for block, tokens in spent if isinstance(block, ThinkingBlock))
            },
            "total_tokens": self._request.prompt_tokens + output_tokens,
        }

    def _resource(self, status: str) -> dict[str, Any]:
        """A whole `ResponseResource` without output; the schema requires every one of its fields."""
        body = self._request.body
        return {
            "id": self._response_id,
            "object": "response",
            "created_at": self._reply.created_at,
            "completed_at": None,
            "status": status,
            "incomplete_details": None,
            "model": self._request.model,
            "output": [],
            "error": None,
            "usage": None,
            **{name: body.get(name) for name in _ECHOED_OR_NULL},
            **{name: default if body.get(name) is None else body[name] for name, default in _ECHOED_OR_DEFAULT.items()},
            **{name: echo(body.get(name)) for name, echo in _ECHOED_IN_OTHER_FORM.items()},
        }


def _part(channel: _Channel, text: str, citations: Sequence[Citation]) -> dict[str, Any]:
    part: dict[str, Any] = {"type": channel.part, channel.field: text}
    if channel.part == "output_text":
        part |= {"annotations": [_annotation(citation) for citation in citations], "logprobs": []}
    return part


def _annotation(citation: Citation) -> dict[str, Any]:
    return {
        "type": "url_citation",
        "url": citation.url,
        "title": citation.title,
        "start_index": citation.start,
        "end_index": citation.end,
    }


# ---- what the response says of the request ----


def _echo_tools(tools: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    # All five fields must be there, null or not.
    optional = ("description", "parameters", "strict")
    return [
        {"type": "function", "name": tool["name"], **{key: tool.get(key) for key in optional}} for tool in tools or ()
    ]


def _echo_tool_choice(choice: Any) -> Any:
    if isinstance(choice, dict):
        return choice | {"mode": choice.get("mode", "auto")} if choice.get("type") == "allowed_tools" else choice
    return choice or "auto"


def _echo_text(text: dict[str, Any] | None) -> dict[str, Any]:
    """The schema wants `schema: null` in the echo of a JSON schema format."""
    asked = (text or {}).get("format")
    wanted = asked if isinstance(asked, dict) else {"type": "text"}
    if wanted.get("type") == "json_schema":
        names = {"name": wanted.get("name") or "", "description": wanted.get("description")}
        wanted = {"type": "json_schema", **names, "schema": None, "strict": bool(wanted.get("strict"))}
    verbosity = (text or {}).get("verbosity")
    return {"format": wanted} if verbosity is None else {"format": wanted, "verbosity": verbosity}


def _echo_reasoning(reasoning: dict[str, Any] | None) -> dict[str, Any] | None:
    """Both fields or null; an effort that the schema does not know is not repeated."""
    if reasoning is None:
        return None
    effort = reasoning.get("effort")
    known = ("none", "low", "medium", "high", "xhigh")
    return {"effort": effort if effort in known else None, "summary": reasoning.get("summary")}


_ECHOED_OR_NULL: Final = (
    "previous_response_id",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "safety_identifier",
    "prompt_cache_key",
)

# Not nullable in the schema.
_ECHOED_OR_DEFAULT: Final[dict[str, Any]] = {
    "temperature": 1.0,
    "top_p": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "top_logprobs": 0,
    "parallel_tool_calls": True,
    "truncation": "disabled",
    "store": True,
    "background": False,
    "service_tier": "default",
    "metadata": {},
}

_ECHOED_IN_OTHER_FORM: Final[dict[str, Callable[[Any], Any]]] = {
    "tools": _echo_tools,
    "tool_choice": _echo_tool_choice,
    "text": _echo_text,
    "reasoning": _echo_reasoning,
}


PROTOCOL: Final = ServedProtocol(
    read_request=read_request,
    write_events=write_events,
    write_document=write_document,
    frame=frame,
    end_of_stream=b"data: [DONE]\n\n",
    error_body=error_body,
)
