"""The messages of a run as JSON and back, for a run that has stopped and goes on later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import messages_from_dict, messages_to_dict

from partstream.codec.json_codec import dumps, loads

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["messages_as_json", "messages_from_json"]


def messages_as_json(messages: Sequence[Any]) -> list[Any] | None:
    """The messages as JSON values; None where one holds what is no JSON, such as an object of a tool."""
    # An artifact is for programs beside the model, and may be any object.
    plain = [one.model_copy(update={"artifact": None}) if hasattr(one, "artifact") else one for one in messages]
    try:
        found = loads(dumps(messages_to_dict(plain)))
    except (TypeError, ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None


def messages_from_json(kept: Any) -> list[Any] | None:
    """The messages again; None for JSON of another form, such as of an older version."""
    if not isinstance(kept, list):
        return None
    try:
        return messages_from_dict(kept)
    except (KeyError, TypeError, ValueError):
        return None
