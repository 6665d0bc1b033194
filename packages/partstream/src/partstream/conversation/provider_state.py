"""Carries provider state through the conversation: out with the thinking parts, back as items of the same model.

Only the server and model that wrote encrypted reasoning can use it, so it records its origin, and reasoning of another
origin is dropped. It travels in three ways:

- **Metadata of thinking**, within a turn of the user. Copilot keeps the last metadata of a model call and puts it on
  the first part of the message, so each metadata lists all items so far. Hosts join the texts of a response and return
  them before its calls (observed in Copilot 0.67), so each item records its place (:data:`PLACE`).
- **The stateful marker**, in later turns. Copilot keeps the bytes of a `stateful_marker` part on the assistant message
  and sends them back in every later request, under the name of the then requested model, also to models of other
  providers. It keeps only the text between the first and the second backslash
  (docs/wires/vscode.md#stateful-markers). Our marker therefore names its upstream and model, carries a checksum and
  holds no backslash; any other marker reads as None.
- **Memory** (:class:`ThinkingMemory`), for clients that drop thinking. The official types of Chat Completions and of
  Ollama have no field for it, and libraries build their history from the text and the calls alone
  (docs/wires/serving.md#reasoning-that-a-wire-cannot-carry). The memory finds the state by the caller, the text, and
  the calls with their ids. It is lost with the process, and the oldest state goes first: the model then misses state,
  as it would without the memory.

An answer leaves state as items: :class:`CarriedItems` collects them, and :class:`KeptThinking` those of a wire whose
messages have fields for thinking. Where a wire has no place for state, :func:`seal_state` makes one opaque text of an
item and of the other fields of the metadata, which say who gave it; the wire chooses the place of the text: a
signature, an entry of its own, an encrypted field. :func:`sign` makes the text of a value that a server gives to
clients and gets back: it is signed with a secret, so that the server reads only its own texts again, and it is not
encrypted.
"""

from __future__ import annotations
import hmac
import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Flag, auto
from hashlib import blake2b, sha256
from typing import Any, Final, NamedTuple

from partstream.codec.checks import dataclass, field, replace
from partstream.codec.json_codec import JSONDecodeError, dumps, is_json, loads
from partstream.codec.system import SharedRoom
from partstream.conversation.turns import Attachment, Call, Piece, Reasoning, Text, short_digest
from partstream.errors import CallerError
from partstream.lm.messages import ChatMessage, Role
from partstream.lm.outputs import StreamOptions, StreamOutput, ThinkingMode, Unmapped
from partstream.lm.parts import (
    STATEFUL_MARKER_MIME_TYPE,
    DataPart,
    MessagePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    thinking_part,
)

# ---- Places of items ----

PLACE: Final = "after"
"""The field of an item with its place: `[calls before it, characters of text after the last of them]`.

Before 0.9, the second was a boolean: whether there was any text. It is still read, and means the end of that text.
"""


class AnswerPlace:
    """The place of the next item of an answer; sees every text and call before it, in order.

    White space at the beginning of an answer does not count, because hosts remove it.
    """

    def __init__(self) -> None:
        self._calls = 0
        self._characters = 0
        self._has_begun = False

    def add_text(self, text: str) -> None:
        """Moves the place to the end of a text."""
        if not self._has_begun:
            text = text.lstrip()
            self._has_begun = bool(text)
        self._characters += len(text)

    def add_call(self) -> None:
        """Moves the place after a call."""
        self._calls += 1
        self._characters = 0
        self._has_begun = True

    @property
    def value(self) -> list[int]:
        """The place in the form of :data:`PLACE`."""
        return [self._calls, self._characters]


class Spot(NamedTuple):
    """A spot in the pieces of a message: before the piece at an index, or after some characters of the text there."""

    piece: int
    characters: int = 0


def follows_text(item: Mapping[str, Any]) -> bool:
    """Whether the place of an item counts characters, so that another text would mean another place."""
    place = _place_of(item)
    return place is not None and type(place[1]) is int and place[1] > 0


def spot_of(content: Sequence[Piece], item: Mapping[str, Any]) -> Spot:
    """The spot of an item in the pieces of a message: the beginning if the item has no place, the end if its place is
    after the end of the pieces."""
    place = _place_of(item)
    if place is None:
        return Spot(0)
    calls, text = place
    index = 0
    while calls > 0 and index < len(content):
        calls -= isinstance(content[index], Call)
        index += 1
    if isinstance(text, bool) and text:
        while index < len(content) and isinstance(content[index], Text):
            index += 1
        return Spot(index)
    return _after(content, index, text)


def _place_of(item: Mapping[str, Any]) -> tuple[int, int] | None:
    match item.get(PLACE):
        case [int(calls), bool() | int() as text] if type(calls) is int:
            return calls, text
        case _:
            return None


def _after(content: Sequence[Piece], index: int, characters: int) -> Spot:
    """The spot after so many characters of the texts from an index on, up to the next call."""
    while characters > 0 and index < len(content):
        piece = content[index]
        if not isinstance(piece, Text | Attachment):
            break
        if isinstance(piece, Text):
            ignored = 0 if any(map(_begins, content[:index])) else len(piece.value) - len(piece.value.lstrip())
            if ignored + characters < len(piece.value):
                return Spot(index, ignored + characters)
            characters -= len(piece.value) - ignored
        index += 1
    return Spot(index)


def _begins(piece: Piece) -> bool:
    """Whether a response has begun with this piece, so that white space after it counts."""
    return isinstance(piece, Call) or (isinstance(piece, Text) and not piece.value.isspace())


# ---- Items ----

ITEMS: Final = "reasoning_items"
"""The metadata field of thinking that lists the items of the response."""
MOST_ITEMS: Final = 1000
"""The most items of one response: each metadata lists all before it, so twice as many take four times the space."""
ORIGIN: Final = "origin"
"""The metadata field that names the origin of the items."""
_NAMES: Final = frozenset({"type", "id", "status", "text", "summary", "content", "toolCallId", PLACE})
"""Fields with the identity, the place and the shown text of an item; all other fields are its state."""


def usable_items(items: Iterable[Any]) -> tuple[Mapping[str, Any], ...]:
    """The items with state beside the shown text; others are useless to a server."""
    return tuple(
        item
        for item in items
        if isinstance(item, Mapping) and any(value for name, value in item.items() if name not in _NAMES)
    )


def place_reasoning(
    content: Sequence[Piece], items: Iterable[Mapping[str, Any]], may_end: Callable[[Mapping[str, Any]], bool]
) -> tuple[Piece, ...]:
    """The pieces of an assistant turn with its items at their places; a text is split at an item inside it.

    After the last piece, an item is dropped unless it `may_end` the turn, see
    :attr:`partstream.conversation.preparation.ConversationRules.may_end`.
    """
    placed: dict[Spot, list[Mapping[str, Any]]] = {}
    for item in items:
        placed.setdefault(spot_of(content, item), []).append(item)
    result: list[Piece] = []
    for index, piece in enumerate(content):
        rest = piece
        done = 0
        for spot in sorted(spot for spot in placed if spot.piece == index):
            if spot.characters and isinstance(rest, Text):  # half a JSON document is none
                before, after = rest.value[: spot.characters - done], rest.value[spot.characters - done :]
                result.append(replace(rest, value=before, is_json=False))
                rest = replace(rest, value=after, is_json=False)
                done = spot.characters
            result += map(_piece, placed[spot])
        result.append(rest)
    result += (_piece(item) for item in placed.get(Spot(len(content)), ()) if may_end(item))
    return tuple(result)


def _piece(item: Mapping[str, Any]) -> Reasoning:
    return Reasoning({name: value for name, value in item.items() if name != PLACE})


class Carried(Flag):
    """The kinds of state from earlier responses that a request may carry; a server may refuse each of them."""

    NOTHING = 0
    RESPONSE = auto()
    """The id of a stored response."""
    REASONING = auto()
    """Reasoning of the current turn: of the responses after the last message of the user that is not only tool results.
    Servers demand it back."""
    EARLIER = auto()
    """Reasoning of finished turns: of the responses before that message. Servers also respond without it."""
    ALL_REASONING = REASONING | EARLIER
    EVERYTHING = RESPONSE | ALL_REASONING

    def without_first(self, refused: Carried) -> Carried:
        """The state that a request carries after a server has refused some of it.

        A server that refuses reasoning seldom states which: that of finished turns goes first, and that of the current
        turn only if the server refuses again.
        """
        if Carried.REASONING in refused and Carried.EARLIER in self:
            refused = (refused & ~Carried.REASONING) | Carried.EARLIER
        return self & ~refused


# ---- Opaque text: JSON values in one word that other programs carry ----

STATE_MARK: Final = "partstream1."
"""What every such text begins with."""

_FORM: Final = re.compile(rf"{re.escape(STATE_MARK)}([A-Za-z0-9_-]+)\.([0-9a-f]{{16}})")


def encode_state(value: object) -> str:
    """The opaque text of a JSON value: ASCII letters, digits, dots, hyphens and underscores."""
    payload = urlsafe_b64encode(dumps(value)).decode().rstrip("=")
    return f"{STATE_MARK}{payload}.{short_digest(payload)}"


def decode_state(text: str) -> Any:
    """The value in a text from :func:`encode_state`; None for any other text."""
    match = _FORM.fullmatch(text)
    if match is None or short_digest(match[1]) != match[2]:
        return None
    try:
        return loads(urlsafe_b64decode(match[1] + "=" * (-len(match[1]) % 4)))
    except (ValueError, JSONDecodeError):
        return None


# ---- The stateful marker ----

MAX_MARKER_LENGTH: Final = 65_536
"""The most characters of a marker. VS Code was observed to keep 64 KB of metadata."""

_OF_CALL: Final = "toolCallId"
"""The field of an item that names the call to which it belongs."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The fingerprint of the upstream and its id of the model that responded; only for them is carried state valid."""

    upstream: str
    model: str

    @property
    def key(self) -> str:
        """Upstream and model in one text."""
        return f"{self.upstream}/{self.model}"


@dataclass(frozen=True, slots=True)
class StateMarker:
    """The state that a response leaves in the conversation.

    Attributes:
        origin: The upstream and model that responded.
        response_id: The server's id of a response that it was to store, otherwise None.
        history: The digest of the messages of the request.
        answer: The digest of the response if something depends on it: a stored response, or the place of reasoning in a
            text; otherwise empty.
        reasoning: The reasoning items of the response, in the form that its protocol wants back.
    """

    origin: Origin
    response_id: str | None = None
    history: str = ""
    answer: str = ""
    reasoning: tuple[Mapping[str, Any], ...] = field(default=())

    def encode(self) -> str:
        """The marker as text of at most :data:`MAX_MARKER_LENGTH` characters.

        Reasoning that would exceed it is omitted. Items of single calls, such as their signatures, are short, and
        servers refuse the calls without them: they stay if they fit.
        """
        text = encode_state(self._fields())
        if len(text) > MAX_MARKER_LENGTH and self.reasoning:
            of_calls = tuple(item for item in self.reasoning if _OF_CALL in item)
            return replace(self, reasoning=of_calls if len(of_calls) < len(self.reasoning) else ()).encode()
        return text

    def _fields(self) -> dict[str, Any]:
        return {
            "u": self.origin.upstream,
            "m": self.origin.model,
            "r": self.response_id,
            "h": self.history,
            "a": self.answer,
            "t": [dict(item) for item in self.reasoning],
        }


def marker_part(model_id: str, marker: StateMarker) -> DataPart:
    """The data part with a marker for the host; VS Code core's agent host reads the model's id before the backslash."""
    name = model_id.replace("\\", "/")  # a second backslash would end the marker
    return DataPart.text(f"{name}\\{marker.encode()}", STATEFUL_MARKER_MIME_TYPE)


def read_marker(part: DataPart) -> StateMarker | None:
    """The marker in a data part; None for another kind of part, another provider's marker or a damaged marker."""
    if part.mime_type != STATEFUL_MARKER_MIME_TYPE or len(part.data) > 2 * MAX_MARKER_LENGTH:
        return None
    for piece in part.data.decode(errors="replace").split("\\"):
        fields = decode_state(piece)
        if fields is not None:
            if not isinstance(fields, dict):
                return None
            upstream, model, history, answer = (fields.get(name) for name in "umha")
            response_id, reasoning = fields.get("r"), fields.get("t")
            if not (
                isinstance(upstream, str)
                and isinstance(model, str)
                and isinstance(history, str)
                and isinstance(answer, str)
                and isinstance(response_id, str | None)
                and isinstance(reasoning, list)
            ):
                return None
            items = tuple(item for item in reasoning if isinstance(item, dict))
            return StateMarker(Origin(upstream, model), response_id, history, answer, items)
    return None


# ---- Memory for clients that drop thinking ----

_MOST_BYTES: Final = 32 * 1024 * 1024
_MOST_OF_ONE: Final = 1024 * 1024


class ThinkingMemory:
    """The state of the last responses of all callers, in at most `most_bytes` of JSON, of which each has a share."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._kept: SharedRoom[Mapping[str, Any]] = SharedRoom(most_bytes)

    def of(self, caller: str) -> CallersMemory:
        """The memory of one caller."""
        return CallersMemory(self._kept, caller)

    def __len__(self) -> int:
        return len(self._kept)


class CallersMemory:
    """The state of one caller's responses, which no other caller finds."""

    def __init__(self, memory: SharedRoom[Mapping[str, Any]], caller: str) -> None:
        self._memory = memory
        self._caller = caller

    def remember(self, answer: Sequence[MessagePart], state: Mapping[str, Any]) -> None:
        """Keeps the state of a whole response: the last metadata of its thinking, which lists all of it.

        Only a text or a call makes a response recognizable.
        """
        if any(isinstance(one, ToolCallPart) or (isinstance(one, TextPart) and one.value.strip()) for one in answer):
            size = len(dumps(state)) if is_json(state) else _MOST_OF_ONE + 1
            if size <= _MOST_OF_ONE:
                self._memory.keep(self._caller, _key(answer), state, size)

    def restored(self, messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
        """The conversation with the state of those responses that came back without it."""
        if not self._memory:
            return tuple(messages)
        return tuple(self._restored(one) if one.role is Role.ASSISTANT else one for one in messages)

    def _restored(self, message: ChatMessage) -> ChatMessage:
        thinking = (one for one in message.content if isinstance(one, ThinkingPart))
        if any((one.metadata or {}).keys() - {ITEMS} for one in thinking):
            return message  # thinking came back with more than its shown text
        state = self._memory.find(self._caller, _key(message.content))
        if state is None:
            return message
        return replace(message, content=(ThinkingPart("", None, dict(state)), *message.content))


def _key(content: Sequence[MessagePart]) -> bytes:
    """The digest of the parts that every client returns: the text without surrounding white space, and the calls."""
    text = "".join(one.value for one in content if isinstance(one, TextPart)).strip()
    calls = [[one.call_id, one.name, dict(one.input)] for one in content if isinstance(one, ToolCallPart)]
    said = json.dumps([text, calls], sort_keys=True, default=repr)
    return sha256(said.encode(errors="surrogatepass")).digest()


# ---- Collected state ----


class CarriedItems:
    """What one answer leaves for the next request; only thinking parts can carry it.

    Args:
        what: What an item carries, for one that cannot be carried.

    Attributes:
        wanted: Whether anything can be carried.
    """

    def __init__(self, mode: ThinkingMode, item_type: str, what: str) -> None:
        self.wanted = mode is ThinkingMode.PART
        self._type, self._what = item_type, what
        self._items: list[dict[str, Any]] = []
        self._new: list[dict[str, Any]] = []

    def add(self, *items: Mapping[str, Any]) -> None:
        """Takes items; of too many, one more than come out."""
        if self.wanted and len(self._new) <= MOST_ITEMS:
            self._new += ({"type": self._type, **item} for item in items)

    def take(self) -> list[dict[str, Any]]:
        """The items that have not come out yet, which are taken away."""
        new, self._new = self._new, []
        return new

    def emit(self, outputs: list[StreamOutput]) -> None:
        """Emits the items that have come since the last time, with all before them; nothing where there are none."""
        new = self.take()
        if not new:
            return
        if len(self._items) + len(new) > MOST_ITEMS or not is_json(new):
            outputs.append(Unmapped(f"{self._what} (more than {MOST_ITEMS} items of one answer, or no JSON)", new[0]))
            return
        self._items += new
        outputs.append(thinking_part("", None, {ITEMS: list(self._items)}))


MESSAGE_FIELD: Final = "message-field"
"""The type of every item of :class:`KeptThinking`: it belongs to its message, not to the piece that follows, and stays
where none does."""
FIELD: Final = "field"


class KeptThinking:
    """The thinking of one response of a wire whose messages have fields for it, and the texts that go back in them.

    Attributes:
        is_open: Whether the last output was thinking.
    """

    def __init__(self, options: StreamOptions) -> None:
        self.is_open = False
        self._shows = options.thinking is not ThinkingMode.OFF
        self._carried = CarriedItems(options.thinking, MESSAGE_FIELD, "reasoning")
        self._closed_once = False
        self._texts: dict[str, list[str]] = {}

    def pieces(self, field: str) -> list[str]:
        """The pieces of a text field, to add to. A field without pieces is carried as an empty text."""
        return self._texts.setdefault(field, [])

    def show(self, thought: str, outputs: list[StreamOutput], kept: list[str] | None = None) -> None:
        """Emits a piece of thinking, and adds it to `kept` for the server."""
        self.is_open = True
        if kept is not None and self._carried.wanted:
            kept.append(thought)
        if self._shows:
            outputs.append(thinking_part(thought))

    def close(self, outputs: list[StreamOutput]) -> None:
        """Text or a call follows. The first time, the items are emitted with the thinking that they belong to."""
        if self.is_open:
            self.is_open = False
            if not self._closed_once:
                self._closed_once = True
                self.emit_items(outputs)

    def emit_items(self, outputs: list[StreamOutput]) -> None:
        """Emits the items if any has come since the last time, with all items before them."""
        self._carried.add(*self._new_items())
        self._carried.emit(outputs)

    def _new_items(self) -> list[dict[str, Any]]:
        texts, self._texts = self._texts, {}
        return [{FIELD: name, "text": "".join(pieces)} for name, pieces in texts.items()]


# ---- Sealed state ----


class OpaqueState(NamedTuple):
    """What was sealed: one item in the metadata of thinking.

    Attributes:
        item: The item, or None where the metadata lists none.
        beside: The other fields of the metadata.
    """

    item: Mapping[str, Any] | None
    beside: Mapping[str, Any]


def beside_items(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the metadata of thinking, without its list of items."""
    return {name: value for name, value in metadata.items() if name != ITEMS}


def seal_state(item: Mapping[str, Any] | None, beside: Mapping[str, Any]) -> str | None:
    """The text that carries an item, of printable ASCII; None if JSON has no form for it.

    Args:
        item: The item, or None where the metadata lists none.
        beside: The other fields of the metadata.
    """
    sealed = {"item": item, "beside": beside}
    return encode_state(sealed) if is_json(sealed) else None


def open_state(text: str) -> OpaqueState | None:
    """Opens what :func:`seal_state` sealed; None for any other text."""
    sealed = decode_state(text)
    if not isinstance(sealed, dict):
        return None
    item, beside = sealed.get("item"), sealed.get("beside")
    return OpaqueState(item, beside) if isinstance(item, Mapping | None) and isinstance(beside, Mapping) else None


NO_STATE: Final = encode_state({"item": None, "beside": {}})
"""The text that says no state at all, for a field that must not be empty."""

# ---- Signed text ----

MIN_SECRET_BYTES: Final = 16

SIGNED: Final = "partstream-signed"
"""What every signed text begins with, whatever its version."""

_SIGNED_FORM: Final = re.compile(rf"{SIGNED}1\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{{43}})")


class WrongSignatureError(CallerError):
    """A text was not signed with this secret, or was changed."""


def sign(value: object, secret: bytes) -> str:
    """The text of a JSON value: ASCII letters, digits, dots, hyphens and underscores.

    Args:
        secret: 16 bytes or more; of more than 64, the digest counts.

    Raises:
        ValueError: The secret is too short.
    """
    payload = _base64(dumps(value))
    return f"{SIGNED}1.{payload}.{_signature(payload, secret)}"


def open_signed(text: str, secret: bytes) -> Any:
    """The value in a text from :func:`sign`.

    Raises:
        WrongSignatureError: The text is not one of this secret.
    """
    match = _SIGNED_FORM.fullmatch(text)
    if match is None or not hmac.compare_digest(match[2], _signature(match[1], secret)):
        raise WrongSignatureError("got a text that this server has not signed")
    try:
        return loads(urlsafe_b64decode(match[1] + "=" * (-len(match[1]) % 4)))
    except (ValueError, JSONDecodeError) as error:  # no code of ours signs this
        raise WrongSignatureError("got a signed text that holds no JSON") from error


def _signature(payload: str, secret: bytes) -> str:
    if len(secret) < MIN_SECRET_BYTES:
        raise ValueError(f"got a secret of {len(secret)} bytes, expected {MIN_SECRET_BYTES} or more")
    key = secret if len(secret) <= blake2b.MAX_KEY_SIZE else blake2b(secret).digest()
    return _base64(blake2b(payload.encode(), digest_size=32, key=key).digest())


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")
