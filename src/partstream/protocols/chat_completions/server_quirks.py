"""Which quirks each known server has: rows by its name, and rows for some of its models.

A row says only what differs from :class:`partstream.protocols.chat_completions.quirks.Quirks`, the smallest request. A
model behaves differently on each server, so rows for models belong to a server too. The reasons:
docs/wires/chat-completions.md#messages, docs/wires/chat-completions.md#ids-and-names,
docs/wires/chat-completions.md#tools-and-schemas, docs/wires/chat-completions.md#prompt-caching,
docs/wires/chat-completions.md#reasoning-effort and docs/wires/chat-completions.md#sending-reasoning-back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.call_ids import CallIdRule, IdForm
from partstream.conversation.tool_names import NameForm
from partstream.protocols.chat_completions import attachments as forms
from partstream.protocols.chat_completions import efforts
from partstream.protocols.chat_completions.attachments import AttachmentForms
from partstream.protocols.chat_completions.efforts import CHOSEN_EFFORTS, Effort, EffortAs
from partstream.protocols.chat_completions.quirks import (
    FORTY_SIGNS,
    MAX_COMPLETION_TOKENS,
    CacheMarks,
    Quirks,
)
from partstream.protocols.chat_completions.reasoning_back import REASONING_CONTENT, ReasoningBack
from partstream.protocols.chat_completions.settings import CacheControl, EmptyContent
from partstream.protocols.schemas import inlined, moonshot_schema, open_objects, openapi_subset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.chat_completions.settings import ChatCompletionsSettings

__all__ = ["MODEL_QUIRKS", "SERVER_QUIRKS", "ModelQuirks", "quirks_of"]

_NINE: Final = IdForm(9, shortest=9, refused=re.compile("[^A-Za-z0-9]"), filler="")
"""Mistral refuses other ids with code 3280."""
_LETTER_FIRST: Final = NameForm(letter_first=True)
_NO_FILES: Final = AttachmentForms(file=None)
_USAGE: Final = {"include_usage": True}

SERVER_QUIRKS: Final[Mapping[str, Quirks]] = MappingProxyType(
    {
        "openai": Quirks(
            call_ids=CallIdRule(FORTY_SIGNS, FORTY_SIGNS),  # `string_above_max_length` beyond 40
            limit_field=MAX_COMPLETION_TOKENS,  # models that reason require it
            stream_options={**_USAGE, "include_obfuscation": False},  # padding on every chunk
            cache_key_field="prompt_cache_key",
            reasoning_back=ReasoningBack.OFF,  # there is no field for it
        ),
        "azure": Quirks(
            call_ids=CallIdRule(FORTY_SIGNS, FORTY_SIGNS),
            limit_field=MAX_COMPLETION_TOKENS,
            cache_key_field="prompt_cache_key",
            attachments=_NO_FILES,
        ),
        "gemini": Quirks(
            tool_names=_LETTER_FIRST,
            normalize_schema=openapi_subset,
            names_results=True,
            fills_signatures=True,
        ),
        "openrouter": Quirks(
            attachments=AttachmentForms(video=forms.video_address, file=forms.file_or_address),
            tool_names=_LETTER_FIRST,  # the model may be Gemini
            effort=Effort(efforts.reasoning_object),
            session_header="x-session-id",
        ),
        "ollama": Quirks(
            # It refuses other kinds as an "invalid message format", and other words for the effort.
            attachments=AttachmentForms(image=forms.image_bytes, audio=None, file=None),
            effort=Effort(efforts.reasoning_effort, {"minimal": "low", "xhigh": "max", "ultra": "max"}),
            required="",  # ignored
        ),
        "lm-studio": Quirks(joins_users=True),  # templates require that user and assistant take turns
        "llama.cpp": Quirks(
            joins_users=True,
            effort=Effort(efforts.template_with_effort),
        ),
        "vllm": Quirks(
            joins_users=True,
            effort=Effort(efforts.template_and_effort, {"minimal": "low", "xhigh": "high", "max": "high"}),
        ),
        "sglang": Quirks(
            joins_users=True,
            effort=Effort(efforts.template_and_effort, {"minimal": "low", "xhigh": "high", "max": "high"}),
        ),
        "deepseek": Quirks(
            attachments=_NO_FILES,  # it takes uploaded files only, by their ids
            effort=Effort(efforts.thinking_and_effort, {"minimal": "low", "medium": "high", "xhigh": "high"}),
            filled_reasoning=REASONING_CONTENT,  # in every message with calls, also of other models
            required="",  # refused while it thinks, which is the default
        ),
        "groq": Quirks(
            limit_field=MAX_COMPLETION_TOKENS,
            reasoning_back=ReasoningBack.REASONING,  # "property 'reasoning_content' is unsupported"
        ),
        "mistral": Quirks(
            attachments=AttachmentForms(image=forms.image_text, file=forms.document_address),
            call_ids=CallIdRule(_NINE, _NINE),
            empty_content="",  # null is refused
            names_results=True,
            answers_results=True,  # "Unexpected role 'user' after role 'tool'"
            required="any",
            stream_options=None,  # it refuses unknown fields, and reports usage unasked
        ),
        "xai": Quirks(
            normalize_schema=open_objects,
            limit_field=MAX_COMPLETION_TOKENS,
            cache_key_field="prompt_cache_key",
            reasoning_back=ReasoningBack.OFF,  # no field for it in this API
        ),
        "together": Quirks(effort=Effort(efforts.reasoning_enabled)),
        "fireworks": Quirks(cache_key_field="prompt_cache_key"),
        "cerebras": Quirks(
            limit_field=MAX_COMPLETION_TOKENS,
            reasoning_back=ReasoningBack.REASONING,  # `wrong_api_format`
        ),
        "moonshot": Quirks(
            tool_names=_LETTER_FIRST,
            normalize_schema=moonshot_schema,
            effort=Effort(efforts.thinking_type),
            filled_reasoning=REASONING_CONTENT,  # a message with calls and without it is refused
            required="",  # refused beside thinking
            cache_key_field="prompt_cache_key",
        ),
        "zhipu": Quirks(
            effort=Effort(efforts.kept_thinking),
            tool_fields={"tool_stream": True},  # otherwise arguments arrive whole
        ),
        "qwen": Quirks(
            attachments=AttachmentForms(audio=forms.audio_address, video=forms.video_address, file=None),
            normalize_schema=inlined,
            effort=Effort(efforts.enable_thinking),
            reasoning_back=ReasoningBack.OFF,  # not needed
            required="",  # refused while it thinks
        ),
        "minimax": Quirks(
            limit_field=MAX_COMPLETION_TOKENS,
            effort=Effort(efforts.adaptive_thinking),
            fields={"reasoning_split": True},  # otherwise thinking arrives as tags in the text
            required="",  # not documented
        ),
        "litellm": Quirks(
            tool_names=_LETTER_FIRST,  # the model may be Gemini
            lists_no_tools=True,  # Anthropic requires the key when the history has calls
        ),
        "baseten": Quirks(effort=Effort(efforts.template_arguments)),
    }
)
"""By the names of :data:`partstream.protocols.known_servers.KNOWN_SERVERS`."""


@dataclass(frozen=True, slots=True)
class ModelQuirks:
    """How some models of a server differ from its others.

    Attributes:
        server: The server's name.
        models: Matches the beginning of a model's id.
        changes: The fields of :class:`Quirks` that differ.
    """

    server: str
    models: re.Pattern[str]
    changes: Mapping[str, Any]


def _models(server: str, pattern: str, **changes: Any) -> ModelQuirks:
    return ModelQuirks(server, re.compile(pattern, re.IGNORECASE), changes)


_REASONS: Final = r"(o\d|gpt-([5-9]|\d\d))"
_MISTRAL: Final = r"(.*/)?(open-)?(mistral|mixtral|ministral|magistral|devstral|codestral|pixtral)"
_THREE_DEGREES: Final = {"minimal": "low", "medium": "high", "xhigh": "max", "none": ""}

MODEL_QUIRKS: Final = (
    # `developer` is for models that reason.
    _models("openai", _REASONS, system_role="developer"),
    _models("azure", _REASONS, system_role="developer"),
    # GPT-5.6 knows no `minimal`.
    _models("openai", r"gpt-5\.([6-9]|\d\d)", effort=Effort(efforts.reasoning_effort, {"minimal": "low"})),
    # Anthropic caches nothing that is not marked, Gemini honours only the last mark.
    _models("openrouter", r"(~?anthropic/|.*claude)", cache_marks=CacheMarks.ALL),
    _models("openrouter", r"google/gemini", cache_marks=CacheMarks.LAST),
    _models("litellm", r"(.*anthropic|.*claude)", cache_marks=CacheMarks.ALL),
    # Templates of Mistral's models have the same requirements on servers that anybody runs. Such a server takes its own
    # ids of calls back.
    *(
        _models(server, _MISTRAL, call_ids=CallIdRule(IdForm(256), _NINE), answers_results=True)
        for server in ("vllm", "sglang", "llama.cpp", "lm-studio")
    ),
    # Tools beside `raw` are refused, and without a format an answer may be empty. Effort is a switch for Qwen.
    _models(
        "groq",
        r"(qwen|deepseek)",
        fields={"reasoning_format": "parsed"},
        effort=Effort(
            efforts.reasoning_effort,
            dict.fromkeys(("minimal", "low", "medium", "high", "xhigh", "max"), "default"),
        ),
    ),
    # GLM at Cerebras takes its thinking back as tags in the text.
    _models("cerebras", r"(zai-)?glm", reasoning_back=ReasoningBack.TAGS, fields={"clear_thinking": False}),
    # They refuse `none`.
    _models("moonshot", r"kimi-k[3-9]", effort=Effort(efforts.reasoning_effort, _THREE_DEGREES)),
    # GLM has degrees from 5.2 on, and 5.3 cannot be switched off.
    _models("zhipu", r"glm-5\.2", effort=Effort(efforts.kept_thinking_and_effort)),
    _models("zhipu", r"glm-5\.([3-9]|\d\d)", effort=Effort(efforts.kept_thinking_and_effort, {"none": ""})),
)
"""Later rows win over earlier ones."""


def quirks_of(own: ChatCompletionsSettings, model_id: str) -> Quirks:
    """What the server of a model takes: what is known of it, and over that what a person set."""
    changes: dict[str, Any] = {}
    if own.max_tokens_field is not None:
        changes["limit_field"] = own.max_tokens_field.value
    if own.effort_as is not EffortAs.AUTO:
        changes["effort"] = CHOSEN_EFFORTS[own.effort_as]
    if own.reasoning_back is not ReasoningBack.AUTO:
        changes["reasoning_back"] = own.reasoning_back
    if own.empty_content is not None:
        changes["empty_content"] = _EMPTY_CONTENTS[own.empty_content]
    if own.cache_control is not CacheControl.AUTO:
        changes["cache_marks"] = _CACHE_MARKS[own.cache_control]
    known = _known(own.server, model_id)
    return replace(known, **changes) if changes else known


_EMPTY_CONTENTS: Final = {EmptyContent.NULL: None, EmptyContent.TEXT: ""}
_CACHE_MARKS: Final = {CacheControl.ON: CacheMarks.ALL, CacheControl.OFF: CacheMarks.NONE}


def _known(server: str | None, model_id: str) -> Quirks:
    quirks = SERVER_QUIRKS.get(server or "", Quirks())
    for row in MODEL_QUIRKS:
        if row.server == server and row.models.match(model_id):
            quirks = replace(quirks, **row.changes)
    return quirks
