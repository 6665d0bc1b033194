"""What every framework's agents must show, as one table; each framework's tests run every row that they can.

A framework's tests offer a :class:`Framework`: they make agents whose model follows a :class:`ModelScript`. A row makes
such an agent a model with `as_model`, asks it as VS Code does, and asserts what a person and the model get to see.
Every answer is judged by the checker of the contract, and by :meth:`Answer.check`.

::

    @pytest.mark.parametrize("scenario", scenarios_for(MINE), ids=str)
    def test_an_agent_of_mine(scenario, tmp_path):
        run_scenario(scenario, MINE, tmp_path)
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from extent import RUNS_AT_ONCE
from partstream import (
    CancellationTokenSource,
    ChatMessage,
    DataPart,
    RequestOptions,
    TextPart,
    ThinkingPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)
from partstream.codec.json_codec import loads
from partstream.lm.contract import CheckMode
from partstream.lm.inner_activity import ACTIVITY_MIME_TYPE
from partstream.lm.outputs import Finish
from partstream.lm.parts import STATEFUL_MARKER_MIME_TYPE, USAGE_MIME_TYPE
from partstream.runtime.progress import CheckedProgress
from partstream_agents import as_model
from partstream_agents.run import RunStates

WAIT_SECONDS = 20
"""Nothing here takes long; whatever waits longer has failed."""

FOUND = ["first result", "second result", "third result"]
"""What the agents' own tool `search(query: str)` returns."""

DELETED = "deleted"
"""What the agents' own tool `delete_file(path: str)` returns, which wants to be allowed."""

_PATH_SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ_FILE = Tool("read_file", "Reads a file of the workspace.", _PATH_SCHEMA)
EDIT_FILE = Tool("edit_file", "Edits a file of the workspace.", _PATH_SCHEMA)
TOOLS = (READ_FILE, EDIT_FILE)
"""The host's tools."""

INNER_NAMES = frozenset({"search", "delete_file"})
"""The names of the agents' own tools, which no tool call of an answer may have."""

OBJECT = {"city": "Paris", "people": 2}
"""The result of an agent whose output is an object with the fields `city: str` and `people: int`."""


# ---- the scripted model ----


@dataclass(frozen=True)
class Called:
    """A call that the model makes."""

    call_id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """What the model answers to one inner request, in this order.

    Attributes:
        thinking: Its thinking; empty for none.
        signature: The signature of the thinking, where the framework carries one.
        text: Its text, in the pieces that it streams.
        calls: Its calls, of any tools.
        result: The fields of the agent's output object, in the form in which the framework has the model give it.
        error: Whether it then raises `RuntimeError("the model broke")`, or the framework's own error for that.
        hangs: Whether it then waits until it is closed.
        echo: Whether its text is the last words of the user, once.
        usage: The tokens of the request: input and output.
    """

    text: tuple[str, ...] = ()
    thinking: str = ""
    signature: str = ""
    calls: tuple[Called, ...] = ()
    result: Mapping[str, Any] | None = None
    error: bool = False
    hangs: bool = False
    echo: bool = False
    usage: tuple[int, int] = (10, 5)


@dataclass(frozen=True)
class Seen:
    """One inner request as the model saw it.

    Attributes:
        text: All that it saw as one text: words, calls, results, in order; in any form that shows them.
        tools: The names of the tools that it may call.
    """

    text: str
    tools: tuple[str, ...] = ()


class ModelScript:
    """What a scripted model says, and what it saw; one for each agent.

    A framework's scripted model calls :meth:`begin` for each request, says the pieces of the step, and streams within
    :meth:`streaming`, so that a stream that is closed early is seen.
    """

    def __init__(self, *steps: Step, repeats: bool = False) -> None:
        self._steps = steps
        self._repeats = repeats
        self.requests: list[Seen] = []
        self.open = 0
        self.opened = 0

    def begin(self, seen: Seen) -> Step:
        """The next step."""
        self.requests.append(seen)
        number = 0 if self._repeats else len(self.requests) - 1
        assert number < len(self._steps), f"the model was asked {number + 1} times, the script has {len(self._steps)}"
        return self._steps[number]

    @contextmanager
    def streaming(self):
        """The time in which the model streams; ends when its stream is exhausted or closed."""
        self.open += 1
        self.opened += 1
        try:
            yield
        finally:
            self.open -= 1


async def hang() -> None:
    """Waits until the stream of the model is closed."""
    await asyncio.Event().wait()


class Framework(Protocol):
    """What the tests of a framework offer.

    Attributes:
        name: The framework's name.
        can: What its agents can, of the needs of the scenarios.
    """

    name: str
    can: frozenset[str]

    def agent(self, script: ModelScript, *, output: bool = False) -> Any:
        """An agent with the own tools `search` and `delete_file`, as far as its framework has tools.

        Args:
            script: What its model says.
            output: Whether its output is an object with the fields of :data:`OBJECT`.

        Returns:
            What is given to `as_model`: an agent, or a factory of agents.
        """
        ...


# ---- one who asks as VS Code does ----


@dataclass
class Answer:
    """One answer, as the host gets it."""

    parts: list[Any] = field(default_factory=list)
    finish: Finish | None = None
    error: Exception | None = None

    @property
    def text(self) -> str:
        """Its text."""
        return "".join(part.value for part in self.parts if isinstance(part, TextPart))

    @property
    def thinking(self) -> str:
        """Its thinking."""
        return "".join(part.value for part in self.parts if isinstance(part, ThinkingPart))

    @property
    def calls(self) -> list[ToolCallPart]:
        """Its calls of the host's tools."""
        return [part for part in self.parts if isinstance(part, ToolCallPart)]

    @property
    def usage(self) -> dict[str, Any] | None:
        """The usage that VS Code gets."""
        found = [part for part in self.parts if isinstance(part, DataPart) and part.mime_type == USAGE_MIME_TYPE]
        return loads(found[-1].data) if found else None

    @property
    def activity(self) -> list[dict[str, Any]]:
        """The inner calls and results, for programs."""
        return [
            loads(part.data)
            for part in self.parts
            if isinstance(part, DataPart) and part.mime_type == ACTIVITY_MIME_TYPE
        ]

    def check(self, last_usage: tuple[int, int] | None) -> None:
        """What holds for every answer that ended without an error."""
        assert not {call.name for call in self.calls} & INNER_NAMES, "an inner tool became a tool call of the answer"
        ids = [call.call_id for call in self.calls]
        assert len(ids) == len(set(ids)), f"a call came twice: {ids}"
        assert self.text.strip() or self.calls, "the answer shows nothing"
        if last_usage is not None:
            assert self.usage is not None, "no usage"
            got = (self.usage["prompt_tokens"], self.usage["completion_tokens"])
            assert got == last_usage, f"the usage is {got}, that of the last inner request {last_usage}"

    def message(self, *, keeps_marker: bool = True) -> ChatMessage:
        """The answer as Copilot sends it back (docs/wires/vscode.md#assistant-messages-in-the-history)."""
        data = [part for part in self.parts if isinstance(part, DataPart)]
        markers = [part for part in data if part.mime_type == STATEFUL_MARKER_MIME_TYPE]
        metadata = [part.metadata for part in self.parts if isinstance(part, ThinkingPart) and part.metadata]
        thinking = [ThinkingPart(self.thinking, "t", metadata[-1] if metadata else None)] if self.thinking else []
        kept = markers[-1:] if keeps_marker else []
        return ChatMessage.assistant([*kept, *thinking, TextPart(self.text), *self.calls])


class Chat:
    """A conversation with one model, as VS Code has it."""

    def __init__(self, provider: Any, tools: Iterable[Tool] = TOOLS, *, keeps_markers: bool = True) -> None:
        self.provider = provider
        self.messages: list[ChatMessage] = []
        self.answers: list[Answer] = []
        self._tools = tuple(tools)
        self._keeps_markers = keeps_markers

    async def say(self, text: str, **asking: Any) -> Answer:
        """The answer to a message of the user."""
        self.messages.append(ChatMessage.user(text))
        return await self.ask(**asking)

    async def give(self, results: Mapping[str, str], **asking: Any) -> Answer:
        """The answer to the results of the last calls, by the names of their tools; each is a message of its own."""
        for call in self.answers[-1].calls:
            self.messages.append(ChatMessage.user([ToolResultPart(call.call_id, [TextPart(results[call.name])])]))
        return await self.ask(**asking)

    async def ask(self, *, cancel_at: Callable[[Any], bool] | None = None, fails: bool = False) -> Answer:
        """One request. The answer becomes the last message, unless it failed."""
        answer, source = Answer(), CancellationTokenSource()

        class Collected:
            def report(self, part: Any) -> None:
                assert not source.token.is_cancellation_requested, f"{part} came after the cancellation"
                answer.parts.append(part)
                if cancel_at is not None and cancel_at(part):
                    source.cancel()

            def finish(self, finish: Finish) -> None:
                answer.finish = finish

        progress = CheckedProgress(Collected(), {tool.name for tool in self._tools}, CheckMode.STRICT)
        options = RequestOptions(self._tools)
        async with asyncio.timeout(WAIT_SECONDS):
            [model] = await self.provider.provide_language_model_chat_information(True, source.token)
            try:
                await self.provider.provide_language_model_chat_response(
                    model, list(self.messages), options, progress, source.token
                )
            except Exception as error:
                if not fails:
                    raise
                answer.error = error
            else:
                progress.complete() if cancel_at is None else progress.cancel()
        assert progress.violation is None
        assert not fails or answer.error is not None, "nothing failed"
        self.answers.append(answer)
        if answer.error is None:
            self.messages.append(answer.message(keeps_marker=self._keeps_markers))
        return answer


# ---- the table ----


@dataclass(frozen=True)
class Scenario:
    """One row of the table.

    Attributes:
        name: What it is about.
        needs: What an agent must be able to, of: `inner tools`, `objects`, `approvals`, `thinking`.
        show: Asserts what it must show.
    """

    name: str
    show: Callable[[Framework, RunStates], Awaitable[None]]
    needs: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return self.name


SCENARIOS: dict[str, Scenario] = {}


def _row(name: str, *needs: str) -> Callable[[Callable[[Framework, RunStates], Awaitable[None]]], None]:
    def add(show: Callable[[Framework, RunStates], Awaitable[None]]) -> None:
        SCENARIOS[name] = Scenario(name, show, frozenset(needs))

    return add


def scenarios_for(framework: Framework) -> list[Scenario]:
    """The rows that the agents of a framework can be asked for."""
    return [scenario for scenario in SCENARIOS.values() if scenario.needs <= framework.can]


def run_scenario(scenario: Scenario, framework: Framework, folder: Path) -> None:
    """Runs one row; stopped runs are kept in the folder."""
    asyncio.run(scenario.show(framework, RunStates(folder)))


SEARCH = Called("inner_1", "search", {"query": "agents"})
READ = Called("outer_1", "read_file", {"path": "a.py"})
EDIT = Called("outer_2", "edit_file", {"path": "a.py"})
DELETE = Called("inner_2", "delete_file", {"path": "a.py"})


@_row("text")
async def _text(framework: Framework, states: RunStates) -> None:
    script = ModelScript(Step(("Hel", "lo"), usage=(7, 2)))
    chat = Chat(as_model(framework.agent(script), name="Agent", states=states))
    answer = await chat.say("Hi there")
    assert answer.text == "Hello"
    assert not answer.calls
    assert "Hi there" in script.requests[0].text
    answer.check((7, 2))
    assert script.open == 0


@_row("a conversation of several turns")
async def _turns(framework: Framework, states: RunStates) -> None:
    script = ModelScript(Step(("One",)), Step(("Two",)))
    chat = Chat(as_model(framework.agent(script), name="Agent", states=states))
    await chat.say("first words")
    answer = await chat.say("second words")
    assert answer.text == "Two"
    seen = script.requests[1].text
    assert 0 <= seen.find("first words") < seen.find("One") < seen.find("second words")
    assert seen.count("second words") == 1


@_row("thinking with a signature", "thinking")
async def _thinking(framework: Framework, states: RunStates) -> None:
    script = ModelScript(Step(("Hello",), thinking="Let me see.", signature="signed"))
    answer = await Chat(as_model(framework.agent(script), name="Agent", states=states)).say("Hi")
    assert answer.text == "Hello"
    assert "Let me see." in answer.thinking
    answer.check((10, 5))


@_row("inner tools only", "inner tools")
async def _inner(framework: Framework, states: RunStates) -> None:
    script = ModelScript(Step(calls=(SEARCH,), usage=(10, 5)), Step(("Found it.",), usage=(30, 4)))
    answer = await Chat(as_model(framework.agent(script), name="Agent", states=states)).say("Search!")
    assert answer.text == "Found it."
    assert not answer.calls
    assert 'Called search(query="agents")' in answer.thinking
    assert "-> " in answer.thinking
    assert FOUND[0] not in answer.thinking, "a result is never shown in full"
    kinds = [(one["type"], one["name"]) for one in answer.activity]
    assert kinds == [("call", "search"), ("result", "search")]
    assert answer.activity[0]["arguments"] == {"query": "agents"}
    assert FOUND[2] in str(answer.activity[1]["content"])
    assert FOUND[2] in script.requests[1].text
    answer.check((30, 4))


@_row("inner tools that are not shown", "inner tools")
async def _not_shown(framework: Framework, states: RunStates) -> None:
    script = ModelScript(Step(calls=(SEARCH,)), Step(("Found it.",)))
    answer = await Chat(as_model(framework.agent(script), name="Agent", tools="off", states=states)).say("Search!")
    assert answer.text == "Found it."
    assert "search" not in answer.thinking
    answer.check((10, 5))


@_row("inner tools as text", "inner tools")
async def _as_text(framework: Framework, states: RunStates) -> None:
    script = ModelScript(Step(calls=(SEARCH,)), Step(("Found it.",)))
    answer = await Chat(as_model(framework.agent(script), name="Agent", tools="text", states=states)).say("Search!")
    assert '`Called search(query="agents")`' in answer.text
    assert answer.text.endswith("Found it.")


@_row("one external call, then the answer")
async def _external(framework: Framework, states: RunStates) -> None:
    script = ModelScript(Step(("I look. ",), calls=(READ,), usage=(20, 6)), Step(("It is empty.",), usage=(40, 3)))
    chat = Chat(as_model(framework.agent(script), name="Agent", states=states))
    first = await chat.say("Read a.py")
    [call] = first.calls
    assert (call.name, dict(call.input)) == ("read_file", {"path": "a.py"})
    first.check((20, 6))
    assert {"read_file", "edit_file"} <= set(script.requests[0].tools)
    last = await chat.give({"read_file": "no content in a.py"})
    assert last.text == "It is empty."
    last.check((40, 3))
    assert "no content in a.py" in script.requests[1].text


@_row("two external calls of one step")
async def _two_external(framework: Framework, states: RunStates) -> None:
    script = ModelScript(Step(calls=(READ, EDIT)), Step(("Done.",)))
    chat = Chat(as_model(framework.agent(script), name="Agent", states=states))
    first = await chat.say("Read and edit a.py")
    assert [call.name for call in first.calls] == ["read_file", "edit_file"]
    first.check((10, 5))
    last = await chat.give({"read_file": "what was read", "edit_file": "what was edited"})
    assert last.text == "Done."
    seen = script.requests[1].text
    assert "what was read" in seen
    assert "what was edited" in seen


@_row("external calls one after the other")
async def _rounds(framework: Framework, states: RunStates) -> None:
    script = ModelScript(Step(calls=(READ,)), Step(calls=(EDIT,)), Step(("Done.",)))
    chat = Chat(as_model(framework.agent(script), name="Agent", states=states))
    assert [call.name for call in (await chat.say("Read and edit a.py")).calls] == ["read_file"]
    assert [call.name for call in (await chat.give({"read_file": "what was read"})).calls] == ["edit_file"]
    last = await chat.give({"edit_file": "what was edited"})
    assert last.text == "Done."
    seen = script.requests[2].text
    assert 0 <= seen.find("what was read") < seen.find("what was edited")


async def _mixed_batch(framework: Framework, states: RunStates, *, keeps_markers: bool) -> str:
    script = ModelScript(Step(("Both. ",), calls=(SEARCH, READ)), Step(("Done.",)))
    chat = Chat(as_model(framework.agent(script), name="Agent", states=states), keeps_markers=keeps_markers)
    first = await chat.say("Search and read")
    assert [call.name for call in first.calls] == ["read_file"]
    assert len(script.requests) == 1, "the model was asked before the host's tool had run"
    first.check((10, 5))
    last = await chat.give({"read_file": "what was read"})
    assert last.text == "Done."
    last.check((10, 5))
    assert "what was read" in script.requests[1].text
    return script.requests[1].text


@_row("a mixed batch, gone on with exactly", "inner tools")
async def _mixed_exact(framework: Framework, states: RunStates) -> None:
    seen = await _mixed_batch(framework, states, keeps_markers=True)
    assert FOUND[1] in seen, "the result of the agent's own tool was lost"


@_row("a mixed batch, rebuilt from the conversation", "inner tools")
async def _mixed_stateless(framework: Framework, states: RunStates) -> None:
    await _mixed_batch(framework, states, keeps_markers=False)


@_row("an external call whose result never came")
async def _dangling(framework: Framework, states: RunStates) -> None:
    script = ModelScript(Step(calls=(READ,)), Step(("Never mind.",)))
    chat = Chat(as_model(framework.agent(script), name="Agent", states=states))
    await chat.say("Read a.py")
    answer = await chat.say("Forget it")
    assert answer.text == "Never mind."
    answer.check((10, 5))
    assert "Forget it" in script.requests[1].text


@_row("a tool of the host that is called like one of the agent", "inner tools")
async def _clash(framework: Framework, states: RunStates) -> None:
    tools = (Tool("search", "Searches the workspace.", _PATH_SCHEMA), READ_FILE)
    outer = Called("outer_9", "vscode_search", {"path": "src"})
    script = ModelScript(Step(calls=(SEARCH, outer)), Step(("Done.",)))
    chat = Chat(as_model(framework.agent(script), name="Agent", states=states), tools)
    first = await chat.say("Search everywhere")
    assert [(call.name, dict(call.input)) for call in first.calls] == [("search", {"path": "src"})]
    assert {"search", "vscode_search"} <= set(script.requests[0].tools)
    last = await chat.give({"search": "what the host found"})
    assert last.text == "Done."
    assert "what the host found" in script.requests[1].text


@_row("an agent that gets none of the host's tools")
async def _no_host_tools(framework: Framework, states: RunStates) -> None:
    script = ModelScript(Step(("Hello",)))
    answer = await Chat(as_model(framework.agent(script), name="Agent", host_tools=False, states=states)).say("Hi")
    assert answer.text == "Hello"
    assert not {"read_file", "edit_file"} & set(script.requests[0].tools)


@_row("a model that breaks in the middle")
async def _breaks(framework: Framework, states: RunStates) -> None:
    script = ModelScript(Step(("Hel",), error=True))
    answer = await Chat(as_model(framework.agent(script), name="Agent", states=states)).say("Hi", fails=True)
    assert answer.text == "Hel", "what came before the error stays"
    assert "the model broke" in str(answer.error)
    assert "Traceback" not in str(answer.error)
    assert script.open == 0


@_row("a cancellation in the middle")
async def _cancelled(framework: Framework, states: RunStates) -> None:
    script = ModelScript(Step(("Hel", "lo"), hangs=True))
    chat = Chat(as_model(framework.agent(script), name="Agent", states=states))
    before = asyncio.all_tasks()
    await chat.say("Hi", cancel_at=lambda part: isinstance(part, TextPart))
    assert script.opened == 1
    assert script.open == 0, "the stream of the model is still open"
    assert asyncio.all_tasks() == before, "a task of the run is left"


@_row("an output that is an object", "objects")
async def _object(framework: Framework, states: RunStates) -> None:
    script = ModelScript(Step(result=OBJECT))
    answer = await Chat(as_model(framework.agent(script, output=True), name="Agent", states=states)).say("Where?")
    assert not answer.calls
    assert '"city"' in answer.text
    assert "Paris" in answer.text
    answer.check((10, 5))


def _approving() -> ModelScript:
    return ModelScript(Step(("I clean up. ",), calls=(DELETE,)), Step(("Done.",), usage=(50, 2)))


@_row("a person allows a call", "inner tools", "approvals")
async def _allowed(framework: Framework, states: RunStates) -> None:
    script = _approving()
    chat = Chat(as_model(framework.agent(script), name="Agent", states=states))
    first = await chat.say("Clean up")
    assert 'delete_file(path="a.py")' in first.text
    assert "*yes*" in first.text
    assert not first.calls
    assert len(script.requests) == 1
    first.check((10, 5))
    last = await chat.say("yes")
    assert last.text == "Done."
    last.check((50, 2))
    assert DELETED in script.requests[1].text


@_row("a person does not allow a call", "inner tools", "approvals")
async def _declined(framework: Framework, states: RunStates) -> None:
    script = _approving()
    chat = Chat(as_model(framework.agent(script), name="Agent", states=states))
    await chat.say("Clean up")
    last = await chat.say("no, keep it for now")
    assert last.text == "Done."
    assert DELETED not in script.requests[1].text
    assert "keep it for now" in script.requests[1].text, "the model gets to read why"


@_row("calls that no approval can allow", "inner tools", "approvals")
async def _never(framework: Framework, states: RunStates) -> None:
    script = _approving()
    answer = await Chat(as_model(framework.agent(script), name="Agent", approve="never", states=states)).say("Clean up")
    assert answer.text.endswith("Done.")
    assert DELETED not in script.requests[1].text
    answer.check((50, 2))


@_row("calls that a function allows", "inner tools", "approvals")
async def _by_function(framework: Framework, states: RunStates) -> None:
    script, asked = _approving(), []

    def approve(approval: Any) -> bool:
        asked.append((approval.name, approval.arguments))
        return True

    answer = await Chat(as_model(framework.agent(script), name="Agent", approve=approve, states=states)).say("Clean up")
    assert answer.text.endswith("Done.")
    assert asked == [("delete_file", {"path": "a.py"})]
    assert DELETED in script.requests[1].text


@_row("many runs at once")
async def _many(framework: Framework, states: RunStates) -> None:
    script = ModelScript(Step(echo=True), repeats=True)
    provider = as_model(framework.agent(script), name="Agent", states=states)
    answers = await asyncio.gather(*(Chat(provider).say(f"words of run {number}.") for number in range(RUNS_AT_ONCE)))
    assert [answer.text for answer in answers] == [f"words of run {number}." for number in range(RUNS_AT_ONCE)]
    assert len(script.requests) == RUNS_AT_ONCE
    assert script.open == 0


__all__ = [
    "DELETED",
    "FOUND",
    "INNER_NAMES",
    "OBJECT",
    "SCENARIOS",
    "TOOLS",
    "Answer",
    "Called",
    "Chat",
    "Framework",
    "ModelScript",
    "Scenario",
    "Seen",
    "Step",
    "hang",
    "run_scenario",
    "scenarios_for",
]
