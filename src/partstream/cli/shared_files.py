"""The files that `partstream share` writes, each in the form that its name says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from partstream.codec.text import visible
from partstream.devtools.bundles.documents import BundleError
from partstream.devtools.bundles.forms import FORMS
from partstream.devtools.inspector.sharing import SHARED_FORMS, shared_bytes

if TYPE_CHECKING:
    from partstream.devtools.bundles.exchange import Bundle

__all__ = ["ENDINGS", "READ_AGAIN", "check_name", "write_shared"]

ENDINGS: Final = tuple(endings[0] for endings in SHARED_FORMS.values())
"""The endings of names, one for each form that is written."""
READ_AGAIN: Final = tuple(ending for form in FORMS if form.write and form.read for ending in form.endings)
"""The endings of what is a recording again; a page or a summary of one is not."""


def check_name(out: str) -> None:
    """Refuses a name whose ending says no form, before anything is read.

    Raises:
        UsageError: It says none.
    """
    written = tuple(ending for endings in SHARED_FORMS.values() for ending in endings)
    if not out.lower().endswith(written):
        raise click.UsageError(f"{visible(out)}: expected a name that ends with one of {', '.join(ENDINGS)}")


def write_shared(bundle: Bundle, out: str) -> int:
    """Writes a bundle in the form that the name says, for its owner alone; returns the number of bytes.

    Raises:
        ClickException: The form cannot hold the bundle, or the file cannot be written.
    """
    try:
        data = shared_bytes(bundle, out)
    except BundleError as error:
        raise click.ClickException(visible(f"cannot write {out}: {error}")) from error
    try:
        path = Path(out)
        path.unlink(missing_ok=True)
        with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(data)
    except OSError as error:
        raise click.ClickException(f"cannot write {visible(out)}: {error.strerror}") from error
    return len(data)
