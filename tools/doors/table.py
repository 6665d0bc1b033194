"""The doors of the README: which blocks of the pages lead through each, and what is seen at its end."""

from __future__ import annotations
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tools.docs_site.code_blocks import find_blocks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.docs_site.code_blocks import Block

__all__ = ["DOORS", "ROOT", "Door", "commands_in", "commands_of"]

ROOT: Final = Path(__file__).resolve().parents[2]
_PAGES: Final = ("README.md", "docs/install.md")


@dataclass(frozen=True, slots=True)
class Door:
    """A way from nothing to an answer.

    Attributes:
        name: The door's name in commands and results.
        title: What it leads to, for people.
        blocks: The names that the blocks of the pages have in their mark `door`, in the order in which they are typed.
        sees: A regular expression that what is seen at the end has to match.
        leaves_out: Commands of these blocks that do not belong to the door.
        programs: The programs that the pages say one has, besides Python, make and Git.
        by_hand: What goes on by hand in VS Code, a name in `extension/e2e/newcomer.js`; empty for nothing.
        opens: The folder that is opened there, from the one in which the shell is.
    """

    name: str
    title: str
    blocks: tuple[str, ...]
    sees: str
    leaves_out: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    by_hand: str = ""
    opens: str = "."


_SHOWN_BY_DEMO: Final = r"get_weather returned: 24 °C[\s\S]*3 rounds"
_SHOWN_BY_READER: Final = r"part: TextPart[\s\S]*completed"

DOORS: Final = (
    Door("demo", "A first look", ("demo",), _SHOWN_BY_DEMO),
    Door("uvx", "A first look, without installing", ("certificates", "uvx"), _SHOWN_BY_DEMO, programs=("uv", "uvx")),
    Door(
        "vscode", "Your server in VS Code", ("vscode",), "The Eiffel Tower is 330 metres high", (), ("code",), "server"
    ),
    Door(
        "provider",
        "Your Python in VS Code",
        ("vscode", "package", "provider"),
        "You said: hello",
        (),
        ("code",),
        "provider",
        "../my-model",
    ),
    Door("stream", "Your stream into parts", ("package", "stream"), _SHOWN_BY_READER),
    Door(
        "readme",
        "The README from top to bottom, in one shell",
        ("demo", "vscode", "package", "provider", "stream"),
        _SHOWN_BY_READER,
        leaves_out=("make vsix", "code --install-extension dist/partstream-*.vsix"),
    ),
    Door("packing", "The extension, without make", ("certificates", "environment", "packing"), r"partstream-\S+\.vsix"),
    Door("wheel", "On another machine", ("wheel", "environment", "elsewhere"), _SHOWN_BY_DEMO),
)


def commands_of(door: Door) -> list[str]:
    """The commands that the pages say for a door, in order, each without its comment.

    Raises:
        ValueError: No page has a block of this name, or a command that the door leaves out is in none.
    """
    blocks = _blocks()
    if missing := [name for name in door.blocks if name not in blocks]:
        raise ValueError(f"{door.name}: no page of {', '.join(_PAGES)} has a block marked {missing[0]!r}")
    commands = [command for name in door.blocks for command in blocks[name]]
    if unknown := set(door.leaves_out) - set(commands):
        raise ValueError(f"{door.name}: no block has the command {min(unknown)!r}, which the door leaves out")
    return [command for command in commands if command not in door.leaves_out]


def _blocks() -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for page in _PAGES:
        for block in find_blocks(page, (ROOT / page).read_text(encoding="utf-8")):
            if "door" in block.marks:
                found[block.marks["door"]] = commands_in(block)
    return found


def commands_in(block: Block) -> list[str]:
    """The commands of a block, each without its comment."""
    return [one for line in block.code.splitlines() if (one := _bare(line))]


def _bare(line: str) -> str:
    """A command without its comment, as it was written."""
    words = shlex.split(line, comments=True)
    return line.split("  #", 1)[0].strip() if words else ""
