"""The files that `partstream share` writes, each in the form that its name says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from partstream.bundles.errors import BundleError
from partstream.bundles.files import BUNDLE_ENDING
from partstream.bundles.forms import FORMS, write_as
from partstream.bundles.writing import write_bundle
from partstream.cli.rendering import printable
from partstream.inspector.exports import VIEW_EXPORTS
from partstream.inspector.page import page_html
from partstream.inspector.view import ViewedFile, view_of
from partstream.pages.policy import Hashes

if TYPE_CHECKING:
    from partstream.bundles.exchange import Bundle
    from partstream.inspector.view_shapes import View

__all__ = ["ENDINGS", "check_name", "write_shared"]

_PAGE: Final = ".html"
_ZIPS: Final = next(form.endings for form in FORMS if BUNDLE_ENDING in form.endings)

ENDINGS: Final = (*(form.endings[0] for form in FORMS if form.write is not None), *VIEW_EXPORTS, _PAGE)
"""The endings of names, one for each form that is written."""


def check_name(out: str) -> None:
    """Refuses a name whose ending says no form, before anything is read.

    Raises:
        UsageError: It says none.
    """
    of_bundles = (ending for form in FORMS if form.write is not None for ending in form.endings)
    written = (*of_bundles, *VIEW_EXPORTS, _PAGE)
    if not out.lower().endswith(written):
        raise click.UsageError(f"{printable(out)}: expected a name that ends with one of {', '.join(ENDINGS)}")


def write_shared(bundle: Bundle, out: str) -> int:
    """Writes a bundle in the form that the name says, for its owner alone; returns the number of bytes.

    Raises:
        ClickException: The form cannot hold the bundle, or the file cannot be written.
    """
    try:
        data = _bytes_of(bundle, out)
    except BundleError as error:
        raise click.ClickException(printable(f"cannot write {out}: {error}")) from error
    try:
        path = Path(out)
        path.unlink(missing_ok=True)
        with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(data)
    except OSError as error:
        raise click.ClickException(f"cannot write {printable(out)}: {error.strerror}") from error
    return len(data)


def _bytes_of(bundle: Bundle, out: str) -> bytes:
    name = out.lower()
    if name.endswith(_PAGE):
        return _page(bundle, out).encode()
    if name.endswith(_ZIPS):
        return write_bundle(bundle, _page(bundle, out))
    export = next((made for ending, made in VIEW_EXPORTS.items() if name.endswith(ending)), None)
    return write_as(bundle, out) if export is None else export(_view(bundle, out))


def _page(bundle: Bundle, out: str) -> str:
    return page_html(_view(bundle, out), Hashes())


def _view(bundle: Bundle, out: str) -> View:
    name = Path(out).name
    return view_of([ViewedFile(name, "bundle", bundle, name)])
