"""A request that a real server refuses although its wire has a place for it."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import CallerError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RefusedRequestError"]

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class RefusedRequestError(CallerError):
    """A request that a real server refuses, in its own words.

    Attributes:
        param: The field that the server blames, or None where its errors name none.
        code: The server's code, or None.
        status: The HTTP status of the refusal.
        fields: Further fields of the error object, by the server's own names.
    """

    def __init__(
        self,
        message: str,
        param: str | None = None,
        code: str | None = None,
        *,
        status: int = 400,
        fields: Mapping[str, Any] = _NOTHING,
    ) -> None:
        super().__init__(message)
        self.param = param
        self.code = code
        self.status = status
        self.fields = fields
