"""Renders the sources that an answer cites as the options say; as data, they have one form for all protocols.

Knows no event and no protocol's fields. docs/contract.md describes the form.
"""

from __future__ import annotations
from collections.abc import Hashable, Mapping
from typing import Any, Final, NamedTuple, Protocol, TypeAlias
from urllib.parse import quote, unquote, urlsplit

from partstream.codec.json_codec import loads_or_none
from partstream.conversation.media import URI_LIST
from partstream.lm.outputs import CitationMode, FileMode, StreamOutput, Unmapped
from partstream.lm.parts import DataPart, ResponsePart, TextPart

CITATION_MIME_TYPE: Final = "application/vnd.vscode.citation+json"
"""The media type of the part that names a source, in :attr:`partstream.lm.outputs.CitationMode.DATA`."""

_LINKED_SCHEMES: Final = frozenset({"http", "https"})


class Citation(NamedTuple):
    """One cited source.

    Attributes:
        url: Its address as it came, or None for what has none, such as a file.
        title: What to call it, or None.
        name: What an :class:`partstream.lm.outputs.Unmapped` calls it where it cannot be shown.
        data: The protocol's own object, for an :class:`partstream.lm.outputs.Unmapped`.
        source_id: The protocol's identifier of the source, or None.
        filename: The name of a source that is a file, or None.
        media_type: The media type of a source that is a document, or None.
        start: The place in the text where its words begin, in characters from 0; or None.
        end: The place after these words, or None.
        cited_text: The words of the source that are cited, or None.
    """

    url: str | None
    title: str | None
    name: str
    data: Mapping[str, Any]
    source_id: str | None = None
    filename: str | None = None
    media_type: str | None = None
    start: int | None = None
    end: int | None = None
    cited_text: str | None = None

    @property
    def payload(self) -> dict[str, Any] | None:
        """The citation as JSON for programs; None if nothing identifies its source."""
        source_id = self.source_id or self.url
        if source_id is None:
            return None
        fields = {names[0]: getattr(self, field) for field, names in _SPELLINGS.items()} | {"sourceId": source_id}
        known = {name: value for name, value in fields.items() if value is not None}
        return {"type": "citation", "sourceType": "document" if self.url is None else "url", **known}


_SPELLINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "source_id": ("sourceId", "id", "file_id"),
    "url": ("url",),
    "title": ("title",),
    "filename": ("filename",),
    "media_type": ("mediaType",),
    "start": ("startIndex", "start_index"),
    "end": ("endIndex", "end_index"),
    "cited_text": ("citedText",),
}
"""The fields of a citation, each under the name that we give it and under those of programs that copy a protocol's."""


def read_citation(part: DataPart) -> Citation | None:
    """Reads the citation in a data part; returns None if the part holds none."""
    if part.mime_type != CITATION_MIME_TYPE:
        return None
    said = loads_or_none(part.data)
    if not isinstance(said, dict):
        return None
    found: dict[str, Any] = {}
    for field, names in _SPELLINGS.items():
        values = (said.get(name) for name in names)
        if field in {"start", "end"}:
            found[field] = next((value for value in values if type(value) is int and value >= 0), None)
        else:
            found[field] = next((value for value in values if isinstance(value, str) and value), None)
    citation = Citation(name="citation", data=said, **found)
    return None if citation.payload is None else citation


def annotation_of(source: Citation, length: int) -> dict[str, Any]:
    """A citation in OpenAI's words; without a position, it follows the text, which has `length` characters so far."""
    return {
        "type": "url_citation",
        "url": source.url,
        "title": source.title or "",
        "start_index": length if source.start is None else source.start,
        "end_index": length if source.end is None else source.end,
    }


class SaidBytes:
    """The text of an answer, for places in it as Google's wires count: in bytes of UTF-8."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._room = _MOST_PLACES

    def add(self, piece: str) -> int:
        """Adds the next piece; returns 0, see :attr:`partstream.lm.outputs.Repeated.note`."""
        self._pieces.append(piece)
        return 0

    def place(self, citation: Citation) -> tuple[int, int, str] | None:
        """The first byte of what a citation is about, the byte after it, and the words; None for a citation without a
        place in the text, and for those after the first thousand, because each place takes time with the text."""
        if citation.start is None or self._room == 0:
            return None
        self._room -= 1
        self._pieces = ["".join(self._pieces)]
        words = self._pieces[0][citation.start : citation.end]
        before = len(self._pieces[0][: citation.start].encode(errors="surrogatepass"))
        return (before, before + len(words.encode(errors="surrogatepass")), words) if words else None


_MOST_PLACES: Final = 1000


class SaidText(Protocol):
    """The text of an answer so far."""

    def recently_said(self, words: str) -> bool:
        """Whether its end holds `words`."""


_Rendered: TypeAlias = list[StreamOutput]


class Citations:
    """Renders each citation of one response once."""

    def __init__(self, mode: CitationMode) -> None:
        self.mode = mode
        self._links: dict[str, str] = {}
        self._seen: set[Hashable] = set()

    def render(self, citation: Citation, text: SaidText, key: Hashable) -> _Rendered:
        """What a citation of `text` becomes where it arrives; nothing the second time that its `key` comes."""
        if key in self._seen or self.mode is CitationMode.OFF:
            return []
        self._seen.add(key)
        payload = citation.payload if self.mode is CitationMode.DATA else None
        if payload is not None:
            return [DataPart.json(payload, CITATION_MIME_TYPE)]
        url = _linkable(citation.url)
        if citation.url is None or url is None or self.mode is CitationMode.DATA:
            return [Unmapped(citation.name, citation.data)]
        link = _link(url, citation.title)
        if self.mode is CitationMode.END:
            self._links.setdefault(url, link)
            return []
        # The model wrote the link itself: recording openai-web-search-tool.1
        return [] if text.recently_said(citation.url) else [TextPart(f" {link}")]

    def at_end(self) -> _Rendered:
        """The list of links at the end of the answer, if there is one to show."""
        if not self._links:
            return []
        lines = [f"{number}. {link}" for number, link in enumerate(self._links.values(), 1)]
        return [TextPart("\n\nSources:\n\n" + "\n".join(lines) + "\n")]


def _linkable(url: str | None) -> str | None:
    if url is None:
        return None
    try:
        scheme = urlsplit(url).scheme
        return quote(url, safe="%/:?#[]@!$&'*+,;=~-._") if scheme in _LINKED_SCHEMES else None
    except ValueError:  # not a URL, or a lone surrogate in it
        return None


def markdown_link(address: str, title: str | None) -> str | None:
    """A Markdown link to an `http` or `https` URL, or None for anything else.

    Args:
        address: The URL as it came.
        title: What to call it; None for the name of its host.
    """
    url = _linkable(address)
    return None if url is None else _link(url, title)


def _link(url: str, title: str | None) -> str:
    """A Markdown link; brackets and line ends in the title would end it early."""
    title = " ".join((title or urlsplit(url).netloc or url).split())
    escaped = title.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return f"[{escaped}]({url})"


def linked_file(address: str, mode: FileMode) -> ResponsePart | None:
    """The part for a file, or None for an address that no link can hold.

    A link is a paragraph of its own. It is no image: VS Code's chat shows none from other servers.
    """
    if mode is not FileMode.LINK:
        return DataPart.text(address, URI_LIST)
    try:
        name = unquote(urlsplit(address).path.rpartition("/")[2]) or None
    except ValueError:  # no URL after all
        return None
    link = markdown_link(address, name)
    return None if link is None else TextPart(f"\n\n{link}\n\n")
