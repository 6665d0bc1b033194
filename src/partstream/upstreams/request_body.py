"""Writes the body of a request to an upstream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partstream.codec.json_codec import dumps, find_non_json
from partstream.errors import RequestNotExpressibleError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["body_document"]


def body_document(body: Mapping[str, Any]) -> bytes:
    """The body as a JSON document in UTF-8.

    Raises:
        RequestNotExpressibleError: The body holds a value that JSON cannot represent; the error names its place.
    """
    try:
        return dumps(body)
    except TypeError as error:
        what = f"a value that JSON cannot represent ({find_non_json(body, 'body') or error})"
        raise RequestNotExpressibleError(what, "the request's body", "JSON values") from error
