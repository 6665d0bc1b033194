"""Reads a request of OpenResponses, as its server does.

What an answer depends on is read with care: the wrong type of it is refused with its place. What the specification has
and VS Code has no place for, and every item, content part and tool of an unknown type, is counted in
:attr:`partstream.outputs.Asked.unmapped` and fails no request.

Source: OpenResponses specification 2026-04-24, `CreateResponseBody`; what real clients send beside it is named where it
is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.errors import InvalidRequestError
from partstream.messages import ChatMessage, RequestOptions, Tool, ToolMode
from partstream.outputs import InboundRequest
from partstream.protocols.openresponses.asked_items import read_items
from partstream.protocols.openresponses.stored_responses import SOCKET
from partstream.protocols.read_request import Counts, checked, described, not_default, optional_text, required_text
from partstream.protocols.serve import RequestReaderSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.serve import WireRequest

__all__ = ["READ_REQUEST"]


def _read(request: WireRequest) -> InboundRequest:
    """What a request asks.

    Raises:
        InvalidRequestError: A field that the answer depends on has the wrong type.
    """
    body = request.body
    for name, (field_type, expected) in _TYPED_FIELDS.items():
        checked(body, name, field_type, expected)
    counts = Counts()
    messages = read_items(body.get("input"), counts)
    if instructions := optional_text(body, "instructions"):
        messages.insert(0, ChatMessage.system(instructions))
    tools = _read_tools(body.get("tools"), counts)
    tools, tool_mode = _choose(tools, body.get("tool_choice"), counts)
    for name in _OF_THE_CLIENT:
        if body.get(name) is not None:
            counts.add(name)
    effort, options = _reasoning(body)
    options |= {name: value for name, value in body.items() if name not in _READ_FIELDS and value is not None}
    if cache_key := optional_text(body, "prompt_cache_key"):
        options["_conversationId"] = cache_key
    return InboundRequest(
        model=optional_text(body, "model"),
        messages=tuple(messages),
        options=RequestOptions(tools, tool_mode, options, {} if effort is None else {"reasoningEffort": effort}),
        stream=body.get("stream") is True,
        unmapped={**not_default(body, _OF_THE_SERVER), **counts.numbers},
        body=body,
    )


_TYPED_FIELDS: Final[dict[str, tuple[type, str]]] = {
    "stream": (bool, "true or false"),
    "include": (list, "a list of strings"),
    "metadata": (dict, "an object"),
    "reasoning": (dict, "an object"),
    "text": (dict, "an object"),
}
"""Fields that the answer depends on, or repeats in another form."""

_OF_THE_SERVER: Final[dict[str, Any]] = {
    "store": False,
    "background": False,
    "previous_response_id": None,
    "stream_options": None,
    "context_management": None,
    # Of OpenAI alone.
    "conversation": None,
    "prompt": None,
    "moderation": None,
}
"""What a client wants of the server itself and not of a model, with the value that wants nothing."""

_OF_THE_CLIENT: Final = ("client_metadata",)
"""What a client says about itself. Codex puts the path of the workspace there, so only the name of the field is counted
(docs/wires/openresponses.md#what-codex-demands)."""

_READ_FIELDS: Final = frozenset(
    {
        "model",
        "input",
        "instructions",
        "tools",
        "tool_choice",
        "stream",
        "include",  # the writer of the response reads it
        "reasoning",
        "prompt_cache_key",
        *_OF_THE_SERVER,
        *_OF_THE_CLIENT,
    }
)
"""Fields that are no options of the model; all others are, under the names that they have here."""


def _reasoning(body: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """The reasoning effort, and the other fields of `reasoning` as an option.

    Every effort asks for a summary by itself.
    """
    reasoning = body.get("reasoning") or {}
    said = {name: value for name, value in reasoning.items() if value is not None}
    effort = optional_text(reasoning, "effort", "reasoning")
    beside = {name for name in said if name != "effort"}
    asks_for_no_more = not beside or (effort and said == {"effort": effort, "summary": "auto"})
    return effort or None, {} if asks_for_no_more else {"reasoning": dict(said)}


# ---- tools ----


def _read_tools(value: object, counts: Counts) -> tuple[Tool, ...]:
    """The functions that the model may call; tools that a server runs by itself are counted."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InvalidRequestError("tools", described(value), "a list of tools")
    tools: dict[str, Tool] = {}
    for place, tool in enumerate(value):
        where = f"tools[{place}]"
        if not isinstance(tool, dict) or not isinstance(tool.get("type"), str):
            raise InvalidRequestError(where, described(tool), "an object with a type")
        if tool["type"] != "function":
            counts.add(f"tools[].{tool['type']}")
            continue
        name = required_text(tool, "name", where)
        if name in tools:
            counts.add("tools[].function (a name for the second time)")
            continue
        checked(tool, "parameters", dict, "a JSON schema", where)
        if tool.get("strict"):
            counts.add("tools[].strict")
        tools[name] = Tool(name, optional_text(tool, "description", where), tool.get("parameters"))
    return tuple(tools.values())


_TOOL_MODES: Final = {"auto": ToolMode.AUTO, "none": ToolMode.AUTO, "required": ToolMode.REQUIRED}


def _choose(tools: tuple[Tool, ...], choice: object, counts: Counts) -> tuple[tuple[Tool, ...], ToolMode]:
    """The tools that `tool_choice` allows, as the specification demands, and whether one must be called."""
    mode = choice
    if isinstance(choice, dict):
        mode, names = _named(choice, counts)
        if names is not None:
            tools = tuple(tool for tool in tools if tool.name in names)
    elif choice == "none":
        tools = ()
    elif choice is None:
        mode = "auto"
    if not isinstance(mode, str) or mode not in _TOOL_MODES:
        where = "tool_choice.mode" if isinstance(choice, dict) else "tool_choice"
        raise InvalidRequestError(where, described(mode), f"one of {', '.join(_TOOL_MODES)}, or an object")
    return tools, _TOOL_MODES[mode] if tools else ToolMode.AUTO


def _named(choice: Mapping[str, Any], counts: Counts) -> tuple[Any, frozenset[str] | None]:
    """The mode of a `tool_choice` object and the names of the tools that it allows; None allows all."""
    kind = choice.get("type")
    if kind == "function":
        return "required", frozenset({required_text(choice, "name", "tool_choice")})
    if kind != "allowed_tools":
        counts.add(f"tool_choice.{kind}")
        return "auto", None
    listed = choice.get("tools")
    if not isinstance(listed, list):
        raise InvalidRequestError("tool_choice.tools", described(listed), "a list of tools")
    names = [entry.get("name") for entry in listed if isinstance(entry, dict)]
    mode = "auto" if choice.get("mode") is None else choice["mode"]
    if mode == "none":
        return mode, frozenset()
    return mode, frozenset(name for name in names if isinstance(name, str))


READ_REQUEST: Final = RequestReaderSpec(read=_read, socket=SOCKET)
