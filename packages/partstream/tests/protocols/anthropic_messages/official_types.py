"""Anthropic's own types of a request, strict: what they do not name is refused, as the real server does."""

import sys
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import ConfigDict, TypeAdapter
from typing_extensions import is_typeddict


@cache
def _adapter() -> TypeAdapter[Any]:
    from anthropic.types.beta import message_create_params  # seconds, which only those pay who check a request

    for name, module in list(sys.modules.items()):
        if name.startswith("anthropic.types"):
            for one in vars(module).values():
                if is_typeddict(one):
                    one.__pydantic_config__ = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a type that takes more than it names stays as it is
        return TypeAdapter(message_create_params.MessageCreateParamsStreaming)


def validate_request(body: Mapping[str, Any]) -> None:
    """Raises pydantic's error for a body that is none of Anthropic's."""
    _consume(_adapter().validate_python(dict(body)))


def _consume(value: Any) -> None:
    """Looks at everything: what the types call an iterable is only checked when it is looked at."""
    if isinstance(value, Mapping):
        for inner in value.values():
            _consume(inner)
    elif isinstance(value, list | tuple | Iterator) or type(value).__name__ == "ValidatorIterator":
        for inner in value:
            _consume(inner)
