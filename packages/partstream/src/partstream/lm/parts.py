"""The parts of a response and of a message, one class for each part class of VS Code.

Pure values: they compare by content and cannot be changed once made, so a part that was reported to one consumer can
safely go to another. Source: `@types/vscode` 1.140, `LanguageModel*Part`. The rules for a stream of parts are in
:mod:`partstream.lm.contract`.

Beside the parts are the usage and the finish reason of a model call, in one form for all providers; the form of parts
in JSON for commands, reports and recordings (docs/command-line.md has the table for users): an object with its `type`
and the fields of its class, bytes in base64, parts inside a part in the same form; and the host's marks, data parts for
programs, which never belong in a prompt. A media type alone shows a mark (Copilot 0.67, `CustomDataPartMimeTypes`);
:mod:`partstream.conversation.provider_state` reads the one kind whose contents matter.
"""

from __future__ import annotations
import binascii
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum, StrEnum
from functools import cache
from typing import Any, Final, TypeAlias, TypeVar

from partstream.codec.checks import (
    BOOLEAN,
    FILLED_TEXT,
    MAPPING,
    MOST_DOLLARS,
    TEXT,
    Expectation,
    as_amount,
    as_count,
    check,
    check_fields,
    dataclass,
    field,
    fields,
    instance_of,
    optional,
    refuse,
    sequence_of,
)
from partstream.codec.json_codec import pieces_encoder
from partstream.codec.text import bare_media_type
from partstream.errors import UnexpectedValueError

_Row = TypeVar("_Row")


class Audience(IntEnum):
    """The reader of a text or data part; the numbers are those of `vscode.LanguageModelPartAudience`, a proposed API.

    In a request, a part whose audience leaves out the assistant is not sent to the model (:func:`is_for_assistant`).
    """

    ASSISTANT = 0
    USER = 1
    EXTENSION = 2


_pieces_in_ascii: Final = pieces_encoder(allow_nan=False)

_RARE_FIELDS: Final[Mapping[str, object]] = {"audience": None, "entries": ()}
"""The defaults of fields that most parts lack: neither the `repr` nor the JSON of a part shows them."""


def _is_shown(name: str, value: object) -> bool:
    return name not in _RARE_FIELDS or value != _RARE_FIELDS[name]


class _ShortRepr:
    """A `repr` without the rare fields that a part lacks."""

    __slots__ = ()

    def __repr__(self) -> str:
        part: Any = self
        values = ((one.name, getattr(part, one.name)) for one in fields(part))
        words = (f"{name}={value!r}" for name, value in values if _is_shown(name, value))
        return f"{type(self).__name__}({', '.join(words)})"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class TextPart(_ShortRepr):
    """A piece of the visible answer; the counterpart of `vscode.LanguageModelTextPart`.

    Consecutive text parts form one text: the consumer joins their values without a separator.

    Attributes:
        value: A fragment of the model's Markdown text, of any length.
        audience: The readers of the part, or None for all.

    Raises:
        InvalidArgumentError: An argument has another type.

    Example:
        >>> from partstream import Audience, TextPart
        >>> TextPart("Hello").value
        'Hello'
        >>> TextPart("3 files changed", [Audience.USER])
        TextPart(value='3 files changed', audience=(<Audience.USER: 1>,))
    """

    value: str
    audience: tuple[Audience, ...] | None = None

    def __init__(self, value: str, audience: Iterable[Audience] | None = None) -> None:
        if not isinstance(value, str):
            refuse("TextPart.value", value, TEXT.description)
        _set_text(self, value)
        _set_text_audience(self, None if audience is None else _audience("TextPart.audience", audience))


class RefusalPart(TextPart):
    """A piece of what the model says where it refuses an answer; a text for a client without a place for it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, init=False, repr=False)
class ThinkingPart(_ShortRepr):
    """A piece of the model's reasoning; the counterpart of `vscode.LanguageModelThinkingPart`.

    Attributes:
        value: Text of the reasoning or of its summary; empty in a part that only carries metadata. Given as a list of
            texts, which VS Code's class also allows, it is their text without a separator.
        id: The upstream's id of the reasoning item, or None.
        metadata: JSON values that the upstream needs back to continue the reasoning, or None. Copilot keeps only the
            last metadata of a model call, so the last part of an item carries all of the item's metadata.
        entries: The texts of the list, such as the paragraphs of a summary; empty where `value` was one text. Entries
            that do not make up `value` are left out.

    Raises:
        InvalidArgumentError: An argument has another type.

    Example:
        >>> from partstream import ThinkingPart
        >>> ThinkingPart("Six times seven.").value
        'Six times seven.'
        >>> ThinkingPart(["Six times ", "seven."]).entries
        ('Six times ', 'seven.')
    """

    value: str
    id: str | None = None
    metadata: Mapping[str, Any] | None = None
    entries: tuple[str, ...] = ()

    def __init__(
        self,
        value: str | Sequence[str],
        id: str | None = None,  # noqa: A002
        metadata: Mapping[str, Any] | None = None,
        entries: Sequence[str] = (),
    ) -> None:
        if value.__class__ is not str:
            texts = value if isinstance(value, list | tuple) else (value,)
            if not all(isinstance(text, str) for text in texts):
                refuse("ThinkingPart.value", value, TEXT.description)
            entries = texts if texts is value else entries
            value = "".join(texts)
        check("ThinkingPart.id", id, _OPTIONAL_TEXT)
        check("ThinkingPart.metadata", metadata, _OPTIONAL_MAPPING)
        _set_thinking(self, value)
        _set_thinking_id(self, id)
        _set_thinking_metadata(self, metadata)
        is_split = entries and all(isinstance(one, str) for one in entries) and "".join(entries) == value
        _set_thinking_entries(self, tuple(entries) if is_split else ())


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    """A complete request to run one tool; the counterpart of `vscode.LanguageModelToolCallPart`.

    Tool calls are atomic: one part is the whole call, and a response holds each `call_id` at most once.

    Attributes:
        call_id: The id that connects the call with its result; unique within a response, never empty.
        name: The name of one of the request's tools.
        input: The arguments as a parsed JSON object, which must not be changed.

    Raises:
        InvalidArgumentError: An argument has another type, or the id or the name is empty.

    Example:
        >>> from partstream import ToolCallPart
        >>> ToolCallPart("call-1", "read_file", {"path": "notes.txt"}).input["path"]
        'notes.txt'
    """

    call_id: str
    name: str
    input: Mapping[str, Any]

    def __post_init__(self) -> None:
        check_fields(self, _TOOL_CALL)


INVALID_JSON: Final = "INVALID_JSON"
"""The name under which an object holds a text that is no JSON object: that of Anthropic's example for histories
(docs/wires/anthropic-messages.md#arguments-of-calls)."""


class RawCallPart(ToolCallPart):
    """A call whose arguments are no JSON object, as models write them now and then; `input` holds them as one text.

    Clients of some wires get arguments as text, validate them and send them back with the error. A server gives this
    part to them, and reads it from them; no provider of VS Code reports it.
    """

    __slots__ = ()

    @classmethod
    def of(cls, call_id: str, name: str, arguments: str) -> RawCallPart:
        """The call with these arguments."""
        return cls(call_id, name, {INVALID_JSON: arguments})

    @property
    def arguments(self) -> str:
        """The arguments as they came."""
        return str(self.input[INVALID_JSON])


@dataclass(frozen=True, slots=True, repr=False)
class DataPart(_ShortRepr):
    """Bytes with a media type; the counterpart of `vscode.LanguageModelDataPart`.

    VS Code's chat does not show data parts; programs read them.

    Attributes:
        data: The whole content.
        mime_type: The media type, or one of Copilot's own names, such as `usage`; never empty.
        audience: The readers of the part, or None for all.

    Raises:
        InvalidArgumentError: An argument has another type, or the media type is empty.

    Example:
        >>> from partstream import DataPart
        >>> DataPart.json({"bytes": 8})
        DataPart(data=b'{"bytes":8}', mime_type='application/json')
    """

    data: bytes
    mime_type: str
    audience: tuple[Audience, ...] | None = None

    def __post_init__(self) -> None:
        check_fields(self, _DATA)
        if self.audience is not None:
            object.__setattr__(self, "audience", _audience("DataPart.audience", self.audience))

    @classmethod
    def image(cls, data: bytes, mime_type: str) -> DataPart:
        """An image in the format `mime_type` (`image/png`, ...)."""
        return cls(data, mime_type)

    @classmethod
    def json(cls, value: object, mime_type: str = "application/json") -> DataPart:
        """A JSON document in ASCII.

        Raises:
            TypeError: `value` holds a value that JSON cannot represent, such as an infinite number.
        """
        try:
            document = "".join(_pieces_in_ascii(value, 0))
        except (ValueError, RecursionError) as error:
            raise TypeError(f"got a value that JSON cannot represent: {error}") from error
        return cls(document.encode(), mime_type)

    @classmethod
    def text(cls, value: str, mime_type: str = "text/plain") -> DataPart:
        """A text document in UTF-8."""
        return cls(value.encode(), mime_type)


@dataclass(frozen=True, slots=True, repr=False)
class FilePart(DataPart):
    """A file of a client that says more about it than its type.

    Attributes:
        about: What it says, by its own words: `filename`, `detail`, `title` and so on.
    """

    about: Mapping[str, Any] = field(default_factory=dict, hash=False)


ToolResultContent: TypeAlias = TextPart | DataPart
"""A part of a tool's result."""


@dataclass(frozen=True, slots=True, init=False)
class ToolResultPart:
    """The result of a tool call; the counterpart of `vscode.LanguageModelToolResultPart`.

    Only for messages: a provider that puts one into a response breaks the contract.

    Attributes:
        call_id: The `call_id` of the :class:`ToolCallPart` that the result answers; never empty.
        content: The parts of the result, in order; may be empty.
        is_error: Whether the tool failed; then `content` describes the failure.

    Raises:
        InvalidArgumentError: An argument has another type, or the id is empty.

    Example:
        >>> from partstream import TextPart, ToolResultPart
        >>> ToolResultPart("call-1", [TextPart("milk")]).is_error
        False
    """

    call_id: str
    content: tuple[ToolResultContent, ...] = ()
    is_error: bool = False

    def __init__(self, call_id: str, content: Iterable[ToolResultContent] = (), is_error: bool = False) -> None:
        check("ToolResultPart.call_id", call_id, FILLED_TEXT)
        check("ToolResultPart.is_error", is_error, BOOLEAN)
        kept = sequence_of("ToolResultPart.content", content, (TextPart, DataPart), "a TextPart or a DataPart")
        _fill(self, call_id, kept, is_error)


ResponsePart: TypeAlias = TextPart | ThinkingPart | ToolCallPart | DataPart
"""A part that a provider may report in a response."""

MessagePart: TypeAlias = ResponsePart | ToolResultPart
"""A part that a message of a request may hold."""

_P = TypeVar("_P", bound="MessagePart")

_OPTIONAL_TEXT: Final = optional(TEXT)
_OPTIONAL_MAPPING: Final = optional(MAPPING)
_TOOL_CALL: Final = {"call_id": FILLED_TEXT, "name": FILLED_TEXT, "input": MAPPING}
_DATA: Final = {"data": Expectation("bytes", lambda value: isinstance(value, bytes)), "mime_type": FILLED_TEXT}

# A response makes one text or thinking part per event. Setting the slots through their descriptors takes about half as
# long as the constructor that dataclasses generate for frozen classes, and a function less than a class (`make bench`).
_new: Final = object.__new__
_set_text = TextPart.__dict__["value"].__set__
_set_text_audience = TextPart.__dict__["audience"].__set__
_set_thinking = ThinkingPart.__dict__["value"].__set__
_set_thinking_id = ThinkingPart.__dict__["id"].__set__
_set_thinking_metadata = ThinkingPart.__dict__["metadata"].__set__
_set_thinking_entries = ThinkingPart.__dict__["entries"].__set__
_set_call_id = ToolCallPart.__dict__["call_id"].__set__
_set_call_name = ToolCallPart.__dict__["name"].__set__
_set_call_input = ToolCallPart.__dict__["input"].__set__


def text_part(value: str) -> TextPart:
    """A text part whose value is known to be a text: without the check, for adapters."""
    part = _new(TextPart)
    _set_text(part, value)
    _set_text_audience(part, None)
    return part


def thinking_part(value: str, id: str | None = None, metadata: Mapping[str, Any] | None = None) -> ThinkingPart:  # noqa: A002
    """A thinking part whose values are known to fit: without the checks, for adapters."""
    part = _new(ThinkingPart)
    _set_thinking(part, value)
    _set_thinking_id(part, id)
    _set_thinking_metadata(part, metadata)
    _set_thinking_entries(part, ())
    return part


def tool_call_part(call_id: str, name: str, input: Mapping[str, Any]) -> ToolCallPart:  # noqa: A002
    """A tool call as an upstream sent it: without the checks, for adapters. The contract judges an empty id."""
    part = _new(ToolCallPart)
    _set_call_id(part, call_id)
    _set_call_name(part, name)
    _set_call_input(part, input)
    return part


def unchecked_part(part_class: type[_P], *values: object) -> _P:
    """A part of values from outside, as they came: adapters and hosts do not refuse a whole answer or conversation for
    an empty id, but leave it to the contract.

    Args:
        values: The values of its fields, in order; those that are left out have their defaults.
    """
    part = _new(part_class)
    left_out = _fields_of(part_class)[len(values) :]  # type: ignore[arg-type]
    _fill(part, *values, *(default for _, default in left_out))
    return part


def _fill(part: object, *values: object) -> None:
    for (name, _), value in zip(_fields_of(type(part)), values, strict=True):  # type: ignore[arg-type]
        object.__setattr__(part, name, value)


@cache
def _fields_of(part_class: type[Any]) -> tuple[tuple[str, Any], ...]:
    """The fields of a class of parts, each with its default."""
    return tuple((one.name, one.default) for one in fields(part_class))


def _audience(where: str, audience: Iterable[Audience]) -> tuple[Audience, ...]:
    return sequence_of(where, audience, Audience, "an Audience, such as Audience.USER")


def row_of_class(table: Mapping[type[Any], _Row], value: object) -> _Row:
    """The row of a table by class that is for the class of `value`, or for the nearest class that it inherits from.

    Raises:
        TypeError: The table has no such row; the message names the classes that it has.
    """
    for one in type(value).__mro__:
        row = table.get(one)
        if row is not None:
            return row
    known = ", ".join(one.__name__ for one in table)
    raise TypeError(f"got {type(value).__name__}, expected one of {known}")


# ---- Usage ----

USAGE_MIME_TYPE: Final = "usage"
"""The media type of the data part from which Copilot reads the usage (`CustomDataPartMimeTypes.Usage`)."""

# Our own fields beside Copilot's; Copilot ignores them.
SOURCE_KEY: Final = "partstream_source"
"""The source of the numbers if the upstream did not report them: `estimated`."""
COST_KEY: Final = "partstream_cost"
"""The cost of the answer in US dollars, if known."""
EDITS_KEY: Final = "partstream_edits"
"""The upstream's own cuts to the conversation: a list of short phrases."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one model call, as the upstream reported them.

    Every count is in tokens, or None if the upstream did not report it: an unknown count never becomes 0.

    Attributes:
        input_tokens: All tokens of the prompt, including the cached ones.
        output_tokens: All tokens of the answer, including the reasoning.
        total_tokens: Their sum as reported, or computed if both are known and the sum was not reported.
        cached_tokens: The part of `input_tokens` that was read from the upstream's prompt cache.
        reasoning_tokens: The part of `output_tokens` that was spent on reasoning.
        raw: The upstream's usage object, unchanged.
        cache_write_tokens: The part of `input_tokens` that was written to the upstream's prompt cache.
        context_tokens: The prompt of the last call of the model, which fills its context window, where `input_tokens`
            counts those of several calls, as of tools that the upstream runs; None where it is `input_tokens`.

    Example:
        >>> from partstream import Usage
        >>> usage = Usage(input_tokens=9, output_tokens=5)
        >>> usage.output_tokens, usage.cached_tokens
        (5, None)
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)
    cache_write_tokens: int | None = None
    context_tokens: int | None = None


class UnifiedFinishReason(StrEnum):
    """Why a model stopped, in the Vercel AI SDK's terms for all providers."""

    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "content-filter"
    TOOL_CALLS = "tool-calls"
    ERROR = "error"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class FinishReason:
    """Why the model stopped.

    Attributes:
        unified: The term for all providers.
        raw: The provider's own term, or None.

    Example:
        >>> from partstream import FinishReason, UnifiedFinishReason
        >>> reason = FinishReason(UnifiedFinishReason.LENGTH, raw="max_tokens")
        >>> str(reason.unified), reason.raw
        ('length', 'max_tokens')
    """

    unified: UnifiedFinishReason
    raw: str | None = None

    def __post_init__(self) -> None:
        check_fields(self, _FINISH_REASON)


CUTS: Final = {
    UnifiedFinishReason.LENGTH: "it reached its token limit",
    UnifiedFinishReason.CONTENT_FILTER: "a content filter stopped it",
}
"""Why an answer ended before the model had finished it, by its finish reason; with any other the model had."""

_FINISH_REASON: Final = {
    "unified": instance_of(UnifiedFinishReason, "a UnifiedFinishReason, such as UnifiedFinishReason.STOP"),
    "raw": optional(TEXT),
}


def usage_part(usage: Usage, cost: float | None = None, edits: Sequence[str] = ()) -> DataPart | None:
    """The data part of media type `usage`, from which VS Code's context widget reads the numbers. None if the upstream
    did not report both input and output: VS Code ignores a part without them. A number that no count can be is unknown.
    The prompt is the one that fills the window: the widget shows how full that is.

    Args:
        cost: The cost of the answer in US dollars.
        edits: The upstream's own cuts to the conversation, a phrase each.

    Source: observed in VS Code 1.139, Copilot 0.67: JSON with the field names of Chat Completions; all three counts are
    numbers.
    """
    given, completion = as_count(usage.input_tokens), as_count(usage.output_tokens)
    if given is None or completion is None:
        return None
    context = as_count(usage.context_tokens)
    prompt = given if context is None else context
    payload: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": (context is None and as_count(usage.total_tokens)) or prompt + completion,
    }
    details = {"cached_tokens": usage.cached_tokens, "cache_creation_input_tokens": usage.cache_write_tokens}
    counts = {name: as_count(count) for name, count in details.items()}
    if known := {name: count for name, count in counts.items() if count is not None}:
        payload["prompt_tokens_details"] = known
    if (reasoning := as_count(usage.reasoning_tokens)) is not None:
        payload["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    if (dollars := as_amount(cost, MOST_DOLLARS)) is not None:
        payload[COST_KEY] = dollars
    if edits:
        payload[EDITS_KEY] = list(edits)
    return DataPart.json(payload, USAGE_MIME_TYPE)


def usage_in(part: DataPart) -> tuple[Usage | None, float | None]:
    """The tokens and the cost that a part of media type `usage` says; None for what it does not say. Without the two
    numbers that VS Code wants, it says no tokens."""
    try:
        said = json.loads(part.data)
    except (ValueError, RecursionError):
        return None, None
    if not isinstance(said, dict):
        return None, None
    cost = as_amount(said.get(COST_KEY), MOST_DOLLARS)
    given, completion = as_count(said.get("prompt_tokens")), as_count(said.get("completion_tokens"))
    if given is None or completion is None:
        return None, cost
    details, more = (said.get(f"{name}_tokens_details") for name in ("prompt", "completion"))
    places = ((details, "cached_tokens"), (more, "reasoning_tokens"), (details, "cache_creation_input_tokens"))
    cached, reasoning, written = (as_count(of.get(name)) if isinstance(of, dict) else None for of, name in places)
    return Usage(given, completion, given + completion, cached, reasoning, cache_write_tokens=written), cost


# ---- Parts in JSON ----


@dataclass(frozen=True, slots=True)
class _Kind:
    """The values of a field of a part in JSON: their description for errors, their test, and how they are read."""

    says: str
    accepts: Callable[[Any], bool]
    read: Callable[[Any], Any] = lambda value: value


_TEXT: Final = _Kind("a text", lambda value: isinstance(value, str))
_TEXT_OR_NULL: Final = _Kind("a text or null", lambda value: value is None or isinstance(value, str))
_OBJECT: Final = _Kind("an object", lambda value: isinstance(value, dict))
_OBJECT_OR_NULL: Final = _Kind("an object or null", lambda value: value is None or isinstance(value, dict))
_BOOLEAN: Final = _Kind("true or false", lambda value: isinstance(value, bool))


def _is_base64(value: object) -> bool:
    try:
        return isinstance(value, str) and b64decode(value, validate=True) is not None
    except (binascii.Error, ValueError):
        return False


_BYTES: Final = _Kind("bytes in base64", _is_base64, b64decode)
_CONTENT: Final = _Kind(
    "a list of parts",
    lambda value: isinstance(value, list),
    lambda value: tuple(part_of_json(one, "content") for one in value),
)

_ENTRIES: Final = _Kind(
    "a list of texts",
    lambda value: value is None or (isinstance(value, list) and all(isinstance(one, str) for one in value)),
    lambda value: tuple(value or ()),
)
_AUDIENCES: Final = {one.name.lower(): one for one in Audience}
_AUDIENCE: Final = _Kind(
    "a list of assistant, user and extension",
    lambda value: value is None or (isinstance(value, list) and all(one in _AUDIENCES for one in value)),
    lambda value: None if value is None else tuple(_AUDIENCES[one] for one in value),
)
_FIELDS: Final[dict[type[Any], tuple[str, dict[str, _Kind]]]] = {
    TextPart: ("text", {"value": _TEXT, "audience": _AUDIENCE}),
    ThinkingPart: ("thinking", {"value": _TEXT, "id": _TEXT_OR_NULL, "metadata": _OBJECT_OR_NULL, "entries": _ENTRIES}),
    ToolCallPart: ("tool_call", {"call_id": _TEXT, "name": _TEXT, "input": _OBJECT}),
    DataPart: ("data", {"mime_type": _TEXT, "data": _BYTES, "audience": _AUDIENCE}),
    ToolResultPart: ("tool_result", {"call_id": _TEXT, "content": _CONTENT, "is_error": _BOOLEAN}),
}
_CLASSES: Final = {tag: part_class for part_class, (tag, _) in _FIELDS.items()}

PART_TYPES: Final = tuple(_CLASSES)


def part_json(part: MessagePart) -> dict[str, Any]:
    """A part as JSON values; a value that JSON cannot represent stays as it is.

    Raises:
        TypeError: It is no part.
    """
    tag, kinds = row_of_class(_FIELDS, part)
    said: dict[str, Any] = {"type": tag}
    for name in kinds:
        value = getattr(part, name)
        if _is_shown(name, value):
            if isinstance(value, tuple):
                value = [_item_json(item) for item in value]
            said[name] = b64encode(value).decode() if isinstance(value, bytes) else value
    return said


def _item_json(item: Any) -> object:
    if isinstance(item, Audience):
        return item.name.lower()
    return item if isinstance(item, str) else part_json(item)


def part_of_json(value: object, where: str = "the part") -> Any:
    """The part of JSON values; it may hold what the contract forbids, such as an empty id.

    Args:
        value: The object, as :func:`part_json` returns it. Unknown fields are left out.
        where: Its place, for an error.

    Raises:
        UnexpectedValueError: It is no part.
    """
    said: Mapping[str, Any] = value if isinstance(value, dict) else {}
    tag = said.get("type")
    part_class = _CLASSES.get(tag) if isinstance(tag, str) else None
    if part_class is None:
        known = ", ".join(PART_TYPES)
        raise UnexpectedValueError(where, _shown(tag if said else value), f"an object whose `type` is one of {known}")
    _, kinds = _FIELDS[part_class]
    for name, kind in kinds.items():
        if not kind.accepts(said.get(name)):
            raise UnexpectedValueError(f"{where}, field {name!r}", _shown(said.get(name)), kind.says)
    read = {name: kind.read(said.get(name)) for name, kind in kinds.items()}
    return unchecked_part(part_class, *(read[one.name] for one in fields(part_class)))


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


# ---- Marks of the host ----

STATEFUL_MARKER_MIME_TYPE: Final = "stateful_marker"

KNOWN_MARKS: Final = frozenset(
    {
        "cache_control",
        STATEFUL_MARKER_MIME_TYPE,
        USAGE_MIME_TYPE,
        "thinking",
        "context_management",
        "phase_data",
        "application/vnd.vscode.citation+json",  # our own, with citations as data
        "application/vnd.partstream.activity+json",  # our own, what an agent does by itself
    }
)
"""Marks that are not logged."""

_DOCUMENTS: Final = (
    "application/vnd.openxmlformats-officedocument.",
    "application/vnd.oasis.opendocument.",
    "application/vnd.ms-",
)
"""Media types of the vendor tree that a person attaches."""

_FOR_PROGRAMS: Final = (
    "application/vnd.vscode.",
    "application/vnd.code.",
    "application/vnd.github.copilot.",
    "application/vnd.partstream.",
)
"""Media types of the host and of our own, whatever their suffix."""


def is_for_assistant(part: TextPart | DataPart) -> bool:
    """Whether the audience of a part holds the model: Copilot leaves other parts out of the results of tools, also
    those whose audience is empty (docs/wires/vscode.md#audience-of-a-part)."""
    return part.audience is None or Audience.ASSISTANT in part.audience


def is_of_host(mime_type: str) -> bool:
    """Whether a data part of this type is a known mark of the host or of our own."""
    label = bare_media_type(mime_type)
    return label in KNOWN_MARKS or label.startswith(_FOR_PROGRAMS)


def is_mark(mime_type: str) -> bool:
    """Whether a data part of this type is for programs.

    A media type has a slash; Copilot's own names have none. In the vendor tree (RFC 6838, 3.2), only documents and
    JSON are for models.
    """
    label = bare_media_type(mime_type)
    if "/" not in label or is_of_host(label):
        return True
    return label.startswith("application/vnd.") and not (label.startswith(_DOCUMENTS) or label.endswith("+json"))
