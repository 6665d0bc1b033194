"""Estimates the tokens of a file that is neither text nor an image, by its pages or its size: a table.

No estimate is exact until the upstream has read the file; the upstream's report then replaces it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from partstream.tokens.counting.vocabularies import longest_match

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PAGE_TOKENS", "estimate_file_tokens"]

PAGE_TOKENS: Final[Mapping[str, int]] = {
    # Google, page "Document understanding": 258 tokens per page; "Media resolution": 560 for Gemini 3.
    "gemini": 258,
    "gemini-3": 560,
    # Anthropic, page "PDF support": 1,500 to 3,000 tokens of text per page, plus the page as an image.
    "claude": 3800,
}
"""The tokens of a page of a PDF document, by family."""

_PAGE: Final = 1500
"""The tokens of a page for other providers: the lower end of Anthropic's range for the text alone."""

_PAGE_OBJECT: Final = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")
"""The beginning of a page in a PDF document with uncompressed objects (ISO 32000-1, 7.7.3.3)."""

_PAGE_BYTES: Final = 50_000
"""The bytes of a page in a document whose pages cannot be counted; an assumption of this project."""


@dataclass(frozen=True, slots=True)
class _BySize:
    """The tokens of a file, by its size.

    Attributes:
        bytes_per_token: The number of bytes per token.
        most: The most tokens of such a file, whatever its size.
    """

    bytes_per_token: float
    most: int = 200_000


_SIZES: Final[Mapping[str, _BySize]] = {
    # OpenAI, guide "Audio": a token is 100 ms of the user's voice, 4,800 bytes of a WAV file of 24 kHz and 16 bits.
    "audio/wav": _BySize(4800),
    # 100 ms of compressed audio of 128 kbit/s.
    "audio/": _BySize(1600),
    # Google, page "Video understanding": 300 tokens per second; for video of 2 Mbit/s.
    "video/": _BySize(833),
}
"""The rows by the beginning of the media type."""

_OTHERS: Final = _BySize(16)
"""Compressed documents: about four bytes of text are a token, and compression makes text about four times smaller."""


def estimate_file_tokens(family: str, media_type: str, data: bytes) -> int:
    """The estimated tokens of a file; at least 1."""
    if media_type == "application/pdf":
        pages = len(_PAGE_OBJECT.findall(data)) or math.ceil(len(data) / _PAGE_BYTES) or 1
        return pages * (longest_match(family, PAGE_TOKENS) or _PAGE)
    row = _by_size(media_type)
    return max(1, min(row.most, math.ceil(len(data) / row.bytes_per_token)))


def _by_size(media_type: str) -> _BySize:
    fitting = [beginning for beginning in _SIZES if media_type.startswith(beginning)]
    return _SIZES[max(fitting, key=len)] if fitting else _OTHERS
