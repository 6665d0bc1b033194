"""Reads a request of the AI Gateway, as a server does: the model, the version and whether to stream stand in headers.

The shape is checked by the version that the client names. What has the wrong type, or a type that there is not, is
refused with its place; what is understood and has no place among VS Code's values is collected
(:attr:`partstream.outputs.Asked.unmapped`), and so is every field that the published types do not have.

Source: `LanguageModelV2CallOptions` to `V4` of `@ai-sdk/provider` 2.0.5, 3.0.19 and 4.0.38, and the requests recorded
in tests/fixtures/ai_sdk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.errors import InvalidRequestError
from partstream.messages import RequestOptions, Tool, ToolMode
from partstream.outputs import InboundRequest
from partstream.protocols.ai_gateway.models import (
    MODEL_HEADER,
    PROTOCOL_VERSION,
    PROTOCOL_VERSION_HEADER,
    STREAMING_HEADER,
    VERSION_HEADER,
)
from partstream.protocols.ai_gateway.prompt_shapes import PROVIDER_OPTIONS, VERSIONS, prompt_of
from partstream.protocols.ai_gateway.read_prompt import read_prompt
from partstream.protocols.ai_gateway.shapes import (
    Check,
    ObjectShape,
    any_json,
    boolean,
    check_object,
    integer,
    list_of,
    number,
    object_of,
    one_of,
    string,
    tagged,
    whole_number,
)
from partstream.protocols.serve import RequestReaderSpec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.protocols.serve import WireRequest

__all__ = ["READ_REQUEST", "read_request"]


def read_request(request: WireRequest) -> InboundRequest:
    """Reads `POST {base}/language-model`.

    Raises:
        InvalidRequestError: A header or a field of the body is not what the protocol asks for.
    """
    headers, body = request.headers, request.body
    for name, values in _HEADERS.items():
        if headers.get(name) not in values:
            raise InvalidRequestError(f"header {name}", _got(headers.get(name)), f"one of {', '.join(values)}")
    if not headers.get(MODEL_HEADER):
        raise InvalidRequestError(f"header {MODEL_HEADER}", _got(headers.get(MODEL_HEADER)), "the id of a model")
    unmapped: dict[str, Any] = {}
    check_object(body, "", _BODY[headers[VERSION_HEADER]], unmapped)
    tools = body.get("tools") or []
    left, mode = _choose(tools, body.get("toolChoice"), unmapped)
    effort = body.get("reasoning")
    if body.get("includeRawChunks"):
        unmapped["includeRawChunks"] = True
    return InboundRequest(
        model=headers[MODEL_HEADER],
        messages=read_prompt(body["prompt"], unmapped),
        options=RequestOptions(
            left,
            mode,
            {name: value for name, value in body.items() if name in _OPTIONS},
            {} if effort in _NO_EFFORT else {"reasoningEffort": effort},
        ),
        stream=headers[STREAMING_HEADER] == "true",
        unmapped=unmapped,
        dialect=headers[VERSION_HEADER],
        body=body,
    )


_HEADERS: Final[dict[str, tuple[str, ...]]] = {
    PROTOCOL_VERSION_HEADER: (PROTOCOL_VERSION,),
    VERSION_HEADER: VERSIONS,
    STREAMING_HEADER: ("true", "false"),
}


def _got(value: str | None) -> str:
    return "nothing" if value is None else repr(value)


# ---- the shape of the body ----


def _tools(version: str) -> Check:
    required: dict[str, Check] = {"name": string, "inputSchema": object_of(any_json)}
    described: dict[str, Check] = {"description": string}
    unplaced: dict[str, Check] = {"providerOptions": PROVIDER_OPTIONS}
    provider = ObjectShape({"id": string, "name": string, "args": object_of(any_json)})
    if version == "2":
        return list_of(tagged({"function": ObjectShape(required, described, unplaced), "provider-defined": provider}))
    unplaced |= {"inputExamples": list_of(object_of(any_json)), "strict": boolean}
    return list_of(tagged({"function": ObjectShape(required, described, unplaced), "provider": provider}))


_TOOL_CHOICES: Final[dict[str, ObjectShape]] = {
    **dict.fromkeys(("auto", "none", "required"), ObjectShape({})),
    "tool": ObjectShape({"toolName": string}),
}
_RESPONSE_FORMATS: Final[dict[str, ObjectShape]] = {
    "text": ObjectShape({}),
    "json": ObjectShape({}, {"schema": object_of(any_json), "name": string, "description": string}),
}
_REASONING: Final = ("provider-default", "none", "minimal", "low", "medium", "high", "xhigh", "max")
_NO_EFFORT: Final = {None, "provider-default"}

_OPTIONS: Final[dict[str, Check]] = {
    "maxOutputTokens": whole_number,
    **dict.fromkeys(("temperature", "topP", "topK", "presencePenalty", "frequencyPenalty"), number),
    "stopSequences": list_of(string),
    "seed": integer,
    "responseFormat": tagged(_RESPONSE_FORMATS),
    "providerOptions": PROVIDER_OPTIONS,
}
"""What a client may choose; it stands in the options of the request under the same names."""


def _body(version: str) -> ObjectShape:
    """Source: the `CallOptions` of each version; `abortSignal` stays with the client."""
    optional: dict[str, Check] = {
        **_OPTIONS,
        "tools": _tools(version),
        "toolChoice": tagged(_TOOL_CHOICES),
        "includeRawChunks": boolean,
        # Version 4 alone has it; we send it in the others as well, for creators whose own words are not known.
        "reasoning": one_of(_REASONING),
    }
    return ObjectShape({"prompt": prompt_of(version)}, optional, {"headers": object_of(string)})


_BODY: Final[dict[str, ObjectShape]] = {version: _body(version) for version in VERSIONS}

# ---- tools ----


def _choose(
    tools: Sequence[Mapping[str, Any]], choice: Mapping[str, Any] | None, unmapped: dict[str, Any]
) -> tuple[tuple[Tool, ...], ToolMode]:
    """The tools that the model may call, and whether it must; those that `toolChoice` takes away are collected.

    Tools that the provider would run itself are collected as well: only the client runs tools here.
    """
    kind = "auto" if choice is None else choice["type"]
    names = [tool["name"] for tool in tools if tool["type"] == "function"]
    wanted = {"none": [], "tool": [choice and choice.get("toolName")]}.get(kind, names)
    if kind == "required" and not tools:
        raise InvalidRequestError("toolChoice.type", repr(kind), "tools beside it")
    if kind == "tool" and wanted[0] not in [tool["name"] for tool in tools]:
        expected = f"one of {', '.join(names)}" if names else "no choice, because there are no tools"
        raise InvalidRequestError("toolChoice.toolName", repr(wanted[0]), expected)
    left: dict[str, Tool] = {}
    for place, tool in enumerate(tools):
        if tool["type"] != "function" or tool["name"] not in wanted:
            unmapped[f"tools[{place}]"] = tool
        elif tool["name"] in left:
            raise InvalidRequestError(f"tools[{place}].name", f"{tool['name']!r} again", "a name of its own")
        else:
            left[tool["name"]] = Tool(tool["name"], tool.get("description") or "", tool["inputSchema"])
    return tuple(left.values()), ToolMode.REQUIRED if kind in {"required", "tool"} else ToolMode.AUTO


READ_REQUEST: Final = RequestReaderSpec(read=read_request)
