"""The page that a link to join opens: one button for VS Code, and the commands for everybody else.

It is the same for everybody, and holds neither a code nor a name: its script takes the code from behind the `#` of its
URL. Nothing is given to the hub until the person wants it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.pages.document import document, resource

if TYPE_CHECKING:
    from partstream.pages.policy import ContentPolicy

__all__ = ["join_html"]

_PACKAGE: Final = "partstream.hub.page.document"


def join_html(policy: ContentPolicy) -> str:
    """The page.

    Args:
        policy: How the page names what it allows; it must let the script connect to its own server.
    """
    styles = "".join(
        resource(package, name) for package, name in (("partstream.pages", "theme.css"), (_PACKAGE, "hub.css"))
    )
    return document(
        "Join the hub - Partstream", _BODY, policy, styles=(styles,), scripts=(resource(_PACKAGE, "join.js"),)
    )


def _command(name: str, command: str, what: str) -> str:
    return (
        f'<div class="command"><code id="{name}" tabindex="-1">{command}</code>'
        f'<button type="button" data-copies="{name}" aria-label="Copy {what}">Copy</button></div>'
    )


_HUB: Final = "<span data-hub></span>"

_BODY: Final = f"""<main>
<h1>Join the hub</h1>
<p>You were sent this link to get a key of your own for the hub at <strong>{_HUB}</strong>. The link is good once, and
for you alone.</p>
<noscript><p class="told">This page needs its script, because the code of the link is sent to no server before you say
so. In a terminal, <code>partstream add hub</code> with the address of this page asks for the link.</p></noscript>
<p id="without-code" class="told" hidden>There is no code in this address: open the link as it was sent to you. After a
reload, too, it has to be opened again.</p>
<ol id="steps" class="steps" hidden>
<li data-spent><h2>In VS Code</h2>
<p>With the extension Partstream. It asks you before it adds the hub, and keeps the key in VS Code's own store.</p>
<p><a class="button" data-scheme="vscode" href="#steps">Open in VS Code</a>
<a data-scheme="vscode-insiders" href="#steps">VS Code Insiders</a></p></li>
<li data-spent><h2>In a terminal</h2>
<p>This asks for the code, and keeps the key in the keyring of your system; where there is none, in a file that you
alone can read. Then <code>partstream chat</code> asks the hub.</p>
{_command("add", f"partstream add hub {_HUB}", "the command")}
<p>The code, which goes into the question and never into the command:</p>
{_command("code", "<span data-code></span>", "the code")}</li>
<li><h2>For other clients</h2>
<p>Codex, Claude Code, opencode and others need the key itself. The hub shows it once, and the code is used up by
that.</p>
<p><button type="button" id="take">Show my key here</button></p>
<p id="refused" class="told" role="alert" hidden></p>
<div id="taken" hidden><p>Your key. Nobody can show it again: keep it like a password.</p>
{_command("key", "", "the key")}
<p>In a POSIX shell, put it into a variable without writing it into the history, then tell a client where the hub
is:</p>
{_command("variable", "read -rs PARTSTREAM_SERVE_TOKEN; export PARTSTREAM_SERVE_TOKEN", "the command")}
{_command("connect", f"partstream connect codex --url {_HUB} --write", "the command")}
<p><code>partstream connect --list</code> names all clients. Whatever else asks the hub for
answers takes <code>{_HUB}/v1</code> as its base URL and the key as its API key.</p></div></li>
</ol>
</main>
<p class="unseen" id="said" role="status"></p>"""
