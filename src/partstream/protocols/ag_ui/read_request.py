"""Reads `RunAgentInput`, as an agent does.

A frontend knows an agent by its address alone: so the path names the model, `/ag-ui/MODEL`, or `forwardedProps` does.
What an answer depends on is read with care. What a frontend wants of an agent that keeps a state is counted in
:attr:`partstream.outputs.Asked.unmapped`, and fails no request.

Source: `RunAgentInput` of ag-ui-protocol 1.0; older ones lack `protocolVersion` and `resume`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.errors import InvalidRequestError
from partstream.messages import RequestOptions, Tool
from partstream.outputs import InboundRequest
from partstream.protocols.ag_ui.asked_messages import read_context, read_messages
from partstream.protocols.ag_ui.settings import EFFORT, chosen_options
from partstream.protocols.read_request import Counts, checked, described, not_default, optional_text, required_text
from partstream.protocols.serve import RequestReaderSpec, model_in_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.serve import WireRequest

__all__ = ["READ_REQUEST"]

_OF_MODEL: Final = "/{model}"
_MODEL: Final = "model"
_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream"


def _read(request: WireRequest) -> InboundRequest:
    """What a request asks.

    Raises:
        InvalidRequestError: A field that the answer depends on has the wrong type.
    """
    body = request.body
    counts = Counts()
    forwarded = body.get("forwardedProps")
    fields: dict[str, Any] = dict(forwarded) if isinstance(forwarded, dict) else {}
    messages = read_messages(body.get("messages"), counts)
    context = read_context(body.get("context"))
    chosen = chosen_options(fields)
    effort = chosen.pop(EFFORT, None)
    unmapped = {**not_default(body, _OF_A_STATE), **counts.numbers}
    unmapped |= {name: value for name, value in body.items() if name not in _READ_FIELDS and value is not None}
    if forwarded and not isinstance(forwarded, dict):
        unmapped["forwardedProps"] = forwarded
    return InboundRequest(
        model=model_in_path(_OF_MODEL, request.path) or optional_text(fields, _MODEL, "forwardedProps"),
        messages=messages if context is None else (context, *messages),
        options=RequestOptions(
            _tools(body, counts),
            model_options={name: value for name, value in chosen.items() if value is not None},
            model_configuration={} if effort is None else {EFFORT: effort},
        ),
        stream=_wants_stream(request.headers.get("accept", "")),
        unmapped=unmapped,
        dialect=optional_text(body, "protocolVersion"),
        body=body,
    )


def _wants_stream(accept: str) -> bool:
    """Whether a client takes events: all of them do but one that asks for JSON alone."""
    return _JSON not in accept or _EVENTS in accept or "*/*" in accept


def _tools(body: Mapping[str, Any], counts: Counts) -> tuple[Tool, ...]:
    tools: dict[str, Tool] = {}
    for place, tool in enumerate(checked(body, "tools", list, "a list of tools") or []):
        where = f"tools[{place}]"
        if not isinstance(tool, dict):
            raise InvalidRequestError(where, described(tool), "an object")
        name, schema = required_text(tool, "name", where), checked(tool, "parameters", dict, "a JSON schema", where)
        if name in tools:
            counts.add("tools[].name (for the second time)")
        tools.setdefault(name, Tool(name, optional_text(tool, "description", where), schema))
    return tuple(tools.values())


_OF_A_STATE: Final[Mapping[str, Any]] = {"state": {}, "resume": [], "parentRunId": None}
"""What a frontend wants of an agent that remembers, with the value that wants nothing."""

_READ_FIELDS: Final = frozenset(
    {"threadId", "runId", "protocolVersion", "messages", "tools", "context", "forwardedProps", *_OF_A_STATE}
)

READ_REQUEST: Final = RequestReaderSpec(read=_read, paths=(_OF_MODEL, ""))
