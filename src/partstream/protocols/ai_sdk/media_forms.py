"""How each version of the AI SDK writes images and files: one row for each version.

Source: the types of the published packages: `ModelMessage` of `@ai-sdk/provider-utils` 3.0.41, 4.0.64 and 5.0.81,
`LanguageModelV2Prompt`, `V3` and `V4` of `@ai-sdk/provider` 2.0.5, 3.0.19 and 4.0.38.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.conversation.media import MediaKind, file_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.conversation.turns import Attachment

__all__ = ["MESSAGE_FORMS", "PROMPT_FORMS", "MediaForms", "Wire"]

Wire: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class MediaForms:
    """How one version writes an image or a file.

    Attributes:
        asked: In a message of the user.
        said: In a message of the assistant.
        given: In the result of a tool.
    """

    asked: Callable[[Attachment], Wire]
    said: Callable[[Attachment], Wire]
    given: Callable[[Attachment], Wire]


def _content(piece: Attachment) -> str:
    """The bytes in base64, or the address: every version takes both in the same place."""
    return piece.url or b64encode(piece.data).decode()


def _tagged(piece: Attachment) -> Wire:
    return {"type": "url", "url": piece.url} if piece.url else {"type": "data", "data": _content(piece)}


def _named(piece: Attachment) -> Wire:
    """The name of a file: providers tell its format by the ending. Images need none."""
    return {} if piece.kind is MediaKind.IMAGE or piece.url else {"filename": file_name(piece.media_type)}


def _file(piece: Attachment) -> Wire:
    return {"type": "file", "mediaType": piece.media_type, "data": _content(piece), **_named(piece)}


def _tagged_file(piece: Attachment) -> Wire:
    return {"type": "file", "mediaType": piece.media_type, "data": _tagged(piece), **_named(piece)}


def _image_or_file(piece: Attachment) -> Wire:
    if piece.kind is MediaKind.IMAGE:
        return {"type": "image", "image": _content(piece), "mediaType": piece.media_type}
    return _file(piece)


def _media(piece: Attachment) -> Wire:
    if piece.url:  # has a place for bytes only
        return {"type": "text", "text": piece.url}
    return {"type": "media", "data": _content(piece), "mediaType": piece.media_type}


def _image_data_or_file_data(piece: Attachment) -> Wire:
    what = "image" if piece.kind is MediaKind.IMAGE else "file"
    if piece.url:
        # Without its media type, the SDK fetches a file itself before it hands it to the provider.
        said = {} if piece.kind is MediaKind.IMAGE else {"mediaType": piece.media_type}
        return {"type": f"{what}-url", "url": piece.url, **said}
    return {"type": f"{what}-data", "data": _content(piece), "mediaType": piece.media_type, **_named(piece)}


PROMPT_FORMS: Final[Mapping[int, MediaForms]] = {
    2: MediaForms(_file, _file, _media),
    3: MediaForms(_file, _file, _image_data_or_file_data),
    4: MediaForms(_tagged_file, _tagged_file, _tagged_file),
}
"""By the version of the language model specification. A prompt has no image part: an image is a file."""

MESSAGE_FORMS: Final[Mapping[int, MediaForms]] = {
    5: MediaForms(_image_or_file, _file, _media),
    6: MediaForms(_image_or_file, _file, _image_data_or_file_data),
    7: MediaForms(_tagged_file, _tagged_file, _tagged_file),
}
"""By the major version of the package `ai`. Version 7 rewrites `image` to `file` and calls it deprecated; versions 6
and 7 have no `media`, which 7 would pass on as it is."""
