"""Google's Gemini API: what it refuses beside the rules of the replay upstream, and its chunks."""

from __future__ import annotations
import json
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from interop.clients.vendors.official_types import mismatches
from interop.clients.vendors.vendor import Answer, Asked, Call, Offered, Say, Think, VendorWire
from partstream.protocols.failures import RefusedRequestError

__all__ = ["Gemini"]

_ROOTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "contents": {"list": {"is": "Content"}},
    "tools": {"list": {"is": "Tool"}},
    "generationConfig": {"is": "GenerationConfig"},
}
_MOST_OUTPUT: Final = 65_536
_INVALID: Final = "INVALID_ARGUMENT"


class Gemini(VendorWire):
    """See :class:`VendorWire`."""

    name = "gemini"
    base_path = "/v1beta"
    paths = MappingProxyType(
        {":streamGenerateContent": "answer", ":generateContent": "answer", ":countTokens": "count"}
    )

    def model_in(self, asked: Asked) -> str:
        """See the base."""
        return asked.path.rpartition("/models/")[2].partition(":")[0]

    def no_model(self, name: str) -> RefusedRequestError:
        """See the base."""
        said = f"models/{name} is not found for API version v1beta, or is not supported for generateContent."
        return RefusedRequestError(said, code="NOT_FOUND", status=404)

    def check_types(self, asked: Asked) -> None:
        """See the base."""
        if not {"x-goog-api-key", "authorization"} & asked.headers.keys():
            raise RefusedRequestError(
                "Method doesn't allow unregistered callers.", code="PERMISSION_DENIED", status=403
            )
        if asked.purpose != "answer":
            return
        for name, kind in _ROOTS.items():
            for wrong in mismatches(asked.body.get(name) or ([] if kind.get("list") else {}), kind, self.types):
                where = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in (name, *wrong.path))[1:]
                raise RefusedRequestError(f"Invalid value at '{where}': {wrong.wrong.value}", code=_INVALID)
        limit = (asked.body.get("generationConfig") or {}).get("maxOutputTokens") or 1
        if limit > _MOST_OUTPUT:
            said = (
                f"Unable to submit request because it has a maxOutputTokens value of {limit} but the supported range "
            )
            raise RefusedRequestError(f"{said}is from 1 (inclusive) to {_MOST_OUTPUT + 1} (exclusive).", code=_INVALID)
        calling = (asked.body.get("toolConfig") or {}).get("functionCallingConfig") or {}
        unknown = {*calling.get("allowedFunctionNames", ())} - {tool.name for tool in self.tools_in(asked.body)}
        if unknown:
            said = f"Allowed function name {min(unknown)} is not in the function declarations."
            raise RefusedRequestError(said, code=_INVALID)

    def check_memory(self, asked: Asked, given: Mapping[str, str]) -> None:
        """See the base."""
        for content in asked.body.get("contents") or ():
            for part in content.get("parts") or ():
                signature = part.get("thoughtSignature", _SKIPS)
                if signature != _SKIPS and signature not in given:
                    raise RefusedRequestError("Corrupted thought signature.", code=_INVALID)

    def refusal(self, refused: RefusedRequestError) -> Mapping[str, Any]:
        """See the base."""
        return {"error": {"code": refused.status, "message": str(refused), "status": refused.code or _INVALID}}

    def tools_in(self, body: Mapping[str, Any]) -> Iterator[Offered]:
        """See the base."""
        for tool in body.get("tools") or ():
            for one in tool.get("functionDeclarations") or ():
                schema = one.get("parametersJsonSchema") or one.get("parameters") or {}
                yield Offered(one["name"], fields=tuple(schema.get("properties", {})))

    def wants_stream(self, asked: Asked) -> bool:
        """See the base."""
        return asked.path.endswith(":streamGenerateContent")

    def events(self, answer: Answer, asked: Asked, sign: Callable[[str], str]) -> Iterator[tuple[str, Any]]:
        """See the base: a chunk for each part, and one for the end."""
        whole = self.document(answer, asked, sign)
        (candidate,) = whole["candidates"]
        for part in candidate["content"]["parts"]:
            one = {"content": {"role": "model", "parts": [part]}, "index": 0}
            yield "", {**whole, "candidates": [one]}
        end = {"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": "STOP", "index": 0}
        yield "", {**whole, "candidates": [end]}

    def document(self, answer: Answer, asked: Asked, sign: Callable[[str], str]) -> dict[str, Any]:
        """See the base."""
        if asked.purpose == "count":
            return {"totalTokens": answer.input_tokens}
        content = {"role": "model", "parts": list(self._parts(answer, asked, sign))}
        return {
            "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {
                "promptTokenCount": answer.input_tokens,
                "candidatesTokenCount": 50,
                "totalTokenCount": answer.input_tokens + 50,
            },
            "modelVersion": self.model_in(asked),
            "responseId": f"response-{asked.number}",
        }

    def _parts(self, answer: Answer, asked: Asked, sign: Callable[[str], str]) -> Iterator[dict[str, Any]]:
        is_signed = False
        for part in answer.parts:
            match part:
                case Say(text):
                    yield {"text": text}
                case Think(text):
                    yield {"text": text, "thought": True}
                case Call():
                    tool, arguments = self.call_of(part, asked.body)
                    said = {"functionCall": {"name": tool.name, "args": json.loads(arguments)}}
                    yield said if is_signed else {**said, "thoughtSignature": sign(tool.name)}
                    is_signed = True


_SKIPS: Final = "skip_thought_signature_validator"
"""What Google takes instead of a signature (docs/wires/gemini.md#unsigned-calls)."""
