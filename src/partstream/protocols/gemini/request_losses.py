"""What a request loses on its way over Gemini's wire with default settings, to a model that nobody knows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.wording import FAILED_SILENTLY
from partstream.parts import DataPart, TextPart, ToolCallPart, ToolResultPart
from partstream.protocols.common_losses import each_part_of_a_request
from partstream.protocols.gemini.options import read_options
from partstream.protocols.gemini.tools import json_schema
from partstream.protocols.losses import RequestLoss
from partstream.protocols.prepared_losses import INSTRUCTIONS, PREPARED, TEXTS_OF_RESULTS, TOOL_MODE

if TYPE_CHECKING:
    from partstream.messages import ChatMessage, Tool
    from partstream.outputs import Asked
    from partstream.parts import MessagePart

__all__ = ["REQUEST"]


def _files(asked: Asked) -> Asked:
    return replace(asked, messages=tuple(map(_with_files_behind, asked.messages)))


def _with_files_behind(message: ChatMessage) -> ChatMessage:
    """Puts the files of results behind all results of a message, and everything else behind these."""
    results = [part for part in message.content if isinstance(part, ToolResultPart)]
    if not results:
        return message
    texts = [replace(one, content=tuple(part for part in one.content if isinstance(part, TextPart))) for one in results]
    files = [part for one in results for part in one.content if isinstance(part, DataPart)]
    others = [part for part in message.content if not isinstance(part, ToolResultPart)]
    return replace(message, content=(*texts, *files, *others))


def _with_words(part: MessagePart) -> MessagePart:
    if not isinstance(part, ToolResultPart) or not part.is_error or any(_says(one) for one in part.content):
        return part
    return replace(part, content=(TextPart(FAILED_SILENTLY), *part.content))


def _says(part: MessagePart) -> bool:
    return isinstance(part, TextPart) and part.value != ""


def _numbered_calls(asked: Asked) -> Asked:
    """Gives the calls ids by their order, and their results the same."""
    calls = [part for message in asked.messages for part in message.content if isinstance(part, ToolCallPart)]
    ids = {call.call_id: f"call_{number}" for number, call in enumerate(calls, 1)}

    def renamed(part: MessagePart) -> MessagePart:
        if isinstance(part, ToolCallPart | ToolResultPart):
            return replace(part, call_id=ids.get(part.call_id, part.call_id))
        return part

    return each_part_of_a_request(renamed)(asked)


def _schemas(asked: Asked) -> Asked:
    tools = tuple(map(_with_schema, asked.options.tools))
    return replace(asked, options=replace(asked.options, tools=tools))


def _with_schema(tool: Tool) -> Tool:
    schema: dict[str, Any] = json_schema(tool.input_schema or {})
    return replace(tool, input_schema=schema if schema.get("properties") else None)


def _options(asked: Asked) -> Asked:
    chosen = read_options(asked.options.model_options)
    kept = {name: value for name, value in (chosen.generation | chosen.fields).items() if value is not None}
    return replace(asked, options=replace(asked.options, model_options=kept))


def _effort(asked: Asked) -> Asked:
    return replace(asked, options=replace(asked.options, model_configuration={}))


REQUEST: Final = (
    *PREPARED,
    RequestLoss(
        "files-of-results",
        "Files in results of tools follow behind all results; models from Gemini 3 on take images inside of them.",
        _files,
    ),
    TEXTS_OF_RESULTS,
    RequestLoss(
        "failed-results",
        "That a tool failed without a word: words say so.",
        each_part_of_a_request(_with_words),
    ),
    RequestLoss(
        "call-ids",
        "The ids of calls that the server did not give: it tells calls and their results apart by name and order.",
        _numbered_calls,
    ),
    RequestLoss(
        "schemas-of-google",
        "References inside of a schema are replaced by what they mean, its dialect is left out, and a tool without "
        "parameters has no schema.",
        _schemas,
    ),
    INSTRUCTIONS,
    RequestLoss(
        "options",
        "Options have Google's names; those that it has no name for are left out.",
        _options,
    ),
    RequestLoss(
        "effort",
        "How much a model is to think goes only to models of which it is known how they are told.",
        _effort,
    ),
    TOOL_MODE,
)
"""In the order in which they are taken out."""
