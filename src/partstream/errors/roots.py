"""The roots of the tree of errors: the classes that the others derive from."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "CallerError",
    "LanguageModelError",
    "LanguageModelErrorCode",
    "PartstreamError",
    "UnexpectedValueError",
]


class PartstreamError(Exception):
    """The root of all errors that Partstream raises on purpose.

    Its errors keep their fields and their text when they are pickled, so that they reach other processes.
    """

    def __reduce__(
        self,
    ) -> tuple[Callable[..., PartstreamError], tuple[type[PartstreamError], tuple[object, ...]], dict[str, Any]]:
        # By itself, an exception would be made again of its text, which is no argument of most constructors.
        return _unpickled, (type(self), self.args), self.__dict__


def _unpickled(kind: type[PartstreamError], arguments: tuple[object, ...]) -> PartstreamError:
    return kind.__new__(kind, *arguments)


class UnexpectedValueError(PartstreamError):
    """A value is not one of those that are valid at its place: the base of the errors that name all three.

    Attributes:
        where: The place of the value.
        got: A description of the value, shortened; never a secret.
        expected: A description of the valid values.
    """

    def __init__(self, where: str, got: str, expected: str) -> None:
        super().__init__(f"{where}: got {got}, expected {expected}")
        self.where = where
        self.got = got
        self.expected = expected


class LanguageModelErrorCode(StrEnum):
    """The kind of a failure, in the names of `vscode.LanguageModelError`."""

    NOT_FOUND = "NotFound"
    NO_PERMISSIONS = "NoPermissions"
    BLOCKED = "Blocked"
    UNSPECIFIED = "Unspecified"


class LanguageModelError(PartstreamError):
    """A request to a model failed; the counterpart of `vscode.LanguageModelError`.

    Attributes:
        message: One sentence for a person.
        code: The kind of failure.

    Example:
        >>> from partstream import LanguageModelError
        >>> error = LanguageModelError.blocked("No more answers today: the quota is used up.")
        >>> str(error.code), str(error)
        ('Blocked', 'No more answers today: the quota is used up.')
    """

    def __init__(self, message: str, code: LanguageModelErrorCode = LanguageModelErrorCode.UNSPECIFIED) -> None:
        super().__init__(message)
        self.message = message
        self.code = LanguageModelErrorCode(code)

    @staticmethod
    def no_permissions(message: str) -> LanguageModelError:
        """The key is missing, or may not be used for this model; as `vscode.LanguageModelError.NoPermissions`."""
        return LanguageModelError(message, LanguageModelErrorCode.NO_PERMISSIONS)

    @staticmethod
    def blocked(message: str) -> LanguageModelError:
        """The request was refused, such as by a quota or a filter; as `vscode.LanguageModelError.Blocked`."""
        return LanguageModelError(message, LanguageModelErrorCode.BLOCKED)

    @staticmethod
    def not_found(message: str) -> LanguageModelError:
        """The model does not exist, or no longer; as `vscode.LanguageModelError.NotFound`."""
        return LanguageModelError(message, LanguageModelErrorCode.NOT_FOUND)


class CallerError(PartstreamError):
    """The calling code has a bug or a wrong setting; the upstream is never to blame."""
