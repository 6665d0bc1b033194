"""Anthropic's Messages: what it refuses beside the rules of the replay upstream, and its events."""

from __future__ import annotations
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from interop.clients.vendors.official_types import Wrong, mismatches
from interop.clients.vendors.vendor import Answer, Asked, Call, Item, Offered, Say, Think, VendorWire
from partstream.protocols.failures import RefusedRequestError

__all__ = ["Messages"]

_ROOT: Final = {"is": "MessageCreateParamsNonStreaming"}
_STATUSES: Final = {401: "authentication_error", 404: "not_found_error"}
_SAID: Final = {
    Wrong.UNKNOWN: "Extra inputs are not permitted",
    Wrong.MISSING: "Field required",
    Wrong.TYPE: "Input should be a valid {expected}",
    Wrong.WORD: "Input should be {expected}",
}
_MOST_OUTPUT: Final = (
    ("claude-haiku-4-5", 64_000),
    ("claude-sonnet-4-5", 64_000),
    ("claude-opus-4-5", 64_000),
    ("", 128_000),
)
"""By how the name of a model begins (docs/wires/anthropic-messages.md#output-limit)."""
_SIGNED: Final = {"thinking": ("signature", "thinking")}


class Messages(VendorWire):
    """See :class:`VendorWire`."""

    name = "anthropic-messages"
    base_path = "/v1"
    paths = MappingProxyType({"/messages": "answer", "/messages/count_tokens": "count"})
    beyond = MappingProxyType({_ROOT["is"]: {"stream": "boolean"}})

    def no_model(self, name: str) -> RefusedRequestError:
        """See the base."""
        return RefusedRequestError(f"model: {name}", status=404)

    def check_types(self, asked: Asked) -> None:
        """See the base."""
        if not {"x-api-key", "authorization"} & asked.headers.keys():
            raise RefusedRequestError("x-api-key header is required", status=401)
        for wrong in mismatches(asked.body, _ROOT, self.types):
            if asked.purpose == "count" and wrong.path == ("max_tokens",):
                continue
            said = _SAID[wrong.wrong].format(expected=wrong.expected)
            raise RefusedRequestError(f"{'.'.join(map(str, wrong.path))}: {said}")
        most = next(most for begin, most in _MOST_OUTPUT if asked.body["model"].startswith(begin))
        limit = asked.body.get("max_tokens", 1)
        if limit > most:
            said = f"max_tokens: {limit} > {most}, which is the maximum allowed number of output tokens for "
            raise RefusedRequestError(said + asked.body["model"])

    def check_memory(self, asked: Asked, given: Mapping[str, str]) -> None:
        """See the base: thinking comes back as it was, and a reference names a tool that is there."""
        names = {tool.get("name") for tool in asked.body.get("tools") or ()}
        for place, message in enumerate(asked.body["messages"]):
            content = message["content"]
            for number, block in enumerate(content if isinstance(content, list) else ()):
                where = f"messages.{place}.content.{number}"
                if block["type"] == "thinking":
                    text = given.get(block["signature"])
                    if text is None:
                        raise RefusedRequestError(f"{where}: Invalid `signature` in `thinking` block")
                    if block["thinking"] not in {text, ""}:
                        said = "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
                        raise RefusedRequestError(f"{where}: {said}modified.")
                for one in _references(block):
                    if one not in names:
                        raise RefusedRequestError(f"Tool reference '{one}' not found in available tools")

    def refusal(self, refused: RefusedRequestError) -> Mapping[str, Any]:
        """See the base."""
        kind = _STATUSES.get(refused.status, "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": str(refused)}, "request_id": "req_1"}

    def tools_in(self, body: Mapping[str, Any]) -> Iterator[Offered]:
        """See the base: a deferred tool counts from the reference to it on."""
        found = {one for message in body["messages"] for one in _references({"content": message["content"]})}
        for tool in body.get("tools") or ():
            if not tool.get("defer_loading") or tool["name"] in found:
                fields = tuple((tool.get("input_schema") or {}).get("properties", {}))
                yield Offered(tool["name"], fields=fields)

    def events(self, answer: Answer, asked: Asked, sign: Callable[[str], str]) -> Iterator[tuple[str, Any]]:
        """See the base."""
        whole = self.document(answer, asked, sign)
        begun = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}

        def event(kind: str, **fields: Any) -> tuple[str, Any]:
            return kind, {"type": kind, **fields}

        yield event("message_start", message=begun)
        yield event("ping")
        for index, block in enumerate(whole["content"]):
            opened, deltas = _opened(block)
            yield event("content_block_start", index=index, content_block=opened)
            for delta in deltas:
                yield event("content_block_delta", index=index, delta=delta)
            yield event("content_block_stop", index=index)
        stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        yield event("message_delta", delta=stop, usage=whole["usage"])
        yield event("message_stop")

    def document(self, answer: Answer, asked: Asked, sign: Callable[[str], str]) -> dict[str, Any]:
        """See the base."""
        if asked.purpose == "count":
            return {"input_tokens": answer.input_tokens}
        content = list(self._content(answer, asked, sign))
        calls = any(block["type"] == "tool_use" for block in content)
        return {
            "id": f"msg_{asked.number}",
            "type": "message",
            "role": "assistant",
            "model": asked.body["model"],
            "content": content,
            "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": answer.input_tokens,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": 50,
            },
        }

    def _content(self, answer: Answer, asked: Asked, sign: Callable[[str], str]) -> Iterator[dict[str, Any]]:
        thinks = (asked.body.get("thinking") or {}).get("type") in {"adaptive", "enabled", "between_tools"}
        hides = (asked.body.get("thinking") or {}).get("display") == "omitted"
        for number, part in enumerate(answer.parts):
            match part:
                case Say(text):
                    yield {"type": "text", "text": text, "citations": None}
                case Think(text) if thinks:
                    yield {"type": "thinking", "thinking": "" if hides else text, "signature": sign(text)}
                case Call():
                    tool, arguments = self.call_of(part, asked.body)
                    name = f"toolu_{asked.number}_{number}"
                    yield {"type": "tool_use", "id": name, "name": tool.name, "input": json.loads(arguments)}
                case Item(fields):
                    yield dict(fields)


def _references(block: Mapping[str, Any]) -> Iterator[str]:
    content = block.get("content")
    for one in content if isinstance(content, list) else ():
        if one.get("type") == "tool_reference":
            yield one["tool_name"]
        elif one.get("type") == "tool_result":
            yield from _references(one)


def _opened(block: Mapping[str, Any]) -> tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]:
    """A block as it begins, and the deltas that complete it."""
    match block["type"]:
        case "text":
            return {**block, "text": ""}, [{"type": "text_delta", "text": block["text"]}]
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": block["thinking"]}] if block["thinking"] else []
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [*deltas, signed]
        case "tool_use" | "server_tool_use":
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
    return block, []
