"""What Anthropic refuses of tools: facts 5 and 10.2."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.refused import RefusedRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["check_tools"]

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_ALTERNATIVES: Final = frozenset({"oneOf", "anyOf", "allOf"})


def check_tools(body: Mapping[str, Any]) -> None:
    """Refuses the tools of a request.

    Raises:
        RefusedRequestError: A tool is refused, or what is chosen of them.
    """
    tools = body.get("tools") or ()
    names = [str(tool.get("name")) for tool in tools]
    if len(set(names)) < len(names):
        raise RefusedRequestError("tools: Tool names must be unique.")
    if tools and all(tool.get("defer_loading") for tool in tools):
        raise RefusedRequestError("At least one tool must have defer_loading=false.")
    for place, tool in enumerate(tools):
        if tool.get("type") in {None, "custom"}:
            _check_tool(tool, f"tools.{place}.custom")
    _check_choice(body.get("tool_choice"), names)


def _check_tool(tool: Mapping[str, Any], where: str) -> None:
    if not _NAME.fullmatch(str(tool.get("name"))):
        raise RefusedRequestError(f"{where}.name: String should match pattern '^{_NAME.pattern}$'")
    schema = tool.get("input_schema")
    if not isinstance(schema, dict):
        raise RefusedRequestError(f"{where}.input_schema: Field required")
    if schema.get("type") is None:
        raise RefusedRequestError(f"{where}.input_schema.type: Field required")
    if schema["type"] != "object":
        raise RefusedRequestError(f"{where}.input_schema.type: Input should be 'object'")
    if not _ALTERNATIVES.isdisjoint(schema):
        raise RefusedRequestError(
            f"{where}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
        )


def _check_choice(choice: Mapping[str, Any] | None, names: list[str]) -> None:
    if choice is None:
        return
    if not names:
        raise RefusedRequestError("tool_choice may only be specified while providing tools.")
    if choice.get("type") == "tool" and choice.get("name") not in names:
        raise RefusedRequestError(f"tool_choice: Tool '{choice.get('name')}' not found in provided tools.")
