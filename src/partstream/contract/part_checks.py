"""The rules of each class of part, in the order in which they are judged.

A check takes one part and the facts about the response so far (:class:`Seen`), and returns a description of the
violation, or None. It trusts no type: providers are other people's code. The consequences of a broken rule are decided
in :mod:`partstream.contract.checker`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from partstream.codec.json_codec import find_non_json, shorten
from partstream.contract.rules import RULES, Level, Rule
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, is_mark

__all__ = ["Finding", "Seen", "judge"]


@dataclass(slots=True)
class Seen:
    """The facts about one response so far.

    Attributes:
        tools: The names of the request's tools, or None if unknown.
        namespace: The prefix of the provider's call ids, or None if unknown.
        call_ids: The ids of the calls that passed; the only field that grows.
        last_call: The last tool call that passed, or None.
        visible: Whether a text that is not empty, a tool call, or data that is no mark of the host has passed.
    """

    tools: frozenset[str] | None
    namespace: str | None
    call_ids: set[str] = field(default_factory=set)
    last_call: ToolCallPart | None = None
    visible: bool = False


_Find: TypeAlias = Callable[[Any, Seen], str | None]


@dataclass(frozen=True, slots=True)
class _Check:
    """What finds whether a part breaks a rule.

    Attributes:
        rule: The rule.
        find: Describes how a part breaks it, or returns None.
        relies_on: The rules that a part must keep for the check to make sense.
    """

    rule: Rule
    find: _Find
    relies_on: tuple[Rule, ...] = ()


Finding: TypeAlias = tuple[Rule, str]
"""A rule that a part breaks, and a description of how."""


def judge(part: object, seen: Seen) -> Sequence[Finding]:
    """All rules that `part` breaks; notes in `seen` a part that breaks no MUST."""
    if part.__class__ is TextPart:
        # Nearly every part of a stream: text that no check of the table could object to. Surrogates do not print.
        value = part.value
        if value.__class__ is str and (value.isascii() or value.isprintable()):
            if value:
                seen.visible = True
            return ()
    findings: list[Finding] = []
    for check in _CHECKS.get(type(part)) or _inherited(type(part)):
        if findings and any(rule in check.relies_on for rule, _ in findings):
            continue
        detail = check.find(part, seen)
        if detail is not None:
            findings.append((check.rule, detail))
    if not any(rule.level is Level.MUST for rule, _ in findings):
        _note(part, seen)
    return findings


def _inherited(part_class: type) -> tuple[_Check, ...]:
    for ancestor in part_class.__mro__:
        if ancestor in _CHECKS:
            return _CHECKS[ancestor]
    return _UNKNOWN_CLASS


def _note(part: object, seen: Seen) -> None:
    if isinstance(part, TextPart):
        # An empty text shows nothing: a host that gets only empty texts has nothing to display.
        seen.visible = seen.visible or bool(part.value)
    elif isinstance(part, DataPart):
        seen.visible = seen.visible or not is_mark(part.mime_type)
    elif isinstance(part, ToolCallPart):
        seen.visible = True
        seen.call_ids.add(part.call_id)
        seen.last_call = part


def _text_value(part: TextPart, _: Seen) -> str | None:
    value: object = part.value
    return None if isinstance(value, str) else f"the value is {_described(value)}, expected a string"


def _text_utf8(part: TextPart, _: Seen) -> str | None:
    if part.value.isascii():
        return None
    try:
        part.value.encode()
    except UnicodeEncodeError as error:
        return f"half of a surrogate pair, {part.value[error.start]!r}, at character {error.start}"
    return None


def _thinking_value(part: ThinkingPart, _: Seen) -> str | None:
    value: object = part.value
    if isinstance(value, str) or (isinstance(value, list | tuple) and all(isinstance(piece, str) for piece in value)):
        return None
    return f"the value is {_described(value)}, expected a string or an array of strings"


def _thinking_id(part: ThinkingPart, _: Seen) -> str | None:
    value: object = part.id
    return None if isinstance(value, str | None) else f"the id is {_described(value)}, expected a string or none"


def _thinking_metadata(part: ThinkingPart, _: Seen) -> str | None:
    metadata: object = part.metadata
    if metadata is None:
        return None
    if not isinstance(metadata, Mapping):
        return f"the metadata are {_described(metadata)}, expected an object"
    return find_non_json(metadata, "metadata")


def _call_id(part: ToolCallPart, _: Seen) -> str | None:
    return _non_empty("the call id", part.call_id)


def _call_name(part: ToolCallPart, _: Seen) -> str | None:
    return _non_empty("the tool's name", part.name)


def _known_tool(part: ToolCallPart, seen: Seen) -> str | None:
    if seen.tools is None or part.name in seen.tools:
        return None
    have = shorten(sorted(seen.tools)) if seen.tools else "none"
    return f"the tool {shorten(part.name)} is not among the request's tools: {have}"


def _object_input(part: ToolCallPart, _: Seen) -> str | None:
    value: object = part.input
    if isinstance(value, Mapping):
        return None
    return f"the input of call {shorten(part.call_id)} is {_described(value)}, expected an object"


def _json_input(part: ToolCallPart, _: Seen) -> str | None:
    return find_non_json(part.input, "input")


def _atomic(part: ToolCallPart, seen: Seen) -> str | None:
    last = seen.last_call
    # The same call again, unchanged, is a call that was emitted twice: see `tool-call.unique-call-id`.
    if last is None or last.call_id != part.call_id or last.name != part.name or last.input == part.input:
        return None
    return f"call {shorten(part.call_id)} of {shorten(part.name)} came in two parts with different input"


def _unique_call_id(part: ToolCallPart, seen: Seen) -> str | None:
    return f"call id {shorten(part.call_id)} came twice" if part.call_id in seen.call_ids else None


def _namespaced(part: ToolCallPart, seen: Seen) -> str | None:
    if seen.namespace is None or part.call_id.startswith(seen.namespace):
        return None
    return f"call id {shorten(part.call_id)} does not start with {shorten(seen.namespace)}"


def _data_bytes(part: DataPart, _: Seen) -> str | None:
    value: object = part.data
    return None if isinstance(value, bytes) else f"the data are {_described(value)}, expected bytes"


def _media_type(part: DataPart, _: Seen) -> str | None:
    return _non_empty("the media type", part.mime_type)


def _tool_result(part: ToolResultPart, _: Seen) -> str | None:
    return f"a ToolResultPart for call {shorten(part.call_id)} came; tool results belong in messages"


def _unknown_class(part: object, _: Seen) -> str | None:
    return f"an object of class {type(part).__name__} came"


def _described(value: object) -> str:
    return f"{shorten(value)} ({type(value).__name__})"


def _non_empty(what: str, value: object) -> str | None:
    return None if isinstance(value, str) and value else f"{what} is {_described(value)}, expected a non-empty string"


def _checks(*rows: tuple[str, _Find] | tuple[str, _Find, tuple[str, ...]]) -> tuple[_Check, ...]:
    """Checks by the ids of their rules, and of those that they rely on."""
    return tuple(
        _Check(RULES[rule], find, tuple(RULES[one] for one in (more[0] if more else ()))) for rule, find, *more in rows
    )


_CALL_ID: Final = ("tool-call.non-empty-call-id",)

_CHECKS: Final[Mapping[type, tuple[_Check, ...]]] = MappingProxyType(
    {
        TextPart: _checks(
            ("text.string-value", _text_value),
            ("text.utf-8", _text_utf8, ("text.string-value",)),
        ),
        ThinkingPart: _checks(
            ("thinking.string-value", _thinking_value),
            ("thinking.string-id", _thinking_id),
            ("thinking.json-metadata", _thinking_metadata),
        ),
        # An unhashable call id never reaches the set of ids, and a call in two parts is no second call.
        ToolCallPart: _checks(
            ("tool-call.non-empty-call-id", _call_id),
            ("tool-call.non-empty-name", _call_name),
            ("tool-call.known-tool", _known_tool, ("tool-call.non-empty-name",)),
            ("tool-call.object-input", _object_input),
            ("tool-call.json-input", _json_input, ("tool-call.object-input",)),
            ("tool-call.atomic", _atomic, _CALL_ID),
            ("tool-call.unique-call-id", _unique_call_id, (*_CALL_ID, "tool-call.atomic")),
            ("tool-call.namespaced-call-id", _namespaced, _CALL_ID),
        ),
        DataPart: _checks(
            ("data.bytes", _data_bytes),
            ("data.media-type", _media_type),
        ),
        ToolResultPart: _checks(("part.no-tool-result", _tool_result)),
    }
)

_UNKNOWN_CLASS: Final = _checks(("part.known-class", _unknown_class))
