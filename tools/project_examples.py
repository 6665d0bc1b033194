"""The examples of projects: what `partstream new` writes from each template, so that `make check` checks it."""

from __future__ import annotations
from typing import TYPE_CHECKING

from partstream.cli.new import ProjectName, project_files
from partstream.runtime.project_templates import TEMPLATES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_FOLDER = "examples/projects"


def project_examples() -> Mapping[str, Callable[[], str]]:
    """The Python files of a project from each template, by their paths."""
    found: dict[str, str] = {}
    for template in TEMPLATES.values():
        written = project_files(ProjectName.read(f"{template.name}-example", template), template)
        found |= {f"{_FOLDER}/{template.name}/{path}": text for path, text in written.items() if path.endswith(".py")}
    return {path: (lambda text=text: text) for path, text in found.items()}
