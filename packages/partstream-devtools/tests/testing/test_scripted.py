"""The scripted model, without any wire: what it says keeps the contract, costs what the rule says, and is its own."""

import asyncio

import pytest

from conversation.samples import WEATHER, assistant, gave, user
from partstream import (
    CancellationTokenSource,
    LanguageModelChatInformation,
    RequestOptions,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from partstream.errors import UpstreamFailureError
from partstream.lm.contract import CheckMode, ContractChecker
from partstream.lm.messages import ChatMessage
from partstream.lm.outputs import Finish, InboundRequest, Outcome
from partstream.lm.parts import USAGE_MIME_TYPE
from partstream.runtime.consumer import LanguageModelChatSelector, LanguageModels
from partstream.runtime.tool_loop import ToolFunction, run_tool_loop
from partstream_devtools.testing.directives import NamedValue
from partstream_devtools.testing.scripted_model import (
    MODELS,
    SCENARIOS,
    ScriptedProvider,
    UnknownScenarioError,
    choose_scenario,
    find_choice,
    play,
)
from rows import one_test_for

TOOLS = RequestOptions(tools=(WEATHER,))


def asked(text="Hi", model="text"):
    return InboundRequest(model, (ChatMessage.user(text),), TOOLS)


def played(name, request=None, identity="one"):
    return list(play(NamedValue(name), request or asked(), identity))


@one_test_for("name", SCENARIOS)
def test_every_scenario_keeps_the_contract_and_ends_with_its_only_finish(name):
    *parts, finish = played(name)
    checker = ContractChecker(("get_weather",), CheckMode.STRICT)
    for part in parts:
        checker.check(part)
    assert isinstance(finish, Finish)
    if finish.error is not None:
        checker.fail(finish.error)
    elif any(isinstance(part, TextPart | ToolCallPart) for part in parts):
        checker.complete()
    assert not any(isinstance(part, Finish) for part in parts)


@one_test_for("name", SCENARIOS)
def test_the_same_request_and_identity_give_the_same_answer(name):
    first, second = played(name), played(name)
    assert first[:-1] == second[:-1]
    assert (first[-1].outcome, first[-1].usage) == (second[-1].outcome, second[-1].usage)


def test_the_calls_of_two_answers_to_one_request_have_ids_of_their_own():
    ids = [
        part.call_id for identity in "ab" for part in played("tools", None, identity) if isinstance(part, ToolCallPart)
    ]
    assert len(set(ids)) == len(ids) == 4


def test_the_finish_says_model_tokens_and_price():
    *_, finish = played("thinking", asked(model="small"))
    assert finish.model == "small"
    assert finish.usage.total_tokens == finish.usage.input_tokens + finish.usage.output_tokens
    assert finish.usage.reasoning_tokens > 0
    gateway = finish.provider_metadata["gateway"]
    assert float(gateway["cost"]) == pytest.approx(finish.usage.input_tokens * 1e-6 + finish.usage.output_tokens * 2e-6)


def test_an_answer_is_made_as_it_is_taken():
    outputs = play(NamedValue("long", "1000000"), asked(), "one")
    assert isinstance(next(outputs), TextPart)


@pytest.mark.parametrize(
    "choice", [NamedValue("nonsense"), NamedValue("long", "x"), NamedValue("incomplete", "boredom")]
)
def test_a_scenario_that_there_is_not_is_refused_before_the_first_part(choice):
    with pytest.raises(UnknownScenarioError):
        play(choice, asked(), "one")


def test_the_text_goes_before_the_model_and_that_before_the_default():
    default = NamedValue("refusal")
    assert choose_scenario(asked("scenario:long=5", "thinking"), default) == NamedValue("long", "5")
    assert choose_scenario(asked("Hi", "thinking"), default) == NamedValue("thinking")
    assert choose_scenario(asked("Hi", "unknown"), default) == default


@pytest.mark.parametrize("text", ["", "nonsense", "text,text"])
def test_an_option_names_one_scenario(text):
    assert find_choice("long=5") == NamedValue("long", "5")
    with pytest.raises(UnknownScenarioError):
        find_choice(text)


# ---- what is signed ----


def test_thinking_and_the_first_of_several_calls_are_signed_and_each_list_holds_those_before_it():
    answer = played("tools")
    first, second = [part.metadata for part in answer if isinstance(part, ThinkingPart) and part.metadata]
    (thought,) = first["reasoning_items"]
    assert thought["providerOptions"].keys() == {"anthropic"}
    assert second["reasoning_items"][0] == thought
    calls = [part.call_id for part in answer if isinstance(part, ToolCallPart)]
    assert second["reasoning_items"][1]["toolCallId"] == calls[0]


# ---- as a provider ----


class Heard:
    """A progress that takes how the answer ended."""

    def __init__(self):
        self.parts, self.finishes = [], []

    def report(self, part):
        self.parts.append(part)

    def finish(self, finish):
        self.finishes.append(finish)


def _provided(text, model=MODELS[0], provider=None):
    heard, token = Heard(), CancellationTokenSource().token

    async def ask():
        await (provider or ScriptedProvider()).provide_language_model_chat_response(
            model, [ChatMessage.user(text)], TOOLS, heard, token
        )

    asyncio.run(ask())
    return heard


def test_it_offers_the_scenarios_as_models():
    provider, token = ScriptedProvider(), CancellationTokenSource().token
    offered = asyncio.run(provider.provide_language_model_chat_information(True, token))
    assert [model.id for model in offered] == list(SCENARIOS)
    assert asyncio.run(provider.provide_token_count(offered[0], "12345", token)) == 2
    assert asyncio.run(provider.provide_token_count(offered[0], ChatMessage.user("12345"), token)) == 2


def test_it_answers_with_its_parts_its_usage_and_its_end():
    heard = _provided("scenario:thinking")
    *_, used = heard.parts
    assert used.mime_type == USAGE_MIME_TYPE
    assert "".join(part.value for part in heard.parts if isinstance(part, TextPart)) == "Six times seven is **42**."
    (finish,) = heard.finishes
    assert finish.outcome is Outcome.COMPLETED


def test_an_answer_that_fails_raises_after_what_was_said():
    heard = Heard()

    async def ask():
        token = CancellationTokenSource().token
        await ScriptedProvider().provide_language_model_chat_response(
            MODELS[0], [ChatMessage.user("scenario:failed")], TOOLS, heard, token
        )

    with pytest.raises(UpstreamFailureError, match="The model broke"):
        asyncio.run(ask())
    assert "".join(part.value for part in heard.parts if isinstance(part, TextPart)).startswith("This answer begins")
    assert heard.finishes[0].error is not None


def test_a_model_of_another_name_says_the_text():
    model = LanguageModelChatInformation("other", "Other", "f", "1", 1, 1)
    assert any(isinstance(part, TextPart) for part in _provided("Hi", model).parts)


def test_it_reports_nothing_more_once_it_is_cancelled():
    async def ask():
        source, heard = CancellationTokenSource(), Heard()

        class Cancelling(Heard):
            def report(self, part):
                heard.report(part)
                source.cancel()

        async with asyncio.timeout(30):
            await ScriptedProvider(pace=0.001).provide_language_model_chat_response(
                MODELS[0], [ChatMessage.user("scenario:long=1000")], TOOLS, Cancelling(), source.token
            )
        assert len(heard.parts) == 1
        assert heard.finishes == []

    asyncio.run(ask())


def test_a_tool_loop_runs_with_it_to_its_end():
    tool = ToolFunction(WEATHER, lambda arguments: f"sun over {arguments['city']}")

    async def converse():
        async with LanguageModels() as models:
            models.register_language_model_chat_provider("scripted", ScriptedProvider())
            (model,) = await models.select_chat_models(LanguageModelChatSelector(id="tools"))
            return await run_tool_loop(model, [ChatMessage.user("The weather in Lisbon?")], (tool,))

    result = asyncio.run(converse())
    assert result.rounds == 2
    assert "get_weather: sun over Lisbon" in result.text


def test_results_of_its_calls_are_answered():
    calls = [part for part in played("tools") if isinstance(part, ToolCallPart)]
    history = (user("Hi"), assistant(calls), user([gave(call.call_id, "rain") for call in calls]))
    said = "".join(
        part.value
        for part in play(NamedValue("tools"), InboundRequest("tools", history, TOOLS), "two")
        if isinstance(part, TextPart)
    )
    assert said.count("get_weather: rain") == 2
