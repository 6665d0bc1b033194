"""The differences between servers of Chat Completions in a request, and the settings for them.

:class:`Quirks` holds all differences as one value; its defaults are the smallest request, which every server takes.
`SERVER_QUIRKS` has a row for each known server, and `MODEL_QUIRKS` for some of its models; a row holds only the fields
that differ. :func:`quirks_of` combines both with the settings of the user, which win.
"""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

from partstream.conversation.media import MediaKind, data_url, file_name
from partstream.conversation.turns import ANY_NAME, CallIdRule, IdForm, NameForm
from partstream.errors import RequestNotExpressibleError
from partstream.protocols.chat_completions.provider_state import CONTENT, REASONING_DETAILS, THINKING_BLOCKS
from partstream.protocols.known_servers import known_server
from partstream.protocols.protocol import OwnSettings
from partstream.protocols.schemas import inlined, moonshot_schema, open_objects, openapi_subset
from partstream.settings.kinds import Choice, ConfigurationError, choice, shortened, text
from partstream.settings.row import Setting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.conversation.turns import Attachment
    from partstream.protocols.chat_completions.provider_state import CarriedMessage


# ---- efforts ----
# The reasoning effort in the words of a server; source: docs/wires/chat-completions.md#reasoning-effort.

_NONE: Final = "none"
"""The effort that switches reasoning off."""


class EffortAs(Choice):
    """The field that says how much a model thinks."""

    AUTO = "auto", "As the server is known to take it, else `reasoning_effort`"
    REASONING_EFFORT = "reasoning_effort", "The word in `reasoning_effort`"
    REASONING = "reasoning", "The word in `reasoning.effort`"
    THINKING = "thinking", "`thinking.type`, enabled or disabled, and the word in `reasoning_effort`"
    ENABLE_THINKING = "enable_thinking", "`enable_thinking`, true or false"
    CHAT_TEMPLATE = "chat_template_kwargs", "`enable_thinking` and `thinking` in `chat_template_kwargs`"
    OFF = "off", "None"


@dataclass(frozen=True, slots=True)
class Effort:
    """The form of the reasoning effort for a server.

    Attributes:
        write: Gives the fields of the body for a word.
        words: The server's word for one of ours; the empty word for an effort that it cannot be told. Words that are
            not named stay.
    """

    write: Callable[[str], Wire]
    words: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def fields(self, word: str) -> Wire:
        """The fields of the body for one of our words."""
        own = self.words.get(word, word)
        return self.write(own) if own else {}


def reasoning_effort(word: str) -> Wire:
    """OpenAI's field."""
    return {"reasoning_effort": word}


def reasoning_object(word: str) -> Wire:
    """OpenRouter's field."""
    return {"reasoning": {"effort": word}}


def thinking_type(word: str) -> Wire:
    """A switch that takes no degrees: GLM, Kimi."""
    return {"thinking": {"type": "disabled" if word == _NONE else "enabled"}}


def thinking_and_effort(word: str) -> Wire:
    """DeepSeek's two fields."""
    return thinking_type(word) | ({} if word == _NONE else reasoning_effort(word))


def kept_thinking(word: str) -> Wire:
    """GLM's switch; it forgets the thinking of earlier turns unless `clear_thinking` is false."""
    return thinking_type(word) if word == _NONE else {"thinking": {"type": "enabled", "clear_thinking": False}}


def kept_thinking_and_effort(word: str) -> Wire:
    """The same for the GLM models with degrees."""
    return kept_thinking(word) | ({} if word == _NONE else reasoning_effort(word))


def adaptive_thinking(word: str) -> Wire:
    """MiniMax's switch."""
    return {"thinking": {"type": "disabled" if word == _NONE else "adaptive"}}


def enable_thinking(word: str) -> Wire:
    """Qwen's switch at DashScope."""
    return {"enable_thinking": word != _NONE}


def reasoning_enabled(word: str) -> Wire:
    """Together's two fields."""
    return {"reasoning": {"enabled": word != _NONE}} | ({} if word == _NONE else reasoning_effort(word))


def _template(word: str) -> Wire:
    """The variables of chat templates: `enable_thinking` of Qwen and GLM, `thinking` of DeepSeek and Kimi."""
    return {"enable_thinking": word != _NONE, "thinking": word != _NONE}


def chat_template(word: str) -> Wire:
    """What servers of open models hand to the template of the model."""
    return {"chat_template_kwargs": _template(word)}


def template_and_effort(word: str) -> Wire:
    """The same beside the field for gpt-oss: vLLM, SGLang."""
    return chat_template(word) | ({} if word == _NONE else reasoning_effort(word))


def template_with_effort(word: str) -> Wire:
    """The same at llama.cpp, where gpt-oss takes its degree from the template too."""
    return {"chat_template_kwargs": _template(word) | ({} if word == _NONE else reasoning_effort(word))}


def template_arguments(word: str) -> Wire:
    """Baseten's name for the variables of the template."""
    return {"chat_template_args": _template(word)}


def nothing(_word: str) -> Wire:
    """No field."""
    return {}


NO_EFFORT: Final = Effort(nothing)

CHOSEN_EFFORTS: Final[Mapping[EffortAs, Effort]] = {
    EffortAs.REASONING_EFFORT: Effort(reasoning_effort),
    EffortAs.REASONING: Effort(reasoning_object),
    EffortAs.THINKING: Effort(thinking_and_effort),
    EffortAs.ENABLE_THINKING: Effort(enable_thinking),
    EffortAs.CHAT_TEMPLATE: Effort(chat_template),
    EffortAs.OFF: NO_EFFORT,
}
"""What a person may choose."""


# ---- reasoning back ----
# What a message of the assistant takes back of the reasoning that led to it.
#
# See docs/wires/chat-completions.md#sending-reasoning-back.
#
# What was received in a field goes back in the same field, whole, unless the server is known to want it elsewhere or
# not at all.

REASONING_CONTENT: Final = "reasoning_content"

_PLAIN: Final = (REASONING_CONTENT, "reasoning", "reasoning_text")
"""The fields for reasoning as plain text, in the order in which readers prefer them."""
_OTHERS: Final = frozenset({"role", CONTENT, "name", "tool_calls", "tool_call_id", "refusal", "audio", "function_call"})
"""Fields of a message that say something else."""


class ReasoningBack(Choice):
    """Where reasoning goes that a server gave, in later requests to the same model."""

    AUTO = "auto", "Where the server is known to want it, else into the field in which it came"
    RECEIVED = "received", "Into the field in which it came"
    REASONING_CONTENT = REASONING_CONTENT, "Into `reasoning_content`"
    REASONING = "reasoning", "Into `reasoning`"
    TAGS = "tags", "Into the text, between `<think>` and `</think>`"
    OFF = "off", "Nowhere"


@dataclass(frozen=True, slots=True)
class SentBack:
    """What a message takes back.

    Attributes:
        fields: Fields of the message.
        opening: What stands before its text.
        parts: The parts of the content before its text.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    opening: str = ""
    parts: tuple[Wire, ...] = ()


def sent_back(carried: CarriedMessage, back: ReasoningBack) -> SentBack:
    """What a message takes back, given what was carried to it."""
    extra: Wire = {"extra_content": dict(carried.extra)} if carried.extra else {}
    if back is ReasoningBack.OFF:
        return SentBack(extra)
    plain = "\n\n".join(text for name in _PLAIN if (text := carried.fields.get(name, "")))
    received: Wire = {name: text for name, text in carried.fields.items() if name not in _OTHERS}
    others = {name: text for name, text in received.items() if name not in _PLAIN}
    opening = carried.fields.get(CONTENT, "")
    if back is ReasoningBack.TAGS:
        opening = opening or (f"<think>{plain}</think>\n\n" if plain else "")
        return SentBack(others | extra, opening)
    if carried.details:  # the whole list, and then no plain text (docs/wires/chat-completions.md#reasoning-details)
        received = others | {REASONING_DETAILS: [dict(entry) for entry in carried.details]}
    elif back in _FIELDS:
        received = others | ({_FIELDS[back]: plain} if plain else {})
    if carried.blocks:
        received[THINKING_BLOCKS] = [dict(block) for block in carried.blocks]
    return SentBack(received | extra, opening, tuple(dict(part) for part in carried.parts))


_FIELDS: Final = {
    ReasoningBack.REASONING_CONTENT: REASONING_CONTENT,
    ReasoningBack.REASONING: "reasoning",
}


# ---- attachments ----
# The forms in which servers take images, sound, video and files (docs/wires/chat-completions.md#attachments).

Wire: TypeAlias = dict[str, Any]
"""A JSON object of the wire."""

_AUDIO_FORMATS: Final = {"audio/wav": "wav", "audio/mpeg": "mp3"}
"""OpenAI's words for the formats of sound that it takes."""


def image_address(piece: Attachment) -> Wire:
    """An image as OpenAI takes it: the address, or the bytes as one. `detail` is unknown to many servers."""
    return {"type": "image_url", "image_url": {"url": _address(piece)}}


def image_text(piece: Attachment) -> Wire:
    """The same without an object around the address, as Mistral documents it."""
    return {"type": "image_url", "image_url": _address(piece)}


def image_bytes(piece: Attachment) -> Wire:
    """An image for a server that fetches none."""
    _check_bytes(piece)
    return image_address(piece)


def audio_bytes(piece: Attachment) -> Wire:
    """Sound as OpenAI takes it."""
    _check_bytes(piece)
    data = b64encode(piece.data).decode()
    return {"type": "input_audio", "input_audio": {"data": data, "format": _AUDIO_FORMATS[piece.media_type]}}


def audio_address(piece: Attachment) -> Wire:
    """The same with the bytes as an address, as Qwen wants them."""
    return {"type": "input_audio", "input_audio": {"data": _address(piece), "format": _AUDIO_FORMATS[piece.media_type]}}


def video_address(piece: Attachment) -> Wire:
    """A video as OpenRouter and Qwen take it."""
    return {"type": "video_url", "video_url": {"url": _address(piece)}}


def file_bytes(piece: Attachment) -> Wire:
    """A file as OpenAI takes it; it has no field for an address."""
    _check_bytes(piece)
    return file_or_address(piece)


def file_or_address(piece: Attachment) -> Wire:
    """The same at a server that fetches files, as OpenRouter does."""
    return {"type": "file", "file": {"filename": file_name(piece.media_type), "file_data": _address(piece)}}


def document_address(piece: Attachment) -> Wire:
    """A file as Mistral takes it."""
    return {"type": "document_url", "document_url": _address(piece)}


@dataclass(frozen=True, slots=True)
class AttachmentForms:
    """How a server takes images and files; None for what it does not take.

    Attributes:
        image: The form of images.
        audio: The form of sound in a format that servers know; sound in others is a file.
        video: The form of videos; None where they are files like others.
        file: The form of all other files.
    """

    image: Callable[[Attachment], Wire] | None = image_address
    audio: Callable[[Attachment], Wire] | None = audio_bytes
    video: Callable[[Attachment], Wire] | None = None
    file: Callable[[Attachment], Wire] | None = file_bytes

    def takes(self, piece: Attachment) -> bool:
        """Whether the server takes it in any form."""
        return self._form(piece) is not None

    def write(self, piece: Attachment) -> Wire:
        """The part of the content that it becomes.

        Raises:
            RequestNotExpressibleError: The server does not take it.
        """
        form = self._form(piece)
        if form is None:
            _refuse(piece, "text or images" if self.image is not None else "text")
        return form(piece)

    def _form(self, piece: Attachment) -> Callable[[Attachment], Wire] | None:
        if piece.kind is MediaKind.IMAGE:
            return self.image
        if piece.media_type in _AUDIO_FORMATS and self.audio is not None:
            return self.audio
        if piece.media_type.startswith("video/") and self.video is not None:
            return self.video
        return self.file


def _address(piece: Attachment) -> str:
    return piece.url or data_url(piece.data, piece.media_type)


def _check_bytes(piece: Attachment) -> None:
    if piece.url:
        _refuse(piece, "the file itself: this server fetches none")


def _refuse(piece: Attachment, expected: str) -> NoReturn:
    got = f"the address of {piece.media_type}" if piece.url else f"{len(piece.data):,} bytes of {piece.media_type}"
    raise RequestNotExpressibleError(got, piece.where, expected)


# ---- quirks ----

MAX_TOKENS: Final = "max_tokens"
MAX_COMPLETION_TOKENS: Final = "max_completion_tokens"

FORTY_SIGNS: Final = IdForm(40, refused=re.compile(r"[^A-Za-z0-9_-]"))
"""The form of ids that OpenAI requires and every server takes (docs/wires/chat-completions.md#ids-and-names)."""
_OWN_IDS: Final = IdForm(256)
"""A server takes its own ids, however long: vLLM's have 46 characters, those of Kimi a dot and a colon."""


class CacheMarks(StrEnum):
    """Which parts of a request are marked for the prompt cache."""

    NONE = "none"
    ALL = "all"
    """The system message, the last tool and the last message."""
    LAST = "last"
    """The last message: others have no effect."""


@dataclass(frozen=True, slots=True)
class Quirks:
    """What a server takes.

    Attributes:
        system_role: The role of the one message with all system texts.
        attachments: How it takes images and files.
        call_ids: The ids of calls that it takes.
        tool_names: The names of tools that it takes.
        empty_content: The content of a message that only calls tools: null, or the empty string.
        names_results: Whether the result of a tool says the tool's name.
        joins_users: Whether messages of the user that follow each other become one: templates of Gemma and Mistral
            demand that user and assistant take turns, and hosts send two messages before the first answer.
        answers_results: Whether no message of the user may follow results of tools, so that one of the assistant
            stands between.
        normalize_schema: Puts the schema of a tool's parameters into the subset of JSON Schema that it takes; None
            where it takes schemas as they are.
        tool_fields: Fields of a body with tools.
        lists_no_tools: Whether a body without tools says so when the conversation has calls.
        required: Its word for "the model must call a tool"; empty where it has none.
        stream_options: The field of that name, or None where it takes none.
        limit_field: The field for the most tokens of an answer.
        effort: The form of the reasoning effort.
        reasoning_back: Where its reasoning goes in later requests.
        filled_reasoning: The field of reasoning that every message with calls must have, even if it is empty.
        fills_signatures: Whether the first call of a message must have a signature, even if another model made it.
        fields: Fields of every body.
        cache_key_field: The field that requests with a common beginning share; empty where it takes none.
        session_header: The header for the same.
        cache_marks: Which parts are marked for the prompt cache.
    """

    system_role: str = "system"
    attachments: AttachmentForms = AttachmentForms()
    call_ids: CallIdRule = CallIdRule(_OWN_IDS, FORTY_SIGNS)  # noqa: RUF009
    tool_names: NameForm = ANY_NAME
    empty_content: str | None = None
    names_results: bool = False
    joins_users: bool = False
    answers_results: bool = False
    normalize_schema: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None
    tool_fields: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    lists_no_tools: bool = False
    required: str = "required"
    stream_options: Mapping[str, Any] | None = field(default_factory=lambda: MappingProxyType({"include_usage": True}))
    limit_field: str = MAX_TOKENS
    effort: Effort = Effort(reasoning_effort)
    reasoning_back: ReasoningBack = ReasoningBack.RECEIVED
    filled_reasoning: str = ""
    fills_signatures: bool = False
    fields: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    cache_key_field: str = ""
    session_header: str = ""
    cache_marks: CacheMarks = CacheMarks.NONE


# ---- settings ----
# The settings of requests that only Chat Completions has a place for: they win over what is known of a server.

NO_SERVER: Final = "unknown"
"""The server of which nothing is known."""

SERVERS: Final = (
    *(
        "openai",
        "azure",
        "gemini",
        "openrouter",
        "ollama",
        "lm-studio",
        "llama.cpp",
        "vllm",
        "sglang",
        "deepseek",
        "groq",
        "mistral",
    ),
    *("xai", "together", "fireworks", "cerebras", "moonshot", "zhipu", "qwen", "minimax", "litellm", "baseten"),
)
"""The known servers that have rules of their own. The rules themselves are loaded with the first request."""

_NAMES: Final = (NO_SERVER, *SERVERS)
_TITLES: Final = ("Requests hold only what every server takes", *(known_server(name).title for name in SERVERS))


class MaxTokensField(Choice):
    """The field for the most tokens of an answer."""

    MAX_TOKENS = "max_tokens", "The older one, which nearly every server takes"
    MAX_COMPLETION_TOKENS = "max_completion_tokens", "The newer one, which models of OpenAI demand that reason"


class EmptyContent(Choice):
    """The content of a message of the assistant that only calls tools."""

    NULL = "null", "`null`"
    TEXT = "text", "The empty text: for servers that demand a string"


class CacheControl(Choice):
    """Whether parts of a request are marked for the prompt cache, as Anthropic's models want it."""

    AUTO = "auto", "Where a server is known to take marks for the model"
    ON = "on", "Always: the system message, the last tool and the last message"
    OFF = "off", "Never"


@dataclass(frozen=True, slots=True)
class ChatCompletionsSettings:
    """The request settings of Chat Completions alone.

    Attributes:
        server: The name of the known server whose rules requests follow; None for the one that the base URL tells.
        max_tokens_field: The field for the most tokens of an answer; None for the one that the server is known to take.
        effort_as: The field for the reasoning effort.
        reasoning_back: Where reasoning goes in later requests.
        empty_content: The content of a message that only calls tools; None for what the server is known to take.
        cache_control: Whether parts are marked for the prompt cache.
    """

    server: str | None = None
    max_tokens_field: MaxTokensField | None = None
    effort_as: EffortAs = EffortAs.AUTO
    reasoning_back: ReasoningBack = ReasoningBack.AUTO
    empty_content: EmptyContent | None = None
    cache_control: CacheControl = CacheControl.AUTO


def _server(value: str, where: str) -> str:
    if value not in _NAMES:
        raise ConfigurationError(where, shortened(value), f"one of {', '.join(_NAMES)}")
    return value


OWN_SETTINGS: Final = OwnSettings(
    ChatCompletionsSettings,
    (
        Setting(
            "server",
            text(_server, enum=list(_NAMES), enumDescriptions=list(_TITLES)),
            "The server whose rules requests follow, such as `mistral` behind a gateway of your own",
            otherwise="the one that the base URL tells",
        ),
        Setting(
            "maxTokensField",
            choice(MaxTokensField),
            "The field in which the server takes the most tokens of an answer",
            otherwise="the one that the server is known to take, else `max_tokens`",
        ),
        Setting("effortAs", choice(EffortAs), "How the server is told the reasoning effort", "auto"),
        Setting(
            "reasoningBack",
            choice(ReasoningBack),
            "Where the model's reasoning goes in later requests to it",
            "auto",
        ),
        Setting(
            "emptyContent",
            choice(EmptyContent),
            "The content of a message of the assistant that only calls tools",
            otherwise="what the server is known to take, else `null`",
        ),
        Setting(
            "cacheControl",
            choice(CacheControl),
            "Whether parts of a request are marked for the prompt cache with `cache_control`",
            "auto",
        ),
    ),
)


# ---- server quirks ----
# Which quirks each known server has: rows by its name, and rows for some of its models.
#
# A row says only what differs from :class:`partstream.protocols.chat_completions.models.Quirks`, the smallest request.
# A model behaves differently on each server, so rows for models belong to a server too. The reasons:
# docs/wires/chat-completions.md#messages, docs/wires/chat-completions.md#ids-and-names,
# docs/wires/chat-completions.md#tools-and-schemas, docs/wires/chat-completions.md#prompt-caching,
# docs/wires/chat-completions.md#reasoning-effort and docs/wires/chat-completions.md#sending-reasoning-back.

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
            attachments=AttachmentForms(video=video_address, file=file_or_address),
            tool_names=_LETTER_FIRST,  # the model may be Gemini
            effort=Effort(reasoning_object),
            session_header="x-session-id",
        ),
        "ollama": Quirks(
            # It refuses other kinds as an "invalid message format", and other words for the effort.
            attachments=AttachmentForms(image=image_bytes, audio=None, file=None),
            effort=Effort(reasoning_effort, {"minimal": "low", "xhigh": "max", "ultra": "max"}),
            required="",  # ignored
        ),
        "lm-studio": Quirks(joins_users=True),  # templates require that user and assistant take turns
        "llama.cpp": Quirks(
            joins_users=True,
            effort=Effort(template_with_effort),
        ),
        "vllm": Quirks(
            joins_users=True,
            effort=Effort(template_and_effort, {"minimal": "low", "xhigh": "high", "max": "high"}),
        ),
        "sglang": Quirks(
            joins_users=True,
            effort=Effort(template_and_effort, {"minimal": "low", "xhigh": "high", "max": "high"}),
        ),
        "deepseek": Quirks(
            attachments=_NO_FILES,  # it takes uploaded files only, by their ids
            effort=Effort(thinking_and_effort, {"minimal": "low", "medium": "high", "xhigh": "high"}),
            filled_reasoning=REASONING_CONTENT,  # in every message with calls, also of other models
            required="",  # refused while it thinks, which is the default
        ),
        "groq": Quirks(
            limit_field=MAX_COMPLETION_TOKENS,
            reasoning_back=ReasoningBack.REASONING,  # "property 'reasoning_content' is unsupported"
        ),
        "mistral": Quirks(
            attachments=AttachmentForms(image=image_text, file=document_address),
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
        "together": Quirks(effort=Effort(reasoning_enabled)),
        "fireworks": Quirks(cache_key_field="prompt_cache_key"),
        "cerebras": Quirks(
            limit_field=MAX_COMPLETION_TOKENS,
            reasoning_back=ReasoningBack.REASONING,  # `wrong_api_format`
        ),
        "moonshot": Quirks(
            tool_names=_LETTER_FIRST,
            normalize_schema=moonshot_schema,
            effort=Effort(thinking_type),
            filled_reasoning=REASONING_CONTENT,  # a message with calls and without it is refused
            required="",  # refused beside thinking
            cache_key_field="prompt_cache_key",
        ),
        "zhipu": Quirks(
            effort=Effort(kept_thinking),
            tool_fields={"tool_stream": True},  # otherwise arguments arrive whole
        ),
        "qwen": Quirks(
            attachments=AttachmentForms(audio=audio_address, video=video_address, file=None),
            normalize_schema=inlined,
            effort=Effort(enable_thinking),
            reasoning_back=ReasoningBack.OFF,  # not needed
            required="",  # refused while it thinks
        ),
        "minimax": Quirks(
            limit_field=MAX_COMPLETION_TOKENS,
            effort=Effort(adaptive_thinking),
            fields={"reasoning_split": True},  # otherwise thinking arrives as tags in the text
            required="",  # not documented
        ),
        "litellm": Quirks(
            tool_names=_LETTER_FIRST,  # the model may be Gemini
            lists_no_tools=True,  # Anthropic requires the key when the history has calls
        ),
        "baseten": Quirks(effort=Effort(template_arguments)),
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
    _models("openai", r"gpt-5\.([6-9]|\d\d)", effort=Effort(reasoning_effort, {"minimal": "low"})),
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
            reasoning_effort,
            dict.fromkeys(("minimal", "low", "medium", "high", "xhigh", "max"), "default"),
        ),
    ),
    # GLM at Cerebras takes its thinking back as tags in the text.
    _models("cerebras", r"(zai-)?glm", reasoning_back=ReasoningBack.TAGS, fields={"clear_thinking": False}),
    # They refuse `none`.
    _models("moonshot", r"kimi-k[3-9]", effort=Effort(reasoning_effort, _THREE_DEGREES)),
    # GLM has degrees from 5.2 on, and 5.3 cannot be switched off.
    _models("zhipu", r"glm-5\.2", effort=Effort(kept_thinking_and_effort)),
    _models("zhipu", r"glm-5\.([3-9]|\d\d)", effort=Effort(kept_thinking_and_effort, {"none": ""})),
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
