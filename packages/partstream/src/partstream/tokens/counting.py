"""Counts or estimates the tokens of texts, messages, images and files.

A count needs a tokenizer with the vocabulary of the model's family: one that a user registers, or that of an installed
package. All other text is estimated. Every character becomes a hexadecimal digit, its class in the alphabet of the
text. Read as hexadecimal, two digits are one byte: a pair of neighbours. Every pair has a weight by the classes of the
two (`estimator.json`), and the estimate is the sum of the weights. Everything runs at the speed
of C: a text takes a few nanoseconds per character. A long one takes less, because only evenly spread samples are read.

`MessageCounter` counts messages, tools and whole requests; a table holds the counting functions of the part classes.
It knows no upstream, no ledger and no calibration: a count has its source, no margin and no correction. Then follow the
counters, the estimator, and what hosts ask of a provider that counts.

No function opens a socket: tiktoken is used only if its vocabulary is on the disk, because it downloads a missing one.
"""

from __future__ import annotations
import asyncio
import hashlib
import importlib.util
import logging
import os
import tempfile
from binascii import unhexlify
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, cast, runtime_checkable
from zlib import adler32

from partstream.codec.checks import MOST_TOKENS, as_count, replace
from partstream.codec.json_codec import loads
from partstream.codec.limits import LARGE_BYTES, TURN_SECONDS, dumps_in_pieces, is_long
from partstream.codec.system import read_in_shared_folder
from partstream.conversation.media import MediaKind, read_media, sniff
from partstream.lm import parts
from partstream.tokens import families, files

if TYPE_CHECKING:
    from partstream.lm.cancellation import CancellationToken, Event
    from partstream.lm.messages import ChatMessage, Tool
    from partstream.lm.provider import LanguageModelChatInformation, LanguageModelChatProvider
    from partstream.tokens.ledger import Ledger

_logger = logging.getLogger("partstream.tokens")

_UNREADABLE_IMAGE: Final = files.Dimensions(1024, 1024)
"""The assumed size of an image whose header cannot be read."""

_CHARACTERS_OF_HIDDEN_THINKING: Final = 4 / 3 * 4
"""The characters of encrypted thinking per token: base64 of the text's bytes, about four of which are a token."""

_HIDDEN_THINKING: Final = frozenset({"encrypted_content", "redactedData", "encrypted"})
"""The keys in a thinking part's metadata under which upstreams put hidden thinking."""


_WEIGHT_OF_PART: Final = 512
_WEIGHT_OF_FILE: Final = 8
"""What a part and a byte of a file weigh, in bytes of text: of a document, each object is looked at."""


def weight_of(things: Iterable[str | ChatMessage]) -> int:
    """About how many bytes of text take as long to read, to count and to write as these texts and messages."""
    held = [part for one in things for part in ([parts.TextPart(one)] if isinstance(one, str) else one.content)]
    weight = 0
    for part in held:  # which grow
        weight += _WEIGHT_OF_PART
        if isinstance(part, parts.TextPart):
            weight += len(part.value)
        elif isinstance(part, parts.DataPart):
            is_picture = (sniff(part.data) or "").startswith("image/")
            weight += len(part.data) * (1 if is_picture else _WEIGHT_OF_FILE)
        elif isinstance(part, parts.ToolResultPart):
            held += part.content
        elif isinstance(part, parts.ToolCallPart) and is_long(part.input):
            weight += LARGE_BYTES
    return weight


class MessageCounter:
    """Counts for one model family; holds no state of a request and serves any number of requests.

    Args:
        family: The family of the model, such as `gpt-4o` or `claude-sonnet-4.5`; any text is valid.
        counters: The available exact counters; without them, all text is estimated.
    """

    def __init__(self, family: str, counters: Counters | None = None) -> None:
        self.family = family
        self._counter, self._counter_version = (None, "") if counters is None else counters.found_for(family)
        self._vocabulary = families.vocabulary_of(family)
        self._overheads = families.overheads_of(family)
        self.image_cost = files.image_cost_of(family)

    @property
    def source(self) -> families.CountSource:
        """The source of the counts of text."""
        return families.CountSource.ESTIMATED if self._counter is None else families.CountSource.COUNTED

    @property
    def version(self) -> str:
        """Identifies the way of counting: by a tokenizer, and by which, or by estimate."""
        return f"{self.source} {self._counter_version}".rstrip()

    def count_text(self, text: str) -> families.TokenCount:
        """The tokens of a single text."""
        if self._counter is None:
            return families.TokenCount(estimate_text(text, self._vocabulary), families.CountSource.ESTIMATED)
        return families.TokenCount(self._counter.count(text), families.CountSource.COUNTED)

    def count_message(self, message: ChatMessage) -> families.TokenCount:
        """The tokens of a message: of its parts, and the overhead around them. The name of an author is not counted."""
        total = families.TokenCount(self._overheads.message, self.source)
        for part in message.content:
            total += self.count_part(part)
        return total

    def count_part(self, part: parts.MessagePart) -> families.TokenCount:
        """The tokens of a part and all its contents; the host's marks have none, because they are never sent."""
        return parts.row_of_class(_COUNTS, part)(self, part)

    def count_tools(self, tools: Sequence[Tool]) -> families.TokenCount:
        """The tokens of all tools of a request: names, descriptions, schemas, and the overhead around them."""
        if not tools:
            return families.NO_TOKENS
        total = families.TokenCount(
            self._overheads.tools, families.CountSource.ESTIMATED
        )  # servers do not publish the wording of tools
        for tool in tools:
            schema = self.count_json({} if tool.input_schema is None else tool.input_schema)
            words = self.count_text(tool.name) + self.count_text(tool.description)
            total += words + schema + families.TokenCount(self._overheads.tool, self.source)
        return total

    def count_request(self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = ()) -> families.TokenCount:
        """The tokens of a whole request."""
        total = families.TokenCount(self._overheads.request, self.source) + self.count_tools(tools)
        for message in messages:
            total += self.count_message(message)
        return total

    def count_json(self, value: Any) -> families.TokenCount:
        """The tokens of a JSON value in its shortest form."""
        return self.count_text(json_text(value))


@lru_cache(maxsize=64)
def counter_of(family: str) -> MessageCounter:
    """The counter of a family that estimates all text."""
    return MessageCounter(family)


def _count_thinking(counter: MessageCounter, part: parts.ThinkingPart) -> families.TokenCount:
    if part.value:
        return counter.count_text(part.value)
    hidden = 0 if part.metadata is None else _hidden_characters(part.metadata)
    tokens = round(hidden / _CHARACTERS_OF_HIDDEN_THINKING)
    return families.TokenCount(tokens, families.CountSource.ESTIMATED) if tokens else families.NO_TOKENS


def _hidden_characters(metadata: Any) -> int:
    """The characters of all hidden thinking in metadata, at any depth."""
    if isinstance(metadata, list | tuple):
        return sum(map(_hidden_characters, metadata))
    if not hasattr(metadata, "items"):
        return 0
    return sum(
        len(value) if name in _HIDDEN_THINKING and isinstance(value, str) else _hidden_characters(value)
        for name, value in metadata.items()
    )


def _count_data(counter: MessageCounter, part: parts.DataPart) -> families.TokenCount:
    if parts.is_mark(part.mime_type) or not parts.is_for_assistant(part):
        return families.NO_TOKENS
    media = read_media(part)
    if media.kind is MediaKind.TEXT:
        return counter.count_text(media.text)
    if media.kind is MediaKind.IMAGE:  # always an estimate, because a provider may scale the image first
        found = None if media.url else files.read_dimensions(part.data)
        tokens = counter.image_cost(found or _UNREADABLE_IMAGE)
    elif media.url:
        return counter.count_text(media.url)
    else:
        tokens = files.estimate_file_tokens(counter.family, media.media_type, part.data)
    return families.TokenCount(tokens, families.CountSource.ESTIMATED)


_COUNTS: Final[dict[type[parts.MessagePart], Callable[..., families.TokenCount]]] = {
    parts.TextPart: lambda counter, part: counter.count_text(part.value if parts.is_for_assistant(part) else ""),
    parts.ThinkingPart: _count_thinking,
    parts.ToolCallPart: lambda counter, part: counter.count_text(part.name) + counter.count_json(part.input),
    parts.ToolResultPart: lambda counter, part: sum(map(counter.count_part, part.content), families.NO_TOKENS),
    parts.DataPart: _count_data,
}


def json_text(value: object) -> str:
    """The shortest JSON text; Python's own text of a value that JSON cannot represent, which sending refuses later."""
    try:
        return dumps_in_pieces(value).decode()
    except TypeError:
        pass
    try:
        return repr(value)
    except RecursionError:
        return "..."


# ---- Exact counters, for users' tokenizers and those of installed packages ----


@runtime_checkable
class Counter(Protocol):
    """Counts the tokens of text with one vocabulary."""

    def count(self, text: str) -> int:
        """The number of tokens; special tokens in the text count as plain text."""


class Counters:
    """The available exact counters; an object that is passed to the code that counts.

    Args:
        installed: Functions that find the counter of a vocabulary; the first result wins. They look for each vocabulary
            once, when it is first needed.
    """

    def __init__(self, installed: Iterable[Callable[[families.Vocabulary], Counter | None]] | None = None) -> None:
        self._installed = (bpe_openai_counter, tiktoken_counter) if installed is None else tuple(installed)
        self._registered: dict[str, tuple[Counter, str]] = {}
        self._found: dict[families.Vocabulary, Counter | None] = {}

    def register_counter(self, family_pattern: str, counter: Counter, version: str = "") -> None:
        """Registers `counter` for the families that match a pattern; the last registration wins.

        Args:
            family_pattern: A family, in lower case and without its creator; `*` is any text, `?` any character.
            counter: Counts the text of these families exactly.
            version: Distinguishes the counter from others of its class, for example by the vocabulary or its revision:
                stored counts of another version are not used.

        Raises:
            TypeError: `counter` has no method `count`.
        """
        if not isinstance(counter, Counter):
            raise TypeError(
                f"counter for {family_pattern!r}: got {counter!r}, expected an object with a method count(text)"
            )
        self._registered.pop(family_pattern, None)
        kind = type(counter)
        self._registered[family_pattern] = (counter, f"{kind.__module__}.{kind.__qualname__} {version}".rstrip())

    def of_family(self, family: str) -> Counter | None:
        """The exact counter of a family, or None."""
        return self.found_for(family)[0]

    def found_for(self, family: str) -> tuple[Counter | None, str]:
        """The exact counter of a family, or None; and what distinguishes its counts from another's, or nothing."""
        name = families.normal_family(family)
        for pattern, registered in reversed(self._registered.items()):
            if fnmatchcase(name, pattern):
                return registered
        vocabulary = families.exact_vocabulary(family)
        if vocabulary is None:
            return None, ""
        if vocabulary not in self._found:
            counters = (find(vocabulary) for find in self._installed)
            self._found[vocabulary] = next((counter for counter in counters if counter is not None), None)
        counter = self._found[vocabulary]
        return counter, "" if counter is None else vocabulary.value


class _InstalledCounter:
    """Counts with the tokenizer of an installed package, by a function that counts a text without lone surrogates."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count

    def count(self, text: str) -> int:
        """The number of tokens of `text`; a lone surrogate, which UTF-8 cannot hold, counts as a replacement."""
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                text = text.encode(errors="surrogatepass").decode(errors="replace")
        return self._count(text)


def bpe_openai_counter(vocabulary: families.Vocabulary) -> Counter | None:
    """The counter of the package bpe-openai, or None if it is not installed.

    Its compiled module is loaded without its Python code, which reads every vocabulary a second time, into
    dictionaries: that takes over a second and 70 MB. And its encodings refuse long texts (bpe-openai 0.1.4).
    """
    spec = importlib.util.find_spec("bpe_openai")
    folders = (spec.submodule_search_locations or ()) if spec is not None else ()
    paths = (Path(folder) / f"_bindings{suffix}" for folder in folders for suffix in EXTENSION_SUFFIXES)
    if (path := next(filter(Path.is_file, paths), None)) is None:
        return None
    loader = ExtensionFileLoader("bpe_openai._bindings", str(path))
    found = importlib.util.spec_from_file_location(loader.name, path, loader=loader)
    if found is None:  # happens only without a loader
        raise ImportError(f"no module {loader.name} in {path}")
    bindings: Any = importlib.util.module_from_spec(found)
    loader.exec_module(bindings)
    if vocabulary.value not in bindings.supported_encodings():
        return None
    count = bindings.tokenizer_for_encoding(vocabulary.value).count
    return _InstalledCounter(lambda text: int(count(text)))


_LARGEST_VOCABULARY: Final = 16 * 1024 * 1024
"""In bytes; that of o200k_base has 3.6 million."""


class _CachedVocabulary(NamedTuple):
    """A vocabulary in tiktoken's cache: its file, named by the SHA-1 of its URL, and the SHA-256 of its bytes."""

    file: str
    digest: str


_TIKTOKEN_CACHE: Final[Mapping[str, _CachedVocabulary]] = {
    "o200k_base": _CachedVocabulary(
        "fb374d419588a4632f3f557e76b4b70aebbca790", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
    ),
    "cl100k_base": _CachedVocabulary(
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
    ),
}
"""Source: `tiktoken.load` and `tiktoken_ext.openai_public` of tiktoken 0.14. It deletes a file with another digest and
downloads it again."""


def tiktoken_counter(vocabulary: families.Vocabulary) -> Counter | None:
    """The counter of tiktoken, or None if tiktoken is not installed or its vocabulary is not on the disk."""
    if importlib.util.find_spec("tiktoken") is None:
        return None
    # Whether tiktoken would find the complete vocabulary in its cache: see `tiktoken.load.read_file_cached`.
    named = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if named == "":  # an empty name means no cache: tiktoken would download
        return None
    folder = Path(named) if named is not None else Path(tempfile.gettempdir()) / "data-gym-cache"
    cached = _TIKTOKEN_CACHE[vocabulary.value]
    data = read_in_shared_folder(folder / cached.file, _LARGEST_VOCABULARY)
    if data is None or hashlib.sha256(data).hexdigest() != cached.digest:
        return None
    tiktoken = importlib.import_module("tiktoken")
    encode = tiktoken.get_encoding(vocabulary.value).encode_ordinary
    return _InstalledCounter(lambda text: len(encode(text)))


# ---- Estimates ----

_MESSAGE_TOKENS: Final = 3
"""The tokens of a message in addition to its parts, as in Copilot's own counting."""


def estimate_tokens(text: str | ChatMessage) -> int:
    """The estimated tokens of a text or a message, for callers without a model; data parts are left out."""
    if isinstance(text, str):
        return estimate_text(text, families.Vocabulary.O200K)
    texts: list[str] = []
    waiting = [*text.content]
    while waiting:
        match waiting.pop():
            case parts.ThinkingPart() as part:
                texts.append(part.value)
            case parts.TextPart() as part if parts.is_for_assistant(part):
                texts.append(part.value)
            case parts.ToolCallPart() as part:
                texts += part.name, json_text(part.input)
            case parts.ToolResultPart() as part:
                waiting += part.content
    return _MESSAGE_TOKENS + sum(estimate_text(words, families.Vocabulary.O200K) for words in texts)


_BLOCK: Final = 1024
"""The characters of a block: as many as `_weigh` can add up."""

_WHOLE: Final = 2048
"""The most characters of a text that is read as a whole: reading half of a log of this length would be off by 6 %."""

_SAMPLE: Final = 256

_DENSE_STRATUM: Final = 512
_DENSE: Final = 16_384
"""In the first `_DENSE` characters, each stratum of `_DENSE_STRATUM` characters gives a sample: half of the text."""

_SPARSE_STRATUM: Final = 8_192
"""The characters per sample after those."""


def estimate_text(text: str, vocabulary: families.Vocabulary) -> int:
    """The estimated tokens of a text in a vocabulary; 0 only for an empty text. Lone surrogates are allowed."""
    length = len(text)
    if length <= _BLOCK:
        return max(1, round(_estimate(text, vocabulary))) if text else 0
    read = text
    if length > _WHOLE:  # evenly spread samples, the first at the beginning of the text and the last at its end
        count = -(-min(length, _DENSE) // _DENSE_STRATUM) + max(0, length - _DENSE) // _SPARSE_STRATUM
        step = (length - _SAMPLE) / (count - 1)
        starts = [round(number * step) for number in range(count)]
        read = "".join([text[start : start + _SAMPLE] for start in starts])
    blocks = [read[start : start + _BLOCK] for start in range(0, len(read), _BLOCK)]
    return round(sum([_estimate(block, vocabulary) for block in blocks]) * length / len(read))


def _estimate(text: str, vocabulary: families.Vocabulary) -> float:
    """The estimate of up to 1,024 characters: at least one token per 128 characters, at most one per byte."""
    length = len(text)
    encoded = text.encode("utf-8", "surrogatepass")
    alphabet = alphabet_of(length, encoded)
    model = _MODELS[vocabulary][alphabet]
    tokens = model.start + _weigh(classes_of(encoded, alphabet), model.weights) / model.parts
    if model.common_han:
        tokens += model.common_han * common_han(text)
    return min(max(tokens, length / 128), len(encoded))


def _weigh(classes: bytes, weights: bytes) -> int:
    """The sum of the weights of all pairs of up to 1,024 classes.

    The lower half of an Adler checksum is 1 plus the sum of all bytes, modulo 65,521 (RFC 1950, 8.2): the fastest sum
    in Python. The sum stays below the modulus, because a weight is at most 127 and there are at most 512 pairs.
    """
    even, odd = pairs_of(classes)
    return (adler32(even.translate(weights)) & 0xFFFF) + (adler32(odd.translate(weights)) & 0xFFFF) - 2


_HAN_READ: Final = 64
"""The characters that are read to estimate the share of common Han characters."""


def common_han(text: str) -> float:
    """The estimated number of common Han characters in a text, from some evenly spread characters."""
    looked_at = text[:: max(1, len(text) // _HAN_READ)]
    return sum(map(_COMMON_HAN.__contains__, looked_at)) * len(text) / len(looked_at)


class _Model(NamedTuple):
    """The weights for the texts of one alphabet in one vocabulary.

    Attributes:
        start: The tokens that every text takes.
        weights: The weight of each pair of classes, in parts of a token; the index is 16 times the first class plus
            the second.
        parts: The number of parts in a token.
        common_han: The additional tokens (or fewer, if negative) of each common Han character.
    """

    start: float
    weights: bytes
    parts: int
    common_han: float


_FITTED: Final = loads(Path(__file__).with_name("estimator.json").read_bytes())
"""What tools/fit_estimator.py has written."""
_MODELS: Final[Mapping[families.Vocabulary, tuple[_Model, ...]]] = {
    families.Vocabulary[name]: tuple(
        _Model(one["start"], bytes.fromhex(one["weights"]), one["parts"], one["common_han"]) for one in fitted
    )
    for name, fitted in _FITTED["models"].items()
}
_COMMON_HAN: Final = frozenset(_FITTED["common_han"])
"""The most common Han characters: those that have a token in cl100k."""


class Alphabet(IntEnum):
    """The script that most of a text is written in, by the bytes of a character in UTF-8.

    Two kinds of texts in Latin letters that hardly hold words are kept apart: those without spaces and quotation marks,
    such as base64 and hexadecimal, and those with many digits, such as logs.
    """

    LATIN = 0
    UNBROKEN = 1
    FIGURES = 2
    TWO_BYTES = 3
    THREE_BYTES = 4


_TWO_BYTES_FROM: Final = 1.5
_THREE_BYTES_FROM: Final = 2.2
"""The bytes per character from which a text belongs to that alphabet."""

_LOOKED_AT: Final = 256
"""The number of bytes in the middle of a text in Latin letters that decide its kind."""

_SHORT: Final = 100
"""The most bytes of a text that is too short for a decision."""

_FIGURES_FROM: Final = 0.04
"""The share of digits from which a text counts as figures."""

_QUOTED_FROM: Final = 0.08
"""The share of quotation marks above which a text is JSON, which counts like words, whatever its digits."""


def _between(first: int, last: int) -> bytes:
    return bytes(range(first, last + 1))


_UPPER: Final = _between(ord("A"), ord("Z"))
_DIGITS: Final = b"0123456789"
_WORDS: Final = _DIGITS + _UPPER + _UPPER.lower()
_BLANK: Final = _between(0, 32)
_MARKS: Final = bytes(set(_between(33, 127)) - set(_WORDS))

# The first byte of its UTF-8 form determines the class of a character outside ASCII; its other bytes are left out. A
# character without a class belongs to the last one. Letters are classed by their frequency in English: rare letters
# make rare words, which take more tokens.
_LATIN: Final[tuple[Iterable[int], ...]] = (
    *(b" ", b"\n\r\t", _DIGITS, _UPPER, b"eia", b"ou", b"tnsr", b"ldhcmp", b"bfgkvwjqxzy"),
    *(b".,_", b"\"'`", b"()[]{};"),
    _between(0xC3, 0xC5),  # Latin with diacritics
    b"\xc2" + _between(0xC6, 0xDF),  # « ° ¿, scripts of two bytes
    _between(0xE0, 0xFF),  # – “ … €, scripts of three bytes, emoji
    b"",
)
_BY_ALPHABET: Final[dict[Alphabet, tuple[Iterable[int], ...]]] = {
    Alphabet.LATIN: _LATIN,
    Alphabet.UNBROKEN: _LATIN,
    Alphabet.FIGURES: _LATIN,
    Alphabet.TWO_BYTES: (
        *(_BLANK, _WORDS, _MARKS, _between(0xC2, 0xCD)),
        *(b"\xce", b"\xcf"),  # Greek
        *(b"\xd0", b"\xd1"),  # Cyrillic
        *(_between(0xD2, 0xD6), b"\xd7"),  # Armenian, Hebrew
        *(b"\xd8", b"\xd9", _between(0xDA, 0xDF)),  # Arabic
        *(_between(0xE0, 0xE2), _between(0xE3, 0xEF), _between(0xF0, 0xFF)),
    ),
    Alphabet.THREE_BYTES: (
        *(_BLANK, _WORDS, _MARKS, _between(0xC2, 0xDF)),
        *(b"\xe0", b"\xe1", b"\xe2"),  # scripts of India, Thai; Vietnamese, Georgian; “ … €
        b"\xe3",  # kana
        *(b"\xe4", b"\xe5\xe6", b"\xe7\xe8", b"\xe9"),  # Han
        *(b"\xea\xeb", b"\xec\xed"),  # Hangul
        *(b"\xee\xef", _between(0xF0, 0xFF)),  # full-width forms, emoji
    ),
}

CLASSES: Final = 16
"""The number of classes in an alphabet, so that a class is a hexadecimal digit."""


def _table(classes: Iterable[Iterable[int]]) -> bytes:
    digits = b"0123456789abcdef"
    table = bytearray(digits[-1:] * 256)
    for digit, members in zip(digits, classes, strict=True):
        for member in members:
            table[member] = digit
    return bytes(table)


_TABLES: Final = tuple(_table(_BY_ALPHABET[alphabet]) for alphabet in Alphabet)
_LEFT_OUT: Final = _between(0x80, 0xBF)


def alphabet_of(characters: int, encoded: bytes) -> Alphabet:
    """The alphabet of a text by its number of characters and its UTF-8 form."""
    size = len(encoded)
    if size > characters * _TWO_BYTES_FROM:
        return Alphabet.TWO_BYTES if size <= characters * _THREE_BYTES_FROM else Alphabet.THREE_BYTES
    if size <= _SHORT:
        return Alphabet.LATIN
    start = max(0, len(encoded) - _LOOKED_AT) // 2
    middle = encoded[start : start + _LOOKED_AT]
    if b" " not in middle and b'"' not in middle:
        return Alphabet.UNBROKEN
    if middle.count(b'"') > len(middle) * _QUOTED_FROM:
        return Alphabet.LATIN
    digits = len(middle) - len(middle.translate(None, _DIGITS))
    return Alphabet.FIGURES if digits >= len(middle) * _FIGURES_FROM else Alphabet.LATIN


def classes_of(encoded: bytes, alphabet: Alphabet) -> bytes:
    """A hexadecimal digit for each character of a text in UTF-8."""
    return encoded.translate(_TABLES[alphabet], _LEFT_OUT)


def pairs_of(classes: bytes) -> tuple[bytes, bytes]:
    """All pairs of neighbours, one byte each: the pairs that start at even indices, and those at odd indices."""
    if len(classes) % 2:
        return unhexlify(classes[:-1]), unhexlify(classes[1:])
    return unhexlify(classes), unhexlify(classes[1:-1])


# ---- What a provider counts ----

COUNT_SECONDS: Final = 10.0
"""The seconds that a provider may take to count the texts of one request."""
_LONG: Final = 64 * 1024
"""Characters that are counted in one turn."""
_PART: Final = 256
"""What a part of a message counts beside its text."""
_MANY_TOOLS: Final = 256


async def count_all(
    provider: LanguageModelChatProvider,
    model: LanguageModelChatInformation,
    items: Iterable[str | ChatMessage],
    token: CancellationToken,
    is_providers_own: Callable[[BaseException, CancellationToken], bool],
) -> tuple[list[families.TokenCount], BaseException | None]:
    """The provider's counts of texts and messages, and its first error. An estimate replaces a failed count, because an
    error would end the turn, and every count after :data:`COUNT_SECONDS`.

    Args:
        is_providers_own: Tells the errors of the provider's code, which may raise anything, from the end of the task.
    """
    counts_at_once, failure = _is(provider, SourcedTokenCounts), list[BaseException]()
    now = asyncio.get_running_loop().time
    ends, turn = now() + COUNT_SECONDS, now()

    async def count(item: str | ChatMessage) -> families.TokenCount:
        nonlocal turn
        if now() - turn > TURN_SECONDS:  # a provider that counts by itself never waits
            await asyncio.sleep(0)
            turn = now()
        is_large = weight_of([item]) > LARGE_BYTES
        try:
            if is_large or not counts_at_once:  # what is large is read apart, and then known
                async with asyncio.timeout_at(ends):
                    said: Any = await provider.provide_token_count(model, item, token)
                counted = families.TokenCount(said, families.CountSource.COUNTED)
            if counts_at_once:
                counted = cast("Any", provider).token_count(model, item)
            return _checked(counted)
        except BaseException as error:
            if not is_providers_own(error, token):
                raise
            failure.append(error)
        counter = counter_of(model.family)
        work = partial(counter.count_text, item) if isinstance(item, str) else partial(counter.count_message, item)
        return await asyncio.to_thread(work) if is_large else work()

    counts: list[families.TokenCount] = []
    for item in items:
        pieces = [] if isinstance(item, str) else _pieces_of(item)
        # A provider that learns knows whole messages.
        if isinstance(item, str) or len(pieces) == 1 or _is(provider, CorrectsTokenCounts):
            counts.append(await count(item))
            continue
        around = (await count(replace(item, content=()))).tokens  # it is counted once
        counted = sum([await count(piece) for piece in pieces], families.NO_TOKENS)
        counts.append(families.TokenCount(counted.tokens - around * (len(pieces) - 1), counted.source))
    return counts, next(iter(failure), None)


async def tokens_around(family: str, tools: Sequence[Tool]) -> int:
    """The tokens of a request beside its messages: of its tools, and of what is around all."""
    if not tools:
        return _tokens_of_nothing(family)
    count = partial(counter_of(family).count_request, (), tools)
    are_few = len(tools) <= _MANY_TOOLS and not is_long([tool.input_schema for tool in tools], _LONG)
    return (count() if are_few else await asyncio.to_thread(count)).tokens


@lru_cache(maxsize=64)
def _tokens_of_nothing(family: str) -> int:
    return counter_of(family).count_request(()).tokens


async def counted_usage(
    messages: Sequence[families.TokenCount], length: float, family: str, tools: Sequence[Tool]
) -> parts.Usage:
    """The tokens of an answer whose provider reported none: of the messages with the answer as the last, or with its
    beginning, whose text is to the whole as 1 to `length`."""
    *prompt, answer = (one.tokens for one in messages)
    given, completion = sum(prompt) + await tokens_around(family, tools), round(answer * length)
    return parts.Usage(given, completion, given + completion)


def _is(provider: object, ability: type) -> bool:
    """Whether a provider has an ability; False if looking that up fails, for example in a property."""
    try:
        return isinstance(provider, ability)
    except BaseException as error:
        _logger.warning("a provider failed when its abilities were looked up: %s", type(error).__name__)
        return False


def _checked(count: families.TokenCount) -> families.TokenCount:
    """A provider's count; a TypeError where it is no number of tokens."""
    tokens = as_count(count.tokens)
    if tokens is None:
        raise TypeError(f"the token count is {count.tokens!r:.80}, expected a whole number from 0 to {MOST_TOKENS:,}")
    return families.TokenCount(tokens, families.CountSource(count.source))


def _pieces_of(item: ChatMessage) -> list[ChatMessage]:
    """A message of many parts as several, which take a turn each."""
    pieces: list[list[parts.MessagePart]] = [[]]
    left = _LONG
    for part in item.content:
        left -= _PART + (len(part.value) if isinstance(part, parts.TextPart) else 0)
        if left < 0 and pieces[-1]:
            pieces.append([])
            left = _LONG
        pieces[-1].append(part)
    return [item] if len(pieces) == 1 else [replace(item, content=tuple(piece)) for piece in pieces]


# ---- What hosts ask of a provider beside VS Code's plain numbers ----


@runtime_checkable
class SourcedTokenCounts(Protocol):
    """Counts tokens with their source, at once and without waiting."""

    def token_count(self, model: LanguageModelChatInformation, text: str | ChatMessage) -> families.TokenCount:
        """The tokens that `text` takes in a prompt for `model`."""


@runtime_checkable
class CorrectsTokenCounts(Protocol):
    """Learns how its models count.

    Attributes:
        on_did_correct_token_counts: Fires with a family when the counts of its texts have noticeably changed: kept
            counts are no longer right.
    """

    on_did_correct_token_counts: Event[str]


@runtime_checkable
class FactoredTokenCounts(Protocol):
    """States the factor that corrects its estimates."""

    def token_count_factor(self, model: LanguageModelChatInformation) -> float:
        """The factor that multiplies estimates for `model`; 1 before anything is learned."""


@runtime_checkable
class LedgerUser(Protocol):
    """A provider with answers that take several requests to a model, of which a host sees only the last.

    A host that has a ledger gives it to such a provider when it loads it. Agents are such providers; a host that loads
    one does not import them for that.
    """

    def use_ledger(self, ledger: Ledger, /) -> None:
        """Enters the usage of all later answers into the ledger; its owner closes it."""
