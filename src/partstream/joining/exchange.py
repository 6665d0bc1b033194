"""Asks a hub: gives a join code for a key, and fetches what is left of a person's budgets.

Both go over the connections of an ordinary upstream, so proxies, certificates and time limits hold as for its models. A
code is sent once and to one address: no redirect is followed, and no log and no error holds it.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.errors import UpstreamError, UpstreamProtocolError
from partstream.joining.standing import ME_PATH, read_standing
from partstream.redaction import Redactor
from partstream.upstreams.fetching import DocumentFetcher
from partstream.upstreams.http import UpstreamHTTP
from partstream.upstreams.http_errors import content_type_error, http_error
from partstream.upstreams.hub_keys import is_hub_key
from partstream.upstreams.redacted_outputs import redacted_error
from partstream.upstreams.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.joining.standing import HubStanding
    from partstream.models.discovery import FetchResponse
    from partstream.upstreams.configuration import GatewayConfiguration

__all__ = ["ASKING_SECONDS", "JOIN_PATH", "JoinResult", "fetch_standing", "is_of_hub", "join"]

JOIN_PATH: Final = "/hub/v1/join"
"""Where a code is given for a key, below the address of a hub."""

ASKING_SECONDS: Final = 20.0
"""The most seconds for an answer: a person waits for it."""

_JSON: Final = {"content-type": "application/json"}
_VERSION: Final = "/v1"
_FIRST_ERROR: Final = 300
_MOST_NAME: Final = 80
_GONE: Final = frozenset({400, 401, 403, 404, 409, 410})
"""What a hub answers to a code that it does not take."""
_CODE_ADVICE: Final = "whoever runs the hub makes another link, each good once and not for long"


@dataclass(frozen=True, slots=True)
class JoinResult:
    """What a hub gives for a code.

    Attributes:
        key: The key, which the hub tells once.
        person: The name of the person whose key it is, or "".
    """

    key: Secret
    person: str


async def join(configuration: GatewayConfiguration, code: Secret) -> JoinResult:
    """Gives a join code for a key.

    Args:
        configuration: The hub as an upstream, without a key; see
            :func:`partstream.joining.links.base_url_of`.
        code: The code.

    Raises:
        UpstreamHTTPError: The hub does not take the code.
        UpstreamProtocolError: What answers is no hub, or gives no key.
        LanguageModelError: The hub cannot be reached. No error holds the code.
    """
    failure: UpstreamError
    try:
        async with aclosing(UpstreamHTTP(configuration)) as http:
            fetch = DocumentFetcher(http)
            path = _root(http) + JOIN_PATH
            response = await _within_time(fetch(path, _JSON, dumps({"code": code.reveal()})))
            return _joined(_document(response, path))
    except UpstreamError as error:
        # Raised below, where no traceback shows variables that hold the code.
        failure = redacted_error(error, Redactor([code.reveal()]))
        if getattr(error, "http_status", None) in _GONE:
            failure.advise(_CODE_ADVICE)
    raise failure


async def is_of_hub(configuration: GatewayConfiguration) -> bool:
    """Whether the key of an upstream is one that a hub gave; asks nobody but the place of the key.

    Raises:
        CredentialError: The key cannot be had.
    """
    if configuration.credentials is None:
        return is_hub_key(configuration.api_key)
    return is_hub_key(await configuration.credentials.get())


async def fetch_standing(configuration: GatewayConfiguration) -> HubStanding:
    """Fetches what a hub says of the person whose key the configuration holds.

    Raises:
        UpstreamProtocolError: What answers is no hub.
        LanguageModelError: The hub refuses the key, or cannot be reached.
    """
    async with aclosing(UpstreamHTTP(configuration)) as http:
        path = _root(http) + ME_PATH
        response = await _within_time(DocumentFetcher(http)(path, {}))
    return read_standing(_document(response, path))


def _root(http: UpstreamHTTP) -> str:
    """The path below which the hub is: what stands before `/v1` in the base URL."""
    return http.base_path.removesuffix(_VERSION)


async def _within_time(answer: Any) -> FetchResponse:
    try:
        async with asyncio.timeout(ASKING_SECONDS):
            response: FetchResponse = await answer
    except TimeoutError as error:
        raise UpstreamError(f"the hub did not answer within {ASKING_SECONDS:g} s") from error
    return response


def _document(response: FetchResponse, path: str) -> Any:
    if response.status >= _FIRST_ERROR:
        raise http_error(response.status, response.headers, response.body, datetime.now(UTC))
    try:
        return loads(response.body)
    except JSONDecodeError:
        pass
    if response.body.lstrip().startswith(b"<"):  # a login, a proxy: the title of the page says which
        raise content_type_error(response.headers, response.body, wanted="document of a hub", expected="JSON")
    # Not quoted: half of a document may hold a key.
    raise UpstreamProtocolError(event_type=path, field=None, got="no JSON", expected="the document of a hub")


def _joined(document: Any) -> JoinResult:
    """What a hub gives; an error names no value, because it may be a key."""
    if not isinstance(document, dict):
        raise _wrong("key", "no object", "an object with a key")
    given: Mapping[str, Any] = document
    key = given.get("key")
    if not isinstance(key, str) or not is_hub_key(Secret(key)):
        raise _wrong("key", "no key of a hub", "a text that begins with psk_")
    person = given.get("person")
    is_name = isinstance(person, str) and len(person) <= _MOST_NAME and person.isprintable()
    return JoinResult(Secret(key), str(person) if is_name else "")


def _wrong(field: str, got: str, expected: str) -> UpstreamProtocolError:
    return UpstreamProtocolError(event_type=JOIN_PATH, field=field, got=got, expected=expected)
