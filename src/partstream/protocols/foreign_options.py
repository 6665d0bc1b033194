"""The options of a request that came in over another wire, as far as this wire's servers know them.

Whoever asks a provider in Python names options in the words of the server, and all go on. A client of a served wire
names them in the words of its own wire, and servers of another one refuse a request for a field that they do not know:
of such a request only the options go on that mean the same there, and the form that the answer is to have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.conversation.chat_request import ChatRequest

__all__ = ["AnswerFormat", "options_for"]


class AnswerFormat(NamedTuple):
    """The JSON that an answer has to be.

    Attributes:
        name: What the client calls it.
        schema: Its JSON Schema; None for any object.
        is_strict: Whether the server has to keep to it; None where the client does not say.
    """

    name: str
    schema: Mapping[str, Any] | None
    is_strict: bool | None


def options_for(
    request: ChatRequest,
    wire: str,
    known: frozenset[str],
    write_format: Callable[[AnswerFormat], Mapping[str, Any]],
) -> Mapping[str, Any]:
    """The options of a request.

    Args:
        request: The request.
        wire: The name of this wire.
        known: The options of other wires that mean the same here.
        write_format: The options that say the form of the answer on this wire.
    """
    options = request.options
    if request.asked_in in {"", wire}:
        return options
    kept = {name: value for name, value in options.items() if name in known}
    reasoning = options.get("reasoning")
    if isinstance(reasoning, Mapping) and reasoning.keys() <= _OF_REASONING:
        kept["reasoning"] = reasoning
    asked = _format_in(options)
    return kept if asked is None else {**kept, **write_format(asked)}


_OF_REASONING: Final = frozenset({"effort", "summary"})
_JSON: Final = "application/json"
_UNNAMED: Final = "answer"


def _format_in(options: Mapping[str, Any]) -> AnswerFormat | None:
    """The form of the answer, in whichever words a client asks for it."""
    text, output = options.get("text"), options.get("output_config")
    for place in (
        options.get("response_format"),
        text.get("format") if isinstance(text, Mapping) else None,
        output.get("format") if isinstance(output, Mapping) else None,
        options.get("responseFormat"),
    ):
        if isinstance(place, Mapping) and (found := _format_of(place)) is not None:
            return found
    if options.get("responseMimeType") == _JSON:
        schema = options.get("responseJsonSchema")
        return AnswerFormat(_UNNAMED, schema if isinstance(schema, Mapping) else None, None)
    return None


def _format_of(place: Mapping[str, Any]) -> AnswerFormat | None:
    kind = place.get("type")
    if kind not in {"json_schema", "json_object", "json"}:
        return None
    inner = place.get("json_schema")
    said = inner if isinstance(inner, Mapping) else place
    name, schema, strict = (said.get(field) for field in ("name", "schema", "strict"))
    return AnswerFormat(
        name if isinstance(name, str) and name else _UNNAMED,
        schema if isinstance(schema, Mapping) else None,
        strict if isinstance(strict, bool) else None,
    )
