"""What requests to Ollama differ in: its own settings, the field `think`, and options."""

from __future__ import annotations
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import dataclass
from partstream.protocols.options import NO_FIELD, AnswerFormat, ChosenOptions, Option, OptionRules, snake_case
from partstream.protocols.protocol import OwnSettings
from partstream.settings.kinds import BOOLEAN, text_of, whole
from partstream.settings.row import Setting

if TYPE_CHECKING:
    from partstream.conversation.preparation import ModelCapabilities


# ---- Settings ----


@dataclass(frozen=True, slots=True)
class OllamaSettings:
    """The request settings of Ollama alone.

    Attributes:
        num_ctx: The context window in tokens that models are loaded with: 0 leaves it to the server; None for what is
            known of the model.
        keep_alive: How long a model stays loaded after a response: seconds or what Go calls a duration; None for the
            server's.
    """

    num_ctx: int | None = None
    keep_alive: str | None = None
    truncate: bool = False
    shift: bool = False


_DURATION: Final = re.compile(r"-?\d{1,9}|-?(?:\d{1,9}(?:\.\d{1,9})?(?:ms|s|m|h))+")

OWN_SETTINGS: Final = OwnSettings(
    OllamaSettings,
    (
        Setting(
            "numCtx",
            whole(0),
            "The context window in tokens that Ollama loads models with, and that is advertised; another number than "
            "the last one loads the model again; 0 leaves it to the server",
            otherwise="that of the Modelfile, else that of the loaded model, else 32,768",
        ),
        Setting(
            "keepAlive",
            text_of(_DURATION.fullmatch, "seconds such as `600`, a duration such as `10m`, or `-1`"),
            "How long Ollama keeps a model loaded after an answer: `10m`, seconds, or `-1` for no limit",
            otherwise="5 minutes, or what the server is started with",
        ),
        Setting(
            "truncate",
            BOOLEAN,
            "Whether Ollama drops messages of a conversation that is too long without notice, instead of an error",
            default=False,
        ),
        Setting(
            "shift",
            BOOLEAN,
            "Whether Ollama drops the beginning of the conversation when the window fills during an answer, instead of "
            "ending the answer",
            default=False,
        ),
    ),
)

# ---- How much a model thinks: the field `think` (docs/wires/ollama.md#thinking) ----

HIGHEST: Final = "max"
"""Newer than the other words: servers that predate it are asked again with the next lower one."""

_THINK: Final[Mapping[str, bool | str]] = {
    "none": False,
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": HIGHEST,
    "max": HIGHEST,
}

_ALWAYS_THINKS: Final = re.compile(r"(?:^|[/:-])gpt-?oss", re.IGNORECASE)
"""Models that no boolean switches off, where nothing but their name is known."""


def think_for(effort: str | None, model_id: str, known: ModelCapabilities, *, asks: bool | None) -> bool | str | None:
    """The value of `think` for a word, or without one for what the caller wants; None where none is sent: a model that
    does not think refuses the field."""
    if not known.reasoning:
        return None
    if effort is None:
        return asks or None
    think = _THINK.get(effort.lower())
    efforts = known.reasoning_efforts
    cannot_stop = (efforts is not None and "none" not in efforts) or _ALWAYS_THINKS.search(model_id) is not None
    return "low" if isinstance(think, bool) and cannot_stop else think


# ---- Options: what a caller chose, as fields of a body and its `options` (docs/wires/ollama.md#requests) ----

NUM_CTX: Final = "num_ctx"
NUM_PREDICT: Final = "num_predict"

MODEL_OPTIONS: Final = frozenset(
    {NUM_CTX, NUM_PREDICT, "num_keep", "seed", "temperature", "top_k", "top_p", "min_p", "typical_p", "stop"}
    | {"repeat_last_n", "repeat_penalty", "presence_penalty", "frequency_penalty", "mirostat", "mirostat_tau"}
    | {"mirostat_eta", "penalize_newline", "num_batch", "num_gpu", "main_gpu", "num_thread", "use_mmap", "numa"}
    | {"tfs_z", "low_vram", "vocab_only", "use_mlock", "draft_num_predict"}
)
"""The fields of `options`; what is none of them is a field of the body itself."""


def _format_option(asked: AnswerFormat) -> dict[str, Any]:
    schema = asked.described
    return {"format": "json" if schema is None else schema}


OPTIONS: Final = OptionRules(
    "ollama",
    {
        Option.LIMIT: NUM_PREDICT,
        Option.EFFORT: NO_FIELD,
        **snake_case(Option.TEMPERATURE, Option.TOP_P, Option.TOP_K, Option.MIN_P, Option.STOP, Option.SEED),
        **snake_case(Option.PRESENCE_PENALTY, Option.FREQUENCY_PENALTY, Option.LOGPROBS, Option.TOP_LOGPROBS),
    },
    frozenset(
        {"model", "messages", "stream", "tools", "tool_choice", "stream_options", "store"}
        | {"prompt", "input", "instructions", "previous_response_id"}
    ),
    _format_option,
    renamed={"keepAlive": "keep_alive"},
    ignores_others=True,
    demands_calls=False,
)


def body_options(chosen: ChosenOptions) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of the body, and those of `options` in it."""
    named = dict(chosen.fields)
    nested = named.pop("options", None)
    options = dict(nested) if isinstance(nested, Mapping) else {}
    options |= {name: value for name, value in named.items() if name in MODEL_OPTIONS}
    return {name: value for name, value in named.items() if name not in MODEL_OPTIONS}, options
