"""How soon a cancelled request is gone: from the cancellation to the upstream seeing its connection closed.

    python -m benchmarks.cancelling

The provider and the replay upstream run in one event loop on loopback: what is measured is what Partstream needs to
give a request up, and nothing of a network.
"""

from __future__ import annotations
import asyncio
from dataclasses import asdict, dataclass
from statistics import quantiles
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console

from benchmarks.grids import Grid, draw
from partstream import CancellationTokenSource, ChatMessage, LanguageModelChatInformation, RequestOptions
from partstream.protocols.protocol import DEFAULT_PROTOCOL
from partstream.upstream.configuration import GatewayConfiguration
from partstream.upstream.provider import GatewayProvider
from partstream_devtools.testing.replaying import Outcome
from partstream_devtools.testing.upstream import ReplayUpstream

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream import ResponsePart

__all__ = ["SITUATIONS", "Delay", "as_json", "grid", "measure"]

SITUATIONS: Final = {
    "while text streams": ("scenario:long=2000 pace:5", 50),
    "between two pieces": ("pace:60000", 5),
    "before the first event": ("fault:stall_before_events", 0),
    "before the headers": ("fault:stall_before_headers", 0),
}
"""By the situation: what the upstream is asked for, and how many of its events are waited for before cancelling."""

_MODEL: Final = LanguageModelChatInformation("m", "M", "m", "1", 10_000, 1_000)


@dataclass(frozen=True, slots=True)
class Delay:
    """Milliseconds from the cancellation to the closed connection, of all rounds."""

    median: float
    lower: float
    upper: float
    longest: float


class _Nobody:
    """Takes parts and keeps none."""

    def report(self, part: ResponsePart, /) -> None:
        pass


def measure(rounds: int) -> dict[str, Delay]:
    """The delays by situation.

    Raises:
        RuntimeError: The upstream saw something else than a closed connection.
    """
    return asyncio.run(_measure(rounds))


async def _measure(rounds: int) -> dict[str, Delay]:
    samples: dict[str, list[float]] = {situation: [] for situation in SITUATIONS}
    async with ReplayUpstream() as upstream:
        provider = GatewayProvider(GatewayConfiguration(upstream.base_url, protocol=DEFAULT_PROTOCOL, models=(_MODEL,)))
        for number in range(-1, rounds):  # the first round opens and loads what the others find
            for situation, (asked, events) in SITUATIONS.items():
                milliseconds = await _cancel(provider, upstream, asked, events)
                if number >= 0:
                    samples[situation].append(milliseconds)
        await provider.aclose()
    return {situation: _delay(of_it) for situation, of_it in samples.items()}


async def _cancel(provider: GatewayProvider, upstream: ReplayUpstream, asked: str, events: int) -> float:
    number = len(upstream.exchanges)
    source = CancellationTokenSource()
    request = asyncio.create_task(
        provider.provide_language_model_chat_response(
            _MODEL, [ChatMessage.user(asked)], RequestOptions(), _Nobody(), source.token
        )
    )
    await upstream.until(
        lambda: len(upstream.exchanges) > number and upstream.exchanges[number].delivery.events_sent >= events
    )
    await asyncio.sleep(0.01)  # what was sent has arrived, and the request waits
    cancelled_at = asyncio.get_running_loop().time()
    source.cancel()
    await request
    delivery = (await upstream.wait_for_end(number + 1)).delivery
    if delivery.outcome is not Outcome.CLIENT_CLOSED or delivery.ended_at is None:
        raise RuntimeError(f"{asked}: the upstream saw {delivery.outcome}")
    return (delivery.ended_at - cancelled_at) * 1000


def _delay(samples: list[float]) -> Delay:
    lower, middle, upper = quantiles(samples, n=4, method="inclusive") if len(samples) > 1 else samples * 3
    return Delay(middle, lower, upper, max(samples))


def grid(delays: Mapping[str, Delay]) -> Grid:
    """The delays as a table."""
    rows = [
        (situation, f"{delay.median:.2f}", f"{delay.lower:.2f} – {delay.upper:.2f}", f"{delay.longest:.2f}")
        for situation, delay in delays.items()
    ]
    return Grid("from cancelling to the closed connection, ms", ("cancelled", "median", "quartiles", "longest"), rows)


def as_json(delays: Mapping[str, Delay]) -> dict[str, Any]:
    """For the file of results."""
    return {situation: asdict(delay) for situation, delay in delays.items()}


@click.command()
@click.option(
    "--rounds",
    default=50,
    type=click.IntRange(1, 200),
    show_default=True,
    help="How often each situation is cancelled.",
)
def main(rounds: int) -> None:
    """Measures how soon a cancelled request is gone."""
    draw(grid(measure(rounds)), Console())


if __name__ == "__main__":
    main()
