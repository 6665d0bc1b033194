"""The request that continues a paused answer (docs/wires/anthropic-messages.md#paused-answers)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from partstream.protocols.read_response import identifier, mapping

if TYPE_CHECKING:
    from partstream.protocols.serve import WireRequest

__all__ = ["resume"]


def resume(request: WireRequest, paused: Mapping[str, Any]) -> WireRequest:
    """The same request with what the model has said so far behind its messages, as it came, and no word of the user's.

    Args:
        request: The request that asked for the answer.
        paused: `content`, the blocks of the answer, and `container` where the server's tools have one.
    """
    body = dict(request.body)
    body["messages"] = [*body.get("messages", ()), {"role": "assistant", "content": list(paused["content"])}]
    container = identifier(mapping(paused, "container"), "id")
    if container is not None:
        asked = body.get("container")
        body["container"] = {**asked, "id": container} if isinstance(asked, Mapping) else container
    return replace(request, body=body)
