"""Asks an upstream how many tokens a request has before it is sent; the answer never depends on it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from partstream.codec.checks import as_count
from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.errors import UpstreamError, UpstreamProtocolError
from partstream.tokens import CountSource, TokenCount
from partstream.upstream.transport import body_document

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.protocol import CountEndpoint
    from partstream.protocols.serve import WireRequest
    from partstream.upstream.discovery import Fetch, FetchResponse

__all__ = ["COUNT_SECONDS", "UpstreamCounts"]

COUNT_SECONDS: Final = 2.0
"""Seconds that an upstream has to count; the request waits for it."""
_MOST_FAILURES: Final = 3
_OK: Final = 200

_logger = logging.getLogger("partstream.upstreams")


class UpstreamCounts:
    """The counting endpoint of one upstream.

    Args:
        fetch: Sends the question.
        base_path: The path of the base URL.
        endpoint: The endpoint of the protocol, or None where it has none.

    Attributes:
        failures: How often in a row it did not count; after some it is not asked any more.
    """

    def __init__(self, fetch: Fetch, base_path: str, endpoint: CountEndpoint | None) -> None:
        self._fetch = fetch
        self._base_path = base_path.rstrip("/")
        self._endpoint = endpoint
        self.failures = 0

    async def count(self, request: WireRequest, headers: Mapping[str, str]) -> TokenCount | None:
        """The tokens of a request; None where the upstream does not say it in time.

        Args:
            request: The request as it would be sent.
            headers: The headers that somebody set for it; they win over those of the protocol.
        """
        if self._endpoint is None or self.failures >= _MOST_FAILURES:
            return None
        question = self._endpoint.question(request)
        path, body = self._base_path + question.path, body_document(question.body)
        sent = {**question.headers, **headers, "content-type": "application/json"}
        try:
            async with asyncio.timeout(COUNT_SECONDS):
                answer = await self._fetch(path, sent, body)
            tokens = _tokens_in(answer, path, self._endpoint.answer_field)
        except (UpstreamError, TimeoutError) as error:
            self.failures += 1
            rest = "; it is not asked any more" if self.failures == _MOST_FAILURES else ""
            said = str(error) or f"not within {COUNT_SECONDS:g} s"
            _logger.info("the upstream did not count a request, time %d in a row: %s%s", self.failures, said, rest)
            return None
        self.failures = 0
        return TokenCount(tokens, CountSource.COUNTED)


def _tokens_in(answer: FetchResponse, path: str, field: str) -> int:
    """The count in an answer: `{"input_tokens": 14}`."""
    got = f"HTTP {answer.status}"
    if answer.status == _OK:
        try:
            document = loads(answer.body)
        except JSONDecodeError:
            document = None
        tokens = as_count(document.get(field)) if isinstance(document, dict) else None
        if tokens is not None:
            return tokens
        got = repr(answer.body[:200])
    raise UpstreamProtocolError(
        event_type=f"the answer of {path}", field=field, got=got, expected="a number of tokens of at least 0"
    )
