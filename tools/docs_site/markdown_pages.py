"""The pages as Markdown beside those in HTML, and llms.txt: for programs that read the docs."""

from __future__ import annotations
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from navigation import sections
from readers import is_for_users

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

_ABOUT: Final = (
    "> Partstream puts any language model into VS Code chat, from a model server or written in Python, and serves the\n"
    "> same model to every other client.\n"
)
_ENTRY: Final = re.compile(r"^(.*) <(.*)>$")


def write_markdown(app: Sphinx, failure: Exception | None) -> None:
    """Writes the source of each page beside it, `llms.txt` with a link to each, and `llms-full.txt` for users."""
    if failure is not None or app.builder.format != "html":
        return
    for docname in sorted(app.env.found_docs):
        copy = Path(app.outdir, f"{docname}.md")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(_source(app, docname), encoding="utf-8")
    Path(app.outdir, "llms.txt").write_text("\n".join(_contents(app)) + "\n", encoding="utf-8")
    users = (f"{docname}.md" for docname in sorted(app.env.found_docs) if is_for_users(docname))
    whole = (f"<!-- {name} -->\n\n{_source(app, name.removesuffix('.md'))}" for name in users)
    Path(app.outdir, "llms-full.txt").write_text("\n".join(whole), encoding="utf-8")


def _source(app: Sphinx, docname: str) -> str:
    return Path(app.srcdir, f"{docname}.md").read_text(encoding="utf-8")


def _contents(app: Sphinx) -> Iterator[str]:
    """The lines of llms.txt: the sections of the home page; those of the project are optional."""
    yield f"# {app.config.project}\n"
    yield _ABOUT
    home = Path(app.config.root_doc)
    for heading, entries in sections(_source(app, app.config.root_doc)):
        yield f"## {'Optional' if heading == 'Project' else heading}\n"
        for title, target in (found.groups() for found in map(_ENTRY.match, entries) if found):
            page = Path(home.parent, f"{target}.md").as_posix().replace("docs/../", "")
            yield f"- [{title}]({page})"
        yield ""
    yield "All pages for users in one file: [llms-full.txt](llms-full.txt)"


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers this extension."""
    app.connect("build-finished", write_markdown)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
