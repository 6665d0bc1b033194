"""What the sidecar knows of tokens behind a gateway: sources, corrections, limits, and what outlives the process."""

import asyncio

import pytest

from partstream.lm.cancellation import CancellationTokenSource
from partstream.lm.messages import ChatMessage
from partstream.lm.parts import DataPart
from partstream.lm.provider import LanguageModelChatInformation
from partstream.tokens import CountSource
from partstream.tokens.counting import count_all
from partstream.upstream.configuration import GatewayConfiguration
from partstream.upstream.provider import GatewayProvider
from partstream.vscode.failures import is_providers_own
from serving.waits import in_short_waits

from .sidecar import running
from .test_gateway import group_of, serving

DID_ANSWER = "languageModels/didAnswer"
PROSE = "The lamp burns green at low tide, and nobody asks why. "


def _ask(sidecar, group, *said, **options):
    request_id = sidecar.respond("text", *said, group=group, **options)
    return sidecar.wait(request_id)


def _count(sidecar, group, *texts):
    items = [{"text": text} if isinstance(text, str) else {"message": text} for text in texts]
    return sidecar.call("languageModels/tokenCount", {"group": group, "model": "text", "items": items})["counts"]


def test_counts_of_a_gateway_say_where_they_come_from():
    message = {"role": 1, "content": [{"type": "text", "value": PROSE * 10}]}
    with serving() as upstream, running() as sidecar:
        group = group_of(upstream)
        assert [count["source"] for count in _count(sidecar, group, "word", message)] == ["estimated", "estimated"]
        for said in ((PROSE,), (PROSE, message)):  # what the second total has more is what the message takes
            assert _ask(sidecar, group, *said).error is None
        assert [count["source"] for count in _count(sidecar, group, "word", message)] == ["estimated", "reported"]


class Failing(GatewayProvider):
    async def provide_token_count(self, model, text, token):
        raise OSError("the counter is away")


@pytest.mark.parametrize("kind", [GatewayProvider, Failing], ids=["counted", "estimated in place of a count"])
def test_others_have_their_turn_while_the_documents_of_messages_are_counted(kind):
    page = b"3 0 obj<</Type/Page/Parent 2 0 R/Contents 4 0 R>>endobj "
    model = LanguageModelChatInformation("m", "M", "gpt-4o", "1", 100_000, 1_000)
    numbers = iter(range(10))

    async def count():
        data = b"%PDF-1.4 " + page * 60_000 + str(next(numbers)).encode()  # none is known from a time before
        message = ChatMessage.user([DataPart(data, "application/pdf")])
        provider = kind(GatewayConfiguration("http://127.0.0.1:9/v1", protocol="chat-completions"))
        token = CancellationTokenSource().token
        return await count_all(provider, model, ["word", message], token, is_providers_own)

    asyncio.run(count())  # what is loaded takes a long turn, once
    counts, failure = in_short_waits(count)
    assert [one.source for one in counts] == [CountSource.ESTIMATED] * 2
    assert counts[1].tokens > 1_000_000
    assert (failure is None) == (kind is GatewayProvider)


def test_a_refusal_lowers_the_limit_of_the_model_and_the_extension_is_told():
    with serving() as upstream, running() as sidecar:
        group = group_of(upstream, protocol="openresponses")
        assert sidecar.information(group)["models"][0]["maxInputTokens"] == 1000
        data = _ask(sidecar, group, "fault:context_length=600:700").error["data"]
        assert data["kind"] == "ContextLengthExceededError"
        assert data["message"] == "the conversation is too long for Text: it has 700 tokens and may have 600"
        told = sidecar.until(lambda message: getattr(message, "method", "") == "languageModels/didChange")
        assert told.params == {"group": "g"}
        assert sidecar.information(group)["models"][0]["maxInputTokens"] == 600
        assert len(upstream.exchanges) == 1


def test_sums_and_limits_go_on_where_the_process_before_stopped():
    options = {"modelOptions": {"_conversationId": "c"}}
    with serving() as upstream:
        for run in (1, 2):
            with running() as sidecar:
                group = group_of(upstream)
                limit = sidecar.information(group)["models"][0]["maxInputTokens"]
                assert limit == {1: 1000, 2: 600}[run]
                assert _ask(sidecar, group, "Hello", **options).error is None
                sidecar.until(lambda message: getattr(message, "method", "") == DID_ANSWER)
                for section in ("days", "conversations"):
                    assert [one["answers"] for one in sidecar.usage_rows(section)] == [str(run)]
                assert _ask(sidecar, group, "fault:context_length=600:700").error is not None
                sidecar.call("shutdown")  # which waits for what is not written yet


def test_two_windows_agree_on_what_the_day_took():
    def answer(sidecar):
        request_id = sidecar.respond("text", "Hello", group=group)
        assert sidecar.wait(request_id).error is None
        (usage,) = sidecar.usages(request_id)
        return usage["prompt_tokens"]

    def day(sidecar):
        (one,) = sidecar.usage_rows("days")
        return int(one["answers"]), int(one["input"].replace(",", ""))

    def told(sidecar):
        messages = list(sidecar.messages)
        return [one.params["day"]["answers"] for one in messages if getattr(one, "method", "") == DID_ANSWER]

    with serving() as upstream, running() as one, running() as other:
        group = group_of(upstream)
        taken = sum(answer(sidecar) for sidecar in (one, other, one, one))
        for sidecar in (one, other):
            sidecar.until_true(lambda sidecar=sidecar: day(sidecar) == (4, taken))
        answer(other)
        other.until_true(lambda: told(other)[-1] == 5)
        one.until_true(lambda: len(told(one)) == 3)
        assert len(told(other)) == 2


def test_the_page_shows_the_answers_of_all_windows_and_runs_what_has_its_nonce():
    nonce = "0123456789abcdef"
    with serving() as upstream:
        group = group_of(upstream)
        for _ in range(2):
            with running() as sidecar:
                assert _ask(sidecar, group, "Hello", modelOptions={"_conversationId": "c"}).error is None
                page = sidecar.call(
                    "languageModels/page", {"page": "usage", "nonce": nonce, "source": "https://x.example"}
                )["html"]
                sidecar.call("shutdown")
    assert f"script-src 'nonce-{nonce}' https://x.example;" in page
    assert page.count("<time") == 6  # a conversation, its plot and the two points, and both answers
    assert "How full the context window was" in page


def test_a_nonce_that_could_be_guessed_is_refused():
    with running() as sidecar:
        reply = sidecar.wait(sidecar.send("languageModels/page", {"page": "usage", "nonce": "1", "source": ""}))
        assert "params.nonce: got 1 characters" in reply.error["message"]


def test_texts_that_count_otherwise_after_an_answer_are_told():
    """The replay upstream counts otherwise than the estimate: after some answers a factor is known."""
    with serving() as upstream, running() as sidecar:
        group = group_of(upstream)
        sidecar.information(group)
        [before] = _count(sidecar, group, PROSE * 20)
        assert _ask(sidecar, group, PROSE * 40).error is None
        told = sidecar.until(lambda message: getattr(message, "method", "") == "languageModels/tokenCountsDidChange")
        assert told.params == {"group": "g", "models": ["text"]}
        [after] = _count(sidecar, group, PROSE * 20)
        [how] = sidecar.call("languageModels/counting")["models"]
        assert how.pop("factor") != 1
        assert how == {"group": "g", "model": "text", "family": "test", "maxInputTokens": 1000, "source": "estimated"}
        assert after["source"] == before["source"] == "estimated"
        assert after["count"] != before["count"]


def test_a_budget_is_of_all_windows_shown_after_each_answer_and_refuses_with_a_sentence_for_the_chat():
    with serving() as upstream, running() as one, running() as other:
        prices = {"*": {"input": 10, "output": 20}}
        group = group_of(upstream, budget="0.0001 USD/day", prices=prices)
        assert _ask(one, group, "Hello").error is None
        told = one.until(lambda message: getattr(message, "method", "") == DID_ANSWER)
        assert told.params["budget"].startswith("Budget of the server ")
        assert told.params["budget"].endswith(" USD of 0.0001 USD/day")
        assert told.params["answer"]["cost"] > 0.0001
        data = _ask(other, group, "Hello").error["data"]
        assert (data["kind"], data["code"]) == ("BudgetReachedError", "Blocked")
        assert " (0.0001 USD/day) is used up: " in data["message"]
        assert "it begins anew on " in data["message"]
