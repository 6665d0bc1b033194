"""The command behind `make interop TRY=parsers`: has each parser read every recorded stream over HTTP on loopback, and
writes what each got right.

It ends with code 1 when this project's own reader got something wrong.
"""

from __future__ import annotations
import json
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console

from interop.parsers.judging import ASPECTS, judged
from interop.parsers.recorded import FOLDER, WIRES, made_up_streams, recorded_streams, serving
from interop.parsers.table import PARSERS
from interop.servers.environments import NotInstalledError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from interop.parsers.recorded import Recorded
    from interop.parsers.table import Parser

_RESULTS: Final = Path(__file__).resolve().parent / "results.json"
_LONGEST: Final = 1200
_SHOWN_FAILURES: Final = 400
_OWN: Final = "partstream"


@click.command()
@click.option("--only", multiple=True, help="The name of a parser; repeat for more.")
@click.option("--write/--no-write", "is_written", default=True, help="Whether the results are written.")
def main(only: tuple[str, ...], is_written: bool) -> None:
    """Has parsers read all recorded streams, and says what each got right."""
    console = Console()
    names = [parser.name for parser in PARSERS]
    chosen = [parser for parser in PARSERS if not only or parser.name in only]
    if not chosen:
        raise click.UsageError(f"--only: expected one of {', '.join(names)}")
    streams = [stream for wire in WIRES for stream in (*recorded_streams(wire), *made_up_streams(wire))]
    if not streams:
        raise click.UsageError(f"no recordings in {FOLDER}; set PARTSTREAM_RECORDINGS to their folder")
    results = {parser.name: _result(parser, streams, console) for parser in chosen}
    if is_written:
        before = json.loads(_RESULTS.read_text()) if _RESULTS.exists() else {}
        merged = {name: results.get(name) or before[name] for name in names if name in results or name in before}
        _RESULTS.write_text(json.dumps(merged, indent=2, ensure_ascii=False) + "\n")
    sys.exit(1 if _wrong(results.get(_OWN, {})) else 0)


def _result(parser: Parser, streams: Sequence[Recorded], console: Console) -> dict[str, Any]:
    """What a parser got right, by protocol, with the streams of which it got something wrong."""
    console.rule(f"{parser.name} {parser.version}")
    said: dict[str, Any] = {"version": parser.version, "date": datetime.now(UTC).date().isoformat(), "wires": {}}
    try:
        if parser.environment is not None:
            parser.environment.install()
    except NotInstalledError as error:
        console.print(f"left out: {error}", style="yellow", markup=False)
        return {**said, "skipped": str(error)}
    for protocol, what in parser.wires.items():
        own = [stream for stream in streams if stream.wire.protocol == protocol]
        said["wires"][protocol] = {"read_by": what, **_of_wire(parser, own, parser.unread[protocol])}
        console.print(f"  {protocol:20} {_line(said['wires'][protocol])}", markup=False)
    return said


def _of_wire(parser: Parser, streams: Sequence[Recorded], unread: tuple[str, ...]) -> dict[str, Any]:
    right: Counter[str] = Counter()
    of: Counter[str] = Counter()
    wrong: dict[str, list[str]] = {}
    failures: dict[str, str] = {}
    with serving(streams) as base:
        for stream, told in zip(streams, _told(parser, streams, base), strict=True):
            found = judged(stream, told, unread)
            of.update(found.keys())
            right.update(aspect for aspect, is_right in found.items() if is_right)
            if missed := [aspect for aspect, is_right in found.items() if not is_right]:
                wrong[stream.name] = missed
                if told["failed"] is not None:
                    failures[stream.name] = _first_line(told["failed"].replace(base, "http://127.0.0.1"))
    aspects = {aspect: [right[aspect], of[aspect]] for aspect in ASPECTS if aspect in of}
    whole = [len(streams) - len(wrong), len(streams)]
    return {"streams": whole, "aspects": aspects, "wrong": wrong, "failures": failures}


def _told(parser: Parser, streams: Sequence[Recorded], base: str) -> Iterable[dict[str, Any]]:
    """What the worker of a parser tells of each stream, in their order."""
    orders = [
        {
            "wire": stream.wire.protocol,
            "name": stream.name,
            "url": f"{base}/{stream.wire.folder}/{stream.name}{stream.wire.base}",
        }
        for stream in streams
    ]
    said = subprocess.run(
        parser.command(),
        input="".join(json.dumps(order) + "\n" for order in orders),
        capture_output=True,
        text=True,
        timeout=_LONGEST,
        check=False,
    )
    lines = [json.loads(line) for line in said.stdout.splitlines()]
    if [line["name"] for line in lines] != [stream.name for stream in streams]:
        last = [*said.stderr.strip().splitlines(), "it gave no output"][0 if not said.stderr.strip() else -1]
        raise click.ClickException(f"{parser.name}: its worker told of {len(lines)} of {len(streams)} streams: {last}")
    return lines


def _first_line(failed: str) -> str:
    """What an error says, without the stack that some packages put into it."""
    return failed.splitlines()[0][:_SHOWN_FAILURES]


def _line(wire: dict[str, Any]) -> str:
    right, of = wire["streams"]
    aspects = "  ".join(f"{name} {one[0]}/{one[1]}" for name, one in wire["aspects"].items())
    return f"{right}/{of} whole   {aspects}"


def _wrong(result: dict[str, Any]) -> list[str]:
    return [name for wire in result.get("wires", {}).values() for name in wire["wrong"]]


if __name__ == "__main__":
    main()
