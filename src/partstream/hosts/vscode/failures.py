"""Tells which errors are a provider's, and describes them in the shapes of the wire; knows no request, writes no log.

A provider is other people's code: it may raise anything, SystemExit and a CancelledError of its own among it, and its
errors may have fields of any type or no text at all.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from partstream.codec.checks import MOST_SECONDS, InvalidArgumentError, as_amount, as_count
from partstream.errors import LanguageModelError, LanguageModelErrorCode, PartstreamError, UpstreamError
from partstream.hosts.vscode.error_fields import field_of
from partstream.hosts.vscode.forked import is_forked
from partstream.hosts.vscode.problem_kinds import problem_kind
from partstream.lm.contract import CodePlace
from partstream.runtime.progress import failing_place, fault_of, said_by

if TYPE_CHECKING:
    from pathlib import Path

    from partstream.lm.cancellation import CancellationToken
    from partstream.vscode import rpc_types as wire

__all__ = [
    "ProviderFailedError",
    "ProviderLoadError",
    "error_data",
    "is_providers_own",
    "load_problem",
    "provider_error",
    "reason",
    "says_all",
    "sentence",
    "upstream_facts",
]


class ProviderFailedError(PartstreamError):
    """A hosted provider raised an error, which is also the `__cause__`.

    Attributes:
        provider: The provider's name.
        error: The provider's error.
        key_need: What the provider asks the person for; None where it asks for no key.
    """

    def __init__(self, provider: str, error: BaseException, key_need: wire.KeyNeed | None = None) -> None:
        super().__init__(sentence(error, provider))
        self.provider = provider
        self.error = error
        self.key_need = key_need


class ProviderLoadError(ProviderFailedError):
    """A hosted provider could not be loaded."""


def says_all(error: BaseException) -> bool:
    """Whether the error's message is written for a person; any other error is a bug, whose traceback is needed."""
    return isinstance(error, PartstreamError) and not isinstance(error, InvalidArgumentError)


def is_providers_own(error: BaseException, token: CancellationToken | None = None) -> bool:
    """Whether an error is to be handled as a provider's; if not, it has to go on.

    Args:
        error: The error, whose class may be any.
        token: The token of the request. Whoever cancels the task of a request has cancelled its token before, so a
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
    said = said_by(error)
    if says_all(error):
        return said
    return f"the provider {provider} failed: {reason(error)}"


def reason(error: BaseException) -> str:
    """What happened, without the provider's name; for a bug, with the error's type and the line of their code."""
    place = None if says_all(error) or isinstance(error, SyntaxError) else failing_place(error)
    return _reason(error) if place is None else f"{_reason(error)} ({place})"


def _reason(error: BaseException) -> str:
    said = said_by(error)
    if says_all(error) or not said:
        return said or type(error).__name__
    return f"{type(error).__name__}: {said}"


def load_problem(error: BaseException, file: Path | None, *, keeps_old: bool) -> wire.LoadProblem:
    """Why a provider could not be loaded.

    Args:
        error: The error of the load.
        file: The provider's file, if it has one.
        keeps_old: Whether the version before still answers.
    """
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
    return data


def _code(error: BaseException) -> LanguageModelErrorCode:
    code: object = field_of(error, "code") if isinstance(error, LanguageModelError) else None
    return next((known for known in LanguageModelErrorCode if known == code), LanguageModelErrorCode.UNSPECIFIED)


def upstream_facts(error: BaseException | None) -> UpstreamError:
    """The facts in the error of an upstream; an error without any facts for every other error.

    A provider makes such errors too: a fact of the wrong type or out of range is unknown.
    """
    if not isinstance(error, UpstreamError):
        return UpstreamError("")
    code = field_of(error, "provider_code")
    return UpstreamError(
        "",
        provider_code=code if isinstance(code, str) else None,
        http_status=as_count(field_of(error, "http_status")),
        retry_after=as_amount(field_of(error, "retry_after"), MOST_SECONDS),
    )
