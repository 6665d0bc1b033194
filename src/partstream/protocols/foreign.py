"""Recognizes streams that no protocol here reads, so that an error can name them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from partstream.protocols.serve import WireEvent

__all__ = ["name_of_stream"]


_CONVERSE_FIELDS: Final = frozenset({"messageStart", "contentBlockStart", "contentBlockDelta", "messageStop"})


def _is_converse_event(event: WireEvent) -> bool:
    return not _CONVERSE_FIELDS.isdisjoint(event)


_SIGNS: Final[tuple[tuple[str, Callable[[WireEvent], bool]], ...]] = (("Bedrock Converse", _is_converse_event),)
"""The name of a wire, and whether an event is one of its events."""


def name_of_stream(events: Iterable[WireEvent]) -> str | None:
    """The name of the stream that the events belong to, by the first event that shows it; None if no event does."""
    return next((name for event in events for name, is_sign in _SIGNS if is_sign(event)), None)
