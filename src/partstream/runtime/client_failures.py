"""What the exceptions of agents' frameworks become: errors of our tree, with the exception as their cause."""

from __future__ import annotations

import os
import re
from enum import StrEnum
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from partstream.codec.redaction import Redactor
from partstream.errors import (
    LanguageModelError,
    LanguageModelErrorCode,
    TimeoutPhase,
    UpstreamConnectionError,
    UpstreamHTTPError,
    UpstreamTimeoutError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


# ---- environment secrets ----
# The keys in the environment, which an agent's client may put into the text of an error.

_SECRET_NAME: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SHORTEST: Final = 8
"""The fewest characters of a value that is taken for a secret: `TOKEN_LIMIT=500` holds none."""


def without_secrets(text: str) -> str:
    """A text without the values of the environment variables that are called like secrets."""
    found = [value for name, value in os.environ.items() if _SECRET_NAME.search(name) and len(value) >= _SHORTEST]
    return Redactor(found).redact(text)


# ---- failures ----

_SERVER: Final = "the model's server"
_MOST_SAID: Final = 2000
"""The most characters of an exception's text in a message."""

_MOST_NAME: Final = 100
"""The most characters of a tool's name in a message: a model may say anything."""


class FailureKind(StrEnum):
    """What an exception of a framework means."""

    LIMIT = "limit"
    """A limit of the run was reached: requests, steps, turns, tokens."""
    MODEL = "model"
    """The model behaved in a way that the framework cannot use, such as calls that fail again and again."""
    HTTP = "http"
    """The model's server answered with an error status."""
    CONNECTION = "connection"
    """The model's server could not be reached, or the connection broke."""
    TIMEOUT = "timeout"
    """The run or the model exceeded a limit of time."""
    REFUSED = "refused"
    """The model, a filter or a guardrail refused."""
    CANCELLED = "cancelled"
    """The run was cancelled by the framework or the agent's own code."""
    USAGE = "usage"
    """The agent, or how it was set up, is wrong."""
    TOOL = "tool"
    """One of the agent's own tools failed, and the framework gave up."""


_SAYS: Final[Mapping[FailureKind, str]] = {
    FailureKind.LIMIT: "the agent reached a limit of its run",
    FailureKind.MODEL: "the agent's model behaved in a way that the agent cannot use",
    FailureKind.HTTP: "the server of the agent's model refused",
    FailureKind.CONNECTION: "the agent's model could not be reached",
    FailureKind.TIMEOUT: "the agent exceeded its limit of time",
    FailureKind.REFUSED: "the agent refused to answer",
    FailureKind.CANCELLED: "the agent's run was cancelled",
    FailureKind.USAGE: "the agent is not set up in the right way",
    FailureKind.TOOL: "a tool of the agent failed",
}
_CODES: Final[Mapping[FailureKind, LanguageModelErrorCode]] = {
    FailureKind.LIMIT: LanguageModelErrorCode.BLOCKED,
    FailureKind.REFUSED: LanguageModelErrorCode.BLOCKED,
}


class AgentFailedError(LanguageModelError):
    """An agent failed; its exception is the `__cause__`.

    Attributes:
        framework: The agent's framework.
        kind: What the exception means.
        error_type: The name of the exception's class.
    """

    def __init__(self, framework: str, kind: FailureKind, error_type: str, said: str) -> None:
        message = f"{_SAYS[kind]}: {said or error_type} ({framework}, {error_type})"
        super().__init__(message, _CODES.get(kind, LanguageModelErrorCode.UNSPECIFIED))
        self.framework = framework
        self.kind = kind
        self.error_type = error_type


class AgentSaidNothingError(LanguageModelError):
    """A run ended without text, a call of a tool or a file: VS Code would show no more than that nothing came.

    Attributes:
        framework: The agent's framework.
        finish_reason: Why the model stopped, in its provider's words; None where nobody said it.
        unknown_tools: The names of the tools that the model called and nobody has.
    """

    def __init__(self, framework: str, finish_reason: str | None, unknown_tools: Sequence[str] = ()) -> None:
        called = ", ".join(repr(one[:_MOST_NAME]) for one in unknown_tools)
        what = f"only called tools that nobody has: {called}" if called else "without text and without a call of a tool"
        because = f" (finish reason: {finish_reason})" if finish_reason else ""
        super().__init__(f"the agent {'' if called else 'ended its run '}{what}{because}")
        self.framework = framework
        self.finish_reason = finish_reason
        self.unknown_tools = tuple(unknown_tools)


_OF_CLIENTS: Final[Mapping[str, FailureKind]] = {
    # The clients of OpenAI and Anthropic, and LiteLLM, whose classes derive from OpenAI's.
    "APITimeoutError": FailureKind.TIMEOUT,
    "APIConnectionError": FailureKind.CONNECTION,
    "APIStatusError": FailureKind.HTTP,
    "APIError": FailureKind.HTTP,  # also an error that comes as an event of a stream
    # google.genai.errors
    "ClientError": FailureKind.HTTP,
    "ServerError": FailureKind.HTTP,
    # httpx, below most clients
    "TimeoutException": FailureKind.TIMEOUT,
    "TransportError": FailureKind.CONNECTION,
    "ClientConnectionError": FailureKind.CONNECTION,  # aiohttp
    "HTTPStatusError": FailureKind.HTTP,
}
"""The errors of model servers' own clients, which come through every framework; a class before its base classes."""


def failure_of(error: Exception, framework: str, kinds: Mapping[str, FailureKind]) -> Exception:
    """The error of our tree for an exception of a run; the exception itself if no row names its class.

    An exception that no row names is one of the person's own code, such as of a tool: a host names its file and line.

    Args:
        error: The exception.
        framework: The agent's framework.
        kinds: What the exceptions of the framework mean, by the name of their class or of a base class.
    """
    if isinstance(error, LanguageModelError):
        return error
    names = [one.__name__ for one in type(error).__mro__]
    kind = next((kinds[name] for name in names if name in kinds), None)
    kind = kind or next((_OF_CLIENTS[name] for name in names if name in _OF_CLIENTS), None)
    if kind is None:
        return error
    said = _said_by(error)
    if kind is FailureKind.HTTP and (status := _status(error)) is not None:
        return UpstreamHTTPError(status, provider_message=said)
    if kind is FailureKind.CONNECTION:
        return UpstreamConnectionError(_address(error), said or type(error).__name__)
    if kind is FailureKind.TIMEOUT:
        return UpstreamTimeoutError(TimeoutPhase.TOTAL, None, advice=said)
    return AgentFailedError(framework, kind, type(error).__name__, said)


def _status(error: Exception) -> int | None:
    """The status of the response in the places where clients keep it."""
    response = getattr(error, "response", None)
    places = (getattr(error, "status_code", None), getattr(error, "code", None), getattr(response, "status_code", None))
    return next((status for status in places if type(status) is int), None)


def _address(error: Exception) -> str:
    """The address of a request without user information and query; the words "the model's server" without one."""
    try:
        parts = urlsplit(str(getattr(getattr(error, "request", None), "url", "")))
        port = f":{parts.port}" if parts.port else ""
    except Exception:  # httpx raises where no request is set; a URL may be no URL
        return _SERVER
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}" if parts.hostname else _SERVER


def _said_by(error: Exception) -> str:
    text = without_secrets(str(error).strip())
    return text if len(text) <= _MOST_SAID else f"{text[:_MOST_SAID]}…"
