"""Which prompts there are in each version of the specification, as tables; knows nothing of what a prompt means.

Source: `LanguageModelV2Prompt`, `LanguageModelV3Prompt` and `LanguageModelV4Prompt` of `@ai-sdk/provider` 2.0.5, 3.0.19
and 4.0.38.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.errors import InvalidRequestError
from partstream.protocols.ai_gateway.shapes import (
    ObjectShape,
    any_json,
    base64_text,
    boolean,
    check_object,
    check_tagged,
    list_of,
    object_of,
    string,
    tagged,
    type_name,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.ai_gateway.shapes import Check

__all__ = ["PROVIDER_OPTIONS", "VERSIONS", "prompt_of"]

VERSIONS: Final = ("2", "3", "4")
"""The versions of the specification that there are."""

PROVIDER_OPTIONS: Final = object_of(object_of(any_json))
"""An object for each provider."""

_OPTIONS: Final[dict[str, Check]] = {"providerOptions": PROVIDER_OPTIONS}


def prompt_of(version: str) -> Check:
    """The check of a whole prompt in one version of the specification."""

    def check(prompt: object, where: str, unmapped: dict[str, Any]) -> None:
        if prompt == []:
            raise InvalidRequestError(where, "an empty list", "at least one message")
        list_of(lambda message, place, found: _check_message(message, place, version, found))(prompt, where, unmapped)

    return check


def _check_message(message: object, where: str, version: str, unmapped: dict[str, Any]) -> None:
    contents = _CONTENTS[version]
    role = message.get("role") if isinstance(message, dict) else None
    if not isinstance(role, str) or role not in contents:
        got = repr(role) if isinstance(message, dict) else type_name(message)
        raise InvalidRequestError(f"{where}.role", got, f"one of {', '.join(contents)}")
    shape = ObjectShape({"role": string, "content": contents[role]}, unplaced=_OPTIONS)
    check_object(message, where, shape, unmapped)


# ---- files ----


def _file_text(value: Any, where: str, unmapped: dict[str, Any]) -> None:
    """Versions 2 and 3: base64, a web address, or a data URL, all of them strings."""
    string(value, where, unmapped)
    if value.startswith(("http://", "https://")):
        return
    if not value.startswith("data:"):
        base64_text(value, where, unmapped)
        return
    head, comma, data = value.partition(",")
    if not comma or not head.endswith(";base64"):
        raise InvalidRequestError(where, "a data URL without ;base64,", "a data URL in base64")
    base64_text(data, where, unmapped)


def _url(value: Any, where: str, unmapped: dict[str, Any]) -> None:
    string(value, where, unmapped)
    if not value.startswith(("http://", "https://", "data:")):
        raise InvalidRequestError(where, "a string that is no URL", "a URL")


_BYTES: Final[dict[str, ObjectShape]] = {
    "data": ObjectShape({"data": base64_text}),
    "url": ObjectShape({"url": _url}, {"originalUrl": string}),
}
_TAGGED_DATA: Final[dict[str, ObjectShape]] = _BYTES | {
    "reference": ObjectShape({"reference": object_of(string)}),
    "text": ObjectShape({"text": string}),
}

# `originalUrl` is where the SDK has fetched the bytes: who has them needs it no more.
_FILE: Final[dict[str, ObjectShape]] = {
    **dict.fromkeys(
        ("2", "3"),
        ObjectShape({"data": _file_text, "mediaType": string}, {"originalUrl": string, "filename": string}, _OPTIONS),
    ),
    "4": ObjectShape({"data": tagged(_TAGGED_DATA), "mediaType": string}, {"filename": string}, _OPTIONS),
}

# ---- what a tool gave ----


def _file_id(value: object, where: str, unmapped: dict[str, Any]) -> None:
    check: Check = string if isinstance(value, str) else object_of(string)
    check(value, where, unmapped)


_TEXT_ITEM: Final = ObjectShape({"text": string}, unplaced=_OPTIONS)
_OUTPUT_ITEMS: Final[dict[str, dict[str, ObjectShape]]] = {
    "2": {
        "text": ObjectShape({"text": string}),
        "media": ObjectShape({"data": base64_text, "mediaType": string}),
    },
    "3": {
        "text": _TEXT_ITEM,
        "file-data": ObjectShape({"data": base64_text, "mediaType": string}, {"filename": string}, _OPTIONS),
        "file-url": ObjectShape({"url": _url}, {"mediaType": string}, _OPTIONS),
        "file-id": ObjectShape({"fileId": _file_id}, unplaced=_OPTIONS),
        "image-data": ObjectShape({"data": base64_text, "mediaType": string}, unplaced=_OPTIONS),
        "image-url": ObjectShape({"url": _url}, unplaced=_OPTIONS),
        "image-file-id": ObjectShape({"fileId": _file_id}, unplaced=_OPTIONS),
        "custom": ObjectShape({}, unplaced=_OPTIONS),
    },
    "4": {
        "text": _TEXT_ITEM,
        "file": ObjectShape({"data": tagged(_TAGGED_DATA), "mediaType": string}, {"filename": string}, _OPTIONS),
        "custom": ObjectShape({}, unplaced=_OPTIONS),
    },
}


def _outputs(version: str) -> dict[str, ObjectShape]:
    more = {} if version == "2" else _OPTIONS
    shapes = {
        "text": ObjectShape({"value": string}, unplaced=more),
        "json": ObjectShape({"value": any_json}, unplaced=more),
        "error-text": ObjectShape({"value": string}, unplaced=more),
        "error-json": ObjectShape({"value": any_json}, unplaced=more),
        "content": ObjectShape({"value": list_of(tagged(_OUTPUT_ITEMS[version]))}, unplaced=more),
    }
    return shapes if version == "2" else shapes | {"execution-denied": ObjectShape({}, {"reason": string}, more)}


# ---- parts ----


def _tool_input(value: object, where: str, unmapped: dict[str, Any]) -> None:
    """In a prompt an object, in an answer JSON text: a string here was taken from there unread."""
    if not isinstance(value, dict):
        raise InvalidRequestError(where, type_name(value), "the input as an object, not as text")
    any_json(value, where, unmapped)


def _parts(version: str) -> dict[str, ObjectShape]:
    parts = {
        "text": ObjectShape({"text": string}, _OPTIONS),
        "reasoning": ObjectShape({"text": string}, _OPTIONS),
        "file": _FILE[version],
        "tool-call": ObjectShape(
            {"toolCallId": string, "toolName": string, "input": _tool_input},
            {"providerExecuted": boolean, **_OPTIONS},
        ),
        "tool-result": ObjectShape(
            {"toolCallId": string, "toolName": string, "output": tagged(_outputs(version))}, _OPTIONS
        ),
    }
    if version != "2":
        parts["tool-approval-response"] = ObjectShape(
            {"approvalId": string, "approved": boolean}, {"reason": string, **_OPTIONS}
        )
    if version == "4":
        parts["custom"] = ObjectShape({"kind": string}, _OPTIONS)
        parts["reasoning-file"] = ObjectShape({"data": tagged(_BYTES), "mediaType": string}, _OPTIONS)
    return parts


_ROLES: Final[dict[str, tuple[str, ...]]] = {
    "user": ("text", "file"),
    "assistant": ("text", "file", "reasoning", "tool-call", "tool-result", "custom", "reasoning-file"),
    "tool": ("tool-result", "tool-approval-response"),
}


def _contents(version: str) -> dict[str, Check]:
    parts = _parts(version)

    def content(names: tuple[str, ...]) -> Check:
        shapes: Mapping[str, ObjectShape] = {name: parts[name] for name in names if name in parts}

        def check_part(value: object, where: str, unmapped: dict[str, Any]) -> None:
            check_tagged(value, where, shapes, unmapped)

        return list_of(check_part)

    return {"system": string, **{role: content(names) for role, names in _ROLES.items()}}


_CONTENTS: Final[dict[str, dict[str, Check]]] = {version: _contents(version) for version in VERSIONS}
