"""The prompt cache of a served model: what requests have written, and which tokens of the next one are read from it.

A cache holds beginnings of prompts, not prompts: each by the digest of all blocks up to a mark. How long a vendor keeps
them is left out, because nobody here waits for minutes.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from partstream.errors import CallerError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.protocols.cached_prompt import CachedPrompt, CacheRule

__all__ = ["Bill", "PromptCache", "TooManyMarksError"]


class TooManyMarksError(CallerError):
    """A request has more marks than its server takes.

    Attributes:
        found: The number of its marks.
        most: The number that the server takes.
    """

    def __init__(self, found: int, most: int) -> None:
        super().__init__(f"a maximum of {most} blocks may be marked, found {found}")
        self.found = found
        self.most = most


@dataclass(frozen=True, slots=True)
class Bill:
    """What one request costs.

    Attributes:
        uncached: The tokens at the full price.
        read: The tokens that were read from the cache.
        written: The tokens that were written into it.
    """

    uncached: int
    read: int
    written: int

    @property
    def tokens(self) -> int:
        """The length of the prompt."""
        return self.uncached + self.read + self.written

    def price(self, rule: CacheRule) -> float:
        """The price, in tokens of uncached input."""
        return self.uncached + self.read * rule.read_price + self.written * rule.write_price


class _Beginning(NamedTuple):
    """The beginning of a prompt, up to and with a block."""

    digest: bytes
    tokens: int


class PromptCache:
    """The caches of the models of one server; serves any number of requests, in the order in which they came."""

    def __init__(self) -> None:
        self._kept: set[bytes] = set()

    def bill(self, prompt: CachedPrompt) -> Bill:
        """What a request costs; keeps what it writes.

        Raises:
            TooManyMarksError: It has more marks than its server takes.
        """
        rule, beginnings = prompt.rule, _beginnings(prompt)
        ends = _ends(prompt)
        if not rule.is_automatic and rule.most_marks is not None and len(ends) > rule.most_marks:
            raise TooManyMarksError(len(ends), rule.most_marks)
        from_ends = ends if rule.look_back is not None else ends[-1:]
        read = max((self._found(beginnings, end, rule) for end in from_ends), default=0)
        kept = [beginnings[end] for end in ends if beginnings[end].tokens >= rule.least_tokens]
        self._kept.update(one.digest for one in kept)
        written = max(0, max((one.tokens for one in kept), default=0) - read)
        if rule.is_automatic:  # nothing is paid for it, so that no vendor reports it
            return Bill(prompt.tokens - read, read, 0)
        return Bill(prompt.tokens - read - written, read, written)

    def _found(self, beginnings: Sequence[_Beginning], end: int, rule: CacheRule) -> int:
        """The tokens of the longest kept beginning that is found from a mark backwards."""
        first = -1 if rule.look_back is None else max(-1, end - rule.look_back)
        places = range(end, first, -1)
        return next((beginnings[place].tokens for place in places if beginnings[place].digest in self._kept), 0)


def _ends(prompt: CachedPrompt) -> list[int]:
    """The indices of the blocks behind which the server keeps the beginning of the prompt."""
    return [index for index, block in enumerate(prompt.blocks) if prompt.rule.is_automatic or block.is_marked]


def _beginnings(prompt: CachedPrompt) -> list[_Beginning]:
    lengths = accumulate(block.tokens for block in prompt.blocks)
    start = hashlib.sha256(prompt.model.encode(errors="surrogatepass")).digest()
    digests = list(accumulate((block.digest for block in prompt.blocks), _chained, initial=start))[1:]
    return [_Beginning(digest, length) for digest, length in zip(digests, lengths, strict=True)]


def _chained(before: bytes, digest: bytes) -> bytes:
    return hashlib.sha256(before + digest).digest()
