"""Reads the thinking of a response, and carries it into the next request.

:class:`Thinking` reads thinking from the field of each server (docs/wires/chat-completions.md#thinking-fields), and
collects the state for the next request. Reasoning goes back in the field in which it came: some servers refuse the
wrong field, others a missing one (docs/wires/chat-completions.md#sending-reasoning-back). So each item names its field.
The items of one response are, in order, in the metadata of its thinking
(:data:`partstream.conversation.provider_state.ITEMS`), and come back in requests to the same upstream and model. They
have `"type": "message-field"` and one of these forms:

- `{"field": NAME, "text": TEXT}`: a text field of the assistant's message, such as `reasoning_content`, `reasoning`,
  `reasoning_text` or Copilot's `reasoning_opaque`; the text may be empty. NAME is `content` for thinking in tags at the
  beginning of the content: the text with its tags, as it came. A field that came as a list has it in `entries` too.
- `{"reasoning_details": [ENTRY, ...]}`: the entries of OpenRouter and MiniMax, merged, in order.
- `{"thinking_blocks": [BLOCK, ...]}`: LiteLLM's signed blocks, merged, in order.
- `{"content_parts": [PART, ...]}`: the parts of thinking in a content that is a list, which precede the text: Mistral's
  `thinking`, Databricks' `reasoning`.
- `{"toolCallId": ID, "extra_content": {}}`: Gemini's signature of the call with the server's id; without an id, that of
  the message.

An item may continue the one before it: a response goes on after its first thinking was emitted, and an emitted item
cannot change. :func:`joined_items` joins the items of one message. Servers accept lists only as they made them, so
deltas of one entry are merged (:class:`MergedEntries`), and other entries stay apart and in order.

State of other protocols, and the name of its server, is sealed into an entry of `reasoning_details`, which only this
code reads: clients return every entry as it came, as OpenRouter requires
(docs/wires/chat-completions.md#reasoning-details).
"""

from __future__ import annotations
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from partstream.conversation import provider_state
from partstream.lm.outputs import StreamOptions, StreamOutput, Unmapped
from partstream.protocols.calls import check_number
from partstream.protocols.read_response import EmittedPrefix, JSONObject, objects, text

# ---- Lists that stream as deltas ----

DETAIL_TEXTS: Final[Mapping[str, str]] = {"reasoning.text": "text", "reasoning.summary": "summary"}
"""The field of an entry's text by the type of the entry; entries of other types, such as encrypted ones, are whole."""

BLOCK_TEXTS: Final[Mapping[str, str]] = {"thinking": "thinking"}
"""The same for the blocks of LiteLLM."""

_STRING: Final = ""
"""The type of an entry that came as a bare text, see :func:`_typed`; no server uses the name."""
_PART_TEXTS: Final[Mapping[str, str]] = dict.fromkeys(("text", "summary_text", "reasoning_text", _STRING), "text")
"""The same for the entries of a part of thinking in a content that is a list."""

_SIGNATURE: Final = "signature"
_WORD: Final = re.compile(r"\w")
_IDENTITY: Final = ("index", "id")
"""Where both entries give one of these, entries that differ in it do not continue each other."""


class MergedEntries:
    """A list of entries that grows by deltas.

    Servers give the signature of an entry once, before, with or after its text, or in each delta; some repeat the whole
    text beside it (docs/wires/chat-completions.md#signed-blocks).

    Args:
        texts: The text field of each type of entry.
        ends_signed: Whether the signature of an entry is its end, unless the entry has no text yet.
    """

    def __init__(self, texts: Mapping[str, str], *, ends_signed: bool = False) -> None:
        self._texts = texts
        self._ends_signed = ends_signed
        self._entries: list[dict[str, Any]] = []
        self._pieces: list[str] = []  # of the text of the last entry
        self._said = EmittedPrefix()  # the same, to know it when it is repeated

    def __bool__(self) -> bool:
        return bool(self._entries)

    def add(self, entry: Mapping[str, Any]) -> str:
        """Adds the next entry; returns the piece of text that it adds."""
        name = self._text_field(entry)
        if name is None or not self.continues(entry):
            return self.add_apart(entry)
        last = self._entries[-1]
        last |= {key: one for key, one in entry.items() if key != name and last.get(key) in (None, "")}
        return self._say(self._new_of(text(entry, name), is_signed=bool(entry.get(_SIGNATURE))))

    def add_list(self, entries: Iterable[Mapping[str, Any]], outputs: list[StreamOutput] | None = None) -> str:
        """Adds the entries of one list; returns the text that they add. Counts in `outputs` what only repeats.

        Only the first may continue what came before: a server keeps the others apart, unless one names the entry that
        it continues, or has no text.
        """
        said = ""
        for place, entry in enumerate(entries):
            last = self._entries[-1] if place else {}
            is_named = any(entry.get(name) is not None and entry.get(name) == last.get(name) for name in _IDENTITY)
            own = text(entry, self._text_field(entry) or "")
            piece = self.add_apart(entry) if own and place and not is_named else self.add(entry)
            if own and not piece and outputs is not None:
                outputs.append(Unmapped(f"{text(entry, 'type') or 'thinking'} (repeated)", entry))
            said += piece
        return said

    def add_apart(self, entry: Mapping[str, Any]) -> str:
        """Begins an entry; returns its text."""
        self._close()
        check_number(len(self._entries) + 1)
        self._entries.append(dict(entry))
        name = self._text_field(entry)
        return "" if name is None else self._say(text(entry, name))

    def _say(self, piece: str) -> str:
        if piece:
            self._pieces.append(piece)
            self._said.add(piece)
        return piece

    @property
    def is_signed(self) -> bool:
        """Whether the last entry needs no signature, or has it."""
        last = self._entries[-1] if self._entries else {}
        return self._text_field(last) is None or bool(last.get(_SIGNATURE))

    def take(self) -> list[dict[str, Any]]:
        """The entries so far; the next entry begins a new list."""
        self._close()
        taken, self._entries = self._entries, []
        return taken

    def _text_field(self, entry: Mapping[str, Any]) -> str | None:
        """The field of the text of an entry: that of its type, and of an unknown type any that holds a text."""
        kind = entry.get("type")
        known = self._texts.get(kind) if isinstance(kind, str) else None
        return known or next((name for name in self._texts.values() if isinstance(entry.get(name), str)), None)

    def continues(self, entry: Mapping[str, Any]) -> bool:
        """Whether an entry belongs to the last one."""
        last = self._entries[-1] if self._entries else None
        if last is None or entry.get("type") != last.get("type"):
            return False
        signature, known = entry.get(_SIGNATURE), last.get(_SIGNATURE)
        if known and signature != known and (signature or (self._ends_signed and not self._said.is_empty)):
            return False
        pairs = ((entry.get(name), last.get(name)) for name in _IDENTITY)
        return all(one is None or other is None or one == other for one, other in pairs)

    def _new_of(self, piece: str, *, is_signed: bool) -> str:
        """What a piece adds: some repeat everything before them (docs/wires/chat-completions.md#reasoning-details).

        A few signs alone may well be said twice: a line of dashes grows by dashes. A signed piece that is equal to
        everything before it is a repetition.
        """
        length = self._said.length
        if is_signed and len(piece) == length and self._said.begins(piece):
            return ""
        repeats = len(piece) > length and self._said.begins(piece) and _WORD.search(piece, 0, length) is not None
        return piece[length:] if repeats else piece

    def _close(self) -> None:
        """Puts the pieces together, once for each entry."""
        if self._pieces and (name := self._text_field(self._entries[-1])) is not None:
            self._entries[-1][name] = "".join(self._pieces)
        self._pieces = []
        self._said = EmittedPrefix()


def _typed(listed: Any) -> list[dict[str, Any]]:
    """The entries of a list, in which bare texts are entries too, and one that names no type is text."""
    entries = ({"type": _STRING, "text": one} if isinstance(one, str) else one for one in listed or ())
    return [{"type": "text", **one} for one in entries if isinstance(one, dict)]


def _bare(entries: Iterable[Mapping[str, Any]]) -> list[Any]:
    return [one["text"] if one.get("type") == _STRING else one for one in entries]


def _whole_blocks(blocks: Iterable[dict[str, Any]], *, is_cut: bool) -> list[dict[str, Any]]:
    """The blocks of a whole answer that their server takes.

    The text after an early signature belongs to its block, unless the answer was cut in the next block. A block without
    a signature is useless to its server; its text is that of the field beside it.
    """
    whole: list[dict[str, Any]] = []
    for block in blocks:
        if block.get("type") != "thinking" or block.get(_SIGNATURE):
            whole.append(block)
        elif whole and whole[-1].get("type") == "thinking" and not is_cut:
            whole[-1]["thinking"] = text(whole[-1], "thinking") + text(block, "thinking")
    return whole


class ThoughtParts:
    """The parts of thinking in a content that is a list: Mistral's `thinking`, Databricks' `reasoning`.

    A delta is a part of its own; its entries continue the part before it. A part goes back as it came, with its
    entries apart.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[dict[str, Any], str, MergedEntries]] = []  # the other fields, and the list

    def add(self, part: Mapping[str, Any]) -> str:
        """Adds a part; returns the text that it adds."""
        name = next((one for one in _PART_LISTS if isinstance(part.get(one), str | list)), "")
        value = part.get(name)
        entries = [{"type": "text", "text": value}] if isinstance(value, str) else _typed(value)
        if not self._parts or not self._continues(part, name, entries):
            self._parts.append(({}, name, MergedEntries(_PART_TEXTS, ends_signed=True)))
        fields, _, merged = self._parts[-1]
        if isinstance(value, str):
            fields[_IS_TEXT] = True
        fields |= {key: one for key, one in part.items() if key != name and one is not None}
        return merged.add_list(entries)

    def take(self) -> list[dict[str, Any]]:
        """The parts so far; the next one begins a new list."""
        taken = [_part_of(*one) for one in self._parts]
        self._parts = []
        return taken

    def _continues(self, part: Mapping[str, Any], name: str, entries: list[dict[str, Any]]) -> bool:
        fields, known_name, merged = self._parts[-1]
        if part.get("type") != fields.get("type") or (name and name != known_name):
            return False
        is_over = bool(fields.get(_SIGNATURE)) or fields.get("closed") is True
        return not entries or (not is_over and (not merged or merged.continues(entries[0])))


def _part_of(fields: dict[str, Any], name: str, merged: MergedEntries) -> dict[str, Any]:
    if not name:
        return fields
    entries = merged.take()
    if fields.pop(_IS_TEXT, False) and (name != "thinking" or _SIGNATURE in fields):
        return {**fields, name: "".join(text(one, "text") for one in entries)}
    return {**fields, name: _bare(entries)} | ({"closed": True} if name == "thinking" else {})


_IS_TEXT: Final = ""
"""The field of a part whose entries came as one text; no server uses the name."""
_PART_LISTS: Final = ("thinking", "summary", "content", "text", "reasoning")
"""The fields of a part that hold its entries, or its text."""

# ---- Carried state ----

REASONING_DETAILS: Final = "reasoning_details"
THINKING_BLOCKS: Final = "thinking_blocks"
CONTENT_PARTS: Final = "content_parts"
EXTRA_CONTENT: Final = "extra_content"
TOOL_CALL_ID: Final = "toolCallId"
CONTENT: Final = "content"
"""The field of thinking in tags."""


class CarriedMessage(NamedTuple):
    """The state that goes back with one message of the assistant.

    Attributes:
        fields: The texts by the names of their fields; `content` precedes the message's own text.
        lists: The lists in place of these texts, where the server sent lists.
        details: The list for `reasoning_details`, whole and in order.
        blocks: The list for `thinking_blocks`.
        parts: The parts before the content.
        extra: The object for `extra_content` of the message.
        extra_of_calls: The object for `extra_content` of each call, by the server's id of the call.
    """

    fields: Mapping[str, str]
    lists: Mapping[str, Sequence[Any]]
    details: Sequence[Mapping[str, Any]]
    blocks: Sequence[Mapping[str, Any]]
    parts: Sequence[Mapping[str, Any]]
    extra: Mapping[str, Any]
    extra_of_calls: Mapping[str, Mapping[str, Any]]


def joined_items(items: Iterable[Mapping[str, Any]]) -> CarriedMessage:
    """The joined items of one message; items in the forms of other protocols are ignored."""
    fields: dict[str, str] = {}
    lists: dict[str, list[Any]] = {}
    details, blocks = MergedEntries(DETAIL_TEXTS), MergedEntries(BLOCK_TEXTS, ends_signed=True)
    parts: list[dict[str, Any]] = []
    extra: dict[str, Any] = {}
    extra_of_calls: dict[str, Mapping[str, Any]] = {}
    for item in items:
        name, said, added = item.get(provider_state.FIELD), item.get("text"), item.get(EXTRA_CONTENT)
        if isinstance(name, str) and isinstance(said, str):
            fields[name] = fields.get(name, "") + said
            listed = item.get("entries")
            lists.setdefault(name, []).extend(listed if isinstance(listed, list | tuple) else ())
        details.add_list(_entries(item, REASONING_DETAILS))
        blocks.add_list(_entries(item, THINKING_BLOCKS))
        parts += _entries(item, CONTENT_PARTS)
        if isinstance(added, dict):
            call_id = item.get(TOOL_CALL_ID)
            if isinstance(call_id, str):
                extra_of_calls[call_id] = added
            else:
                extra |= added
    # A list is the field only if it says all of its text.
    lists = {name: entries for name, entries in lists.items() if entries and _said(entries) == fields[name]}
    return CarriedMessage(fields, lists, details.take(), blocks.take(), parts, extra, extra_of_calls)


def _entries(item: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    listed = item.get(name)
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list | tuple) else []


SAID_BESIDE: Final = frozenset({"reasoning", "reasoning_content"})
"""The fields that say the text of `reasoning_details` or `thinking_blocks` again: with the list they are not sent."""

# ---- Thinking ----

REASONING_FIELDS: Final = ("reasoning_content", "reasoning", "reasoning_text", "cot_summary", "thinking")
"""The fields of text, in the order in which the first that is not empty is taken: some servers fill two alike.

`reasoning_content`: DeepSeek, Qwen, Moonshot, GLM, xAI, llama.cpp, SGLang. `reasoning`: OpenRouter, Groq, Cerebras,
Ollama, vLLM. `reasoning_text`: GitHub Copilot. `cot_summary`: Azure, through Copilot.
"""

REASONING_LISTS: Final = (REASONING_DETAILS, THINKING_BLOCKS)
"""The fields of lists: OpenRouter, MiniMax and Snowflake; LiteLLM."""

STATE_FIELDS: Final = ("reasoning_opaque", "cot_id", "signature")
"""The fields of state that go back beside a text field, as they came."""


class Thinking(provider_state.KeptThinking):
    """The thinking of one response, and the state that goes back with it.

    Attributes:
        field: The field that was shown last, or None.
        said: The emitted text.
        empty_field: The first field of thinking that came and was empty, or None.
    """

    def __init__(self, options: StreamOptions) -> None:
        super().__init__(options)
        self.field: str | None = None
        self.said = EmittedPrefix()
        self.empty_field: str | None = None
        self._details = MergedEntries(DETAIL_TEXTS)
        self._blocks = MergedEntries(BLOCK_TEXTS, ends_signed=True)
        self._parts = ThoughtParts()
        self._lists: dict[str, MergedEntries] = {}
        self._extra: dict[str, Any] = {}
        self._extra_of_calls: dict[str, Mapping[str, Any]] = {}
        self._is_end = False  # whether nothing follows: blocks that wait for a signature wait no longer
        self._is_cut = False

    def read(self, delta: JSONObject, outputs: list[StreamOutput]) -> None:
        """Shows the thinking of a delta once, whichever of its fields hold it."""
        field, said = self._text_of(delta, outputs)
        listed = objects(delta, THINKING_BLOCKS)
        detailed = self._details.add_list(objects(delta, REASONING_DETAILS), outputs)
        blocked = self._blocks.add_list(listed, outputs)
        if said and not blocked and any(one.get("thinking") == said for one in listed):
            field = None  # it repeats what the signed block repeats
        for name in STATE_FIELDS:
            if value := text(delta, name):
                self._texts[name] = [value]
        if field is not None:
            self.field = field
            if isinstance(delta[field], list):
                self._lists.setdefault(field, MergedEntries(_PART_TEXTS)).add_list(_typed(delta[field]))
            self.show(said, outputs, self.pieces(field))
        elif self.field is None and (detailed or blocked):
            self.show(detailed or blocked, outputs)

    def read_whole(self, message: JSONObject, outputs: list[StreamOutput]) -> None:
        """Shows the thinking of a whole message, as far as no delta has."""
        if self.said.is_empty:
            self.read(message, outputs)
            return
        field, whole = self._text_of(message, outputs)
        if field is not None and self.said.begins(whole) and (missing := whole[self.said.length :]):
            self.show(missing, outputs, self.pieces(field))

    def read_part(self, part: JSONObject, outputs: list[StreamOutput]) -> None:
        """Shows a part of a content that is a list."""
        if said := self._parts.add(part):
            self.show(said, outputs)

    def show(self, thought: str, outputs: list[StreamOutput], kept: list[str] | None = None) -> None:  # noqa: D102
        self.said.add(thought)
        provider_state.KeptThinking.show(self, thought, outputs, kept)  # faster than super()

    def add_extra(self, extra: Mapping[str, Any], call_id: str | None = None) -> None:
        """Adds an `extra_content` of the message or of a call."""
        if call_id is None:
            self._extra |= extra
        else:
            self._extra_of_calls[call_id] = extra

    def finish(self, outputs: list[StreamOutput], *, has_calls: bool, is_cut: bool) -> None:
        """The response ends, or its calls follow: emits state that came late.

        A field of thinking that stayed empty goes back only with calls: DeepSeek refuses a turn with calls without it
        (docs/wires/chat-completions.md#sending-reasoning-back).
        """
        if has_calls and self.empty_field is not None and self.said.is_empty:
            self.pieces(self.empty_field)
        self.is_open, self._is_end, self._is_cut = False, True, is_cut
        self.emit_items(outputs)

    def _text_of(self, delta: JSONObject, outputs: list[StreamOutput]) -> tuple[str | None, str]:
        """The first field of thinking that is not empty, and its text; None and an empty text where there is none."""
        for name in REASONING_FIELDS:
            value = delta.get(name)
            said = _said(value)
            if said:
                return name, said
            if value == "":
                self.empty_field = self.empty_field or name
            elif value and said is None:
                outputs.append(Unmapped(f"delta.{name}", {name: value}))
        return None, ""

    def _new_items(self) -> list[dict[str, Any]]:
        details = self._details.take()
        blocks = self._blocks.take() if self._is_end or self._blocks.is_signed else []
        blocks = _whole_blocks(blocks, is_cut=self._is_cut)
        lists = {REASONING_DETAILS: details, THINKING_BLOCKS: blocks, CONTENT_PARTS: self._parts.take()}
        items: list[dict[str, Any]] = [{name: entries} for name, entries in lists.items() if entries]
        replaced = bool(details or blocks)
        for name, pieces in self._texts.items():
            entries = _bare(self._lists[name].take()) if name in self._lists else []
            if not (replaced and name in SAID_BESIDE):
                items.append(
                    {provider_state.FIELD: name, "text": "".join(pieces), **({"entries": entries} if entries else {})}
                )
        if self._extra:
            items.append({EXTRA_CONTENT: self._extra})
        items += ({TOOL_CALL_ID: one, EXTRA_CONTENT: extra} for one, extra in self._extra_of_calls.items())
        self._texts, self._extra, self._extra_of_calls = {}, {}, {}
        return items


def _said(value: Any) -> str | None:
    """The text of a field of thinking, or of an object or a list in its place; None without a text."""
    if isinstance(value, list):
        said = [_said(one) for one in value]
        return "".join(one for one in said if one) or None
    if isinstance(value, dict):
        value = next((value[name] for name in ("text", "content", "summary") if isinstance(value.get(name), str)), None)
    return value if isinstance(value, str) else None


# ---- State of other protocols ----


def sealed_entry(item: Mapping[str, Any] | None, metadata: Mapping[str, Any]) -> dict[str, Any] | None:
    """The entry that carries an item and the metadata around it; None if JSON has no form for them."""
    sealed = provider_state.seal_state(item, provider_state.beside_items(metadata))
    # In `format`, OpenRouter names the makers of its entries.
    return None if sealed is None else {"type": "reasoning.encrypted", "data": sealed, "format": "partstream"}


def read_sealed(entry: Mapping[str, Any]) -> provider_state.OpaqueState | None:
    """Opens what :func:`sealed_entry` made; None for any other entry."""
    data = entry.get("data")
    return provider_state.open_state(data) if isinstance(data, str) else None
