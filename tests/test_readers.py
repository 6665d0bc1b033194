"""How many files a reader opens for a change, where that can be counted (CONTRIBUTING, "A change has a place")."""

from __future__ import annotations
import ast
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

import partstream
from partstream.cli import COMMANDS
from partstream.plugins import COMMANDS as ADDED_COMMANDS
from partstream.plugins import find
from partstream.protocols.chat_completions.models import SERVER_QUIRKS
from rows import one_test_for

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(partstream.__file__).parent
PROJECT = Path(__file__).resolve().parents[1]
WIRE = PACKAGE / "protocols/chat_completions"


@cache
def _literals(path: Path) -> frozenset[str]:
    """The strings of a module that are no docstrings."""
    tree = ast.parse(path.read_bytes())
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return frozenset(
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
    )


@one_test_for("server", SERVER_QUIRKS)
def test_a_server_with_a_quirk_is_in_three_modules_at_most(server: str) -> None:
    """Its row among all servers, its address on this wire, and its quirk."""
    modules = [*sorted(WIRE.glob("*.py")), PACKAGE / "settings/known_servers.py"]
    named = {path.name for path in modules if server in _literals(path)}
    assert "models.py" in named
    assert named <= {"__init__.py", "models.py", "known_servers.py"}


def _rows_of_settings() -> Iterator[tuple[str, str]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            is_row = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Setting"
            if is_row and node.args and isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value), path.relative_to(PACKAGE).as_posix()


def test_a_setting_has_its_row_in_one_module() -> None:
    """The schema, the manifest, the documentation and the TypeScript are made of it; a wire may have one of its own."""
    common = {(name, module) for name, module in _rows_of_settings() if not module.startswith("protocols/")}
    assert len(common) > 40
    assert len(common) == len({name for name, _ in common})


@one_test_for("name", set(COMMANDS) - {"sidecar"})
def test_a_command_is_a_module_a_row_and_a_line_of_the_documentation(name: str) -> None:
    home, says = COMMANDS[name]
    command = import_module(home).command if "." in home else find(ADDED_COMMANDS, name)
    assert isinstance(command, click.Command)
    assert says.endswith(".")
    assert f"| `partstream {name}" in (PROJECT / "docs/command-line.md").read_text(encoding="utf-8")
