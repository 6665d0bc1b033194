"""Writes the page on servers: where each is and what it speaks, from the tables, and what was tried, from a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.known_servers import KNOWN_SERVERS
from partstream.protocols.registry import PROTOCOLS, spoken_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from partstream.protocols.known_servers import KnownServer
    from partstream.protocols.protocol import SpokenAt

__all__ = ["servers_page"]

_RESULTS: Final = Path(__file__).resolve().parent.parent / "servers" / "results.json"

_TRIED_AS: Final = {"litellm": "LiteLLM proxy"}
"""By the name of a known server, what the results of the run call it."""

_HEAD: Final = """\
# Servers

<!-- Made by scripts/generate.py of the tables of known servers and of servers/results.json (`make servers`). -->

An address and a key are enough for any server that speaks one of these protocols; this page is about those that are
known by name. `partstream add` and the extension's *Add Models* offer them.
"""

_TABLE_HEAD: Final = """\
## Server by server

Where several protocols are spoken, the better one stands first and is the one that is found by itself.
"""

_TRIED_HEAD: Final = """\
## Tried here

`make servers` starts servers that nobody here wrote, on this machine, and asks each of them the same things: first with
nothing but its address, then with its protocol named. ✓ is what worked. A number is a fault of that server, which
stands below the table. – is what cannot be tried there.
"""


def servers_page() -> str:
    """The whole page."""
    results = json.loads(_RESULTS.read_text(encoding="utf-8"))
    return "\n".join((_HEAD, _TABLE_HEAD, *_servers(results), "", _TRIED_HEAD, *_tried(results)))


def _servers(results: Mapping[str, Any]) -> Iterator[str]:
    yield "| server | base URL | protocol | what does not get through | source |"
    yield "|---|---|---|---|---|"
    for server in KNOWN_SERVERS:
        for number, (protocol, spoken) in enumerate(spoken_at(server.name)):
            yield _row(_server(server, protocol, spoken, results, is_first=not number))


def _server(
    server: KnownServer, protocol: str, spoken: SpokenAt, results: Mapping[str, Any], *, is_first: bool
) -> tuple[str, ...]:
    result = results.get(_TRIED_AS.get(server.name, ""), {})
    tried = f"; {result['package']}, tried here" if protocol in result.get("seen", {}) else ""
    return (
        f"**{server.title}**" if is_first else "",
        f"`{spoken.base_url}`",
        PROTOCOLS[protocol].title,
        spoken.reason or "–",
        spoken.source + tried,
    )


def _tried(results: Mapping[str, Any]) -> Iterator[str]:
    columns = [(name, protocol) for name, result in results.items() for protocol in result["seen"]]
    trials = list(dict.fromkeys(trial for name, protocol in columns for trial in results[name]["seen"][protocol]))
    faults: list[tuple[str, str]] = []
    yield _row(("server", "asked with", *trials))
    yield _row(("---",) * (len(trials) + 2))
    for name, protocol in columns:
        seen = results[name]["seen"][protocol]
        yield _row((f"**{name}**", protocol, *(_mark(name, seen[trial], faults) for trial in trials)))
    yield ""
    yield from (f"{number}. {name}: {fault}" for number, (name, fault) in enumerate(faults, 1))
    yield ""
    yield from (
        f"- {name}: {result['package']}, {result['date']}{_left_out(result)}" for name, result in results.items()
    )
    yield ""


def _mark(name: str, seen: Mapping[str, str], faults: list[tuple[str, str]]) -> str:
    match seen["verdict"]:
        case "works":
            return "✓"
        case "fault":
            fault = (name, seen["says"])
            if fault not in faults:
                faults.append(fault)
            return str(faults.index(fault) + 1)
        case "not tried":
            return "–"
        case _:
            return "✗"


def _left_out(result: Mapping[str, str]) -> str:
    return f", left out: {result['left_out']}" if result["left_out"] else ""


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
