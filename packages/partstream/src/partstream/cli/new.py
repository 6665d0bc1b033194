"""`partstream new`: writes a small project with a provider, its test and settings for VS Code."""

from __future__ import annotations
import json
import keyword
import re
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import click

from partstream.cli.program import program
from partstream.cli.provider_source import UnusableProviderError
from partstream.codec.checks import dataclass
from partstream.errors import CallerError
from partstream.plugins import MissingPackageError
from partstream.runtime.project_templates import TEMPLATES, Template, find_template, kept

_PROVIDER: Final = "provider.py.txt"
_SHARED: Final = {"README.md": "README.md.txt", "pyproject.toml": "pyproject.toml.txt", ".gitignore": "gitignore.txt"}
_TAKEN: Final = sys.stdlib_module_names | {"partstream", "partstream_agents", "partstream_devtools", "pytest", "mypy"}


class UnusableNameError(CallerError):
    """A project cannot have this name."""

    def __init__(self, name: str, expected: str) -> None:
        super().__init__(f"the name of the project: got {name!r}, expected {expected}")
        self.name = name
        self.expected = expected  # which names are possible


class FolderTakenError(CallerError):
    """The folder of a new project holds something already."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}: already exists, expected a new folder; nothing was written")
        self.folder = folder


@dataclass(frozen=True, slots=True)
class ProjectName:
    """The names of a project, made of the one that a person gave."""

    given: str  # the name as given, such as `my-model`
    module: str  # the name of its Python module, such as `my_model`
    title: str  # the name in the model picker, such as `My model`

    @classmethod
    def read(cls, given: str, template: Template) -> ProjectName:
        """The names; an UnusableNameError where one makes no module, or that of a module that the project needs."""
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*([-_ ][A-Za-z0-9]+)*", given):
            raise UnusableNameError(given, "letters, digits and single hyphens, a letter first, such as my-model")
        module = given.replace("-", "_").replace(" ", "_").lower()
        if keyword.iskeyword(module) or module in _TAKEN or module in template.modules:
            raise UnusableNameError(given, f"a name other than that of the module {module}, such as {module}-model")
        words = module.replace("_", " ")
        return cls(module.replace("_", "-"), module, words[0].upper() + words[1:])


def project_files(name: ProjectName, template: Template, *, python: str | None = None) -> Mapping[str, str]:
    """The files of a project by their paths below its folder, in the order in which they are read."""
    settings = {"partstream.providers": [f"{name.module}.py"]} | ({"partstream.python": python} if python else {})
    names = {
        "name": name.given,
        "module": name.module,
        "title": name.title,
        "says": template.says,
        "to_change": template.to_change.format(module=name.module),
        "packages": " ".join(f"CLONE/packages/{package}" for package in template.packages),
        "requirements": ", ".join(f'"{requirement}"' for requirement in template.requirements),
    }
    return {
        f"{name.module}.py": kept(f"{template.name}/{_PROVIDER}").substitute(names),
        f"test_{name.module}.py": kept(template.test).substitute(names),
        ".vscode/settings.json": json.dumps(settings, indent=2) + "\n",
        **{path: kept(file).substitute(names) for path, file in _SHARED.items()},
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


_NAMES = [name for template in TEMPLATES.values() for name in (template.name, *template.also_called)]
_LIST = "\n".join(f"  {template.name:<16} {template.says}" for template in TEMPLATES.values())


@click.command(
    short_help="Write a small project: a provider, its test, settings for VS Code.",
    epilog=f"\b\nWhat it can be made from:\n{_LIST}",
)
@click.argument("folder", metavar="NAME", type=click.Path(path_type=Path))
@click.option(
    "--from",
    "template_name",
    type=click.Choice(_NAMES),
    default="plain",
    show_default=True,
    metavar="KIND",
    help="What the provider is made from.",
)
def command(*, folder: Path, template_name: str) -> None:
    """Write a small project into the new folder NAME: a provider, its test, and settings for VS Code.

    The provider answers at once, offline where it has a framework's model; a comment says which line to change. Nothing
    is overwritten: a folder that holds something is refused with exit code 2.
    """
    template = find_template(template_name)
    assert template is not None  # noqa: S101 - for the type checker: click has checked it
    missing = [module for module in template.modules if find_spec(module) is None]
    # The Python that has the framework: the one that VS Code finds need not have it.
    python = sys.executable if template.modules and not missing else None
    try:
        name = ProjectName.read(folder.name, template)
        written = project_files(name, template, python=python)
        write_project(folder, written)
    except (CallerError, OSError) as error:
        raise UnusableProviderError(str(error)) from error
    for path in written:
        click.echo(f"wrote {folder / path}")
    for package in template.packages:
        if find_spec(package.replace("-", "_")) is None:
            file = f"test_{name.module}.py" if package == "partstream-devtools" else f"{name.module}.py"
            click.echo(f"\n{MissingPackageError(file, package)}")
    click.echo(f"\nTry it:\n  cd {folder}")
    if missing:
        packages = " ".join(f'"{requirement}"' for requirement in template.requirements)
        click.echo(f"  python -m pip install {packages}")
    click.echo(f"  {program(here=False)} chat --provider {name.module}.py")
