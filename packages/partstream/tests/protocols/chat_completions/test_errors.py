"""What servers of Chat Completions answer in place of a model's words, literally, and what it means."""

import json
from datetime import UTC, datetime
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from partstream.conversation.provider_state import Carried
from partstream.errors import LanguageModelErrorCode, UpstreamFailureError, UpstreamHTTPError
from partstream.protocols.chat_completions.errors import ERRORS
from partstream.protocols.errors import ErrorKind, Overflow
from partstream.upstream.http_errors import http_error
from rows import one_test_for

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


class Said(NamedTuple):
    """What an error says, and VS Code's word for it."""

    message: str | None
    code: str | None
    word: str = "Unspecified"
    type: str | None = None
    param: str | None = None
    status: int | None = None


# The status of the answer, its body, and what it says; the status that counts only where it is another one.
BODIES: dict[str, tuple[int, Any, Said]] = {
    "OpenAI": (
        400,
        {
            "error": {
                "message": "Unsupported parameter: 'max_tokens' is not supported with this model.",
                "type": "invalid_request_error",
                "param": "max_tokens",
                "code": "unsupported_parameter",
            }
        },
        Said(
            "Unsupported parameter: 'max_tokens' is not supported with this model.",
            "unsupported_parameter",
            type="invalid_request_error",
            param="max_tokens",
        ),
    ),
    "OpenAI, no credit": (
        429,
        {"error": {"message": "You exceeded your current quota", "type": "insufficient_quota", "param": None}},
        Said("You exceeded your current quota", "insufficient_quota", "Blocked", "insufficient_quota"),
    ),
    "Ollama": (
        404,
        {"error": {"message": "model 'x' not found", "type": "not_found_error", "param": None, "code": None}},
        Said("model 'x' not found", "not_found_error", "NotFound", "not_found_error"),
    ),
    "DeepSeek": (
        402,
        {"error": {"message": "Insufficient Balance", "type": "unknown_error", "code": "invalid_request_error"}},
        Said("Insufficient Balance", "invalid_request_error", "Blocked", "unknown_error"),
    ),
    "Groq": (
        400,
        {
            "error": {
                "message": "Failed to call a function.",
                "type": "invalid_request_error",
                "code": "tool_use_failed",
                "failed_generation": "<function=look_up>",
            }
        },
        Said("Failed to call a function.", "tool_use_failed", type="invalid_request_error"),
    ),
    "vLLM": (
        400,
        {"error": {"object": "error", "message": "No.", "type": "BadRequestError", "param": None, "code": 400}},
        Said("No.", "400", type="BadRequestError"),
    ),
    "SGLang, flat": (
        400,
        {"object": "error", "message": "No.", "type": "BadRequest", "param": None, "code": 400},
        Said("No.", "400", type="BadRequest"),
    ),
    "llama.cpp": (
        400,
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 9000,
                "n_ctx": 8192,
            }
        },
        Said("the request exceeds the available context size", "400", type="exceed_context_size_error"),
    ),
    "OpenRouter": (
        400,
        {
            "error": {
                "message": "Provider returned error",
                "code": 400,
                "metadata": {
                    "raw": '{"error":{"message":"Unknown name \\"foo\\"","type":"bad","param":"foo","code":"E7"}}',
                    "provider_name": "Google",
                },
            },
            "user_id": "user_x",
        },
        Said('Google: Unknown name "foo"', "E7", type="bad", param="foo"),
    ),
    "OpenRouter, a text of the provider": (
        502,
        {"error": {"message": "Provider returned error", "code": 502, "metadata": {"raw": "upstream\nbroke"}}},
        Said("Provider returned error: upstream", "502"),
    ),
    "OpenRouter, moderation": (
        403,
        {
            "error": {
                "code": 403,
                "message": "openai/gpt-4o requires moderation on OpenAI. Your input was flagged",
                "metadata": {"reasons": ["violence", "hate"], "flagged_input": "..", "provider_name": "OpenAI"},
            }
        },
        Said("openai/gpt-4o requires moderation on OpenAI. Your input was flagged (violence, hate)", "403", "Blocked"),
    ),
    "OpenRouter, once a model has begun": (
        200,
        {"error": {"message": "Rate limited", "code": 429}},
        Said("Rate limited", "429", "Blocked", status=429),
    ),
    "Cerebras": (
        422,
        {
            "message": "body.reasoning: property 'body.reasoning' is unsupported",
            "type": "invalid_request_error",
            "param": "validation_error",
            "code": "wrong_api_format",
        },
        Said(
            "body.reasoning: property 'body.reasoning' is unsupported",
            "wrong_api_format",
            type="invalid_request_error",
            param="validation_error",
        ),
    ),
    "Mistral": (
        400,
        {
            "object": "error",
            "message": "Unexpected role 'user' after role 'tool'",
            "type": "invalid_request_message_order",
            "param": None,
            "code": "3230",
            "raw_status_code": 400,
        },
        Said("Unexpected role 'user' after role 'tool'", "3230", type="invalid_request_message_order"),
    ),
    "Mistral, refused fields": (
        422,
        {
            "object": "error",
            "message": {
                "detail": [
                    {
                        "type": "extra_forbidden",
                        "loc": ["body", "stream_options"],
                        "msg": "Extra inputs are not permitted",
                    }
                ]
            },
            "type": "invalid_request_error",
            "param": None,
            "code": None,
        },
        Said(
            "body.stream_options: Extra inputs are not permitted", "invalid_request_error", type="invalid_request_error"
        ),
    ),
    "xAI": (
        400,
        {"code": "Client specified an invalid argument", "error": "Argument not supported on this model: stop"},
        Said("Argument not supported on this model: stop", "Client specified an invalid argument"),
    ),
    "xAI, its filter": (
        403,
        {
            "code": "The caller does not have permission to execute the specified operation",
            "error": "Content violates usage guidelines. Team: t, Model: grok-4, Failed check: SAFETY_CHECK_TYPE_BIO",
        },
        Said(
            "Content violates usage guidelines. Team: t, Model: grok-4, Failed check: SAFETY_CHECK_TYPE_BIO",
            "The caller does not have permission to execute the specified operation",
            "Blocked",
        ),
    ),
    "xAI, a key that may not": (
        403,
        {"code": "permission-denied", "error": "Access to the chat endpoint is denied"},
        Said("Access to the chat endpoint is denied", "permission-denied", "NoPermissions"),
    ),
    "xAI, only a text": (500, {"error": "boom"}, Said("boom", None)),
    "Gemini": (
        400,
        [{"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}],
        Said("API key not valid.", "400", type="INVALID_ARGUMENT"),
    ),
    "Gemini, at the status 200": (
        200,
        [{"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}],
        Said("The model is overloaded.", "503", type="UNAVAILABLE", status=503),
    ),
    "Fireworks": (
        404,
        {"error": {"object": "error", "type": "NOT_FOUND", "code": "NOT_FOUND", "message": "Model not found"}},
        Said("Model not found", "NOT_FOUND", "NotFound", "NOT_FOUND"),
    ),
    "DashScope": (
        400,
        {"error": {"message": "No.", "type": "invalid_request_error", "code": "invalid_parameter_error"}, "id": "c"},
        Said("No.", "invalid_parameter_error", type="invalid_request_error"),
    ),
    "DashScope, flat": (
        400,
        {
            "code": "DataInspectionFailed",
            "message": "Input data may contain inappropriate content.",
            "request_id": "r-1",
        },
        Said("Input data may contain inappropriate content.", "DataInspectionFailed", "Blocked"),
    ),
    "DashScope, no credit": (
        400,
        {"error": {"code": "Arrearage", "message": "Access denied", "type": "Arrearage"}},
        Said("Access denied", "Arrearage", "Blocked", "Arrearage"),
    ),
    "FastAPI": (404, {"detail": "Not Found"}, Said("Not Found", None, "NotFound")),
    "FastAPI, fields": (
        422,
        {"detail": [{"loc": ["body", "messages"], "msg": "Field required", "type": "missing"}]},
        Said("body.messages: Field required", None),
    ),
    "FastAPI, an upstream's JSON as a text": (
        400,
        {"detail": '{"error":{"message":"No.","type":"t","param":"p","code":"c"}}'},
        Said("No.", "c", type="t", param="p"),
    ),
    "FastAPI, an upstream's error as an object": (
        400,
        {"detail": {"error": {"message": "No.", "code": "c"}}},
        Said("No.", "c"),
    ),
    "LiteLLM's proxy": (
        429,
        {"error": {"message": "litellm.RateLimitError: No.", "type": "None", "param": "None", "code": "429"}},
        Said("litellm.RateLimitError: No.", "429", "Blocked"),
    ),
    "Cloudflare": (
        400,
        {"success": False, "errors": [{"code": 7003, "message": "No route"}], "result": None},
        Said("No route", "7003"),
    ),
    "Zhipu": (
        429,
        {"error": {"code": "1113", "message": "Insufficient balance"}},
        Said("Insufficient balance", "1113", "Blocked"),
    ),
    "Zhipu, its filter": (
        400,
        {"error": {"code": "1301", "message": "unsafe"}, "contentFilter": [{"role": "user", "level": 1}]},
        Said("unsafe", "1301", "Blocked"),
    ),
    "MiniMax": (
        200,
        {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}},
        Said("insufficient balance (1008)", "minimax_1008", "Blocked", status=402),
    ),
    "MiniMax, its filter": (
        200,
        {"id": "x", "choices": None, "base_resp": {"status_code": 1026, "status_msg": "input new_sensitive"}},
        Said("input new_sensitive (1026)", "minimax_1026", "Blocked"),
    ),
    "MiniMax, a number that Zhipu has too": (
        200,
        {"base_resp": {"status_code": 1002, "status_msg": "rate limit"}},
        Said("rate limit (1002)", "minimax_1002", "Blocked", status=429),
    ),
    "Moonshot, its filter": (
        400,
        {
            "error": {
                "type": "content_filter",
                "message": "The request was rejected because it was considered high risk",
            }
        },
        Said(
            "The request was rejected because it was considered high risk",
            "content_filter",
            "Blocked",
            "content_filter",
        ),
    ),
    "Azure, its filter": (
        400,
        {
            "error": {
                "message": "The response was filtered due to the prompt triggering the content management policy.",
                "type": None,
                "param": "prompt",
                "code": "content_filter",
                "status": 400,
                "innererror": {
                    "code": "ResponsibleAIPolicyViolation",
                    "content_filter_result": {
                        "hate": {"filtered": False, "severity": "safe"},
                        "violence": {"filtered": True, "severity": "high"},
                        "jailbreak": {"filtered": True, "detected": True},
                    },
                },
            }
        },
        Said(
            "The response was filtered due to the prompt triggering the content management policy. "
            "(violence, jailbreak)",
            "content_filter",
            "Blocked",
            param="prompt",
        ),
    ),
    "nothing": (400, None, Said(None, None)),
}


@one_test_for("content_type", ["application/json", "application/octet-stream", "text/event-stream", ""])
@one_test_for(("status", "body", "said"), BODIES.values(), ids=BODIES)
def test_what_an_error_says_is_read_under_any_content_type(
    status: int, body: Any, said: Said, content_type: str
) -> None:
    sent = b"" if body is None else json.dumps(body).encode()
    error = http_error(status, {"content-type": content_type}, sent, NOW, ERRORS)
    assert (
        Said(
            error.provider_message, error.provider_code, str(error.code), error.provider_type, error.param, said.status
        )
        == said
    )
    assert error.http_status == said.status or status
    assert said.message is None or said.message in str(error)


IN_A_STREAM = {name: (body, said) for name, (_, body, said) in BODIES.items() if body is not None}


@one_test_for(("body", "said"), IN_A_STREAM.values(), ids=IN_A_STREAM)
def test_the_same_is_read_from_an_event_of_a_stream(body: Any, said: Said) -> None:
    failure = ERRORS.failure_in(body)
    assert failure is not None
    assert (failure.provider_code, failure.provider_type, failure.param) == (said.code, said.type, said.param)
    assert failure.provider_message == said.message
    if said.word == "Blocked" and said.code not in {"invalid_request_error"}:  # DeepSeek says it by the status alone
        assert failure.code is LanguageModelErrorCode.BLOCKED


def test_a_failed_call_of_a_tool_is_in_the_log_with_what_the_model_wrote() -> None:
    failure = ERRORS.failure_in(BODIES["Groq"][1])
    assert failure is not None
    assert "<function=look_up>" in failure.body


NO_ERRORS = {
    "a chunk": {"id": "c", "choices": [{"index": 0, "delta": {"content": "a"}}]},
    "an error that is none": {"error": None, "choices": []},
    "an empty error": {"error": {}, "choices": []},
    "an event of an agent": {"detail": {"step": 3}},
    "an empty sentence": {"message": ""},
    "a chunk of usage": {"choices": [], "usage": {"total_tokens": 3}},
    "MiniMax, an answer": {"choices": [], "base_resp": {"status_code": 0, "status_msg": "success"}},
    "Groq's own": {"choices": [], "x_groq": {"id": "req_1", "usage": {}}},
    "a list of chunks": [{"choices": []}, {"choices": []}],
    "a text": "error",
    "a number": 4,
    "nothing": None,
    "an object of nothing": {},
}


@one_test_for("document", NO_ERRORS.values(), ids=NO_ERRORS)
def test_what_is_no_error_is_not_read_as_one(document: Any) -> None:
    assert ERRORS.failure_in(document) is None


STOPPED = {
    "beside choices": (
        {"error": {"code": 502, "message": "No."}, "choices": [{"delta": {"content": ""}, "finish_reason": "error"}]},
        "No.",
        502,
    ),
    "a text beside choices": ({"error": "No.", "choices": []}, "No.", None),
    "Groq, in its own field": ({"choices": [], "x_groq": {"id": "r", "error": "over capacity"}}, "over capacity", None),
    "Groq, its event": ({"error": {"message": "No.", "status_code": 400, "code": "tool_use_failed"}}, "No.", 400),
    "MiniMax beside choices": (
        {"choices": [], "base_resp": {"status_code": 1002, "status_msg": "No."}},
        "No. (1002)",
        429,
    ),
    "without a reason": ({"error": {"param": None}}, "it gave no reason", None),
}


@one_test_for(("chunk", "message", "status"), STOPPED.values(), ids=STOPPED)
def test_an_error_is_found_before_the_choices_beside_it(chunk: Any, message: str, status: int | None) -> None:
    failure = ERRORS.failure_in(chunk)
    assert isinstance(failure, UpstreamFailureError)
    assert (failure.provider_message, failure.http_status) == (message, status)


KINDS = {
    "a spent quota is no rate limit": (UpstreamHTTPError(429, provider_code="insufficient_quota"), ErrorKind.NO_CREDIT),
    "a rate limit": (UpstreamHTTPError(429, provider_code="1302"), ErrorKind.RATE_LIMIT),
    "a server that is down": (UpstreamHTTPError(502, provider_code="502"), ErrorKind.UNAVAILABLE),
    "a type without a code": (UpstreamHTTPError(400, provider_type="content_filter"), ErrorKind.CONTENT_POLICY),
    "nothing that is known": (UpstreamHTTPError(400, provider_code="3230"), None),
    "a name of Google": (UpstreamFailureError("No.", provider_type="RESOURCE_EXHAUSTED"), ErrorKind.RATE_LIMIT),
}


@one_test_for(("error", "kind"), KINDS.values(), ids=KINDS)
def test_what_kind_of_error_it_is(error: UpstreamHTTPError, kind: ErrorKind | None) -> None:
    assert ERRORS.kind_of(error) is kind


OVERFLOWS = {
    "Zhipu": (UpstreamHTTPError(400, provider_code="1261", provider_message="No."), Overflow()),
    "a number that is no code": (UpstreamHTTPError(400, provider_message="No. 1261", body='{"t":1261}'), None),
    "GitHub Models": (
        UpstreamHTTPError(413, provider_message="Too large.", provider_code="tokens_limit_reached"),
        Overflow(),
    ),
    "llama.cpp, by its type": (
        UpstreamHTTPError(400, provider_code="400", body='{"error":{"type":"exceed_context_size_error"}}'),
        Overflow(),
    ),
    "a quota": (UpstreamHTTPError(429, provider_code="1302"), None),
}


@one_test_for(("error", "overflow"), OVERFLOWS.values(), ids=OVERFLOWS)
def test_a_code_says_that_an_input_is_too_long(error: UpstreamHTTPError, overflow: Overflow | None) -> None:
    assert ERRORS.overflow(error) == overflow


REFUSED_STATE = {
    "Gemini": ("Invalid thought signature.", Carried.REASONING),
    "Gemini, corrupted": ("Corrupted thought signature", Carried.REASONING),
    "OpenRouter": ("invalid_encrypted_content: item_id did not match", Carried.REASONING),
    "Anthropic behind a gateway": ("messages.1: Invalid `signature` in `thinking` block", Carried.REASONING),
    "a signature that was not sent": (
        "Function call is missing a thought_signature in functionCall parts",
        Carried.NOTHING,
    ),
    "something else": ("No.", Carried.NOTHING),
}


@one_test_for(("message", "refused"), REFUSED_STATE.values(), ids=REFUSED_STATE)
def test_which_carried_state_is_refused(message: str, refused: Carried) -> None:
    assert ERRORS.refused(UpstreamHTTPError(400, provider_message=message)) is refused
    assert ERRORS.refused(UpstreamHTTPError(500, provider_message=message)) is Carried.NOTHING


NAMES = (
    "error errors detail message msg code type param status metadata raw reasons provider_name base_resp status_code "
    "status_msg choices x_groq details innererror content_filter_result filtered retry_after retryDelay loc object"
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES.split()), inner, max_size=4),
    max_leaves=12,
)
SENT = {"stream_options": {}, "user": "x"}


@given(JSON, st.sampled_from([200, 400, 422, 429, 500]))
def test_any_document_is_an_error_with_fields_of_their_types_or_none(document: Any, status: int) -> None:
    failure = ERRORS.failure_in(document)
    error = http_error(status, {}, json.dumps(document).encode(), NOW, ERRORS)
    for one in (error, failure):
        if one is not None:
            for name in ("provider_message", "provider_code", "provider_type", "param"):
                assert getattr(one, name) is None or isinstance(getattr(one, name), str)
            assert one.retry_after is None or one.retry_after >= 0
            assert ERRORS.kind_of(one) is None or isinstance(ERRORS.kind_of(one), ErrorKind)
            assert ERRORS.refused_fields(one, SENT) <= {"stream_options", "user", 'user="x"'}
            assert ERRORS.overflow(one) is None or isinstance(ERRORS.overflow(one), Overflow)
