"""Writes the page on servers: where each is and what it speaks, from the tables, and what was tried, from a run."""

from __future__ import annotations
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tried_table import row, tried_table

from partstream.protocols.chat_completions.models import SERVER_QUIRKS, Quirks, ReasoningBack
from partstream.protocols.protocol import PROTOCOLS, spoken_at
from partstream.settings.known_servers import KNOWN_SERVERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from partstream.protocols.protocol import ServerProtocol

__all__ = ["servers_page", "tried_servers_page"]

_INTEROP: Final = Path(__file__).resolve().parent.parent / "interop"
_RESULTS: Final = _INTEROP / "servers" / "results.json"
_REAL: Final = _INTEROP / "real" / "results.json"

CHAT: Final = "chat-completions"

_COLUMNS: Final = ("server", "address", "works", "known issue", "protocol")
_SOURCE_COLUMNS: Final = ("server", "address", "protocol", "since", "thinking goes back", "tried", "known from")
_ALL: Final = ("text", "thinking", "tools", "images", "files", "usage")
"""What can work, in the order in which the cells say what does not."""
_SINCE: Final = {CHAT: "0.8.0", "openresponses": "0.1.0", "ai-gateway": "0.4.0", "gemini-interactions": "0.16.0"} | (
    dict.fromkeys(("anthropic-messages", "gemini", "ollama"), "0.9.0")
)
"""The version of Partstream that asks servers in a protocol first, see CHANGELOG.md."""
_WITHOUT_THINKING: Final = frozenset({"openai", "azure", "anthropic", "gemini"})
"""Servers whose Chat Completions tell nothing of what a model thinks: their own protocols do."""
_REFUSES_THINKING: Final = frozenset({("openresponses", "vllm")})
"""Where another protocol has a place for it, and the server refuses it."""
_BACK: Final = {ReasoningBack.RECEIVED: "as it came", ReasoningBack.OFF: "–"}
_NOTES: Final = re.compile(
    r"facts [a-z-]+\.md,?( and)?( ?\d[\d., ]*)?|(; )?facts [a-z-]+\.md[\d., ]*|(?<!wires/)ollama\.md"
)
"""A source's remark on its place in notes that are no part of the project."""
_PAGES: Final = re.compile(r"docs/(wires/([a-z-]+)\.md(?:#[a-z0-9-]+)?)(?: and #[a-z0-9-]+)*")
"""A page of the docs that a source cites, with headings."""

_TRIED_AS: Final = {"litellm": "LiteLLM proxy"}
"""By the name of a known server, what the results of the run call it."""

_HEAD: Final = """\
# Servers

<!-- Made by tools/generate.py of the tables of known servers and of interop/real/results.json. -->

A URL and a key are enough for any server that speaks one of these protocols. This page lists the servers that
Partstream knows by name; `partstream add` and **Partstream: Add Models…** offer them. Pages for one server each:
[Ollama](ollama.md), [LM Studio](lm-studio.md), [vLLM](vllm.md), [llama.cpp](llama-cpp.md).
"""

_TABLE_HEAD: Final = """\
## Server by server

If a server speaks several protocols, the better one comes first, and is used unless you set `protocol`. *Works* is what
Partstream can send to the server and read from it: text, thinking, tools, images, files and usage. Whether a model can
do it depends on the model. Most rows rest on recorded answers or on the vendor's documents, not on the live service:
[how each is known](maintainers/servers.md).
"""

_REAL_HEAD: Final = """\
## Run here with a real model

`make real` builds llama.cpp's server of published sources, and asks SmolLM2-135M-Instruct through it. The
other rows are servers and gateways of package registries with the same model, which `make interop TRY=gateways`
installs and asks. What works was seen in that run.
"""

_TRIED_PAGE: Final = """\
# How servers are known

<!-- Made by tools/generate.py of the tables of known servers and of interop/servers/results.json. -->

[Servers](../servers.md) says what works with each. This page says how that is known.
"""

_SOURCES_HEAD: Final = """\
## How it is known

A field in the column *thinking goes back* is the one in which later requests carry what a model has thought, *as it
came* names the field in which it was received, and – for servers that have no place for it. *Since* is the version
of Partstream. *Tried* says how we know: by a server that was started here, by recorded answers of the server, or only
by reading what the last column names.
"""

_TRIED_HEAD: Final = """\
## Tried here

`make interop TRY=servers` starts servers of other projects on this machine, and asks each of them the same
things: first with nothing but its address, then with its protocol named. ✓ is what worked. A number is a fault of that
server, which is below the table. – is what cannot be tried there. *In between* puts our own model server upstream of a
proxy: what it says directly and through the proxy has to be the same.
"""


def servers_page() -> str:
    """The page for users."""
    real = json.loads(_REAL.read_text(encoding="utf-8"))
    return "\n".join((_HEAD, _TABLE_HEAD, *_servers(), "", _REAL_HEAD, *_real_servers(real))).rstrip() + "\n"


def tried_servers_page() -> str:
    """The page that says of each server how it is known."""
    results, real = (json.loads(path.read_text(encoding="utf-8")) for path in (_RESULTS, _REAL))
    tried = (_TRIED_PAGE, _TRIED_HEAD, *tried_table("server", results))
    return "\n".join((*tried, _SOURCES_HEAD, *_sources(results, real), ""))


def _table(columns: tuple[str, ...], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    yield row(columns)
    yield row(("---",) * len(columns))
    yield from map(row, rows)


def _servers() -> Iterator[str]:
    return _table(
        _COLUMNS,
        (
            (name, address, _works(protocol, server, spoken.reason), spoken.reason or "–", title)
            for server, name, address, protocol, title, spoken in _spoken()
        ),
    )


def _sources(results: Mapping[str, Any], real: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    run = {one["name"].lower(): one for one in real}
    return _table(
        _SOURCE_COLUMNS,
        (
            (
                name,
                address,
                title,
                _SINCE[protocol],
                _back(protocol, server),
                _how_tried(protocol, spoken, results.get(_TRIED_AS.get(server, ""), {}), run.get(server, {})),
                _source(spoken),
            )
            for server, name, address, protocol, title, spoken in _spoken()
        ),
    )


def _spoken() -> Iterator[tuple[str, str, str, str, str, ServerProtocol]]:
    """Each server and protocol: the server, how a row names it, its address, the protocol, its title, what is known."""
    for server in KNOWN_SERVERS:
        for number, (protocol, spoken) in enumerate(spoken_at(server.name)):
            name = "" if number else f"**{server.title}**"
            yield server.name, name, f"`{spoken.base_url}`", protocol, PROTOCOLS[protocol].shown_title, spoken


def _real_servers(real: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The table of servers that were run with a model, and what was tried at each."""
    columns = ("server", "address", "works", "known issue", "version and date")
    yield from _table(
        columns,
        (
            (
                f"**{one['name']}**",
                f"`{one['address']}`",
                _but(_missing(one["tried"], one["works"])),
                "; ".join(one["known_issues"]) or "–",
                f"{one['version']}, {one['date']}",
            )
            for one in real
        ),
    )
    yield ""
    yield from (f"- {one['name']}: tried were {', '.join(one['tried'])}." for one in real)


def _missing(tried: Sequence[str], works: Sequence[str]) -> list[str]:
    """What does not work; a wire over which nothing does, by its name alone."""
    dead = {name: name.partition(" (")[2].removesuffix(")") for name in tried if name not in works}
    alive = {name.partition(" (")[2].removesuffix(")") for name in works}
    return [*dict.fromkeys(name if wire in alive or not wire else wire for name, wire in dead.items())]


def _but(missing: Sequence[str]) -> str:
    return f"all but {', '.join(missing)}" if missing else "all"


def _works(protocol: str, server: str, issue: str) -> str:
    """What works, by what does not."""
    not_there = {name for name in _ALL if f"{name} do not get through" in issue}
    if protocol == CHAT:
        forms = SERVER_QUIRKS.get(server, Quirks()).attachments
        told = {"thinking": server in _WITHOUT_THINKING, "images": forms.image is None, "files": forms.file is None}
        not_there |= {name for name, is_missing in told.items() if is_missing}
    return _but([name for name in _ALL if name in not_there])


def _back(protocol: str, server: str) -> str:
    """The field in which thinking goes back."""
    if protocol != CHAT:
        return "–" if (protocol, server) in _REFUSES_THINKING else "✓"
    if server in _WITHOUT_THINKING:
        return "–"
    quirks = SERVER_QUIRKS.get(server, Quirks())
    if quirks.filled_reasoning:
        return f"`{quirks.filled_reasoning}`, always beside calls"
    return _BACK.get(quirks.reasoning_back, f"`{quirks.reasoning_back.value}`")


_WIRE_OF_A_TRIAL: Final = {CHAT: "Chat Completions", "openresponses": "Responses", "anthropic-messages": "Messages"}


def _how_tried(protocol: str, spoken: ServerProtocol, result: Mapping[str, Any], real: Mapping[str, Any]) -> str:
    """By a server that was run with a real model, by one that was started, or by recorded answers."""
    if {protocol, f"chat ({_WIRE_OF_A_TRIAL.get(protocol)})"} & set(real.get("works", ())):
        return f"{real['version']}, {real['date']}"
    if protocol in result.get("seen", {}):
        return f"{result['package']}, {result['date']}"
    return "recorded answers" if "recording" in spoken.source else "–"


def _source(spoken: ServerProtocol) -> str:
    """The source of a row, with links to pages of the docs and without places in other notes."""
    source = re.sub(r"\(((?:[^()]|\([^()]*\))*)\)", r"\1", _NOTES.sub("", spoken.source))
    source = _PAGES.sub(r"[\2](../\1)", source)
    named = [one.strip(" ,;") for one in source.split(";") if "recording" not in one]
    others = "its recorded answers" if "recording" in spoken.source else "what users of it report"
    return "; ".join(filter(None, named)) or others
