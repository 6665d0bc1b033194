"""An upstream that is asked for an answer shows each exchange to its capture: attempts, documents, refusals."""

import asyncio
import gc
import gzip
import json
from collections.abc import Iterable

import pytest

from partstream import CancellationTokenSource
from partstream.conversation.preparation import CountTokens, RequestSettings
from partstream.upstream.configuration import RetryPolicy
from partstream.upstream.context import CapturedRequest
from partstream.upstream.endpoint import Secret
from partstream_devtools.bundles.exchange import Bundle, ExchangeEnd, HowEnded, RecordedExchange, ResponseHead
from partstream_devtools.capturing.bundling import bundle_of, snapshot_of
from partstream_devtools.capturing.capture import LastAnswers
from partstream_devtools.testing.faults import End, EndKind, Head, Send, Stall, Step, document, event_stream
from upstreams.upstreams import Answer, ask, gateway_to, replay, respond, run, server_of

KEY = "sk-planted-0123456789"
COMPLETED = b'data: {"type":"response.completed","response":{"id":"r"}}\n\n'
DELTA = b'data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Hello"}\n\n'


async def captured(url: str, said: str = "Hi", **changes: object) -> tuple[Bundle, Answer]:
    answers = LastAnswers()
    async with gateway_to(url, **changes) as gateway:
        with answers.capture("chat", "text") as answer:
            heard = await ask(gateway, said)
    return bundle_of(snapshot_of([answer]), "chat"), heard


def exchanges_with(*replies: Iterable[Step], is_proxy: bool = False, **changes: object) -> tuple[RecordedExchange, ...]:
    """The exchanges with a server that replies so, or with one behind a proxy that does."""
    found: list[Bundle] = []

    async def test() -> None:
        async with server_of(*replies) as (url, _):
            through = {"proxy": url.removesuffix("/v1"), "allow_insecure_http": True} if is_proxy else {}
            far = "http://models.example/v1"
            bundle, _heard = await captured(far if is_proxy else url, **through, **changes)
            found.append(bundle)

    run(test())
    return found[0].exchanges


def test_the_request_each_read_and_the_end_are_kept():
    steps = event_stream([Send(DELTA), Send(DELTA), Send(COMPLETED)])
    (exchange,) = exchanges_with(steps)
    assert exchange.protocol == "openresponses"
    assert exchange.request is not None
    assert (exchange.request.method, exchange.request.path) == ("POST", "/v1/responses")
    assert json.loads(exchange.request.body)["stream"] is True
    assert exchange.head is not None
    assert exchange.head.status == 200
    assert exchange.body == DELTA + DELTA + COMPLETED
    assert exchange.end.how is HowEnded.WHOLE
    times = [exchange.request.sent_at, exchange.head.at, *(chunk.at for chunk in exchange.chunks), exchange.end.at]
    assert None not in times
    assert times == sorted(times)  # type: ignore[type-var]


def test_each_attempt_is_an_exchange_of_the_same_answer():
    busy = document(503, b'{"error":{"message":"busy"}}')
    retry = RetryPolicy(attempts=3, first_wait=0.001, longest_wait=1)
    exchanges = exchanges_with(busy, busy, event_stream([Send(DELTA), Send(COMPLETED)]), retry=retry)
    assert [exchange.head and exchange.head.status for exchange in exchanges] == [503, 503, 200]
    assert {exchange.answer for exchange in exchanges} == {1}
    assert exchanges[0].body == b'{"error":{"message":"busy"}}'
    offsets = [exchange.offset for exchange in exchanges]
    assert offsets == sorted(offsets)  # type: ignore[type-var]


ONCE = RetryPolicy(attempts=1)
RESPONSE = b'{"id":"r","object":"response","status":"completed","output":[]}'

ENDS: dict[str, tuple[Iterable[Step], HowEnded, bytes]] = {
    "a document": (document(200, RESPONSE), HowEnded.WHOLE, RESPONSE),
    "a refusal": (document(400, b'{"error":{"message":"no"}}'), HowEnded.WHOLE, b'{"error":{"message":"no"}}'),
    "a web page": (document(200, b"<html>", "text/html"), HowEnded.WHOLE, b"<html>"),
    "a cut in the middle": ([*list(event_stream([Send(DELTA)]))[:-1], End(EndKind.CLOSED)], HowEnded.CUT, DELTA),
    "no head": ([End(EndKind.CLOSED)], HowEnded.NO_RESPONSE, b""),
}


ways = pytest.mark.parametrize("is_proxy", [False, True], ids=["straight", "through a proxy"])


@ways
@pytest.mark.parametrize(("steps", "how", "body"), ENDS.values(), ids=ENDS)
def test_each_way_to_end_is_kept(steps: Iterable[Step], how: HowEnded, body: bytes, is_proxy: bool):
    (exchange,) = exchanges_with(steps, retry=ONCE, is_proxy=is_proxy)
    assert (exchange.end.how, exchange.body) == (how, body)
    assert (exchange.end.error is not None) is (how in {HowEnded.CUT, HowEnded.NO_RESPONSE})


@ways
def test_a_packed_body_is_kept_unpacked_and_its_head_does_not_say_that_it_is_packed(is_proxy: bool):
    packed = gzip.compress(DELTA + COMPLETED)
    head = Head(200, (("content-type", "text/event-stream"), ("content-encoding", "gzip")))
    (exchange,) = exchanges_with([head, Send(packed), End()], is_proxy=is_proxy)
    assert exchange.body == DELTA + COMPLETED
    assert exchange.head is not None
    assert "content-encoding" not in dict(exchange.head.headers)


def test_a_cancelled_answer_has_what_came_until_then():
    async def test() -> None:
        steps = [*list(event_stream([Send(DELTA), Stall()]))]
        answers, source, heard = LastAnswers(), CancellationTokenSource(), Answer()
        async with server_of(steps) as (url, _), gateway_to(url) as gateway:
            with answers.capture("chat", "text") as answer:
                asking = asyncio.create_task(respond(gateway, "Hi", heard, source.token))
                await heard.came.wait()
                source.cancel()
                await asking
        (exchange,) = bundle_of(snapshot_of([answer]), "chat").exchanges
        assert (exchange.end.how, exchange.body) == (HowEnded.CANCELLED, DELTA)

    run(test())


def test_lists_of_models_and_token_counts_are_no_exchanges_of_an_answer():
    async def test() -> None:
        settings = RequestSettings(count_tokens=CountTokens.UPSTREAM)
        answers = LastAnswers()
        async with replay(models=(), discover=True, request=settings) as (upstream, gateway):
            with answers.capture("chat", "text") as answer:
                await gateway.provide_language_model_chat_information(True, CancellationTokenSource().token)
                assert (await ask(gateway, "Hi")).error is None
            assert len(upstream.requests) >= 1
        assert [exchange.request.path for exchange in answer.exchanges] == ["/v1/responses"]

    run(test())


def test_no_key_is_in_a_capture_wherever_it_was_sent_and_whatever_the_server_repeats():
    said = f'{{"error":{{"message":"bad key {KEY}"}}}}'.encode()
    sent = {"x-team": "team-secret-0123", "x-auth": KEY, "x-title": "Partstream"}
    exchanges = exchanges_with(
        document(401, said, headers=[("x-echo", KEY)]), retry=ONCE, api_key=Secret(KEY), headers=sent
    )
    (exchange,) = exchanges
    assert exchange.request is not None
    headers = dict(exchange.request.headers)
    assert headers["authorization"] == "Bearer ***"
    assert headers["x-team"] == "***"
    assert KEY not in repr(exchange)
    assert "team-secret-0123" not in repr(exchange)
    assert exchange.body == said.replace(KEY.encode(), b"R" * len(KEY))


def test_the_memory_of_an_answer_holds_no_key_but_in_what_removes_it():
    async def test() -> None:
        answers = LastAnswers()
        async with replay(token=KEY, api_key=Secret(KEY)) as (_, gateway):
            with answers.capture("chat", "text") as answer:
                assert (await ask(gateway, "Hi")).error is None
        (exchange,) = answer.exchanges
        shown = [repr(one) for one in (exchange, exchange.redactor, exchange.request, exchange.head, answer.entries)]
        assert KEY not in "".join(shown)
        held: list[object] = [answer.entries, exchange.request, exchange.head, exchange.end]
        texts = []
        while held:  # whatever can be reached from what is kept
            one = held.pop()
            if isinstance(one, str | bytes):
                texts.append(one if isinstance(one, str) else one.decode(errors="replace"))
            elif isinstance(one, tuple | list | dict | CapturedRequest | ResponseHead | ExchangeEnd):
                held += gc.get_referents(one)
        assert len(texts) > 10
        assert not [text for text in texts if KEY in text]

    run(test())


def test_what_a_person_writes_of_the_words_in_other_headers_stays():
    said = b'{"error":{"message":"Partstream is unknown"}}'
    (exchange,) = exchanges_with(document(401, said), retry=ONCE, headers={"x-title": "Partstream"})
    assert exchange.body == said


def test_without_a_capture_nothing_is_kept():
    async def test() -> None:
        async with server_of(event_stream([Send(COMPLETED)])) as (url, _), gateway_to(url) as gateway:
            await ask(gateway, "Hi")

    run(test())
