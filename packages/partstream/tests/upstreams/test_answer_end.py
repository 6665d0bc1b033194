"""How an answer ended, told to a progress that takes it: once, of every end, and of the attempt that counts."""

from dataclasses import dataclass, field, replace

import pytest

from partstream import CancellationTokenSource, DataPart, TextPart
from partstream.conversation.preparation import RequestSettings
from partstream.errors import (
    ContextLengthExceededError,
    LanguageModelError,
    RequestNotExpressibleError,
    TruncatedStreamError,
    UpstreamFailureError,
    UpstreamHTTPError,
)
from partstream.lm.messages import ChatMessage
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import ToolCallPart, UnifiedFinishReason
from partstream.upstream.requests import ForwardingProgress
from partstream_devtools.testing.faults import document
from upstreams.upstreams import HELLO, RETRY, Answer, ask, gateway_to, replay, respond, run, server_of


@dataclass
class EndedAnswer(Answer):
    """An answer that takes its end, and knows how many parts came before it."""

    finishes: list[Finish] = field(default_factory=list)
    parts_before: list[int] = field(default_factory=list)

    def finish(self, finish: Finish, /) -> None:
        self.finishes.append(finish)
        self.parts_before.append(len(self.parts))


async def _ended(provider, said, **changes) -> tuple[EndedAnswer, Finish]:
    """An answer, its error included, and its only end."""
    answer = EndedAnswer()
    try:
        await respond(provider, said, answer, **changes)
    except LanguageModelError as error:
        answer.error = error
    (finish,) = answer.finishes
    return answer, finish


def test_a_completed_answer_tells_reason_tokens_id_and_model_after_its_last_part():
    async def test() -> None:
        async with replay() as (_, provider):
            answer, finish = await _ended(provider, "Hi")
            assert answer.text == HELLO
            assert answer.parts_before == [len(answer.parts)]
            assert isinstance(answer.parts[-1], DataPart)
            assert finish.outcome is Outcome.COMPLETED
            assert finish.reason.unified is UnifiedFinishReason.STOP
            assert finish.usage.output_tokens > 0
            assert finish.response_id.startswith("resp_")
            assert finish.model == "text"
            assert finish.error is None

    run(test())


def test_an_answer_that_a_limit_cuts_tells_the_limit_and_is_no_failure():
    async def test() -> None:
        async with replay() as (_, provider):
            answer, finish = await _ended(provider, "Hi", model_id="incomplete")
            assert answer.error is None
            assert finish.outcome is Outcome.INCOMPLETE
            assert finish.reason.unified is UnifiedFinishReason.LENGTH
            assert finish.reason.raw == "max_output_tokens"

    run(test())


@pytest.mark.parametrize(
    ("said", "model_id", "outcome", "kind"),
    [
        ("Hi", "failed", Outcome.FAILED, UpstreamFailureError),
        ("fault:truncate=6", "text", Outcome.TRUNCATED, TruncatedStreamError),
        ("fault:status=400", "text", Outcome.FAILED, UpstreamHTTPError),
        ("fault:context_length=600:700", "text", Outcome.FAILED, ContextLengthExceededError),
    ],
)
def test_an_answer_that_fails_tells_the_error_that_it_raises(said, model_id, outcome, kind):
    async def test() -> None:
        async with replay() as (_, provider):
            answer, finish = await _ended(provider, said, model_id=model_id)
            assert isinstance(answer.error, kind)
            assert finish.error is answer.error
            assert finish.outcome is outcome

    run(test())


def test_a_request_that_cannot_be_said_tells_its_error_too():
    async def test() -> None:
        async with replay() as (_, provider):
            said = [ChatMessage.assistant([ToolCallPart("1", "f", {"x": float("nan")})])]
            answer, finish = await _ended(provider, said)
            assert isinstance(answer.error, RequestNotExpressibleError)
            assert finish == Finish(Outcome.FAILED, error=answer.error)

    run(test())


def test_of_several_models_only_the_one_that_answers_tells_its_end():
    async def test() -> None:
        first = RequestSettings(extra_headers={"x-partstream-fault": "status=503"})
        async with replay() as (upstream, _):
            settings = {"retry": replace(RETRY, attempts=1), "model_requests": {"text": first}}
            async with gateway_to(upstream.base_url, fallbacks={"text": ("text-2",)}, **settings) as gateway:
                answer, finish = await _ended(gateway, "Hi")
        assert (answer.text, finish.outcome, finish.model) == (HELLO, Outcome.COMPLETED, "text-2")

    run(test())


def test_of_several_models_that_all_fail_the_last_one_tells_its_end():
    async def test() -> None:
        async with server_of(document(503, b"{}"), document(500, b"{}")) as (url, _):
            settings = {"retry": replace(RETRY, attempts=1), "fallbacks": {"text": ("second",)}}
            async with gateway_to(url, **settings) as gateway:
                answer, finish = await _ended(gateway, "Hi")
        assert finish.error is answer.error
        assert finish.error.http_status == 500

    run(test())


def test_a_cancelled_answer_tells_nothing():
    async def test() -> None:
        async with replay(pace=0.01) as (_, provider):
            source, answer = CancellationTokenSource(), EndedAnswer()

            class Cancelling(EndedAnswer):
                def report(self, part, /) -> None:
                    answer.report(part)
                    source.cancel()

                def finish(self, finish, /) -> None:
                    answer.finish(finish)

            await respond(provider, "Hi", Cancelling(), source.token)
            assert answer.parts
            assert answer.finishes == []

    run(test())


def test_a_progress_that_takes_no_end_gets_the_same_parts():
    async def test() -> None:
        async with replay() as (_, provider):
            plain = await ask(provider, "Hi")
            ended, _ = await _ended(provider, "Hi")
            texts = [[part for part in one.parts if isinstance(part, TextPart)] for one in (plain, ended)]
            assert texts[0] == texts[1]

    run(test())


def test_what_an_attempt_said_is_not_told_of_another_one_that_said_nothing():
    told = EndedAnswer()
    end = ForwardingProgress(told)
    end.last = Finish(Outcome.FAILED, response_id="resp_1", error=UpstreamFailureError("busy"))
    error = UpstreamHTTPError(500)
    end.ended(error)
    assert told.finishes == [Finish(Outcome.FAILED, error=error)]


def test_an_error_in_the_words_of_the_house_keeps_what_the_upstream_said_beside_its_own():
    told = EndedAnswer()
    end = ForwardingProgress(told)
    said, raised = UpstreamFailureError("too long"), ContextLengthExceededError("Text")
    raised.__cause__ = said
    end.last = Finish(Outcome.FAILED, response_id="resp_1", error=said)
    end.ended(raised)
    assert told.finishes == [Finish(Outcome.FAILED, response_id="resp_1", error=raised)]
