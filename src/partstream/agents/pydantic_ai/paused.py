"""A run that waits for others: what it waits for, and how it goes on. The state is JSON, and lives in one request.

A call that a run waits for is one of three kinds: a call of one of the host's tools, a call of the agent's own tools
that wants to be allowed, or one that somebody has to answer, such as the question of a tool that raises `CallDeferred`.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from partstream.agents.adapter import Approval, ApprovalAsked, ExternalCalls, KeptState, Question
from partstream.agents.pydantic_ai.conversation import common_arguments, result_value
from partstream.agents.pydantic_ai.inner_tools import arguments_of
from partstream.conversation.media import MediaKind
from partstream.conversation.turns import Attachment, Result, Text
from partstream.errors import ToolArgumentsError
from partstream.inner_activity import plain_value, shown_call
from partstream.parts import tool_call_part

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from partstream.agents.adapter import AgentOutput, AgentRequest, Decision
    from partstream.parts import ToolCallPart

__all__ = ["PausedRun", "WaitingCall", "WaitingFor", "dumped", "waiting_calls"]

_MISSING: Final = "[The result of this call is missing: it was not given back.]"
_VERSION: Final = 1


class WaitingFor(StrEnum):
    """What a call waits for."""

    HOST = "host"
    APPROVAL = "approval"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class WaitingCall:
    """A call that a run waits for.

    Attributes:
        call_id: Its id.
        name: The name of the tool.
        arguments: The arguments; a text where they are no JSON object.
        kind: What it waits for.
    """

    call_id: str
    name: str
    arguments: Any
    kind: WaitingFor


@dataclass(frozen=True, slots=True)
class PausedRun:
    """A run that waits for others.

    Attributes:
        messages: The framework's messages, as JSON.
        calls: The calls that it waits for, in the model's order.
        results: The results that are known already, by call id, as JSON.
    """

    messages: Sequence[Any] = field(repr=False)
    calls: tuple[WaitingCall, ...]
    results: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of_state(cls, state: Mapping[str, Any]) -> PausedRun | None:
        """The run that a state says; None for a state of another form, from which the run is rebuilt."""
        try:
            if state["version"] != _VERSION:
                return None
            calls = tuple(WaitingCall(one, name, given, WaitingFor(kind)) for one, name, given, kind in state["calls"])
            return cls(list(state["messages"]), calls, dict(state["results"]))
        except (KeyError, TypeError, ValueError, IndexError):
            return None

    def of_kind(self, kind: WaitingFor) -> tuple[WaitingCall, ...]:
        """The calls of one kind."""
        return tuple(call for call in self.calls if call.kind is kind)

    def outputs(self) -> list[AgentOutput]:
        """What the run hands out and asks for, and its state.

        Raises:
            ToolArgumentsError: The arguments of a call of the host's tools are no JSON object.
        """
        outputs: list[AgentOutput] = []
        if calls := [call for call in self.of_kind(WaitingFor.HOST) if call.call_id not in self.results]:
            outputs.append(ExternalCalls(tuple(map(_handed_out, calls))))
        if approvals := self.of_kind(WaitingFor.APPROVAL):
            outputs.append(ApprovalAsked(tuple(Approval(one.call_id, one.name, one.arguments) for one in approvals)))
        # A person answers with a message, which would come before the results: those first.
        if not calls and not approvals and (asking := self.of_kind(WaitingFor.ANSWER)):
            outputs.append(Question(_question(asking), asking[0].call_id))
        return [*outputs, KeptState(self._state())]

    def answered(self, request: AgentRequest) -> PausedRun:
        """The run with what a request says of the calls."""
        results = {call_id: _kept(result) for call_id, result in request.results.items()}
        return replace(self, results={**self.results, **results})

    def is_asking(self, request: AgentRequest) -> bool:
        """Whether a person has to be asked before the run goes on."""
        return bool(self.of_kind(WaitingFor.ANSWER)) and request.reply is None

    def answered_calls(self, request: AgentRequest) -> frozenset[str]:
        """The ids of the calls that the run does not run itself, because their result is there."""
        refused = (one for one in self.of_kind(WaitingFor.APPROVAL) if not _is_approved(request, one))
        given = (one for one in self.calls if one.kind is not WaitingFor.APPROVAL)
        return frozenset(one.call_id for one in (*given, *refused))

    def arguments(self, request: AgentRequest) -> dict[str, Any]:
        """The arguments of the run that goes on, without those that say what it may hand out."""
        from pydantic_ai import DeferredToolResults  # noqa: PLC0415 - the agent's file has imported it
        from pydantic_ai.messages import ModelMessagesTypeAdapter  # noqa: PLC0415 - as above

        answers = dict.fromkeys((one.call_id for one in self.of_kind(WaitingFor.ANSWER)), request.reply or "")
        calls = {one.call_id: _given(self.results.get(one.call_id)) for one in self.of_kind(WaitingFor.HOST)}
        approvals = {
            one.call_id: _decided(request.decisions.get(one.call_id)) for one in self.of_kind(WaitingFor.APPROVAL)
        }
        return {
            "user_prompt": None,
            "message_history": ModelMessagesTypeAdapter.validate_python(self.messages),
            "deferred_tool_results": DeferredToolResults(calls={**calls, **answers}, approvals=approvals),
            **common_arguments(request),
        }

    def _state(self) -> dict[str, Any]:
        return {
            "version": _VERSION,
            "messages": self.messages,
            "calls": [[one.call_id, one.name, plain_value(one.arguments), one.kind.value] for one in self.calls],
            "results": dict(self.results),
        }


def waiting_calls(requests: Any, external: Collection[str]) -> tuple[WaitingCall, ...]:
    """The calls that a run waits for.

    Args:
        requests: The framework's `DeferredToolRequests`.
        external: The names of the host's tools. A call of any other tool is never handed to the host.
    """
    calls = [
        WaitingCall(
            call.tool_call_id,
            call.tool_name,
            arguments_of(call),
            WaitingFor.HOST if call.tool_name in external else WaitingFor.ANSWER,
        )
        for call in requests.calls
    ]
    approvals = [
        WaitingCall(call.tool_call_id, call.tool_name, arguments_of(call), WaitingFor.APPROVAL)
        for call in requests.approvals
    ]
    return (*calls, *approvals)


def dumped(messages: Sequence[Any]) -> list[Any]:
    """The framework's messages as JSON."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter  # noqa: PLC0415 - as above

    dump: list[Any] = ModelMessagesTypeAdapter.dump_python([*messages], mode="json")
    return dump


def _handed_out(call: WaitingCall) -> ToolCallPart:
    if not isinstance(call.arguments, dict):
        raise ToolArgumentsError(call_id=call.call_id, name=call.name, arguments=str(call.arguments))
    return tool_call_part(call.call_id, call.name, call.arguments)


def _question(calls: Sequence[WaitingCall]) -> str:
    """What a person reads: the only text among the arguments of a call, else the call."""
    lines = []
    for call in calls:
        texts = [value for value in call.arguments.values() if isinstance(value, str)] if _is_object(call) else []
        shown = shown_call(Approval(call.call_id, call.name, call.arguments))
        lines.append(texts[0] if len(texts) == 1 else f"`{shown}` waits for an answer.")
    return "\n\n".join(lines)


def _is_object(call: WaitingCall) -> bool:
    return isinstance(call.arguments, dict)


def _kept(result: Result) -> dict[str, Any]:
    """A result as JSON."""
    content = [
        {"text": piece.value}
        if isinstance(piece, Text)
        else {"data": base64.b64encode(piece.data).decode(), "type": piece.media_type, "url": piece.url}
        for piece in result.content
    ]
    return {"content": content, "isError": result.is_error}


def _given(kept: Any) -> Any:
    """A kept result as the framework takes it."""
    import pydantic_ai  # noqa: PLC0415 - as above

    if kept is None:
        return _MISSING
    value = result_value([_piece(one) for one in kept["content"]])
    failed = getattr(pydantic_ai.exceptions, "ToolFailed", None)  # since 2.23; before, only the text says it
    return failed(value) if kept["isError"] and failed is not None and isinstance(value, str) else value


def _piece(kept: Mapping[str, Any]) -> Text | Attachment:
    if "text" in kept:
        return Text(kept["text"])
    kind = MediaKind.IMAGE if kept["type"].startswith("image/") else MediaKind.FILE
    return Attachment(kind, kept["type"], base64.b64decode(kept["data"]), "", kept["url"])


def _is_approved(request: AgentRequest, call: WaitingCall) -> bool:
    decision = request.decisions.get(call.call_id)
    return decision is not None and decision.approved


def _decided(decision: Decision | None) -> Any:
    from pydantic_ai import ToolApproved, ToolDenied  # noqa: PLC0415 - as above

    if decision is None:
        return ToolDenied()
    return ToolApproved() if decision.approved else ToolDenied(decision.reason)
