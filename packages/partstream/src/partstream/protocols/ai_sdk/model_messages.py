"""Converts a conversation to ModelMessages of the AI SDK, versions 5, 6 and 7, as `streamText` takes them.

Everything is a JSON value, so that a Node program can be handed it as it is. Source: `ai` 5.0.277, 6.0.322 and
7.0.173, `modelMessageSchema`.
"""

from __future__ import annotations
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from partstream.conversation.preparation import RequestSettings, prepare
from partstream.conversation.provider_state import Carried, Origin
from partstream.errors import CallerError
from partstream.lm.messages import ChatMessage, RequestOptions, Role
from partstream.protocols.ai_sdk.provider_state import RULES
from partstream.protocols.ai_sdk.write_request import MESSAGE_FORMS, prompt_messages, thinking_items

VERSIONS: Final = tuple(MESSAGE_FORMS)
"""The major versions of the package `ai` that there are forms for."""


@dataclass(frozen=True, slots=True)
class ModelMessages:
    """A conversation as the AI SDK takes it.

    Attributes:
        system: The instructions, empty for none: the option `system` of versions 5 and 6, `instructions` of version 7,
            which refuses them among the messages.
        messages: The messages: `user`, `assistant` and `tool`, every value one of JSON.
    """

    system: str
    messages: list[dict[str, Any]]


def to_model_messages(
    messages: Sequence[ChatMessage], version: int = 6, *, call_id_prefix: str = "gw-"
) -> ModelMessages:
    """Converts a conversation.

    Neighbouring texts of the assistant are one message, results follow their calls at once, and every call has one:
    where it is missing, one that says so. Thinking becomes reasoning parts, with the provider options that its
    metadata lists; thinking that nothing follows is left out, as are the marks of the host (`cache_control`,
    `stateful_marker`, usage). Bytes are base64; the first bytes of images and files tell their type.

    Args:
        messages: The conversation.
        version: The major version of the package `ai`, one of :data:`VERSIONS`.
        call_id_prefix: What was put before the call ids of this upstream
            (:attr:`partstream.lm.outputs.StreamOptions.call_id_prefix`); taken off again, other ids stay.

    Raises:
        CallerError: There is no such version.
        RequestNotExpressibleError: The arguments of a call hold what JSON has no form for.
    """
    if version not in MESSAGE_FORMS:
        raise CallerError(f"version: got {version!r}, expected one of {', '.join(map(str, VERSIONS))}")
    prepared = prepare(Origin("", ""), messages, RequestOptions(), RequestSettings(), call_id_prefix, RULES)
    reasoning = {
        number: items
        for number, message in enumerate(messages)
        if message.role is Role.ASSISTANT and (items := thinking_items(message.content))
    }
    request = replace(prepared, reasoning=reasoning).request(Carried.ALL_REASONING)
    return ModelMessages(request.instructions, prompt_messages(request.turns, MESSAGE_FORMS[version]))
