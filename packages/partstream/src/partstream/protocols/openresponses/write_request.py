"""Writes a request as the body of OpenResponses.

:mod:`partstream.conversation.turns` has prepared the conversation. The body is written in this order: model, input
items, instructions, tools, then the chosen options; an option of the request wins over the configuration of the model.
The protocol has no cache breakpoints: servers find the common beginning by themselves, helped by `prompt_cache_key`.
`strict` is false unless a client asks for it, because arbitrary schemas do not satisfy strict mode
(docs/wires/openresponses.md#tools).

Source: OpenResponses specification 2026-04-24, `CreateResponseBody` and `ItemParam`.
"""

from __future__ import annotations
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from partstream.codec.checks import dataclass, replace
from partstream.conversation import turns as conversation
from partstream.conversation.media import MediaKind, data_url
from partstream.conversation.preparation import ChatRequest, ConversationRules, RequestSettings, SystemAs, ToolImages
from partstream.conversation.tool_forms import CODE, WEB_SEARCH, HostedForm
from partstream.errors import RequestNotExpressibleError
from partstream.lm.messages import ToolMode
from partstream.protocols.openresponses.errors import ENCRYPTED_REASONING, ERRORS, LEAVE_OUT, LOGPROBS
from partstream.protocols.options import (
    NO_FIELD,
    AnswerFormat,
    Option,
    OptionRules,
    snake_case,
    text_of_arguments,
    tiers,
    with_extra_fields,
)
from partstream.protocols.protocol import NO_FIELDS, CountEndpoint, OwnSettings, RequestWriter, count_of_fields
from partstream.protocols.read_response import JSONObject
from partstream.protocols.schemas import PLAIN, for_model
from partstream.protocols.serve import WireRequest
from partstream.settings.kinds import Choice, choice, whole
from partstream.settings.row import Setting

# ---- Settings that only OpenResponses has ----


class EncryptedReasoning(Choice):
    """Whether a request asks for encrypted reasoning, which later requests send back."""

    AUTO = (
        "auto",
        "When a reasoning effort is chosen or the conversation holds such reasoning; other models would refuse it",
    )
    ON = "on", "Always"
    OFF = "off", "Never"


class Truncation(Choice):
    """The server's behaviour for a conversation that is too long."""

    AUTO = "auto", "It drops items from the middle"
    DISABLED = "disabled", "It refuses the request"


@dataclass(frozen=True, slots=True)
class OpenResponsesSettings:
    """The request settings of OpenResponses alone.

    `truncation` None leaves the choice to the server. `compact_at` is the number of input tokens from which on the
    server summarises a conversation by itself; the summary comes back with the next request.
    """

    encrypted_reasoning: EncryptedReasoning = EncryptedReasoning.AUTO
    truncation: Truncation | None = None
    compact_at: int | None = None


OWN_SETTINGS: Final = OwnSettings(
    OpenResponsesSettings,
    (
        Setting(
            "encryptedReasoning",
            choice(EncryptedReasoning),
            "Whether to ask the server for its encrypted reasoning, which later requests send back",
            "auto",
        ),
        Setting(
            "truncation",
            choice(Truncation),
            "What the server does when a conversation is too long",
            otherwise="what the server does by itself",
        ),
        Setting(
            "compactAt",
            whole(),
            "The number of input tokens at which the server starts to summarize a conversation by itself",
            otherwise="never",
        ),
    ),
    frozenset({"model", "input", "stream", "previous_response_id"}),
)

# ---- The body ----

PATH: Final = "/responses"


def _format_option(asked: AnswerFormat) -> dict[str, Any]:
    is_any = asked.schema is None
    return {"text": {"format": {"type": "json_object"} if is_any else {"type": "json_schema", **asked.fields}}}


HOSTED_TOOLS: Final = {
    WEB_SEARCH: HostedForm(
        {"type": "web_search"}, {"user_location": "", "search_context_size": "", "allowed_domains": "filters"}
    ),
    CODE: HostedForm({"type": "code_interpreter", "container": {"type": "auto"}}),
}

OPTIONS: Final = OptionRules(
    "openresponses",
    {
        Option.LIMIT: "max_output_tokens",
        Option.EFFORT: NO_FIELD,
        **snake_case(Option.TEMPERATURE, Option.TOP_P, Option.PRESENCE_PENALTY, Option.FREQUENCY_PENALTY),
        **snake_case(Option.PARALLEL_CALLS, Option.USER, Option.SAFETY_IDENTIFIER, Option.SERVICE_TIER),
        **snake_case(Option.METADATA, Option.CACHE_RETENTION, Option.TOP_LOGPROBS),
        Option.LOGPROBS: NO_FIELD,
        Option.VERBOSITY: "text.verbosity",
    },
    OWN_SETTINGS.request_fields | {"messages", "instructions", "tools", "tool_choice", "store"},
    _format_option,
    formats=frozenset({"text"}),
    objects=frozenset({"reasoning", "text"}),
    only_own=frozenset({Option.PRESENCE_PENALTY, Option.FREQUENCY_PENALTY}),  # OpenAI has none of them here
    tiers=tiers("default", "flex", "priority"),
)

# Servers refuse reasoning without the item that it led to; a summary of the conversation needs no such item.
_RULES: Final = ConversationRules(
    may_end=lambda item: item.get("type") not in {None, "reasoning"},
    takes_strict=True,
    hosted_tools=HOSTED_TOOLS,
    file_words={**dict.fromkeys(conversation.FILE_NAMES, "file"), "detail": "image file"},
)


class OpenResponsesRequests(RequestWriter):
    """Writes requests for streamed responses."""

    path = PATH
    continues = True
    errors = ERRORS
    notes = staticmethod(OPTIONS.notes)
    leave_out = staticmethod(LEAVE_OUT)
    empty_request = NO_FIELDS
    # OpenAI's reference, `POST /responses/input_tokens`.
    count = CountEndpoint(
        count_of_fields(
            "/responses/input_tokens",
            frozenset(
                {"conversation", "input", "instructions", "model", "parallel_tool_calls", "previous_response_id"}
                | {"reasoning", "text", "tool_choice", "tools", "truncation"}
            ),
        )
    )

    def write(self, request: ChatRequest) -> WireRequest:  # noqa: D102
        settings = request.settings
        own = settings.own_settings(OpenResponsesSettings)
        body: dict[str, Any] = {
            "model": request.model_id,
            "input": input_items(request.turns, settings),
            "stream": True,
            "store": settings.stores,
        }
        if request.instructions:
            body["instructions"] = request.instructions
        if request.previous_response_id is not None:
            body["previous_response_id"] = request.previous_response_id
        listed = request.tools or request.idle_tools
        if listed or request.hosted_tools:
            functions = (
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.input_schema,
                    "strict": tool.is_strict,
                }
                for tool in listed
            )
            body["tools"] = [*functions, *request.hosted_tools]
            demanded = request.demanded_tool
            mode = "required" if request.tool_mode is ToolMode.REQUIRED else "auto"
            mode = "none" if request.idle_tools else mode
            body["tool_choice"] = mode if demanded is None else {"type": demanded["type"]}
        if own.truncation is not None:
            body["truncation"] = own.truncation.value
        if own.compact_at is not None:
            # OpenAI's reference, `context_management`.
            body["context_management"] = [{"type": "compaction", "compact_threshold": own.compact_at}]
        body |= _chosen(request, own)
        return WireRequest(PATH, with_extra_fields(body, settings.extra_body))

    def conversation_rules(self, _settings: RequestSettings, model_id: str) -> ConversationRules:  # noqa: D102
        return replace(_RULES, tool_schema=partial(for_model, PLAIN, model_id))


WRITE_REQUEST: Final = OpenResponsesRequests()


def _chosen(request: ChatRequest, own: OpenResponsesSettings) -> dict[str, Any]:
    """The chosen values: from the options of the request, else from the configuration of the model."""
    settings = request.settings
    options = OPTIONS.of(request)
    effort = options.effort or request.reasoning_effort
    chosen: dict[str, Any] = {}
    if effort is not None:
        chosen["reasoning"] = {"effort": effort}
        if effort != "none":
            chosen["reasoning"]["summary"] = "auto"  # without it, servers send no visible reasoning
    elif request.asks_to_think and settings.capabilities.reasoning:
        chosen["reasoning"] = {"summary": "auto"}
    if request.cache_key is not None:
        chosen["prompt_cache_key"] = request.cache_key
    if settings.max_output_tokens is not None:
        chosen["max_output_tokens"] = settings.max_output_tokens
    chosen |= options.fields
    wants_state = own.encrypted_reasoning is EncryptedReasoning.ON
    if own.encrypted_reasoning is EncryptedReasoning.AUTO:
        reasoning = chosen.get("reasoning")
        reasons = isinstance(reasoning, dict) and reasoning.get("effort") not in {None, "none"}
        wants_state = request.has_reasoning or reasons
    wanted = {ENCRYPTED_REASONING: wants_state, LOGPROBS: bool(options.elsewhere.get(Option.LOGPROBS))}
    if include := [name for name, is_wanted in wanted.items() if is_wanted]:
        chosen.setdefault("include", include)
    return chosen


# ---- Input items ----

_MAX_IMAGE_URL: Final = 20_971_520
_MAX_FILE_DATA: Final = 33_554_432


def input_items(turns: Iterable[conversation.Turn], settings: RequestSettings) -> list[JSONObject]:
    """The items of a conversation, in order.

    Images and files that the protocol does not allow in their place follow in a message of the user, after the adjacent
    tool results.

    Raises:
        RequestNotExpressibleError: A part is larger than the protocol allows, or holds what JSON has no form for.
    """
    of_results = settings.tool_images is not ToolImages.NATIVE
    shown = conversation.shown_by_user(turns, of_results=of_results, of_assistant=True)
    system = "developer" if settings.system_as is SystemAs.DEVELOPER else "system"
    return [item for turn in shown for item in _items_of(turn, system)]


def _items_of(turn: conversation.Turn, system: str) -> Iterator[JSONObject]:
    match turn.role:
        case conversation.TurnRole.SYSTEM:
            yield from _message(system, [_input(one) for one in turn.content if isinstance(one, conversation.Text)])
        case conversation.TurnRole.USER:
            shown = conversation.Text | conversation.Attachment
            yield from _message("user", [_input(one) for one in turn.content if isinstance(one, shown)])
        case conversation.TurnRole.TOOL:
            for one in turn.content:
                if isinstance(one, conversation.Result):
                    yield {"type": "function_call_output", "call_id": one.call_id, "output": _output(one)}
        case conversation.TurnRole.ASSISTANT:
            yield from _answer(turn.content)


_STATE: Final = ("type", "id", "encrypted_content")
_STATES: Final[Mapping[str, JSONObject]] = {"reasoning": {"summary": []}, "compaction": {}}
"""The types of the items that carry state, with the other fields that they must have."""


def _answer(content: Sequence[conversation.Piece]) -> Iterator[JSONObject]:
    said: list[JSONObject] = []
    for piece in content:
        if isinstance(piece, conversation.Text):
            said.append({"type": "output_text", "text": piece.value})
            continue
        yield from _message("assistant", said)
        said = []
        if isinstance(piece, conversation.Call):
            arguments = text_of_arguments(piece)
            call = {"type": "function_call", "call_id": piece.call_id, "name": piece.name, "arguments": arguments}
            yield {**call, "status": "completed"}
        elif isinstance(piece, conversation.Reasoning):
            # Nothing else of an item: it comes back from the client, and as a message it would be another one's word.
            state = {name: piece.item[name] for name in _STATE if isinstance(piece.item.get(name), str)}
            if state.get("encrypted_content") and (kind := state.pop("type", "reasoning")) in _STATES:
                yield {"type": kind, **_STATES[kind], **state}
    yield from _message("assistant", said)


def _message(role: str, content: list[JSONObject]) -> Iterator[JSONObject]:
    if content:
        yield {"type": "message", "role": role, "content": content}


def _output(result: conversation.Result) -> str | list[JSONObject]:
    """The output of a tool: a string if a string can hold it, because every server takes one."""
    pieces = [_input(piece) for piece in result.content]
    if result.is_error:  # the protocol has no field for it
        pieces.insert(
            0, {"type": "input_text", "text": conversation.FAILED if pieces else conversation.FAILED_SILENTLY}
        )
    if all(piece["type"] == "input_text" for piece in pieces):
        return conversation.joined_texts(piece["text"] for piece in pieces)
    return pieces


def _input(piece: conversation.ResultContent) -> JSONObject:
    if isinstance(piece, conversation.Text):
        return {"type": "input_text", "text": piece.value}
    is_image = piece.kind is MediaKind.IMAGE
    detail = {"detail": piece.about["detail"]} if "detail" in piece.about else {}
    if piece.url and not is_image:
        named = {"filename": piece.file_name} if piece.title else {}
        return {"type": "input_file", "file_url": piece.url, **named, **detail}
    url = piece.url or data_url(piece.data, piece.media_type)
    limit = _MAX_IMAGE_URL if is_image else _MAX_FILE_DATA
    if len(url) > limit:
        raise RequestNotExpressibleError(
            f"{len(piece.data):,} bytes of {piece.media_type}", piece.where, f"at most {limit * 3 // 4:,} bytes"
        )
    if is_image:
        return {"type": "input_image", "image_url": url, "detail": "auto", **detail}
    return {"type": "input_file", "filename": piece.file_name, "file_data": url, **detail}
