"""Pictures that a page has as HTML, because they differ between light and dark, keep their place in the site."""

from __future__ import annotations
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SUFFIXES = {".gif", ".png", ".svg", ".webp"}


def copy_pictures(app: Sphinx, failure: Exception | None) -> None:
    """Copies all pictures of the docs beside the pages that show them; Sphinx sees only those of Markdown."""
    if failure is not None or app.builder.format != "html":
        return
    for picture in Path(app.srcdir, "docs").rglob("*"):
        if picture.suffix in SUFFIXES:
            copy = app.outdir / picture.relative_to(app.srcdir)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(picture, copy)


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers this extension."""
    app.connect("build-finished", copy_pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
