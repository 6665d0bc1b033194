"""Google Interactions: events in, VS Code's parts out.

Rule 1: how far a response has come is one table, :mod:`partstream.protocols.life`.
Rule 2: a step is shown while it comes; a call is handed out when its step ends, what goes back to the server with it.
Rule 3: the status says how the interaction ended; whether there are calls, the steps say (decision 17).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.errors import AdapterUsageError, LanguageModelError, TruncatedStreamError
from partstream.outputs import Finish, Outcome, StreamOptions, StreamOutput, Unmapped
from partstream.protocols.fields import Wire, identifier, mapping, objects, text
from partstream.protocols.gemini.errors import ERRORS
from partstream.protocols.gemini_interactions.finish import FAILURES, OVER, finish_of
from partstream.protocols.gemini_interactions.steps import Steps
from partstream.protocols.gemini_interactions.usage import ReportedUsage
from partstream.protocols.life import TRANSITIONS, Action, EventKind, State
from partstream.protocols.protocol import Claim, ReadResponse
from partstream.usage import FinishReason, UnifiedFinishReason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from partstream.outputs import Sink
    from partstream.usage import Usage

__all__ = ["EVENTS", "READ_RESPONSE", "InteractionsStream", "claims", "events_of"]

_Outputs: TypeAlias = list[StreamOutput]


class InteractionsStream:
    """One answer of a server of Interactions; see :class:`partstream.outputs.ResponseStream`.

    Attributes:
        sink: None: there is no short way.
    """

    def __init__(self, options: StreamOptions = StreamOptions()) -> None:  # noqa: B008 - immutable
        self.sink: Sink | None = None
        self._state = State.IDLE
        self._steps = Steps(options)
        self._usage = ReportedUsage()
        self._response_id: str | None = None
        self._model: str | None = None
        self._status: str | None = None

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
        if self._state is State.ENDED:
            raise AdapterUsageError("fed an event after the stream was ended")
        wire: Wire = event if isinstance(event, dict) else dict(event)
        kind = text(wire, "event_type")
        if kind not in EVENTS and wire.get("error"):
            kind = "error"
        if kind not in EVENTS:
            if wire and not self.finished:
                outputs.append(Unmapped(kind or "an event without a type", wire))
            return
        meaning, handler = EVENTS[kind]
        next_state, action, _ = TRANSITIONS[self._state][meaning]
        if action is Action.HANDLE and not self.finished:
            self._state = State.OPEN if next_state is State.FINISHED else next_state
            handler(self, wire, outputs)

    def end(self, *, whole: bool = False) -> _Outputs:
        """Ends the events."""
        if self._state is State.ENDED:
            raise AdapterUsageError("the stream was ended before")
        outputs: _Outputs = []
        if not self.finished:
            if self._state is State.OPEN and (whole or self._status in OVER):
                self._complete(outputs)
            else:
                outputs = self.fail(TruncatedStreamError(self._state.name))
        self._state = State.ENDED
        return outputs

    def fail(self, error: LanguageModelError) -> _Outputs:
        """Ends the response with an error; nothing if it has finished already."""
        outputs: _Outputs = []
        if not self.finished:
            is_cut = isinstance(error, TruncatedStreamError)
            reason = None if is_cut else FinishReason(UnifiedFinishReason.ERROR, self._status)
            self._finish(Outcome.TRUNCATED if is_cut else Outcome.FAILED, reason, outputs, error)
        return outputs

    def _complete(self, outputs: _Outputs) -> None:
        if (said := FAILURES.get(self._status or "")) is not None:
            outputs += self.fail(ERRORS.failure(said, self._status))
            return
        self._steps.end(outputs)
        outcome, reason = finish_of(self._status, has_calls=bool(self._steps.calls))
        error = self._steps.error
        self._finish(outcome if error is None else Outcome.FAILED, reason, outputs, error)

    def _finish(
        self, outcome: Outcome, reason: FinishReason | None, outputs: _Outputs, error: LanguageModelError | None
    ) -> None:
        outputs.append(Finish(outcome, reason, self._usage.value, self._response_id, self._model, error))
        self._state = State.FINISHED

    # The events; see EVENTS

    def _about(self, event: Wire, _outputs: _Outputs) -> None:
        said = mapping(event, "interaction") or event
        self._response_id = self._response_id or identifier(said, "id") or identifier(said, "interaction_id")
        self._model = self._model or identifier(said, "model")
        self._status = identifier(said, "status") or self._status
        self._usage.say(said.get("usage"))

    def _step_start(self, event: Wire, outputs: _Outputs) -> None:
        self._steps.start(event, outputs)

    def _step_delta(self, event: Wire, outputs: _Outputs) -> None:
        self._steps.delta(event, outputs)

    def _step_stop(self, event: Wire, outputs: _Outputs) -> None:
        self._usage.say(event.get("usage"))
        self._steps.stop(event, outputs)

    def _completed(self, event: Wire, outputs: _Outputs) -> None:
        self._about(event, outputs)
        self._status = self._status if self._status in OVER else "completed"
        self._complete(outputs)

    def _document(self, event: Wire, outputs: _Outputs) -> None:
        said = mapping(event, "interaction")
        self._steps.whole(objects(said, "steps") or objects(said, "outputs"), outputs)
        self._completed(event, outputs)

    def _error(self, event: Wire, outputs: _Outputs) -> None:
        outputs += self.fail(ERRORS.failure_in(event) or ERRORS.failure("it gave no reason", None))


_OVER: Final = (State.FINISHED, State.ENDED)
_DOCUMENT: Final = "a document"

EVENTS: Final[Mapping[str, tuple[EventKind, Callable[[InteractionsStream, Wire, _Outputs], None]]]] = {
    "interaction.created": (EventKind.LIFECYCLE, InteractionsStream._about),
    "interaction.status_update": (EventKind.LIFECYCLE, InteractionsStream._about),
    "step.start": (EventKind.CONTENT, InteractionsStream._step_start),
    "step.delta": (EventKind.CONTENT, InteractionsStream._step_delta),
    "step.stop": (EventKind.CONTENT, InteractionsStream._step_stop),
    "interaction.completed": (EventKind.TERMINAL, InteractionsStream._completed),
    "error": (EventKind.TERMINAL, InteractionsStream._error),
    # The older names of the same events (facts 12).
    "interaction.start": (EventKind.LIFECYCLE, InteractionsStream._about),
    "content.start": (EventKind.CONTENT, InteractionsStream._step_start),
    "content.delta": (EventKind.CONTENT, InteractionsStream._step_delta),
    "content.stop": (EventKind.CONTENT, InteractionsStream._step_stop),
    "interaction.complete": (EventKind.TERMINAL, InteractionsStream._completed),
    _DOCUMENT: (EventKind.TERMINAL, InteractionsStream._document),
}


def claims(kind: str | None, event: Wire) -> Claim:
    """Tells whether an event of a recording belongs to this protocol."""
    said = event.get("event_type")
    if said == kind and isinstance(said, str) and said.startswith(("interaction.", "step.", "content.")):
        return Claim.SURE
    return Claim.POSSIBLE if said == "error" else Claim.NO


def events_of(document: Wire) -> Sequence[Wire]:
    """The event that a document stands for: an interaction with all of its steps, or an error."""
    return (document,) if document.get("error") else ({"event_type": _DOCUMENT, "interaction": document},)


READ_RESPONSE: Final = ReadResponse(open=InteractionsStream, claim=claims, events_of=events_of)
