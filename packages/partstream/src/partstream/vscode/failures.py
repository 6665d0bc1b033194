"""Tells which errors are a provider's, and describes them in the shapes of the wire; knows no connection.

A provider is other people's code: it may raise anything, SystemExit and a CancelledError of its own among it, and its
errors may have fields of any type or no text at all. It may fork the sidecar: the new process must be able to end, and
must not serve the extension. Its functions run in threads of their own where they may never return: the threads of
`asyncio.to_thread` are few and shared. No text for people holds a secret: :class:`GroupSecrets` removes those of the
groups, by the table of settings.

What comes of a failed answer depends on who asks (:class:`Asker`): in a chat a hint follows the message, and for VS
Code's agent host (the "Copilot harness") :class:`Repetitions` remembers it.
"""

from __future__ import annotations
import asyncio
import logging
import os
import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from hashlib import sha256
from math import ceil
from typing import TYPE_CHECKING, Any, Final, NoReturn

from partstream import errors
from partstream.codec import redaction
from partstream.codec.checks import MOST_SECONDS, InvalidArgumentError, as_amount, as_count, dataclass
from partstream.codec.json_codec import dumps
from partstream.lm.contract import CodePlace
from partstream.lm.messages import Role
from partstream.runtime.progress import cause_of, failing_place, fault_of, said_by, told
from partstream.settings.kinds import ConfigurationError
from partstream.settings.row import SHORTEST_SECRET

if TYPE_CHECKING:
    from pathlib import Path

    from partstream.lm.cancellation import CancellationToken
    from partstream.vscode import rpc_types as wire


def field_of(error: BaseException, name: str) -> Any:
    """A field of an error, or None: a class of the provider's own may not have made it, or raise anything instead."""
    try:
        return getattr(error, name, None)
    except BaseException:
        return None


# ---- Problem kinds ----

NOT_THERE: Final = frozenset({404, 405, 410})
"""The statuses of a server that has nothing at an address."""

_KEY_SETTINGS: Final = ("apiKey", "vercelOidc")
"""How the names of the settings begin that say where the key comes from."""


def problem_kind(error: BaseException) -> wire.ServerProblemKind:
    """What of a group a person can change; `other` also for what is no error of a server or a setting."""
    if isinstance(error, ConfigurationError):
        return "key" if str(field_of(error, "where")).startswith(_KEY_SETTINGS) else "address"
    if not isinstance(error, errors.LanguageModelError):
        return "other"
    return next((kind for kind, fits in _KINDS if fits(error)), "other")


def _is_elsewhere(error: errors.LanguageModelError) -> bool:
    """Whether something answers, and that is not the interface of a model server."""
    if isinstance(error, errors.UpstreamHTTPError):
        status = as_count(field_of(error, "http_status"))
        return status is not None and (status in NOT_THERE or status in range(300, 400))
    return isinstance(error, errors.UpstreamProtocolError)


_KINDS: Final[tuple[tuple[wire.ServerProblemKind, Callable[[errors.LanguageModelError], bool]], ...]] = (
    ("key", lambda error: field_of(error, "code") == errors.LanguageModelErrorCode.NO_PERMISSIONS),
    ("address", _is_elsewhere),
    ("connection", lambda error: isinstance(error, errors.UpstreamConnectionError | errors.UpstreamTimeoutError)),
)

# ---- Forked ----

_SIDECAR: Final = os.getpid()


def is_forked() -> bool:
    """Whether this is no sidecar, but a process that a provider has forked from one."""
    return os.getpid() != _SIDECAR


def end_forked(error: BaseException) -> NoReturn:
    """Ends a forked process at once, with the status that the error asks for.

    The error cannot do that by itself: from Python 3.14 on, none leaves the event loop that ran when it was forked.

    Args:
        error: What the provider's code raised in the forked process.
    """
    code = error.code if isinstance(error, SystemExit) else 1
    os._exit(code if isinstance(code, int) else int(code is not None))


# ---- Failures ----


class ProviderFailedError(errors.PartstreamError):
    """A hosted provider raised an error, which is also the `__cause__`."""

    def __init__(self, provider: str, error: BaseException, key_need: wire.KeyNeed | None = None) -> None:
        super().__init__(sentence(error, provider))
        self.provider = provider
        self.error = cause_of(error)
        self.key_need = key_need  # what the provider asks the person for; None where it asks for no key
        self.hint = ""  # what the person can do in the chat, as the end of the message


class ProviderLoadError(ProviderFailedError):
    """A hosted provider could not be loaded."""


def says_all(error: BaseException) -> bool:
    """Whether the error's message is written for a person; any other error is a bug, whose traceback is needed."""
    return isinstance(error, errors.PartstreamError) and not isinstance(error, InvalidArgumentError)


def is_providers_own(error: BaseException, token: CancellationToken | None = None) -> bool:
    """Whether an error is to be handled as a provider's; if not, it has to go on.

    Args:
        token: The token of the request. Code that cancels the task of a request has cancelled its token before, so a
            CancelledError without that is the provider's own: it may cancel any task. Without a token, a task that was
            cancelled was cancelled from outside.
    """
    if isinstance(error, SystemExit):
        return not is_forked()  # a process that a provider has forked must be able to end
    if not isinstance(error, asyncio.CancelledError):
        return True
    if token is not None:
        return not token.is_cancellation_requested
    task = asyncio.current_task()
    return task is None or not task.cancelling()


def sentence(error: BaseException, provider: str) -> str:
    """One sentence for a person; for a bug, with the error's type, the line of code and the provider's name."""
    error = cause_of(error)
    said = said_by(error)
    if says_all(error):
        return said
    return f"the provider {provider} failed: {reason(error)}"


def reason(error: BaseException) -> str:
    """What happened, without the provider's name; for a bug, with the error's type and the line of their code."""
    if says_all(cause_of(error)):
        return said_by(cause_of(error)) or type(cause_of(error)).__name__
    place = None if isinstance(error, SyntaxError) else failing_place(error)
    return told(error) if place is None else f"{told(error)} ({place})"


def load_problem(error: BaseException, file: Path | None, *, keeps_old: bool) -> wire.LoadProblem:
    """Why a provider could not be loaded."""
    fault = fault_of(error, file)
    place = fault.place or (file and CodePlace(str(file), 1))
    return {
        "message": fault.message,
        "file": place.file if place else None,
        "line": place.line if place else None,
        "keepsOld": keeps_old,
    }


def provider_error(failure: ProviderFailedError) -> wire.ProviderError:
    """The error beside a list of models."""
    error: wire.ProviderError = {
        "provider": failure.provider,
        "message": reason(failure.error),
        "kind": problem_kind(failure.error),
    }
    if isinstance(failure, ProviderLoadError):
        error["isLoadProblem"] = True
    code: wire.LanguageModelErrorCode = _code(failure.error).value
    if code != "Unspecified":
        error["code"] = code
    if failure.key_need is not None:
        error["keyNeed"] = failure.key_need
    return error


def error_data(failure: ProviderFailedError) -> wire.ErrorData:
    """The data of the error response; a field of the error that has the wrong type or is out of range is unknown."""
    error = failure.error
    facts = upstream_facts(error)
    data: wire.ErrorData = {
        "code": _code(error).value,
        "message": sentence(error, failure.provider),
        "kind": type(error).__name__,
        "provider": failure.provider,
        "providerCode": facts.provider_code,
        "httpStatus": facts.http_status,
        "retryAfter": facts.retry_after,
    }
    if failure.key_need is not None:
        data["keyNeed"] = failure.key_need
    if failure.hint:
        data["hint"] = failure.hint
    return data


def _code(error: BaseException) -> errors.LanguageModelErrorCode:
    code: object = field_of(error, "code") if isinstance(error, errors.LanguageModelError) else None
    return next(
        (known for known in errors.LanguageModelErrorCode if known == code), errors.LanguageModelErrorCode.UNSPECIFIED
    )


def upstream_facts(error: BaseException | None) -> errors.UpstreamError:
    """The facts in the error of an upstream; an error without any facts for every other error.

    A provider makes such errors too: a fact of the wrong type or out of range is unknown.
    """
    if not isinstance(error, errors.UpstreamError):
        return errors.UpstreamError("")
    code = field_of(error, "provider_code")
    return errors.UpstreamError(
        "",
        provider_code=code if isinstance(code, str) else None,
        http_status=as_count(field_of(error, "http_status")),
        retry_after=as_amount(field_of(error, "retry_after"), MOST_SECONDS),
    )


# ---- Hints ----

COPILOT: Final = "github.copilot-chat"
"""The id by which Copilot names itself in a request."""
_CORE: Final = "core"
"""The id of VS Code itself."""


class Asker(StrEnum):
    """Who asks for an answer. In the chat and in the agent host a person sees text and calls, and nothing else."""

    CHAT = "Copilot's chat"
    AGENT_HOST = "VS Code's agent host"
    PROGRAM = "another program"


def asker_of(options: wire.RequestOptions) -> Asker:
    """Who asks with these options."""
    initiator = (options.get("requestInitiator") or "").lower()
    if initiator == COPILOT:
        return Asker.CHAT
    is_host = initiator == _CORE and options.get("includeEncryptedThinking", False)
    return Asker.AGENT_HOST if is_host else Asker.PROGRAM


_BROKEN_ANSWERS: Final = (
    errors.AnswerTooLargeError,
    errors.ContractViolationError,
    errors.EmptyAnswerError,
    errors.EventTooLargeError,
    errors.ToolArgumentsError,
    errors.TruncatedStreamError,
    errors.UpstreamProtocolError,
)
"""The errors of an answer that began and went wrong: what came of it says where."""


def hint_on(failure: ProviderFailedError, params: wire.ResponseParams, asker: Asker) -> str:
    """What a person can do in the chat about a failed answer, as the end of the message; empty for nothing."""
    facts = upstream_facts(failure.error)
    if isinstance(failure.error, errors.ContextLengthExceededError):
        return _hint_on_length(params, asker)
    group, wait = params["group"], facts.retry_after
    if facts.http_status == 401 and group is not None and "provider" not in group["configuration"]:
        return f'; run "Partstream: Manage Models" and update the API key of {failure.provider}'
    if type(failure.error) in _BROKEN_ANSWERS:
        return '; "Partstream: Inspect Last Answer" shows what came'
    if not wait:
        return ""
    return f"; the server asks to wait {f'{ceil(wait)} s' if wait < 120 else f'{ceil(wait / 60)} minutes'}"


def _hint_on_length(params: wire.ResponseParams, asker: Asker) -> str:
    if not any(Role(message["role"]) is Role.ASSISTANT for message in params["messages"]):
        return "; send a shorter message, or choose a model with a larger limit"
    # The model's limit has been corrected by now, and Copilot respects it: it summarises the earlier messages. A
    # session of the agent host keeps the limit that it began with.
    if asker is Asker.CHAT:
        return "; send the message again, and Copilot shortens the conversation first"
    return "; start a new session, or choose a model with a larger limit"


# ---- Repetitions ----

REMEMBERED_SECONDS: Final = 30.0
"""The seconds for which a failed request is remembered; the agent host repeats it within 20."""

REPETITIONS: Final = 5
"""How often the agent host repeats a request: a later request comes from a person who tries again."""

PAUSE_SECONDS: Final = 5.0
"""The seconds before the next attempt where a server may answer again: each of ours is several, so that the five
repetitions in a row would be too many for a busy server.
"""

MOST_REMEMBERED: Final = 20
"""The most failed requests that are remembered."""

_PASSING_STATUSES: Final = frozenset({408, 409, 425, 429})
_PASSING_ERRORS: Final = (
    errors.ToolArgumentsError,
    errors.TruncatedStreamError,
    errors.UpstreamAbortedError,
    errors.UpstreamConnectionError,
    errors.UpstreamFailureError,
)
"""Errors without a status that may not come again. A slow server would only be asked several times at once."""

_logger = logging.getLogger("partstream.hosts.vscode")


@dataclass(slots=True)
class _Failed:
    failure: ProviderFailedError
    until: float
    repetitions: int = 0


class Repetitions:
    """The failed requests of the agent host, which repeats each, whatever the error is
    (docs/wires/vscode-agent-host.md#repeated-requests-of-the-agent-host). Where asking again cannot help, it gets the
    same error, and no server is asked.

    Args:
        now: The seconds of a clock.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._failed: dict[bytes, _Failed] = {}  # by the digests of the requests, the oldest first

    def begin(self, params: wire.ResponseParams) -> bytes:
        """Takes a request of the agent host, and returns its digest.

        Raises:
            ProviderFailedError: That of the same request a moment ago.
        """
        key = sha256(dumps({**params, "progressToken": 0})).digest()
        failed = self._failed.get(key)
        if failed is None or failed.until <= self._now():
            return key
        failed.repetitions += 1
        if failed.repetitions == 1:
            _logger.info("the Copilot harness repeats a request that failed: no server is asked, the error is the same")
        if failed.repetitions == REPETITIONS:
            del self._failed[key]
        raise failed.failure.with_traceback(None)

    def remember(self, key: bytes, failure: ProviderFailedError) -> None:
        """A request has failed."""
        self._failed.pop(key, None)
        self._failed[key] = _Failed(failure, self._now() + _seconds_of(failure.error))
        if len(self._failed) > MOST_REMEMBERED:
            del self._failed[next(iter(self._failed))]


def _seconds_of(error: BaseException) -> float:
    """For how many seconds the server is not asked again."""
    facts = upstream_facts(error)
    status = facts.http_status
    if isinstance(error, errors.ContextLengthExceededError):
        passes = False
    elif status is None:
        passes = type(error) in _PASSING_ERRORS and _code(error) is errors.LanguageModelErrorCode.UNSPECIFIED
    else:
        passes = status in _PASSING_STATUSES or (status >= 500 and status != 501)  # 501: the server cannot do that
    return min(max(facts.retry_after or 0.0, PAUSE_SECONDS), REMEMBERED_SECONDS) if passes else REMEMBERED_SECONDS


# ---- Redaction ----

REDACTED: Final = "[redacted]"


class GroupSecrets:
    """Knows the secrets so far: those in the groups, and the keys that their settings name."""

    def __init__(self) -> None:
        self._redactor = redaction.Redactor(hidden=REDACTED)
        self._groups: dict[str, Mapping[str, Any]] = {}

    def learn(self, group: wire.Group | None) -> None:
        """Remembers the secrets of a group."""
        if group is None or self._groups.get(group["id"]) == group["configuration"]:
            return
        from partstream.config.table import secrets_of_settings  # noqa: PLC0415 - a sidecar may have no group

        self._groups[group["id"]] = group["configuration"]
        self._redactor = self._redactor.with_more(secrets_of_settings(group["configuration"]))

    def learn_secret(self, secret: str) -> None:
        """Remembers a secret from another place than a group."""
        if len(secret) >= SHORTEST_SECRET:
            self._redactor = self._redactor.with_more({secret})

    def redact(self, text: str) -> str:
        """The text without the secrets, in all their forms."""
        return self._redactor.redact(text)

    def redact_values(self, value: Any) -> Any:
        """A JSON value with all texts redacted, at any depth; field names do not change."""
        return self._redactor.redact_values(value)
