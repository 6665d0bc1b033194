"""The output items of a written response, and the response object itself.

Each item (:class:`Message`, :class:`WrittenReasoning`, a call, a compaction) writes its events in order: the item
begins, its parts stream, the item ends. :class:`ResponseEvents` numbers the events, and gives each item the next place
and a unique identifier. :func:`new_response` makes the response object for events and documents, with
the fields of the request that it repeats; a value that the schema does not allow is not repeated.

Source: OpenResponses specification 2026-04-24, "Streaming", `ItemField`, and `ResponseResource`, which requires all of
its fields.
"""

from __future__ import annotations
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.codec import limits
from partstream.conversation.citations import Citation, annotation_of, read_citation
from partstream.conversation.tool_forms import TEXT
from partstream.lm.outputs import Finish, InboundRequest, Repeated, Reply, ToolForm
from partstream.protocols.serve import pieces_of

if TYPE_CHECKING:
    from partstream.lm.parts import DataPart, ToolCallPart


_OWN: Final = "_partstream"


def is_own_id(identifier: object) -> bool:
    """Whether a server of ours has made an identifier."""
    return isinstance(identifier, str) and _OWN in identifier


def make_id(identity: str, prefix: str, what: object) -> str:
    """The identifier of one thing in the reply of this identity: unique to it, and the same each time that the reply is
    written."""
    return f"{prefix}{_OWN}{sha256(f'{identity}/{prefix}/{what}'.encode()).hexdigest()[:16]}"


class ResponseEvents:
    """The events of one response that were not returned yet, numbered from the first, and its items, each with the next
    place and a unique identifier; `done` lists the items that are closed."""

    def __init__(self, identity: str) -> None:
        self.done: list[dict[str, Any]] = []
        self._identity = identity
        self._events: list[dict[str, Any]] = []
        self._number = 0
        self._opened = 0
        self._used: set[str] = set()

    def add(self, event_type: str, **fields: Any) -> None:
        """Adds the next event."""
        self._events.append(make_event(event_type, self.skip(), fields))

    def follow(self, number: Any) -> None:
        """Goes on after the number of an event of another server."""
        if isinstance(number, int):
            self._number = number + 1

    def skip(self) -> int:
        """The number of the next event, which is written elsewhere."""
        number = self._number
        self._number = number + 1
        return number

    def take(self) -> list[dict[str, Any]]:
        """Returns the events."""
        events, self._events = self._events, []
        return events

    def open(self, prefix: str, item: dict[str, Any], item_id: Any = None) -> dict[str, Any]:
        """Writes the beginning of an item, and adds its identifier: the upstream's, or one with this prefix.

        Returns:
            The fields of the item's events.
        """
        place = self._opened
        self._opened += 1
        if not isinstance(item_id, str) or not item_id or item_id in self._used:
            item_id = make_id(self._identity, prefix, place)
        self._used.add(item_id)
        item["id"] = item_id
        self.add("response.output_item.added", output_index=place, item=dict(item))
        return {"item_id": item_id, "output_index": place}

    def close(self, where: Mapping[str, Any], item: dict[str, Any]) -> None:
        """Writes the end of a whole item, given the fields of its events."""
        self.add("response.output_item.done", output_index=where["output_index"], item=item)
        self.done.append(item)


def make_event(event_type: str, number: int, fields: Mapping[str, Any]) -> dict[str, Any]:
    """An event with its number."""
    return {"type": event_type, "sequence_number": number, **fields}


class StreamedItem:
    """An item that a text streams into.

    Attributes:
        part_id: The identifier of the thinking parts that it holds, or None.
    """

    def __init__(
        self,
        events: ResponseEvents,
        prefix: str,
        item: dict[str, Any],
        index: str,
        delta_type: str,
        part_id: str | None,
    ) -> None:
        self.part_id = part_id
        self._events = events
        self._item = item
        self._delta_type = delta_type
        self._extra: dict[str, Any] = {}
        self._where: dict[str, Any] = {**events.open(prefix, item, part_id), index: 0}
        self._pieces: list[str] = []
        self._length = 0

    def say(self, text: str) -> None:
        """Writes a piece of the text."""
        self._keep(text)
        self._events.add(self._delta_type, **self._delta(text))

    def repeated(self) -> Repeated:
        """The pieces that follow the first, which may have one more event."""

        def note(text: str) -> int:
            self._keep(text)
            return self._events.skip()

        def write(text: str, number: int) -> dict[str, Any]:
            return make_event(self._delta_type, number, self._delta(text))

        return Repeated(write, note, is_numbered=True)

    def _keep(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)

    def _delta(self, text: str) -> dict[str, Any]:
        return {**self._where, "delta": text, **self._extra}


class Message(StreamedItem):
    """A message of the assistant; `refuses` if it says why there is no answer."""

    def __init__(self, events: ResponseEvents, *, refuses: bool = False) -> None:
        self.refuses = refuses
        self._kind, self._field = ("refusal", "refusal") if refuses else ("output_text", "text")
        item = {"type": "message", "id": "", "status": "in_progress", "role": "assistant", "content": []}
        super().__init__(events, "msg", item, "content_index", f"response.{self._kind}.delta", None)
        self._extra = {} if refuses else {"logprobs": []}
        self._annotations: list[dict[str, Any]] = []
        events.add("response.content_part.added", **self._where, part=self._part(""))

    def cite(self, source: Citation) -> None:
        """Writes a source of the text."""
        annotation, number = annotation_of(source, self._length), len(self._annotations)
        kind = "response.output_text.annotation.added"
        self._events.add(kind, **self._where, annotation_index=number, annotation=annotation)
        self._annotations.append(annotation)

    def say_logprobs(self, listed: Sequence[Mapping[str, Any]]) -> None:
        """Takes the log probabilities of the tokens, which its end has."""
        self._extra = {"logprobs": [{"top_logprobs": [], **one} for one in listed]}

    def close(self, status: str) -> None:
        """Writes the end of the message."""
        text = "".join(self._pieces)
        part = self._part(text)
        self._events.add(f"response.{self._kind}.done", **self._where, **{self._field: text}, **self._extra)
        self._events.add("response.content_part.done", **self._where, part=part)
        self._events.close(self._where, {**self._item, "status": status, "content": [part]})

    def _part(self, text: str) -> dict[str, Any]:
        cited = {} if self.refuses else {"annotations": list(self._annotations)}
        return {"type": self._kind, self._field: text, **cited, **self._extra}


def source_of(part: DataPart) -> Citation | None:
    """The citation that a data part names, if its source has an address."""
    citation = read_citation(part)
    return None if citation is None or citation.url is None else citation


class _Channel(NamedTuple):
    """The names of a channel of reasoning, which are the specification's own; official clients know others
    (docs/wires/openresponses.md#the-summary-channel)."""

    field: str  # of the item, with the parts
    part: str
    index_field: str
    part_events: str
    text_events: str


_SUMMARY: Final = _Channel(
    "summary", "summary_text", "summary_index", "response.reasoning_summary_part", "response.reasoning_summary_text"
)
_RAW: Final = _Channel("content", "reasoning_text", "content_index", "response.content_part", "response.reasoning")


class WrittenReasoning(StreamedItem):
    """A reasoning item, streamed as a summary: the only channel of reasoning that every known client reads.

    `is_raw` chooses the channel of raw reasoning. Each entry of thinking is a part of the channel's list.
    """

    def __init__(self, events: ResponseEvents, part_id: str | None, *, is_raw: bool = False) -> None:
        self._channel = channel = _RAW if is_raw else _SUMMARY
        self.encrypted_content: str | None = None
        self._said: list[dict[str, Any]] = []
        item: dict[str, Any] = {"type": "reasoning", "id": "", "summary": []}
        super().__init__(events, "rs", item, channel.index_field, f"{channel.text_events}.delta", part_id)

    def say_entries(self, entries: Sequence[str]) -> None:
        """Writes texts that are parts of their own."""
        for entry in filter(None, entries):
            self._close_part()
            self.say(entry)

    def say(self, text: str) -> None:  # noqa: D102
        if not self._pieces:
            self._events.add(f"{self._channel.part_events}.added", **self._where, part=self._part(""))
        super().say(text)

    def _part(self, text: str) -> dict[str, Any]:
        return {"type": self._channel.part, "text": text}

    def close(self, _status: str) -> None:
        """Writes the end of the item, which has no status."""
        item = dict(self._item)
        self._close_part()
        if self._said:
            item[self._channel.field] = self._said
        if self.encrypted_content is not None:  # never null (docs/wires/openresponses.md#null-and-absent-fields)
            item["encrypted_content"] = self.encrypted_content
        self._events.close(self._where, item)

    def _close_part(self) -> None:
        if self._pieces:
            text = "".join(self._pieces)
            self._pieces = []
            self._said.append(self._part(text))
            self._events.add(f"{self._channel.text_events}.done", **self._where, text=text)
            self._events.add(f"{self._channel.part_events}.done", **self._where, part=self._part(text))
            self._where = {**self._where, self._channel.index_field: len(self._said)}


class AdoptedItems:
    """The items that another server has begun in this response; the end of the response ends those that are open."""

    def __init__(self, events: ResponseEvents) -> None:
        self._events = events
        # By the place in the output: the item as it was begun, and the pieces of each of its texts.
        self._open: dict[int, tuple[dict[str, Any], dict[tuple[str, Any], list[str]]]] = {}

    def adopt(self, event: Mapping[str, Any]) -> None:
        """Takes an event of the other server; one that is malformed says nothing."""
        kind, place, item = str(event.get("type")), event.get("output_index"), event.get("item")
        self._events.follow(event.get("sequence_number"))
        if not isinstance(place, int):
            return
        if kind == "response.output_item.added" and isinstance(item, dict):
            self._open[place] = item, {}
        elif kind == "response.output_item.done" and isinstance(item, dict):
            self._open.pop(place, None)
            self._events.done.append(item)
        elif place in self._open and isinstance(event.get("delta"), str):
            index = event.get("content_index", event.get("summary_index"))
            self._open[place][1].setdefault((kind.removesuffix(".delta"), index), []).append(event["delta"])

    def repeated(self) -> None:
        """Nothing is written after what was adopted but its end."""

    def close(self, status: str) -> None:
        """Writes the end of each open item with its texts as far as they came."""
        for place, (item, texts) in sorted(self._open.items()):
            said: dict[str, Any] = {"status": status} if "status" in item else {}
            for (kind, _), pieces in texts.items():
                field, text_field, part = _TEXTS.get(kind, ("", "", {}))
                if part:
                    said.setdefault(field, []).append({**part, text_field: "".join(pieces)})
                elif field:  # of a call
                    said[field] = "".join(pieces)
            self._events.close({"output_index": place}, {**item, **said})
        self._open.clear()


_TEXTS: Final[Mapping[str, tuple[str, str, Mapping[str, Any]]]] = {
    "response.function_call_arguments": ("arguments", "", {}),
    "response.custom_tool_call_input": ("input", "", {}),
    "response.output_text": ("content", "text", {"type": "output_text", "annotations": [], "logprobs": []}),
    "response.refusal": ("content", "refusal", {"type": "refusal"}),
    "response.reasoning": ("content", "text", {"type": "reasoning_text"}),
    "response.reasoning_text": ("content", "text", {"type": "reasoning_text"}),
    "response.reasoning_summary_text": ("summary", "text", {"type": "summary_text"}),
}
"""By the name of its deltas, where a text of an item is: the field or list, the field of its part, and the part."""


class _CallItem(NamedTuple):
    """The item of a call that has its arguments as an object."""

    field: str
    given: Mapping[str, Any] = {}  # what the object has besides
    beside: Mapping[str, Any] = {}


CALLS: Final = {
    "local_shell_call": _CallItem("action", {"type": "exec", "env": {}}),
    "shell_call": _CallItem("action"),
    "apply_patch_call": _CallItem("operation"),
    "tool_search_call": _CallItem("arguments", beside={"execution": "client"}),
}
"""The items of calls of the tools that have a type of their own: `local_shell_call` is of `local_shell`."""


def write_call(form: ToolForm, text: str, part: ToolCallPart, size: int | None, events: ResponseEvents) -> None:
    """Writes a whole call in the form of its tool, with the text of :func:`partstream.conversation.tool_forms.call_of`;
    each event holds at most `size` characters of it, None for all."""
    called = {"id": "", "call_id": part.call_id}
    if (row := CALLS.get(f"{form.kind}_call")) is not None:
        item = {"type": f"{form.kind}_call", **called, row.field: {**row.given, **part.input}, **row.beside}
        where = events.open(form.kind, item := {**item, "status": "in_progress"})
        events.close(where, {**item, "status": "completed"})
        return
    is_text = form.kind == TEXT
    kind, prefix, name = ("custom_tool_call", "ctc", "input") if is_text else ("function_call", "fc", "arguments")
    of_events = f"response.{'custom_tool_call_input' if is_text else 'function_call_arguments'}"
    call = {"type": kind, **called, "name": form.name, **({"namespace": form.namespace} if form.namespace else {})}
    where = events.open(prefix, opened := {**call, name: "", **({} if is_text else {"status": "in_progress"})})
    for piece in pieces_of(text, size):
        events.add(f"{of_events}.delta", **where, delta=piece)
    events.add(f"{of_events}.done", **where, **{name: text})
    events.close(where, {**opened, name: text, **({} if is_text else {"status": "completed"})})


# ---- The response object ----


def new_response(asked: InboundRequest, response_id: str, reply: Reply) -> dict[str, Any]:
    """A whole response without status, output and end; of a large request, it repeats no long field in each event."""
    body, created_at = asked.body, reply.created_at
    if reply.is_of_large:
        repeated = (*_ECHOES, *_ECHOED_IN_OTHER_FORM)
        body = {name: body[name] for name in repeated if name in body and not limits.is_long(body[name])}
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
        **{name: _echo(body, name, *echo) for name, echo in _ECHOES.items()},
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


_NUMBER: Final = (int, float)

_ECHOES: Final[dict[str, tuple[Any, ...]]] = {
    "previous_response_id": (str,),
    "instructions": (str,),
    "max_output_tokens": (int,),
    "max_tool_calls": (int,),
    "safety_identifier": (str,),
    "prompt_cache_key": (str,),
    # Not nullable in the schema.
    "temperature": (_NUMBER, 1.0),
    "top_p": (_NUMBER, 1.0),
    "presence_penalty": (_NUMBER, 0.0),
    "frequency_penalty": (_NUMBER, 0.0),
    "top_logprobs": (int, 0),
    "parallel_tool_calls": (bool, True),
    "store": (bool, True),
    "background": (bool, False),
    "service_tier": (str, "default"),
    "metadata": (dict, {}),
}
"""The fields of a request that the response repeats, with the type of the schema and the default."""


def _echo(fields: Mapping[str, Any], name: str, kind: Any, default: Any = None) -> Any:
    """A field of the request, if its value has the type of the schema; else the default."""
    value = fields.get(name)
    return value if isinstance(value, kind) and isinstance(value, bool) is (kind is bool) else default


def _tools(tools: Any) -> list[dict[str, Any]]:
    """The functions, each with all five fields, null or not; the schema has no other tools."""
    return [
        {"type": "function", "name": tool["name"]} | {name: _echo(tool, name, kind) for name, kind in _OF_TOOLS.items()}
        for tool in _functions(tools)
    ]


def _functions(listed: Any) -> list[dict[str, Any]]:
    return [
        one
        for one in (listed if isinstance(listed, list) else ())
        if isinstance(one, dict) and one.get("type") == "function" and isinstance(one.get("name"), str)
    ]


_OF_TOOLS: Final = {"description": str, "parameters": dict, "strict": bool}
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
        named = {"name": _echo(wanted, "name", str, ""), "description": _echo(wanted, "description", str)}
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
