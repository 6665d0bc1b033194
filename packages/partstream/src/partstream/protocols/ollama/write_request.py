"""Writes a prepared request as the body of Ollama's `/api/chat`.

Every body states the context window and forbids the server to cut the conversation: a prompt that is too long then
becomes an error with numbers, and not silently half a conversation (docs/wires/ollama.md#context-window).

A content is always a string, and images are in a field beside it; other files become words. Every result is a message
of its own, in the order of the calls (docs/wires/ollama.md#requests). Old servers find the call of a result by the
tool's name, the runner by the id. No field forces a call: a request that demands one is sent like any other.
"""

from __future__ import annotations
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.codec.checks import replace
from partstream.codec.json_codec import loads
from partstream.conversation import turns as conversation
from partstream.conversation.media import MediaKind
from partstream.conversation.preparation import (
    ChatRequest,
    ConversationRules,
    Fact,
    RequestSettings,
    Source,
    ToolImages,
)
from partstream.errors import RequestNotExpressibleError
from partstream.protocols.ollama import models
from partstream.protocols.ollama.read_response import CONTENT, ERRORS, LEAVE_OUT, THINKING, joined_items
from partstream.protocols.options import call_arguments, function_of, with_extra_fields
from partstream.protocols.protocol import NO_FIELDS, RequestWriter
from partstream.protocols.schemas import IN_WORDS, for_model
from partstream.protocols.serve import WireRequest

if TYPE_CHECKING:
    from partstream.lm.provider import LanguageModelChatInformation
    from partstream.settings.known_servers import KnownServer

_Wire: TypeAlias = dict[str, Any]

_NESTED: Final = "options"

CAREFUL_WINDOW: Final = 32_768
"""Tokens where nothing says more: agents need it, and it fits beside a model of middle size."""
_SMALLEST_WINDOW: Final = 4_096
"""The tokens that a server with little memory chooses if requests set no window."""


class OllamaRequests(RequestWriter):
    """Requests to Ollama; see :class:`partstream.protocols.protocol.RequestWriter`."""

    path = "/chat"
    models_path = "/tags"
    own_base_path = "/api"
    errors = ERRORS
    leave_out = staticmethod(LEAVE_OUT)
    empty_request = NO_FIELDS
    loads_models = True
    sets_window = True

    def write(self, request: ChatRequest) -> WireRequest:
        """Writes a request for a streamed response down.

        Raises:
            RequestNotExpressibleError: A file is no image, or something holds what JSON has no form for.
        """
        settings = request.settings
        own = settings.own_settings(models.OllamaSettings)
        chosen = models.OPTIONS.of(request)
        fields, of_model = models.body_options(chosen)
        body: _Wire = {
            "model": request.model_id,
            "messages": messages_of(request),
            "stream": True,
            "truncate": own.truncate,
            "shift": own.shift,
        }
        if request.tools:
            body["tools"] = [function_of(tool) for tool in request.tools]
        effort = chosen.effort or request.reasoning_effort
        think = models.think_for(effort, request.model_id, settings.capabilities, asks=request.asks_to_think)
        if think is not None:
            body["think"] = think
        if own.keep_alive is not None:
            # Seconds are a number: a text needs a unit.
            is_number = own.keep_alive.removeprefix("-").isdigit()
            body["keep_alive"] = int(own.keep_alive) if is_number else own.keep_alive
        body |= fields
        # The window that a person chose for this request wins over that of the settings.
        window, limit = request.context_size or own.num_ctx, settings.max_output_tokens
        options = {models.NUM_CTX: window} if window else {}
        options |= ({models.NUM_PREDICT: limit} if limit is not None else {}) | of_model
        extra = dict(settings.extra_body)
        if isinstance(extra.get(_NESTED), Mapping):
            extra[_NESTED] = with_extra_fields(options, extra[_NESTED])
        return WireRequest(self.path, with_extra_fields(body | {_NESTED: options}, extra))

    def notes(self, request: ChatRequest) -> tuple[conversation.Note, ...]:  # noqa: D102
        thinks = bool(request.settings.capabilities.reasoning)
        return models.OPTIONS.notes(request, files=lambda one: one.kind is MediaKind.IMAGE, thinks=thinks)

    def conversation_rules(self, _settings: RequestSettings, model_id: str) -> ConversationRules:  # noqa: D102
        ids = conversation.CallIdRule(conversation.IdForm(256))
        return ConversationRules(ids, tool_schema=partial(for_model, IN_WORDS, model_id))

    # A prompt longer than the window is cut without a word, and the server's own window may be as small as 4,096
    # tokens. So every request sets the window, and the same number is advertised.

    def choose_window(self, settings: RequestSettings) -> Fact[int]:
        """The window that requests to a model set, never more than it was trained for.

        What a person set comes first, then the window of the Modelfile or of the loaded model.
        """
        own, known = settings.own_settings(models.OllamaSettings), settings.capabilities
        if own.num_ctx:
            chosen = Fact(own.num_ctx, Source.CONFIGURATION, "numCtx")
        elif known.loaded_window is not None:
            return Fact(known.loaded_window, Source.DETAILS, "")
        elif own.num_ctx == 0:
            chosen = Fact(_SMALLEST_WINDOW, Source.DEFAULT, "the least that a server chooses")
        else:
            chosen = Fact(CAREFUL_WINDOW, Source.DEFAULT, "numCtx")
        if known.trained_window is not None and known.trained_window < chosen.value:
            return replace(chosen, value=known.trained_window)
        return chosen

    def complete_settings(
        self,
        settings: RequestSettings,
        _base_url: str,
        model: LanguageModelChatInformation,
        _server: KnownServer | None,
    ) -> RequestSettings:
        """The settings with the window that was advertised for the model, unless a person leaves it to the server."""
        own = settings.own_settings(models.OllamaSettings)
        if own.num_ctx == 0:
            return settings
        advertised = model.extra.get("maxContextWindowTokens")
        window = (
            settings.capabilities.context_window
            or own.num_ctx
            or (advertised if type(advertised) is int and advertised > 0 else None)
            or model.max_input_tokens + model.max_output_tokens
        )
        return replace(settings, own=replace(own, num_ctx=window))


WRITE_REQUEST: Final = OllamaRequests()

# ---- Messages ----


def messages_of(request: ChatRequest) -> list[_Wire]:
    """The messages of a conversation, in order.

    Images of results follow in a message of the user, after all results of the turn, unless the model takes them inside
    the results.

    Raises:
        RequestNotExpressibleError: The user gives the address of an image, or a call holds what JSON has no form for.
    """
    native = request.settings.tool_images is ToolImages.NATIVE
    turns = (replace(turn, content=tuple(map(_in_words, turn.content))) for turn in request.turns)
    messages: list[_Wire] = []
    if request.instructions:
        messages.append({"role": "system", "content": request.instructions})
    for turn in conversation.merged_turns(conversation.shown_by_user(turns, of_results=not native, of_assistant=True)):
        said = [one for one in turn.content if isinstance(one, conversation.Text | conversation.Attachment)]
        if turn.role is conversation.TurnRole.ASSISTANT:
            messages += _assistant(turn)
        elif turn.role is conversation.TurnRole.USER and said:
            messages.append({"role": "user", **_content(said)})
        elif turn.role is conversation.TurnRole.SYSTEM and turn.content:
            texts = (one.value for one in said if isinstance(one, conversation.Text))
            messages.append({"role": "system", "content": "".join(texts)})
        for result in turn.ordered_results:
            content = _content(result.told)
            messages.append({"role": "tool", **content, "tool_name": result.name, "tool_call_id": result.call_id})
    return messages


def _in_words(piece: Any) -> Any:
    if isinstance(piece, conversation.Result):
        return replace(piece, content=tuple(map(_in_words, piece.content)))
    is_other = isinstance(piece, conversation.Attachment) and piece.kind is not MediaKind.IMAGE
    return piece.in_words if is_other else piece


def _assistant(turn: conversation.MergedTurn) -> list[_Wire]:
    calls = [piece for piece in turn.content if isinstance(piece, conversation.Call)]
    text = turn.text
    if not (text or calls):
        return []  # thinking alone is no response
    carried = joined_items(piece.item for piece in turn.content if isinstance(piece, conversation.Reasoning))
    message: _Wire = {"role": "assistant", "content": carried.get(CONTENT, "") + text}
    if thought := carried.get(THINKING):
        message["thinking"] = thought
    if calls:  # arguments are an object, because Ollama refuses a text
        message["tool_calls"] = [
            {"id": call.call_id, "function": {"name": call.name, "arguments": loads(call_arguments(call))}}
            for call in calls
        ]
    return [message]


def _content(pieces: Sequence[conversation.ResultContent]) -> _Wire:
    """The fields of a message for texts and images. An image is base64 alone: Ollama fetches none, and refuses the head
    of a `data:` URL."""
    images: list[str] = []
    for piece in pieces:
        if isinstance(piece, conversation.Attachment):
            if piece.url:
                expected = "the image itself: this server fetches none"
                raise RequestNotExpressibleError(f"the address of {piece.media_type}", piece.where, expected)
            images.append(b64encode(piece.data).decode())
    texts = conversation.joined_texts(piece.value for piece in pieces if isinstance(piece, conversation.Text))
    return {"content": texts} | ({"images": images} if images else {})
