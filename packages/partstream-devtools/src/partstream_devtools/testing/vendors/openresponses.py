"""The servers of OpenResponses: their automatic cache, which keeps every beginning of tools, instructions and input."""

from __future__ import annotations
from typing import Final

from partstream.protocols.serve import WireRequest
from partstream_devtools.testing.vendors.vendor import OPENAI_RULE, CachedPrompt, Vendor, listed_blocks


class _OpenAI(Vendor):
    def cached_prompt(self, request: WireRequest) -> CachedPrompt:
        blocks = listed_blocks(request.body, ("tools", "instructions", "input"))
        return CachedPrompt(blocks, OPENAI_RULE, str(request.body.get("model") or ""))


VENDOR: Final = _OpenAI()
