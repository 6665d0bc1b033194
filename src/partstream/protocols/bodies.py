"""Helpers that the writers of all request bodies share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partstream.codec.json_codec import dumps
from partstream.errors import RequestNotExpressibleError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.conversation.turns import Call

__all__ = ["call_arguments", "with_extra_fields"]


def with_extra_fields(body: Mapping[str, Any], extras: Mapping[str, Any]) -> dict[str, Any]:
    """The body with the fields of `extras`, which win; the value None removes a field."""
    removed = {name for name, value in extras.items() if value is None}
    return {name: value for name, value in {**body, **extras}.items() if name not in removed}


def call_arguments(call: Call) -> bytes:
    """The arguments of a call as a JSON object.

    Raises:
        RequestNotExpressibleError: They hold something that JSON has no form for.
    """
    try:
        return dumps(dict(call.input))
    except TypeError as error:
        raise RequestNotExpressibleError(f"arguments ({error})", f"{call.where}.input", "JSON values") from error
