"""What a request loses while it is prepared, whatever the wire: one table for the tables of all protocols.

Source: :mod:`partstream.conversation.preparation`, which makes what is asked of what VS Code says.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.call_ids import CallIds
from partstream.conversation.greeting import leading_instructions
from partstream.conversation.markers import is_mark
from partstream.conversation.media import MediaKind, read_media
from partstream.conversation.texts import well_formed
from partstream.conversation.tool_names import ToolNames
from partstream.messages import Role
from partstream.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream.protocols.losses import RequestLoss

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.outputs import Asked
    from partstream.parts import MessagePart

__all__ = ["PREPARED", "each_part"]

_EMPTY_SCHEMA: Final[dict[str, Any]] = {"type": "object", "properties": {}}


def each_part(asked: Asked, change: Callable[[Any], MessagePart | None]) -> Asked:
    """The request with every part changed, those in results of tools as well; None takes a part out."""
    return replace(
        asked,
        messages=tuple(replace(message, content=_changed(message.content, change)) for message in asked.messages),
    )


def _changed(parts: tuple[Any, ...], change: Callable[[Any], MessagePart | None]) -> tuple[Any, ...]:
    inner = (
        replace(part, content=_changed(part.content, change)) if isinstance(part, ToolResultPart) else part
        for part in parts
    )
    return tuple(changed for part in inner if (changed := change(part)) is not None)


def _marks(asked: Asked) -> Asked:
    return each_part(asked, lambda part: None if isinstance(part, DataPart) and is_mark(part.mime_type) else part)


def _documents(asked: Asked) -> Asked:
    def said(part: MessagePart) -> MessagePart:
        media = read_media(part) if isinstance(part, DataPart) else None
        return TextPart(media.text) if media is not None and media.kind is MediaKind.TEXT else part

    return each_part(asked, said)


def _labels(asked: Asked) -> Asked:
    return each_part(
        asked, lambda part: DataPart(part.data, read_media(part).media_type) if isinstance(part, DataPart) else part
    )


def _thinking(asked: Asked) -> Asked:
    return each_part(asked, lambda part: None if isinstance(part, ThinkingPart) else part)


def _halves(asked: Asked) -> Asked:
    return each_part(asked, lambda part: TextPart(well_formed(part.value)) if isinstance(part, TextPart) else part)


def _identifiers(asked: Asked) -> Asked:
    calls = [part for message in asked.messages for part in message.content if isinstance(part, ToolCallPart)]
    names = ToolNames([*(tool.name for tool in asked.options.tools), *(call.name for call in calls)])
    ids = CallIds("")
    sent = {call.call_id: ids.open(call.call_id) for call in calls}

    def renamed(part: MessagePart) -> MessagePart:
        if isinstance(part, ToolCallPart):
            return replace(part, call_id=sent[part.call_id], name=names.to_upstream(part.name))
        if isinstance(part, ToolResultPart):
            return replace(part, call_id=sent.get(part.call_id, part.call_id))
        return part

    tools = tuple(replace(tool, name=names.to_upstream(tool.name)) for tool in asked.options.tools)
    return each_part(replace(asked, options=replace(asked.options, tools=tools)), renamed)


def _tools(asked: Asked) -> Asked:
    tools = tuple(
        replace(tool, description=well_formed(tool.description), input_schema=tool.input_schema or _EMPTY_SCHEMA)
        for tool in asked.options.tools
    )
    return replace(asked, options=replace(asked.options, tools=tools))


def _speakers(asked: Asked) -> Asked:
    orders = leading_instructions(asked.messages)
    return replace(
        asked,
        messages=tuple(
            replace(message, role=Role.SYSTEM if place < orders else message.role, name=None)
            for place, message in enumerate(asked.messages)
        ),
    )


def _host(asked: Asked) -> Asked:
    options = asked.options
    effort = options.model_configuration.get("reasoningEffort")
    return replace(
        asked,
        options=replace(
            options,
            model_options={
                name: value
                for name, value in options.model_options.items()
                if not name.startswith("_") or name == "_conversationId"
            },
            model_configuration={"reasoningEffort": effort} if isinstance(effort, str) and effort else {},
            request_initiator=None,
        ),
    )


PREPARED: Final = (
    RequestLoss("marks", "Data parts that are marks of the host are left out.", _marks),
    RequestLoss("documents", "A text document is sent as text, without its media type.", _documents),
    RequestLoss("labels", "The media type of bytes is what their first bytes say.", _labels),
    RequestLoss(
        "thinking",
        "What the model thought is left out; its opaque state goes back to the server that gave it.",
        _thinking,
    ),
    RequestLoss("half-characters", "Halves of characters are replaced by U+FFFD.", _halves),
    RequestLoss(
        "names", "Names of tools and identifiers of calls that servers refuse are replaced by others.", _identifiers
    ),
    RequestLoss("schemas", "A tool without a schema gets one that describes an empty object.", _tools),
    RequestLoss(
        "speakers",
        "The names of speakers are left out; orders that an assistant gives before anyone asked are instructions.",
        _speakers,
    ),
    RequestLoss(
        "host",
        "Options of the host itself, who asks, and what a person chose beside the reasoning effort are left out.",
        _host,
    ),
)
"""In the order in which they are taken out."""
