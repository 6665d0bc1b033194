"""Writes turns as messages of the AI SDK: ModelMessages as `streamText` takes them, and prompts of the wire protocol.

They differ in the form of images and files: a row of :class:`MediaForms` for each version. Every value is one of JSON,
so that a Node program can be handed it as it is.

Source: `ai` 5.0.277, 6.0.322 and 7.0.173, `modelMessageSchema`; `ModelMessage` of `@ai-sdk/provider-utils` 3.0.41,
4.0.64 and 5.0.81; `LanguageModelV2Prompt`, `V3` and `V4` of `@ai-sdk/provider` 2.0.5, 3.0.19 and 4.0.38.
"""

from __future__ import annotations
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from partstream.codec.json_codec import is_json, loads_or_none
from partstream.conversation import turns as conversation
from partstream.conversation.media import MediaKind, file_name
from partstream.protocols.ai_sdk.provider_state import is_own_part, options_by_call
from partstream.protocols.options import call_arguments

# ---- Messages ----


def prompt_messages(turns: Iterable[conversation.Turn], forms: MediaForms) -> list[JSONObject]:
    """The messages of a conversation, in order; every value is one of JSON.

    Raises:
        RequestNotExpressibleError: The arguments of a call hold what JSON has no form for.
    """
    messages: list[JSONObject] = []
    for merged_turn in conversation.merged_turns(turns):
        if merged_turn.content:
            messages.append(_message(merged_turn.role, merged_turn.content, forms))
        if merged_turn.results:
            messages.append({"role": "tool", "content": [_result(result, forms) for result in merged_turn.results]})
    return messages


def _message(role: conversation.TurnRole, content: Sequence[conversation.Piece], forms: MediaForms) -> JSONObject:
    """A message without the results of tools, which follow the assistant's message that called them."""
    if role is conversation.TurnRole.SYSTEM:
        texts = [piece.value for piece in content if isinstance(piece, conversation.Text)]
        return {"role": "system", "content": "".join(texts)}
    attached = forms.asked if role is conversation.TurnRole.USER else forms.said
    options = options_by_call(content)
    parts: list[JSONObject] = []
    for piece in content:
        match piece:
            case conversation.Text() | conversation.Attachment():
                parts.append(_shown(piece, attached))
            case conversation.Call():
                call_arguments(piece)  # refuses what JSON has not, with its place
                call = {"type": "tool-call", "toolCallId": piece.call_id, "toolName": piece.name}
                said = {"providerOptions": dict(own)} if (own := options.get(piece.call_id)) else {}
                parts.append({**call, "input": dict(piece.input), **said})
            case conversation.Reasoning() if is_own_part(piece.item):
                parts.append(dict(piece.item))
    return {"role": role.value, "content": parts}


def _shown(
    piece: conversation.Text | conversation.Attachment, attached: Callable[[conversation.Attachment], JSONObject]
) -> JSONObject:
    return {"type": "text", "text": piece.value} if isinstance(piece, conversation.Text) else attached(piece)


def _result(result: conversation.Result, forms: MediaForms) -> JSONObject:
    said = {"toolCallId": result.call_id, "toolName": result.name}
    return {"type": "tool-result", **said, "output": _output(result, forms)}


def _output(result: conversation.Result, forms: MediaForms) -> JSONObject:
    """The output of a tool. An output of several parts has no form for a failure, so it states the failure in words."""
    kind = "error-" if result.is_error else ""
    texts = [piece for piece in result.content if isinstance(piece, conversation.Text)]
    if len(texts) == len(result.content):
        value = loads_or_none(texts[0].value) if len(texts) == 1 and texts[0].is_json else None
        if value is not None and is_json(value):  # else writing it again would not give the same text
            return {"type": f"{kind}json", "value": value}
        text = conversation.joined_texts(piece.value for piece in texts)
        return {"type": f"{kind}text", "value": text or (conversation.FAILED_SILENTLY if result.is_error else "")}
    pieces: list[conversation.ResultContent] = [conversation.Text(conversation.FAILED)] if result.is_error else []
    return {"type": "content", "value": [_shown(piece, forms.given) for piece in [*pieces, *result.content]]}


# ---- Images and files ----

JSONObject: TypeAlias = dict[str, Any]


class MediaForms(NamedTuple):
    """How one version writes an image or a file.

    Attributes:
        asked: In a message of the user.
        said: In a message of the assistant.
        given: In the result of a tool.
    """

    asked: Callable[[conversation.Attachment], JSONObject]
    said: Callable[[conversation.Attachment], JSONObject]
    given: Callable[[conversation.Attachment], JSONObject]


def _content(piece: conversation.Attachment) -> str:
    """The bytes in base64, or the address: every version takes both in the same place."""
    return piece.url or b64encode(piece.data).decode()


def _named(piece: conversation.Attachment) -> JSONObject:
    """The name of a file: providers tell its format by the ending. Images need none."""
    return {} if piece.kind is MediaKind.IMAGE or piece.url else {"filename": file_name(piece.media_type)}


def _file(piece: conversation.Attachment) -> JSONObject:
    return {"type": "file", "mediaType": piece.media_type, "data": _content(piece), **_named(piece)}


def _tagged_file(piece: conversation.Attachment) -> JSONObject:
    kind = "url" if piece.url else "data"
    return {**_file(piece), "data": {"type": kind, kind: _content(piece)}}


def _image_or_file(piece: conversation.Attachment) -> JSONObject:
    if piece.kind is MediaKind.IMAGE:
        return {"type": "image", "image": _content(piece), "mediaType": piece.media_type}
    return _file(piece)


def _media(piece: conversation.Attachment) -> JSONObject:
    if piece.url:  # has a place for bytes only
        return {"type": "text", "text": piece.url}
    return {"type": "media", "data": _content(piece), "mediaType": piece.media_type}


def _image_data_or_file_data(piece: conversation.Attachment) -> JSONObject:
    what = "image" if piece.kind is MediaKind.IMAGE else "file"
    if piece.url:
        # Without its media type, the SDK fetches a file itself before it hands it to the provider.
        said = {} if piece.kind is MediaKind.IMAGE else {"mediaType": piece.media_type}
        return {"type": f"{what}-url", "url": piece.url, **said}
    return {"type": f"{what}-data", "data": _content(piece), "mediaType": piece.media_type, **_named(piece)}


PROMPT_FORMS: Final[Mapping[int, MediaForms]] = {
    2: MediaForms(_file, _file, _media),
    3: MediaForms(_file, _file, _image_data_or_file_data),
    4: MediaForms(_tagged_file, _tagged_file, _tagged_file),
}
"""By the version of the language model specification. A prompt has no image part: an image is a file."""

MESSAGE_FORMS: Final[Mapping[int, MediaForms]] = {
    5: MediaForms(_image_or_file, _file, _media),
    6: MediaForms(_image_or_file, _file, _image_data_or_file_data),
    7: MediaForms(_tagged_file, _tagged_file, _tagged_file),
}
"""By the major version of the package `ai`. Version 7 rewrites `image` to `file` and calls it deprecated; versions 6
and 7 have no `media`, which 7 would pass on as it is."""
