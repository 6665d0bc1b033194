"""Follows a tutorial: does what each block says, in order, and compares what the page shows with what was printed."""

from __future__ import annotations
import re
from contextlib import ExitStack
from typing import TYPE_CHECKING

from newcomer import Newcomer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from newcomer import Said
    from tools.docs_site.code_blocks import Block

ANYTHING = "…"
"""In what a page shows: any text, and as a line of its own any number of lines."""
PORT = re.compile(r"(?:127\.0\.0\.1:|--port )(\d+)")


def faults(blocks: list[Block], folder: Path, commands: Path) -> Iterator[str]:
    """What is otherwise than the page says, each with the line of its block.

    Args:
        blocks: The blocks of the page.
        folder: The empty home of the reader.
        commands: The folder of the commands of the reader's Python environment.
    """
    ports = {port for block in blocks for port in PORT.findall(block.code)}
    newcomer = Newcomer(folder, sorted(ports), commands)
    with ExitStack() as servers:
        said: Said | None = None
        for block in blocks:
            if name := block.marks.get("saved as"):
                newcomer.write(name, block.code)
            elif "kept running" in block.marks:
                servers.enter_context(newcomer.running(block.code.strip()))
            elif block.language == "sh":
                said = newcomer.run(block.code)
                if said.code != int(block.marks.get("exit code", "0")):
                    yield f"{block.place}: the exit code is {said.code}, after\n{said.text}"
            elif block.language == "text" and said is not None:
                if not shows(block.code, said.text):
                    yield f"{block.place}: this was printed:\n{said.text}"
                said = None
            else:
                yield f"{block.place}: a reader can neither type nor save it, and no command has printed it"


def shows(page: str, printed: str) -> bool:
    """Whether a page shows what was printed, but for spaces at the ends of lines."""
    lines = [re.escape(line.rstrip()).replace(re.escape(ANYTHING), ".*") for line in page.splitlines()]
    pattern = "".join(r"(?:.*\n)*?" if line == ".*" else f"{line}\n" for line in lines)
    said = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
    return re.fullmatch(pattern, said) is not None
