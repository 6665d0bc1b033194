"""The signatures of the scripted model, which reveal clients that send state back changed or in the wrong place.

A signature is opaque state in the metadata of thinking, in the form that the readers of answers use: a signature of
the thinking, like those of Anthropic's models, and one of the first of several calls, like those of Google's models.
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
    """The scripted model's signature of `text`."""
    return base64.b64encode(hashlib.sha256(f"signed: {text}".encode(errors="surrogatepass")).digest()).decode()


def signed(outputs: Outputs) -> Outputs:
    """Adds a signature after each run of thinking, and before the first of several calls."""
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
    """A part whose metadata lists all items so far, and `item` as the last of them."""
    items.append(item)
    return ThinkingPart("", None, {ITEMS: list(items)})
