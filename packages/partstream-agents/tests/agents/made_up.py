"""A framework that does not exist, with its adapter: it proves the core of agents without any real framework.

Its agents are asked through the hook `__partstream_model__`. A conversation is a list of JSON objects, and so is the
state of a stopped run.
"""

import json
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from scenarios import DELETED, FOUND, Called, ModelScript, Seen, Step, hang

from partstream.conversation.turns import Call, Result, Text
from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart, Usage
from partstream_agents import (
    AgentOutput,
    AgentPairing,
    AgentRequest,
    Approval,
    ApprovalAsked,
    ExternalCalls,
    FailureKind,
    InnerCall,
    InnerResult,
    KeptState,
    ResultObject,
    StepUsage,
)

Message = dict[str, Any]


class ModelBrokeError(Exception):
    """The framework's own error for a model that broke."""


@dataclass
class MadeUpAgent:
    """An agent of the framework."""

    script: ModelScript
    name: str = "Made up"
    output: bool = False
    tools: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    guarded: frozenset[str] = frozenset()

    def __partstream_model__(self) -> AgentPairing:
        return AgentPairing(self, MadeUpAdapter())

    async def stream(self, messages: list[Message], tools: tuple[str, ...]) -> AsyncGenerator[Any, None]:
        """One inner request to the model: its pieces, then the step."""
        step = self.script.begin(Seen(json.dumps(messages), tools))
        with self.script.streaming():
            if step.thinking:
                yield ThinkingPart(step.thinking, "thought", {"signature": step.signature})
            for text in [messages[-1]["text"]] if step.echo else step.text:
                yield TextPart(text)
            if step.error:
                raise ModelBrokeError("the model broke")
            if step.hangs:
                await hang()
        yield step


class MadeUpAdapter:
    """Runs the agents of the framework."""

    framework = "made-up"
    tested = "1.0"
    errors = MappingProxyType({"ModelBrokeError": FailureKind.MODEL})

    def inner_tools(self, agent: MadeUpAgent) -> frozenset[str]:
        return frozenset(agent.tools)

    async def run(self, agent: MadeUpAgent, request: AgentRequest) -> AsyncGenerator[AgentOutput, None]:
        async with aclosing(_Loop(agent, request, _messages(request)).outputs()) as outputs:
            async for output in outputs:
                yield output


@dataclass
class _Loop:
    """One run."""

    agent: MadeUpAgent
    request: AgentRequest
    messages: list[Message]
    waiting: list[list[Any]] = field(default_factory=list)
    approvals: list[Approval] = field(default_factory=list)
    calls: list[ToolCallPart] = field(default_factory=list)

    async def outputs(self) -> AsyncGenerator[AgentOutput, None]:
        self._run_allowed()
        number, step = 0, Step(calls=(Called("", ""),))
        while step.calls and not self.waiting:
            number += 1
            async with aclosing(self.agent.stream(self.messages, self._tools)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Step):
                        step = piece
                    else:
                        yield piece
            yield StepUsage(Usage(*step.usage))
            if step.result is not None:
                yield ResultObject(step.result)
            for output in self._called(step, number):
                yield output
        if self.waiting:
            yield KeptState({"messages": self.messages, "waiting": self.waiting})
        if self.calls:
            yield ExternalCalls(tuple(self.calls))
        if self.approvals:
            yield ApprovalAsked(tuple(self.approvals))

    @property
    def _tools(self) -> tuple[str, ...]:
        return (*self.agent.tools, *(tool.name for tool in self.request.tools))

    def _run_allowed(self) -> None:
        for call_id, name, arguments in (self.request.resumed or {"waiting": ()})["waiting"]:
            if name in self.agent.tools:
                decision = self.request.decisions[call_id]
                content = self.agent.tools[name](**arguments) if decision.approved else decision.reason
                self.messages.append({"result": call_id, "text": content})

    def _called(self, step: Step, number: int) -> Iterator[AgentOutput]:
        self.messages.append({"calls": [[one.call_id, one.name, dict(one.arguments)] for one in step.calls]})
        for one in step.calls:
            call = (one.call_id, one.name, dict(one.arguments))
            if one.name not in self.agent.tools:
                self.waiting.append(list(call))
                self.calls.append(ToolCallPart(*call))
            elif one.name in self.agent.guarded:
                self.waiting.append(list(call))
                self.approvals.append(Approval(*call))
            else:
                yield InnerCall(*call, number)
                content = self.agent.tools[one.name](**one.arguments)
                self.messages.append({"result": one.call_id, "text": content})
                yield InnerResult(one.call_id, one.name, content, step=number)


def _messages(request: AgentRequest) -> list[Message]:
    if request.resumed is not None:
        results = [{"result": call_id, "text": _text(result)} for call_id, result in request.results.items()]
        return [*request.resumed["messages"], *results]
    messages: list[Message] = []
    for turn in request.turns:
        for piece in turn.content:
            if isinstance(piece, Text):
                messages.append({"role": turn.role.value, "text": piece.value})
            elif isinstance(piece, Call):
                messages.append({"calls": [[piece.call_id, piece.name, dict(piece.input)]]})
            elif isinstance(piece, Result):
                messages.append({"result": piece.call_id, "text": _text(piece)})
    return messages


def _text(result: Result) -> str:
    return "".join(piece.value for piece in result.content if isinstance(piece, Text))


class MadeUp:
    """The framework, for the table of scenarios."""

    name = "made-up"
    can = frozenset({"inner tools", "objects", "approvals", "thinking"})

    def agent(self, script: ModelScript, *, output: bool = False) -> MadeUpAgent:
        tools = {"search": lambda query: list(FOUND), "delete_file": lambda path: DELETED}
        return MadeUpAgent(script, output=output, tools=tools, guarded=frozenset({"delete_file"}))
