"""Makes typed errors from HTTP responses that are no streams, with advice, and removes secrets from errors and outputs.

`http_error` reads a response with an error status: the body as JSON or as an event, plain text, or the HTML page of a
proxy. LiteLLM's proxy frames an error as an event, under status 500, when it comes before the stream has begun;
OpenRouter answers 200 once a model has begun, and the body itself names the status. The wait before the next request
comes from the first place that states one: `retry-after-ms`, which the SDKs of OpenAI and Azure read first;
`retry-after`; the body; and the headers of the limits, of which only one that is used up counts
(docs/wires/chat-completions.md#rate-limits).

Advice is the same sentence for every host and command. Redaction covers errors, the end of an answer and its names; the
parts of an answer stay as they are, because they are what the person asked for.
"""

from __future__ import annotations
import logging
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit, urlunsplit

from partstream.codec.checks import MOST_SECONDS, as_amount
from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.codec.redaction import Redactor, names_a_secret
from partstream.codec.sse import SSEDecoder
from partstream.codec.text import bare_media_type, late_pattern, plain_html
from partstream.errors import LanguageModelError, UpstreamError, UpstreamHTTPError, UpstreamProtocolError
from partstream.protocols.errors import COMMON_ERRORS, Errors, seconds_of, wait_in_sentence
from partstream.settings.known_servers import server_at

if TYPE_CHECKING:
    from partstream.upstream.configuration import GatewayConfiguration

_Error = TypeVar("_Error", bound=LanguageModelError)
_logger = logging.getLogger("partstream.upstreams")


class ContentTypeError(UpstreamProtocolError):
    """The upstream answered with a success status, but with other content than requested: of `content_type`, as it says
    itself, which may be empty."""

    def __init__(self, content_type: str, expected: str, statement: str, advice: str = "") -> None:
        UpstreamError.__init__(self, statement, advice=advice)
        self.event_type = None
        self.field = "content-type"
        self.got = content_type
        self.expected = expected
        self.content_type = content_type


_REQUEST_IDS: Final = (
    *("x-request-id", "request-id", "apim-request-id", "x-amzn-requestid", "x-vercel-id", "x-goog-request-id"),
    "cf-ray",
)
"""The headers in which servers name a request; the server's own before that of a proxy."""
_SHOULD_RETRY: Final = {"true": True, "false": False}
"""The header by which OpenAI and Anthropic tell their SDKs whether another attempt makes sense."""
_MAX_SHOWN: Final = 200
_BROKEN: Final = 500


def http_error(
    status: int, headers: Mapping[str, str], body: bytes, now: datetime, errors: Errors = COMMON_ERRORS
) -> UpstreamHTTPError:
    """The error for an answer with an error status, of which `body` is the start: JSON, which `errors` reads, plain
    text, or the HTML page of a proxy. Of a status of success, the one that the body itself names counts: OpenRouter
    answers 200 once a model has begun."""
    text = body.decode(errors="replace").strip()
    document = _document(body)
    read = errors.read_body(document)
    message = read.message
    if message is None and text and not text.startswith("<") and document is None:
        message = text.splitlines()[0][:300]
    said, advice = _said(status, headers.get("location", ""), text, is_empty=not document)
    counts = status if status >= 300 or read.status is None else read.status
    # What breaks in a server may tell what it was sent; only a server that is busy says when it will not be.
    wait = read.retry_after or (None if counts == _BROKEN else wait_in_sentence(message))
    kind = errors.kind_of_body(read, counts)
    return UpstreamHTTPError(
        counts,
        provider_message=message,
        provider_code=read.code,
        provider_type=read.type,
        param=read.param,
        retry_after=wait_before_retry(counts, headers, now, wait),
        body=text,
        generation_id=read.generation_id,
        attempts=read.attempts,
        request_id=next((headers[name][:_MAX_SHOWN] for name in _REQUEST_IDS if headers.get(name)), read.request_id),
        said=said,
        advice="" if message else advice,
        code=kind.code if kind is not None else None,
        should_retry=_SHOULD_RETRY.get(headers.get("x-should-retry", "").strip().lower()),
    )


def _document(body: bytes) -> Any:
    """The JSON value of a body, or of the first server-sent event in it; None if it has none."""
    with suppress(JSONDecodeError):
        return loads(body)
    decoder = SSEDecoder()
    for _name, data in [*decoder.feed(body), *decoder.end()][:1]:
        with suppress(JSONDecodeError):
            return loads(data)
    return None


def content_type_error(headers: Mapping[str, str], body: bytes, *, wanted: str, expected: str) -> ContentTypeError:
    """The error for a successful answer with other content than requested: what was `wanted`, in words, and which media
    type was `expected`."""
    content_type = bare_media_type(headers.get("content-type", ""))
    text = body.decode(errors="replace")
    if page := _web_page(text):
        return ContentTypeError(content_type, expected, f"the server sent {page}, and no {wanted}", WEB_PAGE_ADVICE)
    described = f"{content_type or 'something without a type'} that begins with {text[:_MAX_START]!r}"
    return ContentTypeError(
        content_type, expected, f"the server sent {described if text else 'nothing'}, and no {wanted} ({expected})"
    )


_MAX_TITLE: Final = 80
_MAX_START: Final = 60
_TITLE: Final = late_pattern(r"<title[^<>]*>([^<]{0,400})", re.IGNORECASE)
"""No tag within the tag: a page of nothing but beginnings would be searched again from each of them. And no more than
a title has: Python refuses to read the number of a character that has thousands of digits."""
_LOGINS: Final = frozenset({*range(200, 400), 401, 403})
"""The statuses of pages to sign in; the status of any other page names the problem."""
WEB_PAGE_ADVICE: Final = "check the base URL, and whether a proxy or a login page answers instead"


def _web_page(text: str, *, may_be_login: bool = True) -> str | None:
    """What to call a body that is a web page, with the page's title; None for any other body."""
    if not text.lstrip().startswith("<"):
        return None
    found = _TITLE.search(text)
    title = " ".join(plain_html(found[1]).split())[:_MAX_TITLE] if found else ""
    name = "a web page, perhaps a login" if may_be_login else "a web page"
    return f"{name} ({title})" if title else name


def _said(status: int, location: str, text: str, *, is_empty: bool) -> tuple[str | None, str]:
    """Describes an answer without a message, with advice."""
    if 300 <= status < 400 and location:
        # The target, which may be relative, without its secrets.
        target = "an address that is no URL"
        with suppress(ValueError):
            address = urlsplit(location)
            parts = (address.scheme, address.netloc.rpartition("@")[2], address.path, "", "")
            target = urlunsplit(parts)[:_MAX_SHOWN]
        return f"it points to {target}", "does the base URL have to begin there, or is that a page to sign in?"
    if page := _web_page(text, may_be_login=status in _LOGINS):
        return f"it sent {page}", WEB_PAGE_ADVICE
    return None if is_empty else f"no message in its answer {text[:_MAX_SHOWN]}", ""


# ---- The wait before the next request ----

_DATE: Final = late_pattern(r"\s*\d{4}-\d\d-\d\dT[\d:.]{5,20}(?:Z|[+-]\d\d:?\d\d)?\s*\Z")
_FIRST_POINT_IN_TIME: Final = 10**9
"""From here on a number is no duration but seconds since 1970: servers of Chat Completions have both."""
_FIRST_IN_MILLISECONDS: Final = 10**11


def wait_before_retry(status: int, headers: Mapping[str, str], now: datetime, said: float | None) -> float | None:
    """The seconds to wait, from the first place that states it; None where none does. The body has `said` them in a
    field or a sentence. Only where the server is busy, places beside the two headers count."""
    milliseconds = seconds_of(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    if (seconds := retry_after(headers, now)) is not None:
        return seconds
    if status not in {413, 429} and status < 500:
        return None
    if said is not None:
        return said
    # The longest wait until a limit that is used up begins again: `x-ratelimit-reset-tokens`, or, as Anthropic sends
    # them, `VENDOR-ratelimit-tokens-reset`.
    waits = []
    for name, left in headers.items():
        stem = name.removesuffix("-remaining")
        if left.strip() != "0":
            continue
        if name.startswith("x-ratelimit-remaining"):
            waits.append(_until(headers.get(name.replace("remaining", "reset", 1), ""), now))
        elif stem != name and "ratelimit-" in stem:
            waits.append(_until(headers.get(f"{stem}-reset", ""), now))
    return max((wait for wait in waits if wait is not None), default=None)


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds in the header Retry-After: a number or a date (RFC 9110 section 10.2.3).

    None without the header, and for a value that is neither or is out of range, which the log names.
    """
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        wait = float(value)
    except ValueError:
        try:
            moment = parsedate_to_datetime(value)
            wait = ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds()
        except (ValueError, OverflowError, TypeError, IndexError):  # the parser's, for texts and for large numbers
            wait = math.nan
    seconds = as_amount(0.0 if wait < 0 else wait, MOST_SECONDS)
    if seconds is None:
        _logger.warning("the header Retry-After: got %.80r, expected a number of seconds or a date; ignored", value)
    return seconds


def _until(reset: str, now: datetime) -> float | None:
    """The seconds in a header of a limit: a duration, a date (RFC 3339), or a point in time in seconds or milliseconds
    since 1970."""
    if _DATE.match(reset):
        try:
            moment = datetime.fromisoformat(reset.strip())
        except ValueError:
            return None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return as_amount(max((moment - now).total_seconds(), 0.0), MOST_SECONDS)
    seconds = seconds_of(reset) if len(reset) < 40 else None
    if seconds is None and reset.strip().isdecimal():
        point = float(reset[:20])
        seconds = point / 1000 if point >= _FIRST_IN_MILLISECONDS else point
    if seconds is None or seconds < _FIRST_POINT_IN_TIME:
        return seconds
    return max(seconds - now.timestamp(), 0.0)


# ---- What a server repeats ----

_WORDS: Final = late_pattern(r"\\u[0-9a-f]{4}|\\.|(\w+)", re.IGNORECASE | re.DOTALL)
"""The words between the escapes of JSON too."""
_QUOTED: Final = late_pattern(r"""(?<=(['"`]))\w+(?:[^\w'"`]+\w+){0,2}(?=\\?\1)""")
_SHORT_VALUE: Final = late_pattern(r'"(\w+(?:[^\w"]+\w+){0,2})"(?!:)')


def in_own_words(error: _Error, body: Mapping[str, Any]) -> _Error:
    """An error without what it repeats of its request: four words of it in a row or more, and shorter values of it in
    quotation marks, of one word only the names of fields and codes. Many servers repeat what they were sent, and no
    text of one caller teaches what holds for all."""
    own = type(error).__new__(type(error))
    vars(own).update(vars(error))
    texts = {name: said for name in ("provider_message", "body") if (said := getattr(error, name, None))}
    tried = getattr(error, "attempts", ())
    said, sent = "\n".join((*texts.values(), *tried)), dumps(body).decode()
    rows = set(_rows(_words(said))).intersection(_rows(_words(sent)))
    found = ((*_words(one[0]),) for one in _QUOTED.finditer(said))
    quoted = {words for words in found if len(words) > 1 or "_" in words[0] or words[0] in body}
    values = quoted.intersection((*_words(one[1]),) for one in _SHORT_VALUE.finditer(sent))

    def without(text: str) -> str:
        found = [one for one in _WORDS.finditer(text) if one[1]]
        starts = [at for at, row in enumerate(_rows(_words(text))) if row in rows]
        for at in sorted({at + step for at in starts for step in range(4)}, reverse=True):
            text = text[: found[at].start()] + text[found[at].end() :]
        return _QUOTED.sub(lambda one: "" if (*_words(one[0]),) in values else one[0], text)

    vars(own).update({name: without(text) for name, text in texts.items()}, attempts=tuple(map(without, tried)))
    return own


def _words(text: str) -> Iterator[str]:
    return (one[1].lower() for one in _WORDS.finditer(text) if one[1])


def _rows(words: Iterator[str]) -> Iterator[object]:
    """All four words in a row."""
    return pairwise(pairwise(pairwise(words)))


# ---- Redaction ----


def redacted_error(error: _Error, redactor: Redactor) -> _Error:
    """The same error, with its message and all its fields redacted; not yet raised again.

    Its traceback, cause and context are left out: they hold what the upstream sent.
    """
    error.__cause__ = error.__context__ = error.__traceback__ = None
    fields = vars(error)
    # A field is a text, several texts (notes are a list of them), or of another kind.
    redacted = {
        name: redactor.redact_values(value) if isinstance(value, str | tuple | list) else value
        for name, value in fields.items()
    }
    # A message quotes its fields. One that was cut off in a secret shows its end in the field alone.
    quoted = {
        value: redacted[name] for name, value in fields.items() if isinstance(value, str) and redacted[name] != value
    }
    error.args = tuple(_without_quoted(one, quoted, redactor) for one in error.args)
    fields.update(redacted, message=_without_quoted(error.message, quoted, redactor))
    return error


def _without_quoted(text: Any, quoted: dict[str, str], redactor: Redactor) -> Any:
    if not isinstance(text, str):
        return text
    for value in sorted(quoted, key=len, reverse=True):
        text = text.replace(value, quoted[value])
    return redactor.redact(text)


# ---- Advice ----

_MISSING: Final = frozenset({404, 405})
_THINGS: Final = late_pattern(r"\b(model|response|item|file)\b", re.IGNORECASE)
"""Other things that servers do not find; the endpoint itself is in the plural in paths."""
_NO_SUCH_MODEL: Final = late_pattern(r"models/\S+ is not found\b")
"""Google's message for an unknown model (docs/wires/gemini.md#errors)."""
_NO_SUCH_PATH: Final = late_pattern(r"file not found\.?", re.IGNORECASE)
"""The message of llama.cpp's server for any path that it does not have (tools/server, the handler of errors)."""
GENERAL_ADVICE: Final = "does the base URL end as the server wants it, often in /v1?"
NO_LIST_ADVICE: Final = "its models answer there all the same: name those that you want in `models`"
"""Where the list of models is missing, and the endpoint of the protocol is there."""


def says_path_is_missing(error: LanguageModelError) -> bool:
    """Tells whether the server lacks the path, rather than the model or a stored response."""
    if not isinstance(error, UpstreamHTTPError) or error.http_status not in _MISSING:
        return False
    # A path in a message may hold any word: `/v4/ai/language-model`. No pattern looks for it: a message may be long.
    if _NO_SUCH_MODEL.match(error.provider_message or ""):
        return False
    message = " ".join(word for word in (error.provider_message or "").split() if "/" not in word)
    return _NO_SUCH_PATH.fullmatch(message.strip()) is not None or not _THINGS.search(message)


NO_KEY: Final = "no key was sent, and the server wants one"
ANOTHER_KEY: Final = "the server rejected this API key; check that it is complete, current, and for this server"

_PERHAPS: Final = frozenset({400, 403})
"""Gemini answers a wrong key with 400 (docs/wires/gemini.md#errors), others with 403."""
_SAYS_KEY: Final = late_pattern(
    r"(?:api|access)[ _-]?(?:key|token)\b.{0,40}\b(?:not valid|invalid|incorrect|expired|missing|not found|required)"
    r"|\b(?:invalid|incorrect|expired|missing|no)\b.{0,20}(?:api|access)[ _-]?(?:key|token)\b",
    re.IGNORECASE | re.ASCII,
)


def is_about_the_key(error: LanguageModelError) -> bool:
    """Whether the server refuses a request because of its key, or for want of one."""
    if not isinstance(error, UpstreamHTTPError):
        return False
    if error.http_status == 401:
        return True
    return error.http_status in _PERHAPS and bool(_SAYS_KEY.search(error.provider_message or ""))


def sends_key(configuration: GatewayConfiguration) -> bool:
    """Whether requests carry a key: the configured one, or a header that a person set in its place."""
    return configuration.has_key or any(names_a_secret(name) for name in configuration.headers)


def advise_on_key(error: LanguageModelError, configuration: GatewayConfiguration) -> None:
    """Gives an error about the key its advice, with the page where a person makes a key; leaves others alone."""
    if isinstance(error, UpstreamHTTPError) and is_about_the_key(error):
        server = server_at(configuration.base_url)
        page = "" if server is None or not server.keys_page else f" ({server.keys_page} makes one)"
        error.advise((ANOTHER_KEY if sends_key(configuration) else NO_KEY) + page)
