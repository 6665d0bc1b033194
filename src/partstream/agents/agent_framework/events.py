"""The updates of a run as outputs; without I/O, one object a run.

An update holds contents of 26 kinds, and nothing says where one inner response ends and the next begins: it does where
the assistant speaks again after a tool. Source: Agent Framework 1.23, `AgentResponseUpdate`, `ContentType`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.agents.adapter import ApprovalAsked, ExternalCalls, Handover, KeptState, Question
from partstream.agents.agent_framework.hosted_tools import (
    HOSTED_CALLS,
    HOSTED_RESULTS,
    file_of,
    hosted_call,
    hosted_result,
)
from partstream.agents.agent_framework.inner_tools import InnerTools
from partstream.agents.agent_framework.said import Said
from partstream.agents.agent_framework.step_tokens import StepTokens
from partstream.errors import UpstreamFailureError
from partstream.inner_activity import InnerCall
from partstream.outputs import Finish, Outcome, Unmapped
from partstream.protocols.citations import markdown_link
from partstream.usage import FinishReason, UnifiedFinishReason

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from partstream.agents.adapter import AgentOutput

__all__ = ["RunEvents"]

_REASONS: Final = {
    "stop": UnifiedFinishReason.STOP,
    "length": UnifiedFinishReason.LENGTH,
    "content_filter": UnifiedFinishReason.CONTENT_FILTER,
    "tool_calls": UnifiedFinishReason.TOOL_CALLS,
}
_CUT: Final = frozenset({"length", "content_filter"})
_OF_MODEL: Final = frozenset({"text", "text_reasoning", "function_call", "usage", "error"})
"""The kinds of contents that the model says, with which an inner response begins."""


class RunEvents:
    """Reads the updates of one run.

    Args:
        external: The names of the host's tools.
        asking: The names of the agent's own tools that want to be allowed.
        is_structured: Whether the agent answers in a form that it was given.
    """

    def __init__(
        self, external: Collection[str] = (), asking: Collection[str] = (), *, is_structured: bool = False
    ) -> None:
        self.tools = InnerTools(external, asking)
        self._said = Said(is_structured=is_structured)
        self._tokens = StepTokens()
        self._hosted: dict[str, InnerCall] = {}
        self._questions: list[Question] = []
        self._step = 1
        self._has_run_tools = False
        self._author: str | None = None
        self._reason: str | None = None
        self._response_id: str | None = None

    def read(self, update: Any) -> list[AgentOutput]:
        """Takes the next update of the framework.

        Raises:
            UpstreamFailureError: The model's server has reported a failure in the stream.
        """
        outputs = self._author_of(update)
        if update.role != "tool" and any(content.type in _OF_MODEL for content in update.contents):
            outputs += self._begin_step()
        for content in update.contents:
            handler = _CONTENTS.get(content.type, RunEvents._unmapped)
            outputs += handler(self, content)
        self._response_id = update.response_id or self._response_id
        if update.finish_reason is not None:
            self._reason = str(update.finish_reason)
            outputs += self.tools.end_batch(self._step)
        return outputs

    def end(self, state: Callable[[], Mapping[str, Any] | None] = lambda: None) -> list[AgentOutput]:
        """Takes the end of the run, and returns what is left of it, with the `Finish`.

        Args:
            state: Gives the state of the run as JSON, where something is to come that goes on with it.

        Raises:
            ToolArgumentsError: The arguments of a call for the host are no JSON object.
        """
        outputs = self.tools.end_batch(self._step)
        calls, approvals = self.tools.external_calls(), self.tools.approvals()
        outputs += self._said.end_step() if calls or approvals else self._said.end()
        outputs += [*self._tokens.end_step(), *self._questions]
        if calls:
            outputs.append(ExternalCalls(calls))
        if approvals:
            outputs.append(ApprovalAsked(approvals))
        if (calls or approvals) and (kept := state()) is not None:
            outputs.append(KeptState(kept))
        return [*outputs, self._finish(has_calls=bool(calls))]

    def _begin_step(self) -> list[AgentOutput]:
        """A response begins if a tool has run since the one before."""
        if not self._has_run_tools:
            return []
        self._has_run_tools = False
        outputs = [*self._said.end_step(), *self._tokens.end_step()]
        self._step += 1
        return outputs

    def _author_of(self, update: Any) -> list[AgentOutput]:
        author = update.author_name
        if not author or author == self._author:
            return []
        before, self._author = self._author, author
        return [] if before is None else [Handover(author)]

    def _finish(self, *, has_calls: bool) -> Finish:
        if has_calls:
            reason = FinishReason(UnifiedFinishReason.TOOL_CALLS, self._reason)
            return Finish(Outcome.COMPLETED, reason, None, self._response_id)
        if self._reason is None:
            return Finish(Outcome.COMPLETED, None, None, self._response_id)
        outcome = Outcome.INCOMPLETE if self._reason in _CUT else Outcome.COMPLETED
        reason = FinishReason(_REASONS.get(self._reason, UnifiedFinishReason.OTHER), self._reason)
        return Finish(outcome, reason, None, self._response_id)

    # The contents

    def _text(self, content: Any) -> list[AgentOutput]:
        return self._said.text(content)

    def _thinking(self, content: Any) -> list[AgentOutput]:
        return self._said.thinking(content)

    def _usage(self, content: Any) -> list[AgentOutput]:
        self._tokens.add(content.usage_details, replaces=getattr(content, "merge_mode", None) == "replace")
        return self.tools.end_batch(self._step)

    def _called(self, content: Any) -> list[AgentOutput]:
        return self.tools.called(content, self._step)

    def _answered(self, content: Any) -> list[AgentOutput]:
        self._has_run_tools = True
        return [*self.tools.end_batch(self._step), *self.tools.answered(content, self._step)]

    def _asked(self, content: Any) -> list[AgentOutput]:
        self.tools.asked(content)
        return []

    def _hosted_called(self, content: Any) -> list[AgentOutput]:
        call = hosted_call(content, self._step)
        if call.call_id in self._hosted:
            return []
        self._hosted[call.call_id] = call
        return [call]

    def _hosted_answered(self, content: Any) -> list[AgentOutput]:
        call = self._hosted.get(str(content.call_id or content.image_id or ""))
        return hosted_result(content, self._step, None if call is None else call.name)

    def _file(self, content: Any) -> list[AgentOutput]:
        file = file_of(content)
        return self._unmapped(content) if file is None else [file]

    def _consent(self, content: Any) -> list[AgentOutput]:
        link = markdown_link(str(content.consent_link), "Sign in")
        self._questions.append(Question(f"The agent needs your consent: {link or 'its address is no web address'}."))
        return []

    def _error(self, content: Any) -> list[AgentOutput]:
        raise UpstreamFailureError(
            str(content.message or content.error_details or "no reason was given"), provider_code=content.error_code
        )

    def _nothing(self, _content: Any) -> list[AgentOutput]:
        return []

    def _unmapped(self, content: Any) -> list[AgentOutput]:
        return [Unmapped(str(content.type), {"type": str(content.type)})]


_CONTENTS: Final[Mapping[str, Callable[[RunEvents, Any], list[AgentOutput]]]] = {
    "text": RunEvents._text,
    "text_reasoning": RunEvents._thinking,
    "usage": RunEvents._usage,
    "function_call": RunEvents._called,
    "function_result": RunEvents._answered,
    "function_approval_request": RunEvents._asked,
    "function_approval_response": RunEvents._nothing,
    "data": RunEvents._file,
    "uri": RunEvents._file,
    "error": RunEvents._error,
    "oauth_consent_request": RunEvents._consent,
    **dict.fromkeys(HOSTED_CALLS, RunEvents._hosted_called),
    **dict.fromkeys(HOSTED_RESULTS, RunEvents._hosted_answered),
}
