"""Which field of a line of Ollama is a piece of which text; calls and images come whole."""

from __future__ import annotations

from typing import Final

from partstream.protocols.fragments import Fragment, fragments

__all__ = ["FRAGMENTS"]

FRAGMENTS: Final[tuple[Fragment, ...]] = fragments(("",), "message.content message.thinking response thinking")
