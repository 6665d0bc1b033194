"""What Gemini servers refuse of a request, and the request without it.

Sources: docs/wires/gemini.md#call-ids, docs/wires/gemini.md#contents and docs/wires/gemini.md#thinking-config.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.gemini.refused_parts import with_files_behind, with_signed_steps, with_subset_schemas
from partstream.protocols.options import OptionalField, leave_out, refused_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from partstream.errors import UpstreamError
    from partstream.protocols.serve import WireRequest

__all__ = ["LEAVE_OUT", "OPTIONAL_FIELDS", "REFUSED_FIELDS"]

_ID_IS_UNKNOWN: Final = r"unknown name \W?id\W? at .{0,80}function_?(?:call|response)"
_CONFIG: Final = "generationConfig"
_THINKING: Final = f"{_CONFIG}.thinkingConfig"

OPTIONAL_FIELDS: Final = (
    # Vertex and models before Gemini 3 know no ids of calls.
    OptionalField("contents[].parts[].functionCall.id", sentence=_ID_IS_UNKNOWN),
    OptionalField("contents[].parts[].functionResponse.id", sentence=_ID_IS_UNKNOWN),
    # 3.7 and 3.8 Flash, and whatever follows them.
    OptionalField(
        f"{_THINKING}.thinkingLevel", instead="LOW", sentence=r"thinking.?level \W?minimal\W? is not supported"
    ),
    OptionalField(
        f"{_THINKING}.thinkingLevel", sentence=r"thinking.?level(?! \W?minimal)(?: \W?\w+\W?)? is not supported"
    ),
    OptionalField(
        f"{_THINKING}.thinkingBudget",
        sentence=r"budget \S+ is (?:invalid|not supported)|thinking.?budget \W?(?:is not supported|is out of range)"
        r"|only works in thinking mode",
    ),
    OptionalField(
        f"{_THINKING}.includeThoughts", sentence=r"include_?thoughts is (?:only enabled|not supported|not enabled)"
    ),
    OptionalField(_THINKING, sentence=r"thinking_?config is not supported|thinking is not (?:enabled|supported)"),
    OptionalField(
        f"{_CONFIG}.responseModalities", sentence=r"(?:response|requested).{0,40}modalit\w+.{0,60}not supported"
    ),
    OptionalField(f"{_CONFIG}.maxOutputTokens", sentence=r"max_?output_?tokens\W? .{0,40}must be"),
    *(
        OptionalField(f"{_CONFIG}.{name}", is_word=True)
        for name in (
            *("temperature", "topP", "topK", "seed", "presencePenalty", "frequencyPenalty", "stopSequences"),
            *("mediaResolution", "responseLogprobs", "logprobs", "imageConfig", "speechConfig", "thinkingConfig"),
        )
    ),
    OptionalField("toolConfig.includeServerSideToolInvocations"),
    OptionalField("serviceTier"),
    OptionalField("labels", is_word=True),
)

_CORRECTIONS: Final[Mapping[str, tuple[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]]]] = {
    # Proxies that know only the older field (docs/wires/gemini.md#tools-and-schemas).
    "tools[].functionDeclarations[].parametersJsonSchema": (
        r"unknown name \W?parameters_?json_?schema",
        with_subset_schemas,
    ),
    # Models of which the table does not know that they sign (docs/wires/gemini.md#unsigned-calls).
    "contents[].parts[].thoughtSignature of a call": (
        r"missing a? ?.?thought_?signature",
        with_signed_steps,
    ),
    # Models of which the table does not know that they take no files in results (docs/wires/gemini.md#contents).
    "contents[].parts[].functionResponse.parts": (
        r"unknown name \W?parts\W? at .{0,80}function_?response|multimodal function response.{0,60}not supported",
        with_files_behind,
    ),
}
"""What is put in another form: by the name under which it is remembered, the sentence of the refusal and the form."""

_find = refused_fields(OPTIONAL_FIELDS)
_leave_out = leave_out(OPTIONAL_FIELDS)


def _refused(error: UpstreamError, body: Mapping[str, Any]) -> frozenset[str]:
    if error.http_status not in {None, 400, 404}:
        return frozenset()
    corrected = frozenset(
        name
        for name, (sentence, _) in _CORRECTIONS.items()
        if re.search(sentence, error.message[:_MOST_READ], re.IGNORECASE)
    )
    return corrected or _find(error, body)


def _changed(request: WireRequest, names: Collection[str]) -> WireRequest:
    changes = [change for name, (_, change) in _CORRECTIONS.items() if name in names]
    body = reduce(lambda changed, change: change(changed), changes, request.body)
    return _leave_out(request if body is request.body else replace(request, body=body), names)


_MOST_READ: Final = 4000

REFUSED_FIELDS: Final = _refused
"""For :attr:`partstream.protocols.errors.Errors.refused_fields`."""

LEAVE_OUT: Final = _changed
"""For :attr:`partstream.protocols.protocol.RequestWriterSpec.leave_out`."""
