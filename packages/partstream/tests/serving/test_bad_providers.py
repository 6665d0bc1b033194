"""What clients get of a provider that does not keep the contract, over every wire; what the log has."""

from __future__ import annotations
import asyncio
import threading

import pytest

from partstream import chat_model
from partstream.codec.json_codec import loads
from partstream.errors import EmptyAnswerError, LanguageModelError, LanguageModelErrorCode
from partstream.lm.contract import RULES
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import DataPart, FinishReason, TextPart, ToolCallPart, UnifiedFinishReason, Usage, usage_part
from partstream.server.application import app
from partstream.upstream.context import report_dropped
from rows import one_test_for
from serving.asgi import ask
from serving.providers import Driven, silent
from serving.wires import WIRES, Wire

every_wire = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
PROMPT = "my-private-prompt-71"


async def answered(wire: Wire, answer, *, stream: bool = True):
    arguments, more = wire.asking("m", PROMPT, stream=stream)
    return await ask(app({"bad": Driven(answer)}), *arguments, **more)


class _Odd(BaseException):
    """An error that no `except Exception` catches."""


@every_wire
@one_test_for("stream", [True, False], ids=["stream", "document"])
def test_a_provider_that_reports_nothing_gives_an_empty_answer(wire: Wire, stream: bool):
    async def answer(progress, token):
        pass

    reply = asyncio.run(answered(wire, answer, stream=stream))
    assert reply.status == 200
    parts, _ = wire.read(reply.body, stream=stream)
    assert [part for part in parts if isinstance(part, TextPart)] == []


@every_wire
def test_what_a_provider_does_after_its_answer_raises_nothing_and_is_named(wire: Wire, caplog):
    async def run():
        ended = asyncio.Event()
        late: list[asyncio.Task[None]] = []

        async def go_on(progress):
            await ended.wait()
            report_dropped(["tools"])
            progress.report(TextPart("late"))
            progress.wait("too late", 1)
            await progress.drain()

        async def answer(progress, token):
            progress.report(TextPart("one"))
            late.append(asyncio.create_task(go_on(progress)))

        reply = await answered(wire, answer)
        ended.set()
        await asyncio.gather(*late)
        return reply

    reply = asyncio.run(run())
    parts, _ = wire.read(reply.body, stream=True)
    assert "".join(part.value for part in parts if isinstance(part, TextPart)) == "one"
    assert RULES["stream.nothing-after-completion"].id in caplog.text


@every_wire
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "document"])
@pytest.mark.parametrize("begun", [True, False], ids=["begun", "silent"])
@pytest.mark.parametrize(
    "error",
    [ValueError("secret of the provider"), _Odd("odd"), SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()],
    ids=lambda error: type(error).__name__,
)
def test_a_provider_that_raises_whatever_it_likes_is_a_failure_without_its_text(wire, stream, begun, error, caplog):
    async def answer(progress, token):
        if begun:
            progress.report(TextPart("one"))
        raise error

    reply = asyncio.run(answered(wire, answer, stream=stream))
    name = type(error).__name__
    assert name in reply.body.decode()
    assert "secret of the provider" not in reply.body.decode() + caplog.text
    assert PROMPT not in caplog.text
    assert f"failed with {name}" in caplog.text
    assert "test_bad_providers.py:" in caplog.text
    if begun and stream:
        assert reply.status == 200
        parts, finish = wire.read(reply.body)
        assert parts[0].value == "one"
        assert finish.outcome is Outcome.FAILED
    else:
        assert reply.status == 500


@every_wire
def test_a_finish_that_failed_without_an_error_is_a_failure(wire: Wire):
    async def answer(progress, token):
        progress.finish(Finish(Outcome.FAILED))

    reply = asyncio.run(answered(wire, answer))
    assert reply.status == 500
    assert "without an error message" in reply.body.decode()


@every_wire
def test_a_provider_that_reports_from_its_own_thread_is_answered_in_its_order(wire: Wire):
    async def answer(progress, token):
        def work():
            for number in range(20):
                progress.report(TextPart(f"{number},"))

        await asyncio.to_thread(work)

    async def run():
        arguments, more = wire.asking("m")
        loop_thread = threading.get_ident()
        reply = await ask(app(Driven(answer)), *arguments, **more)
        assert loop_thread == threading.get_ident()
        parts, finish = wire.read(reply.body)
        said = "".join(part.value for part in parts if isinstance(part, TextPart))
        assert said == "".join(f"{number}," for number in range(20))
        assert finish.outcome is Outcome.COMPLETED

    asyncio.run(run())


@every_wire
@one_test_for("error", [None, ValueError("secret of the provider")], ids=["whole", "failed"])
def test_parts_of_a_thread_come_before_the_end_of_an_answer_that_never_lets_the_event_loop_go_on(
    wire: Wire, error: Exception | None
):
    async def answer(progress, token):
        thread = threading.Thread(target=progress.report, args=(TextPart("from a thread"),))
        thread.start()
        thread.join()
        if error is not None:
            raise error

    reply = asyncio.run(answered(wire, answer))
    parts, finish = wire.read(reply.body)
    assert "".join(part.value for part in parts if isinstance(part, TextPart)) == "from a thread"
    assert finish.outcome is (Outcome.COMPLETED if error is None else Outcome.FAILED)


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "document"])
def test_the_request_id_in_a_failure_is_the_one_of_the_headers_and_of_the_log(stream: bool):
    async def answer(progress, token):
        raise ValueError

    async def run():
        seen = []
        application = app({"bad": Driven(answer)})
        application.on_did_finish_answer(lambda one: seen.append(one.request_id))
        body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], "stream": stream}
        replies = [await ask(application, "/v1/messages", body) for _ in range(2)]
        told = [loads(reply.body)["request_id"] for reply in replies]
        assert told == [reply.headers["request-id"] for reply in replies] == seen
        assert len(set(told)) == 2

    asyncio.run(run())


def test_a_provider_that_never_counts_a_request_is_not_waited_for(monkeypatch, caplog):
    monkeypatch.setattr("partstream.server.models.COUNT_SECONDS", 0.01)

    class Uncounting(Driven):
        async def provide_request_token_count(self, model, messages, options, token):
            await asyncio.Event().wait()

    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    reply = asyncio.run(ask(app(Uncounting(silent)), "/v1/messages/count_tokens", body))
    assert (reply.status, reply.json["input_tokens"] > 0) == (200, True)
    assert "did not count within" in caplog.text


def test_a_part_that_breaks_the_contract_is_left_out_and_logged_without_the_prompt(caplog):
    async def answer(progress, token):
        progress.report("no part")
        progress.report(TextPart("one"))
        progress.report(PROMPT)

    async def run():
        application = app({"bad": Driven(answer)})
        wire = WIRES[0]
        arguments, more = wire.asking("m", PROMPT)
        reply = await ask(application, *arguments, **more)
        parts, finish = wire.read(reply.body)
        assert [part.value for part in parts if isinstance(part, TextPart)] == ["one"]
        assert finish.outcome is Outcome.COMPLETED
        assert caplog.text.count("broke the rule") == 1
        assert RULES["part.known-class"].text in caplog.text
        assert "test_bad_providers.py:" in caplog.text
        assert PROMPT not in caplog.text

    asyncio.run(run())


def test_a_provider_that_returns_after_its_cancellation_and_one_that_raises_then_are_both_forgotten(caplog):
    async def answer(progress, token):
        progress.report(TextPart("one"))
        gone = asyncio.Event()
        token.on_cancellation_requested(gone.set)
        await gone.wait()
        raise LanguageModelError("too late")

    async def run():
        from serving.asgi import call

        application = app(Driven(answer))
        arguments, more = WIRES[0].asking("m")
        request = call(application, *arguments, **more)
        await request.until(lambda: b"one" in request.body)
        request.leave()
        await request.end()
        assert b"too late" not in request.body
        assert caplog.text == ""

    asyncio.run(run())


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (LanguageModelError.not_found("No such model."), 404),
        (LanguageModelError.no_permissions("Not for you."), 403),
        (LanguageModelError.blocked("Blocked."), 429),
        (LanguageModelError("Broken."), 500),
    ],
    ids=lambda value: str(getattr(value, "code", value)),
)
def test_an_error_of_a_provider_keeps_its_kind_and_its_words(error, status):
    async def answer(progress, token):
        raise error

    reply = asyncio.run(answered(WIRES[0], answer))
    assert reply.status == status
    assert error.message in reply.body.decode()
    assert isinstance(error.code, LanguageModelErrorCode)


def test_an_empty_answer_of_an_upstream_is_an_empty_answer_and_its_limit_is_told():
    usage = Usage(5, 7, 12)

    async def answer(progress, token):
        error = EmptyAnswerError("length", 7)
        reason = FinishReason(UnifiedFinishReason.LENGTH, "length")
        progress.finish(Finish(Outcome.FAILED, reason, usage, error=error))
        raise error

    reply = asyncio.run(answered(WIRES[0], answer, stream=False))
    assert (reply.status, reply.json["status"]) == (200, "incomplete")
    assert reply.json["usage"]["output_tokens"] == 7


@pytest.mark.parametrize("calls", [True, False], ids=["call", "text"])
def test_an_answer_without_a_finish_gets_a_reason_and_its_tokens_are_counted(calls):
    async def answer(progress, token):
        progress.report(ToolCallPart("c1", "f", {}) if calls else TextPart("one"))

    async def run():
        seen = []
        application = app(Driven(answer))
        application.on_did_finish_answer(seen.append)
        body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        reply = await ask(application, "/v1/chat/completions", body)
        assert reply.json["choices"][0]["finish_reason"] == ("tool_calls" if calls else "stop")
        (observation,) = seen
        assert observation.is_usage_counted
        assert observation.usage.output_tokens == reply.json["usage"]["completion_tokens"] == 1

    asyncio.run(run())


def test_tokens_that_a_provider_reports_as_a_part_are_its_usage_and_nothing_is_counted():
    part = usage_part(Usage(11, 13))
    assert isinstance(part, DataPart)

    async def answer(progress, token):
        progress.report(TextPart("one"))
        progress.report(part)

    async def run():
        seen = []
        application = app(Driven(answer))
        application.on_did_finish_answer(seen.append)
        reply = await ask(application, "/v1/responses", {"model": "m", "input": "Hi"})
        assert (reply.json["usage"]["input_tokens"], reply.json["usage"]["output_tokens"]) == (11, 13)
        assert not seen[0].is_usage_counted

    asyncio.run(run())


@pytest.mark.parametrize("error", [ValueError(PROMPT), SystemExit(3)], ids=["error", "exit"])
def test_a_provider_whose_count_fails_still_answers_with_an_estimate(error, caplog):
    def count(_text):
        raise error

    @chat_model(id="m", count_tokens=count)
    async def provider(messages, options):
        del messages, options
        yield "one two three"

    reply = asyncio.run(ask(app(provider), "/v1/responses", {"model": "m", "input": PROMPT}))
    assert reply.json["usage"]["output_tokens"] > 0
    assert PROMPT not in caplog.text
