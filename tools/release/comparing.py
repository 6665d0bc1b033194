"""Compares two builds of the same tree: the same bytes, or the name of the first entry that differs."""

from __future__ import annotations
import hashlib
import tarfile
import zipfile
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["first_difference", "sha256"]


def sha256(path: Path) -> str:
    """The hash of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def first_difference(one: Path, other: Path) -> str:
    """Says where two archives differ first; nothing is said of the same bytes.

    Args:
        one: A zip (a wheel, a .vsix) or a .tar.gz.
        other: Another build of it.
    """
    if one.read_bytes() == other.read_bytes():
        return ""
    for first, second in zip_longest(_entries(one), _entries(other)):
        if first is None or second is None or first[0] != second[0]:
            names = [entry[0] if entry else "nothing" for entry in (first, second)]
            return f"the entries are not the same: {names[0]} in one, {names[1]} in the other"
        for what, was, now in zip(("content", "date", "mode"), first[1:], second[1:], strict=True):
            if was != now:
                return f"{first[0]}: the {what} differs: {was} in one, {now} in the other"
    return "every entry is the same, so the archives were packed differently"


def _entries(path: Path) -> Iterator[tuple[str, str, str, str]]:
    """The name, hash, date and mode of each entry, in the order of the archive."""
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path) as tar:
            for member in tar:
                file = tar.extractfile(member)
                content = hashlib.sha256(file.read() if file else b"").hexdigest()
                yield member.name, content, str(member.mtime), oct(member.mode)
        return
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            content = hashlib.sha256(archive.read(entry)).hexdigest()
            yield entry.filename, content, str(entry.date_time), oct(entry.external_attr >> 16)
