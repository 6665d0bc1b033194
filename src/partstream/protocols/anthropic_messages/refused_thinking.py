"""What Anthropic refuses of the way to think, of the effort and of sampling: facts 4.1, by model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.capabilities import ThinkingForm
from partstream.protocols.anthropic_messages.model_rows import row_of
from partstream.protocols.refused import RefusedRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.anthropic_messages.model_rows import ModelRow

__all__ = ["check_thinking"]

_LEAST_BUDGET: Final = 1024
_LEVELS: Final = ("low", "medium", "high", "xhigh", "max")
_EXTRA: Final = "Extra inputs are not permitted"


def check_thinking(body: Mapping[str, Any]) -> None:
    """Refuses the thinking, the effort or the sampling of a request.

    Raises:
        RefusedRequestError: One of them is refused.
    """
    row = row_of(str(body["model"]))
    thinking: Mapping[str, Any] = body.get("thinking") or {}
    effort = (body.get("output_config") or {}).get("effort")
    _check_effort(effort, row)
    kind = thinking.get("type")
    if kind is not None:
        if kind not in _FORMS:
            raise RefusedRequestError("thinking: Input should be a valid `adaptive`, `enabled` or `disabled`")
        _check_form(kind, effort, row)
        _check_beside(kind, thinking, body)
    _check_sampling(body, row, thinks=kind in {"adaptive", "enabled"})


_FORMS: Final = {"adaptive": ThinkingForm.ADAPTIVE, "enabled": ThinkingForm.BUDGET, "disabled": None}


def _check_form(kind: str, effort: str | None, row: ModelRow | None) -> None:
    if row is None or _FORMS[kind] in row.forms:
        return
    if kind == "adaptive":
        raise RefusedRequestError("adaptive thinking is not supported on this model")
    if kind == "enabled":
        raise RefusedRequestError(
            '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
            '"output_config.effort" to control thinking behavior.'
        )
    if not row.takes_disabled or (effort is not None and effort not in row.takes_disabled):
        beside = f" with effort '{effort}'" if row.takes_disabled else ""
        raise RefusedRequestError(
            f'"thinking.type.disabled" is not supported for this model{beside}. Use "thinking.type.adaptive" and '
            '"output_config.effort" to control thinking behavior.'
        )


def _check_beside(kind: str, thinking: Mapping[str, Any], body: Mapping[str, Any]) -> None:
    """What stands beside the form: the budget, how thinking is shown, and a tool that must be called."""
    budget = thinking.get("budget_tokens")
    if kind != "enabled":
        for name in {"adaptive": ("budget_tokens",), "disabled": ("budget_tokens", "display")}[kind]:
            if name in thinking:
                raise RefusedRequestError(f"thinking.{kind}.{name}: {_EXTRA}")
        return
    if type(budget) is not int:
        raise RefusedRequestError("thinking.enabled.budget_tokens: Field required")
    if budget < _LEAST_BUDGET:
        raise RefusedRequestError(
            f"thinking.enabled.budget_tokens: Input should be greater than or equal to {_LEAST_BUDGET}"
        )
    if budget >= body["max_tokens"]:
        raise RefusedRequestError("`max_tokens` must be greater than `thinking.budget_tokens`.")
    if (body.get("tool_choice") or {}).get("type") in {"any", "tool"}:
        raise RefusedRequestError("Thinking may not be enabled when tool_choice forces tool use.")


def _check_effort(effort: Any, row: ModelRow | None) -> None:
    if effort is None:
        return
    if effort not in _LEVELS:
        raise RefusedRequestError(f"output_config.effort: Input should be one of {', '.join(map(repr, _LEVELS))}")
    if row is None or effort in row.efforts:
        return
    if not row.efforts:
        raise RefusedRequestError("This model does not support the effort parameter.")
    supported = ", ".join(sorted(row.efforts))
    raise RefusedRequestError(f"This model does not support effort level '{effort}'. Supported levels: {supported}.")


def _check_sampling(body: Mapping[str, Any], row: ModelRow | None, *, thinks: bool) -> None:
    for name in _SAMPLING:
        if not isinstance(body.get(name), int | float | None):
            raise RefusedRequestError(f"{name}: Input should be a valid number")
    temperature, top_p, top_k = (body.get(name) for name in _SAMPLING)
    if temperature is not None and not 0 <= temperature <= 1:
        raise RefusedRequestError("temperature: range: 0..1")
    chosen = {"temperature": temperature not in {None, 1}, "top_p": top_p not in {None, 1}, "top_k": top_k is not None}
    if row is not None and not row.samples and any(chosen.values()):
        name = next(name for name, is_chosen in chosen.items() if is_chosen)
        raise RefusedRequestError(f"`{name}` is deprecated for this model.")
    if thinks:
        _check_beside_thinking(chosen, top_p)


def _check_beside_thinking(chosen: Mapping[str, bool], top_p: float | None) -> None:
    if chosen["temperature"]:
        raise RefusedRequestError("`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.")
    if chosen["top_k"]:
        raise RefusedRequestError("`top_k` must be unset when thinking is enabled or in adaptive mode.")
    if top_p is not None and top_p < _LEAST_TOP_P:
        raise RefusedRequestError(
            f"`top_p` must be greater than or equal to {_LEAST_TOP_P} or unset when thinking is enabled or in adaptive "
            "mode."
        )


_SAMPLING: Final = ("temperature", "top_p", "top_k")
_LEAST_TOP_P: Final = 0.95
