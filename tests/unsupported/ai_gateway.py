"""What the AI Gateway has no place for, in the latest version."""

from __future__ import annotations
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.conversation.media import MediaKind, read_media
from partstream.conversation.turns import FAILED, FAILED_SILENTLY
from partstream.lm.messages import ToolMode
from partstream.lm.parts import DataPart, TextPart, ToolResultPart
from partstream.protocols.ai_gateway.write_request import OPTIONS
from partstream.protocols.options import chosen_options
from unsupported.ai_sdk import PROVIDER_STREAM
from unsupported.common import (
    PREPARED,
    SOURCES_BEHIND,
    TEXTS_OF_RESULTS,
    RequestFeature,
    Unsupported,
    each_part_of_a_request,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.lm.outputs import InboundRequest

__all__ = ["UNSUPPORTED"]

_JSON: Final = ("/json", "+json")


def _without_conversation(asked: InboundRequest) -> InboundRequest:
    kept = {name: value for name, value in asked.options.model_options.items() if name != "_conversationId"}
    return replace(asked, options=replace(asked.options, model_options=kept))


def _named_options(asked: InboundRequest) -> InboundRequest:
    """Gives the options of a caller the names of the specification."""
    chosen = chosen_options(asked.options.model_options, OPTIONS).fields
    kept = {name: value for name, value in chosen.items() if name not in {"reasoning", "providerOptions"}}
    return replace(asked, options=replace(asked.options, model_options=kept))


def _without_demand(asked: InboundRequest) -> InboundRequest:
    return asked if asked.options.tools else replace(asked, options=replace(asked.options, tool_mode=ToolMode.AUTO))


_CONVERSATIONS: Final = RequestFeature(
    "conversation", "The name of the conversation that a request belongs to.", _without_conversation
)
_OPTIONS: Final = RequestFeature("options", "Options have the names of this protocol.", _named_options)
_TOOL_MODE: Final = RequestFeature(
    "tool-mode", "The demand for a tool call, where no tool is offered.", _without_demand
)


def _each_result(change: Callable[[ToolResultPart], ToolResultPart]) -> Callable[[InboundRequest], InboundRequest]:
    return each_part_of_a_request(lambda part: change(part) if isinstance(part, ToolResultPart) else part)


def _as_json_value(result: ToolResultPart) -> ToolResultPart:
    content = result.content
    if len(content) != 1 or not isinstance(content[0], DataPart) or not content[0].mime_type.endswith(_JSON):
        return result
    try:
        return replace(result, content=(DataPart.json(loads(content[0].data)),))
    except (JSONDecodeError, TypeError):  # TypeError: a number such as 1e999, which reads as infinite
        return result


def _in_words(result: ToolResultPart) -> ToolResultPart:
    if not result.is_error:
        return result
    if not result.content:
        return replace(result, content=(TextPart(FAILED_SILENTLY),))
    if all(isinstance(part, TextPart) or read_media(part).kind is MediaKind.TEXT for part in result.content):
        return result
    return replace(result, content=(TextPart(FAILED), *result.content), is_error=False)


_JSON_RESULTS: Final = RequestFeature(
    "json-results", "How the JSON that a tool gave was written: its value is sent.", _each_result(_as_json_value)
)
_FAILURES: Final = RequestFeature(
    "failed-tools",
    "That a tool failed, where it gave a file or nothing: words say so.",
    _each_result(_in_words),
)

UNSUPPORTED: Final = Unsupported(
    response=PROVIDER_STREAM,
    document=(SOURCES_BEHIND,),
    request=(_JSON_RESULTS, _FAILURES, *PREPARED, TEXTS_OF_RESULTS, _CONVERSATIONS, _OPTIONS, _TOOL_MODE),
)
