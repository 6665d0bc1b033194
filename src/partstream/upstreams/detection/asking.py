"""Asks below one base URL: the list of models, and an empty request to each endpoint, all at the same time.

The key goes to the configured host alone, and no redirect is followed, see
:class:`partstream.upstream.http.UpstreamHTTP`.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

import httpx2

from partstream.codec.json_codec import dumps
from partstream.errors import UpstreamConnectionError, UpstreamError
from partstream.upstream.detection_rules import MODELS, NOWHERE_ELSE, Presence, Round, Sign, sign_of, tells_nothing
from partstream.upstream.discovery import FetchResponse
from partstream.upstream.endpoint import without_query
from partstream.upstream.http import OutboundHTTPRequest, UpstreamHTTP

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Mapping, Sequence

    from partstream.upstream.configuration import GatewayConfiguration
    from partstream.upstream.detection_rules import CandidateProtocol
    from partstream.upstream.http import Connections

__all__ = ["ask_round"]

_MOST: Final = 256 * 1024
"""Bytes of an answer that are read. Nothing depends on the rest: a longer list tells its server by its headers."""


async def ask_round(
    configuration: GatewayConfiguration,
    connections: Connections,
    base_url: str,
    wires: Sequence[CandidateProtocol],
    deadline: float,
    elsewhere: Mapping[str, str] = NOWHERE_ELSE,
) -> Round:
    """Sends a request to each endpoint, and one for the list where an endpoint stands beside it, at the same time.

    Args:
        configuration: The upstream, its key and its headers.
        connections: The connections to it.
        base_url: Where the endpoints are looked for.
        wires: The protocols that are asked for.
        deadline: By the clock of the event loop, when nobody waits any longer.
        elsewhere: The base URLs of those that are looked for below another one, by name.

    Raises:
        CredentialError: The key cannot be had.
        ConnectionSetupError: The proxy or the certificates that this machine names are of no use.
    """
    lists = [wire for wire in wires if wire.name not in elsewhere][:1]
    questions: list[tuple[str, str, str, Mapping[str, Any] | None]] = [
        (wire.name, base_url, MODELS, None) for wire in lists
    ]
    questions += [
        (wire.name, elsewhere.get(wire.name, base_url), wire.probed_path, wire.empty_request) for wire in wires
    ]
    answers = await _all(
        _asked(http, _request(http, path, body), deadline)
        for name, where, path, body in questions
        for http in [UpstreamHTTP(configuration.spoken(name, where), connections)]
    )
    first, answers = (answers[0], answers[1:]) if lists else (None, answers)
    listing = first if isinstance(first, FetchResponse) else None
    signs = {
        wire.name: _sign(answer, wire, elsewhere.get(wire.name, base_url), listing)
        for wire, answer in zip(wires, answers, strict=True)
    }
    return Round(base_url, signs, listing, elsewhere)


def _sign(answer: FetchResponse | str, wire: CandidateProtocol, base_url: str, listing: FetchResponse | None) -> Sign:
    if isinstance(answer, str):
        return Sign(Presence.SILENT, answer)
    if tells_nothing(answer, listing):
        return Sign(Presence.SILENT, f"HTTP {answer.status}")
    return sign_of(answer, wire.errors, without_query(base_url), wire.probed_path)


async def _all(questions: Iterable[Coroutine[Any, Any, FetchResponse | str]]) -> list[FetchResponse | str]:
    """All answers, once none is on its way any more; the first failure of this machine in their place."""
    answers: list[FetchResponse | str] = []
    for answer in await asyncio.gather(*questions, return_exceptions=True):
        if isinstance(answer, BaseException):
            raise answer
        answers.append(answer)
    return answers


def _request(http: UpstreamHTTP, path: str, body: Mapping[str, Any] | None) -> OutboundHTTPRequest:
    headers = {**http.document_headers, "accept": "application/json"}
    if body is None:
        return OutboundHTTPRequest("GET", http.base_path + path, headers=headers)
    headers["content-type"] = "application/json"
    return OutboundHTTPRequest("POST", http.base_path + path, content=dumps(body), headers=headers)


async def _asked(http: UpstreamHTTP, request: OutboundHTTPRequest, deadline: float) -> FetchResponse | str:
    """The start of an answer; a few words in its place if there is none."""
    try:
        async with asyncio.timeout_at(deadline), aclosing(await http.send(request, renews_key=False)) as answer:
            try:
                body = await _start(answer.response)
            except httpx2.RequestError as error:
                return answer.broke(error).reason
            return FetchResponse(answer.response.status_code, answer.headers, answer.redactor.redact_bytes(body))
    except TimeoutError:
        return "no answer in time"
    except UpstreamConnectionError as error:
        return error.reason
    except UpstreamError as error:
        return error.statement


async def _start(response: httpx2.Response) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk[: _MOST - len(body)]
        if len(body) >= _MOST:
            break
    return bytes(body)
