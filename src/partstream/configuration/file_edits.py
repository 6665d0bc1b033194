"""Changes the user's file as text, so that everything else in it stays as it is, its comments too.

A change counts only if TOML reads the new text as the old document with the change in it. If no text does, for a file
of an unusual form, nothing is written. See docs/decisions/0014-the-file-is-changed-as-text.md.
"""

from __future__ import annotations

import os
import re
import tempfile
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import dumps
from partstream.config.table import DEFAULT_PROFILE, PROFILES
from partstream.settings.kinds import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["FileChangedError", "edit_file", "profile_table", "with_default_profile", "with_profile", "without_profile"]

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_TABLE: Final = re.compile(r"\s*\[", re.ASCII)
_COMMENT: Final = re.compile(r"\s*(#.*)?", re.ASCII)


class FileChangedError(ConfigurationError):
    """The file has changed while the change was prepared, so nothing was written."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), "a change by another program meanwhile", "nobody else who writes it; try again")


def profile_table(name: str, settings: Mapping[str, Any]) -> str:
    """The table of a profile in TOML.

    Args:
        name: The name of the profile.
        settings: Texts, numbers, true or false, and lists of them, by the names of settings.
    """
    lines = [f"[{PROFILES}.{_key(name)}]", *(f"{_key(one)} = {_value(value)}" for one, value in settings.items())]
    return "\n".join(lines) + "\n"


def with_profile(path: Path, text: str, name: str, settings: Mapping[str, Any]) -> str:
    """The text of the file with a profile, in the place of one that has the same name.

    Args:
        path: The file, for errors.
        text: What it holds.
        name: The name of the profile.
        settings: As for :func:`profile_table`.

    Raises:
        ConfigurationError: The file has a form in which the change cannot be made safely; it says what to write by
            hand.
    """
    document = _read(path, text)
    wanted = {**document, PROFILES: {**document.get(PROFILES, {}), name: dict(settings)}}
    table = profile_table(name, settings)
    old = _table_lines(text, name) if name in document.get(PROFILES, {}) else None
    found = next((one for one in _with_table(text, table, old) if _holds(one, wanted)), None)
    if found is None:
        raise ConfigurationError(str(path), "a form that is not changed by a program", f"this by hand:\n{table}")
    return found


def without_profile(path: Path, text: str, name: str) -> str:
    """The text of the file without a profile, and without the `defaultProfile` that names it.

    Raises:
        ConfigurationError: The file has a form in which the change cannot be made safely; it says what to remove.
    """
    document = _read(path, text)
    profiles = {one: settings for one, settings in document[PROFILES].items() if one != name}
    wanted = {one: value for one, value in document.items() if (one, value) != (DEFAULT_PROFILE, name)}
    wanted = {**wanted, PROFILES: profiles} if profiles else {one: wanted[one] for one in wanted if one != PROFILES}
    lines = text.splitlines(keepends=True)
    while (old := _table_lines("".join(lines), name)) is not None:
        gap = (
            old.stop < len(lines)
            and not lines[old.stop].strip()
            and (old.start == 0 or not lines[old.start - 1].strip())
        )
        del lines[old.start : old.stop + gap]  # one empty line stays between its neighbours
    if DEFAULT_PROFILE not in wanted and (line := _default_line(lines)) is not None:
        del lines[line]
    changed = "".join(lines).rstrip("\r\n") + _newline(text) if any(map(str.strip, lines)) else ""
    if not _holds(changed, wanted):
        table = f"[{PROFILES}.{_key(name)}]"
        raise ConfigurationError(str(path), "a form that is not changed by a program", f"{table} removed by hand")
    return changed


def with_default_profile(path: Path, text: str, name: str) -> str:
    """The text of the file with another `defaultProfile`.

    Raises:
        ConfigurationError: As for :func:`with_profile`.
    """
    wanted = {**_read(path, text), DEFAULT_PROFILE: name}
    line = f"{DEFAULT_PROFILE} = {_value(name)}"
    found = next((one for one in _with_line(text, line) if _holds(one, wanted)), None)
    if found is None:
        raise ConfigurationError(str(path), "a form that is not changed by a program", f"this by hand: {line}")
    return found


def edit_file(path: Path, old: bytes, text: str) -> None:
    """Replaces the file at once, or leaves it as it is.

    Args:
        path: The file; it is made with its folder, readable by its owner alone, if it is not there.
        old: What it held when the change was prepared; empty for a file that was not there.
        text: What it shall hold.

    Raises:
        FileChangedError: It holds something else by now.
        OSError: It cannot be written.
    """
    target = Path(os.path.realpath(path))  # whoever keeps the file in another folder has a link here
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")  # mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        if target.is_file():
            os.chmod(name, target.stat().st_mode & 0o777)
        _check_unchanged(path, target, old)
        os.replace(name, target)
    except BaseException:  # Ctrl-C too leaves nothing behind
        with suppress(OSError):
            os.unlink(name)
        raise


def _check_unchanged(path: Path, target: Path, old: bytes) -> None:
    if (target.read_bytes() if target.is_file() else b"") != old:
        raise FileChangedError(path)


def _read(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(str(path), f"invalid TOML: {error}", "TOML 1.0 in UTF-8") from None


def _holds(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _with_table(text: str, table: str, old: range | None) -> Iterator[str]:
    """The text with a table: in the place of the lines of an old one, or behind everything."""
    newline = _newline(text)
    table = table.replace("\n", newline)
    if old is not None:
        lines = text.splitlines(keepends=True)
        yield "".join((*lines[: old.start], table, *lines[old.stop :]))
    elif text.strip():
        yield text.rstrip("\r\n") + newline * 2 + table
    else:
        yield table


def _table_lines(text: str, name: str) -> range | None:
    """The lines of a profile and of the tables within it; comments behind them belong to what follows."""
    key = rf"(?:{re.escape(name)}|{re.escape(_value(name))}|'{re.escape(name)}')"
    own = re.compile(rf"\s*\[\[?\s*{PROFILES}\s*\.\s*{key}\s*[\].]", re.ASCII)
    lines = text.splitlines()
    start = next((number for number, line in enumerate(lines) if own.match(line)), None)
    if start is None:
        return None
    end = next(
        (number for number in range(start, len(lines)) if _TABLE.match(lines[number]) and not own.match(lines[number])),
        len(lines),
    )
    while _COMMENT.fullmatch(lines[end - 1]):
        end -= 1
    return range(start, end)


def _with_line(text: str, line: str) -> Iterator[str]:
    """The text with a line of its head: in the place of the old one, before the first table, at the beginning."""
    newline = _newline(text)
    lines = text.splitlines(keepends=True)
    old = _default_line(lines)
    if old is not None:
        yield "".join((*lines[:old], line, newline, *lines[old + 1 :]))
    table = next((number for number, one in enumerate(lines) if _TABLE.match(one)), len(lines))
    while table and _COMMENT.fullmatch(lines[table - 1].rstrip("\r\n")) and lines[table - 1].strip():
        table -= 1  # what is said of the table stays with it
    gap = newline if table < len(lines) else ""
    before = "".join(lines[:table])
    yield (
        before
        + ("" if not before or before.endswith("\n") else newline)
        + line
        + newline
        + gap
        + "".join(lines[table:])
    )
    yield line + newline + text


def _default_line(lines: Sequence[str]) -> int | None:
    """The number of the line that names the default profile."""
    key = re.compile(rf"\s*{DEFAULT_PROFILE}\s*=", re.ASCII)
    return next((number for number, one in enumerate(lines) if key.match(one)), None)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _value(name)


def _value(value: Any) -> str:
    """A value in TOML, whose texts, lists and numbers are written as in JSON; JSON alone leaves U+007F as it is."""
    return dumps(value).decode().replace("\x7f", "\\u007f")
