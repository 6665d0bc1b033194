"""What the made-up models sign, so that a client can be caught that brings it back changed, or to the wrong place.

Opaque state travels in the metadata of thinking, in the form in which the readers of answers give it: a signature of
the thinking, as Anthropic's models give one, and one of the first of several calls, as Google's do. A writer takes what
its wire has a place for.
"""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any

from partstream.conversation.reasoning import ITEMS
from partstream.parts import ThinkingPart, ToolCallPart

if TYPE_CHECKING:
    from partstream.testing.scenarios import Outputs

__all__ = ["signature", "signed"]


def signature(text: str) -> str:
    """What the made-up models sign `text` with; whoever has both can tell whether they belong together."""
    return base64.b64encode(hashlib.sha256(f"signed: {text}".encode(errors="surrogatepass")).digest()).decode()


def signed(outputs: Outputs) -> Outputs:
    """The same answer with the model's signature behind each run of thinking, and before the first of several calls."""
    items: list[dict[str, Any]] = []
    thought: list[str] = []
    calling = False
    for output in outputs:
        if isinstance(output, ThinkingPart):
            thought.append(output.value)
        elif thought:
            text, thought = "".join(thought), []
            options = {"anthropic": {"signature": signature(text)}}
            yield _listing(items, {"type": "reasoning", "text": text, "providerOptions": options})
        if isinstance(output, ToolCallPart) and not calling:
            options = {"google": {"thoughtSignature": signature(output.call_id)}}
            yield _listing(items, {"type": "tool-call", "toolCallId": output.call_id, "providerOptions": options})
        calling = isinstance(output, ToolCallPart)
        yield output


def _listing(items: list[dict[str, Any]], item: dict[str, Any]) -> ThinkingPart:
    """The part that carries a further item, with all items before it."""
    items.append(item)
    return ThinkingPart("", None, {ITEMS: list(items)})
