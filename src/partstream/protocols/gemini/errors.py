"""The errors of Gemini: what its servers say beside those of other wires (docs/wires/gemini.md#errors).

::

    {"error": {"code": 429, "message", "status": "RESOURCE_EXHAUSTED", "details": [
        {"@type": ".../google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"},
        {"@type": ".../google.rpc.QuotaFailure", "violations": [{"quotaMetric", "quotaId", "quotaValue"}]},
        {"@type": ".../google.rpc.RetryInfo", "retryDelay": "34.4s"}]}}

Gateways put it into an array, or as text into the message of another one.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.carried import Carried
from partstream.protocols.errors import ErrorBody, ErrorKind, Errors, error_layers, read_error_body
from partstream.protocols.gemini.optional_fields import REFUSED_FIELDS
from partstream.protocols.read_response import objects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.errors import UpstreamError

__all__ = ["ERRORS"]

_CODES: Final = MappingProxyType(
    {
        "api_key_invalid": ErrorKind.NO_PERMISSION,  # under the status 400 (can1357/oh-my-pi#449)
        "permission_denied": ErrorKind.NO_PERMISSION,
        "unauthenticated": ErrorKind.NO_PERMISSION,
        "resource_exhausted": ErrorKind.RATE_LIMIT,
        "not_found": ErrorKind.UNKNOWN_MODEL,
        **dict.fromkeys(("cancelled", "internal", "unavailable", "deadline_exceeded"), ErrorKind.UNAVAILABLE),
    }
)

_PER_DAY: Final = "PerDay"
_CODE_FORMS: Final = ((_PER_DAY, ErrorKind.QUOTA_SPENT),)
"""Of the ids of quotas, such as `GenerateRequestsPerDayPerProjectPerModel-FreeTier`."""


def _read_body(document: Any) -> ErrorBody:
    """An error, whose code is the reason that it gives, or the quota that is used up, else the name of its status."""
    read = read_error_body(document)
    details = [*_details(document)]
    reason = next((said for one in details if isinstance(said := one.get("reason"), str) and said), None)
    return read._replace(code=reason or _quota_in(details) or read.type or read.code)


def _details(document: Any) -> Iterator[dict[str, Any]]:
    for layer in error_layers(document):
        yield from objects(layer, "details")


def _quota_in(details: list[dict[str, Any]]) -> str | None:
    """The id of the quota that is used up: the one of a day, if there are several, because it lasts longest."""
    violations = (one for detail in details for one in objects(detail, "violations"))
    ids = [said for one in violations if isinstance(said := one.get("quotaId"), str) and said]
    return next((one for one in ids if _PER_DAY in one), ids[0] if ids else None)


_REFUSED_STATE: Final = re.compile(
    r"(?:corrupted|invalid|malformed) thought.?signature|thought.?signature (?:\w+ )?(?:not valid|invalid|corrupted)",
    re.IGNORECASE,
)
"""Sentences about a signature of another model, account or surface (docs/wires/gemini.md#signatures). A missing
signature is no such error: without the state, even more signatures would be missing."""


def _refused(error: UpstreamError) -> Carried:
    """The carried state that an error refuses."""
    blames_request = error.http_status in {None, 200, 400}
    return Carried.REASONING if blames_request and _REFUSED_STATE.search(error.message) else Carried.NOTHING


ERRORS: Final = Errors(
    codes=_CODES, code_forms=_CODE_FORMS, read_body=_read_body, refused=_refused, refused_fields=REFUSED_FIELDS
)
