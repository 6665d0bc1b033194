"""Reads the bytes of one response through its decoder, JSON and adapter; names no protocol.

Sans-IO, like everything below it: the owner of the socket or the file calls :meth:`StreamReader.feed`. One read takes
this way:

1. While the protocol is not known, bytes go to the finder (:mod:`partstream.protocols.recognition`); once it is found,
   all bytes so far are read.
2. The decoder of the framing cuts bytes into events; each event is decoded once and goes to the adapter.
3. Nearly all events of a response differ from the event before in one text alone. The fast path reads only that text:
   see "Fast path" below (docs/decisions/0006-the-fast-path.md). Every other event takes the slow path.
4. A response ends with its own events, with an end mark of the wire, or with the bytes. If it ends before anything was
   understood, the error says what the bytes are instead.
"""

from __future__ import annotations
import re
import string
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from typing import Protocol as TypingProtocol

from partstream.codec.checks import narrow, refuse
from partstream.codec.json_codec import (
    DECODE_ERRORS,
    MOST_LEVELS,
    JSONDecodeError,
    loads,
    loads_event,
    make_decoder,
    make_text_decoder,
    may_nest_deeply,
    nests_too_deeply,
)
from partstream.codec.sse import SHORT_EVENT, ServerSentEvent
from partstream.errors import AdapterUsageError, LanguageModelError, TruncatedStreamError, UpstreamProtocolError
from partstream.lm.outputs import EndingStream, Finish, Outcome, PausingStream, StreamOptions, Unmapped
from partstream.protocols.errors import COMMON_ERRORS
from partstream.protocols.protocol import AUTO, DEFAULT_PROTOCOL, PROTOCOLS, EndMark, Framing, Protocol, ProtocolName
from partstream.protocols.protocol import Protocol as WireProtocol
from partstream.protocols.recognition import LOOKED_AT, MOST_BEGUN, WireFinder, explanation
from partstream.protocols.thinking import open_response

if TYPE_CHECKING:
    from partstream.lm.outputs import EmitText, ResponseStream, StreamOutput
    from partstream.protocols.read_response import Deltas

_EVENT: Final = re.compile(rb"^data:", re.MULTILINE)
_AT_ONCE: Final = 256 * 1024
"""Bytes. More are decoded in slices: a few megabytes of lines may unpack to a thousand times as many."""


class StreamReader:
    """Reads one response, from its bytes to parts, :class:`partstream.lm.outputs.Unmapped` and one
    :class:`partstream.lm.outputs.Finish`.

    Args:
        protocol: What the bytes are, or its name; by default, the first events show it.
        options: How what is read is rendered.
        framing: How the stream separates its events; None for the framing of the wire.
        paused: The adapter of a paused response that these bytes continue; None for a new response.

    Raises:
        InvalidArgumentError: The protocol is neither a name nor a protocol.
        UnknownProtocolError: There is no protocol of that name; a `KeyError` too.
        ProtocolLoadError: An installed package promises the protocol, and it cannot be loaded.

    Attributes:
        started: Whether an event was read.
        ending: Whether the wire has said that the end is near: what still comes, comes at once.

    Example:
        >>> from partstream import StreamReader
        >>> reader = StreamReader()
        >>> event = b'data: {"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,'
        >>> list(reader.feed(event))
        []
        >>> list(reader.feed(b'"delta":"Hi"}\\n\\n'))
        [TextPart(value='Hi')]
    """

    __slots__ = (
        "_begun",
        "_closed",
        "_decode",
        "_decoder",
        "_delta",
        "_emit_more",
        "_end_names",
        "_ended",
        "_ending_stream",
        "_ends",
        "_events_of",
        "_fast_path",
        "_finder",
        "_halves",
        "_head",
        "_learner",
        "_marked",
        "_options",
        "_pausing_stream",
        "_read_chunk",
        "_row",
        "_stream",
        "_tag",
        "_unused",
        "_whole",
        "ending",
        "started",
    )

    def __init__(
        self,
        protocol: Protocol | ProtocolName = AUTO,
        options: StreamOptions = StreamOptions(),  # noqa: B008 - immutable
        *,
        framing: Framing | None = None,
        paused: PausingStream | None = None,
    ) -> None:
        # Until the bytes have shown their protocol, the reader of the default one says what is said without an event.
        self._finder = WireFinder(framing) if protocol == AUTO and paused is None else None
        name = DEFAULT_PROTOCOL if protocol == AUTO else protocol
        # The first bytes and the first events, until something of them is understood.
        self._head: bytearray | None = bytearray()
        self._begun: list[ServerSentEvent] = []
        self._options = options
        self._closed = False
        self._ended = False
        row = PROTOCOLS[name] if isinstance(name, str) else name
        if not isinstance(row, Protocol):
            refuse("protocol", row, "a name of PROTOCOLS, or a Protocol")
        self._open(row, framing, paused)

    def _open(self, row: Protocol, framing: Framing | None, paused: PausingStream | None = None) -> None:
        corner = row.read_response()
        self.started = False
        self.ending = False
        self._marked = False  # whether a mark has said so
        self._whole = False
        self._row = row
        self._ends = row.ends
        self._end_names = row.ends.names
        self._tag = row.tag
        self._stream: ResponseStream = open_response(corner, self._options) if paused is None else paused
        if paused is not None:
            paused.go_on()
        self._ending_stream = narrow(self._stream, EndingStream)
        self._pausing_stream = narrow(self._stream, PausingStream)
        self._events_of = corner.events_of if corner.has_documents else None
        self._decoder = (framing or row.framings[0]).make_decoder()
        self._decode = make_decoder()
        self._halves = Halves()
        self._delta: Delta | None = None  # the last event, if the next ones may differ in the text alone
        self._fast_path = _NO_FAST_PATH
        self._read_chunk: ReadText | None = None  # the fast path of a chunk that is one such event
        self._emit_more: EmitText = _emit_nothing
        self._learner = DeltaLearner(corner.deltas) if corner.deltas.places else None
        self._unused = 0  # deltas that were learned in a row and fitted no event

    @property
    def finished(self) -> bool:
        """Whether the :class:`partstream.lm.outputs.Finish` is out; the connection may be closed then."""
        return self._stream.finished

    @property
    def failing(self) -> bool:
        """Whether the upstream has reported an error and may still say more about it."""
        return self._stream.failing

    @property
    def paused(self) -> PausingStream | None:
        """The adapter of an answer that its upstream has paused; None for every other."""
        stream = self._pausing_stream
        return None if stream is None or stream.paused is None else stream

    def feed(self, data: bytes) -> list[StreamOutput]:
        """Reads more bytes and returns their outputs; never raises for what the upstream sent.

        Raises:
            AdapterUsageError: The reader was ended.
        """
        read = self._read_chunk
        if read is not None:
            text = read(data)
            if text:
                outputs: list[StreamOutput] = []
                self._emit_more(text, outputs)
                self._unused = 0
                return outputs if self._head is None else self._explained(outputs)
        if self._finder is not None:
            # All bytes so far are read once the protocol is found.
            return self._begin(self._finder) if self._finder.feed(data) else []
        if self._head is not None:
            self._head += data[: LOOKED_AT - len(self._head)]
        if len(data) <= _AT_ONCE:
            decoder, before = self._decoder, self._delta
            was_at_border = decoder.at_border
            events = decoder.feed(data)
            outputs = self._explained(self._read(events))
            is_one_event = was_at_border and len(events) == 1 and decoder.at_border
            if is_one_event and (delta := self._delta) is not None and not (delta is before and self._read_chunk):
                self._read_chunk = delta.in_chunk(data, events[0][1])
            return outputs
        outputs = []
        for start in range(0, len(data), _AT_ONCE):
            outputs += self._read(self._decoder.feed(data[start : start + _AT_ONCE]))
        return self._explained(outputs)

    def feed_document(self, data: bytes) -> list[StreamOutput]:
        """Reads the whole document that a server sent in place of a stream, and returns its outputs.

        Raises:
            AdapterUsageError: The protocol has no such document.
        """
        if self._finder is not None:
            self._finder.feed(data)
            self._finder.end()
            found, self._finder = self._finder, None
            if found.row is None:
                return self.fail(found.error())
            self._open(found.row, None)
        if self._events_of is None:
            raise AdapterUsageError("this protocol has no document in place of a stream")
        self.started = True
        try:
            document = None if nests_too_deeply(data) else loads(data)
        except JSONDecodeError:
            document = _lenient(data)
            if document is None and _EVENT.search(data):  # a stream under the name of a document
                return self.feed(data)
        document = _unwrapped(document)
        outputs: list[StreamOutput] = []
        if not isinstance(document, dict):
            return self._not_an_object(data)
        try:
            for event in self._events_of(document):
                self._stream.feed_into(event, outputs)
        except RecursionError:
            outputs += self._not_an_object(data)
        return outputs

    def end(self) -> list[StreamOutput]:
        """Ends the bytes; the outputs end with the Finish, whatever came before.

        Raises:
            AdapterUsageError: The reader was ended before.
        """
        if self._ended:
            raise AdapterUsageError("the stream was ended before")
        begun: list[StreamOutput] = []
        if self._finder is not None:
            self._finder.end()
            begun = self._begin(self._finder)
        self._ended = True
        if self._closed:
            return begun
        # What has no end of its own and is no JSON was cut: the stream is truncated, not wrong.
        rest = (one for one in self._decoder.end() if one[1].strip() in self._ends.data or _lenient(one[1]) is not None)
        outputs = self._read([*rest])
        self._forget_delta()
        if not self._closed:
            outputs += self._close(self._whole or self._ends.end_of_bytes.completes)
        self._count_halves(outputs)
        return begun + self._explained(outputs)

    def fail(self, error: LanguageModelError) -> list[StreamOutput]:
        """Ends the response with an error of the layer below; does nothing if it has finished already."""
        self._forget_delta()
        self._finder = self._head = None
        return self._stream.fail(error)

    def _begin(self, finder: WireFinder) -> list[StreamOutput]:
        self._finder = None
        if finder.row is None:
            return self.fail(finder.error())
        self._open(finder.row, finder.framing)
        return self.feed(bytes(finder.data)) if finder.document is None else self.feed_document(finder.document)

    def _explained(self, outputs: list[StreamOutput]) -> list[StreamOutput]:
        """The outputs; an end before anything was understood says what the bytes are instead."""
        head = self._head
        if head is None:
            return outputs
        for place, output in enumerate(outputs):
            if isinstance(output, Unmapped):
                continue
            begun, self._begun, self._head = self._begun, [], None
            error = explanation(output.error, bytes(head), begun, self._row) if isinstance(output, Finish) else None
            if isinstance(output, Finish) and error is not None:
                if isinstance(error, TruncatedStreamError):
                    outputs[place] = replace(output, outcome=Outcome.TRUNCATED, reason=None, error=error)
                else:
                    outputs[place] = replace(output, outcome=Outcome.FAILED, error=error)
            break
        return outputs

    def _read(self, events: Iterable[ServerSentEvent]) -> list[StreamOutput]:
        outputs: list[StreamOutput] = []
        if self._closed:
            if self._ended:
                raise AdapterUsageError("fed after the stream was ended")
            return outputs
        read, usual_name, emit = self._fast_path
        for name, data in events:
            if read is not None and name == usual_name and (text := read(data)):
                emit(text, outputs)
                self._unused = 0
                continue
            try:
                goes_on = self._read_event(name, data, outputs)
            except RecursionError:  # the caller has left hardly any stack
                outputs += self._not_an_object(data)
                self._count_halves(outputs)
                goes_on = not self._closed
            if not goes_on:
                return outputs
            read, usual_name, emit = self._fast_path
        if self._decoder.error is not None:
            outputs += self._unreadable(self._decoder.error)
            self._count_halves(outputs)
        return outputs

    def _read_event(self, name: bytes, data: bytes, outputs: list[StreamOutput]) -> bool:
        """Reads one event on the slow path, and learns it if it is a delta; tells whether reading goes on."""
        goes_on = self._read_whole_event(name, data, outputs)
        if self._halves.held:
            self._forget_delta()
            self._count_halves(outputs)
        return goes_on

    def _read_whole_event(self, name: bytes, data: bytes, outputs: list[StreamOutput]) -> bool:  # noqa: C901 - in order
        self._forget_delta()
        self.started = True
        if self._head is not None and len(self._begun) < MOST_BEGUN and not self._stream.finished:
            self._begun.append((name, data[:LOOKED_AT]))
        if self._end_names and (mark := self._end_names.get(name)) is not None:
            self._mark(mark, outputs)
            return not self._closed
        try:
            event = None if len(data) > SHORT_EVENT and nests_too_deeply(data) else self._decode(data)
        except DECODE_ERRORS:
            if self._is_no_event(data, outputs):
                return not self._closed
            event = _lenient(data)
            if not self._stream.finished:  # what follows the end says nothing
                self._halves.join(event)
        else:
            if self._halves.held:
                self._halves.join(event)
        self._whole = False
        event = _unwrapped(event)
        if type(event) is not dict:
            outputs += self._not_an_object(data)
            return not self._closed
        kind: Any = ""
        if (tag := self._tag) is not None:
            if name and tag not in event:  # a server-sent event may name its kind in its own field alone
                event[tag] = name.decode(errors="replace")
            kind = event.get(tag)
        stream = self._stream
        stream.feed_into(event, outputs)
        if self._ending_stream is not None:
            self.ending = self._marked or self._ending_stream.ending
        if (learner := self._learner) is not None and not stream.finished and self._unused < _MOST_UNUSED:
            self._learn_delta(learner, kind, event, name, data)
        return True

    def _learn_delta(self, learner: DeltaLearner, kind: Any, event: Any, name: bytes, data: bytes) -> None:
        if (emit := self._stream.emit_more) is None:
            return
        self._delta = learner.learn(kind, event, data)
        if self._delta is not None:
            self._emit_more, self._fast_path = emit, (self._delta.read, name, emit)
            self._unused += 1

    def _forget_delta(self) -> None:
        """The slow path follows: the tokens of the fast path are counted first."""
        delta, self._delta, self._fast_path, self._read_chunk = self._delta, None, _NO_FAST_PATH, None
        if delta is not None and (event := delta.uncounted()) is not None:
            self._stream.feed_into(event, [])

    def _count_halves(self, outputs: list[StreamOutput]) -> None:
        """Counts what is left of characters whose other halves did not come before the end."""
        if self._halves.held and outputs and isinstance(outputs[-1], Finish):
            left = {"halves": list(self._halves.held.values())}
            outputs.insert(len(outputs) - 1, Unmapped("half of a character", left))
            self._halves.held.clear()

    def _is_no_event(self, data: bytes, outputs: list[StreamOutput]) -> bool:
        """Tells whether data that the fast decoder refused is blank or an end mark; applies the end mark."""
        stripped = data.strip()
        mark = self._ends.data.get(stripped)
        if mark is not None:
            self._mark(mark, outputs)
        return mark is not None or not stripped

    def _mark(self, mark: EndMark, outputs: list[StreamOutput]) -> None:
        self.ending = self._marked = True
        self._whole = mark.completes
        if mark.closes:
            outputs += self._close(mark.completes)

    def _close(self, whole: bool) -> list[StreamOutput]:
        self._closed = True
        return self._stream.end(whole=whole)

    def _not_an_object(self, data: bytes) -> list[StreamOutput]:
        if (failure := COMMON_ERRORS.failure_of_text(data[:LOOKED_AT].decode(errors="replace"))) is not None:
            return self._unreadable(failure)
        got = data[:80].decode(errors="replace")
        expected = "a JSON object" + (f" of at most {MOST_LEVELS} levels" if may_nest_deeply(data) else "")
        return self._unreadable(UpstreamProtocolError(event_type=None, field="data", got=repr(got), expected=expected))

    def _unreadable(self, error: LanguageModelError) -> list[StreamOutput]:
        """Ends the response with an error of its bytes; with the upstream's own, if it has reported one before."""
        return self._close(whole=False) if self._stream.failing else self._stream.fail(error)


def _unwrapped(value: Any) -> Any:
    """The only element of a list: Google's servers send their errors in one."""
    return value[0] if type(value) is list and len(value) == 1 else value


def _lenient(data: bytes) -> Any:
    """The value of a JSON text, also with lone surrogates, broken UTF-8 or huge numbers; None for what is no JSON."""
    try:
        return None if nests_too_deeply(data) else loads_event(data)
    except JSONDecodeError:
        return None


# ---- Fast path ----
# Nearly all events of a response are the same bytes but for one text, and for numbers and short strings without
# meaning: the number of the event, the time, a padding. So the reader learns an event that took the slow path, if the
# adapter offers to emit more texts of it: the bytes around these values. Of an event with the same bytes around its
# values, only the text is decoded. This is no guess: if the bytes around complete JSON values are the same, the
# documents are the same but for these values (RFC 8259 section 7: a string ends with its first quotation mark that no
# backslash hides). A chunk of bytes that is one whole event is read with its framing in the same way.
#
# On some wires each event counts the tokens so far. The last one is read once more on the slow path before anything
# else, without its text.

ReadText: TypeAlias = Callable[[bytes], str | None]
"""Reads the text of bytes that fit a delta; None for others."""

_VALUE: Final = rb'("[^"\\]*+(?:\\.[^"\\]*+)*+"|[1-9][0-9]*+(?![.eE]))'
_DIGITS: Final = string.digits.encode()
_LETTERS: Final = string.ascii_letters.encode() + _DIGITS + b"_-.:+/= "
"""What strings without meaning consist of: ids, times, paddings."""
_MOST_UNUSED: Final = 8
"""How many deltas in a row may fit no event: some servers give each event a field that no table knows."""

_FastPath: TypeAlias = "tuple[ReadText | None, bytes, EmitText]"
"""What reads the text of the data of an event, the name of such server-sent events, and what emits the text."""

_decode_text = make_text_decoder()


def _emit_nothing(_text: str, _outputs: list[StreamOutput]) -> None:
    """The function that emits texts before a delta was learned."""


_NO_FAST_PATH: Final[_FastPath] = (None, b"", _emit_nothing)


class _Hole(NamedTuple):
    """A value of a delta that may differ.

    Attributes:
        before: The bytes between the value before and this one.
        letters: What it consists of, if it is a number or a string without meaning; empty for the text.
    """

    before: bytes
    letters: bytes = b""


class Delta:
    """An event that brought a text, learned to read the texts of events like it.

    Args:
        place: The keys and indexes of its text.
        holes: Its values that may differ, in the order of the bytes.
        after: The bytes after the last of them.
        counts: Whether one of them counts tokens.

    Attributes:
        read: Reads the text of the data of an event like it.
        last: The data of the last event that was read, if it counts tokens.
    """

    __slots__ = ("_after", "_counts", "_holes", "_place", "last", "read")

    def __init__(self, place: tuple[str | int, ...], holes: Sequence[_Hole], after: bytes, *, counts: bool) -> None:
        self.last: bytes | None = None
        self._place = place
        self._holes = holes
        self._after = after
        self._counts = counts
        self.read = self._make_read(b"", b"")

    def in_chunk(self, chunk: bytes, data: bytes) -> ReadText | None:
        """Makes a function that reads the text of chunks that are one event like it.

        Args:
            chunk: A chunk that is one such event.
            data: The data of this event; where it is not in the chunk as it is, there is no such function.
        """
        before, _, after = chunk.partition(data)
        return self._make_read(before, after) if chunk.count(data) == 1 else None

    def uncounted(self) -> Any:
        """The last event that was read, without its text, if its tokens were not counted yet; None if they were."""
        event = None if self.last is None else _unwrapped(_lenient(self.last))
        if event is not None:
            inner = event
            for one in self._place[:-1]:
                inner = inner[one]
            inner[self._place[-1]] = ""
        return event

    def _make_read(self, before: bytes, after: bytes) -> ReadText:
        head, end = before + self._holes[0].before, self._after + after
        if len(self._holes) == 1:
            return _reading_text(head, end)
        return self._reading_values(head, end, len(before), len(before) + len(after))

    def _reading_values(self, head: bytes, end: bytes, begin: int, frame: int) -> ReadText:  # noqa: C901 - see below
        """Makes a function that reads data with several values.

        Args:
            head: The bytes before the first value, with the framing.
            end: The bytes after the last value, with the framing.
            begin: The size of the framing before the data.
            frame: The size of all of the framing.
        """
        number = next(number for number, hole in enumerate(self._holes) if not hole.letters)
        steps = [(one.letters, one.letters is _DIGITS, two.before) for one, two in pairwise(self._holes[: number + 1])]
        steps_back = [(one.letters, one.letters is _DIGITS, one.before) for one in reversed(self._holes[number + 1 :])]
        counts, decode = self._counts, _decode_text

        def read(data: bytes) -> str | None:  # noqa: C901, PLR0911 - calls would take longer than the work
            rest = data.removeprefix(head)
            if rest is data:
                return None
            for letters, is_number, following in steps:
                if is_number and not b"1" <= rest < b":":  # no number begins with a zero
                    return None
                later = rest.lstrip(letters)
                rest = later.removeprefix(following)
                if rest is later:
                    return None
            said = rest.removesuffix(end)
            if said is rest:
                return None
            for letters, is_number, preceding in steps_back:
                earlier = said.rstrip(letters)
                if is_number and said[len(earlier) :] < b"1":
                    return None
                said = earlier.removesuffix(preceding)
                if said is earlier:
                    return None
            try:
                text = decode(said)
            except DECODE_ERRORS:
                return None
            if counts:
                self.last = data[begin : begin + len(data) - frame]
            return text

        return read


def _reading_text(head: bytes, end: bytes) -> ReadText:
    """Makes a function that reads the text between these bytes; a method would take half as long again to be called."""
    decode = _decode_text

    def read(data: bytes) -> str | None:
        rest = data.removeprefix(head)
        said = rest.removesuffix(end)
        if rest is not data and said is not rest:
            try:
                return decode(said)
            except DECODE_ERRORS:
                pass
        return None

    return read


class DeltaLearner:
    """Learns the deltas of one response.

    Of the fields that may differ, only those count that have differed once: at most servers, most of them never do.

    Args:
        deltas: The table of the wire.
    """

    __slots__ = ("_deltas", "_last", "_varied")

    def __init__(self, deltas: Deltas) -> None:
        self._deltas = deltas
        self._last: dict[bytes, list[bytes]] = {}  # the values of the last delta, by field
        self._varied: set[bytes] = set()

    def learn(self, kind: Any, event: Any, data: bytes) -> Delta | None:
        """The delta that an event is; None where it is not certain which text it brings, or where this is in the bytes.

        Args:
            kind: The kind of the event.
            event: The event.
            data: Its bytes.
        """
        deltas = self._deltas
        texts = [(place, text) for place in deltas.places.get(kind, ()) if (text := _text_at(event, place))]
        if len(texts) != 1:
            return None
        place, text = texts[0]
        field = str(place[-1]).encode()
        found = [*_values(place[-1], deltas.varying, deltas.counts).finditer(data)]
        values: dict[bytes, list[bytes]] = {}
        for one in found:
            values.setdefault(one[1], []).append(one[2])
        try:
            if [_decode_text(said) for said in values.pop(field, ())] != [text]:
                return None
        except DECODE_ERRORS:
            return None
        self._varied |= {name for name, said in values.items() if self._last.get(name, said) != said}
        self._last = values
        holes: list[_Hole] = []
        at = 0
        for one in found:
            begin, end = one.span(2)
            if one[1] == field:
                holes.append(_Hole(data[at:begin]))
            elif one[1] not in self._varied:
                continue
            elif one[2][:1] != b'"':
                holes.append(_Hole(data[at:begin], _DIGITS))
            elif not one[2][1:-1].translate(None, _LETTERS):
                begin, end = begin + 1, end - 1
                holes.append(_Hole(data[at:begin], _LETTERS))
            else:
                continue
            at = end
        counts = any(one.encode() in self._varied for one in deltas.counts)
        return Delta(place, holes, data[at:], counts=counts)


@cache
def _values(field: str | int, varying: tuple[str, ...], counts: tuple[str, ...]) -> re.Pattern[bytes]:
    """Finds the values of some fields. No field is found in a string: its quotation marks follow backslashes there."""
    names = "|".join(re.escape(str(one)) for one in (field, *varying, *counts)).encode()
    return re.compile(rb'(?<!\\)"(%b)"\s*+:\s*+%b' % (names, _VALUE), re.DOTALL)


def _text_at(event: Any, place: Iterable[str | int]) -> str:
    for one in place:
        try:
            event = event[one]
        except (KeyError, IndexError, TypeError):
            return ""
    return event if isinstance(event, str) else ""


# ---- Tapped reader ----
# A class of its own, so that the plain reader pays nothing for it; it takes the slow path for every event.

END_OF_BYTES = "end of the bytes"
FAILURE = "failure"
DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class ReadStep:
    """One step of reading a response, in most cases an event.

    Attributes:
        kind: The type of the event, in the upstream's own words; else the text of what is no object, such as `[DONE]`,
            or one of :data:`END_OF_BYTES`, :data:`FAILURE` (of the framing, or below it) and :data:`DOCUMENT`.
        size: The bytes of its data.
        event: The event; empty where there is none.
        outputs: Its outputs.
    """

    kind: str
    size: int
    event: Mapping[str, Any]
    outputs: Sequence[StreamOutput]


class Tap(TypingProtocol):
    """Sees what a reader reads."""

    def step(self, step: ReadStep) -> None:
        """Takes the next step."""
        ...


class TappedReader(StreamReader):
    """A reader that shows each step to a tap; the other arguments are those of :class:`StreamReader`.

    Args:
        tap: Sees the steps.
        protocol: What the bytes are, or its name.
        options: How outputs are rendered.
        framing: How the stream separates its events; None for the framing of the wire.
        paused: The adapter of a paused response that these bytes continue; None for a new response.
    """

    __slots__ = ("_seen", "_tap")

    def __init__(
        self,
        tap: Tap,
        protocol: WireProtocol | ProtocolName,
        options: StreamOptions = StreamOptions(),  # noqa: B008 - immutable
        *,
        framing: Framing | None = None,
        paused: PausingStream | None = None,
    ) -> None:
        super().__init__(protocol, options, framing=framing, paused=paused)
        self._tap = tap
        self._seen = 0

    def feed_document(self, data: bytes) -> list[StreamOutput]:
        """Takes the whole document, as one step."""
        outputs = super().feed_document(data)
        self._tap.step(ReadStep(DOCUMENT, len(data), _object(data), outputs))
        return outputs

    def end(self) -> list[StreamOutput]:
        """Says that no more bytes come, as a step of its own."""
        outputs = super().end()
        self._tap.step(ReadStep(END_OF_BYTES, 0, {}, outputs[self._seen :]))
        return outputs

    def fail(self, error: LanguageModelError) -> list[StreamOutput]:
        """Ends the response with an error, as a step of its own."""
        outputs = super().fail(error)
        self._tap.step(ReadStep(FAILURE, 0, {}, outputs))
        return outputs

    def _read(self, events: Iterable[ServerSentEvent]) -> list[StreamOutput]:
        self._seen = 0
        outputs = super()._read(events)
        if rest := outputs[self._seen :]:
            self._tap.step(ReadStep(FAILURE, 0, {}, rest))
            self._seen = len(outputs)
        return outputs

    def _read_event(self, name: bytes, data: bytes, outputs: list[StreamOutput]) -> bool:
        goes_on = super()._read_event(name, data, outputs)
        self._forget_delta()
        event = _object(data)
        kind = event.get(self._tag, "") if self._tag is not None else ""
        shown = kind or name.decode(errors="replace") or ("" if event else data.decode(errors="replace"))
        self._tap.step(ReadStep(str(shown), len(data), event, outputs[self._seen :]))
        self._seen = len(outputs)
        return goes_on


def _object(data: bytes) -> Mapping[str, Any]:
    """The JSON object in data; empty for anything else."""
    try:
        value = loads(data.decode(errors="replace"))
    except (JSONDecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


# ---- Characters in two halves ----

# A server that cuts UTF-16 text may send `\ud83d` at the end of a delta, `\ude00` at the beginning of the next. Alone
# neither is a character, and no encoding has it. So the reader looks at the JSON of such an event before a wire does:
# it holds the first half back and puts it before the text at the same place of a later event. This holds for text,
# thinking and arguments of every wire alike, and a closing event that repeats the text agrees with what came.
#
# A place is the path to a text, with the type of the event and the indexes and ids on the way: two choices or two calls
# may arrive in turns. A half that gets no other stays what it is, before the next text at its place. The fast decoders
# refuse half a character, so events without one cost nothing.

_FIRST: Final = ("\ud800", "\udbff")
_SECOND: Final = ("\udc00", "\udfff")
_IDS: Final = ("index", "output_index", "content_index", "summary_index", "item_id", "messageId", "toolCallId")
_PIECES: Final = frozenset(
    {"delta", "text", "content", "thinking", "reasoning", "reasoning_content", "reasoning_text", "refusal"}
    | {"arguments", "partial_json", "transcript", "textDelta", "argsTextDelta", "inputTextDelta"}
)
"""The fields of all wires that hold a piece of something longer."""
_MOST_LEVELS: Final = 24
_MOST_HELD: Final = 100

_Path: TypeAlias = tuple[Hashable, ...]


class Halves:
    """The first halves of characters that wait for their second ones, in one stream."""

    __slots__ = ("held",)

    def __init__(self) -> None:
        self.held: dict[_Path, str] = {}

    def join(self, event: Any) -> None:
        """Joins the texts of an event with what is held, and holds back what they end with; in place."""
        if isinstance(event, dict):
            kind = event.get("type")
            self._walk(event, (kind if isinstance(kind, str) else None,), _MOST_LEVELS)

    def _walk(self, value: dict[str, Any] | list[Any], path: _Path, levels: int) -> None:
        if isinstance(value, dict):
            found = (value.get(name) for name in _IDS)
            path = (*path, *(one for one in found if isinstance(one, int | str)))
        for key, one in [*(value.items() if isinstance(value, dict) else enumerate(value))]:
            if isinstance(one, str):
                if key in _PIECES and one and (self.held or not one.isascii()):
                    value[key] = self._joined(one, (*path, key))
            elif isinstance(one, dict | list) and levels:
                self._walk(one, (*path, key), levels - 1)

    def _joined(self, text: str, path: _Path) -> str:
        before = self.held.pop(path, "")
        if before and _SECOND[0] <= text[0] <= _SECOND[1]:
            before, text = (before + text[0]).encode("utf-16", "surrogatepass").decode("utf-16"), text[1:]
        text = before + text
        if _FIRST[0] <= text[-1] <= _FIRST[1] and len(self.held) < _MOST_HELD:
            self.held[path] = text[-1]
            text = text[:-1]
        return text
