"""The command behind `make test PART=fuzz`: gives damaged streams, bodies, messages and files to what reads them for as
long as one likes, and stops at the first fault.

    python -m fuzzing --seconds 600
    python -m fuzzing --target bodies --seed 4711 --inputs 1

It prints the seed that it began with, how far it is, and for a fault the smallest input that shows it.
"""

import random
import resource
import secrets
import sys
import time
from contextlib import suppress

import click

from fuzzing.codec import OtherCodec, without_msgspec
from fuzzing.damage import stream_of
from fuzzing.properties import digest, faults_of
from fuzzing.shrinking import shrink
from fuzzing.targets import TARGETS, faults_of_input, input_of
from partstream.codec.json_codec import FAST

_PROGRESS = 5.0
"""Seconds between two lines."""
_STREAMS = "streams"
_MEMORY = 6 << 30
"""The bytes of addresses that the process may have, so that a fault ends it and not the machine."""
_SHOWN = 300


@click.command()
@click.option("--seconds", default=60.0, show_default=True, help="How long.")
@click.option("--seed", type=int, help="The first input; without it, any.")
@click.option("--inputs", type=int, help="How many inputs, however long it takes.")
@click.option("--target", type=click.Choice([_STREAMS, *TARGETS]), help="Only these inputs; without it, all by turns.")
@click.option("--protocol", help="Only streams of this protocol.")
def main(seconds: float, seed: int | None, inputs: int | None, target: str | None, protocol: str | None) -> None:
    """Gives damaged inputs to what reads them, in every way, and compares the answers."""
    first = secrets.randbelow(10**9) if seed is None else seed
    # A stream takes a few milliseconds, and there are eleven protocols: every other input is one.
    turns = [target or _STREAMS] if target or protocol else [one for name in TARGETS for one in (_STREAMS, name)]
    click.echo(f"seed {first}; msgspec is {'compared' if FAST else 'not installed, so not compared'}")
    start = shown = time.monotonic()
    number = 0
    with without_msgspec() as other:
        while number < inputs if inputs is not None else time.monotonic() - start < seconds:
            place, turn = first + number, turns[number % len(turns)]
            faults = _faults(place, protocol, other) if turn == _STREAMS else faults_of_input(input_of(turn, place))
            number += 1
            if faults:
                _show(place, turn, protocol, faults)
                sys.exit(1)
            if time.monotonic() - shown > _PROGRESS:
                shown = time.monotonic()
                click.echo(f"{number:,} inputs in {shown - start:.0f} s, no fault")
    click.echo(f"{number:,} inputs, no fault")


def _faults(seed: int, protocol: str | None, other: OtherCodec) -> list[str]:
    stream = stream_of(seed, protocol)
    faults = faults_of(stream, _ways(seed))
    if FAST and digest(stream) != other.digest(seed, protocol):
        faults.append("with and without msgspec: the answers differ")
    return faults


def _ways(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - no secret


def _show(seed: int, target: str, protocol: str | None, faults: list[str]) -> None:
    more = f" --protocol {protocol}" if protocol else f" --target {target}"
    click.echo(f"seed {seed} shows a fault; again: python -m fuzzing --inputs 1 --seed {seed}{more}")
    for fault in faults:
        click.echo(f"  {fault}")
    if target == _STREAMS:
        stream = stream_of(seed, protocol)
        if any(not fault.startswith("with and without msgspec") for fault in faults):
            stream = shrink(stream, lambda smaller: bool(faults_of(smaller, _ways(seed))))
        click.echo(f"{stream.protocol} as {stream.framing}, {stream.options}, {len(stream.data)} bytes:")
        _show_pieces(stream.pieces)
    else:
        given = shrink(input_of(target, seed), lambda smaller: bool(faults_of_input(smaller)), seconds=60)
        click.echo(f"{given.kind}, {len(given.data):,} bytes:")
        _show_pieces(given.pieces)


def _show_pieces(pieces: tuple[bytes, ...]) -> None:
    for piece in pieces:
        click.echo(f"  {piece!r}" if len(piece) < _SHOWN else f"  {piece[:_SHOWN]!r} and {len(piece) - _SHOWN:,} more")


if __name__ == "__main__":
    with suppress(ValueError):  # the system may allow less already
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    main()
