"""The errors of Google Interactions: `{"error": {"code": "invalid_request", "message"}}`, read and written.

They are those of Gemini (:mod:`partstream.protocols.gemini.errors`) but for the form: codes are words, and there are no
details. A refusal names a place, such as `input[0].content[0].processing`, or says no more than "Request contains an
invalid argument." (docs/wires/gemini.md#interactions).
"""

from __future__ import annotations
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from partstream.codec.checks import replace
from partstream.codec.json_codec import dumps
from partstream.conversation.provider_state import Carried
from partstream.errors import LanguageModelError, UpstreamError
from partstream.protocols.failures import FailedReply, ServedFailure, failure_of, retry_headers
from partstream.protocols.gemini import errors as gemini
from partstream.protocols.gemini.provider_state import DUMMY
from partstream.protocols.options import Correction, OptionalField, leave_out, refused_fields

# ---- Corrections and refused fields ----

SIGNATURE: Final = "signature"
"""The field of a step that holds its signature."""
_MODEL_STEPS: Final = frozenset({"thought", "model_output", "function_call", "function_result"})


def _with_calls_as_texts(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body with texts of the user in place of the calls that have only the dummy for a signature."""
    steps: list[Mapping[str, Any]] = []
    is_unsigned, said = False, set()
    for step in body["input"]:
        if step["type"] == "thought" and step.get(SIGNATURE) == DUMMY:
            is_unsigned = True
            continue
        is_unsigned = is_unsigned and step["type"] in _MODEL_STEPS
        if is_unsigned and step["type"] == "function_call":
            said.add(step["id"])
            text = f"[The model called {step['name']} with {dumps(step['arguments']).decode()}]"
            steps.append({"type": "user_input", "content": [{"type": "text", "text": text}]})
        elif step["type"] == "function_result" and step["call_id"] in said:
            result = step["result"]
            content: Sequence[Any] = [{"type": "text", "text": result}] if isinstance(result, str) else result
            head = {"type": "text", "text": f"[The result of {step['name']}]"}
            steps.append({"type": "user_input", "content": [head, *content]})
        else:
            steps.append(step)
    return {**body, "input": steps} if said else body


def _without_signatures_of_calls(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body without signatures on calls: the official types have them on thoughts, and tools of the server alone."""
    steps = [
        {name: value for name, value in step.items() if step["type"] != "function_call" or name != SIGNATURE}
        for step in body["input"]
    ]
    return {**body, "input": steps}


_CONFIG: Final = "generation_config"
_FIELDS: Final = (
    *gemini.level_fields(f"{_CONFIG}.thinking_level", "low"),
    *(
        OptionalField(f"{_CONFIG}.{name}", is_word=True)
        for name in (
            *("thinking_level", "thinking_summaries", "max_output_tokens", "temperature", "top_p", "top_k", "seed"),
            *("stop_sequences", "image_config", "speech_config"),
        )
    ),
    *(OptionalField(name, is_word=True) for name in ("service_tier", "labels", "safety_settings", "cached_content")),
    OptionalField("response_modalities"),
)
_CORRECTIONS: Final = (
    Correction(
        "input[].signature of a call",
        r"input\[\d+\]\.(?:function_?call\.)?signature|unknown (?:name|field) \W?signature",
        _without_signatures_of_calls,
    ),
    # Unsigned calls of the current turn are refused, with no more than the general sentence
    # (googleapis/js-genai#1735), and no source says whether the dummy of `generateContent` counts.
    Correction("input[] calls without a signature", r"invalid argument|thought.?signature", _with_calls_as_texts),
)

without_refused: Final = leave_out(_FIELDS, _CORRECTIONS)
"""See :attr:`partstream.protocols.protocol.RequestWriter.leave_out`."""

# ---- Errors that are read ----

_LOST: Final = re.compile(r"previous_?interaction|interaction\b.{0,80}\bnot (?:be )?found", re.IGNORECASE)


def _refused(error: UpstreamError) -> Carried:
    lost = error.http_status in {400, 404} and _LOST.search(error.message)
    return gemini.ERRORS.refused(error) | (Carried.RESPONSE if lost else Carried.NOTHING)


ERRORS: Final = replace(gemini.ERRORS, refused=_refused, refused_fields=refused_fields(_FIELDS, _CORRECTIONS))

# ---- Errors that are written ----

_CODES: Final = {status: name.lower() for status, name in gemini.STATUSES.items()} | {400: "invalid_request"}
_STATUSES: Final = {code: status for status, code in _CODES.items()}


def error_document(status: int, message: str) -> dict[str, Any]:
    """The JSON object of an HTTP error."""
    code = _CODES.get(status, "internal" if status >= 500 else "invalid_request")
    return {"error": {"code": code, "message": message}}


def status_of(document: Mapping[str, Any]) -> int:
    """The HTTP status of an error."""
    return _STATUSES.get(document["error"]["code"], 500)


def failed_reply(failure: ServedFailure) -> FailedReply:
    """A failure as an HTTP reply."""
    status = gemini.OF_FAILURES[failure.kind]
    return FailedReply(status, retry_headers(failure), error_document(status, gemini.sentence_of(failure)))


def error_event(error: LanguageModelError | None) -> dict[str, Any]:
    """The event with which a failed answer ends."""
    said = error_document(500, "it gave no reason") if error is None else failed_reply(failure_of(error)).body
    return {"event_type": "error", "error": said["error"]}
