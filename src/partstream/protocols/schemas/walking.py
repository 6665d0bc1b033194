"""Walks through a JSON Schema: which keywords hold schemas, and in which form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Schema", "with_inner_schemas"]

Schema: TypeAlias = dict[str, Any]

_BY_NAME: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keywords whose value is an object of schemas."""
_LISTED: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
"""Keywords whose value is a list of schemas."""
_SINGLE: Final = frozenset(
    {"items", "additionalProperties", "additionalItems", "not", "if", "then", "else", "contains", "propertyNames"}
    | {"unevaluatedProperties", "unevaluatedItems"}
)
"""Keywords whose value is a schema; `items` may also be a list of them, as in older drafts."""


def with_inner_schemas(schema: Mapping[str, Any], change: Callable[[Mapping[str, Any]], Any]) -> Schema:
    """The schema with each schema directly in it replaced; what is no object, such as `true`, stays as it is."""

    def changed(value: Any) -> Any:
        return change(value) if isinstance(value, Mapping) else value

    result: Schema = {}
    for name, value in schema.items():
        if name in _BY_NAME and isinstance(value, Mapping):
            result[name] = {inner: changed(one) for inner, one in value.items()}
        elif (name in _LISTED or name == "items") and isinstance(value, list):
            result[name] = [changed(one) for one in value]
        else:
            result[name] = changed(value) if name in _SINGLE else value
    return result
