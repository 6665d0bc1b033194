"""One answer of an agent: outputs of its run become parts, as the options want them. No I/O; lives for one answer."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.agents.adapter import (
    AgentFile,
    ApprovalAsked,
    ExternalCalls,
    Handover,
    KeptState,
    Question,
    ResultObject,
    StepBegun,
    StepUsage,
    SubAgentText,
)
from partstream.agents.external_tools import HandedOut
from partstream.agents.shown_lines import ActivityLines
from partstream.agents.step_usage import StepUsages
from partstream.inner_activity import (
    InnerCall,
    InnerResult,
    call_data,
    call_line,
    handover_line,
    plain_value,
    result_data,
    result_line,
)
from partstream.kept_files import is_file
from partstream.markdown import code_block
from partstream.outputs import Finish, Outcome, Unmapped
from partstream.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, row_of_class
from partstream.usage import FinishReason, UnifiedFinishReason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from partstream.agents.adapter import AgentOutput, Approval
    from partstream.agents.external_tools import ExternalTools
    from partstream.agents.options import ToolActivity
    from partstream.parts import ResponsePart

__all__ = ["AgentAnswer"]

_Parts = list[Any]


class AgentAnswer:
    """The answer of one request, over all runs that it takes.

    Args:
        shown: How the agent's own tools are shown.
        tools: The host's tools of the request.
        block: What the ids of blocks of thinking begin with that the model has not named.

    Attributes:
        parts: The texts and calls of the answer so far, by which the next request knows it again.
        approvals: The calls that the last run wants to be allowed.
        handed_out: The calls of the host's tools.
        has_question: Whether the last run ended with a question.
        is_visible: Whether a person sees something of the answer.
        state: What the last run keeps for an exact continuation, or None.
        unmapped: How many events no output can hold, by their type.
        usages: The tokens of the inner requests.
    """

    def __init__(self, shown: ToolActivity, tools: ExternalTools, block: str) -> None:
        self._lines = ActivityLines(shown, block)
        self._finish = Finish(Outcome.COMPLETED)
        self.parts: list[ResponsePart] = []
        self.approvals: tuple[Approval, ...] = ()
        self.handed_out = HandedOut(tools)
        self.has_question = False
        self.is_visible = False
        self.state: Mapping[str, Any] | None = None
        self.unmapped: Counter[str] = Counter()
        self.usages = StepUsages()

    def begin_run(self) -> None:
        """Forgets what the run before has stopped with: it goes on."""
        self.approvals, self.state, self.has_question = (), None, False

    def take(self, output: AgentOutput) -> Iterable[ResponsePart]:
        """The parts of the next output, in order; often one, often none.

        Raises:
            LanguageModelError: The run has ended with it.
            TypeError: It is no output.
        """
        parts = row_of_class(_HANDLERS, output)(self, output)
        for part in parts:
            self._note(part)
        return parts

    def hand_out(self, calls: Iterable[ToolCallPart]) -> list[ResponsePart]:
        """The parts of calls of the host's tools."""
        parts: list[ResponsePart] = list(calls)
        for part in parts:
            self._note(part)
        return parts

    def finish(self) -> Finish:
        """How the answer ended, with the tokens of the last inner request."""
        reason = self._finish.reason
        if any(isinstance(part, ToolCallPart) for part in self.parts):
            raw = None if reason is None else reason.raw
            reason = FinishReason(UnifiedFinishReason.TOOL_CALLS, raw)
        return replace(self._finish, reason=reason, usage=self.usages.last or self._finish.usage)

    def _note(self, part: ResponsePart) -> None:
        if isinstance(part, TextPart | ThinkingPart):
            self._lines.saw(part)
        if isinstance(part, TextPart | ToolCallPart):
            self.parts.append(part)
            self.is_visible = self.is_visible or isinstance(part, ToolCallPart) or not part.value.isspace()
        elif isinstance(part, DataPart):
            self.is_visible = self.is_visible or is_file(part)

    def _text(self, part: TextPart) -> _Parts:
        return [part] if part.value else []

    def _thinking(self, part: ThinkingPart) -> _Parts:
        return [self._lines.in_step(part)]

    def _data(self, part: DataPart) -> _Parts:
        return [part]

    def _inner_call(self, call: InnerCall) -> _Parts:
        return [*self._lines.line(call_line(call), call.step), call_data(call)]

    def _inner_result(self, result: InnerResult) -> _Parts:
        return [*self._lines.line(result_line(result), result.step), result_data(result)]

    def _handover(self, handover: Handover) -> _Parts:
        return self._lines.line(handover_line(handover.to))

    def _sub_agent(self, said: SubAgentText) -> _Parts:
        return self._lines.said_below(said.text)

    def _file(self, file: AgentFile) -> _Parts:
        return [DataPart(file.data, file.media_type)]

    def _external(self, external: ExternalCalls) -> _Parts:
        self.handed_out.add(external.calls)
        return []

    def _approvals(self, asked: ApprovalAsked) -> _Parts:
        self.approvals = (*self.approvals, *asked.approvals)
        return []

    def _question(self, question: Question) -> _Parts:
        self.has_question = True
        return self._lines.paragraph(question.text)

    def _result(self, result: ResultObject) -> _Parts:
        text = result.value if isinstance(result.value, str) else code_block(plain_value(result.value))
        return self._lines.paragraph(text)

    def _step(self, begun: StepBegun) -> _Parts:
        self._lines.begin_step(begun.step)
        return []

    def _usage(self, usage: StepUsage) -> _Parts:
        self.usages.add(usage.usage)
        self._lines.next_step()
        return []

    def _state(self, state: KeptState) -> _Parts:
        self.state = state.json
        return []

    def _unmapped(self, event: Unmapped) -> _Parts:
        self.unmapped[event.type] += 1
        return []

    def _end(self, finish: Finish) -> _Parts:
        self._finish = finish
        if finish.error is not None:
            raise finish.error
        return []


_HANDLERS: Final[dict[type[Any], Callable[[AgentAnswer, Any], _Parts]]] = {
    TextPart: AgentAnswer._text,  # noqa: SLF001 - the table of handlers stands beside the class
    ThinkingPart: AgentAnswer._thinking,  # noqa: SLF001
    DataPart: AgentAnswer._data,  # noqa: SLF001
    InnerCall: AgentAnswer._inner_call,  # noqa: SLF001
    InnerResult: AgentAnswer._inner_result,  # noqa: SLF001
    Handover: AgentAnswer._handover,  # noqa: SLF001
    SubAgentText: AgentAnswer._sub_agent,  # noqa: SLF001
    AgentFile: AgentAnswer._file,  # noqa: SLF001
    ExternalCalls: AgentAnswer._external,  # noqa: SLF001
    ApprovalAsked: AgentAnswer._approvals,  # noqa: SLF001
    Question: AgentAnswer._question,  # noqa: SLF001
    ResultObject: AgentAnswer._result,  # noqa: SLF001
    StepBegun: AgentAnswer._step,  # noqa: SLF001
    StepUsage: AgentAnswer._usage,  # noqa: SLF001
    KeptState: AgentAnswer._state,  # noqa: SLF001
    Unmapped: AgentAnswer._unmapped,  # noqa: SLF001
    Finish: AgentAnswer._end,  # noqa: SLF001
}
"""What becomes of an output, by its class."""
