"""The first events of a recording, looked at without reading an answer of them: they tell its protocol."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import JSONDecodeError, begun_object, loads
from partstream.protocols.protocol import loadable_protocols
from partstream.protocols.recognition import NamedEvent, stream_of_another

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from partstream.protocols.protocol import Framing, Protocol

__all__ = ["RecordingStart", "has_events", "types_of"]

_LOOKED_AT: Final = 100
"""Events, for telling the protocol."""
_PIECE: Final = 65536
"""Bytes of a recording that are decoded at a time for that."""


class RecordingStart:
    """The first events of a recording.

    Args:
        data: The whole recording.
        framing: How its events are told apart.
        apparent: How they are told apart as far as its name and its first bytes show, where that may be otherwise.

    Attributes:
        rows: The protocols whose events are told apart in this way.
        events: The JSON objects among the first events.
        is_cut: Whether the recording ends inside its first event.
    """

    def __init__(self, data: bytes, framing: Framing, apparent: Framing | None = None) -> None:
        self.rows = [row for row in loadable_protocols()[0].values() if framing.name in _names(row)]
        self.events = tuple(_first_events(data, framing))
        self.is_cut = _is_cut(data, framing)
        self._begun = tuple(_begun_event(data, framing)) if self.is_cut and not self.events else ()
        other = apparent is not None and apparent.name != framing.name
        self._apparent = RecordingStart(data, apparent) if apparent is not None and other else None

    @property
    def shown(self) -> tuple[NamedEvent, ...]:
        """The events; without any, what is there of the first one."""
        if self._apparent is not None and self._apparent.shown:
            return self._apparent.shown
        return self.events or self._begun

    @property
    def is_framed_otherwise(self) -> bool:
        """Whether events are there in the framing that its name and its first bytes show, and that one is another."""
        return self._apparent is not None and bool(self._apparent.shown)

    def stream_of_another(self, row: Protocol) -> str | None:
        """The title of the wire that the events are surely of, where it is another."""
        if self._apparent is not None:
            return self._apparent.stream_of_another(row)
        return stream_of_another(self.rows, row, self.shown)


def _names(row: Protocol) -> set[str]:
    return {framing.name for framing in row.framings}


def types_of(events: Iterable[NamedEvent]) -> list[str]:
    """What events say of their kind, each once, in order."""
    return list(dict.fromkeys(kind for name, event in events if (kind := _type_of(event) or name)))


def _type_of(event: dict[str, Any]) -> str:
    kind = event.get("type")
    return kind if isinstance(kind, str) else ""


def _decoded(data: bytes, framing: Framing) -> Iterator[tuple[bytes, bytes]]:
    """The first events as their decoder gives them, name and data; the last may be cut."""
    decoder = framing.make_decoder()
    for start in range(0, len(data), _PIECE):
        yield from decoder.feed(data[start : start + _PIECE])
    yield from decoder.end()


def _first_events(data: bytes, framing: Framing) -> Iterator[NamedEvent]:
    """The JSON objects among the first events, each with the name in the line before it."""
    for name, payload in islice(_decoded(data, framing), _LOOKED_AT):
        try:
            event = loads(payload)
        except JSONDecodeError:
            continue
        if isinstance(event, dict):
            yield NamedEvent(name.decode(errors="replace"), event)


def _begun_event(data: bytes, framing: Framing) -> Iterator[NamedEvent]:
    """What is there of a first event that is cut."""
    for name, payload in islice(_decoded(data, framing), 1):
        event, said = begun_object(payload), name.decode(errors="replace")
        if event is not None:
            if said.startswith(_type_of(event)):  # the line before it is whole
                event.pop("type", None)
            yield NamedEvent(said, event)


def has_events(data: bytes, framing: Framing) -> bool:
    """Whether the bytes hold a JSON object as an event in a framing."""
    return next(_first_events(data, framing), None) is not None


def _is_cut(data: bytes, framing: Framing) -> bool:
    """Tells whether the recording ends inside its first event, so that nothing shows its protocol."""
    begins = data.lstrip(b"\xef\xbb\xbf \t\r\n")
    is_begun = begins.startswith(framing.begins) or any(one.startswith(begins) for one in framing.begins)
    if not is_begun or data.endswith(framing.event_ends):
        return False
    return not begins.rstrip().endswith(b"}") or next(_begun_event(data, framing), None) is not None
