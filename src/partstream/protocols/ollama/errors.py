"""The errors of Ollama: the words that it has beside those of other servers (docs/wires/ollama.md#errors)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.errors import ErrorBody, ErrorKind, Errors, read_error_body
from partstream.protocols.ollama.optional_fields import REFUSED_FIELDS

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ERRORS"]

_MAX_URL: Final = 2000
_STATUSES: Final = range(400, 600)


def _read_body(document: Any) -> ErrorBody:
    """Reads `{"error": TEXT}`, whose text may be the JSON of a runner's error, and what cloud models add:
    `{"signin_url", "StatusCode", "Status"}`."""
    read = read_error_body(document)
    if not isinstance(document, dict):
        return read
    status = document.get("StatusCode")
    if type(status) is int and status in _STATUSES:
        read = read._replace(status=status)
    if url := _signin_url(document):
        read = read._replace(message=f"{read.message or 'unauthorized'}; sign in at {url}")
    missing = _MISSING_MODEL.fullmatch(read.message or "")
    if missing is not None:
        model = missing["model"]
        read = read._replace(message=f"{read.message}; `ollama pull {model}` gets it", kind=ErrorKind.UNKNOWN_MODEL)
    return read


_MISSING_MODEL: Final = re.compile(r"model ['\"](?P<model>[^'\"]{1,200})['\"] not found(?:, try pulling it first)?")


def _signin_url(document: Mapping[str, Any]) -> str | None:
    url = document.get("signin_url")
    is_shown = isinstance(url, str) and len(url) <= _MAX_URL and url.startswith("https://") and url.isprintable()
    return url if is_shown else None


ERRORS: Final = Errors(read_body=_read_body, refused_fields=REFUSED_FIELDS)
