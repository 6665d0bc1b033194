"""A document of HTML as a reader without a screen has it: elements, tables and text."""

from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class Document(HTMLParser):
    """The contents of a document.

    Attributes:
        elements: Every element: its tag and its attributes.
        tables: Every table: its rows, each with its cells as text.
        text: All text outside styles and scripts.
    """

    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    tables: list[list[list[str]]] = field(default_factory=list)
    text: str = ""
    _raw: bool = False
    _in_cell: bool = False

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._raw = tag in {"script", "style"}
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in {"td", "th"}:
            self.tables[-1][-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        self._raw = False
        if tag in {"td", "th"}:
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        if not self._raw:
            self.text += data
        if self._in_cell:
            self.tables[-1][-1][-1] += data


def read_html(html: str) -> Document:
    """The document, read to its end."""
    document = Document()
    document.feed(html)
    document.close()
    return document
