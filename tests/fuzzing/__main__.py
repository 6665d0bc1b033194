"""The command behind `make test PART=fuzz`: reads damaged streams for as long as one likes, and stops at the first
fault.

    python -m fuzzing --seconds 600
    python -m fuzzing --seed 4711 --streams 1

It prints the seed that it began with, how far it is, and for a fault the smallest stream that shows it.
"""

import random
import secrets
import sys
import time

import click

from fuzzing.codec import OtherCodec, without_msgspec
from fuzzing.damage import Stream, stream_of
from fuzzing.properties import digest, faults_of
from fuzzing.shrinking import shrink
from partstream.codec.json_codec import FAST

_PROGRESS = 5.0
"""Seconds between two lines."""


@click.command()
@click.option("--seconds", default=60.0, show_default=True, help="How long.")
@click.option("--seed", type=int, help="The first stream; without it, any.")
@click.option("--streams", type=int, help="How many streams, however long it takes.")
@click.option("--protocol", help="Only streams of this protocol.")
def main(seconds: float, seed: int | None, streams: int | None, protocol: str | None) -> None:
    """Reads damaged streams in every way and compares the answers."""
    first = secrets.randbelow(10**9) if seed is None else seed
    click.echo(f"seed {first}; msgspec is {'compared' if FAST else 'not installed, so not compared'}")
    start = shown = time.monotonic()
    number = 0
    with without_msgspec() as other:
        while number < streams if streams is not None else time.monotonic() - start < seconds:
            faults = _faults(first + number, protocol, other)
            number += 1
            if faults:
                _show(first + number - 1, protocol, faults)
                sys.exit(1)
            if time.monotonic() - shown > _PROGRESS:
                shown = time.monotonic()
                click.echo(f"{number:,} streams in {shown - start:.0f} s, no fault")
    click.echo(f"{number:,} streams, no fault")


def _faults(seed: int, protocol: str | None, other: OtherCodec) -> list[str]:
    stream = stream_of(seed, protocol)
    faults = faults_of(stream, _ways(seed))
    if FAST and digest(stream) != other.digest(seed, protocol):
        faults.append("with and without msgspec: the answers differ")
    return faults


def _ways(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - no secret


def _show(seed: int, protocol: str | None, faults: list[str]) -> None:
    again = f"python -m fuzzing --streams 1 --seed {seed}" + (f" --protocol {protocol}" if protocol else "")
    click.echo(f"seed {seed} shows a fault; again: {again}")
    for fault in faults:
        click.echo(f"  {fault}")
    smallest = stream_of(seed, protocol)
    if any(not fault.startswith("with and without msgspec") for fault in faults):
        smallest = shrink(smallest, lambda stream: bool(faults_of(stream, _ways(seed))))
    _show_stream(smallest)


def _show_stream(stream: Stream) -> None:
    click.echo(f"{stream.protocol} as {stream.framing}, {stream.options}, {len(stream.data)} bytes:")
    for piece in stream.pieces:
        click.echo(f"  {piece!r}")


if __name__ == "__main__":
    main()
