"""The signatures of the scripted model, which reveal clients that send state back changed or in the wrong place.

A signature is opaque state in the metadata of thinking, in the form that the readers of answers use: a signature of
the thinking, like those of Anthropic's models, and one of the first of several calls, like those of Google's models.
The upstream keeps no state. So the end of a call's id says which thinking led to the call, and a signature shows by
itself that the scripted model made it.
"""

from __future__ import annotations

import base64
import hashlib
import re
from base64 import b64decode
from binascii import Error as Base64Error
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.provider_state import ITEMS
from partstream.lm.parts import ThinkingPart, ToolCallPart

if TYPE_CHECKING:
    from collections.abc import Iterable

    from partstream.testing.scenarios import Outputs

__all__ = ["is_signature", "needs_other_thinking", "signature", "signed"]

_SHOWN: Final = 24
"""The bytes of a signature that belong to the text; those behind them belong to these."""
_OWN_CALL: Final = re.compile(r"call_[0-9a-f]{12}(?P<model>[0-9a-f]{4})(?P<thinking>[0-9a-f]{8})")
"""The id of a call: which call it is, which model made it, and behind which thinking."""


def signature(text: str) -> str:
    """The scripted model's signature of `text`."""
    shown = hashlib.sha256(f"signed: {text}".encode(errors="surrogatepass")).digest()[:_SHOWN]
    return base64.b64encode(shown + _seal(shown)).decode()


def is_signature(value: str) -> bool:
    """Whether the scripted model has made a signature, whatever it belongs to."""
    try:
        data = b64decode(value, validate=True)
    except (Base64Error, ValueError):
        return False
    return data[_SHOWN:] == _seal(data[:_SHOWN])


def _seal(shown: bytes) -> bytes:
    return hashlib.sha256(b"made by the scripted model: " + shown).digest()[:8]


def needs_other_thinking(call_id: str, model: str, signatures: Iterable[str]) -> bool:
    """Whether a call of the scripted model was made behind other thinking.

    Args:
        call_id: The id of the call; nothing is known of calls that others made.
        model: The model that is asked: it does not miss the thinking of another one.
        signatures: The signatures of the thinking that stands before the call.
    """
    own = _OWN_CALL.fullmatch(call_id)
    if own is None or own["model"] != _digits(model, 4):
        return False
    return own["thinking"] != _digits("/".join(signatures), 8)


def _digits(what: str, count: int) -> str:
    return hashlib.sha256(what.encode(errors="surrogatepass")).hexdigest()[:count]


def signed(outputs: Outputs, model: str) -> Outputs:
    """Adds a signature after each run of thinking, and before the first of several calls; marks the calls' ids.

    Args:
        outputs: The answer.
        model: The model that gives it.
    """
    items: list[dict[str, Any]] = []
    signatures: list[str] = []
    thought: list[str] = []
    calling = False
    for output in outputs:
        if isinstance(output, ThinkingPart):
            thought.append(output.value)
        elif thought:
            text, thought = "".join(thought), []
            signatures.append(signature(text))
            options = {"anthropic": {"signature": signatures[-1]}}
            yield _listing(items, {"type": "reasoning", "text": text, "providerOptions": options})
        if isinstance(output, ToolCallPart):
            marks = _digits(model, 4) + _digits("/".join(signatures), 8)
            output = replace(output, call_id=output.call_id[: -len(marks)] + marks)  # noqa: PLW2901
        if isinstance(output, ToolCallPart) and not calling:
            options = {"google": {"thoughtSignature": signature(output.call_id)}}
            yield _listing(items, {"type": "tool-call", "toolCallId": output.call_id, "providerOptions": options})
        calling = isinstance(output, ToolCallPart)
        yield output


def _listing(items: list[dict[str, Any]], item: dict[str, Any]) -> ThinkingPart:
    """A part whose metadata lists all items so far, and `item` as the last of them."""
    items.append(item)
    return ThinkingPart("", None, {ITEMS: list(items)})
