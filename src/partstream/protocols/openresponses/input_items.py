"""Turns as the input items of OpenResponses; knows no option and no tool.

Source: OpenResponses specification 2026-04-24, `ItemParam`; which part may stand in which role is said there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.conversation.media import MediaKind, data_url, file_name
from partstream.conversation.settings import SystemAs, ToolImages
from partstream.conversation.turns import Attachment, Call, Reasoning, Result, Text, TurnRole
from partstream.errors import RequestNotExpressibleError
from partstream.json_codec import dumps, is_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from partstream.conversation.settings import RequestSettings
    from partstream.conversation.turns import ResultContent, Turn

__all__ = ["input_items"]

Wire: TypeAlias = dict[str, Any]

_FAILED: Final = "The tool failed: "
_FAILED_SILENTLY: Final = "The tool failed and did not say why."
"""The protocol has no field for it; without the words the model takes an error for a result."""

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
    for turn in turns:
        if turn.role is not TurnRole.TOOL:
            writer.show_deferred()
        writer.write(turn)
    writer.show_deferred()
    return writer.items


class _Writer:
    """The items of one request so far."""

    def __init__(self, settings: RequestSettings) -> None:
        self.items: list[Wire] = []
        self._native = settings.tool_images is ToolImages.NATIVE
        self._system = "developer" if settings.system_as is SystemAs.DEVELOPER else "system"
        self._deferred: list[Wire] = []

    def write(self, turn: Turn) -> None:
        _WRITERS[turn.role](self, turn)

    def show_deferred(self) -> None:
        self._message("user", self._deferred)
        self._deferred = []

    def _system_turn(self, turn: Turn) -> None:
        self._message(self._system, [_input_text(piece) for piece in turn.content if isinstance(piece, Text)])

    def _user_turn(self, turn: Turn) -> None:
        self._message("user", [_input(piece) for piece in turn.content if isinstance(piece, Text | Attachment)])

    def _assistant_turn(self, turn: Turn) -> None:
        said: list[Wire] = []
        for piece in turn.content:
            match piece:
                case Text(value):
                    said.append({"type": "output_text", "text": value})
                    continue
                case Attachment():
                    self._deferred += [{"type": "input_text", "text": "[shown by the assistant]"}, _input(piece)]
                    continue
            self._message("assistant", said)
            said = []
            if isinstance(piece, Call):
                self.items.append(_call(piece))
            elif isinstance(piece, Reasoning):
                self.items.append({"type": "reasoning", "summary": [], **piece.item})
        self._message("assistant", said)

    def _tool_turn(self, turn: Turn) -> None:
        for piece in turn.content:
            if isinstance(piece, Result):
                self.items.append(
                    {"type": "function_call_output", "call_id": piece.call_id, "output": self._output(piece)}
                )

    def _output(self, result: Result) -> str | list[Wire]:
        """What a tool gave: a string, which every server takes, where a string can say it."""
        pieces = [self._shown(piece) for piece in result.content]
        if result.is_error:
            pieces.insert(0, {"type": "input_text", "text": _FAILED if pieces else _FAILED_SILENTLY})
        if all(piece["type"] == "input_text" for piece in pieces):
            return "".join(piece["text"] for piece in pieces)
        return pieces

    def _shown(self, piece: ResultContent) -> Wire:
        if self._native or isinstance(piece, Text):
            return _input(piece)
        self._deferred.append(_input(piece))
        number = sum(shown["type"] != "input_text" for shown in self._deferred)
        return {"type": "input_text", "text": f"[{piece.kind} {number} of the next user message]"}

    def _message(self, role: str, content: list[Wire]) -> None:
        if content:
            self.items.append({"type": "message", "role": role, "content": content})


_WRITERS: Final[dict[TurnRole, Callable[[_Writer, Turn], None]]] = {
    TurnRole.SYSTEM: _Writer._system_turn,  # noqa: SLF001 - the table of the class
    TurnRole.USER: _Writer._user_turn,  # noqa: SLF001
    TurnRole.ASSISTANT: _Writer._assistant_turn,  # noqa: SLF001
    TurnRole.TOOL: _Writer._tool_turn,  # noqa: SLF001
}


def _input(piece: ResultContent) -> Wire:
    if isinstance(piece, Text):
        return _input_text(piece)
    return _ATTACHMENTS[piece.kind](piece)


def _input_text(piece: Text) -> Wire:
    return {"type": "input_text", "text": piece.value}


def _image(piece: Attachment) -> Wire:
    url = data_url(piece.data, piece.media_type)
    _check_size(url, _MAX_IMAGE_URL, piece)
    return {"type": "input_image", "image_url": url, "detail": "auto"}


def _file(piece: Attachment) -> Wire:
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
    try:
        arguments = dumps(dict(piece.input))
        if (b"NaN" in arguments or b"Infinity" in arguments) and not is_json(dict(piece.input)):
            raise ValueError("a number that JSON has not")  # noqa: TRY301 - the same refusal
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestNotExpressibleError(f"arguments ({error})", f"{piece.where}.input", "JSON values") from error
    return {
        "type": "function_call",
        "call_id": piece.call_id,
        "name": piece.name,
        "arguments": arguments.decode(),
        "status": "completed",
    }
