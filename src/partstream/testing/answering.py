"""Which reply a request gets from the replay upstream: routes, checks, scenario, faults and pace; it owns no socket.

What is asked in a header goes before what is asked in the last user text, and that before what was given at the start.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from partstream.errors import CallerError, InvalidRequestError
from partstream.json_codec import JSONDecodeError, dumps, loads
from partstream.outputs import Reply
from partstream.testing.directives import Choice, parse_choices, read_faults, read_pace, read_scenario
from partstream.testing.faults import END_OF_STREAM, Situation, apply_faults
from partstream.testing.recording import read_recording
from partstream.testing.scenarios import SCENARIOS, find_scenario
from partstream.testing.served import DEFAULT_PATH, MODEL_LISTS, SERVED_PROTOCOLS, reply_identity
from partstream.testing.steps import Send, Step, document, event_stream, paced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from partstream.protocols.serving import ServedProtocol, ServedRequest
    from partstream.testing.connection import HTTPRequest

__all__ = ["FAULT_HEADER", "PACE_HEADER", "Answering", "Moment", "Plan", "error_document"]

FAULT_HEADER: Final = "x-partstream-fault"
PACE_HEADER: Final = "x-partstream-pace-ms"
_MAX_PACE_SECONDS: Final = 60.0


class Plan(NamedTuple):
    """A reply before it is delivered.

    Attributes:
        steps: What to do on the wire; to be gone through once.
        choice: The scenario or the recording that answers, or None where something else does.
        faults: The faults that the steps hold.
    """

    steps: Iterable[Step]
    choice: str | None = None
    faults: tuple[Choice, ...] = ()


class Moment(NamedTuple):
    """When a request came.

    Attributes:
        number: Which of the upstream's requests it is, from 1.
        attempt: How many times this very request has come, this time included.
        now: Seconds since 1970.
    """

    number: int
    attempt: int
    now: float


class _HTTPError(Exception):
    """Ends a request with an error status."""

    def __init__(self, status: int, message: str, *headers: tuple[str, str]) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers


@dataclass(frozen=True, slots=True)
class _Recording:
    """A recorded stream, framed for each protocol that is served."""

    name: str
    events: Mapping[ServedProtocol, tuple[Send, ...]]


_Handler: TypeAlias = "Callable[[HTTPRequest, Moment], Plan]"


class Answering:
    """Turns requests into plans; holds what was given at the start and nothing of any request.

    Args:
        scenario: What answers where a request does not say, as `NAME` or `NAME=VALUE`.
        replay: A recorded stream that answers every request, in the place of scenarios.
        pace: Seconds between two pieces of the answer where a request does not say.
        fault: What goes wrong where a request does not say, as `NAME[=VALUE]`, several with commas between them.
        token: What requests must carry as `Authorization: Bearer TOKEN`; None for nothing.

    Raises:
        UnknownScenarioError: There is no such scenario.
        UnknownFaultError: There is no such fault.
        RecordingError: The file is no recorded stream.
        OSError: The file cannot be read.
    """

    def __init__(self, scenario: str, replay: Path | None, pace: float, fault: str | None, token: str | None) -> None:
        if not 0 <= pace <= _MAX_PACE_SECONDS:
            raise CallerError(f"pace: got {pace:g} seconds, expected 0 to {_MAX_PACE_SECONDS:g}")
        (self._scenario,) = parse_choices(scenario) or (Choice(""),)
        find_scenario(self._scenario.name)
        self._faults = parse_choices(fault or "")
        # Tried on an empty reply, so that a mistake is met at the start and not by every request.
        apply_faults(event_stream(()), self._faults, Situation(1, 0.0, lambda *_: b"{}"))
        self._pace = pace
        self._token = token
        self._recording = (
            None
            if replay is None
            else _Recording(
                replay.name,
                {protocol: read_recording(replay, protocol) for protocol in set(SERVED_PROTOCOLS.values())},
            )
        )
        self._routes: dict[str, dict[str, _Handler]] = {
            "/healthz": {"GET": _health},
            **{path: {"GET": self._models} for path in MODEL_LISTS},
            **{path: {"POST": self._answer} for path in SERVED_PROTOCOLS},
        }

    def plan(self, request: HTTPRequest, moment: Moment) -> Plan:
        """The reply to a request; what is wrong with the request is a reply as well."""
        try:
            return self._route(request)(request, moment)
        except _HTTPError as error:
            return Plan(error_document(error.status, error.message, *error.headers, path=request.path))
        except InvalidRequestError as error:
            return Plan(error_document(400, str(error), path=request.path))
        except CallerError as error:  # an unknown scenario or fault, asked for in the request
            return Plan(error_document(400, str(error), path=request.path))

    def _route(self, request: HTTPRequest) -> _Handler:
        methods = self._routes.get(request.path)
        if methods is None:
            raise _HTTPError(404, f"got path {request.path}, expected one of {', '.join(self._routes)}")
        if request.method not in methods:
            allowed = ", ".join(methods)
            raise _HTTPError(
                405, f"got method {request.method} at {request.path}, expected {allowed}", ("allow", allowed)
            )
        return methods[request.method]

    def _authorise(self, request: HTTPRequest) -> None:
        if self._token is None:
            return
        got = request.headers.get("authorization", "")
        if not hmac.compare_digest(got.encode(), f"Bearer {self._token}".encode()):
            what = "another Authorization" if got else "no Authorization header"
            message = f"got {what}, expected Authorization: Bearer with the token of this upstream"
            raise _HTTPError(401, message, ("www-authenticate", "Bearer"))

    def _models(self, request: HTTPRequest, moment: Moment) -> Plan:
        self._authorise(request)
        return Plan(document(200, dumps(MODEL_LISTS[request.path](SCENARIOS))))

    def _answer(self, request: HTTPRequest, moment: Moment) -> Plan:
        self._authorise(request)
        protocol = SERVED_PROTOCOLS[request.path]
        body = _read_body(request)
        served = protocol.read_request(body, request.headers)
        steps, choice = self._good_reply(request.path, served, moment)
        faults = self._choose_faults(request, served)
        if faults:
            situation = Situation(
                moment.attempt, moment.now, lambda status, message: dumps(protocol.error_body(status, message))
            )
            steps = apply_faults(steps, faults, situation)
        return Plan(paced(steps, self._choose_pace(request, served)), choice, faults)

    def _good_reply(self, path: str, served: ServedRequest, moment: Moment) -> tuple[Iterable[Step], str]:
        protocol = SERVED_PROTOCOLS[path]
        if self._recording is not None:
            return event_stream(self._recording.events[protocol]), self._recording.name
        scenario = self._choose_scenario(served)
        answer = find_scenario(scenario.name)(served, scenario.value)
        reply = Reply(reply_identity(served.body, moment.number), int(moment.now))
        events = protocol.write_events(served, answer, reply)
        if not served.stream:
            status, whole = protocol.write_document(events)
            return document(status, dumps(whole)), str(scenario)
        return event_stream(_framed(protocol, events)), str(scenario)

    def _choose_scenario(self, served: ServedRequest) -> Choice:
        asked = read_scenario(served.user_text)
        if asked is not None:
            return asked
        return Choice(served.model) if served.model in SCENARIOS else self._scenario

    def _choose_faults(self, request: HTTPRequest, served: ServedRequest) -> tuple[Choice, ...]:
        if FAULT_HEADER in request.headers:
            return parse_choices(request.headers[FAULT_HEADER])
        return read_faults(served.user_text) or self._faults

    def _choose_pace(self, request: HTTPRequest, served: ServedRequest) -> float:
        header = request.headers.get(PACE_HEADER)
        if header is None:
            asked = read_pace(served.user_text)
            return self._pace if asked is None else min(asked, _MAX_PACE_SECONDS)
        if not (header.isdecimal() and int(header) <= _MAX_PACE_SECONDS * 1000):
            most = f"{_MAX_PACE_SECONDS * 1000:g}"
            raise _HTTPError(400, f"header {PACE_HEADER}: got {header!r}, expected milliseconds from 0 to {most}")
        return int(header) / 1000


def error_document(status: int, message: str, *headers: tuple[str, str], path: str = DEFAULT_PATH) -> tuple[Step, ...]:
    """An error in the form of the protocol that is spoken at `path`."""
    protocol = SERVED_PROTOCOLS.get(path, SERVED_PROTOCOLS[DEFAULT_PATH])
    return document(status, dumps(protocol.error_body(status, message)), headers=headers)


def _health(request: HTTPRequest, moment: Moment) -> Plan:
    return Plan(document(200, b'{"status":"ok"}'))


def _read_body(request: HTTPRequest) -> dict[str, Any]:
    try:
        body = loads(request.body)
    except JSONDecodeError as error:
        got = f"{len(request.body)} bytes that are not JSON ({error})" if request.body else "an empty body"
        raise _HTTPError(400, f"got {got}, expected a JSON object") from error
    if not isinstance(body, dict):
        raise _HTTPError(400, f"got JSON of type {type(body).__name__}, expected an object")
    return body


def _framed(protocol: ServedProtocol, events: Iterable[Mapping[str, Any]]) -> Iterator[Send]:
    for event in events:
        yield Send(protocol.frame(event), str(event.get("type", "message")))
    if protocol.end_of_stream:
        yield Send(protocol.end_of_stream, END_OF_STREAM)
