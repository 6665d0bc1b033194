"""What real servers refuse of a request, and what becomes of the others: scenario, faults and pace of the reply.

A header takes precedence over the last user text, and the last user text over the settings of the upstream.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from partstream.errors import CallerError, InvalidRequestError
from partstream.json_codec import dumps
from partstream.outputs import Reply
from partstream.protocols.refused import RefusedRequestError
from partstream.testing.asked import user_text
from partstream.testing.directives import NamedValue, parse_choices, read_faults, read_pace, whole_number
from partstream.testing.faults import Situation, apply_faults
from partstream.testing.recording import read_recording
from partstream.testing.refusals import check_request, check_signed_state
from partstream.testing.replaying import CURRENT, Plan, noting_bugs
from partstream.testing.scripted import choose_scenario, dressed, find_choice, play
from partstream.testing.served import ARGUMENT_SIZE, ENDPOINTS, reply_identity
from partstream.testing.steps import event_stream
from partstream.testing.token_rule import PromptTokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from partstream.outputs import Asked
    from partstream.protocols.wire_request import WireRequest
    from partstream.serving.endpoints import Endpoint
    from partstream.testing.prompt_cache import PromptCache
    from partstream.testing.scenarios import Outputs
    from partstream.testing.steps import Send

__all__ = ["FAULT_HEADER", "PACE_HEADER", "Admission", "Performance", "reply_of"]

FAULT_HEADER: Final = "x-partstream-fault"
PACE_HEADER: Final = "x-partstream-pace-ms"
_MAX_PACE_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class _Recording:
    """A recorded stream.

    Attributes:
        name: The name of its file.
        events: The events in the form in which they are sent, by the path that serves them.
    """

    name: str
    events: Mapping[str, tuple[Send, ...]]


@dataclass(frozen=True, slots=True)
class Performance:
    """The answer to one request, made by whoever owns the upstream instead of by a scenario of the table.

    Attributes:
        outputs: The answer: parts, then one `Finish`. Usage, price, signatures and unique call ids are added.
        fault: The faults of the reply, as `NAME[=VALUE]`, separated by commas.
        pace: Seconds between two pieces of the answer.
    """

    outputs: Outputs
    fault: str = ""
    pace: float = 0.0


class Admission:
    """Decides on each request to a model; keeps its settings, and of requests only what they write into the cache.

    Attributes:
        perform: Makes the answer to each request, which no directive then changes; None to play scenarios.

    Args:
        scenario: The scenario for requests that name none, as `NAME` or `NAME=VALUE`.
        replay: A recorded stream that answers every request instead of a scenario.
        pace: Seconds between two pieces of the answer, for requests that set no pace.
        fault: The faults for requests that name none, as `NAME[=VALUE]`, separated by commas.
        cache: The prompt cache that bills requests; None to bill none.

    Raises:
        UnknownScenarioError: The scenario is unknown.
        UnknownFaultError: A fault is unknown.
        NotARecordingError: The file is not a recorded stream.
        OSError: The file cannot be read.
    """

    def __init__(
        self, scenario: str, replay: Path | None, pace: float, fault: str | None, cache: PromptCache | None = None
    ) -> None:
        if not 0 <= pace <= _MAX_PACE_SECONDS:
            raise CallerError(f"pace: got {pace:g} seconds, expected 0 to {_MAX_PACE_SECONDS:g}")
        self._scenario = find_choice(scenario)
        self._faults = _checked(parse_choices(fault or ""))
        self._pace = pace
        self._cache = cache
        self._recording = None if replay is None else _read(replay)
        self.perform: Callable[[Asked], Performance] | None = None

    def admit(self, endpoint: Endpoint, request: WireRequest, asked: Asked) -> None:
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

    def _admit(self, endpoint: Endpoint, request: WireRequest, asked: Asked) -> None:
        _check(endpoint, request, asked)
        if self.perform is not None:
            self._plan(endpoint, request, asked, self.perform(asked))
            return
        current, said = CURRENT.get(), user_text(asked.messages)
        faults = self._choose_faults(request, said)
        choice = choose_scenario(asked, self._scenario)
        current.plan = _planned(
            endpoint,
            asked,
            play(choice, asked, reply_of(request).identity, self._billed(endpoint, request)),
            faults,
            self._choose_pace(request, said),
            None if self._recording is None else self._recording.events[endpoint.path],
        )
        current.exchange.choice = str(choice) if self._recording is None else self._recording.name
        current.exchange.faults = faults

    def _plan(self, endpoint: Endpoint, request: WireRequest, asked: Asked, performance: Performance) -> None:
        current, faults = CURRENT.get(), _checked(parse_choices(performance.fault))
        prompt = self._billed(endpoint, request)
        outputs = dressed(performance.outputs, asked, reply_of(request).identity, prompt)
        current.plan = _planned(endpoint, asked, outputs, faults, performance.pace)
        current.exchange.faults = faults

    def _billed(self, endpoint: Endpoint, request: WireRequest) -> PromptTokens | None:
        """The tokens of a request as its vendor's cache bills them; None where nobody asked for it."""
        if self._cache is None or endpoint.reads.cached_prompt is None:
            return None
        prompt = endpoint.reads.cached_prompt(request)
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
    asked: Asked,
    outputs: Outputs,
    faults: tuple[NamedValue, ...],
    pace: float,
    recorded: tuple[Send, ...] | None = None,
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
        recorded=recorded,
    )


def reply_of(request: WireRequest) -> Reply:
    """The facts of the reply to the current request: the same request gets the same ids, but for its number."""
    current = CURRENT.get()
    identity = reply_identity(request.body, current.exchange.request.number)
    return Reply(identity, int(current.now), ARGUMENT_SIZE)


def _check(endpoint: Endpoint, request: WireRequest, asked: Asked) -> None:
    """Refuses a request as a real server of the protocol does.

    Raises:
        RefusedRequestError: It is refused, in that server's words.
        InvalidRequestError: A call has no result, a result has no call, or a signature does not fit.
    """
    if not request.body:  # who asks whether an endpoint is there gets no answer of a model
        raise RefusedRequestError("got an empty request, expected a model and a conversation")
    if endpoint.reads.refuse is not None:
        endpoint.reads.refuse(request)
    if endpoint.reads.signed_state is not None:
        check_signed_state(endpoint.reads.signed_state(request), asked.model)
    check_request(asked)


def _checked(faults: tuple[NamedValue, ...]) -> tuple[NamedValue, ...]:
    """The faults, applied to an empty reply, so that a mistake raises before the reply begins."""
    apply_faults(event_stream(()), faults, Situation(1, 0.0, lambda *_: b"{}"))
    return faults


def _read(replay: Path) -> _Recording:
    return _Recording(
        replay.name, {path: read_recording(replay, one.protocol, one.writes) for path, one in ENDPOINTS.items()}
    )
