"""Sentences of real servers, as their users reported them in public."""

import pytest

from partstream.errors import UpstreamConnectionError, UpstreamFailureError, UpstreamHTTPError
from partstream.protocols.errors import COMMON_ERRORS, PHRASINGS, Overflow
from rows import one_test_for

read_overflow = COMMON_ERRORS.overflow

SAID = [
    ("The input token count (1054016) exceeds the maximum number of tokens allowed (1048576).", 1_048_576, 1_054_016),
    ("The input token count (1,054,016) exceeds the maximum number of tokens allowed 1,048,576.", 1_048_576, 1_054_016),
    ("The input token count exceeds the maximum number of tokens allowed.", None, None),
    (
        (
            "Unable to submit request because the input token count is 1251952 but model only supports up to "
            "1048576. Reduce the input token count and try again."
        ),
        1_048_576,
        1_251_952,
    ),
    ("prompt is too long: 204716 tokens > 200000 maximum", 200_000, 204_716),
    ("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input", 178_667, 188_240),
    (
        (
            "This model's maximum context length is 4097 tokens. However, you requested 4203 tokens (3703 in "
            "the messages, 500 in the completion). Please reduce the length of the messages or completion."
        ),
        3597,
        3703,
    ),
    (
        (
            "This model's maximum context length is 2049 tokens, however you requested 2074 tokens (2049 in "
            "your prompt; 25 for the completion). Please reduce your prompt; or completion length."
        ),
        2024,
        2049,
    ),
    (
        (
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 "
            "tokens (130000 of text input, 5000 of tool input, 5000 in the output). Please reduce the length "
            "of either one."
        ),
        126_072,
        135_000,
    ),
    (
        (
            "'max_tokens' is too large: 2000. This model's maximum context length is 4096 tokens and your "
            "request has 2104 input tokens"
        ),
        2096,
        2104,
    ),
    (
        (
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 "
            "tokens. Please reduce the length of the messages."
        ),
        8192,
        8545,
    ),
    ("The maximum context length is 32,768 tokens for this model", 32_768, None),
    ("Your input exceeds the context window of this model. Please adjust your input and try again.", None, None),
    ("The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).", 1_048_575, 1_196_265),
    ("ValidationException: Input is too long for requested model.", None, None),
    ("This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131_072, 537_812),
    ("prompt token count of 135000 exceeds the limit of 128000", 128_000, 135_000),
    (
        ("Prompt contains 40960 tokens and 0 draft tokens, too large for model with 32768 maximum context length"),
        32_768,
        40_960,
    ),
    ("The prompt is too large for model with 32768 maximum context length", 32_768, None),
    ("request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it", 8192, 9000),
    ("the request exceeds the available context size (8192 tokens), try increasing the context size", 8192, None),
    ("the request exceeds the available context size, try increasing the context size", None, None),
    (
        (
            "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: "
            "7024>= n_ctx: 4096). Try to load the model with a larger context length"
        ),
        4096,
        7024,
    ),
    (
        (
            "Trying to keep the first 13000 tokens when context the overflows. However, the model is loaded "
            "with context length of only 4096 tokens, which is not enough."
        ),
        4096,
        13_000,
    ),
    ("Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)", 7424, 15_028),
    ("Invalid request: Your request exceeded model token limit: 262144 (requested: 270001)", 262_144, 270_001),
    ("invalid params, context window exceeds limit (2013)", None, None),
    ("Input length (265330) exceeds model's maximum context length (262144).", 262_144, 265_330),
    ("Requested token count exceeds the model's maximum context length of 131072 tokens", 131_072, None),
    (
        (
            "Requested token count exceeds the model's maximum context length of 131072 tokens. You requested a total "
            "of 135096 tokens: 131000 tokens from the input messages and 4096 tokens for the completion."
        ),
        126_976,
        131_000,
    ),
    ("The input (140000 tokens) is longer than the model's context length (131072 tokens).", 131_072, 140_000),
    ("Input length 140000 exceeds the maximum allowed input length of 131040 tokens.", 131_040, 140_000),
    (
        (
            "This model's maximum context length is 32768 tokens. However, you requested 4096 output tokens and your "
            "prompt contains at least 28673 input tokens, for a total of at least 32769 tokens. Please reduce it."
        ),
        28_672,
        None,
    ),
    (
        "the prompt is longer than the context length currently available to the model; shorten the prompt or load it",
        None,
        None,
    ),
    ("the input length exceeds the context length", None, None),
    ("prompt too long; exceeded max context length by 317 tokens", None, None),
    ("Request body too large for gpt-4o model. Max size: 8000 tokens.", 8000, None),
    ("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]", 129_024, None),
    (
        "Please reduce the length of the messages or completion. Current length is 8500 while limit is 8192",
        8192,
        8500,
    ),
    ("Invalid request: Your request exceeded model token limit : 131072", 131_072, None),
    ("Input token length too long", None, None),
    ("Prompt exceeds max length", None, None),
    ("Prompt 超长", None, None),
    ('{"error":{"code":400,"message":"too large","n_prompt_tokens":9000,"n_ctx":8192}}', 8192, 9000),
    ("Please reduce the length of the messages or completion.", None, None),
    ("Prompt is too long", None, None),
]


@one_test_for(("said", "limit", "count"), SAID)
def test_an_input_that_is_too_long_is_read_in_the_words_of_each_server(said, limit, count):
    expected = Overflow(limit, count)
    assert read_overflow(UpstreamHTTPError(400, provider_message=said)) == expected
    assert read_overflow(UpstreamFailureError(said)) == expected


def test_every_phrasing_has_a_sentence_that_is_read_by_it():
    first = {next(row for row in PHRASINGS if row.search(said)) for said, _, _ in SAID}
    assert first == set(PHRASINGS)


@pytest.mark.parametrize(
    "code", ["context_length_exceeded", "model_context_window_exceeded", "exceed_context_size_error"]
)
def test_a_code_says_it_without_a_sentence(code):
    assert read_overflow(UpstreamHTTPError(400, provider_code=code)) == Overflow()
    assert read_overflow(UpstreamFailureError("no", provider_code=code)) == Overflow()


def test_a_text_of_the_conversation_that_is_too_long_is_an_input_that_is_too_long():
    said = "Invalid 'messages[0].content': string too long. Expected a string with maximum length 10485760"
    error = UpstreamHTTPError(400, provider_message=said, provider_code="string_above_max_length")
    assert read_overflow(error) == Overflow()


def test_the_fields_of_an_error_say_more_than_its_sentence():
    body = '{"error":{"message":"the request exceeds the available context size","n_prompt_tokens":9000,"n_ctx":8192}}'
    said = "the request exceeds the available context size, try increasing it"
    assert read_overflow(UpstreamHTTPError(400, provider_message=said, body=body)) == Overflow(8192, 9000)
    assert read_overflow(UpstreamFailureError(said, body=body)) == Overflow(8192, 9000)


def test_a_request_of_too_many_bytes_says_nothing_of_tokens():
    expected = Overflow(speaks_of_tokens=False)
    assert read_overflow(UpstreamHTTPError(413)) == expected
    assert read_overflow(UpstreamHTTPError(400, provider_code="request_too_large")) == expected


def test_a_sentence_deep_in_the_answer_of_a_gateway_is_found():
    body = '{"error": {"message": "Bad Request", "param": {"cause": "prompt is too long: 12 tokens > 10 maximum"}}}'
    error = UpstreamHTTPError(400, provider_message="Bad Request", body=body)
    assert read_overflow(error) == Overflow(10, 12)


@one_test_for(
    "error",
    [
        UpstreamHTTPError(429, provider_message="prompt is too long: 204716 tokens > 200000 maximum"),
        UpstreamHTTPError(400, provider_code="rate_limit_exceeded", provider_message="context_length_exceeded"),
        UpstreamHTTPError(
            413,
            provider_message="Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7000",
        ),
        UpstreamHTTPError(400, provider_message="exceeds the limit of 60000 tokens per minute"),
        UpstreamFailureError("prompt token count of 9 exceeds the limit of 8 tokens a day"),
        UpstreamHTTPError(413, provider_message="You exceeded your current quota"),
        UpstreamHTTPError(400, provider_message="max_tokens must be at least 1"),
        UpstreamHTTPError(400, provider_message="Too many tokens, please wait before trying again."),
        UpstreamHTTPError(
            413,
            provider_message="Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7000",
            provider_code="rate_limit_exceeded",
        ),
        UpstreamHTTPError(
            400,
            provider_message="Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum "
            "length 40, but got a string with length 46 instead.",
            provider_code="string_above_max_length",
        ),
        UpstreamHTTPError(
            400,
            provider_message="Invalid 'prompt_cache_key': string too long.",
            provider_code="string_above_max_length",
        ),
        UpstreamHTTPError(400, provider_message="Range of max_tokens should be [1, 8192]"),
        UpstreamHTTPError(500),
        UpstreamFailureError("overloaded", provider_code="overloaded_error"),
        UpstreamConnectionError("http://x", "prompt is too long"),
    ],
)
def test_limits_of_a_rate_and_all_other_errors_are_none(error):
    assert read_overflow(error) is None


def test_numbers_under_which_the_input_would_fit_are_not_believed():
    error = UpstreamHTTPError(400, provider_message="prompt is too long: 10 tokens > 200000 maximum")
    assert read_overflow(error) == Overflow()


def test_a_long_answer_is_read_in_linear_time():
    error = UpstreamFailureError("maximum context length is 1 tokens " * 100_000)
    assert read_overflow(error) == Overflow(1, None)
