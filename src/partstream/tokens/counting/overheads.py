"""The tokens in a prompt beside the texts: around messages, tools and the answer; a table by family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from partstream.tokens.counting.vocabularies import longest_match

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OVERHEADS", "Overheads", "overheads_of"]


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
