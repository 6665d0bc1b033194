"""The errors of OpenResponses in both directions, and the fields and the end of its responses.

Reads errors of servers (refused fields, refused provider state, reports of a failed response) and writes errors for
clients in the form of the protocol.

Source: OpenResponses specification 2026-04-24, "Errors"; the codes are those that OpenAI sends with the same status.
"""

from __future__ import annotations
from typing import Any, Final

from partstream.codec.checks import as_count
from partstream.conversation.provider_state import Carried
from partstream.errors import UpstreamError, UpstreamFailureError, UpstreamHTTPError, UpstreamProtocolError
from partstream.lm.parts import FinishReason, UnifiedFinishReason, Usage
from partstream.protocols.errors import Errors
from partstream.protocols.options import Correction, OptionalField, leave_out, refused_fields
from partstream.protocols.read_response import JSONObject, identifier, shown, total_of
from partstream.protocols.schemas import smallest_schemas

# ---- Fields that servers refuse, and their replacements ----

# Sources: the errors of OpenAI for its models (reasoning summaries need a verified organisation, `include` a model that
# reasons), and servers that implement a part of the specification (vLLM, LM Studio). `store` is not in the table:
# without it, OpenAI would store a response against the settings.
OPTIONAL_FIELDS: Final = (
    OptionalField("reasoning.summary", is_word=True, sentence=r"verified to generate reasoning summaries"),
    *OptionalField.rows("reasoning.summary reasoning.effort reasoning include", is_word=True),
    OptionalField("tool_choice", instead="auto"),
    OptionalField("parallel_tool_calls"),
    OptionalField("tools[].strict", is_word=True),
    OptionalField("prompt_cache_key"),
    OptionalField("truncation", is_word=True),
    *OptionalField.rows("context_management max_output_tokens max_tool_calls safety_identifier service_tier"),
    *OptionalField.rows("text.verbosity metadata user temperature", is_word=True),
    *OptionalField.rows("top_p top_logprobs presence_penalty frequency_penalty"),
)

_CORRECTIONS: Final = (Correction(*smallest_schemas("tools[].parameters")),)

LEAVE_OUT: Final = leave_out(OPTIONAL_FIELDS, _CORRECTIONS)
"""For :attr:`partstream.protocols.protocol.RequestWriter.leave_out`."""


# ---- Errors of a server ----


def _refused(error: UpstreamError) -> Carried:
    blames_request = not isinstance(error, UpstreamHTTPError) or error.http_status in {400, 404, 422}
    said = error.message.lower().replace("_", " ") if blames_request else ""
    refused = Carried.NOTHING
    # "No tool call found for function call output": it has the response, but not the call in it.
    is_unknown = error.provider_code in {"previous_response_not_found", "response_not_found"}
    if is_unknown or "previous response" in said or "no tool call found" in said:
        refused |= Carried.RESPONSE
    # For instance of another account, or of a replaced model.
    if error.provider_code == "invalid_encrypted_content" or "encrypted content" in said:
        refused |= Carried.REASONING
    return refused


ERRORS: Final = Errors(refused=_refused, refused_fields=refused_fields(OPTIONAL_FIELDS, _CORRECTIONS))

# ---- Errors for a client ----

_KINDS: Final[dict[int, tuple[str, str | None]]] = {
    400: ("invalid_request", None),
    401: ("authentication_error", "invalid_api_key"),
    403: ("permission_error", "permission_denied"),
    404: ("not_found", "not_found"),
    429: ("too_many_requests", "rate_limit_exceeded"),
}
"""Type and code of an error by its HTTP status."""


def error_document(status: int, message: str) -> dict[str, Any]:
    """The JSON object of an HTTP error."""
    kind, code = _KINDS.get(status, ("server_error", "server_error") if status >= 500 else ("invalid_request", None))
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


# ---- Fields: a missing one is empty, one of the wrong type is an error of the upstream ----

ENCRYPTED_REASONING: Final = "reasoning.encrypted_content"
"""The entry of `include` that demands the state of reasoning."""
LOGPROBS: Final = "message.output_text.logprobs"
"""The entry of `include` that demands the probabilities of tokens."""


def text(event: JSONObject, name: str) -> str:
    """The string in a field; empty if it is null or missing.

    Raises:
        UpstreamProtocolError: The field holds something else.
    """
    value: str | None = _checked(event, name, str, "a string")
    return value or ""


def mapping(event: JSONObject, name: str) -> JSONObject:
    """The object in a field; see :func:`text`."""
    value: JSONObject | None = _checked(event, name, dict, "an object")
    return value or {}


def sequence(event: JSONObject, name: str) -> list[JSONObject]:
    """The objects in a list field; see :func:`text`. Ollama sends `output: null`."""
    value: list[JSONObject] | None = _checked(event, name, list, "a list of objects")
    return value or []


def _checked(event: JSONObject, name: str, kind: Any, expected: str) -> Any:
    value: Any = event.get(name)
    if value is None or (isinstance(value, kind) and (kind is not list or all(isinstance(one, dict) for one in value))):
        return value
    got = f"{type(value).__name__} {shown(value)}"
    raise UpstreamProtocolError(event_type=identifier(event, "type"), field=name, got=got, expected=expected)


# ---- The end of a response: usage, finish reason and error ----

INCOMPLETE_REASONS: Final = {
    "max_output_tokens": UnifiedFinishReason.LENGTH,
    "content_filter": UnifiedFinishReason.CONTENT_FILTER,
}


def usage(response: JSONObject) -> Usage | None:
    """The usage that a response reports, or None."""
    raw = response.get("usage")
    if not isinstance(raw, dict):
        return None
    input_tokens, output_tokens = _count(raw, "input_tokens"), _count(raw, "output_tokens")
    return Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        total_tokens=total_of(_count(raw, "total_tokens"), input_tokens, output_tokens),
        cached_tokens=_count(raw.get("input_tokens_details"), "cached_tokens"),
        reasoning_tokens=_count(raw.get("output_tokens_details"), "reasoning_tokens"),
        raw=raw,
        cache_write_tokens=_count(raw.get("input_tokens_details"), "cache_write_tokens"),
    )


def finish_reason(response: JSONObject, status: str, has_tool_calls: bool) -> FinishReason:
    """The finish reason of a response that did not fail; `status` is that of the terminal event."""
    if status == "incomplete":
        raw = identifier(mapping(response, "incomplete_details"), "reason") or identifier(response, "status") or status
        return FinishReason(INCOMPLETE_REASONS.get(raw, UnifiedFinishReason.OTHER), raw)
    return FinishReason(UnifiedFinishReason.TOOL_CALLS if has_tool_calls else UnifiedFinishReason.STOP, status)


def incomplete_reason(reason: FinishReason | None) -> str:
    """The word for why a response is incomplete; the provider's own word if this protocol has none."""
    if reason is None:
        return "other"
    words = {unified: word for word, unified in INCOMPLETE_REASONS.items()}
    return words.get(reason.unified) or reason.raw or reason.unified


def failure(*reports: JSONObject) -> UpstreamFailureError:
    """The one error of all reports of a failure."""
    fields: JSONObject = {}
    for report in reports:
        add_report(fields, report)
    return ERRORS.read_failure({"error": fields})


def add_report(fields: JSONObject, report: JSONObject) -> None:
    """Adds what a report of a failure says; later reports win. In place, because a server may report without end.

    A report is an `error` event, nested (the specification, and the live OpenAI API) or flat (OpenAI's
    documentation), or the `error` object of a failed response.
    """
    nested = report.get("error")
    flat = {name: report.get(name) for name in ("code", "message", "param", "retry_after")}
    inner = nested if isinstance(nested, dict) else {"message": nested}
    fields |= {name: value for one in (flat, inner) for name, value in one.items() if value not in (None, "")}


def _count(source: Any, name: str) -> int | None:
    return as_count(source.get(name) if isinstance(source, dict) else None)
