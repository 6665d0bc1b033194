"""The tokens of files: what they are expected to be, and what they are at most.

Expected: the tokens of an image follow from the formula of its provider and the size in its header, which is read
without decoding pixels (the PNG specification, third edition, 11.2.1; JPEG, ITU-T T.81, B.2; GIF89a, 18; the WebP
container specification, RFC 9649, 2.5 to 2.7). Those of another file follow from its pages or its bytes. No estimate is
exact until the upstream has read the file; the upstream's report then replaces it.

At most: :data:`_BOUNDS` is the one table of it. A bound counts what a file can hold, whatever its labels say: the pages
by the tree of a document with its own `/Count` beside it, the text that its pages show, the seconds of sound by the
lowest rate of its container, the frames of an image. Where a file hides that (it is encrypted, packed in a way that is
not read here, or at an address), the bound is what the provider takes at most, and no file exceeds the largest
context window. A bound reads a whole file: large ones belong into a thread.
"""

from __future__ import annotations
import math
import re
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from io import BytesIO
from typing import Final, Literal, NamedTuple, TypeAlias

from partstream.codec.text import late_pattern
from partstream.tokens.families import longest_match

# ---- Images, by their dimensions ----

ImageCost: TypeAlias = "Callable[[Dimensions], int]"
"""A provider's formula: the tokens of an image of a size; at least 1."""


def _scaled_tiles(image: Dimensions, base: int, tile: int) -> int:
    """OpenAI's tiles of 512 pixels, for detail `high`, which `auto` selects for all but the smallest images: `base`
    tokens for every image, and `tile` for each tile.

    An image is scaled down to fit a square of 2,048 pixels, then until its short side has 768; a smaller image keeps
    its size.
    """
    width, height = _fit(image, 2048)
    scale = min(1.0, 768 / min(width, height))
    return base + tile * _tiles(width * scale, 512) * _tiles(height * scale, 512)


def _patches(image: Dimensions, side: int, most: int, factor: float = 1.0, long_edge: int | None = None) -> int:
    """Square patches of `side` pixels, each of `factor` tokens, that cover an image. It is scaled down until they are
    at most so many, and its longer side has at most `long_edge` pixels."""
    width, height = _fit(image, long_edge) if long_edge else image
    width, height = width / side, height / side
    patches = _tiles(width, 1) * _tiles(height, 1)
    if patches > most:
        # Scaled until the area matches the limit, then until one side is a whole number of patches.
        scale = math.sqrt(most / (width * height))
        scale *= min(math.floor(side * scale) / (side * scale) for side in (width, height) if side * scale >= 1)
        patches = min(most, _tiles(width * scale, 1) * _tiles(height * scale, 1))
    return math.ceil(patches * factor)


def _gemini_tiles(image: Dimensions) -> int:
    """Gemini's tiles of 258 tokens: a small image is one tile; others are cut into squares of two thirds of the short
    side, within limits."""
    if max(image) <= 384:
        return 258
    side = min(768, max(256, math.floor(min(image) / 1.5)))
    return 258 * _tiles(image.width, side) * _tiles(image.height, side)


def _fit(image: Dimensions, edge: int) -> tuple[float, float]:
    """The size of an image that is scaled down until its longer side has at most `edge` pixels."""
    scale = min(1.0, edge / max(image))
    return image.width * scale, image.height * scale


def _tiles(pixels: float, side: int) -> int:
    """The number of squares that cover a length; a tiny excess is a rounding error of scaling and adds no square."""
    return max(1, math.ceil(pixels / side - 1e-6))


_OPENAI: Final = partial(_scaled_tiles, base=85, tile=170)
_CLAUDE: Final = partial(_patches, side=28, most=1568, long_edge=1568)
_CLAUDE_LARGE: Final = partial(_patches, side=28, most=4784, long_edge=2576)

IMAGE_COSTS: Final[Mapping[str, ImageCost]] = {
    # OpenAI, guide "Images and vision", section "Calculating costs".
    "gpt-4": _OPENAI,
    "chatgpt-4o": _OPENAI,
    "gpt-4o-mini": partial(_scaled_tiles, base=2833, tile=5667),
    "gpt-4.1-mini": partial(_patches, side=32, most=1536, factor=1.62),
    "gpt-4.1-nano": partial(_patches, side=32, most=1536, factor=2.46),
    "gpt-5": partial(_scaled_tiles, base=70, tile=140),
    "o1": partial(_scaled_tiles, base=75, tile=150),
    "o3": partial(_scaled_tiles, base=75, tile=150),
    "o4-mini": partial(_patches, side=32, most=1536, factor=1.72),
    "codex-mini": partial(_patches, side=32, most=1536, factor=1.72),
    # The guide gives 1.62 and 2.46 for the small models, and no factors for the later ones; users have measured these
    # factors from reported usage (OpenAI's developer forum, topic 1377015, March 2026).
    "gpt-5-mini": partial(_patches, side=32, most=1536, factor=1.2),
    "gpt-5-nano": partial(_patches, side=32, most=1536, factor=1.5),
    "gpt-5.2": partial(_patches, side=32, most=1536, factor=1.2),
    "gpt-5.3": partial(_patches, side=32, most=1536, factor=1.2),
    "gpt-5.4": partial(_patches, side=32, most=2500, factor=1.2, long_edge=2048),
    "gpt-5.4-mini": partial(_patches, side=32, most=1536, factor=1.2),
    "gpt-5.4-nano": partial(_patches, side=32, most=1536, factor=1.2),
    # Anthropic, page "Vision": a visual token is 28 by 28 pixels. Older versions of the page: width * height / 750.
    # The long edge was 1,568 pixels until Opus 4.7.
    "claude": _CLAUDE,
    "claude-opus-4.7": _CLAUDE_LARGE,
    "claude-opus-4-7": _CLAUDE_LARGE,
    "claude-opus-4.8": _CLAUDE_LARGE,
    "claude-opus-4-8": _CLAUDE_LARGE,
    # Google, pages "Image understanding" and "Media resolution" (Gemini 3 has a budget per image, whatever its size).
    "gemini": _gemini_tiles,
    "gemini-3": lambda _: 1120,
    # Qwen's model cards: a token is 28 by 28 pixels, at most 16,384 of them.
    "qwen": partial(_patches, side=28, most=16384),
}


def image_cost_of(family: str) -> ImageCost:
    """The formula of a family; of others the one that Copilot uses for every model."""
    return longest_match(family, IMAGE_COSTS) or _OPENAI


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

_PAGE_OBJECT: Final = late_pattern(rb"/Type\s*/Page(?![a-zA-Z])")
"""The beginning of a page in a document whose tree is damaged (ISO 32000-1, 7.7.3.3)."""

_PAGE_BYTES: Final = 50_000
"""The bytes of a page in a document whose pages cannot be counted; an assumption of this project."""


_SIZES: Final[Mapping[str, int]] = {
    # OpenAI, guide "Audio": a token is 100 ms of the user's voice, 4,800 bytes of a WAV file of 24 kHz and 16 bits.
    "audio/wav": 4800,
    # 100 ms of compressed audio of 128 kbit/s.
    "audio/": 1600,
    # Google, page "Video understanding": 300 tokens per second; for video of 2 Mbit/s.
    "video/": 833,
}

"""The bytes of a token, by the beginning of the media type."""

_LARGEST_FILE: Final = 200_000
"""The tokens of the largest file."""
_OTHERS: Final = 16
"""Compressed documents: about four bytes of text are a token, and compression makes text about four times smaller."""


def estimate_file_tokens(family: str, media_type: str, data: bytes) -> int:
    """The estimated tokens of a file; at least 1."""
    if media_type == "application/pdf":
        objects = (len(_PAGE_OBJECT.findall(data, one, one + _PIECE)) for one in range(0, len(data), _PIECE))
        pages = pages_of(data) or sum(objects) or math.ceil(len(data) / _PAGE_BYTES) or 1
        return pages * (longest_match(family, PAGE_TOKENS) or _PAGE)
    fitting = [beginning for beginning in _SIZES if media_type.startswith(beginning)]
    size = _SIZES[max(fitting, key=len)] if fitting else _OTHERS
    return max(1, min(_LARGEST_FILE, math.ceil(len(data) / size)))


# ---- What a file takes at most ----

MOST_INPUT: Final[Mapping[str, int]] = {"claude": 1_000_000, "gpt": 1_050_000, "gemini": 1_048_576, "o": 200_000}
"""The largest context window of a family: a request that exceeds it is refused, and costs nothing."""
_MOST_INPUT: Final = 2_097_152
_MOST_PAGES: Final[Mapping[str, int]] = {"claude": 600, "gemini": 3000}
"""The most pages of a document: Anthropic, page "PDF support"; Google, page "Document understanding" of Vertex AI."""
_PAGE_TEXT: Final = 3000
"""The most tokens of the text of a page: Anthropic, page "PDF support". Letters that pages show count beside it."""
_SECOND: Final = 32
"""The tokens of a second of sound: Google, page "Audio understanding"; OpenAI counts 10."""
_MOST_SECONDS: Final = 34_200
"""The longest sound of a request, 9.5 hours: Google, page "Audio understanding"."""
_FACTOR: Final = 2
"""By how much an image may exceed its formula: providers have finer levels of detail than the usual one."""
_LARGEST: Final = Dimensions(3072, 384)
"""The image that takes most tiles at Gemini, which scales down what is larger than 3,072 pixels."""

_PAGE_IMAGE: Final = Dimensions(1536, 2048)
"""The image of a page, as large as any provider makes it."""


class FileBound(NamedTuple):
    """The most tokens of a file, and why as many: a phrase."""

    tokens: int
    why: str


def most_input(family: str) -> int:
    """The most tokens that any model of a family takes."""
    return longest_match(family, MOST_INPUT) or _MOST_INPUT


def file_bound(family: str, media_type: str, data: bytes | None) -> FileBound:
    """The most tokens of a file that is no text.

    Args:
        media_type: What its first bytes say it is, else its label.
        data: Its bytes; None for a file at an address.
    """
    whole = most_input(family)
    bound = next(found for beginning, found in _BOUNDS if media_type.startswith(beginning))
    tokens, why = bound(family, media_type, data)
    return FileBound(min(tokens, whole), why)


def _of_image(family: str, _media_type: str, data: bytes | None) -> FileBound:
    found = None if data is None else read_dimensions(data)
    sizes = (_LARGEST, Dimensions(3072, 3072), Dimensions(768, 2048)) if found is None else (found,)
    tokens = _FACTOR * max(cost(size) for cost in _costs_of(family) for size in sizes)
    frames = 1 if data is None else 1 + sum(map(data.count, _FRAME_MARKS))
    return FileBound(tokens * frames, "an image" if frames == 1 else f"an image of up to {frames:,} frames")


def _costs_of(family: str) -> tuple[ImageCost, ...]:
    """The formula of a family; of one without, those of the families that take most."""
    known = longest_match(family, IMAGE_COSTS)
    return (_OPENAI, IMAGE_COSTS["qwen"]) if known is None else (known,)


_FRAME_MARKS: Final = (b"\x00\x2c", b"fcTL", b"ANMF")
"""What a further frame begins with in GIF (after the block before it), PNG and WebP; pixels have it by chance."""


def _of_pdf(family: str, _media_type: str, data: bytes | None) -> FileBound:
    most = longest_match(family, _MOST_PAGES) or _MOST_INPUT
    page = max(cost(_PAGE_IMAGE) for cost in _costs_of(family)) + _PAGE_TEXT
    try:
        document = _Document(data)
        pages, shown = document.pages(), document.shown_text()
    except _HiddenError as hidden:
        return FileBound(most * page, f"a PDF document whose pages cannot be counted: it is {hidden}")
    if document.is_shared:  # each of the pages may show all of the text
        shown *= pages
    return FileBound(min(pages, most) * page + shown, f"a PDF document of up to {pages:,} pages")


def _of_sound(_family: str, media_type: str, data: bytes | None) -> FileBound:
    seconds: float | None = None
    if data is not None:
        if data.startswith(b"RIFF"):
            seconds = len(data) / (_wave_rate(data) or _RATES["audio/"])
        elif data.startswith(b"OggS"):
            seconds = _ogg_seconds(data)
        elif not data.startswith(b"fLaC"):  # silence takes nearly no bytes there
            rates = (rate for beginning, rate in _RATES.items() if media_type.startswith(beginning))
            seconds = max(len(data) / next(rates), _movie_seconds(data))
    if seconds is None or seconds >= _MOST_SECONDS:
        return FileBound(_MOST_SECONDS * _SECOND, f"{media_type} of any length")
    return FileBound(math.ceil(seconds) * _SECOND + _SECOND, f"{media_type} of up to {math.ceil(seconds):,} seconds")


def _of_any_length(_family: str, media_type: str, _data: bytes | None) -> FileBound:
    return FileBound(_MOST_INPUT, f"{media_type or 'a file'}, of which nothing says how much it holds")


_MOST_ENTRIES: Final = 10_000
"""The most files in a zip file whose sizes are read: of each, `zipfile` makes an object."""


def _of_archive(_family: str, media_type: str, data: bytes | None) -> FileBound:
    """Documents in a zip file, of whose texts each byte may be a token; other files are as long as they are."""
    if data is None or data.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!", b"\x28\xb5\x2f\xfd")):
        return _of_any_length("", media_type, data)
    size = len(data)
    if data.count(b"PK\x01\x02") > _MOST_ENTRIES:
        return _of_any_length("", media_type, data)
    if data.startswith(b"PK"):
        from zipfile import BadZipFile, ZipFile  # noqa: PLC0415 - few requests have one

        try:
            with ZipFile(BytesIO(data)) as archive:
                size += sum(entry.file_size for entry in archive.filelist)
        except (BadZipFile, ValueError, OSError, NotImplementedError, EOFError):
            return _of_any_length("", media_type, data)
    return FileBound(size, f"{media_type} of {size:,} bytes")


_BOUNDS: Final[tuple[tuple[str, Callable[[str, str, bytes | None], FileBound]], ...]] = (
    ("image/tiff", _of_any_length),  # any number of images, and of compressions
    ("image/", _of_image),
    ("application/pdf", _of_pdf),
    ("audio/", _of_sound),
    ("video/", _of_any_length),  # a picture that does not move takes nearly no bytes
    ("", _of_archive),
)
"""How a file is bounded, by the beginning of its media type; the first row that fits counts."""

# ---- The length of sound ----

_RATES: Final[Mapping[str, int]] = {
    "audio/mpeg": 1000,  # 8 kbit/s, the lowest of MPEG-2 and 2.5, layer III
    "audio/mp3": 1000,
    "audio/": 594,  # AMR with 4.75 kbit/s; the lowest of AAC and Opus is 6
}
"""The fewest bytes of a second, by the beginning of the media type."""
_PLAIN: Final = frozenset({1, 3})
"""The formats of a WAVE file whose samples are not compressed: PCM, and floating point."""


def _wave_rate(data: bytes) -> int:
    """The bytes of a second of a WAVE file by its header; 0 if they are compressed, or there is no header."""
    at = data.find(b"fmt ", 12, 4096) + 8
    bits = _number(data, at + 2, 2, "little") * _number(data, at + 4, 4, "little") * _number(data, at + 14, 2, "little")
    return bits // 8 if at > 8 and _number(data, at, 2, "little") in _PLAIN else 0


def _ogg_seconds(data: bytes) -> float | None:
    """The longest that the packets of an Ogg file can play; None for what is neither Opus nor Vorbis (RFC 3533, 6; RFC
    7845, 3; Vorbis I, 4.2.2)."""
    start = 27 + _number(data, 26, 1)
    packet = 0.12  # of Opus
    if data.startswith(b"\x01vorbis", start) and (rate := _number(data, start + 12, 4, "little")):
        packet = (1 << (_number(data, start + 28, 1) >> 4)) / rate
    elif not data.startswith(b"OpusHead", start):
        return None
    packets = place = 0
    while data.startswith(b"OggS", place):
        lacing = data[place + 27 : place + 27 + _number(data, place + 26, 1)]
        packets += len(lacing) - lacing.count(255)
        place += 27 + len(lacing) + sum(lacing)
    return packets * packet if place >= len(data) else None


def _movie_seconds(data: bytes) -> float:
    """The length by the header of an MPEG-4 file; 0 without one (ISO 14496-12, 8.2.2)."""
    at = data.find(b"mvhd") + 4
    is_long = _number(data, at, 1) == 1
    scale = _number(data, at + (20 if is_long else 12), 4)
    duration = _number(data, at + (24 if is_long else 16), 8 if is_long else 4)
    return duration / scale if at > 4 and scale else 0.0


# ---- The pages of a document ----

_HEADER: Final = late_pattern(rb"(\d+)[\s\0]+\d+[\s\0]*\Z")
_REFERENCES: Final = late_pattern(rb"[\s\0]*\[((?:[\s\0]*\d+[\s\0]+\d+[\s\0]+R)*+)[\s\0]*\]")
_REFERENCE: Final = late_pattern(rb"[\s\0]*(\d+)[\s\0]+\d+[\s\0]+R")
_COUNT: Final = late_pattern(rb"/Count[\s\0]*(\d+)(?=[\s\0/<>\[\]()]|\Z)([\s\0]+\d+[\s\0]+R)?")
_NUMBER: Final = rb"[\s\0]+(\d+)(?![\s\0]+\d+[\s\0]+R)"
_PACKED: Final = (late_pattern(rb"/N" + _NUMBER), late_pattern(rb"/First" + _NUMBER))
_FILTERS: Final = late_pattern(rb"/(\w+)Decode\b")
_IMAGES: Final = frozenset({b"DCT", b"JPX", b"CCITTFax", b"JBIG2"})
_ESCAPED: Final = late_pattern(rb"/[A-Za-z0-9]*#[A-Za-z0-9#]*")
_ESCAPE: Final = late_pattern(rb"#([0-9A-Fa-f]{2})")
_STRUCTURE: Final = frozenset(
    b"/" + name for name in (b"Kids", b"Pages", b"Type", b"Count", b"ObjStm", b"Encrypt", b"Filter", b"Contents")
)
_STRINGS: Final = late_pattern(rb"\((?:[^()\\]|\\.)*\)|<[0-9A-Fa-f\s]*>", re.DOTALL)
_MOST_UNPACKED: Final = 64 * 1024 * 1024
_MOST_NUMBERS: Final = 250_000
"""The most bytes that are unpacked of one document, and the most numbers of objects that are looked at, however often
they are written: fewer of a small one, which is read on the event loop."""
_FIRST_PIECE: Final = 1024
"""The bytes of a stream that are unpacked first: what follows its end is copied each time."""
_MOST_LEVELS: Final = 64
_MOST_DIGITS: Final = 640  # which every Python converts
_PIECE: Final = 1024 * 1024
"""The bytes that one search reads, which lets no other thread run meanwhile."""


class _HiddenError(Exception):
    """What bounds a document is hidden; the text says how."""


class _Document:
    """A PDF document (ISO 32000-1, 7.3, 7.5 and 7.7.3), as far as it says how many pages it has.

    Every version of an object counts, and every place that may be the root: readers differ in which one they take.

    Attributes:
        is_shared: Whether pages are in the tree more than once.
    """

    def __init__(self, data: bytes | None) -> None:
        if data is None:
            raise _HiddenError("at an address")
        if b"/Encrypt" in data:
            raise _HiddenError("encrypted")
        _check_names(data)
        self.is_shared = False
        self._data = data
        self._unpacked = 0
        self._objects: dict[int, list[tuple[bytes, int, int]]] = {}
        self._counted: dict[int, int] = {}
        self._owners: dict[int, int] = {}
        self._looked_at = self._numbers = 0
        self._most_unpacked = min(_MOST_UNPACKED, _PIECE + 64 * len(data))
        self._most_numbers = min(_MOST_NUMBERS, 10_000 + len(data) // 8)
        self._starts: list[int] = []
        numbers: list[int] = []
        for place in _places(data, b"obj"):
            if data.startswith(b"end", place - 3):
                continue
            if (header := _HEADER.search(data, max(0, place - 32), place)) is None:
                raise _HiddenError("damaged")
            self._starts.append(place)
            numbers.append(_integer(header[1]))
            self._look_at(1)
        if not numbers:
            raise _HiddenError("damaged")
        for number, start, end in zip(numbers, self._starts, [*self._starts[1:], len(data)], strict=True):
            self._objects.setdefault(number, []).append((data, start, end))
        for place in _places(data, b"/ObjStm"):
            self._read_packed(place)

    def pages(self) -> int:
        """The most pages that a reader can find."""
        roots = set()
        sources = {id(source): source for versions in self._objects.values() for source, _, _ in versions}
        for source in sources.values():
            for place in _places(source, b"/Pages"):
                if (found := _REFERENCE.match(source, place + 6)) is not None:
                    roots.add(_integer(found[1]))
                elif not source[max(0, place - 16) : place].rstrip(b"\0\t\n\f\r ").endswith(b"/Type"):
                    raise _HiddenError("written in a way that hides its structure")
        if not roots:
            raise _HiddenError("damaged")
        return max(self._pages_of(root, 0) for root in roots)

    def shown_text(self) -> int:
        """The most letters that the streams of the document show."""
        data, letters = self._data, 0
        left = 10_000 + len(data)  # strings; of a stream with more, each byte counts
        for number, versions in self._objects.items():  # a stream that two pages show counts for all
            for version in versions:
                for place in _places(version[0], b"/Contents", *version[1:]):
                    if (one := _REFERENCE.match(version[0], place + 9)) is not None:
                        self._note_shared(number, [_integer(one[1])])
                    elif (some := _references(version[0], place + 9)) is not None:
                        self._note_shared(number, self._referred(some))
        for place in _places(data, b"stream"):
            before = data[max(0, place - 16) : place]
            if not before.rstrip(b"\0\t\n\f\r ").endswith(b">>"):
                if before.endswith((b"\n", b"\r")) and data[place + 6 : place + 7] in (b"\n", b"\r"):
                    raise _HiddenError("written in a way that hides its structure")
                continue  # a word of a text, or the end of a stream
            content = self._content(place)
            if content is None or not (b"Tj" in content or b"TJ" in content or b"'" in content or b'"' in content):
                continue
            begun = content.count(b"(")
            left -= begun
            strings = _STRINGS.findall(content) if len(content) <= _PIECE and left >= 0 else []
            is_read = bool(strings) and sum(one.count(b"(") for one in strings) == begun
            letters += sum(map(len, strings)) if is_read else len(content)
        return letters

    def _pages_of(self, number: int, level: int) -> int:
        if (counted := self._counted.get(number)) is not None:
            if not counted:
                raise _HiddenError("nested without an end")
            return counted
        if level > _MOST_LEVELS:
            raise _HiddenError("nested without an end")
        self._counted[number] = 0  # being counted
        most = 1
        for source, start, end in self._objects.get(number, ()):
            for place in _places(source, b"/Kids", start, end):
                kids = self._kids(source, place + 5)
                self._note_shared(number, kids)
                self.is_shared = self.is_shared or len(set(kids)) < len(kids)
                pages = {kid: self._pages_of(kid, level + 1) for kid in dict.fromkeys(kids)}
                most = max(most, sum(pages[kid] for kid in kids))
            for place in _places(source, b"/Count", start, end) if source.find(b"/Kids", start, end) >= 0 else ():
                count = _COUNT.match(source, place, min(end, place + _PIECE))
                if count is None or count[2] or len(count[1]) > 9 or count.end() == place + _PIECE:
                    raise _HiddenError("written in a way that hides its structure")
                most = max(most, int(count[1]))
        self._counted[number] = most
        return most

    def _note_shared(self, number: int, parts: list[int]) -> None:
        """Notes whether parts of an object, of whichever version, belong to another one too."""
        for one in parts:
            if self._owners.setdefault(one, number) != number:
                self.is_shared = True

    def _kids(self, source: bytes, place: int) -> list[int]:
        found = _references(source, place)
        if found is None and (elsewhere := _REFERENCE.match(source, place)) is not None:
            versions = self._objects.get(_integer(elsewhere[1]), ())
            self._look_at(len(versions))
            begins = (start + (3 if source.startswith(b"obj", start) else 0) for source, start, _ in versions)
            arrays = [_references(one[0], begin) for one, begin in zip(versions, begins, strict=True)]
            found = max((one for one in arrays if one is not None), key=lambda one: len(one[1]), default=None)
        if found is None:
            raise _HiddenError("written in a way that hides its structure")
        return self._referred(found)

    def _look_at(self, numbers: int) -> None:
        self._numbers += numbers
        if self._numbers > self._most_numbers:
            raise _HiddenError("of more objects than are looked at here")

    def _referred(self, found: re.Match[bytes]) -> list[int]:
        self._look_at(found[1].count(b"R"))
        return [_integer(one) for one in found[1].split()[::3]]

    def _read_packed(self, place: int) -> None:
        """Reads the objects of a stream of objects."""
        data = self._data
        start, stream = self._starts[bisect_right(self._starts, place) - 1], data.find(b"stream", place)
        count, first = (pattern.search(data, start, max(stream, start)) for pattern in _PACKED)
        content = None if stream < 0 or b"/DecodeParms" in data[start:stream] else self._content(stream)
        if count is None or first is None or content is None:
            raise _HiddenError("packed in a way that is not read here")
        begins = _integer(first[1])
        head = content[:begins].split(None, 2 * self._most_numbers)
        self._look_at(len(head) // 2)
        if len(head) < 2 * _integer(count[1]):
            raise _HiddenError("damaged")
        pairs = zip(map(_integer, head[::2]), map(_integer, head[1::2]), strict=False)
        places = sorted((begins + offset, number) for number, offset in pairs)
        for index, (begin, number) in enumerate(places):
            end = places[index + 1][0] if index + 1 < len(places) else len(content)
            self._objects.setdefault(number, []).append((content, begin, end))

    def _content(self, place: int) -> bytes | None:
        """What a stream holds, given the place of its keyword; None for an image."""
        data = self._data
        start = self._starts[max(0, bisect_right(self._starts, place) - 1)] if self._starts else 0
        self._looked_at += place - start
        if self._looked_at > _MOST_UNPACKED:
            raise _HiddenError("larger than what is unpacked here")
        filters = set(_FILTERS.findall(data, start, place))
        begin = place + 6 + (2 if data.startswith(b"\r\n", place + 6) else 1)
        if filters & _IMAGES:
            return None
        if not filters:
            if (end := data.find(b"endstream", begin)) < 0:
                raise _HiddenError("damaged")
            content = data[begin:end]
        elif filters == {b"Flate"}:
            unpacking, pieces = zlib.decompressobj(), list[bytes]()
            size, room = _FIRST_PIECE, self._most_unpacked - self._unpacked
            while not unpacking.eof and begin < len(data) and room > 0:
                try:
                    pieces.append(unpacking.decompress(data[begin : begin + size], room))
                except zlib.error:
                    raise _HiddenError("damaged") from None
                begin, size, room = begin + size, min(2 * size, _PIECE), room - len(pieces[-1])
            content = b"".join(pieces)
        else:
            raise _HiddenError("packed in a way that is not read here")
        self._unpacked += len(content)
        if self._unpacked >= self._most_unpacked:
            raise _HiddenError("larger than what is unpacked here")
        return content


def _check_names(data: bytes) -> None:
    """Refuses a document that writes the names that are looked for in another way than by their letters."""
    for start in range(0, len(data), _PIECE):
        for name in _ESCAPED.findall(data, start, start + _PIECE + 64):
            if _ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), name) in _STRUCTURE:
                raise _HiddenError("written in a way that hides its structure")


def _places(data: bytes, word: bytes, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Where a word is, in order."""
    end = len(data) if end is None else end
    while start < end:
        place = data.find(word, start, min(end, start + _PIECE + len(word)))
        if place >= 0:
            yield place
        start = place + len(word) if place >= 0 else start + _PIECE


def _references(source: bytes, place: int) -> re.Match[bytes] | None:
    found = _REFERENCES.match(source, place, place + _PIECE)
    if found is None and place + _PIECE < len(source) and source.find(b"]", place, place + _PIECE) < 0:
        raise _HiddenError("of more objects than are looked at here")
    return found


def _integer(digits: bytes) -> int:
    if len(digits) > _MOST_DIGITS or not digits.isdigit():
        raise _HiddenError("damaged")
    return int(digits)


def pages_of(data: bytes) -> int | None:
    """The pages of a PDF document; None if they cannot be counted."""
    try:
        return _Document(data).pages()
    except _HiddenError:
        return None
