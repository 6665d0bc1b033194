"""A server keeps its last answers, with the exchanges of the upstream behind them and who asked; and none unasked."""

import asyncio
from typing import Any

from partstream.lm.parts import TextPart
from partstream.server.application import ServingApp, app
from partstream.upstream.endpoint import Secret
from partstream_devtools.captures import captured_answers
from partstream_devtools.capturing.bundling import bundle_of, snapshot_of
from partstream_devtools.capturing.capture import LastAnswers
from partstream_devtools.capturing.capture_socket import HAS_SOCKETS, newest_answer
from partstream_devtools.testing.upstream import ReplayUpstream
from upstreams.upstreams import gateway_to

from .asgi import call
from .providers import Driven, silent

KEY = "sk-planted-0123456789"
BODY = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
CODEX = {"user-agent": "codex_exec/0.169.0", "originator": "codex_exec"}


def captured(provider: Any) -> tuple[ServingApp, LastAnswers]:
    application, answers = app(provider), LastAnswers()
    application.taps = answers
    return application, answers


def test_an_answer_has_what_its_client_got_and_who_asked():
    async def answer(progress: Any, token: Any) -> None:
        progress.report(TextPart("Hello"))
        progress.report(TextPart(" you"))

    async def test() -> None:
        application, answers = captured(Driven(answer))
        await call(application, "/v1/chat/completions", BODY, headers=CODEX).end()
        (kept,) = answers.answers
        assert (kept.host, kept.model, kept.outcome) == ("serve, for codex", "m", "completed")
        assert [part for _, _, part in kept.entries] == [TextPart("Hello"), TextPart(" you")]

    asyncio.run(test())


def test_the_exchange_with_the_upstream_behind_it_is_kept_without_its_key():
    async def test() -> None:
        async with ReplayUpstream(token=KEY) as upstream:
            async with gateway_to(upstream.base_url, api_key=Secret(KEY)) as gateway:
                application, answers = captured(gateway)
                reply = await call(application, "/v1/chat/completions", {**BODY, "model": "text"}).end()
                assert reply.status == 200
            bundle = bundle_of(snapshot_of(answers.answers), "serve")
        (exchange,) = bundle.exchanges
        assert exchange.protocol == "openresponses"
        assert b"response.completed" in exchange.body
        assert KEY not in repr(bundle)

    asyncio.run(test())


def test_an_answer_that_fails_says_why():
    async def answer(progress: Any, token: Any) -> None:
        progress.report(TextPart("Hel"))
        raise KeyError("seed")

    async def test() -> None:
        application, answers = captured(Driven(answer))
        await call(application, "/v1/chat/completions", BODY).end()
        (kept,) = answers.answers
        assert kept.outcome == "failed"
        assert kept.error is not None
        assert kept.error.type == "KeyError"

    asyncio.run(test())


def test_an_answer_whose_client_left_was_cancelled():
    async def answer(progress: Any, token: Any) -> None:
        progress.report(TextPart("Hel"))
        await silent(progress, token)

    async def test() -> None:
        provider = Driven(answer)
        application, answers = captured(provider)
        asked = call(application, "/v1/chat/completions", BODY)
        await provider.begun.wait()
        asked.leave()
        await asked.end()
        assert [kept.outcome for kept in answers.answers] == ["cancelled"]

    asyncio.run(test())


def test_the_command_opens_a_door_and_closes_it_again():
    async def answer(progress: Any, token: Any) -> None:
        progress.report(TextPart("Hello"))

    async def test() -> None:
        application = app(Driven(answer))
        async with captured_answers(application):
            await call(application, "/v1/chat/completions", BODY).end()
            newest = await newest_answer()
            assert (newest is not None) is HAS_SOCKETS
            assert newest is None or newest.bundle.source == "serve"
        assert await newest_answer() is None

    asyncio.run(test())
