"""Asks an upstream how many tokens a request has before it is sent; the answer never depends on it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import UpstreamError
from partstream.json_codec import JSONDecodeError, dumps, loads
from partstream.tokens.upstream_count import COUNT_ENDPOINTS, CountAnswerError, count_request_body, read_count_answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.models.discovery import Fetch
    from partstream.tokens import TokenCount

__all__ = ["COUNT_SECONDS", "UpstreamCounts"]

COUNT_SECONDS: Final = 2.0
"""Seconds that an upstream has to count; the request waits for it."""
_MOST_FAILURES: Final = 3

_logger = logging.getLogger("partstream.upstreams")


class UpstreamCounts:
    """The counting endpoint of one upstream.

    Args:
        fetch: Sends the question.
        base_path: The path of the base URL.
        path: Where requests are sent, below the base URL; it says which endpoint counts.

    Attributes:
        failures: How often in a row it did not count; after some it is not asked any more.
    """

    def __init__(self, fetch: Fetch, base_path: str, path: str) -> None:
        self._fetch = fetch
        self._base_path = base_path.rstrip("/")
        self._endpoint = COUNT_ENDPOINTS.get(path.strip("/"))
        self.failures = 0

    async def count(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> TokenCount | None:
        """The tokens of the request that `body` would make; None where the upstream does not say it in time."""
        if self._endpoint is None or self.failures >= _MOST_FAILURES:
            return None
        question = dumps(count_request_body(self._endpoint, body))
        path = self._base_path + self._endpoint.path
        try:
            async with asyncio.timeout(COUNT_SECONDS):
                answer = await self._fetch(path, {**headers, "content-type": "application/json"}, question)
            count = read_count_answer(loads(answer.body) if answer.status == _OK else f"HTTP {answer.status}")
        except (UpstreamError, TimeoutError, CountAnswerError, JSONDecodeError) as error:
            self.failures += 1
            rest = "; it is not asked any more" if self.failures == _MOST_FAILURES else ""
            said = str(error) or f"not within {COUNT_SECONDS:g} s"
            _logger.info("the upstream did not count a request, time %d in a row: %s%s", self.failures, said, rest)
            return None
        self.failures = 0
        return count


_OK: Final = 200
