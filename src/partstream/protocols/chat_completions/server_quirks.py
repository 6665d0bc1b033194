"""Which quirks each known server has: rows by its name, and rows for some of its models.

A row says only what differs from :class:`partstream.protocols.chat_completions.quirks.Quirks`, the smallest request. A
model speaks differently behind each server, so rows for models belong to a server too. Source of every row, where it
names no other: facts chat-completions.md 7, in the section that the row names.
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
from partstream.protocols.chat_completions.schemas.moonshot import moonshot_schema
from partstream.protocols.chat_completions.schemas.open_objects import open_objects
from partstream.protocols.chat_completions.settings import CacheControl, EmptyContent
from partstream.protocols.schemas.inlined import inlined
from partstream.protocols.schemas.openapi_subset import openapi_subset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.chat_completions.settings import ChatCompletionsSettings

__all__ = ["MODEL_QUIRKS", "SERVER_QUIRKS", "ModelQuirks", "quirks_of"]

_NINE: Final = IdForm(9, shortest=9, refused=re.compile("[^A-Za-z0-9]"), filler="")
"""7.2: anything else is refused with code 3280."""
_LETTER_FIRST: Final = NameForm(letter_first=True)
_NO_FILES: Final = AttachmentForms(file=None)
_USAGE: Final = {"include_usage": True}

SERVER_QUIRKS: Final[Mapping[str, Quirks]] = MappingProxyType(
    {
        "openai": Quirks(
            call_ids=CallIdRule(FORTY_SIGNS, FORTY_SIGNS),  # 7.2: `string_above_max_length` beyond 40
            limit_field=MAX_COMPLETION_TOKENS,  # 7.4: demanded by models that reason
            stream_options={**_USAGE, "include_obfuscation": False},  # 2.1: padding on every chunk
            cache_key_field="prompt_cache_key",  # 7.4
            reasoning_back=ReasoningBack.OFF,  # 7.6: there is no field for it
        ),
        "azure": Quirks(
            call_ids=CallIdRule(FORTY_SIGNS, FORTY_SIGNS),
            limit_field=MAX_COMPLETION_TOKENS,
            cache_key_field="prompt_cache_key",  # 7.4
            attachments=_NO_FILES,  # 7.1
        ),
        "gemini": Quirks(
            tool_names=_LETTER_FIRST,  # 7.2
            normalize_schema=openapi_subset,  # 7.3
            names_results=True,  # 7.1
            fills_signatures=True,  # 2.5
        ),
        "openrouter": Quirks(
            attachments=AttachmentForms(video=forms.video_address, file=forms.file_or_address),  # 7.1
            tool_names=_LETTER_FIRST,  # 7.2: Gemini may be behind it
            effort=Effort(efforts.reasoning_object),  # 7.5
            session_header="x-session-id",  # 7.4
        ),
        "ollama": Quirks(
            attachments=AttachmentForms(
                image=forms.image_bytes, audio=None, file=None
            ),  # 7.1: "invalid message format"
            # 7.5: other words are refused
            effort=Effort(efforts.reasoning_effort, {"minimal": "low", "xhigh": "max", "ultra": "max"}),
            required="",  # 7.3: ignored
        ),
        "lm-studio": Quirks(joins_users=True),  # 7.1: templates demand alternation
        "llama.cpp": Quirks(
            joins_users=True,  # 7.1
            effort=Effort(efforts.template_with_effort),  # 7.5
        ),
        "vllm": Quirks(
            joins_users=True,  # 7.1
            effort=Effort(efforts.template_and_effort, {"minimal": "low", "xhigh": "high", "max": "high"}),  # 7.5
        ),
        "sglang": Quirks(
            joins_users=True,  # 7.1
            effort=Effort(efforts.template_and_effort, {"minimal": "low", "xhigh": "high", "max": "high"}),  # 7.5
        ),
        "deepseek": Quirks(
            attachments=_NO_FILES,  # 7.1: uploaded files by their id only
            effort=Effort(efforts.thinking_and_effort, {"minimal": "low", "medium": "high", "xhigh": "high"}),  # 7.5
            filled_reasoning=REASONING_CONTENT,  # 7.6: every message with calls, also those of other models
            required="",  # 7.3: not known while it thinks, which is the default
        ),
        "groq": Quirks(
            limit_field=MAX_COMPLETION_TOKENS,  # 7.4
            reasoning_back=ReasoningBack.REASONING,  # 7.6: "property 'reasoning_content' is unsupported"
        ),
        "mistral": Quirks(
            attachments=AttachmentForms(image=forms.image_text, file=forms.document_address),  # 7.1
            call_ids=CallIdRule(_NINE, _NINE),
            empty_content="",  # 7.1: demands a string
            names_results=True,  # 7.1
            answers_results=True,  # 7.1: "Unexpected role 'user' after role 'tool'"
            required="any",  # 7.3
            stream_options=None,  # 5: fields that it does not know are refused, and usage comes unasked
        ),
        "xai": Quirks(
            normalize_schema=open_objects,  # 7.3
            limit_field=MAX_COMPLETION_TOKENS,  # 7.4
            cache_key_field="prompt_cache_key",  # 7.4
            reasoning_back=ReasoningBack.OFF,  # 7.6: no field for it in this API
        ),
        "together": Quirks(effort=Effort(efforts.reasoning_enabled)),  # 7.5
        "fireworks": Quirks(cache_key_field="prompt_cache_key"),  # 7.4
        "cerebras": Quirks(
            limit_field=MAX_COMPLETION_TOKENS,  # 7.4
            reasoning_back=ReasoningBack.REASONING,  # 7.6: `wrong_api_format`
        ),
        "moonshot": Quirks(
            tool_names=_LETTER_FIRST,  # 7.2
            normalize_schema=moonshot_schema,  # 7.3
            effort=Effort(efforts.thinking_type),  # 7.5
            filled_reasoning=REASONING_CONTENT,  # 7.6: missing in a message with calls is an error
            required="",  # 7.3: incompatible with thinking
            cache_key_field="prompt_cache_key",  # 7.4
        ),
        "zhipu": Quirks(
            effort=Effort(efforts.kept_thinking),  # 7.5, 7.6
            tool_fields={"tool_stream": True},  # 7.5: else arguments come whole
        ),
        "qwen": Quirks(
            attachments=AttachmentForms(audio=forms.audio_address, video=forms.video_address, file=None),  # 7.1
            normalize_schema=inlined,  # 7.3
            effort=Effort(efforts.enable_thinking),  # 7.5
            reasoning_back=ReasoningBack.OFF,  # 7.6: not needed
            required="",  # 7.3: refused while it thinks
        ),
        "minimax": Quirks(
            limit_field=MAX_COMPLETION_TOKENS,  # 7.4
            effort=Effort(efforts.adaptive_thinking),  # 7.5
            fields={"reasoning_split": True},  # 7.5: else thinking stands in tags in the text
            required="",  # 7.3: none documented
        ),
        "litellm": Quirks(
            tool_names=_LETTER_FIRST,  # 7.2: Gemini may be behind it
            lists_no_tools=True,  # 7.3: Anthropic behind it wants the key when the history has calls
        ),
        "baseten": Quirks(effort=Effort(efforts.template_arguments)),  # 7.5
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
    # 7.1: `developer` is for models that reason.
    _models("openai", _REASONS, system_role="developer"),
    _models("azure", _REASONS, system_role="developer"),
    # 7.5: GPT-5.6 knows no `minimal`.
    _models("openai", r"gpt-5\.([6-9]|\d\d)", effort=Effort(efforts.reasoning_effort, {"minimal": "low"})),
    # 7.4: Anthropic caches nothing that is not marked, Gemini honours only the last mark.
    _models("openrouter", r"(~?anthropic/|.*claude)", cache_marks=CacheMarks.ALL),
    _models("openrouter", r"google/gemini", cache_marks=CacheMarks.LAST),
    _models("litellm", r"(.*anthropic|.*claude)", cache_marks=CacheMarks.ALL),
    # 7.1, 7.2: models of Mistral that somebody runs have templates with Mistral's own demands; what such a server gave
    # as an id of a call it takes back.
    *(
        _models(server, _MISTRAL, call_ids=CallIdRule(IdForm(256), _NINE), answers_results=True)
        for server in ("vllm", "sglang", "llama.cpp", "lm-studio")
    ),
    # 7.5: `raw` is refused beside tools, and without a format nothing may come at all; effort is a switch for Qwen.
    _models(
        "groq",
        r"(qwen|deepseek)",
        fields={"reasoning_format": "parsed"},
        effort=Effort(
            efforts.reasoning_effort,
            dict.fromkeys(("minimal", "low", "medium", "high", "xhigh", "max"), "default"),
        ),
    ),
    # 7.6: GLM at Cerebras takes its thinking back as text.
    _models("cerebras", r"(zai-)?glm", reasoning_back=ReasoningBack.TAGS, fields={"clear_thinking": False}),
    # 7.5: `none` is refused.
    _models("moonshot", r"kimi-k[3-9]", effort=Effort(efforts.reasoning_effort, _THREE_DEGREES)),
    # 7.5: degrees from 5.2 on; 5.3 cannot be switched off.
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
