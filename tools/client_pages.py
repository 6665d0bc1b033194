"""Writes the pages on coding agents and on SDKs: for each client its commands, its settings, and what was seen."""

from __future__ import annotations
import json
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tried_table import row

from partstream.cli.client_settings import CLIENTS, Server, TokenPlace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from partstream.cli.client_settings import Client, Settings

__all__ = ["agents_section", "client_pages"]

_ROOT: Final = Path(__file__).resolve().parent.parent
_RESULTS: Final = _ROOT / "interop" / "clients" / "agents" / "results.json"

_SERVER: Final = Server(
    "http://127.0.0.1:8642",
    "my-model",
    TokenPlace("PARTSTREAM_SERVE_TOKEN", Path("/home/you/.local/share/partstream/serve-token")),
    128_000,
    16_384,
)
_LANGUAGES: Final = {".toml": "toml", ".json": "json", ".yml": "yaml", ".yaml": "yaml"}

_GENERATED: Final = "<!-- Made by tools/generate.py of the table in partstream/cli/clients.toml. -->"
_AGENTS_PAGE: Final = f"""\
# Coding agents and other programs

{_GENERATED}

These programs use any model of Partstream: one that you wrote, or one of a server. `partstream serve` serves it, and
`partstream connect` writes or prints what the program needs. Instead of `my_model.py`, `partstream serve --profile
NAME` serves [a server that you added](command-line.md#adding-a-server).

`--write` changes the program's own file and keeps the rest of it, `--undo` restores it; without either, the settings
are printed. The token is never written: it stays in the server's file, or in `PARTSTREAM_SERVE_TOKEN` if that is set.
[Every test and its result](maintainers/clients.md#coding-agents), [SDKs](sdks.md).
"""
_SDKS_PAGE: Final = f"""\
# SDKs

{_GENERATED}

The official packages ask `partstream serve` as they ask their vendor: they need an address, a token, and the name of
a model. Start the server once:

```sh
partstream serve my_model.py
```

`partstream connect NAME` prints what is below, with your server's address and model; `--wire` chooses another protocol.
Each program was run as printed. [What the packages do with streams, tools and errors](maintainers/clients.md),
[coding agents](coding-agents.md).
"""
_TRIALS: Final = {
    "two rounds of a tool": "tools",
    "cancelled": "cancelling",
    "error": "errors",
    "spent budget": "a spent budget",
}
"""What a page for users calls a trial, where its own name says too little."""

_AGENTS_HEAD: Final = """\
## Coding agents

`make interop TRY=agents` installs these at pinned versions and runs each, without a person, in a fresh home and, where
the system has network namespaces, with no network but loopback. `partstream connect` tells it what it needs, and
`partstream serve` answers with a scripted model, which writes down what it saw. In the two rounds of a tool, the agent
reads two files, one after the other, in its own loop; what is in them has to come back in the answer. An agent that is
interrupted has to cancel the provider. An error has to be shown; after a spent budget, it may not ask again.

✓ is what was shown and seen. A number is what an agent is known to show otherwise.
"""

_WORKERS_HEAD: Final = """\
### Agents at work

The same agents with their default models' requests, at vendors on loopback that refuse what the real ones refuse: a
field or a type of tool that the official package does not have, a missing header, a call without its result, a
signature or an encrypted text that they did not give, a choice of a tool that is not there, too large limits.
`partstream serve` has the vendor as its upstream. The agent edits a file with its own tool; finds a tool of an MCP
server among those that it holds back, and calls it; goes on after a summary of its conversation; has the vendor search
the web. Each job is run without Partstream first, where the vendor speaks the wire of the agent. ✓: the vendor refused
nothing, got the same tools in the same form as without Partstream, what the tool gave, and thinking under its
signature; the file and the last words are as they should be. –: the agent has nothing of the kind.
"""


def client_pages() -> dict[str, Callable[[], str]]:
    """The pages by their names, each with what gives it."""
    agents = tuple(client for client in CLIENTS.values() if client.run)
    sdks = tuple(client for client in CLIENTS.values() if not client.run)
    return {
        "docs/coding-agents.md": partial(_page, _AGENTS_PAGE, agents),
        "docs/sdks.md": partial(_page, _SDKS_PAGE, sdks),
    }


def agents_section() -> list[str]:
    """The lines on the coding agents for the page on all clients."""
    from interop.clients.agents.table import AGENTS, LEFT_OUT  # noqa: PLC0415 - the page on the others does without it

    faults: list[str] = []
    results = {agent.name: _results()[agent.name] for agent in AGENTS}
    trials = list(dict.fromkeys(t for result in results.values() for seen in result["seen"].values() for t in seen))
    lines = [_AGENTS_HEAD, row(("agent", "over", *trials)), row(("---",) * (len(trials) + 2))]
    for name, result in results.items():
        link = _link(CLIENTS[name])
        for way, seen in result["seen"].items():
            lines.append(row((link, way, *(_mark(CLIENTS[name].title, seen[trial], faults) for trial in trials))))
    lines += ["", *(f"{number}. {fault}" for number, fault in enumerate(faults, 1)), ""]
    lines += [f"- {CLIENTS[name].title}: {result['package']}, {result['date']}" for name, result in results.items()]
    lines += ["", "Not run here:", ""]
    return [*lines, *(f"- {name}: {why}" for name, why in LEFT_OUT.items()), "", *_workers_section()]


def _workers_section() -> list[str]:
    """The lines on agents at vendors that refuse."""
    from interop.clients.agents.workers import WORKERS  # noqa: PLC0415 - as above

    faults: list[str] = []
    rows = [(worker.agent, way, seen) for worker in WORKERS for way, seen in _results()[worker.name]["seen"].items()]
    jobs = list(dict.fromkeys(job for _, _, seen in rows for job in seen))
    lines = [_WORKERS_HEAD, row(("agent", "over", *jobs)), row(("---",) * (len(jobs) + 2))]
    for agent, way, seen in rows:
        marks = (_mark(CLIENTS[agent].title, seen[job], faults) if job in seen else "–" for job in jobs)
        lines.append(row((_link(CLIENTS[agent]), way, *marks)))
    numbered = [f"{number}. {fault}" for number, fault in enumerate(faults, 1)]
    dates = [f"{CLIENTS[one.agent].title} {_results()[one.name]['date']}" for one in WORKERS]
    return [*lines, "", *numbered, *([""] if numbered else []), f"Run: {', '.join(dates)}.", ""]


def _results() -> dict[str, Any]:
    results: dict[str, Any] = json.loads(_RESULTS.read_text(encoding="utf-8"))
    return results


def _mark(title: str, seen: Mapping[str, str], faults: list[str]) -> str:
    if seen["verdict"] != "fault":
        return "✓" if seen["verdict"] == "works" else "✗"
    fault = f"{title}: {seen['says']}"
    if fault not in faults:
        faults.append(fault)
    return str(faults.index(fault) + 1)


def _link(client: Client) -> str:
    return f"**[{client.title}](../coding-agents.md#{client.title.lower().replace(' ', '-')})**"


def _page(head: str, clients: tuple[Client, ...]) -> str:
    return "\n".join((head, *(line for client in clients for line in _section(client)))).rstrip() + "\n"


def _section(client: Client) -> Iterator[str]:
    settings = client.settings(_SERVER, client.wires[0])
    first, *others = (f"`{wire}`" for wire in client.wires)
    spoken = first if not others else f"{first}; with `--wire` also {' or '.join(others)}"
    yield f"## {client.title}"
    yield ""
    yield f"{client.package}. Protocol: {spoken}. {_seen(client)}"
    yield ""
    if client.run:
        yield from _commands(client, settings)
    yield from _settings_of(settings)
    if client.notes:
        yield from (f"- {note}" for note in client.notes)
        yield ""


def _commands(client: Client, settings: Settings) -> Iterator[str]:
    yield "```sh"
    yield "partstream serve my_model.py"
    yield f"partstream connect {client.name}{' --write' if settings.files else ''}"
    yield shlex.join(word.format(model=_SERVER.model) for word in client.run)
    yield "```"
    yield ""


def _settings_of(settings: Settings) -> Iterator[str]:
    for one in settings.files:
        path = f"~/{'/'.join(part for part in (one.file.folder, one.file.names[0]) if part)}"
        variable = f", or in the folder of `{one.file.variable}`" if one.file.variable else ""
        yield f"Written to `{path}`{variable}:"
        yield ""
        yield from _block(_LANGUAGES[Path(path).suffix], one.shown())
    if settings.environment and not (settings.files and settings.is_environment_enough):
        yield "In the shell:"
        yield ""
        yield from _block("sh", "\n".join(settings.exports()))
    if settings.program is not None:
        yield "In a program:"
        yield ""
        yield "<!-- run by: interop/clients/agents/printed.py -->"
        yield from _block(settings.program.language, settings.program.text)


def _block(language: str, text: str) -> Iterator[str]:
    if language == "toml":  # the file of the client, which the tests of Partstream's own file cannot read
        yield "<!-- run by: packages/partstream/tests/client_settings/test_written.py -->"
    yield from (f"```{language}", text.rstrip("\n"), "```", "")


def _seen(client: Client) -> str:
    """One sentence: the version that was tested, and what went otherwise than it should."""
    result = _results().get(client.name)
    if result is None:
        return "Not tested."
    tried = [
        (_TRIALS.get(trial, trial), way, one) for way, seen in result["seen"].items() for trial, one in seen.items()
    ]
    faults: dict[str, list[str]] = {}
    for trial, way, one in tried:
        if one["verdict"] != "works":
            faults.setdefault(f"{trial}: {one['says']}", []).append(way)
    said = f"Tested with {result['package']} on {result['date']}"
    if not client.run:
        return f"{said}."
    trials = list(dict.fromkeys(trial for trial, _, _ in tried))
    ways = len(result["seen"])
    known = (fault if len(on) == ways else f"{fault} ({', '.join(on)})" for fault, on in faults.items())
    works = f"{said}: {', '.join(trials[:-1])} and {trials[-1]} work"
    return f"{works}, except for {'; '.join(known)}." if faults else f"{works}."
