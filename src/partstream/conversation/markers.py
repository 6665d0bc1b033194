"""The host's marks among the parts: data parts for programs, which never belong in a prompt.

A mark is recognised by its media type alone; :mod:`partstream.conversation.state_marker` reads the one kind whose
contents matter. Source: Copilot 0.67, `CustomDataPartMimeTypes`.
"""

from __future__ import annotations

from typing import Final

from partstream.codec.text import bare_media_type
from partstream.usage import USAGE_MIME_TYPE

__all__ = ["KNOWN_MARKS", "STATEFUL_MARKER_MIME_TYPE", "is_mark"]

STATEFUL_MARKER_MIME_TYPE: Final = "stateful_marker"

KNOWN_MARKS: Final = frozenset(
    {
        "cache_control",
        STATEFUL_MARKER_MIME_TYPE,
        USAGE_MIME_TYPE,
        "thinking",
        "context_management",
        "phase_data",
        "application/vnd.vscode.citation+json",  # our own, with citations as data
        "application/vnd.partstream.activity+json",  # our own, what an agent does by itself
    }
)
"""Marks that are not logged."""

_DOCUMENTS: Final = (
    "application/vnd.openxmlformats-officedocument.",
    "application/vnd.oasis.opendocument.",
    "application/vnd.ms-",
)
"""Media types of the vendor tree that a person attaches."""

_FOR_PROGRAMS: Final = (
    "application/vnd.vscode.",
    "application/vnd.code.",
    "application/vnd.github.copilot.",
    "application/vnd.partstream.",
)
"""Media types of the host and of our own, whatever their suffix."""


def is_mark(mime_type: str) -> bool:
    """Whether a data part of this type is for programs.

    A media type has a slash; Copilot's own names have none. In the vendor tree (RFC 6838, 3.2), only documents and
    JSON are for models.
    """
    label = bare_media_type(mime_type)
    if "/" not in label or label in KNOWN_MARKS or label.startswith(_FOR_PROGRAMS):
        return True
    return label.startswith("application/vnd.") and not (label.startswith(_DOCUMENTS) or label.endswith("+json"))
