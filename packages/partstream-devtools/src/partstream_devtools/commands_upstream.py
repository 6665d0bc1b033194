"""`partstream upstream`: runs the replay upstream until a signal stops it, and prints one line for each request.

With `--replay` it serves recorded exchanges, or one recorded stream, and only in the protocols that understand it, so
that no client asks for it in another.
"""

from __future__ import annotations
import asyncio
import json
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.markup import escape

from partstream.cli.console import make_console
from partstream.cli.options import check_variable
from partstream.codec.text import visible
from partstream.errors import CallerError
from partstream.lm.outputs import StreamOptions
from partstream.protocols.protocol import DEFAULT_PROTOCOL
from partstream.server.listening import stopped_by_signals
from partstream_devtools.recorded_stream import RecordingError
from partstream_devtools.recordings import PACE, Recording, UnreadableRecordingError, notice, open_recordings
from partstream_devtools.testing.admission import BASE_PATHS
from partstream_devtools.testing.faults import FAULTS
from partstream_devtools.testing.replaying import Outcome, ServedExchange
from partstream_devtools.testing.scripted_model import SCENARIOS
from partstream_devtools.testing.upstream import ReplayUpstream

_STYLES = {Outcome.WHOLE: "green", Outcome.CUT: "yellow", Outcome.CLIENT_CLOSED: "cyan", Outcome.STOPPED: "dim"}

_HELP = f"""Serve scenarios and recordings as a model server on loopback.

Listens on 127.0.0.1 only. A request chooses its answer by `scenario:NAME[=VALUE]`, `fault:NAME[=VALUE]` and
`pace:MILLISECONDS` in its last user text, by a scenario's name as its model, or by the headers x-partstream-fault and
x-partstream-pace-ms; the options are for all other requests.

\b
Scenarios: {", ".join(SCENARIOS)}

\b
Faults:
{chr(10).join(f"  {name + fault.value:<42} {fault.description}" for name, fault in FAULTS.items())}
"""


@click.command("upstream", help=_HELP)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port to listen on; 0 takes any free port.",
    show_default=True,
)
@click.option("--scenario", default="text", metavar="NAME[=VALUE]", help="Scenario that answers.", show_default=True)
@click.option(
    "--replay",
    metavar="FILE",
    help="Answer every request with this recording: .partstream.zip (each request gets the next exchange in its "
    "protocol, FILE#2 that one alone), .jsonl (one event per line), .json (an array), .sse or .ndjson (bytes).",
)
@click.option(
    "--pace",
    type=PACE,
    default="real",
    metavar="real|0|N",
    help="How fast to replay exchanges: as fast as they came, at once, or N times as fast.",
    show_default=True,
)
@click.option(
    "--pace-ms",
    type=click.IntRange(0, 60_000),
    default=0,
    help="Milliseconds between two pieces of an answer, in place of the pace.",
    show_default=True,
)
@click.option("--fault", metavar="NAME[=VALUE],...", help="Faults of every answer.")
@click.option("--token-env", metavar="VARIABLE", help="Demand the bearer token in this environment variable.")
@click.option(
    "--protocol",
    "spoken",
    multiple=True,
    type=click.Choice(list(BASE_PATHS)),
    help="Speak only this protocol, as most servers do; repeat for more. Default: all, or that of the recording.",
)
@click.option(
    "--bill-cache",
    "bills_cache",
    is_flag=True,
    help="Bill prompts by the rules of the vendors' caches, where they are known.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.pass_context
def command(
    context: click.Context,
    *,
    port: int,
    scenario: str,
    replay: str | None,
    pace: float,
    pace_ms: int,
    fault: str | None,
    token_env: str | None,
    spoken: tuple[str, ...],
    bills_cache: bool,
    as_json: bool,
) -> None:
    """Makes the upstream from the options and runs it; the help text comes from the tables of scenarios and faults."""
    recordings = _recordings_of(replay)
    if context.get_parameter_source("pace") is ParameterSource.COMMANDLINE:
        _check_pace(recordings, pace)
    exchanges = tuple(one.exchange for one in recordings if one.exchange is not None)
    understood, failure = _protocols_of(recordings)
    spoken = spoken or understood
    try:
        upstream = ReplayUpstream(
            port=port,
            scenario=scenario,
            replay=exchanges or (Path(recordings[0].label) if recordings else None),
            replay_pace=pace,
            pace=pace_ms / 1000,
            fault=fault,
            token=None if token_env is None else check_variable("--token-env", token_env, "a token"),
            protocols=spoken or None,
            bills_cache=bills_cache,
        )
    except CallerError as error:
        raise click.UsageError(str(error)) from error
    if failure is not None:
        raise UnreadableRecordingError(visible(str(failure))) from failure
    try:
        asyncio.run(_run(upstream, spoken, _JsonScreen() if as_json else _TextScreen()))
    except OSError as error:
        raise click.ClickException(f"cannot listen on 127.0.0.1:{port}: {error.strerror or error}") from error


def _recordings_of(replay: str | None) -> tuple[Recording, ...]:
    if replay is None:
        return ()
    if replay == "-":
        raise click.UsageError("--replay: got -, expected a file: requests come later than standard input")
    try:
        opened = open_recordings(replay)
    except RecordingError as error:
        raise UnreadableRecordingError(visible(str(error))) from error
    notice(opened, opened.recordings)
    return opened.recordings


def _check_pace(recordings: tuple[Recording, ...], pace: float) -> None:
    """Refuses a pace that nothing could keep."""
    if not recordings:
        raise click.UsageError(
            "--pace: got no recording, expected --replay FILE with times; --pace-ms is for scenarios"
        )
    timeless = [one.label for one in recordings if not one.has_clock]
    if pace and timeless:
        raise click.UsageError(
            f"--pace: {visible(timeless[0])} says no times, expected a recording with times; --pace-ms sets a pause"
        )


def _protocols_of(recordings: tuple[Recording, ...]) -> tuple[tuple[str, ...], RecordingError | None]:
    """The protocols that understand a recording, so that no client asks for it in another; all without a recording.

    The error is set where no protocol that is served understands any of it.
    """
    if not recordings:
        return tuple(BASE_PATHS), None
    known = [one.protocol for one in recordings if one.exchange is not None]
    if known:
        named = dict.fromkeys(name for name in known if name in BASE_PATHS)
        return tuple(name for name in named if name is not None) or tuple(BASE_PATHS), None
    understood: list[str] = []
    failures: list[RecordingError] = []
    for protocol in BASE_PATHS:
        try:
            next(recordings[0].outputs(protocol, StreamOptions()), None)
        except RecordingError as error:
            failures.append(error)
        else:
            understood.append(protocol)
    return tuple(understood), None if understood else failures[0]


async def _run(upstream: ReplayUpstream, spoken: tuple[str, ...], screen: _JsonScreen | _TextScreen) -> None:
    upstream.on_did_finish_exchange(screen.report)
    is_to_stop = asyncio.Event()
    with stopped_by_signals(is_to_stop.set):
        async with upstream:
            screen.announce({protocol: upstream.base_url_of(protocol) for protocol in spoken})
            await is_to_stop.wait()


class _JsonScreen:
    """One JSON object a line."""

    def announce(self, base_urls: dict[str, str]) -> None:
        base_url = base_urls.get(DEFAULT_PROTOCOL, next(iter(base_urls.values())))
        self._write(type="listening", base_url=base_url, base_urls=base_urls)

    def report(self, exchange: ServedExchange) -> None:
        self._write(type="exchange", **_facts(exchange))

    @staticmethod
    def _write(**fields: Any) -> None:
        click.echo(json.dumps(fields, ensure_ascii=False))


class _TextScreen:
    """Lines for people."""

    def __init__(self) -> None:
        self._console = make_console()

    def announce(self, base_urls: dict[str, str]) -> None:
        served = " and ".join(f"{protocol} on [bold]{base_url}[/bold]" for protocol, base_url in base_urls.items())
        self._console.print(f"Serving {served} (Ctrl-C stops the server)", soft_wrap=True)

    def report(self, exchange: ServedExchange) -> None:
        facts = _facts(exchange)
        what = escape(" ".join([facts["scenario"] or "", *(f"fault:{fault}" for fault in facts["faults"])]).strip())
        self._console.print(
            f"[dim]#{facts['number']}[/dim] {escape(facts['method'])} {escape(facts['path'])} {facts['status'] or '-'}"
            f"{f' [bold]{what}[/bold]' if what else ''} [dim]{facts['events']} events, {facts['milliseconds']} ms[/dim]"
            f" [{_STYLES[Outcome(facts['outcome'])]}]{facts['outcome']}[/]",
            soft_wrap=True,
        )


def _facts(exchange: ServedExchange) -> dict[str, Any]:
    delivery = exchange.delivery
    ended_at = exchange.started_at if delivery.ended_at is None else delivery.ended_at
    return {
        "number": exchange.request.number,
        "method": exchange.request.method,
        "path": exchange.request.path,
        "status": delivery.status,
        "scenario": exchange.choice,
        "faults": [str(fault) for fault in exchange.faults],
        "events": delivery.events_sent,
        "outcome": str(delivery.outcome or Outcome.STOPPED),
        "milliseconds": round((ended_at - exchange.started_at) * 1000),
    }
