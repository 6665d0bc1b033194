"""The errors of Gemini, read and written, and what a refusal changes in a request (docs/wires/gemini.md#errors).

::

    {"error": {"code": 429, "message", "status": "RESOURCE_EXHAUSTED", "details": [
        {"@type": ".../google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"},
        {"@type": ".../google.rpc.QuotaFailure", "violations": [{"quotaMetric", "quotaId", "quotaValue"}]},
        {"@type": ".../google.rpc.RetryInfo", "retryDelay": "34.4s"}]}}

Gateways put it into an array, or as text into the message of another one.

Of what a server refuses, some has another form (:data:`_CORRECTIONS`); each correction leaves a body that has nothing
to correct as it is. The rest is left out (docs/wires/gemini.md#call-ids, docs/wires/gemini.md#contents and
docs/wires/gemini.md#thinking-config).
"""

from __future__ import annotations
import math
from collections.abc import Mapping
from typing import Any, Final

from partstream.errors import LanguageModelError
from partstream.protocols import errors, failures
from partstream.protocols.failures import FailedReply, FailureKind, ServedFailure, failure_of, retry_headers
from partstream.protocols.gemini.provider_state import with_dummies
from partstream.protocols.options import Correction, OptionalField, leave_out, refused_fields
from partstream.protocols.read_response import identifier, objects
from partstream.protocols.schemas import SCHEMA_REFUSAL, openapi_subset

# ---- Corrections ----

JSON_SCHEMA: Final = "parametersJsonSchema"
"""The field of a declaration that takes JSON Schema whole."""
SUBSET: Final = "parameters"
"""The field that takes a protobuf message: a subset of OpenAPI (docs/wires/gemini.md#tools-and-schemas)."""
_DECLARED: Final = "functionDeclarations"
_RESPONSE: Final = "functionResponse"


def _with_subset_schemas(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body with the parameters of tools in the subset of OpenAPI."""

    def corrected(declared: Mapping[str, Any]) -> Mapping[str, Any]:
        rest = {name: value for name, value in declared.items() if name != JSON_SCHEMA}
        return rest | {SUBSET: openapi_subset(declared[JSON_SCHEMA])} if JSON_SCHEMA in declared else rest

    tools = [
        {**tool, _DECLARED: [*map(corrected, tool[_DECLARED])]} if _DECLARED in tool else tool
        for tool in body.get("tools", ())
    ]
    return {**body, "tools": tools} if tools else body


def _with_files_after(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body with the files of results after them."""
    contents = []
    for content in body["contents"]:
        parts, files = [], []
        for part in content["parts"]:
            if inside := part.get(_RESPONSE, {}).get("parts"):
                files += inside
                response = {name: value for name, value in part[_RESPONSE].items() if name != "parts"}
                part = {**part, _RESPONSE: response}  # noqa: PLW2901
            parts.append(part)
        contents.append({**content, "parts": [*parts, *files]})
    return {**body, "contents": contents}


# ---- Refused fields ----

_ID_IS_UNKNOWN: Final = r"unknown name \W?id\W? at .{0,80}function_?(?:call|response)"
_CONFIG: Final = "generationConfig"
_THINKING: Final = f"{_CONFIG}.thinkingConfig"


def level_fields(path: str, low: str) -> tuple[OptionalField, ...]:
    """The rows of a level of thinking: 3.7 and 3.8 Flash, and whatever follows them, refuse the lowest one alone."""
    return (
        OptionalField(path, instead=low, sentence=r"thinking.?level \W?minimal\W? is not supported"),
        OptionalField(path, sentence=r"thinking.?level(?! \W?minimal)(?: \W?\w+\W?)? is not supported"),
    )


OPTIONAL_FIELDS: Final = (
    # Vertex and models before Gemini 3 know no ids of calls.
    OptionalField("contents[].parts[].functionCall.id", sentence=_ID_IS_UNKNOWN),
    OptionalField("contents[].parts[].functionResponse.id", sentence=_ID_IS_UNKNOWN),
    *level_fields(f"{_THINKING}.thinkingLevel", "LOW"),
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

_CORRECTIONS: Final = (
    # Proxies that know only the older field, and what Google refuses of JSON Schema
    # (docs/wires/gemini.md#tools-and-schemas).
    Correction(
        "tools[].functionDeclarations[].parametersJsonSchema",
        rf"unknown name \W?parameters_?json_?schema|{SCHEMA_REFUSAL}",
        _with_subset_schemas,
    ),
    # Models of which the table does not know that they sign (docs/wires/gemini.md#unsigned-calls): each step of the
    # current turn has a signature on its first call.
    Correction(
        "contents[].parts[].thoughtSignature of a call",
        r"missing a? ?.?thought_?signature",
        lambda body: {**body, "contents": with_dummies(body["contents"])},
    ),
    # Models of which the table does not know that they take no files in results (docs/wires/gemini.md#contents).
    Correction(
        "contents[].parts[].functionResponse.parts",
        r"unknown name \W?parts\W? at .{0,80}function_?response|multimodal function response.{0,60}not supported",
        _with_files_after,
    ),
)

without_refused: Final = leave_out(OPTIONAL_FIELDS, _CORRECTIONS)
"""See :attr:`partstream.protocols.protocol.RequestWriter.leave_out`."""

# ---- Errors that are read ----

_CODES: Final = errors.kinds_of(
    {
        errors.ErrorKind.NO_PERMISSION: "api_key_invalid",  # under the status 400 (can1357/oh-my-pi#449)
        errors.ErrorKind.UNAVAILABLE: "cancelled internal deadline_exceeded",
    }
)
_PER_DAY: Final = "PerDay"
"""In the ids of quotas, such as `GenerateRequestsPerDayPerProjectPerModel-FreeTier`."""


def _read_body(document: Any) -> errors.ErrorBody:
    """An error, whose code is the reason that it gives, or the quota that is used up, else the name of its status."""
    read = errors.read_error_body(document)
    details = [detail for layer in errors.error_layers(document) for detail in objects(layer, "details")]
    reason = next((said for one in details if (said := identifier(one, "reason"))), None)
    violations = (one for detail in details for one in objects(detail, "violations"))
    quotas = [said for one in violations if (said := identifier(one, "quotaId"))]
    # Of several quotas that are used up, the one of a day lasts longest.
    quota = next((one for one in quotas if _PER_DAY in one), quotas[0] if quotas else None)
    return read._replace(code=reason or quota or read.type or read.code)


_REFUSED_STATE: Final = (
    r"(?:corrupted|invalid|malformed) thought.?signature|thought.?signature (?:\w+ )?(?:not valid|invalid|corrupted)"
)
"""Sentences about a signature of another model, account or surface (docs/wires/gemini.md#signatures). A missing
signature is no such error: without the state, even more signatures would be missing."""

ERRORS: Final = errors.Errors(
    codes=_CODES,
    code_forms=((_PER_DAY, errors.ErrorKind.QUOTA_SPENT),),
    read_body=_read_body,
    refused=errors.refused_reasoning(_REFUSED_STATE),
    refused_fields=refused_fields(OPTIONAL_FIELDS, _CORRECTIONS),
)

# ---- Errors that are written ----

STATUSES: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
"""The name of each status, `google.rpc.Code` as HTTP has it."""

OF_FAILURES: Final[Mapping[FailureKind, int]] = {**failures.STATUSES, FailureKind.UPSTREAM: 500}

_TYPE: Final = "type.googleapis.com/google.rpc."


def error_document(status: int, message: str) -> dict[str, Any]:
    """The JSON object of an HTTP error."""
    name = STATUSES.get(status, "INTERNAL" if status >= 500 else "INVALID_ARGUMENT")
    return {"error": {"code": status, "message": message, "status": name}}


def failed_reply(failure: ServedFailure) -> FailedReply:
    """A failure as an HTTP reply."""
    said = error_document(OF_FAILURES[failure.kind], sentence_of(failure))
    details: list[dict[str, Any]] = []
    if failure.param is not None:
        fields = [{"field": failure.param, "description": failure.message}]
        details.append({"@type": f"{_TYPE}BadRequest", "fieldViolations": fields})
    if failure.kind is FailureKind.SPENT_BUDGET:
        # The end of the name tells clients not to repeat the request.
        details.append({"@type": f"{_TYPE}QuotaFailure", "violations": [{"quotaId": f"PartstreamBudget{_PER_DAY}"}]})
    if failure.retry_after is not None:
        details.append({"@type": f"{_TYPE}RetryInfo", "retryDelay": f"{math.ceil(failure.retry_after)}s"})
    if details:
        said["error"]["details"] = details
    return FailedReply(said["error"]["code"], retry_headers(failure), said)


def error_event(error: LanguageModelError | None) -> dict[str, Any]:
    """The event with which a failed answer ends."""
    return error_document(500, errors.NO_REASON) if error is None else dict(failed_reply(failure_of(error)).body)


def sentence_of(failure: ServedFailure) -> str:
    """The message of a failure; that of a conversation that is too long is Google's own."""
    if failure.tokens is None or failure.token_limit is None:
        return failure.message
    most = f"exceeds the maximum number of tokens allowed ({failure.token_limit})."
    return f"The input token count ({failure.tokens}) {most}"
