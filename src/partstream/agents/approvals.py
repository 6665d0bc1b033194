"""Calls of an agent's own tools that want to be allowed: who decides, how a person is asked, and what they answered.

No provider can open a dialog, so the answer asks the person, who decides in the next message
(docs/wires/agents.md#approvals-and-interrupts). Nothing is approved without a decision.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from partstream.agents.adapter import Approval, Decision
from partstream.inner_activity import wanted_call, wish

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ApprovalPolicy", "ApproveFunction", "decided_by", "question_of", "read_reply"]

ApproveFunction: TypeAlias = Callable[[Approval], "bool | Awaitable[bool]"]
"""Says of a call whether the agent may run it."""

ApprovalPolicy: TypeAlias = Literal["ask", "never"] | ApproveFunction
"""Who decides: the person, nobody (every call is refused), or a function."""

_REFUSED: Final = "Calls of this tool are not allowed here."
_DECLINED: Final = "The person did not allow this call."
_YES: Final = frozenset({"yes", "y", "ok", "okay", "approve", "approved", "allow", "run", "go", "sure", "ja", "oui"})
_BESIDE_YES: Final = frozenset({"please", "it", "them", "all", "do"})
_NO: Final = frozenset({"no", "n", "deny", "denied", "reject", "stop", "cancel", "never", "nein", "non"})
_PLAIN: Final = re.compile(r"[\w\s.,;!*'\"]*")
"""A text with nothing but words and the marks of a statement: `yes?` and `run it?` are questions."""
_NUMBERS: Final = re.compile(r"(?:yes|run|allow|approve)?[\s,:]*(\d+(?:[\s,]+(?:and\s+)?\d+)*)", re.IGNORECASE)


async def decided_by(policy: ApprovalPolicy, approvals: Sequence[Approval]) -> dict[str, Decision] | None:
    """What a policy decides, by call id; None where the person has to be asked."""
    if policy == "ask":
        return None
    decisions: dict[str, Decision] = {}
    for approval in approvals:
        allowed = False
        if callable(policy):
            said = policy(approval)
            allowed = (await said if isawaitable(said) else said) is True
        decisions[approval.call_id] = Decision(allowed, "" if allowed else _REFUSED)
    return decisions


def question_of(approvals: Sequence[Approval]) -> str:
    """The text that asks a person, in Markdown: what the agent wants to run, and how to answer."""
    if len(approvals) == 1:
        [only] = approvals
        because = f"\n\n{only.reason}" if only.reason else ""
        return f"{wish(only)}{because}\n\nReply *yes* to run it, or *no*."
    lines = [
        f"{number}. {_indented(wanted_call(one))}" + (f" ({one.reason})" if one.reason else "")
        for number, one in enumerate(approvals, 1)
    ]
    return "\n".join(
        [
            f"The agent wants to run {len(approvals)} tools:",
            "",
            *lines,
            "",
            "Reply *yes* to run them all, *no* to run none, or the numbers of those to run.",
        ]
    )


def _indented(call: str) -> str:
    """A call in a numbered list, where a block of code belongs to its item."""
    return call.replace("\n", "\n   ") + ("\n\n  " if "\n" in call else "")


def read_reply(reply: str, approvals: Sequence[Approval]) -> dict[str, Decision]:
    """What a person has decided, by call id. Only a clear *yes* allows a call; any other text is the reason for not
    running it, which the model gets to read."""
    words = re.findall(r"[^\W\d_]+|\d+", reply.lower())
    if words and all(word in _YES | _BESIDE_YES for word in words):
        if _PLAIN.fullmatch(reply) and any(word in _YES for word in words):
            return {one.call_id: Decision(approved=True) for one in approvals}
    elif numbers := _NUMBERS.fullmatch(reply.strip().rstrip(".")):
        chosen = {int(number) for number in re.findall(r"\d+", numbers[1])}
        if len(approvals) > 1 and chosen <= set(range(1, len(approvals) + 1)):
            return {
                one.call_id: Decision(number in chosen, "" if number in chosen else _DECLINED)
                for number, one in enumerate(approvals, 1)
            }
    reason = (
        _DECLINED if not words or (words[0] in _NO and len(words) == 1) else f"{_DECLINED} They said: {reply.strip()}"
    )
    return {one.call_id: Decision(approved=False, reason=reason) for one in approvals}
