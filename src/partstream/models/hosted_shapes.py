"""The ways in which hosted servers of Chat Completions describe models; each reader names the server and its source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.models.prices import XAI_PRICE_NAMES, dollars_per_million, xai_prices
from partstream.models.shape import (
    Shape,
    answers_with_text,
    has_all,
    has_any,
    is_no_other_type,
    least,
    modality_facts,
    owner_of,
)
from partstream.upstream.model_facts import Fact

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.upstream.model_facts import Fields, Pricing

__all__ = ["HOSTED_SHAPES"]


# ---- GitHub Copilot: microsoft/vscode-copilot-chat, platform/endpoint/common/endpointProvider.ts ----


def _copilot(fields: Fields) -> dict[str, Any]:
    limits, supports = fields.inside("capabilities.limits"), fields.inside("capabilities.supports")
    efforts = supports.words("reasoning_effort")
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
        "endpoints": _endpoints(fields),
    }


def _endpoints(fields: Fields) -> Fact[tuple[str, ...]] | None:
    paths = fields.words("supported_endpoints")
    return Fact(paths, fields.source, "supported_endpoints") if paths else None


def _is_copilot_chat(fields: Fields) -> bool:
    is_off = fields.text("policy.state") in {"disabled", "unconfigured"}
    return fields.text("capabilities.type") in {None, "chat"} and not is_off


# ---- Mistral: mistralai/client-python, models/modelcapabilities.py ----


def _mistral(fields: Fields) -> dict[str, Any]:
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


# ---- Moonshot: platform.kimi.ai, "List models" ----


def _moonshot(fields: Fields) -> dict[str, Any]:
    return {
        "creator": owner_of(fields),
        "context_window": fields.tokens("context_length"),
        "image_input": fields.boolean("supports_image_in"),
        "reasoning": fields.boolean("supports_reasoning"),
    }


# ---- LiteLLM's proxy, `GET /model/info`: BerriAI/litellm, docs/my-website/docs/proxy/model_management ----


def _litellm(fields: Fields) -> dict[str, Any]:
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


# ---- Together: docs.together.ai, "List all models"; an array, with prices per million tokens ----


def _together(fields: Fields) -> dict[str, Any]:
    return {
        "name": fields.text("display_name"),
        "creator": fields.text("organization"),
        "context_window": fields.tokens("context_length"),
        "pricing": dollars_per_million(fields.inside("pricing"), ("input", "output"), ("cached_input",)),
    }


# ---- Groq: console.groq.com/docs/api-reference, "List models" ----


def _groq(fields: Fields) -> dict[str, Any]:
    return {
        "creator": owner_of(fields),
        "context_window": fields.tokens("context_window"),
        "max_output_tokens": fields.tokens("max_completion_tokens"),
    }


# ---- Fireworks: docs.fireworks.ai, "List models" ----


def _fireworks(fields: Fields) -> dict[str, Any]:
    return {
        "creator": owner_of(fields),
        "context_window": fields.tokens("context_length"),
        "tool_calling": fields.boolean("supports_tools"),
        "image_input": fields.boolean("supports_image_input"),
    }


# ---- Hugging Face's router: huggingface.co/docs/inference-providers; prices per million tokens ----


def _hugging_face(fields: Fields) -> dict[str, Any]:
    live = [one for one in fields.objects("providers") if one.text("status") in {None, "live"}]
    tools = [fact for one in live if (fact := one.boolean("supports_tools")) is not None]
    prices = [one_price for one in live if (one_price := _price_of_provider(one)) is not None]
    return {
        "creator": owner_of(fields),
        # Any of them may get the request; one with tools gets a request with tools.
        "context_window": least(*(one.tokens("context_length") for one in live)),
        "tool_calling": next((fact for fact in tools if fact.value), tools[0] if tools else None),
        "pricing": prices[0] if prices and all(one.value == prices[0].value for one in prices) else None,
        **modality_facts(fields),
    }


def _price_of_provider(provider: Fields) -> Fact[Pricing] | None:
    return dollars_per_million(provider.inside("pricing"), ("input", "output"))


# ---- xAI, `GET /v1/language-models`: docs.x.ai/docs/api-reference ----


def _xai(fields: Fields) -> dict[str, Any]:
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


def _is_litellm_chat(fields: Fields) -> bool:
    return fields.text("model_info.mode") in {None, "chat", "completion", "responses"}


HOSTED_SHAPES: Final = (
    Shape("GitHub Copilot", has_any("capabilities.limits", "supported_endpoints"), _copilot, _is_copilot_chat),
    Shape("Mistral", has_all("capabilities.completion_chat"), _mistral, _is_not("capabilities.completion_chat")),
    Shape("Moonshot", has_any("supports_image_in", "supports_reasoning"), _moonshot, is_no_other_type),
    Shape("LiteLLM, model info", has_all("model_name", "model_info"), _litellm, _is_litellm_chat, ("model_name",)),
    Shape("Together", has_any("pricing.hourly", "pricing.finetune"), _together, is_no_other_type),
    Shape("Groq", has_all("active", "context_window"), _groq, _is_not("active")),
    Shape("Fireworks", has_any("supports_chat"), _fireworks, _is_not("supports_chat")),
    Shape("Hugging Face", lambda fields: bool(fields.objects("providers")), _hugging_face, answers_with_text),
    Shape("xAI, language models", has_any(*XAI_PRICE_NAMES), _xai, is_no_other_type),
)
"""Told by their fields, which no other server has; so the order among them decides nothing."""
