"""What real servers refuse of a request, and what becomes of the others: scenario, faults and pace of the reply.

A header takes precedence over the last user text, and the last user text over the settings of the upstream.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from partstream.codec.json_codec import dumps
from partstream.devtools.bundles.exchange import answers_in, content_of, media_type_of
from partstream.devtools.bundles.forms import form_of, read_any
from partstream.devtools.recorded_stream import RecordingError
from partstream.errors import CallerError, InvalidRequestError
from partstream.lm.outputs import Reply
from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.protocol import JSON_LINES
from partstream.testing.asked import user_text
from partstream.testing.directives import NamedValue, parse_choices, read_faults, read_pace, whole_number
from partstream.testing.faults import ReplyContext, apply_faults
from partstream.testing.recorded_exchange import steps_of
from partstream.testing.recording import read_recording
from partstream.testing.refusals import check_request, check_signed_state
from partstream.testing.replaying import CURRENT, Plan, noting_bugs
from partstream.testing.scripted import choose_scenario, dressed, find_choice, play
from partstream.testing.served import ARGUMENT_SIZE, ENDPOINTS, reply_identity
from partstream.testing.steps import event_stream
from partstream.testing.token_rule import PromptTokens
from partstream.testing.vendors import VENDORS, Vendor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from partstream.devtools.bundles.exchange import RecordedExchange
    from partstream.lm.outputs import InboundRequest
    from partstream.protocols.serve import WireRequest
    from partstream.server.requests import Endpoint
    from partstream.testing.prompt_cache import PromptCache
    from partstream.testing.scenarios import Outputs
    from partstream.testing.steps import Send, Step

__all__ = ["FAULT_HEADER", "PACE_HEADER", "ReplayAdmission", "ScriptedReply", "reply_of"]

FAULT_HEADER: Final = "x-partstream-fault"
PACE_HEADER: Final = "x-partstream-pace-ms"
_MAX_PACE_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class _Recording:
    """A recorded answer.

    Attributes:
        name: What it is called.
        events: The events in the form in which an endpoint sends them.
        steps: The reply as it was recorded; None for a stream alone.
        protocol: The name of the protocol that it is in; None for a stream alone, and where nothing tells.
    """

    name: str
    events: Callable[[Endpoint], tuple[Send, ...]]
    steps: tuple[Step, ...] | None = None
    protocol: str | None = None


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """The answer to one request, made by whoever owns the upstream instead of by a scenario of the table.

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

    Attributes:
        perform: Makes the answer to each request, which no directive then changes; None to play scenarios.

    Args:
        scenario: The scenario for requests that name none, as `NAME` or `NAME=VALUE`.
        replay: A recording that answers every request instead of a scenario: a file, or exchanges. Each request gets
            the next exchange in its protocol, and all further requests the last; the next of all where none is in it.
        pace: Seconds between two pieces of the answer, for requests that set no pace.
        fault: The faults for requests that name none, as `NAME[=VALUE]`, separated by commas.
        cache: The prompt cache that bills requests; None to bill none.
        replay_pace: How many times as fast as they were recorded exchanges are replayed; 0 for at once.

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
        self._faults = _checked(parse_choices(fault or ""))
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

        Args:
            endpoint: Where it came.
            request: The request.
            asked: The same, as it was understood.

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
        _check(endpoint, request, asked)
        if self.perform is not None:
            self._plan(endpoint, request, asked, self.perform(asked))
            return
        current, said = CURRENT.get(), user_text(asked.messages)
        faults, pace, recording = (
            self._choose_faults(request, said),
            self._choose_pace(request, said),
            self._next(endpoint),
        )
        choice = choose_scenario(asked, self._scenario)
        current.plan = _planned(
            endpoint,
            asked,
            play(choice, asked, reply_of(request).identity, self._billed(endpoint, request)),
            faults,
            pace,
        )
        if recording is not None:
            # Faults and a pace of its own are those of events; else the reply is as it was recorded.
            is_as_recorded = recording.steps is not None and not faults and not pace
            replaced = {"replayed": recording.steps} if is_as_recorded else {"recorded": recording.events(endpoint)}
            current.plan = replace(current.plan, **replaced)
        current.exchange.choice = str(choice) if recording is None else recording.name
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

    def _plan(
        self, endpoint: Endpoint, request: WireRequest, asked: InboundRequest, performance: ScriptedReply
    ) -> None:
        current, faults = CURRENT.get(), _checked(parse_choices(performance.fault))
        prompt = self._billed(endpoint, request)
        outputs = dressed(performance.outputs, asked, reply_of(request).identity, prompt)
        current.plan = _planned(endpoint, asked, outputs, faults, performance.pace)
        current.exchange.faults = faults

    def _billed(self, endpoint: Endpoint, request: WireRequest) -> PromptTokens | None:
        """The tokens of a request as its vendor's cache bills them; None where nobody asked, or no rule is known."""
        prompt = None if self._cache is None else _vendor(endpoint).cached_prompt(request)
        if self._cache is None or prompt is None:
            return None
        bill = self._cache.bill(prompt)
        return PromptTokens(bill.tokens, bill.read, None if prompt.rule.is_automatic else bill.written)

    def _choose_faults(self, request: WireRequest, said: str) -> tuple[NamedValue, ...]:
        if FAULT_HEADER in request.headers:
            return _checked(parse_choices(request.headers[FAULT_HEADER]))
        return _checked(read_faults(said)) or self._faults

    def _choose_pace(self, request: WireRequest, said: str) -> float:
        header = request.headers.get(PACE_HEADER)
        if header is None:
            asked = read_pace(said)
            return self._pace if asked is None else min(asked, _MAX_PACE_SECONDS)
        milliseconds = whole_number(header, int(_MAX_PACE_SECONDS * 1000))
        if milliseconds is None:
            most = f"{_MAX_PACE_SECONDS * 1000:g}"
            raise CallerError(f"header {PACE_HEADER}: got {header[:40]!r}, expected milliseconds from 0 to {most}")
        return milliseconds / 1000


def _planned(
    endpoint: Endpoint,
    asked: InboundRequest,
    outputs: Outputs,
    faults: tuple[NamedValue, ...],
    pace: float,
) -> Plan:
    writes = endpoint.writes
    return Plan(
        outputs=outputs,
        protocol=endpoint.protocol,
        form=writes.stream_form(asked) if asked.stream else None,
        content_type=writes.content_type,
        error_body=lambda status, message: dumps(writes.error(status, message)),
        faults=faults,
        pace=pace,
    )


def reply_of(request: WireRequest) -> Reply:
    """The facts of the reply to the current request: the same request gets the same ids, but for its number."""
    current = CURRENT.get()
    identity = reply_identity(request.body, current.exchange.request.number)
    return Reply(identity, int(current.now), ARGUMENT_SIZE)


def _check(endpoint: Endpoint, request: WireRequest, asked: InboundRequest) -> None:
    """Refuses a request as a real server of the protocol does.

    Raises:
        RefusedRequestError: It is refused, in that server's words.
        InvalidRequestError: A call has no result, a result has no call, or a signature does not fit.
    """
    if not request.body:  # who asks whether an endpoint is there gets no answer of a model
        raise RefusedRequestError("got an empty request, expected a model and a conversation")
    vendor = _vendor(endpoint)
    vendor.refuse(request)
    check_signed_state(vendor.signed_state(request), asked.model)
    check_request(asked)


def _vendor(endpoint: Endpoint) -> Vendor:
    """What is known of the servers at an endpoint; nothing of those at a further one, such as that for summaries."""
    read_request = endpoint.protocol.read_request
    is_main = read_request is not None and read_request() is endpoint.reads
    return VENDORS.get(endpoint.protocol.name, _NO_VENDOR) if is_main else _NO_VENDOR


_NO_VENDOR: Final = Vendor()


def _checked(faults: tuple[NamedValue, ...]) -> tuple[NamedValue, ...]:
    """The faults, applied to an empty reply, so that a mistake raises before the reply begins."""
    apply_faults(event_stream(()), faults, ReplyContext(1, 0.0, lambda *_: b"{}"))
    return faults


def _read(replay: Path | Sequence[RecordedExchange], pace: float) -> tuple[_Recording, ...]:
    if isinstance(replay, Path):
        content = replay.read_bytes()
        if form_of(content) is None:
            return (_stream(replay, content),)
        replay = answers_in(read_any(content, str(replay)))
    return tuple(_exchange(one, pace) for one in replay)


def _stream(path: Path, content: bytes) -> _Recording:
    events = {at: read_recording(path, content, one.protocol, one.writes) for at, one in ENDPOINTS.items()}
    return _Recording(path.name, lambda endpoint: events[endpoint.path])


def _exchange(exchange: RecordedExchange, pace: float) -> _Recording:
    def events(endpoint: Endpoint) -> tuple[Send, ...]:
        ending = ".ndjson" if media_type_of(exchange) == JSON_LINES.media_type else ".sse"
        return read_recording(Path(f"body{ending}"), exchange.body, endpoint.protocol, endpoint.writes)

    return _Recording(f"exchange {exchange.number}", events, steps_of(exchange, pace), _protocol_of(exchange))


def _protocol_of(exchange: RecordedExchange) -> str | None:
    try:
        row = content_of(exchange, "").protocol
    except RecordingError:
        return None
    return None if row is None else row.name
