"""Writes a prepared request as the body of Ollama's `/api/chat` (docs/wires/ollama.md#context-window).

Every body says the context window, and that the server may cut nothing: a prompt that is too long is an error with
numbers then, in place of half a conversation without a word.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.codec.json_codec import loads
from partstream.conversation.media import MediaKind
from partstream.conversation.preparation import ConversationRules, ToolImages
from partstream.conversation.turns import (
    FAILED,
    FAILED_SILENTLY,
    Attachment,
    Call,
    CallIdRule,
    IdForm,
    Reasoning,
    Result,
    Text,
    TurnRole,
    joined_texts,
    shown_by_user,
    spoken_turns,
)
from partstream.errors import RequestNotExpressibleError
from partstream.protocols.ollama.models import (
    NUM_CTX,
    NUM_PREDICT,
    OllamaSettings,
    choose_window,
    complete_settings,
    read_options,
    think_for,
)
from partstream.protocols.ollama.read_response import CONTENT, ERRORS, LEAVE_OUT, THINKING, joined_items
from partstream.protocols.options import call_arguments, with_extra_fields
from partstream.protocols.protocol import NO_FIELDS, RequestWriterSpec
from partstream.protocols.schemas import tool_schema
from partstream.protocols.serve import WireRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from partstream.conversation.preparation import ChatRequest, RequestSettings
    from partstream.conversation.turns import MergedTurn, Piece, ResultContent, Turn
    from partstream.lm.messages import Tool


# ---- messages ----
# Writes turns as the messages of Ollama (docs/wires/ollama.md#requests).
#
# A content is always a string; images stand beside it. Every result is a message of its own, in the order of the
# calls.

_Wire: TypeAlias = dict[str, Any]


def messages_of(request: ChatRequest) -> list[_Wire]:
    """The messages of a conversation, in order.

    Images of results follow in a message of the user, behind all results of the turn, unless the settings say that the
    model takes them inside.

    Raises:
        RequestNotExpressibleError: The user gives the address of an image, or a call holds what JSON has no form for.
    """
    native = request.settings.tool_images is ToolImages.NATIVE
    turns = (_without_other_files(turn) for turn in request.turns)
    messages: list[_Wire] = []
    if request.instructions:
        messages.append({"role": "system", "content": request.instructions})
    for turn in spoken_turns(shown_by_user(turns, of_results=not native, of_assistant=True)):
        messages += _WRITERS[turn.role](turn)
        messages += _results(turn)
    return messages


def words_for(media_type: str) -> str:
    """What stands in the place of a file that is no image."""
    return f"[{media_type}, which cannot be shown]"


def _without_other_files(turn: Turn) -> Turn:
    """The turn with words in place of each file that is no image: the model can look for another way."""
    return replace(turn, content=tuple(_with_words(piece) for piece in turn.content))


def _with_words(piece: Piece) -> Piece:
    if isinstance(piece, Result):
        return replace(piece, content=tuple(_shown(one) for one in piece.content))
    return _shown(piece) if isinstance(piece, Attachment) else piece


def _shown(piece: ResultContent) -> ResultContent:
    is_other = isinstance(piece, Attachment) and piece.kind is not MediaKind.IMAGE
    return Text(words_for(piece.media_type)) if is_other and isinstance(piece, Attachment) else piece


def _system(turn: MergedTurn) -> list[_Wire]:
    text = "".join(piece.value for piece in turn.content if isinstance(piece, Text))
    return [{"role": "system", "content": text}] if text else []


def _nothing(_turn: MergedTurn) -> list[_Wire]:
    return []


def _user(turn: MergedTurn) -> list[_Wire]:
    said = [piece for piece in turn.content if isinstance(piece, Text | Attachment)]
    return [{"role": "user", **_content(said)}] if said else []


def _assistant(turn: MergedTurn) -> list[_Wire]:
    calls = [piece for piece in turn.content if isinstance(piece, Call)]
    text = _said(turn.turns)
    if not (text or calls):
        return []  # thinking alone is no answer
    carried = joined_items(piece.item for piece in turn.content if isinstance(piece, Reasoning))
    message: _Wire = {"role": "assistant", "content": carried.get(CONTENT, "") + text}
    if thought := carried.get(THINKING):
        message["thinking"] = thought
    if calls:
        message["tool_calls"] = [_call(call) for call in calls]
    return [message]


def _said(turns: Iterable[Turn]) -> str:
    """What the assistant said: the pieces of one text as they came, texts that something stands between on lines of
    their own."""
    visible = ([piece for piece in turn.content if not isinstance(piece, Reasoning)] for turn in turns)
    runs = (
        "".join(piece.value for piece in run if isinstance(piece, Text))
        for pieces in visible
        for is_text, run in groupby(pieces, lambda piece: isinstance(piece, Text))
        if is_text
    )
    return joined_texts(runs)


def _call(call: Call) -> _Wire:
    """A call; its arguments are an object, because Ollama refuses a text."""
    function = {"name": call.name, "arguments": loads(call_arguments(call))}
    return {"id": call.call_id, "function": function}


def _results(turn: MergedTurn) -> list[_Wire]:
    """The results of a turn. Old servers know a result by the tool's name, the runner by the id of the call."""
    order = {piece.call_id: place for place, piece in enumerate(turn.content) if isinstance(piece, Call)}
    results = sorted(turn.results, key=lambda result: order.get(result.call_id, len(order)))
    return [
        {"role": "tool", **_content(_outcome(one)), "tool_name": one.name, "tool_call_id": one.call_id}
        for one in results
    ]


def _outcome(result: Result) -> list[ResultContent]:
    """What a tool gave; there is no mark for a failure, so that words say it."""
    if not result.is_error:
        return list(result.content)
    return [Text(FAILED if result.content else FAILED_SILENTLY), *result.content]


def _content(pieces: Sequence[ResultContent]) -> _Wire:
    """The fields of a message for texts and images."""
    texts = [piece.value for piece in pieces if isinstance(piece, Text)]
    images = [_image(piece) for piece in pieces if isinstance(piece, Attachment)]
    return {"content": joined_texts(texts)} | ({"images": images} if images else {})


def _image(piece: Attachment) -> str:
    """An image as base64 alone: Ollama fetches none, and refuses the head of a `data:` URL."""
    if piece.url:
        expected = "the image itself: this server fetches none"
        raise RequestNotExpressibleError(f"the address of {piece.media_type}", piece.where, expected)
    return b64encode(piece.data).decode()


_WRITERS: Final[Mapping[TurnRole, Callable[[MergedTurn], list[_Wire]]]] = {
    TurnRole.SYSTEM: _system,
    TurnRole.USER: _user,
    TurnRole.ASSISTANT: _assistant,
    TurnRole.TOOL: _nothing,
}
"""What becomes of a turn by its role, without the results of the calls in it."""


# ---- write request ----

PATH: Final = "/chat"
MODELS_PATH: Final = "/tags"
_OPTIONS: Final = "options"


def build_request(request: ChatRequest) -> dict[str, Any]:
    """The JSON body that asks for the answer as a stream.

    There is no field that forces a call: a request that demands one is sent like any other.

    Raises:
        RequestNotExpressibleError: A file is no image, or something holds what JSON has no form for.
    """
    settings = request.settings
    own, chosen = settings.own_settings(OllamaSettings), read_options(request.options)
    body: dict[str, Any] = {
        "model": request.model_id,
        "messages": messages_of(request),
        "stream": True,
        "truncate": own.truncate,
        "shift": own.shift,
    }
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    effort = chosen.effort or request.reasoning_effort
    if effort is not None and (think := think_for(effort, request.model_id, settings.capabilities)) is not None:
        body["think"] = think
    if own.keep_alive is not None:
        body["keep_alive"] = _keep_alive(own.keep_alive)
    body |= chosen.fields
    extra = dict(settings.extra_body)
    if isinstance(extra.get(_OPTIONS), Mapping):
        extra[_OPTIONS] = with_extra_fields(_options(request, own, chosen.options), extra[_OPTIONS])
    return with_extra_fields(body | {_OPTIONS: _options(request, own, chosen.options)}, extra)


def _options(request: ChatRequest, own: OllamaSettings, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The field `options`: the window that a person chose for this request, else that of the settings."""
    window = request.context_size or own.num_ctx
    limit = request.settings.max_output_tokens
    options = {NUM_CTX: window} if window else {}
    return options | ({NUM_PREDICT: limit} if limit is not None else {}) | dict(chosen)


def _tool(tool: Tool) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": function | {"parameters": tool_schema(tool.input_schema or {})}}


def _keep_alive(duration: str) -> int | str:
    """Seconds as a number: a text needs a unit."""
    return int(duration) if duration.removeprefix("-").isdigit() else duration


def _write(request: ChatRequest) -> WireRequest:
    return WireRequest(PATH, build_request(request))


def _conversation_rules(_settings: RequestSettings, _model_id: str) -> ConversationRules:
    return ConversationRules(CallIdRule(IdForm(256)))


WRITE_REQUEST: Final = RequestWriterSpec(
    write=_write,
    path=PATH,
    complete_settings=complete_settings,
    conversation_rules=_conversation_rules,
    errors=ERRORS,
    leave_out=LEAVE_OUT,
    empty_request=NO_FIELDS,
    own_base_path="/api",
    models_path=MODELS_PATH,
    choose_window=choose_window,
    loads_models=True,
)
