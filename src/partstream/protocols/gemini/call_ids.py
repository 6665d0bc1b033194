"""Ids for calls to which the server gives none; they are never sent (docs/wires/gemini.md#call-ids)."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["own_id"]

_DIGITS: Final = 24
_OWN_ID: Final = "gemini_call_"


def own_id(response_id: str | None, number: int, name: str, arguments: Mapping[str, Any]) -> str:
    """An id for a call without one, which no call of another answer has as far as the answers differ at all.

    Args:
        response_id: The server's id of the response, or None.
        number: The number of the call in its answer.
        name: The tool.
        arguments: The arguments of the call.
    """
    said = json.dumps([response_id, number, name, arguments]).encode()
    return _OWN_ID + hashlib.sha256(said).hexdigest()[:_DIGITS]
