"""What a request loses on its way over Ollama with default settings, to a model of which nothing is known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from partstream.conversation.media import MediaKind, read_media
from partstream.conversation.texts import joined_texts
from partstream.messages import ToolMode
from partstream.parts import DataPart, TextPart
from partstream.protocols.common_losses import each_part_of_a_request
from partstream.protocols.joined_losses import ANSWERS, each_run_of_users
from partstream.protocols.losses import RequestLoss
from partstream.protocols.ollama.messages import words_for
from partstream.protocols.ollama.options import NUM_CTX, read_options
from partstream.protocols.ollama.read_request import read_think
from partstream.protocols.ollama.schemas import tool_schema
from partstream.protocols.prepared_losses import FAILED_RESULTS, INSTRUCTIONS, PICTURES, PREPARED, TEXTS_OF_RESULTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.outputs import Asked
    from partstream.parts import MessagePart

__all__ = ["REQUEST"]


def _in_words(part: MessagePart) -> MessagePart:
    if isinstance(part, DataPart) and (media := read_media(part)).kind is not MediaKind.IMAGE:
        return TextPart(words_for(media.media_type))
    return part


def _text_before_images(said: Sequence[MessagePart]) -> Sequence[MessagePart]:
    """What a user says as one text, and then the images."""
    texts = [part.value for part in said if isinstance(part, TextPart)]
    others = [part for part in said if not isinstance(part, TextPart)]
    return [*([TextPart(joined_texts(texts))] if texts else []), *others]


def _options(asked: Asked) -> Asked:
    options = asked.options
    chosen = read_options(options.model_options)
    kept = {**chosen.options, **chosen.fields}
    effort, think = read_think(kept.pop("think", None))
    kept = {name: value for name, value in {**kept, **think}.items() if value is not None and name[0] != "_"}
    kept.pop(NUM_CTX, None)
    beside = {} if effort is None else {"reasoningEffort": effort}
    return replace(asked, options=replace(options, model_options=kept, model_configuration=beside))


def _without_demand(asked: Asked) -> Asked:
    return replace(asked, options=replace(asked.options, tool_mode=ToolMode.AUTO))


def _schemas(asked: Asked) -> Asked:
    tools = tuple(replace(tool, input_schema=tool_schema(tool.input_schema or {})) for tool in asked.options.tools)
    return replace(asked, options=replace(asked.options, tools=tools))


REQUEST: Final = (
    *PREPARED,
    FAILED_RESULTS,
    RequestLoss(
        "files", "Of files, images stay; words stand in the place of others.", each_part_of_a_request(_in_words)
    ),
    PICTURES,
    RequestLoss(
        "texts-of-users",
        "Where in a message of the user its images stand: its texts become one, and the images follow.",
        each_run_of_users(_text_before_images),
    ),
    TEXTS_OF_RESULTS,
    INSTRUCTIONS,
    ANSWERS,
    RequestLoss(
        "options",
        "Options have the names of this protocol; those that would replace the request itself, and the name of the "
        "conversation, are left out. How much a model thinks is said only to models that are known to think.",
        _options,
    ),
    RequestLoss("demanded-calls", "That the model must call a tool: no field says so.", _without_demand),
    RequestLoss(
        "schemas-of-tools",
        "Schemas hold what Ollama passes on: references are resolved, and bounds are words of the description.",
        _schemas,
    ),
)
"""In the order in which they are taken out."""
