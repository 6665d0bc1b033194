"""Reads the tools of a request, and which the model may or must call (docs/wires/gemini.md#tools-and-schemas)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.errors import InvalidRequestError
from partstream.messages import Tool, ToolMode
from partstream.protocols.gemini.asked_fields import field_of, list_of, object_of, text_of
from partstream.protocols.read_request import described
from partstream.protocols.schemas import with_inner_schemas

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.read_request import Counts

__all__ = ["read_tools"]

_DECLARED: Final = "functionDeclarations"
_MODES: Final = {
    "": ToolMode.AUTO,
    "MODE_UNSPECIFIED": ToolMode.AUTO,
    "AUTO": ToolMode.AUTO,
    "VALIDATED": ToolMode.AUTO,
    "ANY": ToolMode.REQUIRED,
}
_NONE: Final = "NONE"


def read_tools(body: Mapping[str, Any], counts: Counts) -> tuple[tuple[Tool, ...], ToolMode]:
    """The functions that the model may call, and whether it must call one; other tools are counted.

    Raises:
        InvalidRequestError: `tools` or `toolConfig` has the wrong form.
    """
    tools: dict[str, Tool] = {}
    for place, tool in enumerate(list_of(body, "tools")):
        for name in tool.keys() - {_DECLARED}:
            counts.add(f"tools[].{name}")
        where = f"tools[{place}]"
        for number, declared in enumerate(list_of(tool, _DECLARED, where)):
            read = _function(declared, f"{where}.{_DECLARED}[{number}]")
            tools.setdefault(read.name, read)
    return _chosen(body, tools, counts)


def _function(declared: Mapping[str, Any], where: str) -> Tool:
    name = text_of(declared, "name", where)
    if not name:
        raise InvalidRequestError(f"{where}.name", "nothing", "a string that is not empty")
    schema = field_of(declared, "parametersJsonSchema", dict, "a JSON schema", where)
    if schema is None:
        subset = field_of(declared, "parameters", dict, "a schema", where)
        schema = None if subset is None else _json_schema(subset)
    return Tool(name, text_of(declared, "description", where), schema)


def _json_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema with the names of types that JSON Schema has; Google writes them in capitals too."""
    kind = schema.get("type")
    named = {**schema, "type": kind.lower()} if isinstance(kind, str) else dict(schema)
    return dict(with_inner_schemas(named, _json_schema))


def _chosen(body: Mapping[str, Any], tools: Mapping[str, Tool], counts: Counts) -> tuple[tuple[Tool, ...], ToolMode]:
    where = "toolConfig"
    config = object_of(body, where)
    for name in config.keys() - {"functionCallingConfig"}:
        counts.add(f"{where}.{name}")
    calling = object_of(config, "functionCallingConfig", where)
    mode = text_of(calling, "mode", f"{where}.functionCallingConfig").upper()
    if mode == _NONE:
        return (), ToolMode.AUTO
    if mode not in _MODES:
        raise InvalidRequestError(
            f"{where}.functionCallingConfig.mode", described(mode), "AUTO, ANY, VALIDATED or NONE"
        )
    names = calling.get("allowedFunctionNames") or tools.keys()
    allowed = tuple(tool for tool in tools.values() if tool.name in names)
    return allowed, _MODES[mode] if allowed else ToolMode.AUTO
