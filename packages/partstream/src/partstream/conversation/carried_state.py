"""The provider state of an answer: collected for the next request, and sealed where a wire has no place for it.

:class:`CarriedItems` collects what one answer leaves for the next request, and :class:`KeptThinking` the thinking of a
wire whose messages have fields for it.

:func:`seal_state` makes opaque state: one item and the other fields of the metadata, which say who gave it. A protocol
chooses the place of the text: a signature, an entry of its own, an encrypted field.

:func:`sign` makes the text of a JSON value that a server gives to clients and gets back: it is signed with a secret, so
that the server reads only its own texts again, and it is not encrypted.
"""

from __future__ import annotations
import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from partstream.codec.json_codec import JSONDecodeError, dumps, is_json, loads
from partstream.conversation.provider_state import ITEMS, MOST_ITEMS, decode_state, encode_state
from partstream.errors import CallerError
from partstream.lm.outputs import StreamOptions, StreamOutput, ThinkingMode, Unmapped
from partstream.lm.parts import thinking_part

# ---- Collected state ----


class CarriedItems:
    """What one answer leaves for the next request; only thinking parts can carry it.

    Args:
        mode: How thinking is rendered.
        item_type: The type of the items.
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
        """Takes items."""
        if self.wanted:
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

_FORM: Final = re.compile(rf"{SIGNED}1\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{{43}})")


class WrongSignatureError(CallerError):
    """A text was not signed with this secret, or was changed."""


def sign(value: object, secret: bytes) -> str:
    """The text of a JSON value: ASCII letters, digits, dots, hyphens and underscores.

    Args:
        value: The value.
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
    match = _FORM.fullmatch(text)
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
