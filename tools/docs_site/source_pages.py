"""Links from a page into the tree of sources: each leads to a page that shows the file, or lists the folder."""

from __future__ import annotations
from html import escape
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util.osutil import relative_uri

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

FOLDER = "source"
SKIPPED = {"__pycache__", "node_modules"}

STYLE = "\n".join(
    [
        ":root { color-scheme: light dark; font-family: system-ui, sans-serif; }",
        "body { margin: 1.5rem auto; padding: 0 1rem; max-width: 70rem; }",
        "h1 { overflow-wrap: anywhere; }",
        ".highlight { overflow-x: auto; padding: 0 1rem; border: 1px solid #8884; border-radius: 0.3rem; }",
        HtmlFormatter(style="a11y-light").get_style_defs(".highlight"),
        f"@media (prefers-color-scheme: dark) {{ {HtmlFormatter(style='a11y-dark').get_style_defs('.highlight')} }}",
    ]
)
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{path} - Partstream</title>
<style>
{style}
</style>
</head>
<body>
<p><a href="{home}">The docs of Partstream</a></p>
<h1><code>{path}</code></h1>
{body}
</body>
</html>
"""


def source_page(path: PurePosixPath) -> str:
    """Returns the name of the page that shows a file or folder; no two files share one, `a.md` and `a.py` neither."""
    return f"{FOLDER}/{path}"


def inside(project: Path, path: Path) -> PurePosixPath | None:
    """Returns where a path is in the project, or None if nothing is there."""
    whole = path.resolve()
    if not whole.exists() or not whole.is_relative_to(project):
        return None
    return PurePosixPath(whole.relative_to(project).as_posix())


class LinksToSources(SphinxTransform):
    """Makes links to files that are no pages lead to the pages that show them."""

    default_priority = 200

    def apply(self, **kwargs: Any) -> None:
        """Replaces the nodes that MyST makes of such links: a download of a file, a missing page for a folder."""
        project, docname = Path(self.env.srcdir), self.env.docname
        for kind in (addnodes.download_reference, addnodes.pending_xref):
            for node in list(self.document.findall(kind)):
                target = node.get("reftarget", "")
                path = inside(project, (project / docname).parent / target) if target else None
                if path is None or (kind is addnodes.pending_xref and not (project / path).is_dir()):
                    continue
                wanted_sources(self.app).add(path)
                uri = relative_uri(self.app.builder.get_target_uri(docname), f"{source_page(path)}.html")
                node.replace_self(nodes.reference("", "", *node.children, refuri=uri, internal=True))


def wanted_sources(app: Sphinx) -> set[PurePosixPath]:
    """Returns the files and folders that some page leads to."""
    if not hasattr(app.env, "partstream_sources"):
        app.env.partstream_sources = set()
    found: set[PurePosixPath] = app.env.partstream_sources
    return found


def merge_sources(app: Sphinx, _env: BuildEnvironment, _docnames: list[str], other: BuildEnvironment) -> None:
    """Takes over what another process has found in the pages that it read."""
    wanted_sources(app).update(getattr(other, "partstream_sources", ()))


def write_pages(app: Sphinx, failure: Exception | None) -> None:
    """Writes a page for every file and folder that some page leads to, and for all that is in such a folder.

    They are short pages of their own: the navigation of the theme takes more time than all the rest of a page.
    """
    if failure is not None or app.builder.format != "html":
        return
    project = Path(app.srcdir)
    waiting, done = sorted(wanted_sources(app)), set()
    while waiting:
        path = waiting.pop()
        if path in done:
            continue
        done.add(path)
        if (project / path).is_dir():
            inner = [
                path / entry.name
                for entry in sorted((project / path).iterdir())
                if entry.name not in SKIPPED and not entry.name.startswith(".")
            ]
            waiting += inner
            body = folder_body(inner)
        else:
            body = file_body(project / path)
        page = Path(app.outdir, f"{source_page(path)}.html")
        page.parent.mkdir(parents=True, exist_ok=True)
        home = relative_uri(f"{source_page(path)}.html", app.builder.get_target_uri(app.config.root_doc))
        page.write_text(PAGE.format(path=escape(str(path)), home=home, style=STYLE, body=body), encoding="utf-8")


def folder_body(entries: list[PurePosixPath]) -> str:
    """Returns a list of what is in a folder."""
    names = [(escape(entry.parent.name), escape(entry.name)) for entry in entries]
    items = "".join(f'<li><a href="{folder}/{name}.html"><code>{name}</code></a></li>\n' for folder, name in names)
    return f"<ul>\n{items}</ul>\n"


def file_body(file: Path) -> str:
    """Returns the text of a file, with colours where its language is known."""
    text = file.read_text(encoding="utf-8")
    try:
        lexer = get_lexer_for_filename(file.name)
    except ClassNotFound:
        lexer = TextLexer()
    return highlight(text, lexer, HtmlFormatter())


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers this extension."""
    app.add_transform(LinksToSources)
    app.connect("env-merge-info", merge_sources)
    app.connect("build-finished", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
