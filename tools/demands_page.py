"""Makes the page of demands: what each sentence of the five documents became, and what shows it.

The rows are in tools/demands, one file a document. `tests/test_demands.py` checks that what they name exists.
"""

from __future__ import annotations
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Demand", "Document", "demands_page", "documents"]

FOLDER: Final = Path(__file__).resolve().parent / "demands"
ORDER: Final = ("semantics", "state_machine", "streaming_adapter", "feature_mapping", "provider_api")

_HEAD: Final = """\
# What the documents demand, and what shows it

<!-- Made by tools/generate.py from tools/demands. Change it there. -->

Five documents say what Partstream is. Each row below is one of their demands. *Built* means that the tests of the row
show it. *Decided otherwise* means that the page of the row gives the reason for something else; tests show what was
built in its place. Every test that a row names exists, and the tests run with `make check`.

"""


_ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Demand:
    """One demand of a document.

    Attributes:
        section: Where the document states it.
        text: What it demands.
        tests: What shows it: `path::name` of a test, or the path of a file of tests, from the root of the project.
        decisions: The pages, with their anchors, that say why something else was built.
    """

    section: str
    text: str
    tests: tuple[str, ...]
    decisions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A document and its demands."""

    title: str
    name: str
    demands: tuple[Demand, ...]


def documents() -> Iterator[Document]:
    """The documents in the order of the page."""
    for name in ORDER:
        read = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
        yield Document(read["title"], read["document"], tuple(_demand(*row) for row in read["rows"]))


def demands_page() -> str:
    """The page in Markdown."""
    return _HEAD + "\n".join(_section(document) for document in documents())


def _demand(section: str, text: str, *evidence: str) -> Demand:
    decisions = tuple(one for one in evidence if one.startswith("docs/"))
    return Demand(section, text, tuple(_test(one) for one in evidence if one not in decisions), decisions)


def _test(named: str) -> str:
    """A test as pytest and Node name it: rows leave out what all tests of Python have in common."""
    if named.startswith("extension/"):
        return named
    path, separator, name = named.partition("::")
    folders = [*sorted(_ROOT.glob("packages/*/tests")), _ROOT / "tests"]
    folder = next((one for one in folders if (one / path).is_file()), _ROOT / "tests")
    return f"{(folder / path).relative_to(_ROOT).as_posix()}{separator}{'test_' if name else ''}{name}"


def _section(document: Document) -> str:
    changed = sum(bool(demand.decisions) for demand in document.demands)
    built = len(document.demands) - changed
    lines = [
        f"## {document.title}\n",
        f"`{document.name}`: {len(document.demands)} demands, {built} built, {changed} decided otherwise.\n",
        "| section | demand | | shown by |",
        "|---|---|---|---|",
        *(_row(demand) for demand in document.demands),
    ]
    return "\n".join(lines) + "\n"


def _row(demand: Demand) -> str:
    verdict = "decided otherwise" if demand.decisions else "built"
    pages = [f"[{_label(page)}](../{page.removeprefix('docs/')})" for page in demand.decisions]
    shown = "<br>".join([*pages, *(f"`{test}`" for test in demand.tests)])
    return f"| {demand.section} | {demand.text} | {verdict} | {shown} |"


def _label(page: str) -> str:
    """What a link to a page is called: its anchor, or its name."""
    path, _, anchor = page.partition("#")
    return anchor.replace("-", " ") if anchor else Path(path).stem.replace("-", " ")
