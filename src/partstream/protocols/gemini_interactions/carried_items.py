"""What a server of Interactions wants back of its answer: the shape of the items that carry it.

Without a stored conversation, all steps go back as they came, thoughts included, because each is signed
(docs/wires/gemini.md#interactions). The items of one answer are, in order, in the metadata of its thinking
(:data:`partstream.conversation.reasoning.ITEMS`). Every item has `"type": "interaction-step"` and one of these forms::

    {"step": STEP}                          a step that goes back as it came: a thought, or what the server ran
    {"toolCallId": ID, "signature": S}      the signature of the call with this id
"""

from __future__ import annotations

from typing import Final

__all__ = ["ITEM_TYPE", "SIGNATURE", "STEP", "TOOL_CALL_ID"]

ITEM_TYPE: Final = "interaction-step"
STEP: Final = "step"
TOOL_CALL_ID: Final = "toolCallId"
SIGNATURE: Final = "signature"
