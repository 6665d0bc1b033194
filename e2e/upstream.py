# ruff: noqa: INP001 - one Python file among JavaScript, no package
"""Runs the replay upstream for the end-to-end checks and prints JSON lines: when it listens, and after each exchange.

A line holds the whole request body, so that a check can look at what VS Code sent.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from partstream.testing import ReplayUpstream
from partstream.testing.served import BASE_PATHS, scenario_events

if TYPE_CHECKING:
    from partstream.testing import ServedExchange


def write(**fields: Any) -> None:
    """One line, at once: the reader of the file waits for it."""
    sys.stdout.write(json.dumps(fields, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def usage(exchange: ServedExchange) -> dict[str, Any] | None:
    """The token counts that the answer ended with, as its protocol says them; None where it was no scenario."""
    if exchange.choice is None or exchange.delivery.status != 200:
        return None
    name, _, value = exchange.choice.partition("=")
    request = exchange.request
    last = scenario_events(name, request.body, value, request.path, request.headers)[-1]
    counts: dict[str, Any] = last.get("response", last)["usage"]
    return counts


def report(exchange: ServedExchange) -> None:
    """What came, and how the reply ended; `ended_at` in milliseconds since 1970."""
    write(
        type="exchange",
        path=exchange.request.path,
        headers=dict(exchange.request.headers),
        body=exchange.request.body,
        status=exchange.delivery.status,
        scenario=exchange.choice,
        faults=[str(fault) for fault in exchange.faults],
        events=exchange.delivery.events_sent,
        outcome=str(exchange.delivery.outcome),
        usage=usage(exchange),
        ended_at=time.time() * 1000,
    )


async def main() -> None:
    """Serves until it is ended, at one address for everybody and at another for those who have the key."""
    async with ReplayUpstream() as upstream, ReplayUpstream(token=sys.argv[1]) as keyed:
        for one in (upstream, keyed):
            one.on_did_finish_exchange(report)
        base_urls = {protocol: upstream.base_url_of(protocol) for protocol in BASE_PATHS}
        write(type="listening", base_url=upstream.base_url, base_urls=base_urls, keyed_url=keyed.base_url)
        await asyncio.Event().wait()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main())
