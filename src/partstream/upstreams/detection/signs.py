"""What an answer to an empty request says of the endpoint, and what a list of models says of its server; pure.

An endpoint that is there refuses an empty request with 400 or 422, and one that is not answers 404 or 405. What else
servers do is a row here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.upstream.http_errors import http_error, is_about_the_key, says_path_is_missing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.errors import UpstreamHTTPError
    from partstream.protocols.errors import Errors
    from partstream.upstream.discovery import FetchResponse

__all__ = ["Presence", "Sign", "is_list", "server_of_list", "sign_of", "tells_nothing"]


class Presence(Enum):
    """Whether an endpoint is there."""

    THERE = auto()
    MISSING = auto()
    SILENT = auto()
    """The answer says nothing of the path: the key was refused, the server is busy, or there was no answer."""
    NO_API = auto()
    """What answered is no API: a web page, a redirect, a port that wants https."""


@dataclass(frozen=True, slots=True)
class Sign:
    """What one answer says.

    Attributes:
        presence: Whether the endpoint is there.
        says: The answer in a few words, such as `HTTP 400`.
        advice: What to do about it; empty where nothing is known.
        server: The name of the known server that its headers tell, or None.
    """

    presence: Presence
    says: str
    advice: str = ""
    server: str | None = None


_ANY_MOMENT: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""A wait that an answer asks for is of no interest here."""

_NO_SUCH_PATH: Final = re.compile(
    r"unexpected endpoint"  # LM Studio, with status 200: lmstudio-bug-tracker#618, #2085
    r"|(?:unknown|invalid|unsupported|no such) (?:endpoint|route|path|url)\b"
    r"|(?:endpoint|route|path) (?:is )?not (?:found|supported)"
    r"|cannot (?:post|get) /",  # Express
    re.IGNORECASE,
)
_WANTS_HTTPS: Final = re.compile(r"HTTP request (?:was sent )?to (?:an )?HTTPS (?:server|port)", re.IGNORECASE)
"""What Go's and nginx's servers answer with status 400 to plain http."""

_NOTHING_SAID: Final = frozenset({401, 402, 403, 407, 408, 425, 429, 502, 503, 504, 529})
"""These may be answered before anybody looks at the path."""
_MISSING: Final = frozenset({404, 405, 410, 501})


def sign_of(answer: FetchResponse, errors: Errors, base_url: str, path: str) -> Sign:
    """What the answer to an empty request says of the endpoint.

    Args:
        answer: The answer; of a long body the start.
        errors: How the protocol's servers say what went wrong.
        base_url: Where the endpoint was looked for, without secrets.
        path: Its path below that.
    """
    return replace(_sign_of(answer, errors, base_url, path), server=_server_of_headers(answer.headers))


def tells_nothing(answer: FetchResponse, listing: FetchResponse | None) -> bool:
    """Whether a server fails at whatever it is asked: at an endpoint as at its list of models."""
    return listing is not None and answer.status == listing.status >= 500


def _sign_of(answer: FetchResponse, errors: Errors, base_url: str, path: str) -> Sign:
    text = answer.body.decode(errors="replace")
    status = answer.status
    said = f"HTTP {status}"
    if _WANTS_HTTPS.search(text):
        return Sign(Presence.NO_API, said, f"this port wants https: use {_encrypted(base_url)}")
    if 300 <= status < 400:
        advice = _advice_on_redirect(answer.headers.get("location", ""), base_url, path)
        return Sign(Presence.NO_API, f"{said}, a redirect", advice)
    if text.lstrip().startswith("<"):
        missing = status in _MISSING
        return Sign(Presence.MISSING if missing else Presence.NO_API, said if missing else f"{said}, a web page")
    if status in _NOTHING_SAID:
        return Sign(Presence.SILENT, said)
    error = http_error(status, answer.headers, answer.body, _ANY_MOMENT, errors)
    if is_about_the_key(error):  # with 400, as Gemini and LiteLLM do: nobody has looked at the path
        return Sign(Presence.SILENT, said)
    return Sign(_presence(answer, error, text), said)


def _presence(answer: FetchResponse, error: UpstreamHTTPError, text: str) -> Presence:
    if _NO_SUCH_PATH.search(error.provider_message or ""):
        return Presence.MISSING
    if answer.status in _MISSING:
        is_missing = answer.status != 404 or says_path_is_missing(error)  # a model that is not there is asked for there
        return Presence.MISSING if is_missing else Presence.THERE
    is_json = _document(answer.body) is not None
    if answer.status < 300:  # an error with a status of success, or an answer to nothing
        return Presence.THERE if is_json or text.startswith(("data:", "event:")) else Presence.NO_API
    if answer.status >= 500:  # llama.cpp answered 500 to what is missing in a body
        return Presence.THERE if is_json else Presence.SILENT
    return Presence.THERE


def _encrypted(url: str) -> str:
    return url.replace("http://", "https://", 1)


def _advice_on_redirect(location: str, base_url: str, path: str) -> str:
    """The base URL that a redirect means which only begins to encrypt; empty for a redirect to anywhere else."""
    try:
        target, asked = urlsplit(location), urlsplit(base_url)
        same_host = target.hostname == asked.hostname
    except ValueError:
        return ""
    if not same_host or (asked.scheme, target.scheme) != ("http", "https"):
        return ""
    return f"use {urlunsplit((target.scheme, target.netloc, target.path.rstrip('/').removesuffix(path), '', ''))}"


def is_list(answer: FetchResponse) -> bool:
    """Whether an answer is a list of models in a known form."""
    return answer.status == 200 and _entries(answer) is not None


def server_of_list(answer: FetchResponse) -> str | None:
    """The name of the known server that a list of models tells by its headers and entries; None for any other."""
    if answer.status != 200:
        return None
    entries = _entries(answer) or []
    owners = [one.get("owned_by") for one in entries if isinstance(one, dict)]
    by_owner = (server for owner, server in _OWNERS.items() if owner in owners)
    return _server_of_headers(answer.headers) or next(by_owner, None)


def _server_of_headers(headers: Mapping[str, str]) -> str | None:
    told = (server for name, starts, server in _HEADERS if name in headers and headers[name].startswith(starts))
    return next(told, None)


_HEADERS: Final = (
    ("server", "llama.cpp", "llama.cpp"),  # tools/server of llama.cpp sets it
    # LiteLLM's proxy 1.106 sets them on what an endpoint answers, and none on its list of models.
    ("x-litellm-version", "", "litellm"),
    ("x-litellm-call-id", "", "litellm"),
)
"""A header, how its value begins, and the server that sends it."""

_OWNERS: Final = {
    "vllm": "vllm",
    "sglang": "sglang",
    "llamacpp": "llama.cpp",
    "organization_owner": "lm-studio",
    "library": "ollama",
}
"""Whom servers call the owner of the models that they list."""


def _entries(answer: FetchResponse) -> list[Any] | None:
    """The entries of a list of models; None where an answer is none."""
    document = _document(answer.body)
    if isinstance(document, dict):
        document = next((document[name] for name in ("data", "models") if isinstance(document.get(name), list)), None)
    return document if isinstance(document, list) else None


def _document(body: bytes) -> Any:
    try:
        return loads(body)
    except JSONDecodeError:
        return None
