"""Refuses fields that Google's servers do not know: one unknown name anywhere fails the whole request (facts 10.2).

Their JSON is that of Protocol Buffers: every message has its fields, under two names each. Messages whose fields are
left out here hold other people's values, such as the arguments of a call.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.gemini.asked_fields import camel_case
from partstream.protocols.refused import RefusedRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["check_fields"]

_Message = dict[str, str]
"""The fields of a message, each with the name of the message that it holds; empty for any other value."""


def _plain(*names: str) -> _Message:
    return dict.fromkeys(names, "")


_MESSAGES: Final[Mapping[str, _Message]] = {
    "request": {
        **_plain("safetySettings", "cachedContent", "serviceTier", "labels", "model", "store"),
        "contents": "content",
        "systemInstruction": "content",
        "tools": "tool",
        "toolConfig": "tool config",
        "generationConfig": "generation",
    },
    "content": {**_plain("role"), "parts": "part"},
    "part": {
        **_plain("text", "thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"),
        **_plain("executableCode", "codeExecutionResult", "toolCall", "toolResponse", "audioTranscription"),
        "functionCall": "call",
        "functionResponse": "response",
        "inlineData": "blob",
        "fileData": "file",
    },
    "call": _plain("id", "name", "args", "partialArgs", "willContinue"),
    "response": {**_plain("id", "name", "response", "willContinue", "scheduling"), "parts": "response part"},
    "response part": {"inlineData": "blob", "fileData": "file"},
    "blob": _plain("mimeType", "data", "displayName"),
    "file": _plain("mimeType", "fileUri", "displayName"),
    "tool": {
        **_plain("googleSearch", "googleSearchRetrieval", "urlContext", "codeExecution", "googleMaps", "fileSearch"),
        **_plain("computerUse", "enterpriseWebSearch", "mcpServers", "retrieval"),
        "functionDeclarations": "function",
    },
    "function": {
        **_plain("name", "description", "parametersJsonSchema", "responseJsonSchema", "behavior"),
        "parameters": "schema",
        "response": "schema",
    },
    "schema": {
        **_plain("type", "format", "title", "description", "nullable", "enum", "minItems", "maxItems", "required"),
        **_plain("propertyOrdering", "default", "example", "minLength", "maxLength", "pattern", "minimum", "maximum"),
        **_plain("minProperties", "maxProperties"),
        "items": "schema",
        "anyOf": "schema",
        "properties": "schemas",
    },
    "tool config": {
        **_plain("includeServerSideToolInvocations", "retrievalConfig"),
        "functionCallingConfig": "calling",
    },
    "calling": _plain("mode", "allowedFunctionNames", "streamFunctionCallArguments"),
    "generation": {
        **_plain("temperature", "topP", "topK", "maxOutputTokens", "stopSequences", "seed", "candidateCount"),
        **_plain("responseMimeType", "responseJsonSchema", "responseModalities", "mediaResolution"),
        **_plain("presencePenalty", "frequencyPenalty", "responseLogprobs", "logprobs", "speechConfig"),
        **_plain("imageConfig", "enableEnhancedCivicAnswers", "audioTimestamp", "routingConfig"),
        "responseSchema": "schema",
        "thinkingConfig": "thinking",
    },
    "thinking": _plain("includeThoughts", "thinkingBudget", "thinkingLevel"),
}
"""By our names for them. Source: facts gemini.md 10 and the messages of googleapis/python-genai `types.py`."""

_OF_ANY_NAME: Final = "schemas"
_CAPITAL: Final = re.compile(r"[A-Z]")


def check_fields(body: Mapping[str, Any]) -> None:
    """Checks the fields of a request, whose own names are in camel case.

    Raises:
        RefusedRequestError: One is not known, or a value of an enumeration is no text.
    """
    _check(body, "request", "")


def _check(value: Any, message: str, where: str) -> None:
    if isinstance(value, list):
        for number, one in enumerate(value):
            _check(one, message, f"{where}[{number}]")
    elif isinstance(value, dict) and message == _OF_ANY_NAME:
        for name, one in value.items():
            _check(one, "schema", f"{where}[{name}].value")
    elif isinstance(value, dict):
        known = _MESSAGES[message]
        if message == "schema":
            _check_enumeration(value, where)
        for name, one in camel_case(value).items():
            at = _CAPITAL.sub(lambda letter: f"_{letter[0].lower()}", name)
            if name not in known:
                around = f" at '{where}'" if where else ""
                said = f'Invalid JSON payload received. Unknown name "{name}"{around}: Cannot find field.'
                raise RefusedRequestError(said, code="INVALID_ARGUMENT")
            if inner := known[name]:
                _check(one, inner, f"{where}.{at}" if where else at)


def _check_enumeration(schema: Mapping[str, Any], where: str) -> None:
    listed = schema.get("enum")
    for place, one in enumerate(listed if isinstance(listed, list) else ()):
        if not isinstance(one, str):
            said = f"Invalid value at '{where}.enum[{place}]' (TYPE_STRING), {one}"
            raise RefusedRequestError(said, code="INVALID_ARGUMENT")
