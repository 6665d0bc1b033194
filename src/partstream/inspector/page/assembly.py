"""The page of the inspector: one document, whose head, numbers, violations and result are readable without its script.

The same document is a file, a page of the server and a webview; the policy that goes with it differs. Its script comes
in parts, which are put together in the order of a table and share one object (`state.js`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import dumps
from partstream.inspector.page.skeleton import skeleton_html
from partstream.vscode.pages.document import data_script, document, packed_data_script, resource

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.vscode.pages.document import ContentPolicy

__all__ = ["SCRIPTS", "page_html", "page_script"]

SCRIPTS: Final = (
    "state.js",
    "keys.js",
    "announcements.js",
    "head.js",
    "bytes.js",
    "filters.js",
    "lanes.js",
    "timeline.js",
    "list.js",
    "json.js",
    "detail.js",
    "result.js",
    "compare.js",
    "play.js",
    "editor.js",
    "live.js",
)
"""The parts of the script, in the order in which they run. The first makes what the others share."""

STYLES: Final = ("page.css", "timeline.css")
"""The parts of the page's style, behind the colours of every page."""

_COMMENTS: Final = re.compile(r"/\*\*.*?\*/|^[ \t]*//[^\n]*", re.DOTALL | re.MULTILINE)
"""Comments that say types and reasons; no text of the scripts holds these signs, and no template a line of its own."""

_MOST_PLAIN_DATA: Final = 5 * 1024 * 1024
"""The bytes of a view above which the page holds it packed (docs/wires/practice.md#size-of-the-page)."""


def page_html(view: Mapping[str, Any] | None, policy: ContentPolicy) -> str:
    """The page for a view, which needs no other file and asks for none.

    Args:
        view: What to show; None for a page that is given its view by a server or an editor.
        policy: How the page names what it allows.
    """
    title = "Partstream" if view is None else f"{view['title']} - Partstream"
    styles = [
        resource("partstream.vscode.pages.document", "theme.css"),
        *(resource("partstream.inspector.page", name) for name in STYLES),
    ]
    body = "" if view is None else skeleton_html(view) + _data(view)
    return document(title, body, policy, styles=styles, scripts=[page_script()])


def page_script() -> str:
    """The whole script of the page, without comments and indentation, which a reader of the file has no use for."""
    script = _COMMENTS.sub("", "\n".join(resource("partstream.inspector.page", name) for name in SCRIPTS))
    return "\n".join(line for line in map(str.strip, script.splitlines()) if line)


def _data(view: Mapping[str, Any]) -> str:
    is_large = len(dumps(view)) > _MOST_PLAIN_DATA
    return (packed_data_script if is_large else data_script)("view", view)
