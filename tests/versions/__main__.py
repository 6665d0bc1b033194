"""The command behind `make test PART=versions`: lists what this version and another one read differently.

    python -m versions --streams 1000
    python -m versions --before v0.15.0 --show "seed 4711"

Both read every recording, and damaged streams of fixed seeds. A difference that no row of `versions/improvements.py`
covers is shown with the smallest stream that has it, and the command ends with code 1.
"""

import json
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from fuzzing.damage import Stream
from fuzzing.shrinking import shrink
from versions.comparing import Outputs, differences
from versions.improvements import COMMIT, IMPROVEMENTS, rows_of
from versions.processes import ROOT, Reader, checkout_of, reading
from versions.streams import Read, asked, damaged, recorded

RESULTS = Path(__file__).with_name("results.json")
_PROGRESS = 5.0
"""Seconds between two lines."""
_SHOWN = 2000
"""Characters of an output or a piece."""


class Pair:
    """The processes of both versions."""

    def __init__(self, before: Reader, now: Reader) -> None:
        self.before, self.now = before, now

    def read(self, stream: Stream) -> tuple[Outputs, Outputs]:
        """What each reads of a stream; they read at the same time."""
        for reader in (self.before, self.now):
            reader.ask(asked(stream))
        return self.before.answer(), self.now.answer()

    def differences(self, stream: Stream) -> list[str]:
        """What differs."""
        return differences(*self.read(stream))


@click.command()
@click.option("--before", default=COMMIT, show_default=True, help="The other version: a commit, a tag or a folder.")
@click.option("--streams", default=20_000, show_default=True, help="How many damaged streams.")
@click.option("--seed", default=0, show_default=True, help="The first damaged stream.")
@click.option("--show", help="Only this recording, or `seed N`, with what each version reads of it.")
@click.option(
    "--write/--no-write", "is_written", default=False, help="Whether results.json is written, if no difference is new."
)
def main(before: str, streams: int, seed: int, show: str | None, is_written: bool) -> None:
    """Lists what this version and another one read differently."""
    try:
        other = checkout_of(before)
    except LookupError as error:
        raise click.UsageError(f"--before: {error}") from error
    with ExitStack() as stack:
        pair = Pair(*(stack.enter_context(reading(checkout)) for checkout in (other, ROOT)))
        click.echo(f"{pair.before.version} and {pair.now.version}")
        if show is not None:
            _show(pair, _named(show).stream)
            return
        found, counts = _compare(pair, seed, streams)
        unknown = _report(pair, found)
        if is_written and not unknown:
            _write(pair, seed, counts, found)
    sys.exit(1 if unknown else 0)


def _named(name: str) -> Read:
    if name.startswith("seed "):
        return next(damaged(int(name.removeprefix("seed ")), 1))
    try:
        return next(one for one in recorded() if one.name == name)
    except StopIteration:
        raise click.UsageError(f"--show: got {name!r}, expected the name of a recording or `seed N`") from None


Found = dict[tuple[str, tuple[str, ...]], dict[str, Read]]
"""By protocol and differences, the streams by their names."""


def _compare(pair: Pair, seed: int, streams: int) -> tuple[Found, Counter[str]]:
    found: Found = {}
    names: dict[str, set[str]] = {"recordings": set(), "damaged": set()}
    shown = start = time.monotonic()
    for kind, source in (("recordings", recorded()), ("damaged", damaged(seed, streams))):
        for one in source:
            names[kind].add(one.name)
            if phrases := pair.differences(one.stream):
                found.setdefault((one.stream.protocol, tuple(phrases)), {}).setdefault(one.name, one)
            if time.monotonic() - shown > _PROGRESS:
                shown = time.monotonic()
                click.echo(f"{sum(map(len, names.values())):,} streams in {shown - start:.0f} s")
    return found, Counter({kind: len(some) for kind, some in names.items()})


def _counted(found: Found) -> dict[str, Counter[str]]:
    """By row, how many streams of each protocol differ."""
    counted: dict[str, Counter[str]] = {row.name: Counter() for row in IMPROVEMENTS}
    for (protocol, phrases), reads in found.items():
        for row in rows_of(protocol, phrases)[0]:
            counted[row.name][protocol] += len(reads)
    return counted


def _report(pair: Pair, found: Found) -> int:
    """Lists what differs; returns how many kinds of differences no row covers."""
    for name, by_protocol in _counted(found).items():
        if by_protocol:
            click.echo(f"{by_protocol.total():6,}  {name}")
            click.echo(f"        {', '.join(f'{one} {count}' for one, count in sorted(by_protocol.items()))}")
    unknown = 0
    for (protocol, phrases), reads in found.items():
        if left := rows_of(protocol, phrases)[1]:
            unknown += 1
            click.echo(f"new: {len(reads)} of {protocol}, such as {next(iter(reads))}: {'; '.join(left)}")
            first = next(iter(reads.values())).stream
            _show(pair, shrink(first, lambda stream: tuple(pair.differences(stream)) == phrases))  # noqa: B023
    click.echo(f"{sum(map(len, found.values())):,} streams differ; {unknown} kinds of differences are new")
    return unknown


def _show(pair: Pair, stream: Stream) -> None:
    options = f"thinking {stream.options.thinking.value}, citations {stream.options.citations.value}"
    click.echo(f"  {stream.protocol} as {stream.framing}, {options}, {len(stream.data)} bytes:")
    for piece in stream.pieces:
        click.echo(f"    {repr(piece)[:_SHOWN]}")
    for reader, outputs in zip((pair.before, pair.now), pair.read(stream), strict=True):
        click.echo(f"  {reader.version}:")
        for kind, said in outputs:
            click.echo(f"    {kind} {json.dumps(_filled(said))[:_SHOWN]}")
    for phrase in pair.differences(stream):
        click.echo(f"  differs: {phrase}")


def _filled(said: Any) -> Any:
    """Without the fields that say nothing."""
    if isinstance(said, dict):
        return {name: _filled(value) for name, value in said.items() if value not in (None, "", [], {})}
    return said


def _write(pair: Pair, seed: int, counts: Counter[str], found: Found) -> None:
    result = {
        "before": pair.before.version,
        "now": pair.now.version,
        "seed": seed,
        **counts,
        "differ": sum(map(len, found.values())),
        "rows": {name: dict(sorted(by_protocol.items())) for name, by_protocol in _counted(found).items()},
    }
    RESULTS.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    sys.set_int_max_str_digits(0)  # damaged streams hold numbers of thousands of digits, and JSON that nests deeply
    sys.setrecursionlimit(20_000)
    main()
