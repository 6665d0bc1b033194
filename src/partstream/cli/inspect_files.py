"""The recordings that `partstream inspect` is given, read in whichever form they have."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from partstream.cli.opened_recordings import chosen_exchange
from partstream.cli.recordings import UnreadableRecordingError, read_file
from partstream.codec.text import visible
from partstream.devtools.bundles.documents import BundleError
from partstream.devtools.bundles.forms import form_of, read_any
from partstream.devtools.capturing.bundling import KeptRecordings
from partstream.devtools.capturing.door import newest_answer
from partstream.devtools.inspector.view import ViewedFile
from partstream.devtools.recorded_stream import RecordingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.devtools.bundles.exchange import Bundle

__all__ = ["bundle_named", "files_named", "last_answer"]

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
        raise click.UsageError("name a recording, - for standard input, --last or --live")
    return [_file(name, protocol) for name in names]


def last_answer() -> ViewedFile:
    """The newest answer of a running program of the user; where there is none, the newest recording.

    Raises:
        UnreadableRecordingError: There is neither.
    """
    found = asyncio.run(newest_answer())
    if found is not None:
        known = found.bundle.answers
        said = ", ".join(filter(None, (known[0].host, known[0].model))) if known else ""
        return ViewedFile("the last answer" + (f" ({said})" if said else ""), "memory", found.bundle)
    kept = KeptRecordings().newest()
    if kept is None:
        raise UnreadableRecordingError(
            "no answer was found: no chat, server or VS Code of yours is running, and no recording is kept; "
            "`partstream chat --record` keeps one"
        )
    return _file(str(kept), None)


def bundle_named(name: str) -> Bundle:
    """What a file holds, `-` for standard input; of `FILE#2`, its second exchange.

    Raises:
        UnreadableRecordingError: It cannot be read.
    """
    return _file(name, None).bundle


def _read(name: str) -> tuple[bytes, Bundle]:
    try:
        data = read_file(name)
        return data, read_any(data, name)
    except RecordingError as error:
        raise UnreadableRecordingError(visible(str(error))) from error
    except BundleError as error:
        said = str(error) if error.where == name else f"{name}: {error}"
        raise UnreadableRecordingError(visible(f"cannot read {said}")) from error


def _file(name: str, protocol: str | None) -> ViewedFile:
    path, number = chosen_exchange(name)
    data, bundle = _read(path)
    if number is not None:
        bundle = _with_one(bundle, number, path)
    if protocol is not None:
        told = tuple(replace(one, protocol=one.protocol or protocol) for one in bundle.exchanges)
        bundle = replace(bundle, exchanges=told)
    form = form_of(data)
    shown = "standard input" if name == "-" else Path(name).name
    return ViewedFile(shown, _STREAM if form is None else form.name, bundle, name)


def _with_one(bundle: Bundle, number: int, path: str) -> Bundle:
    """The bundle with one of its exchanges, and the answer that it belongs to."""
    exchanges = tuple(one for one in bundle.exchanges if one.number == number)
    if not exchanges:
        known = ", ".join(str(one.number) for one in bundle.exchanges) or "none"
        raise UnreadableRecordingError(visible(f"{path} has no exchange {number}; it has {known}"))
    answers = tuple(one for one in bundle.answers if one.number == exchanges[0].answer)
    return replace(bundle, exchanges=exchanges, answers=answers)
