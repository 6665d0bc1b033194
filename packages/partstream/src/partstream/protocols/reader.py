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
from functools import cache
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias
from typing import Protocol as TypingProtocol

from partstream import errors
from partstream.codec import json_codec
from partstream.codec.checks import dataclass, narrow, refuse, replace
from partstream.codec.limits import LARGE_BYTES, MOST_ANSWER_VALUES, loads_in_pieces, measure
from partstream.codec.sse import SHORT_EVENT, ServerSentEvent
from partstream.conversation.thinking import open_response
from partstream.lm.outputs import (
    EmitText,
    EndingStream,
    Finish,
    Outcome,
    PausingStream,
    ResponseStream,
    StreamOptions,
    StreamOutput,
    Unmapped,
)
from partstream.protocols.errors import COMMON_ERRORS
from partstream.protocols.protocol import AUTO, DEFAULT_PROTOCOL, PROTOCOLS, EndMark, Framing, Protocol, ProtocolName
from partstream.protocols.read_response import Deltas
from partstream.protocols.recognition import LOOKED_AT, MOST_BEGUN, WireFinder, explanation

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
        ending: Whether the wire has said that the end is near: what still comes, comes at once.
        held: How many characters of the answer gave no part when they came: of arguments, of signatures, of events that
            are not known.
        joins_texts: Whether texts that came at once are one part.

    Example:
        >>> from partstream import StreamReader
        >>> reader = StreamReader()
        >>> event = b'data: {"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,'
        >>> list(reader.feed(event))
        []
        >>> list(reader.feed(b'"delta":"Hi"}\\n\\n'))
        [TextPart(value='Hi')]
    """

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
        self.joins_texts = False
        row = PROTOCOLS[name] if isinstance(name, str) else name
        if not isinstance(row, Protocol):
            refuse("protocol", row, "a name of PROTOCOLS, or a Protocol")
        self._open(row, framing, paused)

    def _open(self, row: Protocol, framing: Framing | None, paused: PausingStream | None = None) -> None:
        reader = row.read_response()
        self.started = False
        self.ending = False
        self.held = 0
        self._marked = False  # whether a mark has said so
        self._whole = False
        self._row = row
        self._ends = row.ends
        self._tag = row.tag
        self._stream: ResponseStream = open_response(reader, self._options) if paused is None else paused
        if paused is not None:
            paused.go_on()
        self._ending_stream = narrow(self._stream, EndingStream)
        self._pausing_stream = narrow(self._stream, PausingStream)
        self._events_of = reader.events_of if reader.has_documents else None
        self._decoder = (framing or row.framings[0]).make_decoder()
        self._decode = json_codec.make_decoder()
        self._halves = Halves()
        self._learner = DeltaLearner(reader.deltas)
        self._places = reader.deltas.places
        self._fast_path = _NO_FAST_PATH  # for the data of events like the last one
        self._read_chunk: _ReadText | None = None  # the same for chunks that are one such event
        self._emit_more = _NO_FAST_PATH[2]
        self._unused = 0  # learned events in a row that were like no other

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
                try:
                    self._emit_more(text, outputs)
                except errors.AnswerTooLargeError as error:
                    return self._unreadable(error)
                self._unused = 0
                if not outputs:
                    self.held += len(text)
                return outputs if self._head is None else self._explained(outputs)
        if self._finder is not None:
            # All bytes so far are read once the protocol is found.
            return self._begin(self._finder) if self._finder.feed(data) else []
        if self._head is not None:
            self._head += data[: LOOKED_AT - len(self._head)]
        if len(data) <= _AT_ONCE:
            decoder, before = self._decoder, self._fast_path
            was_at_border = decoder.at_border
            events = decoder.feed(data)
            outputs = self._explained(self._read(events))
            is_new = self._fast_path is not before or self._read_chunk is None
            if is_new and self._fast_path[0] and was_at_border and len(events) == 1 and decoder.at_border:
                self._read_chunk = self._learner.in_chunk(data, events[0][1])
            return outputs
        outputs = []
        for start in range(0, len(data), _AT_ONCE):
            outputs += self._read(self._decoder.feed(data[start : start + _AT_ONCE]))
        return self._explained(outputs)

    def feed_document(self, data: bytes) -> list[StreamOutput]:  # noqa: C901 - in order
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
            raise errors.AdapterUsageError("this protocol has no document in place of a stream")
        self.started = True
        try:
            decode = json_codec.loads if len(data) <= LARGE_BYTES else loads_in_pieces
            document = None if _is_too_much(data) else decode(data)
        except errors.AnswerTooLargeError as error:
            return self._unreadable(error)
        except ValueError:
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
        except errors.AnswerTooLargeError as error:
            outputs += self._unreadable(error)
        except RecursionError:
            outputs += self._not_an_object(data)
        return outputs

    def end(self) -> list[StreamOutput]:
        """Ends the bytes; the outputs end with the Finish, whatever came before.

        Raises:
            AdapterUsageError: The reader was ended before.
        """
        if self._ended:
            raise errors.AdapterUsageError("the stream was ended before")
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
        self._leave_fast_path()
        if not self._closed:
            outputs += self._close(self._whole)
        self._count_halves(outputs)
        return begun + self._explained(outputs)

    def fail(self, error: errors.LanguageModelError) -> list[StreamOutput]:
        """Ends the response with an error of the layer below; does nothing if it has finished already."""
        self._leave_fast_path()
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
                if isinstance(error, errors.TruncatedStreamError):
                    outputs[place] = replace(output, outcome=Outcome.TRUNCATED, reason=None, error=error)
                else:
                    outputs[place] = replace(output, outcome=Outcome.FAILED, error=error)
            break
        return outputs

    def _read(self, events: Iterable[ServerSentEvent]) -> list[StreamOutput]:  # noqa: C901, PLR0912 - in order
        outputs: list[StreamOutput] = []
        if self._closed:
            if self._ended:
                raise errors.AdapterUsageError("fed after the stream was ended")
            return outputs
        read, usual_name, emit = self._fast_path
        texts: list[str] = []
        for name, data in events:
            try:
                if read is not None and name == usual_name and (text := read(data)):
                    self._unused = 0
                    if self.joins_texts:
                        texts.append(text)
                        continue
                    before = len(outputs)
                    emit(text, outputs)
                    if len(outputs) == before:
                        self.held += len(text)
                    continue
                if texts:
                    self._emit(emit, texts, outputs)
                goes_on = self._read_event(name, data, outputs)
            except errors.AnswerTooLargeError as error:
                return outputs + self._unreadable(error)
            except RecursionError:  # the caller has left hardly any stack
                outputs += self._not_an_object(data)
                self._count_halves(outputs)
                goes_on = not self._closed
            if not goes_on:
                return outputs
            read, usual_name, emit = self._fast_path
        if texts:
            try:
                self._emit(emit, texts, outputs)
            except errors.AnswerTooLargeError as error:
                return outputs + self._unreadable(error)
        if self._decoder.error is not None:
            outputs += self._unreadable(self._decoder.error)
            self._count_halves(outputs)
        return outputs

    def _emit(self, emit: EmitText, texts: list[str], outputs: list[StreamOutput]) -> None:
        """Emits texts of the fast path as one, and forgets them."""
        text = "".join(texts)
        texts.clear()
        before = len(outputs)
        emit(text, outputs)
        if len(outputs) == before:
            self.held += len(text)

    def _read_event(self, name: bytes, data: bytes, outputs: list[StreamOutput]) -> bool:
        """Reads one event on the slow path, and learns it if it is a delta; tells whether reading goes on."""
        goes_on = self._read_whole_event(name, data, outputs)
        if self._halves.held:
            self._leave_fast_path()
            self._count_halves(outputs)
        return goes_on

    def _size_without_part(self, event: dict[str, Any], kind: object, size: int, *, is_unknown: bool) -> int:
        """The characters of an event that gave no part: of a delta, its texts; of what is not known, a quarter of its
        bytes, because most of them may be names. Other events that are known repeat what was said, or say nothing."""
        places = self._places.get(kind, ()) if isinstance(kind, str) else ()
        deltas = [event[field] for field in dict.fromkeys(place[0] for place in places) if field in event]
        if deltas and not is_unknown:
            texts, data = _sizes(deltas)
            return texts + data // _OF_DATA
        if not is_unknown and "" not in self._places:
            return 0
        _, data = _sizes(event) if size > SHORT_EVENT else (0, 0)
        return max(0, size - data) // 4 + data // _OF_DATA

    def _read_whole_event(self, name: bytes, data: bytes, outputs: list[StreamOutput]) -> bool:  # noqa: C901 - in order
        self._leave_fast_path()
        self.started = True
        if self._head is not None and len(self._begun) < MOST_BEGUN and not self._stream.finished:
            self._begun.append((name, data[:LOOKED_AT]))
        try:
            decode = self._decode if len(data) <= LARGE_BYTES else loads_in_pieces
            event = None if len(data) > SHORT_EVENT and _is_too_much(data) else decode(data)
        except json_codec.DECODE_ERRORS:
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
        stream, before = self._stream, len(outputs)
        stream.feed_into(event, outputs)
        if not stream.failing and (len(outputs) == before or type(outputs[-1]) is Unmapped):
            self.held += self._size_without_part(event, kind, len(data), is_unknown=len(outputs) > before)
        if self._ending_stream is not None:
            self.ending = self._marked or self._ending_stream.ending
        if not stream.finished and self._unused < _MOST_UNUSED:
            self._learn(kind, event, name, data)
        return True

    def _learn(self, kind: Any, event: Any, name: bytes, data: bytes) -> None:
        emit: EmitText | None = getattr(self._stream, "emit_more", None)  # adapters of 0.15 have none
        read = None if emit is None else self._learner.learn(kind, event, data)
        if emit is None or read is None:
            self._learner.values = {}
        else:
            self._emit_more, self._fast_path = emit, (read, name, emit)
            self._unused += 1

    def _leave_fast_path(self) -> None:
        """The slow path follows: the tokens of the fast path are counted first."""
        self._fast_path, self._read_chunk = _NO_FAST_PATH, None
        if (event := self._learner.without_text()) is not None:
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
        try:
            return self._stream.end(whole=whole)
        except errors.AnswerTooLargeError as error:  # calls are read at the end on some wires
            return self._stream.fail(error)

    def _not_an_object(self, data: bytes) -> list[StreamOutput]:
        if (failure := COMMON_ERRORS.failure_of_text(data[:LOOKED_AT].decode(errors="replace"))) is not None:
            return self._unreadable(failure)
        got = data[:80].decode(errors="replace")
        expected = "a JSON object" + (
            f" of at most {json_codec.MOST_LEVELS} levels" if json_codec.may_nest_deeply(data) else ""
        )
        return self._unreadable(
            errors.UpstreamProtocolError(event_type=None, field="data", got=repr(got), expected=expected)
        )

    def _unreadable(self, error: errors.LanguageModelError) -> list[StreamOutput]:
        """Ends the response with an error of its bytes; with the upstream's own, if it has reported one before."""
        return self._close(whole=False) if self._stream.failing else self._stream.fail(error)


def _unwrapped(value: Any) -> Any:
    """The only element of a list: Google's servers send their errors in one."""
    return value[0] if type(value) is list and len(value) == 1 else value


def _is_too_much(data: bytes) -> bool:
    """Whether a text nests too deeply.

    Raises:
        AnswerTooLargeError: It has so many values that they would take ten times its bytes.
    """
    if len(data) > MOST_ANSWER_VALUES and measure(data, MOST_ANSWER_VALUES).values > MOST_ANSWER_VALUES:
        raise errors.AnswerTooLargeError("values in one event", MOST_ANSWER_VALUES)
    return json_codec.nests_too_deeply(data)


def _lenient(data: bytes) -> Any:
    """The value of a JSON text, also with lone surrogates, broken UTF-8 or huge numbers; None for what is too much or
    no JSON."""
    try:
        return None if _is_too_much(data) else json_codec.loads_event(data)
    except (json_codec.JSONDecodeError, errors.AnswerTooLargeError):
        return None


# ---- Fast path ----
# Nearly all events of a response are the same bytes but for one text, and for numbers and short strings without
# meaning: the number of the event, the time, a padding. So the reader learns an event that took the slow path, if the
# adapter offers to emit more texts of it: the bytes around these values. Of an event with the same bytes around its
# values, only the text is decoded. This is no guess: if the bytes around complete JSON values are the same, the
# documents are the same but for these values (RFC 8259 section 7: a string ends with its first quotation mark that no
# backslash hides). A chunk of bytes that is one whole event is read with its framing in the same way.

_ReadText: TypeAlias = Callable[[bytes], str | None]
"""Reads the text of bytes that fit the learned event; None for others."""

_FastPath: TypeAlias = "tuple[_ReadText | None, bytes, EmitText]"
"""What reads the text of data, the name of the server-sent events with such data, and what emits the text."""

_NO_FAST_PATH: Final[_FastPath] = (None, b"", lambda _text, _outputs: None)
_VALUE: Final = rb'("[^"\\]*+(?:\\.[^"\\]*+)*+"|[1-9][0-9]*+(?![.eE]))'
_DIGITS: Final = string.digits.encode()
_LETTERS: Final = string.ascii_letters.encode() + _DIGITS + b"_-.:+/= "
"""What strings without meaning consist of: ids, times, paddings."""
_MOST_UNUSED: Final = 8
"""How many learned events in a row may be like no other: some servers give each one a field that no table knows."""

_decode_text = json_codec.make_text_decoder()


class _Hole(NamedTuple):
    """A value that may differ: the bytes between the value before and this one, and the letters of a number or of a
    string without meaning; none for the text."""

    before: bytes
    letters: bytes = b""


_DATA: Final = frozenset({"data", "b64_json", "partial_image_b64", "result"})
_OF_DATA: Final = 64
"""Sound and images are the texts of these fields, of which many characters are one of what a model writes."""


def _sizes(value: object) -> tuple[int, int]:
    """The characters of all texts within a JSON value, and those of sound and images."""
    texts, data, rest = 0, 0, [value]
    while rest:
        one = rest.pop()
        if isinstance(one, str):
            texts += len(one)
        elif isinstance(one, dict):
            for name, inner in one.items():
                if name in _DATA and isinstance(inner, str):
                    data += len(inner)
                else:
                    rest.append(inner)
        elif isinstance(one, list):
            rest += one
    return texts, data


class DeltaLearner:
    """Learns the deltas of one response.

    Of the fields that may differ, only those count that have differed from one delta to the next: most never do.

    Attributes:
        values: The values of the learned event, by field; empty after an event that is no delta.
        uncounted: The data of the last event that was read on the fast path, if it counts tokens.
    """

    def __init__(self, deltas: Deltas) -> None:
        self.uncounted: bytes | None = None
        self._deltas = deltas
        self.values: dict[bytes, list[bytes]] = {}
        self._varied: set[bytes] = set()
        self._place: tuple[str | int, ...] = ()
        self._holes: list[_Hole] = []
        self._after = b""
        self._counts = False

    def learn(self, kind: Any, event: Any, data: bytes) -> _ReadText | None:
        """Makes a function that reads the text of data like those of an event; None where it is not certain which text
        the event brings, or where this is in the bytes."""
        deltas = self._deltas
        texts = [(place, text) for place in deltas.places.get(kind, ()) if (text := _text_at(event, place))]
        if len(texts) != 1:
            return None
        self._place, text = texts[0]
        field, values = str(self._place[-1]).encode(), dict[bytes, list[bytes]]()
        found = [*_values(self._place[-1], deltas.varying, deltas.counts).finditer(data)]
        for one in found:
            values.setdefault(one[1], []).append(one[2])
        try:
            if [_decode_text(said) for said in values.pop(field, ())] != [text]:
                return None
        except json_codec.DECODE_ERRORS:
            return None
        self._varied |= {name for name, said in values.items() if self.values.get(name, said) != said}
        self.values = values
        self._holes, at = [], 0
        for one in found:
            begin, end = one.span(2)
            if one[1] == field:
                self._holes.append(_Hole(data[at:begin]))
            elif one[1] not in self._varied:
                continue
            elif one[2][:1] != b'"':
                self._holes.append(_Hole(data[at:begin], _DIGITS))
            elif not one[2][1:-1].translate(None, _LETTERS):
                begin, end = begin + 1, end - 1
                self._holes.append(_Hole(data[at:begin], _LETTERS))
            else:
                continue
            at = end
        self._after = data[at:]
        self._counts = any(one.encode() in self._varied for one in deltas.counts)
        return self._reads(b"", b"")

    def in_chunk(self, chunk: bytes, data: bytes) -> _ReadText | None:
        """Makes a function that reads the text of chunks like this one, which is the learned event with its data; None
        where the data are not in the chunk as they are."""
        before, _, after = chunk.partition(data)
        return self._reads(before, after) if chunk.count(data) == 1 else None

    def without_text(self) -> Any:
        """The last event on the fast path whose tokens are not counted yet, without its text; None if there is none."""
        data, self.uncounted = self.uncounted, None
        event: Any = None if data is None else _unwrapped(_lenient(data))
        if event is not None:
            inner = event
            for one in self._place[:-1]:
                inner = inner[one]
            inner[self._place[-1]] = ""
        return event

    def _reads(self, before: bytes, after: bytes) -> _ReadText:  # noqa: C901 - a function and its state
        """Makes a function that reads the text of data between these bytes."""
        head, end = before + self._holes[0].before, self._after + after
        place = next(number for number, hole in enumerate(self._holes) if not hole.letters)
        steps = [(one.letters, two.before) for one, two in pairwise(self._holes[: place + 1])]
        steps_back = [(one.letters, one.before) for one in reversed(self._holes[place + 1 :])]
        decode, digits, counts, begin, frame = _decode_text, _DIGITS, self._counts, len(before), len(before + after)

        def read_only_text(data: bytes) -> str | None:
            rest = data.removeprefix(head)
            said = rest.removesuffix(end)
            if rest is not data and said is not rest:
                try:
                    return decode(said)
                except json_codec.DECODE_ERRORS:
                    pass
            return None

        def read(data: bytes) -> str | None:  # noqa: C901, PLR0911 - calls would take longer than the work
            rest = data.removeprefix(head)
            if rest is data:
                return None
            for letters, following in steps:
                if letters is digits and not b"1" <= rest < b":":  # no number begins with a zero
                    return None
                later = rest.lstrip(letters)
                rest = later.removeprefix(following)
                if rest is later:
                    return None
            said = rest.removesuffix(end)
            if said is rest:
                return None
            for letters, preceding in steps_back:
                earlier = said.rstrip(letters)
                if letters is digits and said[len(earlier) :] < b"1":
                    return None
                said = earlier.removesuffix(preceding)
                if said is earlier:
                    return None
            try:
                text = decode(said)
            except json_codec.DECODE_ERRORS:
                return None
            if counts:
                self.uncounted = data[begin : begin + len(data) - frame]
            return text

        return read if len(self._holes) > 1 else read_only_text


@cache
def _values(field: str | int, varying: tuple[str, ...], counts: tuple[str, ...]) -> re.Pattern[bytes]:
    """Finds the values of some fields. No field is found in a string: its quotation marks follow backslashes there."""
    names = "|".join(re.escape(str(one)) for one in (field, *varying, *counts)).encode()
    # The quotation mark first: for one literal `re` searches fast, and tries any other beginning at each byte.
    return re.compile(rb'"(?<!\\")(%b)"\s*+:\s*+%b' % (names, _VALUE), re.DOTALL)


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
        event: The event; empty where there is none.
    """

    kind: str
    size: int
    event: Mapping[str, Any]
    outputs: Sequence[StreamOutput]


class Tap(TypingProtocol):
    """Sees what a reader reads."""

    def step(self, step: ReadStep) -> None:
        """Takes the next step."""


class TappedReader(StreamReader):
    """A reader that shows each step to a tap; the other arguments are those of :class:`StreamReader`."""

    def __init__(
        self,
        tap: Tap,
        protocol: Protocol | ProtocolName,
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

    def fail(self, error: errors.LanguageModelError) -> list[StreamOutput]:
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
        self._leave_fast_path()
        event = _object(data)
        kind = event.get(self._tag, "") if self._tag is not None else ""
        shown = kind or name.decode(errors="replace") or ("" if event else data.decode(errors="replace"))
        self._tap.step(ReadStep(str(shown), len(data), event, outputs[self._seen :]))
        self._seen = len(outputs)
        return goes_on


def _object(data: bytes) -> Mapping[str, Any]:
    """The JSON object in data; empty for anything else."""
    value = _lenient(data)
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
