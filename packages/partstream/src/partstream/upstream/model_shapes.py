"""How servers describe models: one row of `SHAPES` per shape; the first shape that fits an entry reads it.

Facts come only from fields, never from a name; Google alone is an exception, because its list does not mention
tools, images and files, and the source of such a fact says so. A new shape is a row here and a list in the tests. Some
servers give more details of one model on request (`DetailKind`), and Ollama lists which models it has loaded, and with
which windows.

Servers deviate in every field: in the name of the context window, in the unit of prices (dollars per token, dollars per
million tokens, xAI's cents per 100 million tokens), in lists of abilities by word, by flag or by object. Sources:
Anthropic's `GET /v1/models` (docs/wires/anthropic-messages.md#models-and-counting), whose abilities are objects with
`supported`; Google's `GET /v1beta/models` (docs/wires/gemini.md#models-and-counting); llama.cpp's
tools/server/README.md (`GET /v1/models`, `GET /props`, router mode); Ollama's `GET /api/tags`, `POST /api/show` and
`GET /api/ps`; the docstring of each other reader.
"""

from __future__ import annotations
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from itertools import pairwise
from typing import Any, Final, TypeVar
from urllib.parse import quote

from partstream.codec.checks import MOST_DOLLARS
from partstream.codec.json_codec import dumps
from partstream.conversation.preparation import ContextEdit, ThinkingForm
from partstream.errors import UpstreamProtocolError
from partstream.upstream.model_facts import Fact, Fields, ModelRecord, Pricing, Problem, Source

EFFORTS: Final = ("low", "medium", "high")
"""The values of the parameter `reasoning_effort` that every server accepts; servers declare further values by name."""

_NO_LANGUAGE_MODELS: Final = frozenset(
    {"audio", "decision", "embedding", "embeddings", "evaluation", "image", "moderation", "realtime", "rerank"}
    | {"reranker", "reranking", "speech", "transcribe", "transcription", "video"}
)
"""Servers' names for kinds of models that do not answer with text."""


class DetailKind(StrEnum):
    """The requests that give a server's details about one model."""

    ENDPOINTS = "endpoints"
    """`GET /v1/models/{creator}/{model}/endpoints`."""
    OLLAMA_SHOW = "ollama-show"
    """`POST /api/show`."""
    LLAMA_CPP_PROPS = "llama-cpp-props"
    """`GET /props`."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One way to describe models, with its name in the log.

    Attributes:
        fits: Whether an entry has this shape.
        read: Reads the facts of an entry, without its id.
        is_language: Whether an entry is a language model.
        id_fields: The fields that may hold the id; the first one with a value does.
        details: The request for the server's details, or None.
        id_prefix: A prefix of that field that is no part of the id.
    """

    name: str
    fits: Callable[[Fields], bool]
    read: Callable[[Fields], dict[str, Any]]
    is_language: Callable[[Fields], bool]
    id_fields: tuple[str, ...] = ("id",)
    details: DetailKind | None = None
    id_prefix: str = ""

    def record(self, fields: Fields, model_id: str) -> ModelRecord:
        """The record of an entry."""
        return ModelRecord(model_id, **self.read(fields))


def parameter_facts(fields: Fields, path: str = "supported_parameters") -> dict[str, Any]:
    """The facts in a list of supported request parameters."""
    words = fields.words(path)
    if words is None:
        return {}
    has_efforts = "reasoning_effort" in words or "reasoning" in words
    return {
        "tool_calling": fields.has_word(path, "tools"),
        "reasoning": fields.has_word(path, "reasoning", "include_reasoning", "reasoning_effort"),
        "reasoning_efforts": Fact(EFFORTS, fields.source, path) if has_efforts else None,
    }


def modality_facts(fields: Fields, path: str = "architecture.input_modalities") -> dict[str, Any]:
    """The facts in a list of input modalities."""
    return {"image_input": fields.has_word(path, "image"), "file_input": fields.has_word(path, "file", "pdf")}


def owner_of(fields: Fields) -> str | None:
    """The model's owner, unless the field only names the server's software or the account."""
    owner = fields.text("owned_by")
    return None if owner in _NO_OWNERS else owner


_NO_OWNERS: Final = frozenset(
    {"library", "llamacpp", "openai-internal", "organization-owner", "organization_owner", "system", "vllm"}
)


def least(*limits: Fact[int] | None) -> Fact[int] | None:
    """The lowest of the known limits, or None."""
    return min((limit for limit in limits if limit is not None), key=lambda limit: limit.value, default=None)


def is_of_type(*types: str) -> Callable[[Fields], bool]:
    """Makes a test for entries that declare one of the types."""
    return lambda fields: (fields.text("type") or "").lower() in types


def is_no_other_type(fields: Fields) -> bool:
    """Whether no field declares another kind of model; also true for entries without a type."""
    return (fields.text("type") or "").lower() not in _NO_LANGUAGE_MODELS and answers_with_text(fields)


def answers_with_text(fields: Fields) -> bool:
    """Whether a model gives text, or does not say what it gives."""
    words = fields.words("architecture.output_modalities")
    return words is None or "text" in words


def has_all(*paths: str) -> Callable[[Fields], bool]:
    """Makes a test for entries that have a value in each of the fields."""
    return lambda fields: all(path in fields for path in paths)


def has_any(*paths: str) -> Callable[[Fields], bool]:
    """Makes a test for entries that have a value in one of the fields."""
    return lambda fields: any(path in fields for path in paths)


# ---- Prices, as US dollars per token ----

_MILLION: Final = 1_000_000
_XAI_UNIT: Final = Decimal("1e-10")
"""US dollars: xAI states cents per 100 million tokens."""

XAI_PRICE_NAMES: Final = tuple(f"{kind}_text_token_price" for kind in ("prompt", "completion", "cached_prompt"))

_TIERS = ("input", "output", "input_cache_read", "input_cache_write")


def dollars_per_token(fields: Fields) -> Fact[Pricing] | None:
    """The prices under OpenRouter's names; None without prices for text."""
    names = ("prompt", "completion", "input_cache_read", "input_cache_write")
    return _stated(_priced(map(fields.dollars, names)), fields)


def dollars_per_million(
    fields: Fields, names: tuple[str, str], cache: tuple[str, ...] = (), *, tokens: int = _MILLION
) -> Fact[Pricing] | None:
    """The prices under names of a server's own; None without prices for text.

    Args:
        fields: The object that holds the prices.
        names: The names of the prices of prompt and answer.
        cache: The names of the prices of tokens that are read from the cache, and that are written to it.
        tokens: The number of tokens that the prices are stated for.
    """
    read = [None if (price := fields.dollars(name)) is None else price / tokens for name in (*names, *cache)]
    return _stated(_priced(read), fields)


def xai_prices(fields: Fields) -> Fact[Pricing] | None:
    """The prices of xAI's list of language models; None without any."""
    numbers = [fields.number(name) for name in XAI_PRICE_NAMES]
    prices = [None if one is None or not 0 <= one < MOST_DOLLARS * 10**4 else one * _XAI_UNIT for one in numbers]
    return _stated(_priced(prices), fields)


def per_token_with_tiers(fields: Fields) -> Fact[Pricing] | None:
    """The prices under the Vercel AI Gateway's names, including those of long prompts (`*_tiers_of`)."""
    starts = sorted({start for name in _TIERS for start, _ in _tiers_of(fields, name) if start > 0})
    pricing = _prices_at(fields, 0)
    if starts:
        # VS Code shows two columns: the first tier and the second.
        pricing = replace(pricing, long_context=_prices_at(fields, starts[0]), long_context_from=starts[0])
    return _stated(pricing, fields)


def _prices_at(fields: Fields, tokens: int) -> Pricing:
    """The prices of a token in a prompt of `tokens` tokens; a price without tiers holds for all prompts."""
    known = []
    for name in _TIERS:
        prices = [price for start, price in _tiers_of(fields, name) if start <= tokens]
        known.append(prices[-1] if prices else fields.dollars(name))
    return _priced(known)


def _tiers_of(fields: Fields, name: str) -> list[tuple[int, Decimal]]:
    """The number of tokens from which each price holds, and the price, in ascending order; `min` is inclusive."""
    tiers = []
    for tier in fields.objects(f"{name}_tiers"):
        price, start = tier.dollars("cost"), tier.tokens("min")
        if price is not None:
            tiers.append((start.value if start else 0, price))
    return sorted(tiers)


def _priced(prices: Iterable[Decimal | None]) -> Pricing:
    known = [*prices, None, None, None]
    return Pricing(known[0], known[1], known[2], known[3])


def _stated(pricing: Pricing, fields: Fields) -> Fact[Pricing] | None:
    prices = (pricing.input, pricing.output, pricing.cache_read, pricing.cache_write)
    return None if all(price is None for price in prices) else Fact(pricing, fields.source, "pricing")


# ---- Anthropic and Google ----

_FORMS: Final = {"adaptive": ThinkingForm.ADAPTIVE, "enabled": ThinkingForm.BUDGET}
_EDITS: Final = {
    "clear_thinking_20251015": ContextEdit.CLEAR_THINKING,
    "clear_tool_uses_20250919": ContextEdit.CLEAR_TOOL_RESULTS,
    "compact_20260112": ContextEdit.SUMMARIZE,
}
_EFFORTS: Final = {name: name for name in ("low", "medium", "high", "xhigh", "max")}
_USUAL: Final = "high"
"""The effort of a request that names none (docs/wires/anthropic-messages.md#thinking-by-model)."""


def _anthropic(fields: Fields) -> dict[str, Any]:
    capabilities = fields.inside("capabilities")
    efforts = _supported(capabilities, "effort", _EFFORTS)
    return {
        "name": fields.text("display_name"),
        # It bounds the input, and the input together with the response.
        "context_window": fields.tokens("max_input_tokens"),
        "max_output_tokens": fields.tokens("max_tokens"),
        "image_input": capabilities.boolean("image_input.supported"),
        "file_input": capabilities.boolean("pdf_input.supported"),
        "reasoning": capabilities.boolean("thinking.supported"),
        "thinking_forms": _supported(capabilities, "thinking", _FORMS, "types."),
        "can_stop_thinking": capabilities.boolean("thinking.types.disabled.supported"),
        "reasoning_efforts": efforts,
        "usual_effort": Fact(_USUAL, efforts.source, efforts.field) if efforts and _USUAL in efforts.value else None,
        "context_edits": _supported(capabilities, "context_management", _EDITS),
    }


def _supported(
    capabilities: Fields, ability: str, ours: Mapping[str, Any], below: str = ""
) -> Fact[tuple[Any, ...]] | None:
    """The supported forms of an ability, in our words; None if the server does not state them."""
    as_a_whole = capabilities.boolean(f"{ability}.supported")
    if as_a_whole is None:
        return None
    said = {name: capabilities.boolean(f"{ability}.{below}{name}.supported") for name in ours}
    taken = tuple(ours[name] for name, fact in said.items() if as_a_whole.value and fact is not None and fact.value)
    return Fact(taken, capabilities.source, f"capabilities.{ability}")


ANTHROPIC_SHAPE: Final = Shape(
    "Anthropic",
    lambda fields: fields.text("type") == "model" and "created_at" in fields,
    _anthropic,
    lambda fields: True,
)

_Value = TypeVar("_Value")

_METHODS: Final = "supportedGenerationMethods"
_NO_TOOLS: Final = re.compile(r"-image|-tts|/gemma-(?:[12][.-]|\d+b)")
_THINKS_HIGH: Final = re.compile(r"-3(?:\.1)?-(?:pro|flash)(?!-lite|-image)")
"""They think as much as they can by default; later ones a medium amount (docs/wires/gemini.md#thinking-config)."""
_NO_IMAGES: Final = re.compile(r"-tts|/gemma-(?:[12][.-]|\d+b)")


def _google(fields: Fields) -> dict[str, Any]:
    name, thinks = fields.text("name") or "", fields.boolean("thinking")
    levels = Fact(EFFORTS, fields.source, "thinking") if thinks is not None and thinks.value else None
    sees = _assumed(_NO_IMAGES.search(name) is None)
    return {
        "name": fields.text("displayName"),
        "description": fields.text("description"),
        "max_input_tokens": fields.tokens("inputTokenLimit"),
        "max_output_tokens": fields.tokens("outputTokenLimit"),
        "image_input": sees,
        "file_input": sees,
        "tool_calling": _assumed(_NO_TOOLS.search(name) is None),
        "reasoning": thinks,
        # Which levels a model takes, its protocol knows: each of these becomes one of them.
        "reasoning_efforts": levels,
        "usual_effort": _assumed("high") if levels is not None and _THINKS_HIGH.search(name) else None,
    }


def _assumed(value: _Value) -> Fact[_Value]:
    return Fact(value, Source.DEFAULT, "the kind of model")


GOOGLE_SHAPE: Final = Shape(
    "Google",
    has_any(_METHODS),
    _google,
    lambda fields: "generatecontent" in (fields.words(_METHODS) or ()),
    ("name",),
    id_prefix="models/",
)


# ---- Hosted servers of Chat Completions ----


def _copilot(fields: Fields) -> dict[str, Any]:
    """GitHub Copilot: microsoft/vscode-copilot-chat, platform/endpoint/common/endpointProvider.ts."""
    limits, supports = fields.inside("capabilities.limits"), fields.inside("capabilities.supports")
    efforts, paths = supports.words("reasoning_effort"), fields.words("supported_endpoints")
    budget = supports.tokens("max_thinking_budget")
    return {
        "name": fields.text("name"),
        "creator": fields.text("vendor"),
        "context_window": limits.tokens("max_context_window_tokens"),
        "max_input_tokens": limits.tokens("max_prompt_tokens"),
        "max_output_tokens": limits.tokens("max_output_tokens"),
        "tool_calling": supports.boolean("tool_calls"),
        "image_input": supports.boolean("vision"),
        "reasoning": supports.boolean("thinking") or (budget and Fact(True, budget.source, budget.field)),
        "reasoning_efforts": Fact(efforts, fields.source, "reasoning_effort") if efforts else None,
        "endpoints": Fact(paths, fields.source, "supported_endpoints") if paths else None,
    }


def _is_copilot_chat(fields: Fields) -> bool:
    is_off = fields.text("policy.state") in {"disabled", "unconfigured"}
    return fields.text("capabilities.type") in {None, "chat"} and not is_off


def _mistral(fields: Fields) -> dict[str, Any]:
    """Mistral: mistralai/client-python, models/modelcapabilities.py."""
    name, capabilities = fields.text("name"), fields.inside("capabilities")
    return {
        # A model is listed under each of its aliases, always with its own name: they would look all the same.
        "name": name if name == fields.text("id") else None,
        "description": fields.text("description"),
        "creator": owner_of(fields),
        "context_window": fields.tokens("max_context_length"),
        "tool_calling": capabilities.boolean("function_calling"),
        "image_input": capabilities.boolean("vision"),
        "reasoning": capabilities.boolean("reasoning"),
    }


def _moonshot(fields: Fields) -> dict[str, Any]:
    """Moonshot: platform.kimi.ai, "List models"."""
    return {
        "creator": owner_of(fields),
        "context_window": fields.tokens("context_length"),
        "image_input": fields.boolean("supports_image_in"),
        "reasoning": fields.boolean("supports_reasoning"),
    }


def _litellm(fields: Fields) -> dict[str, Any]:
    """LiteLLM's proxy, `GET /model/info`: BerriAI/litellm, docs/my-website/docs/proxy/model_management."""
    info = fields.inside("model_info")
    return {
        "creator": info.text("litellm_provider"),
        "max_input_tokens": info.tokens("max_input_tokens"),
        "max_output_tokens": info.tokens("max_output_tokens", "max_tokens"),
        "tool_calling": info.boolean("supports_function_calling"),
        "image_input": info.boolean("supports_vision"),
        "file_input": info.boolean("supports_pdf_input"),
        "reasoning": info.boolean("supports_reasoning"),
        "pricing": dollars_per_million(
            info,
            ("input_cost_per_token", "output_cost_per_token"),
            ("cache_read_input_token_cost", "cache_creation_input_token_cost"),
            tokens=1,
        ),
    }


def _together(fields: Fields) -> dict[str, Any]:
    """Together: docs.together.ai, "List all models"; an array, with prices per million tokens."""
    return {
        "name": fields.text("display_name"),
        "creator": fields.text("organization"),
        "context_window": fields.tokens("context_length"),
        "pricing": dollars_per_million(fields.inside("pricing"), ("input", "output"), ("cached_input",)),
    }


def _groq(fields: Fields) -> dict[str, Any]:
    """Groq: console.groq.com/docs/api-reference, "List models"."""
    return {
        "creator": owner_of(fields),
        "context_window": fields.tokens("context_window"),
        "max_output_tokens": fields.tokens("max_completion_tokens"),
    }


def _fireworks(fields: Fields) -> dict[str, Any]:
    """Fireworks: docs.fireworks.ai, "List models"."""
    return {
        "creator": owner_of(fields),
        "context_window": fields.tokens("context_length"),
        "tool_calling": fields.boolean("supports_tools"),
        "image_input": fields.boolean("supports_image_input"),
    }


def _hugging_face(fields: Fields) -> dict[str, Any]:
    """Hugging Face's router: huggingface.co/docs/inference-providers; prices per million tokens."""
    live = [one for one in fields.objects("providers") if one.text("status") in {None, "live"}]
    tools = [fact for one in live if (fact := one.boolean("supports_tools")) is not None]
    priced = [dollars_per_million(one.inside("pricing"), ("input", "output")) for one in live]
    prices = [price for price in priced if price is not None]
    return {
        "creator": owner_of(fields),
        # Any of them may get the request; one with tools gets a request with tools.
        "context_window": least(*(one.tokens("context_length") for one in live)),
        "tool_calling": next((fact for fact in tools if fact.value), tools[0] if tools else None),
        "pricing": prices[0] if prices and all(one.value == prices[0].value for one in prices) else None,
        **modality_facts(fields),
    }


def _xai(fields: Fields) -> dict[str, Any]:
    """xAI, `GET /v1/language-models`: docs.x.ai/docs/api-reference."""
    return {
        "creator": owner_of(fields),
        "context_window": fields.tokens("context_length", "max_prompt_length"),
        "image_input": fields.has_word("input_modalities", "image"),
        "pricing": xai_prices(fields),
    }


def _is_not(path: str) -> Callable[[Fields], bool]:
    """Makes a test for entries whose field does not say false."""

    def test(fields: Fields) -> bool:
        said = fields.boolean(path)
        return said is None or said.value

    return test


HOSTED_SHAPES: Final = (
    Shape("GitHub Copilot", has_any("capabilities.limits", "supported_endpoints"), _copilot, _is_copilot_chat),
    Shape("Mistral", has_all("capabilities.completion_chat"), _mistral, _is_not("capabilities.completion_chat")),
    Shape("Moonshot", has_any("supports_image_in", "supports_reasoning"), _moonshot, is_no_other_type),
    Shape(
        "LiteLLM, model info",
        has_all("model_name", "model_info"),
        _litellm,
        lambda fields: fields.text("model_info.mode") in {None, "chat", "completion", "responses"},
        ("model_name",),
    ),
    Shape("Together", has_any("pricing.hourly", "pricing.finetune"), _together, is_no_other_type),
    Shape("Groq", has_all("active", "context_window"), _groq, _is_not("active")),
    Shape("Fireworks", has_any("supports_chat"), _fireworks, _is_not("supports_chat")),
    Shape("Hugging Face", lambda fields: bool(fields.objects("providers")), _hugging_face, answers_with_text),
    Shape("xAI, language models", has_any(*XAI_PRICE_NAMES), _xai, is_no_other_type),
)
"""Each has a field that no other server has, so the order among them decides nothing."""


# ---- llama.cpp and Ollama ----

_CONTEXT_OPTIONS: Final = ("-c", "--ctx-size")
_MOST_DIGITS: Final = 9


def _is_llama_cpp(fields: Fields) -> bool:
    return fields.text("owned_by") == "llamacpp" or "meta.n_ctx_train" in fields


def _llama_cpp(fields: Fields) -> dict[str, Any]:
    """The context that a model was loaded with, else the one that it would be loaded with, else its training's."""
    window = fields.tokens("meta.n_ctx") or _started_with(fields) or fields.tokens("meta.n_ctx_train")
    return {"context_window": window, "image_input": modality_facts(fields)["image_input"]}


def _started_with(fields: Fields) -> Fact[int] | None:
    """The context in the arguments that the router starts a model's server with."""
    arguments = fields.words("status.args") or ()
    for option, value in pairwise(arguments):
        if option in _CONTEXT_OPTIONS and value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS:
            return Fact(int(value), fields.source, f"status.args {option}") if int(value) else None
    return None


def read_props(model_id: str, document: Any) -> tuple[ModelRecord | None, tuple[Problem, ...]]:
    """The facts in llama.cpp's properties of its only model, and the problems.

    Raises:
        UpstreamProtocolError: `document` holds no properties.
    """
    field = "default_generation_settings"
    if not isinstance(document, dict) or field not in document:
        raise UpstreamProtocolError(
            event_type="the properties of a server", field=field, got=f"{document!r:.80}", expected="an object"
        )
    problems: list[Problem] = []
    fields = Fields(document, "props", Source.DETAILS, problems)
    record = ModelRecord(
        model_id,
        context_window=fields.tokens("default_generation_settings.n_ctx"),
        image_input=fields.boolean("modalities.vision"),
        tool_calling=fields.boolean("chat_template_caps.supports_tools"),
    )
    return record, tuple(problems)


LOCAL_SHAPES: Final = (
    # A question about the properties of one of several models would load it.
    Shape(
        "llama.cpp, router",
        lambda fields: fields.is_object("status") and "status.value" in fields and _is_llama_cpp(fields),
        _llama_cpp,
        answers_with_text,
    ),
    Shape("llama.cpp", _is_llama_cpp, _llama_cpp, answers_with_text, details=DetailKind.LLAMA_CPP_PROPS),
)

_CONTEXT_PARAMETER: Final = re.compile(r"^num_ctx\s+(\d{1,9})\s*$", re.MULTILINE)
_GPT_OSS: Final = "gptoss"
"""The family whose thinking has degrees and cannot be turned off (ollama docs, capabilities/thinking)."""
_TOOLS_IN_TEMPLATE: Final = ".Tools"
"""A part of the template of a model that calls tools: old servers list no capabilities."""


def is_language(fields: Fields) -> bool:
    """Whether an entry of the list is a model that completes text, or does not say what it is."""
    capabilities = fields.words("capabilities")
    return not capabilities or "completion" in capabilities


def read_entry(fields: Fields) -> dict[str, Any]:
    """The facts in an entry of the list, or in the details of a model: new servers say the capabilities in both."""
    reasoning, efforts = fields.has_word("capabilities", "thinking"), None
    if reasoning is not None and reasoning.value:
        family = fields.text("details.family") or fields.inside("model_info").text("general.architecture")
        degrees = EFFORTS if family == _GPT_OSS else ("none", *EFFORTS)
        efforts = Fact(degrees, fields.source, "capabilities thinking")
    return {
        "image_input": fields.has_word("capabilities", "vision"),
        "tool_calling": fields.has_word("capabilities", "tools"),
        "reasoning": reasoning,
        "reasoning_efforts": efforts,
    }


def read_show(model_id: str, document: Any) -> tuple[ModelRecord | None, tuple[Problem, ...]]:
    """The facts about a model, and the problems; None for a model that declares no text completion (embeddings).

    Raises:
        UpstreamProtocolError: `document` is not a description of a model.
    """
    if not isinstance(document, dict) or not ("model_info" in document or "capabilities" in document):
        raise UpstreamProtocolError(
            event_type="the description of a model", field=None, got=f"{document!r:.80}", expected="model_info"
        )
    problems: list[Problem] = []
    fields = Fields(document, "show", Source.DETAILS, problems)
    capabilities = fields.words("capabilities")
    if capabilities is not None and "completion" not in capabilities:
        return None, tuple(problems)
    trained = fields.inside("model_info").suffixed(".context_length")
    # If `num_ctx` is set, the server loads the model with it, and silently cuts off longer prompts. A model of the
    # cloud always has its largest window.
    loaded = trained if fields.text("remote_host") else None
    found = _CONTEXT_PARAMETER.search(fields.text("parameters") or "")
    if found and int(found[1]):
        loaded = Fact(int(found[1]), Source.DETAILS, "parameters num_ctx")
    abilities = read_entry(fields)
    if abilities["tool_calling"] is None and _TOOLS_IN_TEMPLATE in (fields.text("template") or ""):
        abilities["tool_calling"] = Fact(True, Source.DETAILS, "template")
    record = ModelRecord(
        model_id, context_window=loaded or trained, loaded_window=loaded, trained_window=trained, **abilities
    )
    return record, tuple(problems)


# ---- The other servers, and the table of all shapes ----


def _vercel(fields: Fields) -> dict[str, Any]:
    return {
        **_gateway_config(fields),
        "creator": fields.text("owned_by"),
        "context_window": fields.tokens("context_window"),
        "max_output_tokens": fields.tokens("max_tokens"),
        "tool_calling": fields.has_word("tags", "tool-use"),
        "image_input": fields.has_word("tags", "vision"),
        "file_input": fields.has_word("tags", "file-input"),
        "reasoning": fields.has_word("tags", "reasoning"),
    }


def _is_vercel(fields: Fields) -> bool:
    # Groq has context_window too; other servers put null into fields that they do not know.
    return "type" in fields and fields.names_any("context_window", "tags") and "max_model_len" not in fields


def _gateway_config(fields: Fields) -> dict[str, Any]:
    pricing = per_token_with_tiers(fields.inside("pricing"))
    return {"name": fields.text("name"), "description": fields.text("description"), "pricing": pricing}


def _partstream(fields: Fields) -> dict[str, Any]:
    """Another server of ours, whose list clients of several wires read."""
    limits = {"context_window": None, "max_input_tokens": fields.tokens("max_input_tokens")}
    return {**ANTHROPIC_SHAPE.read(fields), **_vercel(fields), **limits}


def _openrouter(fields: Fields) -> dict[str, Any]:
    return {
        "name": fields.text("name"),
        "description": fields.text("description"),
        # The endpoint may accept less than the model could.
        "context_window": least(fields.tokens("context_length"), fields.tokens("top_provider.context_length")),
        "max_output_tokens": fields.tokens("top_provider.max_completion_tokens"),
        "pricing": dollars_per_token(fields.inside("pricing")),
        **modality_facts(fields),
        **parameter_facts(fields),
    }


def _lm_studio(fields: Fields) -> dict[str, Any]:
    return {
        "creator": fields.text("publisher"),
        # A loaded model has the context length that it was loaded with, whatever its maximum.
        "context_window": fields.tokens("loaded_context_length", "max_context_length"),
        "image_input": Fact(fields.text("type") == "vlm", fields.source, "type"),
        "tool_calling": fields.has_word("capabilities", "tool_use"),
    }


def _lm_studio_1(fields: Fields) -> dict[str, Any]:
    loaded = [instance.tokens("config.context_length") for instance in fields.objects("loaded_instances")]
    return {
        "name": fields.text("display_name"),
        "description": fields.text("description"),
        "creator": fields.text("publisher"),
        "context_window": least(*loaded) or fields.tokens("max_context_length"),
        "image_input": fields.boolean("capabilities.vision"),
        "tool_calling": fields.boolean("capabilities.trained_for_tool_use"),
    }


def _bare(fields: Fields) -> dict[str, Any]:
    """OpenAI's list has id and owner; other servers add one or two fields with clear names."""
    flags: dict[str, Any] = {}
    if fields.is_object("capabilities"):  # `{vision: true, function_calling: true}`
        capabilities = fields.inside("capabilities")
        flags["image_input"] = capabilities.boolean("vision")
        flags["tool_calling"] = capabilities.boolean("function_calling")
    return {
        "name": fields.text("display_name", "name"),
        "description": fields.text("description"),
        "creator": owner_of(fields),
        "context_window": fields.tokens("context_window", "context_length", "max_context_length"),
        "max_input_tokens": fields.tokens("max_input_tokens"),
        "max_output_tokens": fields.tokens("max_completion_tokens", "max_output_tokens"),
        **parameter_facts(fields),
        **{name: fact for name, fact in flags.items() if fact is not None},
    }


SHAPES: Final[tuple[Shape, ...]] = (
    # A model that is listed once more under an alias is no further model.
    Shape("Partstream", has_all("lifecycle", "tags"), _partstream, lambda fields: "alias_of" not in fields),
    *LOCAL_SHAPES,
    *HOSTED_SHAPES,
    ANTHROPIC_SHAPE,
    GOOGLE_SHAPE,
    Shape("Vercel", _is_vercel, _vercel, is_of_type("language", "chat"), details=DetailKind.ENDPOINTS),
    Shape(
        "Vercel, config",
        has_all("specification"),
        _gateway_config,
        lambda fields: fields.text("modelType") in (None, "language"),
        details=DetailKind.ENDPOINTS,
    ),
    Shape(
        "OpenRouter",
        has_any("top_provider", "architecture.input_modalities", "architecture.modality"),
        _openrouter,
        is_no_other_type,
        details=DetailKind.ENDPOINTS,
    ),
    Shape("LM Studio, API v1", has_all("key", "type"), _lm_studio_1, is_of_type("llm", "vlm"), ("key",)),
    Shape("LM Studio, API v0", has_all("state", "type"), _lm_studio, is_of_type("llm", "vlm")),
    Shape("Ollama", has_all("model", "details"), read_entry, is_language, ("model", "name"), DetailKind.OLLAMA_SHOW),
    Shape(
        "vLLM",
        has_all("max_model_len"),
        lambda fields: {"creator": owner_of(fields), "context_window": fields.tokens("max_model_len")},
        is_no_other_type,
    ),
    Shape("bare", lambda fields: True, _bare, is_no_other_type),
)


def shape_of(fields: Fields) -> Shape:
    """The shape of an entry; the bare shape fits every entry."""
    return next(shape for shape in SHAPES if shape.fits(fields))


# ---- Details of one model, and the models that are loaded ----

_LIMITS = {
    "context_window": "context_length",
    "max_input_tokens": "max_prompt_tokens",
    "max_output_tokens": "max_completion_tokens",
}


def endpoints_path(model_id: str) -> str | None:
    """The path of a model's endpoints, relative to the base URL; None for an id without a creator."""
    creator, _, name = model_id.partition("/")
    if not creator or not name or "/" in name or {creator, name} & {".", ".."}:
        return None
    # `:free` is part of a name and is not escaped.
    return f"/models/{quote(creator, safe='')}/{quote(name, safe=':')}/endpoints"


def read_endpoints(model_id: str, document: Any) -> tuple[ModelRecord, tuple[Problem, ...]]:
    """The record of the active endpoints' facts, and the problems; without facts if no endpoint is active.

    Raises:
        UpstreamProtocolError: The document holds no endpoints.
    """
    data = document.get("data") if isinstance(document, dict) else None
    if not isinstance(data, dict) or not isinstance(data.get("endpoints"), list):
        raise UpstreamProtocolError(
            event_type="the endpoints of a model", field="data", got=f"{document!r:.80}", expected="endpoints"
        )
    problems: list[Problem] = []
    fields = Fields(data, "data", Source.DETAILS, problems)
    # A gateway may send a request to any active endpoint, so only the lowest of their limits is certain. Capabilities
    # are different: the gateway sends a request with tools to an endpoint that accepts tools.
    active = [endpoint for endpoint in fields.objects("endpoints") if endpoint.number("status") in (0, None)]
    facts: dict[str, Any] = {} if not active else modality_facts(fields)
    for ours, theirs in _LIMITS.items():
        known = [limit.value for endpoint in active if (limit := endpoint.tokens(theirs)) is not None]
        where = f"least {theirs} of {len(known)} endpoints"
        facts[ours] = Fact(min(known), Source.DETAILS, where) if known else None
    for endpoint in active:
        for name, fact in parameter_facts(endpoint).items():
            if fact is not None and (facts.get(name) is None or fact.value):
                facts[name] = fact
    return ModelRecord(model_id, **facts), tuple(problems)


@dataclass(frozen=True, slots=True)
class DetailRequest:
    """A request for the details of one model; the path of a native one replaces the base URL's `/v1`."""

    path: str
    is_native: bool = False
    body: bytes | None = None


def detail_request(kind: DetailKind, model_id: str) -> DetailRequest | None:
    """The request for a model's details; None if this id allows no request."""
    if kind is DetailKind.OLLAMA_SHOW:
        return DetailRequest("/api/show", True, dumps({"model": model_id}))
    if kind is DetailKind.LLAMA_CPP_PROPS:
        return DetailRequest("/props", is_native=True)
    path = endpoints_path(model_id)
    return None if path is None else DetailRequest(path)


def read_detail(kind: DetailKind, model_id: str, document: Any) -> tuple[ModelRecord | None, tuple[Problem, ...]]:
    """The record in an answer, and its problems; the record is None if the model is not a language model.

    Raises:
        UpstreamProtocolError: `document` is not an answer of this kind.
    """
    return _READERS[kind](model_id, document)


RUNNING_PATHS: Final[Mapping[DetailKind, str]] = {DetailKind.OLLAMA_SHOW: "/api/ps"}
"""The paths of the list of loaded models, at servers with these details."""
_READERS: Final[Mapping[DetailKind, Callable[[str, Any], tuple[ModelRecord | None, tuple[Problem, ...]]]]] = {
    DetailKind.ENDPOINTS: read_endpoints,
    DetailKind.OLLAMA_SHOW: read_show,
    DetailKind.LLAMA_CPP_PROPS: read_props,
}


def read_running(document: Any) -> tuple[Mapping[str, Fact[int]], tuple[Problem, ...]]:
    """The windows with which models are loaded now, by id, and the problems; nothing in what is no such list."""
    listed = document.get("models") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        return {}, ()
    problems: list[Problem] = []
    windows: dict[str, Fact[int]] = {}
    for fields in Fields(document, "ps", Source.DETAILS, problems).objects("models"):
        window = fields.tokens("context_length")
        for model_id in {fields.text("model"), fields.text("name")} - {None}:
            if window is not None and model_id is not None:
                windows[model_id] = Fact(window.value, Source.DETAILS, "ps context_length")
    return windows, tuple(problems)


def with_running_window(record: ModelRecord, window: Fact[int] | None) -> ModelRecord:
    """The record with the window of the loaded model, where the model itself names none."""
    if window is None or record.loaded_window is not None:
        return record
    return replace(record, context_window=window, loaded_window=window)
