"""Failures in the words of this wire, beside those of all wires (docs/wires/anthropic-messages.md#errors)."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.carried import Carried
from partstream.protocols.anthropic_messages.optional_fields import REFUSED_FIELDS
from partstream.protocols.errors import ErrorBody, ErrorKind, Errors, read_error_body

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.errors import UpstreamError

__all__ = ["ERRORS"]

_BILLING: Final = "billing_error"

_CODES: Final = MappingProxyType(
    {
        _BILLING: ErrorKind.NO_CREDIT,
        "api_error": ErrorKind.UNAVAILABLE,
        "timeout_error": ErrorKind.UNAVAILABLE,
        "internal_error": ErrorKind.UNAVAILABLE,  # vLLM
    }
)

_STATUSES: Final[Mapping[str, int]] = MappingProxyType(
    {
        "invalid_request_error": 400,
        "authentication_error": 401,
        "billing_error": 402,
        "permission_error": 403,
        "not_found_error": 404,
        "conflict_error": 409,
        "request_too_large": 413,
        "rate_limit_error": 429,
        "api_error": 500,
        "internal_error": 500,
        "timeout_error": 504,
        "overloaded_error": 529,
    }
)
"""The status that each type stands for where it comes inside an answer of the status 200, as it does under load."""


_NO_CREDIT: Final = re.compile(
    r"credit balance is too low|reached your specified (?:API|workspace API) usage limits|spend(?:ing)? limit",
    re.IGNORECASE,
)
"""Sentences for money that is used up, under 400 or 429 and the type of any other mistake: no attempt helps
(docs/wires/anthropic-messages.md#errors). So they get the code that the server has for it under 402."""


def _read_body(document: Any) -> ErrorBody:
    read = read_error_body(document)
    status = _STATUSES.get(read.type or "") if read.status is None else read.status
    code = _BILLING if _NO_CREDIT.search(read.message or "") else read.code
    return read._replace(status=status, code=code, param=read.param or _blamed(read.message or ""))


_PLACE: Final = re.compile(r"([a-z_]+(?:\.\w+)*): (?=[A-Z`'\"])")
_FORM: Final = re.compile(r"^thinking\.(?:adaptive|enabled|disabled)(?=\.)")


def _blamed(message: str) -> str | None:
    """The place that a sentence begins with: "seed: Extra inputs are not permitted".

    Within `thinking`, the server names the form too, which is no field.
    """
    found = _PLACE.match(message)
    return None if found is None else _FORM.sub("thinking", found[1])


_REFUSED_STATE: Final = re.compile(
    r"invalid \W?(?:signature|data)\W? in \W?(?:redacted_)?thinking\W? block|blocks?\W.{0,80}cannot be modified"
    r"|signature: field required|final block in an assistant message cannot be"
    r"|was found without a corresponding \W?\w+_tool_result",
    re.IGNORECASE,
)
"""Sentences for blocks that went back and are refused: they are of another account, changed, without a signature, the
last of their message, or half a pair (docs/wires/anthropic-messages.md#thinking-that-goes-back)."""


def _refused(error: UpstreamError) -> Carried:
    """The carried state that an error refuses."""
    blames_request = error.http_status in {None, 200, 400, 404, 422}
    return Carried.REASONING if blames_request and _REFUSED_STATE.search(error.message) else Carried.NOTHING


ERRORS: Final = Errors(codes=_CODES, read_body=_read_body, refused=_refused, refused_fields=REFUSED_FIELDS)
