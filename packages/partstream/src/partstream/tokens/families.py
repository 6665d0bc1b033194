"""What is known of a model family: tables by the beginning of its name; knows no way of counting.

The longest matching beginning wins. The tables hold the vocabularies, the overheads around messages and tools, the
providers' formulas for images, and the tokens of other files. A family without a row is estimated with one of today's
large vocabularies; calibration learns the difference, because an unpublished ratio would be invented.

The size of an image is read from its header, without decoding pixels; sources: the PNG specification (third edition,
11.2.1), JPEG (ITU-T T.81, B.2), GIF89a (18), and the WebP container specification (RFC 9649, 2.5 to 2.7). The tokens of
a file that is neither text nor an image follow from its pages or its size. No such estimate is exact until the upstream
has read the file; the upstream's report then replaces it.
"""

from __future__ import annotations
import math
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Literal, NamedTuple, Protocol, TypeVar

from partstream.codec.checks import dataclass

Value = TypeVar("Value")


class Vocabulary(StrEnum):
    """A vocabulary of tokens, by its name in tiktoken."""

    O200K = "o200k_base"
    CL100K = "cl100k_base"


VOCABULARIES: Final[Mapping[str, Vocabulary]] = {
    "gpt-3.5": Vocabulary.CL100K,
    "gpt-35": Vocabulary.CL100K,  # Azure's deployments
    "gpt-4": Vocabulary.CL100K,
    "gpt-4o": Vocabulary.O200K,
    "gpt-4.1": Vocabulary.O200K,
    "gpt-4.5": Vocabulary.O200K,
    "gpt-5": Vocabulary.O200K,
    "gpt-oss": Vocabulary.O200K,  # o200k_harmony: the same merges, with more special tokens
    "chatgpt-4o": Vocabulary.O200K,
    "codex": Vocabulary.O200K,
    "o1": Vocabulary.O200K,
    "o3": Vocabulary.O200K,
    "o4": Vocabulary.O200K,
    "text-embedding-3": Vocabulary.CL100K,
    "text-embedding-ada-002": Vocabulary.CL100K,
}
"""Published vocabularies by beginning of family: `MODEL_TO_ENCODING` and `MODEL_PREFIX_TO_ENCODING`, tiktoken 0.14.

Claude, Gemini and Grok publish no vocabulary; no package that counts offline has those of Llama, Qwen, DeepSeek and
Mistral. They are estimated as o200k, and calibration learns the ratio from the upstream's reports.
"""

_UNKNOWN: Final = Vocabulary.O200K
"""The vocabulary for estimates of a family without a row; today's vocabularies have more than 100,000 tokens each."""


def normal_family(family: str) -> str:
    """A family as in the tables: in lower case, without a creator (`openai/gpt-4o`)."""
    return family.rpartition("/")[2].strip().lower()


def longest_match(family: str, rows: Mapping[str, Value]) -> Value | None:
    """The value of the longest key with which `family` begins, or None."""
    name = normal_family(family)
    fitting = [beginning for beginning in rows if name.startswith(beginning)]
    return rows[max(fitting, key=len)] if fitting else None


def exact_vocabulary(family: str) -> Vocabulary | None:
    """The published vocabulary of a family, or None."""
    return longest_match(family, VOCABULARIES)


def vocabulary_of(family: str) -> Vocabulary:
    """The vocabulary for estimates of a family."""
    return exact_vocabulary(family) or _UNKNOWN


@dataclass(frozen=True, slots=True)
class Overheads:
    """Tokens beside the texts.

    Attributes:
        message: Tokens around each message.
        request: Tokens once per request, which open the answer.
        tools: Tokens once per request with tools.
        tool: Tokens around each tool.
    """

    message: int = 3
    request: int = 3
    tools: int = 16
    tool: int = 8


_COPILOT: Final = Overheads()
"""The numbers of Copilot's tokenizer (`BaseTokensPerMessage`, `BaseTokensPerCompletion`, `countToolTokens`), without
its margin of 1.1: a margin belongs to a decision. For messages and the answer, these are also the numbers of OpenAI's
cookbook, "How to count tokens with tiktoken"."""

OVERHEADS: Final[Mapping[str, Overheads]] = {
    # Tokens of the system prompt that comes with tools: Anthropic's pages "Tool use pricing" and "Pricing", for the
    # tool choice `auto`.
    "claude-3-opus": Overheads(tools=530),
    "claude-3-sonnet": Overheads(tools=159),
    "claude-3-haiku": Overheads(tools=264),
    "claude": Overheads(tools=346),
}
"""The families with published overheads; all others have Copilot's."""


def overheads_of(family: str) -> Overheads:
    """The overheads of a family."""
    return longest_match(family, OVERHEADS) or _COPILOT


class CountSource(StrEnum):
    """The source of a number of tokens, most certain first."""

    REPORTED = "reported"
    """The upstream reported the number for this very thing."""
    COUNTED = "counted"
    """A tokenizer of the model's vocabulary, or the upstream's counting endpoint, counted the tokens."""
    ESTIMATED = "estimated"
    """The number is an estimate."""


@dataclass(frozen=True, slots=True)
class TokenCount:
    """A number of tokens.

    Attributes:
        tokens: The number of tokens; never negative, and without a margin.
        source: The source of the number; for a sum, the least certain source of its terms.

    Example:
        >>> from partstream import CountSource, TokenCount
        >>> TokenCount(3, CountSource.ESTIMATED).tokens
        3
    """

    tokens: int
    source: CountSource

    def __add__(self, other: TokenCount) -> TokenCount:
        return TokenCount(self.tokens + other.tokens, max(self.source, other.source, key=_SURENESS.index))


_SURENESS: Final = tuple(CountSource)

NO_TOKENS: Final = TokenCount(0, CountSource.REPORTED)
"""The empty sum; adding it does not make another number less certain."""


# ---- Images, by their dimensions ----


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
        least: The fewest pixels of a tile's side; `most` the most.
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
    """The same number of tokens for every image."""

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
    # Google, pages "Image understanding" and "Media resolution" (Gemini 3 has a budget per image, whatever its size).
    "gemini": Tiles(),
    "gemini-3": PerImage(1120),
    # Qwen's model cards: a token is 28 by 28 pixels, at most 16,384 of them.
    "qwen": Patches(28, 16384),
}
"""The formulas by the beginning of the family."""

_IMAGE_COSTS_UNKNOWN: Final = _OPENAI
"""The formula for other families: the one that Copilot uses for every model."""


def image_cost_of(family: str) -> ImageCost:
    """The formula of a family."""
    return longest_match(family, IMAGE_COSTS) or _IMAGE_COSTS_UNKNOWN


# ---- Other files ----

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
    """The tokens of a file, by its size; `most` tokens for the largest file."""

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
    fitting = [beginning for beginning in _SIZES if media_type.startswith(beginning)]
    row = _SIZES[max(fitting, key=len)] if fitting else _OTHERS
    return max(1, min(row.most, math.ceil(len(data) / row.bytes_per_token)))


# ---- The dimensions in the header of an image ----


class Dimensions(NamedTuple):
    """The size of an image in pixels; both are greater than zero."""

    width: int
    height: int


def read_dimensions(data: bytes) -> Dimensions | None:
    """The size of a PNG, JPEG, GIF or WebP image; None for a damaged or cut header, or another format."""
    found: Dimensions | None = None
    if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR":
        found = Dimensions(_number(data, 16, 4), _number(data, 20, 4))
    elif data.startswith(b"\xff\xd8"):
        found = _jpeg(data)
    elif data.startswith((b"GIF87a", b"GIF89a")):
        found = Dimensions(_number(data, 6, 2, "little"), _number(data, 8, 2, "little"))
    elif data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        found = _webp(data)
    return found if found is not None and found.width > 0 and found.height > 0 else None


def _number(data: bytes, start: int, length: int, order: Literal["big", "little"] = "big") -> int:
    """A number; 0 if the data ends before the number does."""
    field = data[start : start + length]
    return int.from_bytes(field, order) if len(field) == length else 0


_STANDALONE: Final = frozenset({0x01, *range(0xD0, 0xD9)})
"""JPEG markers without a length: TEM, RSTn, SOI."""

_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG markers that start a frame (SOFn), which holds the size: the whole range except DHT, JPG and DAC."""

_SCAN_ENDS: Final = frozenset({0xD9, 0xDA})
"""EOI and SOS: the pixels start, and no frame came before them."""


def _jpeg(data: bytes) -> Dimensions | None:
    place = 2
    while place + 1 < len(data):
        if data[place] != 0xFF:
            return None
        marker = data[place + 1]
        if marker == 0xFF:  # fill bytes may precede a marker
            place += 1
        elif marker in _STANDALONE:
            place += 2
        elif marker in _FRAMES:
            return Dimensions(_number(data, place + 7, 2), _number(data, place + 5, 2))
        elif marker in _SCAN_ENDS:
            return None
        else:
            length = _number(data, place + 2, 2)
            if length < 2:
                return None
            place += 2 + length
    return None


def _webp(data: bytes) -> Dimensions | None:
    form = data[12:16]
    if form == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":  # lossy, with the start code of a key frame
        return Dimensions(_number(data, 26, 2, "little") & 0x3FFF, _number(data, 28, 2, "little") & 0x3FFF)
    if form == b"VP8L" and data[20:21] == b"\x2f" and len(data) >= 25:  # lossless
        bits = _number(data, 21, 4, "little")
        return Dimensions((bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1)
    if form == b"VP8X" and len(data) >= 30:  # extended
        return Dimensions(_number(data, 24, 3, "little") + 1, _number(data, 27, 3, "little") + 1)
    return None
