"""Reads a request of `generateContent`, as its server does; the path names the model, and says whether to stream.

What an answer depends on is read with care: the wrong type of it is refused with its place. Fields of the generation
are options of the model and go on under their names; tools of the server itself and parts of an unknown kind are
counted in :attr:`partstream.outputs.Asked.unmapped`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from partstream.errors import UnsupportedParameterError
from partstream.messages import RequestOptions
from partstream.outputs import InboundRequest
from partstream.protocols.gemini.asked_contents import read_contents, read_system
from partstream.protocols.gemini.asked_fields import camel_case, object_of, text_of
from partstream.protocols.gemini.asked_tools import read_tools
from partstream.protocols.read_request import Counts
from partstream.protocols.serve import MODEL, RequestReaderSpec, model_in_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.serve import WireRequest

__all__ = ["ARRAY", "READ_REQUEST", "read_asked"]

_STREAM: Final = "streamGenerateContent"
_FOLDERS: Final = ("/models/", "/publishers/google/models/")
"""The paths of models: on the Gemini API, and on Vertex in express mode (docs/wires/gemini.md#framing)."""
PATHS: Final = tuple(f"{folder}{MODEL}:{method}" for method in (_STREAM, "generateContent") for folder in _FOLDERS)

ARRAY: Final = "array"
"""The :attr:`partstream.outputs.Asked.dialect` of a client that wants a stream and no events: it gets an array."""

_READ: Final = frozenset({"contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "model"})
"""The fields of a body that are no options."""


def read_asked(request: WireRequest) -> InboundRequest:
    """What a request asks.

    Raises:
        InvalidRequestError: A field that the answer depends on has the wrong type.
    """
    body = camel_case(request.body)
    counts = Counts()
    messages = (*read_system(body, counts), *read_contents(body, counts))
    tools, tool_mode = read_tools(body, counts)
    effort, options = _generation(body)
    options |= {name: value for name, value in body.items() if name not in _READ and value is not None}
    named = (model_in_path(pattern, request.path) for pattern in PATHS)
    is_stream = request.path.endswith(f":{_STREAM}")
    is_events = parse_qs(request.query).get("alt") == ["sse"]
    return InboundRequest(
        model=next(filter(None, named), "").removeprefix("models/"),
        messages=messages,
        options=RequestOptions(tools, tool_mode, options, {} if effort is None else {"reasoningEffort": effort}),
        stream=is_stream,
        unmapped=dict(counts.numbers),
        dialect=ARRAY if is_stream and not is_events else "",
        body=body,
    )


def _generation(body: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """The reasoning effort, and the other fields of `generationConfig`."""
    where = "generationConfig"
    config = {name: value for name, value in object_of(body, where).items() if value is not None}
    if config.get("candidateCount", 1) != 1:
        raise UnsupportedParameterError(f"{where}.candidateCount", f"{config['candidateCount']!r:.60}", "1")
    thinking = object_of(config, "thinkingConfig", where)
    effort = text_of(thinking, "thinkingLevel", f"{where}.thinkingConfig").lower()
    kept = {name: value for name, value in thinking.items() if name not in {"thinkingLevel", "includeThoughts"}}
    config.pop("thinkingConfig", None)
    return effort or None, config | ({"thinkingConfig": kept} if kept else {})


READ_REQUEST: Final = RequestReaderSpec(read=read_asked, paths=PATHS)
