"""The outputs of an agent's run: what an adapter makes of its framework's events, before anything is rendered.

An adapter yields them in the order of the framework's events. Parts of the model itself (text, thinking, data) go on as
they are; the values below say what the agent does besides, and the options of the model decide what of it is shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from partstream.inner_activity import InnerCall, InnerResult
from partstream.outputs import Finish, Unmapped
from partstream.parts import DataPart, TextPart, ThinkingPart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.parts import ToolCallPart
    from partstream.usage import Usage

__all__ = [
    "AgentFile",
    "AgentOutput",
    "Approval",
    "ApprovalAsked",
    "ExternalCalls",
    "Handover",
    "InnerCall",
    "InnerResult",
    "KeptState",
    "Question",
    "ResultObject",
    "StepBegun",
    "StepUsage",
    "SubAgentText",
]


@dataclass(frozen=True, slots=True)
class Handover:
    """Another agent goes on with the run.

    Attributes:
        to: The name of that agent.
    """

    to: str


@dataclass(frozen=True, slots=True)
class SubAgentText:
    """A piece of text that an agent below the asked one said; not the answer.

    Attributes:
        agent: The name of the agent that said it.
        text: The piece.
    """

    agent: str
    text: str


@dataclass(frozen=True, slots=True)
class AgentFile:
    """A file or an image that the agent made.

    Attributes:
        data: The bytes.
        media_type: Their media type, such as `image/png`.
        name: The name of the file, or None.
    """

    data: bytes
    media_type: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class ExternalCalls:
    """The calls of the host's tools that the run ends with, whole and in the model's order.

    An adapter yields it once a run, after the framework has said that the step is over.

    Attributes:
        calls: The calls, with the names of :attr:`partstream.agents.adapter.AgentRequest.tools`.
    """

    calls: tuple[ToolCallPart, ...]


@dataclass(frozen=True, slots=True)
class Approval:
    """A call of one of the agent's own tools that a person has to allow.

    Attributes:
        call_id: The framework's id of the call, which is the key of the decision.
        name: The name of the agent's tool.
        arguments: The arguments, as in :class:`InnerCall`.
        reason: Why the framework asks, in its own words; empty where it gives no reason.
    """

    call_id: str
    name: str
    arguments: object
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """The run has stopped, because calls of the agent's own tools want to be allowed. Goes with a :class:`KeptState`.

    Attributes:
        approvals: The calls.
    """

    approvals: tuple[Approval, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """The run has stopped with a question to the person; goes with a :class:`KeptState` if the answer can be taken.

    Attributes:
        text: The question, in Markdown.
        id: The framework's id of the question; may be empty.
    """

    text: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class StepBegun:
    """The answer to the next inner request to the model begins. For frameworks that tell the tokens of all requests at
    the end of the run: elsewhere a :class:`StepUsage` says that the next request follows.

    Attributes:
        step: The number of the request, from 1.
    """

    step: int


@dataclass(frozen=True, slots=True)
class StepUsage:
    """The tokens of one inner request to the model; one for each.

    Attributes:
        usage: The tokens of that request alone, never a sum.
    """

    usage: Usage


@dataclass(frozen=True, slots=True)
class ResultObject:
    """The result of a run that is no text: becomes JSON in a block of code.

    Attributes:
        value: The object: JSON values, a dataclass, or a model that can dump itself (`model_dump`).
    """

    value: object


@dataclass(frozen=True, slots=True)
class KeptState:
    """What an exact continuation of this run needs. It is kept for the next request, and comes back as
    :attr:`partstream.agents.adapter.AgentRequest.resumed`.

    Attributes:
        json: A JSON object.
    """

    json: Mapping[str, Any] = field(repr=False)


AgentOutput: TypeAlias = (
    TextPart
    | ThinkingPart
    | DataPart
    | Unmapped
    | Finish
    | InnerCall
    | InnerResult
    | Handover
    | SubAgentText
    | AgentFile
    | ExternalCalls
    | ApprovalAsked
    | Question
    | StepBegun
    | StepUsage
    | ResultObject
    | KeptState
)
"""An output of a run. A `Finish` is that of the last inner request, without usage; an adapter need not yield one."""
