"""Text as code in Markdown, whatever marks it holds."""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["code_block", "inline_code"]


def code_block(value: Any) -> str:
    """A JSON value as a block of code in Markdown, whatever marks it holds."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    fence = _fence(text, at_least=3)
    return f"{fence}json\n{text}\n{fence}"


def inline_code(text: str) -> str:
    """A line as code in Markdown, whatever marks it holds (CommonMark 0.31 section 6.1)."""
    fence = _fence(text, at_least=1)
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _fence(text: str, at_least: int) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    return "`" * max(at_least, longest + 1)
