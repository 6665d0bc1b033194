"""Describes errors of providers in the shapes of the wire; knows no request and writes no log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.errors import LanguageModelError, LanguageModelErrorCode, PartstreamError, UpstreamError

if TYPE_CHECKING:
    from partstream.hosts.vscode import wire

__all__ = ["ProviderFailedError", "error_data", "provider_error", "says_all", "sentence"]


class ProviderFailedError(PartstreamError):
    """A hosted provider raised an error, which is also the `__cause__`.

    Attributes:
        provider: The provider's name.
        error: The provider's error.
    """

    def __init__(self, provider: str, error: BaseException) -> None:
        super().__init__(sentence(error, provider))
        self.provider = provider
        self.error = error


def says_all(error: BaseException) -> bool:
    """Whether the error's message is written for a person; any other error is a bug, whose traceback is needed."""
    return isinstance(error, PartstreamError)


def sentence(error: BaseException, provider: str) -> str:
    """One sentence for a person; for a bug, with the error's type and the provider's name."""
    if says_all(error):
        return str(error)
    described = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"the provider {provider} failed: {described}"


def provider_error(failure: ProviderFailedError) -> wire.ProviderError:
    """The error beside a list of models."""
    error: wire.ProviderError = {"provider": failure.provider, "message": str(failure)}
    code: wire.LanguageModelErrorCode = _code(failure.error).value
    if code != "Unspecified":
        error["code"] = code
    return error


def error_data(failure: ProviderFailedError) -> wire.ErrorData:
    """The data of the error response."""
    error = failure.error
    upstream = error if isinstance(error, UpstreamError) else UpstreamError("")  # an error without any facts
    return {
        "code": _code(error).value,
        "message": sentence(error, failure.provider),
        "kind": type(error).__name__,
        "provider": failure.provider,
        "providerCode": upstream.provider_code,
        "httpStatus": upstream.http_status,
        "retryAfter": upstream.retry_after,
    }


def _code(error: BaseException) -> LanguageModelErrorCode:
    return error.code if isinstance(error, LanguageModelError) else LanguageModelErrorCode.UNSPECIFIED
