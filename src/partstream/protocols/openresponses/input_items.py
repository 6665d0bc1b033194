"""Writes turns as the input items of OpenResponses.

Source: OpenResponses specification 2026-04-24, `ItemParam`; which part may stand in which role is said there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.conversation.deferral import shown_by_user
from partstream.conversation.media import MediaKind, data_url, file_name
from partstream.conversation.settings import SystemAs, ToolImages
from partstream.conversation.texts import joined_texts
from partstream.conversation.turns import Attachment, Call, Reasoning, Result, Text, TurnRole
from partstream.conversation.wording import FAILED, FAILED_SILENTLY
from partstream.errors import RequestNotExpressibleError
from partstream.protocols.options import call_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from partstream.conversation.settings import RequestSettings
    from partstream.conversation.turns import ResultContent, Turn

__all__ = ["input_items"]

Wire: TypeAlias = dict[str, Any]

_MAX_IMAGE_URL: Final = 20_971_520
_MAX_FILE_DATA: Final = 33_554_432
"""The limits of the schema, in characters."""


def input_items(turns: Iterable[Turn], settings: RequestSettings) -> list[Wire]:
    """The items of a conversation, in order.

    Images and files that cannot stand where they are said follow in a message of the user, behind the results that
    follow without a break.

    Raises:
        RequestNotExpressibleError: A part is larger than the protocol allows, or holds what JSON has no form for.
    """
    writer = _Writer(settings)
    of_results = settings.tool_images is not ToolImages.NATIVE
    for turn in shown_by_user(turns, of_results=of_results, of_assistant=True):
        writer.write(turn)
    return writer.items


class _Writer:
    """The items of one request so far."""

    def __init__(self, settings: RequestSettings) -> None:
        self.items: list[Wire] = []
        self._system = "developer" if settings.system_as is SystemAs.DEVELOPER else "system"

    def write(self, turn: Turn) -> None:
        _WRITERS[turn.role](self, turn)

    def _system_turn(self, turn: Turn) -> None:
        self._message(self._system, [_input_text(piece) for piece in turn.content if isinstance(piece, Text)])

    def _user_turn(self, turn: Turn) -> None:
        self._message("user", [_input(piece) for piece in turn.content if isinstance(piece, Text | Attachment)])

    def _assistant_turn(self, turn: Turn) -> None:
        said: list[Wire] = []
        for piece in turn.content:
            if isinstance(piece, Text):
                said.append({"type": "output_text", "text": piece.value})
                continue
            self._message("assistant", said)
            said = []
            if isinstance(piece, Call):
                self.items.append(_call(piece))
            elif isinstance(piece, Reasoning):
                is_reasoning = piece.item.get("type", "reasoning") == "reasoning"
                own = {"type": "reasoning", "summary": []} if is_reasoning else {}
                self.items.append({**own, **piece.item})
        self._message("assistant", said)

    def _tool_turn(self, turn: Turn) -> None:
        for piece in turn.content:
            if isinstance(piece, Result):
                self.items.append({"type": "function_call_output", "call_id": piece.call_id, "output": _output(piece)})

    def _message(self, role: str, content: list[Wire]) -> None:
        if content:
            self.items.append({"type": "message", "role": role, "content": content})


_WRITERS: Final[dict[TurnRole, Callable[[_Writer, Turn], None]]] = {
    TurnRole.SYSTEM: _Writer._system_turn,  # noqa: SLF001 - the table of the class
    TurnRole.USER: _Writer._user_turn,  # noqa: SLF001
    TurnRole.ASSISTANT: _Writer._assistant_turn,  # noqa: SLF001
    TurnRole.TOOL: _Writer._tool_turn,  # noqa: SLF001
}


def _output(result: Result) -> str | list[Wire]:
    """The output of a tool: a string if a string can hold it, because every server takes one."""
    pieces = [_input(piece) for piece in result.content]
    if result.is_error:  # the protocol has no field for it
        pieces.insert(0, {"type": "input_text", "text": FAILED if pieces else FAILED_SILENTLY})
    if all(piece["type"] == "input_text" for piece in pieces):
        return joined_texts(piece["text"] for piece in pieces)
    return pieces


def _input(piece: ResultContent) -> Wire:
    if isinstance(piece, Text):
        return _input_text(piece)
    return _ATTACHMENTS[piece.kind](piece)


def _input_text(piece: Text) -> Wire:
    return {"type": "input_text", "text": piece.value}


def _image(piece: Attachment) -> Wire:
    url = piece.url or data_url(piece.data, piece.media_type)
    _check_size(url, _MAX_IMAGE_URL, piece)
    return {"type": "input_image", "image_url": url, "detail": "auto"}


def _file(piece: Attachment) -> Wire:
    if piece.url:
        return {"type": "input_file", "file_url": piece.url}
    url = data_url(piece.data, piece.media_type)
    _check_size(url, _MAX_FILE_DATA, piece)
    return {"type": "input_file", "filename": file_name(piece.media_type), "file_data": url}


_ATTACHMENTS: Final[dict[MediaKind, Callable[[Attachment], Wire]]] = {MediaKind.IMAGE: _image, MediaKind.FILE: _file}


def _check_size(url: str, limit: int, piece: Attachment) -> None:
    if len(url) > limit:
        raise RequestNotExpressibleError(
            f"{len(piece.data):,} bytes of {piece.media_type}", piece.where, f"at most {limit * 3 // 4:,} bytes"
        )


def _call(piece: Call) -> Wire:
    return {
        "type": "function_call",
        "call_id": piece.call_id,
        "name": piece.name,
        "arguments": call_arguments(piece).decode(),
        "status": "completed",
    }
