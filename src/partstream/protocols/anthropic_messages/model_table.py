"""What a model takes: by its server's list, else by its name (docs/wires/anthropic-messages.md#models-and-counting).

The rows of the models themselves are in :mod:`.model_rows`; here are those that are older, or newer than the rows.

What a list says wins over what a row says, see :func:`abilities_of`. A server behind a gateway or a cloud has the same
names with something around them: `us.anthropic.claude-opus-4-5-20251101-v1:0`, `anthropic/claude-opus-4.6`,
`claude-sonnet-4-5@20250929`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, TypeAlias

from partstream.conversation.capabilities import ContextEdit, ThinkingForm
from partstream.protocols.anthropic_messages.model_rows import row_of

if TYPE_CHECKING:
    from partstream.conversation.capabilities import ModelCapabilities
    from partstream.protocols.anthropic_messages.model_rows import ModelRow

__all__ = ["MILLION", "Abilities", "Sampling", "abilities_of"]

MILLION: Final = 1_000_000


class Sampling(Enum):
    """Whether a model takes `temperature`, `top_p` and `top_k` (docs/wires/anthropic-messages.md#thinking-by-model)."""

    TAKEN = auto()
    NOT_WHILE_THINKING = auto()
    """While it thinks, `top_p` alone, from 0.95 to 1."""
    REFUSED = auto()


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a model takes in a request.

    Attributes:
        is_claude: Whether it is one of Anthropic's models.
        thinking: The forms of thinking; None where nobody knows.
        can_stop_thinking: Whether it can be asked not to think.
        efforts: The levels of effort, lowest first; None where nobody knows.
        sampling: Whether it takes sampling parameters.
        max_tokens: The most tokens of an answer; None where nobody knows.
        window: The most tokens of prompt and answer together; None where nobody knows.
        reserves: Whether the prompt and `max_tokens` together have to fit into the window.
        interleaves_by_beta: Whether it thinks between calls only when a beta asks for it.
        takes_system_turns: Whether `system` may come between others (docs/wires/anthropic-messages.md#system-messages).
        keeps_thinking: Whether the thinking of finished turns stays in the prompt.
        edits: What its server can do to shorten a conversation; None where nobody knows.
    """

    is_claude: bool = False
    thinking: tuple[ThinkingForm, ...] | None = None
    can_stop_thinking: bool = True
    efforts: tuple[str, ...] | None = None
    sampling: Sampling = Sampling.TAKEN
    max_tokens: int | None = None
    window: int | None = None
    reserves: bool = False
    interleaves_by_beta: bool = False
    takes_system_turns: bool = False
    keeps_thinking: bool = True
    edits: tuple[ContextEdit, ...] | None = None


_UNKNOWN: Final = Abilities()

_LOW_TO_HIGH: Final = ("low", "medium", "high")
_CLEARS: Final = (ContextEdit.CLEAR_THINKING, ContextEdit.CLEAR_TOOL_RESULTS)
_ALL_EDITS: Final = (*_CLEARS, ContextEdit.SUMMARIZE)

_NEWER: Final = Abilities(
    is_claude=True,
    thinking=(ThinkingForm.ADAPTIVE,),
    efforts=(*_LOW_TO_HIGH, "xhigh", "max"),
    sampling=Sampling.REFUSED,
    max_tokens=128_000,
    window=MILLION,
    edits=_ALL_EDITS,
)
_FOUR: Final = Abilities(
    is_claude=True,
    thinking=(ThinkingForm.BUDGET,),
    efforts=(),
    sampling=Sampling.NOT_WHILE_THINKING,
    max_tokens=64_000,
    window=200_000,
    reserves=True,
    interleaves_by_beta=True,
    keeps_thinking=False,
    edits=_CLEARS,
)
_THREE_SEVEN: Final = replace(_FOUR, interleaves_by_beta=False, edits=())
_THREE: Final = replace(_THREE_SEVEN, thinking=(), sampling=Sampling.TAKEN, max_tokens=4096)

_Version: TypeAlias = tuple[int, int]

_OTHERS: Final[tuple[tuple[str, _Version, Abilities], ...]] = (
    ("fable|mythos", (0, 0), replace(_NEWER, can_stop_thinking=False, takes_system_turns=True)),
    (".*", (4, 6), _NEWER),
    ("opus", (4, 0), replace(_FOUR, max_tokens=32_000)),
    (".*", (4, 0), _FOUR),
    (".*", (3, 7), _THREE_SEVEN),
    (".*", (3, 5), replace(_THREE, max_tokens=8192)),
    (".*", (0, 0), _THREE),
)
"""Models that have no row of their own, by family and the first version; the first row that fits counts. A model that
is newer than the rows is taken to be like the newest."""

_NAMED_FIRST: Final = re.compile(r"claude-(?P<family>[a-z]+)-(?P<major>\d{1,2})(?:-(?P<minor>\d{1,2}))?(?!\d)")
_NUMBERED_FIRST: Final = re.compile(r"claude-(?P<major>\d{1,2})(?:-(?P<minor>\d{1,2}))?-(?P<family>[a-z]+)")
_UNNUMBERED: Final = re.compile(r"claude-(?P<family>fable|mythos)")


def abilities_of(model_id: str, known: ModelCapabilities) -> Abilities:
    """What a model takes.

    Args:
        model_id: The model's id on the server.
        known: What its server's list says of it, which wins.
    """
    named = _by_name(model_id)
    forms = known.thinking_forms
    if forms is None and known.reasoning is False:
        forms = ()
    return replace(
        named,
        thinking=named.thinking if forms is None else forms,
        can_stop_thinking=named.can_stop_thinking if known.can_stop_thinking is None else known.can_stop_thinking,
        efforts=named.efforts if known.reasoning_efforts is None else known.reasoning_efforts,
        max_tokens=known.max_output_tokens or named.max_tokens,
        window=known.context_window or named.window,
        edits=named.edits if known.context_edits is None else known.context_edits,
    )


def _by_name(model_id: str) -> Abilities:
    name = model_id.lower().replace(".", "-").replace("_", "-")
    if (row := row_of(name)) is not None:
        return _of_row(row)
    found = _NAMED_FIRST.search(name) or _NUMBERED_FIRST.search(name)
    if found is None:
        found = _UNNUMBERED.search(name)
        return _UNKNOWN if found is None else _row(found["family"], (0, 0))
    return _row(found["family"], (int(found["major"]), int(found["minor"] or 0)))


def _row(family: str, version: _Version) -> Abilities:
    return next(row for families, since, row in _OTHERS if version >= since and re.fullmatch(families, family))


def _of_row(row: ModelRow) -> Abilities:
    return Abilities(
        is_claude=True,
        thinking=row.forms,
        can_stop_thinking=bool(row.takes_disabled),
        efforts=row.efforts,
        sampling=Sampling.NOT_WHILE_THINKING if row.samples else Sampling.REFUSED,
        max_tokens=row.max_output_tokens,
        window=row.context_window,
        interleaves_by_beta=row.interleaves_by_beta,
        takes_system_turns=row.takes_system_messages,
        keeps_thinking=row.keeps_thinking,
        edits=_ALL_EDITS if ThinkingForm.ADAPTIVE in row.forms else _CLEARS,
    )
