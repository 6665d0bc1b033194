"""The dummy in place of signatures that are missing: without one, Gemini 3 and later refuse a call of the current turn.

Source: docs/wires/gemini.md#unsigned-calls. A signature is missing where another model made the call, or a host has
lost it. Steps of finished turns are not checked, and stay bare.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.gemini.carried_items import SIGNATURE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.protocols.gemini.attachments import Wire

__all__ = ["DUMMY", "with_dummies"]

DUMMY: Final = "skip_thought_signature_validator"
"""Google's own word for a signature that nobody has."""

_CALL: Final = "functionCall"
_RESPONSE: Final = "functionResponse"


def with_dummies(contents: Sequence[Wire]) -> list[Wire]:
    """The contents with the dummy on the first call of each step of the current turn, where that has no signature."""
    begin = _begin_of_turn(contents)
    return [*contents[:begin], *(_signed(content) if _is_step(content) else content for content in contents[begin:])]


def _begin_of_turn(contents: Sequence[Mapping[str, Any]]) -> int:
    """The index behind the last content of the user that holds more than results of tools."""
    said = (
        index
        for index, content in enumerate(contents)
        if content["role"] == "user" and not all(_RESPONSE in part for part in content["parts"])
    )
    return max(said, default=-1) + 1


def _is_step(content: Mapping[str, Any]) -> bool:
    return content["role"] == "model" and any(_CALL in part for part in content["parts"])


def _signed(content: Wire) -> Wire:
    parts = list(content["parts"])
    first = next(index for index, part in enumerate(parts) if _CALL in part)
    if SIGNATURE not in parts[first]:
        parts[first] = parts[first] | {SIGNATURE: DUMMY}
    return {**content, "parts": parts}
