"""What `partstream new` writes: a small project with a provider, its test and the settings for VS Code."""

from __future__ import annotations

from partstream.cli.provider_source import TEMPLATES, Template, find_template
from partstream.projects.writing import (
    FolderTakenError,
    ProjectName,
    UnusableNameError,
    project_files,
    provider_template,
    write_project,
)

__all__ = [
    "TEMPLATES",
    "FolderTakenError",
    "ProjectName",
    "Template",
    "UnusableNameError",
    "find_template",
    "project_files",
    "provider_template",
    "write_project",
]
