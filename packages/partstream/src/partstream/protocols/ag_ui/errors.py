"""The end of an AG-UI run: errors, usage, outcome and finish reason.

Usage has one entry for each model (`TokenUsage` of ag-ui-protocol 1.0): `inputTokens` and `outputTokens` are whole
counts, `cachedInputTokens`, `cacheWriteInputTokens` and `reasoningTokens` are parts of them. Facts without a field on
the wire are in the metadata of our own last events, under the key `partstream`.
"""

from __future__ import annotations
from collections.abc import Mapping
from typing import Any, Final

from partstream.codec.checks import as_count
from partstream.errors import UpstreamFailureError
from partstream.lm.outputs import Outcome
from partstream.lm.parts import FinishReason, UnifiedFinishReason, Usage
from partstream.protocols.errors import ErrorBody, Errors, read_error_body
from partstream.protocols.read_response import JSONObject, identifier, mapping

RUN_ERROR: Final = "RUN_ERROR"
_MOST_REFUSED: Final = 5


def _read_body(document: Any) -> ErrorBody:
    """Reads the event of an error, the errors of other servers, and pydantic-ai's list of refused fields,
    `[{"type", "loc", "msg", ...}]`."""
    if isinstance(document, list) and document and all(isinstance(one, dict) and "msg" in one for one in document):
        return read_error_body({"detail": document[:_MOST_REFUSED]})
    read = read_error_body(document)
    if isinstance(document, dict) and document.get("type") == RUN_ERROR:
        # The type is that of the event, not a code of the agent.
        return read._replace(code=identifier(document, "code"), type=None)
    return read


ERRORS: Final = Errors(read_body=_read_body)


def failure_of(event: JSONObject) -> UpstreamFailureError:
    """The failure that ends a run; its code is the agent's own."""
    return ERRORS.read_failure(event)


# ---- Usage ----

_FIELDS: Final[Mapping[str, str]] = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "totalTokens": "total_tokens",
    "cachedInputTokens": "cached_tokens",
    "cacheWriteInputTokens": "cache_write_tokens",
    "reasoningTokens": "reasoning_tokens",
}
"""The counts by their names on the wire, each with the field of :class:`partstream.lm.parts.Usage`."""


def read_usage(value: object, requests: int) -> Usage | None:
    """The usage of a run; None where it reports none.

    The entries cover all requests of the run. The prompt of the last one fills the window of the model; no field states
    it, and it is no smaller than the mean of all.

    Args:
        requests: How many requests the run made of its model.
    """
    counts: dict[str, int] = {}
    for entry in _entries(value):
        for name, field in _FIELDS.items():
            if (count := as_count(entry.get(name))) is not None:
                counts[field] = counts.get(field, 0) + count
    if not counts:
        return None
    given, made = counts.get("input_tokens"), counts.get("output_tokens")
    if given is not None and made is not None:
        counts.setdefault("total_tokens", given + made)
    context = None if given is None or requests < 2 else -(-given // requests)
    return Usage(**counts, raw={"usage": value}, context_tokens=context)


def model_of(value: object) -> str | None:
    """The model that the entries name; None where they name none, or several."""
    named = {identifier(entry, "model") for entry in _entries(value)} - {None}
    return named.pop() if len(named) == 1 else None


def written_usage(usage: Usage | None, model: str | None) -> dict[str, Any]:
    """The field `usage` of the end of a run; no field where nothing is known."""
    if usage is None:
        return {}
    counts = {name: getattr(usage, field) for name, field in _FIELDS.items()}
    known = {name: count for name, count in counts.items() if count is not None}
    return {"usage": [({"model": model} if model else {}) | known]} if known else {}


def _entries(value: object) -> list[dict[str, Any]]:
    listed = value if isinstance(value, list) else [value]
    return [one for one in listed if isinstance(one, dict)]


# ---- The end of a run ----

SUCCESS: Final = "success"
INTERRUPT: Final = "interrupt"
CANCELLED: Final = "cancelled"

OURS: Final = "partstream"
"""The key in the metadata of a last event for facts without a field on the wire."""
FINISH_REASON: Final = "finishReason"
MODEL: Final = "model"
IS_CUT: Final = "isCut"
"""Whether a limit or a filter ended the answer."""


class Ending:
    """The ids, the usage and the outcome of one run.

    Attributes:
        word: The outcome in the wire's word; None before the end, and where the run states none.
    """

    __slots__ = ("_is_cut", "_reason", "model", "run_id", "thread_id", "usage", "word")

    def __init__(self) -> None:
        self.thread_id: str | None = None
        self.run_id: str | None = None
        self.word: str | None = None
        self.usage: Usage | None = None
        self.model: str | None = None
        self._reason: UnifiedFinishReason | None = None
        self._is_cut = False

    def begin(self, event: JSONObject) -> None:
        """Takes the beginning of the run."""
        self.thread_id = identifier(event, "threadId") or self.thread_id
        self.run_id = identifier(event, "runId") or self.run_id

    def read(self, event: JSONObject, requests: int) -> None:
        """Takes the last event of the run, whichever it is."""
        self.begin(event)
        self.word = identifier(mapping(event, "outcome"), "type")
        self.usage = read_usage(event.get("usage"), requests)
        ours = mapping(mapping(event, "metadata"), OURS)
        self.model = model_of(event.get("usage")) or identifier(ours, MODEL)
        said = identifier(ours, FINISH_REASON)
        self._reason = next((one for one in UnifiedFinishReason if one == said), None)
        self._is_cut = ours.get(IS_CUT) is True or self.word == CANCELLED

    @property
    def outcome(self) -> Outcome:
        """How a run ended that did not fail."""
        return Outcome.INCOMPLETE if self._is_cut else Outcome.COMPLETED

    def reason(self, *, has_calls: bool) -> FinishReason:
        """Why a run ended that did not fail."""
        if self._reason is not None:
            return FinishReason(self._reason, self.word)
        if self.word == CANCELLED:
            return FinishReason(UnifiedFinishReason.OTHER, self.word)
        return FinishReason(UnifiedFinishReason.TOOL_CALLS if has_calls else UnifiedFinishReason.STOP, self.word)
