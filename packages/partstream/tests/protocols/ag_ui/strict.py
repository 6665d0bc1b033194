"""What we write, read by the published models of AG-UI; a field that they do not know is a mistake of ours."""

from collections.abc import Iterator
from typing import Any

from ag_ui.core import Event, RunAgentInput
from pydantic import BaseModel, TypeAdapter

_EVENT: TypeAdapter[Any] = TypeAdapter(Event)


def check_event(event: dict[str, Any]) -> None:
    """Refuses an event that the published models refuse, or that has a field of ours."""
    read = _EVENT.validate_python(event)
    assert [*_unknown(read)] == [], event


def check_request(body: dict[str, Any]) -> RunAgentInput:
    """The request as an agent gets it."""
    read = RunAgentInput.model_validate(body)
    assert [*_unknown(read)] == [], body
    return read


def _unknown(value: Any) -> Iterator[str]:
    """The fields of a model, and of those in it, that it does not declare."""
    if isinstance(value, BaseModel):
        yield from (f"{type(value).__name__}.{name}" for name in value.model_extra or {})
        for name in type(value).model_fields:
            yield from _unknown(getattr(value, name))
    elif isinstance(value, list):
        for one in value:
            yield from _unknown(one)
