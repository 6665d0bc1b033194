"""Makes data parts of images, which the last chunk often repeats (docs/wires/chat-completions.md#images)."""

from __future__ import annotations

import hashlib
from base64 import b64decode
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote_to_bytes

from partstream.conversation.media import sniff
from partstream.media_types import bare_media_type
from partstream.outputs import Unmapped
from partstream.parts import DataPart, unchecked_part
from partstream.protocols.citations import linked_file
from partstream.protocols.read_response import Wire, identifier, mapping

if TYPE_CHECKING:
    from partstream.outputs import FileMode, StreamOutput

__all__ = ["Images"]

_UNKNOWN: Final = "application/octet-stream"


class Images:
    """The images of one answer.

    Args:
        mode: What becomes of an image of which only the address comes.

    Attributes:
        any_shown: Whether there was one.
    """

    __slots__ = ("_mode", "_seen", "any_shown")

    def __init__(self, mode: FileMode) -> None:
        self._mode = mode
        self._seen: set[bytes] = set()
        self.any_shown = False

    def show(self, part: Wire, outputs: list[StreamOutput]) -> None:
        """Emits an image, the first time that it comes.

        Args:
            part: `{"type": "image_url", "image_url": {"url"}}`, or the URL itself in place of the object.
            outputs: Where it goes.
        """
        url = identifier(mapping(part, "image_url"), "url") or identifier(part, "image_url") or identifier(part, "url")
        key = hashlib.sha256((url or "").encode(errors="surrogatepass")).digest()
        if key in self._seen:
            return
        self._seen.add(key)
        made = None if url is None else _part(url, self._mode)
        self.any_shown = self.any_shown or made is not None
        outputs.append(made if made is not None else Unmapped("image (not readable)", part))


def _part(url: str, mode: FileMode) -> Any:
    if url[:5].lower() != "data:":
        return linked_file(url, mode) if url.lower().startswith(("http://", "https://")) else None
    head, _, said = url[5:].partition(",")
    try:
        data = b64decode(said) if head.lower().endswith(";base64") else unquote_to_bytes(said)
    except ValueError:
        return None
    if not data:
        return None
    return unchecked_part(DataPart, data, sniff(data) or bare_media_type(head) or _UNKNOWN)
