"""OpenAI's Chat Completions: what it refuses beside the rules of the replay upstream, and its chunks."""

from __future__ import annotations
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from interop.clients.vendors.official_types import Wrong, mismatches
from interop.clients.vendors.vendor import Answer, Asked, Call, Offered, Say, VendorWire
from partstream.protocols.failures import RefusedRequestError

__all__ = ["Chat"]

_ROOT: Final = {"is": "CompletionCreateParamsNonStreaming"}
_SAID: Final = {
    Wrong.UNKNOWN: ("unknown_parameter", "Unknown parameter: '{param}'."),
    Wrong.MISSING: ("missing_required_parameter", "Missing required parameter: '{param}'."),
    Wrong.TYPE: ("invalid_type", "Invalid type for '{param}': expected {expected}, but got {got} instead."),
    Wrong.WORD: ("invalid_value", "Invalid value: {got}. Supported values are: {expected}."),
}
_UNSUPPORTED: Final = {
    "max_tokens": " Use 'max_completion_tokens' instead.",
    **dict.fromkeys(("temperature", "top_p", "presence_penalty", "frequency_penalty", "logprobs", "logit_bias"), ""),
}
"""What models that reason refuse, with what they say beside it (docs/wires/chat-completions.md)."""
_REASONS: Final = re.compile(r"o\d|gpt-[5-9]")
"""How the names of models that reason begin."""
_MOST_OUTPUT: Final = 128_000


class Chat(VendorWire):
    """See :class:`VendorWire`."""

    name = "chat-completions"
    base_path = "/v1"
    paths = MappingProxyType({"/chat/completions": "answer"})
    beyond = MappingProxyType({_ROOT["is"]: {"stream": "boolean"}})

    def no_model(self, name: str) -> RefusedRequestError:
        """See the base."""
        said = f"The model `{name}` does not exist or you do not have access to it."
        return RefusedRequestError(said, "model", "model_not_found", status=404)

    def check_types(self, asked: Asked) -> None:
        """See the base."""
        if not asked.headers.get("authorization", "").startswith("Bearer "):
            raise RefusedRequestError("You didn't provide an API key.", status=401)
        for wrong in mismatches(asked.body, _ROOT, self.types):
            code, said = _SAID[wrong.wrong]
            param = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in wrong.path)[1:]
            got = repr(wrong.got) if wrong.wrong is Wrong.WORD else type(wrong.got).__name__
            raise RefusedRequestError(said.format(param=param, got=got, expected=wrong.expected), param, code)
        reasons = _REASONS.match(str(asked.body["model"]))
        for name, advice in _UNSUPPORTED.items():
            if reasons and asked.body.get(name) not in {None, 1}:
                said = f"Unsupported parameter: '{name}' is not supported with this model.{advice}"
                raise RefusedRequestError(said, name, "unsupported_parameter")
        limit = asked.body.get("max_completion_tokens") or 1
        if limit > _MOST_OUTPUT:
            said = f"max_tokens is too large: {limit}. This model supports at most {_MOST_OUTPUT} completion tokens."
            raise RefusedRequestError(said, "max_tokens", "invalid_value")
        tools, choice = list(self.tools_in(asked.body)), asked.body.get("tool_choice")
        if choice is not None and not tools:
            raise RefusedRequestError("'tool_choice' is only allowed when 'tools' are specified.", "tool_choice")
        wanted = (
            (choice.get("function") or choice.get("custom") or {}).get("name") if isinstance(choice, dict) else None
        )
        if wanted is not None and wanted not in {tool.name for tool in tools}:
            raise RefusedRequestError(f"Tool choice '{wanted}' not found in 'tools' parameter.", "tool_choice")

    def refusal(self, refused: RefusedRequestError) -> Mapping[str, Any]:
        """See the base."""
        kind = "invalid_request_error"
        return {"error": {"message": str(refused), "type": kind, "param": refused.param, "code": refused.code}}

    def tools_in(self, body: Mapping[str, Any]) -> Iterator[Offered]:
        """See the base."""
        for tool in body.get("tools") or ():
            said = tool[tool["type"]]
            fields = tuple((said.get("parameters") or {}).get("properties", {}))
            yield Offered(said["name"], tool["type"], fields=fields)

    def events(self, answer: Answer, asked: Asked, sign: Callable[[str], str]) -> Iterator[tuple[str, Any]]:
        """See the base."""
        whole = self.document(answer, asked, sign)
        (choice,) = whole["choices"]
        message, end = choice["message"], choice["finish_reason"]
        head = {name: whole[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}

        def chunk(delta: Mapping[str, Any], reason: str | None = None) -> tuple[str, Any]:
            return "", {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}], "usage": None}

        yield chunk({"role": "assistant", "content": ""})
        if message["content"]:
            yield chunk({"content": message["content"]})
        for index, call in enumerate(message.get("tool_calls", ())):
            yield chunk({"tool_calls": [{"index": index, **call}]})
        yield chunk({}, end)
        if (asked.body.get("stream_options") or {}).get("include_usage"):
            yield "", {**head, "choices": [], "usage": whole["usage"]}
        yield "", "[DONE]"

    def document(self, answer: Answer, asked: Asked, sign: Callable[[str], str]) -> dict[str, Any]:
        """See the base; this wire shows no thinking."""
        del sign
        text = "".join(part.text for part in answer.parts if isinstance(part, Say))
        calls = list(self._calls(answer, asked))
        message = {"role": "assistant", "content": text or None, "refusal": None} | (
            {"tool_calls": calls} if calls else {}
        )
        usage = {
            "prompt_tokens": answer.input_tokens,
            "completion_tokens": 50,
            "total_tokens": answer.input_tokens + 50,
        }
        return {
            "id": f"chatcmpl-{asked.number}",
            "object": "chat.completion",
            "created": 1_795_000_000,
            "model": asked.body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
            "usage": usage,
        }

    def _calls(self, answer: Answer, asked: Asked) -> Iterator[dict[str, Any]]:
        for number, part in enumerate(answer.parts):
            if isinstance(part, Call):
                tool, arguments = self.call_of(part, asked.body)
                name = "input" if tool.form == "custom" else "arguments"
                said = {"name": tool.name, name: arguments}
                yield {"id": f"call_{asked.number}_{number}", "type": tool.form, tool.form: said}
