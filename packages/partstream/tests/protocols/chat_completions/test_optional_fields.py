"""Which optional fields a refusal names, in the words of real servers, and what the body is without them."""

from typing import Any

import pytest

from partstream.codec.json_codec import dumps
from partstream.errors import UpstreamError, UpstreamFailureError, UpstreamHTTPError
from partstream.protocols.chat_completions.errors import ERRORS, LEAVE_OUT, OPTIONAL_FIELDS
from partstream.protocols.errors import read_error_body
from partstream.protocols.serve import WireRequest
from rows import one_test_for

BODY: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "user", "name": "bob", "content": "Hi"},
        {"role": "assistant", "content": "", "reasoning_content": "Hm.", "tool_calls": [{"id": "c"}]},
        {"role": "tool", "tool_call_id": "c", "content": "4"},
    ],
    "stream": True,
    "stream_options": {"include_usage": True, "include_obfuscation": False},
    "tools": [{"type": "function", "function": {"name": "f", "strict": False}}],
    "tool_choice": "required",
    "parallel_tool_calls": True,
    "reasoning_effort": "minimal",
    "max_tokens": 500,
    "temperature": 0.2,
    "presence_penalty": 0.5,
    "prompt_cache_key": "k",
    "store": False,
    "thinking": {"type": "enabled"},
    "stop": ["x"],
}


def _refused(said: str | dict[str, Any], status: int = 400, param: str | None = None) -> set[str]:
    if isinstance(said, str):
        error = UpstreamHTTPError(status, provider_message=said, param=param)
    else:
        read = read_error_body(said)
        error = UpstreamHTTPError(status, provider_message=read.message, param=read.param)
    return set(ERRORS.refused_fields(error, BODY))


REFUSALS: dict[str, tuple[str | dict[str, Any], set[str]]] = {
    "OpenAI, a field that it does not know": (
        "Unrecognized request argument supplied: stream_options",
        {"stream_options"},
    ),
    "OpenAI, a field within a field": (
        "Unknown parameter: 'stream_options.include_obfuscation'.",
        {"stream_options.include_obfuscation"},
    ),
    "OpenAI, by param": (
        {
            "error": {
                "message": "Unsupported parameter: 'max_tokens' is not supported with this model. "
                "Use 'max_completion_tokens' instead.",
                "param": "max_tokens",
                "code": "unsupported_parameter",
            }
        },
        {"max_tokens"},
    ),
    "OpenAI, by param alone": ({"error": {"message": "No.", "param": "parallel_tool_calls"}}, {"parallel_tool_calls"}),
    "OpenAI, a value": (
        "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is allowed.",
        {"temperature=0.2"},
    ),
    "OpenAI, an effort": (
        (
            "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: "
            "'low', 'medium', and 'high'."
        ),
        {'reasoning_effort="minimal"'},
    ),
    "OpenAI, tools beside an effort": (
        (
            "Function tools with reasoning_effort are not supported for gpt-5.5 in /v1/chat/completions. Please use "
            "/v1/responses instead."
        ),
        {"reasoning_effort beside tools"},
    ),
    "OpenAI, too many tokens of an answer": (
        "max_tokens is too large: 500. This model supports at most 400 completion tokens, whereas you provided 500.",
        {"max_tokens=500"},
    ),
    "Mistral": (
        {
            "object": "error",
            "message": {
                "detail": [
                    {"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"},
                    {"loc": ["body", "prompt_cache_key"], "msg": "Extra inputs are not permitted"},
                ]
            },
        },
        {"stream_options", "prompt_cache_key"},
    ),
    "Cerebras": (
        "messages.1.assistant.reasoning_content: property 'messages.1.assistant.reasoning_content' is unsupported",
        {"messages[].reasoning_content"},
    ),
    "Groq": (
        (
            "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property "
            "'reasoning_content' is unsupported)]"
        ),
        {"messages[].reasoning_content"},
    ),
    "Cerebras, a word": ("property 'store' is unsupported", {"store"}),
    "a place in the messages": (
        {"error": {"message": "Unknown parameter.", "param": "messages[1].reasoning_content"}},
        {"messages[].reasoning_content"},
    ),
    "xAI": ("Argument not supported on this model: stop", {"stop"}),
    "xAI, in camel case": ("Model grok-4 does not support parameter presencePenalty.", {"presence_penalty"}),
    "xAI, an effort": ("Model grok-4 does not support parameter reasoningEffort.", {"reasoning_effort"}),
    "Moonshot, a forced choice": (
        "tool_choice 'required' is incompatible with thinking enabled",
        {'tool_choice="required"'},
    ),
    "DeepSeek": ("deepseek-reasoner does not support this tool_choice", {'tool_choice="required"'}),
    "OpenRouter": (
        "No endpoints found that support the provided 'tool_choice' value.",
        {'tool_choice="required"'},
    ),
    "Moonshot, a strict schema": ("tools.function.strict: 'strict' is not supported", {"tools[].function.strict"}),
    "DashScope, a range": ("Range of max_tokens should be [1, 400]", {"max_tokens=500"}),
    "Gemini": (
        {
            "error": {
                "code": 400,
                "message": 'Invalid JSON payload received. Unknown name "parallel_tool_calls": Cannot find field.',
            }
        },
        {"parallel_tool_calls"},
    ),
    "a server in Rust names all that it knows": (
        "unknown field `stream_options`, expected one of `messages`, `temperature`, `max_tokens`, `store`",
        {"stream_options"},
    ),
    "vLLM": (
        "[{'type': 'extra_forbidden', 'loc': ('body', 'prompt_cache_key'), 'msg': 'Extra inputs are not permitted'}]",
        {"prompt_cache_key"},
    ),
    "Fireworks": (
        "Extra inputs are not permitted, field: 'prompt_cache_key', value: 'k'",
        {"prompt_cache_key"},
    ),
    "LiteLLM": (
        (
            "litellm.UnsupportedParamsError: anthropic does not support parameters: ['parallel_tool_calls'], for "
            "model=x. To drop these, set `litellm.drop_params=True`"
        ),
        {"parallel_tool_calls"},
    ),
    "LiteLLM, a value": (
        "gpt-5 models (including gpt-5-codex) don't support temperature=0.2. Only temperature=1 is supported.",
        {"temperature=0.2"},
    ),
    "Moonshot, a value": ("invalid temperature: only 1 is allowed for this model", {"temperature=0.2"}),
    "DeepSeek, a range": (
        "Invalid max_tokens value, the valid range of max_tokens is [1, 400]",
        {"max_tokens=500"},
    ),
    "Anthropic behind a gateway": (
        "max_tokens: 500 > 400, which is the maximum allowed number of output tokens for x",
        {"max_tokens=500"},
    ),
    "Anthropic behind a gateway, beside thinking": (
        "`temperature` may only be set to 1 when thinking is enabled.",
        {"temperature=0.2"},
    ),
    "Ollama, a model that does not think": ('"llama3.2" does not support thinking', {"reasoning_effort"}),
    "Ollama, a word": (
        'invalid reasoning value: \'minimal\' (must be "high", "medium", "low", "max" or "none")',
        {'reasoning_effort="minimal"'},
    ),
    "OpenRouter, a model that always thinks": (
        "Reasoning is mandatory for this endpoint and cannot be disabled.",
        {"reasoning_effort"},
    ),
    "Ollama, a model without tools": ('"gemma3" does not support tools', set()),
    "a word in a sentence": ("The thinking of this request is not supported by the user", set()),
    "what the server demands": (
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        set(),
    ),
    "what is missing": (
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1",
        set(),
    ),
    "a field that was not sent": ("Unknown parameter: 'reasoning_split'", set()),
    "a field that is only mentioned": ("See stream_options in the reference.", set()),
    "Mistral, a name": ("messages.0.user.name: Extra inputs are not permitted", {"messages[].name"}),
    "vLLM with Mistral's tokenizer, a name": (
        (
            "1 validation error for ChatCompletionRequest\nmessages.0.user.name\n  Extra inputs are not permitted "
            "[type=extra_forbidden, input_value='bob', input_type=str]"
        ),
        {"messages[].name"},
    ),
    "xAI, a name": ("Only messages of role 'user' can have a name.", {"messages[].name"}),
    "Groq, a name": ("'messages.0' : property 'name' is unsupported", {"messages[].name"}),
    "something else": ("Unexpected role 'user' after role 'tool'", set()),
    "a field that no request is valid without": ("'messages' is not supported", set()),
}


@one_test_for(("said", "names"), REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_names_the_fields_of_the_body(said: str | dict[str, Any], names: set[str]) -> None:
    assert _refused(said) == names
    assert _refused(said, 422) == names


@one_test_for("status", [401, 403, 413, 429, 500, 503])
def test_only_an_error_that_blames_the_request_names_a_field(status: int) -> None:
    assert _refused("Unknown parameter: 'stream_options'", status) == set()


UNKNOWN = "Unknown field stream_options"
BLAMED: dict[str, tuple[UpstreamError, set[str]]] = {
    "a type": (UpstreamFailureError(UNKNOWN, provider_type="invalid_request_error"), {"stream_options"}),
    "a status in the report": (UpstreamFailureError(UNKNOWN, http_status=400), {"stream_options"}),
    "a failure of the server": (UpstreamFailureError(UNKNOWN, provider_code="server_error"), set()),
}


@pytest.mark.parametrize(("error", "names"), BLAMED.values(), ids=BLAMED)
def test_an_error_inside_the_stream_names_a_field_too(error: UpstreamError, names: set[str]) -> None:
    assert ERRORS.refused_fields(error, BODY) == names


def _left(*names: str, body: dict[str, Any] = BODY) -> dict[str, Any]:
    return dict(LEAVE_OUT(WireRequest("/chat/completions", body), names).body)


def _but(**changes: Any) -> dict[str, Any]:
    return {name: value for name, value in {**BODY, **changes}.items() if value is not None}


LEFT: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "nothing": ((), BODY),
    "an unknown name": (("x",), BODY),
    "a field": (("stream_options",), _but(stream_options=None)),
    "a field within a field": (
        ("stream_options.include_obfuscation",),
        _but(stream_options={"include_usage": True}),
    ),
    "a field in every tool": (
        ("tools[].function.strict",),
        _but(tools=[{"type": "function", "function": {"name": "f"}}]),
    ),
    "a field in every message": (
        ("messages[].reasoning_content",),
        _but(
            messages=[
                BODY["messages"][0],
                {"role": "assistant", "content": "", "tool_calls": [{"id": "c"}]},
                BODY["messages"][2],
            ]
        ),
    ),
    "a field that has a twin": (("max_tokens",), _but(max_tokens=None, max_completion_tokens=500)),
    "both of the twins": (("max_tokens", "max_completion_tokens"), _but(max_tokens=None)),
    "a value of a field that has a twin": (("max_tokens=500",), _but(max_tokens=None)),
    "another value": (("max_tokens=400", "temperature=0.3"), BODY),
    "a value": (("temperature=0.2",), _but(temperature=None)),
    "a forced choice": (('tool_choice="required"',), _but(tool_choice="auto")),
    "every choice": (('tool_choice="required"', 'tool_choice="auto"'), _but(tool_choice=None)),
    "an effort beside tools": (("reasoning_effort beside tools",), _but(reasoning_effort="none")),
    "an effort beside tools, and that value": (
        ("reasoning_effort beside tools", 'reasoning_effort="none"'),
        _but(reasoning_effort=None),
    ),
    "several": (("store", "thinking", "stop"), _but(store=None, thinking=None, stop=None)),
}


@one_test_for(("names", "body"), LEFT.values(), ids=LEFT)
def test_the_body_is_the_same_without(names: tuple[str, ...], body: dict[str, Any]) -> None:
    before = dumps(BODY)
    assert _left(*names) == body
    assert dumps(BODY) == before


def test_tools_without_an_effort_get_the_effort_that_passes() -> None:
    """gpt-5.5 and newer reason by default: tools alone are refused."""
    body = {"model": "m", "tools": [{}]}
    error = UpstreamHTTPError(400, provider_message="Function tools with reasoning_effort are not supported for m")
    names = ERRORS.refused_fields(error, body)
    assert names == {"reasoning_effort beside tools"}
    sent = _left(*names, body=body)
    assert sent == {**body, "reasoning_effort": "none"}
    assert ERRORS.refused_fields(error, sent) == set()
    assert _left(*names, body={"model": "m"}) == {"model": "m"}


@one_test_for("row", OPTIONAL_FIELDS, ids=lambda row: row.name)
def test_every_row_is_left_out_once_it_is_refused(row: Any) -> None:
    value: Any = "some text"
    for name in reversed(row.path.split(".")):
        value = {name.removesuffix("[]"): [value] if name.endswith("[]") else value}
    body = {**value, row.only_beside: [{}]} if row.only_beside else value
    word = row.path.rpartition(".")[2]
    said = (
        "Function tools with reasoning_effort are not supported" if row.only_beside else f"Unknown parameter '{word}'"
    )
    names = ERRORS.refused_fields(UpstreamHTTPError(400, provider_message=said), body)
    assert len(names) == 1
    assert _left(*names, body=body) != body


ODD: list[dict[str, Any]] = [{}, {"messages": None}, {"messages": [1, None]}, {"tools": {}}, {"stream_options": 4}]


@one_test_for("body", ODD)
def test_a_body_of_another_form_stays_as_it_is(body: dict[str, Any]) -> None:
    assert _left("messages[].reasoning_content", "tools[].function.strict", "stream_options.x", body=body) == body


def test_a_long_answer_is_read_in_bounded_time() -> None:
    assert _refused("stream_options " * 100_000 + "is not supported") == set()
