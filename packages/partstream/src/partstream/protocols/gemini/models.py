"""What Gemini models take, by their ids, because no list of models says it; the settings; and files as parts.

A new model is a new row, or falls under the row of its kind: ids of later versions are read by their form.
:func:`thinking_config` says how much to think: by a level, or by a number of tokens; both together are refused
(docs/wires/gemini.md#thinking-config). The tokens of a word are those of Google's own compatible endpoint
(ai.google.dev, OpenAI compatibility). :func:`within_limit` keeps the files of a request within the limit of the server
(docs/wires/gemini.md#contents).
"""

from __future__ import annotations
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from partstream.codec.checks import dataclass, replace
from partstream.conversation.preparation import ModelCapabilities
from partstream.conversation.turns import Attachment, Result, Text, Turn, TurnRole
from partstream.errors import RequestNotExpressibleError
from partstream.protocols.options import NO_EFFORT
from partstream.protocols.protocol import OwnSettings
from partstream.settings.kinds import BOOLEAN, Choice, ConfigurationError, Kind, ValueForm, choice, strings, whole
from partstream.settings.row import Setting

# ---- Thinking ----

_NONE: Final = "none"
_EFFORTS: Final = (_NONE, "minimal", "low", "medium", "high", "xhigh", "max")
"""Our words, the least effort first."""
_TOKENS: Final = {"minimal": 512, "low": 1024, "medium": 8192, "high": 24_576}


class Levels(NamedTuple):
    """A model that takes a level, one of `words`, the lowest first."""

    words: Sequence[str]

    def config(self, effort: str) -> dict[str, Any]:
        """The fields for an effort: the lowest level that is not below it, else the highest one.

        A word that is none of ours is a level of the server.
        """
        if effort not in _EFFORTS:
            return {"thinkingLevel": effort.upper()}
        enough = (word for word in self.words if _EFFORTS.index(word) >= _EFFORTS.index(effort))
        return {"thinkingLevel": next(enough, self.words[-1]).upper()}


class Budgets(NamedTuple):
    """A model that takes a number of tokens, from `least` to `most`; 0 switches thinking off where it `may_be_off`."""

    least: int
    most: int
    may_be_off: bool = True

    def config(self, effort: str) -> dict[str, Any]:
        """The fields for an effort; none for a word that is none of ours."""
        if effort not in _EFFORTS:
            return {}
        if effort == _NONE:
            return {"thinkingBudget": 0 if self.may_be_off else self.least}
        return {"thinkingBudget": min(max(_TOKENS.get(effort, self.most), self.least), self.most)}


ThinkingControl: TypeAlias = Levels | Budgets | bool | None
"""How a request says how much to think. One that takes no number and no level thinks or does not; None where only the
list of models can tell."""


def thinking_config(
    control: ThinkingControl,
    capabilities: ModelCapabilities,
    effort: str | None,
    budget: int | None = None,
    *,
    shows: bool,
) -> dict[str, Any]:
    """The `thinkingConfig` of a request; empty for a model that would refuse any.

    Args:
        control: The control of the model.
        capabilities: The facts from the list of models; they count where `control` leaves it open. Where they do too,
            the model is asked to think on demand alone.
        effort: How much it is to think, or None for what it does by itself.
        budget: The same as a number of tokens, for a model that takes one; -1 leaves it to the model.
        shows: Whether its thoughts are to be shown: without being asked for, none come.
    """
    is_wished = effort not in {None, NO_EFFORT} and capabilities.reasoning is not False
    if control is None and (control := capabilities.reasoning is True or is_wished):
        levels = tuple(one for one in capabilities.reasoning_efforts or () if one in _EFFORTS)
        control = Levels(levels) if levels else True
    if control is False:
        return {}
    if isinstance(control, Budgets) and budget is not None and budget > 0:
        config = {"thinkingBudget": min(max(budget, control.least), control.most)}
    else:
        config = {} if effort is None or control is True else control.config(effort)
    # Vertex refuses to show the thoughts of a model that must not think.
    shown = {"includeThoughts": True} if shows and config.get("thinkingBudget") != 0 else {}
    return shown | config


# ---- Models ----


class KnownModel(NamedTuple):
    """What one kind of model takes.

    Attributes:
        ids: Matches the whole id, without the path before it.
        thinking: The control of how much it thinks.
        signs_calls: Whether it demands the signatures of the calls of the current turn: Gemini 3 and later. These
            models also take images inside the result of a tool, and tools of the server beside those of the client.
        makes_images: Whether it answers with images.
    """

    ids: str
    thinking: ThinkingControl
    signs_calls: bool = False
    makes_images: bool = False


_FROM_MINIMAL: Final = Levels(("minimal", "low", "medium", "high"))
_FROM_LOW: Final = Levels(("low", "medium", "high"))
_LATER: Final = r"gemini-(?:[3-9]|\d\d)"

_MODELS: Final = (
    KnownModel(r"gemini-[012]\..*-image.*", False, makes_images=True),
    KnownModel(rf"{_LATER}.*-image.*", True, signs_calls=True, makes_images=True),
    KnownModel(r"gemini-.*-(?:tts|live|native-audio|embedding|computer-use).*", None),
    KnownModel(r"gemini-2\.5-pro.*", Budgets(128, 32_768, may_be_off=False)),
    KnownModel(r"gemini-2\.5-flash.*", Budgets(512, 24_576)),
    KnownModel(r"gemini-[012](?:[.-].*)?", False),
    KnownModel(r"gemini-3-pro.*", Levels(("low", "high")), signs_calls=True),
    KnownModel(rf"{_LATER}[\d.]*-flash-lite.*|gemini-flash-lite-latest", _FROM_MINIMAL, signs_calls=True),
    # 3.6 is none of them: LiteLLM says that it takes minimal, kiss-translator#1051 that it does not.
    KnownModel(r"gemini-3(?:\.[0-5])?-flash.*", _FROM_MINIMAL, signs_calls=True),
    KnownModel(rf"{_LATER}(?:[.-].*)?|gemini-(?:flash|pro)-latest", _FROM_LOW, signs_calls=True),
)
"""The first row that fits is taken."""


def known_model(model_id: str) -> KnownModel:
    """What the model of an id takes; of an id that is none of Google's names, nothing is known.

    A path may be before the id, such as `publishers/google/models/gemini-3-pro`.
    """
    name = model_id.rpartition("/")[2].lower()
    return next((one for one in _MODELS if re.fullmatch(one.ids, name)), KnownModel("", None))


# ---- Settings ----

SERVER_TOOLS: Final = ("googleSearch", "urlContext", "codeExecution", "googleMaps", "enterpriseWebSearch")
"""The tools that the server runs itself and that need no further word."""
MOST_FILE_MEGABYTES: Final = 20
"""What every server takes; the Gemini API itself has taken 100 since 2026 (docs/wires/gemini.md#contents)."""


class ToolSchemas(Choice):
    """The form in which the parameters of tools are sent."""

    JSON_SCHEMA = "json-schema", "JSON Schema, in `parametersJsonSchema`"
    OPENAPI = "openapi", "The subset of OpenAPI that every server and proxy accepts, in `parameters`"


@dataclass(frozen=True, slots=True)
class GoogleSettings:
    """The request settings of both wires of Google's models.

    Attributes:
        include_thoughts: Whether the server is asked for summaries of the model's thoughts.
        validates_calls: Whether the server keeps the model to the schemas of tools.
        server_tools: The tools that the server runs itself, by its names.
        most_file_megabytes: The most megabytes of all files of a request, in base64; the oldest give way to words.
    """

    include_thoughts: bool = True
    validates_calls: bool = False
    server_tools: tuple[str, ...] = ()
    most_file_megabytes: int = MOST_FILE_MEGABYTES


@dataclass(frozen=True, slots=True)
class GeminiSettings(GoogleSettings):
    """The request settings of Gemini alone: also the form in which the parameters of tools are sent."""

    tool_schemas: ToolSchemas = ToolSchemas.JSON_SCHEMA


def server_tools_of(settings: GoogleSettings, model: KnownModel, functions: Sequence[Any]) -> tuple[str, ...]:
    """The tools of the server in a request. They go beside those of the client only from Gemini 3 on: older models
    refuse both together, and get those of the client alone."""
    return settings.server_tools if model.signs_calls or not functions else ()


def _server_tools(value: Any, where: str) -> tuple[str, ...]:
    named = strings(value, where)
    for name in named:
        if name not in SERVER_TOOLS:
            raise ConfigurationError(where, repr(name), f"names of {', '.join(SERVER_TOOLS)}")
    return named


_NAMES_OF_TOOLS: Final = Kind(
    ValueForm.LIST, _server_tools, {"type": "array", "items": {"type": "string", "enum": list(SERVER_TOOLS)}}
)

GOOGLE_ROWS: Final = (
    Setting(
        "includeThoughts",
        BOOLEAN,
        "Whether to ask the server for summaries of the model's thinking; it sends none otherwise",
        default=True,
    ),
    Setting(
        "validatesCalls",
        BOOLEAN,
        "Whether the server forces the model's calls to match the tool schemas",
        default=False,
    ),
    Setting(
        "serverTools",
        _NAMES_OF_TOOLS,
        "The tools that the server runs itself, such as `googleSearch`. Models before Gemini 3 get them only where "
        "a request has no other tools",
        otherwise="none",
    ),
    Setting(
        "mostFileMegabytes",
        whole(),
        "The most megabytes of images and files in one request; text replaces the oldest ones",
        otherwise=f"{MOST_FILE_MEGABYTES}, which every server accepts",
    ),
)

OWN_SETTINGS: Final = OwnSettings(
    GeminiSettings,
    (*GOOGLE_ROWS, Setting("toolSchemas", choice(ToolSchemas), "The form of the parameters of tools", "json-schema")),
    frozenset({"contents"}),
)

# ---- Names ----

_BORDER: Final = re.compile(r"_([a-z0-9])")


def camel_case(name: str) -> str:
    """A name in camel case: the JSON form of Protocol Buffers has fields in both spellings."""
    return _BORDER.sub(lambda border: border[1].upper(), name)


def spellings(*names: str) -> dict[str, str]:
    """The names, by themselves and by their other spelling, for names in snake case; or for those in camel case."""
    other = {name: camel_case(name) if "_" in name else re.sub(r"(?=[A-Z])", "_", name).lower() for name in names}
    return {spelling: name for name in names for spelling in (name, other[name])}


# ---- Files ----

JSONObject: TypeAlias = dict[str, Any]

_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"})
_IN_RESPONSES: Final = frozenset({"image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"})
_TAKEN: Final = ("audio/", "video/", "text/")


def _is_taken(piece: Attachment) -> bool:
    return piece.media_type in _IMAGES or piece.media_type == "application/pdf" or piece.media_type.startswith(_TAKEN)


def fits_into_response(piece: Attachment) -> bool:
    """Whether a file may go inside the result of a tool, at models that take files there."""
    return piece.media_type in _IN_RESPONSES and not piece.url


def check_file(piece: Attachment) -> None:
    """Refuses a file of a type that no model takes."""
    if not _is_taken(piece):
        what = f"a file of {piece.media_type}" if piece.url else f"{len(piece.data):,} bytes of {piece.media_type}"
        raise RequestNotExpressibleError(
            what, piece.where, "text, PDF, sound, video, or an image as PNG, JPEG, WebP or HEIC"
        )


def within_limit(turns: Sequence[Turn], most: int) -> tuple[Turn, ...]:
    """The turns with words in place of files that the request has no room for, and of those that no model takes.

    The newest files stay. The last message of the user stays whole: if that alone is too large, nothing can be sent.

    Args:
        most: The most bytes of all files together, in base64.

    Raises:
        RequestNotExpressibleError: The files of the last message of the user are larger.
    """
    last = max((turn.message for turn in turns if turn.role is TurnRole.USER), default=None)
    used = 0

    def kept(piece: Any, *, is_asked: bool) -> Any:
        """The piece, or words in its place. A file that no model takes is refused only where the user has just given
        it; any other was given to another model, or came from one or from a tool, and the conversation continues."""
        nonlocal used
        if isinstance(piece, Result):
            inner = [kept(one, is_asked=False) for one in reversed(piece.content)]
            return replace(piece, content=tuple(reversed(inner)))
        if not isinstance(piece, Attachment):
            return piece
        if not _is_taken(piece) and not is_asked:
            return piece.in_words
        used += (len(piece.data) + 2) // 3 * 4
        if used <= most:
            return piece
        if is_asked:
            what = f"files of {used:,} bytes in base64"
            raise RequestNotExpressibleError(what, piece.where, f"at most {most:,} in one request")
        return Text(f"[{piece.media_type}, left out: the files of this conversation are too large for one request]")

    said = []
    for turn in reversed(turns):
        is_asked = turn.role is TurnRole.USER and turn.message == last
        pieces = [kept(piece, is_asked=is_asked) for piece in reversed(turn.content)]
        said.append(replace(turn, content=tuple(reversed(pieces))))
    return tuple(reversed(said))
