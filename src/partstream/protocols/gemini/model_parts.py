"""Writes what a model said as the parts of its content, each with the signature that it came with.

Source: docs/wires/gemini.md#signatures. A signature goes back on exactly the part that had it: a text that was signed
is a part of its own, and no text takes over the signature of another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import is_json
from partstream.conversation.turns import Attachment, Call, Reasoning, Text
from partstream.errors import RequestNotExpressibleError
from partstream.protocols.gemini.models import Wire, file_part
from partstream.protocols.gemini.provider_state import (
    SIGNATURE,
    CarriedPart,
    SignedFile,
    SignedText,
    StateOfCall,
    read_item,
)
from partstream.protocols.read_response import checksum

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from partstream.conversation.turns import Piece, Turn

__all__ = ["ModelParts"]

_NOTHING: Final = ""


class ModelParts:
    """The parts of one content of the model.

    Attributes:
        parts: The parts so far.
        given_ids: The ids under which the server knows calls, by the ids of the conversation.
    """

    __slots__ = ("_may_join", "given_ids", "parts")

    def __init__(self) -> None:
        self.parts: list[Wire] = []
        self.given_ids: dict[str, str] = {}
        self._may_join = False

    def add(self, turns: Iterable[Turn]) -> None:
        """Adds turns of the model; the texts of two turns are never one part.

        Raises:
            RequestNotExpressibleError: A call holds what JSON has no form for, or no model takes the type of a file.
        """
        for turn in turns:
            self._may_join = False
            self._add_turn(turn.content)

    def _add_turn(self, pieces: Sequence[Piece]) -> None:
        state = _state_of_calls(pieces)
        signed_files = _signatures_of_files(pieces)
        files = 0
        for piece in pieces:
            if isinstance(piece, Text):
                self._text(piece.value)
            elif isinstance(piece, Reasoning):
                self._item(piece.item)
            elif isinstance(piece, Attachment):
                self._append(file_part(piece) | signed_files.get(files, {}))
                files += 1
            elif isinstance(piece, Call) and not piece.is_added:
                self._call(piece, state.get(piece.call_id))

    def _append(self, part: Wire) -> None:
        self.parts.append(part)
        self._may_join = False

    def _text(self, value: str) -> None:
        if self._may_join:
            self.parts[-1] = {"text": self.parts[-1]["text"] + value}
        else:
            self.parts.append({"text": value})
        self._may_join = True

    def _item(self, item: Mapping[str, Any]) -> None:
        said = read_item(item)
        if isinstance(said, SignedText):
            taken = self._taken_back(said.length, said.checksum)
            self._append({"text": taken or _NOTHING, SIGNATURE: said.signature})
        elif isinstance(said, CarriedPart):
            self._taken_back(said.length, said.checksum)
            self._append(dict(said.part))

    def _taken_back(self, length: int, wanted: int | None) -> str | None:
        """The text right before, if it is still the one that is meant; it is no part any more then."""
        last = self.parts[-1].get("text", _NOTHING) if self._may_join else _NOTHING
        end = last[len(last) - length :] if 0 < length <= len(last) else None
        if end is None or (wanted is not None and checksum(end) != wanted):
            return None
        rest = last[: len(last) - length]
        self.parts[-1:] = [{"text": rest}] if rest else []
        return end

    def _call(self, call: Call, state: StateOfCall | None) -> None:
        if not is_json(dict(call.input)):
            raise RequestNotExpressibleError("arguments", f"{call.where}.input", "JSON values")
        called: Wire = {"name": call.name, "args": dict(call.input)}
        if state is not None and state.is_given:
            called["id"] = self.given_ids[call.call_id] = state.call_id
        signed = {} if state is None or state.signature is None else {SIGNATURE: state.signature}
        self._append({"functionCall": called} | signed)


def _state_of_calls(pieces: Sequence[Piece]) -> dict[str, StateOfCall]:
    """What each call takes back, by the id of the conversation.

    An item knows the id under which the call was handed out. If that had to be changed on the way, the call is meant
    whose id was made of it, else the next call behind the item, which is where it stood in the answer.
    """
    ids = [piece.call_id for piece in pieces if isinstance(piece, Call) and not piece.is_added]
    found: dict[str, StateOfCall] = {}
    for index, piece in enumerate(pieces):
        state = read_item(piece.item) if isinstance(piece, Reasoning) else None
        if not isinstance(state, StateOfCall):
            continue
        made_of_it = (one for one in ids if one.startswith(f"{state.call_id}_"))
        following = (later.call_id for later in pieces[index:] if isinstance(later, Call))
        meant = state.call_id if state.call_id in ids else next(made_of_it, None) or next(following, None)
        if meant is not None:
            found.setdefault(meant, state)
    return found


def _signatures_of_files(pieces: Iterable[Piece]) -> dict[int, Wire]:
    items = (read_item(piece.item) for piece in pieces if isinstance(piece, Reasoning))
    return {one.number: {SIGNATURE: one.signature} for one in items if isinstance(one, SignedFile)}
