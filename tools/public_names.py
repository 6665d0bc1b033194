"""Lists what users write: names of Python, commands with their options, settings, variables.

No name leaves the list by itself: one that is gone stays in the file until a person removes its line, and
tests/test_public_names.py says when that is right.
"""

from __future__ import annotations
import ast
import json
import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

import partstream
from partstream.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["NAMES", "current_names", "public_names", "public_stub"]

ROOT: Final = Path(__file__).resolve().parent.parent
NAMES: Final = ROOT / "tests" / "public_names.txt"


def public_names() -> str:
    """Returns the list: the names of before, and those of now."""
    before = NAMES.read_text(encoding="utf-8").splitlines() if NAMES.exists() else []
    return "\n".join(sorted({*filter(None, before), *current_names()})) + "\n"


def public_stub() -> str:
    """Returns `__init__.pyi` of the core: what type checkers read of the names that it imports late."""
    homes: dict[str, list[str]] = {}
    for name, module in partstream._MODULES.items():  # noqa: SLF001 - its own table
        homes.setdefault(module, []).append(name)
    lines = ["# Made by tools/generate.py of the table in __init__.py.", ""]
    for module, names in homes.items():
        lines += [f"from {module} import (", *(f"    {name} as {name}," for name in names), ")"]
    return "\n".join(lines) + "\n"


def current_names() -> set[str]:
    """Returns every name that a user can write now, each with its kind before it."""
    context = click.Context(main, info_name="partstream")
    return {*_python(), *_commands(main, context), *_variables(), *_extension()}


def _python() -> Iterator[str]:
    for path in ROOT.glob("packages/*/src/**/__init__.py"):
        module = ".".join(path.parent.parts[path.parts.index("src") + 1 :])
        for node in ast.parse(path.read_bytes()).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                yield from (f"python {module}.{name}" for name in import_module(module).__all__)


def _commands(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f"command {context.command_path}"
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            yield from (
                f"option {context.command_path} {name}" for name in (*parameter.opts, *parameter.secondary_opts)
            )
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                yield from _commands(inner, click.Context(inner, parent=context, info_name=name))


def _variables() -> Iterator[str]:
    for path in ROOT.glob("packages/*/src/**/*.py"):
        for name in re.findall(r"[\"'](PARTSTREAM_[A-Z][A-Z_]*[A-Z])[\"']", path.read_text(encoding="utf-8")):
            yield f"variable {name}"


def _extension() -> Iterator[str]:
    contributed = json.loads((ROOT / "extension" / "package.json").read_text(encoding="utf-8"))["contributes"]
    yield from (f"vscode command {one['command']}" for one in contributed["commands"])
    for section in contributed["configuration"]:
        yield from (f"vscode setting {name}" for name in section["properties"])
    for provider in contributed["languageModelChatProviders"]:
        yield from (f"setting {name}" for name in _properties(provider["configuration"]))


def _properties(schema: Mapping[str, Any]) -> Iterator[str]:
    """The settings of a group, also those that VS Code does not ask for; dots join a setting to one within it."""
    for part in (schema, *schema.get("allOf", ())):
        for name, inner in part.get("properties", {}).items():
            yield name
            yield from (f"{name}.{one}" for one in _properties(inner))
    yield from (one for part in schema.get("allOf", ()) for one in _properties({"allOf": part.get("allOf", ())}))
