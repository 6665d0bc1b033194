"""Reads requests of clients, for all wires: fields, messages, parts, media and tools.

A field that is missing is empty; a field of the wrong type is refused with its place, because the answer depends on it:
each function here raises :class:`partstream.errors.InvalidRequestError` for what has another form than its docstring
says. What nothing here has a place for is counted in :class:`Counts` and fails no request: a reader counts parts and
tools of types that it does not know, and :func:`count_unread` every other field that no reader of the wire reads. A
wire brings the table of its parts; :class:`AskedMessages` joins messages as VS Code has them.
"""

from __future__ import annotations
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import unquote_to_bytes

from partstream.conversation.media import address_part, sniff
from partstream.errors import InvalidRequestError
from partstream.lm.messages import ChatMessage, StrictTool, Tool, ToolMode
from partstream.lm.parts import DataPart, MessagePart, RawCallPart, TextPart, ToolCallPart, ToolResultPart
from partstream.protocols.read_response import read_arguments


class Counts:
    """Counts the fields of a request that nothing here has a place for.

    Attributes:
        numbers: How often, by the place and the wire's own name, such as `input[].item_reference`.
    """

    __slots__ = ("numbers",)

    def __init__(self) -> None:
        self.numbers: Counter[str] = Counter()

    def add(self, name: str) -> None:
        """Counts it once more."""
        self.numbers[name] += 1


def places(table: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """The fields that are read of each object in a request, of a table with a text for several places.

    `messages[].content[text|image_url]` is each part of these types, `messages[].content[].image_url` the object in a
    field of a part; objects in a list without a type have the empty one.
    """
    found: dict[str, frozenset[str]] = {}
    for path, read in table.items():
        place, is_typed, types = path.rstrip("]").rpartition("[") if path.endswith("]") else (path, "", "")
        found |= {f"{place}[{kind}]" if is_typed else place: frozenset(read.split()) for kind in types.split("|")}
    return found


_NOTHING: Final[tuple[Any, ...]] = (None, False, "", "auto", [])
"""Values that ask for nothing."""


def count_unread(
    fields: Mapping[str, Any],
    read: Mapping[str, frozenset[str]],
    counts: Counts,
    spelled: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda fields: fields,
    where: str = "",
) -> None:
    """Counts the fields of the objects in an object that ask for something and are not `read`, see :func:`places`.

    Objects without a place are left out: their reader counts them. `spelled` gives an object whose fields have the
    names of the table.
    """
    for name, value in fields.items():
        at = f"{where}{name}[]" if isinstance(value, list) else f"{where}{name}"
        for one in value if isinstance(value, list) else (value,):
            if not isinstance(one, dict):
                continue
            known = read.get(f"{where}{name}[{one['type']}]" if one.get("type") else at)
            if known is not None:
                said = spelled(one)
                for left in said.keys() - known:
                    if said[left] not in _NOTHING:
                        counts.add(f"{at}.{left}")
                count_unread(said, read, counts, spelled, f"{at}.")


def described(value: object) -> str:
    """Describes a wrong value: short text as it is, any other value by its type."""
    if value is None:
        return "nothing"
    return f"{value!r:.60}" if isinstance(value, str) else type(value).__name__


def checked(fields: Mapping[str, Any], name: str, field_type: type, expected: str, where: str = "") -> Any:
    """The value of a field; None if it is missing or null."""
    value = fields.get(name)
    if value is not None and not isinstance(value, field_type):
        raise InvalidRequestError(f"{where}.{name}" if where else name, described(value), expected)
    return value


def optional_text(fields: Mapping[str, Any], name: str, where: str = "") -> str:
    """The string in a field; empty if it is missing or null."""
    return checked(fields, name, str, "a string", where) or ""


def required_text(fields: Mapping[str, Any], name: str, where: str) -> str:
    """The non-empty string in a field."""
    value = optional_text(fields, name, where)
    if not value:
        got = "an empty string" if fields.get(name) == "" else "nothing"
        raise InvalidRequestError(f"{where}.{name}" if where else name, got, "a string that is not empty")
    return value


def call_with(call_id: str, name: str, fields: Mapping[str, Any], where: str) -> ToolCallPart:
    """A call with the text in the field `arguments`, whatever a model wrote: no server looks into its history.

    Nothing, an empty text and `null` are an empty object: clients send back what they got.
    """
    text = optional_text(fields, "arguments", where)
    value = {} if text.strip() == "null" else read_arguments(text)
    return RawCallPart.of(call_id, name, text) if value is None else ToolCallPart(call_id, name, value)


def read_call(call: object, where: str) -> ToolCallPart:
    """A call of a function, `{"id", "function": {"name", "arguments"}}`, whose arguments are text."""
    function, at = call.get("function") if isinstance(call, dict) else None, f"{where}.function"
    if not isinstance(call, dict) or not isinstance(function, dict):
        raise InvalidRequestError(at, described(function), "an object with a name")
    call_id, name = required_text(call, "id", where), required_text(function, "name", at)
    return call_with(call_id, name, function, at)


def not_default(fields: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that ask for something: `defaults` has the value of each field that asks for nothing, as null does."""
    return {
        name: fields[name]
        for name, default in defaults.items()
        if fields.get(name) is not None and fields[name] != default
    }


def objects_in(
    value: object, where: str, expected: str, *, are_typed: bool = False
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects of a list, each with its place; those that `are_typed` have a text as their `type`."""
    if not isinstance(value, list):
        raise InvalidRequestError(where, described(value), expected)
    for place, one in enumerate(value):
        at = f"{where}[{place}]"
        if not isinstance(one, dict) or (are_typed and not isinstance(one.get("type"), str)):
            raise InvalidRequestError(at, described(one), "an object with a type" if are_typed else "an object")
        yield at, one


def messages_by_role(value: object, roles: Collection[str]) -> Iterator[tuple[str, Mapping[str, Any], str]]:
    """The role of each message of the field `messages`, the message, and its place in the request; an error lists the
    roles that there are in their order.
    """
    for where, message in objects_in(value, "messages", "a list of messages"):
        role = message.get("role")
        if not isinstance(role, str) or role not in roles:
            raise InvalidRequestError(f"{where}.role", described(role), f"one of {', '.join(roles)}")
        yield role, message, where


class AskedMessages:
    """The messages of one request so far. Neighbouring results of tools are one message of the user."""

    __slots__ = ("_messages", "_results")

    def __init__(self) -> None:
        self._messages: list[ChatMessage] = []
        self._results: list[ToolResultPart] = []

    def add(self, message: ChatMessage) -> None:
        """Takes the next message."""
        self._close_results()
        self._messages.append(message)

    def add_result(self, result: ToolResultPart) -> None:
        """Takes the next result of a tool."""
        self._results.append(result)

    def end(self) -> tuple[ChatMessage, ...]:
        """All messages."""
        self._close_results()
        return tuple(self._messages)

    def _close_results(self) -> None:
        if self._results:
            self._messages.append(ChatMessage.user(self._results))
            self._results = []


_Part = TypeVar("_Part", bound="MessagePart")
PartReader: TypeAlias = "Callable[[Mapping[str, Any], str, Counts], _Part | None]"
"""Reads a part, given its place in the request; None gives no part."""


def read_parts(
    value: object,
    where: str,
    counts: Counts,
    readers: Mapping[str, PartReader[_Part]],
) -> tuple[_Part | TextPart, ...]:
    """The parts of a content field at a place; a string is one text, and an empty text gives no part.

    A part of a type without a reader is counted.
    """
    if isinstance(value, str):
        return (TextPart(value),) if value else ()
    parts: list[_Part] = []
    for at, part in objects_in(value, where, "a string or a list of content parts", are_typed=True):
        reader = readers.get(part["type"])
        if reader is None:
            counts.add(f"content[].{part['type']}")
            continue
        read = reader(part, at, counts)
        if read is not None:
            parts.append(read)
    return tuple(parts)


def said(part: Mapping[str, Any], name: str, where: str) -> TextPart | None:
    """The text in a field of a part; None if it is empty."""
    if part.get(name) is None:
        raise InvalidRequestError(f"{where}.{name}", "nothing", "a string")
    text = optional_text(part, name, where)
    return TextPart(text) if text else None


_UNKNOWN: Final = "application/octet-stream"


PICTURE: Final = "image/*"
DOCUMENT: Final = "application/pdf"
"""What is at the address of a document whose type nothing says: servers that fetch any take these."""


def read_address(url: str, where: str, media_type: str = "") -> DataPart:
    """The content of a URL: its bytes if it is a data URL, else the address itself and what the request says to be
    there."""
    return read_bytes(url, where) if _is_data_url(url) else address_part(url, media_type)


def read_bytes(value: str, where: str, label: str = "") -> DataPart:
    """The bytes of a data URL (RFC 2397) or of plain base64, with their media type; `label` is the one that a request
    states beside plain base64.
    """
    head, comma, payload = value[5:].partition(",") if _is_data_url(value) else (f"{label};base64", ",", value)
    if not comma:
        raise InvalidRequestError(where, f"{value!r:.60}", "a data URL")
    stated = head.removesuffix(";base64")
    try:
        if stated == head:
            data = unquote_to_bytes(payload)
        else:
            compact = "".join(payload.split())
            data = b64decode(compact + "=" * (-len(compact) % 4), validate=True)
    except ValueError as error:
        raise InvalidRequestError(where, f"{len(payload):,} characters that are not base64", "base64") from error
    return DataPart(data, stated or sniff(data) or _UNKNOWN)


def _is_data_url(value: str) -> bool:
    return value[:5].lower() == "data:"


# ---- Tools ----


def read_tools(
    value: object,
    counts: Counts,
    kind: str = "function",
    *,
    within: str = "",
    schema: str = "parameters",
    are_typed: bool = False,
) -> dict[str, Tool]:
    """The tools of a type in the field `tools`, by their names; null is no tool. Tools of other types, names for the
    second time, are counted.

    Args:
        value: The field.
        counts: Where all of that is counted.
        kind: The type, also of a tool that has none.
        within: The field that holds the name and all else; empty for the tool itself.
        schema: The field of the schema.
        are_typed: Whether a tool without a type is refused.
    """
    tools: dict[str, Tool] = {}
    listed = () if value is None else objects_in(value, "tools", "a list of tools", are_typed=are_typed)
    for at, tool in listed:
        said = optional_text(tool, "type", at) or kind
        if said != kind:
            counts.add(f"tools[].{said}")
            continue
        declared = tool.get(within) if within else tool
        where = f"{at}.{within}" if within else at
        if not isinstance(declared, dict):
            raise InvalidRequestError(where, described(declared), "an object with a name")
        name, description = required_text(declared, "name", where), optional_text(declared, "description", where)
        kind_of_tool = StrictTool if declared.get("strict") else Tool
        read = kind_of_tool(name, description, checked(declared, schema, dict, "a JSON schema", where))
        if name in tools:
            counts.add(f"tools[].{kind} (a name for the second time)")
        tools.setdefault(name, read)
    return tools


MODES: Final[Mapping[str, ToolMode]] = {
    "auto": ToolMode.AUTO,
    "none": ToolMode.AUTO,
    "required": ToolMode.REQUIRED,
}
"""The words of OpenAI for whether a tool must be called; `none` allows no tool."""


def chosen_tools(
    tools: Mapping[str, Tool],
    choice: object,
    counts: Counts,
    modes: Mapping[str, ToolMode] = MODES,
    *,
    nests: bool = False,
) -> tuple[tuple[Tool, ...], ToolMode]:
    """The tools that a `tool_choice` in the form of OpenAI allows, and whether the model must call one.

    Args:
        tools: The tools of the request, by their names.
        choice: The field.
        counts: Where a choice of another kind is counted: it allows all tools.
        modes: The words that the wire has.
        nests: Whether what an object says is in a field with the name of its type, and a tool's name in `function`.
    """
    where = "tool_choice"
    names: set[str] | None = None
    mode: Any = "auto" if choice is None else choice
    if isinstance(choice, dict):
        kind, said, mode = choice.get("type"), choice, "auto"
        if nests and kind in ("function", "allowed_tools"):
            said, where = checked(choice, kind, dict, "an object", where) or {}, f"{where}.{kind}"
        if kind == "function":
            mode, names = "required", {required_text(said, "name", where)}
        elif kind == "allowed_tools":
            if not isinstance(listed := said.get("tools"), list):
                raise InvalidRequestError(f"{where}.tools", described(listed), "a list of tools")
            mode = "auto" if said.get("mode") in (None, "") else said["mode"]
            allowed = (one.get("function") if nests else one for one in listed if isinstance(one, dict))
            named = (one.get("name") for one in allowed if isinstance(one, dict))
            where, names = f"{where}.mode", {name for name in named if isinstance(name, str)}
        else:
            counts.add(f"tool_choice.{kind}")
    if not isinstance(mode, str) or mode not in modes:
        raise InvalidRequestError(where, described(mode), f"one of {', '.join(modes)}, or an object")
    kept = tuple(tool for name, tool in tools.items() if mode != "none" and (names is None or name in names))
    return kept, modes[mode] if kept else ToolMode.AUTO
