"""Losses: what a wire has no place for, and what an answer or a request is after it crossed that wire.

A protocol states its losses in its folder's `losses.py`; two properties prove that there are no others::

    response_form(read_response(write_response(x)), LOSES.response) == response_form(x, LOSES.response)
    request_form(read_request(write_request(x)), LOSES.request) == request_form(x, LOSES.request)

An answer in one document says what its stream says, but for `LOSES.document`. The losses are taken out on both sides:
what a wire has no place for, it may replace by a word of its own.

The forms below join what any wire may cut anew: the pieces of a text, and messages of one speaker that follow each
other. Everything else that differs is a loss, has a row, and stands in docs/translation.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

from partstream.errors import UpstreamError, UpstreamFailureError, UpstreamHTTPError
from partstream.messages import ChatMessage
from partstream.outputs import Asked, Finish, Outcome, Unmapped
from partstream.parts import TextPart, ThinkingPart, ToolResultPart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from partstream.errors import LanguageModelError
    from partstream.outputs import StreamOutput
    from partstream.parts import MessagePart, ResponsePart
    from partstream.usage import FinishReason, Usage

__all__ = [
    "ErrorForm",
    "Loss",
    "Losses",
    "RequestLoss",
    "ResponseForm",
    "ResponseLoss",
    "request_form",
    "response_form",
]


@dataclass(frozen=True, slots=True)
class ErrorForm:
    """An error as a value that can be compared.

    Attributes:
        kind: The name of its class.
        message: What the provider said of it, or else its own sentence.
        code: The provider's code, or None.
        status: The HTTP status of the response, or the one that the provider names beside its error; or None.
        error: The error itself, from which a loss tells how a wire says it; not compared.
    """

    kind: str
    message: str
    code: str | None
    status: int | None = None
    error: LanguageModelError | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ResponseForm:
    """An answer as a value that can be compared; the fields are those of :class:`partstream.outputs.Finish`.

    Attributes:
        parts: The parts; no two texts, and no two pieces of one thought, follow each other.
    """

    parts: tuple[ResponsePart, ...]
    outcome: Outcome
    reason: FinishReason | None = None
    usage: Usage | None = None
    response_id: str | None = None
    model: str | None = None
    error: ErrorForm | None = None
    provider_metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that a protocol has no place for.

    Attributes:
        name: What it is called, in words with hyphens between them.
        says: What is lost, as a sentence.
    """

    name: str
    says: str


@dataclass(frozen=True, slots=True)
class ResponseLoss(Loss):
    """A loss of answers.

    Attributes:
        take: Gives an answer without it.
    """

    take: Callable[[ResponseForm], ResponseForm]


@dataclass(frozen=True, slots=True)
class RequestLoss(Loss):
    """A loss of requests.

    Attributes:
        take: Gives a request without it.
    """

    take: Callable[[Asked], Asked]


@dataclass(frozen=True, slots=True)
class Losses:
    """All losses of one protocol, in the order in which they are taken out.

    Attributes:
        response: Those of answers.
        request: Those of requests.
        document: What an answer in one document loses beyond its stream.
    """

    response: tuple[ResponseLoss, ...] = ()
    request: tuple[RequestLoss, ...] = ()
    document: tuple[ResponseLoss, ...] = ()


_Outputs: TypeAlias = "Iterable[StreamOutput]"


def response_form(outputs: _Outputs, losses: Sequence[ResponseLoss] = ()) -> ResponseForm:
    """The form of an answer without its losses; :class:`partstream.outputs.Unmapped` outputs are left out.

    Raises:
        ValueError: The outputs do not end with their only Finish.
    """
    parts: list[ResponsePart] = []
    finish: Finish | None = None
    for output in outputs:
        if finish is not None:
            raise ValueError(f"expected nothing behind the Finish, got {type(output).__name__}")
        if isinstance(output, Finish):
            finish = output
        elif not isinstance(output, Unmapped):
            parts.append(output)
    if finish is None:
        raise ValueError("expected a Finish at the end of the outputs, got none")
    form = ResponseForm(
        tuple(parts),
        finish.outcome,
        finish.reason,
        # What fills the window is, like the raw object, for whoever asked the server; no wire passes it on.
        None if finish.usage is None else replace(finish.usage, raw={}, context_tokens=None),
        finish.response_id,
        finish.model,
        None if finish.error is None else _error_form(finish.error),
        finish.provider_metadata,
    )
    for loss in losses:
        form = loss.take(form)
    return replace(form, parts=tuple(_joined(form.parts)))


def request_form(asked: Asked, losses: Sequence[RequestLoss] = ()) -> Asked:
    """The form of a request without its losses."""
    for loss in losses:
        asked = loss.take(asked)
    messages = []
    for (role, name), run in groupby(asked.messages, lambda message: (message.role, message.name or None)):
        parts = tuple(_joined(part for message in run for part in message.content))
        if parts:
            messages.append(ChatMessage(role, parts, name))
    return replace(asked, messages=tuple(messages))


def _error_form(error: LanguageModelError) -> ErrorForm:
    said = error.provider_message if isinstance(error, UpstreamFailureError | UpstreamHTTPError) else None
    code, status = (error.provider_code, error.http_status) if isinstance(error, UpstreamError) else (None, None)
    return ErrorForm(type(error).__name__, said or error.message, code, status, error)


def _joined(parts: Iterable[MessagePart]) -> list[Any]:
    """Joins neighbouring texts, and neighbouring pieces of one thought; drops empty ones."""
    joined: list[MessagePart] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, TextPart) and isinstance(last, TextPart):
            joined[-1] = TextPart(last.value + part.value)
        elif isinstance(part, ThinkingPart) and isinstance(last, ThinkingPart) and _continues(last, part):
            joined[-1] = ThinkingPart(last.value + part.value, last.id, part.metadata)
        elif isinstance(part, ToolResultPart):
            joined.append(replace(part, content=tuple(_joined(part.content))))
        elif not _is_empty(part):
            joined.append(part)
    return joined


def _continues(last: ThinkingPart, part: ThinkingPart) -> bool:
    """Metadata closes a thought; the next piece begins another."""
    return last.id == part.id and last.metadata is None


def _is_empty(part: MessagePart) -> bool:
    if isinstance(part, ThinkingPart):
        return not part.value and part.metadata is None
    return isinstance(part, TextPart) and not part.value
