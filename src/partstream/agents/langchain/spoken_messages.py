"""What the models of a run say: whose text is the answer, what of it was shown, and its tokens. Needs no framework."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.agents.adapter import SubAgentText
from partstream.agents.langchain.finish import LastFinish, StepTokens
from partstream.agents.langchain.message_content import MessageContent
from partstream.agents.langchain.streamed_arguments import StreamedArguments
from partstream.outputs import Unmapped
from partstream.parts import TextPart, text_part

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from partstream.agents.adapter import AgentOutput
    from partstream.outputs import Finish

__all__ = ["SpokenMessages"]

_CHUNK: Final = "AIMessageChunk"
_OF_MODELS: Final = frozenset({"ai", _CHUNK})
_OF_TOOLS: Final = "tool"
_HANDED_BACK: Final = "__is_handoff_back"
"""The mark that langgraph-supervisor puts into the metadata of what no model has said: that an agent hands back."""


class SpokenMessages:
    """Reads the messages of one run as they stream.

    Args:
        answer_nodes: The nodes or sub-graphs whose text is the answer; None for all nodes of the graph itself.
        tool_nodes: The nodes that run tools.

    Attributes:
        arguments: The arguments of the calls as they were streamed.
        has_answer: Whether any text of the answer was shown.
    """

    def __init__(self, answer_nodes: Collection[str] | None, tool_nodes: Collection[str]) -> None:
        self._answer_nodes = None if answer_nodes is None else frozenset(answer_nodes)
        self._tool_nodes = frozenset(tool_nodes)
        self._content = MessageContent()
        self._tokens = StepTokens()
        self._finish = LastFinish()
        self._known: set[str] = set()
        self._steps: dict[str, int] = {}
        self._said: set[str] = set()
        self._last_said = ""
        self._chunks: list[Any] = []
        self.arguments = StreamedArguments()
        self.has_answer = False

    @property
    def step(self) -> int:
        """The number of the inner request that began last, from 1."""
        return max(1, len(self._steps))

    @property
    def finish(self) -> Finish:
        """How the last inner request ended."""
        return self._finish.finish

    def know(self, messages: Iterable[Any]) -> None:
        """Takes the messages that the run begins with: nobody says them now."""
        self._known |= {message.id for message in messages if message.id}

    def has_said(self, message: Any) -> bool:
        """Whether text of a message was shown as text of the answer."""
        return message.id in self._said

    def read(self, namespace: tuple[str, ...], message: Any, metadata: Mapping[str, Any]) -> list[AgentOutput]:
        """The outputs of a message, or of a chunk of one.

        Args:
            namespace: The path of the sub-graph, empty for the graph itself.
            message: The message.
            metadata: Where it was said.
        """
        if message.type not in _OF_MODELS:
            return [] if message.type == _OF_TOOLS else [Unmapped(f"message.{message.type}", {})]
        if message.response_metadata.get(_HANDED_BACK):
            return []  # its call says it
        is_chunk = message.type == _CHUNK
        message_id = message.id or ""
        if message_id in self._known or (not is_chunk and message_id in self._steps):
            return []  # an earlier message, or one that was streamed
        step = self._begin(message_id)
        self._note_chunk(message, message_id)
        outputs = self._content.read(message, step)
        self._tokens.add(message_id, message.usage_metadata)
        self._finish.note(message, metadata.get("ls_provider"))
        speaker = self._speaker(namespace, metadata)
        shown = [self._as_said(one, speaker, message_id) for one in outputs]
        if not is_chunk or getattr(message, "chunk_position", None) == "last":
            shown += [*self._content.end_step(step), *self._tokens.close(message_id)]
        return shown

    def unsaid(self, message: Any) -> list[AgentOutput]:
        """The last message of a run as its answer, unless it was shown as text: that of a sub-graph, or the result of a
        tool that returns directly."""
        if message.type not in {*_OF_MODELS, _OF_TOOLS} or self.has_said(message) or message.id in self._known:
            return []
        outputs = MessageContent().read(message, self.step)
        return [self._as_said(one, None, message.id or "") for one in outputs if isinstance(one, TextPart)]

    def last_streamed(self) -> list[tuple[Any, int]]:
        """The message that streamed last, put together, with its step; empty where none has."""
        if not self._chunks:
            return []
        first, *others = self._chunks
        return [(sum(others, start=first), self.step)]

    def close_all(self) -> list[AgentOutput]:
        """What is left of messages whose end did not come."""
        return [*self._content.end_step(self.step), *self._tokens.close_all()]

    def _begin(self, message_id: str) -> int:
        if message_id not in self._steps:
            self._steps[message_id] = len(self._steps) + 1
            self._finish.begin()
            self._chunks = []
        return self._steps[message_id]

    def _note_chunk(self, message: Any, message_id: str) -> None:
        """Keeps the pieces with calls of the last message: a run may stop before it is whole."""
        if pieces := getattr(message, "tool_call_chunks", None):
            self._chunks.append(message)
            self.arguments.add(message_id, pieces)

    def _as_said(self, output: AgentOutput, speaker: str | None, message_id: str) -> AgentOutput:
        if not isinstance(output, TextPart):
            return output
        if speaker is not None:
            return SubAgentText(speaker, output.value)
        is_next = self._last_said not in {"", message_id}
        self._last_said, self.has_answer = message_id, True
        self._said.add(message_id)
        return text_part(f"\n\n{output.value}") if is_next else output

    def _speaker(self, namespace: tuple[str, ...], metadata: Mapping[str, Any]) -> str | None:
        """Who says a text that is not the answer; None for the answer itself."""
        if source := metadata.get("lc_source"):
            return str(source)  # a request of middleware, such as that of a summary
        node = str(metadata.get("langgraph_node", ""))
        path = [one.partition(":")[0] for one in namespace]
        if self._answer_nodes is not None:
            is_answer = not self._answer_nodes.isdisjoint([*path, node])
        else:
            is_answer = not path and node not in self._tool_nodes
        if is_answer:
            return None
        outer = [one for one in path if one not in self._tool_nodes]
        return str(metadata.get("lc_agent_name") or (outer[0] if outer else node))
