"""Writes one page a client: the two commands, what the client is told, and what was seen of it."""

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

__all__ = ["agents_section", "client_pages", "pages_section"]

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

_MORE: Final = (
    "More: [all clients](../clients.md), [the commands](../command-line.md#telling-a-client), "
    "[from VS Code to everywhere](../everywhere.md)."
)

_AGENTS_HEAD: Final = """\
## Coding agents

`make interop TRY=agents` installs these at pinned versions and runs each, without a person, in a fresh home and, where
the system has network namespaces, with no network but loopback. `partstream connect` tells it what it needs, and
`partstream serve` answers with a scripted model, which writes down what it saw. In the two rounds of a tool, the agent
reads two files, one after the other, in its own loop; what is in them has to come back in the answer. An agent that is
interrupted has to cancel the provider. An error has to be shown; after a spent budget, nobody may ask again.

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
    return {f"docs/clients/{name}.md": partial(_page, client) for name, client in CLIENTS.items()}


def pages_section() -> list[str]:
    """The lines that lead from the page on all clients to those on each."""
    links = ", ".join(f"[{client.title}](clients/{name}.md)" for name, client in CLIENTS.items())
    return ["## One page a client", "", f"The two commands, and what `partstream connect` tells it: {links}.", ""]


def agents_section() -> list[str]:
    """The lines on the coding agents for the page on all clients."""
    from interop.clients.agents.table import AGENTS, LEFT_OUT  # noqa: PLC0415 - the page on the others does without it

    faults: list[str] = []
    results = {agent.name: _results()[agent.name] for agent in AGENTS}
    trials = list(dict.fromkeys(t for result in results.values() for seen in result["seen"].values() for t in seen))
    lines = [_AGENTS_HEAD, row(("agent", "over", *trials)), row(("---",) * (len(trials) + 2))]
    for name, result in results.items():
        link = f"**[{CLIENTS[name].title}](clients/{name}.md)**"
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
        lines.append(row((f"**[{CLIENTS[agent].title}](clients/{agent}.md)**", way, *marks)))
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


def _page(client: Client) -> str:
    settings = client.settings(_SERVER, client.wires[0])
    lines = [
        f"# {client.title}",
        "",
        "<!-- Made by tools/generate.py of the table in partstream/cli/clients.toml. -->",
        "",
        f"{client.package}; over {_spoken(client)}.",
        "",
        *_commands(client, settings),
        *_told(client, settings),
        *_seen(client),
        *_notes(client),
        _MORE,
    ]
    return "\n".join(lines) + "\n"


def _spoken(client: Client) -> str:
    first, *others = (f"`{wire}`" for wire in client.wires)
    return first if not others else f"{first}, or with `--wire` over {' or '.join(others)}"


def _commands(client: Client, settings: Settings) -> Iterator[str]:
    """The two commands, and what takes them back."""
    yield "```sh"
    yield "partstream serve my_model.py"
    yield f"partstream connect {client.name}{' --write' if settings.files else ''}"
    if client.run:
        yield shlex.join(word.format(model=_SERVER.model) for word in client.run)
    yield "```"
    yield ""
    if settings.files:
        yield f"`partstream connect {client.name} --undo` takes the settings back; without `--write` they are printed."
    else:
        yield "The second prints what follows; nothing is written."
    yield ""


def _told(client: Client, settings: Settings) -> Iterator[str]:
    yield "## What it is told"
    yield ""
    for one in settings.files:
        path = f"~/{'/'.join(part for part in (one.file.folder, one.file.names[0]) if part)}"
        yield f"In `{path}`{f' (or where `{one.file.variable}` says)' if one.file.variable else ''}:"
        yield ""
        yield from _block(_LANGUAGES[Path(path).suffix], one.shown())
    if settings.environment:
        instead = " instead, for one shell" if settings.files and settings.is_environment_enough else ""
        yield f"In the shell{instead}:"
        yield ""
        yield from _block("sh", "\n".join(settings.exports()))
    if settings.program is not None:
        yield "In a program:"
        yield ""
        yield "<!-- run by: interop/clients/agents/printed.py -->"
        yield from _block(settings.program.language, settings.program.text)
    variable = _SERVER.token.variable
    yield f"The token is not among it: it stays in the file of the server, or in `{variable}` where that is set."
    yield ""


def _block(language: str, text: str) -> Iterator[str]:
    if language == "toml":  # the file of the client, which the tests of Partstream's own file cannot read
        yield "<!-- run by: packages/partstream/tests/client_settings/test_written.py -->"
    yield from (f"```{language}", text.rstrip("\n"), "```", "")


def _seen(client: Client) -> Iterator[str]:
    result = _results().get(client.name)
    if result is None:
        return
    yield "## What was seen"
    yield ""
    yield f"{result['package']}, {result['date']}, run by `make interop TRY=agents`:"
    yield ""
    yield from _trials(result)
    at_work = _results().get(f"{client.name} at work")
    if at_work is not None:
        yield f"At vendors that refuse ([how](../clients.md#agents-at-work)), {at_work['date']}:"
        yield ""
        yield from _trials(at_work)


def _trials(result: Mapping[str, Any]) -> Iterator[str]:
    trials = list(dict.fromkeys(trial for seen in result["seen"].values() for trial in seen))
    yield row(("", *result["seen"]))
    yield row(("---",) * (len(result["seen"]) + 1))
    for trial in trials:
        yield row((trial, *(_verdict(seen[trial]) if trial in seen else "–" for seen in result["seen"].values())))
    yield ""


def _verdict(seen: Mapping[str, str]) -> str:
    marks = {"works": "✓", "fault": "not"}
    return f"{marks.get(seen['verdict'], '✗')}: {seen['says']}"


def _notes(client: Client) -> Iterator[str]:
    if client.notes:
        yield "## Good to know"
        yield ""
        yield from (f"- {note}" for note in client.notes)
        yield ""
