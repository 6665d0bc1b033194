"""Gemini: chunks of `streamGenerateContent` in, VS Code's parts out.

Rule 1: how far a response has come is one table, :mod:`partstream.protocols.read_response`; a handler never looks at the state.
Rule 2: a chunk holds parts in the model's order; :data:`partstream.protocols.gemini.content.PARTS` says what each is.
Rule 3: nothing is checked against a schema. What is missing, null or of another type says nothing; what is not known is
counted as :class:`Unmapped`.
Rule 4: the end is only ever inferred: some chunk said why the model stopped, or that the prompt was refused, and the
bytes ended. Content after a finish reason still counts (docs/wires/gemini.md#observed-streams).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.errors import AdapterUsageError, LanguageModelError, ToolArgumentsError
from partstream.outputs import Finish, Outcome, StreamOptions, StreamOutput, Unmapped
from partstream.protocols.gemini.content import Content
from partstream.protocols.gemini.envelope import Envelope
from partstream.protocols.gemini.errors import ERRORS
from partstream.protocols.gemini.finish import FinishWords
from partstream.protocols.gemini.usage import ReportedUsage
from partstream.protocols.protocol import MatchConfidence, ResponseReaderSpec
from partstream.protocols.read_response import (
    TRANSITIONS,
    Action,
    Adapter,
    LifecycleEvent,
    LifecycleState,
    Wire,
    index,
    objects,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.usage import FinishReason, Usage

__all__ = ["READ_RESPONSE", "GeminiStream", "claims", "events_of"]

_Outputs: TypeAlias = list[StreamOutput]


class GeminiStream(Adapter):
    """One answer of a Gemini server; see :class:`partstream.outputs.ResponseStream`.

    Attributes:
        sink: None: there is no short way. A chunk holds a sentence or more, and an answer has a few hundred: the long
            way takes about ten microseconds for each.
    """

    def __init__(self, options: StreamOptions = StreamOptions()) -> None:  # noqa: B008 - immutable
        super().__init__()
        self._envelope = Envelope()
        self._content = Content(options, self._envelope)
        self._usage = ReportedUsage()
        self._finish = FinishWords()

    @property
    def usage(self) -> Usage | None:
        """The tokens that the server has reported so far."""
        return self._usage.value

    def feed_into(self, event: Mapping[str, Any], outputs: _Outputs) -> None:
        """Takes the next chunk and appends what it means."""
        chunk: Wire = event if isinstance(event, dict) else dict(event)
        if self._state is LifecycleState.ENDED:
            raise AdapterUsageError("fed a chunk after the stream was ended")
        error = ERRORS.failure_in(chunk) if not chunk.get("candidates") or chunk.get("error") else None
        kind = _kind(chunk) if error is None else LifecycleEvent.ERROR
        if kind is None:
            self._unknown(chunk, outputs)
            return
        next_state, action, _ = TRANSITIONS[self._state][kind]
        if action is Action.IGNORE:
            return
        self._state = next_state
        self._error = self._error or error
        self._envelope.read(chunk)
        self._usage.say(chunk.get("usageMetadata"))
        if self._error is None:  # what follows an error adds to it, and no more
            self._finish.prompt(chunk)
            for candidate in objects(chunk, "candidates"):
                self._read_candidate(candidate, outputs)

    @property
    def _word(self) -> str | None:
        return self._finish.word

    def _is_whole(self, *, told: bool) -> bool:
        return self._state is LifecycleState.OPEN and (told or self._finish.is_said)

    def _read_candidate(self, candidate: Wire, outputs: _Outputs) -> None:
        """Reads a candidate. Only the first counts, where several were asked for."""
        if place := index(candidate, "index") or 0:
            self._content.count(f"candidates[{place}]", candidate, outputs)
            return
        self._content.read(candidate, outputs)
        self._finish.candidate(candidate)

    def _complete(self, outputs: _Outputs) -> None:
        """Ends a whole answer."""
        if (said := self._finish.failure) is not None:
            outputs += self.fail(ERRORS.failure(said, self._finish.word))
            return
        is_cut = self._finish.is_cut
        try:
            self._content.complete(outputs, is_cut=is_cut)
        except ToolArgumentsError as error:
            self._emit_finish(Outcome.FAILED, self._finish.reason(has_calls=False), outputs, error)
            return
        reason = self._finish.reason(has_calls=self._content.has_calls)
        self._emit_finish(Outcome.INCOMPLETE if is_cut else Outcome.COMPLETED, reason, outputs)

    def _emit_finish(
        self,
        outcome: Outcome,
        reason: FinishReason | None,
        outputs: _Outputs,
        error: LanguageModelError | None = None,
    ) -> None:
        about = self._envelope
        facts = {**about.metadata, **self._usage.metadata, **self._finish.metadata(), **self._content.metadata}
        metadata = {_METADATA: facts} if facts else {}
        outputs.append(
            Finish(
                outcome,
                reason,
                self._usage.value,
                about.response_id,
                about.model,
                error,
                metadata,
                explanation=self._finish.explanation,
            )
        )
        self._state = LifecycleState.FINISHED

    def _unknown(self, chunk: Wire, outputs: _Outputs) -> None:
        """Counts an event that is none of this protocol."""
        if chunk and self._state is not LifecycleState.FINISHED:
            kind = chunk.get("type")
            outputs.append(Unmapped(kind if isinstance(kind, str) and kind else "a chunk without candidates", chunk))


_METADATA: Final = "gemini"
_REPORTS: Final = frozenset({"usageMetadata", "modelVersion", "responseId", "createTime", "candidates"})
"""The fields of chunks without a candidate (docs/wires/gemini.md#chunks)."""


def _kind(chunk: Wire) -> LifecycleEvent | None:
    """What a chunk without an error is for the life of the response; None for an event of something else."""
    if objects(chunk, "candidates") or isinstance(chunk.get("promptFeedback"), dict):
        return LifecycleEvent.CONTENT
    return LifecycleEvent.REPORT if chunk.keys() & _REPORTS else None


def claims(_kind: str | None, event: Wire) -> MatchConfidence:
    """Tells whether an event of a recording belongs to this protocol."""
    if isinstance(event.get("candidates"), list) or "usageMetadata" in event or "promptFeedback" in event:
        return MatchConfidence.SURE
    return MatchConfidence.POSSIBLE if event.get("error") and "type" not in event else MatchConfidence.NO


def events_of(document: Wire) -> Sequence[Wire]:
    """The chunks that the document of `generateContent` stands for: it is one."""
    return (document,)


READ_RESPONSE: Final = ResponseReaderSpec(open=GeminiStream, claim=claims, events_of=events_of)
