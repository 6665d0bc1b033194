"""Reads the sources of an answer in the four shapes of docs/wires/chat-completions.md#citations.

Servers repeat them in many chunks, and at places of the text that say nothing. So they are collected, and each is shown
once, behind the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.outputs import Unmapped
from partstream.protocols.citations import Citation, Citations
from partstream.protocols.read_response import Wire, identifier, index, mapping, objects

if TYPE_CHECKING:
    from partstream.outputs import CitationMode, StreamOutput
    from partstream.protocols.citations import CitedText

__all__ = ["Sources"]

_MOST: Final = 1000
"""Sources of one answer."""


class Sources:
    """The sources of one answer, by their addresses."""

    __slots__ = ("_citations", "_found", "_titles", "_unknown")

    def __init__(self, mode: CitationMode) -> None:
        self._citations = Citations(mode)
        self._found: dict[str, Citation] = {}
        self._titles: dict[str, str] = {}
        self._unknown: set[str] = set()

    def annotations(self, source: Wire, outputs: list[StreamOutput]) -> None:
        """Takes `annotations` of a delta or a message: OpenAI's search models, OpenRouter's plugin."""
        for annotation in objects(source, "annotations"):
            kind = identifier(annotation, "type") or "unknown"
            cited = mapping(annotation, kind) or annotation
            url = identifier(cited, "url")
            if url is None:
                self._count(f"annotation:{kind}", annotation, outputs)
                continue
            self._add(
                Citation(
                    url=url,
                    title=identifier(cited, "title"),
                    name=f"annotation:{kind}",
                    data=annotation,
                    start=index(cited, "start_index"),
                    end=index(cited, "end_index"),
                    cited_text=identifier(cited, "content"),
                )
            )

    def chunk(self, event: Wire) -> None:
        """Takes `citations` and `search_results` of a chunk: Perplexity, xAI, Zhipu."""
        for result in objects(event, "search_results"):
            url, title = identifier(result, "url"), identifier(result, "title")
            if url is not None and title is not None and len(self._titles) < _MOST:
                self._titles.setdefault(url, title)
        cited = event.get("citations")
        for one in cited if isinstance(cited, list) else ():
            url = one if isinstance(one, str) else identifier(one, "url")
            if url:
                self._add(Citation(url, identifier(one, "title"), "citations", {"url": url}))

    def hand_out(self, said: CitedText, outputs: list[StreamOutput]) -> None:
        """Shows all sources, each once."""
        for url, one in self._found.items():
            citation = one if one.title is not None else one._replace(title=self._titles.get(url))
            outputs += self._citations.render(citation, said, url)
        outputs += self._citations.at_end()
        self._found = {}

    def _add(self, citation: Citation) -> None:
        if citation.url is not None and len(self._found) < _MOST:
            self._found.setdefault(citation.url, citation)

    def _count(self, name: str, data: dict[str, Any], outputs: list[StreamOutput]) -> None:
        if name not in self._unknown:
            self._unknown.add(name)
            outputs.append(Unmapped(name, data))
