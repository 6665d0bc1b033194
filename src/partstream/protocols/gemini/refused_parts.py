"""Puts parts of a request into the form that a server takes which has refused them; each change leaves a body that has
nothing to change as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.gemini.provider_state import with_dummies
from partstream.protocols.schemas import openapi_subset

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["JSON_SCHEMA", "SUBSET", "with_files_behind", "with_signed_steps", "with_subset_schemas"]

JSON_SCHEMA: Final = "parametersJsonSchema"
"""The field of a declaration that takes JSON Schema whole."""
SUBSET: Final = "parameters"
"""The field that takes a protobuf message: a subset of OpenAPI (docs/wires/gemini.md#tools-and-schemas)."""


def with_subset_schemas(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body with the parameters of tools in the subset of OpenAPI."""
    return {**body, "tools": [_with_subsets(tool) for tool in body["tools"]]} if "tools" in body else body


def _with_subsets(tool: dict[str, Any]) -> dict[str, Any]:
    if "functionDeclarations" not in tool:
        return tool
    return {**tool, "functionDeclarations": [_with_subset(one) for one in tool["functionDeclarations"]]}


def _with_subset(declared: dict[str, Any]) -> dict[str, Any]:
    if JSON_SCHEMA not in declared:
        return declared
    rest = {name: value for name, value in declared.items() if name != JSON_SCHEMA}
    return rest | {SUBSET: openapi_subset(declared[JSON_SCHEMA])}


def with_signed_steps(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body with a signature on the first call of each step of the current turn."""
    return {**body, "contents": with_dummies(body["contents"])}


def with_files_behind(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body with the files of results behind them."""
    return {**body, "contents": [_with_files_behind(content) for content in body["contents"]]}


def _with_files_behind(content: dict[str, Any]) -> dict[str, Any]:
    responses = [part.get("functionResponse", {}) for part in content["parts"]]
    files = [file for response in responses for file in response.get("parts", ())]
    if not files:
        return content
    return {**content, "parts": [*map(_without_files, content["parts"]), *files]}


def _without_files(part: dict[str, Any]) -> dict[str, Any]:
    if "functionResponse" not in part:
        return part
    response = {name: value for name, value in part["functionResponse"].items() if name != "parts"}
    return {**part, "functionResponse": response}
