"""Reads a request of Chat Completions, as its server does.

What an answer depends on is read with care: the wrong type of it is refused with its place. A field that we do not know
is an option of the model, and goes on under its name; what a client wants of the server itself, and every content part
and tool of an unknown type, is counted in :attr:`partstream.outputs.Asked.unmapped` and fails no request.

Source: `openai` 3.54.0, `types/chat/completion_create_params.py`; what real clients send beside it is named where it is
read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.errors import UnsupportedParameterError
from partstream.messages import RequestOptions
from partstream.outputs import InboundRequest
from partstream.protocols.chat_completions.asked_messages import read_messages
from partstream.protocols.chat_completions.asked_tools import read_tools
from partstream.protocols.read_request import Counts, checked, described, not_default, optional_text
from partstream.protocols.serve import RequestReaderSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.serve import WireRequest

__all__ = ["READ_REQUEST"]


def _read(request: WireRequest) -> InboundRequest:
    """What a request asks.

    Raises:
        InvalidRequestError: A field that the answer depends on has the wrong type, or a value that nothing here can do.
    """
    body = request.body
    for name, (field_type, expected) in _TYPED_FIELDS.items():
        checked(body, name, field_type, expected)
    _check_abilities(body)
    counts = Counts()
    messages = read_messages(body.get("messages"), counts)
    tools, tool_mode = read_tools(body, counts)
    effort, options = _reasoning(body)
    options |= {name: value for name, value in body.items() if name not in _READ_FIELDS and value is not None}
    if "max_completion_tokens" in options:
        options.pop("max_tokens", None)  # the older name of the same limit
    if cache_key := optional_text(body, "prompt_cache_key"):
        options["_conversationId"] = cache_key
    return InboundRequest(
        model=optional_text(body, "model"),
        messages=messages,
        options=RequestOptions(tools, tool_mode, options, {} if effort is None else {"reasoningEffort": effort}),
        stream=body.get("stream") is True,
        unmapped={**not_default(body, _OF_THE_SERVER), **counts.numbers},
        body=body,
    )


_TYPED_FIELDS: Final[dict[str, tuple[type, str]]] = {
    "stream": (bool, "true or false"),
    "stream_options": (dict, "an object"),
}
"""Fields that the answer depends on."""

_ABILITIES: Final[dict[str, tuple[tuple[Any, ...], str]]] = {
    "n": ((None, 1), "1: an answer is one choice"),
    "functions": ((None, []), "the functions in `tools`"),
    "function_call": ((None, "none", "auto"), "the choice in `tool_choice`"),
}
"""Fields that ask for another form of the answer, with the values that do not, and what to ask for instead."""


def _check_abilities(body: Mapping[str, Any]) -> None:
    for name, (harmless, expected) in _ABILITIES.items():
        if body.get(name) not in harmless:
            value = body[name]
            got = str(value) if isinstance(value, int) else described(value)
            raise UnsupportedParameterError(name, got, expected)


_OF_THE_SERVER: Final[dict[str, Any]] = {
    "store": False,
    "audio": None,
    "moderation": None,
    "web_search_options": None,
}
"""What a client wants of the server itself and not of a model, with the value that wants nothing."""

_READ_FIELDS: Final = frozenset(
    {
        "model",
        "messages",
        "tools",
        "tool_choice",
        "stream",
        "stream_options",  # the writer of the response reads it
        "reasoning_effort",
        "reasoning",
        "prompt_cache_key",
        *_ABILITIES,
        *_OF_THE_SERVER,
    }
)
"""Fields that are no options of the model; all others are, under the names that they have here."""


def _reasoning(body: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """The reasoning effort, and OpenRouter's object `reasoning` as an option where it says more than that."""
    effort = optional_text(body, "reasoning_effort")
    reasoning = body.get("reasoning")
    if not isinstance(reasoning, dict):
        return effort or None, {} if reasoning is None else {"reasoning": reasoning}
    effort = effort or optional_text(reasoning, "effort", "reasoning")
    beside = {name for name, value in reasoning.items() if value is not None} - {"effort"}
    return effort or None, {"reasoning": reasoning} if beside else {}


READ_REQUEST: Final = RequestReaderSpec(read=_read)
