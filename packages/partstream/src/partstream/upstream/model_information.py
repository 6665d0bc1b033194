"""The facts about a model, and the information that VS Code gets from them, from the id, and from a person's settings.

Each fact has its source, and None means unknown. `offered_models` selects the models; `information_of` alone decides
what to assume for an unknown fact. A model is assumed to call tools, because agent mode offers no other models, and to
accept no images, because a request with an image would fail.

An id is parsed into creator, family and version. The family is the name with its generation and without its snapshot:
`gpt-4.1`, `claude-sonnet-4.5`. Copilot chooses its prompts and edit tools by the beginning of the family, and tokens
are counted by family, so two generations are two families. The version is the snapshot: a date, `latest`, `preview`.

A limit follows from the server's declarations by a named policy. Reasoning is part of an answer's output: the limits
of OpenAI (`max_output_tokens`), Anthropic (`max_tokens`) and Google (`maxOutputTokens`) include it.
"""

from __future__ import annotations
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal  # noqa: TC003 - public types are looked up
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from partstream.codec import checks
from partstream.codec.checks import dataclass, field, fields, optional, replace
from partstream.conversation.preparation import ContextEdit, Fact, ModelCapabilities, Source, ThinkingForm
from partstream.lm.provider import LanguageModelChatCapabilities, LanguageModelChatInformation
from partstream.settings.kinds import Choice

# ---- Facts ----


@dataclass(frozen=True, slots=True)
class Pricing:
    """The prices of a model, in US dollars per token, also of a prompt token that is read from the cache or written to
    it; None means unknown. Prompts of `long_context_from` tokens or more have prices of their own, if there are any.
    `is_own` tells that a person has set them: then a cost that the server reports does not count.

    Example:
        >>> from decimal import Decimal
        >>> from partstream import Pricing
        >>> Pricing(Decimal("0.000003"), Decimal("0.000015"), is_own=True).cache_read is None
        True
    """

    input: Decimal | None = None
    output: Decimal | None = None
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    long_context: Pricing | None = None
    long_context_from: int | None = None
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """One language model as its server describes it: the facts of
    :class:`partstream.conversation.preparation.ModelCapabilities` with their sources, and what only a list says.

    Attributes:
        id: The server's id of the model; goes into requests unchanged.
        name: The server's name of the model for people.
        creator: The model's creator, if the server names it beside the id.
        usual_effort: The reasoning level of a request that names none.
        endpoints: The paths of the only endpoints that serve the model, in lower case, such as `/chat/completions`.
    """

    id: str
    name: str | None = None
    description: str | None = None
    creator: str | None = None
    context_window: Fact[int] | None = None
    max_input_tokens: Fact[int] | None = None
    max_output_tokens: Fact[int] | None = None
    image_input: Fact[bool] | None = None
    tool_calling: Fact[bool] | None = None
    reads_tool_choice: Fact[bool] | None = None
    reasoning: Fact[bool] | None = None
    reasoning_efforts: Fact[tuple[str, ...]] | None = None
    usual_effort: Fact[str] | None = None
    thinking_forms: Fact[tuple[ThinkingForm, ...]] | None = None
    can_stop_thinking: Fact[bool] | None = None
    context_edits: Fact[tuple[ContextEdit, ...]] | None = None
    loaded_window: Fact[int] | None = None
    trained_window: Fact[int] | None = None
    pricing: Fact[Pricing] | None = None
    endpoints: Fact[tuple[str, ...]] | None = None

    def is_served_at(self, path: str) -> bool:
        """Whether the server answers for the model at an endpoint, such as `/responses` below the base URL; it does
        where it does not say which ones."""
        return self.endpoints is None or any(one.endswith(path.lower()) for one in self.endpoints.value)


def merged(record: ModelRecord, better: ModelRecord) -> ModelRecord:
    """`record` with every known fact of `better` instead of its own; the id stays."""
    known = {
        field.name: value
        for field in fields(better)
        if field.name != "id" and (value := getattr(better, field.name)) is not None
    }
    return replace(record, **known)


TEMPLATE_TOOLS: Final = "chat_template_caps.supports_tools"
"""The field in which llama.cpp says whether the chat template of its model names tools: if not, no prompt has any."""


def known_capabilities(record: ModelRecord) -> ModelCapabilities:
    """The facts of a record without their sources, for the writer of a request; assumptions are no facts."""
    facts = {one.name: getattr(record, one.name, None) for one in fields(ModelCapabilities)}
    known = {name: fact.value for name, fact in facts.items() if fact is not None}
    tools = record.tool_calling
    return ModelCapabilities(
        **known, drops_tools=tools is not None and (tools.value, tools.field) == (False, TEMPLATE_TOOLS)
    )


# ---- Selection ----


class LimitPolicy(Choice):
    """How much of a context window a prompt may take."""

    # Never less than half: some servers state an output limit as large as the window, which would leave nothing.
    RESERVE_OUTPUT = "reserve-output", "All except the output limit and the reasoning reserve, and never less than half"
    CONTEXT_WINDOW = "context-window", "All of it: the client keeps room for the answer"
    FRACTION = "fraction", "A share of it, whatever the output limit"


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """How limits are determined.

    Attributes:
        fraction: The part of the window for the prompt under the policy `fraction`, above 0 and at most 1.
        reasoning_tokens: Tokens reserved for reasoning in addition to the output limit, for servers that do not count
            reasoning as output.
        default_input_tokens: The most tokens of a prompt if no context window is known.
        default_output_tokens: The most tokens of an answer if no limit is known; at most a quarter of a known window.

    Example:
        >>> from partstream import LimitPolicy, LimitSettings
        >>> LimitSettings(LimitPolicy.FRACTION).fraction
        0.85
    """

    policy: LimitPolicy = LimitPolicy.RESERVE_OUTPUT
    fraction: float = 0.85
    reasoning_tokens: int = 0
    default_input_tokens: int = 128_000
    default_output_tokens: int = 16_384


@dataclass(frozen=True, slots=True)
class ModelOverride:
    """A person's settings for one model, as :data:`partstream.upstream.configuration.MODEL_ROWS` describes them; with
    None, the server's value stays. Empty levels of reasoning offer none.

    Example:
        >>> from partstream import ModelOverride
        >>> ModelOverride(name="Large", tool_calling=True).max_input_tokens is None
        True
    """

    name: str | None = None
    family: str | None = None
    version: str | None = None
    detail: str | None = None
    context_window: int | None = None
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    image_input: bool | None = None
    tool_calling: bool | None = None
    reasoning_efforts: Sequence[str] | None = None

    def __post_init__(self) -> None:
        checks.check_fields(self, _OVERRIDE)
        if self.reasoning_efforts is not None:
            efforts = checks.sequence_of(
                "ModelOverride.reasoning_efforts", self.reasoning_efforts, str, "a level (str)"
            )
            object.__setattr__(self, "reasoning_efforts", efforts)


_OVERRIDE: Final = {
    **dict.fromkeys(("name", "family", "version", "detail"), optional(checks.TEXT)),
    **dict.fromkeys(("context_window", "max_input_tokens", "max_output_tokens"), optional(checks.COUNT)),
    **dict.fromkeys(("image_input", "tool_calling"), optional(checks.BOOLEAN)),
}

_SELECTION: Final = {
    "default": optional(checks.TEXT),
    "overrides": checks.MAPPING,
    "prices": checks.MAPPING,
    "limits": checks.instance_of(LimitSettings),
}
_NO_OVERRIDE: Final = ModelOverride()


@dataclass(frozen=True, slots=True)
class ModelSelection:
    """The models to offer. In globs, `*` is any text and `?` is one character; case does not matter.

    Attributes:
        allow: Globs of the ids to offer; empty for all.
        deny: Globs of the ids not to offer; stronger than `allow`.
        hidden: Globs of the ids that programs can use but the model picker does not show.
        default: The id of the first model, or None.
        overrides: A person's settings by model id; ids that the server does not list are offered too.
        prices: A person's prices by model id or glob; an id goes before globs, of which the first that fits counts.

    Example:
        >>> from partstream import ModelOverride, ModelSelection
        >>> selection = ModelSelection(allow=["large-*"], overrides={"large-1": ModelOverride(context_window=100_000)})
        >>> selection.overrides["large-1"].context_window
        100000
    """

    allow: Sequence[str] = ()
    deny: Sequence[str] = ()
    hidden: Sequence[str] = ()
    default: str | None = None
    overrides: Mapping[str, ModelOverride] = field(default_factory=dict)
    limits: LimitSettings = field(default_factory=LimitSettings)
    prices: Mapping[str, Pricing] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checks.check_fields(self, _SELECTION)
        for name in ("allow", "deny", "hidden"):
            globs = checks.sequence_of(f"ModelSelection.{name}", getattr(self, name), str, "a glob of model ids (str)")
            object.__setattr__(self, name, globs)

    def price_of(self, model_id: str) -> Pricing | None:
        """A person's price of a model; None where no price was set."""
        fitting = (price for glob, price in self.prices.items() if matches(model_id, glob))
        return self.prices.get(model_id) or next(fitting, None)


@dataclass(frozen=True, slots=True)
class OfferedModel:
    """A model that is offered: its facts, including a person's overrides; the model picker leaves a hidden one out."""

    record: ModelRecord
    override: ModelOverride = _NO_OVERRIDE
    hidden: bool = False


def offered_models(records: Iterable[ModelRecord], selection: ModelSelection) -> list[OfferedModel]:
    """The models to offer: the default model first, the others in the server's order, each id once."""
    listed = {record.id: record for record in reversed(list(records))}
    ordered = dict.fromkeys([*reversed(listed), *selection.overrides])
    offered = []
    for model_id in ordered:
        if is_allowed(model_id, selection):
            override = selection.overrides.get(model_id, _NO_OVERRIDE)
            of_record = (one.name for one in fields(override)[4:])  # the first four are texts for the model picker
            stated = {name: value for name in of_record if (value := getattr(override, name)) is not None}
            facts: dict[str, Any] = {name: Fact(value, Source.CONFIGURATION, name) for name, value in stated.items()}
            record = replace(listed.get(model_id) or ModelRecord(model_id), **facts)
            if (price := selection.price_of(model_id)) is not None:
                record = replace(record, pricing=Fact(price, Source.CONFIGURATION, "prices"))
            hidden = any(matches(model_id, glob) for glob in selection.hidden)
            offered.append(OfferedModel(record, override, hidden))
    return sorted(offered, key=lambda model: model.record.id != selection.default)


def is_allowed(model_id: str, selection: ModelSelection) -> bool:
    """Whether the allow and deny lists let an id pass."""
    is_listed = not selection.allow or any(matches(model_id, glob) for glob in selection.allow)
    return is_listed and not any(matches(model_id, glob) for glob in selection.deny)


def matches(model_id: str, glob: str) -> bool:
    """Whether the whole id matches a glob."""
    return fnmatchcase(model_id.lower(), glob.lower().replace("[", "[[]"))  # no character sets: ids may hold brackets


# ---- Information ----

_EFFORT_LABELS: Final = {"xhigh": "Extra high", "none": "None"}
_MAX_CHOICES: Final = 10


def information_of(model: OfferedModel, settings: LimitSettings) -> LanguageModelChatInformation:
    """The information about a model for VS Code."""
    record, override = model.record, model.override
    identity = parse_identity(record.id)
    prompt, answer = limits_of(record, settings)
    tools, images = capabilities_of(record)
    pricing = record.pricing.value if record.pricing is not None else None
    told = [
        record.id,
        f"Input: {prompt.value:,} tokens ({prompt.origin})",
        f"Output: {answer.value:,} tokens ({answer.origin})",
        f"Tools: {_yes(tools)}, images: {_yes(images)}",
    ]
    extra: dict[str, Any] = {"isUserSelectable": not model.hidden}
    if (window := record.context_window) is not None:
        told.append(f"Context window: {window.value:,} tokens ({window.origin})")
        # A person's own limit of prompts may exceed the window that a server states: a host takes the window literally.
        extra["maxContextWindowTokens"] = max(window.value, prompt.value)
    if pricing is not None:
        named = {"input": pricing.input, "output": pricing.output, "cache read": pricing.cache_read}
        prices = ", ".join(f"{_dollars(price)} {name}" for name, price in named.items() if price is not None)
        told.append(f"Price: {prices} per 1M tokens")
        extra |= _costs(pricing)
    if record.description:
        told.append(record.description.partition("\n")[0][:300])
    if choices := _choices(record, prompt.value):
        extra["configurationSchema"] = {"properties": choices}
    return LanguageModelChatInformation(
        id=record.id,
        name=override.name or record.name or identity.display_name,
        family=override.family or identity.family.lower(),  # Copilot looks for `claude`, `gpt`, `gemini` at its start
        version=override.version or identity.version or "1",
        max_input_tokens=prompt.value,
        max_output_tokens=answer.value,
        tooltip="\n".join(told),
        # Without a detail, VS Code shows the name of the group, which distinguishes two groups with the same model.
        detail=override.detail,
        capabilities=LanguageModelChatCapabilities(image_input=images.value, tool_calling=tools.value),
        extra=extra,
    )


def capabilities_of(record: ModelRecord) -> tuple[Fact[bool], Fact[bool]]:
    """Whether a model calls tools, and whether it accepts images; each with its source."""
    return (
        record.tool_calling or Fact(True, Source.DEFAULT, "tool_calling"),
        record.image_input or Fact(False, Source.DEFAULT, "image_input"),
    )


def _yes(fact: Fact[bool]) -> str:
    return ("yes" if fact.value else "no") + (" (assumed)" if fact.source is Source.DEFAULT else "")


def _costs(pricing: Pricing) -> dict[str, Any]:
    """The known prices in VS Code's fields, such as `inputCost` and `longContextInputCost`: credits per million tokens,
    of which one is a cent."""
    costs: dict[str, Any] = {}
    named = {"input": "input", "output": "output", "cache": "cache_read", "cacheWrite": "cache_write"}
    for title, name in named.items():
        long_title = f"longContext{title[0].upper()}{title[1:]}"
        for known_as, prices in ((title, pricing), (long_title, pricing.long_context)):
            if (price := getattr(prices, name, None)) is not None:
                costs[f"{known_as}Cost"] = float(price * 1_000_000 * 100)
    if pricing.input is not None or pricing.output is not None:
        costs["pricing"] = price_words(pricing)  # in the row of the picker, beside the name, which a sentence would cut
    return costs


def _choices(record: ModelRecord, most: int) -> dict[str, Any]:
    """The choices that a person has for each request, under the names that Copilot itself uses; a prompt has at most so
    many tokens."""
    choices: dict[str, Any] = {}

    def offer(name: str, title: str, group: str, usual: object, labels: dict[Any, str]) -> None:
        kind = "string" if isinstance(usual, str) else "number"
        words = {"enum": list(labels), "enumItemLabels": list(labels.values())}
        choices[name] = {"type": kind, "title": title, **words, "default": usual, "group": group}

    if record.reasoning_efforts is not None and (efforts := record.reasoning_efforts.value[:_MAX_CHOICES]):
        # The level that is chosen beforehand: that of the server, as far as it is known and offered.
        usual = record.usual_effort.value if record.usual_effort is not None else "medium"
        labels = {effort: _EFFORT_LABELS.get(effort, effort.capitalize()) for effort in efforts}
        offer("reasoningEffort", "Thinking Effort", "navigation", usual if usual in efforts else efforts[0], labels)
    # The prompt size at which the price changes, if it does.
    start = record.pricing.value.long_context_from if record.pricing is not None else None
    if start is not None and start < most:
        offer("contextSize", "Context Size", "tokens", most, {size: token_words(size) for size in (start, most)})
    return choices


def summary_of(record: ModelRecord) -> str:
    """The known context window and prices in a few words: `200K · $3 / $15`."""
    window, pricing = record.context_window, record.pricing.value if record.pricing is not None else None
    said = [] if window is None else [token_words(window.value)]
    return " · ".join(said if pricing is None or pricing.input is None else [*said, price_words(pricing)])


def price_words(pricing: Pricing) -> str:
    """The known prices of input and output, in dollars per million tokens: `$3 / $15`."""
    if pricing.input == 0 and not pricing.output:
        return "free"
    return " / ".join(_dollars(price) for price in (pricing.input, pricing.output) if price is not None)


def _dollars(price: Decimal) -> str:
    """Dollars per million tokens, with the significant digits."""
    amount = round(price * 1_000_000, 4)
    return f"${amount.normalize():f}"


def token_words(tokens: int) -> str:
    """200000 as 200K, 1048576 as 1M."""
    if tokens >= 999_500:
        return f"{tokens / 1_000_000:.1f}".removesuffix(".0") + "M"
    return f"{round(tokens / 1000)}K" if tokens >= 1000 else str(tokens)


# ---- Limits ----


class ModelLimits(NamedTuple):
    """The limits of one model, each with its source."""

    max_input_tokens: Fact[int]
    max_output_tokens: Fact[int]


def limits_of(record: ModelRecord, settings: LimitSettings) -> ModelLimits:
    """The limits of a model; every number is at least 1."""
    window, output, declared = record.context_window, record.max_output_tokens, record.max_input_tokens
    if output is None:
        assumed = settings.default_output_tokens
        assumed = assumed if window is None else max(1, min(assumed, window.value // 4))
        output = Fact(assumed, Source.DEFAULT, "default_output_tokens")
    elif window is not None:
        output = _within(output, window)
    if window is None:
        usual = Fact(settings.default_input_tokens, Source.DEFAULT, "default_input_tokens")
        return ModelLimits(declared or usual, output)
    by_policy = {
        LimitPolicy.RESERVE_OUTPUT: window.value - min(output.value + settings.reasoning_tokens, window.value // 2),
        LimitPolicy.CONTEXT_WINDOW: window.value,
        LimitPolicy.FRACTION: int(window.value * settings.fraction),
    }
    tokens = max(1, by_policy[settings.policy])
    field = f"{window.field}, {settings.policy}" if tokens != window.value else window.field
    prompt = Fact(tokens, window.source, field)
    return ModelLimits(prompt if declared is None else _within(declared, prompt), output)


def _within(limit: Fact[int], bound: Fact[int]) -> Fact[int]:
    """A limit, or the bound if the limit exceeds it; a person's own limit stays as it is."""
    return limit if limit.source is Source.CONFIGURATION or limit.value <= bound.value else bound


# ---- Ids ----

_BEDROCK_REGIONS: Final = "us|us-gov|eu|apac|ap|au|jp|ca|sa|global"
"""The regions before the vendor in the id of an inference profile: `us.anthropic.claude-...`."""
_BEDROCK_VENDORS: Final = (
    "ai21|amazon|anthropic|cohere|deepseek|google|luma|meta|minimax|mistral|moonshot|moonshotai|nvidia|openai|qwen"
    "|stability|twelvelabs|writer|zai"
)
"""The vendors of models with ids of the form `vendor.name`."""
_PROVIDERS: Final = frozenset(
    {"ai21", "alibaba", "amazon", "anthropic", "azure", "azure-ai", "azure_ai", "bedrock", "cerebras", "cohere"}
    | {"copilot", "dashscope", "databricks", "deepinfra", "deepseek", "fireworks", "gateway", "gemini", "github"}
    | {"google", "google-gla", "google-vertex", "groq", "huggingface", "litellm", "lmstudio", "meta", "mistral"}
    | {"moonshot", "moonshotai", "nvidia", "ollama", "openai", "openai-chat", "openai-responses", "openrouter"}
    | {"perplexity", "replicate", "sambanova", "together", "vertex", "vertex_ai", "vllm", "xai", "zai", "zhipu"}
)
"""The providers before a colon, as in `openai:gpt-4o`; any other word before a colon is a name, followed by a tag."""
_NO_PROVIDERS: Final = frozenset(
    {"@cf", "@hf", "accounts", "deployments", "endpoint", "endpoints", "foundation-model", "ft", "hf.co"}
    | {"huggingface.co", "imported-model", "inference-profile", "locations", "model", "models", "openrouter"}
    | {"projects", "provisioned-model", "publishers"}
    | {"application-inference-profile", "custom-model", "custom-model-deployment"}
)
"""Segments of a path that do not name a creator."""
# Patterns are texts: `re` compiles each when it is first used, and most programs parse no id.
_TAGS: Final = (
    r"(?i:\d|[eqi]?q\d|fp\d|bf16|f16|f32|e\d+b|(?:base|beta|chat|cloud|code|exacto|extended|fast|floor|free|instruct"
    r"|latest|large|medium|mini|nitro|online|python|small|text|thinking|tiny|tools|vision)(?:\b|\Z))"
)
"""The beginning of a tag or variant after a name: `llama3:8b`, `deepseek-r1:free`."""
_QUANTISATION: Final = (
    r"(?i:[-._](?:gguf|ggml|mlx|awq|gptq|exl2|exl3|bnb|safetensors|bin|onnx"
    r"|(?:ud-)?i?q\d(?:_[0-9a-z]+){0,2}|mxfp\d|nvfp\d|w\d+a\d+|int[48]|[348]-?bit|fp(?:4|8|16)|bf16|f16|f32"
    r"|\d{5}-of-\d{5})(?:-dynamic)?\Z)"
)
"""Words about weights and files at the end of a name: the same model in another packing."""

_YEAR, _MONTH, _DAY = r"20[2-4]\d", r"(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12]\d|3[01])"
_SNAPSHOT: Final = (
    rf"(?i:(?P<joint>[-_@])(?P<version>"
    rf"(?:(?:preview|exp|experimental)[-_])?"
    rf"(?:{_YEAR}[-_]{_MONTH}[-_]{_DAY}|{_YEAR}{_MONTH}{_DAY}|{_MONTH}[-_]{_YEAR}|{_MONTH}[-_]{_DAY}"
    rf"|{_MONTH}{_DAY}|2[2-9]{_MONTH}|00\d)"
    rf"(?:[-_](?:preview|exp))?(?:-v\d+:\d+)?"
    rf"|v\d+:\d+|latest|preview|experimental|exp|default)\Z)"
)
"""A snapshot at the end of a name: a date (with or without year, month and year, YYMM, MMDD), a word, or 001."""

_SPELLINGS: Final = {
    word.lower(): word
    for word in (
        *("AI", "ChatGPT", "CodeGemma", "CodeLlama", "DeepSeek", "ERNIE", "EXAONE", "GLM", "GPT", "HD", "IT"),
        *("MiniMax", "MoE", "MPT", "OLMo", "OSS", "QwQ", "SmolLM", "StarCoder", "VL", "WizardLM", "XL"),
    )
}


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """The pieces of a model's id; joined, they are the id again. `prefix` has creator, routes and folders, `joint` what
    separates family and version, the snapshot; `suffix` a variant (`:free`), a tag, a quantisation, a file type; and
    `provider` the model's creator in lower case, or None if the id does not name it."""

    prefix: str
    family: str
    joint: str
    version: str
    suffix: str
    provider: str | None

    @property
    def display_name(self) -> str:
        """The name for people, such as `GPT-4o Mini (2024-07-18, free)`."""
        shown = " ".join(_word(word) for word in re.split(r"[-_ ]+", self.family) if word) or self.family
        shown = re.sub(r"^(GPT|GLM) (?=\d)", r"\1-", shown)  # as their makers write them
        shown = re.sub(r"(?<!\.)(\d) (\d)(?![\w.])", r"\1.\2", shown)  # claude-sonnet-4-5
        # The suffix without its file type and its separators.
        variant = re.sub(r"(?i)\.(?:gguf|bin|safetensors)\Z", "", self.suffix).strip(":@-._/\\")
        asides = ", ".join(filter(None, (self.version.replace("_", "-"), *re.split(r"[:@]", variant))))
        return f"{shown} ({asides})" if asides else shown


def parse_identity(model_id: str) -> ModelIdentity:
    """The pieces of an id; works for every text."""
    start, provider = max(model_id.rfind("/"), model_id.rfind("\\")) + 1, None
    if start == len(model_id):  # the id ends with a slash, or is empty
        start = 0
    path = model_id[: max(start - 1, 0)]
    if path and not re.match(r"[/\\.~]|[A-Za-z]:[/\\]", path) and "\\" not in path:  # no folder of a disk
        segments = [segment.split(":")[-1].lower() for segment in path.split("/") if segment]
        if model_id.lower().endswith(".gguf") and "/" in path:  # creator/repository/file.gguf
            segments.pop()
        provider = next((word for word in reversed(segments) if word not in _NO_PROVIDERS), None)
    if route := re.match(r"([A-Za-z][\w.-]*):(?=.)", model_id[start:], re.DOTALL):
        left, end = route[1].lower(), start + route.end()
        # A fine-tuned model, ft:gpt-4o-mini-2024-07-18:acme::id, or a provider and a name; else a name and a tag.
        if left == "ft" or (left in _PROVIDERS and not re.match(_TAGS, model_id[end:])):
            start, provider = end, provider if left in _NO_PROVIDERS else left
    if vendor := re.match(rf"(?:(?:{_BEDROCK_REGIONS})\.)?({_BEDROCK_VENDORS})\.(?=[A-Za-z])", model_id[start:]):
        start, provider = start + vendor.end(), vendor[1]
    prefix, rest = model_id[:start], model_id[start:]
    end = _name_end(rest)
    name, suffix = rest[:end], rest[end:]
    found = re.search(_SNAPSHOT, name)
    if found is None or found.start() == 0:
        return ModelIdentity(prefix, name, "", "", suffix, provider)
    return ModelIdentity(prefix, name[: found.start()], found["joint"], found["version"], suffix, provider)


def _name_end(rest: str) -> int:
    """The index at which the name ends and tags, variants and file types start."""
    # Bedrock's revision is part of the version: 20240620-v1:0
    revision = re.search(r"[-.]v\d+:\d+", rest)
    colon = rest.find(":", revision.end() if revision else 1)
    end = colon if colon > 0 else len(rest)
    while True:
        packing = re.search(_QUANTISATION, rest[:end])  # a final word about weights or files
        # @20240620 in claude-3-5-sonnet@20240620 is a version, @q4_k_m in qwen2.5-7b@q4_k_m a quantisation
        at = rest[:end].rfind("@", 1)
        if packing is not None and packing.start() > 0:
            end = packing.start()
        elif at > 0 and not re.match(r"@(\d{8}|latest|default)\Z", rest[at:end]):
            end = at
        else:
            return end


def _word(word: str) -> str:
    """A word in its creator's spelling; a word with capitals already has it."""
    if word != word.lower() or word in _SPELLINGS:
        return _SPELLINGS.get(word, word)
    if re.fullmatch(r"(\d+x)?\d+(\.\d+)?[bmkt]", word):  # 7b, 8x7b, 128k: sizes
        return word[:-1] + word[-1].upper()
    if re.fullmatch(r"(a|e|r|k|v|m)\d+(\.\d+)?b?", word):  # r1, k2, v3.1, a22b
        return word.upper()
    if re.fullmatch(r"o\d+", word):  # o3 stays in lower case
        return word
    return word[:1].upper() + word[1:]
