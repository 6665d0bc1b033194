"""The digest by which a kept run knows its conversation: of what was said, not of how the host renders it.

Copilot puts context of its own around a person's words and renders it anew in every turn, so for messages of the user
only the words count, and what tools returned. Of an answer count its calls and its text, without white space and
without the descriptions that hosts put in the place of files (:mod:`partstream.hosts.vscode.restored_files`).
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import TYPE_CHECKING

from partstream.conversation.digest import HistoryDigest, add_fields, answer_digest
from partstream.messages import ChatMessage, Role
from partstream.parts import TextPart, ToolCallPart, ToolResultPart
from partstream.simple import text_of, user_request

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from partstream.parts import MessagePart

__all__ = ["said_digest", "spoken_digest"]

_NOT_SAID = re.compile(r"\[\w+/[\w.+-]+\]|\s+")
"""White space, and the description of a file, such as `[image/png]`."""
_REQUEST_TAG = "<userRequest>"
_SIZE = 16


def spoken_digest(messages: Sequence[ChatMessage]) -> str:
    """The digest of a conversation: answers with their calls, what the tools returned, and the words of the person."""
    is_tagged = any(_REQUEST_TAG in text_of(message) for message in messages if message.role is Role.USER)
    digest = blake2b(digest_size=_SIZE)
    for message in messages:
        if message.role is Role.ASSISTANT:
            add_fields(digest, (b"answer", said_digest(message.content).encode()))
        elif message.role is Role.USER:
            kept = _said_by_user(message, is_tagged=is_tagged)
            if kept is not None:
                one = HistoryDigest()
                one.add(kept)
                add_fields(digest, (b"user", one.value.encode()))
    return digest.hexdigest()


def said_digest(parts: Iterable[MessagePart]) -> str:
    """The digest of an answer: what was said in it, and its calls."""
    parts = list(parts)
    text = "".join(part.value for part in parts if isinstance(part, TextPart))
    calls = [part for part in parts if isinstance(part, ToolCallPart)]
    return answer_digest([TextPart(_NOT_SAID.sub("", text)), *calls])


def _said_by_user(message: ChatMessage, *, is_tagged: bool) -> ChatMessage | None:
    """A message of the user without what the host adds to it; None where nothing else is in it."""
    results = [part for part in message.content if isinstance(part, ToolResultPart)]
    text = text_of(message)
    if is_tagged and _REQUEST_TAG not in text:
        return ChatMessage.user(results) if results else None
    words = user_request([message]) if is_tagged else text
    others = [part for part in message.content if not isinstance(part, TextPart)]
    return ChatMessage.user([*others, TextPart(words)]) if words or others else None
