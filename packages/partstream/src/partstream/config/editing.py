"""Adds a profile to the user's file, and removes one: its key in the keyring and its settings in the file.

The file is changed as text, so that everything else in it stays as it is, its comments too. A change counts only if
TOML reads the new text as the old document with the change in it. If no text does, for a file of an unusual form,
nothing is written (docs/decisions/0014-the-file-is-changed-as-text.md). The key goes into the system's keyring or a
file before the settings are written; a later failure puts back what was there. :class:`TomlFile` changes
the files of clients in the same way.
"""

from __future__ import annotations
import json
import os
import re
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Final, TypeAlias

from partstream.codec.checks import dataclass, field
from partstream.codec.settings_files import FileForm, Key, Splice, UnusableTextError, applied, loads_toml, newline_of
from partstream.codec.system import DATA, FileLock, make_private_folder, replace_file
from partstream.config.loading import ask_keyring, load_configuration
from partstream.config.table import DEFAULT_PROFILE, PROFILES, read_document
from partstream.errors import CallerError
from partstream.settings.kinds import ConfigurationError, shown_name
from partstream.upstream.configuration import GatewayConfiguration
from partstream.upstream.endpoint import Secret


class FileChangedError(ConfigurationError):
    """The file has changed while the change was prepared, so nothing was written."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), "a change by another program meanwhile", "no other writer; try again")


def with_profile(path: Path, text: str, name: str, settings: Mapping[str, Any]) -> str:
    """The text of the file with a profile, instead of one that has the same name.

    Args:
        settings: Texts, numbers, true or false, and lists of them, by the names of settings.

    Raises:
        ConfigurationError: The file has a form in which the change cannot be made safely; it says what to write by
            hand.
    """
    key = (PROFILES, name)
    by_hand = f"this by hand:\n{_written_table(key, settings)}"
    return _edited(path, text, lambda: _TOML.with_value(text, key, dict(settings)), by_hand)


def without_profile(path: Path, text: str, name: str) -> str:
    """The text of the file without a profile, and without the `defaultProfile` that names it.

    Raises:
        ConfigurationError: The file has a form in which the change cannot be made safely; it says what to remove.
    """

    def removed() -> tuple[Splice, ...]:
        splices = _TOML.without(text, (PROFILES, name))
        if not _TOML.means(text, (DEFAULT_PROFILE,), name):
            return splices
        return (*splices, *_TOML.without(applied(text, splices), (DEFAULT_PROFILE,)))

    changed = _edited(path, text, removed, f"[{PROFILES}.{written_name(name)}] removed by hand")
    return changed.rstrip("\r\n") + newline_of(text) if changed.strip() else ""


def with_default_profile(path: Path, text: str, name: str) -> str:
    """The text of the file with another `defaultProfile`.

    Raises:
        ConfigurationError: As for :func:`with_profile`.
    """
    by_hand = f"this by hand: {DEFAULT_PROFILE} = {written_value(name)}"
    return _edited(path, text, lambda: _TOML.with_value(text, (DEFAULT_PROFILE,), name), by_hand)


def _edited(path: Path, text: str, change: Callable[[], Iterable[Splice]], by_hand: str) -> str:
    try:
        _read(text)
    except UnusableTextError as error:
        raise ConfigurationError(str(path), error.got, error.expected) from None
    try:
        return applied(text, change())
    except UnusableTextError:
        raise ConfigurationError(str(path), "a form that is not changed by a program", by_hand) from None


def edit_file(path: Path, old: bytes, text: str) -> None:
    """Replaces the file at once, or leaves it as it is.

    Args:
        path: The file; it is made with its folder, readable by its owner alone, if it is not there.
        old: What it held when the change was prepared; empty for a file that was not there.

    Raises:
        FileChangedError: It holds something else by now.
        OSError: It cannot be written.
    """
    target = Path(os.path.realpath(path))  # the path may be a link to a file in another folder
    make_private_folder(target.parent)

    def check_unchanged(written: Path) -> None:
        with written.open("rb+") as file:
            os.fsync(file.fileno())
        is_there = target.is_file()
        if is_there:
            about = target.stat()
            if sys.platform != "win32":
                with suppress(PermissionError):  # root edits the file of a user, who goes on reading it
                    os.chown(written, about.st_uid, about.st_gid)
            written.chmod(about.st_mode & 0o777)
        if (target.read_bytes() if is_there else b"") != old:
            raise FileChangedError(path)

    with editing_alone(target):  # else another process could replace it between the check and our own replacement
        replace_file(target, text.encode(), check_unchanged)


@contextmanager
def editing_alone(path: Path) -> Iterator[None]:
    """Lets no other process of Partstream edit a file meanwhile.

    Raises:
        FileChangedError: Another process edits it for more than two seconds.
        OSError: There can be no file of a lock beside it.
    """
    ends = time.monotonic() + _EDITING_SECONDS
    while True:
        try:
            lock = FileLock(path.with_name(f".{path.name[:40]}.lock"))
            break
        except BlockingIOError:
            if time.monotonic() > ends:
                raise FileChangedError(path) from None
            time.sleep(_EDITING_PAUSE)
    try:
        yield
    finally:
        lock.remove()


_EDITING_SECONDS: Final = 2.0
_EDITING_PAUSE: Final = 0.01


# ---- TOML files ----

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_TABLE: Final = re.compile(r"[ \t]*\[")
_NOTHING: Final = re.compile(r"[ \t]*(#.*)?")
_VALUE: Final = r"""("(?:[^"\\]|\\.)*"|'[^']*'|[^\s#"'\[{][^\s#]*)(?=[ \t]*(?:#.*)?$)"""
"""A value that is on one line, whatever comment follows it."""


class TomlFile(FileForm):
    """TOML 1.0. A key of one name is one of the head, a longer one is a table of values."""

    def means(self, text: str, key: Key, value: Any) -> bool:  # noqa: D102
        return bool(_value(_read(text), key) == value)

    def with_value(self, text: str, key: Key, value: Any) -> tuple[Splice, ...]:  # noqa: D102
        (written,) = self._written(text, key, value)
        splices = self.with_written(text, key, written)
        wanted = _changed(_read(text), key, value)
        if len(key) == 1 and not _makes(text, splices, wanted):
            splices = (Splice(0, "", f"{written_name(key[0])} = {written}{newline_of(text)}"),)
        return _checked(text, splices, wanted, written)

    def _place(self, text: str, key: Key) -> tuple[int, int] | None:
        return None if _value(_read(text), key) is None else _place(text, key)

    def _written(self, text: str, key: Key, value: Any) -> tuple[str, ...]:
        is_table = isinstance(value, dict)
        return (_written_table(key, value).replace("\n", newline_of(text)) if is_table else written_value(value),)

    def _added(self, text: str, key: Key, written: str) -> Splice:
        newline = newline_of(text)
        if len(key) > 1:
            gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
            return Splice(len(text), "", gap + written)
        # A new line of the head: after its last key, before the comments of the first table.
        lines = text.splitlines(keepends=True)
        head = next((number for number, one in enumerate(lines) if _TABLE.match(one)), len(lines))
        while head and _NOTHING.fullmatch(lines[head - 1].rstrip("\r\n")):
            head -= 1
        at = sum(map(len, lines[:head]))
        before = "" if not at or text[:at].endswith("\n") else newline
        after = newline if at == 0 and text.strip() else ""
        return Splice(at, "", f"{before}{written_name(key[0])} = {written}{newline}{after}")

    def without(self, text: str, key: Key) -> tuple[Splice, ...]:  # noqa: D102
        new, splices = text, []
        while _value(_read(new), key) is not None:  # the tables in a table may be apart from it
            start, end = _place(new, key)
            if len(key) == 1:
                start = new.rfind("\n", 0, start) + 1
                end = new.find("\n", end) + 1 or len(new)
            else:
                before = new[:start].rstrip("\r\n")
                start = len(before) + len(newline_of(text)) if before else 0
            splices.append(Splice(start, new[start:end], ""))
            new = new[:start] + new[end:]
        return _checked(text, tuple(splices), _changed(_read(text), key, None), "") if splices else ()


def _read(text: str) -> dict[str, Any]:
    try:
        return loads_toml(text)
    except ValueError as error:  # of TOML, and of a number with more digits than Python reads
        raise UnusableTextError(f"invalid TOML: {error}", "TOML 1.0 in UTF-8") from None


def _value(document: Mapping[str, Any], key: Key) -> Any:
    value: Any = document
    for name in key:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _changed(document: dict[str, Any], key: Key, value: Any) -> dict[str, Any]:
    """The document with a value for a key; without the key, and the tables that are empty then, for None."""
    name, *rest = key
    inner = document.get(name)
    new = _changed(inner if isinstance(inner, dict) else {}, tuple(rest), value) if rest else value
    others = {one: kept for one, kept in document.items() if one != name}
    return others if new is None or (rest and not new) else {**document, name: new}


def _checked(text: str, splices: tuple[Splice, ...], wanted: dict[str, Any], written: str) -> tuple[Splice, ...]:
    """The changes, if they make what is wanted; they make something else where the text has an unusual form."""
    if _makes(text, splices, wanted):
        return splices
    raise UnusableTextError("a form that is not changed by a program", f"this by hand:\n{written}".rstrip("\n"))


def _makes(text: str, splices: tuple[Splice, ...], wanted: dict[str, Any]) -> bool:
    try:
        return loads_toml(applied(text, splices)) == wanted
    except ValueError:
        return False


def _place(text: str, key: Key) -> tuple[int, int]:
    """Where the value of a key of the head is, or the lines of a table; an error for a form that is not changed."""
    if len(key) == 1:
        head = re.search(r"^[ \t]*\[", text, re.MULTILINE)
        own = re.compile(rf"^[ \t]*{_key_pattern(key[0])}[ \t]*=[ \t]*{_VALUE}", re.MULTILINE)
        found = own.search(text.replace("\r\n", " \n"), 0, len(text) if head is None else head.start())
        if found is not None:
            return found.span(1)
    else:
        lines = text.splitlines(keepends=True)
        own = re.compile(r"[ \t]*\[[ \t]*" + r"[ \t]*\.[ \t]*".join(map(_key_pattern, key)) + r"[ \t]*(\.|\])")
        start = next((number for number, line in enumerate(lines) if own.match(line)), None)
        if start is not None:
            others = (n for n in range(start, len(lines)) if _TABLE.match(lines[n]) and not own.match(lines[n]))
            end = next(others, len(lines))
            while _NOTHING.fullmatch(lines[end - 1].rstrip("\r\n")):
                end -= 1
            return sum(map(len, lines[:start])), sum(map(len, lines[:end]))
    raise UnusableTextError(f"{'.'.join(key)} in a form that is not changed by a program", "that it is removed by hand")


def _key_pattern(name: str) -> str:
    return rf"(?:{re.escape(name)}|{re.escape(written_value(name))}|'{re.escape(name)}')"


def written_name(name: str) -> str:
    """A name of a key or a table in TOML, in quotes where it needs them."""
    return name if _BARE.fullmatch(name) else written_value(name)


def _written_table(key: Key, values: Mapping[str, Any]) -> str:
    """A table in TOML; the tables in it are written in one line each."""
    lines = (f"{written_name(name)} = {written_value(one)}\n" for name, one in values.items())
    return f"[{'.'.join(map(written_name, key))}]\n{''.join(lines)}"


def written_value(value: Any) -> str:
    """A value in TOML, whose texts and numbers are written as in JSON; JSON alone leaves U+007F as it is."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{written_name(name)} = {written_value(one)}" for name, one in value.items()) + " }"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(written_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


_TOML: Final = TomlFile()

# ---- Key keeping ----

KEYRING_SERVICE: Final = "partstream"
"""The service of our entries; the user of an entry is the name of a profile."""

_NO_KEYRINGS: Final = frozenset({"keyring.backends.fail", "keyring.backends.null"})
"""The backends that the package has where there is no keyring."""


class KeyNotKeptError(CallerError):
    """The keyring did not take a key; the message holds nothing of it."""

    def __init__(self, entry: str, got: str, expected: str) -> None:
        super().__init__(f"the key was not kept in {entry}: got {got}, expected {expected}")
        self.entry = entry
        self.got = got  # what the keyring did
        self.expected = expected  # what would help


def keyring_fault() -> str:
    """Why no key can be kept in a keyring here, as a clause; empty where it seems to work."""
    try:
        keyring = import_module("keyring")
    except ImportError:
        return "this Python has no package `keyring` (`pip install keyring`)"
    except Exception as error:
        return f"the package `keyring` cannot be loaded ({type(error).__name__})"
    try:
        backend = type(keyring.get_keyring()).__module__
    except Exception as error:
        return f"the keyring cannot be opened ({type(error).__name__})"
    return "this system has no keyring that the package `keyring` knows" if backend in _NO_KEYRINGS else ""


@dataclass(frozen=True, slots=True)
class _Keys(ABC):
    """A place of keys, which is asked as the package `keyring` is; each method raises a :class:`KeyNotKeptError` where
    the place does not do it."""

    user: str  # the name of the profile

    async def keep(self, key: Secret) -> Secret | None:
        """Keeps a key; gives the one that stood there before, for :meth:`put_back`, or None if there was none."""
        before = await self._call("get_password")
        await self._call("set_password", key.reveal())
        return Secret(before) if before else None

    async def put_back(self, before: Secret | None) -> None:
        """Undoes :meth:`keep`."""
        await (self._call("delete_password") if before is None else self._call("set_password", before.reveal()))

    async def remove(self) -> bool:
        """Removes the key; whether there was one."""
        is_there = await self._call("get_password") is not None
        if is_there:
            await self._call("delete_password")
        return is_there

    @abstractmethod
    async def _call(self, name: str, *arguments: str) -> str | None: ...


@dataclass(frozen=True, slots=True)
class KeyringEntry(_Keys):
    """An entry of the keyring, of the service `KEYRING_SERVICE`."""

    name: ClassVar = "apiKeyKeyring"
    """The setting that names it."""

    @property
    def setting(self) -> str:
        """The value of that setting."""
        return f"{KEYRING_SERVICE}/{self.user}"

    @property
    def shown(self) -> str:
        """Where it is, for people."""
        return f"the keyring, as {self.setting}"

    async def _call(self, name: str, *arguments: str) -> str | None:
        given, failure = await ask_keyring(name, KEYRING_SERVICE, self.user, *arguments)
        if failure:
            entry = f"the keyring's entry {shown_name(self.setting)}"
            raise KeyNotKeptError(entry, keyring_fault() or failure, "a keyring that is open")
        return given


@dataclass(frozen=True, slots=True)
class KeyFile(_Keys):
    """A file in the data folder that holds a key, readable for the user alone; it has the name of the profile."""

    name: ClassVar = "apiKeyFile"
    """The setting that names it."""

    @property
    def setting(self) -> str:
        """The value of that setting: the path."""
        return str(DATA.path().absolute() / "keys" / f"{self.user}.key")

    @property
    def shown(self) -> str:
        """Where it is, for people."""
        return f"the file {self.setting}, which you alone can read"

    async def _call(self, name: str, *arguments: str) -> str | None:
        path = Path(self.setting)
        try:
            if name == "get_password":
                return path.read_text(encoding="ascii") if path.is_file() else None
            if name == "set_password":  # the file is replaced at once; it is never readable for others
                make_private_folder(path.parent)
                replace_file(path, arguments[0].encode("ascii"))
            else:
                path.unlink(missing_ok=True)
        except (OSError, ValueError) as error:
            got = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
            raise KeyNotKeptError(f"the file {path}", got, "a folder that can be written") from None
        return None


KeyPlace: TypeAlias = KeyringEntry | KeyFile

# ---- Adding ----

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}", re.ASCII)


@dataclass(frozen=True, slots=True)
class UserConfigurationFile:
    """The user's file as it was read."""

    path: Path  # the file, whether it exists or not
    content: bytes = field(repr=False)  # its bytes; empty if it does not exist; it may hold a key
    profiles: tuple[str, ...]  # the names of its profiles
    has_upstream: bool  # whether it names an upstream for commands that name none


@dataclass(frozen=True, slots=True)
class Addition:
    """A profile that is to be added."""

    name: str
    settings: Mapping[str, Any]  # by name, as TOML holds them; no key is among them
    key: Secret | None = None  # the key to be kept, or None
    entry: KeyPlace | None = None  # where it is kept, or None
    is_default: bool = False  # whether it becomes the `defaultProfile`


def read_user_file(path: Path) -> UserConfigurationFile:
    """The user's file.

    Raises:
        ConfigurationError: It cannot be read, or is no TOML.
    """
    document = read_document(path, must_exist=False)
    profiles = document.get(PROFILES, {})
    names = tuple(profiles) if isinstance(profiles, dict) else ()
    content = path.read_bytes() if path.is_file() else b""
    return UserConfigurationFile(
        path, content, names, bool(names) or bool({"baseUrl", DEFAULT_PROFILE} & document.keys())
    )


def check_profile_name(name: str, where: str) -> str:
    """A name for a new profile.

    Raises:
        ConfigurationError: It is hard to type, or may be a key.
    """
    if not _NAME.fullmatch(name) or shown_name(name) != name:
        raise ConfigurationError(where, shown_name(name), "letters, digits, dots, dashes and underscores, at most 40")
    return name


def free_name(wanted: str, taken: tuple[str, ...]) -> str:
    """A name that no profile has yet: the wanted one, or one with a number after it."""
    name = re.sub(r"[^a-z0-9._-]+", "-", wanted.lower()).strip("-._")[:36] or "server"
    numbered = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(one for one in numbered if one not in taken)


def trial_of(addition: Addition, environment: Mapping[str, str]) -> GatewayConfiguration:
    """The configuration that the profile will have, with its key, though nothing is kept yet.

    It is read as a group of VS Code is, which is as narrow a place as a profile: nothing that belongs to another
    upstream takes part.

    Raises:
        ConfigurationError: A setting is unusable.
    """
    settings = dict(addition.settings)
    if addition.key is not None and addition.entry is not None:
        settings.pop(addition.entry.name, None)
        settings["apiKey"] = addition.key.reveal()
    settings.pop("defaultModel", None)  # the trial of a server shows all its models
    return load_configuration(group=settings, environment=environment, may_lack_file=True).gateway()


async def keep(addition: Addition, file: UserConfigurationFile) -> None:
    """Keeps the key and writes the file; after a failure, and after Ctrl-C, both are as they were.

    Raises:
        ConfigurationError: The file has a form that is not changed by a program, or was changed meanwhile.
        KeyNotKeptError: The place of the key does not take it.
        OSError: The file cannot be written.
    """
    text = with_profile(file.path, file.content.decode(), addition.name, addition.settings)
    if addition.is_default:
        text = with_default_profile(file.path, text, addition.name)
    if addition.key is None or addition.entry is None:
        edit_file(file.path, file.content, text)
        return
    make_private_folder(file.path.parent)
    with editing_alone(file.path.with_suffix(".keys")):  # the lock of the file itself is for `edit_file`
        if (file.path.read_bytes() if file.path.is_file() else b"") != file.content:
            raise FileChangedError(file.path)  # the key of this name may be that of who changed it
        before = await addition.entry.keep(addition.key)
        try:
            edit_file(file.path, file.content, text)
        except BaseException:  # Ctrl-C too
            await addition.entry.put_back(before)
            raise


async def remove(name: str, file: UserConfigurationFile) -> KeyPlace | None:
    """Removes a profile, and its key from the place where :func:`keep` has put it, unless another profile names that.

    Returns:
        The place from which the key was removed; None if there was none.

    Raises:
        ConfigurationError: The file has a form that is not changed by a program, or was changed meanwhile.
        KeyNotKeptError: The key cannot be removed; the profile is.
        OSError: The file cannot be written.
    """
    text = file.content.decode()
    edit_file(file.path, file.content, without_profile(file.path, text, name))
    document = loads_toml(text)
    others = (document, *(one for other, one in document[PROFILES].items() if other != name))
    own = document[PROFILES][name]
    places: tuple[KeyPlace, ...] = (KeyringEntry(name), KeyFile(name))
    entry = next((one for one in places if own.get(one.name) == one.setting), None)
    if entry is None or any(other.get(entry.name) == entry.setting for other in others):
        return None
    return entry if await entry.remove() else None
