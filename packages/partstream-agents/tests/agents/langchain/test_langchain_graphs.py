"""Graphs of LangGraph as models: sub-graphs, questions, threads, results, and where the loop stops."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from scenarios import DELETED, FOUND, READ_FILE, Called, Chat, ModelScript, Step, hang
from scripted_langchain import ScriptedChatModel, delete_file, search

from partstream import (
    CancellationTokenSource,
    DataPart,
    RequestOptions,
    TextPart,
    ToolArgumentsError,
    TruncatedStreamError,
)
from partstream.lm.messages import ChatMessage, ToolMode
from partstream.runtime.client_failures import AgentFailedError, FailureKind
from partstream_agents import as_model
from partstream_agents.langchain import AnsweringGraph, host_tools
from partstream_agents.langchain.events import CUSTOM_MIME_TYPE, PLACEHOLDER
from partstream_agents.run import RunStates

READ = Called("outer_1", "read_file", {"path": "a.py"})
SEARCH = Called("inner_1", "search", {"query": "agents"})
DELETE = Called("inner_2", "delete_file", {"path": "a.py"})


def chat_with(agent: Any, folder: Path, **options: Any) -> Chat:
    return Chat(as_model(agent, name="Agent", states=RunStates(folder)), **options)


def graph_of(*nodes: Any, state: Any = MessagesState, **compiled: Any) -> Any:
    """A graph that runs its nodes one after the other: functions by their names, or `(name, runnable)`."""
    graph: Any = StateGraph(state)
    before = START
    for node in nodes:
        name, runnable = node if isinstance(node, tuple) else (node.__name__, node)
        graph.add_node(name, runnable)
        graph.add_edge(before, name)
        before = name
    return graph.compile(**compiled)


def speaker(script: ModelScript) -> Any:
    """A node that asks the scripted model."""
    model = ScriptedChatModel(script=script)

    async def speak(state: Any) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return speak


def steps(*texts: str) -> ModelScript:
    return ModelScript(*(Step((text,), usage=(number, 1)) for number, text in enumerate(texts, 1)))


# ---- whose text is the answer ----


def test_the_text_of_a_sub_graph_is_thinking_and_the_last_word_is_the_answer(tmp_path: Path):
    script = steps("notes of the researcher", "the answer")
    graph = graph_of(("researcher", graph_of(("speak", speaker(script)))), ("writer", speaker(script)))
    answer = asyncio.run(chat_with(graph, tmp_path).say("Hi"))
    assert "notes of the researcher" in answer.thinking
    assert answer.text == "the answer"
    answer.check((2, 1))


def test_a_graph_whose_sub_graph_has_the_last_word_shows_it_as_text(tmp_path: Path):
    graph = graph_of(("billing", graph_of(("speak", speaker(steps("You owe nothing."))))))
    answer = asyncio.run(chat_with(graph, tmp_path).say("Hi"))
    assert answer.text == "You owe nothing."


def test_answer_nodes_say_whose_text_is_the_answer(tmp_path: Path):
    script = steps("billing", "You owe nothing.", "A fine answer.")
    nodes = (
        ("router", speaker(script)),
        ("billing", graph_of(("speak", speaker(script)))),
        ("critic", speaker(script)),
    )
    graph = AnsweringGraph(graph_of(*nodes), answer_nodes=["billing"])
    answer = asyncio.run(chat_with(graph, tmp_path).say("Hi"))
    assert answer.text == "You owe nothing."
    assert "A fine answer." in answer.thinking


def test_what_a_model_says_inside_a_tool_is_thinking(tmp_path: Path):
    inside = steps("inside the tool")

    @tool
    async def ask_expert(query: str) -> str:
        """Asks an expert."""
        agent = create_agent(ScriptedChatModel(script=inside), [], name="expert")
        return str((await agent.ainvoke({"messages": [HumanMessage(query)]}))["messages"][-1].content)

    script = ModelScript(Step(calls=(Called("1", "ask_expert", {"query": "why"}),)), Step(("Because.",)))
    agent = create_agent(ScriptedChatModel(script=script), [ask_expert])
    answer = asyncio.run(chat_with(agent, tmp_path).say("Why?"))
    assert answer.text == "Because."
    assert "inside the tool" in answer.thinking
    assert "inside the tool" in script.requests[1].text


def test_texts_of_two_steps_are_paragraphs(tmp_path: Path):
    script = ModelScript(Step(("I search.",), calls=(SEARCH,)), Step(("Found.",)))
    answer = asyncio.run(chat_with(create_agent(ScriptedChatModel(script=script), [search]), tmp_path).say("Hi"))
    assert answer.text == "I search.\n\nFound."


def test_a_request_of_middleware_is_no_answer(tmp_path: Path):
    summary, script = steps("a summary"), steps("the answer")

    class Summarizing(AgentMiddleware):
        async def abefore_model(self, state: Any, runtime: Any) -> None:
            config: Any = {"metadata": {"lc_source": "summarization"}}
            await ScriptedChatModel(script=summary).ainvoke(state["messages"], config)

    agent = create_agent(ScriptedChatModel(script=script), [], middleware=[Summarizing()])
    assert asyncio.run(chat_with(agent, tmp_path).say("Hi")).text == "the answer"


def test_a_node_without_a_model_answers(tmp_path: Path):
    def answer_node(state: MessagesState) -> Any:
        return {"messages": [AIMessage("written by hand")]}

    assert asyncio.run(chat_with(graph_of(answer_node), tmp_path).say("Hi")).text == "written by hand"


def test_a_tool_that_returns_directly_answers(tmp_path: Path):
    @tool(return_direct=True)
    def clock() -> str:
        """Tells the time."""
        return "noon"

    agent = create_agent(ScriptedChatModel(script=ModelScript(Step(calls=(Called("1", "clock"),)))), [clock])
    assert asyncio.run(chat_with(agent, tmp_path).say("When?")).text == "noon"


def test_a_handover_is_a_line_of_thinking(tmp_path: Path):
    @tool
    def transfer_to_billing() -> str:
        """Hands over."""
        return "Successfully transferred to billing"

    script = ModelScript(Step(calls=(Called("1", "transfer_to_billing"),)), Step(("You owe nothing.",)))
    agent = create_agent(ScriptedChatModel(script=script), [transfer_to_billing])
    answer = asyncio.run(chat_with(agent, tmp_path).say("Hi"))
    assert "Handed over to billing" in answer.thinking
    assert "transfer_to" not in answer.thinking


# ---- what nodes write, and states of other forms ----


def test_what_nodes_write_is_progress_or_a_part(tmp_path: Path):
    def worker(state: MessagesState) -> Any:
        write = get_stream_writer()
        write("half of it is done")
        write({"done": 50})
        write(TextPart("A part of its own."))
        write(object())

    answer = asyncio.run(chat_with(graph_of(worker, ("speak", speaker(steps("Done.")))), tmp_path).say("Hi"))
    assert "half of it is done" in answer.thinking
    assert '{"done": 50}' in answer.thinking
    assert answer.text.startswith("A part of its own.")
    assert DataPart.json({"done": 50}, CUSTOM_MIME_TYPE) in answer.parts


class Report(TypedDict):
    topic: str
    report: dict[str, str]


def test_a_graph_with_a_state_of_its_own_takes_what_input_makes_and_shows_the_state(tmp_path: Path):
    def write(state: Report) -> Any:
        return {"report": {"title": f"On {state['topic']}"}}

    graph = AnsweringGraph(
        graph_of(write, state=Report), input=lambda messages: {"topic": messages[-1].content, "report": {}}
    )
    answer = asyncio.run(chat_with(graph, tmp_path).say("tea"))
    assert '"title": "On tea"' in answer.text


def test_output_makes_the_answer_of_the_last_state(tmp_path: Path):
    def write(state: Report) -> Any:
        return {"report": {"title": f"On {state['topic']}"}}

    graph = AnsweringGraph(
        graph_of(write, state=Report),
        input=lambda messages: {"topic": messages[-1].content},
        output=lambda state: f"# {state['report']['title']}",
    )
    assert asyncio.run(chat_with(graph, tmp_path).say("tea")).text == "# On tea"


def test_the_configuration_and_context_of_a_graph_go_to_each_run(tmp_path: Path):
    def loop(state: MessagesState) -> Any:
        return {"messages": [AIMessage("again")]}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("loop", loop)
    graph.add_edge(START, "loop")
    graph.add_edge("loop", "loop")
    limited = AnsweringGraph(graph.compile(), config={"recursion_limit": 3})
    answer = asyncio.run(chat_with(limited, tmp_path).say("Hi", fails=True))
    assert isinstance(answer.error, AgentFailedError)
    assert answer.error.kind is FailureKind.LIMIT
    assert "Recursion limit of 3" in str(answer.error)


class Noting(AsyncCallbackHandler):
    """Notes that it was called."""

    def __init__(self) -> None:
        self.calls = 0

    async def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        self.calls += 1


def test_the_callbacks_of_a_graph_and_its_owner_stay_beside_the_guard(tmp_path: Path):
    mine, yours = Noting(), Noting()
    script = ModelScript(Step(calls=(READ,)), Step(("Done.",)))

    def build(tools: Any) -> Any:
        graph = counting_graph(script, [])(tools).with_config({"callbacks": [mine]})
        return AnsweringGraph(graph, config={"callbacks": [yours], "configurable": {"user": "x"}})

    async def show() -> None:
        chat = chat_with(build, tmp_path)
        assert (await chat.say("Hi")).calls
        assert (await chat.give({"read_file": "what was read"})).text == "Done."

    asyncio.run(show())
    assert mine.calls >= 2
    assert yours.calls >= 2
    assert PLACEHOLDER not in script.requests[1].text


# ---- questions ----


def asking_node(state: MessagesState) -> Any:
    return {"messages": [AIMessage(f"You like {interrupt('Which colour?')}.")]}


def test_an_interrupt_is_a_question_and_the_next_message_its_answer(tmp_path: Path):
    async def show() -> None:
        chat = chat_with(graph_of(asking_node, checkpointer=InMemorySaver()), tmp_path)
        first = await chat.say("Hi")
        assert first.text == "Which colour?"
        assert (await chat.say("red")).text == "You like red."

    asyncio.run(show())


def test_two_interrupts_are_asked_one_after_the_other(tmp_path: Path):
    async def colour(state: MessagesState) -> Any:
        return {"messages": [AIMessage(f"colour {interrupt('Which colour?')}")]}

    async def size(state: MessagesState) -> Any:
        return {"messages": [AIMessage(f"size {interrupt({'question': 'Which size?'})}")]}

    graph: Any = StateGraph(MessagesState)
    for node in (colour, size):
        graph.add_node(node.__name__, node)
        graph.add_edge(START, node.__name__)

    async def show() -> None:
        chat = chat_with(graph.compile(checkpointer=InMemorySaver()), tmp_path)
        assert (await chat.say("Hi")).text == "Which colour?"
        assert (await chat.say("red")).text == "colour red\n\nWhich size?"
        assert (await chat.say("large")).text == "size large"

    asyncio.run(show())


def test_an_interrupt_in_a_tool_is_a_question_and_the_answer_its_result(tmp_path: Path):
    @tool
    def ask_person(question: str) -> str:
        """Asks a person."""
        return str(interrupt({"question": question}))

    async def show() -> None:
        asking = Called("1", "ask_person", {"question": "Which colour?"})
        script = ModelScript(Step(calls=(asking, READ)), Step(("Red it is.",)))
        agent = create_agent(
            ScriptedChatModel(script=script), [ask_person], middleware=[host_tools()], checkpointer=InMemorySaver()
        )
        chat = chat_with(agent, tmp_path)
        assert (await chat.say("Paint")).text == "Which colour?"
        assert [call.name for call in (await chat.say("red")).calls] == ["read_file"]
        assert (await chat.give({"read_file": "what was read"})).text == "Red it is."
        assert "tool: red" in script.requests[1].text

    asyncio.run(show())


def test_an_interrupt_of_a_sub_graph_is_a_question(tmp_path: Path):
    async def show() -> None:
        chat = chat_with(graph_of(("inner", graph_of(asking_node)), checkpointer=InMemorySaver()), tmp_path)
        assert (await chat.say("Hi")).text == "Which colour?"
        assert (await chat.say("red")).text == "You like red."

    asyncio.run(show())


def test_a_question_without_a_checkpointer_says_that_no_answer_can_be_taken(tmp_path: Path):
    answer = asyncio.run(chat_with(graph_of(asking_node), tmp_path).say("Hi"))
    assert answer.text.startswith("Which colour?")
    assert "checkpointer" in answer.text


def test_approvals_without_a_checkpointer_say_what_is_missing(tmp_path: Path):
    asks = HumanInTheLoopMiddleware(interrupt_on={"delete_file": True})
    script = ModelScript(Step(calls=(DELETE,)))
    agent = create_agent(ScriptedChatModel(script=script), [delete_file], middleware=[asks])
    answer = asyncio.run(chat_with(agent, tmp_path).say("Hi"))
    assert "`delete_file`" in answer.text
    assert "checkpointer" in answer.text


def test_a_pause_before_a_node_goes_on_with_the_next_message(tmp_path: Path):
    async def show() -> None:
        graph = graph_of(("speak", speaker(steps("Done."))), checkpointer=InMemorySaver(), interrupt_before=["speak"])
        chat = chat_with(graph, tmp_path)
        assert "paused" in (await chat.say("Hi")).text
        assert (await chat.say("go on")).text == "Done."

    asyncio.run(show())


def approving_agent(script: ModelScript, **settings: Any) -> Any:
    asks = HumanInTheLoopMiddleware(interrupt_on={"delete_file": settings.pop("asks", True)}, **settings)
    model = ScriptedChatModel(script=script)
    return create_agent(
        model, [search, delete_file], middleware=[host_tools(), asks], checkpointer=InMemorySaver(), name="cleaner"
    )


def test_a_step_with_an_approval_and_a_call_of_the_host_asks_first_and_then_calls(tmp_path: Path):
    async def show() -> None:
        script = ModelScript(Step(calls=(DELETE, READ, SEARCH)), Step(("Done.",)))
        chat = chat_with(approving_agent(script), tmp_path)
        first = await chat.say("Clean up")
        assert "*yes*" in first.text
        assert not first.calls
        second = await chat.say("yes")
        assert [call.name for call in second.calls] == ["read_file"]
        last = await chat.give({"read_file": "what was read"})
        assert last.text == "Done."
        seen = script.requests[1].text
        assert DELETED in seen
        assert "what was read" in seen
        assert FOUND[0] in seen
        assert PLACEHOLDER not in seen

    asyncio.run(show())


def test_two_calls_of_one_tool_are_decided_one_by_one(tmp_path: Path):
    async def show() -> None:
        second = Called("inner_3", "delete_file", {"path": "b.py"})
        script = ModelScript(Step(calls=(DELETE, second)), Step(("Done.",)))
        chat = chat_with(approving_agent(script), tmp_path)
        await chat.say("Clean up")
        await chat.say("2")
        seen = script.requests[1].text
        assert seen.count(f"tool: {DELETED}") == 1

    asyncio.run(show())


def test_approvals_of_single_calls_are_read_too(tmp_path: Path):
    try:
        agent = approving_agent(
            script := ModelScript(Step(calls=(DELETE, READ)), Step(("Done.",))), interrupt_mode="per_call"
        )
    except TypeError:
        pytest.skip("this version of LangChain asks once a step only")

    async def show() -> None:
        chat = chat_with(agent, tmp_path)
        assert 'delete_file(path="a.py")' in (await chat.say("Clean up")).text
        second = await chat.say("yes")
        assert [call.name for call in second.calls] == ["read_file"]
        assert (await chat.give({"read_file": "what was read"})).text == "Done."
        assert DELETED in script.requests[1].text
        assert "what was read" in script.requests[1].text

    asyncio.run(show())


# ---- where the loop stops, and how it goes on ----


def sub_agent(inside: ModelScript) -> Any:
    @tool
    async def ask_reader(query: str) -> str:
        """Asks the reader."""
        agent = create_agent(ScriptedChatModel(script=inside), [search], middleware=[host_tools()], name="reader")
        return str((await agent.ainvoke({"messages": [HumanMessage(query)]}))["messages"][-1].content)

    return ask_reader


def test_a_call_of_the_host_in_an_agent_below_stops_the_whole_run(tmp_path: Path):
    async def show() -> None:
        inside = ModelScript(Step(calls=(READ,)))
        script = ModelScript(Step(calls=(Called("1", "ask_reader", {"query": "a.py"}),)), Step(("It is empty.",)))
        agent = create_agent(ScriptedChatModel(script=script), [sub_agent(inside)], middleware=[host_tools()])
        chat = chat_with(agent, tmp_path)
        first = await chat.say("What is in a.py?")
        assert [call.name for call in first.calls] == ["read_file"]
        assert len(script.requests) == 1
        last = await chat.give({"read_file": "what was read"})
        assert last.text == "It is empty."
        assert "what was read" in script.requests[1].text
        assert PLACEHOLDER not in script.requests[1].text

    asyncio.run(show())


@pytest.mark.parametrize("is_sync", [False, True], ids=["asynchronous", "in a thread"])
def test_a_loop_inside_one_node_is_stopped_before_the_model_reads_the_placeholder(tmp_path: Path, is_sync: bool):
    script = ModelScript(Step(calls=(READ,)), Step(("It is empty.",)))

    def build(tools: Any) -> Any:
        model = ScriptedChatModel(script=script).bind_tools(tools)
        by_name = {one.name: one for one in tools}

        async def loop(state: MessagesState) -> Any:
            messages = [*state["messages"]]
            while True:
                said = await model.ainvoke(messages)
                messages.append(said)
                if not said.tool_calls:
                    return {"messages": [said]}
                messages += [await by_name[call["name"]].ainvoke(call) for call in said.tool_calls]

        def loop_in_thread(state: MessagesState) -> Any:
            return asyncio.run(loop(state))

        return graph_of(("loop", loop_in_thread if is_sync else loop))

    async def show() -> None:
        chat = chat_with(build, tmp_path)
        assert [call.name for call in (await chat.say("What is in a.py?")).calls] == ["read_file"]
        assert len(script.requests) == 1
        assert (await chat.give({"read_file": "what was read"})).text == "It is empty."
        assert "what was read" in script.requests[1].text

    asyncio.run(show())


def keep_newest(_old: Any, new: Any) -> Any:
    return new


class Counting(MessagesState):
    count: Annotated[int, keep_newest]


def counting_graph(script: ModelScript, begun: list[int], **compiled: Any) -> Any:
    def build(tools: Any) -> Any:
        by_name = {one.name: one for one in tools}
        model = ScriptedChatModel(script=script).bind_tools(tools)

        def begin(state: Counting) -> Any:
            begun.append(1)
            return {"count": state.get("count", 0) + 1}

        async def agent(state: Counting) -> Any:
            return {"messages": [await model.ainvoke(state["messages"])]}

        async def tools_node(state: Counting) -> Any:
            return {
                "messages": [await by_name[call["name"]].ainvoke(call) for call in state["messages"][-1].tool_calls]
            }

        graph: Any = StateGraph(Counting)
        graph.add_node("begin", begin)
        graph.add_node("agent", agent)
        graph.add_node("tools", tools_node)
        graph.add_edge(START, "begin")
        graph.add_edge("begin", "agent")
        graph.add_conditional_edges("agent", lambda state: "tools" if state["messages"][-1].tool_calls else "__end__")
        graph.add_edge("tools", "agent")
        return graph.compile(**compiled)

    return build


def test_a_graph_with_a_checkpointer_goes_on_where_it_stopped(tmp_path: Path):
    async def show() -> None:
        begun: list[int] = []
        script = ModelScript(Step(calls=(READ,)), Step(("Done.",)))
        chat = chat_with(counting_graph(script, begun, checkpointer=InMemorySaver()), tmp_path)
        await chat.say("Hi")
        assert (await chat.give({"read_file": "what was read"})).text == "Done."
        assert begun == [1], "the nodes before the call ran once more"

    asyncio.run(show())


def test_a_thread_whose_next_node_is_not_clear_is_rebuilt_from_the_conversation(tmp_path: Path):
    script = ModelScript(Step(calls=(READ,)), Step(("Done.",)))

    def build(tools: Any) -> Any:
        model = ScriptedChatModel(script=script).bind_tools(tools)

        async def agent(state: MessagesState) -> Any:
            return {"messages": [await model.ainvoke(state["messages"])]}

        async def read(state: MessagesState) -> Any:
            return {"messages": [await tools[0].ainvoke(call) for call in state["messages"][-1].tool_calls]}

        def note(state: MessagesState) -> Any:
            return {"messages": []}

        graph: Any = StateGraph(MessagesState)
        graph.add_node("agent", agent)
        graph.add_node("read", read)
        graph.add_node("note", note)
        graph.add_edge(START, "agent")
        graph.add_conditional_edges(
            "agent", lambda state: ["read", "note"] if state["messages"][-1].tool_calls else ["__end__"]
        )
        graph.add_edge(["read", "note"], "agent")
        return graph.compile(checkpointer=InMemorySaver())

    async def show() -> None:
        chat = chat_with(build, tmp_path)
        assert [call.name for call in (await chat.say("Hi")).calls] == ["read_file"]
        assert (await chat.give({"read_file": "what was read"})).text == "Done."
        assert "what was read" in script.requests[1].text

    asyncio.run(show())


def test_a_thread_that_is_gone_is_rebuilt_from_the_conversation(tmp_path: Path):
    async def show() -> None:
        begun: list[int] = []
        script = ModelScript(Step(calls=(READ,)), Step(("Done.",)))
        saver = InMemorySaver()
        chat = chat_with(counting_graph(script, begun, checkpointer=saver), tmp_path)
        await chat.say("Hi")
        saver.storage.clear()
        assert (await chat.give({"read_file": "what was read"})).text == "Done."
        assert begun == [1, 1]
        assert "what was read" in script.requests[1].text

    asyncio.run(show())


def test_the_same_answer_gone_on_with_twice_is_rebuilt_the_second_time(tmp_path: Path):
    async def show() -> None:
        script = ModelScript(Step(calls=(READ,)), Step(("Done.",)), Step(("Done again.",)))
        chat = chat_with(counting_graph(script, [], checkpointer=InMemorySaver()), tmp_path)
        await chat.say("Hi")
        before = [*chat.messages]
        await chat.give({"read_file": "what was read"})
        chat.messages, chat.answers = before, chat.answers[:1]
        assert (await chat.give({"read_file": "read once more"})).text == "Done again."
        seen = script.requests[2].text
        assert "read once more" in seen
        assert "what was read" not in seen

    asyncio.run(show())


def test_the_placeholder_never_gets_into_an_answer(tmp_path: Path):
    async def show() -> None:
        script = ModelScript(Step(calls=(READ,)), Step(("Done.",)))
        agent = create_agent(ScriptedChatModel(script=script), [search], middleware=[host_tools()])
        chat = chat_with(agent, tmp_path)
        await chat.say("Hi")
        await chat.give({"read_file": "what was read"})
        assert all(PLACEHOLDER not in str(part) for answer in chat.answers for part in answer.parts)
        assert not [one for answer in chat.answers for one in answer.activity], "a call of the host is no inner work"

    asyncio.run(show())


def test_a_call_of_the_host_that_was_cut_is_an_error_and_not_a_call(tmp_path: Path):
    class Cut(ScriptedChatModel):
        async def _astream(self, messages: Any, stop: Any = None, run_manager: Any = None, **settings: Any) -> Any:
            piece: Any = {"name": "read_file", "args": '{"path": "a.p', "id": "c1", "index": 0}
            yield ChatGenerationChunk(message=AIMessageChunk("", tool_call_chunks=[piece]))

    agent = create_agent(Cut(script=None), [search], middleware=[host_tools()])
    answer = asyncio.run(chat_with(agent, tmp_path).say("Hi", fails=True))
    assert isinstance(answer.error, ToolArgumentsError)
    assert not answer.calls


def test_a_checkpointer_in_memory_forgets_a_run_that_was_cancelled(tmp_path: Path):
    saver = InMemorySaver()
    model = ScriptedChatModel(script=ModelScript(Step(("One", " two"), hangs=True)))
    chat = chat_with(create_agent(model, [search], checkpointer=saver), tmp_path)
    asyncio.run(chat.say("Hi", cancel_at=lambda part: isinstance(part, TextPart)))
    assert not saver.storage


@pytest.mark.parametrize("fails", [False, True])
def test_a_checkpointer_in_memory_forgets_a_run_that_has_ended(tmp_path: Path, fails: bool):
    async def show() -> None:
        saver = InMemorySaver()
        script = ModelScript(Step(calls=(READ,)), Step(("Done.",), error=fails))
        chat = chat_with(counting_graph(script, [], checkpointer=saver), tmp_path)
        await chat.say("Hi")
        assert saver.storage, "the stopped run is needed"
        await chat.give({"read_file": "what was read"}, fails=fails)
        assert not saver.storage

    asyncio.run(show())


class Deaf(ScriptedChatModel):
    """Loses the first cancellation, as `asyncio.wait_for` of Python 3.11 does where a chunk comes together with it."""

    async def _astream(self, messages: Any, stop: Any = None, run_manager: Any = None, **settings: Any) -> Any:
        with self.script.streaming():
            yield ChatGenerationChunk(message=AIMessageChunk("Hel"))
            with suppress(asyncio.CancelledError):
                await hang()
            yield ChatGenerationChunk(message=AIMessageChunk("lo"))
            await hang()


@pytest.mark.parametrize("agent_of", [create_agent, lambda model: model], ids=["agent", "chat model"])
def test_a_model_that_loses_a_cancellation_is_stopped_at_its_next_chunk(tmp_path: Path, agent_of: Any):
    script = ModelScript()
    chat = chat_with(agent_of(Deaf(script=script)), tmp_path)
    answer = asyncio.run(chat.say("Hi", cancel_at=lambda part: isinstance(part, TextPart)))
    assert answer.text == "Hel"
    assert (script.opened, script.open) == (1, 0)


def test_an_answer_of_an_agent_that_breaks_off_is_an_error(tmp_path: Path):
    class Cut(ScriptedChatModel):
        def _get_ls_params(self, stop: Any = None, **settings: Any) -> Any:
            return {"ls_provider": "anthropic"}

        async def _astream(self, messages: Any, stop: Any = None, run_manager: Any = None, **settings: Any) -> Any:
            yield ChatGenerationChunk(message=AIMessageChunk("Half an ans"))

    answer = asyncio.run(chat_with(create_agent(Cut(script=None)), tmp_path).say("Hi", fails=True))
    assert answer.text == "Half an ans"
    assert isinstance(answer.error, TruncatedStreamError)


# ---- the middleware ----


def test_an_agent_with_the_middleware_runs_without_a_host_too():
    script = ModelScript(Step(calls=(SEARCH,)), Step(("Found.",)))
    agent = create_agent(ScriptedChatModel(script=script), [search], middleware=[host_tools()])
    state = asyncio.run(agent.ainvoke({"messages": [HumanMessage("Hi")]}))
    assert state["messages"][-1].content == "Found."
    assert script.requests[0].tools == ("search",)


def test_an_agent_without_tools_of_its_own_takes_those_of_the_host(tmp_path: Path):
    script = ModelScript(Step(calls=(READ,)), Step(("Done.",)))
    agent = create_agent(ScriptedChatModel(script=script), middleware=[host_tools()])

    async def show() -> None:
        chat = chat_with(agent, tmp_path, tools=[READ_FILE])
        assert [call.name for call in (await chat.say("Hi")).calls] == ["read_file"]
        assert (await chat.give({"read_file": "what was read"})).text == "Done."

    asyncio.run(show())
    assert script.requests[0].tools == ("read_file",)


def test_newer_instructions_take_the_place_of_those_that_a_stopped_run_began_with(tmp_path: Path):
    script = ModelScript(Step(calls=(READ,)), Step(("Done.",)))
    chat = chat_with(counting_graph(script, []), tmp_path)
    chat.messages.append(ChatMessage.system("It is noon."))

    async def show() -> None:
        await chat.say("Hi")
        chat.messages[0] = ChatMessage.system("It is one.")
        await chat.give({"read_file": "what was read"})

    asyncio.run(show())
    seen = script.requests[1].text
    assert "It is one." in seen
    assert "It is noon." not in seen


@pytest.mark.parametrize("own", [None, "You are kind."])
def test_the_hosts_instructions_stand_behind_the_agents_own(tmp_path: Path, own: str | None):
    script = steps("Hello", "Hello again")
    model = ScriptedChatModel(script=script)
    chat = chat_with(create_agent(model, system_prompt=own, middleware=[host_tools()]), tmp_path)
    chat.messages.append(ChatMessage.system("You are in VS Code."))
    asyncio.run(chat.say("Hi"))
    expected = "system: You are kind.\n\nYou are in VS Code." if own else "system: You are in VS Code."
    assert script.requests[0].text.startswith(expected)
    assert script.requests[0].text.count("You are in VS Code.") == 1


def test_the_callers_options_and_demands_reach_the_model_of_an_agent(tmp_path: Path):
    script = ModelScript(Step(calls=(SEARCH,)), Step(("Found.",)))
    model = ScriptedChatModel(script=script)
    agent = create_agent(model, [search], middleware=[host_tools()])
    options = RequestOptions((READ_FILE,), tool_mode=ToolMode.REQUIRED, model_options={"temperature": 0})
    chat = chat_with(agent, tmp_path)

    async def show() -> None:
        token = CancellationTokenSource().token
        [information] = await chat.provider.provide_language_model_chat_information(True, token)
        await chat.provider.provide_language_model_chat_response(
            information, [ChatMessage.user("Hi")], options, Ignored(), token
        )

    asyncio.run(show())
    assert model.settings_seen == [{"temperature": 0, "tool_choice": "any"}, {"temperature": 0, "tool_choice": None}]


class Ignored:
    def report(self, part: Any) -> None:
        """Takes a part."""


def test_a_finished_graph_gets_the_hosts_instructions_as_its_first_message(tmp_path: Path):
    script = steps("Hello")
    chat = chat_with(graph_of(("speak", speaker(script))), tmp_path)
    chat.messages.append(ChatMessage.system("You are in VS Code."))
    asyncio.run(chat.say("Hi"))
    assert script.requests[0].text.startswith("system: You are in VS Code.")


def test_a_finished_graph_without_the_middleware_answers_without_the_hosts_tools(tmp_path: Path, caplog: Any):
    script = steps("Hello")
    agent = create_agent(ScriptedChatModel(script=script), [search])
    with caplog.at_level("INFO", "partstream.agents"):
        answer = asyncio.run(chat_with(agent, tmp_path).say("Hi"))
    assert answer.text == "Hello"
    assert script.requests[0].tools == ("search",)
    assert "host_tools()" in caplog.text
