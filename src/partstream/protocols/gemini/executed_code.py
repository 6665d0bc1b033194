"""Shows code that the server ran, and its output, as Markdown (docs/wires/gemini.md#code-and-images)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from partstream.protocols.read_response import text

if TYPE_CHECKING:
    from partstream.protocols.read_response import Wire

__all__ = ["shown_code", "shown_result"]

_TICKS: Final = re.compile(r"`{3,}")
_WORD: Final = re.compile(r"[A-Za-z0-9+#-]{1,30}")
_OUTCOMES: Final = {"OUTCOME_FAILED": "failed", "OUTCOME_DEADLINE_EXCEEDED": "took too long"}
_UNSPECIFIED: Final = "LANGUAGE_UNSPECIFIED"


def shown_code(code: Wire) -> str:
    """The block of an `executableCode`; empty where it holds no code."""
    language = text(code, "language")
    return _block(text(code, "code"), "" if language == _UNSPECIFIED else language.lower())


def shown_result(result: Wire) -> str:
    """The block of a `codeExecutionResult`, which says how it ended if not well; empty without anything to say."""
    ended = _OUTCOMES.get(text(result, "outcome"))
    said = "" if ended is None else f"\n\nThe code {ended}.\n\n"
    return said + _block(text(result, "output"), "text")


def _block(lines: str, language: str) -> str:
    if not lines:
        return ""
    fence = "`" * max([3, *(len(found) + 1 for found in _TICKS.findall(lines))])
    name = language if _WORD.fullmatch(language) else ""
    return f"\n\n{fence}{name}\n{lines.rstrip()}\n{fence}\n\n"
