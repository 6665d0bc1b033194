"""Finds out what the bytes of a response are as they come: their protocol and framing, or why they are no response.

Sans-IO. :class:`WireFinder` keeps bytes until the first event that shows its protocol. A decision depends on the bytes
alone and never on how they were cut: the framing on the first sixteen bytes, the protocol on event after event.

Each protocol claims events (:meth:`partstream.protocols.read_response.ResponseReader.claim`). One event tells little:
an error or a ping occurs in the streams of many wires. So the first event counts that a protocol is sure of, and
otherwise the protocol that most events may belong to (:class:`ProtocolMatcher`). Streams that no protocol here reads
are recognized too, so that an error can name them.

:func:`explanation` says what the bytes are of which the reader of a protocol has understood nothing.
"""

from __future__ import annotations
import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from partstream import errors
from partstream.codec.json_codec import begun_object, loads_or_none
from partstream.codec.sse import DEFAULT_MAX_EVENT_SIZE, BareJSONDecoder, EventDecoder, ServerSentEvent
from partstream.codec.text import plain_html
from partstream.lm.outputs import Finish, StreamOptions, StreamOutput, Unmapped
from partstream.protocols import protocol
from partstream.protocols.read_response import LifecycleState, MatchConfidence
from partstream.protocols.serve import WireEvent

_CONVERSE_FIELDS: Final = frozenset({"messageStart", "contentBlockStart", "contentBlockDelta", "messageStop"})


def name_of_stream(events: Iterable[WireEvent]) -> str | None:
    """The name of the stream that the events belong to, for a wire that no protocol here reads; None if none shows."""
    return "Bedrock Converse" if any(not _CONVERSE_FIELDS.isdisjoint(event) for event in events) else None


# ---- Claims ----


class NamedEvent(NamedTuple):
    """An event of a recording, with its name in the line before it; the name is empty without such a line."""

    name: str
    event: WireEvent


class Claims(NamedTuple):
    """How many of some events are surely of a protocol, how many may be, and how many there are."""

    sure: int
    possible: int
    of: int

    @property
    def any(self) -> bool:
        """Whether one event at least may be of it."""
        return bool(self.sure or self.possible)


def claims_of(row: protocol.Protocol, events: Iterable[NamedEvent]) -> Claims:
    """What a protocol claims of events."""
    claimed = [_claim(row, one) for one in events]
    return Claims(claimed.count(MatchConfidence.SURE), claimed.count(MatchConfidence.POSSIBLE), len(claimed))


class ProtocolMatcher:
    """Tells which protocol events are of, event by event: the one rule for streams, recordings and clients.

    Args:
        rows: The protocols that may be meant, the most likely one first.

    Attributes:
        sure: The first protocol that is sure of an event; None so far.
        seen: How many events were looked at until then.
    """

    def __init__(self, rows: Sequence[protocol.Protocol]) -> None:
        self.sure: protocol.Protocol | None = None
        self.seen = 0
        self._rows = rows
        self._possible = [0] * len(rows)

    def add(self, event: NamedEvent) -> protocol.Protocol | None:
        """Looks at the next event; returns the protocol that is sure of one."""
        if self.sure is not None:
            return self.sure
        self.seen += 1
        for place, row in enumerate(self._rows):
            claim = _claim(row, event)
            if claim is MatchConfidence.SURE:
                self.sure = row
                return row
            self._possible[place] += claim is MatchConfidence.POSSIBLE
        return None

    @property
    def told(self) -> protocol.Protocol | None:
        """The protocol that is sure of an event; else the one that may have most of them, half of them at least."""
        if self.sure is not None or not self._rows:
            return self.sure
        most = max(self._possible)
        return self._rows[self._possible.index(most)] if most and most * 2 >= self.seen else None


def _claim(row: protocol.Protocol, named: NamedEvent) -> MatchConfidence:
    return row.read_response().claim(row.kind(named.event) or named.name or None, named.event)


# ---- Finding ----

LOOKED_AT: Final = 16 * 1024
"""Bytes at the beginning of an answer that are looked at to say what it is."""
MOST_BEGUN: Final = 20
"""Events at the beginning of an answer that are kept to say what it is."""
_MOST_EVENTS: Final = 100
"""Events that are looked at until one shows the protocol."""
_MOST_BYTES: Final = DEFAULT_MAX_EVENT_SIZE
"""Bytes that are kept until then: those of the largest event."""
_PIECE: Final = 64 * 1024
"""Bytes that are decoded at a time: nothing is decoded after the event that tells."""
_TELLS_FRAMING: Final = 16
_BLANKS: Final = b"\xef\xbb\xbf \t\r\n"
_GZIP: Final = b"\x1f\x8b"
_BEGINS_LINE: Final = re.compile(rb"[0-9a-z](:|\Z)|(data|event|id|retry)[\r\n]")
"""A line of the AI SDK's data stream, or a field of an event without a value."""
_TITLE: Final = re.compile(r"<title[^<>]{0,400}>([^<]{0,400})", re.IGNORECASE)
_SHOWN: Final = 60
"""Characters of a beginning or a title in a message."""
_SHOWN_TYPES: Final = 3


class WireFinder:
    """Finds out what the bytes of one answer are.

    Args:
        framing: How the stream separates its events; None to find it out too.

    Attributes:
        row: The protocol, once it is found.
        is_json: Whether the bytes begin as JSON, and not as events with fields.
        events: The JSON objects that were looked at.
        document: The JSON document in place of a stream, which only the protocol's own rule for documents reads; None
            for everything else.
    """

    def __init__(self, framing: protocol.Framing | None = None) -> None:
        self.data = bytearray()
        self.row: protocol.Protocol | None = None
        self.framing = framing
        self.is_json = False
        self.events: list[NamedEvent] = []
        self.document: bytes | None = None
        self._head: bytes | None = b""  # the first bytes that are no blank, until they tell the framing
        self._rows: list[protocol.Protocol] = []
        self._decoder: EventDecoder | None = None
        self._telling = ProtocolMatcher(())
        self._is_over = False

    def feed(self, data: bytes) -> bool:
        """Takes more bytes; returns whether it is decided what they are, or that they are nothing known."""
        looked = data[: max(_MOST_BYTES - len(self.data), 0)]
        self.data += data
        if self._head is None:
            self._look(looked)
        else:
            self._head = (self._head + looked).lstrip(_BLANKS) if len(self._head) < _TELLS_FRAMING else self._head
            if len(self._head) >= _TELLS_FRAMING or b"\n" in self._head:
                self._choose_framing(self._head)
        if len(self.data) >= _MOST_BYTES and not self._is_over:
            self._decide()
        return self._is_over

    def end(self) -> None:
        """Decides: no more bytes come."""
        if self._is_over:
            return
        if self._head:
            self._choose_framing(self._head)
        if self._decoder is not None and not self._is_over:
            for name, payload in self._decoder.end():
                self._take(name, payload)
        if not self._is_over:
            self._decide()

    def error(self) -> errors.LanguageModelError:
        """Why the bytes are no answer that anything here reads."""
        if self._decoder is not None and self._decoder.error is not None:
            return self._decoder.error
        head, expected = bytes(self.data[:LOOKED_AT]), "an answer of a model in a known protocol"
        found = _error_of_no_events(head, expected) or _error_of_events(self.events, head, expected)
        if found is None and len(self.data) >= _MOST_BYTES:
            return errors.EventTooLargeError(_MOST_BYTES, _MOST_BYTES)
        return found or errors.TruncatedStreamError(LifecycleState.IDLE.name)

    def _choose_framing(self, head: bytes) -> None:
        self._head = None
        start = head[:_TELLS_FRAMING].partition(b"\n")[0]
        rows = list(protocol.loadable_protocols()[0].values())
        self.is_json = start.startswith((b"{", b"["))
        if self.framing is not None:
            name = self.framing.name
            self._decoder = self.framing.make_decoder()
        else:
            lines = [
                one for one in protocol.known_framings().values() if one.looks is not None and not one.looks.match(b"{")
            ]
            other = next((one for one in lines if one.looks is not None and one.looks.match(start)), None)
            name = protocol.SSE.name if other is None else other.name
            self._decoder = BareJSONDecoder() if other is None else other.make_decoder()
        names = {protocol.SSE.name, protocol.JSON_LINES.name} if self.is_json and self.framing is None else {name}
        self._rows = [row for row in rows if not names.isdisjoint({framing.name for framing in row.framings})]
        self._telling = ProtocolMatcher(self._rows)
        self._look(head)

    def _look(self, data: bytes) -> None:
        if self._decoder is None or self._is_over:
            return
        for start in range(0, len(data), _PIECE):
            for name, payload in self._decoder.feed(data[start : start + _PIECE]):
                self._take(name, payload)
            self._is_over |= self._decoder.error is not None
            if self._is_over:
                return

    def _take(self, name: bytes, payload: bytes) -> None:
        if self._is_over:
            return
        event = _object(payload)
        if event is None:
            return
        named = NamedEvent(name.decode(errors="replace"), event)
        self.events.append(named)
        if self._telling.add(named) is not None:
            self._decide()
            return
        if self.is_json and len(self.events) == 1:  # it may be a document, which is a response with something in it
            for row in self._rows:
                if any(not isinstance(output, Finish | Unmapped) for output in _outputs_of(event, row)):
                    self.row, self.document, self._is_over = row, payload, True
                    return
        if self._telling.seen >= _MOST_EVENTS:
            self._decide()

    def _decide(self) -> None:
        self._is_over = True
        self.row = self._telling.told
        if self.row is None and not self.events and (begun := _begun(bytes(self.data))) is not None:
            telling = ProtocolMatcher(self._rows)
            telling.add(begun)
            self.row = telling.told
        if self.row is None or self.framing is not None:
            return
        first = self.row.framings[0]  # as on the wire of the protocol, wherever that fits
        if self.is_json:
            fits = first.looks is not None or first.make_decoder is BareJSONDecoder
            self.framing = first if fits else protocol.LENIENT_SSE
        else:
            self.framing = next((one for one in self.row.framings if one.name == protocol.SSE.name), first)


def explanation(
    error: errors.LanguageModelError | None, head: bytes, begun: Sequence[ServerSentEvent], row: protocol.Protocol
) -> errors.LanguageModelError | None:
    """What the bytes of an answer are of which a protocol has understood nothing.

    Args:
        head: The first bytes; looked at where the bytes have ended, so that their cuts make no difference.
        begun: The first events, up to the one that ended the answer.

    Returns:
        The error that says it; None where nothing but the given one is known.
    """
    if isinstance(error, errors.EventTooLargeError | errors.ToolArgumentsError):
        return None
    expected = f"an answer in {row.shown_title}"
    if isinstance(error, errors.TruncatedStreamError):
        finder = WireFinder()
        finder.feed(head)
        finder.end()
        found = _error_of_no_events(head, expected) or _error_of_document(finder, row, head, expected)
        if found is None and finder.events and not begun and finder.row is not None and finder.row.name != row.name:
            found = _error_of_other_framing(head, row, expected)
        begun_event = None if finder.events else _begun(head)
        events = finder.events if begun_event is None else [begun_event]
        return found or _error_of_another(events, finder.row, row, head, expected)
    if error is not None and not isinstance(error, errors.UpstreamProtocolError):
        return None
    named = [(name, event) for name, data in begun if (event := _object(data) or begun_object(data)) is not None]
    events = [NamedEvent(name.decode(errors="replace"), event) for name, event in named]
    first = begun[0][1] if begun else b""
    if error is not None and not events and first:
        return _error_of_no_events(first, expected) or _error_of_other_framing(first, row, expected)
    telling = ProtocolMatcher(list(protocol.loadable_protocols()[0].values()))
    like = next((sure for one in events if (sure := telling.add(one)) is not None), None)
    return _error_of_another(events, like, row, first, expected)


def _error_of_other_framing(first: bytes, row: protocol.Protocol, expected: str) -> errors.LanguageModelError | None:
    """The error of a first event that is framed as another protocol's; None where it is like no protocol's."""
    finder = WireFinder()
    finder.feed(first + b"\n\n")
    finder.end()
    foreign = _error_of_foreign(finder.events, first, expected)
    if foreign is not None or finder.row is None:
        return foreign
    like = finder.row if finder.row.name != row.name and claims_of(finder.row, finder.events).sure else None
    if like is not None:
        return _unreadable(f"an answer in {like.shown_title}", expected, first, like=like)
    return _unreadable(
        f"bytes that begin with {_text(first)!r}", expected, first, "give no protocol: the first events show it"
    )


def _error_of_document(
    finder: WireFinder, row: protocol.Protocol, head: bytes, expected: str
) -> errors.LanguageModelError | None:
    """The error of a JSON document where a stream was expected."""
    if not finder.is_json or not finder.events or claims_of(row, finder.events).any:
        return None
    document = finder.events[0].event
    outputs = _outputs_of(document, row) if document.get("error") else []
    failure = next((one.error for one in outputs if isinstance(one, Finish)), None)
    if isinstance(failure, errors.UpstreamFailureError):
        return failure
    if finder.document is not None:
        advice = "give no protocol: a document is read too"
        return _unreadable("one JSON document", f"a stream in {row.shown_title}", head, advice)
    return _error_of_events(finder.events, head, expected) if finder.row is None and "type" not in document else None


def _error_of_another(
    events: Sequence[NamedEvent], like: protocol.Protocol | None, row: protocol.Protocol, head: bytes, expected: str
) -> errors.LanguageModelError | None:
    """The error of events of another protocol; None where that one is not sure of one, or this one may be meant."""
    if claims_of(row, events).any:
        return None
    foreign = _error_of_foreign(events, head, expected)
    if foreign is not None or like is None or like.name == row.name or not claims_of(like, events).sure:
        return foreign
    return _unreadable(f"an answer in {like.shown_title}", expected, head, like=like)


def _unreadable(
    got: str, expected: str, head: bytes, advice: str = "", like: protocol.Protocol | None = None
) -> errors.UnreadableStreamError:
    if like is not None:
        advice = f'give protocol="{like.name}", or no protocol: the first events show it'
    return errors.UnreadableStreamError(
        got=got, expected=expected, advice=advice, like=None if like is None else like.name, beginning=_text(head)
    )


def _error_of_no_events(head: bytes, expected: str) -> errors.LanguageModelError | None:
    """The error of bytes that hold nothing which begins an event; None where something does."""
    begins = head.lstrip(_BLANKS)
    if not begins:
        return errors.EmptyStreamError("blanks alone" if head else "no byte", expected)
    if begins.startswith(b"<"):
        found = _TITLE.search(_text(head, LOOKED_AT))
        title = " ".join(plain_html(found[1]).split())[:_SHOWN] if found else ""
        advice = "check the address, and whether a proxy or a login page answers instead"
        return _unreadable(f"a web page ({title})" if title else "a web page", expected, head, advice)
    if head.startswith(_GZIP):
        return _unreadable("bytes packed with gzip", expected, head, "let the HTTP client unpack the body")
    if all(line.startswith(b":") or not line.strip() for line in begins.splitlines()):
        return errors.EmptyStreamError("comments alone", expected)
    if (
        not begins.startswith((*protocol.SSE.begins, b"{", b"["))
        and not any(one.startswith(begins) for one in protocol.SSE.begins)
        and not _BEGINS_LINE.match(begins)
    ):
        advice = "check that the server responded with success and a stream"
        return _unreadable(f"bytes that begin with {_text(head)!r}", expected, head, advice)
    return None


def _error_of_events(events: Sequence[NamedEvent], head: bytes, expected: str) -> errors.LanguageModelError | None:
    """The error of events that no protocol here knows; None without events."""
    foreign = _error_of_foreign(events, head, expected)
    if foreign is not None or not events:
        return foreign
    types = list(dict.fromkeys(kind for name, event in events if isinstance(kind := event.get("type", name), str)))
    named = [kind for kind in types if kind][:_SHOWN_TYPES]
    said = f"events of the types {', '.join(named)}" if named else "JSON objects of no known kind"
    return _unreadable(said, expected, head, "if the bytes are right, name their protocol")


def _error_of_foreign(events: Sequence[NamedEvent], head: bytes, expected: str) -> errors.LanguageModelError | None:
    """The error of events that nothing here reads, by the name of their wire."""
    if (name := name_of_stream(event for _, event in events)) is None:
        return None
    return _unreadable(f"a stream of {name}, which this version does not read", expected, head)


def _outputs_of(document: WireEvent, row: protocol.Protocol) -> list[StreamOutput]:
    """The outputs of a document in a protocol; none where the protocol has no documents."""
    reader = row.read_response()
    if not reader.has_documents:
        return []
    stream = reader(StreamOptions())
    outputs = [output for event in reader.events_of(document) for output in stream.feed(event)]
    return outputs if stream.finished else [*outputs, *stream.end()]


def _object(payload: bytes) -> WireEvent | None:
    value = loads_or_none(payload)
    if type(value) is list and len(value) == 1:
        value = value[0]
    return value if isinstance(value, dict) else None


def _begun(data: bytes) -> NamedEvent | None:
    """What is there of a first event that is cut."""
    payload = data.lstrip(_BLANKS)
    name = b""
    for line in payload[:LOOKED_AT].splitlines():
        if line.startswith(b"event:"):
            name = line.removeprefix(b"event:").strip()
        if line.startswith((b"data:", b"{", b"[")):
            payload = line.removeprefix(b"data:").lstrip(b"[ ")
            break
    event = begun_object(payload)
    if event is None and not name:
        return None
    return NamedEvent(name.decode(errors="replace"), event or {})


def _text(head: bytes, most: int = _SHOWN) -> str:
    return head[: most * 4].decode(errors="replace").strip()[:most]


# ---- Likeness ----


def understood_nothing(error: errors.LanguageModelError | None) -> bool:
    """Whether the error of a Finish says that no answer began, or that the input held no event at all."""
    if isinstance(error, errors.TruncatedStreamError):
        return error.state == LifecycleState.IDLE.name
    return isinstance(error, errors.UpstreamProtocolError)
