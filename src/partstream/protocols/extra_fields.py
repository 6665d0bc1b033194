"""Fields of a body that a person sets beside ours; knows no protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["with_extra_fields"]


def with_extra_fields(body: Mapping[str, Any], extras: Mapping[str, Any]) -> dict[str, Any]:
    """The body with the fields of `extras`, which win; None takes a field out."""
    removed = {name for name, value in extras.items() if value is None}
    return {name: value for name, value in {**body, **extras}.items() if name not in removed}
