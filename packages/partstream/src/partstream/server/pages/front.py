"""The page at the address of a server: its wires, its models, and how a client is set up.

Programs probe this address too: clients of one wire look for the words that its servers say there
(:attr:`partstream.protocols.protocol.Protocol.greeting`). A request that does not ask for HTML gets these words.

The page needs no key, because a browser has no place for one: without a key it names no model. It repeats nothing of
the request; the address that it shows comes from the browser.
"""

from __future__ import annotations
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from partstream.server.pages.document import FRAMED, HEADERS, HTML, PACKAGE, Hashes, document, resource, text
from partstream.server.requests import RequestFailedError
from partstream.server.settings import OwnerReply

if TYPE_CHECKING:
    from partstream.server.clients import Caller
    from partstream.server.handler import ServerState
    from partstream.server.requests import RequestHead
    from partstream.server.settings import OwnerHandler

FRONT: Final = "/"
SHOWN_CLIENTS: Final = ("codex", "claude", "opencode", "copilot-cli", "qwen-code")
_MOST_MODELS: Final = 100
_TITLE: Final = "Partstream is running"
_ROOT: Final = "<span data-root></span>"
_HEADERS: Final = (*HEADERS, FRAMED, ("vary", "accept"))


def front_page(state: ServerState) -> OwnerHandler:
    """Answers with the page, or with the words that programs look for; for everybody."""
    greeting = next(filter(None, (one.greeting for one in state.protocols.values())), _TITLE).encode()

    async def show(request: RequestHead, _body: bytes, _nobody: Caller) -> OwnerReply:
        if "text/html" not in request.headers.get("accept", ""):
            return OwnerReply(greeting, "text/plain; charset=utf-8", headers=_HEADERS)
        try:
            models = tuple(await state.models_for(state.authenticated(request.headers)))
        except RequestFailedError:  # a stranger, who reads the page all the same
            models = None
        shown = ((state.protocols[name].shown_title, path) for name, path in state.base_paths.items())
        pages = ((path, methods.get("GET")) for path, methods in state.owner_routes.items())
        html = front_html(shown, models, ((path, one.title) for path, one in pages if one is not None and one.title))
        return OwnerReply(html.encode(), HTML, headers=_HEADERS)

    return show


def front_html(
    wires: Iterable[tuple[str, str]], models: Sequence[str] | None, links: Iterable[tuple[str, str]] = ()
) -> str:
    """The page: of each wire the title for people and the path of a client's base URL, the ids of the models that the
    reader may use, None for one without a key, and the paths and titles of further pages."""
    titles: dict[str, list[str]] = {}
    for title, path in wires:
        titles.setdefault(path, []).append(title)
    urls = "".join(
        f"<dt><code>{_ROOT}{text(path)}</code></dt><dd>{text(', '.join(names))}</dd>" for path, names in titles.items()
    )
    commands = "".join(f"<li><code>partstream connect {name} --url {_ROOT}</code></li>" for name in SHOWN_CLIENTS)
    ways = "".join(f'<li><a href="{text(path.removeprefix("/"))}">{text(title)}</a></li>' for path, title in links)
    body = (
        f"<main><h1>This server is running</h1>\n"
        "<p>This server answers the clients of each protocol below with the models that it serves.</p>\n"
        "<noscript><p>The addresses follow that of this page.</p></noscript>\n"
        f"<h2>Models</h2>\n{_models(models)}\n"
        f"<h2>Base URLs of clients</h2>\n<dl>{urls}</dl>\n"
        f'<h2>Set up a client</h2>\n<ul class="commands">{commands}</ul>\n'
        "<p><code>partstream connect --list</code> names all clients. With <code>--write</code>, a command writes the "
        "settings into the client's own file.</p>\n"
        f"{f'<h2>Pages</h2><ul>{ways}</ul>' if ways else ''}</main>"
    )
    style, script = resource(PACKAGE, "front.css"), resource(PACKAGE, "front.js")
    return document(_TITLE, body, Hashes(), styles=(style,), scripts=(script,))


def _models(models: Sequence[str] | None) -> str:
    if models is None:
        return "<p>Only clients with a key of this server see its models.</p>"
    if not models:
        return "<p>None.</p>"
    more = f"<p>and {len(models) - _MOST_MODELS:,} more</p>" if len(models) > _MOST_MODELS else ""
    shown = "".join(f"<li><code>{text(one)}</code></li>" for one in models[:_MOST_MODELS])
    return f'<ul class="models">{shown}</ul>{more}'
