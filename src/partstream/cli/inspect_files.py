"""The recordings that `partstream inspect` is given, read in whichever form they have."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from partstream.bundles.errors import BundleError
from partstream.bundles.forms import form_of, read_any
from partstream.cli.recordings import UnreadableRecordingError, read_file
from partstream.cli.rendering import printable
from partstream.inspector.view import ViewedFile
from partstream.protocols.recording import RecordingError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["files_named"]

_STREAM = "stream"


def files_named(names: Sequence[str], protocol: str | None) -> list[ViewedFile]:
    """The files of a command line.

    Args:
        names: Their names; `-` is standard input.
        protocol: The protocol of their answers, where a file does not say it; None to tell it from the events.

    Raises:
        UsageError: None is named.
        UnreadableRecordingError: One cannot be read.
    """
    if not names:
        raise click.UsageError("name a recording, or - for standard input")
    return [_file(name, protocol) for name in names]


def _file(name: str, protocol: str | None) -> ViewedFile:
    try:
        data = read_file(name)
        bundle = read_any(data, name)
    except RecordingError as error:
        raise UnreadableRecordingError(printable(str(error))) from error
    except BundleError as error:
        raise UnreadableRecordingError(printable(f"cannot read {name}: {error}")) from error
    if protocol is not None:
        told = tuple(replace(one, protocol=one.protocol or protocol) for one in bundle.exchanges)
        bundle = replace(bundle, exchanges=told)
    form = form_of(data)
    shown = "standard input" if name == "-" else Path(name).name
    return ViewedFile(shown, _STREAM if form is None else form.name, bundle, name)
