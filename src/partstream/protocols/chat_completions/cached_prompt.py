"""A request of Chat Completions as the automatic cache of its servers sees it: every beginning is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.protocols.cached_prompt import OPENAI_RULE, CachedPrompt, listed_blocks

if TYPE_CHECKING:
    from partstream.protocols.protocol import WireRequest

__all__ = ["cached_prompt"]


def cached_prompt(request: WireRequest) -> CachedPrompt:
    """The blocks of a request, as far as it has the form of one."""
    blocks = listed_blocks(request.body, ("tools", "messages"))
    return CachedPrompt(blocks, OPENAI_RULE, str(request.body.get("model") or ""))
