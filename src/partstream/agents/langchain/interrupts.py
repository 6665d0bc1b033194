"""Interrupts of a graph: what the person is asked, and what the graph is told. Needs no framework.

Shapes: `HITLRequest` and `ToolApprovalRequest` of `langchain.agents.middleware.human_in_the_loop` (LangChain 1.0 to
1.5); every other value is a question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.agents.adapter import Approval, ApprovalAsked, Question
from partstream.markdown import code_block

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from partstream.agents.adapter import Decision
    from partstream.agents.langchain.calls import RunCalls

__all__ = ["RunInterrupt", "asked_of", "resume_values"]

_PAUSED: Final = "The agent has paused. Reply to let it go on."
_REFUSALS: Final = ("reject", "respond")
"""The decisions that keep a call from being run, the first that a tool allows counts."""


class RunInterrupt(NamedTuple):
    """What stopped a run, for the person and for the next run.

    Attributes:
        output: What the person is asked.
        kept: The same for the next run, as JSON.
    """

    output: ApprovalAsked | Question
    kept: list[dict[str, Any]]


def asked_of(interrupts: Sequence[Any], calls: RunCalls) -> RunInterrupt:
    """What interrupts ask. Approvals come first: a graph asks again what nobody has answered.

    Args:
        interrupts: The interrupts (`value`, `id`); empty for a pause that asks nothing (`interrupt_before`).
        calls: The calls of the run.
    """
    approvals: list[Approval] = []
    kept: list[dict[str, Any]] = []
    for interrupt in interrupts:
        for read in (_review, _single_approval):
            if found := read(interrupt, calls, {one.call_id for one in approvals}):
                approvals += found[0]
                kept.append(found[1])
    if approvals:
        return RunInterrupt(ApprovalAsked(tuple(approvals)), kept)
    if not interrupts:
        return RunInterrupt(Question(_PAUSED), [])
    first = interrupts[0]
    return RunInterrupt(Question(_question_text(first.value), first.id), [_kept_question(first)])


def resume_values(kept: Any, decisions: Mapping[str, Decision], reply: str | None) -> dict[str, Any]:
    """What each interrupt is answered with, by its id; empty for a pause that asks nothing.

    Args:
        kept: What :func:`asked_of` has kept.
        decisions: What was decided, by call id.
        reply: What the person has answered, or None.
    """
    return {row["id"]: _ANSWERS[row["kind"]](row, decisions, reply or "") for row in kept}


def _review(interrupt: Any, calls: RunCalls, taken: Collection[str]) -> tuple[list[Approval], dict[str, Any]] | None:
    """All calls of a step that want to be allowed, as one interrupt."""
    value = interrupt.value
    if not isinstance(value, dict) or not isinstance(value.get("action_requests"), list):
        return None
    allowed = {one.get("action_name"): one.get("allowed_decisions") for one in value.get("review_configs") or ()}
    rows = [[*(allowed.get(action.get("name")) or ())] for action in value["action_requests"]]
    if all(row == ["respond"] for row in rows):
        return None  # the person is the tool: a question
    used = set(taken)
    approvals = []
    for number, action in enumerate(value["action_requests"]):
        call_id = calls.called(action.get("name"), action.get("args"), used) or f"{interrupt.id}:{number}"
        used.add(call_id)
        approvals.append(Approval(call_id, action.get("name", ""), action.get("args"), _reason(action)))
    ids = [one.call_id for one in approvals]
    return approvals, {"kind": "review", "id": interrupt.id, "calls": ids, "allowed": rows}


def _single_approval(
    interrupt: Any, calls: RunCalls, taken: Collection[str]
) -> tuple[list[Approval], dict[str, Any]] | None:
    """One call that wants to be allowed."""
    del calls, taken
    value = interrupt.value
    if not isinstance(value, dict) or value.get("type") != "tool_approval":
        return None
    call_id = str(value.get("tool_call_id") or interrupt.id)
    approval = Approval(call_id, str(value.get("name", "")), value.get("args"), _reason(value))
    return [approval], {"kind": "approval", "id": interrupt.id, "calls": [call_id]}


def _reason(action: Mapping[str, Any]) -> str:
    """The middleware's description, unless it repeats the call: its default text begins so."""
    text = action.get("description")
    return text if isinstance(text, str) and not text.startswith("Tool execution requires approval") else ""


def _kept_question(interrupt: Any) -> dict[str, Any]:
    value = interrupt.value
    actions = value.get("action_requests") if isinstance(value, dict) else None
    if isinstance(actions, list):
        return {"kind": "answers", "id": interrupt.id, "number": len(actions)}
    return {"kind": "question", "id": interrupt.id}


def _question_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and isinstance(actions := value.get("action_requests"), list):
        return "\n\n".join(str(action.get("description") or action.get("name")) for action in actions)
    if isinstance(value, dict) and len(value) == 1 and isinstance(only := next(iter(value.values())), str):
        return only
    try:
        return f"The agent asks:\n\n{code_block(value)}"
    except (TypeError, ValueError):
        return f"The agent asks: {value}"


def _review_answer(row: Mapping[str, Any], decisions: Mapping[str, Decision], _reply: str) -> Any:
    pairs = zip(row["calls"], row["allowed"], strict=True)
    return {"decisions": [_decision(decisions.get(call_id), allowed) for call_id, allowed in pairs]}


def _approval_answer(row: Mapping[str, Any], decisions: Mapping[str, Decision], _reply: str) -> Any:
    return _decision(decisions.get(row["calls"][0]), ())


def _answers(row: Mapping[str, Any], _decisions: Mapping[str, Decision], reply: str) -> Any:
    return {"decisions": [{"type": "respond", "message": reply}] * row["number"]}


def _reply(_row: Mapping[str, Any], _decisions: Mapping[str, Decision], reply: str) -> Any:
    return reply


_ANSWERS: Final = {
    "review": _review_answer,
    "approval": _approval_answer,
    "answers": _answers,
    "question": _reply,
}


def _decision(decision: Decision | None, allowed: Collection[str]) -> dict[str, Any]:
    """A decision in the middleware's words; what nobody decided is not run."""
    if decision is not None and decision.approved:
        return {"type": "approve"}
    kind = next((one for one in _REFUSALS if not allowed or one in allowed), _REFUSALS[0])
    reason = decision.reason if decision is not None else ""
    return {"type": kind, "message": reason} if reason or kind == "respond" else {"type": kind}
