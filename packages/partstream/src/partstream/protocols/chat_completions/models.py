"""The differences between servers of Chat Completions in a request, and the settings for them.

:class:`Quirks` holds all differences as one value; its defaults are the smallest request, which every server accepts.
`SERVER_QUIRKS` has a row for each known server, and `MODEL_QUIRKS` for some of its models; a row holds only the fields
that differ. :func:`quirks_of` combines both with the settings of the user, which win.
"""

from __future__ import annotations
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache, lru_cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, TypeAlias

from partstream.codec.checks import dataclass, field, replace
from partstream.conversation.media import MediaKind, data_url
from partstream.conversation.turns import ANY_NAME, Attachment, CallIdRule, IdForm, NameForm, TurnRole
from partstream.errors import RequestNotExpressibleError
from partstream.protocols.chat_completions.provider_state import CONTENT, REASONING_DETAILS, THINKING_BLOCKS
from partstream.protocols.options import Option
from partstream.protocols.protocol import OwnSettings
from partstream.protocols.schemas import (
    GOOGLE_SUBSET,
    IN_WORDS,
    INLINED,
    LOOSE,
    MOONSHOT,
    OPEN_OBJECTS,
    PLAIN,
    PLAIN_PATTERNS,
    SchemaForm,
)
from partstream.settings.kinds import Choice, choice
from partstream.settings.known_servers import server_setting
from partstream.settings.row import Setting

if TYPE_CHECKING:
    from partstream.protocols.chat_completions.provider_state import CarriedMessage

# ---- Efforts: the reasoning effort in the words of a server (docs/wires/chat-completions.md#reasoning-effort) ----

JSONObject: TypeAlias = dict[str, Any]

_NONE: Final = "none"
"""The effort that switches reasoning off."""


class EffortAs(Choice):
    """The field that says how much a model thinks."""

    AUTO = "auto", "The field that the server is known to accept, else `reasoning_effort`"
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
        words: The server's words for ours, where they differ; an empty one for an effort that the server does not have.
    """

    write: Callable[[str], JSONObject]
    words: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def fields(self, word: str) -> JSONObject:
        """The fields of the body for one of our words."""
        own = self.words.get(word, word)
        return self.write(own) if own else {}


def _effort(word: str) -> JSONObject:
    return {"reasoning_effort": word}


def _degree(word: str) -> JSONObject:
    """The same beside a field that switches reasoning on and off."""
    return {} if word == _NONE else _effort(word)


def _thinking(word: str, **enabled: Any) -> JSONObject:
    """The switch of GLM, Kimi, DeepSeek and MiniMax, without degrees."""
    return {"thinking": {"type": "disabled"} if word == _NONE else {"type": "enabled", **enabled}}


_kept_thinking = partial(_thinking, clear_thinking=False)
"""GLM forgets the thinking of earlier turns unless `clear_thinking` is false."""


def _template(word: str) -> JSONObject:
    """The variables of chat templates: `enable_thinking` of Qwen and GLM, `thinking` of DeepSeek and Kimi."""
    return {"enable_thinking": word != _NONE, "thinking": word != _NONE}


_PLAIN_EFFORT: Final = Effort(_effort)

CHOSEN_EFFORTS: Final[Mapping[EffortAs, Effort]] = {
    EffortAs.REASONING_EFFORT: _PLAIN_EFFORT,
    EffortAs.REASONING: Effort(lambda word: {"reasoning": {"effort": word}}),
    EffortAs.THINKING: Effort(lambda word: _thinking(word) | _degree(word)),
    EffortAs.ENABLE_THINKING: Effort(lambda word: {"enable_thinking": word != _NONE}),
    EffortAs.CHAT_TEMPLATE: Effort(lambda word: {"chat_template_kwargs": _template(word)}),
    EffortAs.OFF: Effort(lambda _word: {}),
}
"""The forms that a person may choose."""

# ---- Reasoning back (docs/wires/chat-completions.md#sending-reasoning-back) ----
# Reasoning goes back in the field in which it came, whole, unless the server is known to want it elsewhere or not at
# all.

REASONING_CONTENT: Final = "reasoning_content"

_PLAIN: Final = (REASONING_CONTENT, "reasoning", "reasoning_text")
"""The fields for reasoning as plain text, in the order in which readers prefer them."""
_OTHERS: Final = frozenset({"role", CONTENT, "name", "tool_calls", "tool_call_id", "refusal", "audio", "function_call"})
"""Fields of a message that hold no reasoning."""


class ReasoningBack(Choice):
    """Where reasoning goes that a server gave, in later requests to the same model."""

    AUTO = "auto", "If the server is known to require it, else into the field in which it came"
    RECEIVED = "received", "Into the field in which it came"
    REASONING_CONTENT = REASONING_CONTENT, "Into `reasoning_content`"
    REASONING = "reasoning", "Into `reasoning`"
    TAGS = "tags", "Into the text, between `<think>` and `</think>`"
    OFF = "off", "Nowhere"


@dataclass(frozen=True, slots=True)
class SentBack:
    """What a message takes back: fields, the beginning of its text, and the parts of the content before its text."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    opening: str = ""
    parts: tuple[JSONObject, ...] = ()


def sent_back(carried: CarriedMessage, back: ReasoningBack) -> SentBack:
    """What a message takes back, given what was carried to it."""
    extra: JSONObject = {"extra_content": dict(carried.extra)} if carried.extra else {}
    if back is ReasoningBack.OFF:
        return SentBack(extra)
    plain = "\n\n".join(text for name in _PLAIN if (text := carried.fields.get(name, "")))
    received: JSONObject = {
        name: carried.lists.get(name, text) for name, text in carried.fields.items() if name not in _OTHERS
    }
    others = {name: text for name, text in received.items() if name not in _PLAIN}
    opening = carried.fields.get(CONTENT, "")
    if back is ReasoningBack.TAGS:
        opening = opening or (f"<think>{plain}</think>\n\n" if plain else "")
        return SentBack(others | extra, opening)
    if carried.details:  # the whole list, and then no plain text (docs/wires/chat-completions.md#reasoning-details)
        received = others | {REASONING_DETAILS: [dict(entry) for entry in carried.details]}
    elif back in {ReasoningBack.REASONING_CONTENT, ReasoningBack.REASONING}:
        received = others | ({back.value: plain} if plain else {})
    if carried.blocks:
        received[THINKING_BLOCKS] = [dict(block) for block in carried.blocks]
    return SentBack(received | extra, opening, tuple(dict(part) for part in carried.parts))


# ---- Attachments: images, sound, video and files (docs/wires/chat-completions.md#attachments) ----

_AUDIO_FORMATS: Final = {"audio/wav": "wav", "audio/mpeg": "mp3"}
"""OpenAI's words for the formats of sound that it takes."""


def _image(piece: Attachment) -> JSONObject:
    """An image as OpenAI takes it: the address, or the bytes as one. `detail` is unknown to many servers: only a client
    asks for it."""
    detail = {"detail": piece.about["detail"]} if "detail" in piece.about else {}
    return {"type": "image_url", "image_url": {"url": _address(piece), **detail}}


def _audio(piece: Attachment) -> JSONObject:
    """Sound as OpenAI takes it."""
    return _audio_of(piece, b64encode(_with_bytes(piece).data).decode())


def _audio_of(piece: Attachment, data: str) -> JSONObject:
    return {"type": "input_audio", "input_audio": {"data": data, "format": _AUDIO_FORMATS[piece.media_type]}}


def _video(piece: Attachment) -> JSONObject:
    """A video as OpenRouter and Qwen take it."""
    return {"type": "video_url", "video_url": {"url": _address(piece)}}


def _file(piece: Attachment) -> JSONObject:
    """A file for a server that fetches files, as OpenRouter does."""
    return {"type": "file", "file": {"filename": piece.file_name, "file_data": _address(piece)}}


@dataclass(frozen=True, slots=True)
class AttachmentForms:
    """How a server takes attachments; None for a kind that it does not take.

    Sound in a format that servers do not know is a file, and so is a video where `video` is None.
    """

    image: Callable[[Attachment], JSONObject] | None = _image
    audio: Callable[[Attachment], JSONObject] | None = _audio
    video: Callable[[Attachment], JSONObject] | None = None
    file: Callable[[Attachment], JSONObject] | None = lambda piece: _file(_with_bytes(piece))  # OpenAI fetches no file

    def takes(self, piece: Attachment) -> bool:
        """Whether the server takes it in any form."""
        return self._form(piece) is not None

    def write(self, piece: Attachment) -> JSONObject:
        """The part of the content that it becomes.

        Raises:
            RequestNotExpressibleError: The server does not take it.
        """
        form = self._form(piece)
        if form is None:
            _refuse(piece, "text or images" if self.image is not None else "text")
        return form(piece)

    def _form(self, piece: Attachment) -> Callable[[Attachment], JSONObject] | None:
        if piece.kind is MediaKind.IMAGE:
            return self.image
        if piece.media_type in _AUDIO_FORMATS and self.audio is not None:
            return self.audio
        if piece.media_type.startswith("video/") and self.video is not None:
            return self.video
        return self.file


def _address(piece: Attachment) -> str:
    return piece.url or data_url(piece.data, piece.media_type)


def _with_bytes(piece: Attachment) -> Attachment:
    """The attachment, for a server that fetches none."""
    if piece.url:
        _refuse(piece, "the file itself: this server fetches none")
    return piece


def _refuse(piece: Attachment, expected: str) -> NoReturn:
    got = f"the address of {piece.media_type}" if piece.url else f"{len(piece.data):,} bytes of {piece.media_type}"
    raise RequestNotExpressibleError(got, piece.where, expected)


# ---- Quirks ----

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
        empty_content: The content of a message that only calls tools: null, or the empty string.
        named_roles: The roles whose messages may have the name of who speaks.
        names_results: Whether the result of a tool has the tool's name.
        joins_users: Whether consecutive messages of the user become one: templates of Gemma and Mistral demand that
            user and assistant take turns, and hosts send two messages before the first answer.
        answers_results: Whether a message of the assistant must separate results of tools from a message of the user.
        schemas: The form of the schemas of tools that it takes.
        tool_fields: Fields of a body with tools.
        lists_no_tools: Whether a body without tools has an empty list of them when the conversation has calls.
        required: Its word for "the model must call a tool"; empty where it has none.
        limit_field: The field for the most tokens of an answer.
        filled_reasoning: The field of reasoning that every message with calls must have, even if it is empty.
        fills_signatures: Whether the first call of a message must have a signature, even if another model made it.
        fields: Fields of every body.
        sampling: The options of sampling that it takes beside those of OpenAI.
        cache_key_field: The field that requests with a common beginning share; empty where it takes none.
        session_header: The header for the same.
    """

    system_role: str = "system"
    attachments: AttachmentForms = AttachmentForms()
    call_ids: CallIdRule = CallIdRule(_OWN_IDS, FORTY_SIGNS)
    tool_names: NameForm = ANY_NAME
    empty_content: str | None = None
    named_roles: frozenset[TurnRole] = frozenset({TurnRole.SYSTEM, TurnRole.USER, TurnRole.ASSISTANT})
    names_results: bool = False
    joins_users: bool = False
    answers_results: bool = False
    schemas: SchemaForm = PLAIN
    tool_fields: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    lists_no_tools: bool = False
    required: str = "required"
    stream_options: Mapping[str, Any] | None = field(default_factory=lambda: MappingProxyType({"include_usage": True}))
    limit_field: str = MAX_TOKENS
    effort: Effort = _PLAIN_EFFORT
    reasoning_back: ReasoningBack = ReasoningBack.RECEIVED
    filled_reasoning: str = ""
    fills_signatures: bool = False
    fields: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    sampling: frozenset[Option] = frozenset()
    cache_key_field: str = ""
    session_header: str = ""
    cache_marks: CacheMarks = CacheMarks.NONE


# ---- Settings: they win over what is known of a server ----


class MaxTokensField(Choice):
    """The field for the most tokens of an answer."""

    MAX_TOKENS = "max_tokens", "The older one, which nearly every server accepts"
    MAX_COMPLETION_TOKENS = "max_completion_tokens", "The newer one, which OpenAI's reasoning models require"


class EmptyContent(Choice):
    """The content of an assistant message that only calls tools."""

    NULL = "null", "`null`"
    TEXT = "text", "The empty text: for servers that demand a string"


class CacheControl(Choice):
    """Whether parts of a request are marked for the prompt cache, as Anthropic's models want it."""

    AUTO = "auto", "If the server is known to accept marks for the model"
    ON = "on", "Always: the system message, the last tool and the last message"
    OFF = "off", "Never"


@dataclass(frozen=True, slots=True)
class ChatCompletionsSettings:
    """The request settings of Chat Completions alone.

    None is what is known of the server; `server` is None for derived from the base URL.
    """

    server: str | None = None
    max_tokens_field: MaxTokensField | None = None
    effort_as: EffortAs = EffortAs.AUTO
    reasoning_back: ReasoningBack = ReasoningBack.AUTO
    empty_content: EmptyContent | None = None
    cache_control: CacheControl = CacheControl.AUTO


# ---- Known servers ----
# A row holds only what differs from the smallest request. A model behaves differently on each server, so rows for
# models belong to a server too. The reasons: docs/wires/chat-completions.md#messages and the sections after it.

_NINE: Final = IdForm(9, shortest=9, refused=re.compile("[^A-Za-z0-9]"), filler="")
"""Mistral refuses other ids with code 3280."""
_LETTER_FIRST: Final = NameForm(letter_first=True)
_NO_FILES: Final = AttachmentForms(file=None)
_LOCAL_EFFORT: Final = Effort(
    lambda word: {"chat_template_kwargs": _template(word)} | _degree(word),  # the field is for gpt-oss
    {"minimal": "low", "xhigh": "high", "max": "high"},
)

_SAMPLING: Final = frozenset({Option.TOP_K, Option.MIN_P})

SERVER_QUIRKS: Final[Mapping[str, Quirks]] = MappingProxyType(
    {
        "openai": Quirks(
            call_ids=CallIdRule(FORTY_SIGNS, FORTY_SIGNS),  # `string_above_max_length` beyond 40
            limit_field=MAX_COMPLETION_TOKENS,  # models that reason require it
            stream_options={"include_usage": True, "include_obfuscation": False},  # padding on every chunk
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
            schemas=GOOGLE_SUBSET,
            tool_names=_LETTER_FIRST,
            names_results=True,
            fills_signatures=True,
        ),
        "openrouter": Quirks(
            sampling=_SAMPLING,
            attachments=AttachmentForms(video=_video, file=_file),
            tool_names=_LETTER_FIRST,  # the model may be Gemini
            effort=CHOSEN_EFFORTS[EffortAs.REASONING],
            session_header="x-session-id",
        ),
        "ollama": Quirks(
            schemas=IN_WORDS,
            # It refuses other kinds as an "invalid message format", and other words for the effort.
            attachments=AttachmentForms(image=lambda piece: _image(_with_bytes(piece)), audio=None, file=None),
            effort=Effort(_effort, {"minimal": "low", "xhigh": "max", "ultra": "max"}),
            required="",  # ignored
        ),
        # Its templates require that user and assistant take turns.
        "lm-studio": Quirks(sampling=_SAMPLING, joins_users=True),
        "llama.cpp": Quirks(
            sampling=_SAMPLING,
            schemas=PLAIN_PATTERNS,
            joins_users=True,
            effort=Effort(lambda word: {"chat_template_kwargs": _template(word) | _degree(word)}),  # also for gpt-oss
        ),
        "vllm": Quirks(sampling=_SAMPLING, schemas=LOOSE, joins_users=True, effort=_LOCAL_EFFORT),
        "sglang": Quirks(sampling=_SAMPLING, schemas=LOOSE, joins_users=True, effort=_LOCAL_EFFORT),
        "deepseek": Quirks(
            attachments=_NO_FILES,  # it takes uploaded files only, by their ids
            effort=Effort(
                lambda word: _thinking(word) | _degree(word), {"minimal": "low", "medium": "high", "xhigh": "high"}
            ),
            filled_reasoning=REASONING_CONTENT,  # in every message with calls, also of other models
            required="",  # refused while it thinks, which is the default
        ),
        "groq": Quirks(
            limit_field=MAX_COMPLETION_TOKENS,
            named_roles=frozenset(),  # docs/wires/chat-completions.md#names-of-speakers
            reasoning_back=ReasoningBack.REASONING,  # "property 'reasoning_content' is unsupported"
        ),
        "mistral": Quirks(
            attachments=AttachmentForms(
                image=lambda piece: {"type": "image_url", "image_url": _address(piece)},
                file=lambda piece: {"type": "document_url", "document_url": _address(piece)},
            ),
            call_ids=CallIdRule(_NINE, _NINE),
            empty_content="",  # null is refused
            named_roles=frozenset(),  # docs/wires/chat-completions.md#names-of-speakers
            names_results=True,
            answers_results=True,  # "Unexpected role 'user' after role 'tool'"
            required="any",
            stream_options=None,  # it refuses unknown fields, and reports usage unasked
        ),
        "xai": Quirks(
            schemas=OPEN_OBJECTS,
            limit_field=MAX_COMPLETION_TOKENS,
            cache_key_field="prompt_cache_key",
            named_roles=frozenset({TurnRole.USER}),  # docs/wires/chat-completions.md#names-of-speakers
            reasoning_back=ReasoningBack.OFF,  # no field for it in this API
        ),
        "together": Quirks(
            sampling=_SAMPLING, effort=Effort(lambda word: {"reasoning": {"enabled": word != _NONE}} | _degree(word))
        ),
        "fireworks": Quirks(sampling=_SAMPLING, cache_key_field="prompt_cache_key"),
        "cerebras": Quirks(
            limit_field=MAX_COMPLETION_TOKENS,
            reasoning_back=ReasoningBack.REASONING,  # `wrong_api_format`
        ),
        "moonshot": Quirks(
            schemas=MOONSHOT,
            tool_names=_LETTER_FIRST,
            effort=Effort(_thinking),
            filled_reasoning=REASONING_CONTENT,  # a message with calls and without it is refused
            required="",  # refused beside thinking
            cache_key_field="prompt_cache_key",
        ),
        "zhipu": Quirks(
            effort=Effort(_kept_thinking),
            tool_fields={"tool_stream": True},  # otherwise arguments arrive whole
        ),
        "qwen": Quirks(
            sampling=frozenset({Option.TOP_K}),
            schemas=INLINED,
            attachments=AttachmentForms(audio=lambda piece: _audio_of(piece, _address(piece)), video=_video, file=None),
            effort=CHOSEN_EFFORTS[EffortAs.ENABLE_THINKING],
            reasoning_back=ReasoningBack.OFF,  # not needed
            required="",  # refused while it thinks
        ),
        "minimax": Quirks(
            limit_field=MAX_COMPLETION_TOKENS,
            effort=Effort(partial(_thinking, type="adaptive")),
            fields={"reasoning_split": True},  # otherwise thinking arrives as tags in the text
            required="",  # not documented
        ),
        "litellm": Quirks(
            tool_names=_LETTER_FIRST,  # the model may be Gemini
            lists_no_tools=True,  # Anthropic requires the key when the history has calls
        ),
        "baseten": Quirks(effort=Effort(lambda word: {"chat_template_args": _template(word)})),
    }
)
"""By the names of :data:`partstream.settings.known_servers.KNOWN_SERVERS`."""


class ModelQuirks(NamedTuple):
    """How some models of a server differ from its others; `models` matches the beginning of a model's id."""

    server: str
    models: re.Pattern[str]
    changes: Mapping[str, Any]


def _models(server: str, pattern: str, **changes: Any) -> ModelQuirks:
    return ModelQuirks(server, re.compile(pattern, re.IGNORECASE), changes)


_REASONS: Final = r"(o\d|gpt-([5-9]|\d\d))"
_MISTRAL: Final = r"(.*/)?(open-)?(mistral|mixtral|ministral|magistral|devstral|codestral|pixtral)"


def _kept_degree(word: str) -> JSONObject:
    """GLM has degrees from 5.2 on."""
    return _kept_thinking(word) | _degree(word)


MODEL_QUIRKS: Final = (
    # `developer` is for models that reason.
    _models("openai", _REASONS, system_role="developer"),
    _models("azure", _REASONS, system_role="developer"),
    # GPT-5.6 knows no `minimal`.
    _models("openai", r"gpt-5\.([6-9]|\d\d)", effort=Effort(_effort, {"minimal": "low"})),
    # Anthropic caches nothing that is not marked, Gemini honours only the last mark.
    _models("openrouter", r"(~?anthropic/|.*claude)", cache_marks=CacheMarks.ALL),
    _models("openrouter", r"google/gemini", cache_marks=CacheMarks.LAST),
    _models("litellm", r"(.*anthropic|.*claude)", cache_marks=CacheMarks.ALL),
    # Templates of Mistral's models have the same requirements on local servers, which take their own ids of calls back.
    *(
        _models(server, _MISTRAL, call_ids=CallIdRule(IdForm(256), _NINE), answers_results=True)
        for server in ("vllm", "sglang", "llama.cpp", "lm-studio")
    ),
    # Tools beside `raw` are refused, and without a format an answer may be empty. Effort is a switch for Qwen.
    _models(
        "groq",
        r"(qwen|deepseek)",
        fields={"reasoning_format": "parsed"},
        effort=Effort(_effort, dict.fromkeys(("minimal", "low", "medium", "high", "xhigh", "max"), "default")),
    ),
    # GLM at Cerebras takes its thinking back as tags in the text.
    _models("cerebras", r"(zai-)?glm", reasoning_back=ReasoningBack.TAGS, fields={"clear_thinking": False}),
    # They refuse `none`.
    _models(
        "moonshot",
        r"kimi-k[3-9]",
        effort=Effort(_effort, {"minimal": "low", "medium": "high", "xhigh": "max", "none": ""}),
    ),
    # GLM 5.3 cannot be switched off.
    _models("zhipu", r"glm-5\.2", effort=Effort(_kept_degree)),
    _models("zhipu", r"glm-5\.([3-9]|\d\d)", effort=Effort(_kept_degree, {"none": ""})),
)
"""Later rows win over earlier ones."""

# ---- The rows of the settings, and the quirks of one model ----

SERVERS: Final = tuple(SERVER_QUIRKS)

OWN_SETTINGS: Final = OwnSettings(
    ChatCompletionsSettings,
    (
        server_setting("server", SERVERS, "Requests hold only what every server accepts", "mistral"),
        Setting(
            "maxTokensField",
            choice(MaxTokensField),
            "The field for the output limit in tokens",
            otherwise="the one that the server is known to accept, else `max_tokens`",
        ),
        Setting("effortAs", choice(EffortAs), "The field for the reasoning effort", "auto"),
        Setting(
            "reasoningBack", choice(ReasoningBack), "Where the model's reasoning goes in later requests to it", "auto"
        ),
        Setting(
            "emptyContent",
            choice(EmptyContent),
            "The content of an assistant message that only calls tools",
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


@cache
def _rows_of(server: str | None) -> tuple[ModelQuirks, ...]:
    return tuple(row for row in MODEL_QUIRKS if row.server == server)


_USUAL: Final = Quirks()


@lru_cache(256)
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
        changes["empty_content"] = None if own.empty_content is EmptyContent.NULL else ""
    if own.cache_control is not CacheControl.AUTO:
        changes["cache_marks"] = CacheMarks.ALL if own.cache_control is CacheControl.ON else CacheMarks.NONE
    quirks = SERVER_QUIRKS.get(own.server or "", _USUAL)
    for row in _rows_of(own.server):
        if row.models.match(model_id):
            quirks = replace(quirks, **row.changes)
    return replace(quirks, **changes) if changes else quirks
