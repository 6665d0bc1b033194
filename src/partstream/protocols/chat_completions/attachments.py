"""The forms in which servers take images, sound, video and files (docs/wires/chat-completions.md#attachments)."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

from partstream.conversation.media import MediaKind, data_url, file_name
from partstream.errors import RequestNotExpressibleError

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.conversation.turns import Attachment

__all__ = [
    "AttachmentForms",
    "Wire",
    "audio_address",
    "audio_bytes",
    "document_address",
    "file_bytes",
    "file_or_address",
    "image_address",
    "image_bytes",
    "image_text",
    "video_address",
]

Wire: TypeAlias = dict[str, Any]
"""A JSON object of the wire."""

_AUDIO_FORMATS: Final = {"audio/wav": "wav", "audio/mpeg": "mp3"}
"""OpenAI's words for the formats of sound that it takes."""


def image_address(piece: Attachment) -> Wire:
    """An image as OpenAI takes it: the address, or the bytes as one. `detail` is unknown to many servers."""
    return {"type": "image_url", "image_url": {"url": _address(piece)}}


def image_text(piece: Attachment) -> Wire:
    """The same without an object around the address, as Mistral documents it."""
    return {"type": "image_url", "image_url": _address(piece)}


def image_bytes(piece: Attachment) -> Wire:
    """An image for a server that fetches none."""
    _check_bytes(piece)
    return image_address(piece)


def audio_bytes(piece: Attachment) -> Wire:
    """Sound as OpenAI takes it."""
    _check_bytes(piece)
    data = b64encode(piece.data).decode()
    return {"type": "input_audio", "input_audio": {"data": data, "format": _AUDIO_FORMATS[piece.media_type]}}


def audio_address(piece: Attachment) -> Wire:
    """The same with the bytes as an address, as Qwen wants them."""
    return {"type": "input_audio", "input_audio": {"data": _address(piece), "format": _AUDIO_FORMATS[piece.media_type]}}


def video_address(piece: Attachment) -> Wire:
    """A video as OpenRouter and Qwen take it."""
    return {"type": "video_url", "video_url": {"url": _address(piece)}}


def file_bytes(piece: Attachment) -> Wire:
    """A file as OpenAI takes it; it has no field for an address."""
    _check_bytes(piece)
    return file_or_address(piece)


def file_or_address(piece: Attachment) -> Wire:
    """The same at a server that fetches files, as OpenRouter does."""
    return {"type": "file", "file": {"filename": file_name(piece.media_type), "file_data": _address(piece)}}


def document_address(piece: Attachment) -> Wire:
    """A file as Mistral takes it."""
    return {"type": "document_url", "document_url": _address(piece)}


@dataclass(frozen=True, slots=True)
class AttachmentForms:
    """How a server takes images and files; None for what it does not take.

    Attributes:
        image: The form of images.
        audio: The form of sound in a format that servers know; sound in others is a file.
        video: The form of videos; None where they are files like others.
        file: The form of all other files.
    """

    image: Callable[[Attachment], Wire] | None = image_address
    audio: Callable[[Attachment], Wire] | None = audio_bytes
    video: Callable[[Attachment], Wire] | None = None
    file: Callable[[Attachment], Wire] | None = file_bytes

    def takes(self, piece: Attachment) -> bool:
        """Whether the server takes it in any form."""
        return self._form(piece) is not None

    def write(self, piece: Attachment) -> Wire:
        """The part of the content that it becomes.

        Raises:
            RequestNotExpressibleError: The server does not take it.
        """
        form = self._form(piece)
        if form is None:
            _refuse(piece, "text or images" if self.image is not None else "text")
        return form(piece)

    def _form(self, piece: Attachment) -> Callable[[Attachment], Wire] | None:
        if piece.kind is MediaKind.IMAGE:
            return self.image
        if piece.media_type in _AUDIO_FORMATS and self.audio is not None:
            return self.audio
        if piece.media_type.startswith("video/") and self.video is not None:
            return self.video
        return self.file


def _address(piece: Attachment) -> str:
    return piece.url or data_url(piece.data, piece.media_type)


def _check_bytes(piece: Attachment) -> None:
    if piece.url:
        _refuse(piece, "the file itself: this server fetches none")


def _refuse(piece: Attachment, expected: str) -> NoReturn:
    got = f"the address of {piece.media_type}" if piece.url else f"{len(piece.data):,} bytes of {piece.media_type}"
    raise RequestNotExpressibleError(got, piece.where, expected)
