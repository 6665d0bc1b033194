"""OpenAI's Responses, over HTTP and WebSocket: what it refuses, and its events."""

from __future__ import annotations
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Any, Final

from interop.clients.vendors.official_types import Wrong, mismatches
from interop.clients.vendors.vendor import Answer, Asked, Call, Item, Offered, Say, Think, VendorWire
from partstream.protocols.failures import RefusedRequestError

__all__ = ["Responses"]

_ROOT: Final = {"is": "ResponseCreateParamsNonStreaming"}
_BEYOND: Final[Mapping[str, Mapping[str, Any]]] = {
    _ROOT["is"]: {"stream": "boolean", "generate": "boolean", "client_metadata": {"map": "string"}},
    "WebSearchToolParam": {"search_content_types": {"list": "string"}, "external_web_access": "boolean"},
}
"""Fields that Codex sends to OpenAI itself, and that the types of the package do not have."""
_OF_ITEMS: Final[Mapping[str, Any]] = {
    "id": "string",
    "status": "string",
    "internal_chat_message_metadata_passthrough": "anything",
}
"""Such fields of any item."""
_NEEDED: Final[Mapping[str, list[str]]] = {
    "ResponseOutputMessageParam": ["content", "role"],
    "ResponseOutputTextParam": ["text", "type"],
    "ResponseReasoningItemParam": ["summary", "type"],
}
"""What an object needs, where OpenAI asks for less than its types: an answer comes back without its id and type."""
_CALLS: Final = {
    "function_call": ("function_call_output", "function call"),
    "custom_tool_call": ("custom_tool_call_output", "custom tool call"),
    "tool_search_call": ("tool_search_output", "tool search call"),
}
_CODES: Final = {
    Wrong.UNKNOWN: ("unknown_parameter", "Unknown parameter: '{param}'."),
    Wrong.MISSING: ("missing_required_parameter", "Missing required parameter: '{param}'."),
    Wrong.TYPE: ("invalid_type", "Invalid type for '{param}': expected {expected}, but got {got} instead."),
    Wrong.WORD: ("invalid_value", "Invalid value: {got}. Supported values are: {expected}."),
}
_LEAST_OUTPUT: Final = 16
_MOST_OUTPUT: Final = 128_000
_UNSUPPORTED: Final = ("temperature", "top_p", "top_logprobs")
"""What models that reason refuse."""


class Responses(VendorWire):
    """See :class:`VendorWire`."""

    name = "openresponses"
    base_path = "/v1"
    has_socket = True
    beyond = _BEYOND
    paths = MappingProxyType(
        {"/responses": "answer", "/responses/compact": "compaction", "/responses/input_tokens": "count"}
    )

    @property
    def types(self) -> Mapping[str, Any]:
        """See the base: with what OpenAI takes from its own clients."""
        types = dict(super().types)
        items = [*(one["is"] for one in types[_ROOT["is"]]["fields"]["input"]["one"][1]["list"]["one"])]
        for name, more in dict.fromkeys(items, _OF_ITEMS).items():
            types[name] = {**types[name], "fields": {**types[name]["fields"], **more}}
        for name, needed in _NEEDED.items():
            types[name] = {**types[name], "required": needed}
        return types

    def no_model(self, name: str) -> RefusedRequestError:
        """See the base."""
        said = f"The model '{name}' does not exist or you do not have access to it."
        return RefusedRequestError(said, "model", "model_not_found", status=404)

    def check_types(self, asked: Asked) -> None:
        """See the base."""
        if not asked.headers.get("authorization", "").startswith("Bearer "):
            raise RefusedRequestError("Missing bearer or basic authentication in header", status=401)
        for wrong in mismatches(asked.body, _ROOT, self.types):
            code, said = _CODES[wrong.wrong]
            param = _param(wrong.path)
            got = repr(wrong.got) if wrong.wrong is Wrong.WORD else type(wrong.got).__name__
            raise RefusedRequestError(said.format(param=param, got=got, expected=wrong.expected), param, code)
        if asked.purpose == "answer":
            _check_values(asked.body)

    def check_memory(self, asked: Asked, given: Mapping[str, str]) -> None:
        """See the base."""
        items = _items(asked.body)
        for number, item in enumerate(items):
            secret = item.get("encrypted_content")
            if secret is not None and secret not in given:
                said = (
                    f"The encrypted content {secret[:4]}...{secret[-4:]} could not be verified. Reason: Encrypted "
                    "content could not be decrypted or parsed."
                )
                raise RefusedRequestError(said, None, "invalid_encrypted_content")
            is_reasoning = item.get("type") == "reasoning"
            if asked.body.get("store") is False and secret is None and is_reasoning:
                raise _not_kept(item.get("id"))
            after = items[number + 1] if number + 1 < len(items) else {}
            is_end = not after or after.get("role") in {"user", "developer", "system"}
            if is_reasoning and is_end:
                said = f"Item '{item.get('id')}' of type 'reasoning' was provided without its required following item."
                raise RefusedRequestError(said, "input")

    def refusal(self, refused: RefusedRequestError) -> Mapping[str, Any]:
        """See the base."""
        kind = "invalid_request_error"
        return {"error": {"message": str(refused), "type": kind, "param": refused.param, "code": refused.code}}

    def tools_in(self, body: Mapping[str, Any]) -> Iterator[Offered]:
        """See the base: also those that came later, as items."""
        for tool in body.get("tools") or []:
            yield from _offered(tool, "", is_found=False)
        for item in _items(body):
            if item.get("type") in _BRING:
                for tool in item["tools"]:
                    yield from _offered(tool, "", is_found=item["type"] == "tool_search_output")

    def events(self, answer: Answer, asked: Asked, sign: Callable[[str], str]) -> Iterator[tuple[str, Any]]:
        """See the base."""
        numbers = iter(range(10_000))
        whole = self.document(answer, asked, sign)
        begun = {**whole, "output": [], "status": "in_progress", "usage": None}

        def event(kind: str, **fields: Any) -> tuple[str, Any]:
            return f"response.{kind}", {"type": f"response.{kind}", "sequence_number": next(numbers), **fields}

        yield event("created", response=begun)
        yield event("in_progress", response=begun)
        for index, item in enumerate(whole["output"]):
            yield event("output_item.added", output_index=index, item=_opened(item))
            place = {"item_id": item.get("id", ""), "output_index": index}
            match item["type"]:
                case "message":
                    text = item["content"][0]["text"]
                    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
                    yield event("content_part.added", **place, content_index=0, part=part)
                    yield event("output_text.delta", **place, content_index=0, delta=text, logprobs=[])
                    yield event("output_text.done", **place, content_index=0, text=text, logprobs=[])
                    for number, note in enumerate(item["content"][0]["annotations"]):
                        at = {"content_index": 0, "annotation_index": number, "annotation": note}
                        yield event("output_text.annotation.added", **place, **at)
                    yield event("content_part.done", **place, content_index=0, part=item["content"][0])
                case "function_call":
                    yield event("function_call_arguments.delta", **place, delta=item["arguments"])
                    yield event("function_call_arguments.done", **place, arguments=item["arguments"], name=item["name"])
                case "custom_tool_call":
                    yield event("custom_tool_call_input.delta", **place, delta=item["input"])
                    yield event("custom_tool_call_input.done", **place, input=item["input"])
                case "reasoning":
                    text = item["summary"][0]["text"]
                    part = {"type": "summary_text", "text": ""}
                    yield event("reasoning_summary_part.added", **place, summary_index=0, part=part)
                    yield event("reasoning_summary_text.delta", **place, summary_index=0, delta=text)
                    yield event("reasoning_summary_text.done", **place, summary_index=0, text=text)
                    yield event("reasoning_summary_part.done", **place, summary_index=0, part=item["summary"][0])
            yield event("output_item.done", output_index=index, item=item)
        yield event("completed", response=whole)

    def document(self, answer: Answer, asked: Asked, sign: Callable[[str], str]) -> dict[str, Any]:
        """See the base."""
        usage = {
            "input_tokens": answer.input_tokens,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 50,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": answer.input_tokens + 50,
        }
        if asked.purpose == "count":
            return {"object": "response.input_tokens", "input_tokens": answer.input_tokens}
        output = list(self._output(answer, asked, sign))
        if asked.purpose == "compaction":
            kind = "response.compaction"
            return {"id": f"resp_{asked.number}", "object": kind, "created_at": 1, "output": output, "usage": usage}
        body = asked.body
        return {
            "id": f"resp_{asked.number}",
            "object": "response",
            "created_at": 1_795_000_000,
            "completed_at": 1_795_000_001,
            "status": "completed",
            "background": False,
            "error": None,
            "incomplete_details": None,
            "instructions": body.get("instructions"),
            "max_output_tokens": body.get("max_output_tokens"),
            "metadata": body.get("metadata") or {},
            "model": body["model"],
            "output": output,
            "parallel_tool_calls": body.get("parallel_tool_calls", True),
            "previous_response_id": body.get("previous_response_id"),
            "reasoning": {"effort": None, "summary": None},
            "service_tier": "default",
            "store": body.get("store", True),
            "temperature": 1.0,
            "text": {"format": {"type": "text"}, "verbosity": "medium"},
            "tool_choice": body.get("tool_choice", "auto"),
            "tools": body.get("tools") or [],
            "top_p": 1.0,
            "truncation": "disabled",
            "usage": usage,
            "user": None,
        }

    def _output(self, answer: Answer, asked: Asked, sign: Callable[[str], str]) -> Iterator[dict[str, Any]]:
        for number, part in enumerate(answer.parts):
            name = f"{asked.number}_{number}"
            match part:
                case Say(text):
                    content = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
                    fields = {"status": "completed", "role": "assistant", "content": [content]}
                    yield {"id": f"msg_{name}", "type": "message", **fields}
                case Think(text):
                    summary = [{"type": "summary_text", "text": text}]
                    yield {"id": f"rs_{name}", "type": "reasoning", "summary": summary, "encrypted_content": sign(text)}
                case Call():
                    tool, arguments = self.call_of(part, asked.body)
                    if tool.form == "tool_search":
                        search = {"call_id": f"call_{name}", "execution": "client", "status": "completed"}
                        yield {"id": f"ts_{name}", "type": "tool_search_call", "arguments": part.arguments, **search}
                        continue
                    said = {"call_id": f"call_{name}", "name": tool.name, "status": "completed"}
                    said |= {"namespace": tool.namespace} if tool.namespace else {}
                    is_text = tool.form == "custom"
                    kind = {"id": f"ctc_{name}" if is_text else f"fc_{name}"}
                    kind |= {"type": "custom_tool_call" if is_text else "function_call"}
                    yield {**kind, **said, "input" if is_text else "arguments": arguments}
                case Item(own):
                    secret = own.get("encrypted_content")
                    yield {"id": f"it_{name}", **own, **({} if secret is None else {"encrypted_content": sign(secret)})}

    # ---- the WebSocket ----

    def over_socket(self, message: dict[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
        """See the base: with what the connection knows of the answer that the request goes on from."""
        body = {name: value for name, value in message.items() if name != "type"}
        earlier = kept.get(body.get("previous_response_id", ""))
        if earlier is not None:
            body.pop("previous_response_id")
            body["input"] = [*earlier, *body.get("input", [])]
        return body | {"stream": True}

    def keep(self, kept: dict[str, Any], asked: Asked, events: Sequence[Any]) -> None:
        """See the base."""
        response = events[-1]["response"]
        kept[response["id"]] = [*_items(asked.body), *response["output"]]


_BRING: Final = ("additional_tools", "tool_search_output")


def _offered(tool: Mapping[str, Any], namespace: str, *, is_found: bool = True) -> Iterator[Offered]:
    match tool["type"]:
        case "namespace":
            for one in tool["tools"]:
                yield from _offered(one, tool["name"], is_found=is_found)
        case "function" | "custom" as form:
            fields = tuple((tool.get("parameters") or {}).get("properties", {}))
            if is_found or not tool.get("defer_loading"):
                yield Offered(tool["name"], form, namespace, fields)
        case "tool_search":
            yield Offered("tool_search", "tool_search")


def _items(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    said = body.get("input")
    return said if isinstance(said, list) else []


def _opened(item: dict[str, Any]) -> dict[str, Any]:
    """An item as it begins."""
    empty = {"content": [], "arguments": "", "input": "", "summary": [], "status": "in_progress"}
    kept = {"tool_search_call": {"arguments"}, "compaction": set(empty)}.get(item["type"], set())
    return {name: empty[name] if name in empty and name not in kept else value for name, value in item.items()}


def _param(path: Sequence[str | int]) -> str:
    said = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in path)
    return said.removeprefix(".")


def _not_kept(item_id: str | None) -> RefusedRequestError:
    said = (
        f"Item with id '{item_id}' not found. Items are not persisted when `store` is set to false. Try again with "
        "`store` set to true, or remove this item from your input."
    )
    return RefusedRequestError(said, "input", status=404)


def _check_values(body: Mapping[str, Any]) -> None:
    limit = body.get("max_output_tokens") or _LEAST_OUTPUT
    if not _LEAST_OUTPUT <= limit <= _MOST_OUTPUT:
        bound = f"below minimum value. Expected a value >= {_LEAST_OUTPUT}"
        bound = bound if limit < _LEAST_OUTPUT else f"above maximum value. Expected a value <= {_MOST_OUTPUT}"
        raise RefusedRequestError(f"Invalid 'max_output_tokens': integer {bound}, but got {limit} instead.")
    for name in _UNSUPPORTED:
        if body.get(name) is not None:
            raise RefusedRequestError(f"Unsupported parameter: '{name}' is not supported with this model.", name)
    if body.get("previous_response_id") is not None:
        said = f"Previous response with id '{body['previous_response_id']}' not found."
        raise RefusedRequestError(said, "previous_response_id", "previous_response_not_found")
    if any(item.get("type") == "compaction_trigger" for item in _items(body)[:-1]):
        raise RefusedRequestError("Invalid input: 'compaction_trigger' must be the final input item.", "input")
    _check_pairs(_items(body))
    _check_choice(body)


def _check_pairs(items: Sequence[Mapping[str, Any]]) -> None:
    """Every result belongs to a call before it, and every call has its result."""
    calls = {output: call for call, (output, _) in _CALLS.items()}
    waiting: dict[str, str] = {}
    for item in items:
        kind, call_id = item.get("type", "message"), str(item.get("call_id"))
        if kind in _CALLS:
            waiting[call_id] = kind
        elif kind in calls and item.get("execution") != "server" and waiting.pop(call_id, None) != calls[kind]:
            words = _CALLS[calls[kind]][1]
            raise RefusedRequestError(f"No tool call found for {words} output with call_id {call_id}.", "input")
    for call_id, kind in waiting.items():
        raise RefusedRequestError(f"No tool output found for {_CALLS[kind][1]} {call_id}.", "input")


def _check_choice(body: Mapping[str, Any]) -> None:
    choice = body.get("tool_choice")
    tools = [*(body.get("tools") or []), *chain(*(one["tools"] for one in _items(body) if one.get("type") in _BRING))]
    if not tools and choice not in (None, "auto", "none"):
        raise RefusedRequestError("Tool choice is only allowed when 'tools' are specified.", "tool_choice")
    if isinstance(choice, dict) and choice["type"] not in {"allowed_tools", "mcp"}:
        kinds = {(tool["type"], name) for tool in tools for name in (tool.get("name"), None)}
        if (choice["type"], choice.get("name")) not in kinds:
            raise RefusedRequestError(f"Tool choice '{choice['type']}' not found in 'tools' parameter.", "tool_choice")
    names = [one.whole_name for tool in body.get("tools") or [] for one in _offered(tool, "")]
    if twice := [name for name in names if names.count(name) > 1]:
        raise RefusedRequestError(f"Invalid 'tools': duplicate tool name '{twice[0]}'.", "tools")
