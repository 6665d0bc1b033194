"""A row of docs/servers.md for each real server that was run here: what results.json holds, and how runs change it.

`results.json` is a list of objects, one a server, in the order of their names:

    {"name": "llama.cpp", "version": "b11434", "date": "2026-11-29", "address": "http://127.0.0.1:8080/v1",
     "tried": ["chat", "tools"], "works": ["chat"], "known_issues": ["a template that names no tools gets none"]}

`works` is a part of `tried`. A known issue says what a user of that server meets, and where it can be helped. A run
replaces the rows of the servers that it started, and leaves the others as they are.
"""

from __future__ import annotations
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["RESULTS", "RealServer", "keep", "kept"]

RESULTS: Final = Path(__file__).resolve().parent / "results.json"


@dataclass(frozen=True, slots=True)
class RealServer:
    """What a run showed of one server.

    Attributes:
        name: Of the server; with what stands between it and the model, as "LiteLLM before llama.cpp".
        version: Of the server, and of what it was built from where that is another number.
        date: Of the run, as ISO 8601 has it.
        address: The base URL that a user writes, with the server's usual port.
        tried: The names of what was tried, in order.
        works: Those of them that worked.
        known_issues: Sentences on what does not, without a full stop.

    Raises:
        ValueError: Something works that was not tried.
    """

    name: str
    version: str
    date: str
    address: str
    tried: tuple[str, ...]
    works: tuple[str, ...]
    known_issues: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Checks that only what was tried works."""
        if odd := [one for one in self.works if one not in self.tried]:
            raise ValueError(f"{self.name}: {', '.join(odd)} works, but was not tried")


def kept(path: Path = RESULTS) -> list[RealServer]:
    """The rows of the file, in its order.

    Raises:
        KeyError: A row has no list of what was tried, of what works or of known issues.
        TypeError: A row lacks something else, or has something more.
        ValueError: Something works that was not tried.
    """
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    lists = ("tried", "works", "known_issues")
    made: list[dict[str, Any]] = [row | {name: tuple(row[name]) for name in lists} for row in rows]
    return [RealServer(**row) for row in made]


def keep(rows: Iterable[RealServer], path: Path = RESULTS) -> None:
    """Replaces the rows of these servers, and writes the file."""
    every = {row.name: row for row in (*kept(path), *rows)}
    content = [asdict(every[name]) for name in sorted(every, key=str.lower)]
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
