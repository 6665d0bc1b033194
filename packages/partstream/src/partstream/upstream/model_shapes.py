"""How servers describe models: one row of `SHAPES` per shape; the first shape that fits an entry reads it.

`Fields` reads one JSON object of a server carefully: a value of an unexpected type counts as unknown and is logged,
because a wrong number must not hide a model. Facts come only from fields, never from a name; Google alone is an
exception, because its list does not mention tools and images, and the source of such a fact says so. A new shape
is a row here and a list in the tests. Some servers give more details of one model on request (`Details`), and Ollama
lists which models it has loaded, and with which windows.

Servers deviate in every field: in the name of the context window, in the unit of prices, in lists of abilities by word,
by flag or by object. Sources: Anthropic's `GET /v1/models` (docs/wires/anthropic-messages.md#models-and-counting),
Google's `GET /v1beta/models` (docs/wires/gemini.md#models-and-counting); llama.cpp's tools/server/README.md
(`GET /v1/models`, `GET /props`, router mode); Ollama's `GET /api/tags`, `POST /api/show` and `GET /api/ps`; the comment
of each other row.
"""

from __future__ import annotations
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import quote

from partstream.codec.checks import MOST_DOLLARS, as_count, dataclass, replace
from partstream.codec.json_codec import dumps
from partstream.conversation.preparation import ContextEdit, Fact, Source, ThinkingForm
from partstream.errors import UpstreamProtocolError
from partstream.upstream.model_information import TEMPLATE_TOOLS, ModelRecord, Pricing

V = TypeVar("V")

_logger = logging.getLogger("partstream.models")
_MAX_TEXT: Final = 2000
_MAX_ITEMS: Final = 200


# ---- One object of a server ----


def note_problem(where: str, got: object, expected: str) -> None:
    """Logs a wrong value: its place in an answer, the value, which may be long, and what was expected."""
    _logger.debug("in a list of models: %s: got %.80r, expected %s", where, got, expected)


class Fields:
    """One object, and its place in the answer, such as `data[3]`; a path such as `top_provider.context_length` names a
    field of an inner object."""

    def __init__(self, values: Mapping[str, Any], where: str, source: Source) -> None:
        self.values = values
        self.where = where
        self.source = source

    def __contains__(self, path: str) -> bool:
        return self._value(path) is not None

    def says(self, path: str, *wanted: object) -> bool:
        """Whether a field holds one of these texts, in lower case, numbers and booleans; None is any other value, or
        none."""
        value = self._value(path)
        return (value.lower() if isinstance(value, str) else value if isinstance(value, int) else None) in wanted

    def text(self, *paths: str) -> str | None:
        """The text in the first of the fields that holds one, at most 2,000 characters; None if none does."""
        for path in paths:
            text = self._read(path, lambda value: value.strip() if isinstance(value, str) else None, "a string")
            if text is not None:
                return text[:_MAX_TEXT]
        return None

    def tokens(self, *paths: str) -> Fact[int] | None:
        """The number of tokens in the first of the fields that holds one; 0 and null count as unknown."""
        for path in paths:
            if count := self._read(path, as_count, "a number of tokens"):  # some servers write 131072.0
                return Fact(count, self.source, path)
        return None

    def boolean(self, *paths: str) -> Fact[bool] | None:
        """The boolean in the first of the fields that holds one, or None."""
        for path in paths:
            value = self._read(path, lambda value: value if isinstance(value, bool) else None, "true or false")
            if value is not None:
                return Fact(value, self.source, path)
        return None

    def words(self, path: str) -> tuple[str, ...] | None:
        """The strings of a list, in lower case; None without a list, which differs from an empty list."""
        items = self._read(path, _list, "a list of strings")
        return None if items is None else tuple(word.lower() for word in items if isinstance(word, str))

    def choices(self, path: str) -> Fact[tuple[str, ...]] | None:
        """The strings of a list that is not empty, in lower case."""
        words = self.words(path)
        return Fact(words, self.source, path) if words else None

    def has_word(self, path: str, *wanted: str) -> Fact[bool] | None:
        """Whether the list at `path` holds one of the words; None without a list."""
        words = self.words(path)
        return None if words is None else Fact(any(word in words for word in wanted), self.source, path)

    def dollars(self, path: str, unit: Decimal = Decimal(1)) -> Decimal | None:
        """A price in US dollars, written in a unit as a string or a number; None also for a negative price, which means
        that the price varies."""

        def decimal(value: object) -> Decimal | None:
            try:
                return Decimal(str(value)[:40]) * unit
            except InvalidOperation:
                return None

        price = self._read(path, decimal, "a price")
        return price if price is not None and price.is_finite() and 0 <= price < MOST_DOLLARS else None

    def objects(self, path: str) -> list[Fields]:
        """The objects of a list, at most 200 of them."""
        return [
            Fields(item, f"{self.where}.{path}[{number}]", self.source)
            for number, item in enumerate(self._read(path, _list, "a list") or ())
            if isinstance(item, dict)
        ]

    def inside(self, path: str) -> Fields:
        """The object in a field; an empty object if there is none, and this one for no path."""
        if not path:
            return self
        inner = self._read(path, lambda value: value if isinstance(value, dict) else None, "an object")
        return Fields(inner or {}, f"{self.where}.{path}", self.source)

    def _read(self, path: str, read: Callable[[Any], V | None], expected: str) -> V | None:
        """What `read` makes of a value; one of which it makes nothing is logged."""
        value = self._value(path)
        made = None if value is None else read(value)
        if value is not None and made is None:
            note_problem(f"{self.where}.{path}", value, expected)
        return made

    def _value(self, path: str) -> Any:
        value: Any = self.values
        for name in [path] if path in self.values else path.split("."):  # Ollama's names have dots
            value = value.get(name) if isinstance(value, dict) else None
        return value


def _list(value: object) -> list[Any] | None:
    return value[:_MAX_ITEMS] if isinstance(value, list) else None


# ---- Shapes ----

_NO_LANGUAGE_MODELS: Final = frozenset(
    {"audio", "decision", "embedding", "embeddings", "evaluation", "image", "moderation", "realtime", "rerank"}
    | {"reranker", "reranking", "speech", "transcribe", "transcription", "video"}
)
"""Servers' names for kinds of models that do not answer with text."""
_NO_OWNERS: Final = frozenset(
    {"library", "llamacpp", "openai-internal", "organization-owner", "organization_owner", "system", "vllm"}
)
"""Owners that only name the server's software or the account, and not the model's creator."""


def _has_all(*paths: str) -> Callable[[Fields], bool]:
    return lambda fields: all(path in fields for path in paths)


def _has_any(*paths: str) -> Callable[[Fields], bool]:
    return lambda fields: any(path in fields for path in paths)


def _says(path: str, *wanted: object) -> Callable[[Fields], bool]:
    return lambda fields: fields.says(path, *wanted)


def _answers_with_text(fields: Fields) -> bool:
    """Whether a model gives text, or does not say what it gives."""
    words = fields.words("architecture.output_modalities")
    return words is None or "text" in words


def _may_chat(fields: Fields) -> bool:
    """Whether no field declares another kind of model, or one that does not answer."""
    is_off = fields.says("active", False) or fields.says("supports_chat", False)
    return not is_off and not fields.says("type", *_NO_LANGUAGE_MODELS) and _answers_with_text(fields)


Read: TypeAlias = "str | Callable[[Fields], Any]"
"""Where a fact is: the paths of one or more fields, separated by spaces, of which the first with a value counts. A path
may begin with that of an object and `/`: the source of the fact is then called as it is called within that object."""

_READ: Final[Mapping[str, Callable[..., Any]]] = {
    **dict.fromkeys(("name", "description", "creator"), Fields.text),
    **dict.fromkeys(("context_window", "max_input_tokens", "max_output_tokens"), Fields.tokens),
    **dict.fromkeys(("image_input", "tool_calling", "reasoning", "can_stop_thinking"), Fields.boolean),
    **dict.fromkeys(("reasoning_efforts", "endpoints"), Fields.choices),
}
"""How the field of a fact is read, by the name of the fact."""


Facts: TypeAlias = "Mapping[str, Read] | Callable[[Fields], dict[str, Any] | None]"
"""Where each fact of an object is; a function where facts depend on each other, None for no language model."""


def _facts_of(fields: Fields, reads: Facts) -> dict[str, Any] | None:
    """The facts in an object, by their names in a record."""
    if callable(reads):
        return reads(fields)
    facts: dict[str, Any] = {}
    for name, read in reads.items():
        if callable(read):
            facts[name] = read(fields)
        else:
            holder, _, paths = read.rpartition("/")
            facts[name] = _READ[name](fields.inside(holder), *paths.split())
    return facts


@dataclass(frozen=True, slots=True)
class Shape:
    """One way to describe models, with its name in the log.

    Attributes:
        facts: Where each fact of an entry is.
        is_language: Whether an entry is a language model; unless a row says more, if no field says another kind.
        id_fields: The fields that may hold the id; the first one with a value does.
        id_prefix: A prefix of that field that is no part of the id.
    """

    name: str
    fits: Callable[[Fields], bool]
    facts: Facts
    is_language: Callable[[Fields], bool] = _may_chat
    id_fields: tuple[str, ...] = ("id",)
    details: Details | None = None
    id_prefix: str = ""

    def record(self, fields: Fields, model_id: str) -> ModelRecord:
        """The record of an entry."""
        facts = _facts_of(fields, self.facts) or {}
        if (owner := fields.text("owned_by")) not in _NO_OWNERS:
            facts.setdefault("creator", owner)
        return ModelRecord(model_id, **facts)


# ---- Facts that several servers state in the same way ----

EFFORTS: Final = ("low", "medium", "high")
"""The values of the parameter `reasoning_effort` that every server accepts; servers declare further values by name."""


def _word(path: str, *wanted: str) -> Callable[[Fields], Fact[bool] | None]:
    """Reads whether a list holds one of the words."""
    return lambda fields: fields.has_word(path, *wanted)


def _least(*limits: Fact[int] | None) -> Fact[int] | None:
    """The lowest of the known limits, or None."""
    return min((limit for limit in limits if limit is not None), key=lambda limit: limit.value, default=None)


def _efforts(fields: Fields) -> Fact[tuple[str, ...]] | None:
    takes = fields.has_word("supported_parameters", "reasoning", "reasoning_effort")
    return Fact(EFFORTS, takes.source, takes.field) if takes is not None and takes.value else None


_PARAMETERS: Final[Mapping[str, Read]] = {
    "tool_calling": lambda one: one.boolean("supports_tools") or one.has_word("supported_parameters", "tools"),
    "reasoning": lambda one: (
        one.boolean("supports_reasoning")
        or one.has_word("supported_parameters", "reasoning", "include_reasoning", "reasoning_effort")
    ),
    "reasoning_efforts": _efforts,
}
_PLAIN: Final[Mapping[str, Read]] = {
    "name": "display_name name",
    "description": "description",
    "context_window": "context_window context_length max_context_length max_model_len",
    "max_input_tokens": "max_input_tokens",
    "max_output_tokens": "max_completion_tokens max_output_tokens",
    "image_input": "supports_image_in supports_image_input",
    **_PARAMETERS,
}
"""The fields with clear names: each server that has one means the same by it."""

_SEES: Final = _word("architecture.input_modalities", "image")

# ---- Prices, as US dollars per token ----

_A_MILLION: Final = Decimal("1e-6")
"""US dollars, for a million tokens."""
_XAI_PRICES: Final = tuple(f"{kind}_text_token_price" for kind in ("prompt", "completion", "cached_prompt"))
_TIERED: Final = ("input", "output", "input_cache_read", "input_cache_write")


def _pricing(fields: Fields, prices: Sequence[Any], **longer: Any) -> Fact[Pricing] | None:
    """The prices of prompt, answer, cache read and cache write; None if none of them is known."""
    return None if all(one is None for one in prices) else Fact(Pricing(*prices, **longer), fields.source, "pricing")


def _prices(path: str, *names: str, unit: Decimal = Decimal(1)) -> Callable[[Fields], Fact[Pricing] | None]:
    """Reads the prices of prompt, answer, cache read and cache write, under the names that a server has for them and in
    its unit, in an object of an entry."""
    return lambda fields: _pricing(fields, [fields.inside(path).dollars(name, unit) for name in names])


def _tiered_prices(entry: Fields) -> Fact[Pricing] | None:
    """The prices under the Vercel AI Gateway's names, including those of long prompts (`*_tiers`)."""
    fields = entry.inside("pricing")
    tiers: dict[str, list[tuple[int, Decimal]]] = {}  # from how many tokens each price holds; `min` is inclusive
    for name in _TIERED:
        stated = [(tier.tokens("min"), tier.dollars("cost")) for tier in fields.objects(f"{name}_tiers")]
        tiers[name] = sorted((start.value if start else 0, price) for start, price in stated if price is not None)

    def prices_at(tokens: int) -> list[Any]:  # a price without tiers holds for all prompts
        holding = {name: [price for start, price in tiers[name] if start <= tokens] for name in _TIERED}
        return [known[-1] if known else fields.dollars(name) for name, known in holding.items()]

    starts = sorted({start for found in tiers.values() for start, _ in found if start > 0})
    # VS Code shows two columns: the first tier and the second.
    longer = {"long_context": Pricing(*prices_at(starts[0])), "long_context_from": starts[0]} if starts else {}
    return _pricing(fields, prices_at(0), **longer)


# ---- Details of one model, and the models that are loaded ----


@dataclass(frozen=True, slots=True)
class Details:
    """The request for a server's details about one model, and how the answer is read.

    Attributes:
        title: What an error calls the answer.
        marks: The fields of which the answer has one at least, with their types.
        facts: Where each fact of the answer is.
        path: The path of the request, by the model's id; None for an id that allows no request.
        is_native: Whether the path replaces the base URL's `/v1`.
        body: The body of the request, by the model's id; None for a request without one.
        within: The field of the answer that holds all others, or empty.
        running_path: The native path of the list of loaded models; empty where there is none.
        is_awaited: Whether the first list waits for it, because it decides what a request can hold.
    """

    title: str
    marks: Mapping[str, type]
    facts: Facts
    path: Callable[[str], str | None]
    is_native: bool = False
    body: Callable[[str], bytes] | None = None
    within: str = ""
    running_path: str = ""
    is_awaited: bool = False


def read_detail(details: Details, model_id: str, document: Any) -> ModelRecord | None:
    """The record in an answer; None if the model is not a language model.

    Raises:
        UpstreamProtocolError: `document` is not an answer of this kind.
    """
    values = document.get(details.within) if details.within and isinstance(document, dict) else document
    marks = details.marks.items()
    if not isinstance(values, dict) or not any(name in values and isinstance(values[name], of) for name, of in marks):
        raise UpstreamProtocolError(
            event_type=details.title,
            field=details.within or None,
            got=f"{document!r:.80}",
            expected=next(iter(details.marks)),
        )
    facts = _facts_of(Fields(values, details.within or "details", Source.DETAILS), details.facts)
    return None if facts is None else ModelRecord(model_id, **facts)


def endpoints_path(model_id: str) -> str | None:
    """The path of a model's endpoints, relative to the base URL; None for an id without a creator."""
    creator, _, name = model_id.partition("/")
    if not creator or not name or "/" in name or {creator, name} & {".", ".."}:
        return None
    # `:free` is part of a name and is not escaped.
    return f"/models/{quote(creator, safe='')}/{quote(name, safe=':')}/endpoints"


def _endpoints(fields: Fields) -> dict[str, Any]:
    """The facts of the active endpoints; none if no endpoint is active.

    A gateway may send a request to any active endpoint, so only the lowest of their limits is certain. Capabilities are
    different: the gateway sends a request with tools to an endpoint that accepts tools.
    """
    active = [endpoint for endpoint in fields.objects("endpoints") if endpoint.says("status", 0, None)]
    facts: dict[str, Any] = {"image_input": _SEES(fields)} if active else {}
    for ours, theirs in (
        ("context_window", "context_length"),
        ("max_input_tokens", "max_prompt_tokens"),
        ("max_output_tokens", "max_completion_tokens"),
    ):
        known = [limit.value for endpoint in active if (limit := endpoint.tokens(theirs)) is not None]
        if known:
            facts[ours] = Fact(min(known), fields.source, f"least {theirs} of {len(known)} endpoints")
    for endpoint in active:
        for name, fact in (_facts_of(endpoint, _PARAMETERS) or {}).items():
            if fact is not None and (facts.get(name) is None or fact.value):
                facts[name] = fact
    return facts


ENDPOINTS: Final = Details(
    "the endpoints of a model", {"endpoints": list}, _endpoints, path=endpoints_path, within="data"
)
"""`GET /v1/models/{creator}/{model}/endpoints`."""

LLAMA_CPP_PROPS: Final = Details(
    "the properties of a server",
    {"default_generation_settings": object},
    {
        "context_window": "default_generation_settings.n_ctx",
        "image_input": "modalities.vision",
        "tool_calling": TEMPLATE_TOOLS,
    },
    path=lambda _: "/props",
    is_native=True,
    is_awaited=True,
)
"""llama.cpp's `GET /props`, of a server with one model."""

_GPT_OSS: Final = "gptoss"
"""The family whose thinking has degrees and cannot be turned off (ollama docs, capabilities/thinking)."""
_TOOLS_IN_TEMPLATE: Final = ".Tools"
"""A part of the template of a model that calls tools: old servers list no capabilities."""


def _ollama_abilities(fields: Fields) -> dict[str, Any]:
    """The facts in an entry of the list, or in the details of a model: new servers say the capabilities in both."""
    reasoning, efforts = fields.has_word("capabilities", "thinking"), None
    if reasoning is not None and reasoning.value:
        family = fields.text("details.family") or fields.inside("model_info").text("general.architecture")
        degrees = EFFORTS if family == _GPT_OSS else ("none", *EFFORTS)
        efforts = Fact(degrees, fields.source, "capabilities thinking")
    return {
        "image_input": fields.has_word("capabilities", "vision"),
        "tool_calling": fields.has_word("capabilities", "tools"),
        "reads_tool_choice": Fact(False, fields.source, "details"),
        "reasoning": reasoning,
        "reasoning_efforts": efforts,
    }


def _ollama_show(fields: Fields) -> dict[str, Any] | None:
    """The facts about a model; None for a model that declares no text completion (embeddings)."""
    capabilities = fields.words("capabilities")
    if capabilities is not None and "completion" not in capabilities:
        return None
    windows = [name for name in fields.inside("model_info").values if name.endswith(".context_length")]
    trained = fields.inside("model_info").tokens(windows[0]) if len(windows) == 1 else None
    # If `num_ctx` is set, the server loads the model with it, and silently cuts off longer prompts. A model of the
    # cloud always has its largest window.
    loaded = trained if fields.text("remote_host") else None
    found = re.search(r"^num_ctx\s+(\d{1,9})\s*$", fields.text("parameters") or "", re.MULTILINE)
    if found and int(found[1]):
        loaded = Fact(int(found[1]), fields.source, "parameters num_ctx")
    facts = _ollama_abilities(fields)
    if facts["tool_calling"] is None and _TOOLS_IN_TEMPLATE in (fields.text("template") or ""):
        facts["tool_calling"] = Fact(True, fields.source, "template")
    return {**facts, "context_window": loaded or trained, "loaded_window": loaded, "trained_window": trained}


OLLAMA_SHOW: Final = Details(
    "the description of a model",
    {"model_info": object, "capabilities": object},
    _ollama_show,
    path=lambda _: "/api/show",
    is_native=True,
    body=lambda model_id: dumps({"model": model_id}),
    running_path="/api/ps",
)
"""Ollama's `POST /api/show`."""


def read_running(document: Any) -> dict[str, Fact[int]]:
    """The windows with which models are loaded now, by id; nothing in what is no such list."""
    windows: dict[str, Fact[int]] = {}
    for fields in Fields(document if isinstance(document, dict) else {}, "ps", Source.DETAILS).objects("models"):
        window = fields.tokens("context_length")
        for model_id in (fields.text("model"), fields.text("name")):
            if window is not None and model_id is not None:
                windows[model_id] = Fact(window.value, Source.DETAILS, "ps context_length")
    return windows


def with_running_window(record: ModelRecord, window: Fact[int] | None) -> ModelRecord:
    """The record with the window of the loaded model, where the model itself names none."""
    if window is None or record.loaded_window is not None:
        return record
    return replace(record, context_window=window, loaded_window=window)


# ---- Anthropic, Google, and what few servers share ----


def _supported(ability: str, ours: Mapping[str, V], below: str = "") -> Callable[[Fields], Fact[tuple[V, ...]] | None]:
    """Reads the supported forms of an ability, in our words; None if the server does not state them."""

    def read(fields: Fields) -> Fact[tuple[V, ...]] | None:
        capabilities = fields.inside("capabilities")
        as_a_whole = capabilities.boolean(f"{ability}.supported")
        if as_a_whole is None:
            return None
        said = {name: capabilities.boolean(f"{ability}.{below}{name}.supported") for name in ours}
        taken = tuple(ours[name] for name, fact in said.items() if as_a_whole.value and fact is not None and fact.value)
        return Fact(taken, fields.source, f"capabilities.{ability}")

    return read


_anthropic_efforts: Final = _supported("effort", {name: name for name in ("low", "medium", "high", "xhigh", "max")})


def _usual_effort(fields: Fields) -> Fact[str] | None:
    """The effort of a request that names none (docs/wires/anthropic-messages.md#thinking-by-model)."""
    efforts = _anthropic_efforts(fields)
    return Fact("high", efforts.source, efforts.field) if efforts is not None and "high" in efforts.value else None


_ANTHROPIC: Final[Mapping[str, Read]] = {
    "name": "display_name",
    # It bounds the input, and the input together with the response.
    "context_window": "max_input_tokens",
    "max_output_tokens": "max_tokens",
    "image_input": "capabilities/image_input.supported",
    "reasoning": "capabilities/thinking.supported",
    "thinking_forms": _supported(
        "thinking", {"adaptive": ThinkingForm.ADAPTIVE, "enabled": ThinkingForm.BUDGET}, "types."
    ),
    "can_stop_thinking": "capabilities/thinking.types.disabled.supported",
    "reasoning_efforts": _anthropic_efforts,
    "usual_effort": _usual_effort,
    "context_edits": _supported(
        "context_management",
        {
            "clear_thinking_20251015": ContextEdit.CLEAR_THINKING,
            "clear_tool_uses_20250919": ContextEdit.CLEAR_TOOL_RESULTS,
            "compact_20260112": ContextEdit.SUMMARIZE,
        },
    ),
}

_GOOGLE_METHODS: Final = "supportedGenerationMethods"


def _google(fields: Fields) -> dict[str, Any]:
    name, thinks = fields.text("name") or "", fields.boolean("thinking")
    levels = Fact(EFFORTS, fields.source, "thinking") if thinks is not None and thinks.value else None
    # These think as much as they can by default; later ones a medium amount (docs/wires/gemini.md#thinking-config).
    thinks_high = levels is not None and re.search(r"-3(?:\.1)?-(?:pro|flash)(?!-lite|-image)", name)

    def assumed(value: V) -> Fact[V]:
        return Fact(value, Source.DEFAULT, "the kind of model")

    sees = assumed(re.search(r"-tts|/gemma-(?:[12][.-]|\d+b)", name) is None)
    return {
        "name": fields.text("displayName"),
        "description": fields.text("description"),
        "max_input_tokens": fields.tokens("inputTokenLimit"),
        "max_output_tokens": fields.tokens("outputTokenLimit"),
        "image_input": sees,
        "tool_calling": assumed(sees.value and "-image" not in name),
        "reasoning": thinks,
        # Which levels a model takes, its protocol knows: each of these becomes one of them.
        "reasoning_efforts": levels,
        "usual_effort": assumed("high") if thinks_high else None,
    }


def _copilot_reasoning(fields: Fields) -> Fact[bool] | None:
    supports = fields.inside("capabilities.supports")
    budget = supports.tokens("max_thinking_budget")
    return supports.boolean("thinking") or (Fact(True, budget.source, budget.field) if budget else None)


def _hugging_face(fields: Fields) -> dict[str, Any]:
    live = [one for one in fields.objects("providers") if one.says("status", None, "live")]
    tools = [fact for one in live if (fact := one.boolean("supports_tools")) is not None]
    read_prices = _prices("pricing", "input", "output", unit=_A_MILLION)
    stated = [price for one in live if (price := read_prices(one)) is not None]
    return {
        # Any of them may get the request; one with tools gets a request with tools.
        "context_window": _least(*(one.tokens("context_length") for one in live)),
        "tool_calling": next((fact for fact in tools if fact.value), tools[0] if tools else None),
        "pricing": stated[0] if stated and all(one.value == stated[0].value for one in stated) else None,
        "image_input": _SEES(fields),
    }


def _is_llama_cpp(fields: Fields) -> bool:
    return fields.text("owned_by") == "llamacpp" or "meta.n_ctx_train" in fields


def _llama_cpp_window(fields: Fields) -> Fact[int] | None:
    """The context that a model was loaded with, else the one that it would be loaded with, else its training's."""
    started_with = None
    for option, value in pairwise(fields.words("status.args") or ()):  # of the model's server, from the router
        if option in {"-c", "--ctx-size"} and value.isascii() and value.isdigit() and len(value) <= 9:
            started_with = Fact(int(value), fields.source, f"status.args {option}") if int(value) else None
            break
    return fields.tokens("meta.n_ctx") or started_with or fields.tokens("meta.n_ctx_train")


_LLAMA_CPP: Final[Mapping[str, Read]] = {
    "context_window": _llama_cpp_window,
    "image_input": _SEES,
    "reads_tool_choice": lambda fields: Fact(False, fields.source, "owned_by"),
}
_GATEWAY: Final[Mapping[str, Read]] = {"name": "name", "description": "description", "pricing": _tiered_prices}

_VERCEL: Final[Mapping[str, Read]] = {
    **_GATEWAY,
    "context_window": "context_window",
    "max_output_tokens": "max_tokens",
    "tool_calling": _word("tags", "tool-use"),
    "image_input": _word("tags", "vision"),
    "reasoning": _word("tags", "reasoning"),
}


# ---- The table ----

SHAPES: Final[tuple[Shape, ...]] = (
    # Another server of ours, whose list clients of several wires read. What it lists once more under an alias is no
    # further model.
    Shape(
        "Partstream",
        _has_all("lifecycle", "tags"),
        {**_ANTHROPIC, **_VERCEL, "context_window": lambda _: None, "max_input_tokens": "max_input_tokens"},
        lambda fields: "alias_of" not in fields,
    ),
    # A question about the properties of one of several models would load it.
    Shape(
        "llama.cpp, router",
        lambda fields: "status.value" in fields and _is_llama_cpp(fields),
        _LLAMA_CPP,
        _answers_with_text,
    ),
    Shape("llama.cpp", _is_llama_cpp, _LLAMA_CPP, _answers_with_text, details=LLAMA_CPP_PROPS),
    # From here to xAI, each has a field that no other server has, so the order among them decides nothing.
    # microsoft/vscode-copilot-chat, platform/endpoint/common/endpointProvider.ts
    Shape(
        "GitHub Copilot",
        _has_any("capabilities.limits", "supported_endpoints"),
        {
            "name": "name",
            "creator": "vendor",
            "context_window": "capabilities.limits/max_context_window_tokens",
            "max_input_tokens": "capabilities.limits/max_prompt_tokens",
            "max_output_tokens": "capabilities.limits/max_output_tokens",
            "tool_calling": "capabilities.supports/tool_calls",
            "image_input": "capabilities.supports/vision",
            "reasoning": _copilot_reasoning,
            "reasoning_efforts": "capabilities.supports/reasoning_effort",
            "endpoints": "supported_endpoints",
        },
        lambda fields: (
            fields.says("capabilities.type", None, "chat")
            and not fields.says("policy.state", "disabled", "unconfigured")
        ),
    ),
    # mistralai/client-python, models/modelcapabilities.py
    Shape(
        "Mistral",
        _has_all("capabilities.completion_chat"),
        {
            **_PLAIN,
            # A model is listed under each of its aliases, always with its own name: they would look all the same.
            "name": lambda fields: name if (name := fields.text("name")) == fields.text("id") else None,
            "tool_calling": "capabilities/function_calling",
            "image_input": "capabilities/vision",
            "reasoning": "capabilities/reasoning",
        },
        _says("capabilities.completion_chat", True, None),
    ),
    # LiteLLM's proxy, `GET /model/info`: BerriAI/litellm, docs/my-website/docs/proxy/model_management
    Shape(
        "LiteLLM, model info",
        _has_all("model_name", "model_info"),
        {
            "creator": "model_info/litellm_provider",
            "max_input_tokens": "model_info/max_input_tokens",
            "max_output_tokens": "model_info/max_output_tokens max_tokens",
            "tool_calling": "model_info/supports_function_calling",
            "image_input": "model_info/supports_vision",
            "reasoning": "model_info/supports_reasoning",
            "pricing": _prices(
                "model_info",
                *("input_cost_per_token", "output_cost_per_token"),
                *("cache_read_input_token_cost", "cache_creation_input_token_cost"),
            ),
        },
        _says("model_info.mode", None, "chat", "completion", "responses"),
        ("model_name",),
    ),
    # docs.together.ai, "List all models"; an array
    Shape(
        "Together",
        _has_any("pricing.hourly", "pricing.finetune"),
        {
            **_PLAIN,
            "creator": "organization",
            "pricing": _prices("pricing", "input", "output", "cached_input", unit=_A_MILLION),
        },
    ),
    # huggingface.co/docs/inference-providers
    Shape("Hugging Face", lambda fields: bool(fields.objects("providers")), _hugging_face, _answers_with_text),
    # `GET /v1/language-models`: docs.x.ai/docs/api-reference
    Shape(
        "xAI, language models",
        _has_any(*_XAI_PRICES),
        {
            "context_window": "context_length max_prompt_length",
            "image_input": _word("input_modalities", "image"),
            "pricing": _prices("", *_XAI_PRICES, unit=Decimal("1e-10")),  # cents per 100 million tokens
        },
    ),
    Shape(
        "Anthropic",
        lambda fields: fields.says("type", "model") and "created_at" in fields,
        _ANTHROPIC,
        lambda _: True,
    ),
    Shape(
        "Google",
        _has_any(_GOOGLE_METHODS),
        _google,
        lambda fields: "generatecontent" in (fields.words(_GOOGLE_METHODS) or ()),
        ("name",),
        id_prefix="models/",
    ),
    # Groq has context_window too; other servers put null into fields that they do not know.
    Shape(
        "Vercel",
        lambda fields: (
            "type" in fields
            and not fields.values.keys().isdisjoint(("context_window", "tags"))
            and "max_model_len" not in fields
        ),
        _VERCEL,
        _says("type", "language", "chat"),
        details=ENDPOINTS,
    ),
    Shape(
        "Vercel, config", _has_all("specification"), _GATEWAY, _says("modelType", None, "language"), details=ENDPOINTS
    ),
    Shape(
        "OpenRouter",
        _has_any("top_provider", "architecture.input_modalities", "architecture.modality"),
        {
            **_PLAIN,
            # The endpoint may accept less than the model could.
            "context_window": lambda fields: _least(
                fields.tokens("context_length"), fields.tokens("top_provider.context_length")
            ),
            "max_output_tokens": "top_provider.max_completion_tokens",
            "pricing": _prices("pricing", "prompt", "completion", "input_cache_read", "input_cache_write"),
            "image_input": _SEES,
        },
        details=ENDPOINTS,
    ),
    Shape(
        "LM Studio, API v0",
        _has_all("state", "type"),
        {
            "creator": "publisher",
            # A loaded model has the context length that it was loaded with, whatever its maximum.
            "context_window": "loaded_context_length max_context_length",
            "image_input": lambda fields: Fact(fields.text("type") == "vlm", fields.source, "type"),
            "tool_calling": _word("capabilities", "tool_use"),
        },
        _says("type", "llm", "vlm"),
    ),
    Shape(
        "Ollama",
        _has_all("model", "details"),
        _ollama_abilities,
        lambda fields: not (capabilities := fields.words("capabilities")) or "completion" in capabilities,
        ("model", "name"),
        OLLAMA_SHOW,
    ),
    # OpenAI's list has id and owner; other servers add fields with clear names: vLLM, Groq ("List models" in
    # console.groq.com/docs/api-reference), Fireworks (docs.fireworks.ai), Moonshot (platform.kimi.ai).
    Shape("bare", lambda _: True, _PLAIN),
)
