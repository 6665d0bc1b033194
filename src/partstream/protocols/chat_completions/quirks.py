"""What differs between servers of Chat Completions in a request, as one value; the table of servers is beside it.

The defaults are the smallest request, for a server that nobody knows: what every server takes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.call_ids import CallIdRule, IdForm
from partstream.conversation.tool_names import ANY_NAME, NameForm
from partstream.protocols.chat_completions.attachments import AttachmentForms
from partstream.protocols.chat_completions.efforts import Effort, reasoning_effort
from partstream.protocols.chat_completions.reasoning_back import ReasoningBack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["FORTY_SIGNS", "MAX_COMPLETION_TOKENS", "MAX_TOKENS", "CacheMarks", "Quirks"]

MAX_TOKENS: Final = "max_tokens"
MAX_COMPLETION_TOKENS: Final = "max_completion_tokens"

FORTY_SIGNS: Final = IdForm(40, refused=re.compile(r"[^A-Za-z0-9_-]"))
"""The form of ids that OpenAI requires and every server takes (docs/wires/chat-completions.md#ids-and-names)."""
_OWN_IDS: Final = IdForm(256)
"""A server takes its own ids, however long: vLLM's have 46 characters, those of Kimi a dot and a colon."""


class CacheMarks(StrEnum):
    """Which parts of a request are marked for the prompt cache."""

    NONE = "none"
    ALL = "all"
    """The system message, the last tool and the last message."""
    LAST = "last"
    """The last message: others have no effect."""


@dataclass(frozen=True, slots=True)
class Quirks:
    """What a server takes.

    Attributes:
        system_role: The role of the one message with all system texts.
        attachments: How it takes images and files.
        call_ids: The ids of calls that it takes.
        tool_names: The names of tools that it takes.
        empty_content: The content of a message that only calls tools: null, or the empty string.
        names_results: Whether the result of a tool says the tool's name.
        joins_users: Whether messages of the user that follow each other become one: templates of Gemma and Mistral
            demand that user and assistant take turns, and hosts send two messages before the first answer.
        answers_results: Whether no message of the user may follow results of tools, so that one of the assistant
            stands between.
        normalize_schema: Puts the schema of a tool's parameters into the subset of JSON Schema that it takes; None
            where it takes schemas as they are.
        tool_fields: Fields of a body with tools.
        lists_no_tools: Whether a body without tools says so when the conversation has calls.
        required: Its word for "the model must call a tool"; empty where it has none.
        stream_options: The field of that name, or None where it takes none.
        limit_field: The field for the most tokens of an answer.
        effort: How it is told the reasoning effort.
        reasoning_back: Where its reasoning goes in later requests.
        filled_reasoning: The field of reasoning that every message with calls must have, even if it is empty.
        fills_signatures: Whether the first call of a message must have a signature, even if another model made it.
        fields: Fields of every body.
        cache_key_field: The field that requests with a common beginning share; empty where it takes none.
        session_header: The header for the same.
        cache_marks: Which parts are marked for the prompt cache.
    """

    system_role: str = "system"
    attachments: AttachmentForms = AttachmentForms()  # noqa: RUF009 - immutable
    call_ids: CallIdRule = CallIdRule(_OWN_IDS, FORTY_SIGNS)  # noqa: RUF009
    tool_names: NameForm = ANY_NAME
    empty_content: str | None = None
    names_results: bool = False
    joins_users: bool = False
    answers_results: bool = False
    normalize_schema: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None
    tool_fields: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    lists_no_tools: bool = False
    required: str = "required"
    stream_options: Mapping[str, Any] | None = field(default_factory=lambda: MappingProxyType({"include_usage": True}))
    limit_field: str = MAX_TOKENS
    effort: Effort = Effort(reasoning_effort)  # noqa: RUF009
    reasoning_back: ReasoningBack = ReasoningBack.RECEIVED
    filled_reasoning: str = ""
    fills_signatures: bool = False
    fields: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    cache_key_field: str = ""
    session_header: str = ""
    cache_marks: CacheMarks = CacheMarks.NONE
