"""What Anthropic's own models take, line by line (docs/wires/anthropic-messages.md#thinking-by-model).

The replay upstream refuses and bills by these rows. The writer of requests uses what a server lists, and these rows
where it lists nothing (:mod:`partstream.protocols.anthropic_messages.model_table`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from partstream.conversation.capabilities import ThinkingForm

__all__ = ["ModelRow", "row_of"]

_LOW_TO_HIGH: Final = ("low", "medium", "high")
_TO_MAX: Final = (*_LOW_TO_HIGH, "max")
_ALL: Final = (*_LOW_TO_HIGH, "xhigh", "max")
_BOTH: Final = (ThinkingForm.ADAPTIVE, ThinkingForm.BUDGET)
_ADAPTIVE: Final = (ThinkingForm.ADAPTIVE,)
_BUDGET: Final = (ThinkingForm.BUDGET,)


@dataclass(frozen=True, slots=True)
class ModelRow:
    """What the models of one line take.

    Attributes:
        line: The part of an id that names the line.
        forms: The ways in which it can be asked to think.
        efforts: The levels of effort, lowest first; empty where it has none.
        takes_disabled: The efforts with which thinking may be switched off; with an effort beside them it is refused.
        samples: Whether temperature and its like may be chosen while it does not think.
        shows_thinking: Whether the text of thinking is shown where a request does not say how.
        interleaves_by_beta: Whether it thinks between calls only where a beta asks for it.
        keeps_thinking: Whether thinking of finished turns is kept; otherwise its server strips it.
        takes_prefill: Whether a conversation may end with the beginning of an answer.
        takes_system_messages: Whether messages of the system may stand inside the conversation.
        min_cached_tokens: The least tokens of a prefix that goes into the prompt cache.
        max_output_tokens: The most tokens of an answer.
        context_window: The most tokens of prompt and answer together.
    """

    line: str
    forms: tuple[ThinkingForm, ...]
    efforts: tuple[str, ...]
    takes_disabled: tuple[str, ...] = _ALL
    samples: bool = False
    shows_thinking: bool = False
    interleaves_by_beta: bool = False
    keeps_thinking: bool = True
    takes_prefill: bool = False
    takes_system_messages: bool = False
    min_cached_tokens: int = 1024
    max_output_tokens: int = 128_000
    context_window: int = 1_000_000


def _older(line: str, efforts: tuple[str, ...], *, keeps_thinking: bool, min_cached_tokens: int) -> ModelRow:
    """A model of 4.5, before adaptive thinking."""
    return ModelRow(
        line,
        _BUDGET,
        efforts,
        samples=True,
        shows_thinking=True,
        interleaves_by_beta=not line.startswith("haiku"),
        keeps_thinking=keeps_thinking,
        takes_prefill=True,
        min_cached_tokens=min_cached_tokens,
        max_output_tokens=64_000,
        context_window=200_000,
    )


_ROWS: Final = (
    ModelRow("fable-5", _ADAPTIVE, _ALL, (), takes_system_messages=True, min_cached_tokens=512),
    ModelRow("mythos-5", _ADAPTIVE, _ALL, (), takes_system_messages=True, min_cached_tokens=512),
    ModelRow("opus-5", _ADAPTIVE, _ALL, _LOW_TO_HIGH, takes_system_messages=True, min_cached_tokens=512),
    ModelRow("sonnet-5", _ADAPTIVE, _ALL),
    ModelRow("opus-4-8", _ADAPTIVE, _ALL, takes_system_messages=True),
    ModelRow("opus-4-7", _ADAPTIVE, _ALL, min_cached_tokens=2048),
    ModelRow("opus-4-6", _BOTH, _TO_MAX, samples=True, shows_thinking=True, min_cached_tokens=4096),
    ModelRow("sonnet-4-6", _BOTH, _TO_MAX, samples=True, shows_thinking=True),
    _older("opus-4-5", _LOW_TO_HIGH, keeps_thinking=True, min_cached_tokens=4096),
    _older("sonnet-4-5", (), keeps_thinking=False, min_cached_tokens=1024),
    _older("haiku-4-5", (), keeps_thinking=False, min_cached_tokens=4096),
)


def row_of(model_id: str) -> ModelRow | None:
    """The row of a model; None for one that is not among them.

    Args:
        model_id: The id as any server writes it, such as `claude-opus-4-7` or `anthropic/claude-opus-4.7`.
    """
    name = model_id.replace(".", "-")
    return next((row for row in _ROWS if re.search(rf"\b{row.line}(?!\d)", name)), None)
