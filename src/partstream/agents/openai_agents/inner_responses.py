"""The model's responses inside one run, each read by an adapter of its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from partstream.agents.adapter import Paragraphs
from partstream.agents.openai_agents.step_usages import StepUsages
from partstream.agents.openai_agents.wire import open_response
from partstream.outputs import Finish, Unmapped
from partstream.parts import TextPart, ThinkingPart, ToolCallPart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.agents.adapter import AgentOutput
    from partstream.outputs import ResponseStream, StreamOutput

__all__ = ["InnerResponses"]

_BEGIN: Final = "response.created"
_HOSTED: Final = re.compile(r"(?:_call(?:$|\.|_)|mcp_)")
"""What is in the type of an event or an item of a hosted tool: `response.web_search_call.searching`, `mcp_call`."""


class InnerResponses:
    """Several responses follow each other in a run, one for each request to the model.

    Attributes:
        step: The number of the current response, from 1; 0 before the first.
        finish: How the last finished response ended, or None.
        usages: The tokens of the responses.
        is_structured: Whether text is a JSON document for the agent's own output type, and is held until it is known
            whether it is the result of the run.
    """

    def __init__(self) -> None:
        self.step = 0
        self.finish: Finish | None = None
        self.usages = StepUsages()
        self.is_structured = False
        self._stream: ResponseStream | None = None
        self._held: list[str] = []
        self._paragraphs = Paragraphs()
        self._speaks = False
        self._calls = False

    @property
    def is_answered(self) -> bool:
        """Whether the current response has said text and called no tool: the run ends with it."""
        return self._speaks and not self._calls

    def feed(self, event: Mapping[str, Any]) -> list[AgentOutput]:
        """Takes the next raw event, and returns its parts. Calls of tools are left out: the SDK's own items say which
        of them it runs, and its interruptions which it leaves to others."""
        outputs: list[AgentOutput] = []
        stream = self._stream
        if stream is None or stream.finished or event.get("type") == _BEGIN:
            outputs = [*self.release(), *self.usages.begin()]
            stream = self._begin()
        for output in stream.feed(event):
            outputs += self._read(output)
        return outputs

    def release(self) -> list[AgentOutput]:
        """The held text, which is not the result of the run after all."""
        held, self._held = "".join(self._held), []
        return [*self._paragraphs.of(held)]

    def discard(self) -> None:
        """Forgets the held text, because the result of the run says the same."""
        self._held = []

    def _begin(self) -> ResponseStream:
        self.step += 1
        self._speaks = self._calls = False
        self._paragraphs.begin_step()
        self._stream = open_response()
        return self._stream

    def _read(self, output: StreamOutput) -> list[AgentOutput]:
        match output:
            case TextPart():
                return self._text(output)
            case ThinkingPart():
                # Its state is in the state of the run; in the conversation it would take the place of ours.
                return [ThinkingPart(output.value, output.id)] if output.value else []
            case ToolCallPart():
                self._calls = True
                return []
            case Finish(usage=usage):
                self.finish = output
                self.usages.say(usage)
                return []
            case Unmapped(data=data) if _is_of_hosted_tool(data):
                return []
            case _:
                return [output]

    def _text(self, part: TextPart) -> list[AgentOutput]:
        self._speaks = self._speaks or bool(part.value)
        if self.is_structured:
            self._held.append(part.value)
            return []
        return [*self._paragraphs.of(part.value)]

    def result(self, text: str) -> list[AgentOutput]:
        """The parts of a result that no response said: a paragraph of its own."""
        self._paragraphs.begin_step()
        return [*self._paragraphs.of(text)]


def _is_of_hosted_tool(event: Mapping[str, Any]) -> bool:
    """Whether an event is of a tool that the model's provider runs: the SDK says it again as an item of the run."""
    item = event.get("item")
    kinds = (event.get("type"), item.get("type") if isinstance(item, dict) else None)
    return any(isinstance(kind, str) and _HOSTED.search(kind) is not None for kind in kinds)
