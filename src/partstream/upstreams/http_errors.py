"""Makes typed errors from HTTP answers that are no streams."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.codec.sse import SSEDecoder
from partstream.codec.text import bare_media_type
from partstream.errors import UpstreamError, UpstreamHTTPError, UpstreamProtocolError
from partstream.protocols.errors import COMMON_ERRORS, wait_in_sentence
from partstream.upstreams.waits import wait_before_retry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from partstream.protocols.errors import Errors

__all__ = ["WEB_PAGE_ADVICE", "ContentTypeError", "content_type_error", "http_error"]

_MAX_SHOWN: Final = 200
_REQUEST_IDS: Final = (
    "x-request-id",
    "request-id",
    "apim-request-id",
    "x-amzn-requestid",
    "x-vercel-id",
    "x-goog-request-id",
    "cf-ray",
)
"""The headers in which servers name a request; the server's own before that of a proxy."""
_SHOULD_RETRY: Final = {"true": True, "false": False}
"""The header by which OpenAI and Anthropic tell their SDKs whether another attempt makes sense."""
_MAX_TITLE: Final = 80
_MAX_START: Final = 60
_TITLE: Final = re.compile(r"<title[^<>]*>([^<]{0,400})", re.IGNORECASE)
"""No tag within the tag: a page of nothing but beginnings would be searched again from each of them. And no more than
a title has: Python refuses to read the number of a character that has thousands of digits."""
_FIRST_ERROR: Final = 300
_REDIRECTS: Final = range(300, 400)
_LOGINS: Final = frozenset({*range(200, 400), 401, 403})
"""The statuses of pages to sign in; that of any other page says what is wrong."""

WEB_PAGE_ADVICE: Final = "is the base URL right, or does a proxy or a login stand in the way?"
_REDIRECT_ADVICE: Final = "does the base URL have to begin there, or is that a page to sign in?"


class ContentTypeError(UpstreamProtocolError):
    """The upstream answered with a success status, but with other content than requested.

    Attributes:
        content_type: What the upstream calls it, or an empty text.
    """

    def __init__(self, content_type: str, expected: str, statement: str, advice: str = "") -> None:
        UpstreamError.__init__(self, statement, advice=advice)
        self.event_type = None
        self.field = "content-type"
        self.got = content_type
        self.expected = expected
        self.content_type = content_type


def http_error(
    status: int, headers: Mapping[str, str], body: bytes, now: datetime, errors: Errors = COMMON_ERRORS
) -> UpstreamHTTPError:
    """The error for an answer with an error status.

    Args:
        status: The status. Where it is one of success, the one that the body itself names counts: OpenRouter answers
            200 once a model has begun.
        headers: The headers, by name in lower case.
        body: The start of the body: JSON, which `errors` reads, plain text, or the HTML page of a proxy.
        now: The time, for a moment in the headers.
        errors: How the protocol's servers say what went wrong.
    """
    text = body.decode(errors="replace").strip()
    document = _document(body)
    read = errors.read_body(document)
    message = read.message
    if message is None and text and not text.startswith("<") and document is None:
        message = text.splitlines()[0][:300]
    said, advice = _said(status, headers.get("location", ""), text, is_empty=not document)
    counts = status if status >= _FIRST_ERROR or read.status is None else read.status
    kind = errors.kind_of_body(read, counts)
    return UpstreamHTTPError(
        counts,
        provider_message=message,
        provider_code=read.code,
        provider_type=read.type,
        param=read.param,
        retry_after=wait_before_retry(counts, headers, now, read.retry_after or wait_in_sentence(message)),
        body=text,
        generation_id=read.generation_id,
        attempts=read.attempts,
        request_id=_request_id(headers) or read.request_id,
        said=said,
        advice="" if message else advice,
        code=kind.code if kind is not None else None,
        should_retry=_SHOULD_RETRY.get(headers.get("x-should-retry", "").strip().lower()),
    )


def _document(body: bytes) -> Any:
    """The JSON value of a body, or of the first server-sent event in it; None if it has none.

    LiteLLM's proxy frames an error as an event, under status 500, when it comes before the stream has begun.
    """
    for data in (body, *_first_event(body)):
        try:
            return loads(data)
        except JSONDecodeError:
            continue
    return None


def _first_event(body: bytes) -> Iterator[bytes]:
    decoder = SSEDecoder()
    yield from (data for _name, data in [*decoder.feed(body), *decoder.end()][:1])


def _request_id(headers: Mapping[str, str]) -> str | None:
    return next((headers[name][:_MAX_SHOWN] for name in _REQUEST_IDS if headers.get(name)), None)


def content_type_error(headers: Mapping[str, str], body: bytes, *, wanted: str, expected: str) -> ContentTypeError:
    """The error for a successful answer with other content than requested.

    Args:
        headers: The headers, by name in lower case.
        body: The start of the body.
        wanted: What was asked for, in words.
        expected: Its media type.
    """
    content_type = bare_media_type(headers.get("content-type", ""))
    text = body.decode(errors="replace")
    if page := _web_page(text):
        return ContentTypeError(content_type, expected, f"the server sent {page}, and no {wanted}", WEB_PAGE_ADVICE)
    described = f"{content_type or 'something without a type'} that begins with {text[:_MAX_START]!r}"
    return ContentTypeError(
        content_type, expected, f"the server sent {described if text else 'nothing'}, and no {wanted} ({expected})"
    )


def _web_page(text: str, *, may_be_login: bool = True) -> str | None:
    """What to call a body that is a web page, with the page's title; None for any other body."""
    if not text.lstrip().startswith("<"):
        return None
    found = _TITLE.search(text)
    title = " ".join(unescape(found[1]).split())[:_MAX_TITLE] if found else ""
    name = "a web page, perhaps a login" if may_be_login else "a web page"
    return f"{name} ({title})" if title else name


def _said(status: int, location: str, text: str, *, is_empty: bool) -> tuple[str | None, str]:
    """Describes an answer without a message, with advice."""
    if status in _REDIRECTS and location:
        return f"it points to {_without_query(location)}", _REDIRECT_ADVICE
    if page := _web_page(text, may_be_login=status in _LOGINS):
        return f"it sent {page}", WEB_PAGE_ADVICE
    return None if is_empty else f"no message in its answer {text[:_MAX_SHOWN]}", ""


def _without_query(location: str) -> str:
    """A redirect's target, which may be relative, without what may be secret in it."""
    try:
        address = urlsplit(location)
    except ValueError:
        return "an address that is no URL"
    return urlunsplit((address.scheme, address.netloc.rpartition("@")[2], address.path, "", ""))[:_MAX_SHOWN]
