"""Errors of requests, before or beside their upstream: what is asked for cannot be read, sent, or answered."""

from __future__ import annotations

from typing import Final

from partstream.errors.roots import LanguageModelError, LanguageModelErrorCode, PartstreamError, UnexpectedValueError

__all__ = [
    "InvalidRequestError",
    "KeyNeededError",
    "RequestNotExpressibleError",
    "ToolRoundLimitError",
    "UnknownModelError",
    "UnsupportedParameterError",
]

_LONGEST_ID: Final = 200
"""The most characters of a model's id in a message: clients send ids of any length."""
_MOST_MODELS: Final = 30
"""The most models that a message lists."""


class InvalidRequestError(UnexpectedValueError):
    """A client's request does not conform to its protocol; `where` is a place such as `input[2].content`."""


class UnsupportedParameterError(InvalidRequestError):
    """A client's request asks for something that nothing here can do, such as two answers at once; `where` names the
    parameter."""


class UnknownModelError(LanguageModelError):
    """No provider offers the requested model.

    Attributes:
        model_id: The id in the request.
        known: The ids of all known models.
    """

    def __init__(self, model_id: str, known: tuple[str, ...]) -> None:
        shown = model_id if len(model_id) <= _LONGEST_ID else f"{model_id[:_LONGEST_ID]}..."
        more = f" and {len(known) - _MOST_MODELS} more" if len(known) > _MOST_MODELS else ""
        have = ", ".join(known[:_MOST_MODELS]) or "none"
        got = f"unknown model {shown!r}" if model_id else "no model is named"
        super().__init__(f"{got}; known models: {have}{more}", LanguageModelErrorCode.NOT_FOUND)
        self.model_id = model_id
        self.known = known


class KeyNeededError(LanguageModelError):
    """The provider needs an API key, or another one than it has got; has the code `NoPermissions`.

    Raised by a provider, it asks the person for the key: VS Code shows the message in a box, and keeps the key.

    Example:
        >>> from partstream import KeyNeededError
        >>> error = KeyNeededError("The key of the forecast service, from its page of accounts.")
        >>> str(error.code)
        'NoPermissions'
    """

    def __init__(self, message: str) -> None:
        super().__init__(message, LanguageModelErrorCode.NO_PERMISSIONS)


class RequestNotExpressibleError(LanguageModelError):
    """Something in the request has no form in the upstream's protocol.

    Attributes:
        what: A description of the thing that cannot be sent.
        where: The place in the request, such as `messages[2].content[0]`.
        expected: A description of the values that could be sent there.
    """

    def __init__(self, what: str, where: str, expected: str) -> None:
        super().__init__(f"cannot send {what} at {where}: expected {expected}")
        self.what = what
        self.where = where
        self.expected = expected


class ToolRoundLimitError(PartstreamError):
    """The model still called tools in the last round that the consumer allows; those calls were not executed.

    Attributes:
        max_rounds: The number of rounds that the consumer allows.
        pending: The names of the tools that the last round called, in order.
    """

    def __init__(self, max_rounds: int, pending: tuple[str, ...]) -> None:
        super().__init__(f"the model still calls tools after {max_rounds} rounds: {', '.join(pending)}")
        self.max_rounds = max_rounds
        self.pending = pending
