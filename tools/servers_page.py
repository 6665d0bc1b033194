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
    from collections.abc import Iterator, Mapping

    from partstream.protocols.protocol import ServerProtocol

__all__ = ["servers_page"]

_RESULTS: Final = Path(__file__).resolve().parent.parent / "interop" / "servers" / "results.json"

CHAT: Final = "chat-completions"

_COLUMNS: Final = (
    "server",
    "base URL",
    "protocol",
    "since",
    "text",
    "thinking",
    "tools",
    "images",
    "files",
    "usage",
    "thinking goes back",
    "what does not get through",
    "tried",
    "known from",
)
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
"""What a source says of its place in notes that are no part of the project."""
_PAGES: Final = re.compile(r"docs/(wires/([a-z-]+)\.md(?:#[a-z0-9-]+)?)(?: and #[a-z0-9-]+)*")
"""A page of the docs that a source cites, with headings."""

_TRIED_AS: Final = {"litellm": "LiteLLM proxy"}
"""By the name of a known server, what the results of the run call it."""

_HEAD: Final = """\
# Servers

<!-- Made by tools/generate.py of the tables of known servers and of interop/servers/results.json. -->

An address and a key are enough for any server that speaks one of these protocols; this page is about those that are
known by name. `partstream add` and the extension's *Add Models* offer them.
"""

_TABLE_HEAD: Final = """\
## Server by server

Where several protocols are spoken, the better one stands first; it is used unless somebody sets `protocol`. ✓ says
that Partstream writes and reads this in the form that the server takes; whether a model can do it is up to the model.
A field in the column *thinking goes back* is the one in which later requests carry what a model has thought, *as it
came* stands for the field in which it was received, and – for servers that have no place for it. *Tried* says how we
know: by a server that was started here (see below), by recorded answers of the server, or only by reading what the
last column names.
"""

_TRIED_HEAD: Final = """\
## Tried here

`make interop TRY=servers` starts servers that nobody here wrote, on this machine, and asks each of them the same
things: first with nothing but its address, then with its protocol named. ✓ is what worked. A number is a fault of that
server, which stands below the table. – is what cannot be tried there. *In between* puts our own model server behind a
proxy: what it says directly and through the proxy has to be the same.
"""


def servers_page() -> str:
    """The whole page."""
    results = json.loads(_RESULTS.read_text(encoding="utf-8"))
    return "\n".join((_HEAD, _TABLE_HEAD, *_servers(results), "", _TRIED_HEAD, *tried_table("server", results)))


def _servers(results: Mapping[str, Any]) -> Iterator[str]:
    yield row(_COLUMNS)
    yield row(("---",) * len(_COLUMNS))
    for server in KNOWN_SERVERS:
        for number, (protocol, spoken) in enumerate(spoken_at(server.name)):
            name = "" if number else f"**{server.title}**"
            tried = _how_tried(protocol, spoken, results.get(_TRIED_AS.get(server.name, ""), {}))
            what = f"`{spoken.base_url}`", PROTOCOLS[protocol].shown_title, _SINCE[protocol]
            works = _works(protocol, server.name)
            yield row((name, *what, *works, spoken.reason or "–", tried, _source(spoken)))


def _works(protocol: str, server: str) -> tuple[str, ...]:
    """The cells on text, thinking, tools, images, files, usage, and on thinking that goes back."""
    if protocol != CHAT:
        return *("✓",) * 6, "–" if (protocol, server) in _REFUSES_THINKING else "✓"
    quirks = SERVER_QUIRKS.get(server, Quirks())
    back = _BACK.get(quirks.reasoning_back, f"`{quirks.reasoning_back.value}`")
    if quirks.filled_reasoning:
        back = f"`{quirks.filled_reasoning}`, always beside calls"
    forms = quirks.attachments
    thinking = "–" if server in _WITHOUT_THINKING else "✓"
    return "✓", thinking, "✓", _mark_of(forms.image), _mark_of(forms.file), "✓", back if thinking == "✓" else "–"


def _mark_of(form: object) -> str:
    return "–" if form is None else "✓"


def _how_tried(protocol: str, spoken: ServerProtocol, result: Mapping[str, Any]) -> str:
    if protocol in result.get("seen", {}):
        return f"{result['package']}, {result['date']}"
    return "recorded answers" if "recording" in spoken.source else "–"


def _source(spoken: ServerProtocol) -> str:
    """The source of a row, with links to pages of the docs and without places in other notes."""
    source = re.sub(r"\(((?:[^()]|\([^()]*\))*)\)", r"\1", _NOTES.sub("", spoken.source))
    source = _PAGES.sub(r"[\2](\1)", source)
    named = [one.strip(" ,;") for one in source.split(";") if "recording" not in one]
    others = "its recorded answers" if "recording" in spoken.source else "what users of it report"
    return "; ".join(filter(None, named)) or others
