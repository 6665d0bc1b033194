"""Reads the annotations of OpenResponses; :mod:`partstream.protocols.citations` renders them.

OpenResponses has `url_citation`; OpenAI also sends citations of files, which have no address to link to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partstream.protocols.citations import Citation
from partstream.protocols.openresponses.fields import Wire, identifier, index

if TYPE_CHECKING:
    from partstream.protocols.citations import CitedText

__all__ = ["citation_of", "key_of"]


def citation_of(annotation: Wire) -> Citation:
    """The source that an annotation names."""
    return Citation(
        url=identifier(annotation, "url"),
        title=identifier(annotation, "title"),
        name=f"annotation:{identifier(annotation, 'type') or 'unknown'}",
        data=annotation,
        source_id=identifier(annotation, "file_id"),
        filename=identifier(annotation, "filename"),
        start=index(annotation, "start_index"),
        end=index(annotation, "end_index"),
    )


def key_of(annotation: Wire, text: CitedText) -> tuple[Any, ...]:
    """The key by which an annotation of `text` is recognized when closing events repeat it."""
    return (
        id(text),
        identifier(annotation, "type"),
        identifier(annotation, "url") or identifier(annotation, "file_id"),
        index(annotation, "start_index"),
        index(annotation, "end_index"),
        index(annotation, "index"),
    )
