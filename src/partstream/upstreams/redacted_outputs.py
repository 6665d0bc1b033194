"""Removes the secrets of a request from the outputs of its answer: from errors, from the end, and from names.

The parts of an answer stay as they are: they are what the person asked for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from partstream.errors import LanguageModelError
from partstream.lm.outputs import Finish, Unmapped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.codec.redaction import Redactor
    from partstream.lm.outputs import StreamOutput

__all__ = ["redacted_error", "redacted_outputs"]

_Error = TypeVar("_Error", bound=LanguageModelError)


class _Answer(Protocol):
    """Where outputs come from."""

    @property
    def redactor(self) -> Redactor:
        """Removes what the upstream was sent in secret."""
        ...


def redacted_error(error: _Error, redactor: Redactor) -> _Error:
    """The same error, with its message and all its fields redacted; not yet raised again.

    Where it was raised before and what it was raised from are left out: both hold what the upstream sent.
    """
    error.__cause__ = error.__context__ = error.__traceback__ = None
    fields = vars(error)
    redacted = {name: _redacted_field(value, redactor) for name, value in fields.items()}
    # A message quotes its fields. One that was cut off in a secret shows its end in the field alone.
    quoted = {
        value: redacted[name] for name, value in fields.items() if isinstance(value, str) and redacted[name] != value
    }
    error.args = tuple(_without_quoted(one, quoted, redactor) for one in error.args)
    fields.update(redacted, message=_without_quoted(error.message, quoted, redactor))
    return error


def redacted_outputs(outputs: list[StreamOutput], answer: _Answer) -> list[StreamOutput]:
    """The outputs; those that are logged or shown beside the answer are redacted.

    Args:
        outputs: What was read at once.
        answer: Makes the redactor; asked only where there is something to redact.
    """
    for output in outputs:  # nearly always one, and a part
        if type(output) in _REDACTED:
            break
    else:
        return outputs
    redactor = answer.redactor
    return [_REDACTED[type(output)](output, redactor) if type(output) in _REDACTED else output for output in outputs]


def _redacted_field(value: Any, redactor: Redactor) -> Any:
    """An error's field: a text, several texts (notes are a list of them), or of another kind."""
    return redactor.redact_values(value) if isinstance(value, str | tuple | list) else value


def _without_quoted(text: Any, quoted: dict[str, str], redactor: Redactor) -> Any:
    if not isinstance(text, str):
        return text
    for value in sorted(quoted, key=len, reverse=True):
        text = text.replace(value, quoted[value])
    return redactor.redact(text)


def _redacted_finish(finish: Finish, redactor: Redactor) -> Finish:
    reason, usage = finish.reason, finish.usage
    return replace(
        finish,
        reason=None if reason is None else replace(reason, raw=redactor.redact_values(reason.raw)),
        usage=None if usage is None else replace(usage, raw=redactor.redact_values(usage.raw, names=True)),
        response_id=redactor.redact_values(finish.response_id),
        model=redactor.redact_values(finish.model),
        error=None if finish.error is None else redacted_error(finish.error, redactor),
        provider_metadata=redactor.redact_values(finish.provider_metadata, names=True),
        edits=redactor.redact_values(finish.edits),
        explanation=redactor.redact_values(finish.explanation),
    )


def _redacted_unmapped(unmapped: Unmapped, redactor: Redactor) -> Unmapped:
    return Unmapped(redactor.redact(unmapped.type), redactor.redact_values(unmapped.data, names=True))


_REDACTED: Final[Mapping[type, Callable[[Any, Redactor], StreamOutput]]] = {
    Finish: _redacted_finish,
    Unmapped: _redacted_unmapped,
}
