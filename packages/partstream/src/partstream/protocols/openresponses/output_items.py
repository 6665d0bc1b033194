"""The output items of a written response, and the response object itself.

Each item (:class:`Message`, :class:`WrittenReasoning`, a call, a compaction) writes its events in order: the item
begins, its parts stream, the item ends. :class:`OutputItems` gives each item the next place and a unique identifier,
:class:`PendingEvents` numbers the events. :func:`new_response` makes the response object for events and documents, with
the fields of the request that it repeats; a value that the schema does not allow is not repeated.

Source: OpenResponses specification 2026-04-24, "Streaming", `ItemField`, and `ResponseResource`, which requires all of
its fields.
"""

from __future__ import annotations
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.codec.json_codec import dumps
from partstream.lm.outputs import Finish, InboundRequest, Repeated
from partstream.protocols.citations import Citation, read_citation

if TYPE_CHECKING:
    from partstream.lm.parts import DataPart, ToolCallPart
    from partstream.protocols.openresponses.errors import Wire

_TEXT_DELTA: Final = "response.output_text.delta"


class _Channel(NamedTuple):
    """The names of a channel of reasoning."""

    field: str  # of the item, with the parts
    part: str
    index_field: str
    added: str
    delta: str
    said: str  # the event with the whole text
    done: str


_SUMMARY: Final = _Channel(
    "summary",
    "summary_text",
    "summary_index",
    "response.reasoning_summary_part.added",
    "response.reasoning_summary_text.delta",
    "response.reasoning_summary_text.done",
    "response.reasoning_summary_part.done",
)
_RAW: Final = _Channel(
    "content",
    "reasoning_text",
    "content_index",
    "response.content_part.added",
    "response.reasoning.delta",
    "response.reasoning.done",
    "response.content_part.done",
)
"""The specification's own names; official clients know others (docs/wires/openresponses.md#the-summary-channel)."""


class Identifiers:
    """Makes the identifiers of one reply: unique to it, and the same each time that the reply is written."""

    __slots__ = ("_identity",)

    def __init__(self, identity: str) -> None:
        self._identity = identity

    def make(self, prefix: str, what: object) -> str:
        """The identifier of one thing in the reply."""
        return f"{prefix}_partstream{sha256(f'{self._identity}/{prefix}/{what}'.encode()).hexdigest()[:16]}"


MADE_UP: Final = re.compile(r"[a-z]+_partstream[0-9a-f]{16}")
"""An identifier that :class:`Identifiers` made."""


class PendingEvents:
    """The events that were not returned yet, numbered from the first of the response."""

    __slots__ = ("_events", "_number")

    def __init__(self) -> None:
        self._events: list[dict[str, Any]] = []
        self._number = 0

    def add(self, event_type: str, **fields: Any) -> None:
        """Adds the next event."""
        self._events.append(make_event(event_type, self._number, fields))
        self._number += 1

    def skip(self) -> int:
        """The number of the next event, which is written elsewhere."""
        number = self._number
        self._number = number + 1
        return number

    def take(self) -> list[dict[str, Any]]:
        """Returns the events."""
        events, self._events = self._events, []
        return events


def make_event(event_type: str, number: int, fields: Mapping[str, Any]) -> dict[str, Any]:
    """An event with its number."""
    return {"type": event_type, "sequence_number": number, **fields}


class OutputItems:
    """The items of one response, each with the next place and a unique identifier; `done` lists the closed ones."""

    __slots__ = ("_identifiers", "_opened", "_used", "done")

    def __init__(self, identifiers: Identifiers) -> None:
        self.done: list[dict[str, Any]] = []
        self._identifiers = identifiers
        self._opened = 0
        self._used: set[str] = set()

    def open(self, prefix: str, item: dict[str, Any], events: PendingEvents, item_id: Any = None) -> tuple[int, str]:
        """Writes the beginning of an item, and adds its identifier: the upstream's, or one with this prefix.

        Returns:
            The place of the item, and its identifier.
        """
        place = self._opened
        self._opened += 1
        if not isinstance(item_id, str) or not item_id or item_id in self._used:
            item_id = self._identifiers.make(prefix, place)
        self._used.add(item_id)
        item["id"] = item_id
        events.add("response.output_item.added", output_index=place, item=dict(item))
        return place, item_id

    def close(self, place: int, item: dict[str, Any], events: PendingEvents) -> None:
        """Writes the end of a whole item."""
        events.add("response.output_item.done", output_index=place, item=item)
        self.done.append(item)


class Message:
    """A message of the assistant that text streams into."""

    __slots__ = ("_annotations", "_item", "_items", "_length", "_pieces", "_place", "_where")

    def __init__(self, items: OutputItems, events: PendingEvents) -> None:
        self._items = items
        self._item: dict[str, Any] = {
            "type": "message", "id": "", "status": "in_progress", "role": "assistant", "content": []
        }  # fmt: skip
        self._place, item_id = items.open("msg", self._item, events)
        self._where: dict[str, Any] = {"item_id": item_id, "output_index": self._place, "content_index": 0}
        self._pieces: list[str] = []
        self._length = 0
        self._annotations: list[dict[str, Any]] = []
        events.add("response.content_part.added", **self._where, part=self._part(""))

    def say(self, text: str, events: PendingEvents) -> None:
        """Writes a piece of the text."""
        self._keep(text)
        events.add(_TEXT_DELTA, **self._delta(text))

    def repeated(self, events: PendingEvents) -> Repeated:
        """The texts that follow the first."""

        def note(text: str) -> int:
            self._keep(text)
            return events.skip()

        return Repeated(lambda text, number: make_event(_TEXT_DELTA, number, self._delta(text)), note, is_numbered=True)

    def _keep(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)

    def _delta(self, text: str) -> dict[str, Any]:
        return {**self._where, "delta": text, "logprobs": []}

    def cite(self, source: Citation, events: PendingEvents) -> None:
        """Writes a source of the text."""
        annotation = annotation_of(source, self._length)
        events.add(
            "response.output_text.annotation.added",
            **self._where,
            annotation_index=len(self._annotations),
            annotation=annotation,
        )
        self._annotations.append(annotation)

    def close(self, status: str, events: PendingEvents) -> None:
        """Writes the end of the message."""
        text = "".join(self._pieces)
        part = self._part(text)
        events.add("response.output_text.done", **self._where, text=text, logprobs=[])
        events.add("response.content_part.done", **self._where, part=part)
        self._items.close(self._place, {**self._item, "status": status, "content": [part]}, events)

    def _part(self, text: str) -> dict[str, Any]:
        return {"type": "output_text", "text": text, "annotations": list(self._annotations), "logprobs": []}


def source_of(part: DataPart) -> Citation | None:
    """The citation that a data part names, if its source has an address."""
    citation = read_citation(part)
    return None if citation is None or citation.url is None else citation


def annotation_of(source: Citation, length: int) -> Wire:
    """A citation as an annotation; without a position, it follows the text, which has `length` characters so far."""
    return {
        "type": "url_citation",  # the only kind that the schema has
        "url": source.url,
        "title": source.title or "",
        "start_index": length if source.start is None else source.start,
        "end_index": length if source.end is None else source.end,
    }


class WrittenReasoning:
    """A reasoning item, streamed as a summary: the only channel of reasoning that every known client reads.

    `part_id` is the identifier of its thinking parts; `is_raw` chooses the channel of raw reasoning. Each entry of
    thinking is a part of the channel's list.
    """

    __slots__ = ("_channel", "_item", "_items", "_pieces", "_place", "_said", "_where", "encrypted_content", "part_id")

    def __init__(self, items: OutputItems, part_id: str | None, events: PendingEvents, *, is_raw: bool = False) -> None:
        self._channel = _RAW if is_raw else _SUMMARY
        self.part_id = part_id
        self.encrypted_content: str | None = None
        self._items = items
        self._item: dict[str, Any] = {"type": "reasoning", "id": "", "summary": []}
        self._place, item_id = items.open("rs", self._item, events, part_id)
        self._where: dict[str, Any] = {"item_id": item_id, "output_index": self._place, self._channel.index_field: 0}
        self._pieces: list[str] = []
        self._said: list[dict[str, Any]] = []

    def say_entries(self, entries: Sequence[str], events: PendingEvents) -> None:
        """Writes texts that are parts of their own."""
        for entry in filter(None, entries):
            self._close_part(events)
            self.say(entry, events)

    def say(self, text: str, events: PendingEvents) -> None:
        """Writes a piece of its last part."""
        if not self._pieces:
            events.add(self._channel.added, **self._where, part=self._part(""))
        self._pieces.append(text)
        events.add(self._channel.delta, **self._delta(text))

    def repeated(self, events: PendingEvents) -> Repeated:
        """The thoughts that follow the first, which has one more event."""

        def note(text: str) -> int:
            self._pieces.append(text)
            return events.skip()

        return Repeated(
            lambda text, number: make_event(self._channel.delta, number, self._delta(text)), note, is_numbered=True
        )

    def _part(self, text: str) -> dict[str, Any]:
        return {"type": self._channel.part, "text": text}

    def _delta(self, text: str) -> dict[str, Any]:
        return {**self._where, "delta": text}

    def close(self, _status: str, events: PendingEvents) -> None:
        """Writes the end of the item, which has no status."""
        item = dict(self._item)
        self._close_part(events)
        if self._said:
            item[self._channel.field] = self._said
        if self.encrypted_content is not None:  # never null (docs/wires/openresponses.md#null-and-absent-fields)
            item["encrypted_content"] = self.encrypted_content
        self._items.close(self._place, item, events)

    def _close_part(self, events: PendingEvents) -> None:
        if self._pieces:
            text = "".join(self._pieces)
            self._pieces = []
            self._said.append(self._part(text))
            events.add(self._channel.said, **self._where, text=text)
            events.add(self._channel.done, **self._where, part=self._part(text))
            self._where = {**self._where, self._channel.index_field: len(self._said)}


def write_call(part: ToolCallPart, size: int | None, items: OutputItems, events: PendingEvents) -> None:
    """Writes a whole call; each event holds at most `size` characters of the arguments, None for all of them."""
    arguments = dumps(dict(part.input)).decode()
    item = {
        "type": "function_call", "id": "", "call_id": part.call_id, "name": part.name, "arguments": "",
        "status": "in_progress",
    }  # fmt: skip
    place, item_id = items.open("fc", item, events)
    where: dict[str, Any] = {"item_id": item_id, "output_index": place}
    step = size or len(arguments)
    for start in range(0, len(arguments), step):
        events.add("response.function_call_arguments.delta", **where, delta=arguments[start : start + step])
    events.add("response.function_call_arguments.done", **where, arguments=arguments)
    items.close(place, {**item, "arguments": arguments, "status": "completed"}, events)


COMPACTION: Final = "compaction"
"""The type of the item that replaces a conversation that the upstream summarised."""


def write_compaction(item_id: Any, state: str, items: OutputItems, events: PendingEvents) -> None:
    """Writes the item of a conversation that the upstream summarised."""
    item = {"type": COMPACTION, "id": "", "encrypted_content": state}
    place, _ = items.open("cmp", item, events, item_id)
    items.close(place, item, events)


# ---- The response object ----


def new_response(asked: InboundRequest, response_id: str, created_at: int) -> dict[str, Any]:
    """A whole response without status, output and end."""
    body = asked.body
    return {
        "id": response_id,
        "object": "response",
        "created_at": created_at,
        "completed_at": None,
        "incomplete_details": None,
        "model": asked.model,
        "output": [],
        "error": None,
        "usage": None,
        **{name: echo.of(body.get(name)) for name, echo in _ECHOES.items()},
        **{name: repeat(body.get(name)) for name, repeat in _ECHOED_IN_OTHER_FORM.items()},
    }


def written_usage(finish: Finish) -> dict[str, Any] | None:
    """The usage in its form on the wire; None if input or output is unknown.

    The schema demands the details as well: those that are not known are 0.
    """
    usage = finish.usage
    if usage is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    read = {"cached_tokens": usage.cached_tokens or 0}
    if usage.cache_write_tokens is not None:
        read["cache_write_tokens"] = usage.cache_write_tokens  # OpenAI's own field
    total = usage.total_tokens
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": read,
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "total_tokens": usage.input_tokens + usage.output_tokens if total is None else total,
    }


class _Echo(NamedTuple):
    """A request field that the response repeats, if its value has a type of the schema; else the default."""

    types: tuple[type, ...]
    default: Any = None

    def of(self, value: Any) -> Any:
        return value if type(value) in self.types else self.default


_NUMBER: Final = (int, float)

_ECHOES: Final[dict[str, _Echo]] = {
    "previous_response_id": _Echo((str,)),
    "instructions": _Echo((str,)),
    "max_output_tokens": _Echo((int,)),
    "max_tool_calls": _Echo((int,)),
    "safety_identifier": _Echo((str,)),
    "prompt_cache_key": _Echo((str,)),
    # Not nullable in the schema.
    "temperature": _Echo(_NUMBER, 1.0),
    "top_p": _Echo(_NUMBER, 1.0),
    "presence_penalty": _Echo(_NUMBER, 0.0),
    "frequency_penalty": _Echo(_NUMBER, 0.0),
    "top_logprobs": _Echo((int,), 0),
    "parallel_tool_calls": _Echo((bool,), True),
    "store": _Echo((bool,), True),
    "background": _Echo((bool,), False),
    "service_tier": _Echo((str,), "default"),
    "metadata": _Echo((dict,), {}),
}


def _tools(tools: Any) -> list[dict[str, Any]]:
    """The functions, each with all five fields, null or not; the schema has no other tools."""
    return [
        {"type": "function", "name": tool["name"]} | {name: echo.of(tool.get(name)) for name, echo in _OF_TOOLS.items()}
        for tool in _functions(tools)
    ]


def _functions(listed: Any) -> list[dict[str, Any]]:
    return [
        one
        for one in (listed if isinstance(listed, list) else ())
        if isinstance(one, dict) and one.get("type") == "function" and isinstance(one.get("name"), str)
    ]


_OF_TOOLS: Final = {"description": _Echo((str,)), "parameters": _Echo((dict,)), "strict": _Echo((bool,))}
_MODES: Final = ("none", "auto", "required")


def _tool_choice(choice: Any) -> Any:
    if not isinstance(choice, dict):
        return choice if choice in _MODES else "auto"
    if _functions([choice]):
        return {"type": "function", "name": choice["name"]}
    if choice.get("type") != "allowed_tools":
        return "auto"
    allowed = [{"type": "function", "name": tool["name"]} for tool in _functions(choice.get("tools"))]
    mode = choice.get("mode")
    return {"type": "allowed_tools", "tools": allowed, "mode": mode if mode in _MODES else "auto"}


def _text(text: Any) -> dict[str, Any]:
    """The schema wants `schema: null` in the echo of a JSON schema format."""
    said = text if isinstance(text, dict) else {}
    wanted = said.get("format")
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    echo: dict[str, Any] = {"format": {"type": "json_object" if kind == "json_object" else "text"}}
    if isinstance(wanted, dict) and kind == "json_schema":
        name, description = _Echo((str,), "").of(wanted.get("name")), _Echo((str,)).of(wanted.get("description"))
        named = {"name": name, "description": description}
        echo["format"] = {"type": "json_schema", **named, "schema": None, "strict": wanted.get("strict") is True}
    return echo | {"verbosity": said["verbosity"]} if said.get("verbosity") in ("low", "medium", "high") else echo


def _reasoning(reasoning: Any) -> dict[str, Any] | None:
    """Both fields or null."""
    if not isinstance(reasoning, dict):
        return None
    return {name: reasoning[name] if reasoning.get(name) in known else None for name, known in _OF_REASONING.items()}


_OF_REASONING: Final = {
    "effort": ("none", "low", "medium", "high", "xhigh"),
    "summary": ("concise", "detailed", "auto"),
}


_ECHOED_IN_OTHER_FORM: Final[dict[str, Callable[[Any], Any]]] = {
    "tools": _tools,
    "tool_choice": _tool_choice,
    "text": _text,
    "reasoning": _reasoning,
    "truncation": lambda truncation: "auto" if truncation == "auto" else "disabled",
}
