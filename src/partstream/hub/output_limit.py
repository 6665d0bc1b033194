"""The longest answer that a request asks for, in the words of every wire, and the same request with a shorter one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from partstream.numbers import as_count

if TYPE_CHECKING:
    from partstream.outputs import InboundRequest

__all__ = ["asked_output", "is_plain_limit", "with_output_limit"]

_NAMES: Final = frozenset(
    {"max_output_tokens", "max_completion_tokens", "max_tokens", "maxOutputTokens", "maxTokens", "num_predict"}
)
"""What the wires call the most tokens of an answer."""
_NOT_EVERYWHERE: Final = frozenset({"num_predict"})
"""Those of them that only the writer of their own wire understands."""
_NAME: Final = "max_output_tokens"
"""The name that every wire's writer takes, whichever wire the request came from; a test tries all pairs."""


def asked_output(asked: InboundRequest) -> int | None:
    """The most tokens of the answer that a request asks for; of several, the smallest. None if it does not say."""
    said = (as_count(value) for name, value in asked.options.model_options.items() if name in _NAMES)
    return min((one for one in said if one), default=None)


def is_plain_limit(asked: InboundRequest) -> bool:
    """Whether a request says its limit once, as a whole number, and by a name that every wire's writer understands.

    Otherwise an upstream may be sent another limit than :func:`asked_output` reads, or none.
    """
    said = {name: value for name, value in asked.options.model_options.items() if name in _NAMES}
    return len(said) == 1 and all(type(value) is int and name not in _NOT_EVERYWHERE for name, value in said.items())


def with_output_limit(asked: InboundRequest, tokens: int) -> InboundRequest:
    """The same request with this limit in the place of every other."""
    options = asked.options
    kept = {name: value for name, value in options.model_options.items() if name not in _NAMES}
    return replace(asked, options=replace(options, model_options={**kept, _NAME: tokens}))
