"""Writes settings into the files of a client, and takes them back; what it replaced is kept, and nothing more.

A record says of each file what was put where and what stood there. While nobody else changes the file, taking back
restores its bytes; afterwards only the values that are still ours go, and what somebody wrote over them stays.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.settings_files import Splice, UnusableTextError, applied, taken_back
from partstream.configuration.file_edits import edit_file
from partstream.settings.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.client_settings.client import FileSettings
    from partstream.codec.settings_files import FileForm, Key

__all__ = ["Done", "Outcome", "take_back", "write"]

_MOST_BYTES: Final = 4 * 1024 * 1024


class Done(StrEnum):
    """What was done to a file, in words."""

    WRITTEN = "written"
    UNCHANGED = "has these settings already"
    RESTORED = "as it was before"
    CLEANED = "without these settings, and with what has changed since"
    REMOVED = "removed: it was not there before"
    GONE = "not there any more"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a file.

    Attributes:
        path: The file.
        done: What was done, in a few words.
        left: The keys that stay as somebody else wrote them.
    """

    path: Path
    done: Done
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    """What was done to one file: what a later undo has to know of it.

    Attributes:
        path: The file.
        existed: Whether it was there before.
        digest: Of the file after the change.
        splices: The changes, from the text before to the text after.
        keys: The keys with their values, and how the text wrote what stood there before, or None.
    """

    path: str
    existed: bool
    digest: str
    splices: Sequence[Splice] = field(repr=False)
    keys: Sequence[tuple[Key, Any, str | None]] = field(repr=False)


def write(settings: Sequence[tuple[Path, FileSettings]], record: Path) -> list[Outcome]:
    """Writes values into files. What an earlier call has written there, with other values, is taken back first.

    Args:
        settings: The files with their values.
        record: Where it is kept what was replaced.

    Returns:
        What became of each file.

    Raises:
        ConfigurationError: A file has a form that is not changed by a program, or somebody else writes it.
        OSError: A file cannot be written.
    """
    known = _read_record(record)
    planned = [_planned(path, one, known.get(str(path))) for path, one in settings]
    entries = {**known, **{entry.path: entry for _, _, entry in planned if entry is not None}}
    if any(entry is not None for _, _, entry in planned):
        _write_record(record, entries)
    try:
        for old, new, entry in planned:
            if entry is not None:
                edit_file(Path(entry.path), old, new)
    except BaseException:
        _write_record(record, known)
        raise
    return [
        Outcome(path, Done.UNCHANGED if entry is None else Done.WRITTEN)
        for (path, _), (_, _, entry) in zip(settings, planned, strict=True)
    ]


def take_back(settings: Sequence[tuple[Path, FileSettings]], record: Path) -> list[Outcome]:
    """Takes back what was written into the files.

    Args:
        settings: The files, with their forms; their values do not matter.
        record: The record of :func:`write`.

    Returns:
        What became of each file that was written.

    Raises:
        ConfigurationError: As :func:`write`.
        OSError: As :func:`write`.
    """
    known = _read_record(record)
    forms = {str(path): one.form for path, one in settings}
    outcomes = []
    for path, entry in list(known.items()):
        if path in forms:
            outcomes.append(_undone(entry, forms[path]))
            del known[path]
            _write_record(record, known)
    return outcomes


def _planned(path: Path, settings: FileSettings, entry: _Entry | None) -> tuple[bytes, str, _Entry | None]:
    """The bytes of a file, its new text and what to remember; nothing to remember where nothing has to change."""
    data = _bytes_of(path)
    text = _text_of(path, data)
    form = settings.form
    try:
        wanted = list(settings.values.items())
        is_ours = entry is None or [(key, value) for key, value, _ in entry.keys] == wanted
        if is_ours and all(form.means(text, *one) for one in wanted):
            return data, text, None
        new = text if entry is None else _without_ours(text, entry, form)[0]
        splices: list[Splice] = []
        keys: list[tuple[Key, Any, str | None]] = []
        for key, value in wanted:
            keys.append((key, value, form.found(new, key)))
            change = form.with_value(new, key, value)
            new = applied(new, change)
            splices += change
    except UnusableTextError as error:
        raise ConfigurationError(str(path), error.got, error.expected) from None
    existed = path.exists() if entry is None else entry.existed
    return data, new, _Entry(str(path), existed, _digest(new.encode()), splices, keys)


def _undone(entry: _Entry, form: FileForm) -> Outcome:
    path = Path(entry.path)
    if not path.exists():
        return Outcome(path, Done.GONE)
    data = _bytes_of(path)
    try:
        text, left = _without_ours(_text_of(path, data), entry, form)
    except UnusableTextError as error:
        raise ConfigurationError(str(path), error.got, error.expected) from None
    if not entry.existed and not text.strip():
        path.unlink()
        return Outcome(path, Done.REMOVED)
    if text.encode() != data:
        edit_file(path, data, text)
    return Outcome(path, Done.RESTORED if _digest(data) == entry.digest else Done.CLEANED, left)


def _without_ours(text: str, entry: _Entry, form: FileForm) -> tuple[str, tuple[str, ...]]:
    """The text without what was written, and the keys that somebody else has written since."""
    if _digest(text.encode()) == entry.digest:
        with suppress(ValueError):
            return taken_back(text, entry.splices), ()
    left = []
    for key, value, before in reversed(entry.keys):
        if not form.means(text, key, value):
            if form.found(text, key) is not None:
                left.append(".".join(key))
            continue
        change = form.without(text, key) if before is None else form.with_written(text, key, before)
        text = applied(text, change)
    return text, tuple(reversed(left))


def _bytes_of(path: Path) -> bytes:
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ConfigurationError(str(path), f"more than {_MOST_BYTES:,} bytes", "a file of settings")
    return data


def _text_of(path: Path, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ConfigurationError(str(path), f"no UTF-8 at byte {error.start}", "a text in UTF-8") from None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# ---- the record ----


def _read_record(path: Path) -> dict[str, _Entry]:
    if not path.is_file():
        return {}
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        entries = [
            _Entry(
                row["path"],
                row["existed"],
                row["digest"],
                [Splice(*one) for one in row["splices"]],
                [(tuple(key), value, before) for key, value, before in row["keys"]],
            )
            for row in rows
        ]
    except (ValueError, KeyError, TypeError):
        raise ConfigurationError(str(path), "no record of what was written", "that it is removed") from None
    return {entry.path: entry for entry in entries}


def _write_record(path: Path, entries: Mapping[str, _Entry]) -> None:
    """The record, readable for its user alone, since what it holds may have been a key; gone when it says nothing."""
    if not entries:
        path.unlink(missing_ok=True)
        return
    rows = [
        {"path": one.path, "existed": one.existed, "digest": one.digest, "splices": one.splices, "keys": one.keys}
        for one in entries.values()
    ]
    edit_file(path, _bytes_of(path), json.dumps(rows, indent=1) + "\n")
