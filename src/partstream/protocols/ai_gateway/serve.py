"""Writes answers as the stream parts of the AI Gateway, the served side of the protocol; knows no socket and no clock.

The parts are `LanguageModelV2StreamPart`, `V3` or `V4` of `@ai-sdk/provider` 2.0.5, 3.0.19 and 4.0.38, whichever the
client names in its header. They come as those of the providers do: Anthropic's signature on an empty delta at the end
of reasoning, Google's on the first of several calls, the gateway's own id on the first content and at the end.
"""

from __future__ import annotations

import hashlib
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from partstream.json_codec import dumps
from partstream.protocols.ai_gateway.serve_ending import INPUT_PRICE, OUTPUT_PRICE, finish_fields
from partstream.protocols.ai_gateway.serve_request import read_request, signature
from partstream.protocols.serving import (
    Answer,
    Citation,
    Completed,
    Ending,
    Failed,
    RefusalBlock,
    ServedProtocol,
    ServedRequest,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    grouped,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from partstream.outputs import Reply

__all__ = ["PROTOCOL", "config", "error_body", "frame", "model_entry", "write_document", "write_events"]

_STATUS_OF_FAILURE: Final = 500


def write_events(request: ServedRequest, answer: Answer, reply: Reply) -> list[dict[str, Any]]:
    """The whole stream of one answer, from `stream-start` to `finish`."""
    return _PartWriter(request, answer, reply).write()


def write_document(events: Sequence[Mapping[str, Any]]) -> tuple[int, dict[str, Any]]:
    """What a client gets that did not ask for a stream: all content in one object, or the failure."""
    failure = next((event["error"] for event in events if event["type"] == "error"), None)
    if failure is not None:
        return _STATUS_OF_FAILURE, error_body(_STATUS_OF_FAILURE, failure["message"])
    start, metadata, *_, finish = events
    return 200, {
        "content": _content(events),
        **{name: value for name, value in finish.items() if name != "type"},
        "warnings": start["warnings"],
        "response": {name: value for name, value in metadata.items() if name != "type"},
    }


def frame(event: Mapping[str, Any]) -> bytes:
    """The bytes of one event: one line of data, and no other field."""
    return b"data: " + dumps(event) + b"\n\n"


# The types that the published client knows, @ai-sdk/gateway 4.0.146, create-gateway-error.ts.
_ERROR_TYPES: Final[dict[int, str]] = {
    401: "authentication_error",
    403: "forbidden",
    404: "not_found",
    424: "failed_dependency",
    429: "rate_limit_exceeded",
}


def error_body(status: int, message: str) -> dict[str, Any]:
    """The JSON body of an HTTP error."""
    default = "internal_server_error" if status >= 500 else "invalid_request_error"
    return {
        "error": {"message": message, "type": _ERROR_TYPES.get(status, default), "param": None, "code": None},
        "generationId": _generation_id(f"{status}/{message}"),
    }


def _generation_id(what: str) -> str:
    return f"gen_{hashlib.sha256(what.encode(errors='surrogatepass')).hexdigest()[:24]}"


# ---- models ----


def config(names: Iterable[str], version: str) -> dict[str, Any]:
    """What `GET {base}/config` says; the published client takes models of its own version only."""
    return {
        "models": [
            {
                "id": name,
                "name": name,
                "description": None,
                "pricing": {"input": INPUT_PRICE, "output": OUTPUT_PRICE},
                "specification": {"specificationVersion": f"v{version}", "provider": "partstream", "modelId": name},
                "modelType": "language",
            }
            for name in names
        ]
    }


def model_entry(name: str) -> dict[str, Any]:
    """What the gateway's `GET /v1/models` says of a model beside what the list of OpenAI says."""
    return {
        "name": name,
        "description": None,
        "context_window": 128_000,
        "max_tokens": 16_384,
        "type": "language",
        "tags": ["tool-use", "vision", "reasoning"],
        "pricing": {"input": INPUT_PRICE, "output": OUTPUT_PRICE},
    }


# ---- writing ----

_TextualBlock: TypeAlias = TextBlock | RefusalBlock | ThinkingBlock


class _OpenCall(NamedTuple):
    """A call whose input is being streamed."""

    block: ToolCallBlock
    id: str
    metadata: dict[str, Any]


class _PartWriter:
    """Writes one response; lives as long as that takes."""

    def __init__(self, request: ServedRequest, answer: Answer, reply: Reply) -> None:
        self._request = request
        self._answer = answer
        self._identity = reply.identity
        self._generation_id = _generation_id(reply.identity)
        self._events: list[dict[str, Any]] = []
        # Goes on the first part of the content, and on no other.
        self._first: dict[str, Any] = {"gateway": {"generationId": self._generation_id}}

    def write(self) -> list[dict[str, Any]]:
        self._emit("stream-start", warnings=[])
        self._emit("response-metadata", id=self._identifier("resp", 0), modelId=self._request.model)
        groups = grouped(self._answer.blocks)
        for number, group in enumerate(groups, start=1):
            ending = self._answer.ending if number == len(groups) else Completed()
            if isinstance(group, list):
                self._write_calls(group, ending, number)
            elif isinstance(group, ThinkingBlock):
                self._write_reasoning(group, ending, str(number))
            else:
                self._write_text(group, ending, str(number))
        self._write_ending(self._answer.ending)
        return self._events

    def _write_text(self, block: TextBlock | RefusalBlock, ending: Ending, block_id: str) -> None:
        citations = block.citations if isinstance(block, TextBlock) else ()
        sources = [self._source(number, citation) for number, citation in enumerate(citations)]
        self._emit("text-start", id=block_id, **self._metadata())
        length = written = 0
        for piece in block.pieces:
            self._emit("text-delta", id=block_id, delta=piece)
            length += len(piece)
            while written < len(citations) and citations[written].end <= length:
                self._events.append(sources[written])
                written += 1
        if isinstance(ending, Failed):
            return
        self._emit("text-end", id=block_id, **self._citations(citations, sources))

    def _source(self, number: int, citation: Citation) -> dict[str, Any]:
        source_id = self._identifier("src", number)
        return {"type": "source", "sourceType": "url", "id": source_id, "url": citation.url, "title": citation.title}

    def _citations(self, citations: Sequence[Citation], sources: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Which span each source stands for: since version 4, on the end of the text."""
        if self._request.dialect != "4" or not citations:
            return {}
        return {
            "citations": [
                {"source": source, "startIndex": one.start, "endIndex": one.end}
                for one, source in zip(citations, sources, strict=True)
            ]
        }

    def _write_reasoning(self, block: ThinkingBlock, ending: Ending, block_id: str) -> None:
        self._emit("reasoning-start", id=block_id, **self._metadata())
        for piece in block.pieces:
            self._emit("reasoning-delta", id=block_id, delta=piece)
        if isinstance(ending, Failed):
            return
        signed = {"anthropic": {"signature": signature("".join(block.pieces))}}
        self._emit("reasoning-delta", id=block_id, delta="", providerMetadata=signed)
        self._emit("reasoning-end", id=block_id)

    def _write_calls(self, blocks: Sequence[ToolCallBlock], ending: Ending, number: int) -> None:
        calls = []
        for index, block in enumerate(blocks):
            call_id = self._identifier("call", f"{number}/{index}")
            signed = {} if index else {"google": {"thoughtSignature": signature(call_id)}}
            calls.append(_OpenCall(block, call_id, {"providerMetadata": signed} if signed else {}))
            self._emit("tool-input-start", id=call_id, toolName=block.name, **self._metadata())
        for row in zip_longest(*(call.block.pieces for call in calls)):
            for call, piece in zip(calls, row, strict=True):
                if piece is not None:
                    self._emit("tool-input-delta", id=call.id, delta=piece)
        if not isinstance(ending, Completed):
            return  # what is not whole is no call
        for call in calls:
            arguments = "".join(call.block.pieces)
            self._emit("tool-input-end", id=call.id)
            self._emit("tool-call", toolCallId=call.id, toolName=call.block.name, input=arguments, **call.metadata)

    def _write_ending(self, ending: Ending) -> None:
        if isinstance(ending, Failed):
            error = {"message": ending.message, "type": ending.code, "statusCode": _STATUS_OF_FAILURE}
            self._emit("error", error=error)
        self._emit("finish", **finish_fields(self._request, self._answer, self._generation_id))

    def _emit(self, part_type: str, **fields: Any) -> None:
        self._events.append({"type": part_type, **fields})

    def _metadata(self) -> dict[str, Any]:
        first, self._first = self._first, {}
        return {"providerMetadata": first} if first else {}

    def _identifier(self, prefix: str, what: object) -> str:
        return f"{prefix}_{hashlib.sha256(f'{self._identity}/{prefix}/{what}'.encode()).hexdigest()[:24]}"


# ---- the same without a stream ----

_WHOLE: Final = frozenset({"source", "tool-call"})
_STREAMED: Final = {"text": "text-delta", "reasoning": "reasoning-delta"}


def _content(events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The content parts in order: a text where it began, with what its parts said of it."""
    content: list[dict[str, Any]] = []
    open_blocks: dict[str, dict[str, Any]] = {}
    for event in events:
        kind, _, step = event["type"].partition("-")
        if event["type"] in _WHOLE:
            content.append(dict(event))
        elif kind in _STREAMED:
            if step == "start":
                open_blocks[event["id"]] = {"type": kind, "text": ""}
                content.append(open_blocks[event["id"]])
            block = open_blocks[event["id"]]
            block["text"] += event.get("delta", "")
            block |= {name: event[name] for name in ("citations",) if name in event}
            if "providerMetadata" in event:
                block["providerMetadata"] = block.get("providerMetadata", {}) | event["providerMetadata"]
    return content


PROTOCOL: Final = ServedProtocol(
    read_request=read_request,
    write_events=write_events,
    write_document=write_document,
    frame=frame,
    # The finish part ends the stream; the published client takes `[DONE]` and does not need it.
    end_of_stream=b"",
    error_body=error_body,
)
