"""The tokens of an image by its dimensions: the providers' formulas, in a table by family; reads no bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from partstream.tokens.counting.vocabularies import longest_match

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.tokens.counting.images import Dimensions

__all__ = ["IMAGE_COSTS", "ImageCost", "Patches", "PerImage", "ScaledTiles", "Tiles", "image_cost_of"]


class ImageCost(Protocol):
    """A provider's formula."""

    def tokens(self, image: Dimensions) -> int:
        """The tokens of an image of this size; at least 1."""
        ...


@dataclass(frozen=True, slots=True)
class ScaledTiles:
    """OpenAI's tiles of 512 pixels, for detail `high`, which `auto` selects for all but the smallest images.

    An image is scaled down to fit a square of 2,048 pixels, then until its short side has 768; a smaller image keeps
    its size.

    Attributes:
        base: The tokens of every image.
        tile: The tokens of each tile.
    """

    base: int
    tile: int

    def tokens(self, image: Dimensions) -> int:
        """The tokens of an image of this size; at least 1."""
        width, height = _fit(image, 2048)
        scale = min(1.0, 768 / min(width, height))
        return self.base + self.tile * _tiles(width * scale, 512) * _tiles(height * scale, 512)


@dataclass(frozen=True, slots=True)
class Patches:
    """Square patches that cover an image, which is scaled down until their number is within a limit.

    Attributes:
        side: The pixels of a patch's side.
        most: The most patches of an image.
        factor: The tokens of a patch.
        long_edge: The most pixels of the longer side, or None.
    """

    side: int
    most: int
    factor: float = 1.0
    long_edge: int | None = None

    def tokens(self, image: Dimensions) -> int:
        """The tokens of an image of this size; at least 1."""
        width, height = _fit(image, self.long_edge) if self.long_edge else image
        width, height = width / self.side, height / self.side
        patches = _tiles(width, 1) * _tiles(height, 1)
        if patches > self.most:
            # Scaled until the area matches the limit, then until one side is a whole number of patches.
            scale = math.sqrt(self.most / (width * height))
            scale *= min(math.floor(side * scale) / (side * scale) for side in (width, height) if side * scale >= 1)
            patches = min(self.most, _tiles(width * scale, 1) * _tiles(height * scale, 1))
        return math.ceil(patches * self.factor)


@dataclass(frozen=True, slots=True)
class Tiles:
    """Gemini's tiles: a small image is one tile; others are cut into squares of two thirds of the short side, within
    limits.

    Attributes:
        tile: The tokens of a tile.
        small: The most pixels of either side of a small image.
        least: The fewest pixels of a tile's side.
        most: The most pixels of a tile's side.
    """

    tile: int = 258
    small: int = 384
    least: int = 256
    most: int = 768

    def tokens(self, image: Dimensions) -> int:
        """The tokens of an image of this size; at least 1."""
        if max(image) <= self.small:
            return self.tile
        side = min(self.most, max(self.least, math.floor(min(image) / 1.5)))
        return self.tile * _tiles(image.width, side) * _tiles(image.height, side)


@dataclass(frozen=True, slots=True)
class PerImage:
    """The same number of tokens for every image.

    Attributes:
        each: The tokens of an image.
    """

    each: int

    def tokens(self, image: Dimensions) -> int:
        """The tokens of an image of this size; at least 1."""
        return self.each


def _fit(image: Dimensions, edge: int) -> tuple[float, float]:
    """The size of an image that is scaled down until its longer side has at most `edge` pixels."""
    scale = min(1.0, edge / max(image))
    return image.width * scale, image.height * scale


def _tiles(pixels: float, side: int) -> int:
    """The number of squares that cover a length; a tiny excess is a rounding error of scaling and adds no square."""
    return max(1, math.ceil(pixels / side - 1e-6))


_OPENAI: Final = ScaledTiles(85, 170)
_CLAUDE: Final = Patches(28, 1568, long_edge=1568)
_CLAUDE_LARGE: Final = Patches(28, 4784, long_edge=2576)

IMAGE_COSTS: Final[Mapping[str, ImageCost]] = {
    # OpenAI, guide "Images and vision", section "Calculating costs".
    "gpt-4": _OPENAI,
    "chatgpt-4o": _OPENAI,
    "gpt-4o-mini": ScaledTiles(2833, 5667),
    "gpt-4.1-mini": Patches(32, 1536, 1.62),
    "gpt-4.1-nano": Patches(32, 1536, 2.46),
    "gpt-5": ScaledTiles(70, 140),
    "o1": ScaledTiles(75, 150),
    "o3": ScaledTiles(75, 150),
    "o4-mini": Patches(32, 1536, 1.72),
    "codex-mini": Patches(32, 1536, 1.72),
    # The guide gives 1.62 and 2.46 for the small models, and no factors for the later ones; users have measured these
    # factors from reported usage (OpenAI's developer forum, topic 1377015, March 2026).
    "gpt-5-mini": Patches(32, 1536, 1.2),
    "gpt-5-nano": Patches(32, 1536, 1.5),
    "gpt-5.2": Patches(32, 1536, 1.2),
    "gpt-5.3": Patches(32, 1536, 1.2),
    "gpt-5.4": Patches(32, 2500, 1.2, long_edge=2048),
    "gpt-5.4-mini": Patches(32, 1536, 1.2),
    "gpt-5.4-nano": Patches(32, 1536, 1.2),
    # Anthropic, page "Vision": a visual token is 28 by 28 pixels. Older versions of the page: width * height / 750.
    # The long edge was 1,568 pixels until Opus 4.7.
    "claude": _CLAUDE,
    "claude-opus-4.7": _CLAUDE_LARGE,
    "claude-opus-4-7": _CLAUDE_LARGE,
    "claude-opus-4.8": _CLAUDE_LARGE,
    "claude-opus-4-8": _CLAUDE_LARGE,
    # Google, pages "Image understanding" and "Media resolution" (Gemini 3 goes by a budget, not by the size).
    "gemini": Tiles(),
    "gemini-3": PerImage(1120),
    # Qwen's model cards: a token is 28 by 28 pixels, at most 16,384 of them.
    "qwen": Patches(28, 16384),
}
"""The formulas by the beginning of the family; the longest match wins."""

_UNKNOWN: Final = _OPENAI
"""The formula for other families: the one that Copilot uses for every model."""


def image_cost_of(family: str) -> ImageCost:
    """The formula of a family."""
    return longest_match(family, IMAGE_COSTS) or _UNKNOWN
