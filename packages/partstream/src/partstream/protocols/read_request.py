"""Reads requests of clients, for all wires: fields, messages, parts, media and tools.

A field that is missing is empty; a field of the wrong type is refused with its place, because the answer depends on it:
each function here raises :class:`partstream.errors.InvalidRequestError` for what has another form than its docstring
says. What nothing here has a place for is counted in :class:`Counts` and fails no request: a reader counts parts and
tools of types that it does not know, and :func:`count_unread` every other field that no reader of the wire reads. A
wire brings the table of its parts; :class:`AskedMessages` joins messages as VS Code has them.
"""

from __future__ import annotations
import re
from base64 import b64decode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import unquote_to_bytes

from partstream.codec.checks import DATE, Places, find_unread
from partstream.conversation.media import address_part, file_name, type_of_file
from partstream.conversation.tool_forms import FUNCTION, KNOWN_TOOLS, TEXT, TEXT_INPUT, hosted_kind, joined_name
from partstream.errors import InvalidRequestError, UnsupportedParameterError
from partstream.lm.messages import ChatMessage, RequestOptions, StrictTool, Tool, ToolMode
from partstream.lm.outputs import HostedTool, InboundRequest, ToolForm
from partstream.lm.parts import DataPart, FilePart, MessagePart, RawCallPart, TextPart, ToolCallPart, ToolResultPart
from partstream.protocols.read_response import read_arguments


class Counts:
    """Counts the fields of a request that nothing here has a place for.

    Attributes:
        numbers: How often, by the place and the wire's own name, such as `input[].item_reference`.
    """

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def add(self, name: str) -> None:
        """Counts it once more."""
        self.numbers[name] = self.numbers.get(name, 0) + 1


_NOTHING: Final[tuple[Any, ...]] = (None, False, "", "auto", [])
"""Values that ask for nothing."""


def count_unread(
    fields: Mapping[str, Any],
    read: Places,
    counts: Counts,
    spelled: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None,
) -> None:
    """Counts the fields of the objects in a request that ask for something and are not `read`, see
    :func:`partstream.codec.checks.find_unread`."""
    find_unread(fields, read, counts.add, lambda value: value not in _NOTHING, spelled)


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
    value = fields.get(name)
    return value or "" if value is None or value.__class__ is str else checked(fields, name, str, "a string", where)


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
    said = () if defaults.keys().isdisjoint(fields) else defaults  # nearly always nothing
    return {name: fields[name] for name in said if fields.get(name) is not None and fields[name] != defaults[name]}


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
    value: object, where: str, counts: Counts, readers: Mapping[str, PartReader[_Part]]
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


def text_of(part: Mapping[str, Any], where: str, _counts: Counts) -> TextPart | None:
    """The text of a part; that of the type `refusal` is in a field of that name."""
    return said(part, "refusal" if part["type"] == "refusal" else "text", where)


PICTURE: Final = "image/*"
DOCUMENT: Final = "application/pdf"
"""What is at the address of a document whose type nothing says: servers that fetch any take these."""


def read_address(url: str, where: str, media_type: str = "") -> DataPart:
    """The content of a URL: its bytes if it is a data URL, else the address itself and what the request says to be
    there."""
    return read_bytes(url, where) if _is_data_url(url) else address_part(url, media_type)


_OBJECTS: Final = ("citations", "videoMetadata", "mediaResolution")


def attached(part: DataPart, fields: Mapping[str, Any], names: str, where: str) -> DataPart:
    """The part with what a request says about it in fields of these names, if it says anything."""
    about: dict[str, Any] = {}
    for name in names.split():
        kind, expected = (dict, "an object") if name in _OBJECTS else (str, "a string")
        value = checked(fields, name, kind, expected, where)
        if value not in (*_NOTHING, {"enabled": False}, file_name(part.mime_type)):
            about[name] = value
    return FilePart(part.data, part.mime_type, about=about) if about else part


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
    return DataPart(data, type_of_file(data, stated))


def _is_data_url(value: str) -> bool:
    return value[:5].lower() == "data:"


# ---- Tools ----


_AUTO, _REQUIRED = ToolMode.AUTO, ToolMode.REQUIRED  # Python 3.11 is slow to find a member of an enum
MODES: Final[Mapping[str, ToolMode]] = {"auto": ToolMode.AUTO, "none": ToolMode.AUTO, "required": ToolMode.REQUIRED}
"""The words of OpenAI for whether a tool must be called; `none` allows no tool."""


class AskedTools:
    """The tools of one request so far.

    Attributes:
        counts: Where the tools are counted that nothing here knows.
        forms: The forms of those that are no plain functions of the same name.
        idle: The functions where the request forbids to call any.
    """

    def __init__(self, counts: Counts) -> None:
        self.counts = counts
        self.tools: dict[str, Tool] = {}
        self.forms: dict[str, ToolForm] = {}
        self.hosted: list[HostedTool] = []
        self.idle: tuple[Tool, ...] = ()
        self._names: dict[tuple[str, str], str] = {}
        self._left_out: set[object] = set()

    def read(
        self,
        value: object,
        kind: str = FUNCTION,
        *,
        within: str = "",
        schema: str = "parameters",
        are_typed: bool = False,
        others: Mapping[str, ToolReader] = MappingProxyType({}),
        where: str = "tools",
        namespace: str = "",
    ) -> None:
        """Takes the tools of a list; null is no tool.

        Args:
            value: The list, at the place `where`.
            kind: The type of functions, also of a tool that has none.
            within: The field that holds the name of a function and all else; empty for the tool itself.
            schema: The field of the schema.
            are_typed: Whether a tool without a type is refused.
            others: The readers of the further types that the client runs, by the types without their dates.
            namespace: The namespace of all of them.
        """
        listed = () if value is None else objects_in(value, where, "a list of tools", are_typed=are_typed)
        for at, tool in listed:
            said = optional_text(tool, "type", at) or kind
            if said == kind:
                declared, place = object_in(tool, within, at), f"{at}.{within}" if within else at
                form, is_strict = checked(declared, schema, dict, "a JSON schema", place), bool(declared.get("strict"))
                self.add(FUNCTION, declared, place, form, namespace=namespace, is_strict=is_strict)
            elif (reader := others.get(DATE.sub("", said))) is not None:
                reader(self, tool, at, namespace)
            elif hosted_kind(said):
                self.host(said, tool, f"tools[].{said}")
            else:
                self.leave_out(said, tool)

    def add(
        self,
        kind: str,
        declared: Mapping[str, Any],
        where: str,
        schema: Mapping[str, Any] | None,
        *,
        namespace: str = "",
        more: str = "",
        is_strict: bool = False,
    ) -> None:
        """Takes a tool that the client runs, of a kind, with `more` after its description; counts a second one of its
        name."""
        own = required_text(declared, "name", where)
        if (namespace, own) in self._names:
            self.counts.add("tools[] (a name for the second time)")
            return
        name = joined_name(namespace, own)
        if name in self.tools:
            name = joined_name(namespace, own, is_taken=True)
        self._names[namespace, own] = name
        said = "\n\n".join(filter(None, (optional_text(declared, "description", where), more)))
        self.tools[name] = (StrictTool if is_strict else Tool)(name, said, schema)
        if name != own or kind != FUNCTION:
            self.forms[name] = ToolForm(kind, own, namespace)

    def add_text_tool(self, declared: Mapping[str, Any], where: str, namespace: str = "") -> None:
        """Takes a tool whose input is text, perhaps of a grammar."""
        form = checked(declared, "format", dict, "an object", where) or {}
        grammar = form.get("grammar", form) if form.get("type") == "grammar" else None
        syntax, rules = (grammar.get("syntax"), grammar.get("definition")) if isinstance(grammar, dict) else ("", "")
        more = f"The input is text of this {syntax} grammar:\n{rules}" if rules else ""
        self.add(TEXT, declared, where, TEXT_INPUT, namespace=namespace, more=more)

    def add_known(self, kind: str, tool: Mapping[str, Any], where: str, *, has_form: bool = False) -> None:
        """Takes a tool of :data:`KNOWN_TOOLS`; `has_form` if a call of it has a form of its own."""
        description, schema = KNOWN_TOOLS[kind]
        size = [tool.get(f"display_{name}_px") for name in ("width", "height")]
        more = f"The screen has {size[0]} x {size[1]} pixels." if all(size) else ""
        declared = {"name": kind, **tool, "description": description}
        self.add(kind if has_form else FUNCTION, declared, where, schema, more=more)

    def host(self, word: str, tool: Mapping[str, Any], where: str) -> None:
        """Takes a tool that the server is to run, by its name on the wire."""
        whole = {**tool, **(tool["filters"] if isinstance(tool.get("filters"), dict) else {})}
        said = {name: value for name, value in whole.items() if name not in _OF_THE_TOOL and value}
        near = said.get("user_location")
        if isinstance(near, dict) and isinstance(inner := near.get("approximate"), dict):  # of Chat Completions
            said["user_location"] = {"type": "approximate", **inner}
        self.hosted.append(HostedTool(hosted_kind(word), where, str(tool.get("name", word)), said))

    def leave_out(self, kind: str, tool: Mapping[str, Any]) -> None:
        """Counts a tool of a type that nothing here runs; a demand for it is for the upstream to refuse."""
        self.counts.add(f"tools[].{kind}")
        self._left_out |= {kind, str(tool.get("name", kind))}

    def name_of(self, own: str, namespace: str = "") -> str:
        """The name of the function that a tool is, also of one that the request does not list."""
        return self._names.get((namespace, own)) or joined_name(namespace, own)

    def asked(
        self,
        body: Mapping[str, Any],
        messages: Iterable[ChatMessage],
        chosen: tuple[tuple[Tool, ...], ToolMode],
        options: Mapping[str, Any],
        effort: str | None,
        read: frozenset[str],
        server: Mapping[str, Any] = MappingProxyType({}),
        **more: Any,
    ) -> InboundRequest:
        """The request with these tools: its conversation, the functions that `chosen` left and whether one must be
        called, options that win over those of the body, and the reasoning effort, nothing for none. The fields in
        `read` are no options; those of `server` are for the server itself, each with the value that demands nothing;
        `more` has further attributes.
        """
        given = {name: value for name, value in body.items() if name not in read and value is not None}
        given |= options
        model, stream = optional_text(body, "model"), more.pop("stream", body.get("stream") is True)
        return InboundRequest(
            more.pop("model", model),
            tuple(messages),
            RequestOptions(*chosen, given, {"reasoningEffort": effort} if effort else {}),
            stream,
            {**not_default(body, server), **self.counts.numbers},
            body=body,
            idle_tools=self.idle,
            tool_forms=self.forms,
            hosted_tools=tuple(self.hosted),
            **more,
        )

    # What `tool_choice` says

    def called(self, own: str, where: str) -> set[str]:
        """The functions that the tools of a name are; a name that no tool has is refused."""
        if not (found := {name for (_, said), name in self._names.items() if said == own}):
            raise InvalidRequestError(where, repr(own[:80]), f"a tool of {', '.join(self.tools) or 'tools'}"[:300])
        return found

    def demand(self, word: str, where: str) -> None:
        """Takes it that the server must run this tool of the request, by its name; any other is refused."""
        kind = hosted_kind(word)
        place = next((n for n, one in enumerate(self.hosted) if word == one.name or (kind and kind == one.kind)), None)
        if place is None and word in self._left_out:
            self.hosted.append(HostedTool("", where, word, {}, is_demanded=True))
            return
        if place is None:
            known = ", ".join(one.name for one in self.hosted) or "tools"
            raise UnsupportedParameterError(where, repr(word[:80]), f"a function, or a tool of {known}")
        self.hosted[place] = self.hosted[place]._replace(is_demanded=True)

    def kept(
        self, mode: ToolMode | None, names: set[str] | None = None, where: str = "tool_choice"
    ) -> tuple[tuple[Tool, ...], ToolMode]:
        """The functions of these names, None for all, and whether the model must call one; no mode allows no tool.
        A demand for a call is refused where there is nothing to call; `where` names it."""
        if mode is None:
            self.hosted.clear()
            self.idle = tuple(self.tools.values())
            return (), ToolMode.AUTO
        kept = self.tools if names is None else [name for name in self.tools if name in names]
        tools = tuple(map(self.tools.__getitem__, kept))
        if not tools and mode is _REQUIRED and not self.hosted:
            raise InvalidRequestError(where, "a call that is required", "a tool that can be called")
        return tools, mode if tools else _AUTO

    def choose(
        self, choice: object, modes: Mapping[str, ToolMode] = MODES, *, nests: bool = False
    ) -> tuple[tuple[Tool, ...], ToolMode]:
        """What a `tool_choice` in the form of OpenAI allows, see :meth:`kept`. One that names a tool that is not there,
        or that nothing here runs, is refused.

        Args:
            choice: The field.
            modes: The words that the wire has.
            nests: Whether what an object says is in a field with the name of its type.
        """
        where, names = "tool_choice", None
        mode: Any = "auto" if choice is None else choice
        if isinstance(choice, dict):
            kind, said, mode = optional_text(choice, "type", where), choice, "auto"
            if nests and kind in (FUNCTION, TEXT, "allowed_tools"):
                said, where = checked(choice, kind, dict, "an object", where) or {}, f"{where}.{kind}"
            if kind in (FUNCTION, TEXT) or ("", kind) in self._names:
                own = required_text(said, "name", where) if kind in (FUNCTION, TEXT) else kind
                mode, names = "required", self.called(own, f"{where}.name")
                self.hosted.clear()
            elif kind == "allowed_tools":
                names = self._allowed(said, f"{where}.tools", nests=nests)
                mode, where = "auto" if said.get("mode") in (None, "") else said["mode"], f"{where}.mode"
            else:
                self.demand(kind or described(None), where)
        if not isinstance(mode, str) or mode not in modes:
            raise InvalidRequestError(where, described(mode), f"one of {', '.join(modes)}, or an object")
        return self.kept(None if mode == "none" else modes[mode], names)

    def _allowed(self, said: Mapping[str, Any], where: str, *, nests: bool) -> set[str]:
        """The functions of `allowed_tools`; of the tools that the server runs, only those that it names stay."""
        if not isinstance(listed := said.get("tools"), list):
            raise InvalidRequestError(where, described(listed), "a list of tools")
        names: set[str] = set()
        kinds: set[str] = set()
        for one in listed:
            kind = one.get("type") if isinstance(one, dict) else None
            named = one.get(kind) if nests and isinstance(kind, str) else one
            if isinstance(named, dict) and isinstance(named.get("name"), str):
                names |= self.called(named["name"], where)
            elif isinstance(kind, str):
                names |= {self._names["", kind]} if ("", kind) in self._names else set()
                kinds.add(hosted_kind(kind))
        self.hosted = [one for one in self.hosted if one.kind in kinds]
        return names


ToolReader: TypeAlias = "Callable[[AskedTools, Mapping[str, Any], str, str], None]"
"""Reads a tool of a type, given its place in the request and its namespace."""
_DATE: Final = re.compile(r"_\d{8}$")
_OF_THE_TOOL: Final = frozenset({"type", "name", "cache_control", "filters"})


def object_in(fields: Mapping[str, Any], name: str, where: str) -> dict[str, Any]:
    """The object in a field, which must be there; the fields themselves where the name is empty."""
    value = fields.get(name) if name else fields
    if not isinstance(value, dict):
        raise InvalidRequestError(f"{where}.{name}", described(value), "an object")
    return value
