"""The events of one run of a pydantic-ai agent as outputs. Knows the events by their `event_kind` and imports nothing
of the framework.

Nearly every release adds kinds of events: a kind that no table has comes out as `Unmapped`.
Source: docs/wires/agents.md#events-of-pydantic-ai.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.agents.adapter import AgentFile, StepBegun
from partstream.agents.pydantic_ai.conversation import THINKING_KEY
from partstream.agents.pydantic_ai.inner_tools import InnerTools, arguments_of, is_error
from partstream.agents.pydantic_ai.results import RunEnd, outputs_of_responses, outputs_of_value
from partstream.agents.pydantic_ai.texts import StepTexts
from partstream.inner_activity import InnerCall, InnerResult
from partstream.outputs import Unmapped
from partstream.parts import text_part, thinking_part

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from partstream.agents.adapter import AgentOutput

__all__ = ["EventReader"]

_MOST_SHOWN: Final = 500
"""The most characters of an event's text in an `Unmapped`."""


class EventReader:
    """Reads the events of one run.

    The calls of the host's tools are none of its outputs: they come from the result of the run, where they are whole
    and the step is over, see :mod:`partstream.agents.pydantic_ai.paused`.

    Args:
        external: The names of the host's tools, whose calls are no activity of the agent.
        asking: The names of the agent's tools that want to be allowed: nobody knows at a call whether it runs, so it is
            shown together with its result.
        answered: The ids of the calls whose results the run was given, and which it does not run itself.

    Attributes:
        ended: How the run ended; None until it has.
    """

    def __init__(
        self, external: Collection[str] = (), asking: Collection[str] = (), answered: Collection[str] = ()
    ) -> None:
        self.ended: RunEnd | None = None
        self._step = 0
        self._texts = StepTexts()
        self._tools = InnerTools(external, asking, answered)
        self._has_file = False

    def read(self, event: Any) -> list[AgentOutput]:
        """Takes the next event and returns its outputs, in order."""
        handler = _EVENTS.get(getattr(event, "event_kind", ""))
        return [_unmapped(event)] if handler is None else handler(self, event)

    def end(self) -> list[AgentOutput]:
        """The outputs of the end of the run: a result that was not streamed, the tokens of each request to the model,
        and the finish of the last one."""
        if self.ended is None:
            return []
        said = outputs_of_value(self.ended.output, self._texts, has_file=self._has_file)
        return [*said, *outputs_of_responses(self.ended.new_messages)]

    def _started(self, event: Any) -> list[AgentOutput]:
        begun: list[AgentOutput] = []
        if event.previous_part_kind is None:  # the first part of an answer of the model
            self._step += 1
            self._texts.begin_step()
            begun.append(StepBegun(self._step))
        return [*begun, *_of_part(_STARTS, self, event, event.part.part_kind, event.part)]

    def _moved(self, event: Any) -> list[AgentOutput]:
        return _of_part(_DELTAS, self, event, event.delta.part_delta_kind, event.delta)

    def _ended(self, event: Any) -> list[AgentOutput]:
        return _of_part(_ENDS, self, event, event.part.part_kind, event.part)

    def _whole_text(self, index: int, part: Any) -> list[AgentOutput]:
        return [text_part(piece) for piece in self._texts.whole(index, part.content)]

    def _more_text(self, index: int, delta: Any) -> list[AgentOutput]:
        return [text_part(piece) for piece in self._texts.more(index, delta.content_delta)]

    def _first_thinking(self, _: int, part: Any) -> list[AgentOutput]:
        return self._thought(part.content)

    def _more_thinking(self, _: int, delta: Any) -> list[AgentOutput]:
        return self._thought(delta.content_delta)

    def _whole_thinking(self, _: int, part: Any) -> list[AgentOutput]:
        if not part.signature:
            return []
        kept = {name: getattr(part, name) for name in ("content", "id", "signature", "provider_name")}
        return [thinking_part("", None, {THINKING_KEY: kept})]

    def _thought(self, text: str | None) -> list[AgentOutput]:
        # Without the provider's id, it forms one block with the lines on the calls of the same step.
        return [thinking_part(text)] if text else []

    def _whole_file(self, _: int, part: Any) -> list[AgentOutput]:
        self._has_file = True
        return [AgentFile(part.content.data, part.content.media_type)]

    def _whole_native_call(self, _: int, part: Any) -> list[AgentOutput]:
        return [InnerCall(part.tool_call_id, part.tool_name, arguments_of(part), self._step)]

    def _whole_native_return(self, _: int, part: Any) -> list[AgentOutput]:
        return [InnerResult(part.tool_call_id, part.tool_name, part.content, is_error(part), self._step)]

    def _nothing(self, *_: Any) -> list[AgentOutput]:
        return []

    def _called(self, event: Any) -> list[AgentOutput]:
        return [*self._tools.called(event.part, max(self._step, 1))]

    def _returned(self, event: Any) -> list[AgentOutput]:
        return [*self._tools.returned(event.part, max(self._step, 1))]

    def _run_ended(self, event: Any) -> list[AgentOutput]:
        result = event.result
        self.ended = RunEnd(result.output, result.all_messages(), result.new_messages())
        return []


_EVENTS: Final[Mapping[str, Callable[[EventReader, Any], list[AgentOutput]]]] = {
    "part_start": EventReader._started,
    "part_delta": EventReader._moved,
    "part_end": EventReader._ended,
    "function_tool_call": EventReader._called,
    "function_tool_result": EventReader._returned,
    "agent_run_result": EventReader._run_ended,
    # Is neither the end nor a sign of the last text: calls of tools may follow it.
    "final_result": EventReader._nothing,
    # What the model says to hand out the agent's result; the result has it.
    "output_tool_call": EventReader._nothing,
    "output_tool_result": EventReader._nothing,
    # They also hold what a handler of the agent decides by itself; the result says what is left.
    "deferred_tool_requests": EventReader._nothing,
    "deferred_tool_results": EventReader._nothing,
    # Changes of the next request to the model, which nobody has to see.
    "tool_availability_delta": EventReader._nothing,
    "capability_load_delta": EventReader._nothing,
    "model_settings_delta": EventReader._nothing,
}
_STARTS: Final[Mapping[str, Callable[[EventReader, int, Any], list[AgentOutput]]]] = {
    "text": EventReader._whole_text,
    "thinking": EventReader._first_thinking,
    "tool-call": EventReader._nothing,
    "builtin-tool-call": EventReader._nothing,
    "builtin-tool-return": EventReader._nothing,
    "file": EventReader._nothing,
}
_DELTAS: Final[Mapping[str, Callable[[EventReader, int, Any], list[AgentOutput]]]] = {
    "text": EventReader._more_text,
    "thinking": EventReader._more_thinking,
    "tool_call": EventReader._nothing,
}
_ENDS: Final[Mapping[str, Callable[[EventReader, int, Any], list[AgentOutput]]]] = {
    "text": EventReader._whole_text,
    "thinking": EventReader._whole_thinking,
    "tool-call": EventReader._nothing,
    "builtin-tool-call": EventReader._whole_native_call,
    "builtin-tool-return": EventReader._whole_native_return,
    "file": EventReader._whole_file,
}


def _of_part(
    table: Mapping[str, Callable[[EventReader, int, Any], list[AgentOutput]]],
    reader: EventReader,
    event: Any,
    kind: str,
    part: Any,
) -> list[AgentOutput]:
    handler = table.get(kind)
    return [_unmapped(event, kind)] if handler is None else handler(reader, event.index, part)


def _unmapped(event: Any, part: str = "") -> Unmapped:
    kind = str(getattr(event, "event_kind", type(event).__name__))
    return Unmapped(f"{kind}.{part}" if part else kind, {"event": repr(event)[:_MOST_SHOWN]})
