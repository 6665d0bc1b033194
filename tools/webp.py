"""Pictures of windows and pages as WebP, of 256 colours and without a further loss: letters stay sharp, and a picture
of a window with more colours looks the same and is a tenth to a quarter larger."""

from __future__ import annotations
from io import BytesIO
from typing import TYPE_CHECKING, Final

from PIL import Image

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["film_as_webp", "picture_as_webp"]

_COLOURS: Final = 256

_ENCODING: Final = {"lossless": True, "quality": 100, "method": 6}
"""The most effort that the encoder takes: pictures are made seldom and read often."""


def picture_as_webp(png: bytes) -> bytes:
    """A picture as WebP."""
    written = BytesIO()
    few = _opened(png).convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
    few.convert("RGB").save(written, "WEBP", **_ENCODING)
    return written.getvalue()


def film_as_webp(frames: Sequence[tuple[bytes, int]], *, plays: int) -> bytes:
    """Pictures of one size as a WebP that shows them one after the other, and stays at the last.

    Args:
        frames: Each picture as PNG, and for how many milliseconds it is shown.
        plays: How often they are shown; 0 is without end.
    """
    first, *others = (_opened(png) for png, _ in frames)
    written = BytesIO()
    first.save(
        written,
        "WEBP",
        save_all=True,
        append_images=others,
        duration=[milliseconds for _, milliseconds in frames],
        loop=plays,
        minimize_size=True,
        **_ENCODING,
    )
    return written.getvalue()


def _opened(png: bytes) -> Image.Image:
    return Image.open(BytesIO(png)).convert("RGB")
