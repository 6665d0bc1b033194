"""The navigation of the site, from the lists of links that a reader of the Markdown sees.

Sphinx wants its tree of pages as directives, which a Git forge would show as blocks of code. So the headings and lists
of the home page are turned into them while Sphinx reads, and a page that represents a folder is given the folder's
pages.
"""

from __future__ import annotations
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes

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


def leave_out_sections(app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: object) -> None:
    """Gives the theme a tree of pages that is made without their sections.

    The theme wants titles alone, for which Sphinx would copy the sections of all pages for each page: a quarter of what
    building takes.
    """
    whole, env = context["toctree"], app.env
    if not hasattr(app, "partstream_titles"):
        app.partstream_titles = {name: _title(toc) for name, toc in env.tocs.items()}  # type: ignore[attr-defined]

    def titles(**options: Any) -> str:
        with_sections, env.tocs = env.tocs, app.partstream_titles  # type: ignore[attr-defined]
        try:
            made: str = whole(**options)
        finally:
            env.tocs = with_sections
        return made

    context["toctree"] = titles


def _title(toc: nodes.bullet_list) -> nodes.bullet_list:
    """The entry of a page: its title, and the trees of further pages in it."""
    title = toc.deepcopy()
    for item in (child for child in title.children if isinstance(child, nodes.list_item)):
        trees = list(item.findall(addnodes.toctree))
        item[1:] = [nodes.bullet_list("", *trees)] if trees else []
    return title


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers this extension."""
    app.connect("source-read", add_navigation)
    app.connect("html-page-context", leave_out_sections, priority=400)  # before the theme
    return {"parallel_read_safe": True, "parallel_write_safe": True}
