"""Reads the list of tools in a request: tools of one type are read, and all others are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partstream.errors import InvalidRequestError
from partstream.messages import Tool
from partstream.protocols.asked_fields import checked, described, optional_text, required_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from partstream.protocols.asked_fields import Counts

__all__ = ["read_function", "tools_of_type"]


def tools_of_type(value: object, kind: str, counts: Counts) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The tools of a type, or of none, each behind its place in the request; null is no tool.

    Args:
        value: The field `tools`.
        kind: The type of the tools to read, which a tool may leave out.
        counts: Counts the tools of other types.

    Raises:
        InvalidRequestError: The field or a tool has the wrong form.
    """
    if value is None:
        return
    if not isinstance(value, list):
        raise InvalidRequestError("tools", described(value), "a list of tools")
    for place, tool in enumerate(value):
        where = f"tools[{place}]"
        if not isinstance(tool, dict):
            raise InvalidRequestError(where, described(tool), "an object")
        said = optional_text(tool, "type", where) or kind
        if said == kind:
            yield where, tool
        else:
            counts.add(f"tools[].{said}")


def read_function(tool: Mapping[str, Any], where: str) -> Tool:
    """The function that the field `function` of a tool describes: its name, description and parameters.

    Raises:
        InvalidRequestError: The field has the wrong form.
    """
    function, at = tool.get("function"), f"{where}.function"
    if not isinstance(function, dict):
        raise InvalidRequestError(at, described(function), "an object with a name")
    schema = checked(function, "parameters", dict, "a JSON schema", at)
    name, description = required_text(function, "name", at), optional_text(function, "description", at)
    return Tool(name, description, schema)
