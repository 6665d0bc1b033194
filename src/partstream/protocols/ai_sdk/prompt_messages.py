"""Writes turns as messages of the AI SDK, in the form that ModelMessages and the wire protocol share.

Where they differ is the form of images and files (:mod:`partstream.protocols.ai_sdk.media_forms`). Source: `ai`
5.0.277, 6.0.322 and 7.0.173, `modelMessageSchema` and `LanguageModelV2Prompt` to `V4`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import JSONDecodeError, is_json, loads
from partstream.conversation.spoken_turns import spoken_turns
from partstream.conversation.texts import joined_texts
from partstream.conversation.turns import Attachment, Call, Reasoning, Text, TurnRole
from partstream.conversation.wording import FAILED, FAILED_SILENTLY
from partstream.protocols.ai_sdk.provider_state import is_own_part, options_by_call
from partstream.protocols.options import call_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from partstream.conversation.turns import Piece, Result, ResultContent, Turn
    from partstream.protocols.ai_sdk.media_forms import MediaForms, Wire

__all__ = ["prompt_messages"]


def prompt_messages(turns: Iterable[Turn], forms: MediaForms) -> list[Wire]:
    """The messages of a conversation, in order; every value is one of JSON.

    Args:
        turns: The conversation.
        forms: How images and files are written.

    Raises:
        RequestNotExpressibleError: The arguments of a call hold what JSON has no form for.
    """
    messages: list[Wire] = []
    for spoken_turn in spoken_turns(turns):
        if spoken_turn.content:
            messages.append(_WRITERS[spoken_turn.role](spoken_turn.content, forms))
        if spoken_turn.results:
            messages.append({"role": "tool", "content": [_result(result, forms) for result in spoken_turn.results]})
    return messages


def _system(content: Sequence[Piece], _forms: MediaForms) -> Wire:
    return {"role": "system", "content": "".join(piece.value for piece in content if isinstance(piece, Text))}


def _user(content: Sequence[Piece], forms: MediaForms) -> Wire:
    pieces = [piece for piece in content if isinstance(piece, Text | Attachment)]
    return {"role": "user", "content": [_shown(piece, forms.asked) for piece in pieces]}


def _assistant(content: Sequence[Piece], forms: MediaForms) -> Wire:
    options = options_by_call(content)
    parts: list[Wire] = []
    for piece in content:
        if isinstance(piece, Text | Attachment):
            parts.append(_shown(piece, forms.said))
        elif isinstance(piece, Call):
            parts.append(_call(piece, options.get(piece.call_id)))
        elif isinstance(piece, Reasoning) and is_own_part(piece.item):
            parts.append(dict(piece.item))
    return {"role": "assistant", "content": parts}


_WRITERS: Final[dict[TurnRole, Callable[[Sequence[Piece], MediaForms], Wire]]] = {
    TurnRole.SYSTEM: _system,
    TurnRole.USER: _user,
    TurnRole.ASSISTANT: _assistant,
}
"""Who speaks; results of tools are written behind the assistant's message that called them."""


def _shown(piece: Text | Attachment, attached: Callable[[Attachment], Wire]) -> Wire:
    return {"type": "text", "text": piece.value} if isinstance(piece, Text) else attached(piece)


def _call(call: Call, options: Mapping[str, Any] | None) -> Wire:
    call_arguments(call)  # refuses what JSON has not, with its place
    part = {"type": "tool-call", "toolCallId": call.call_id, "toolName": call.name, "input": dict(call.input)}
    return part | ({"providerOptions": dict(options)} if options else {})


def _result(result: Result, forms: MediaForms) -> Wire:
    return {
        "type": "tool-result",
        "toolCallId": result.call_id,
        "toolName": result.name,
        "output": _output(result, forms),
    }


def _output(result: Result, forms: MediaForms) -> Wire:
    """The output of a tool. An output of several parts has no form for a failure, so it states the failure in words."""
    kind = "error-" if result.is_error else ""
    texts = [piece for piece in result.content if isinstance(piece, Text)]
    if len(texts) == len(result.content):
        if len(texts) == 1 and texts[0].is_json and (value := _json(texts[0].value)) is not None:
            return {"type": f"{kind}json", "value": value}
        text = joined_texts(piece.value for piece in texts)
        return {"type": f"{kind}text", "value": text or (FAILED_SILENTLY if result.is_error else "")}
    pieces: list[ResultContent] = [Text(FAILED)] if result.is_error else []
    return {"type": "content", "value": [_shown(piece, forms.given) for piece in [*pieces, *result.content]]}


def _json(text: str) -> Any:
    """The JSON value in a text; None if writing it again would not give the same text."""
    try:
        value = loads(text.encode())
    except JSONDecodeError:
        return None
    return value if is_json(value) else None
