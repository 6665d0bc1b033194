"""The files in which a recording is given away, each in the form that the ending of its name says."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from partstream.devtools.bundles.archive import BUNDLE_ENDING, write_bundle
from partstream.devtools.bundles.forms import FORMS, write_as
from partstream.devtools.inspector.view import ViewedFile, view_of
from partstream.inspector.exports import VIEW_EXPORTS
from partstream.inspector.page import page_html
from partstream.vscode.pages.document import Hashes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.devtools.bundles.exchange import Bundle
    from partstream.devtools.inspector.shapes import View

__all__ = ["SHARED_FORMS", "shared_bytes"]

_PAGE: Final = ".html"
_ZIPS: Final = next(form.endings for form in FORMS if BUNDLE_ENDING in form.endings)
_NAMES: Final = {".otlp.json": "OpenTelemetry traces", ".md": "summary for an issue"}

SHARED_FORMS: Final[Mapping[str, tuple[str, ...]]] = {
    **{form.name: form.endings for form in FORMS if form.write is not None},
    **{_NAMES.get(ending, ending): (ending,) for ending in VIEW_EXPORTS},
    "page to read": (_PAGE,),
}
"""The endings of names by the forms, with the dot; the first of a form is used for new files."""


def shared_bytes(bundle: Bundle, name: str) -> bytes:
    """A bundle in the form that the name says; the archive holds the page to read, too.

    Args:
        bundle: What is given away, redacted already.
        name: The name of the file, with or without folders.

    Raises:
        BundleError: The ending says no form, or the form cannot hold the bundle.
    """
    lower = name.lower()
    if lower.endswith(_PAGE):
        return _page(bundle, name).encode()
    if lower.endswith(_ZIPS):
        return write_bundle(bundle, _page(bundle, name))
    export = next((made for ending, made in VIEW_EXPORTS.items() if lower.endswith(ending)), None)
    return write_as(bundle, name) if export is None else export(_view(bundle, name))


def _page(bundle: Bundle, name: str) -> str:
    return page_html(_view(bundle, name), Hashes())


def _view(bundle: Bundle, name: str) -> View:
    shown = PurePath(name).name
    return view_of([ViewedFile(shown, "bundle", bundle, shown)])
