"""`partstream new`: writes a small project with a provider, its test and settings for VS Code."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import click

from partstream.cli.terminal import ExitCode, program
from partstream.errors import CallerError
from partstream.projects import TEMPLATES, ProjectName, find_template, project_files, write_project

__all__ = ["command"]

_NAMES = [name for template in TEMPLATES.values() for name in (template.name, *template.also_called)]
_LIST = "\n".join(f"  {template.name:<16} {template.says}" for template in TEMPLATES.values())


class UnusableProjectError(click.ClickException):
    """The project cannot be written; the exit code is 2, as for wrong options."""

    exit_code = ExitCode.UNUSABLE


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
        raise UnusableProjectError(str(error)) from error
    for path in written:
        click.echo(f"wrote {folder / path}")
    click.echo("\nTry it:")
    click.echo(f"  cd {folder}")
    if missing:
        packages = " ".join(f'"{requirement}"' for requirement in template.requirements)
        click.echo(f"  python -m pip install {packages}")
    click.echo(f"  {program(here=False)} chat --provider {name.module}.py")
