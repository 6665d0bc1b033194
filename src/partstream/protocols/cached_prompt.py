"""A request as the prompt cache of its server sees it: blocks in the order of the prompt, marks, and the vendor's rule.

A protocol's folder reads a request this way (:attr:`partstream.protocols.protocol.ReadRequest.cached_prompt`);
:mod:`partstream.testing.prompt_cache` keeps what was written, and says what a request costs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from partstream.json_codec import dumps

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["OPENAI_RULE", "CacheRule", "CachedPrompt", "PromptBlock", "block_of", "listed_blocks", "tokens_of"]

_BYTES_PER_TOKEN: Final = 4


@dataclass(frozen=True, slots=True)
class PromptBlock:
    """One block of a prompt.

    Attributes:
        digest: What tells its content from any other, with everything that makes the server forget what follows.
        tokens: Its length.
        is_marked: Whether the request asks to write everything up to here into the cache.
    """

    digest: bytes
    tokens: int
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class CacheRule:
    """How a vendor's cache works, and what it costs.

    Attributes:
        least_tokens: The shortest beginning of a prompt that is kept, in tokens.
        is_automatic: Whether every beginning is kept, without marks.
        look_back: In how many blocks, from a mark backwards and with the mark's own, an earlier beginning is found;
            None for any number.
        most_marks: How many marks a request may have; None for any number.
        write_price: The price of a token that is written, as a share of the price of a token of input.
        read_price: The price of a token that is read, likewise.
    """

    least_tokens: int
    is_automatic: bool = False
    look_back: int | None = None
    most_marks: int | None = None
    write_price: float = 1.0
    read_price: float = 0.1


OPENAI_RULE: Final = CacheRule(1024, is_automatic=True)
"""What OpenAI keeps and takes, and servers that say so of themselves (xAI, Mistral); not all of them the same price.

Source: OpenAI cookbook "Prompt Caching 201", for models before GPT-5.6.
"""


@dataclass(frozen=True, slots=True)
class CachedPrompt:
    """The prompt of a request.

    Attributes:
        blocks: Its blocks, in the order in which the server puts them before its model.
        rule: The rule of the server for the model.
        model: The model: each has a cache of its own.
    """

    blocks: tuple[PromptBlock, ...]
    rule: CacheRule
    model: str = ""

    @property
    def tokens(self) -> int:
        """The length of the whole prompt."""
        return sum(block.tokens for block in self.blocks)


def tokens_of(value: Any) -> int:
    """The tokens of a JSON value by a rule that is easy to compute by hand: its bytes divided by four, rounded up."""
    said = value.encode(errors="surrogatepass") if isinstance(value, str) else dumps(value)
    return -(-len(said) // _BYTES_PER_TOKEN)


def block_of(value: Any, *beside: Any, ignored: Iterable[str] = (), is_marked: bool = False) -> PromptBlock:
    """The block of a JSON value, whose objects keep the order of their names: servers compare texts.

    Args:
        value: The value.
        beside: What makes it another block, such as the role of its message, and is not counted.
        ignored: Names of fields of the value that are no part of the prompt, such as that of the mark itself.
        is_marked: Whether the request asks to write everything up to here.
    """
    if isinstance(value, Mapping):
        value = {name: said for name, said in value.items() if name not in set(ignored)}
    digest = hashlib.sha256(dumps([value, *beside])).digest()
    return PromptBlock(digest, tokens_of(value), is_marked)


def listed_blocks(body: Mapping[str, Any], names: Iterable[str]) -> tuple[PromptBlock, ...]:
    """The blocks of a body in which everything stands in lists: one for each entry, and one for any other value.

    Args:
        body: The body.
        names: The names of its fields, in the order of the prompt.
    """
    return tuple(
        block_of(one, name)
        for name in names
        if (said := body.get(name))
        for one in (said if isinstance(said, list) else [said])
    )
