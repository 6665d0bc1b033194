"""An agent of pydantic-ai at the address of its own AG-UI server shows in VS Code what every agent must show."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from scenarios import DELETE, DELETED, EDIT, FOUND, OBJECT, READ, SEARCH, Called, Chat, ModelScript, Step
from served_ag_ui import served

from extent import RUNS_AT_ONCE
from partstream import ChatMessage, TextPart
from partstream.conversation.preparation import RequestSettings
from partstream.protocols.ag_ui.write_request import AGUISettings, Thread

SECONDS = 30


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(SECONDS):
            await test()

    asyncio.run(bounded())


async def until(is_so: Callable[[], bool]) -> None:
    """Waits until something is so, within the bound of the test."""
    while not is_so():
        await asyncio.sleep(0)


def test_text_streams_and_the_tokens_are_those_of_the_run() -> None:
    async def test() -> None:
        script = ModelScript(Step(("Hel", "lo"), usage=(7, 2)))
        async with served(script) as (one, chat):
            answer = await chat.say("Hi there")
            assert answer.text == "Hello"
            answer.check((7, 2))
            assert "Hi there" in script.requests[0].text
            assert one.bodies[0]["forwardedProps"]["model"] == "agent"

    run(test)


def test_a_conversation_of_several_turns_goes_to_the_agent_whole() -> None:
    async def test() -> None:
        script = ModelScript(Step(("One",)), Step(("Two",)))
        async with served(script) as (_, chat):
            await chat.say("first words")
            assert (await chat.say("second words")).text == "Two"
            seen = script.requests[1].text
            assert 0 <= seen.find("first words") < seen.find("One") < seen.find("second words")

    run(test)


def test_signed_thinking_is_shown_and_goes_back_with_its_signature() -> None:
    async def test() -> None:
        script = ModelScript(Step(("Hello",), thinking="Let me see.", signature="signed"), Step(("Again",)))
        async with served(script) as (_, chat):
            answer = await chat.say("Hi")
            assert (answer.text, answer.thinking) == ("Hello", "Let me see.")
            await chat.say("And now?")
            seen = script.requests[1].text
            assert 0 <= seen.find("Let me see.") < seen.find("Hello")
            assert '"signature":"signed"' in seen.replace(": ", ":")

    run(test)


def test_the_agents_own_calls_are_lines_of_thinking_and_data_and_never_calls() -> None:
    async def test() -> None:
        script = ModelScript(Step(calls=(SEARCH,), usage=(10, 5)), Step(("Found it.",), usage=(30, 4)))
        async with served(script) as (_, chat):
            answer = await chat.say("Search!")
            assert answer.text == "Found it."
            assert not answer.calls
            assert 'Called search(query="agents")\n-> 3 results, ' in answer.thinking
            assert FOUND[0] not in answer.thinking, "a result is never shown in full"
            kinds = [(one["type"], one["name"]) for one in answer.activity]
            assert kinds == [("call", "search"), ("result", "search")]
            assert answer.activity[1]["content"] == FOUND
            answer.check((20, 9))  # of the prompts of a run the mean is known, which the last is no smaller than

    run(test)


def test_an_external_call_goes_out_once_and_its_result_goes_on() -> None:
    async def test() -> None:
        script = ModelScript(Step(("I look. ",), calls=(READ,), usage=(20, 6)), Step(("It is empty.",), usage=(40, 3)))
        async with served(script) as (one, chat):
            first = await chat.say("Read a.py")
            [call] = first.calls
            assert (call.name, dict(call.input)) == ("read_file", {"path": "a.py"})
            first.check((20, 6))
            assert {"read_file", "edit_file"} <= set(script.requests[0].tools)
            last = await chat.give({"read_file": "no content in a.py"})
            assert last.text == "It is empty."
            last.check((40, 3))
            assert "no content in a.py" in script.requests[1].text
            assert one.bodies[0]["threadId"] != one.bodies[1]["threadId"], "each request brings the whole conversation"
            assert one.bodies[0]["runId"] != one.bodies[1]["runId"]

    run(test)


def test_two_external_calls_go_out_in_the_models_order() -> None:
    async def test() -> None:
        script = ModelScript(Step(calls=(READ, EDIT)), Step(calls=(EDIT2,)), Step(("Done.",)))
        async with served(script) as (_, chat):
            first = await chat.say("Read and edit a.py")
            assert [call.name for call in first.calls] == ["read_file", "edit_file"]
            second = await chat.give({"read_file": "what was read", "edit_file": "what was edited"})
            assert [call.name for call in second.calls] == ["edit_file"]
            assert (await chat.give({"edit_file": "edited again"})).text == "Done."
            seen = script.requests[2].text
            assert 0 <= seen.find("what was read") < seen.find("what was edited") < seen.find("edited again")

    run(test)


EDIT2 = Called("outer_3", "edit_file", {"path": "b.py"})


@pytest.mark.parametrize("keeps_markers", [True, False], ids=["exact", "stateless"])
def test_a_mixed_batch_goes_on_with_and_without_what_was_carried(keeps_markers: bool) -> None:
    async def test() -> None:
        script = ModelScript(Step(("Both. ",), calls=(SEARCH, READ)), Step(("Done.",)), Step(("Bye.",)))
        async with served(script, [{"keeps_markers": keeps_markers}]) as (one, chat):
            first = await chat.say("Search and read")
            assert [call.name for call in first.calls] == ["read_file"]
            assert len(script.requests) == 1, "the model was asked before the host's tool had run"
            if not keeps_markers:
                forget_state(chat)
            assert (await chat.give({"read_file": "what was read"})).text == "Done."
            assert "what was read" in script.requests[1].text
            assert (FOUND[1] in script.requests[1].text) is keeps_markers
            if keeps_markers:
                [said] = [message for message in one.bodies[1]["messages"] if message["role"] == "assistant"]
                assert [call["function"]["name"] for call in said["toolCalls"]] == ["search", "read_file"]
                await chat.say("Thanks")
                assert FOUND[1] in script.requests[2].text, "later turns know it too"

    run(test)


def forget_state(chat: Chat) -> None:
    """The answer so far without what VS Code carries of it."""
    last = chat.answers[-1]
    chat.messages[-1] = ChatMessage.assistant([TextPart(last.text), *last.calls])


def test_a_call_whose_result_never_came_does_not_stop_the_conversation() -> None:
    async def test() -> None:
        script = ModelScript(Step(calls=(READ,)), Step(("Never mind.",)))
        async with served(script) as (_, chat):
            await chat.say("Read a.py")
            assert (await chat.say("Forget it")).text == "Never mind."
            assert "Forget it" in script.requests[1].text

    run(test)


def test_a_model_that_breaks_in_the_middle_is_an_error_behind_its_text() -> None:
    async def test() -> None:
        script = ModelScript(Step(("Hel",), error=True))
        async with served(script) as (_, chat):
            answer = await chat.say("Hi", fails=True)
            assert answer.text == "Hel"
            assert "the model broke" in str(answer.error)
            assert script.open == 0

    run(test)


def test_a_cancellation_closes_the_stream_of_the_model() -> None:
    async def test() -> None:
        script = ModelScript(Step(("Hel", "lo"), hangs=True))
        async with served(script) as (_, chat):
            await chat.say("Hi", cancel_at=lambda part: isinstance(part, TextPart))
            assert script.opened == 1
            await until(lambda: script.open == 0)

    run(test)


def test_an_output_that_is_an_object_is_text() -> None:
    async def test() -> None:
        script = ModelScript(Step(result=OBJECT))
        async with served(script, output=True) as (_, chat):
            answer = await chat.say("Where?")
            assert not answer.calls
            assert "Paris" in answer.text

    run(test)


def approving() -> ModelScript:
    return ModelScript(Step(("I clean up. ",), calls=(DELETE,)), Step(("Done.",), usage=(50, 2)), Step(("Bye.",)))


def test_a_person_allows_a_call_by_the_next_message() -> None:
    async def test() -> None:
        script = approving()
        async with served(script) as (one, chat):
            first = await chat.say("Clean up")
            assert 'delete_file(path="a.py")' in first.text
            assert "*yes*" in first.text
            assert not first.calls
            assert len(script.requests) == 1
            last = await chat.say("yes")
            assert last.text == "Done."
            assert DELETED in script.requests[1].text
            assert one.bodies[0]["threadId"] == one.bodies[1]["threadId"], "a run goes on in its own thread"
            assert (await chat.say("Thanks")).text == "Bye."
            seen = script.requests[2].text
            assert 0 <= seen.find("Clean up") < seen.find(DELETED) < seen.find("Thanks")

    run(test)


def test_a_person_does_not_allow_a_call_and_the_model_reads_why() -> None:
    async def test() -> None:
        script = approving()
        async with served(script) as (_, chat):
            await chat.say("Clean up")
            assert (await chat.say("no, keep it for now")).text == "Done."
            assert DELETED not in script.requests[1].text
            assert "keep it for now" in script.requests[1].text

    run(test)


def test_a_question_whose_state_is_lost_is_asked_again_by_the_agent_and_allows_nothing() -> None:
    async def test() -> None:
        script = approving()
        async with served(script, [{"keeps_markers": False}]) as (_, chat):
            await chat.say("Clean up")
            forget_state(chat)
            await chat.say("yes")
            assert DELETED not in script.requests[1].text, "nothing is approved without the agent's own question"

    run(test)


def test_the_thread_of_a_conversation_stays_where_a_person_says_so() -> None:
    async def test() -> None:
        settings = RequestSettings(own=AGUISettings(thread=Thread.CONVERSATION))
        script = ModelScript(Step(("One",)), Step(("Two",)))
        async with served(script, [{"request": settings}]) as (one, chat):
            await chat.say("first words")
            await chat.say("second words")
            first, second = one.bodies
            assert first["threadId"] == second["threadId"]
            assert first["runId"] != second["runId"]
            assert [message["id"] for message in second["messages"][:1]] == [first["messages"][0]["id"]]

    run(test)


def test_many_runs_at_once_are_as_many_answers() -> None:
    async def test() -> None:
        script = ModelScript(Step(echo=True), repeats=True)
        async with served(script, [{}]) as (_, chat):
            chats = [Chat(chat.provider) for _ in range(RUNS_AT_ONCE)]
            answers = await asyncio.gather(*(each.say(f"words of run {number}.") for number, each in enumerate(chats)))
            assert [answer.text for answer in answers] == [f"words of run {number}." for number in range(RUNS_AT_ONCE)]
            assert script.open == 0

    run(test)
