"""Citations of one response, rendered the way the options say; knows no event but the annotation object.

OpenResponses has `url_citation`; OpenAI also sends citations of files, which have no address to link to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from partstream.parts import DataPart, TextPart
from partstream.protocols.openresponses.fields import Wire, identifier, index
from partstream.streams import CitationMode, StreamOutput, Unmapped

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.protocols.openresponses.streamed_text import StreamedText

__all__ = ["Citations"]

_MIME_TYPE: Final = "application/vnd.vscode.citation+json"
_LINKED_SCHEMES: Final = frozenset({"http", "https"})


class Citations:
    """Renders each citation once."""

    __slots__ = ("_links", "_render", "_seen")

    def __init__(self, mode: CitationMode) -> None:
        self._render: Callable[[Wire, StreamedText], list[StreamOutput]] = {
            CitationMode.INLINE: self._inline,
            CitationMode.DATA: self._data,
            CitationMode.END: self._collect,
            CitationMode.OFF: self._nothing,
        }[mode]
        self._links: dict[str, str] = {}
        self._seen: set[tuple[Any, ...]] = set()

    def render(self, annotation: Wire, text: StreamedText) -> list[StreamOutput]:
        """What one annotation of `text` becomes where it arrives; closing events say annotations again."""
        key = (
            id(text),
            identifier(annotation, "type"),
            identifier(annotation, "url") or identifier(annotation, "file_id"),
            index(annotation, "start_index"),
            index(annotation, "end_index"),
            index(annotation, "index"),
        )
        if key in self._seen:
            return []
        self._seen.add(key)
        return self._render(annotation, text)

    def at_end(self) -> list[StreamOutput]:
        """The list of links at the end of the answer, if there is one to show."""
        if not self._links:
            return []
        lines = [f"{number}. {link}" for number, link in enumerate(self._links.values(), 1)]
        return [TextPart("\n\nSources:\n\n" + "\n".join(lines) + "\n")]

    def _inline(self, annotation: Wire, text: StreamedText) -> list[StreamOutput]:
        url = _linkable_url(annotation)
        if url is None:
            return [_unmapped(annotation)]
        if text.recently_said(annotation["url"]):
            return []  # the model wrote the link itself: recording openai-web-search-tool.1
        return [TextPart(" " + _link(annotation, url))]

    def _data(self, annotation: Wire, _text: StreamedText) -> list[StreamOutput]:
        return [DataPart.json(annotation, _MIME_TYPE)]

    def _collect(self, annotation: Wire, _text: StreamedText) -> list[StreamOutput]:
        url = _linkable_url(annotation)
        if url is None:
            return [_unmapped(annotation)]
        self._links.setdefault(url, _link(annotation, url))
        return []

    def _nothing(self, _annotation: Wire, _text: StreamedText) -> list[StreamOutput]:
        return []


def _linkable_url(annotation: Wire) -> str | None:
    url = identifier(annotation, "url")
    if url is None:
        return None
    try:
        scheme = urlsplit(url).scheme
        return quote(url, safe="%/:?#[]@!$&'*+,;=~-._") if scheme in _LINKED_SCHEMES else None
    except ValueError:  # not a URL, or a lone surrogate in it
        return None


def _link(annotation: Wire, url: str) -> str:
    """A Markdown link; brackets and line ends in the title would end it early."""
    title = " ".join((identifier(annotation, "title") or urlsplit(url).netloc or url).split())
    escaped = title.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return f"[{escaped}]({url})"


def _unmapped(annotation: Wire) -> Unmapped:
    return Unmapped(f"annotation:{identifier(annotation, 'type') or 'unknown'}", annotation)
