"""The arguments of a call as JSON, which every protocol has to write; knows none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.errors import RequestNotExpressibleError
from partstream.json_codec import dumps, is_json

if TYPE_CHECKING:
    from partstream.conversation.turns import Call

__all__ = ["call_arguments"]


def call_arguments(call: Call) -> bytes:
    """The arguments as a JSON object.

    Raises:
        RequestNotExpressibleError: They hold what JSON has no form for.
    """
    arguments = dict(call.input)
    try:
        document = dumps(arguments)
        if (b"NaN" in document or b"Infinity" in document) and not is_json(arguments):
            raise ValueError("a number that JSON has not")  # noqa: TRY301 - the same refusal
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestNotExpressibleError(f"arguments ({error})", f"{call.where}.input", "JSON values") from error
    return document
