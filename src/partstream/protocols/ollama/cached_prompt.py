"""A request as the cache of a local Ollama sees it: the beginning that its runner still holds is not computed again.

Nothing is paid for it, and the wire has no field for it: what counts is that tools and the beginning of the
conversation stay as they are (facts, "Prompt cache").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.protocols.cached_prompt import CachedPrompt, CacheRule, listed_blocks

if TYPE_CHECKING:
    from partstream.protocols.protocol import WireRequest

__all__ = ["cached_prompt"]

_RULE: Final = CacheRule(1, is_automatic=True, read_price=0.0)


def cached_prompt(request: WireRequest) -> CachedPrompt:
    """The blocks of a request, as far as it has the form of one."""
    blocks = listed_blocks(request.body, ("tools", "messages"))
    return CachedPrompt(blocks, _RULE, str(request.body.get("model") or ""))
