"""Entries of a directory as JSON and back: what the database keeps of them beside their names, and what a record shows.

A digest is in none of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from partstream.codec.json_codec import dumps, loads
from partstream.hub.directory import (
    UNLIMITED,
    AuditLevel,
    BudgetRule,
    ModelPrice,
    ModelRoute,
    Person,
    Policy,
    RateLimits,
    Route,
    Team,
)

if TYPE_CHECKING:
    from partstream.hub.directory import Key

__all__ = ["entry_json", "limits_of", "limits_text", "policy_of", "route_of", "route_text", "team_text"]


def limits_text(entry: Team | Person | Key) -> str:
    """The models and rates of an entry; what stands at its default is left out."""
    return _text(_limits_json(entry))


def team_text(team: Team) -> str:
    """The models, rates and policy of a team."""
    return _text(_limits_json(team) | {"policy": _policy_json(team.policy)})


def limits_of(text: str) -> tuple[tuple[str, ...] | None, RateLimits]:
    """The models and rates in a text."""
    values = _values(text)
    models, rates = values.get("models"), values.get("rates")
    return None if models is None else tuple(models), RateLimits(**rates) if rates else UNLIMITED


def policy_of(text: str) -> Policy:
    """The policy in a text; the default where it says none."""
    values = _values(text).get("policy")
    return Policy() if values is None else Policy(AuditLevel(values["audit"]), values["content_days"])


def route_text(route: ModelRoute) -> str:
    """All of a model but its name."""
    return _text(_route_json(route))


def route_of(name: str, text: str) -> ModelRoute:
    """A model of its name and a text."""
    values = _values(text)
    price = values.get("price")
    return ModelRoute(
        name,
        tuple(Route(*one) for one in values.get("upstreams", ())),
        tuple(values.get("fallbacks", ())),
        values.get("affinity", True),
        None if price is None else ModelPrice(**price),
    )


def entry_json(entry: Team | Person | Key | BudgetRule | ModelRoute) -> dict[str, Any]:
    """All of an entry that a record shows."""
    if isinstance(entry, BudgetRule):
        return {
            "owner": str(entry.owner),
            "unit": entry.unit.value,
            "period": entry.period.value,
            "limit": entry.limit,
            "time_zone": entry.time_zone,
        }
    if isinstance(entry, ModelRoute):
        return {"name": entry.name, **_route_json(entry)}
    if isinstance(entry, Team):
        extra: dict[str, Any] = {"name": entry.name, "policy": _policy_json(entry.policy)}
        return extra | {"is_disabled": entry.is_disabled, **_limits_json(entry)}
    names = ("name", "team", "is_admin", "is_disabled") if isinstance(entry, Person) else _SHOWN_OF_KEY
    return {name: getattr(entry, name) for name in names} | _limits_json(entry)


_SHOWN_OF_KEY = ("id", "person", "label", "created_at", "expires_at", "revoked_at")


def _limits_json(entry: Team | Person | Key) -> dict[str, Any]:
    rates = {one.name: value for one in fields(entry.rates) if (value := getattr(entry.rates, one.name)) is not None}
    found: dict[str, Any] = {} if entry.models is None else {"models": list(entry.models)}
    return found | ({"rates": rates} if rates else {})


def _policy_json(policy: Policy) -> dict[str, Any]:
    return {"audit": policy.audit.value, "content_days": policy.content_days}


def _route_json(route: ModelRoute) -> dict[str, Any]:
    price = route.price
    return {
        "upstreams": [list(one) for one in route.upstreams],
        "fallbacks": list(route.fallbacks),
        "affinity": route.affinity,
        "price": None if price is None else {one.name: getattr(price, one.name) for one in fields(price)},
    }


def _text(values: Mapping[str, Any]) -> str:
    return dumps(values).decode()


def _values(text: str) -> Mapping[str, Any]:
    values = loads(text)
    return values if isinstance(values, Mapping) else {}
