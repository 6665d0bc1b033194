"""Makes the information for VS Code from a model's facts: names, limits, capabilities, prices, choices.

Undeclared capabilities are assumed here: a model calls tools, because agent mode offers no other models, and accepts no
images, because a request with an image would fail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.lm.provider import LanguageModelChatCapabilities, LanguageModelChatInformation
from partstream.models.identity import parse_identity
from partstream.models.limits import limits_of
from partstream.upstream.model_facts import Fact, Source

if TYPE_CHECKING:
    from decimal import Decimal

    from partstream.models.filters import OfferedModel
    from partstream.models.limits import LimitSettings, ModelLimits
    from partstream.upstream.model_facts import ModelRecord, Pricing

__all__ = ["capabilities_of", "information_of", "summary_of"]

_UNKNOWN_TOOL_CALLING: Final = Fact(True, Source.DEFAULT, "tool_calling")
_UNKNOWN_IMAGE_INPUT: Final = Fact(False, Source.DEFAULT, "image_input")
_CREDITS_PER_DOLLAR: Final = 100
"""VS Code shows `inputCost` and similar fields as credits per million tokens; a credit is a cent."""
_COSTS: Final = {"Input": "input", "Output": "output", "Cache": "cache_read", "CacheWrite": "cache_write"}
"""Our fields, by the middle part of VS Code's names."""
_EFFORT_LABELS: Final = {"xhigh": "Extra high", "none": "None"}
_MAX_CHOICES: Final = 10


def information_of(model: OfferedModel, settings: LimitSettings) -> LanguageModelChatInformation:
    """The information about a model for VS Code."""
    record, override = model.record, model.override
    identity = parse_identity(record.id)
    limits = limits_of(record, settings)
    tools, images = capabilities_of(record)
    return LanguageModelChatInformation(
        id=record.id,
        name=override.name or record.name or identity.display_name,
        family=override.family or _family(identity.family),
        version=override.version or identity.version or "1",
        max_input_tokens=limits.max_input_tokens.value,
        max_output_tokens=limits.max_output_tokens.value,
        tooltip=_tooltip(record, limits),
        # Without a detail, VS Code shows the name of the group, which distinguishes two groups with the same model.
        detail=override.detail,
        capabilities=LanguageModelChatCapabilities(image_input=images.value, tool_calling=tools.value),
        extra=_extra(model, limits),
    )


def capabilities_of(record: ModelRecord) -> tuple[Fact[bool], Fact[bool]]:
    """Whether a model calls tools, and whether it accepts images; each with its source."""
    return record.tool_calling or _UNKNOWN_TOOL_CALLING, record.image_input or _UNKNOWN_IMAGE_INPUT


def _family(family: str) -> str:
    """The family in lower case: Copilot looks for `claude`, `gpt`, `gemini` at its start."""
    return family.lower()


def summary_of(record: ModelRecord, settings: LimitSettings) -> str:
    """The known context window and prices in a few words: `200K · $3 / $15`."""
    limits = limits_of(record, settings)
    window = [_count(limits.context_window.value)] if limits.context_window is not None else []
    pricing = record.pricing.value if record.pricing is not None else None
    price = [_price(pricing)] if pricing is not None and pricing.input is not None else []
    return " · ".join([*window, *price])


def _price(pricing: Pricing) -> str:
    if pricing.input == 0 and not pricing.output:
        return "free"
    return " / ".join(_dollars(price) for price in (pricing.input, pricing.output) if price is not None)


def _tooltip(record: ModelRecord, limits: ModelLimits) -> str:
    """The model's facts, with the source of every number."""
    tools, images = capabilities_of(record)
    lines = [
        record.id,
        f"Input: {limits.max_input_tokens.value:,} tokens ({limits.max_input_tokens.origin})",
        f"Output: {limits.max_output_tokens.value:,} tokens ({limits.max_output_tokens.origin})",
        f"Tools: {_yes(tools)}, images: {_yes(images)}",
    ]
    if record.pricing is not None:
        lines.append(f"Price: {_pricing_sentence(record.pricing.value)}")
    if record.description:
        lines.append(record.description.partition("\n")[0][:300])
    return "\n".join(lines)


def _yes(fact: Fact[bool]) -> str:
    return ("yes" if fact.value else "no") + (" (assumed)" if fact.source is Source.DEFAULT else "")


def _extra(model: OfferedModel, limits: ModelLimits) -> dict[str, Any]:
    record = model.record
    extra: dict[str, Any] = {"isUserSelectable": not model.hidden}
    if limits.context_window is not None:
        # A person's own limit of prompts may exceed the window that a server states: a host takes the window literally.
        extra["maxContextWindowTokens"] = max(limits.context_window.value, limits.max_input_tokens.value)
    if record.pricing is not None:
        extra |= _costs(record.pricing.value)
    if properties := _choices(record, limits):
        extra["configurationSchema"] = {"properties": properties}
    return extra


def _costs(pricing: Pricing) -> dict[str, Any]:
    """The known prices in VS Code's fields."""
    costs: dict[str, Any] = {}
    for name, field in _COSTS.items():
        price = getattr(pricing, field)
        if price is not None:
            costs[name[0].lower() + name[1:] + "Cost"] = _credits(price)
        longer = getattr(pricing.long_context, field) if pricing.long_context is not None else None
        if longer is not None:
            costs[f"longContext{name}Cost"] = _credits(longer)
    if pricing.input is not None or pricing.output is not None:
        costs["pricing"] = _price(pricing)  # in the row of the picker, beside the name, which a sentence would cut
    return costs


def _choices(record: ModelRecord, limits: ModelLimits) -> dict[str, Any]:
    """The choices that a person has for each request, under the names that Copilot itself uses."""
    choices: dict[str, Any] = {}
    efforts = record.reasoning_efforts.value[:_MAX_CHOICES] if record.reasoning_efforts is not None else ()
    if efforts:
        choices["reasoningEffort"] = {
            "type": "string",
            "title": "Thinking Effort",
            "enum": list(efforts),
            "enumItemLabels": [_EFFORT_LABELS.get(effort, effort.capitalize()) for effort in efforts],
            "default": _usual_effort(record, efforts),
            "group": "navigation",
        }
    if sizes := _context_sizes(record, limits):
        choices["contextSize"] = {
            "type": "number",
            "title": "Context Size",
            "enum": sizes,
            "enumItemLabels": [_count(size) for size in sizes],
            "default": sizes[-1],
            "group": "tokens",
        }
    return choices


def _usual_effort(record: ModelRecord, efforts: tuple[str, ...]) -> str:
    """The level that is chosen beforehand: that of the server, as far as it is known and offered."""
    usual = record.usual_effort.value if record.usual_effort is not None else "medium"
    return usual if usual in efforts else efforts[0]


def _context_sizes(record: ModelRecord, limits: ModelLimits) -> list[int]:
    """The prompt sizes at which the price changes; empty if it does not."""
    start = record.pricing.value.long_context_from if record.pricing is not None else None
    most = limits.max_input_tokens.value
    return [start, most] if start is not None and start < most else []


def _pricing_sentence(pricing: Pricing) -> str:
    named = {"input": pricing.input, "output": pricing.output, "cache read": pricing.cache_read}
    prices = ", ".join(f"{_dollars(price)} {name}" for name, price in named.items() if price is not None)
    return f"{prices} per 1M tokens"


def _credits(price: Decimal) -> float:
    return float(price * 1_000_000 * _CREDITS_PER_DOLLAR)


def _dollars(price: Decimal) -> str:
    """Dollars per million tokens, with the significant digits."""
    amount = round(price * 1_000_000, 4)
    return f"${amount.normalize():f}"


def _count(tokens: int) -> str:
    """200000 as 200K, 1048576 as 1M."""
    if tokens >= 999_500:
        return f"{tokens / 1_000_000:.1f}".removesuffix(".0") + "M"
    return f"{round(tokens / 1000)}K" if tokens >= 1000 else str(tokens)
