"""What a Gemini model wants back of its answer: the shape of the items that carry it through the conversation.

A model signs parts of its answer, and refuses or loses its train of thought where a signature does not come back at
exactly the part that had it (docs/wires/gemini.md#signatures). The items of one answer are, in order, in the metadata
of its thinking (:data:`partstream.conversation.provider_state.ITEMS`) and come back in requests to the same upstream
and model as :class:`partstream.conversation.turns.Reasoning`. They have `"type": "gemini-part"` and one of these
forms::

    {"toolCallId": ID, "given": BOOL, "thoughtSignature": S}   the call that came out under this id: whether
                                                               the server gave the id, and the signature, if any
    {"textLength": NUMBER, "checksum": C,                      the NUMBER characters of text right before the item were
     "thoughtSignature": S}                                    one signed part; 0 for an empty text
    {"file": NUMBER, "thoughtSignature": S}                    the file of this number, from 0, among those that the
                                                               answer brought
    {"part": PART, "textLength": NUMBER, "checksum": C}        a part that is sent back as it came, at this place: code
                                                               and tools that the server ran, a signed thought. It takes
                                                               the place of the NUMBER characters of text right before
                                                               the item, which show it; without it, of none

A call without a signature whose id was made here has no item. The checksum is that of the text
(:func:`partstream.protocols.read_response.checksum`): an edited text is not the one that was signed.

:func:`with_dummies` is for missing signatures: another model made the call, or a host has lost it. Gemini 3 and later
refuse such a call of the current turn (docs/wires/gemini.md#unsigned-calls).

:class:`WrittenState` is the way back, in a response that is written. What a server of this wire gave is where it was,
as far as a stream can still say it: on its call, or on an empty text. All other state, and who gave it, is sealed into
the signature of an empty text, which no server but ours reads: clients give back every signature as it came. It is
base64, as the official clients want it.
"""

from __future__ import annotations
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from partstream.conversation import provider_state
from partstream.conversation.turns import Piece
from partstream.protocols import options
from partstream.protocols.files import read_base64

if TYPE_CHECKING:
    from partstream.protocols.gemini.models import JSONObject

# ---- Items ----

ITEM_TYPE: Final = "gemini-part"
"""The type of every item: it belongs to a part before it or to none, and needs no piece that follows."""
TOOL_CALL_ID: Final = "toolCallId"
GIVEN: Final = "given"
SIGNATURE: Final = "thoughtSignature"
TEXT_LENGTH: Final = "textLength"
CHECKSUM: Final = "checksum"
FILE: Final = "file"
PART: Final = "part"


class StateOfCall(NamedTuple):
    """The state of the call with this id: whether the server gave the id, which then goes back with the call and its
    result (docs/wires/gemini.md#call-ids), and the signature of the part, or None."""

    call_id: str
    is_given: bool
    signature: str | None


class SignedText(NamedTuple):
    """The signature of the `length` characters right before the item, which were one part; 0 for an empty text."""

    length: int
    signature: str
    checksum: int | None = None


class SignedFile(NamedTuple):
    """The signature of a file, by its number among the files of the answer, from 0."""

    number: int
    signature: str


class CarriedPart(NamedTuple):
    """A part that is sent back as it came, in place of the `length` characters right before the item, which show it."""

    part: Mapping[str, Any]
    length: int = 0
    checksum: int | None = None


CarriedItem: TypeAlias = StateOfCall | SignedText | SignedFile | CarriedPart


def usable_signature(value: Any) -> str | None:
    """A signature, or None: an empty one is refused as corrupted (docs/wires/gemini.md#signatures)."""
    return value if isinstance(value, str) and value else None


def read_item(item: Mapping[str, Any]) -> CarriedItem | None:
    """What an item says; None for an item of another protocol, or one that says nothing."""
    signature = usable_signature(item.get(SIGNATURE))
    call_id, part = item.get(TOOL_CALL_ID), item.get(PART)
    if item.get("type") != ITEM_TYPE:
        return None
    if isinstance(call_id, str):
        return StateOfCall(call_id, item.get(GIVEN) is True, signature)
    values = (item.get(name) for name in (TEXT_LENGTH, FILE, CHECKSUM))
    length, number, checksum = (value if type(value) is int and value >= 0 else None for value in values)
    if isinstance(part, dict) and part:
        return CarriedPart(part, length or 0, checksum)
    if signature is not None and length is not None:
        return SignedText(length, signature, checksum)
    return SignedFile(number, signature) if signature is not None and number is not None else None


def states_of_calls(pieces: Sequence[Piece], read: Callable[[Mapping[str, Any]], object]) -> dict[str, StateOfCall]:
    """See :func:`partstream.protocols.options.states_of_calls`."""

    def of_call(item: Mapping[str, Any]) -> tuple[str, StateOfCall] | None:
        state = read(item)
        return (state.call_id, state) if isinstance(state, StateOfCall) else None

    return options.states_of_calls(pieces, of_call)


# ---- Missing signatures ----

DUMMY: Final = "skip_thought_signature_validator"
"""Google's own word for a missing signature."""

_CALL: Final = "functionCall"
_RESPONSE: Final = "functionResponse"


def with_dummies(contents: Sequence[JSONObject]) -> list[JSONObject]:
    """The contents with the dummy on the first call of each step of the current turn, where that has no signature."""
    signed = list(contents)
    for place in range(len(signed) - 1, -1, -1):
        content = signed[place]
        if content["role"] == "user" and not all(_RESPONSE in part for part in content["parts"]):
            break  # the turn began here, with more than results of tools
        first = next((number for number, part in enumerate(content["parts"]) if _CALL in part), None)
        if content["role"] == "model" and first is not None and SIGNATURE not in content["parts"][first]:
            parts = list(content["parts"])
            parts[first] = parts[first] | {SIGNATURE: DUMMY}
            signed[place] = {**content, "parts": parts}
    return signed


# ---- State that is written ----

_MADE_UP: Final = b"partstream0."


def sealed_signature(item: Mapping[str, Any] | None, metadata: Mapping[str, Any]) -> str | None:
    """The signature that carries an item of the metadata, or none of a list; None if JSON has no form for it."""
    sealed = provider_state.seal_state(item, provider_state.beside_items(metadata))
    return None if sealed is None else b64encode(sealed.encode()).decode()


def read_sealed(signature: str) -> provider_state.OpaqueState | None:
    """Opens what :func:`sealed_signature` made; None for any other signature."""
    return provider_state.open_state((read_base64(signature) or b"").decode("ascii", "replace"))


def made_up_signature(call_id: str) -> str:
    """A signature for a call of a model that signs calls, where nothing gave one: its clients wait for it."""
    return b64encode(_MADE_UP + sha256(call_id.encode(errors="surrogatepass")).hexdigest().encode()).decode()


def is_made_up(signature: str) -> bool:
    """Whether a signature is one of :func:`made_up_signature`, which carries nothing."""
    return (read_base64(signature) or b"").startswith(_MADE_UP)


class WrittenState:
    """The state that one answer has brought so far: metadata lists all items, and each is written once.

    Args:
        read: What an item says: of a call, of an empty text, or the JSON object that is written for it.
    """

    def __init__(self, read: Callable[[Mapping[str, Any]], object] = read_item) -> None:
        self._read = read
        self._listed = 0
        self._of_calls: dict[str, str] = {}

    def write(self, metadata: Mapping[str, Any]) -> Iterator[Any]:
        """What carries what is new in the metadata of a thinking part: signatures, and objects as they came."""
        listed = metadata.get(provider_state.ITEMS)
        new: list[Any] = [None]
        if isinstance(listed, list | tuple):
            new = [item for item in listed[self._listed :] if isinstance(item, Mapping)]
            self._listed = len(listed)
        for item in new:
            said = self._read(item) if item is not None and len(metadata) == 1 else None
            if isinstance(said, StateOfCall):
                self._of_calls |= {} if said.signature is None else {said.call_id: said.signature}
            elif isinstance(said, SignedText) and said.length == 0:
                yield said.signature
            elif isinstance(said, Mapping):
                yield said
            elif provider_state.usable_items([metadata if item is None else item]):
                sealed = sealed_signature(item, metadata)
                yield from () if sealed is None else (sealed,)

    def of_call(self, call_id: str) -> str | None:
        """The signature of a call; None if it has none, or was written before."""
        return self._of_calls.pop(call_id, None)
