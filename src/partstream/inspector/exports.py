"""Files that are made of a view, by the endings of their names; those of a bundle are in devtools/bundles/forms.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.inspector.otlp import otlp_json
from partstream.inspector.summary import summary_markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.devtools.inspector.shapes import View

__all__ = ["VIEW_EXPORTS"]

VIEW_EXPORTS: Final[Mapping[str, Callable[[View], bytes]]] = {".otlp.json": otlp_json, ".md": summary_markdown}
