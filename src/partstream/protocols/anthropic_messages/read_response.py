"""Anthropic Messages: events in, VS Code's parts out.

Rule 1: how far a response has come is one table, :mod:`partstream.protocols.read_response`; a handler never looks at the state.
Rule 2: EVENTS says which handler an event has; what becomes of blocks and deltas stand in the tables of `message.py`.
Rule 3: nothing is checked against a schema. What is missing, null or of another type says nothing; what is not known is
counted as :class:`Unmapped`.
Rule 4: an answer is whole with `message_stop`, or with a stop reason and the end of the bytes.

Source: docs/wires/anthropic-messages.md; recordings of Anthropic's server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from partstream.errors import AdapterUsageError, LanguageModelError, TruncatedStreamError, UpstreamProtocolError
from partstream.outputs import Finish, Outcome, StreamOptions, StreamOutput, Unmapped
from partstream.protocols.anthropic_messages.document import events_of
from partstream.protocols.anthropic_messages.envelope import Envelope
from partstream.protocols.anthropic_messages.errors import ERRORS
from partstream.protocols.anthropic_messages.finish import PAUSED, StopReason
from partstream.protocols.anthropic_messages.message import Message
from partstream.protocols.anthropic_messages.short_way import FREQUENT
from partstream.protocols.anthropic_messages.usage import ReportedUsage
from partstream.protocols.errors import NO_REASON
from partstream.protocols.protocol import MatchConfidence, ResponseReaderSpec
from partstream.protocols.read_response import (
    TRANSITIONS,
    Action,
    LifecycleEvent,
    LifecycleState,
    Wire,
    applied_edits,
    index,
    mapping,
    objects,
    shown,
)
from partstream.usage import FinishReason, UnifiedFinishReason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.outputs import FastPath
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
        self.sink: FastPath | None = None
        self.ending = False
        self._state = LifecycleState.IDLE
        self._rows = DISPATCH[LifecycleState.IDLE]
        self._envelope = Envelope()
        self._message = Message(options)
        self._usage = ReportedUsage()
        self._stop = StopReason()

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
        return self._usage.value(ran_tools=self._message.ran_tools)

    @property
    def paused(self) -> Mapping[str, Any] | None:
        """The message so far of an answer that the server paused; see :class:`partstream.outputs.PausingStream`."""
        if self._state is not LifecycleState.ANSWERED:
            return None
        container = self._envelope.container
        return {"content": self._message.content} | ({"container": container} if container else {})

    def go_on(self) -> None:
        """Tells that the response follows that goes on with a paused answer."""
        if self._state is LifecycleState.ANSWERED:
            self.ending = False
            self._stop = StopReason()
            self._enter(LifecycleState.OPEN)

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
        if next_state is not self._state:
            self._enter(next_state)
        self.sink = handler(self, event, outputs)

    def end(self, *, whole: bool = False) -> _Outputs:
        """Ends the events."""
        if self._state is LifecycleState.ENDED:
            raise AdapterUsageError("the stream was ended before")
        outputs: _Outputs = []
        if self._state is LifecycleState.ANSWERED or (
            self._state is LifecycleState.OPEN and (whole or self._stop.word is not None)
        ):
            self._complete(outputs)
        elif not self.finished:
            outputs = self.fail(TruncatedStreamError(self._state.name))
        self._enter(LifecycleState.ENDED)
        return outputs

    def fail(self, error: LanguageModelError) -> _Outputs:
        """Ends the response with an error; nothing if it has finished already."""
        outputs: _Outputs = []
        if not self.finished:
            self._fail(error, outputs)
        return outputs

    def _enter(self, state: LifecycleState) -> None:
        self._state = state
        self._rows = DISPATCH[state]

    def _fail(self, error: LanguageModelError, outputs: _Outputs) -> None:
        self._message.abandon(outputs)
        is_cut = isinstance(error, TruncatedStreamError)
        reason = None if is_cut else FinishReason(UnifiedFinishReason.ERROR, self._stop.word)
        self._finish(Outcome.TRUNCATED if is_cut else Outcome.FAILED, reason, outputs, error)

    def _complete(self, outputs: _Outputs) -> None:
        stop, message = self._stop, self._message
        error = message.end(self._envelope.container, outputs, is_cut=stop.is_cut)
        has_calls = message.held.has_calls
        outcome = stop.outcome(has_calls=has_calls) if error is None else Outcome.FAILED
        self._finish(outcome, stop.reason(has_calls=has_calls), outputs, error)

    def _finish(
        self,
        outcome: Outcome,
        reason: FinishReason | None,
        outputs: _Outputs,
        error: LanguageModelError | None = None,
    ) -> None:
        about = self._envelope
        metadata = about.metadata(self._stop, was_compacted=self._message.was_compacted)
        outputs.append(
            Finish(
                outcome,
                reason,
                self.usage,
                about.response_id,
                self._message.other_model or about.model,
                error,
                metadata,
                applied_edits(metadata),
                self._stop.explanation,
            )
        )
        self._enter(LifecycleState.FINISHED)

    def _unknown(self, event: Mapping[str, Any], outputs: _Outputs) -> None:
        """Counts an event of a kind that was added later (docs/wires/anthropic-messages.md#events)."""
        if self._state is LifecycleState.ENDED:
            raise AdapterUsageError(f"fed {event.get('type')!r} after the stream was ended")
        if self._state is LifecycleState.FINISHED:
            return
        kind = event.get("type")
        if isinstance(kind, str) and kind:
            outputs.append(Unmapped(kind, event))
        elif (failure := ERRORS.failure_in(event)) is not None:
            self._fail(failure, outputs)
        else:
            got = "no type" if kind is None else f"type {shown(kind)}"
            self._fail(UpstreamProtocolError(event_type=None, field="type", got=got, expected="a string"), outputs)

    # The events

    def _start(self, event: Wire, outputs: _Outputs) -> None:
        message = mapping(event, "message")
        begins = self._envelope.begin(message, is_empty=self._message.is_empty)
        if begins is False:
            return
        if isinstance(begins, UpstreamProtocolError):
            self._fail(begins, outputs)
            return
        self._usage.begin()
        self._stop = StopReason()
        self._stop.say(message)
        self._usage.say(message.get("usage"))
        self._message.whole(objects(message, "content"), outputs)
        self.ending = self._stop.word is not None

    def _block_start(self, event: Wire, outputs: _Outputs) -> None:
        self.ending = False
        self._message.start(index(event, "index"), mapping(event, "content_block"), outputs)

    def _block_delta(self, event: Wire, outputs: _Outputs) -> FastPath | None:
        self.ending = False
        return self._message.delta(index(event, "index"), mapping(event, "delta"), outputs)

    def _block_stop(self, event: Wire, outputs: _Outputs) -> None:
        self._message.stop(index(event, "index"), outputs)

    def _message_delta(self, event: Wire, _outputs: _Outputs) -> None:
        self._stop.say(event.get("delta"))
        self._usage.say(event.get("usage"))
        self._envelope.say(event)
        self.ending = self._stop.word is not None

    def _message_stop(self, _event: Wire, outputs: _Outputs) -> None:
        if self._stop.word == PAUSED and not self._message.held.has_calls:
            self._message.close(outputs)
            self._envelope.pause()
            self._enter(LifecycleState.ANSWERED)
        else:
            self._complete(outputs)

    def _error(self, event: Wire, outputs: _Outputs) -> None:
        said = event if event.get("error") else {"error": {name: event[name] for name in event if name != "type"}}
        self._fail(ERRORS.failure_in(said) or ERRORS.failure(NO_REASON, None), outputs)


_OVER: Final = (LifecycleState.FINISHED, LifecycleState.ENDED)

_Handler: TypeAlias = "Callable[[MessagesStream, Any, _Outputs], FastPath | None]"


def _nothing(*_: object) -> None:
    """The handler of events without effect."""


class Row(NamedTuple):
    """The meaning of an event type for the life of a response, and its handler."""

    kind: LifecycleEvent
    handler: _Handler


EVENTS: Final[dict[str, Row]] = {
    "message_start": Row(LifecycleEvent.LIFECYCLE, MessagesStream._start),
    "content_block_start": Row(LifecycleEvent.CONTENT, MessagesStream._block_start),
    "content_block_delta": Row(LifecycleEvent.CONTENT, MessagesStream._block_delta),
    "content_block_stop": Row(LifecycleEvent.CONTENT, MessagesStream._block_stop),
    "message_delta": Row(LifecycleEvent.REPORT, MessagesStream._message_delta),
    "message_stop": Row(LifecycleEvent.TERMINAL, MessagesStream._message_stop),
    "ping": Row(LifecycleEvent.SILENT, _nothing),
    # It is always the last event: vLLM sends no `message_stop` after it.
    "error": Row(LifecycleEvent.TERMINAL, MessagesStream._error),
}
"""Every event type that is understood. All others come out as :class:`Unmapped`."""


def _dispatch(state: LifecycleState) -> dict[str, tuple[LifecycleState, _Handler]]:
    """Combines EVENTS and TRANSITIONS for one state, so that an event costs one look-up."""
    entries: dict[str, tuple[LifecycleState, _Handler]] = {}
    for name, row in EVENTS.items():
        step = TRANSITIONS[state].get(row.kind)
        if step is not None:
            entries[name] = step.next_state, row.handler if step.action is Action.HANDLE else _nothing
    if (
        state is LifecycleState.ANSWERED
    ):  # paused: whatever follows `message_stop` is ignored, but the message that goes on
        entries |= dict.fromkeys(EVENTS.keys() - {"message_start", "error"}, (state, _nothing))
    return entries


DISPATCH: Final = {state: _dispatch(state) for state in LifecycleState}


def claims(kind: str | None, event: Wire) -> MatchConfidence:
    """Tells whether an event of a recording belongs to this protocol: never by `ping`, which others send too."""
    if kind == "message_start" and isinstance(event.get("message"), dict):
        return MatchConfidence.SURE
    if kind in {"content_block_start", "content_block_delta"} and isinstance(event.get(_INNER[kind]), dict):
        return MatchConfidence.SURE
    if kind == "message_delta" and isinstance(event.get("delta"), dict):
        return MatchConfidence.SURE
    if kind == "error":
        return MatchConfidence.POSSIBLE if isinstance(event.get("error"), dict) else MatchConfidence.NO
    return MatchConfidence.POSSIBLE if kind in EVENTS and kind != "ping" else MatchConfidence.NO


_INNER: Final = {"content_block_start": "content_block", "content_block_delta": "delta"}

READ_RESPONSE: Final = ResponseReaderSpec(open=MessagesStream, claim=claims, frequent=FREQUENT, events_of=events_of)
