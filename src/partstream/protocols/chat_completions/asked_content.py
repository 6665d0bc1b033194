"""Reads the content of messages: text, images, audio and files.

Source: the content parts of `openai` 3.54.0 (`types/chat/chat_completion_content_part_*_param.py`); what other clients
send beside them is named where it is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.conversation.media import file_name
from partstream.errors import InvalidRequestError
from partstream.parts import TextPart, ThinkingPart
from partstream.protocols.read_request import (
    checked,
    described,
    optional_text,
    read_address,
    read_bytes,
    read_parts,
    required_text,
    said,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.parts import DataPart, ToolResultContent
    from partstream.protocols.read_request import Counts

__all__ = ["read_content", "read_spoken"]


def read_content(value: object, where: str, counts: Counts) -> tuple[ToolResultContent, ...]:
    """The parts of a content field; a string is one text, and an empty text gives no part.

    Raises:
        InvalidRequestError: A part has the wrong form.
    """
    return read_parts(value, where, counts, _READERS)


def read_spoken(value: object, where: str, counts: Counts) -> tuple[ToolResultContent | ThinkingPart, ...]:
    """The same for the content of an assistant, which may be nothing and may hold thinking.

    Raises:
        InvalidRequestError: A part has the wrong form.
    """
    return () if value is None else read_parts(value, where, counts, _OF_ASSISTANT)


def _text(part: Mapping[str, Any], where: str, counts: Counts) -> TextPart | None:
    return said(part, "text", where)


def _refusal(part: Mapping[str, Any], where: str, counts: Counts) -> TextPart | None:
    return said(part, "refusal", where)


def _image(part: Mapping[str, Any], where: str, counts: Counts) -> DataPart:
    # Mistral's own clients send the address as a plain string (docs/wires/chat-completions.md#attachments).
    image = part.get("image_url")
    if isinstance(image, dict) and image.get("detail") not in {None, "auto"}:
        counts.add("content[].image_url.detail")
    return _at_address(part, "image_url", where)


def _video(part: Mapping[str, Any], where: str, counts: Counts) -> DataPart:
    return _at_address(part, "video_url", where)


def _document(part: Mapping[str, Any], where: str, counts: Counts) -> DataPart:
    return _at_address(part, "document_url", where)


def _at_address(part: Mapping[str, Any], name: str, where: str) -> DataPart:
    value = part.get(name)
    if isinstance(value, dict):
        return read_address(required_text(value, "url", f"{where}.{name}"), f"{where}.{name}.url")
    if not isinstance(value, str) or not value:
        raise InvalidRequestError(f"{where}.{name}", described(value), "an object with a url")
    return read_address(value, f"{where}.{name}")


def _audio(part: Mapping[str, Any], where: str, counts: Counts) -> DataPart:
    audio = _required_object(part, "input_audio", where)
    at = f"{where}.input_audio"
    kind = optional_text(audio, "format", at)
    data = required_text(audio, "data", at)  # Qwen's is a data URL (docs/wires/chat-completions.md#attachments)
    return read_bytes(data, f"{at}.data", f"audio/{_AUDIO.get(kind, kind)}" if kind else "")


_AUDIO: Final = {"mp3": "mpeg"}
"""The media types of formats that are called otherwise."""


def _file(part: Mapping[str, Any], where: str, counts: Counts) -> DataPart | None:
    file = _required_object(part, "file", where)
    at = f"{where}.file"
    data, name = optional_text(file, "file_data", at), optional_text(file, "filename", at)
    if not data:
        counts.add("content[].file (without file_data)")  # OpenAI's `file_id`
        return None
    # OpenRouter's clients put addresses into the same field (docs/wires/chat-completions.md#attachments).
    if data.startswith(("https://", "http://")):
        return read_address(data, f"{at}.file_data")
    read = read_bytes(data, f"{at}.file_data")
    if name and name != file_name(read.mime_type):
        counts.add("content[].file.filename")
    return read


def _required_object(part: Mapping[str, Any], name: str, where: str) -> dict[str, Any]:
    value: dict[str, Any] | None = checked(part, name, dict, "an object", where)
    if value is None:
        raise InvalidRequestError(f"{where}.{name}", "nothing", "an object")
    return value


def _thinking(part: Mapping[str, Any], where: str, counts: Counts) -> ThinkingPart | None:
    """Thinking as Mistral's assistants have it: text parts, or one string."""
    shown = read_content(part.get("thinking"), f"{where}.thinking", counts)
    text = "".join(one.value for one in shown if isinstance(one, TextPart))
    return ThinkingPart(text) if text else None


_Reader: TypeAlias = "Callable[[Mapping[str, Any], str, Counts], ToolResultContent | None]"
_READERS: Final[dict[str, _Reader]] = {
    "text": _text,
    "refusal": _refusal,
    "image_url": _image,
    "input_audio": _audio,
    "file": _file,
    "video_url": _video,
    "document_url": _document,
}
_OF_ASSISTANT: Final = {**_READERS, "thinking": _thinking}
