"""Google Interactions: events in, VS Code's parts out.

Rule 1: how far a response has come is one table, :mod:`partstream.protocols.read_response`.
Rule 2: a step is shown while it comes; a call is handed out when its step ends, what goes back to the server with it.
Rule 3: the status says how it ended; the steps say whether it has calls (docs/wires/gemini.md#interactions).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.errors import AdapterUsageError, LanguageModelError
from partstream.outputs import Finish, Outcome, StreamOptions, StreamOutput, Unmapped
from partstream.protocols.gemini.errors import ERRORS
from partstream.protocols.gemini_interactions.finish import FAILURES, OVER, finish_of
from partstream.protocols.gemini_interactions.steps import Steps
from partstream.protocols.gemini_interactions.usage import ReportedUsage
from partstream.protocols.protocol import MatchConfidence, ResponseReaderSpec
from partstream.protocols.read_response import (
    TRANSITIONS,
    Action,
    Adapter,
    LifecycleEvent,
    LifecycleState,
    Wire,
    identifier,
    mapping,
    objects,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from partstream.usage import FinishReason, Usage

__all__ = ["EVENTS", "READ_RESPONSE", "InteractionsStream", "claims", "events_of"]

_Outputs: TypeAlias = list[StreamOutput]


class InteractionsStream(Adapter):
    """One answer of a server of Interactions; see :class:`partstream.outputs.ResponseStream`.

    Attributes:
        sink: None: there is no short way.
    """

    def __init__(self, options: StreamOptions = StreamOptions()) -> None:  # noqa: B008 - immutable
        super().__init__()
        self._steps = Steps(options)
        self._usage = ReportedUsage()
        self._response_id: str | None = None
        self._model: str | None = None
        self._status: str | None = None

    @property
    def usage(self) -> Usage | None:
        """The tokens that the server has reported so far."""
        return self._usage.value

    def feed_into(self, event: Mapping[str, Any], outputs: _Outputs) -> None:
        """Takes the next event and appends what it means."""
        if self._state is LifecycleState.ENDED:
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
            self._state = LifecycleState.OPEN if next_state is LifecycleState.FINISHED else next_state
            handler(self, wire, outputs)

    @property
    def _word(self) -> str | None:
        return self._status

    def _is_whole(self, *, told: bool) -> bool:
        return self._state is LifecycleState.OPEN and (told or self._status in OVER)

    def _complete(self, outputs: _Outputs) -> None:
        if (said := FAILURES.get(self._status or "")) is not None:
            outputs += self.fail(ERRORS.failure(said, self._status))
            return
        self._steps.end(outputs)
        outcome, reason = finish_of(self._status, has_calls=bool(self._steps.calls))
        error = self._steps.error
        self._emit_finish(outcome if error is None else Outcome.FAILED, reason, outputs, error)

    def _emit_finish(
        self, outcome: Outcome, reason: FinishReason | None, outputs: _Outputs, error: LanguageModelError | None = None
    ) -> None:
        outputs.append(Finish(outcome, reason, self._usage.value, self._response_id, self._model, error))
        self._state = LifecycleState.FINISHED

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

    def _failure(self, event: Wire, outputs: _Outputs) -> None:
        outputs += self.fail(ERRORS.failure_in(event) or ERRORS.failure("it gave no reason", None))


_DOCUMENT: Final = "a document"

EVENTS: Final[Mapping[str, tuple[LifecycleEvent, Callable[[InteractionsStream, Wire, _Outputs], None]]]] = {
    "interaction.created": (LifecycleEvent.LIFECYCLE, InteractionsStream._about),
    "interaction.status_update": (LifecycleEvent.LIFECYCLE, InteractionsStream._about),
    "step.start": (LifecycleEvent.CONTENT, InteractionsStream._step_start),
    "step.delta": (LifecycleEvent.CONTENT, InteractionsStream._step_delta),
    "step.stop": (LifecycleEvent.CONTENT, InteractionsStream._step_stop),
    "interaction.completed": (LifecycleEvent.TERMINAL, InteractionsStream._completed),
    "error": (LifecycleEvent.TERMINAL, InteractionsStream._failure),
    # The older names of the same events (docs/wires/gemini.md#interactions).
    "interaction.start": (LifecycleEvent.LIFECYCLE, InteractionsStream._about),
    "content.start": (LifecycleEvent.CONTENT, InteractionsStream._step_start),
    "content.delta": (LifecycleEvent.CONTENT, InteractionsStream._step_delta),
    "content.stop": (LifecycleEvent.CONTENT, InteractionsStream._step_stop),
    "interaction.complete": (LifecycleEvent.TERMINAL, InteractionsStream._completed),
    _DOCUMENT: (LifecycleEvent.TERMINAL, InteractionsStream._document),
}


def claims(kind: str | None, event: Wire) -> MatchConfidence:
    """Tells whether an event of a recording belongs to this protocol."""
    said = event.get("event_type")
    if said == kind and isinstance(said, str) and said.startswith(("interaction.", "step.", "content.")):
        return MatchConfidence.SURE
    return MatchConfidence.POSSIBLE if said == "error" else MatchConfidence.NO


def events_of(document: Wire) -> Sequence[Wire]:
    """The event that a document stands for: an interaction with all of its steps, or an error."""
    return (document,) if document.get("error") else ({"event_type": _DOCUMENT, "interaction": document},)


READ_RESPONSE: Final = ResponseReaderSpec(open=InteractionsStream, claim=claims, events_of=events_of)
