"""Writes a project from a template, into a folder of its own."""

from __future__ import annotations

import json
import keyword
import re
import string
import sys
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from partstream.errors import CallerError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from partstream.cli.provider_source import Template

__all__ = [
    "FolderTakenError",
    "ProjectName",
    "UnusableNameError",
    "project_files",
    "provider_template",
    "write_project",
]

_PROVIDER: Final = "provider.py.txt"
_SHARED: Final = {"README.md": "README.md.txt", "pyproject.toml": "pyproject.toml.txt", ".gitignore": "gitignore.txt"}
_TAKEN: Final = sys.stdlib_module_names | {"partstream", "pytest", "mypy"}


class UnusableNameError(CallerError):
    """A project cannot have this name.

    Attributes:
        name: The name.
        expected: What names are of use.
    """

    def __init__(self, name: str, expected: str) -> None:
        super().__init__(f"the name of the project: got {name!r}, expected {expected}")
        self.name = name
        self.expected = expected


class FolderTakenError(CallerError):
    """The folder of a new project holds something already.

    Attributes:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}: got a folder or a file that is there already, expected none; nothing was written")
        self.folder = folder


@dataclass(frozen=True, slots=True)
class ProjectName:
    """The names of a project, made of the one that a person gave.

    Attributes:
        given: The name as given, such as `my-model`.
        module: The name of its Python module, such as `my_model`.
        title: The name in the model picker, such as `My model`.
    """

    given: str
    module: str
    title: str

    @classmethod
    def read(cls, given: str, template: Template) -> ProjectName:
        """The names.

        Raises:
            UnusableNameError: The name makes no module, or that of a module that the project needs.
        """
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*([-_ ][A-Za-z0-9]+)*", given):
            raise UnusableNameError(given, "letters, digits and single hyphens, a letter first, such as my-model")
        module = given.replace("-", "_").replace(" ", "_").lower()
        if keyword.iskeyword(module) or module in _TAKEN or module in template.modules:
            raise UnusableNameError(given, f"a name other than that of the module {module}, such as {module}-model")
        words = module.replace("_", " ")
        return cls(module.replace("_", "-"), module, words[0].upper() + words[1:])


def project_files(name: ProjectName, template: Template, *, python: str | None = None) -> Mapping[str, str]:
    """The files of a project by their paths below its folder, in the order in which they are read.

    Args:
        name: The project's names.
        template: What it is made from.
        python: The interpreter that VS Code shall run the provider with; None leaves that to VS Code.
    """
    settings: dict[str, object] = {"partstream.providers": [f"{name.module}.py"]}
    if python is not None:
        settings["partstream.python"] = python
    names = {
        "name": name.given,
        "module": name.module,
        "title": name.title,
        "says": template.says,
        "to_change": template.to_change.format(module=name.module),
        "requirements": ", ".join(f'"{requirement}"' for requirement in template.requirements),
    }
    shared = {path: _filled(file, names) for path, file in _SHARED.items()}
    return {
        f"{name.module}.py": _filled(f"{template.name}/{_PROVIDER}", names),
        f"test_{name.module}.py": _filled(template.test, names),
        ".vscode/settings.json": json.dumps(settings | ({"partstream.python": python} if python else {}), indent=2)
        + "\n",
        **shared,
    }


def write_project(folder: Path, written: Mapping[str, str]) -> None:
    """Writes the files into a folder that is not there yet, or is empty.

    Raises:
        FolderTakenError: It holds something; nothing is written then.
        OSError: The folder cannot be written to.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FolderTakenError(folder)
    for path, text in written.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8", newline="\n") as opened:
            opened.write(text)


def provider_template(template: Template) -> str:
    """The provider of a template as it is kept: `$title` and `$module` stand for the names."""
    return _template(f"{template.name}/{_PROVIDER}")


def _filled(file: str, names: Mapping[str, str]) -> str:
    return string.Template(_template(file)).substitute(names)


def _template(file: str) -> str:
    return files("partstream.projects").joinpath("templates", *file.split("/")).read_text(encoding="utf-8")
