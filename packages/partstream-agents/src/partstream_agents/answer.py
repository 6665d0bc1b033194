"""Turns the outputs of an agent's run into the parts of one response, as the options of its model want them. No I/O.

- Lines about the agent's own work are thinking in the block of their step, text, or nothing (:class:`ToolActivity`).
- Of the usage of the inner requests, that of the last one fills the window; the sum is the usage of the response.
- The agent gets the host's tools under names of their own, and each call for the host goes out once.
- Calls of the agent's own tools may need an approval. No provider can open a dialog, so the response asks the person,
  who decides in the next message (docs/wires/agents.md#approvals-and-interrupts). Without a decision no call runs.
"""

from __future__ import annotations
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from partstream.codec.checks import dataclass, replace
from partstream.codec.text import code_block, inline_code
from partstream.conversation.media import type_of_file
from partstream.conversation.turns import Call, Piece, Result, ToolNames, Turn, short_digest, well_formed
from partstream.lm import inner_activity
from partstream.lm.messages import RequestOptions, Tool
from partstream.lm.outputs import Finish, Outcome, Unmapped
from partstream.lm.parts import (
    DataPart,
    FinishReason,
    ResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UnifiedFinishReason,
    Usage,
    row_of_class,
    thinking_part,
    tool_call_part,
)
from partstream.runtime.answer_files import is_file
from partstream.settings.kinds import Choice
from partstream.tokens.records import UsageRow
from partstream_agents import adapter

if TYPE_CHECKING:
    from partstream.conversation.provider_state import Origin


# ---- Options ----


class ToolActivity(Choice):
    """How the calls of an agent's own tools are shown."""

    THINKING = "thinking", "As lines of thinking, which a host shows separately"
    TEXT = "text", "As lines of the answer, which stay in the conversation"
    OFF = "off", "Not at all"


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """The options of one model that is an agent."""

    tools: ToolActivity  # how the calls of the agent's own tools are shown
    approve: ApprovalPolicy  # who decides about calls that need an approval
    host_tools: HostTools  # which of the host's tools the agent gets


# ---- Lines about the agent's own work ----

_BLANK_LINE: Final = "\n\n"


class ActivityLines:
    """The lines of one answer.

    Lines of thinking have the id of the model's own thinking of their step, so that both form one block. They have no
    metadata, because a host keeps only the last of an answer (docs/wires/agents.md#metadata-of-inner-activity).

    Args:
        block: What the ids of blocks begin with that the model has not named; unique in the conversation.
    """

    def __init__(self, shown: ToolActivity, block: str) -> None:
        self._shown = shown
        self._block = block
        self.step = 1  # the number of the inner request that is answered now
        self._ids: dict[int, str] = {}
        self._ends: dict[type[ResponsePart], str] = {}
        self._below: tuple[str, str] | None = None

    def saw(self, part: TextPart | ThinkingPart) -> None:
        """Takes a part of the answer, in order: a line begins a paragraph of its own after it."""
        if part.value:
            self._ends[type(part)] = f"{self._ends.get(type(part), '')}{part.value}"[-len(_BLANK_LINE) :]

    def in_step(self, part: ThinkingPart) -> ThinkingPart:
        """The model's own thinking, with the id of its step if it has none."""
        if part.id:
            self._ids[self.step] = part.id
            return part
        return thinking_part(part.value, self._id(self.step), part.metadata)

    def line(self, text: str, step: int | None = None) -> list[ResponsePart]:
        """The parts of a line, in the block of a step; by default, of the one that runs."""
        if self._shown is ToolActivity.OFF:
            return []
        if self._shown is ToolActivity.TEXT:
            return [TextPart(f"{self._break(TextPart)}{inline_code(text)}{_BLANK_LINE}")]
        return [ThinkingPart(f"{self._break(ThinkingPart)}{text}{_BLANK_LINE}", self._id(step or self.step))]

    def paragraph(self, text: str) -> list[ResponsePart]:
        """The parts of a text that is a paragraph of its own."""
        return [TextPart(f"{self._break(TextPart)}{text}")] if text else []

    def said_below(self, said: adapter.SubAgentText) -> list[ResponsePart]:
        """The parts of what an agent below the asked one says: thinking, because it is not the answer."""
        if self._shown is ToolActivity.OFF or not said.text:
            return []
        before, self._below = self._below, (said.agent, said.message)
        gap = "" if before in {None, self._below} else self._break(ThinkingPart)
        return [ThinkingPart(f"{gap}{said.text}", self._id(self.step))]

    def _break(self, kind: type[ResponsePart]) -> str:
        """The separator between a paragraph and the part before it."""
        return "" if self._ends.get(kind, _BLANK_LINE) == _BLANK_LINE else _BLANK_LINE

    def _id(self, step: int) -> str:
        return self._ids.get(step) or f"{self._block}-{step}"


# ---- Usage ----

_COUNTS: Final = ("input_tokens", "output_tokens", "total_tokens", "cached_tokens", "reasoning_tokens",
                  "cache_write_tokens")  # fmt: skip


class StepUsages:
    """The usage of the inner requests of one answer."""

    def __init__(self) -> None:
        # the usage of the last request, by which a host decides when to compact; None without any
        self.last: Usage | None = None
        # the sum of all requests; a count that no request states is unknown. None without any
        self.total: Usage | None = None

    def add(self, usage: Usage) -> None:
        """Adds the next request; frameworks report zeros for a model that reported nothing."""
        if not (usage.input_tokens or usage.output_tokens or usage.total_tokens):
            return
        self.last = usage
        if self.total is None:
            self.total = usage
            return
        counts: dict[str, Any] = {}
        for name in _COUNTS:
            values = [value for one in (self.total, usage) if (value := getattr(one, name)) is not None]
            if values:
                counts[name] = sum(values)
        self.total = Usage(**counts)


def usage_row(total: Usage, origin: Origin, options: RequestOptions, now: float) -> UsageRow:
    """The row of an answer in the ledger.

    Args:
        options: The options of the request, with the name that the host has for the conversation.
        now: The end of the answer, in seconds since 1970.
    """
    conversation = options.model_options.get("_conversationId")
    return UsageRow(
        time=now,
        model=origin.model,
        upstream=origin.upstream,
        conversation=short_digest(conversation) if isinstance(conversation, str) and conversation else None,
        input_tokens=total.input_tokens,
        output_tokens=total.output_tokens,
        cached_tokens=total.cached_tokens,
        reasoning_tokens=total.reasoning_tokens,
        cost=None,
    )


# ---- The host's tools: which ones the agent gets, under which names, and each call once ----

AUTO: Final = "auto"
"""The value of the option `host_tools` with which an agent gets all tools of the host."""

HostTools: TypeAlias = str | bool | Iterable[str] | Callable[[Tool], bool]
"""Which of the host's tools an agent gets: `"auto"` or True for all, False for none, names, or what says it of one."""

_PREFIX: Final = "vscode_"
"""What is put before the name of a host's tool that a tool of the agent has too."""
_EMPTY_SCHEMA: Final = {"type": "object", "properties": {}}


def selected(tools: Sequence[Tool], wanted: HostTools) -> tuple[Tool, ...]:
    """The tools of a request that an agent gets, in their order.

    A name of `wanted` that the request does not hold has no effect: hosts offer other tools in other modes.
    """
    if isinstance(wanted, bool | str):
        return tuple(tools) if wanted else ()
    if callable(wanted):
        return tuple(tool for tool in tools if wanted(tool))
    names = frozenset(wanted)
    return tuple(tool for tool in tools if tool.name in names)


class ExternalTools:
    """The host's tools of one request, under the names that the agent knows them by, and those `called` in the
    conversation, which the request may no longer hold."""

    def __init__(self, tools: Sequence[Tool], taken: Collection[str], called: Iterable[str] = ()) -> None:
        self._taken = frozenset(taken)
        offered = {tool.name: tool for tool in reversed(tools)}  # of two with one name, the first counts
        called = dict.fromkeys([*(tool.name for tool in tools), *called])
        self._own = frozenset(called)
        self.names = ToolNames(map(self.renamed, called))  # gives names that model servers accept
        self._given = {self.sent(name): name for name in called if name in offered}
        # the tools under the names to use, each with a schema
        self.tools = tuple(
            Tool(sent, well_formed(offered[name].description), offered[name].input_schema or _EMPTY_SCHEMA)
            for sent, name in self._given.items()
        )

    def renamed(self, name: str) -> str:
        """The name of a host's tool beside the agent's own tools, before servers have a say in it."""
        other = name
        while other in self._taken or (other != name and other in self._own):
            other = f"{_PREFIX}{other}"
        return other

    def sent(self, name: str) -> str:
        """The agent's name for a host's tool."""
        return self.names.to_upstream(self.renamed(name))

    def renamed_turns(self, turns: Iterable[Turn]) -> list[Turn]:
        """The turns of a conversation with the agent's names for the host's tools."""
        return [replace(turn, content=tuple(map(self._renamed_piece, turn.content))) for turn in turns]

    def _renamed_piece(self, piece: Piece) -> Piece:
        return replace(piece, name=self.renamed(piece.name)) if isinstance(piece, Call | Result) else piece

    def given(self, name: str) -> str | None:
        """The host's name of a tool that the agent calls; None for a tool that is none of the host's."""
        return self._given.get(name) or self._given.get(self.names.from_upstream(name))


class HandedOut:
    """The calls of the host's tools in one answer: each id once, no name but the host's."""

    def __init__(self, tools: ExternalTools) -> None:
        self._tools = tools
        self.calls: list[ToolCallPart] = []  # the calls with the host's names, in the model's order
        self.refused: list[str] = []  # the names of calls that are no calls of the host's tools
        self._seen: set[str] = set()

    def add(self, calls: Iterable[ToolCallPart]) -> None:
        """Adds the calls of a run; one whose id has come before is the same call once more."""
        for call in calls:
            given = self._tools.given(call.name)
            if given is None:
                self.refused.append(call.name)
            elif call.call_id not in self._seen:
                self._seen.add(call.call_id)
                self.calls.append(tool_call_part(call.call_id, given, call.input))


# ---- The response ----

_Parts = list[Any]


class AgentAnswer:
    """The answer of one request, over all runs that it takes."""

    def __init__(self, shown: ToolActivity, tools: ExternalTools, block: str) -> None:
        self.lines = ActivityLines(shown, block)
        self._finish = Finish(Outcome.COMPLETED)
        # the texts and calls of the answer so far, by which the next request knows it again
        self.parts: list[ResponsePart] = []
        self.approvals: tuple[adapter.Approval, ...] = ()
        self._refused: dict[str, adapter.Approval] = {}
        self.handed_out = HandedOut(tools)
        self.has_question = False
        self.is_visible = False
        self.state: Mapping[str, Any] | None = None  # what the last run keeps for an exact continuation, or None
        self.unmapped: Counter[str] = Counter()  # how many events no output can hold, by their type
        self.usages = StepUsages()  # the tokens of the inner requests

    def begin_run(self) -> None:
        """Forgets what the run before has stopped with: it goes on."""
        self.approvals, self.state, self.has_question = (), None, False

    def refuse(
        self, approvals: Iterable[adapter.Approval], decisions: Mapping[str, adapter.Decision]
    ) -> list[ResponsePart]:
        """The parts of calls that were not allowed. The framework's message is left out: to some, a call that
        was refused is one with a result."""
        refused = [one for one in approvals if not decisions[one.call_id].approved]
        self._refused |= {one.call_id: one for one in refused}
        calls = [inner_activity.InnerCall(one.call_id, one.name, one.arguments, is_refused=True) for one in refused]
        return [part for call in calls for part in self._noted(_HANDLERS[inner_activity.InnerCall](self, call))]

    def take(self, output: adapter.AgentOutput) -> Iterable[ResponsePart]:
        """The parts of the next output, in order; often one, often none.

        Raises:
            LanguageModelError: The run has ended with it.
        """
        return [] if self._is_refused(output) else self._noted(row_of_class(_HANDLERS, output)(self, output))

    def _is_refused(self, output: adapter.AgentOutput) -> bool:
        """Whether an output is of a call that was refused, until its result has come."""
        if not isinstance(output, inner_activity.InnerCall | inner_activity.InnerResult):
            return False
        refused = self._refused.get(output.call_id)
        if refused is None or refused.name != output.name:
            return False
        if isinstance(output, inner_activity.InnerResult):
            del self._refused[output.call_id]
            return True
        return output.arguments == refused.arguments

    def _noted(self, parts: _Parts) -> _Parts:
        for part in parts:
            self._note(part)
        return parts

    def hand_out(self, calls: Iterable[ToolCallPart]) -> list[ResponsePart]:
        """The parts of calls of the host's tools."""
        return self._noted(list(calls))

    def finish(self) -> Finish:
        """How the answer ended, with the tokens of the last inner request."""
        reason = self._finish.reason
        raw = None if reason is None else reason.raw
        if any(isinstance(part, ToolCallPart) for part in self.parts):
            reason = FinishReason(UnifiedFinishReason.TOOL_CALLS, raw)
        elif reason is not None and reason.unified is UnifiedFinishReason.TOOL_CALLS:  # of the agent's own tools
            reason = FinishReason(UnifiedFinishReason.STOP, raw)
        return replace(self._finish, reason=reason, usage=self.usages.last or self._finish.usage)

    def _note(self, part: ResponsePart) -> None:
        if isinstance(part, TextPart | ThinkingPart):
            self.lines.saw(part)
        if isinstance(part, TextPart | ToolCallPart):
            self.parts.append(part)
            self.is_visible = self.is_visible or isinstance(part, ToolCallPart) or not part.value.isspace()
        elif isinstance(part, DataPart):
            self.is_visible = self.is_visible or is_file(part)

    def _external(self, external: adapter.ExternalCalls) -> _Parts:
        self.handed_out.add(external.calls)
        return []

    def _approvals(self, asked: adapter.ApprovalAsked) -> _Parts:
        self.approvals = (*self.approvals, *asked.approvals)
        return []

    def _question(self, question: adapter.Question) -> _Parts:
        self.has_question = True
        return self.lines.paragraph(question.text)

    def _step(self, begun: adapter.StepBegun) -> _Parts:
        self.lines.step = begun.step
        return []

    def _usage(self, usage: adapter.StepUsage) -> _Parts:
        self.usages.add(usage.usage)
        self.lines.step += 1
        return []

    def _state(self, state: adapter.KeptState) -> _Parts:
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
    TextPart: lambda answer, part: [part] if part.value else [],
    ThinkingPart: lambda answer, part: [answer.lines.in_step(part)],
    DataPart: lambda answer, part: [part],
    inner_activity.InnerCall: lambda answer, call: [
        *answer.lines.line(inner_activity.call_line(call), call.step),
        inner_activity.call_data(call),
    ],
    inner_activity.InnerResult: lambda answer, result: [
        *answer.lines.line(inner_activity.result_line(result), result.step),
        inner_activity.result_data(result),
    ],
    adapter.Handover: lambda answer, handover: answer.lines.line(inner_activity.handover_line(handover.to)),
    adapter.SubAgentText: lambda answer, said: answer.lines.said_below(said),
    adapter.AgentFile: lambda answer, file: [DataPart(file.data, type_of_file(file.data, file.media_type))],
    adapter.ExternalCalls: AgentAnswer._external,  # noqa: SLF001
    adapter.ApprovalAsked: AgentAnswer._approvals,  # noqa: SLF001
    adapter.Question: AgentAnswer._question,  # noqa: SLF001
    adapter.ResultObject: lambda answer, result: answer.lines.paragraph(
        result.value if isinstance(result.value, str) else code_block(inner_activity.plain_value(result.value))
    ),
    adapter.StepBegun: AgentAnswer._step,  # noqa: SLF001
    adapter.StepUsage: AgentAnswer._usage,  # noqa: SLF001
    adapter.KeptState: AgentAnswer._state,  # noqa: SLF001
    Unmapped: AgentAnswer._unmapped,  # noqa: SLF001
    Finish: AgentAnswer._end,  # noqa: SLF001
}
"""The handler of an output, by its class."""


# ---- Approvals: who decides, how a person is asked, and what they answered ----

ApproveFunction: TypeAlias = Callable[[adapter.Approval], bool | Awaitable[bool]]
"""Returns whether the agent may run a call."""

ApprovalPolicy: TypeAlias = Literal["ask", "never"] | ApproveFunction
"""Who decides: the person (`"ask"`), a function, or no one (`"never"`: every call is refused)."""

_REFUSED: Final = "Calls of this tool are not allowed here."
_DECLINED: Final = "The person did not allow this call."
_YES: Final = frozenset({"yes", "y", "ok", "okay", "approve", "approved", "allow", "run", "go", "sure", "ja", "oui"})
_BESIDE_YES: Final = frozenset({"please", "it", "them", "all", "do"})
_NO: Final = frozenset({"no", "n", "deny", "denied", "reject", "stop", "cancel", "never", "nein", "non"})
_PLAIN: Final = re.compile(r"[\w\s.,;!*'\"]*")
"""A text with nothing but words and the marks of a statement: `yes?` and `run it?` are questions."""
_NUMBERS: Final = re.compile(r"(?:yes|run|allow|approve)?[\s,:]*(\d+(?:[\s,]+(?:and\s+)?\d+)*)", re.IGNORECASE)


async def decided_by(
    policy: ApprovalPolicy, approvals: Sequence[adapter.Approval]
) -> dict[str, adapter.Decision] | None:
    """What a policy decides, by call id; None where the person has to be asked."""
    if policy == "ask":
        return None
    decisions = []
    for approval in approvals:
        allowed = False
        if callable(policy):
            said = policy(approval)
            allowed = (await said if isawaitable(said) else said) is True
        decisions.append(adapter.Decision(allowed, "" if allowed else _REFUSED))
    return _by_id(approvals, decisions)


def _by_id(approvals: Sequence[adapter.Approval], decisions: Iterable[adapter.Decision]) -> dict[str, adapter.Decision]:
    """The decisions by call id. A model server makes up the ids, and frameworks run all calls of an allowed one: of
    several calls with one id, none is allowed unless all are."""
    found: dict[str, adapter.Decision] = {}
    for one, decision in zip(approvals, decisions, strict=True):
        if one.call_id not in found or found[one.call_id].approved:
            found[one.call_id] = decision
    return found


def question_of(approvals: Sequence[adapter.Approval]) -> str:
    """The text that asks a person, in Markdown: what the agent wants to run, and how to answer."""
    if len(approvals) == 1:
        [only] = approvals
        because = f"\n\n{only.reason}" if only.reason else ""
        return f"{inner_activity.wish(only)}{because}\n\nReply *yes* to run it, or *no*."
    lines = []
    for number, one in enumerate(approvals, 1):
        call = inner_activity.wanted_call(one)
        if "\n" in call:  # a block of code belongs to its item of the list
            call = call.replace("\n", "\n   ") + "\n\n  "
        reason = " ".join(one.reason.split())  # on one line, so that it begins no item of its own
        lines.append(f"{number}. {call}" + (f" ({reason})" if reason else ""))
    head = f"The agent wants to run {len(approvals)} tools:"
    how = "Reply *yes* to run them all, *no* to run none, or the numbers of those to run."
    return "\n".join([head, "", *lines, "", how])


def read_reply(reply: str, approvals: Sequence[adapter.Approval]) -> dict[str, adapter.Decision]:
    """What a person has decided, by call id. Only a clear *yes* allows a call; any other text is the reason for not
    running it, which the model gets to read."""
    words = re.findall(r"[^\W\d_]+|\d+", reply.lower())
    if words and all(word in _YES | _BESIDE_YES for word in words):
        if _PLAIN.fullmatch(reply) and any(word in _YES for word in words):
            return {one.call_id: adapter.Decision(approved=True) for one in approvals}
    elif numbers := _NUMBERS.fullmatch(reply.strip().rstrip(".")):
        chosen = {int(number) for number in re.findall(r"\d+", numbers[1])}
        if len(approvals) > 1 and chosen <= set(range(1, len(approvals) + 1)):
            numbers_allowed = (number in chosen for number in range(1, len(approvals) + 1))
            return _by_id(approvals, (adapter.Decision(one, "" if one else _DECLINED) for one in numbers_allowed))
    reason = (
        _DECLINED if not words or (words[0] in _NO and len(words) == 1) else f"{_DECLINED} They said: {reply.strip()}"
    )
    return {one.call_id: adapter.Decision(approved=False, reason=reason) for one in approvals}
