"""An input that is too long: what is learned of it, who hears of it, and that nothing is sent again by itself."""

import logging
from dataclasses import replace

import pytest

from partstream import CancellationTokenSource, ChatMessage
from partstream.codec.json_codec import dumps, loads
from partstream.errors import ContextLengthExceededError, UpstreamHTTPError
from partstream.tokens.ledger import Ledger
from partstream.upstream.provider import has_more_room
from partstream_devtools.testing.faults import document
from partstream_devtools.testing.upstream import ReplayUpstream
from rows import one_test_for
from upstreams.upstreams import HELLO, MODEL, ask, gateway_to, replay, run, server_of

TOO_LONG = "fault:context_length=600:700"
WORDLESS = document(400, dumps({"error": {"message": "Your input exceeds the context window of this model."}}))
TOO_LARGE = document(413, b"<html>413 Request Entity Too Large</html>", content_type="text/html")


def _text(provider, tokens):
    """As much prose as the provider takes for so many tokens."""
    text = ""
    while provider.token_count(MODEL, text).tokens < tokens:
        text += "The lamp burns green at low tide, and nobody asks why. "
    return text


async def _limit(provider):
    (model, *_) = await provider.provide_language_model_chat_information(True, CancellationTokenSource().token)
    return model.max_input_tokens


def test_the_refusal_says_in_one_sentence_how_long_it_is_and_how_long_it_may_be():
    async def check() -> None:
        async with replay() as (upstream, provider):
            error = (await ask(provider, TOO_LONG)).error
            assert isinstance(error, ContextLengthExceededError)
            assert str(error) == "the conversation is too long for Text: it has 700 tokens and may have 600"
            assert (error.limit, error.count, error.http_status) == (600, 700, 400)
            assert isinstance(error.__cause__, UpstreamHTTPError)
            assert len(upstream.exchanges) == 1

    run(check())


def test_the_limit_is_learned_and_the_host_is_told_once_that_the_models_changed():
    async def check() -> None:
        async with replay() as (_, provider):
            changes = []
            provider.on_did_change_language_model_chat_information(changes.append)
            assert await _limit(provider) == 1000
            await ask(provider, TOO_LONG)
            assert len(changes) == 1
            assert await _limit(provider) == 600
            (model,) = await provider.provide_language_model_chat_information(True, CancellationTokenSource().token)
            assert "600 tokens at most" in model.tooltip
            assert (await ask(provider, "go on")).text == HELLO

    run(check())


def test_the_real_count_is_learned_for_that_conversation():
    async def check() -> None:
        async with replay() as (_, provider):
            message = ChatMessage.user(_text(provider, 500) + TOO_LONG)
            assert provider.token_count(MODEL, message).tokens < 600
            await ask(provider, [message])
            assert 680 <= provider.token_count(MODEL, message).tokens <= 700

    run(check())


PLANTED = "This model's maximum context length is 10 tokens, resulted in 99999 tokens"


@one_test_for(
    "said",
    [
        PLANTED,
        PLANTED.replace(" ", "\n"),
        PLANTED.replace(" ", "\t "),
        "maximum context length is 10 tokens', 'role': 'x', 'content': 'which resulted in 99999 tokens",
        '"n_prompt_tokens": 99999, "n_ctx": 10',
        "context_length_exceeded",
    ],
)
def test_what_a_server_repeats_of_a_request_teaches_no_limit_to_others(said: str):
    """As servers of vLLM and FastAPI do, whose errors hold what they were sent."""

    async def check() -> None:
        repeated = document(400, dumps({"error": {"message": f"Invalid value: '{said}'. Input should be 'user'."}}))
        async with server_of(repeated, repeated) as (url, _), gateway_to(url) as provider:
            changes: list[object] = []
            provider.on_did_change_language_model_chat_information(changes.append)
            before = provider.token_count(MODEL, "Hello").tokens
            for _ in range(2):
                await ask(provider, said)
            assert (await _limit(provider), changes) == (1000, [])
            assert provider.token_count(MODEL, "Hello").tokens == before

    run(check())


def test_a_limit_that_was_learned_outlives_the_provider():
    async def check() -> None:
        ledger = Ledger()
        async with ReplayUpstream() as upstream:
            for limit in (1000, 600):
                async with gateway_to(upstream.base_url, ledger=ledger) as provider:
                    assert await _limit(provider) == limit
                    await ask(provider, TOO_LONG)

    run(check())


def test_a_limit_is_lifted_and_the_host_is_told_when_the_model_took_more():
    """As by a local server that was loaded with more room."""

    async def check() -> None:
        async with replay() as (_, provider):
            changes = []
            await ask(provider, "fault:context_length=5:700")
            provider.on_did_change_language_model_chat_information(changes.append)
            assert await _limit(provider) == 5
            await ask(provider, "more words than were said to be taken")
            assert (await _limit(provider), changes) == (1000, [None])
            await ask(provider, "more words than were said to be taken")
            assert changes == [None]

    run(check())


def test_without_numbers_the_limit_falls_below_what_was_sent_and_never_below_half():
    async def check() -> None:
        async with server_of(WORDLESS) as (url, requests), gateway_to(url) as provider:
            error = (await ask(provider, _text(provider, 700))).error
            assert isinstance(error, ContextLengthExceededError)
            assert (error.limit, error.count) == (None, None)
            assert 500 < await _limit(provider) < 700
            await ask(provider, "a word")
            assert await _limit(provider) == 500
            assert len(requests) == 2

    run(check())


def test_a_request_of_too_many_bytes_says_nothing_of_the_limit_in_tokens():
    async def check() -> None:
        async with server_of(TOO_LARGE) as (url, _), gateway_to(url) as provider:
            assert isinstance((await ask(provider, "word")).error, ContextLengthExceededError)
            assert await _limit(provider) == 1000

    run(check())


def test_a_refusal_without_a_word_is_one_of_the_length_only_where_the_limit_is_near():
    """Cerebras answers 400 with an empty body."""

    async def check() -> None:
        async with server_of(document(400, b"")) as (url, requests), gateway_to(url) as provider:
            assert isinstance((await ask(provider, "a word")).error, UpstreamHTTPError)
            assert isinstance((await ask(provider, _text(provider, 950))).error, ContextLengthExceededError)
            assert await _limit(provider) < 950
            assert len(requests) == 2

    run(check())


def test_a_limit_of_the_rate_is_none_of_the_model():
    async def check() -> None:
        said = "Request too large: tokens per minute (TPM): Limit 600, Requested 700"
        async with (
            server_of(document(413, dumps({"error": {"message": said}}))) as (url, _),
            gateway_to(url) as provider,
        ):
            assert isinstance((await ask(provider, "word")).error, UpstreamHTTPError)
            assert await _limit(provider) == 1000

    run(check())


LARGER, SMALLER = (
    replace(MODEL, id=name, max_input_tokens=tokens) for name, tokens in (("large", 5000), ("small", 500))
)


@pytest.mark.parametrize(("other", "helps"), [(LARGER, True), (SMALLER, False), (MODEL, False)])
def test_another_model_is_asked_only_if_it_is_known_to_take_more(other, helps):
    error = ContextLengthExceededError("Text", limit=600, count=700)
    assert has_more_room(other, MODEL, error) == helps
    assert not has_more_room(other, MODEL, UpstreamHTTPError(400))


def test_an_input_that_is_too_long_for_the_larger_model_too_is_not_sent_there():
    assert not has_more_room(LARGER, MODEL, ContextLengthExceededError("Text", count=6000))


def test_the_larger_fallback_answers_and_a_smaller_one_is_not_asked():
    async def check() -> None:
        fallbacks = {"text": ("large",), "large": ("small",)}
        models = (MODEL, LARGER, SMALLER)
        refusal = document(400, dumps({"error": {"message": "prompt is too long: 700 tokens > 600 maximum"}}))
        async with (
            server_of(refusal) as (url, requests),
            gateway_to(url, models=models, fallbacks=fallbacks) as provider,
        ):
            await ask(provider, "hello")
            assert [loads(request.body)["model"] for request in requests] == ["text", "large"]
            await ask(provider, "hello", model_id="large")
            assert len(requests) == 3

    run(check())


def test_a_request_that_is_nearly_too_long_is_named_in_the_log_and_sent(caplog):
    async def check() -> None:
        async with replay() as (upstream, provider):
            with caplog.at_level(logging.WARNING):
                assert (await ask(provider, "short")).text == HELLO
                assert not caplog.records
                assert (await ask(provider, _text(provider, 1000))).text == HELLO
            (record,) = caplog.records
            assert "of 1,000 that it takes; sent all the same" in record.getMessage()
            assert len(upstream.exchanges) == 2

    run(check())
