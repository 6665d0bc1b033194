"""The errors of this wire, read and written, and what a refusal changes in a request.

Reading: :data:`ERRORS` adds the codes, sentences and statuses of these servers to those of all wires
(docs/wires/anthropic-messages.md#errors). Beside the table of optional fields there are refusals that no field alone
says: a form of thinking, which another one replaces; a response that may not be so long; a beta, which goes with its
feature; and the version of the API, which the older one replaces.

Writing: a server of this wire has one type for each kind of failure (`anthropic` 2.12.0,
`types/shared/error_object.py`).
"""

from __future__ import annotations
import re
from collections.abc import Collection, Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final

from partstream.codec.checks import replace
from partstream.errors import LanguageModelError, UpstreamError, UpstreamFailureError, UpstreamHTTPError
from partstream.protocols.anthropic_messages import models
from partstream.protocols.errors import ErrorBody, ErrorKind, Errors, kinds_of, read_error_body, refused_reasoning
from partstream.protocols.failures import STATUSES, FailedReply, FailureKind, ServedFailure, failure_of, retry_headers
from partstream.protocols.options import Correction, OptionalField, leave_out, refused_fields
from partstream.protocols.read_response import mapping
from partstream.protocols.schemas import smallest_schemas
from partstream.protocols.serve import WireRequest

# ---- Refused fields ----

_MARKS: Final = OptionalField.rows("system[].cache_control tools[].cache_control messages[].content[].cache_control")

OPTIONAL_FIELDS: Final = (
    # Where one mark is refused, so are all (docs/wires/anthropic-messages.md#prompt-cache).
    *_MARKS,
    OptionalField("output_config.effort", is_word=True),
    OptionalField("output_config.effort", sentence=r"not support the effort|effort (?:parameter|level)? ?is not supp"),
    # Refused beside a budget, and by some models always (docs/wires/anthropic-messages.md#tools-and-tool-choice).
    OptionalField("tool_choice.disable_parallel_tool_use"),
    OptionalField("tool_choice", instead={"type": "auto"}),
    *OptionalField.rows("output_config context_management messages[].content[].is_error top_p top_k stop_sequences"),
    # The last five are what callers of other protocols choose, and this one has no field for.
    *OptionalField.rows(
        "service_tier presence_penalty frequency_penalty response_format top_logprobs logit_bias",
    ),
    *OptionalField.rows("thinking.display thinking output_config.format container", is_word=True),
    *OptionalField.rows("messages[].content[].caller temperature metadata speed fallbacks", is_word=True),
    *OptionalField.rows("logprobs seed user", is_word=True),
)

_REFUSAL_STATUSES: Final = frozenset({400, 404, 422})
_MOST_READ: Final = 4000
_MOST_TOKENS: Final = "max_tokens:"
_BETA: Final = "beta:"

_FORMS: Final = tuple(
    (
        f"thinking:{form}",
        re.compile(
            rf"thinking\.type\.{form}\W{{0,3}} is not supported|{form} thinking is not supported"
            rf"|thinking: Input tag '{form}' found"
        ),
    )
    for form in ("enabled", "disabled", "adaptive")
)
"""The three refusals of a form of thinking (docs/wires/anthropic-messages.md#thinking-by-model), by the names under
which they are remembered. Servers that check a request by its types name the tag that they do not know."""

_TOO_MANY: Final = re.compile(r"max_tokens: (?P<asked>\d+) > (?P<most>\d+), which is the maximum allowed")
"""The longest answer, in a refusal (docs/wires/anthropic-messages.md#requests-that-are-too-long)."""

_CORRECTIONS: Final = (Correction(*smallest_schemas("tools[].input_schema")),)
_OF_TABLE: Final = refused_fields(OPTIONAL_FIELDS, _CORRECTIONS)


def refused_by(error: UpstreamError, body: Mapping[str, Any]) -> frozenset[str]:
    """See :attr:`partstream.protocols.errors.Errors.refused_fields`."""
    said = ""
    if error.http_status in {*_REFUSAL_STATUSES, None}:
        if isinstance(error, UpstreamHTTPError):
            said = (error.provider_message or error.body)[:_MOST_READ]
        elif isinstance(error, UpstreamFailureError):
            said = error.provider_message[:_MOST_READ]
    form = next((name for name, pattern in _FORMS if pattern.search(said)), None)
    if form is not None:
        return frozenset({form}) if mapping(body, "thinking").get("type") == form.partition(":")[2] else frozenset()
    if (found := _TOO_MANY.search(said)) is not None:
        return frozenset({f"{_MOST_TOKENS}{found['most']}"})
    if models.VERSION in said:
        return frozenset({models.VERSION})
    if "cache_control" in said:
        return frozenset(row.path for row in _MARKS)
    betas = frozenset(f"{_BETA}{name}" for name in models.FEATURE_BETAS if name in said)
    return betas or frozenset(
        name for name in _OF_TABLE(error, body) if not (name.startswith("thinking") and _OF_BLOCKS.search(said))
    )


_OF_BLOCKS: Final = re.compile(r"messages\.\d+\.content|thinking\W? blocks?\b")
"""A refusal of thinking that went back, which says nothing of asking for more."""

_WITHOUT_FIELDS: Final = leave_out(OPTIONAL_FIELDS, _CORRECTIONS)


def without_refused(request: WireRequest, names: Collection[str]) -> WireRequest:
    """The request without what is named; a beta goes with its feature, and a feature with its beta."""
    body = _shortened(_in_another_form(request.body, names), names)
    gone = {models.FIELDS_OF_BETAS.get(name.removeprefix(_BETA)) for name in names if name.startswith(_BETA)}
    changed = replace(request, body={name: value for name, value in body.items() if name not in gone})
    if models.VERSION in names and models.VERSION in request.headers:
        changed = replace(changed, headers={**request.headers, models.VERSION: models.OLDER_VERSION})
    changed = _WITHOUT_FIELDS(changed, names)
    if models.asks_to_think(request.body) and not models.asks_to_think(changed.body):
        # The edits that only a model that thinks has a use for go with it.
        management = mapping(changed.body, "context_management")
        if isinstance(edits := management.get("edits"), list):
            kept = [
                edit for edit in edits if not (isinstance(edit, dict) and edit.get("type") == models.CLEAR_THINKING)
            ]
            rest = {name: value for name, value in changed.body.items() if name != "context_management"}
            left = {"context_management": {**management, "edits": kept}} if kept else {}
            changed = replace(changed, body=rest | left)
    return _without_betas(changed, request.body, names)


def _in_another_form(body: Mapping[str, Any], names: Collection[str]) -> Mapping[str, Any]:
    """The body with thinking in the form that is not refused; without any where none is left."""
    form = str(mapping(body, "thinking").get("type"))
    if f"thinking:{form}" not in names:
        return body
    twin = _TWINS.get(form)
    rest = {name: value for name, value in body.items() if name != "thinking"}
    if twin is None or f"thinking:{twin}" in names:
        return rest
    display = {name: value for name, value in body["thinking"].items() if name == "display"}
    if twin == "adaptive":
        return {**body, "thinking": {"type": "adaptive", **(display or {"display": "summarized"})}}
    budget = min(_USUAL_BUDGET, int(body.get("max_tokens", 0)) // 2)
    if budget < models.LEAST_BUDGET:
        return rest
    return {**body, "thinking": {"type": "enabled", "budget_tokens": budget, **display}}


_TWINS: Final = {"enabled": "adaptive", "adaptive": "enabled"}
_USUAL_BUDGET: Final = 16_000


def _shortened(body: Mapping[str, Any], names: Collection[str]) -> Mapping[str, Any]:
    """The body with an answer, and thinking, as short as the model says."""
    limits = [int(name.removeprefix(_MOST_TOKENS)) for name in names if name.startswith(_MOST_TOKENS)]
    asked = body.get("max_tokens")
    if not limits or not isinstance(asked, int) or asked <= min(limits):
        return body
    most = min(limits)
    thinking = body.get("thinking")
    if isinstance(thinking, dict) and thinking.get("budget_tokens", 0) >= most:
        thinking = {**thinking, "budget_tokens": most // 2}
    changed = {**body, "max_tokens": most}
    return changed if thinking is None else {**changed, "thinking": thinking}


def _without_betas(request: WireRequest, before: Mapping[str, Any], names: Collection[str]) -> WireRequest:
    """The request without the betas that are refused, and without those whose features have gone."""
    gone = {
        beta
        for beta, (_, has_feature) in models.FEATURE_BETAS.items()
        if has_feature(before) and not has_feature(request.body)
    }
    gone |= {name.removeprefix(_BETA) for name in names if name.startswith(_BETA)}
    named = models.named(request.headers.get(models.BETA_HEADER, ""))
    kept = [beta for beta in named if beta not in gone]
    body = request.body
    if gone & set(body.get("anthropic_beta", ())):
        body = {**body, "anthropic_beta": [beta for beta in body["anthropic_beta"] if beta not in gone]}
        request = replace(request, body=body)
    if len(kept) == len(named):
        return request
    headers = {name: value for name, value in request.headers.items() if name != models.BETA_HEADER}
    return replace(request, headers=headers | ({models.BETA_HEADER: models.joined(kept)} if kept else {}))


# ---- Errors that are read ----

_BILLING: Final = "billing_error"

_CODES: Final = kinds_of(
    {
        ErrorKind.NO_CREDIT: _BILLING,
        ErrorKind.UNAVAILABLE: "api_error timeout_error internal_error",  # the last: vLLM
    }
)

_STATUSES_OF_TYPES: Final[Mapping[str, int]] = MappingProxyType(
    {
        "invalid_request_error": 400,
        "authentication_error": 401,
        "billing_error": 402,
        "permission_error": 403,
        "not_found_error": 404,
        "conflict_error": 409,
        "request_too_large": 413,
        "rate_limit_error": 429,
        "api_error": 500,
        "timeout_error": 504,
        "overloaded_error": 529,
    }
)
"""The status of each type, also where it comes inside a response of the status 200, as it does under load."""

_NO_CREDIT: Final = re.compile(
    r"credit balance is too low|reached your specified (?:API|workspace API) usage limits|spend(?:ing)? limit",
    re.IGNORECASE,
)
"""Sentences for money that is used up, under 400 or 429 and the type of any other mistake: they get the code that the
server has for it under 402, because no further attempt helps (docs/wires/anthropic-messages.md#errors)."""

_PLACE: Final = re.compile(r"([a-z_]+(?:\.\w+)*): (?=[A-Z`'\"])")
"""The place that a sentence begins with: "seed: Extra inputs are not permitted"."""
_FORM: Final = re.compile(r"^thinking\.(?:adaptive|enabled|disabled)(?=\.)")
"""Within `thinking`, the server names the form too, which is no field."""


def _read_body(document: Any) -> ErrorBody:
    read = read_error_body(document)
    inside = 500 if read.type == "internal_error" else _STATUSES_OF_TYPES.get(read.type or "")  # the first is vLLM's
    status = inside if read.status is None else read.status
    code = _BILLING if _NO_CREDIT.search(read.message or "") else read.code
    found = _PLACE.match(read.message or "")
    param = read.param or (None if found is None else _FORM.sub("thinking", found[1]))
    return read._replace(status=status, code=code, param=param)


_REFUSED_STATE: Final = (
    r"invalid \W?(?:signature|data)\W? in \W?(?:redacted_)?thinking\W? block|blocks?\W.{0,80}cannot be modified"
    r"|signature: field required|final block in an assistant message cannot be"
    r"|was found without a corresponding \W?\w+_tool_result"
)
"""Sentences for blocks that went back and are refused: they are of another account, changed, without a signature, the
last of their message, or half a pair (docs/wires/anthropic-messages.md#thinking-that-goes-back)."""

ERRORS: Final = Errors(
    codes=_CODES, read_body=_read_body, refused=refused_reasoning(_REFUSED_STATE), refused_fields=refused_by
)

# ---- Errors that are written ----

API_ERROR: Final = "api_error"

_TYPES: Final = {status: name for name, status in _STATUSES_OF_TYPES.items()}

_OF_FAILURES: Final[Mapping[FailureKind, int]] = {
    **STATUSES,
    FailureKind.SPENT_BUDGET: 402,
    FailureKind.OVERLOADED: 529,
    FailureKind.UPSTREAM: 500,
}

_TOO_LONG: Final = "prompt is too long"
"""Claude Code then shortens a conversation (docs/wires/anthropic-messages.md#requests-that-are-too-long)."""


def _type_of(status: int) -> str:
    return _TYPES.get(status, API_ERROR if status >= 500 else "invalid_request_error")


def error_document(status: int, message: str) -> dict[str, Any]:
    """The JSON object of an HTTP error, of the type of its status."""
    identity = sha256(f"{status}/{message}".encode(errors="surrogatepass")).hexdigest()[:24]
    return {"type": "error", "error": {"type": _type_of(status), "message": message}, "request_id": f"req_{identity}"}


def failed_reply(failure: ServedFailure) -> FailedReply:
    """A failure as an HTTP reply."""
    status = _OF_FAILURES[failure.kind]
    document = error_document(status, _message_of(failure))
    error = {**document["error"], **failure.fields}
    identity = failure.request_id or document["request_id"]
    return FailedReply(status, retry_headers(failure), {**document, "error": error, "request_id": identity})


def error_event(error: LanguageModelError | None) -> dict[str, Any]:
    """The event with which a failed answer ends."""
    kind, message = (API_ERROR, "it gave no reason") if error is None else said_of(error)
    return {"type": "error", "error": {"type": kind, "message": message}}


def said_of(error: LanguageModelError) -> tuple[str, str]:
    """The type and the message of an error: the provider's own code where it is one of this wire's types."""
    failure = failure_of(error)
    code = error.provider_code if isinstance(error, UpstreamError) else None
    kind = code if code and code in _STATUSES_OF_TYPES else _type_of(_OF_FAILURES[failure.kind])
    return kind, _message_of(failure)


def status_of(kind: str) -> int:
    """The HTTP status of an error of a type."""
    return _STATUSES_OF_TYPES.get(kind, 500)


def _message_of(failure: ServedFailure) -> str:
    if failure.kind is FailureKind.CONTEXT_LENGTH and _TOO_LONG not in failure.message:
        if failure.tokens is not None and failure.token_limit is not None:
            return f"{_TOO_LONG}: {failure.tokens} tokens > {failure.token_limit} maximum"
        return f"{_TOO_LONG}: {failure.message}"
    # The form of the wire has no field for the parameter.
    if failure.param is not None and failure.param not in failure.message:
        return f"{failure.param}: {failure.message}"
    return failure.message
