"""Reads the endpoints of one model: `GET /v1/models/{creator}/{model}/endpoints` of a routing gateway.

A gateway may send a request to any active endpoint, so only the lowest of their limits is certain. Capabilities are
different: the gateway sends a request with tools to an endpoint that accepts tools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from partstream.errors import UpstreamProtocolError
from partstream.models.shape import modality_facts, parameter_facts
from partstream.upstream.model_facts import Fact, Fields, ModelRecord, Problem, Source

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["endpoints_path", "read_endpoints"]

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
    active = [endpoint for endpoint in fields.objects("endpoints") if _is_active(endpoint)]
    facts: dict[str, Any] = {ours: _least(active, theirs) for ours, theirs in _LIMITS.items()}
    if active:
        facts |= modality_facts(fields) | _abilities(active)
    return ModelRecord(model_id, **facts), tuple(problems)


def _is_active(endpoint: Fields) -> bool:
    return endpoint.number("status") in (0, None)


def _least(endpoints: Iterable[Fields], field: str) -> Fact[int] | None:
    known = [limit.value for endpoint in endpoints if (limit := endpoint.tokens(field)) is not None]
    return Fact(min(known), Source.DETAILS, f"least {field} of {len(known)} endpoints") if known else None


def _abilities(endpoints: Iterable[Fields]) -> dict[str, Any]:
    """The capabilities of at least one endpoint."""
    facts: dict[str, Any] = {}
    for endpoint in endpoints:
        for name, fact in parameter_facts(endpoint).items():
            if fact is not None and (facts.get(name) is None or fact.value):
                facts[name] = fact
    return facts
