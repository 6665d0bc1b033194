"""Anthropic Messages: events in, VS Code's parts out.

Rule 1: how far a response has come is one table, :mod:`partstream.protocols.life`; a handler never looks at the state.
Rule 2: EVENTS says which handler an event has; what becomes of blocks and deltas stand in the tables of `message.py`.
Rule 3: nothing is checked against a schema. What is missing, null or of another type says nothing; what is not known is
counted as :class:`Unmapped`.
Rule 4: an answer is whole with `message_stop`, or with a stop reason and the end of the bytes.

Source: facts of the Messages API and of the servers that speak it, by section; recordings of Anthropic's server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from partstream.errors import AdapterUsageError, LanguageModelError, TruncatedStreamError, UpstreamProtocolError
from partstream.outputs import Finish, Outcome, StreamOptions, StreamOutput, Unmapped
from partstream.protocols.anthropic_messages.document import events_of
from partstream.protocols.anthropic_messages.errors import ERRORS
from partstream.protocols.anthropic_messages.finish import StopReason
from partstream.protocols.anthropic_messages.message import Message
from partstream.protocols.anthropic_messages.usage import ReportedUsage
from partstream.protocols.fields import Wire, identifier, index, mapping, objects
from partstream.protocols.life import TRANSITIONS, Action, EventKind, State
from partstream.protocols.protocol import Claim, ReadResponse
from partstream.protocols.showing import shown
from partstream.usage import FinishReason, UnifiedFinishReason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.outputs import Sink
    from partstream.usage import Usage

__all__ = ["EVENTS", "READ_RESPONSE", "MessagesStream", "claims"]

_Outputs: TypeAlias = list[StreamOutput]


class MessagesStream:
    """One answer of a Messages server; see :class:`partstream.outputs.ResponseStream`.

    Attributes:
        sink: The short way, or None.
        ending: Whether a stop reason came, and nothing of the answer behind it: only `message_stop` may still follow.
    """

    def __init__(self, options: StreamOptions = StreamOptions()) -> None:  # noqa: B008 - immutable
        self.sink: Sink | None = None
        self.ending = False
        self._state = State.IDLE
        self._rows = DISPATCH[State.IDLE]
        self._message = Message(options)
        self._usage = ReportedUsage()
        self._stop = StopReason()
        self._response_id: str | None = None
        self._model: str | None = None

    @property
    def finished(self) -> bool:
        """Whether the :class:`Finish` is out."""
        return self._state in _OVER

    @property
    def failing(self) -> bool:
        """Whether more about an error may follow: never, since an error is the last event of this wire."""
        return False

    @property
    def usage(self) -> Usage | None:
        """The tokens that the server has reported so far."""
        return self._usage.value

    def feed(self, event: Mapping[str, Any]) -> _Outputs:
        """Takes the next event and returns what it means, in order."""
        outputs: _Outputs = []
        self.feed_into(event, outputs)
        return outputs

    def feed_into(self, event: Mapping[str, Any], outputs: _Outputs) -> None:
        """Takes the next event and appends what it means."""
        self.sink = None
        try:
            next_state, handler = self._rows[event["type"]]
        except (KeyError, TypeError):
            self._unknown(event, outputs)
            return
        handler(self, event, outputs)
        if next_state is not self._state and not self.finished:
            self._enter(next_state)

    def end(self, *, whole: bool = False) -> _Outputs:
        """Ends the events."""
        if self._state is State.ENDED:
            raise AdapterUsageError("the stream was ended before")
        outputs: _Outputs = []
        if self._state is State.OPEN and (whole or self._stop.word is not None):
            self._complete({}, outputs)
        elif not self.finished:
            outputs = self.fail(TruncatedStreamError(self._state.name))
        self._enter(State.ENDED)
        return outputs

    def fail(self, error: LanguageModelError) -> _Outputs:
        """Ends the response with an error; nothing if it has finished already."""
        outputs: _Outputs = []
        if self.finished:
            return outputs
        self._message.abandon(outputs)
        is_cut = isinstance(error, TruncatedStreamError)
        reason = None if is_cut else FinishReason(UnifiedFinishReason.ERROR, self._stop.word)
        self._finish(Outcome.TRUNCATED if is_cut else Outcome.FAILED, reason, outputs, error)
        return outputs

    def _enter(self, state: State) -> None:
        self._state = state
        self._rows = DISPATCH[state]

    def _finish(
        self,
        outcome: Outcome,
        reason: FinishReason | None,
        outputs: _Outputs,
        error: LanguageModelError | None = None,
    ) -> None:
        outputs.append(Finish(outcome, reason, self._usage.value, self._response_id, self._model, error))
        self._enter(State.FINISHED)

    def _unknown(self, event: Mapping[str, Any], outputs: _Outputs) -> None:
        """Counts an event of a kind that nobody knows yet: "new event types may be added" (facts 1)."""
        if self._state is State.ENDED:
            raise AdapterUsageError(f"fed {event.get('type')!r} after the stream was ended")
        if self._state is State.FINISHED:
            return
        kind = event.get("type")
        if isinstance(kind, str) and kind:
            outputs.append(Unmapped(kind, event))
        elif (failure := ERRORS.failure_in(event)) is not None:
            outputs += self.fail(failure)
        else:
            got = "no type" if kind is None else f"type {shown(kind)}"
            outputs += self.fail(UpstreamProtocolError(event_type=None, field="type", got=got, expected="a string"))

    # The events

    def _start(self, event: Wire, outputs: _Outputs) -> None:
        message = mapping(event, "message")
        self._response_id = identifier(message, "id") or self._response_id
        self._model = identifier(message, "model") or self._model
        self._usage.say(message.get("usage"))
        self._stop.say(message)
        self._message.whole(objects(message, "content"), outputs)

    def _block_start(self, event: Wire, outputs: _Outputs) -> None:
        self._message.start(index(event, "index"), mapping(event, "content_block"), outputs)

    def _block_delta(self, event: Wire, outputs: _Outputs) -> None:
        delta = mapping(event, "delta")
        if not self._message.delta(index(event, "index"), delta, outputs):
            outputs.append(Unmapped(f"delta:{identifier(delta, 'type') or 'unknown'}", event))

    def _block_stop(self, event: Wire, outputs: _Outputs) -> None:
        self._message.stop(index(event, "index"), outputs)

    def _message_delta(self, event: Wire, _outputs: _Outputs) -> None:
        self._stop.say(event.get("delta"))
        self._usage.say(event.get("usage"))
        self.ending = self._stop.word is not None

    def _complete(self, _event: Wire, outputs: _Outputs) -> None:
        error = self._message.end(outputs)
        outcome = self._stop.outcome if error is None else Outcome.FAILED
        self._finish(outcome, self._stop.reason(has_calls=self._message.has_calls), outputs, error)

    def _error(self, event: Wire, outputs: _Outputs) -> None:
        error = ERRORS.failure_in(event) or ERRORS.failure("it gave no reason", None)
        outputs += self.fail(error)


_OVER: Final = (State.FINISHED, State.ENDED)

_Handler: TypeAlias = "Callable[[MessagesStream, Any, _Outputs], None]"


def _nothing(*_: object) -> None:
    """The handler of events without effect."""


class Row(NamedTuple):
    """The meaning of an event type for the life of a response, and its handler."""

    kind: EventKind
    handler: _Handler


EVENTS: Final[dict[str, Row]] = {
    "message_start": Row(EventKind.LIFECYCLE, MessagesStream._start),
    "content_block_start": Row(EventKind.CONTENT, MessagesStream._block_start),
    "content_block_delta": Row(EventKind.CONTENT, MessagesStream._block_delta),
    "content_block_stop": Row(EventKind.CONTENT, MessagesStream._block_stop),
    "message_delta": Row(EventKind.REPORT, MessagesStream._message_delta),
    "message_stop": Row(EventKind.TERMINAL, MessagesStream._complete),
    "ping": Row(EventKind.SILENT, _nothing),
    # The last event where it comes: vLLM sends no `message_stop` behind it (facts 2.2).
    "error": Row(EventKind.TERMINAL, MessagesStream._error),
}
"""Every event type that is understood. All others come out as :class:`Unmapped`."""


def _dispatch(state: State) -> dict[str, tuple[State, _Handler]]:
    """Combines EVENTS and TRANSITIONS for one state, so that an event costs one look-up."""
    entries: dict[str, tuple[State, _Handler]] = {}
    for name, row in EVENTS.items():
        step = TRANSITIONS[state].get(row.kind)
        if step is not None:
            entries[name] = step.next_state, row.handler if step.action is Action.HANDLE else _nothing
    return entries


DISPATCH: Final = {state: _dispatch(state) for state in State}


def claims(kind: str | None, event: Wire) -> Claim:
    """Tells whether an event of a recording belongs to this protocol: never by `ping`, which others send too."""
    if kind == "message_start" and isinstance(event.get("message"), dict):
        return Claim.SURE
    if kind in {"content_block_start", "content_block_delta"} and isinstance(event.get(_INNER[kind]), dict):
        return Claim.SURE
    if kind == "message_delta" and isinstance(event.get("delta"), dict):
        return Claim.SURE
    if kind == "error":
        return Claim.POSSIBLE if isinstance(event.get("error"), dict) else Claim.NO
    return Claim.POSSIBLE if kind in EVENTS and kind != "ping" else Claim.NO


_INNER: Final = {"content_block_start": "content_block", "content_block_delta": "delta"}

READ_RESPONSE: Final = ReadResponse(open=MessagesStream, claim=claims, events_of=events_of)
