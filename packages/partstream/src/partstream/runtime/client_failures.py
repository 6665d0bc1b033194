"""What the exceptions of agents' frameworks become: errors of our tree, with the exception as their cause.

:func:`failure_of` looks for the class of an exception, and then for its base classes, in the framework's own table and
in the table of model servers' clients, whose errors come through every framework. An exception of neither table is one
of the person's own code, and stays. The text of an exception may hold a key, so the values of environment variables
with names of secrets are removed from it.
"""

from __future__ import annotations
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from partstream import errors
from partstream.codec.redaction import Redactor
from partstream.runtime.progress import cause_of, told

_SECRET_NAME: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SHORTEST: Final = 8
"""The fewest characters of a value that is taken for a secret: `TOKEN_LIMIT=500` holds none."""


def without_secrets(text: str) -> str:
    """A text without the values of the environment variables that are called like secrets."""
    found = [value for name, value in os.environ.items() if _SECRET_NAME.search(name) and len(value) >= _SHORTEST]
    return Redactor(found).redact(text)


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
    """The agent or its setup is wrong."""
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
_CODES: Final[Mapping[FailureKind, errors.LanguageModelErrorCode]] = {
    FailureKind.LIMIT: errors.LanguageModelErrorCode.BLOCKED,
    FailureKind.REFUSED: errors.LanguageModelErrorCode.BLOCKED,
}


class AgentFailedError(errors.LanguageModelError):
    """An agent failed; its exception is the `__cause__`, and `error_type` the name of its class."""

    def __init__(self, framework: str, kind: FailureKind, error_type: str, said: str) -> None:
        message = f"{_SAYS[kind]}: {said or error_type} ({framework}, {error_type})"
        super().__init__(message, _CODES.get(kind, errors.LanguageModelErrorCode.UNSPECIFIED))
        self.framework = framework
        self.kind = kind
        self.error_type = error_type


class AgentSaidNothingError(errors.LanguageModelError):
    """A run ended without text, a tool call or a file, which VS Code would show as no response.

    Attributes:
        framework: The agent's framework.
        finish_reason: Why the model stopped, in its provider's words; None where it is unknown.
        unknown_tools: The names of the tools that the model called and that do not exist.
    """

    def __init__(self, framework: str, finish_reason: str | None, unknown_tools: Sequence[str] = ()) -> None:
        called = ", ".join(repr(one[:_MOST_NAME]) for one in unknown_tools)
        what = f"only called unknown tools: {called}" if called else "without text and without a call of a tool"
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

    Args:
        kinds: What the exceptions of the framework mean, by the name of their class or of a base class.
    """
    cause = cause_of(error)
    if isinstance(cause, errors.LanguageModelError):
        return cause
    names = [one.__name__ for one in type(error).__mro__]
    kind = next((kinds[name] for name in names if name in kinds), None)
    kind = kind or next((_OF_CLIENTS[name] for name in names if name in _OF_CLIENTS), None)
    if kind is None:
        found = error if not isinstance(cause, Exception) or cause is error else failure_of(cause, framework, kinds)
        return error if found is cause else found
    said = without_secrets(str(error).strip() if cause is error else told(error))
    said = said if len(said) <= _MOST_SAID else f"{said[:_MOST_SAID]}…"
    if kind is FailureKind.HTTP:
        # The places where clients keep the status of the response.
        places = ((error, "status_code"), (error, "code"), (getattr(error, "response", None), "status_code"))
        for place, name in places:
            if type(status := getattr(place, name, None)) is int:
                return errors.UpstreamHTTPError(status, provider_message=said)
    if kind is FailureKind.CONNECTION:
        # The address of the request, without user information and query.
        address = _SERVER
        with suppress(Exception):  # httpx raises where no request is set; a URL may be no URL
            parts = urlsplit(str(getattr(getattr(error, "request", None), "url", "")))
            if parts.hostname:
                address = f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
        return errors.UpstreamConnectionError(address, said or type(error).__name__)
    if kind is FailureKind.TIMEOUT:
        return errors.UpstreamTimeoutError(errors.TimeoutPhase.TOTAL, None, advice=said)
    return AgentFailedError(framework, kind, type(error).__name__, said)
