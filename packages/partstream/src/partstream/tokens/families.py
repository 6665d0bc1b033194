"""What is known of a model family: tables by the beginning of its name; knows no way of counting.

The longest matching beginning wins. The tables hold the vocabularies and the overheads around messages and tools;
those of files are in :mod:`partstream.tokens.files`. A family without a row is estimated with one of today's large
vocabularies; calibration learns the difference, because an unpublished ratio would be invented.
"""

from __future__ import annotations
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, TypeVar

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
