"""Reads a request of Ollama's `/api/chat`, as its server does (docs/wires/ollama.md#requests).

What an answer depends on is read with care: the wrong type of it is refused with its place. A field that we do not know
is an option of the model, and goes on under its name; what a client wants of the server itself is counted in
:attr:`partstream.outputs.Asked.unmapped` and fails no request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.messages import RequestOptions, ToolMode
from partstream.outputs import InboundRequest
from partstream.protocols.ollama.asked_messages import read_messages
from partstream.protocols.ollama.asked_tools import read_tools
from partstream.protocols.ollama.models import NUM_CTX
from partstream.protocols.read_request import Counts, checked, not_default, optional_text
from partstream.protocols.serve import RequestReaderSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.serve import WireRequest

__all__ = ["READ_REQUEST", "read_think"]

_NONE: Final = "none"


def _read(request: WireRequest) -> InboundRequest:
    """What a request asks.

    Raises:
        InvalidRequestError: A field that the answer depends on has the wrong type.
    """
    body = request.body
    counts = Counts()
    checked(body, "stream", bool, "true or false")
    tools = read_tools(body.get("tools"), counts)
    options: dict[str, Any] = dict(checked(body, "options", dict, "an object") or {})
    window = options.pop(NUM_CTX, None)
    effort, fields = read_think(body.get("think"))
    fields |= {name: value for name, value in body.items() if name not in _READ_FIELDS}
    chosen = {name: value for name, value in (options | fields).items() if value is not None}
    configuration = {"reasoningEffort": effort, "contextSize": window}
    return InboundRequest(
        model=optional_text(body, "model"),
        messages=read_messages(body.get("messages"), counts),
        options=RequestOptions(
            tools,
            ToolMode.AUTO,
            chosen,
            {name: value for name, value in configuration.items() if value is not None},
        ),
        stream=body.get("stream") is not False,
        unmapped={**not_default(body, _OF_THE_SERVER), **counts.numbers},
        body=body,
    )


def read_think(think: object) -> tuple[str | None, dict[str, Any]]:
    """The reasoning effort that a value of `think` says; what says that the model may think is an option."""
    if think is False:
        return _NONE, {}
    if isinstance(think, str) and think:
        return think, {}
    return None, {} if think is None else {"think": think}


_OF_THE_SERVER: Final[Mapping[str, Any]] = {"truncate": False, "shift": False, "keep_alive": None}
"""What a client wants of the server itself and not of a model, with the value that wants nothing."""

_READ_FIELDS: Final = frozenset({"model", "messages", "tools", "stream", "options", "think", *_OF_THE_SERVER})
"""Fields that are no options of the model; all others are, under the names that they have here."""


READ_REQUEST: Final = RequestReaderSpec(read=_read)
