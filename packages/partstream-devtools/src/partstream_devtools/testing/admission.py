"""Admission to the replay upstream: what real servers refuse of a request, and which reply all other requests get.

A request is refused in the words of the protocol's servers. Otherwise a recording, a scenario, or the program that owns
the upstream makes the reply, with faults and a pace. A header takes precedence over the last user text, and the last
user text over the settings of the upstream.

A recording is a stream or exchanges with a server. `.sse` and `.ndjson` files are replayed byte for byte, a `.jsonl`
file is one event a line, a `.json` file an array of events. A recorded exchange is replayed as the steps of the server
that sent it: the same bytes in the same writes, at any pace.

The upstream serves every protocol that reads requests and writes responses, including those of installed packages.
"""

from __future__ import annotations
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from partstream.codec.checks import dataclass
from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.errors import CallerError, InvalidRequestError
from partstream.lm.outputs import InboundRequest, Reply
from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.protocol import DEFAULT_PROTOCOL, JSON_LINES, SSE, Protocol, loadable_protocols
from partstream.protocols.reader import StreamReader
from partstream.protocols.serve import ResponseWriter, WireEvent, WireRequest, fits_path, literal_size
from partstream.server.requests import Endpoint, endpoints_of
from partstream_devtools.bundles.exchange import HowEnded, RecordedExchange
from partstream_devtools.bundles.forms import form_of, read_any
from partstream_devtools.bundles.recorded import Content, answers_in, content_of, media_type_of
from partstream_devtools.recorded_stream import RecordingError, as_stream
from partstream_devtools.testing import directives
from partstream_devtools.testing import faults as causes
from partstream_devtools.testing.replaying import CURRENT, Plan, noting_bugs
from partstream_devtools.testing.scripted_model import (
    Outputs,
    PromptTokens,
    choose_scenario,
    dressed,
    find_choice,
    play,
)
from partstream_devtools.testing.vendors import VENDORS
from partstream_devtools.testing.vendors.vendor import PromptCache, Vendor, check_request, check_signed_state

# ---- Recorded exchanges ----

_NANOSECONDS: Final = 1e9
_OF_THE_CONNECTION: Final = frozenset(
    "connection content-length date keep-alive server set-cookie te trailer transfer-encoding upgrade "  # noqa: SIM905
    "alt-svc clear-site-data link location refresh report-to strict-transport-security www-authenticate".split()
)
"""Header fields that the connection of a replay has of its own, that belong to the person who was answered, or by which
a recording of a stranger would lead a client, with its key, to a server of theirs."""
_FIELD_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A token of RFC 9110 section 5.6.2: HTTP carries no other name, and a recording of a stranger may hold anything."""
_NO_BODY: Final = frozenset({204, 205, 304})
_OUR_LIMIT: Final = "UpstreamTimeoutError"
"""The error of a client that waited no longer: its server said nothing."""


def steps_of(exchange: RecordedExchange, pace: float) -> tuple[causes.Step, ...]:
    """The steps of the reply of an exchange, `pace` times as fast as it was recorded; 0 and no time mean at once."""
    return tuple(_steps(exchange, pace))


_END: Final = {
    HowEnded.WHOLE: causes.End(),
    HowEnded.CUT: causes.End(causes.EndKind.CLOSED),
    HowEnded.CANCELLED: causes.End(causes.EndKind.CLOSED),
    HowEnded.NO_RESPONSE: causes.End(causes.EndKind.RESET),
}


def _steps(exchange: RecordedExchange, pace: float) -> Iterator[causes.Step]:
    start = 0 if exchange.request is None else exchange.request.sent_at or 0
    head, end = exchange.head, exchange.end
    status = 200 if head is None else head.status
    if end.how is not HowEnded.NO_RESPONSE:
        yield from _until(None if head is None else head.at, start, pace)
        headers = tuple(
            (name, value.strip())
            for name, value in (() if head is None else head.headers)
            if not (name.lower() in _OF_THE_CONNECTION or name.lower().startswith("access-control-"))
            and _FIELD_NAME.fullmatch(name)
            and value.isprintable()
            and value.isascii()
        )
        yield causes.Head(status if 200 <= status <= 999 else 502, headers)  # others begin no answer
    content = _content_of(exchange)
    framing = None if content is None else content.framing  # tells the events of a stream apart, to count them
    decoder = None if framing is None else framing.make_decoder()
    for chunk in () if status in _NO_BODY else exchange.chunks:
        yield from _until(chunk.at, start, pace)
        yield causes.Send(chunk.data, whole=0 if decoder is None else len(list(decoder.feed(chunk.data))))
    if end.error is not None and end.error.type == _OUR_LIMIT:
        yield causes.Stall()
    yield from _until(end.at, start, pace)
    yield _END[end.how]


def _until(at: int | None, start: int, pace: float) -> Iterator[causes.Step]:
    if at is not None and pace and at > start:
        yield causes.Until((at - start) / _NANOSECONDS / pace)


# ---- Recorded streams ----


class NotARecordingError(CallerError):
    """A file is not a recorded stream; `line` counts from 1, and is 0 if the error concerns the whole file."""

    def __init__(self, path: Path, line: int, got: str, expected: str) -> None:
        super().__init__(f"{path}{f', line {line}' if line else ''}: got {got}, expected {expected}")
        self.path = path
        self.line = line
        self.expected = expected


# An event ends with an empty line, with any kind of line ending; additional empty lines belong to the same event.
_AFTER_EVENT: Final = re.compile(rb"(?:(?<=\n\n)|(?<=\r\r)|(?<=\r\n\r\n))(?=[^\r\n])")


def read_recording(
    path: Path, content: bytes, protocol: Protocol, writes: type[ResponseWriter]
) -> tuple[causes.Send, ...]:
    """The recorded events; those of `.jsonl` and `.json` files get the protocol's framing and its mark of the end.

    A piece of the answer is an event from which `protocol`, that of the path that replays the recording, reads a part.
    A recording of another protocol is replayed too, but has no pieces and therefore no pace.

    Raises:
        NotARecordingError: The file has another ending, or a line is not a JSON object.
    """
    if path.suffix == ".sse":
        pieces = [piece for piece in _AFTER_EVENT.split(content) if piece]
        sends = (causes.Send(piece, causes.kind_of_frame(piece, protocol)) for piece in pieces)
        return tuple(causes.marked_by(StreamReader(protocol, framing=SSE), sends))
    if path.suffix == ".ndjson":
        lines = content.splitlines(keepends=True)
        sends = (causes.Send(line, causes.kind_of_line(line, protocol)) for line in lines)
        return tuple(causes.marked_by(StreamReader(protocol, framing=JSON_LINES), sends))
    if path.suffix not in {".jsonl", ".json"}:
        raise NotARecordingError(
            path, 0, f"a file that ends in {path.suffix or 'nothing'!r}", ".json, .ndjson, .jsonl or .sse"
        )
    if path.suffix == ".json":
        content, _ = as_stream(content, path.name)
    events = [
        _read_line(path, number, line) for number, line in enumerate(content.splitlines(), start=1) if line.strip()
    ]
    sends = (causes.Send(writes.frame(event), protocol.kind(event) or causes.UNNAMED) for event in events)
    framed = causes.marked_by(StreamReader(protocol), sends)
    return (*framed, *([causes.Send(writes.end_of_stream, causes.END_OF_STREAM)] if writes.end_of_stream else []))


def _read_line(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        event = loads(line)
    except JSONDecodeError as error:
        raise NotARecordingError(path, number, f"no JSON ({error.msg})", "one event as a JSON object") from error
    if not isinstance(event, dict):
        raise NotARecordingError(path, number, f"JSON of type {type(event).__name__}", "one event as a JSON object")
    return event


# ---- Paths ----

ARGUMENT_SIZE: Final = 7
"""The most characters of a call's arguments in one event, so that most calls take several events."""

ENDPOINTS: Final[Mapping[str, Endpoint]] = endpoints_of(loadable_protocols()[0].values())
"""All endpoints, by the patterns of their paths."""

DEFAULT_PATH: Final = next(path for path, one in ENDPOINTS.items() if one.protocol.name == DEFAULT_PROTOCOL)

BASE_PATHS: Final[Mapping[str, str]] = {
    name: next(one.base_path for one in ENDPOINTS.values() if one.protocol.name == name)
    for name in dict.fromkeys(one.protocol.name for one in ENDPOINTS.values())
}
"""The path of the base URL for clients, by the protocol's name."""


def endpoint_at(path: str) -> Endpoint:
    """The endpoint at the path of a request.

    Raises:
        KeyError: None is there.
    """
    fitting = [pattern for pattern in ENDPOINTS if fits_path(pattern, path)]
    if not fitting:
        raise KeyError(path)
    return ENDPOINTS[max(fitting, key=literal_size)]


def scenario_events(
    name: str,
    body: Mapping[str, Any],
    value: str = "",
    path: str = DEFAULT_PATH,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> list[WireEvent]:
    """All events of a scenario's answer to a request, without a server.

    `value` is that of the scenario, such as `500` in `scenario:long=500`; the path says the protocol of the body and of
    the events; the names of headers are in lower case.

    Raises:
        UnknownScenarioError: The scenario or its value is unknown.
        InvalidRequestError: The body is not a valid request.
    """
    endpoint = endpoint_at(path)
    asked = endpoint.reads.read(endpoint.request(path, body, headers))
    reply = Reply(reply_identity(body, 0), 0, ARGUMENT_SIZE)
    writer = endpoint.writes(asked, reply)
    outputs = play(directives.NamedValue(name, value), asked, reply.identity)
    return [event for output in outputs for event in writer.write(output)]


def reply_identity(body: Mapping[str, Any], number: int) -> str:
    """The text from which all identifiers of a reply derive: the request's digest and number."""
    return f"{number}-{hashlib.sha256(dumps(body)).hexdigest()}"


# ---- Admission ----

FAULT_HEADER: Final = "x-partstream-fault"
PACE_HEADER: Final = "x-partstream-pace-ms"
_MAX_PACE_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class _Recording:
    """A recorded answer: its events as an endpoint sends them, or its steps as they were recorded.

    `steps` and `protocol` are None for a stream alone; the protocol is None also where nothing shows it.
    """

    name: str
    events: Callable[[Endpoint], tuple[causes.Send, ...]]
    steps: tuple[causes.Step, ...] | None = None
    protocol: str | None = None


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """The answer to one request, made by the owner of the upstream instead of a scenario of the table.

    Attributes:
        outputs: The answer: parts, then one `Finish`. Usage, price, signatures and unique call ids are added.
        fault: The faults of the reply, as `NAME[=VALUE]`, separated by commas.
        pace: Seconds between two pieces of the answer.
    """

    outputs: Outputs
    fault: str = ""
    pace: float = 0.0


class ReplayAdmission:
    """Decides on each request to a model; keeps its settings, and of requests only what they write into the cache and
    how many recorded answers they have got.

    The arguments are those of :class:`partstream_devtools.testing.ReplayUpstream`, with the prompt cache that bills
    requests, or None. `perform` makes the answer to each request, which no directive then changes; None plays
    scenarios.

    Raises:
        UnknownScenarioError: The scenario is unknown.
        UnknownFaultError: A fault is unknown.
        NotARecordingError: The file is not a recorded stream.
        OSError: The file cannot be read.
    """

    def __init__(
        self,
        scenario: str,
        replay: Path | Sequence[RecordedExchange] | None,
        pace: float,
        fault: str | None,
        cache: PromptCache | None = None,
        replay_pace: float = 1.0,
    ) -> None:
        if not 0 <= pace <= _MAX_PACE_SECONDS:
            raise CallerError(f"pace: got {pace:g} seconds, expected 0 to {_MAX_PACE_SECONDS:g}")
        self._scenario = find_choice(scenario)
        self._faults = _checked(directives.parse_choices(fault or ""))
        self._pace = pace
        self._cache = cache
        self._recordings: tuple[_Recording, ...] = ()
        self.replay(replay, replay_pace)
        self.perform: Callable[[InboundRequest], ScriptedReply] | None = None

    def replay(self, replay: Path | Sequence[RecordedExchange] | None, pace: float) -> None:
        """Answers requests from now on with a recording, from its first exchange on; with None, plays scenarios again.

        Raises:
            NotARecordingError: The file is not a recorded stream.
            BundleError: The file holds no exchanges that can be read.
            OSError: The file cannot be read.
        """
        self._recordings = () if replay is None else _read(replay, pace)
        self._answered = Counter[str]()

    def admit(self, endpoint: Endpoint, request: WireRequest, asked: InboundRequest) -> None:
        """Refuses a request, or plans its reply.

        Raises:
            RefusedRequestError: It is refused, in the words of the protocol's servers where they have some.
            InvalidRequestError: A call has no result, a result has no call, or a signature does not fit.
        """
        try:
            with noting_bugs():
                self._admit(endpoint, request, asked)
        except (RefusedRequestError, InvalidRequestError):
            raise
        except CallerError as error:  # it asks for a scenario, a fault or a pace that there is not
            raise RefusedRequestError(str(error)) from error

    def _admit(self, endpoint: Endpoint, request: WireRequest, asked: InboundRequest) -> None:
        if not request.body:  # a probe of the endpoint gets no answer of a model
            raise RefusedRequestError("got an empty request, expected a model and a conversation")
        vendor = _vendor(endpoint)
        vendor.refuse(request)
        check_signed_state(vendor.signed_state(request), asked.model)
        check_request(asked)
        current, identity = CURRENT.get(), reply_of(request).identity
        recording, choice = None, ""
        if self.perform is not None:
            reply = self.perform(asked)
            faults, pace = _checked(directives.parse_choices(reply.fault)), reply.pace
            outputs = dressed(reply.outputs, asked, identity, self._billed(endpoint, request))
        else:
            said = directives.user_text(asked.messages)
            faults, pace = self._choose_faults(request, said), self._choose_pace(request, said)
            recording = self._next(endpoint)
            scenario = choose_scenario(asked, self._scenario)
            choice = str(scenario) if recording is None else recording.name
            outputs = play(scenario, asked, identity, self._billed(endpoint, request))
        # Faults and a pace of its own are those of events; else the reply of an exchange is as it was recorded.
        replayed = None if recording is None or faults or pace else recording.steps
        writes = endpoint.writes
        current.plan = Plan(
            outputs=outputs,
            protocol=endpoint.protocol,
            form=writes.stream_form(asked) if asked.stream else None,
            content_type=writes.content_type,
            error_body=lambda status, message: dumps(writes.error(status, message)),
            faults=faults,
            pace=pace,
            recorded=None if recording is None or replayed is not None else recording.events(endpoint),
            replayed=replayed,
        )
        current.exchange.choice = choice or None
        current.exchange.faults = faults

    def _next(self, endpoint: Endpoint) -> _Recording | None:
        """The recorded answer to the next request: the last one again when all were replayed.

        Clients of several protocols get what they can read, in whichever order they ask.
        """
        name = endpoint.protocol.name
        fitting = [one for one in self._recordings if one.protocol in (None, name)] or self._recordings
        if not fitting:
            return None
        self._answered[name] += 1
        return fitting[min(self._answered[name], len(fitting)) - 1]

    def _billed(self, endpoint: Endpoint, request: WireRequest) -> PromptTokens | None:
        """The tokens of a request as its vendor's cache bills them; None where no cache or no rule is known."""
        prompt = None if self._cache is None else _vendor(endpoint).cached_prompt(request)
        if self._cache is None or prompt is None:
            return None
        bill = self._cache.bill(prompt)
        return PromptTokens(bill.tokens, bill.read, None if prompt.rule.is_automatic else bill.written)

    def _choose_faults(self, request: WireRequest, said: str) -> tuple[directives.NamedValue, ...]:
        if FAULT_HEADER in request.headers:
            return _checked(directives.parse_choices(request.headers[FAULT_HEADER]))
        return _checked(directives.read_faults(said)) or self._faults

    def _choose_pace(self, request: WireRequest, said: str) -> float:
        header = request.headers.get(PACE_HEADER)
        if header is None:
            asked = directives.read_pace(said)
            return self._pace if asked is None else min(asked, _MAX_PACE_SECONDS)
        milliseconds = directives.whole_number(header, int(_MAX_PACE_SECONDS * 1000))
        if milliseconds is None:
            most = f"{_MAX_PACE_SECONDS * 1000:g}"
            raise CallerError(f"header {PACE_HEADER}: got {header[:40]!r}, expected milliseconds from 0 to {most}")
        return milliseconds / 1000


def reply_of(request: WireRequest) -> Reply:
    """The facts of the reply to the current request: the same request gets the same ids, but for its number."""
    current = CURRENT.get()
    identity = reply_identity(request.body, current.exchange.request.number)
    return Reply(identity, int(current.now), ARGUMENT_SIZE)


_NO_VENDOR: Final = Vendor()


def _vendor(endpoint: Endpoint) -> Vendor:
    """What is known of the servers at an endpoint; nothing of those at a further one, such as that for summaries."""
    read_request = endpoint.protocol.read_request
    is_main = read_request is not None and read_request() is endpoint.reads
    return VENDORS.get(endpoint.protocol.name, _NO_VENDOR) if is_main else _NO_VENDOR


def _checked(faults: tuple[directives.NamedValue, ...]) -> tuple[directives.NamedValue, ...]:
    """The faults, applied to an empty reply, so that a mistake raises before the reply begins."""
    causes.apply_faults(causes.event_stream(()), faults, causes.ReplyContext(1, 0.0, lambda *_: b"{}"))
    return faults


def _read(replay: Path | Sequence[RecordedExchange], pace: float) -> tuple[_Recording, ...]:
    if isinstance(replay, Path):
        content = replay.read_bytes()
        if form_of(content) is None:
            events = {at: read_recording(replay, content, one.protocol, one.writes) for at, one in ENDPOINTS.items()}
            return (_Recording(replay.name, lambda endpoint: events[endpoint.path]),)
        replay = answers_in(read_any(content, str(replay)))
    return tuple(_exchange(one, pace) for one in replay)


def _exchange(exchange: RecordedExchange, pace: float) -> _Recording:
    def events(endpoint: Endpoint) -> tuple[causes.Send, ...]:
        ending = ".ndjson" if media_type_of(exchange) == JSON_LINES.media_type else ".sse"
        return read_recording(Path(f"body{ending}"), exchange.body, endpoint.protocol, endpoint.writes)

    content = _content_of(exchange)
    protocol = None if content is None or content.protocol is None else content.protocol.name
    return _Recording(f"exchange {exchange.number}", events, steps_of(exchange, pace), protocol)


def _content_of(exchange: RecordedExchange) -> Content | None:
    """What the body of an exchange is; None for no stream of a known protocol."""
    try:
        return content_of(exchange, "")
    except RecordingError:
        return None
