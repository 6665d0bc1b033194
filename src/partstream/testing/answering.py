"""Selects the reply of the replay upstream to a request: route, checks, scenario, faults and pace; owns no socket.

A header takes precedence over the last user text, and the last user text over the settings of the upstream.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.errors import CallerError, InvalidRequestError
from partstream.json_codec import JSONDecodeError, dumps, loads
from partstream.outputs import Reply
from partstream.protocols.protocol import KeyKind
from partstream.protocols.refused import RefusedRequestError
from partstream.serving.routes import NoRouteError, Routes
from partstream.testing.asked import user_text
from partstream.testing.directives import NamedValue, parse_choices, read_faults, read_pace, whole_number
from partstream.testing.faults import Situation, apply_faults
from partstream.testing.recording import read_recording
from partstream.testing.scripted import choose_scenario, find_choice, play
from partstream.testing.served import ARGUMENT_SIZE, DEFAULT_PATH, ENDPOINTS, reply_identity
from partstream.testing.served_models import SERVED_MODELS
from partstream.testing.steps import Send, Step, document, event_stream, paced
from partstream.testing.token_rule import PromptTokens, count_prompt

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from partstream.outputs import Asked
    from partstream.protocols.protocol import WireRequest
    from partstream.serving.routes import Route
    from partstream.testing.connection import HTTPRequest
    from partstream.testing.prompt_cache import PromptCache
    from partstream.testing.served import Endpoint

__all__ = ["FAULT_HEADER", "PACE_HEADER", "Answering", "Moment", "Plan", "error_document", "refusal_body"]

FAULT_HEADER: Final = "x-partstream-fault"
PACE_HEADER: Final = "x-partstream-pace-ms"
_MAX_PACE_SECONDS: Final = 60.0


class Plan(NamedTuple):
    """A reply before it is delivered.

    Attributes:
        steps: The steps on the wire, for a single pass.
        choice: The scenario or the recording that answers; None for replies that are neither.
        faults: The faults that were applied to the steps.
    """

    steps: Iterable[Step]
    choice: str | None = None
    faults: tuple[NamedValue, ...] = ()


class Moment(NamedTuple):
    """The circumstances of a request.

    Attributes:
        number: The number of the request among the upstream's requests, from 1.
        attempt: How often this same request has arrived, including this time.
        now: The time of arrival, in seconds since 1970.
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
    """A recorded stream.

    Attributes:
        name: The name of its file.
        events: The events in the form in which they are sent, by the path that serves them.
    """

    name: str
    events: Mapping[str, tuple[Send, ...]]


_HEALTH: Final = "/healthz"


class Answering:
    """Turns requests into plans; keeps its settings, and of requests only what they write into the prompt cache.

    Args:
        scenario: The scenario for requests that name none, as `NAME` or `NAME=VALUE`.
        replay: A recorded stream that answers every request instead of a scenario.
        pace: Seconds between two pieces of the answer, for requests that set no pace.
        fault: The faults for requests that name none, as `NAME[=VALUE]`, separated by commas.
        token: The key that requests must carry, in the header that their protocol has for it; None for no key.
        protocols: The names of the protocols that are spoken; None for all.
        cache: The prompt cache that bills requests; None to bill none.

    Raises:
        UnknownScenarioError: The scenario is unknown.
        UnknownFaultError: A fault is unknown.
        NotARecordingError: The file is not a recorded stream.
        OSError: The file cannot be read.
    """

    def __init__(
        self,
        scenario: str,
        replay: Path | None,
        pace: float,
        fault: str | None,
        token: str | None,
        protocols: Collection[str] | None = None,
        cache: PromptCache | None = None,
    ) -> None:
        if not 0 <= pace <= _MAX_PACE_SECONDS:
            raise CallerError(f"pace: got {pace:g} seconds, expected 0 to {_MAX_PACE_SECONDS:g}")
        self._scenario = find_choice(scenario)
        self._faults = parse_choices(fault or "")
        # Applied to an empty reply, so that a mistake raises here and not in every request.
        apply_faults(event_stream(()), self._faults, Situation(1, 0.0, lambda *_: b"{}"))
        self._pace = pace
        self._token = token
        self._cache = cache
        self._recording = None if replay is None else _read(replay)
        spoken = {path: one for path, one in ENDPOINTS.items() if protocols is None or one.protocol.name in protocols}
        self._routes = Routes(spoken, (_HEALTH,))

    def plan(self, request: HTTPRequest, moment: Moment) -> Plan:
        """The reply to a request; a mistake in the request gives a reply with an error."""
        endpoint = self._routes.nearest(request.path)
        try:
            if request.path == _HEALTH:
                return _health(request)
            route = self._routes.find(request.method, request.path, request.headers)
            endpoint = route.endpoint
            return self._reply(route, request, moment)
        except _HTTPError as error:
            return Plan(_error_document(endpoint, error.status, error.message, *error.headers))
        except NoRouteError as error:
            allowed = ", ".join(error.allowed)
            headers = (("allow", allowed),) if allowed else ()
            return Plan(_error_document(endpoint, 405 if allowed else 404, str(error), *headers))
        except RefusedRequestError as error:
            return Plan(document(error.status, dumps(refusal_body(endpoint, error))))
        except (InvalidRequestError, CallerError) as error:  # or it asks for an unknown scenario or fault
            return Plan(_error_document(endpoint, 400, str(error)))

    def _reply(self, route: Route[Endpoint], request: HTTPRequest, moment: Moment) -> Plan:
        self._authorise(route.endpoint, request)
        if route.document is None:
            return self._answer(route.endpoint, request, moment)
        body = _read_body(request) if request.body else {}
        asked = route.endpoint.request(request.path, body, request.headers, request.query)
        counted = route.document.counts
        tokens = 0 if counted is None else count_prompt(counted(asked)).all
        status, said = route.document.answer(asked, SERVED_MODELS, tokens)
        return Plan(document(status, dumps(said)))

    def _authorise(self, endpoint: Endpoint, request: HTTPRequest) -> None:
        if self._token is None:
            return
        ways = [endpoint.key_headers(self._token, kind) for kind in KeyKind]
        if any(all(_holds(request, name, value) for name, value in way.items()) for way in ways):
            return
        name, value = next((name, value) for name, value in ways[0].items() if not _holds(request, name, value))
        what = f"another {name}" if request.headers.get(name) else f"no header {name}"
        message = f"got {what}, expected {value.replace(self._token, 'TOKEN')} with the token of this upstream"
        raise _HTTPError(401, message, ("www-authenticate", "Bearer"))

    def _answer(self, endpoint: Endpoint, request: HTTPRequest, moment: Moment) -> Plan:
        body = _read_body(request)
        wire = endpoint.request(request.path, body, request.headers, request.query)
        asked = endpoint.reads.read(wire)
        endpoint.check(wire, asked)
        said = user_text(asked.messages)
        identity, prompt = reply_identity(body, moment.number), self._billed(endpoint, wire)
        steps, choice = self._good_reply(endpoint, asked, Reply(identity, int(moment.now), ARGUMENT_SIZE), prompt)
        faults = self._choose_faults(request, said)
        if faults:
            situation = Situation(
                moment.attempt, moment.now, lambda status, message: dumps(endpoint.error(status, message))
            )
            steps = apply_faults(steps, faults, situation)
        return Plan(paced(steps, self._choose_pace(request, said)), choice, faults)

    def _billed(self, endpoint: Endpoint, wire: WireRequest) -> PromptTokens | None:
        """The tokens of a request as its vendor's cache bills them; None where nobody asked for it."""
        if self._cache is None or endpoint.reads.cached_prompt is None:
            return None
        prompt = endpoint.reads.cached_prompt(wire)
        bill = self._cache.bill(prompt)
        return PromptTokens(bill.tokens, bill.read, None if prompt.rule.is_automatic else bill.written)

    def _good_reply(
        self, endpoint: Endpoint, asked: Asked, reply: Reply, prompt: PromptTokens | None
    ) -> tuple[Iterable[Step], str]:
        if self._recording is not None:
            recorded = self._recording.events[endpoint.path]
            return event_stream(recorded, endpoint.writes.content_type), self._recording.name
        scenario = choose_scenario(asked, self._scenario)
        outputs = play(scenario, asked, reply.identity, prompt)
        if asked.stream:
            content_type = endpoint.writes.stream_form(asked).content_type
            return event_stream(endpoint.sends(asked, outputs, reply), content_type), str(scenario)
        status, whole = endpoint.writes.document(list(endpoint.events(asked, outputs, reply)))
        return document(status, dumps(whole)), str(scenario)

    def _choose_faults(self, request: HTTPRequest, said: str) -> tuple[NamedValue, ...]:
        if FAULT_HEADER in request.headers:
            return parse_choices(request.headers[FAULT_HEADER])
        return read_faults(said) or self._faults

    def _choose_pace(self, request: HTTPRequest, said: str) -> float:
        header = request.headers.get(PACE_HEADER)
        if header is None:
            asked = read_pace(said)
            return self._pace if asked is None else min(asked, _MAX_PACE_SECONDS)
        milliseconds = whole_number(header, int(_MAX_PACE_SECONDS * 1000))
        if milliseconds is None:
            most = f"{_MAX_PACE_SECONDS * 1000:g}"
            raise _HTTPError(400, f"header {PACE_HEADER}: got {header[:40]!r}, expected milliseconds from 0 to {most}")
        return milliseconds / 1000


def error_document(status: int, message: str) -> tuple[Step, ...]:
    """An HTTP error in the form of the default protocol, for what is no request."""
    return _error_document(ENDPOINTS[DEFAULT_PATH], status, message)


def _error_document(endpoint: Endpoint, status: int, message: str, *headers: tuple[str, str]) -> tuple[Step, ...]:
    return document(status, dumps(endpoint.error(status, message)), headers=headers)


def _holds(request: HTTPRequest, name: str, value: str) -> bool:
    return hmac.compare_digest(request.headers.get(name, "").encode(), value.encode())


def refusal_body(endpoint: Endpoint, error: RefusedRequestError) -> Mapping[str, Any]:
    """The body of a refusal; what the server blames stands in its error object, if it has one."""
    said = endpoint.error(error.status, str(error))
    blamed = {name: value for name, value in (("param", error.param), ("code", error.code)) if value is not None}
    inner = said.get("error")
    return {**said, "error": {**inner, **blamed, **error.fields}} if isinstance(inner, dict) else said


def _read(replay: Path) -> _Recording:
    return _Recording(
        replay.name, {path: read_recording(replay, one.protocol, one.writes) for path, one in ENDPOINTS.items()}
    )


def _health(request: HTTPRequest) -> Plan:
    if request.method != "GET":
        raise NoRouteError(f"got method {request.method} at {request.path}, expected GET", ("GET",))
    return Plan(document(200, b'{"status":"ok"}'))


def _read_body(request: HTTPRequest) -> dict[str, Any]:
    try:
        body = loads(request.body)
    except JSONDecodeError as error:
        got = f"{len(request.body)} bytes that are not JSON ({error})" if request.body else "an empty body"
        raise _HTTPError(400, f"got {got}, expected a JSON object") from error
    if not isinstance(body, dict):
        raise _HTTPError(400, f"got JSON of type {type(body).__name__}, expected an object")
    if not body:  # as real servers do: who asks whether an endpoint is there gets no answer of a model
        raise _HTTPError(400, "got an empty request, expected a model and a conversation")
    try:
        dumps(body)
    except TypeError as error:  # NaN and Infinity, which some decoders take
        raise _HTTPError(400, f"got what JSON cannot represent ({error}), expected a JSON object") from error
    return body
