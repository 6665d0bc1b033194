"""Says what went wrong in the words of the wire; knows no request and writes no log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.errors import LanguageModelError, LanguageModelErrorCode, PartstreamError, UpstreamError

if TYPE_CHECKING:
    from partstream.hosts.vscode import wire

__all__ = ["ProviderFailedError", "error_data", "says_all", "sentence"]


class ProviderFailedError(PartstreamError):
    """A hosted provider raised; `__cause__` is what it raised.

    Attributes:
        provider: The provider's name.
        error: What it raised.
    """

    def __init__(self, provider: str, error: BaseException) -> None:
        super().__init__(sentence(error, provider))
        self.provider = provider
        self.error = error


def says_all(error: BaseException) -> bool:
    """Whether the error was meant to be read by a person; any other one is a bug, to be found by its traceback."""
    return isinstance(error, PartstreamError)


def sentence(error: BaseException, provider: str) -> str:
    """One sentence for a person; a bug is named with its type and the provider that has it."""
    if says_all(error):
        return str(error)
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"the provider {provider} failed: {said}"


def error_data(failure: ProviderFailedError) -> wire.ErrorData:
    """The data of the error response."""
    error = failure.error
    code = error.code if isinstance(error, LanguageModelError) else LanguageModelErrorCode.UNSPECIFIED
    upstream = error if isinstance(error, UpstreamError) else UpstreamError("")  # which knows nothing
    return {
        "code": code.value,
        "message": sentence(error, failure.provider),
        "kind": type(error).__name__,
        "provider": failure.provider,
        "providerCode": upstream.provider_code,
        "httpStatus": upstream.http_status,
        "retryAfter": upstream.retry_after,
    }
