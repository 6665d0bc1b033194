"""What is known of a client: what it is called, which wires it speaks, and what it has to be told of a server."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from partstream.client_settings.server import TokenPlace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.client_settings.server import Server
    from partstream.codec.settings_files import FileForm, Key

__all__ = ["Client", "ClientSettingsFile", "FileSettings", "Program", "Settings"]


@dataclass(frozen=True, slots=True)
class ClientSettingsFile:
    """A file in which a client keeps the settings of its user.

    Attributes:
        folder: Its folder in the home of the user.
        names: Its names, of which the first that exists counts, else the first.
        variable: The environment variable that names another folder, or empty.
        mac: The folder on macOS, if it is another one.
    """

    folder: str
    names: tuple[str, ...]
    variable: str = ""
    mac: str = ""

    def path(self, environment: Mapping[str, str]) -> Path:
        """Where it is, whether it exists or not."""
        named = environment.get(self.variable, "") if self.variable else ""
        usual = self.mac if self.mac and sys.platform == "darwin" else self.folder
        folder = Path(named) if named else Path.home() / usual
        return next((folder / name for name in self.names if (folder / name).is_file()), folder / self.names[0])


@dataclass(frozen=True, slots=True)
class FileSettings:
    """Values for a file.

    Attributes:
        file: The file.
        form: Its form.
        values: The values by their keys; a longer key is an object or a table around the value.
    """

    file: ClientSettingsFile
    form: FileForm
    values: Mapping[Key, Any]


@dataclass(frozen=True, slots=True)
class Program:
    """What a program says to a library.

    Attributes:
        language: The name of the language, as blocks of code in Markdown have it.
        text: The lines.
    """

    language: str
    text: str


@dataclass(frozen=True, slots=True)
class Settings:
    """What a client has to be told.

    Attributes:
        files: Values for its own files.
        environment: Environment variables, by name; a place of the token stands for the token.
        is_environment_enough: Whether the variables do without the files.
        program: What a program says, for a library that needs more than variables.
    """

    files: tuple[FileSettings, ...] = ()
    environment: Mapping[str, str | TokenPlace] = field(default_factory=lambda: MappingProxyType({}))
    is_environment_enough: bool = False
    program: Program | None = None

    def exports(self) -> list[str]:
        """The variables as lines of a POSIX shell."""
        return [
            f"export {name}={value.in_shell if isinstance(value, TokenPlace) else shlex.quote(value)}"
            for name, value in self.environment.items()
        ]


@dataclass(frozen=True, slots=True)
class Client:
    """A client.

    Attributes:
        name: What `partstream connect` calls it.
        title: What its makers call it.
        package: Where it is had, such as `npm: @openai/codex`.
        wires: The wires that it speaks, by words of people; the first is taken unless another is asked for.
        settings: Gives what it has to be told of a server, over one of these wires.
        run: The words of the command that starts it, with `{model}` for the model; none for a library.
        notes: What a person has to know, in sentences.
    """

    name: str
    title: str
    package: str
    wires: tuple[str, ...]
    settings: Callable[[Server, str], Settings]
    run: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
