"""Pages as files: for their owner alone, because a page says what somebody works with, and how much."""

from __future__ import annotations

import os
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from partstream.codec.text import visible

if TYPE_CHECKING:
    from partstream.codec.system import UserFolder

__all__ = ["IN_BROWSER", "put_page", "write_page"]

IN_BROWSER: Final = ""
"""The name of the file when no file was named."""


def put_page(page: str, out: str, folder: UserFolder, name: str) -> None:
    """Puts a page where somebody wants it, and says where it is.

    Args:
        page: The page.
        out: The file, `-` for standard output, or :data:`IN_BROWSER`.
        folder: Where the file is that the browser is given.
        name: The name of that file.

    Raises:
        click.ClickException: The file cannot be written.
    """
    if out == "-":
        click.echo(page, nl=False)
        return
    path = Path(out) if out != IN_BROWSER else folder.path() / name
    write_page(path, page)
    click.echo(f"The page is in {visible(str(path))}")
    if out == IN_BROWSER:
        webbrowser.open(path.absolute().as_uri())


def write_page(path: Path, page: str) -> None:
    """Writes a file that its owner alone can read.

    Raises:
        click.ClickException: It cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(page)
    except OSError as error:
        raise click.ClickException(f"cannot write {visible(str(path))}: {error.strerror}") from error
