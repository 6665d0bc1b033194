"""The vocabularies of model families: a table by the beginning of the family's name; knows no way of counting.

The longest matching beginning wins. A family without a row is estimated with one of today's large vocabularies;
calibration learns the difference, because an unpublished ratio would be invented.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["VOCABULARIES", "Vocabulary", "exact_vocabulary", "longest_match", "normal_family", "vocabulary_of"]

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
