"""A run of an agent that has stopped and may go on: what is kept of it, and what the next request says to it.

The record is JSON. It belongs to one conversation: it holds the digest of what was answered and that of the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from partstream.agents.adapter import Approval, Decision
from partstream.inner_activity import plain_value
from partstream.parts import ToolCallPart, ToolResultPart
from partstream.simple import text_of, user_request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.messages import ChatMessage

__all__ = ["PausedRun", "paused_run_of"]

_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class PausedRun:
    """What is kept of a run that has stopped.

    Attributes:
        framework: The framework of the agent, which alone reads the state.
        state: The adapter's state, a JSON object.
        calls: The calls of the host's tools that the run waits for, with the framework's ids and the host's names.
        approvals: The calls of the agent's own tools that the person was asked about; then `calls` are not handed out
            yet.
        decisions: What was decided already, by call id.
        question: Whether the run waits for the answer to a question.
        history: The digest of the conversation that the answer answered; empty before it is kept.
        answer: The digest of the answer; empty before it is kept.
        had_tools: Whether the request that the answer answered brought tools of the host.
    """

    framework: str
    state: Mapping[str, Any] = field(repr=False)
    calls: tuple[ToolCallPart, ...] = ()
    approvals: tuple[Approval, ...] = ()
    decisions: Mapping[str, Decision] = field(default_factory=dict)
    question: bool = False
    history: str = ""
    answer: str = ""
    had_tools: bool = False

    def decided(self, decisions: Mapping[str, Decision]) -> PausedRun:
        """The run after the approvals were decided."""
        return replace(self, approvals=(), decisions={**self.decisions, **decisions}, history="", answer="")

    def results(self, later: Sequence[ChatMessage]) -> tuple[ToolResultPart, ...] | None:
        """The results of the calls in the order of the calls; None where one is missing, or where more was said.

        Args:
            later: The messages behind the answer that handed the calls out.
        """
        parts = [part for message in later for part in message.content]
        found = {part.call_id: part for part in parts if isinstance(part, ToolResultPart)}
        wanted = [call.call_id for call in self.calls]
        if sorted(found) != sorted(wanted) or any(text_of(message).strip() for message in later):
            return None
        return tuple(found[call_id] for call_id in wanted)

    def reply(self, later: Sequence[ChatMessage]) -> str:
        """What the person said behind the answer; empty where they said nothing."""
        return user_request(later).strip()

    def to_json(self) -> dict[str, Any]:
        """The record."""
        return {
            "version": _VERSION,
            "framework": self.framework,
            "history": self.history,
            "answer": self.answer,
            "state": self.state,
            "calls": [[one.call_id, one.name, dict(one.input)] for one in self.calls],
            "approvals": [[one.call_id, one.name, plain_value(one.arguments), one.reason] for one in self.approvals],
            "decisions": {call_id: [one.approved, one.reason] for call_id, one in self.decisions.items()},
            "question": self.question,
            "hadTools": self.had_tools,
        }


def paused_run_of(record: Any) -> PausedRun | None:
    """The run in a record; None for a damaged record, and for one of another version."""
    if not isinstance(record, dict) or record.get("version") != _VERSION:
        return None
    try:
        return PausedRun(
            framework=record["framework"],
            state=dict(record["state"]),
            calls=tuple(ToolCallPart(call_id, name, given) for call_id, name, given in record["calls"]),
            approvals=tuple(Approval(*one) for one in record["approvals"]),
            decisions={call_id: Decision(*one) for call_id, one in record["decisions"].items()},
            question=record["question"] is True,
            history=record["history"],
            answer=record["answer"],
            had_tools=record.get("hadTools") is True,
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
