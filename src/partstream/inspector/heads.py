"""What stands at the head of an answer's view: request, response, error, usage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream import errors
from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.devtools.bundles.recorded import recorded_error
from partstream.errors import LanguageModelError
from partstream.inspector.runs import milliseconds
from partstream.lm.parts import SOURCE_KEY, USAGE_MIME_TYPE, DataPart

if TYPE_CHECKING:
    from collections.abc import Iterable

    from partstream.devtools.bundles.exchange import RecordedError, RecordedExchange
    from partstream.devtools.inspector.reading import CompletedPart
    from partstream.devtools.inspector.shapes import ErrorView, FinishReasonView, RequestView, ResponseView, UsageView
    from partstream.lm.outputs import Finish

__all__ = ["error_shown", "finish_reason_shown", "raised", "request_shown", "response_shown", "usage_shown"]

_LONGEST_BODY: Final = 200_000
"""Characters of a request's body."""
_FACTS: Final = (
    "http_status",
    "provider_code",
    "provider_type",
    "param",
    "retry_after",
    "request_id",
    "event_type",
    "field",
    "got",
    "expected",
    "state",
    "phase",
    "seconds",
    "body",
)
"""The fields of errors that are shown."""
_ROWS: Final = (
    ("input", "input_tokens", "prompt_tokens"),
    ("cached", "cached_tokens", ""),
    ("output", "output_tokens", "completion_tokens"),
    ("reasoning", "reasoning_tokens", ""),
    ("total", "total_tokens", "total_tokens"),
)
"""The label of each count, its field in a usage, and its field in the data part that Copilot reads."""


def request_shown(exchange: RecordedExchange | None) -> RequestView | None:
    """The request of an exchange."""
    request = None if exchange is None else exchange.request
    if request is None:
        return None
    return {
        "method": request.method,
        "path": request.path + (f"?{request.query}" if request.query else ""),
        "headers": list(request.headers),
        "body": request.body.decode(errors="replace")[:_LONGEST_BODY],
        "size": len(request.body),
        "sentAt": milliseconds(request.sent_at),
    }


def response_shown(exchange: RecordedExchange | None) -> ResponseView | None:
    """The head of its response."""
    head = None if exchange is None else exchange.head
    if head is None:
        return None
    return {
        "status": head.status,
        "reason": head.reason,
        "headers": list(head.headers),
        "at": milliseconds(head.at),
    }


def error_shown(error: BaseException | RecordedError | None) -> ErrorView | None:
    """An error, whether it was recorded or found now."""
    if error is None:
        return None
    if not isinstance(error, BaseException):
        return {"type": error.type, "message": error.message, "fields": list(error.fields)}
    values = ((name, getattr(error, name, None)) for name in _FACTS)
    message = error.message if isinstance(error, LanguageModelError) else str(error)
    fields = [(name, str(value)) for name, value in values if value not in (None, "", ())]
    return {"type": type(error).__name__, "message": message, "fields": fields}


def raised(error: BaseException | RecordedError) -> BaseException:
    """An error as the contract judges it: a recorded one is one of ours if it is called like one."""
    if isinstance(error, BaseException):
        return error
    if isinstance(getattr(errors, error.type, None), type):
        return recorded_error(error)
    unknown: type[Exception] = type(error.type, (Exception,), {})
    return unknown(error.message)


def finish_reason_shown(finish: Finish | None) -> FinishReasonView | None:
    """Why the model stopped."""
    if finish is None or finish.reason is None:
        return None
    return {"unified": finish.reason.unified.value, "raw": finish.reason.raw}


def usage_shown(finish: Finish | None, parts: Iterable[CompletedPart]) -> UsageView | None:
    """The tokens that the server reported; else those that a host was told."""
    if finish is not None and finish.usage is not None:
        counts = ((label, getattr(finish.usage, name)) for label, name, _ in _ROWS)
        return {"rows": [(label, count) for label, count in counts if count is not None], "source": "server"}
    found = [one.part for one in parts if isinstance(one.part, DataPart) and one.part.mime_type == USAGE_MIME_TYPE]
    return _told(found[-1].data) if found else None


def _told(data: bytes) -> UsageView | None:
    try:
        told: Any = loads(data)
    except JSONDecodeError:
        return None  # no numbers that a host could show
    if not isinstance(told, dict):
        return None
    counts = ((label, told.get(name)) for label, _, name in _ROWS if name)
    rows = [(label, count) for label, count in counts if isinstance(count, int)]
    return {"rows": rows, "source": str(told.get(SOURCE_KEY) or "provider")}
