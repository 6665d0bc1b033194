"""The navigation of the site, from the lists of links that a reader of the Markdown sees.

Sphinx wants its tree of pages as directives, which a Git forge would show as blocks of code. So the headings and lists
of the home page are turned into them while Sphinx reads, and a page that represents a folder is given the folder's
pages.
"""

from __future__ import annotations
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sphinx.application import Sphinx

# The page that represents a folder, and the folder.
FOLDERS = {
    "docs/decisions/README": ".",
    "docs/maintainers/README": ".",
    "docs/security/README": ".",
    "docs/tutorials/README": ".",
    "docs/wires/README": ".",
}

_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#\s]+\.md)")
_ITEM = re.compile(r"^- \[([^\]]+)\]\(([^)#]+)\.md\)", re.MULTILINE)


def toctree(pages: Iterable[str], *, caption: str = "") -> str:
    """Returns the directive that puts pages into the navigation."""
    head = ["```{toctree}", ":hidden:", ":titlesonly:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["", "", *head, "", *pages, "```", ""])


def sections(text: str) -> list[tuple[str, list[str]]]:
    """Returns the headings of the home page that have a list of pages, each with an entry for each page."""
    parts = _SECTION.split(text)[1:]
    found = [
        (heading, [f"{title.replace('`', '')} <{page}>" for title, page in _ITEM.findall(body)])
        for heading, body in zip(parts[::2], parts[1::2], strict=True)
    ]
    return [(heading, entries) for heading, entries in found if entries]


def in_order_of_links(names: Iterable[str], text: str) -> list[str]:
    """Returns names of pages in the order in which a text links to them; what it does not link to comes last."""
    linked = [target.removesuffix(".md").rpartition("/")[2] for target in _LINK.findall(text)]
    places = {name: place for place, name in reversed(list(enumerate(linked)))}
    return sorted(names, key=lambda name: (places.get(name, len(linked)), name))


def add_navigation(app: Sphinx, docname: str, content: list[str]) -> None:
    """Adds the tree of pages to the home page, and to a page that represents a folder."""
    if docname == app.config.root_doc:
        content[0] += "".join(toctree(entries, caption=heading) for heading, entries in sections(content[0]))
    elif (folder := FOLDERS.get(docname)) is not None:
        page = Path(app.srcdir, docname)
        names = {path.stem for path in (page.parent / folder).glob("*.md") if path.stem != page.name}
        content[0] += toctree(f"{folder}/{name}" for name in in_order_of_links(names, content[0]))


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers this extension."""
    app.connect("source-read", add_navigation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
